//! One decision, whoever makes it: the wire, the operator, the client that leaves.

use super::*;
use retake_core::engine::RunCommand;
use retake_core::session::ledger::LedgerEvent;
use std::sync::Barrier;

/// How the run of a journal ended.
fn ended(journal: &std::path::Path) -> bool {
    let (store, _) = TakeStore::open_run(journal, wall_clock).unwrap();
    let mut happened = store.happened().iter();
    happened.any(|one| matches!(one.event, LedgerEvent::Ended { .. }))
}

#[test]
fn the_wire_releases_cuts_and_tells_that_the_client_left() {
    let upstream = Upstream::start(Vec::new());
    let theatre = Theatre::new(attended(""));
    let (_, reply) = ((), calls(&[unknown("a")]));
    type Close = fn(&Holder, ExchangeId) -> bool;
    let ways: [(Close, HoldOutcome); 3] = [
        (
            |holder, id| holder.release(id, "its client waits no longer"),
            released("its client waits no longer"),
        ),
        (
            |holder, id| holder.cut(id, "enough"),
            HoldOutcome::Cut {
                why: "enough".to_owned(),
            },
        ),
        (Holder::gone, HoldOutcome::ClientLeft),
    ];
    for (id, (close, expected)) in (1..).zip(ways) {
        let held = theatre.start(theatre.order(id, &upstream.url, REQUEST, replied(&reply)));
        held.paused();
        assert!(close(&theatre.holder, held.id));
        assert!(!close(&theatre.holder, held.id));
        assert!(!theatre.holder.release(held.id, "operator"));
        assert_eq!(held.outcome(), expected);
        assert!(held.is_decided_once());
        until("its journal ends", || ended(&held.journal));
        assert!(theatre.holder.take_over(held.id, Arc::new(|| ())).is_none());
    }
    assert!(upstream.requests().is_empty());
}

#[test]
fn what_is_decided_before_it_begins_leaves_nothing() {
    let theatre = Theatre::new(attended(""));
    let held = theatre.start(theatre.order(
        1,
        "http://127.0.0.1:9",
        REQUEST,
        replied(&calls(&[unknown("a")])),
    ));
    theatre.holder.gone(held.id);
    assert_eq!(held.outcome(), HoldOutcome::ClientLeft);
    until("it is forgotten", || theatre.holder.held().is_empty());
}

#[test]
fn nothing_is_asked_once_the_client_has_left_its_seat_taken() {
    let upstream = Upstream::start(vec![calls(&[good("b")])]);
    let theatre = Theatre::new(attended(""));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    held.paused();
    let mut sitting = theatre.sit(&held);
    assert!(theatre.holder.gone(held.id));
    sitting.mend("unknown-tool", "inject-error", None);
    assert!(matches!(sitting.rest(), Phase::Ended(_)));
    sitting.handle(RunInput::Operator(RunCommand::Continue));
    assert_eq!(held.outcome(), HoldOutcome::ClientLeft);
    let notices = sitting
        .news
        .iter()
        .filter(|news| matches!(news, RunNews::Notice(_)));
    assert!(notices.count() >= 2);
    sitting.leave();
    assert!(upstream.requests().is_empty());
    assert!(ended(&held.journal));
}

#[test]
fn a_released_exchange_is_over_in_its_seat_and_in_its_journal() {
    let upstream = Upstream::start(Vec::new());
    let theatre = Theatre::new(attended(""));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    held.paused();
    let mut sitting = theatre.sit(&held);
    assert!(theatre.holder.release(held.id, "time is up"));
    sitting.look_up();
    assert!(matches!(sitting.rest(), Phase::Ended(_)));
    sitting.leave();
    assert!(ended(&held.journal));
    // He is told when he leaves without having looked up.
    let held =
        theatre.start(theatre.order(2, &upstream.url, REQUEST, replied(&calls(&[unknown("a")]))));
    held.paused();
    let sitting = theatre.sit(&held);
    assert!(theatre.holder.release(held.id, "time is up"));
    sitting.leave();
    until("its journal ends", || ended(&held.journal));
}

/// B13: the operator acts at the instant in which the client leaves.
#[test]
fn b13_an_operator_and_a_client_that_leaves_at_once_make_one_decision() {
    let upstream = Upstream::start(vec![says("done")]);
    let theatre = Theatre::new(attended(""));
    let (mut left, mut decided) = (0, 0);
    for id in 1..=40 {
        let reply = calls(&[good("a"), unknown("b")]);
        let held = theatre.start(theatre.order(id, &upstream.url, REQUEST, replied(&reply)));
        held.paused();
        let mut sitting = theatre.sit(&held);
        let start = Barrier::new(3);
        let (is_gone, is_released) = std::thread::scope(|scope| {
            let gone = scope.spawn(|| {
                start.wait();
                theatre.holder.gone(held.id)
            });
            let deadline = scope.spawn(|| {
                start.wait();
                id % 3 == 0 && theatre.holder.release(held.id, "time is up")
            });
            start.wait();
            // The later it gets, the more often the client is the first.
            match id % 2 {
                0 => sitting.handle(RunInput::Operator(RunCommand::Release)),
                _ => drop(sitting.mend("unknown-tool", "inject-error", None)),
            }
            (gone.join().unwrap(), deadline.join().unwrap())
        });
        let outcome = held.outcome();
        assert!(held.is_decided_once());
        assert!(!(is_gone && is_released));
        assert_eq!(is_gone, outcome == HoldOutcome::ClientLeft, "{outcome:?}");
        assert_eq!(
            is_released,
            outcome == released("time is up"),
            "{outcome:?}"
        );
        left += u32::from(is_gone);
        decided += u32::from(!is_gone);
        sitting.rest();
        sitting.leave();
        assert!(ended(&held.journal));
    }
    assert_eq!(left + decided, 40);
    assert!(left > 0, "the client never left first");
    assert!(upstream.requests().is_empty());
}
