//! `retake replay --chaos` as a process: a recording as the model of an agent that gets faults.

use serde_json::{Value, json};
use std::process::{Command, Output};

/// What the careful agent of the tests of `proxy --chaos` is told, but for its question.
fn recording(question: &str) -> Value {
    let search = json!({"name": "search", "arguments": "{\"city\": \"Oslo\"}"});
    json!([
        {"role": "user", "content": question},
        {"role": "assistant", "content": "I look it up.", "tool_calls": [{"id": "call_1", "type": "function", "function": search}]},
        {"role": "tool", "tool_call_id": "call_1", "content": "12 degrees"},
        {"role": "assistant", "content": "{\"answer\": \"It is warm.\"}"},
    ])
}

/// A campaign over that agent with the recording as its model.
fn campaign(question: &str, spec: &str, more: &[&str]) -> Output {
    let folder = tempfile::tempdir().unwrap();
    let path = |name: &str| folder.path().join(name);
    std::fs::write(path("run.json"), recording(question).to_string()).unwrap();
    std::fs::write(path("chaos.toml"), spec).unwrap();
    Command::new(env!("CARGO_BIN_EXE_retake"))
        .current_dir(folder.path())
        .env("XDG_STATE_HOME", path("state"))
        .env("HOME", folder.path())
        .env("RETAKE_TEST_CHAOS_AGENT", "careful")
        .args(["replay", "run.json", "--chaos", "chaos.toml"])
        .args(["--listen", "127.0.0.1:0", "--journal", "journals"])
        .args(more)
        .arg("--")
        .arg(std::env::current_exe().unwrap())
        .args(["--exact", "proxy::chaos::campaign::an_agent", "--nocapture"])
        .output()
        .unwrap()
}

/// What the agent asks.
const QUESTION: &str = "Where is it warm?";

fn lines(output: &Output) -> Vec<Value> {
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let lines = text.lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

#[test]
fn an_agent_that_asks_again_behind_the_end_of_the_recording_is_not_killed_by_it() {
    let spec = "faults = [\"wrong-final-output\", \"http-500\"]\n";
    let output = campaign(QUESTION, spec, &["--format", "json"]);
    let lines = lines(&output);
    let trials = lines.iter().filter(|line| line["type"] == "trial");
    let outcomes = trials.map(|line| &line["outcome"]).collect::<Vec<_>>();
    assert_eq!(outcomes, ["survived", "survived"], "{lines:?}");
    assert_eq!(output.status.code(), Some(0));
    assert_eq!(
        lines[0]["recording"],
        json!({"nearest": 0, "refused": 0, "first": null})
    );
}

#[test]
fn how_the_run_without_a_fault_differs_from_the_recording_is_told() {
    let (question, spec) = ("Where is it cold?", "faults = [\"http-500\"]\n");
    let words = "turn 2, item 1, user: … is it [-cold-]{+warm+}?";
    let output = campaign(question, spec, &["--format", "json"]);
    assert_eq!(
        lines(&output)[0]["recording"],
        json!({"nearest": 2, "refused": 0, "first": words})
    );
    let output = campaign(question, spec, &[]);
    let text = String::from_utf8(output.stdout).unwrap();
    let told = format!(
        "(2 requests)\nits requests differ from the recording: 2 answered by the nearest turn; the first: {words}\n"
    );
    assert!(text.contains(&told), "{text}");
}
