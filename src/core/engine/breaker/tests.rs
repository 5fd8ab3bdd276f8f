//! Breakers as stories, and against the plainest model of one.

use super::*;
use crate::session::ledger::Ask;
use proptest::prelude::*;

const HERE: BreakerEvent<'static> = BreakerEvent {
    agent: "clerk",
    run: "/runs/clerk-1.jsonl",
    time: "2026-11-22T18:00:00Z",
};

fn call(id: impl ToString) -> CallKey {
    CallKey {
        ask: Ask(1),
        call_id: id.to_string(),
    }
}

fn settings() -> BreakerSettings {
    BreakerSettings {
        threshold: 3,
        cooldown_ms: 1000,
        webhook: None,
        wording: None,
    }
}

/// A tool whose breaker is opened by three errors at 0.
fn broken() -> Breakers {
    let mut breakers = Breakers::default();
    for n in 0..3 {
        assert_eq!(breakers.admit("pay", &call(n), 0), BreakerAdmission::Run);
        breakers.ended(&settings(), "pay", &call(n), true, 0);
    }
    breakers
}

fn state(breakers: &Breakers, now: Millis) -> BreakerState {
    let word = breakers.states(now).next().unwrap().breaker;
    let states = [
        BreakerState::Closed,
        BreakerState::Open,
        BreakerState::HalfOpen,
    ];
    states
        .into_iter()
        .find(|state| state.word() == word)
        .unwrap()
}

fn is_refused(breakers: &mut Breakers, id: &str, now: Millis) -> bool {
    matches!(
        breakers.admit("pay", &call(id), now),
        BreakerAdmission::Refused { .. }
    )
}

#[test]
fn three_errors_in_a_row_switch_a_tool_off_and_no_others() {
    let mut breakers = Breakers::default();
    let mut changes = Vec::new();
    for (n, is_error) in [true, true, false, true, true, true]
        .into_iter()
        .enumerate()
    {
        assert_eq!(breakers.admit("pay", &call(n), 0), BreakerAdmission::Run);
        changes.extend(breakers.ended(&settings(), "pay", &call(n), is_error, 40));
    }
    let opened = BreakerChange {
        tool: "pay".to_owned(),
        state: BreakerState::Open,
        calls: 6,
        errors: 5,
        consecutive: 3,
        threshold: 3,
        cooldown_ms: 1000,
        last_error: String::new(),
    };
    assert_eq!(changes, [opened]);
    assert_eq!(
        changes[0].webhook_body(HERE),
        r#"{"type":"breaker","agent":"clerk","run":"/runs/clerk-1.jsonl","time":"2026-11-22T18:00:00Z","tool":"pay","state":"open","calls":6,"errors":5,"consecutive":3,"threshold":3,"cooldown_ms":1000,"last_error":""}"#
    );
    assert_eq!(breakers.admit("get", &call("g"), 40), BreakerAdmission::Run);
}

#[test]
fn the_model_reads_that_the_tool_is_off_and_what_to_do_instead() {
    let BreakerAdmission::Refused { text } = broken().admit("pay", &call("d"), 999) else {
        panic!("it runs");
    };
    assert_eq!(
        text,
        "The tool \"pay\" is switched off for now: it failed 3 times in a row. This call was not run. Do not call it again yet; go on \
         with another tool, or answer without it and say what is missing."
    );
}

#[test]
fn after_the_cool_down_one_call_is_the_trial_and_decides() {
    let mut works = broken();
    let open = works.states(400).next().unwrap();
    assert_eq!(
        (open.breaker, open.again_in_ms),
        (BreakerState::Open.word(), Some(600))
    );
    assert_eq!(state(&works, 1000), BreakerState::HalfOpen);
    assert_eq!(
        works.admit("pay", &call("t"), 1000),
        BreakerAdmission::Trial
    );
    assert!(is_refused(&mut works, "u", 1000), "one trial at a time");
    assert_eq!(
        works.admit("pay", &call("t"), 1500),
        BreakerAdmission::Trial,
        "its second attempt"
    );
    let closed = works
        .ended(&settings(), "pay", &call("t"), false, 1600)
        .unwrap();
    assert_eq!(
        (closed.state, closed.consecutive),
        (BreakerState::Closed, 0)
    );
    assert_eq!(works.admit("pay", &call("u"), 1600), BreakerAdmission::Run);

    let mut fails = broken();
    assert_eq!(
        fails.admit("pay", &call("t"), 2000),
        BreakerAdmission::Trial
    );
    let opened = fails
        .ended(&settings(), "pay", &call("t"), true, 2100)
        .unwrap();
    assert_eq!((opened.state, opened.consecutive), (BreakerState::Open, 4));
    assert!(is_refused(&mut fails, "u", 3099));
    assert_eq!(
        fails.admit("pay", &call("u"), 3100),
        BreakerAdmission::Trial
    );
}

#[test]
fn calls_that_were_under_way_end_late_and_decide_nothing() {
    let mut breakers = Breakers::default();
    for n in 0..5 {
        breakers.admit("pay", &call(n), 0);
    }
    for n in 0..3 {
        breakers.ended(&settings(), "pay", &call(n), true, 10);
    }
    assert_eq!(
        breakers.ended(&settings(), "pay", &call(3), false, 20),
        None
    );
    assert!(
        is_refused(&mut breakers, "x", 20),
        "a late success does not switch it on"
    );
    assert_eq!(
        breakers.admit("pay", &call("t"), 1010),
        BreakerAdmission::Trial
    );
    assert_eq!(
        breakers.ended(&settings(), "pay", &call(4), true, 1020),
        None
    );
    assert!(
        is_refused(&mut breakers, "x", 1020),
        "the trial is still under way"
    );
    assert!(
        breakers
            .ended(&settings(), "pay", &call("t"), false, 1030)
            .is_some()
    );
    let at_last = breakers.states(1030).next().unwrap();
    assert_eq!(
        (at_last.calls, at_last.errors, at_last.consecutive),
        (6, 4, 0)
    );
}

#[test]
fn the_operator_switches_a_tool_on_again() {
    let mut breakers = broken();
    assert!(breakers.enable("pay"));
    assert!(!breakers.enable("pay"), "it is on");
    assert!(!breakers.enable("get"));
    assert_eq!(breakers.admit("pay", &call("d"), 1), BreakerAdmission::Run);
    // The row begins anew.
    assert_eq!(
        breakers.ended(&settings(), "pay", &call("d"), true, 2),
        None
    );
}

#[test]
fn a_trial_that_was_stopped_makes_room_for_another() {
    let mut breakers = broken();
    assert_eq!(
        breakers.admit("pay", &call("t"), 1000),
        BreakerAdmission::Trial
    );
    breakers.called_off("pay", &call("other"), 1001);
    assert!(is_refused(&mut breakers, "u", 1001));
    breakers.called_off("pay", &call("t"), 1002);
    assert_eq!(
        breakers.admit("pay", &call("u"), 1002),
        BreakerAdmission::Trial
    );
    assert_eq!(breakers.states(1002).next().unwrap().calls, 3);
}

#[test]
fn a_threshold_of_nothing_never_opens_and_names_are_cut_in_what_is_said() {
    let never = BreakerSettings {
        threshold: 0,
        ..settings()
    };
    let mut breakers = Breakers::default();
    for n in 0..100 {
        assert_eq!(breakers.ended(&never, "pay", &call(n), true, 0), None);
    }
    let name = "ä".repeat(10_000);
    let once = BreakerSettings {
        threshold: 1,
        ..settings()
    };
    let change = breakers.ended(&once, &name, &call("a"), true, 0).unwrap();
    assert!(change.webhook_body(HERE).len() < 620);
    let BreakerAdmission::Refused { text } = breakers.admit(&name, &call("b"), 0) else {
        panic!("it runs");
    };
    assert!(
        text.contains("it failed the last time") && text.len() < 700,
        "{text}"
    );
}

/// What a breaker is, told in the plainest way: a list of what ended, and when it opened.
#[derive(Default)]
struct Model {
    row: u32,
    opened: Option<Millis>,
    trial: Option<u8>,
}

impl Model {
    fn may_run(&mut self, id: u8, now: Millis) -> &'static str {
        match (self.opened, self.trial) {
            (None, _) => "run",
            (Some(_), Some(trial)) if trial == id => "trial",
            (Some(opened), None) if now >= opened + 1000 => {
                self.trial = Some(id);
                "trial"
            }
            _ => "refused",
        }
    }

    fn ended(&mut self, id: u8, is_error: bool, now: Millis) {
        let is_trial = self.opened.is_some() && self.trial == Some(id);
        if self.opened.is_some() && !is_trial {
            return;
        }
        self.row = if is_error { self.row + 1 } else { 0 };
        self.trial = None;
        let opens = is_error && (is_trial || self.row >= 3);
        self.opened = opens.then_some(now);
    }
}

proptest! {
    #[test]
    fn whatever_comes_in_whatever_order_it_does_what_the_plain_model_does(
        steps in proptest::collection::vec((0_u8..6, 0_u8..5, 0_u64..700), 0..80)
    ) {
        let (mut breakers, mut model, mut now) = (Breakers::default(), Model::default(), 0);
        let (mut calls, mut errors) = (0, 0);
        for (what, id, later) in steps {
            now += later;
            match what {
                0..=1 => {
                    let told = match breakers.admit("pay", &call(id), now) {
                        BreakerAdmission::Run => "run",
                        BreakerAdmission::Trial => "trial",
                        BreakerAdmission::Refused { .. } => "refused",
                    };
                    prop_assert_eq!(told, model.may_run(id, now));
                }
                2..=4 => {
                    let was_open = model.opened.is_some();
                    let is_error = what != 2;
                    model.ended(id, is_error, now);
                    let change = breakers.ended(&settings(), "pay", &call(id), is_error, now);
                    calls += 1;
                    errors += u64::from(is_error);
                    // An end tells a change where it opened, opened anew or closed.
                    match change {
                        Some(change) => {
                            let is_open = change.state == BreakerState::Open;
                            prop_assert_eq!(is_open, model.opened == Some(now));
                            prop_assert!(is_open || was_open);
                        }
                        None => prop_assert_eq!(was_open, model.opened.is_some()),
                    }
                }
                _ => {
                    let was_off = breakers.enable("pay");
                    prop_assert_eq!(was_off, model.opened.is_some());
                    model = Model::default();
                }
            }
        }
        if let Some(tool) = breakers.states(now).next() {
            prop_assert_eq!((tool.calls, tool.errors), (calls, errors));
        }
    }
}
