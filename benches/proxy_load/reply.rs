//! What the upstream answers: whole replies of 1 KB, and streams whose deltas say when they were written.

use crate::ask::{Dialect, TOOL, arguments};
use bytes::Bytes;
use serde_json::{Value, json};
use std::time::{SystemTime, UNIX_EPOCH};

/// Text deltas of a stream.
pub(crate) const CHUNKS: u32 = 200;
/// Begins the time in a delta.
pub(crate) const STAMP: u8 = b'@';
/// The length of a whole reply.
pub(crate) const WHOLE_BYTES: usize = 1024;

/// Nanoseconds by the clock that all processes of a machine share.
pub(crate) fn now() -> u64 {
    let since = SystemTime::now().duration_since(UNIX_EPOCH);
    since.map_or(0, |since| {
        u64::try_from(since.as_nanos()).unwrap_or(u64::MAX)
    })
}

/// A whole reply of 1 KB.
pub(crate) fn whole(dialect: Dialect, calls: bool) -> Bytes {
    let bare = spelled(dialect, calls, "").to_string().len();
    let filler = "y".repeat(WHOLE_BYTES.saturating_sub(bare));
    Bytes::from(spelled(dialect, calls, &filler).to_string())
}

fn spelled(dialect: Dialect, calls: bool, filler: &str) -> Value {
    match (dialect, calls) {
        (Dialect::Chat, false) => {
            completion(json!({"role": "assistant", "content": filler}), "stop")
        }
        (Dialect::Chat, true) => {
            let function = json!({"name": TOOL, "arguments": arguments(1, filler)});
            let call = json!({"id": "call_of_reply", "type": "function", "function": function});
            completion(
                json!({"role": "assistant", "content": null, "tool_calls": [call]}),
                "tool_calls",
            )
        }
        (Dialect::Responses, false) => response("completed", &[message(filler)]),
        (Dialect::Responses, true) => response(
            "completed",
            &[
                json!({"type": "function_call", "id": "fc_1", "call_id": "call_of_reply", "name": TOOL,
                "arguments": arguments(1, filler), "status": "completed"}),
            ],
        ),
    }
}

fn completion(message: Value, finish: &str) -> Value {
    json!({
        "id": "chatcmpl-1", "object": "chat.completion", "created": 1_760_000_000, "model": "bench",
        "choices": [{"index": 0, "message": message, "finish_reason": finish}],
        "usage": {"prompt_tokens": 200, "completion_tokens": 40, "total_tokens": 240},
    })
}

fn response(status: &str, output: &[Value]) -> Value {
    let usage = json!({"input_tokens": 200, "output_tokens": 40, "total_tokens": 240});
    json!({
        "id": "resp_1", "object": "response", "created_at": 1_760_000_000, "model": "bench",
        "status": status, "output": output, "usage": if status == "completed" { usage } else { Value::Null },
    })
}

fn message(text: &str) -> Value {
    let content = json!([{"type": "output_text", "text": text, "annotations": []}]);
    json!({"type": "message", "id": "msg_1", "status": "completed", "role": "assistant", "content": content})
}

/// The events of one stream, in order; each is one write of the upstream.
pub(crate) struct Stream {
    dialect: Dialect,
    step: u32,
    text: String,
}

impl Stream {
    pub(crate) fn new(dialect: Dialect) -> Self {
        Self {
            dialect,
            step: 0,
            text: String::new(),
        }
    }

    /// Whether a piece was written: there is no pause before the first one.
    pub(crate) fn has_begun(&self) -> bool {
        self.step > 0
    }

    /// What is written now; `None` at the end.
    pub(crate) fn next(&mut self) -> Option<Bytes> {
        let step = self.step;
        self.step += 1;
        let piece = match step {
            0 => self.head(),
            1..=CHUNKS => self.delta(step),
            _ if step == CHUNKS + 1 => self.tail(),
            _ => return None,
        };
        Some(Bytes::from(piece))
    }

    fn delta(&mut self, step: u32) -> String {
        let text = format!("{}{} ", char::from(STAMP), now());
        self.text.push_str(&text);
        match self.dialect {
            Dialect::Chat => chunk(&json!({"content": text}), None),
            Dialect::Responses => event(
                "response.output_text.delta",
                step + 3,
                json!({"item_id": "msg_1", "output_index": 0, "content_index": 0, "delta": text}),
            ),
        }
    }

    fn head(&self) -> String {
        match self.dialect {
            Dialect::Chat => chunk(&json!({"role": "assistant", "content": ""}), None),
            Dialect::Responses => {
                let begun = json!({"response": response("in_progress", &[])});
                let item = json!({"type": "message", "id": "msg_1", "status": "in_progress", "role": "assistant", "content": []});
                let part = json!({"type": "output_text", "text": "", "annotations": []});
                [
                    event("response.created", 0, begun.clone()),
                    event("response.in_progress", 1, begun),
                    event("response.output_item.added", 2, json!({"output_index": 0, "item": item})),
                    event(
                        "response.content_part.added",
                        3,
                        json!({"item_id": "msg_1", "output_index": 0, "content_index": 0, "part": part}),
                    ),
                ]
                .concat()
            }
        }
    }

    /// The end repeats the text, so a reader of stamps must have stopped by then.
    fn tail(&self) -> String {
        match self.dialect {
            Dialect::Chat => chunk(&json!({}), Some("stop")) + "data: [DONE]\n\n",
            Dialect::Responses => {
                let (item, text) = (message(&self.text), &self.text);
                let part = json!({"type": "output_text", "text": text, "annotations": []});
                let at = |more: Value| {
                    let mut fields =
                        json!({"item_id": "msg_1", "output_index": 0, "content_index": 0});
                    if let (Some(fields), Value::Object(more)) = (fields.as_object_mut(), more) {
                        fields.extend(more);
                    }
                    fields
                };
                [
                    event(
                        "response.output_text.done",
                        CHUNKS + 4,
                        at(json!({"text": text})),
                    ),
                    event(
                        "response.content_part.done",
                        CHUNKS + 5,
                        at(json!({"part": part})),
                    ),
                    event(
                        "response.output_item.done",
                        CHUNKS + 6,
                        json!({"output_index": 0, "item": item}),
                    ),
                    event(
                        "response.completed",
                        CHUNKS + 7,
                        json!({"response": response("completed", &[item])}),
                    ),
                ]
                .concat()
            }
        }
    }
}

fn chunk(delta: &Value, finish: Option<&str>) -> String {
    let choice = json!({"index": 0, "delta": delta, "finish_reason": finish});
    let chunk = json!({
        "id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1_760_000_000, "model": "bench",
        "choices": [choice],
    });
    format!("data: {chunk}\n\n")
}

fn event(name: &str, number: u32, mut fields: Value) -> String {
    fields["type"] = json!(name);
    fields["sequence_number"] = json!(number);
    format!("event: {name}\ndata: {fields}\n\n")
}
