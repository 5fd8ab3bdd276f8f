//! Upstreams that break off, fail in the middle, never end: what the agent gets is what came, and the operator is told.

use super::speech::{Agent, BAD, DIALECTS, as_sent, events, stream_head, turn};
use super::stage::{PATIENCE, Stage, upstream};
use crate::proxy_wire::fake::{Fake, STREAM, chunk};
use retake_core::exchange::ExchangeEnding;
use retake_core::session::Dialect;
use std::io::Write;

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";

/// A stream of these bytes that ends well, as far as HTTP is concerned.
fn stream(dialect: Dialect, bytes: &[u8]) -> Vec<u8> {
    let head = stream_head(dialect);
    [head.as_bytes(), &chunk(bytes), b"0\r\n\r\n"].concat()
}

#[test]
fn a10_a_stream_without_its_end_mark_passes_as_it_is_and_is_flagged() {
    for dialect in DIALECTS {
        let mut pieces = events(dialect, &turn("1", "Let me look around.", &[]));
        pieces.truncate(4.min(pieces.len() - 1));
        let stage = Stage::by(upstream(vec![stream(dialect, &pieces.concat())]), INJECT);
        let got = stage.ask(&Agent::new((dialect, true)));
        assert_eq!(got.body, pieces.concat(), "{dialect:?}");
        assert!(got.is_whole);
        assert_eq!(stage.ending(1), ExchangeEnding::Truncated, "{dialect:?}");
        assert!(!stage.seen(1).unwrap().notes.is_empty());
    }
}

#[test]
fn a_stream_that_breaks_off_breaks_off_for_the_agent_as_well() {
    // Without a policy nobody decides about it, and it passes another way.
    for (dialect, policy) in DIALECTS.iter().flat_map(|one| [(*one, INJECT), (*one, "")]) {
        let pieces = events(dialect, &turn("1", "Let me look.", &[BAD]));
        let sent = pieces[..pieces.len() - 2].concat();
        let bytes = [stream_head(dialect).as_bytes(), &chunk(&sent)].concat();
        let stage = Stage::by(Fake::closing(bytes), policy);
        let got = stage.ask(&Agent::new((dialect, true)));
        assert!(!got.is_whole && got.is_closed, "{dialect:?}");
        // Nobody has held anything back for good.
        assert_eq!(got.body, sent, "{dialect:?}");
        assert_eq!(stage.ending(1), ExchangeEnding::Truncated);
        let notes = stage.over(1).notes;
        assert!(
            notes.iter().any(|note| note.contains("broke off")),
            "{notes:?}"
        );
    }
}

#[test]
fn a12_an_error_in_the_middle_passes_and_is_told() {
    let error = |dialect| match dialect {
        Dialect::Anthropic => {
            "event: error\ndata: {\"type\":\"error\",\"error\":{\"type\":\"overloaded_error\",\"message\":\"Overloaded\"}}\n\n"
        }
        Dialect::Responses => {
            "event: error\ndata: {\"type\":\"error\",\"code\":\"server_error\",\"message\":\"Overloaded\",\"sequence_number\":9}\n\n"
        }
        Dialect::Converse => "data: {\"throttlingException\":{\"message\":\"Overloaded\"}}\n\n",
        Dialect::Chat | Dialect::Gemini => {
            "data: {\"error\":{\"message\":\"Overloaded\",\"type\":\"server_error\"}}\n\n"
        }
    };
    for dialect in DIALECTS {
        let pieces = events(dialect, &turn("1", "Let me look.", &[]));
        let bytes = [
            &pieces[..3.min(pieces.len() - 1)].concat()[..],
            &as_sent(dialect, error(dialect)),
        ]
        .concat();
        let stage = Stage::by(upstream(vec![stream(dialect, &bytes)]), INJECT);
        let got = stage.ask(&Agent::new((dialect, true)));
        assert_eq!(got.body, bytes, "{dialect:?}");
        let notes = stage.over(1).notes;
        assert!(!notes.is_empty(), "{dialect:?}");
        assert_eq!(stage.upstream.requests().len(), 1);
    }
}

#[test]
fn a21_a_call_without_an_end_is_released_with_a_warning_and_memory_is_bounded() {
    let pieces = events(Dialect::Anthropic, &turn("1", "", &[BAD]));
    let at = pieces
        .iter()
        .position(|piece| String::from_utf8_lossy(piece).contains("input_json_delta"))
        .unwrap();
    let begin = pieces[..at].concat();
    let piece = "x".repeat(256 * 1024);
    let delta = format!(
        "event: content_block_delta\ndata: {{\"type\":\"content_block_delta\",\"index\":0,\"delta\":{{\"type\":\"input_json_delta\",\"partial_json\":\"{piece}\"}}}}\n\n"
    );
    let upstream = Fake::start(move |_, stream| {
        stream.write_all(STREAM.as_bytes()).unwrap();
        stream.write_all(&chunk(&begin)).unwrap();
        // 24 MiB, and it goes on until nobody reads.
        for _ in 0..96 {
            if stream.write_all(&chunk(delta.as_bytes())).is_err() {
                return false;
            }
        }
        stream.write_all(b"0\r\n\r\n").is_ok()
    });
    let stage = Stage::by(upstream, INJECT);
    let got = stage.ask(&Agent::new((Dialect::Anthropic, true)));
    assert!(got.is_whole);
    assert_eq!(got.text().matches("partial_json").count(), 96);
    let notes = stage.over(1).notes;
    assert!(notes.iter().any(|note| note.contains("kept")), "{notes:?}");
    assert_eq!(stage.upstream.requests().len(), 1);
}

#[test]
fn an_upstream_that_is_not_there_is_told_in_the_words_of_the_dialect() {
    let nobody = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for dialect in DIALECTS {
        let fake = upstream(vec![Vec::new()]);
        let stage = Stage::new(fake, |options| {
            options.upstreams =
                vec![retake_live::proxy::Upstream::parse(&format!("http://{nobody}")).unwrap()];
        });
        let got = stage
            .send(&Agent::new((dialect, true)), "")
            .receive(PATIENCE);
        assert_eq!(got.status, Some(502), "{}", got.text());
        let word = match dialect {
            Dialect::Converse => "InternalServerException",
            Dialect::Responses | Dialect::Chat | Dialect::Anthropic | Dialect::Gemini => "error",
        };
        assert!(got.text().contains(word), "{}", got.text());
        assert!(matches!(stage.ending(1), ExchangeEnding::NoReply { .. }));
    }
}
