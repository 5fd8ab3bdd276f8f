//! Streams of Anthropic Messages: blocks that start, grow by deltas and stop, inside a message that does the same.

use crate::json::{Cursor, Result};
use crate::wire::stream::{
    CallNumber, CallPart, Decoder, EventSummary, PartialCall, Reply, Step, append, input_of,
    is_early_word, object, text, typed, write_object,
};
use serde_json::{Map, Value, json};
use std::ops::Range;

/// A message so far.
#[derive(Debug, Default)]
pub(crate) struct AnthropicStream {
    message: Map<String, Value>,
    blocks: Vec<Block>,
    call_number: CallNumber,
    started: bool,
    ended: bool,
    failures: Vec<Value>,
}

#[derive(Debug)]
struct Block {
    index: Option<u64>,
    members: Map<String, Value>,
    input: String,
    stopped: bool,
}

/// The deltas that change a block (Anthropic API reference, streaming).
const DELTAS: &[&str] = &[
    "text_delta",
    "input_json_delta",
    "thinking_delta",
    "signature_delta",
    "citations_delta",
];

impl Block {
    fn is_call(&self) -> bool {
        let kind = self.members.get("type").and_then(Value::as_str);
        kind == Some("tool_use")
    }

    fn member(&self, key: &str) -> &str {
        let value = self.members.get(key).and_then(Value::as_str);
        value.unwrap_or_default()
    }
}

impl Decoder for AnthropicStream {
    fn begins_next(&self, event: &Value) -> bool {
        text(event, "type") == "message_start" && self.started
    }

    fn push(&mut self, event: &Value) -> Step {
        match text(event, "type") {
            "message_start" => {
                self.started = true;
                self.message = object(event, "message").unwrap_or_default();
                Step::Nothing
            }
            "content_block_start" => {
                let members = object(event, "content_block").unwrap_or_default();
                self.blocks.push(Block {
                    index: event.get("index").and_then(Value::as_u64),
                    members,
                    input: String::new(),
                    stopped: false,
                });
                self.step(self.blocks.len() - 1)
            }
            "content_block_delta" => self.grow(event),
            "content_block_stop" => {
                let Some(place) = self.find(event) else {
                    return Step::Nothing;
                };
                self.blocks[place].stopped = true;
                match self.step(place) {
                    Step::CallGrows(call) => Step::CallEnds(call),
                    _ => Step::Nothing,
                }
            }
            "message_delta" => {
                let delta = object(event, "delta").unwrap_or_default();
                self.message.extend(delta);
                if let Some(usage) = object(event, "usage") {
                    self.count(usage);
                }
                Step::Nothing
            }
            "message_stop" => {
                self.ended = true;
                Step::Ends
            }
            "error" => {
                let error = event.get("error").unwrap_or(event);
                self.failures.push(error.clone());
                Step::Failed
            }
            _ => Step::Nothing,
        }
    }

    fn calls(&self) -> Vec<PartialCall<'_>> {
        let calls = self.blocks.iter().filter(|block| block.is_call());
        let view = |block: &Block| (block.input.trim().is_empty(), block.stopped);
        calls
            .map(|block| PartialCall {
                id: block.member("id"),
                name: block.member("name").into(),
                arguments: match view(block) {
                    (true, true) => "{}",
                    _ => &block.input,
                },
                is_complete: block.stopped,
            })
            .collect()
    }

    fn finish(mut self: Box<Self>) -> Reply {
        let mut content = String::from("[");
        self.blocks.sort_by_key(|block| block.index);
        for (place, block) in self.blocks.iter().enumerate() {
            if place > 0 {
                content.push(',');
            }
            let raw = if block.input.is_empty() {
                Vec::new()
            } else {
                vec![("input", input_of(&block.input))]
            };
            write_object(&block.members, &raw, &mut content);
        }
        content.push(']');
        let role = self
            .message
            .entry("role")
            .or_insert_with(|| "assistant".into());
        if role.is_null() {
            *role = "assistant".into();
        }
        let mut json = String::new();
        write_object(&self.message, &[("content", content)], &mut json);
        Reply {
            json,
            ended: self.ended,
            failures: self.failures,
        }
    }
}

impl AnthropicStream {
    /// Adds the final counts to those of the start, which alone may tell what was sent.
    fn count(&mut self, usage: Map<String, Value>) {
        let known = self.message.entry("usage").or_insert_with(|| json!({}));
        match known.as_object_mut() {
            Some(known) => known.extend(usage.into_iter().filter(|(_, count)| !count.is_null())),
            None => *known = usage.into(),
        }
    }

    /// The block that an event means: the latest with its index, or the last one where it names none.
    fn find(&self, event: &Value) -> Option<usize> {
        let index = event.get("index").and_then(Value::as_u64);
        let named = self.blocks.iter().rposition(|block| block.index == index);
        match index {
            Some(_) => named,
            None => self.blocks.len().checked_sub(1),
        }
    }

    fn grow(&mut self, event: &Value) -> Step {
        let delta = event.get("delta").unwrap_or(&Value::Null);
        if !DELTAS.contains(&text(delta, "type")) {
            return Step::Nothing;
        }
        let place = self.find(event).unwrap_or_else(|| {
            // The start of the block is not in the capture.
            self.blocks.push(Block {
                index: event.get("index").and_then(Value::as_u64),
                members: Map::new(),
                input: String::new(),
                stopped: false,
            });
            self.blocks.len() - 1
        });
        let block = &mut self.blocks[place];
        let mut expect = |kind: &str| {
            let members = &mut block.members;
            members.entry("type").or_insert_with(|| kind.into());
        };
        match text(delta, "type") {
            "text_delta" => {
                expect("text");
                append(&mut block.members, "text", text(delta, "text"));
            }
            "input_json_delta" => {
                expect("tool_use");
                block.input.push_str(text(delta, "partial_json"));
            }
            "thinking_delta" => {
                expect("thinking");
                append(&mut block.members, "thinking", text(delta, "thinking"));
            }
            "signature_delta" => append(&mut block.members, "signature", text(delta, "signature")),
            "citations_delta" => {
                let citations = block
                    .members
                    .entry("citations")
                    .or_insert_with(|| json!([]));
                if let (Value::Array(list), Some(one)) = (citations, delta.get("citation")) {
                    list.push(one.clone());
                }
            }
            _ => return Step::Nothing,
        }
        self.step(place)
    }

    /// What a change of the block at `place` is to a reader.
    fn step(&mut self, place: usize) -> Step {
        if self.blocks[place].is_call() {
            let before = self.call_number.of(&self.blocks, place, Block::is_call);
            Step::CallGrows(before)
        } else {
            Step::Text
        }
    }
}

/// An event of Anthropic.
pub(crate) fn classify<'a>(cursor: &mut Cursor<'a>) -> Result<EventSummary<'a>> {
    let (event, bytes) = (typed(cursor)?, cursor.bytes());
    let mut look = EventSummary::default();
    let part = |is_call, ends| {
        Some(CallPart {
            key: event.key.unwrap_or_default(),
            is_call,
            ends,
        })
    };
    match event.kind {
        b"content_block_start" => {
            let mut is_call = false;
            if let Some(block) = event.inner.clone() {
                Cursor::at(bytes, block.start).object(|cursor, key| {
                    if key == b"type" {
                        // `server_tool_use` and `mcp_tool_use` are answered by the provider.
                        is_call = cursor.string()? == Some(b"tool_use");
                    }
                    Ok(())
                })?;
            }
            look.part = part(is_call, false).filter(|part| part.is_call);
        }
        b"content_block_delta" => look.part = part(false, false),
        b"content_block_stop" => look.part = part(false, true),
        b"message_delta" => look.stops_early = stops_early(bytes, event.inner.clone())?,
        b"message_stop" => {
            look.completes = true;
            look.ends = true;
        }
        b"error" => look.fails = true,
        kind => look.fails = kind.is_empty() && event.has_error,
    }
    Ok(look)
}

/// Whether the change of a message (AnthropicStream) says that it was cut off or refused.
fn stops_early(bytes: &[u8], delta: Option<Range<usize>>) -> Result<bool> {
    let Some(delta) = delta else {
        return Ok(false);
    };
    let mut is_early = false;
    Cursor::at(bytes, delta.start).object(|cursor, key| {
        if key == b"stop_reason" {
            is_early = cursor.string()?.is_some_and(is_early_word);
        }
        Ok(())
    })?;
    Ok(is_early)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(events: &[Value]) -> (Box<AnthropicStream>, Vec<Step>) {
        let mut reply = Box::new(AnthropicStream::default());
        let steps = events.iter().map(|event| reply.push(event)).collect();
        (reply, steps)
    }

    #[test]
    fn arguments_are_joined_as_they_are_spelled() {
        let (reply, steps) = run(&[
            json!({"type": "message_start", "message": {"id": "m", "role": "assistant", "content": []}}),
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": "ok"}}),
            json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "{\"a\": 1e2,"}}),
            json!({"type": "content_block_delta", "index": 1, "delta": {"type": "input_json_delta", "partial_json": "\"a\":2}"}}),
            json!({"type": "content_block_stop", "index": 1}),
            json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}}),
            json!({"type": "message_stop"}),
        ]);
        assert_eq!(
            steps[4..7],
            [Step::CallGrows(0), Step::CallGrows(0), Step::CallEnds(0)]
        );
        assert_eq!(reply.calls()[0].arguments, "{\"a\": 1e2,\"a\":2}");
        let reply = reply.finish();
        assert!(reply.ended);
        let expected = r#"{"id":"m","role":"assistant","content":[{"type":"text","text":"ok"},{"type":"tool_use","id":"t","name":"f","input":{"a": 1e2,"a":2}}],"stop_reason":"tool_use"}"#;
        assert_eq!(reply.json, expected);
    }

    #[test]
    fn a_cut_call_keeps_its_text_and_says_that_the_stream_did_not_end() {
        let (reply, _) = run(&[
            json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f", "input": {}}}),
            json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "{\"a"}}),
        ]);
        let reply = reply.finish();
        assert!(!reply.ended);
        assert!(reply.json.contains(r#""input":"{\"a""#), "{}", reply.json);
    }
}
