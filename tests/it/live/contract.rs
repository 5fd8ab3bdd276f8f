//! The lines of a run without a screen, and how it refuses to begin.

use super::{Stage, Told, bundled};
use std::io::{BufRead, BufReader, Read};
use std::process::Stdio;

const POLICY: &str = "[on.unknown-tool]\ndo = \"inject\"\nwording = \"nearest\"\ntimes = 2\n";

#[test]
fn the_first_line_is_the_run_the_last_its_end_and_findings_are_those_of_check() {
    let stage = Stage::new();
    let told = stage.run_by(&bundled("flights"), POLICY);
    let first = &told.lines[0];
    assert_eq!(first["type"], "run");
    assert_eq!(
        (&first["agent"], &first["scripted"]),
        (&"flights".into(), &true.into())
    );
    assert!(told.journal().is_file());
    assert_eq!(told.of_type("run").len() + told.of_type("end").len(), 2);
    for line in &told.lines {
        assert!(line["type"].is_string(), "{line}");
    }
    // A finding that the policy dealt with is told before the decision.
    let place = |kind: &str| told.lines.iter().position(|line| line["type"] == kind);
    assert!(
        place("finding").unwrap() < place("decision").unwrap(),
        "{}",
        told.out
    );
    let end = told.end();
    for key in [
        "how",
        "take",
        "turns",
        "input_tokens",
        "output_tokens",
        "output",
    ] {
        assert!(!end[key].is_null(), "{key}: {end}");
    }

    let unattended = stage.run(&bundled("flights"), &[]);
    let journal = unattended.journal();
    let (_, checked, _) = stage.told(&["check", journal.to_str().unwrap(), "--format", "json"]);
    let checked = checked
        .lines()
        .map(serde_json::from_str::<serde_json::Value>);
    let checked = checked
        .map(Result::unwrap)
        .filter(|line| line["type"] == "finding");
    // While the run is on, a call that waits for its output is none.
    let checked = checked.filter(|line| line["rule"] != "pending-call");
    let checked: Vec<_> = checked.collect();
    let found = unattended.of_type("finding");
    assert_eq!(found.len(), checked.len(), "{checked:#?}");
    for (found, checked) in found.into_iter().zip(&checked) {
        let keys = |value: &serde_json::Value| {
            value
                .as_object()
                .unwrap()
                .keys()
                .cloned()
                .collect::<Vec<_>>()
        };
        assert_eq!(keys(found), keys(checked));
        for key in [
            "rule", "severity", "item", "turn", "call_id", "message", "tool",
        ] {
            assert_eq!(found[key], checked[key], "{key}");
        }
    }
}

#[test]
fn who_reads_one_line_only_ends_the_run_quietly() {
    let stage = Stage::new();
    let policy = stage.write("policy.toml", POLICY);
    let mut command =
        stage.run_command(&bundled("flights"), &["--policy", policy.to_str().unwrap()]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut line = String::new();
    let mut out = BufReader::new(child.stdout.take().unwrap());
    out.read_line(&mut line).unwrap();
    drop(out);
    assert!(line.starts_with("{\"type\":\"run\""), "{line}");
    let mut err = String::new();
    child
        .stderr
        .take()
        .unwrap()
        .read_to_string(&mut err)
        .unwrap();
    child.wait().unwrap();
    assert_eq!(err, "");
}

#[test]
fn a_journal_that_is_there_is_not_written_over() {
    let stage = Stage::new();
    let journal = stage.write("mine.jsonl", "mine\n");
    let told = stage.run(
        &bundled("flights"),
        &["--journal", journal.to_str().unwrap()],
    );
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(told.err.contains("there is a file already"), "{}", told.err);
    assert_eq!(std::fs::read_to_string(&journal).unwrap(), "mine\n");
    let other = stage.path("other.jsonl");
    let told = stage.run(&bundled("flights"), &["--journal", other.to_str().unwrap()]);
    assert_eq!(told.journal(), other);
    assert!(!stage.path("state").join("retake/runs").exists());
}

#[test]
fn everything_that_is_wrong_with_the_files_stands_in_the_refusal() {
    let stage = Stage::new();
    let refused = |told: Told, words: &[&str]| {
        assert_eq!((told.code, told.out.as_str()), (2, ""), "{}", told.err);
        for word in words {
            assert!(told.err.contains(word), "{word}: {}", told.err);
        }
    };
    let agent = "name = 7\nmax_turns = 0\n[model]\ndialect = \"morse\"\n[[tools]]\nname = \"a\"\n";
    let agent = stage.write("bad.toml", agent);
    refused(
        stage.run(&agent, &[]),
        &["bad.toml:1:", "bad.toml:2:", "bad.toml:4:", "\"chat\""],
    );
    let policy =
        "max_turns = 0\n[on.no-such-rule]\ndo = \"inject\"\n[on.unknown-tool]\ndo = \"sing\"\n";
    refused(
        stage.run_by(&bundled("flights"), policy),
        &["policy.toml", "max_turns", "no-such-rule", "sing"],
    );
    stage.write("agent.script.toml", "[[rule]]\ntext = 7\nturns = 1\n");
    let agent = stage.write(
        "scripted.toml",
        "name = \"s\"\ninput = \"Hi\"\n[model]\ndialect = \"chat\"\nscript = \"agent.script.toml\"\n",
    );
    refused(
        stage.run(&agent, &[]),
        &["agent.script.toml", "text", "turns"],
    );
    refused(stage.run(&stage.path("none.toml"), &[]), &["none.toml"]);
    assert!(
        !stage.path("state").join("retake/runs").exists(),
        "nothing was begun"
    );
}

#[test]
fn c16_a_program_runs_only_where_the_file_was_confirmed() {
    let script = "[[rule]]\ntext = \"done\"\n";
    let (stage, agent) = Stage::with_agent(script, "");
    let text = std::fs::read_to_string(&agent).unwrap() + &super::marking("work", "echo done");
    std::fs::write(&agent, text).unwrap();
    let mut command = stage.retake();
    command.arg("run").arg(&agent).arg("--headless");
    let told = Told::of(&mut command);
    assert_eq!((told.code, told.out.as_str()), (2, ""));
    assert!(
        told.err.contains("was not confirmed") && told.err.contains("marks"),
        "{}",
        told.err
    );
    assert_eq!(stage.run(&agent, &[]).code, 0);
    // What was confirmed once is not asked for again.
    let told = Told::of(&mut command);
    assert_eq!(told.code, 0, "{}", told.err);
}

#[test]
fn a_change_of_a_script_that_a_command_names_asks_again() {
    let script = "[[rule]]\ntext = \"done\"\n";
    let (stage, agent) = Stage::with_agent(script, "");
    let tool =
        "\n[[tools]]\nname = \"work\"\ncommand = [\"sh\", \"tool.sh\", \"--data=data.db\"]\n";
    let text = std::fs::read_to_string(&agent).unwrap() + tool;
    std::fs::write(&agent, text).unwrap();
    stage.write("tool.sh", "echo one\n");
    stage.write("data.db", "one");
    let run = || {
        let mut command = stage.retake();
        Told::of(command.arg("run").arg(&agent).arg("--headless"))
    };
    assert_eq!(stage.run(&agent, &[]).code, 0);
    assert_eq!(run().code, 0);
    // Data of a tool change with every run.
    stage.write("data.db", "two");
    assert_eq!(run().code, 0);
    stage.write("tool.sh", "echo two\n");
    let told = run();
    assert_eq!(told.code, 2);
    assert!(
        told.err.contains("as these scripts are now: tool.sh"),
        "{}",
        told.err
    );
    assert!(!told.err.contains("data.db,"), "{}", told.err);
}
