//! A reply of Anthropic Messages (Anthropic API reference, Messages and streaming).

use super::{End, NewEvent, NewReply, pieces};
use crate::dialects::stream::{input_of, write_object};
use crate::dialects::write::{quoted, text_block};
use crate::session::Shape;
use serde_json::{Value, json};

/// The whole message. Arguments stand in it as they were written; those that are no object stand as a text, as
/// an accumulated stream has them.
pub(in crate::dialects) fn whole(reply: &NewReply) -> String {
    let mut content = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        content.push(thinking(reply, reasoning).to_string());
    }
    content.extend(words(reply).map(|text| text_block(Shape::Anthropic, text)));
    content.extend(reply.calls.iter().map(|call| {
        let (id, name) = (quoted(&call.id), quoted(&call.name));
        let input = input_of(&call.arguments);
        format!(r#"{{"type":"tool_use","id":{id},"name":{name},"input":{input}}}"#)
    }));
    let mut out = String::new();
    if let Value::Object(members) = message(reply, stop_reason(reply).into(), reply.output_tokens) {
        let content = format!("[{}]", content.join(","));
        write_object(&members, &[("content", content)], &mut out);
    }
    out
}

/// Text and refusal: for this provider both are text.
fn words(reply: &NewReply) -> impl Iterator<Item = &String> {
    reply.texts.iter().chain(&reply.refusal)
}

fn thinking(reply: &NewReply, text: &str) -> Value {
    json!({"type": "thinking", "thinking": text, "signature": signature(reply)})
}

fn signature(reply: &NewReply) -> String {
    format!("scripted{}", reply.tag)
}

fn message(reply: &NewReply, stop_reason: Value, output_tokens: u64) -> Value {
    json!({
        "id": format!("msg_{}", reply.tag),
        "type": "message",
        "role": "assistant",
        "model": reply.model,
        "content": [],
        "stop_reason": stop_reason,
        "stop_sequence": null,
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": output_tokens},
    })
}

fn stop_reason(reply: &NewReply) -> &'static str {
    match reply.end {
        End::Length => "max_tokens",
        End::ContentFilter => "refusal",
        End::Natural if reply.refusal.is_some() => "refusal",
        End::Natural if reply.calls.is_empty() => "end_turn",
        End::Natural => "tool_use",
    }
}

/// The events of its stream.
pub(in crate::dialects) fn events(reply: &NewReply, piece: usize) -> Vec<NewEvent> {
    let begun = message(reply, Value::Null, reply.output_tokens.min(1));
    let mut blocks = Blocks {
        events: vec![json!({"type": "message_start", "message": begun})],
        count: 0,
    };
    if let Some(reasoning) = &reply.reasoning {
        let start = json!({"type": "thinking", "thinking": "", "signature": ""});
        let mut deltas = pieces(reasoning, piece)
            .into_iter()
            .map(|text| json!({"type": "thinking_delta", "thinking": text}))
            .collect::<Vec<_>>();
        deltas.push(json!({"type": "signature_delta", "signature": signature(reply)}));
        blocks.push(&start, deltas);
    }
    for text in words(reply) {
        let deltas = pieces(text, piece).into_iter();
        blocks.push(
            &json!({"type": "text", "text": ""}),
            deltas.map(|text| json!({"type": "text_delta", "text": text})),
        );
    }
    for call in &reply.calls {
        let deltas = pieces(&call.arguments, piece).into_iter();
        blocks.push(
            &json!({"type": "tool_use", "id": call.id, "name": call.name, "input": {}}),
            deltas.map(|json| json!({"type": "input_json_delta", "partial_json": json})),
        );
    }
    let mut events = blocks.events;
    events.push(json!({
        "type": "message_delta",
        "delta": {"stop_reason": stop_reason(reply), "stop_sequence": null},
        "usage": {"input_tokens": reply.input_tokens, "output_tokens": reply.output_tokens},
    }));
    events.push(json!({"type": "message_stop"}));
    events.iter().map(NewEvent::named).collect()
}

/// Blocks that start, grow and stop.
struct Blocks {
    events: Vec<Value>,
    count: usize,
}

impl Blocks {
    fn push(&mut self, start: &Value, deltas: impl IntoIterator<Item = Value>) {
        let index = self.count;
        self.events
            .push(json!({"type": "content_block_start", "index": index, "content_block": start}));
        if index == 0 {
            self.events.push(json!({"type": "ping"}));
        }
        for delta in deltas {
            self.events
                .push(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        }
        self.events
            .push(json!({"type": "content_block_stop", "index": index}));
        self.count += 1;
    }
}
