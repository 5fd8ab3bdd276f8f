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
    let waiting = asked.lines.last().unwrap()["waits_for"][0].clone();
    assert_eq!(waiting["item"], 5);

    // What cannot be done changes nothing.
    for (command, why) in [
        ("inject-eror", "did you mean `inject-error`"),
        ("inject-error nearst", "available: nearest"),
        (
            "repair-arguments",
            "is no answer to this run; it waits for: unknown-tool",
        ),
        ("approve", "answers: take-suggestion, inject-error"),
        ("continue", "is no answer to this run"),
        ("say hello", "is no answer to this run"),
    ] {
        let refused = go(&["--resume", "--do", command]);
        assert!(
            refused.code == 2 && refused.err.contains(why),
            "{command}: {}",
            refused.err
        );
    }

    let last = go(&[
        "--resume",
        "--do",
        "inject-error nearest",
        "--do",
        "continue",
    ]);
    assert_eq!(last.code, 0, "{}{}", last.out, last.err);
    let decision = last.of_type("decision")[0];
    assert_eq!(decision["by"], "operator");
    assert_eq!(decision["wording"], "nearest");
    assert_eq!(decision["call_id"], waiting["call_id"]);
    assert_eq!(waiting["tool"], "serch_flights");
    assert_eq!(last.how(), "final");
    // Nothing waited for the last command.
    assert!(
        last.out.contains("the run had ended before: continue"),
        "{}",
        last.out
    );
    let over = go(&["--resume", "--do", "continue"]);
    assert!(
        over.code == 2 && over.err.contains("the run has ended already"),
        "{}{}",
        over.out,
        over.err
    );
    let over = go(&["--resume", "--do", "qwertz"]);
    assert!(
        over.code == 2 && over.err.contains("unknown command"),
        "{}",
        over.err
    );

    let gone = stage.run(&agent, &["--journal", "none.jsonl", "--resume"]);
    assert!(
        gone.code == 2 && gone.err.contains("no such file"),
        "{}",
        gone.err
    );
    let again = go(&["--step"]);
    assert!(
        again.code == 2 && again.err.contains("with --resume"),
        "{}",
        again.err
    );
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

const BOOKS: &str = r#"
[[rule]]
turn = 1
calls = [{ name = "book", arguments = { word = "one" } }, { name = "ask", arguments = { word = "two" } }]
[[rule]]
turn = 2
text = "Done."
"#;

#[test]
fn what_a_run_waits_for_is_answered_by_a_later_process() {
    let ask = "[[tools]]\nname = \"ask\"\ndescription = \"asks\"\nask = true\n";
    let book = marking("book", "echo booked").replace("\"never\"", "\"always\"");
    let (stage, agent) = Stage::with_agent(BOOKS, &(book + ask));
    let go = |words: &[&str]| stage.run(&agent, &[&["--journal", "run.jsonl"], words].concat());
    let first = go(&["--do", "abort"]);
    assert_eq!(first.how(), "aborted");
    std::fs::remove_file(stage.path("run.jsonl")).unwrap();

    let first = go(&["--break", "turn 99"]);
    let (why, commands) = waits_for(first.lines.last().unwrap());
    assert!(why.contains("book needs an approval"), "{why}");
    assert_eq!(commands, ["approve", "reject", "abort"]);
    let refused = go(&["--resume", "--do", "say hello"]);
    assert!(
        refused.code == 2 && refused.err.contains("is no answer"),
        "{}",
        refused.err
    );
    assert_eq!(stage.marks("one"), 0);

    let approved = go(&["--resume", "--do", "approve"]);
    assert_eq!(stage.marks("one"), 1, "{}{}", approved.out, approved.err);
    let (why, _) = waits_for(approved.lines.last().unwrap());
    assert!(
        why.contains("the output of ask is the operator's to give"),
        "{why}"
    );
    let last = go(&["--resume", "--do", "output it is two"]);
    assert_eq!(last.how(), "final", "{}{}", last.out, last.err);
    assert_eq!(stage.marks("one"), 1);
}

#[test]
fn turns_are_granted_by_a_later_process() {
    let (stage, agent) = Stage::with_agent(
        CALLS_TWICE,
        &format!("max_turns = 1\n{}", marking("write", "echo written")),
    );
    let go = |words: &[&str]| stage.run(&agent, &[&["--journal", "run.jsonl"], words].concat());
    let (why, commands) = {
        let first = go(&["--break", "turn 99"]);
        let (why, commands) = waits_for(first.lines.last().unwrap());
        (
            why,
            commands.iter().map(|it| it.to_string()).collect::<Vec<_>>(),
        )
    };
    assert!(why.contains("used up its 1 turns"), "{why}");
    assert_eq!(commands, ["turns", "abort"]);
    assert_eq!(go(&["--resume", "--do", "turns 2"]).how(), "final");
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
