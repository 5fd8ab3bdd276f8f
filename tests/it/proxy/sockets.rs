//! WebSockets through a proxy that records: each message, each turn as an exchange, and the connection itself, however it ends.

use super::stage::Stage;
use crate::proxy_wire::client::{Client, LONG, addressed};
use crate::proxy_wire::fake::Fake;
use crate::proxy_wire::sockets::OPEN;
use retake_core::exchange::{ExchangeEnding, ExchangePhase};
use retake_live::{ReadOptions, read_path};
use serde_json::{Value, json};
use std::io::Write;
use tungstenite::protocol::{Message, Role, WebSocket};

/// Agrees to a WebSocket and answers each request with a call of this tool.
fn calling(tool: &'static str) -> Fake {
    Fake::start(move |_, stream| {
        let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: x\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        while let Ok(message) = socket.read() {
            if !matches!(message, Message::Text(_)) {
                continue;
            }
            let call = json!({"type": "function_call", "id": "fc_1", "call_id": "call_1", "name": tool, "arguments": "{}", "status": "completed"});
            let response = json!({"id": "resp_1", "object": "response", "status": "completed", "model": "m", "output": [call]});
            for event in [
                json!({"type": "response.created", "response": {"id": "resp_1", "output": []}}),
                json!({"type": "response.completed", "response": response}),
            ] {
                socket.send(Message::text(event.to_string())).unwrap();
            }
        }
        false
    })
}

#[test]
fn a_websocket_is_recorded_turn_by_turn_and_ends_with_its_proxy() {
    let mut stage = Stage::new(calling("serch"), |_| {});
    let mut client = Client::connect(stage.address);
    client.send(addressed(stage.address, OPEN).as_bytes());
    assert_eq!(client.receive_any(LONG).status, Some(101));
    client.stream.set_read_timeout(Some(LONG)).unwrap();
    let mut socket = WebSocket::from_raw_socket(&mut client.stream, Role::Client, None);
    let tool = json!({"type": "function", "name": "search", "parameters": {"type": "object"}});
    let asks = json!({"type": "response.create", "model": "m", "tools": [tool], "input": [{"role": "user", "content": "Where is it warm?"}]});
    socket.send(Message::text(asks.to_string())).unwrap();
    for _ in 0..2 {
        socket.read().unwrap();
    }
    let turn = stage.over(2);
    assert_eq!(turn.found[0].rule, "unknown-tool");
    assert_eq!(
        (turn.model.as_str(), turn.sent),
        ("m", asks.to_string().len() as u64)
    );
    assert_eq!(stage.found(), ["unknown-tool"]);
    // The agent keeps its connection; the proxy ends.
    assert!(matches!(
        stage.seen(1).unwrap().phase,
        ExchangePhase::Replying
    ));
    drop(stage.proxy.take());
    assert_eq!(stage.ending(1), ExchangeEnding::Passed);
    drop(client);
    let journal = stage.folder.path().join("proxy.jsonl");
    let text = std::fs::read_to_string(&journal).unwrap();
    let lines = text.lines().skip(1);
    let entries = lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["entry"].clone());
    let entries: Vec<Value> = entries.collect();
    let of = |kind: &str| entries.iter().filter(|one| one["type"] == kind).count();
    assert_eq!(
        (of("observed"), of("exchange"), of("closed")),
        (3, 2, 1),
        "{text}"
    );
    let first = entries
        .iter()
        .find(|one| one["type"] == "observed")
        .unwrap();
    assert_eq!(
        (&first["message"], &first["from"]),
        (&asks, &json!("agent"))
    );
    let recording = read_path(&journal, &ReadOptions::default()).unwrap();
    assert_eq!(recording.problems, []);
    // A message of the user and a call.
    assert_eq!(recording.sessions[0].items.len(), 2);
}
