//! A run is killed at any instant: its journal holds all that was told, and nothing runs a second time by itself.

use super::driven::{HeldRun, attended, reasons};
use super::{PATIENCE, Stage, marking};
use retake_core::engine::RunCommand;
use retake_core::session::ledger::{CallKey, Ending, LedgerEvent};
use retake_live::TakeStore;
use retake_live::live::Phase;
use retake_live::takes::{Damage, wall_clock};
use serde_json::Value;
use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

const SCRIPT: &str = r#"
[[rule]]
turn = 1
calls = [{ name = "work", arguments = { word = "one" } }]
[[rule]]
turn = 2
calls = [{ name = "work", arguments = { word = "two" } }, { name = "work", arguments = { word = "three" } }]
[[rule]]
turn = 3
calls = [{ name = "work", arguments = { word = "four" } }]
[[rule]]
text = "All four are done."
"#;

fn stage() -> (Stage, std::path::PathBuf) {
    let (stage, agent) = Stage::with_agent(SCRIPT, "");
    let tools = marking("work", "sleep 0.06; echo done");
    let text = std::fs::read_to_string(&agent).unwrap() + &tools;
    std::fs::write(&agent, text).unwrap();
    (stage, agent)
}

/// Runs for so long, is killed, and gives the lines that it told to their end.
fn killed(stage: &Stage, agent: &Path, journal: &Path, after: Duration) -> Vec<Value> {
    let mut command = stage.run_command(agent, &["--journal", journal.to_str().unwrap()]);
    let mut child = command
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    std::thread::sleep(after);
    child.kill().unwrap();
    child.wait().unwrap();
    let mut out = Vec::new();
    child.stdout.take().unwrap().read_to_end(&mut out).unwrap();
    let whole = out
        .iter()
        .rposition(|byte| *byte == b'\n')
        .map_or(0, |end| end + 1);
    let lines = std::str::from_utf8(&out[..whole]).unwrap().lines();
    lines
        .map(|line| serde_json::from_str(line).unwrap())
        .collect()
}

/// The calls that started and did not end.
fn cut_short(bench: &TakeStore) -> Vec<CallKey> {
    let mut open: BTreeMap<CallKey, ()> = BTreeMap::new();
    for happened in bench.happened() {
        match &happened.event {
            LedgerEvent::Started { call, .. } => drop(open.insert(call.clone(), ())),
            LedgerEvent::Finished { call, .. } => drop(open.remove(call)),
            _ => {}
        }
    }
    open.into_keys().collect()
}

/// How long a run takes that nobody kills, on this machine at this moment.
fn length() -> Duration {
    let (stage, agent) = stage();
    let begun = Instant::now();
    let told = stage.run(&agent, &[]);
    assert_eq!(told.code, 0, "{}{}", told.out, told.err);
    begun.elapsed()
}

/// What was told stands in the journal, which is torn at its end at the most.
fn nothing_is_lost(journal: &Path, told: &[Value]) -> Option<Vec<CallKey>> {
    let opened = match TakeStore::open_run(journal, wall_clock) {
        Ok(opened) => opened,
        Err(error) => {
            assert!(told.is_empty(), "{error}, but it told {told:#?}");
            return None;
        }
    };
    let (bench, damages) = opened;
    assert!(damages.len() <= 1, "{damages:?}");
    assert!(
        damages
            .iter()
            .all(|damage| matches!(damage, Damage::Torn { .. })),
        "{damages:?}"
    );
    let happened = bench.happened().iter();
    let known: Vec<Value> = happened
        .map(|one| serde_json::to_value(&one.event).unwrap())
        .collect();
    let of_ledger = |line: &&Value| LedgerEvent::TYPES.iter().any(|word| line["type"] == *word);
    for line in told.iter().filter(of_ledger) {
        assert!(known.contains(line), "lost: {line}");
    }
    Some(cut_short(&bench))
}

#[test]
fn a_killed_run_loses_nothing_it_told_and_runs_no_call_a_second_time() {
    let rounds = if std::env::var_os("RETAKE_LONG").is_some() {
        300
    } else {
        20
    };
    let (mut held, mut begun, mut round) = (0, 0, 0);
    let length = length();
    // A machine that is busy with something else is given more rounds to be killed in a call.
    while round < rounds || held == 0 && round < 10 * rounds {
        let (stage, agent) = stage();
        let journal = stage.path("run.jsonl");
        // Spread over the whole run: 37 and the counts of rounds have no divisor in common.
        let after = length * (round * 37 % rounds) / rounds;
        round += 1;
        let told = killed(&stage, &agent, &journal, after);
        let Some(open) = nothing_is_lost(&journal, &told) else {
            continue;
        };
        begun += 1;
        let mut driven = HeldRun::again(&agent, &journal, attended());
        let phase = driven.rest();
        if open.is_empty() {
            assert_eq!(phase, Phase::Ended(Ending::Final), "{told:#?}");
        } else {
            held += 1;
            let why = reasons(&phase);
            for call in &open {
                assert!(
                    why.contains(&format!("work may have run ({call})")),
                    "{why}"
                );
            }
            for call in open {
                driven.command(RunCommand::Supply {
                    call,
                    output: "looked it up: done".to_owned(),
                    is_error: false,
                });
            }
            assert_eq!(driven.rest(), Phase::Ended(Ending::Final));
        }
        for word in ["one", "two", "three", "four"] {
            assert!(
                stage.marks(word) <= 1,
                "{word} ran twice, killed after {after:?}"
            );
        }
        let (code, out, err) = stage.told(&["check", journal.to_str().unwrap()]);
        assert_eq!(code, 0, "{out}{err}");
    }
    assert!(
        begun > 0 && held > 0,
        "of {round} runs {begun} had begun and {held} were cut short"
    );
}

#[test]
fn where_nobody_is_there_a_call_that_may_have_run_ends_the_run_again() {
    let (stage, agent) = stage();
    let text = std::fs::read_to_string(&agent)
        .unwrap()
        .replace("sleep 0.06", "sleep 60");
    std::fs::write(&agent, text).unwrap();
    let journal = stage.path("run.jsonl");
    let mut command = stage.run_command(&agent, &["--journal", journal.to_str().unwrap()]);
    let mut child = command
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .unwrap();
    super::until("the tool ran", || stage.marks("one") == 1);
    child.kill().unwrap();
    child.wait().unwrap();
    let options = retake_live::live::RunOptions {
        has_operator: false,
        ..attended()
    };
    let begun = Instant::now();
    let mut driven = HeldRun::again(&agent, &journal, options);
    let Phase::Ended(Ending::Unattended { why }) = driven.rest() else {
        panic!("{:?}", driven.run.phase());
    };
    assert!(why.contains("work may have run"), "{why}");
    assert_eq!(stage.marks("one"), 1);
    assert!(begun.elapsed() < PATIENCE);
}

#[test]
fn a_tool_whose_start_cannot_be_written_down_does_not_run() {
    let (stage, agent) = stage();
    let text = std::fs::read_to_string(&agent).unwrap();
    // The first output fills what the disk has for the journal.
    let text = text.replace(
        "sleep 0.06; echo done",
        "head -c 40000 /dev/zero | tr '\\\\0' x",
    );
    std::fs::write(&agent, text).unwrap();
    let journal = stage.path("run.jsonl");
    let mut command = std::process::Command::new("sh");
    command
        .args(["-c", "trap '' XFSZ; ulimit -f 16; exec \"$@\"", "sh"])
        .arg(env!("CARGO_BIN_EXE_retake"))
        .arg("run")
        .arg(&agent)
        .args(["--headless", "--trust", "--journal"])
        .arg(&journal)
        .current_dir(stage.path("."))
        .env("XDG_STATE_HOME", stage.path("state"))
        .env("HOME", stage.path("."));
    let told = super::Told::of(&mut command);
    assert_eq!(stage.marks("one"), 1, "{}{}", told.out, told.err);
    assert_eq!(stage.marks("two") + stage.marks("three"), 0, "{}", told.out);
    assert_eq!((told.code, told.how()), (1, "unattended"), "{}", told.out);
    assert!(!told.of_type("notice").is_empty(), "{}", told.out);
}
