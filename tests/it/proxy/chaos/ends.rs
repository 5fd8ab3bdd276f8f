//! The program itself: faults for whatever connects until a signal comes, and what a second signal does.

use crate::proxy::speech::{Agent, GOOD, http, turn};
use crate::proxy::stage::{PATIENCE, upstream};
use crate::proxy_wire::client::Client;
use retake_core::session::Dialect;
use rustix::process::{Pid, Signal, kill_process, kill_process_group, test_kill_process};
use serde_json::{Value, json};
use std::io::{BufRead, BufReader};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

fn start(folder: &Path, upstream: &str, spec: &str, more: &[&str]) -> Child {
    std::fs::write(folder.join("chaos.toml"), spec).unwrap();
    let mut command = Command::new(env!("CARGO_BIN_EXE_retake"));
    command.current_dir(folder).env("HOME", folder);
    command.env("XDG_STATE_HOME", folder.join("state"));
    command.args(["proxy", "--chaos", "chaos.toml", "--upstream", upstream]);
    command.args(["--listen", "127.0.0.1:0", "--journal", "journal"]);
    command.args(["--format", "json"]).args(more);
    let streams = command.stdout(Stdio::piped()).stderr(Stdio::piped());
    streams.spawn().unwrap()
}

fn interrupt(child: &Child) {
    let pid = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(pid, Signal::INT).unwrap();
}

#[track_caller]
fn until<T>(what: &str, mut is_so: impl FnMut() -> Option<T>) -> T {
    let end = Instant::now() + PATIENCE;
    loop {
        if let Some(found) = is_so() {
            return found;
        }
        assert!(Instant::now() < end, "not in time: {what}");
        std::thread::sleep(Duration::from_millis(10));
    }
}

/// Where the program listens, by what it tells its operator.
fn address(child: &mut Child) -> String {
    let lines = BufReader::new(child.stderr.take().unwrap()).lines();
    for line in lines.map_while(Result::ok) {
        if let Some((_, from)) = line.split_once("http://127.0.0.1:") {
            let port = from.chars().take_while(char::is_ascii_digit);
            return format!("127.0.0.1:{}", port.collect::<String>());
        }
    }
    panic!("it does not say where it listens");
}

fn ask(address: &str, question: &str) -> Option<u16> {
    let mut agent = Agent::new((Dialect::Chat, false));
    agent.history[0]["content"] = question.into();
    let body = agent.request();
    let mut client = Client::connect(address.parse().unwrap());
    client.send(format!("POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}", body.len()).as_bytes());
    client.receive(PATIENCE).status
}

#[test]
fn an_agent_that_went_silent_is_told_as_silent_with_the_trial_of_the_spec() {
    let folder = tempfile::tempdir().unwrap();
    let reply = http(Dialect::Chat, false, &turn("1", "", &[GOOD]));
    let model = upstream(vec![reply]);
    let spec = "faults = [\"http-500\"]\nrepeat = 2\n";
    let mut child = start(folder.path(), &model.url(), spec, &[]);
    let address = address(&mut child);
    assert_eq!(ask(&address, "a"), Some(500));
    assert_eq!(ask(&address, "a"), Some(200));
    assert_eq!(ask(&address, "b"), Some(500));
    interrupt(&child);
    let output = child.wait_with_output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let text = String::from_utf8(output.stdout).unwrap();
    let lines = text.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let [went_on, silent, summary] = &lines[..] else {
        panic!("{text}");
    };
    assert_eq!(
        (&went_on["outcome"], &silent["outcome"]),
        (&json!("survived"), &json!("silent"))
    );
    assert_eq!(went_on["silent_ms"], Value::Null);
    assert!(silent["silent_ms"].is_u64(), "{silent}");
    for line in [went_on, silent] {
        assert_eq!((&line["turn"], &line["at"]), (&json!("any"), &json!(1)));
    }
    let mut numbers = [went_on, silent].map(|line| line["number"].as_u64());
    numbers.sort_unstable();
    assert_eq!(numbers, [Some(1), Some(2)]);
    assert_eq!(
        (&summary["silent"], &summary["killed"]),
        (&json!(1), &json!(0))
    );
}

#[test]
fn an_agent_that_does_not_listen_ends_with_the_second_signal() {
    let folder = tempfile::tempdir().unwrap();
    let script = "trap 'echo yes > was-asked' TERM; echo $$ > pid; while :; do sleep 1; done";
    let command = ["--", "sh", "-c", script];
    let mut child = start(folder.path(), "http://127.0.0.1:9", "", &command);
    let read = |name: &str| {
        let text = std::fs::read_to_string(folder.path().join(name)).ok()?;
        text.strip_suffix('\n').map(str::to_owned)
    };
    let agent: i32 = until("the agent runs", || read("pid")).parse().unwrap();
    let agent = Pid::from_raw(agent).unwrap();
    interrupt(&child);
    until("the agent was asked to end", || read("was-asked"));
    interrupt(&child);
    assert_eq!(child.wait().unwrap().code(), Some(130));
    let is_gone = until_gone(agent);
    // Whatever came of it, nothing stays behind.
    let _nobody = kill_process_group(agent, Signal::KILL);
    assert!(is_gone);
}

/// Whether a process ends without anybody doing anything more.
fn until_gone(pid: Pid) -> bool {
    let end = Instant::now() + Duration::from_secs(20);
    let is_zombie = || {
        let stat = std::fs::read_to_string(format!("/proc/{}/stat", pid.as_raw_nonzero()));
        stat.is_ok_and(|stat| stat.contains(") Z "))
    };
    while Instant::now() < end {
        if test_kill_process(pid).is_err() || is_zombie() {
            return true;
        }
        std::thread::sleep(Duration::from_millis(10));
    }
    false
}
