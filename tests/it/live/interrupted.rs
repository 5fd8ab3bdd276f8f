//! An interrupt ends a run in order; and nobody else writes its journal meanwhile.

use super::driven::{HeldRun, attended};
use super::{Stage, bundled, marking, until};
use retake_live::TakeStore;
use retake_live::live::{Phase, RunNews};
use retake_live::takes::wall_clock;
use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::process::Stdio;

const SCRIPT: &str = r#"
[[rule]]
turn = 1
calls = [{ name = "work", arguments = { word = "one" } }, { name = "work", arguments = { word = "two" } }]
[[rule]]
text = "Done."
"#;

#[test]
fn an_interrupt_ends_the_tools_and_closes_the_calls() {
    ends_in_order(Signal::INT, 130);
}

#[test]
fn so_does_what_asks_the_process_to_end_and_a_terminal_that_is_gone() {
    ends_in_order(Signal::TERM, 143);
    ends_in_order(Signal::HUP, 129);
}

fn ends_in_order(signal: Signal, expected: i32) {
    let (stage, agent) = Stage::with_agent(SCRIPT, "");
    let tools = marking("work", "echo $$ > pid.$word; sleep 300");
    let text = std::fs::read_to_string(&agent).unwrap() + &tools;
    std::fs::write(&agent, text).unwrap();
    let mut command = stage.run_command(&agent, &[]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let pids = ["one", "two"].map(|word| {
        let path = stage.path(&format!("pid.word{word}"));
        let mut pid = None;
        until("the tool told its number", || {
            let text = std::fs::read_to_string(&path).unwrap_or_default();
            pid = text.trim().parse::<i32>().ok();
            pid.is_some()
        });
        Pid::from_raw(pid.unwrap()).unwrap()
    });
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let first: Value = serde_json::from_str(&lines.next().unwrap().unwrap()).unwrap();
    let journal = first["journal"].as_str().unwrap().to_owned();

    // While it runs, others read.
    let (code, _, err) = stage.told(&["check", &journal]);
    assert_eq!((code, err.as_str()), (0, ""));
    let (other, _) = TakeStore::open_run(std::path::Path::new(&journal), wall_clock).unwrap();
    let trouble = other
        .not_recording()
        .expect("it belongs to the run")
        .to_string();
    assert!(trouble.contains("another retake"), "{trouble}");
    drop(other);
    let second = stage.run(&agent, &["--journal", &journal]);
    assert_eq!(second.code, 2, "{}", second.out);

    let retake = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(retake, signal).unwrap();
    let rest: Vec<Value> = lines
        .map(|line| serde_json::from_str(&line.unwrap()).unwrap())
        .collect();
    assert_eq!(child.wait().unwrap().code(), Some(expected));
    let end = rest.last().unwrap();
    assert_eq!(
        (&end["type"], &end["how"]),
        (&"end".into(), &"aborted".into()),
        "{rest:#?}"
    );
    for pid in pids {
        until("the tool is gone", || test_kill_process(pid).is_err());
    }
    let finished = rest.iter().filter(|line| line["type"] == "finished");
    assert_eq!(finished.clone().count(), 2, "{rest:#?}");
    assert!(
        finished.clone().all(|line| line["failure"] == "stopped"),
        "{rest:#?}"
    );
    let (code, out, err) = stage.told(&["check", &journal]);
    assert_eq!(code, 0, "{out}{err}");
    assert!(
        !out.contains("pending-call") && !out.contains("orphan-call"),
        "{out}"
    );
    for to in ["responses", "chat", "anthropic"] {
        let (code, out, err) = stage.told(&["convert", &journal, "--to", to, "--request"]);
        assert_eq!(code, 0, "{err}");
        assert_eq!(
            out.matches("stopped while this tool ran").count(),
            2,
            "{out}"
        );
    }
}

#[test]
fn an_interrupt_while_the_model_is_silent_ends_at_once() {
    let (stage, agent) = Stage::with_agent("[[rule]]\nhang = true\n", "");
    let mut child = stage
        .run_command(&agent, &[])
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let asked = lines
        .by_ref()
        .find(|line| line.as_ref().unwrap().contains("\"asked\""));
    asked.unwrap().unwrap();
    let retake = Pid::from_raw(i32::try_from(child.id()).unwrap()).unwrap();
    kill_process(retake, Signal::INT).unwrap();
    let last = lines.last().unwrap().unwrap();
    let last: Value = serde_json::from_str(&last).unwrap();
    assert_eq!(
        (&last["type"], &last["how"]),
        (&"end".into(), &"aborted".into())
    );
    assert_eq!(child.wait().unwrap().code(), Some(130));
}

#[test]
fn a_run_that_nobody_hears_any_more_ends_its_tools_and_its_journal() {
    let (stage, agent) = Stage::with_agent(SCRIPT, "");
    let tools = marking("work", "sleep 1; echo done");
    let text = std::fs::read_to_string(&agent).unwrap() + &tools;
    std::fs::write(&agent, text).unwrap();
    let journal = stage.path("run.jsonl");
    let words = ["--journal", journal.to_str().unwrap()];
    let mut child = stage
        .run_command(&agent, &words)
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    let started = lines.by_ref().filter(|line| {
        let line = line.as_ref().unwrap();
        line.contains("\"type\":\"started\"")
    });
    assert_eq!(started.take(2).count(), 2);
    drop(lines);
    child.wait().unwrap();
    let journal = std::fs::read_to_string(&journal).unwrap();
    assert!(journal.contains("\"how\":\"aborted\""), "{journal}");
}

#[test]
fn a_run_is_never_reported_as_idle_while_it_works_so_that_who_leaves_waits_for_its_end() {
    let stage = Stage::new();
    let mut driven = HeldRun::new(&bundled("final"), &stage.path("run.jsonl"), attended());
    assert!(matches!(driven.rest(), Phase::Ended(_)));
    let phases = driven.news.iter().filter_map(|news| match news {
        RunNews::Phase(phase) => Some(phase),
        _ => None,
    });
    let phases: Vec<_> = phases.collect();
    assert!(phases.len() > 1, "{phases:#?}");
    assert!(!phases.contains(&&Phase::Idle), "{phases:#?}");
}
