//! The operator's seat: every way to recover, going away, and coming back.

use super::*;
use retake_core::engine::RunCommand;
use retake_core::session::ledger::Ending;

#[test]
fn the_operator_recovers_in_every_way() {
    for (rule, reply, action, words, asks, expected) in [
        (
            "unknown-tool",
            calls(&[unknown("a")]),
            "inject-error",
            Some("no such tool"),
            1,
            "done",
        ),
        (
            "unknown-tool",
            calls(&[unknown("a")]),
            "take-suggestion",
            None,
            0,
            "\"search\"",
        ),
        (
            "unknown-tool",
            calls(&[unknown("a")]),
            "retry",
            Some("use search"),
            1,
            "done",
        ),
        (
            "malformed-arguments",
            calls(&[call("a", "search", "{\"q\":\"x\"")]),
            "repair-arguments",
            None,
            0,
            r#"{\"q\":\"x\"}"#,
        ),
        (
            "unknown-tool",
            calls(&[good("a"), unknown("b")]),
            "drop-pair",
            None,
            0,
            "\"a\"",
        ),
        (
            "unknown-tool",
            calls(&[good("a"), unknown("b")]),
            "inject-error",
            None,
            0,
            "\"b\"",
        ),
    ] {
        let upstream = Upstream::start(vec![says("done")]);
        let theatre = Theatre::new(attended(""));
        let held = theatre.hold(&upstream, &reply);
        assert!(held.paused().starts_with(rule), "{action}");
        let mut sitting = theatre.sit(&held);
        sitting.mend(rule, action, words);
        let phase = sitting.rest();
        assert!(matches!(phase, Phase::Ended(_)), "{action}: {phase:?}");
        let take = take_of(&held.outcome());
        assert!(take.contains(expected), "{action}: {take}");
        assert_eq!(upstream.requests().len(), asks, "{action}");
        let decided = theatre.decided();
        assert_eq!(decided, [(Some(rule.to_owned()), action.to_owned())]);
        // Nothing goes on after it.
        sitting.handle(RunInput::Operator(RunCommand::Continue));
        assert!(matches!(sitting.rest(), Phase::Ended(_)));
        assert_eq!(upstream.requests().len(), asks, "{action}");
        sitting.leave();
        until("it is over", || {
            theatre.holder.take_over(held.id, Arc::new(|| ())).is_none()
        });
        assert!(held.is_decided_once());
    }
}

#[test]
fn what_the_operator_releases_passes_as_it_came_and_what_he_edited_as_he_left_it() {
    let upstream = Upstream::start(Vec::new());
    let theatre = Theatre::new(attended(""));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    held.paused();
    let mut sitting = theatre.sit(&held);
    sitting.handle(RunInput::Operator(RunCommand::Release));
    assert_eq!(sitting.rest(), Phase::Ended(Ending::HandedOver));
    assert_eq!(held.outcome(), released("operator"));
    let two = calls(&[unknown("a"), call("b", "pay", "{}")]);
    let held = theatre.start(theatre.order(2, &upstream.url, REQUEST, replied(&two)));
    held.paused();
    let mut sitting = theatre.sit(&held);
    sitting.mend("unknown-tool", "take-suggestion", None);
    assert!(reasons(&sitting.rest()).starts_with("invalid-arguments"));
    sitting.handle(RunInput::Operator(RunCommand::Release));
    let take = take_of(&held.outcome());
    assert!(
        take.contains("\"search\",\"arguments\"") && take.contains("\"{}\""),
        "{take}"
    );
}

/// B15: what the operator writes is judged like what the model writes.
#[test]
fn b15_an_edit_that_breaks_a_call_holds_it_until_the_operator_lets_it_pass_all_the_same() {
    let upstream = Upstream::start(Vec::new());
    for (edited, rule) in [
        (call("a", "search", "{\"q\""), "malformed-arguments"),
        (call("a", "search", "{\"q\":7}"), "invalid-arguments"),
        (call("a", "search the web", "{\"q\":\"x\"}"), "unknown-tool"),
    ] {
        let theatre = Theatre::new(attended(""));
        let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
        held.paused();
        let mut sitting = theatre.sit(&held);
        sitting.mend("unknown-tool", "edit", Some(&edited));
        let why = reasons(&sitting.rest());
        assert!(why.starts_with(rule), "{rule}: {why}");
        sitting.handle(RunInput::Operator(RunCommand::Release));
        let take = take_of(&held.outcome());
        assert!(take.contains(&edited), "{take}");
        let decided = theatre.decided();
        let about = |rule: &str, action: &str| (Some(rule.to_owned()), action.to_owned());
        assert_eq!(decided[0], about("unknown-tool", "edit"));
        assert!(decided.contains(&about(rule, "release")), "{decided:?}");
    }
}

#[test]
fn the_operator_ends_the_waiting_for_a_model_and_cuts_an_exchange() {
    let upstream = Upstream::start(vec!["{\"error\":{\"message\":\"no\"}}".to_owned()]);
    let theatre = Theatre::new(attended(""));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    held.paused();
    let mut sitting = theatre.sit(&held);
    sitting.mend("unknown-tool", "inject-error", None);
    assert!(reasons(&sitting.rest()).contains("the request to the model failed"));
    sitting.handle(RunInput::Operator(RunCommand::Release));
    assert_eq!(held.outcome(), released("operator"));
    let held =
        theatre.start(theatre.order(2, &upstream.url, REQUEST, replied(&calls(&[unknown("a")]))));
    held.paused();
    let mut sitting = theatre.sit(&held);
    sitting.handle(RunInput::Operator(RunCommand::Abort));
    assert!(matches!(held.outcome(), HoldOutcome::Cut { .. }));
}

#[test]
fn a_breakpoint_holds_a_sound_call() {
    let upstream = Upstream::start(Vec::new());
    for what in ["tool search", "arg .q == \"x\"", "turn 2"] {
        let theatre = Theatre::new(breaking_at(what));
        let held = theatre.hold(&upstream, &calls(&[good("a")]));
        assert!(held.paused().starts_with("breakpoint 1"), "{what}");
        let mut sitting = theatre.sit(&held);
        sitting.handle(RunInput::Operator(RunCommand::Continue));
        assert_eq!(held.outcome(), released("operator"), "{what}");
    }
}

#[test]
fn a_seat_that_is_left_gives_the_exchange_back() {
    let upstream = Upstream::start(vec![calls(&[unknown("b")]), calls(&[good("c")])]);
    let theatre = Theatre::new(attended(""));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    held.paused();
    theatre.sit(&held).leave();
    let mut sitting = theatre.sit(&held);
    // He leaves while the model is asked: its reply is heard all the same.
    sitting.mend("unknown-tool", "inject-error", None);
    sitting.leave();
    assert!(held.paused().contains("serch"));
    let mut again = theatre.sit(&held);
    again.mend("unknown-tool", "inject-error", None);
    again.rest();
    assert!(take_of(&held.outcome()).contains("\"c\""));
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn a_seat_is_for_one_and_needs_an_exchange_that_waits() {
    let upstream = Upstream::start(Vec::new());
    let theatre = Theatre::new(attended(""));
    let wake = || Arc::new(|| ());
    assert!(theatre.holder.take_over(ExchangeId(1), wake()).is_none());
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    held.paused();
    let sitting = theatre.sit(&held);
    assert!(theatre.holder.take_over(held.id, wake()).is_none());
    sitting.leave();
    until("the seat is free", || {
        theatre.holder.take_over(held.id, wake()).is_some()
    });
}
