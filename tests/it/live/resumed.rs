//! A run that nobody could decide about is taken up again, with somebody or with another policy.

use super::driven::{HeldRun, attended, reasons};
use super::{Stage, marking};
use retake_core::engine::{Policy, RunCommand};
use retake_core::session::ledger::Ending;
use retake_live::live::{Phase, RunOptions};

const SCRIPT: &str = r#"
[[rule]]
turn = 1
calls = [{ name = "work", arguments = { word = "one" } }]
[[rule]]
turn = 2
calls = [{ name = "wrok", arguments = { word = "two" } }, { name = "work", arguments = { word = "three" } }]
[[rule]]
last_contains = "work"
times = 1
calls = [{ name = "work", arguments = { word = "two" } }]
[[rule]]
text = "Everything is done."
"#;

fn unattended() -> (Stage, std::path::PathBuf, std::path::PathBuf) {
    let (stage, agent) = Stage::with_agent(SCRIPT, "");
    let text = std::fs::read_to_string(&agent).unwrap() + &marking("work", "echo done");
    std::fs::write(&agent, text).unwrap();
    let told = stage.run(&agent, &[]);
    assert_eq!(
        (told.code, told.how()),
        (1, "unattended"),
        "{}{}",
        told.out,
        told.err
    );
    assert_eq!(
        (stage.marks("one"), stage.marks("three")),
        (1, 0),
        "the bad call is settled first"
    );
    let journal = told.journal();
    (stage, agent, journal)
}

fn ran_once(stage: &Stage) {
    for word in ["one", "two", "three"] {
        assert_eq!(stage.marks(word), 1, "{word}");
    }
}

#[test]
fn another_policy_takes_it_up_at_the_pause() {
    let (stage, agent, journal) = unattended();
    let policy = "[on.unknown-tool]\ndo = \"inject\"\nwording = \"nearest\"\n";
    let options = RunOptions {
        has_operator: false,
        policy: Some(Policy::parse(policy).unwrap()),
        ..attended()
    };
    let mut driven = HeldRun::again(&agent, &journal, options);
    assert_eq!(
        driven.rest(),
        Phase::Ended(Ending::Final),
        "{:#?}",
        driven.news
    );
    assert_eq!(driven.run.final_text().unwrap(), "Everything is done.");
    ran_once(&stage);
    drop(driven);
    let (code, out, err) = stage.told(&[
        "convert",
        journal.to_str().unwrap(),
        "--to",
        "chat",
        "--request",
    ]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("Everything is done."));
}

#[test]
fn an_operator_takes_it_up_at_the_pause_and_gives_the_output_by_hand() {
    let (stage, agent, journal) = unattended();
    let mut driven = HeldRun::again(&agent, &journal, attended());
    let phase = driven.rest();
    assert!(reasons(&phase).starts_with("unknown-tool"), "{phase:?}");
    // Closed at the pause once more, it waits there again.
    drop(driven);
    let mut driven = HeldRun::again(&agent, &journal, attended());
    assert!(reasons(&driven.rest()).starts_with("unknown-tool"));
    driven.mend("unknown-tool", "take-suggestion", None);
    assert_eq!(
        driven.rest(),
        Phase::Ended(Ending::Final),
        "{:#?}",
        driven.news
    );
    ran_once(&stage);
}

#[test]
fn an_ended_run_asks_nothing_when_it_is_taken_up() {
    let (stage, agent) = Stage::with_agent("[[rule]]\ntext = \"Done.\"\n", "");
    let told = stage.run(&agent, &[]);
    assert_eq!(told.code, 0, "{}", told.err);
    let mut driven = HeldRun::again(&agent, &told.journal(), attended());
    assert_eq!(driven.rest(), Phase::Ended(Ending::Final));
    assert_eq!(driven.bench.ledger().asks().count(), 1);
    driven.command(RunCommand::Continue);
    assert_eq!(driven.rest(), Phase::Ended(Ending::Final));
    driven.handle(retake_live::live::RunInput::Say("And now?".to_owned()));
    assert_eq!(driven.rest(), Phase::Ended(Ending::Final));
    assert_eq!(
        driven.bench.ledger().asks().count(),
        2,
        "{:#?}",
        driven.news
    );
}
