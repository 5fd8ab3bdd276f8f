//! `retake scripted`: an endpoint as a process.

use super::{folder, told};
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Command, Stdio};

#[test]
fn it_prints_its_address_first_and_answers_there() {
    let mut program = Command::new(env!("CARGO_BIN_EXE_retake"))
        .args(["scripted", "sessions/agents/flights.script.toml"])
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
    let address = lines.next().unwrap().unwrap();
    assert!(lines.next().unwrap().unwrap().contains("scripted:flights"));
    let host = address.strip_prefix("http://").unwrap();
    let mut stream = TcpStream::connect(host).unwrap();
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;
    let length = body.len();
    write!(
        stream,
        "POST /v1/chat/completions HTTP/1.1\r\nhost: {host}\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    program.kill().unwrap();
    program.wait().unwrap();
    assert!(
        reply.contains("x-retake-scripted: flights") && reply.contains("serch_flights"),
        "{reply}"
    );
}

#[test]
fn everything_that_is_wrong_with_a_script_is_told_with_its_line() {
    let folder = folder(&[(
        "bad.toml",
        "[[rule]]\nturns = 1\ntext = \"x\"\n[[rule]]\nturn = 1\n",
    )]);
    let (code, stdout, stderr) = told(folder.path(), &["scripted", "bad.toml"]);
    assert_eq!((code, stdout.as_str()), (2, ""));
    assert!(
        stderr.contains("bad.toml:2: `turns` is not known in [[rule]] (did you mean `turn`?)"),
        "{stderr}"
    );
    assert!(
        stderr.contains("bad.toml:4: this rule answers nothing"),
        "{stderr}"
    );
    let (code, _, stderr) = told(folder.path(), &["scripted", "none.toml"]);
    assert!(code == 2 && stderr.contains("none.toml"), "{stderr}");
}

#[test]
fn it_listens_on_the_loopback_only() {
    let folder = folder(&[("ok.toml", "[[rule]]\ntext = \"x\"\n")]);
    let (code, _, stderr) = told(
        folder.path(),
        &["scripted", "ok.toml", "--listen", "0.0.0.0:0"],
    );
    assert!(code == 2 && stderr.contains("loopback"), "{stderr}");
}

#[test]
fn what_asks_it_to_end_ends_it_with_the_code_of_that_signal() {
    use rustix::process::{Pid, Signal, kill_process};
    for (signal, code) in [(Signal::INT, 130), (Signal::TERM, 143), (Signal::HUP, 129)] {
        let mut program = Command::new(env!("CARGO_BIN_EXE_retake"))
            .args(["scripted", "sessions/agents/flights.script.toml"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(program.stdout.take().unwrap()).lines();
        lines.next().unwrap().unwrap();
        let pid = Pid::from_raw(i32::try_from(program.id()).unwrap()).unwrap();
        kill_process(pid, signal).unwrap();
        assert_eq!(program.wait().unwrap().code(), Some(code));
    }
}
