//! Secrets in recordings: `check` says that there are some, and what is made to be sent around holds none.

use super::{folder, told};
use serde_json::{Value, json};

/// Made up; none is a key of anybody.
const PASSWORD: &str = "hunter2-Zq7vK2mPx9";

fn key() -> String {
    format!("sk-proj-{}", "Ab3dE6gH".repeat(5))
}

/// A call of a tool that is not offered, with a password; a key in a message and in what Anthropic calls `data`.
fn recording() -> String {
    let arguments = json!({"user": "me", "password": PASSWORD}).to_string();
    json!({
        "model": "m",
        "tools": [{"type": "function", "function": {"name": "log_in", "parameters": {"type": "object"}}}],
        "messages": [
            {"role": "user", "content": format!("My key is {}, log me in.", key())},
            {"role": "assistant", "content": null, "tool_calls": [
                {"id": "call_1", "type": "function", "function": {"name": "login", "arguments": arguments}}]},
        ],
    })
    .to_string()
}

fn holds_secret(text: &str) -> bool {
    text.contains(PASSWORD) || text.contains(&key())
}

#[test]
fn check_says_which_items_hold_what_kind_of_secret_and_never_the_secret() {
    let here = folder(&[("run.json", &recording())]);
    let (code, out, _) = told(here.path(), &["check", "run.json", "--format", "json"]);
    assert_eq!(code, 1);
    assert!(!out.contains(&key()), "{out}");
    let found: Vec<Value> = out
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let found: Vec<(u64, &str, &str)> = found
        .iter()
        .filter(|line| line["rule"] == "exposed-secret")
        .map(|line| {
            let text = |name: &str| line[name].as_str().unwrap();
            (
                line["item"].as_u64().unwrap(),
                text("severity"),
                text("message"),
            )
        })
        .collect();
    assert_eq!(
        found,
        [
            (1, "info", "this item seems to hold a secret: openai key"),
            (2, "info", "this item seems to hold a secret: password")
        ]
    );
    let page = told(here.path(), &["explain", "exposed-secret"]).1;
    assert!(page.contains("--redact"), "{page}");
}

#[test]
fn a_hint_alone_fails_no_check() {
    let text = json!([{"role": "user", "content": key()}, {"role": "assistant", "content": "ok"}]);
    let here = folder(&[("run.json", &text.to_string())]);
    for level in ["error", "warning"] {
        let (code, out, _) = told(here.path(), &["check", "run.json", "--fail-on", level]);
        assert_eq!(code, 0, "{out}");
        assert!(out.contains("exposed-secret"), "{out}");
    }
}

#[test]
fn what_is_written_with_redact_holds_no_secret_and_without_it_is_what_it_was() {
    let here = folder(&[("run.json", &recording())]);
    let plain: [&[&str]; 4] = [
        &["show", "run.json", "--full"],
        &["convert", "run.json", "--to", "anthropic"],
        &["convert", "run.json", "--to", "responses", "--request"],
        &["fix", "run.json", "--unsafe"],
    ];
    for arguments in plain {
        let (_, out, err) = told(here.path(), arguments);
        assert!(out.contains(PASSWORD) && out.contains(&key()), "{out}{err}");
        let (_, out, err) = told(here.path(), &[arguments, &["--redact"]].concat());
        assert!(!holds_secret(&out) && !holds_secret(&err), "{out}{err}");
        assert!(out.contains("[redacted password]"), "{out}{err}");
        assert!(out.contains("[redacted openai key]"), "{out}{err}");
    }
}

#[test]
fn a_fixture_holds_no_secret_unless_it_is_told_to() {
    let here = folder(&[("run.json", &recording())]);
    let arguments = ["export", "run.json", "--to", "fixture"];
    let (code, out, err) = told(here.path(), &arguments);
    assert_eq!(code, 0, "{err}");
    assert!(
        !holds_secret(&out) && out.contains("[redacted password]"),
        "{out}"
    );
    // The same again: a test compares it.
    assert_eq!(told(here.path(), &arguments).1, out);
    let kept = told(here.path(), &[&arguments[..], &["--keep-secrets"]].concat()).1;
    assert!(kept.contains(PASSWORD) && kept.contains(&key()), "{kept}");
}

#[test]
fn a_database_is_not_read_without_its_secrets_and_says_how_it_can_be() {
    let here = folder(&[]);
    let head = [b"SQLite format 3\0".as_slice(), &[0; 100]].concat();
    std::fs::write(here.path().join("run.db"), head).unwrap();
    let (code, _, err) = told(here.path(), &["show", "run.db", "--redact"]);
    assert_eq!(code, 2);
    assert!(err.contains("retake convert"), "{err}");
}
