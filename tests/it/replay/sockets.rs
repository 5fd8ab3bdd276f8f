//! A recording over sockets: in every dialect, whole and streamed.

use super::client::{DIALECTS, PATIENCE, ask, ask_with, recording, request};
use flate2::Compression;
use flate2::write::GzEncoder;
use retake_core::formats::{Sample, find, read_buffer, recognise};
use retake_core::replay::{Matching, Tape};
use retake_core::session::{Dialect, Kind, Session, Source};
use retake_core::wire::body_of;
use retake_live::replay::{ANY_PORT, ReplayEvent, ReplayOptions, ReplayServer};
use serde_json::{Value, json};
use std::io::Write;
use std::net::TcpStream;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, channel};

/// A tape of recordings, each of them a list of messages or a request.
fn tape(recordings: &[Value]) -> Tape {
    let sessions = recordings.iter().flat_map(|recording| {
        let text = recording.to_string();
        let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
        let contents = read_buffer(find("openai-chat").unwrap(), &source, text.as_bytes());
        contents.unwrap().sessions
    });
    Tape::of(sessions.collect()).unwrap()
}

fn serving(options: ReplayOptions) -> (ReplayServer, Receiver<ReplayEvent>) {
    serving_of(&[recording()], options)
}

fn serving_of(
    recordings: &[Value],
    options: ReplayOptions,
) -> (ReplayServer, Receiver<ReplayEvent>) {
    let (sender, events) = channel();
    let report = move |event| {
        let _over = sender.send(event);
    };
    let tape = tape(recordings);
    (
        ReplayServer::start(tape, options, ANY_PORT, report).unwrap(),
        events,
    )
}

fn lenient() -> ReplayOptions {
    ReplayOptions {
        matching: Matching {
            is_lenient: true,
            ..Matching::default()
        },
        keeps_pace: false,
    }
}

/// What a reply says: texts, and calls with their ids.
fn said(body: &str) -> Vec<String> {
    let format = recognise(&Sample::new(body.as_bytes(), true)).unwrap();
    let source: Arc<dyn Source> = Arc::new(body.as_bytes().to_vec());
    let contents = read_buffer(format, &source, body.as_bytes()).unwrap();
    let session: &Session = &contents.sessions[0];
    assert_eq!(session.model.as_deref(), Some("gpt-weather"));
    let items = session.items.iter();
    let said = items.map(|item| {
        let body = body_of(item, &session.bytes(item).unwrap()).unwrap();
        match item.kind {
            Kind::Call => {
                let id = session.call_id(item).unwrap();
                format!(
                    "{id} {} {}",
                    session.name(item),
                    body.arguments.as_written()
                )
            }
            _ => body.text,
        }
    });
    said.collect()
}

#[test]
fn each_turn_is_served_in_every_dialect_whole_and_streamed() {
    let (endpoint, events) = serving(ReplayOptions::default());
    let call = ["Let me look.", "call_7 get_weather {\"city\": \"Bern\"}"];
    for (dialect, path) in DIALECTS {
        for (turn, wanted) in [
            (3, &call[..]),
            (4, &["It has 18 degrees in Bern."]),
            (6, &["Gladly."]),
            // Once more: the same request gets the same reply.
            (3, &call[..]),
        ] {
            for streams in [false, true] {
                let request = request(dialect, turn, "Bern", streams);
                let reply = ask(endpoint.address(), "POST", path, &request.to_string());
                assert_eq!(reply.status, 200, "{}", reply.body);
                let header = format!("turn={turn}");
                assert_eq!(reply.header("x-retake-replay"), Some(&*header));
                let kind = reply.header("content-type").unwrap();
                assert_eq!(kind.starts_with("text/event-stream"), streams);
                assert_eq!(said(&reply.body), wanted, "{dialect:?}");
                let told = events.recv_timeout(PATIENCE).unwrap();
                assert!(
                    matches!(&told, ReplayEvent::Served { turn: words, differences: None, .. } if *words == format!("turn {turn}")),
                    "{told:?}"
                );
            }
        }
    }
}

#[test]
fn a_changed_prompt_is_refused_with_what_differs_in_the_shape_of_each_dialect() {
    let (endpoint, events) = serving(ReplayOptions::default());
    for (dialect, path) in DIALECTS {
        for streams in [false, true] {
            let request = request(dialect, 3, "Rome", streams);
            let reply = ask(endpoint.address(), "POST", path, &request.to_string());
            assert_eq!(
                (reply.status, reply.header("x-retake-replay")),
                (400, Some("refused"))
            );
            let body: Value = serde_json::from_str(&reply.body).unwrap();
            assert_eq!(body["error"]["code"], "replay_mismatch");
            assert_eq!(body["error"]["type"], "invalid_request_error");
            assert_eq!(body["type"] == "error", dialect == Dialect::Anthropic);
            let message = body["error"]["message"].as_str().unwrap();
            assert!(message.contains("nearest is that of turn 3"), "{message}");
            assert!(
                message.contains("item 2, user: … it in [-Bern-]{+Rome+}?"),
                "{message}"
            );
            let told = events.recv_timeout(PATIENCE).unwrap();
            assert!(
                matches!(&told, ReplayEvent::Refused { why, nearest: Some(_), .. } if message.ends_with(why)),
                "{told:?}"
            );
        }
    }
}

#[test]
fn leniently_the_nearest_turn_answers_and_says_so() {
    let (endpoint, events) = serving(lenient());
    let (dialect, path) = DIALECTS[2];
    let request = request(dialect, 4, "Rome", true);
    let reply = ask(endpoint.address(), "POST", path, &request.to_string());
    assert_eq!(reply.header("x-retake-replay"), Some("turn=4; lenient"));
    assert_eq!(said(&reply.body), ["It has 18 degrees in Bern."]);
    let ReplayEvent::Served {
        differences: Some(differences),
        ..
    } = events.recv_timeout(PATIENCE).unwrap()
    else {
        panic!("nothing is told");
    };
    assert_eq!(differences.listed.len(), 2, "{differences}");
}

#[test]
fn behind_the_last_turn_there_is_nothing_lenient_or_not() {
    for options in [ReplayOptions::default(), lenient()] {
        let (endpoint, _events) = serving(options);
        let mut request = request(Dialect::Chat, 6, "Bern", false);
        let messages = request["messages"].as_array_mut().unwrap();
        messages.push(json!({"role": "assistant", "content": "Gladly."}));
        messages.push(json!({"role": "user", "content": "And in Rome?"}));
        let reply = ask(
            endpoint.address(),
            "POST",
            DIALECTS[1].1,
            &request.to_string(),
        );
        let body: Value = serde_json::from_str(&reply.body).unwrap();
        assert_eq!(
            (reply.status, &body["error"]["code"]),
            (400, &json!("replay_ended"))
        );
        let message = body["error"]["message"].as_str().unwrap();
        assert!(
            message.contains("the recording ends with turn 6"),
            "{message}"
        );
    }
}

#[test]
fn the_same_request_gets_what_it_got_when_it_was_recorded_and_a_new_agent_the_same_again() {
    let asked = json!([{"role": "user", "content": "a number"}]);
    let recorded = ["one", "two"].map(|text| {
        let mut messages = asked.as_array().unwrap().clone();
        messages.push(json!({"role": "assistant", "content": text}));
        json!(messages)
    });
    let (endpoint, _events) = serving_of(&recorded, ReplayOptions::default());
    let asked = json!({"model": "m", "messages": asked});
    let say = |wanted: &str| {
        let reply = ask(
            endpoint.address(),
            "POST",
            DIALECTS[1].1,
            &asked.to_string(),
        );
        assert!(reply.body.contains(wanted), "{wanted}: {}", reply.body);
    };
    for wanted in ["one", "two", "two"] {
        say(wanted);
    }
    endpoint.rewind();
    for wanted in ["one", "two"] {
        say(wanted);
    }
}

#[test]
fn a_response_repeats_the_tools_of_its_request() {
    let (endpoint, _events) = serving(ReplayOptions::default());
    let (dialect, path) = DIALECTS[0];
    let request = request(dialect, 4, "Bern", false);
    let reply = ask(endpoint.address(), "POST", path, &request.to_string());
    let reply: Value = serde_json::from_str(&reply.body).unwrap();
    assert_eq!(reply["tools"], request["tools"]);
}

#[test]
fn a_request_may_be_packed() {
    let (endpoint, _events) = serving(ReplayOptions::default());
    let (dialect, path) = DIALECTS[0];
    let request = request(dialect, 4, "Bern", false).to_string();
    let mut packed = GzEncoder::new(Vec::new(), Compression::default());
    packed.write_all(request.as_bytes()).unwrap();
    let packed = packed.finish().unwrap();
    let post = |coding: &str, body: &[u8]| {
        let header = format!("content-encoding: {coding}\r\n");
        ask_with(endpoint.address(), ("POST", path), &header, body)
    };
    let reply = post("gzip", &packed);
    assert_eq!(said(&reply.body), ["It has 18 degrees in Bern."]);
    assert_eq!(post("identity", request.as_bytes()).status, 200);
    for (coding, body, status, why) in [
        (
            "gzip",
            request.as_bytes(),
            400,
            "is not encoded as its content-encoding says",
        ),
        (
            "rot13",
            request.as_bytes(),
            415,
            "a content-encoding that is not known",
        ),
    ] {
        let reply = post(coding, body);
        assert_eq!(reply.status, status, "{}", reply.body);
        assert!(reply.body.contains(why), "{}", reply.body);
    }
}

#[test]
fn what_is_no_request_is_refused_and_models_are_listed() {
    let (endpoint, _events) = serving(ReplayOptions::default());
    let status =
        |method: &str, path: &str, body: &str| ask(endpoint.address(), method, path, body).status;
    assert_eq!(status("POST", "/v1/responses", "{"), 400);
    assert_eq!(status("POST", "/v1/embeddings", "{}"), 404);
    assert_eq!(status("GET", "/v1/responses", ""), 405);
    let models = ask(endpoint.address(), "GET", "/v1/models", "");
    assert!(models.status == 200 && models.body.contains("gpt-weather"));
    let kept = json!({"input": "hi", "previous_response_id": "resp_1"}).to_string();
    let reply = ask(endpoint.address(), "POST", "/v1/responses", &kept);
    assert!(reply.status == 400 && reply.body.contains("send the whole history"));
}

#[test]
fn it_listens_on_the_loopback_only_and_stops_when_it_is_dropped() {
    let nobody = |_| {};
    let everywhere = "0.0.0.0:0".parse().unwrap();
    let refused = ReplayServer::start(
        tape(&[recording()]),
        ReplayOptions::default(),
        everywhere,
        nobody,
    );
    assert!(refused.unwrap_err().to_string().contains("loopback"));
    let (endpoint, _events) = serving(ReplayOptions::default());
    let address = endpoint.address();
    assert_eq!(
        endpoint.base_url(Dialect::Chat),
        format!("http://{address}/v1")
    );
    assert_eq!(
        endpoint.base_url(Dialect::Anthropic),
        format!("http://{address}")
    );
    drop(endpoint);
    let until = std::time::Instant::now() + PATIENCE;
    while TcpStream::connect(address).is_ok() {
        assert!(std::time::Instant::now() < until, "it still listens");
        std::thread::yield_now();
    }
}
