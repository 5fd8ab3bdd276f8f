//! A call of a stream has gone to the agent before the next one was found to be bad: what is decided then must keep it.

use super::speech::{Agent, BAD, GOOD, THEN, calls_stop, complaints, events, http, stop, turn};
use super::stage::{PATIENCE, Stage};
use crate::proxy_wire::fake::{Fake, STREAM, chunk};
use retake_core::exchange::ExchangeEnding;
use retake_core::session::Dialect;
use std::io::Write;
use std::sync::Mutex;
use std::sync::mpsc::{Sender, channel};

/// An upstream whose first reply waits between its two calls; from then on it calls the tool that there is.
fn upstream(dialect: Dialect) -> (Fake, Sender<()>) {
    let pieces = events(dialect, &turn("1", "Let me look.", &[GOOD, BAD]));
    let text = |piece: &Vec<u8>| String::from_utf8_lossy(piece).into_owned();
    let at = pieces
        .iter()
        .position(|piece| text(piece).contains(BAD.0))
        .unwrap();
    let (first, rest) = (pieces[..at].concat(), pieces[at..].concat());
    let (go, wait) = channel::<()>();
    let wait = Mutex::new(Some(wait));
    let upstream = Fake::start(move |_, stream| {
        let Some(wait) = wait.lock().unwrap().take() else {
            let then = turn("2", "Once more.", &[THEN]);
            return stream.write_all(&http(dialect, true, &then)).is_ok();
        };
        stream.write_all(STREAM.as_bytes()).unwrap();
        stream.write_all(&chunk(&first)).unwrap();
        let _ = wait.recv_timeout(PATIENCE);
        stream.write_all(&chunk(&rest)).unwrap();
        stream.write_all(b"0\r\n\r\n").is_ok()
    });
    (upstream, go)
}

/// The calls that the agent has in the end, after the first had come alone.
fn told(dialect: Dialect, policy: &str) -> (Stage, Agent, Vec<String>) {
    let (upstream, go) = upstream(dialect);
    let stage = Stage::by(upstream, policy);
    let mut agent = Agent::new((dialect, true));
    let mut client = stage.send(&agent, "");
    client.until_comes(GOOD.0);
    go.send(()).unwrap();
    let got = client.receive(PATIENCE);
    let calls = agent.reads(&got);
    assert_eq!(stop(dialect, true, &got).as_deref(), calls_stop(dialect));
    (stage, agent, calls.into_iter().map(|(id, _)| id).collect())
}

#[test]
fn the_bad_call_behind_it_is_answered_or_dropped_and_the_good_one_stays() {
    for dialect in [Dialect::Responses, Dialect::Anthropic] {
        for deed in ["inject", "drop"] {
            let (stage, mut agent, calls) =
                told(dialect, &format!("[on.unknown-tool]\ndo = \"{deed}\"\n"));
            assert_eq!(calls, [GOOD.0], "{dialect:?} {deed}");
            assert_eq!(stage.ending(1), ExchangeEnding::Mended);
            agent.answers(GOOD.0, "9 degrees");
            stage.turn(&mut agent);
            let asked = stage.asked();
            assert_eq!(asked.len(), 2);
            let second = asked[1].to_string();
            assert_eq!(second.contains(BAD.0), deed == "inject", "{second}");
            assert_eq!(
                complaints(second.as_bytes()),
                [""; 0],
                "{dialect:?} {deed}: {second}"
            );
        }
    }
}

#[test]
fn the_model_is_not_asked_again_for_a_reply_of_which_the_agent_has_calls() {
    for dialect in [Dialect::Responses, Dialect::Anthropic] {
        let (stage, _, calls) = told(dialect, "[on.unknown-tool]\ndo = \"retry\"\n");
        assert_eq!(calls, [GOOD.0, BAD.0], "{dialect:?}");
        let ExchangeEnding::Released { by } = stage.ending(1) else {
            panic!("released");
        };
        assert!(
            by.contains("the agent has calls of this reply already"),
            "{by}"
        );
        assert_eq!(stage.upstream.requests().len(), 1);
    }
    // Chat says that its calls are complete only with all of them, so nothing had gone before.
    let pieces = turn("1", "Let me look.", &[GOOD, BAD]);
    let replies = [pieces, turn("2", "Once more.", &[THEN])];
    let replies = replies
        .iter()
        .map(|reply| http(Dialect::Chat, true, reply))
        .collect();
    let stage = Stage::by(
        super::stage::upstream(replies),
        "[on.unknown-tool]\ndo = \"retry\"\n",
    );
    let mut agent = Agent::new((Dialect::Chat, true));
    assert_eq!(
        stage.turn(&mut agent),
        [(THEN.0.to_owned(), THEN.1.to_owned())]
    );
    assert_eq!(stage.ending(1), ExchangeEnding::Mended);
}
