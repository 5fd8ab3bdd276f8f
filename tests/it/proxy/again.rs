//! Exchanges that are held more than once, clients that come back while the model is asked again, and clients that do not read.

use super::operator::{mends, mends_at, sits};
use super::requests::forgetful;
use super::speech::{Agent, BAD, GOOD, THEN, http, turn, user, ways};
use super::stage::{PATIENCE, Stage, upstream};
use crate::proxy_wire::fake::{Fake, STREAM, chunk};
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangePhase};
use retake_core::session::Dialect;
use retake_live::proxy::{ProxyCommand, ProxyNews};
use std::io::Write;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

/// Whether the reply is held, and not the request.
fn holds_reply(phase: &ExchangePhase) -> bool {
    matches!(phase, ExchangePhase::Held(holding) if !holding.is_request)
}

#[test]
fn the_broken_reply_behind_a_mended_request_is_held_and_can_be_decided() {
    for way in ways() {
        let stage = Stage::attended(upstream(vec![http(way.0, way.1, &turn("1", "", &[BAD]))]));
        let mut agent = forgetful(way);
        let mut client = stage.send(&agent, "");
        assert!(stage.held(1).contains("orphan-call"));
        let mut first = sits(&stage, 1);
        mends_at(&mut first, "orphan-call", "inject-error");
        // The reply is here before the operator has left the first hold.
        stage.until(1, "held again", |seen| holds_reply(&seen.phase));
        drop(first);
        mends(&stage, 1, "unknown-tool", "take-suggestion");
        let got = client.receive(PATIENCE);
        assert_eq!(
            agent.reads(&got),
            [(BAD.0.to_owned(), "search".to_owned())],
            "{way:?}"
        );
        assert_eq!(stage.ending(1), ExchangeEnding::Mended);
        assert_eq!(stage.upstream.requests().len(), 1);
    }
}

#[test]
fn a_policy_mends_a_request_and_the_broken_reply_behind_it() {
    let policy = "[on.orphan-call]\ndo = \"inject\"\n[on.unknown-tool]\ndo = \"suggest\"\n";
    for way in ways() {
        let stage = Stage::by(
            upstream(vec![http(way.0, way.1, &turn("1", "", &[BAD]))]),
            policy,
        );
        for id in 1..=10 {
            let mut agent = forgetful(way);
            // Each a conversation of its own, so that nothing is mended in silence.
            agent.history[0] = user(way.0, &format!("Where is it warm today, on day {id}?"));
            let calls = stage.turn(&mut agent);
            assert_eq!(calls, [(BAD.0.to_owned(), "search".to_owned())], "{way:?}");
            assert_eq!(stage.ending(id), ExchangeEnding::Mended, "{way:?}");
        }
        assert_eq!(stage.decided().len(), 20, "{way:?}");
    }
}

#[test]
fn a_client_that_comes_back_while_the_model_is_asked_again_gets_the_mended_reply() {
    for way in ways() {
        for header in ["", "X-Stainless-Retry-Count: 1\r\n"] {
            let number = AtomicUsize::new(0);
            let answers = Arc::new(AtomicBool::new(false));
            let may_answer = answers.clone();
            let upstream = Fake::start(move |_, stream| {
                if number.fetch_add(1, Ordering::SeqCst) == 0 {
                    let broken = http(way.0, way.1, &turn("1", "", &[BAD]));
                    return stream.write_all(&broken).is_ok();
                }
                while !may_answer.load(Ordering::SeqCst) {
                    std::thread::sleep(Duration::from_millis(5));
                }
                let sound = http(way.0, way.1, &turn("2", "", &[THEN]));
                stream.write_all(&sound).is_ok()
            });
            let stage = Stage::by(upstream, "[on.unknown-tool]\ndo = \"inject\"\n");
            let mut agent = Agent::new(way);
            let client = stage.send(&agent, "");
            stage.upstream.until_asked(2);
            drop(client);
            stage.until(1, "gone", |seen| {
                seen.phase.hold().is_some_and(|holding| holding.is_gone)
            });
            let mut client = stage.send(&agent, header);
            stage.until(1, "joined", |seen| seen.retries == 1);
            answers.store(true, Ordering::SeqCst);
            let got = client.receive(PATIENCE);
            assert_eq!(
                agent.reads(&got),
                [(THEN.0.to_owned(), "search".to_owned())],
                "{way:?} {header}"
            );
            assert_eq!(stage.ending(1), ExchangeEnding::Mended);
            assert_eq!(stage.upstream.requests().len(), 2, "{way:?} {header}");
        }
    }
}

#[test]
fn a_client_that_does_not_read_is_cut_when_the_operator_says_so() {
    let pieces = Arc::new(AtomicUsize::new(0));
    let written = pieces.clone();
    let upstream = Fake::start(move |_, stream| {
        let _ = stream.write_all(STREAM.as_bytes());
        let text = "x".repeat(60_000);
        let piece = format!("data: {{\"choices\":[{{\"delta\":{{\"content\":\"{text}\"}}}}]}}\n\n");
        let piece = chunk(piece.as_bytes());
        while stream.write_all(&piece).is_ok() {
            written.fetch_add(1, Ordering::SeqCst);
        }
        false
    });
    let stage = Stage::attended(upstream);
    let client = stage.send(&Agent::new((Dialect::Chat, true)), "");
    // Nothing more goes once everything between the two is full.
    let mut before = 0;
    loop {
        std::thread::sleep(Duration::from_millis(300));
        let now = pieces.load(Ordering::SeqCst);
        if now > 0 && now == before {
            break;
        }
        before = now;
    }
    stage.command(&ProxyCommand::Cut(ExchangeId(1)));
    assert_eq!(stage.ending(1), ExchangeEnding::Cut);
    stage.upstream.until_gone(1);
    drop(client);
}

#[test]
fn a_decision_says_whether_the_agent_has_text_of_the_reply_already() {
    let policy = "[on.unknown-tool]\ndo = \"retry\"\ntimes = 1\n";
    for way in ways() {
        for text in ["Let me see.", ""] {
            let replies = [turn("1", text, &[BAD]), turn("2", "", &[THEN])];
            let replies = replies.iter().map(|reply| http(way.0, way.1, reply));
            let stage = Stage::by(upstream(replies.collect()), policy);
            stage.turn(&mut Agent::new(way));
            let news = stage.news.lock().unwrap();
            let told = news.iter().find_map(|one| match one {
                ProxyNews::Decided { text_sent, .. } => Some(*text_sent),
                _ => None,
            });
            let is_sent = way.1 && !text.is_empty();
            assert_eq!(told, Some(is_sent), "{way:?} {text:?}");
        }
    }
}

#[test]
fn asking_again_warns_of_no_tool_whose_call_the_agent_never_got() {
    for way in ways() {
        let replies = [turn("1", "I look.", &[GOOD, BAD]), turn("2", "", &[THEN])];
        let replies = replies.iter().map(|reply| http(way.0, way.1, reply));
        let stage = Stage::by(
            upstream(replies.collect()),
            "[on.unknown-tool]\ndo = \"retry\"\n",
        );
        let mut agent = Agent::new(way);
        stage.turn(&mut agent);
        let notices = stage.notices().join("\n");
        assert!(!notices.contains("may have run"), "{way:?}: {notices}");
        let folder = stage.folder.path().join("proxy.holds");
        for hold in std::fs::read_dir(folder).unwrap() {
            let journal = std::fs::read_to_string(hold.unwrap().path()).unwrap();
            assert!(!journal.contains("may have run"), "{way:?}: {journal}");
        }
    }
}
