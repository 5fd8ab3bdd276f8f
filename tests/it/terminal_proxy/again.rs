//! Exchanges that are held more than once, on the screen.

use super::client::{Client, request};
use super::{BROKEN, Desk, WIDE};
use crate::proxy_wire::fake::{Fake, STREAM, chunk};
use retake_core::session::Dialect;
use serde_json::json;
use tempfile::TempDir;
use termlens::Key;

/// A request whose history has a call that nobody answered.
fn forgetful() -> serde_json::Value {
    let mut request = request(Dialect::Chat, true, BROKEN);
    let call = json!({"id": "call_a", "type": "function",
        "function": {"name": "search_flights", "arguments": "{}"}});
    let more = [
        json!({"role": "assistant", "content": null, "tool_calls": [call]}),
        json!({"role": "user", "content": "Well?"}),
    ];
    request["messages"].as_array_mut().unwrap().extend(more);
    request
}

/// A reply that calls a tool which is not offered.
fn broken() -> Vec<u8> {
    let call = json!({"index": 0, "id": "call_b", "type": "function",
        "function": {"name": "serch_flights", "arguments": "{}"}});
    let choices = [
        json!({"index": 0, "delta": {"role": "assistant", "tool_calls": [call]}}),
        json!({"index": 0, "delta": {}, "finish_reason": "tool_calls"}),
    ];
    let events = choices.map(|choice| {
        let event = json!({"id": "chatcmpl-1", "object": "chat.completion.chunk",
            "model": "any", "choices": [choice]});
        chunk(format!("data: {event}\n\n").as_bytes())
    });
    let end = chunk(b"data: [DONE]\n\n");
    [STREAM.as_bytes(), &events.concat(), &end, b"0\r\n\r\n"].concat()
}

#[test]
fn the_reply_behind_a_mended_request_is_held_opened_and_mended() {
    let upstream = Fake::answering(broken());
    let folder = TempDir::new().unwrap();
    let mut desk = Desk::before(upstream.address, None, folder, WIDE, &[], &[]);
    let client = Client::send(desk.port, Dialect::Chat, &forgetful());
    desk.sees("1 held");
    desk.enter();
    desk.sees("paused: orphan-call");
    desk.press('o');
    desk.sees("what the tool returns");
    for key in "twenty".chars() {
        desk.press(key);
    }
    desk.terminal.send(Key::Ctrl('s'));
    desk.sees("enter accept");
    desk.enter();
    // Back in the list by itself, which says what is held now.
    desk.sees("held: unknown-tool");
    desk.enter();
    desk.sees("paused: unknown-tool serch_flights");
    desk.press('s');
    desk.sees("take the suggestion");
    desk.enter();
    desk.sees("fixed: the request and the reply were corrected");
    let body = client.body();
    assert!(body.contains("\"search_flights\""), "{body}");
    assert!(!body.contains("serch_flights"), "{body}");
    desk.quit();
}
