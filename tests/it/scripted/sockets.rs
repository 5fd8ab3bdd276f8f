//! Replies over sockets: in every dialect, whole and streamed, they say the same.

use super::client::{ask, connect, receive, send, send_with};
use super::dialogue::{DIALECTS, answered, calls, opening, read, text};
use retake_core::script::Script;
use retake_core::session::Dialect;
use retake_live::scripted::{ANY_PORT, ScriptedServer, read_script};

fn flights() -> ScriptedServer {
    let script = read_script("sessions/agents/flights.script.toml".as_ref()).unwrap();
    ScriptedServer::start(script, ANY_PORT).unwrap()
}

#[test]
fn a_conversation_goes_alike_in_every_dialect_whole_and_streamed() {
    let endpoint = flights();
    let mut spoken = Vec::new();
    for dialect in DIALECTS {
        for streams in [false, true] {
            let mut request = opening(dialect, "From New York to Lisbon, please.", streams);
            let mut said = Vec::new();
            for output in [
                "No tool serch_flights; there is search_flights.",
                "TP 204 at 18:25",
            ] {
                let reply = ask(&endpoint, dialect, &request);
                assert_eq!(
                    (reply.status, reply.header("x-retake-scripted")),
                    (200, Some("flights"))
                );
                assert!(reply.is_whole);
                let kind = reply.header("content-type").unwrap();
                assert_eq!(kind.starts_with("text/event-stream"), streams, "{kind}");
                let session = read(&reply.body);
                assert_eq!(session.dialect, dialect);
                assert_eq!(session.model.as_deref(), Some("scripted:flights"));
                let made = calls(&session);
                let made = made.iter().map(|(_, name, arguments)| {
                    let arguments: serde_json::Value = serde_json::from_str(arguments).unwrap();
                    format!("{name} {arguments}")
                });
                said.push((text(&session), made.collect::<Vec<_>>()));
                request = answered(&request, dialect, &session, output);
            }
            let last = read(&ask(&endpoint, dialect, &request).body);
            said.push((text(&last), Vec::new()));
            spoken.push(said);
        }
    }
    assert!(spoken.iter().all(|said| *said == spoken[0]), "{spoken:#?}");
    let arguments = r#"{"from":"JFK","to":"LIS","date":"2026-05-11"}"#;
    assert_eq!(spoken[0][0].1, [format!("serch_flights {arguments}")]);
    assert_eq!(spoken[0][1].1, [format!("search_flights {arguments}")]);
    assert!(spoken[0][2].0.ends_with("TP 204 at 18:25"));
}

#[test]
fn a_stream_and_a_whole_reply_hold_the_same_calls_with_the_same_ids() {
    let endpoint = flights();
    for dialect in DIALECTS {
        let [whole, streamed] = [false, true].map(|streams| {
            let reply = ask(&endpoint, dialect, &opening(dialect, "hello", streams));
            if streams {
                let deltas = reply.text().matches("delta").count();
                assert!(deltas > 6, "{deltas} deltas in {dialect:?}");
            }
            calls(&read(&reply.body))
        });
        assert_eq!(whole, streamed, "{dialect:?}");
        assert_eq!(whole.len(), 1);
    }
}

#[test]
fn a_sample_of_the_same_history_has_a_name_of_its_own() {
    let endpoint = flights();
    let request = opening(Dialect::Chat, "hello", false).to_string();
    let mut stream = connect(&endpoint);
    let mut ids = ["1", "2", "1"].map(|sample| {
        let header = format!("x-retake-sample: {sample}\r\n");
        send_with(&mut stream, "POST /v1/chat/completions", &header, &request);
        calls(&read(&receive(&mut stream).body)).remove(0).0
    });
    assert_eq!(ids[0], ids[2]);
    ids.sort();
    assert_ne!(ids[0], ids[2]);
}

#[test]
fn a_connection_is_kept_for_the_next_request() {
    let endpoint = flights();
    let mut stream = connect(&endpoint);
    for streams in [false, true, false] {
        let request = opening(Dialect::Anthropic, "hello", streams).to_string();
        send(&mut stream, "POST /v1/messages", &request);
        let reply = receive(&mut stream);
        assert!(reply.status == 200 && reply.is_whole);
    }
    send(&mut stream, "GET /v1/models", "");
    assert!(receive(&mut stream).text().contains("scripted:flights"));
}

#[test]
fn many_clients_are_served_at_a_time_and_one_that_waits_holds_up_nobody() {
    let script =
        "[[rule]]\nlast_contains = \"wait\"\nhang = true\n[[rule]]\ntext = \"at once: {{ last }}\"";
    let endpoint =
        ScriptedServer::start(Script::parse("x.toml", script).unwrap(), ANY_PORT).unwrap();
    let mut waiting = connect(&endpoint);
    let request = opening(Dialect::Chat, "wait", true).to_string();
    send(&mut waiting, "POST /v1/chat/completions", &request);
    std::thread::scope(|scope| {
        let asked = (0..20).map(|number| {
            let endpoint = &endpoint;
            scope.spawn(move || {
                let dialect = DIALECTS[number % 3];
                let words = format!("number {number}");
                let reply = ask(
                    endpoint,
                    dialect,
                    &opening(dialect, &words, number % 2 == 0),
                );
                assert_eq!(text(&read(&reply.body)), format!("at once: {words}"));
            })
        });
        asked
            .collect::<Vec<_>>()
            .into_iter()
            .for_each(|thread| thread.join().unwrap());
    });
}
