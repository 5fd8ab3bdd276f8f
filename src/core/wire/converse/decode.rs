//! Streams of Converse: blocks that start, grow by deltas and stop, inside a message that does the same. An event is
//! an object whose one member is its type (Amazon Bedrock API reference, `ConverseStream`).

use crate::json::{Cursor, Result};
use crate::wire::object::quoted;
use crate::wire::stream::{
    CallNumber, CallPart, Decoder, EventSummary, PartialCall, Reply, Step, append, input_of,
    is_early_word, is_exception, text, typed_event, write_object,
};
use serde_json::{Map, Value, json};

/// A reply so far.
#[derive(Debug, Default)]
pub(crate) struct ConverseStream {
    pub(crate) has_started: bool,
    /// Whether the end of the turn was sent.
    pub(crate) has_stopped: bool,
    /// Whether the usage was, which comes last.
    pub(crate) has_ended: bool,
    /// By their indexes.
    pub(crate) blocks: Vec<Block>,
    role: Option<Value>,
    /// What is beside the message.
    rest: Map<String, Value>,
    call_number: CallNumber,
    failures: Vec<Value>,
}

#[derive(Debug)]
pub(crate) struct Block {
    pub(crate) index: u64,
    pub(crate) is_done: bool,
    /// The member by which it is known.
    kind: String,
    /// What that member holds so far, without what grows.
    members: Map<String, Value>,
    /// The text, or the JSON of the arguments.
    grown: String,
    /// The content of a result, or citations.
    list: Vec<Value>,
}

impl Block {
    fn is_call(&self) -> bool {
        self.kind == "toolUse" && self.member("type") != "server_tool_use"
    }

    fn member(&self, key: &str) -> &str {
        let value = self.members.get(key).and_then(Value::as_str);
        value.unwrap_or_default()
    }

    /// As it is in a message.
    pub(crate) fn json(&self) -> String {
        let value = match &*self.kind {
            "text" if self.list.is_empty() => quoted(&self.grown),
            "text" => {
                let (content, citations) = (json!([{"text": self.grown}]), &self.list);
                let block = json!({"content": content, "citations": citations});
                return json!({ "citationsContent": block }).to_string();
            }
            "reasoningContent" if self.members.contains_key("redactedContent") => {
                Value::Object(self.members.clone()).to_string()
            }
            "reasoningContent" => {
                let mut reasoning = Map::new();
                reasoning.insert("text".to_owned(), self.grown.as_str().into());
                reasoning.extend(self.members.clone());
                json!({ "reasoningText": reasoning }).to_string()
            }
            kind => {
                let raw = match kind {
                    "toolUse" => vec![("input", input_of(&self.grown))],
                    "toolResult" => vec![("content", json!(self.list).to_string())],
                    _ => Vec::new(),
                };
                let mut value = String::new();
                write_object(&self.members, &raw, &mut value);
                value
            }
        };
        format!("{{{}:{value}}}", quoted(&self.kind))
    }

    fn grow(&mut self, kind: &str, delta: &Value) {
        match (kind, delta) {
            ("text", Value::String(more)) => self.grown.push_str(more),
            ("toolUse", delta) => self.grown.push_str(text(delta, "input")),
            ("toolResult", Value::Array(more)) => self.list.extend(more.iter().cloned()),
            ("citation", delta) => self.list.push(delta.clone()),
            ("reasoningContent", delta) => {
                self.grown.push_str(text(delta, "text"));
                for key in ["signature", "redactedContent"] {
                    if delta.get(key).is_some() {
                        append(&mut self.members, key, text(delta, key));
                    }
                }
            }
            (_, Value::Object(members)) => self.members.extend(members.clone()),
            _ => {}
        }
    }
}

/// The only member of an object.
fn only<'v>(value: &'v Value, key: &str) -> Option<(&'v String, &'v Value)> {
    value.get(key)?.as_object()?.iter().next()
}

impl Decoder for ConverseStream {
    fn begins_next(&self, event: &Value) -> bool {
        self.has_started && event.get("messageStart").is_some()
    }

    fn push(&mut self, event: &Value) -> Step {
        let Some((kind, value)) = typed_event(event) else {
            return Step::Nothing;
        };
        match kind {
            "messageStart" => {
                self.has_started = true;
                self.role = value.get("role").cloned();
                Step::Nothing
            }
            "contentBlockStart" => {
                let Some((kind, start)) = only(value, "start") else {
                    return Step::Nothing;
                };
                let place = self.begin(value, kind);
                self.blocks[place].members = start.as_object().cloned().unwrap_or_default();
                self.step(place)
            }
            "contentBlockDelta" => {
                let Some((kind, delta)) = only(value, "delta") else {
                    return Step::Nothing;
                };
                // Texts have no start.
                let place = self.find(value).unwrap_or_else(|| {
                    let kind = if kind == "citation" { "text" } else { kind };
                    self.begin(value, kind)
                });
                self.blocks[place].grow(kind, delta);
                self.step(place)
            }
            "contentBlockStop" => {
                let Some(place) = self.find(value) else {
                    return Step::Nothing;
                };
                self.blocks[place].is_done = true;
                match self.step(place) {
                    Step::CallGrows(call) => Step::CallEnds(call),
                    _ => Step::Nothing,
                }
            }
            "messageStop" => {
                self.has_stopped = true;
                self.rest
                    .extend(value.as_object().cloned().unwrap_or_default());
                Step::Nothing
            }
            "metadata" => {
                self.has_ended = true;
                self.rest
                    .extend(value.as_object().cloned().unwrap_or_default());
                Step::Ends
            }
            kind if is_exception(kind) => {
                self.failures.push(event.clone());
                Step::Failed
            }
            _ => Step::Nothing,
        }
    }

    fn calls(&self) -> Vec<PartialCall<'_>> {
        let calls = self.blocks.iter().filter(|block| block.is_call());
        calls
            .map(|block| PartialCall {
                id: block.member("toolUseId"),
                name: block.member("name").into(),
                arguments: match block.is_done && block.grown.trim().is_empty() {
                    true => "{}",
                    false => &block.grown,
                },
                is_complete: block.is_done,
            })
            .collect()
    }

    fn finish(self: Box<Self>) -> Reply {
        let blocks = self.blocks.iter().map(Block::json).collect::<Vec<_>>();
        let role = self.role.unwrap_or_else(|| "assistant".into());
        let content = blocks.join(",");
        let output = format!(r#"{{"message":{{"role":{role},"content":[{content}]}}}}"#);
        let mut json = String::new();
        let mut members = Map::new();
        members.insert("output".to_owned(), Value::Null);
        members.extend(self.rest);
        write_object(&members, &[("output", output)], &mut json);
        Reply {
            json,
            ended: self.has_stopped,
            failures: self.failures,
        }
    }
}

impl ConverseStream {
    fn begin(&mut self, event: &Value, kind: &str) -> usize {
        let next = self.blocks.last().map_or(0, |block| block.index + 1);
        let index = event.get("contentBlockIndex").and_then(Value::as_u64);
        let index = index.unwrap_or(next);
        let place = self.blocks.partition_point(|block| block.index <= index);
        let block = Block {
            index,
            is_done: false,
            kind: kind.to_owned(),
            members: Map::new(),
            grown: String::new(),
            list: Vec::new(),
        };
        self.blocks.insert(place, block);
        place
    }

    /// The block that an event means: the latest with its index, or the last one where it names none.
    fn find(&self, event: &Value) -> Option<usize> {
        match event.get("contentBlockIndex").and_then(Value::as_u64) {
            Some(index) => self.blocks.iter().rposition(|block| block.index == index),
            None => self.blocks.len().checked_sub(1),
        }
    }

    /// What a change of the block at `place` is to a reader.
    fn step(&mut self, place: usize) -> Step {
        match self.blocks[place].is_call() {
            true => Step::CallGrows(self.call_number.of(&self.blocks, place, Block::is_call)),
            false => Step::Text,
        }
    }
}

/// An event of Converse.
pub(crate) fn classify<'a>(cursor: &mut Cursor<'a>) -> Result<EventSummary<'a>> {
    let mut look = EventSummary::default();
    cursor.object(|cursor, kind| {
        match kind {
            b"contentBlockStart" => {
                let start = part(cursor, false)?;
                look.part = Some(start).filter(|part| part.is_call);
            }
            b"contentBlockDelta" => look.part = Some(part(cursor, false)?),
            b"contentBlockStop" => look.part = Some(part(cursor, true)?),
            b"messageStop" => {
                look.completes = true;
                cursor.object(|cursor, key| {
                    if key == b"stopReason" {
                        look.stops_early = cursor.string()?.is_some_and(is_early_word);
                    }
                    Ok(())
                })?;
            }
            b"metadata" => (look.completes, look.ends) = (true, true),
            kind => look.fails |= kind.ends_with(b"Exception") || kind == b"error",
        }
        Ok(())
    })?;
    Ok(look)
}

/// The block that an event is about.
fn part<'a>(cursor: &mut Cursor<'a>, ends: bool) -> Result<CallPart<'a>> {
    let (mut key, mut is_call) = (&b""[..], false);
    cursor.object(|cursor, member| {
        match member {
            b"contentBlockIndex" => key = cursor.raw()?,
            b"start" => {
                cursor.object(|cursor, kind| {
                    if kind == b"toolUse" {
                        is_call = !is_hosted(cursor)?;
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    Ok(CallPart { key, is_call, ends })
}

/// Whether the call at the cursor is answered by the provider.
fn is_hosted(cursor: &mut Cursor<'_>) -> Result<bool> {
    let mut is_hosted = false;
    cursor.object(|cursor, key| {
        is_hosted |= key == b"type" && cursor.string()? == Some(b"server_tool_use");
        Ok(())
    })?;
    Ok(is_hosted)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn blocks_grow_by_their_deltas_and_the_usage_comes_last() {
        let mut reply = Box::new(ConverseStream::default());
        let events = [
            json!({"messageStart": {"role": "assistant"}}),
            json!({"contentBlockDelta": {"delta": {"reasoningContent": {"text": "hm"}}, "contentBlockIndex": 0, "p": "ab"}}),
            json!({"contentBlockDelta": {"delta": {"reasoningContent": {"signature": "s"}}, "contentBlockIndex": 0}}),
            json!({"contentBlockStop": {"contentBlockIndex": 0}}),
            json!({"contentBlockDelta": {"delta": {"text": "o"}, "contentBlockIndex": 1}}),
            json!({"contentBlockDelta": {"delta": {"text": "k"}, "contentBlockIndex": 1}}),
            json!({"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t", "name": "f"}}, "contentBlockIndex": 2}}),
            json!({"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"a\": 1e2,"}}, "contentBlockIndex": 2}}),
            json!({"contentBlockDelta": {"delta": {"toolUse": {"input": "\"a\":2}"}}, "contentBlockIndex": 2}}),
            json!({"contentBlockStop": {"contentBlockIndex": 2}}),
            json!({"messageStop": {"stopReason": "tool_use"}}),
            json!({"metadata": {"usage": {"inputTokens": 3}, "metrics": {"latencyMs": 1}}}),
        ];
        let steps = events
            .iter()
            .map(|event| reply.push(event))
            .collect::<Vec<_>>();
        assert_eq!(
            steps[6..10],
            [
                Step::CallGrows(0),
                Step::CallGrows(0),
                Step::CallGrows(0),
                Step::CallEnds(0)
            ]
        );
        assert_eq!(steps[11], Step::Ends);
        assert!(reply.begins_next(&events[0]));
        let reply = reply.finish();
        assert!(reply.ended);
        assert_eq!(
            reply.json,
            r#"{"output":{"message":{"role":"assistant","content":[{"reasoningContent":{"reasoningText":{"text":"hm","signature":"s"}}},{"text":"ok"},{"toolUse":{"toolUseId":"t","name":"f","input":{"a": 1e2,"a":2}}}]}},"stopReason":"tool_use","usage":{"inputTokens":3},"metrics":{"latencyMs":1}}"#
        );
    }

    #[test]
    fn a_failure_in_the_stream_is_one_and_a_cut_call_keeps_its_text() {
        let mut reply = Box::new(ConverseStream::default());
        reply.push(&json!({"contentBlockStart": {"start": {"toolUse": {"toolUseId": "t", "name": "f"}}, "contentBlockIndex": 0}}));
        reply.push(&json!({"contentBlockDelta": {"delta": {"toolUse": {"input": "{\"a"}}, "contentBlockIndex": 0}}));
        let failure = json!({"throttlingException": {"message": "slow down"}});
        assert_eq!(reply.push(&failure), Step::Failed);
        let reply = reply.finish();
        assert!(
            !reply.ended && reply.json.contains(r#""input":"{\"a""#),
            "{}",
            reply.json
        );
        assert_eq!(reply.failures, [failure]);
    }
}
