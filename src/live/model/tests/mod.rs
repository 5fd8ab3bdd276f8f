//! Models on loopback: what they answer, and everything that can go wrong on the way. Names that begin with a letter and a number are
//! rows of the list of faults that this project is held to.
#![allow(clippy::unwrap_used, clippy::panic)]

mod connection;
mod refusals;
mod replies;
mod server;
mod streams;

use super::endpoint::tests::endpoint;
use super::*;
use retake_core::session::Dialect;
use serde_json::{Value, json};
use server::{Act, Server};
use std::time::Duration;

/// Long enough for a loaded machine, short enough for a test that fails.
const PATIENT: Duration = Duration::from_secs(60);

/// Short enough to wait for.
const BRIEF: Duration = Duration::from_millis(150);

/// What a watcher saw.
#[derive(Debug, Default)]
struct Shown {
    firsts: usize,
    text: String,
    reasoning: String,
    /// Id, name, arguments, whether complete: the last state of each call.
    calls: Vec<(String, String, String, bool)>,
    silences: usize,
}

impl Shown {
    fn take(&mut self, progress: ReplyProgress<'_>) {
        match progress {
            ReplyProgress::First { .. } => self.firsts += 1,
            ReplyProgress::Text(more) => self.text.push_str(more),
            ReplyProgress::Reasoning(more) => self.reasoning.push_str(more),
            ReplyProgress::Call { place, call } => {
                let state = (
                    call.id.to_owned(),
                    call.name.clone().into_owned(),
                    call.arguments.to_owned(),
                    call.is_complete,
                );
                assert!(place <= self.calls.len(), "calls begin in order");
                match self.calls.get_mut(place) {
                    Some(known) => *known = state,
                    None => self.calls.push(state),
                }
            }
            ReplyProgress::Silent { .. } => self.silences += 1,
        }
    }
}

fn model(dialect: Dialect, url: &str, change: impl FnOnce(&mut Endpoint)) -> Model {
    let mut endpoint = endpoint(dialect, url);
    endpoint.timeouts.total = PATIENT;
    change(&mut endpoint);
    Model::new(endpoint).unwrap()
}

async fn ask_model(model: &Model) -> (Result<Answer, ModelFault>, Shown) {
    let mut shown = Shown::default();
    let body = br#"{"stream":true}"#.to_vec();
    let mut watcher = |progress: ReplyProgress<'_>| shown.take(progress);
    let outcome = model
        .ask(body, &mut watcher, CancellationToken::new())
        .await;
    (outcome, shown)
}

/// Asks a server that plays the script on each connection.
async fn ask(dialect: Dialect, script: Vec<Act>) -> (Result<Answer, ModelFault>, Shown) {
    let server = Server::start(script).await;
    ask_model(&model(dialect, &server.url, |_| {})).await
}

/// As [`ask`], of a server that sends these bytes.
async fn ask_sent(dialect: Dialect, bytes: Vec<u8>) -> (Result<Answer, ModelFault>, Shown) {
    ask(dialect, vec![Act::Send(bytes)]).await
}

fn value(answer: &Answer) -> Value {
    serde_json::from_str(&answer.json).unwrap()
}

const DIALECTS: [Dialect; 3] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic];

/// A stream with text, reasoning and a call, and the same reply in one piece.
fn example(dialect: Dialect) -> (String, Value) {
    match dialect {
        Dialect::Chat => chat(),
        Dialect::Responses => responses(),
        _ => anthropic(),
    }
}

fn chat() -> (String, Value) {
    let head = r#""id":"c1","created":1,"model":"m""#;
    let delta = |delta: &str| format!(r#"{{{head},"choices":[{{"index":0,"delta":{delta}}}]}}"#);
    let events = server::events(&[
        &delta(r#"{"role":"assistant","content":"","reasoning_content":"hm"}"#),
        &delta(r#"{"content":"Let me "}"#),
        &delta(r#"{"content":"look."}"#),
        &delta(
            r#"{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"find","arguments":""}}]}"#,
        ),
        &delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"{\"q\":"}}]}"#),
        &delta(r#"{"tool_calls":[{"index":0,"function":{"arguments":"1}"}}]}"#),
        &format!(
            r#"{{{head},"choices":[{{"index":0,"delta":{{}},"finish_reason":"tool_calls"}}]}}"#
        ),
        &format!(r#"{{{head},"choices":[],"usage":{{"prompt_tokens":11,"completion_tokens":7}}}}"#),
        "[DONE]",
    ]);
    let call = json!({"id": "call_1", "type": "function", "function": {"name": "find", "arguments": "{\"q\":1}"}});
    let message = json!({"role": "assistant", "content": "Let me look.", "reasoning_content": "hm", "tool_calls": [call]});
    let whole = json!({
        "id": "c1", "created": 1, "model": "m", "usage": {"prompt_tokens": 11, "completion_tokens": 7}, "object": "chat.completion",
        "choices": [{"index": 0, "message": message, "finish_reason": "tool_calls"}],
    });
    (events, whole)
}

fn responses() -> (String, Value) {
    let reasoning = json!({"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "hm"}], "encrypted_content": "gAA="});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [{"type": "output_text", "text": "Let me look.", "annotations": []}]});
    let call = json!({"id": "fc_1", "type": "function_call", "status": "completed", "call_id": "call_1", "name": "find", "arguments": "{\"q\":1}"});
    let whole = json!({
        "id": "resp_1", "object": "response", "status": "completed", "error": null, "output": [reasoning, message, call],
        "usage": {"input_tokens": 11, "output_tokens": 7},
    });
    let added = |place: usize, item: Value| json!({"type": "response.output_item.added", "output_index": place, "item": item});
    let done = |place: usize| json!({"type": "response.output_item.done", "output_index": place, "item": whole["output"][place]});
    let events = [
        json!({"type": "response.created", "response": {"id": "resp_1", "status": "in_progress", "output": []}}),
        added(0, json!({"id": "rs_1", "type": "reasoning", "summary": []})),
        json!({"type": "response.reasoning_summary_text.delta", "item_id": "rs_1", "output_index": 0, "summary_index": 0, "delta": "hm"}),
        done(0),
        added(
            1,
            json!({"id": "msg_1", "type": "message", "role": "assistant", "content": []}),
        ),
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "content_index": 0, "delta": "Let me "}),
        json!({"type": "response.output_text.delta", "item_id": "msg_1", "output_index": 1, "content_index": 0, "delta": "look."}),
        done(1),
        added(
            2,
            json!({"id": "fc_1", "type": "function_call", "call_id": "call_1", "name": "find", "arguments": ""}),
        ),
        json!({"type": "response.function_call_arguments.delta", "item_id": "fc_1", "output_index": 2, "delta": "{\"q\":1}"}),
        done(2),
        json!({"type": "response.completed", "response": whole}),
    ];
    let events = events.map(|event| event.to_string());
    let events = server::named(&events.iter().map(String::as_str).collect::<Vec<_>>());
    (events, whole)
}

fn anthropic() -> (String, Value) {
    let events = server::named(&[
        r#"{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],"stop_reason":null,"usage":{"input_tokens":11,"output_tokens":1}}}"#,
        r#"{"type":"ping"}"#,
        r#"{"type":"content_block_start","index":0,"content_block":{"type":"thinking","thinking":"","signature":""}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"thinking_delta","thinking":"hm"}}"#,
        r#"{"type":"content_block_delta","index":0,"delta":{"type":"signature_delta","signature":"Er+="}}"#,
        r#"{"type":"content_block_stop","index":0}"#,
        r#"{"type":"content_block_start","index":1,"content_block":{"type":"text","text":""}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"Let me "}}"#,
        r#"{"type":"content_block_delta","index":1,"delta":{"type":"text_delta","text":"look."}}"#,
        r#"{"type":"content_block_stop","index":1}"#,
        r#"{"type":"content_block_start","index":2,"content_block":{"type":"tool_use","id":"call_1","name":"find","input":{}}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"{\"q\":"}}"#,
        r#"{"type":"content_block_delta","index":2,"delta":{"type":"input_json_delta","partial_json":"1}"}}"#,
        r#"{"type":"content_block_stop","index":2}"#,
        r#"{"type":"message_delta","delta":{"stop_reason":"tool_use"},"usage":{"output_tokens":7}}"#,
        r#"{"type":"message_stop"}"#,
    ]);
    let content = json!([
        {"type": "thinking", "thinking": "hm", "signature": "Er+="},
        {"type": "text", "text": "Let me look."},
        {"type": "tool_use", "id": "call_1", "name": "find", "input": {"q": 1}},
    ]);
    let whole = json!({
        "id": "msg_1", "type": "message", "role": "assistant", "model": "m", "content": content, "stop_reason": "tool_use",
        "usage": {"input_tokens": 11, "output_tokens": 7},
    });
    (events, whole)
}
