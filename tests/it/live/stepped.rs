//! A run without a screen that an operator leads by commands: it waits in its journal between two processes.

use super::{Stage, bundled, marking};
use serde_json::Value;

fn waits_for(line: &Value) -> (String, Vec<&str>) {
    assert_eq!(line["type"], "waiting", "{line}");
    let reason = &line["waits_for"][0];
    let commands = reason["commands"].as_array().unwrap();
    (
        reason["why"].as_str().unwrap().to_owned(),
        commands.iter().map(|it| it.as_str().unwrap()).collect(),
    )
}

#[test]
fn a_run_is_led_step_by_step_by_processes_that_end_in_between() {
    let stage = Stage::new();
    let agent = bundled("flights");
    let go = |words: &[&str]| stage.run(&agent, &[&["--journal", "run.jsonl"], words].concat());

    let first = go(&["--step"]);
    assert_eq!(first.code, 1);
    let (why, commands) = waits_for(first.lines.last().unwrap());
    assert_eq!(why, "the next step");
    assert_eq!(commands, ["continue", "step", "abort"]);
    assert!(first.of_type("asked").is_empty(), "{}", first.out);

    let asked = go(&["--resume", "--do", "step"]);
    let (why, commands) = waits_for(asked.lines.last().unwrap());
    assert!(why.starts_with("unknown-tool: serch_flights"), "{why}");
    assert!(commands.contains(&"inject-error") && commands.contains(&"release"));
    assert_eq!(asked.lines.last().unwrap()["waits_for"][0]["item"], 5);

    // What cannot be done changes nothing.
    let wrong = go(&["--resume", "--do", "inject-eror"]);
    assert_eq!(wrong.code, 2);
    assert!(
        wrong.err.contains("did you mean `inject-error`"),
        "{}",
        wrong.err
    );
    let unknown = go(&["--resume", "--do", "inject-error nearst"]);
    assert!(
        unknown.err.contains("available: nearest"),
        "{}",
        unknown.err
    );
    let elsewhere = go(&["--resume", "--do", "repair-arguments"]);
    assert!(
        elsewhere.err.contains("unknown-tool offers"),
        "{}",
        elsewhere.err
    );
    let nobody = go(&["--resume", "--do", "approve"]);
    assert!(
        nobody
            .err
            .contains("no call needs an approval; it waits for: unknown-tool"),
        "{}",
        nobody.err
    );

    let last = go(&[
        "--resume",
        "--do",
        "inject-error nearest",
        "--do",
        "continue",
    ]);
    assert_eq!(last.code, 0, "{}{}", last.out, last.err);
    let decision = last
        .lines
        .iter()
        .find(|line| line["type"] == "decision")
        .unwrap();
    assert_eq!(decision["by"], "operator");
    assert_eq!(decision["wording"], "nearest");
    assert_eq!(last.lines.last().unwrap()["how"], "final");
}

const CALLS_TWICE: &str = r#"
[[rule]]
turn = 1
calls = [{ name = "write", arguments = { word = "one" } }]
[[rule]]
turn = 2
text = "Done."
"#;

#[test]
fn a_tool_that_ran_before_the_process_ended_does_not_run_again() {
    let (stage, agent) = Stage::with_agent(CALLS_TWICE, &marking("write", "echo written"));
    let journal = ["--journal", "run.jsonl"];
    let go = |words: &[&str]| stage.run(&agent, &[&journal[..], words].concat());
    assert_eq!(go(&["--break", "tool write"]).code, 1);
    assert_eq!(stage.marks("one"), 0);
    let ran = go(&["--resume", "--do", "step"]);
    assert_eq!((ran.code, stage.marks("one")), (1, 1), "{}", ran.out);
    let last = go(&["--resume", "--do", "continue"]);
    assert_eq!((last.code, stage.marks("one")), (0, 1), "{}", last.out);
}

#[test]
fn the_takes_of_a_run_are_listed_and_shown() {
    let stage = Stage::new();
    let journal = [
        "--journal",
        "run.jsonl",
        "--do",
        "inject-error nearest",
        "--do",
        "continue",
    ];
    assert_eq!(stage.run(&bundled("flights"), &journal).code, 0);
    let (code, out, _) = stage.told(&["takes", "run.jsonl"]);
    assert_eq!(code, 0);
    let lines: Vec<_> = out.lines().collect();
    assert!(lines[0].starts_with("  first request"), "{out}");
    assert!(
        lines[2].starts_with("* ") && lines[2].contains("take 2  inject error"),
        "{out}"
    );
    let (_, json, _) = stage.told(&["takes", "run.jsonl", "--format", "json"]);
    let last: Value = serde_json::from_str(json.lines().last().unwrap()).unwrap();
    assert_eq!(
        (&last["take"], &last["parent"], &last["item"]),
        (&2.into(), &1.into(), &5.into())
    );
    let shown = |take: &str| stage.told(&["show", "run.jsonl", "--take", take]);
    assert!(!shown("1").1.contains("TP 204"));
    assert!(shown("2").1.contains("TP 204"));
    let (code, _, err) = shown("9");
    assert!(code == 2 && err.contains("there is no take 9"), "{err}");
}
