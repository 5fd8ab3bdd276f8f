//! What goes wrong, as scripted or by the client.

use super::client::{PATIENCE, ask, connect, path, receive, send};
use super::dialogue::{DIALECTS, opening, read};
use retake_core::script::Script;
use retake_core::session::{Dialect, Flags};
use retake_core::wire::stream::Splitter;
use retake_live::scripted::{ANY_PORT, ScriptError, ScriptedServer, read_script};
use serde_json::Value;
use std::io::{ErrorKind, Read};
use std::net::TcpStream;
use std::time::{Duration, Instant};

fn serve(script: &str) -> ScriptedServer {
    let script = Script::parse("faulty.script.toml", script).unwrap();
    ScriptedServer::start(script, ANY_PORT).unwrap()
}

#[test]
fn errors_come_with_status_and_header_in_the_spelling_of_the_dialect() {
    let endpoint = serve(
        "[[rule]]\nattempt = 1\nstatus = 429\nretry_after = 7\nerror = \"slow down\"\n[[rule]]\ntext = \"well\"",
    );
    for dialect in DIALECTS {
        let request = opening(dialect, dialect.word(), true);
        let reply = ask(&endpoint, dialect, &request);
        assert_eq!(
            (reply.status, reply.header("retry-after")),
            (429, Some("7"))
        );
        assert_eq!(reply.header("x-retake-rule"), Some("1, line 1"));
        let error: Value = serde_json::from_slice(&reply.body).unwrap();
        assert_eq!(error["error"]["message"], "slow down");
        assert_eq!(error["error"]["type"], "rate_limit_error");
        let is_anthropic = dialect == Dialect::Anthropic;
        assert_eq!(error["type"] == "error", is_anthropic);
        assert_eq!(
            ask(&endpoint, dialect, &request).status,
            200,
            "the second attempt"
        );
    }
}

#[test]
fn a_cut_stream_ends_behind_so_many_events_and_a_cut_reply_in_its_middle() {
    let text = "[[rule]]\ntext = \"one two three four five six seven\"\nchunk = 4\ncut_after = 5";
    let endpoint = serve(text);
    for dialect in DIALECTS {
        let reply = ask(&endpoint, dialect, &opening(dialect, "hi", true));
        assert!(!reply.is_whole && reply.status == 200);
        assert_eq!(
            reply.text().matches("data: ").count(),
            5,
            "{}",
            reply.text()
        );
        let session = read(&reply.body);
        assert!(session.items.last().unwrap().flags.has(Flags::INCOMPLETE));
        let whole = ask(&endpoint, dialect, &opening(dialect, "hi", false));
        assert!(!whole.is_whole && !whole.body.is_empty());
        assert!(serde_json::from_slice::<Value>(&whole.body).is_err());
    }
}

#[test]
fn a_failure_in_the_middle_of_a_stream_is_reported_there() {
    let text =
        "[[rule]]\ntext = \"one two three\"\nchunk = 4\ncut_after = 5\nerror = \"overloaded\"";
    let endpoint = serve(text);
    for dialect in DIALECTS {
        let reply = ask(&endpoint, dialect, &opening(dialect, "hi", true));
        assert!(reply.is_whole && reply.status == 200);
        let mut stream = dialect.codec().decoder();
        let mut splitter = Splitter::default();
        splitter.push(&reply.body, |event| {
            stream.push(&serde_json::from_str(&event.data).unwrap());
        });
        let came = stream.finish();
        assert_eq!(came.failures.len(), 1, "{dialect:?}");
        assert_eq!(came.failures[0]["message"], "overloaded");
        assert!(!came.ended);
    }
}

#[test]
fn a_stream_that_hangs_sends_its_beginning_and_nothing_more() {
    let endpoint =
        serve("[[rule]]\ntext = \"one two three\"\nchunk = 1\ncut_after = 3\nhang = true");
    let mut stream = connect(&endpoint);
    let request = opening(Dialect::Anthropic, "hi", true).to_string();
    send(&mut stream, "POST /v1/messages", &request);
    stream
        .set_read_timeout(Some(Duration::from_secs(1)))
        .unwrap();
    let mut came = Vec::new();
    let mut buffer = [0; 4096];
    let ended = loop {
        match stream.read(&mut buffer) {
            Ok(0) => break true,
            Ok(length) => came.extend_from_slice(&buffer[..length]),
            Err(error) if matches!(error.kind(), ErrorKind::WouldBlock | ErrorKind::TimedOut) => {
                // On a busy machine the beginning may take longer than the patience for silence.
                if String::from_utf8_lossy(&came).matches("data: ").count() == 3 {
                    break false;
                }
            }
            Err(error) => panic!("{error}"),
        }
    };
    assert!(!ended, "the connection stays");
}

#[test]
fn the_pace_of_a_stream_can_be_seen() {
    let endpoint = serve("[[rule]]\ntext = \"abcde\"\nchunk = 1\nchunk_ms = 30\ndelay_ms = 50");
    let begun = Instant::now();
    let reply = ask(
        &endpoint,
        Dialect::Chat,
        &opening(Dialect::Chat, "hi", true),
    );
    let events = u32::try_from(reply.text().matches("data: ").count()).unwrap();
    assert!(reply.is_whole && events >= 8);
    let least = Duration::from_millis(50) + Duration::from_millis(30) * (events - 1);
    assert!(
        begun.elapsed() >= least,
        "{:?} for {events} events",
        begun.elapsed()
    );
}

#[test]
fn a_request_that_no_rule_fits_is_refused_with_the_file_and_what_was_asked() {
    let endpoint = serve("[[rule]]\nturn = 9\ntext = \"x\"");
    for dialect in DIALECTS {
        let reply = ask(&endpoint, dialect, &opening(dialect, "the question", true));
        assert_eq!(reply.status, 400);
        let error: Value = serde_json::from_slice(&reply.body).unwrap();
        let message = error["error"]["message"].as_str().unwrap();
        let wanted = "no rule of faulty.script.toml fits reply 1: the history ends on user, which says \"the question\"";
        assert!(message.starts_with(wanted), "{message}");
    }
}

#[test]
fn what_is_no_request_is_refused_and_the_endpoint_stays() {
    let endpoint = serve("[[rule]]\ntext = \"x\"");
    let told = |head: &str, body: &str| {
        let mut stream = connect(&endpoint);
        send(&mut stream, head, body);
        receive(&mut stream).status
    };
    assert_eq!(told("POST /v1/messages", "{"), 400);
    assert_eq!(told("POST /v1/messages", ""), 400);
    assert_eq!(told("POST /v1/responses", "[[[[[["), 400);
    assert_eq!(told("POST /v1/chat/completions", &"[".repeat(100_000)), 400);
    assert_eq!(told("POST /v1/embeddings", "{}"), 404);
    assert_eq!(told("GET /v1/messages", ""), 405);
    let mut stream = connect(&endpoint);
    let host = endpoint.address();
    let head = format!(
        "POST /v1/messages HTTP/1.1\r\nhost: {host}\r\ncontent-length: 99999999999\r\n\r\n"
    );
    std::io::Write::write_all(&mut stream, head.as_bytes()).unwrap();
    assert_eq!(receive(&mut stream).status, 413);
    let mut stream = connect(&endpoint);
    std::io::Write::write_all(&mut stream, b"\x16\x03\x01 hello\r\n\r\n").unwrap();
    assert_eq!(receive(&mut stream).status, 400);
    let empty = r#"{"model": "m", "messages": []}"#;
    assert_eq!(told("POST /v1/messages", empty), 200);
}

#[test]
fn an_endpoint_ends_when_it_is_dropped_with_all_that_hangs_on_it() {
    let endpoint = serve("[[rule]]\nhang = true");
    let address = endpoint.address();
    let mut waiting = connect(&endpoint);
    let request = opening(Dialect::Chat, "hi", true).to_string();
    send(
        &mut waiting,
        &format!("POST {}", path(Dialect::Chat)),
        &request,
    );
    drop(endpoint);
    let mut rest = Vec::new();
    // By force or not, the connection ends.
    let _ = waiting.read_to_end(&mut rest);
    assert!(rest.is_empty());
    let begun = Instant::now();
    while TcpStream::connect(address).is_ok() {
        assert!(begun.elapsed() < PATIENCE, "it still listens");
        std::thread::sleep(Duration::from_millis(20));
    }
}

#[test]
fn only_the_loopback_is_listened_on() {
    let script = Script::parse("x.toml", "[[rule]]\ntext = \"x\"").unwrap();
    let error = ScriptedServer::start(script, "0.0.0.0:0".parse().unwrap()).unwrap_err();
    assert_eq!(error.kind(), ErrorKind::InvalidInput);
}

#[test]
fn files_that_hold_no_script_are_told_apart() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("bad.script.toml");
    assert!(matches!(read_script(&path), Err(ScriptError::File { .. })));
    std::fs::write(&path, b"\xff").unwrap();
    assert!(matches!(read_script(&path), Err(ScriptError::File { .. })));
    std::fs::write(&path, "[[rule]]\n[[rule]]\nturn = 1").unwrap();
    let Err(ScriptError::Invalid { errors, .. }) = read_script(&path) else {
        panic!("a rule that answers nothing was read");
    };
    assert_eq!(
        { errors.errors.iter() }
            .map(|error| error.line)
            .collect::<Vec<_>>(),
        [1, 2]
    );
}
