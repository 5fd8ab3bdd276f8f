//! A tool that fails three times in a row is switched off, and somebody is told.

use super::{PATIENCE, Stage, Told, marking};
use serde_json::Value;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpListener;
use std::sync::mpsc::{Receiver, channel};

const SCRIPT: &str = r#"
[[rule]]
last_contains = "switched off"
text = "It is off."
[[rule]]
last_contains = "open"
text = "It is off."
[[rule]]
called = "work"
times = 4
calls = [{ name = "work", arguments = { word = "more" } }]
[[rule]]
turn = 1
calls = [{ name = "work", arguments = { word = "first" } }]
[[rule]]
text = "I give up."
"#;

fn run(webhook: &str) -> (Stage, Told) {
    let (stage, agent) = Stage::with_agent(SCRIPT, "");
    let tools = marking("work", "echo no such place; exit 3");
    let text = std::fs::read_to_string(&agent).unwrap() + &tools;
    std::fs::write(&agent, text).unwrap();
    let policy = format!(
        "[breaker]\nthreshold = 3\ncooldown = \"1h\"\nwebhook = \"{webhook}\"\n[on.tool-error]\ndo = \"release\"\n[on.repeated-call]\ndo = \"release\"\n[on.failing-tool]\ndo = \"release\"\n"
    );
    let told = stage.run_by(&agent, &policy);
    (stage, told)
}

fn opened_once(stage: &Stage, told: &Told) {
    assert_eq!(
        (told.code, told.how()),
        (0, "final"),
        "{}{}",
        told.out,
        told.err
    );
    let opened = told.of_type("breaker");
    assert_eq!(opened.len(), 1, "{}", told.out);
    assert_eq!(
        (&opened[0]["state"], &opened[0]["errors"]),
        (&"open".into(), &3.into())
    );
    assert_eq!(
        stage.marks("first") + stage.marks("more"),
        3,
        "{}",
        told.out
    );
    assert_eq!(told.of_type("started").len(), 3);
    assert_eq!(
        told.output(),
        "It is off.",
        "the fourth call was answered at once"
    );
    let journal = told.journal();
    let (_, health, err) = stage.told(&["health", journal.to_str().unwrap()]);
    assert!(health.contains("work"), "{health}{err}");
}

/// Hears one request and gives its head and body.
fn listen() -> (String, Receiver<(String, String)>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let url = format!("http://{}/hook", listener.local_addr().unwrap());
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        let (mut stream, _) = listener.accept().unwrap();
        stream.set_read_timeout(Some(PATIENCE)).unwrap();
        let mut reader = BufReader::new(stream.try_clone().unwrap());
        let mut head = String::new();
        while !head.ends_with("\r\n\r\n") {
            assert_ne!(reader.read_line(&mut head).unwrap(), 0);
        }
        let lower = head.to_lowercase();
        let length = lower
            .lines()
            .find_map(|line| line.strip_prefix("content-length:"));
        let mut body = vec![0; length.unwrap().trim().parse().unwrap()];
        reader.read_exact(&mut body).unwrap();
        stream
            .write_all(b"HTTP/1.1 204 No Content\r\n\r\n")
            .unwrap();
        sender
            .send((head, String::from_utf8(body).unwrap()))
            .unwrap();
    });
    (url, heard)
}

#[test]
fn the_breaker_opens_and_its_webhook_is_told() {
    let (url, heard) = listen();
    let (stage, told) = run(&url);
    opened_once(&stage, &told);
    let (head, body) = heard.recv_timeout(PATIENCE).unwrap();
    assert!(head.starts_with("POST /hook "), "{head}");
    let body: Value = serde_json::from_str(&body).unwrap();
    let told_of = |key: &str| body[key].as_str().unwrap().to_owned();
    assert_eq!(
        (told_of("tool"), &body["errors"]),
        ("work".to_owned(), &3.into())
    );
    assert_eq!(
        (told_of("agent"), &body["threshold"]),
        ("story".to_owned(), &3.into())
    );
    assert_eq!(told_of("run"), told.journal().to_str().unwrap());
    assert!(told_of("last_error").contains("exit code 3"), "{body}");
    let time = told_of("time");
    let shape: String = time
        .chars()
        .map(|c| if c.is_ascii_digit() { '0' } else { c })
        .collect();
    assert_eq!(shape, "0000-00-00T00:00:00Z");
    let refused = told.end()["errors"].as_array().unwrap().last().unwrap();
    let read = refused["text"].as_str().unwrap();
    assert!(
        read.contains("switched off") && read.contains("exit code 3"),
        "{read}"
    );
}

#[test]
fn what_the_model_reads_of_a_tool_that_is_off_is_the_policys_to_say() {
    let (stage, agent) = Stage::with_agent(SCRIPT, "");
    let tools = marking("work", "echo no such place; exit 3");
    let text = std::fs::read_to_string(&agent).unwrap() + &tools;
    std::fs::write(&agent, text).unwrap();
    let policy = "[breaker]\nthreshold = 3\ncooldown = \"1h\"\nwording = \"{{ tool }} is not open: {{ error }}\"\n";
    let told = stage.run_by(&agent, policy);
    assert_eq!(told.output(), "It is off.", "{}", told.out);
    let last = told.end()["errors"].as_array().unwrap().last().unwrap();
    let read = last["text"].as_str().unwrap();
    assert!(
        read.starts_with("work is not open: ") && read.contains("exit code 3"),
        "{read}"
    );
    let all = "{{ tool }} is not open: {{ error }}; {{ agent }}: {{ error_class }}. {{ suggestion }} {{ recoverable }}";
    let policy = format!("[breaker]\nthreshold = 2\nwording = \"{all}\"\n");
    let told = stage.run_by(&agent, &policy);
    assert_eq!(told.of_type("started").len(), 2, "{}", told.out);
    let last = told.end()["errors"].as_array().unwrap().last().unwrap();
    let read = last["text"].as_str().unwrap();
    assert!(
        read.ends_with("; story: switched off. Go on with another tool, or without it. False")
            && read.contains("exit code 3"),
        "{read}"
    );
    let wrong = stage.run_by(&agent, "[breaker]\nwording = \"{{ tol }}\"\n");
    assert!(
        wrong.code == 2 && wrong.err.contains("tol"),
        "{}",
        wrong.err
    );
}

#[test]
fn a_webhook_that_nobody_hears_hurts_nothing() {
    // A port that was free a moment ago.
    let free = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let (stage, told) = run(&format!("http://{free}/hook"));
    opened_once(&stage, &told);
    // One that is never answered.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let (stage, told) = run(&format!("http://{}/hook", silent.local_addr().unwrap()));
    opened_once(&stage, &told);
}
