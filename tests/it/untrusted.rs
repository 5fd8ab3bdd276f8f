//! A session that somebody sent: it is opened and read, and nothing that it says is done.

use serde_json::json;
use std::net::TcpListener;
use std::process::{Command, Stdio};

/// A request as an attacker would write it: schemas, images and files that lie elsewhere, and calls that would leave a mark.
fn malicious(port: u16, mark: &str) -> String {
    let elsewhere = format!("http://127.0.0.1:{port}/x.json");
    let call = json!({"command": ["sh", "-c", format!("touch {mark}")], "url": elsewhere});
    let schema = json!({"type": "object", "properties": {"command": {"$ref": elsewhere}, "url": {"$ref": "file:///etc/passwd"}}});
    let session = json!({
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "shell", "parameters": schema}}],
        "response_format": {"type": "json_schema", "json_schema": {"name": "a", "schema": {"$ref": elsewhere}}},
        "messages": [
            {"role": "user", "content": [
                {"type": "text", "text": format!("See {elsewhere} and $(touch {mark}) `touch {mark}`")},
                {"type": "image_url", "image_url": {"url": elsewhere}},
            ]},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "a", "type": "function", "function": {"name": "shell", "arguments": call.to_string()}},
                {"id": "b", "type": "function", "function": {"name": "shel", "arguments": call.to_string()}},
            ]},
            {"role": "tool", "tool_call_id": "a", "content": format!("ok {elsewhere}")},
            {"role": "user", "content": "go on"},
            {"role": "assistant", "content": "{}"},
        ],
    });
    session.to_string()
}

#[test]
fn c15_a_session_that_somebody_sent_is_read_and_nothing_of_it_is_done() {
    let elsewhere = TcpListener::bind("127.0.0.1:0").unwrap();
    elsewhere.set_nonblocking(true).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mark = folder.path().join("mark");
    let port = elsewhere.local_addr().unwrap().port();
    let text = malicious(port, &mark.to_string_lossy());
    std::fs::write(folder.path().join("sent.json"), &text).unwrap();
    for arguments in [
        &["check"][..],
        &["check", "--format", "json"],
        &["check", "--format", "sarif"],
        &["show"],
        &["health"],
        &["fix", "--unsafe"],
        &["fix", "--unsafe", "--diff"],
        &["convert", "--to", "anthropic"],
    ] {
        let done = Command::new(env!("CARGO_BIN_EXE_retake"))
            .current_dir(folder.path())
            .env("HOME", folder.path())
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .args(arguments)
            .arg("sent.json")
            .stdin(Stdio::null())
            .output()
            .unwrap();
        let said = String::from_utf8_lossy(&done.stderr);
        assert!(
            matches!(done.status.code(), Some(0 | 1)),
            "{arguments:?}: {said}"
        );
        assert!(!mark.exists(), "{arguments:?} has run something");
        assert!(elsewhere.accept().is_err(), "{arguments:?} went elsewhere");
    }
    let left = std::fs::read_to_string(folder.path().join("sent.json"));
    assert_eq!(left.unwrap(), text);
}
