//! What passes, what is held, what becomes of it.

use super::wire::{Wire, settings, stream, whole};
use crate::exchange::client::ClientKind;
use crate::exchange::machine::{BodyShape, Event, HoldDecision, Judgement};
use crate::exchange::{ExchangeEnding, ExchangePhase};
use crate::session::Dialect;
use crate::session::ledger::Usage;
use proptest::prelude::*;

const ALL: [Dialect; 3] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic];

fn holds() -> Judgement {
    Judgement::Holds {
        why: "unknown-tool: serch is not offered".to_owned(),
    }
}

/// A stream with one call, up to where its reply holds.
fn held_stream(dialect: Dialect) -> (Wire, Vec<u8>) {
    held_on(Wire::replying(dialect, true), dialect)
}

fn held_on(mut wire: Wire, dialect: Dialect) -> (Wire, Vec<u8>) {
    let pieces = stream(dialect, &["serch"]);
    for piece in &pieces {
        wire.tell(Event::Bytes(piece));
        if wire.heard().contains(&"judge".to_owned()) {
            wire.tell(Event::Judged(holds()));
        }
    }
    wire.tell(Event::Ended);
    (wire, pieces.concat())
}

#[test]
fn a_sound_stream_passes_byte_for_byte_and_its_call_only_after_it_was_judged() {
    for dialect in ALL {
        let mut wire = Wire::replying(dialect, true);
        let pieces = stream(dialect, &["search"]);
        for piece in &pieces {
            wire.tell(Event::Bytes(piece));
            if wire.heard().contains(&"judge".to_owned()) {
                assert!(!wire.text().contains("search"), "{}", wire.text());
                assert!(wire.text().contains("Let me"), "{}", wire.text());
                wire.tell(Event::Judged(Judgement::Sound));
                assert!(wire.text().contains("search"), "{}", wire.text());
            }
        }
        wire.tell(Event::Ended);
        assert_eq!(wire.heard(), ["end", "ended: Passed"]);
        assert_eq!(wire.read, pieces.concat());
    }
}

#[test]
fn a_stream_that_ends_before_it_was_judged_waits_for_the_judgement() {
    let mut wire = Wire::replying(Dialect::Anthropic, true);
    let pieces = stream(Dialect::Anthropic, &["search", "read"]);
    for piece in &pieces {
        wire.tell(Event::Bytes(piece));
    }
    wire.tell(Event::Ended);
    assert_eq!(wire.heard(), ["judge"]);
    // The second call was complete only after the first judgement was asked for.
    wire.tell(Event::Judged(Judgement::Sound));
    assert_eq!(wire.heard(), ["judge"]);
    wire.tell(Event::Judged(Judgement::Sound));
    assert_eq!(wire.heard(), ["end", "ended: Passed"]);
    assert_eq!(wire.read, pieces.concat());
}

#[test]
fn what_is_released_as_it_came_is_what_came() {
    for dialect in ALL {
        let (mut wire, all) = held_stream(dialect);
        assert_eq!(wire.heard(), ["hold: unknown-tool: serch is not offered"]);
        assert!(matches!(wire.exchange.phase(), ExchangePhase::Held(_)));
        assert!(!wire.text().contains("serch"), "{}", wire.text());
        let by = "operator".to_owned();
        wire.tell(Event::Decided(HoldDecision::AsItCame { by }));
        assert_eq!(
            wire.heard(),
            ["end", "ended: Released { by: \"operator\" }"]
        );
        assert_eq!(wire.read, all, "{dialect:?}");
    }
}

#[test]
fn a_client_that_waits_hears_what_its_sdk_ignores() {
    let beats = [
        (Dialect::Anthropic, ClientKind::Other, "event: ping\n"),
        (Dialect::Chat, ClientKind::Other, ": held by retake\n"),
        (
            Dialect::Responses,
            ClientKind::OpenaiNode,
            ": held by retake\n",
        ),
        (
            Dialect::Responses,
            ClientKind::Codex,
            "event: response.in_progress\n",
        ),
    ];
    for (dialect, kind, beat) in beats {
        let mut settings = settings(dialect, true);
        settings.client.kind = kind;
        let (mut wire, _) = held_on(Wire::begun(settings), dialect);
        let before = wire.text().matches(beat).count();
        wire.pass(60_000);
        assert_eq!(
            wire.text().matches(beat).count(),
            before + 12,
            "{dialect:?}"
        );
        assert!(matches!(wire.exchange.phase(), ExchangePhase::Held(_)));
    }
}

#[test]
fn b04_a_whole_reply_that_is_held_begins_with_white_space() {
    let mut wire = Wire::replying(Dialect::Chat, false);
    let body = whole(Dialect::Chat, &["serch"]);
    wire.tell(Event::Bytes(body.as_bytes()));
    wire.tell(Event::Ended);
    wire.tell(Event::Judged(holds()));
    wire.pass(11_000);
    let by = "policy".to_owned();
    wire.tell(Event::Decided(HoldDecision::AsItCame { by }));
    assert_eq!(wire.text(), format!("  {body}"));
    let heard = wire.heard();
    assert_eq!(
        heard[..2],
        ["judge", "hold: unknown-tool: serch is not offered"]
    );
    assert_eq!(heard[2..4], ["head Upstream", "end"]);
}

#[test]
fn a_whole_reply_without_calls_is_not_judged_and_keeps_its_length() {
    let mut wire = Wire::replying(Dialect::Anthropic, false);
    let body = whole(Dialect::Anthropic, &[]);
    wire.tell(Event::Bytes(body.as_bytes()));
    wire.tell(Event::Ended);
    assert_eq!(wire.heard(), ["whole Upstream", "ended: Passed"]);
    assert_eq!(wire.text(), body);
}

#[test]
fn a_request_that_holds_reaches_nobody_until_it_was_decided() {
    let mut wire = Wire::new(settings(Dialect::Chat, false));
    wire.tell(Event::Asked(holds()));
    assert_eq!(wire.heard(), ["hold: unknown-tool: serch is not offered"]);
    wire.tell(Event::Decided(HoldDecision::Request(b"{}".to_vec())));
    assert_eq!(wire.heard(), ["ask {}"]);
    let shape = BodyShape::Whole;
    wire.tell(Event::Head { status: 200, shape });
    wire.tell(Event::Bytes(b"{\"id\":1}"));
    wire.tell(Event::Ended);
    assert_eq!(wire.heard(), ["whole Upstream", "ended: Mended"]);
}

#[test]
fn a_held_request_is_released_before_its_client_gives_up() {
    let mut wire = Wire::new(settings(Dialect::Chat, false));
    wire.tell(Event::Asked(holds()));
    let ExchangePhase::Held(holding) = wire.exchange.phase() else {
        panic!("{:?}", wire.exchange.phase());
    };
    let left = holding.until_ms.unwrap() - wire.now;
    wire.heard();
    wire.pass(left - 1);
    assert!(wire.heard().is_empty());
    wire.pass(1);
    assert_eq!(
        wire.heard(),
        ["leave the hold: the client would have given up", "ask"]
    );
    assert!(wire.read.is_empty());
}

#[test]
fn a_refusal_is_held_and_goes_on_as_it_is_where_nobody_mends_it() {
    let mut wire = Wire::new(settings(Dialect::Chat, false));
    wire.tell(Event::Asked(Judgement::Sound));
    let shape = BodyShape::Whole;
    wire.tell(Event::Head { status: 400, shape });
    wire.tell(Event::Bytes(b"{\"error\":{}}"));
    wire.tell(Event::Ended);
    assert_eq!(
        wire.heard(),
        ["ask", "hold: the provider refuses the request"]
    );
    let by = "operator".to_owned();
    wire.tell(Event::Decided(HoldDecision::AsItCame { by }));
    assert_eq!(wire.text(), "{\"error\":{}}");
    assert_eq!(wire.heard()[0], "whole Upstream");
}

#[test]
fn a07_a_cut_stream_is_cut_for_the_client_too() {
    for dialect in ALL {
        let pieces = stream(dialect, &["search"]);
        for cut in 1..pieces.len() {
            let mut wire = Wire::replying(dialect, true);
            for piece in &pieces[..cut] {
                wire.tell(Event::Bytes(piece));
            }
            wire.tell(Event::Broke("reset".to_owned()));
            let heard = wire.heard();
            assert_eq!(
                heard.last().unwrap(),
                "ended: Truncated",
                "{dialect:?} {cut}"
            );
            assert_eq!(heard[heard.len() - 2], "abort");
            assert_eq!(wire.read, pieces[..cut].concat());
        }
    }
}

#[test]
fn a14_a15_a16_a24_other_statuses_pass_untouched() {
    for status in [
        301, 302, 307, 308, 401, 403, 404, 429, 500, 502, 503, 504, 529,
    ] {
        let mut wire = Wire::new(settings(Dialect::Chat, true));
        wire.tell(Event::Asked(Judgement::Sound));
        let shape = BodyShape::Whole;
        wire.tell(Event::Head { status, shape });
        wire.tell(Event::Bytes(b"x"));
        wire.tell(Event::Ended);
        assert_eq!(wire.heard(), ["ask", "head Same", "end", "ended: Passed"]);
        assert_eq!(wire.text(), "x");
    }
}

#[test]
fn b01_a_client_that_leaves_ends_the_exchange() {
    let mut wire = Wire::replying(Dialect::Chat, true);
    wire.tell(Event::ClientLeft);
    assert_eq!(wire.heard(), ["ended: ClientLeft"]);
    assert!(!wire.exchange.wants_upstream());
}

#[test]
fn b02_b13_a_decision_for_a_client_that_has_left_reaches_nobody() {
    let (mut wire, _) = held_stream(Dialect::Chat);
    wire.heard();
    let read = wire.read.len();
    wire.tell(Event::ClientLeft);
    assert_eq!(wire.heard(), ["note: the client has left"]);
    let ExchangePhase::Held(holding) = wire.exchange.phase() else {
        panic!("not held");
    };
    assert!(holding.is_gone);
    wire.pass(10_000);
    let by = "operator".to_owned();
    wire.tell(Event::Decided(HoldDecision::AsItCame { by }));
    assert_eq!(wire.heard(), ["ended: ClientLeft"]);
    assert_eq!(wire.read.len(), read);
}

#[test]
fn b05_a_retry_takes_the_place_of_a_client_that_has_left() {
    let (mut wire, all) = held_stream(Dialect::Chat);
    wire.tell(Event::ClientLeft);
    wire.pass(2_000);
    wire.tell(Event::ClientJoined);
    wire.pass(20_000);
    let by = "operator".to_owned();
    wire.tell(Event::Decided(HoldDecision::AsItCame { by }));
    let beats = wire.text().matches(": held by retake\n").count();
    assert!(beats >= 4, "{beats}");
    let read = wire.text().replace(": held by retake\n", "");
    assert_eq!(read.as_bytes(), all);
}

#[test]
fn a_retry_is_waited_for_and_kept_alive_while_the_model_is_asked_again() {
    for (dialect, is_again) in ALL.into_iter().flat_map(|one| [(one, false), (one, true)]) {
        let (mut wire, _) = held_stream(dialect);
        wire.tell(Event::AskedAgain);
        wire.tell(Event::ClientLeft);
        assert!(wire.exchange.phase().hold().unwrap().is_gone);
        wire.pass(20_000);
        wire.tell(Event::ClientJoined);
        if is_again {
            wire.tell(Event::WaitsAgain("unknown-tool".to_owned()));
        }
        wire.heard();
        let before = wire.read.len();
        wire.pass(600_000);
        assert_eq!(wire.heard(), [""; 0], "{dialect:?} {is_again}");
        let beats = wire.read.len() - before;
        assert!(beats > 100 * 10, "{dialect:?} {is_again}: {beats}");
    }
}

#[test]
fn a_request_that_is_released_while_its_hold_asks_the_model_is_sent() {
    let mut wire = Wire::new(settings(Dialect::Chat, false));
    wire.tell(Event::Asked(holds()));
    wire.tell(Event::AskedAgain);
    wire.heard();
    let by = "operator".to_owned();
    wire.tell(Event::Decided(HoldDecision::AsItCame { by }));
    assert_eq!(wire.heard(), ["ask"]);
}

#[test]
fn what_is_under_way_can_be_cut_at_any_time() {
    for dialect in ALL {
        let mut asking = Wire::new(settings(dialect, true));
        asking.tell(Event::Asked(Judgement::Sound));
        for mut wire in [
            asking,
            Wire::replying(dialect, true),
            Wire::replying(dialect, false),
        ] {
            wire.heard();
            wire.tell(Event::Decided(HoldDecision::Cut));
            assert_eq!(wire.heard(), ["abort", "ended: Cut"], "{dialect:?}");
        }
    }
}

#[test]
fn nobody_waits_for_ever_for_a_retry() {
    let (mut wire, _) = held_stream(Dialect::Chat);
    wire.tell(Event::ClientLeft);
    wire.heard();
    wire.pass(60_000);
    assert_eq!(
        wire.heard(),
        ["leave the hold: the client has left", "ended: ClientLeft"]
    );
}

#[test]
fn what_is_refused_by_a_decision_is_an_error_that_no_sdk_tries_again() {
    let mut wire = Wire::replying(Dialect::Anthropic, false);
    let body = whole(Dialect::Anthropic, &["serch"]);
    wire.tell(Event::Bytes(body.as_bytes()));
    wire.tell(Event::Ended);
    wire.tell(Event::Judged(holds()));
    wire.heard();
    let why = "the policy says so".to_owned();
    wire.tell(Event::Decided(HoldDecision::Refused { why }));
    assert_eq!(wire.heard()[0], "whole Error(422)");
    assert!(wire.text().contains("the policy says so"));
    assert!(matches!(
        wire.exchange.phase(),
        ExchangePhase::Ended(ExchangeEnding::Refused { .. })
    ));
}

#[test]
fn without_interception_everything_passes_as_it_comes() {
    let mut settings = settings(Dialect::Chat, true);
    settings.intercepts = false;
    let mut wire = Wire::new(settings);
    wire.tell(Event::Asked(holds()));
    let shape = BodyShape::Stream;
    wire.tell(Event::Head { status: 200, shape });
    let pieces = stream(Dialect::Chat, &["serch"]);
    for piece in &pieces {
        wire.tell(Event::Bytes(piece));
    }
    assert_eq!(wire.read, pieces.concat());
    wire.tell(Event::Ended);
    assert_eq!(wire.heard(), ["ask", "head Same", "end", "ended: Passed"]);
}

/// Anything that can happen.
fn event(kind: u8, piece: &[u8]) -> Event<'_> {
    match kind % 12 {
        0 => Event::Judged(Judgement::Sound),
        1 => Event::Judged(holds()),
        2 => Event::Ended,
        3 => Event::Broke("cut".to_owned()),
        4 => Event::ClientLeft,
        5 => Event::ClientJoined,
        6 => Event::Decided(HoldDecision::AsItCame {
            by: "somebody".to_owned(),
        }),
        7 => Event::Decided(HoldDecision::Cut),
        8 => Event::AskedAgain,
        9 => Event::Decided(HoldDecision::Reply {
            elements: Vec::new(),
            template: "{}".to_owned(),
            usage: Usage::default(),
            let_pass_by: None,
        }),
        _ => Event::Bytes(piece),
    }
}

proptest! {
    #[test]
    fn whatever_happens_there_is_one_end_and_no_good_end_of_a_broken_reply(
        kinds in proptest::collection::vec(any::<u8>(), 1..60),
        dialect in 0..3_usize,
        streams in any::<bool>(),
    ) {
        let dialect = ALL[dialect];
        let mut wire = Wire::replying(dialect, streams);
        let mut pieces = match streams {
            true => stream(dialect, &["search", "serch"]),
            false => vec![whole(dialect, &["serch"]).into_bytes()],
        }
        .into_iter();
        let mut has_broken = false;
        for kind in kinds {
            if let ExchangePhase::Ended(_) = wire.exchange.phase() {
                break;
            }
            let piece = pieces.next().unwrap_or_default();
            let event = event(kind, &piece);
            has_broken |= matches!(event, Event::Broke(_)) && wire.exchange.wants_upstream();
            wire.tell(event);
        }
        let ends = wire.log.iter().filter(|line| line.starts_with("ended")).count();
        let is_over = matches!(wire.exchange.phase(), ExchangePhase::Ended(_));
        prop_assert_eq!(ends, usize::from(is_over));
        let closings = wire.log.iter().filter(|line| *line == "end" || *line == "abort");
        prop_assert!(closings.count() <= 1);
        if has_broken {
            prop_assert!(!wire.log.contains(&"end".to_owned()));
        }
    }
}

#[test]
fn a06_a_reply_that_stands_still_is_told_as_stalled_and_goes_on() {
    let mut wire = Wire::replying(Dialect::Chat, true);
    let pieces = stream(Dialect::Chat, &[]);
    wire.tell(Event::Bytes(&pieces[0]));
    wire.pass(14_000);
    assert!(wire.heard().is_empty());
    wire.pass(2_000);
    assert_eq!(wire.heard(), ["note: nothing has come for 15 s"]);
    assert_eq!(wire.read, pieces[0]);
    for piece in &pieces[1..] {
        wire.tell(Event::Bytes(piece));
    }
    wire.tell(Event::Ended);
    assert_eq!(wire.heard(), ["end", "ended: Passed"]);
}

#[test]
fn b02_a_client_that_may_have_left_is_written_to_at_once() {
    for dialect in ALL {
        let (mut wire, _) = held_stream(dialect);
        let before = wire.read.len();
        wire.tell(Event::ClientDoubted);
        assert!(wire.read.len() > before, "{dialect:?}");
    }
    // Before its head the connection asks by itself.
    let mut wire = Wire::new(settings(Dialect::Chat, true));
    wire.tell(Event::Asked(holds()));
    wire.heard();
    wire.tell(Event::ClientDoubted);
    assert!(wire.heard().is_empty() && wire.read.is_empty());
}
