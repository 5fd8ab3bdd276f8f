//! `run --headless`: what is found is told before what is decided about it, and what was decided is settled in the run's journal.

use super::{folder, told};
use serde_json::Value;
use std::path::Path;

fn agent(dialect: &str, output: &str) -> String {
    format!(
        r#"name = "desk"
input = "Who is user 7?"
max_turns = 6
[model]
dialect = "{dialect}"
script = "desk.script.toml"
[[tools]]
name = "find_user"
description = "Finds a user."
canned = "{output}"
[tools.parameters]
type = "object"
required = ["id"]
properties.id = {{ type = "integer" }}
"#
    )
}

#[test]
fn a_file_that_is_not_there_is_named_before_a_terminal_is_asked_for() {
    let here = folder(&[]);
    let (code, _, err) = told(here.path(), &["run", "nope.toml"]);
    assert_eq!(code, 2);
    assert!(
        err.contains("nope.toml") && !err.contains("terminal"),
        "{err}"
    );
}

#[test]
fn a_run_is_resumed_on_the_screen_by_opening_its_journal() {
    let here = folder(&[]);
    let arguments = ["run", "nope.toml", "--resume", "--journal", "p.jsonl"];
    let (code, _, err) = told(here.path(), &arguments);
    assert_eq!(code, 2);
    let way = "`retake p.jsonl` opens the run on the screen, c continues it there";
    assert!(err.contains(way), "{err}");
}

#[test]
fn a_listener_whose_port_is_taken_says_how_to_get_a_free_one() {
    let here = folder(&[]);
    let other = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = other.local_addr().unwrap().to_string();
    let upstream = "http://127.0.0.1:1";
    let arguments = [
        "proxy",
        "--headless",
        "--upstream",
        upstream,
        "--listen",
        taken.as_str(),
    ];
    let (code, _, err) = told(here.path(), &arguments);
    assert_eq!(code, 2);
    assert!(
        err.contains("cannot listen on") && err.contains("takes any free port"),
        "{err}"
    );
}

/// A run without an operator: its exit code and its lines.
fn run(here: &Path, policy: Option<&str>) -> (i32, Vec<Value>) {
    // One run is one journal.
    if here.join("run.jsonl").exists() {
        std::fs::remove_file(here.join("run.jsonl")).unwrap();
    }
    let mut arguments = vec!["run", "desk.toml", "--headless", "--journal", "run.jsonl"];
    if let Some(policy) = policy {
        std::fs::write(here.join("policy.toml"), policy).unwrap();
        arguments.extend(["--policy", "policy.toml"]);
    }
    let (code, out, err) = told(here, &arguments);
    assert_eq!(err, "", "{out}");
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    (code, lines.collect())
}

/// The findings and decisions among the lines, in a few words each, and how the run ended.
fn story(lines: &[Value]) -> Vec<String> {
    let word = |line: &Value, key: &str| line[key].as_str().unwrap_or("-").to_owned();
    let told = lines
        .iter()
        .filter_map(|line| match line["type"].as_str()? {
            "finding" => Some(format!("{} {}", word(line, "severity"), word(line, "rule"))),
            "decision" => Some(format!(
                "decided {} {} {}",
                word(line, "rule"),
                word(line, "action"),
                word(line, "wording")
            )),
            "end" => Some(format!("end {}", word(line, "how"))),
            _ => None,
        });
    told.collect()
}

/// Severity and rule of what `check` finds in the journal of the run.
fn checked(here: &Path) -> (i32, Vec<String>) {
    let (code, out, _) = told(here, &["check", "run.jsonl", "--format", "json"]);
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let found = story(&lines).into_iter();
    (
        code,
        found.filter(|line| !line.starts_with("end")).collect(),
    )
}

const MISSPELLED: &str = r#"name = "desk"
[[rule]]
last = "output"
text = "It is Ann."
[[rule]]
turn = 1
calls = [{ name = "find_usr", arguments = { id = 7 } }]
"#;

#[test]
fn a_journal_says_when_its_replies_and_tools_were() {
    let here = folder(&[
        ("desk.toml", &agent("chat", "Ann")),
        (
            "desk.script.toml",
            &MISSPELLED.replace("find_usr", "find_user"),
        ),
    ]);
    assert_eq!(run(here.path(), None).0, 0);
    let (_, out, _) = told(here.path(), &["usage", "run.jsonl", "--format", "json"]);
    let lines = out.lines().map(|line| serde_json::from_str(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    let of_type = |kind: &str| {
        lines
            .iter()
            .filter(|line| line["type"] == kind)
            .collect::<Vec<_>>()
    };
    let elapsed = of_type("session")[0]["span_ms"].as_u64().unwrap();
    let (called, answered) = (of_type("turn")[0], of_type("turn")[1]);
    let at = |turn: &Value| turn["at_ms"].as_u64().unwrap();
    assert!(
        at(called) <= at(answered) && at(answered) - at(called) <= elapsed,
        "{out}"
    );
    let (_, text, _) = told(here.path(), &["show", "run.jsonl"]);
    let head = text.lines().find(|line| line.contains("turn 2")).unwrap();
    assert!(head.trim_start().as_bytes()[2] == b':', "{text}");
}

#[test]
fn a_fault_is_told_as_bad_as_it_was_before_the_decision_about_it() {
    for dialect in ["chat", "responses", "anthropic"] {
        let here = folder(&[
            ("desk.toml", &agent(dialect, "Ann")),
            ("desk.script.toml", MISSPELLED),
        ]);
        let policy = "[on.unknown-tool]\ndo = \"inject\"\nwording = \"nearest\"\n";
        let (code, lines) = run(here.path(), Some(policy));
        let expected = [
            "error unknown-tool",
            "decided unknown-tool inject-error nearest",
            "end final",
        ];
        assert_eq!(
            (code, story(&lines)),
            (0, expected.map(str::to_owned).to_vec())
        );
        let journal = std::fs::read_to_string(here.path().join("run.jsonl")).unwrap();
        let taken = journal
            .lines()
            .find(|line| line.contains("inject-error") && line.contains(r#""type":"taken""#));
        assert!(
            taken.unwrap().contains(r#""wording":"nearest""#),
            "{journal}"
        );
        let (code, found) = checked(here.path());
        assert_eq!(code, 0, "{dialect}: {found:?}");
        assert!(found.contains(&"info unknown-tool".to_owned()), "{found:?}");
        let (_, out, _) = told(here.path(), &["check", "run.jsonl"]);
        assert!(!out.contains("offered when it ran"), "{out}");
        // What was answered is not answered again.
        let (_, _, err) = told(here.path(), &["fix", "run.jsonl", "-o", "fixed.json"]);
        assert!(err.contains("0 actions applied"), "{err}");
        let fixed = std::fs::read_to_string(here.path().join("fixed.json")).unwrap();
        assert!(
            fixed.contains("find_usr") && fixed.contains("Ann"),
            "{fixed}"
        );
    }
}

#[test]
fn an_error_that_a_tool_told_is_settled_by_nobody_until_a_policy_says_something_else() {
    let script = r#"name = "desk"
[[rule]]
last_contains = "try another id"
text = "I cannot find that user."
[[rule]]
last = "output"
text = "Something is wrong."
[[rule]]
turn = 1
calls = [{ name = "find_user", arguments = { id = 7 } }]
"#;
    let here = folder(&[
        ("desk.toml", &agent("chat", "Error: user not found")),
        ("desk.script.toml", script),
    ]);
    let (code, lines) = run(here.path(), None);
    assert_eq!(
        (code, story(&lines)),
        (
            0,
            vec!["warning tool-error".to_owned(), "end final".to_owned()]
        )
    );
    let (_, found) = checked(here.path());
    assert_eq!(found, ["warning tool-error"]);
    let policy =
        "[on.tool-error]\ndo = \"inject\"\nwording = \"Error: no such user; try another id.\"\n";
    let (code, lines) = run(here.path(), Some(policy));
    let expected = [
        "warning tool-error",
        "decided tool-error inject-error Error: no such user; try another id.",
        "end final",
    ];
    assert_eq!(
        (code, story(&lines)),
        (0, expected.map(str::to_owned).to_vec())
    );
    let end = lines.last().unwrap();
    assert_eq!(end["output"], "I cannot find that user.");
    assert_eq!(checked(here.path()).1, ["info tool-error"]);
}

const CUT: &str = r#"name = "desk"
[[rule]]
last = "output"
text = "It is Ann."
[[rule]]
attempt = 1
finish = "length"
calls = [{ name = "find_user", arguments = '{"id": ' }]
[[rule]]
calls = [{ name = "find_user", arguments = { id = 7 } }]
"#;

#[test]
fn a_reply_that_the_token_limit_cut_is_no_bad_json() {
    for dialect in ["chat", "responses", "anthropic"] {
        let here = folder(&[
            ("desk.toml", &agent(dialect, "Ann")),
            ("desk.script.toml", CUT),
        ]);
        let (code, lines) = run(here.path(), None);
        let expected = ["warning truncated-response", "end unattended"];
        assert_eq!(
            (code, story(&lines)),
            (1, expected.map(str::to_owned).to_vec()),
            "{dialect}"
        );
        let (_, found) = checked(here.path());
        assert!(
            found.contains(&"warning truncated-response".to_owned()),
            "{found:?}"
        );
        assert!(
            !found.iter().any(|found| found.contains("malformed")),
            "{found:?}"
        );
        let policy = "[on.truncated-response]\ndo = \"retry\"\n";
        let (code, lines) = run(here.path(), Some(policy));
        let expected = [
            "warning truncated-response",
            "decided truncated-response retry -",
            "end final",
        ];
        assert_eq!(
            (code, story(&lines)),
            (0, expected.map(str::to_owned).to_vec()),
            "{dialect}"
        );
        assert_eq!(checked(here.path()), (0, Vec::new()));
    }
}

#[test]
fn without_an_operator_a_warning_without_an_entry_passes_and_an_error_ends_the_run() {
    let script = "name = \"desk\"\n[[rule]]\nfinish = \"length\"\ntext = \"User 7 is An\"\n";
    let here = folder(&[
        ("desk.toml", &agent("chat", "Ann")),
        ("desk.script.toml", script),
    ]);
    let (code, lines) = run(here.path(), None);
    assert_eq!(
        (code, story(&lines)),
        (
            0,
            vec![
                "warning truncated-response".to_owned(),
                "end final".to_owned()
            ]
        )
    );
    std::fs::write(here.path().join("desk.script.toml"), MISSPELLED).unwrap();
    let (code, lines) = run(here.path(), None);
    assert_eq!(
        (code, story(&lines)),
        (
            1,
            vec!["error unknown-tool".to_owned(), "end unattended".to_owned()]
        )
    );
}
