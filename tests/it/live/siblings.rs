//! Two wordings of one error, side by side: two takes of one run.

use super::driven::{HeldRun, attended, reasons};
use super::{Stage, bundled, marking};
use retake_core::session::HistoryChange;
use retake_core::session::ledger::Ending;
use retake_core::wording::{FailureKind, find};
use retake_live::live::Phase;

const SCRIPT: &str = r#"
[[rule]]
last_contains = "look_up"
times = 1
calls = [{ name = "look_up", arguments = { word = "late" } }]
[[rule]]
turn = 1
calls = [
    { name = "work", arguments = { word = "one" } },
    { name = "lok_up", arguments = { word = "two" } },
]
[[rule]]
called = "lok_up"
times = 2
calls = [{ name = "lok_up", arguments = { word = "again" } }]
[[rule]]
text = "Found it."
"#;

fn template(name: &str) -> &'static str {
    &find(FailureKind::UnknownTool, name).unwrap().template
}

#[test]
fn one_wording_helps_and_the_other_does_not_and_the_good_call_ran_once() {
    let (stage, agent) = Stage::with_agent(SCRIPT, "");
    let text = std::fs::read_to_string(&agent).unwrap();
    let text = text + &marking("work", "echo did-it-$$") + &marking("look_up", "echo found");
    std::fs::write(&agent, text).unwrap();
    let journal = stage.path("run.jsonl");
    let mut driven = HeldRun::new(&agent, &journal, attended());
    let phase = driven.rest();
    assert!(reasons(&phase).starts_with("unknown-tool"), "{phase:?}");
    let fork = driven.run.take();
    assert_eq!(stage.marks("one"), 0);

    let named = driven.mend("unknown-tool", "inject-error", Some(template("nearest")));
    assert_eq!(
        driven.rest(),
        Phase::Ended(Ending::Final),
        "{:#?}",
        driven.news
    );
    assert_eq!((stage.marks("one"), stage.marks("late")), (1, 1));

    driven.go_to(fork);
    assert!(reasons(&driven.rest()).starts_with("unknown-tool"));
    let bare = driven.mend("unknown-tool", "inject-error", Some(template("bare")));
    let phase = driven.rest();
    assert!(
        reasons(&phase).starts_with("unknown-tool"),
        "it makes the mistake again: {phase:?}"
    );
    assert_ne!(named, bare);
    assert_eq!(
        driven.bench.takes().parent(named),
        driven.bench.takes().parent(bare)
    );
    assert_eq!(stage.marks("one"), 1, "the good call did not run again");
    assert_eq!(driven.starts("work"), 1);

    // The output that it had is in both takes, word for word.
    let texts = [named, bare].map(|take| {
        let rope = driven.bench.rope(take).unwrap();
        let mut out = Vec::new();
        let base = driven.bench.base(take).unwrap();
        retake_live::write_take(base, &rope, &mut out).unwrap();
        let text = String::from_utf8(out).unwrap();
        let place = text.find("did-it-").unwrap();
        text[place..].split(['"', '\\']).next().unwrap().to_owned()
    });
    assert_eq!(texts[0], texts[1]);
    let changes = driven.compared(named, bare);
    let same = changes
        .iter()
        .take_while(|change| matches!(change, HistoryChange::Same { .. }));
    assert!(same.count() >= 1 && changes.len() > 1, "{changes:?}");
    let HistoryChange::Changed { before, after } = changes[1] else {
        panic!("the injected words differ first: {changes:?}")
    };
    assert_eq!(before, after);
}

#[test]
fn the_demo_goes_both_ways_from_one_pause() {
    let stage = Stage::new();
    let mut driven = HeldRun::new(&bundled("flights"), &stage.path("run.jsonl"), attended());
    driven.rest();
    let fork = driven.run.take();
    let good = driven.mend("unknown-tool", "inject-error", Some(template("nearest")));
    assert_eq!(driven.rest(), Phase::Ended(Ending::Final));
    assert!(driven.run.final_text().unwrap().contains("TP 204"));
    driven.go_to(fork);
    let bad = driven.mend("unknown-tool", "inject-error", Some(template("bare")));
    assert!(reasons(&driven.rest()).starts_with("unknown-tool"));
    // Back in the good one nothing is asked again; forward in the bad one it waits where it waited.
    let asked = driven.bench.ledger().asks().count();
    driven.go_to(good);
    driven.rest();
    driven.go_to(bad);
    assert!(reasons(&driven.rest()).starts_with("unknown-tool"));
    assert_eq!(driven.bench.ledger().asks().count(), asked);
}
