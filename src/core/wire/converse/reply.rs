//! Replies of Converse, new ones and the rest of those that a client knows in part (Amazon Bedrock API reference,
//! `Converse` and `ConverseStream`).

use super::decode::{self, Block};
use crate::session::ledger::Usage;
use crate::wire::codec::id_member;
use crate::wire::new_reply::{
    End, NewEvent, NewReply, StreamRest, joined_lists, json_pieces, set_usage,
};
use crate::wire::object::{Object, elements, list, quoted, suffix, text_of};
use crate::wire::stream::{Decoder, input_of, rejoin};
use serde_json::{Value, json};

/// The whole reply. Arguments stand in it as they were written; those that are no object stand as a text.
pub(crate) fn whole(reply: &NewReply) -> String {
    let mut content = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        let signature = format!("scripted{}", reply.tag);
        let reasoning = json!({"text": reasoning, "signature": signature});
        content.push(json!({"reasoningContent": {"reasoningText": reasoning}}).to_string());
    }
    // For this provider a refusal is text, and a text is never empty.
    let words = reply
        .texts
        .iter()
        .chain(&reply.refusal)
        .filter(|text| !text.is_empty());
    content.extend(words.map(|text| json!({ "text": text }).to_string()));
    content.extend(reply.calls.iter().map(|call| {
        let (id, name) = (id_member("toolUseId", &call.id), quoted(&call.name));
        let input = input_of(&call.input.as_object());
        format!(r#"{{"toolUse":{{{id}"name":{name},"input":{input}}}}}"#)
    }));
    let reason = match reply.end {
        End::Length => "max_tokens",
        End::ContentFilter => "content_filtered",
        End::Natural if reply.refusal.is_some() => "content_filtered",
        End::Natural if reply.calls.is_empty() => "end_turn",
        End::Natural => "tool_use",
    };
    let usage = json!({
        "inputTokens": reply.input_tokens,
        "outputTokens": reply.output_tokens,
        "totalTokens": reply.input_tokens + reply.output_tokens,
    });
    let output = output(&list(&content));
    format!(
        r#"{{"output":{output},"stopReason":"{reason}","usage":{usage},"metrics":{{"latencyMs":0}}}}"#
    )
}

fn output(content: &str) -> String {
    format!(r#"{{"message":{{"role":"assistant","content":{content}}}}}"#)
}

pub(crate) fn reply_with(template: &str, turn: &[String], usage: Usage) -> String {
    let mut reply = Object::read(template);
    let contents = turn.iter().map(|message| content_of(message));
    let contents = contents.collect::<Vec<_>>();
    let content = joined_lists(&contents);
    let reason = fitting(&elements(&content), reply.get("stopReason"));
    reply.set("output", output(&content));
    reply.set("stopReason", reason);
    set_usage(&mut reply, &super::FACTS, usage);
    reply.json()
}

/// The blocks of a message, as a list.
pub(crate) fn content_of(message: &str) -> String {
    Object::read(message)
        .get("content")
        .unwrap_or("[]")
        .to_owned()
}

/// The message of a whole reply.
pub(crate) fn message_of(reply: &str) -> Option<String> {
    let reply = Object::read(reply);
    let output = Object::read(reply.get("output")?);
    output.get("message").map(str::to_owned)
}

/// Why a turn of these blocks ends, as JSON.
fn fitting<Block: AsRef<str>>(blocks: &[Block], reason: Option<&str>) -> String {
    let is_call = |block: &Block| {
        let block = Object::read(block.as_ref());
        let call = block.get("toolUse").map(Object::read);
        call.is_some_and(|call| call.text("type") != "server_tool_use")
    };
    let word = match reason {
        _ if blocks.iter().any(is_call) => "\"tool_use\"",
        None | Some("\"tool_use\"") => "\"end_turn\"",
        Some(reason) => reason,
    };
    word.to_owned()
}

/// The events that a client lacks.
pub(crate) fn stream(rest: &StreamRest<'_>) -> Vec<NewEvent> {
    let mut seen = decode::ConverseStream::default();
    for (_, event) in &rest.sent.events {
        seen.push(event);
    }
    let message = message_of(rest.reply).unwrap_or_default();
    let content = content_of(&message);
    let blocks = elements(&content);
    let mut stream = Stream {
        events: Vec::new(),
        piece: rest.piece,
    };
    if !seen.has_started {
        stream.push("messageStart", r#"{"role":"assistant"}"#);
    }
    let json = |block: &Block| rejoin(&block.json()).into_owned();
    let known = seen.blocks.iter().map(json).collect::<Vec<_>>();
    // What the client has seen at the beginning of the turn is not said again.
    let pairs = seen.blocks.iter().zip(&known).zip(&blocks);
    let same = pairs
        .take_while(|((seen, known), block)| goes_on(known, seen.is_done, block))
        .count();
    for (place, block) in seen
        .blocks
        .iter()
        .enumerate()
        .filter(|(_, block)| !block.is_done)
    {
        if place < same {
            stream.texts(&known[place], blocks[place], block.index);
        }
        stream.stop(block.index);
    }
    // After the end of the turn no block may begin.
    let left = if seen.has_stopped {
        &[]
    } else {
        &blocks[same..]
    };
    let next = seen
        .blocks
        .last()
        .map_or(0, |last| last.index.saturating_add(1));
    for (index, block) in (next..).zip(left) {
        stream.block(block, index);
    }
    let reply = Object::read(rest.reply);
    if !seen.has_stopped {
        // A call that the client has already is to be answered, whatever is still to come.
        let all = known.iter().map(String::as_str).chain(left.iter().copied());
        let mut stop = Object::default();
        let reason = match reply.get("stopReason") {
            Some(reason) if rest.is_new() => reason.to_owned(),
            reason => fitting(&all.collect::<Vec<_>>(), reason),
        };
        stop.set("stopReason", reason);
        if let Some(fields) = reply.get("additionalModelResponseFields") {
            stop.set("additionalModelResponseFields", fields);
        }
        stream.push("messageStop", &stop.json());
    }
    if !seen.has_ended {
        let mut metadata = Object::default();
        let counts = rest.counts(&super::FACTS, reply.get("usage"));
        let none = r#"{"inputTokens":0,"outputTokens":0,"totalTokens":0}"#;
        metadata.set("usage", counts.unwrap_or_else(|| none.to_owned()));
        metadata.set(
            "metrics",
            reply.get("metrics").unwrap_or(r#"{"latencyMs":0}"#),
        );
        for key in ["trace", "performanceConfig", "serviceTier"] {
            if let Some(value) = reply.get(key) {
                metadata.set(key, value);
            }
        }
        stream.push("metadata", &metadata.json());
    }
    stream.events
}

/// Whether a block is the one that the client has seen, or goes on with it.
fn goes_on(seen: &str, is_done: bool, block: &str) -> bool {
    let value = |json: &str| serde_json::from_str::<Value>(json).ok();
    if is_done {
        return value(seen) == value(block);
    }
    match (texts_of(seen), texts_of(block)) {
        (Some((kind, seen)), Some((other, texts))) if kind == other => {
            let pairs = seen.iter().zip(&texts);
            pairs
                .into_iter()
                .all(|(seen, text)| text_of(text).starts_with(&text_of(seen)))
        }
        _ => false,
    }
}

/// The kind of a block of text, and its texts as JSON: itself, or reasoning and its signature.
fn texts_of(block: &str) -> Option<(&'static str, Vec<String>)> {
    let block = Object::read(block);
    if let Some(text) = block.get("text") {
        return Some(("text", vec![text.to_owned()]));
    }
    let reasoning = Object::read(block.get("reasoningContent")?);
    let reasoning = Object::read(reasoning.get("reasoningText")?);
    let texts = REASONING.map(|key| reasoning.get(key).unwrap_or("\"\"").to_owned());
    Some(("reasoningContent", texts.into()))
}

/// The members of reasoning that come in deltas.
const REASONING: [&str; 2] = ["text", "signature"];

struct Stream {
    events: Vec<NewEvent>,
    piece: usize,
}

impl Stream {
    fn push(&mut self, kind: &str, value: &str) {
        let data = format!(r#"{{"{kind}":{value}}}"#);
        self.events.push(NewEvent::new(None, &data));
    }

    fn start(&mut self, start: &str, index: u64) {
        let value = format!(r#"{{"start":{start},"contentBlockIndex":{index}}}"#);
        self.push("contentBlockStart", &value);
    }

    fn delta(&mut self, delta: &str, index: u64) {
        let value = format!(r#"{{"delta":{delta},"contentBlockIndex":{index}}}"#);
        self.push("contentBlockDelta", &value);
    }

    fn stop(&mut self, index: u64) {
        self.push(
            "contentBlockStop",
            &format!(r#"{{"contentBlockIndex":{index}}}"#),
        );
    }

    /// All events of a block.
    fn block(&mut self, json: &str, index: u64) {
        let block = Object::read(json);
        let Some((kind, value)) = block.members().next() else {
            return;
        };
        let inner = Object::read(value);
        let started = |key: &str| {
            let mut start = inner.clone();
            start.remove(key);
            format!(r#"{{"{kind}":{}}}"#, start.json())
        };
        match kind {
            "text" => self.texts(r#"{"text":""}"#, json, index),
            "reasoningContent" if inner.has("reasoningText") => {
                self.texts(r#"{"reasoningContent":{"reasoningText":{}}}"#, json, index);
            }
            "toolUse" => {
                self.start(&started("input"), index);
                // Arguments that are no JSON are a text in a whole reply.
                let input = inner.get("input").unwrap_or("{}");
                let input = match input.starts_with('"') {
                    true => input.to_owned(),
                    false => quoted(input),
                };
                for piece in json_pieces(&input, self.piece) {
                    self.delta(&format!(r#"{{"toolUse":{{"input":{piece}}}}}"#), index);
                }
            }
            "toolResult" => {
                self.start(&started("content"), index);
                let content = inner.get("content").unwrap_or("[]");
                self.delta(&format!(r#"{{"toolResult":{content}}}"#), index);
            }
            "citationsContent" => {
                for text in inner.get("content").map(elements).unwrap_or_default() {
                    self.texts(r#"{"text":""}"#, text, index);
                }
                for citation in inner.get("citations").map(elements).unwrap_or_default() {
                    self.delta(&format!(r#"{{"citation":{citation}}}"#), index);
                }
            }
            _ => self.delta(json, index),
        }
        self.stop(index);
    }

    /// The deltas of a block of text or reasoning, of which some was seen.
    fn texts(&mut self, seen: &str, block: &str, index: u64) {
        let (Some((_, seen)), Some((kind, texts))) = (texts_of(seen), texts_of(block)) else {
            return;
        };
        for ((key, seen), text) in REASONING.into_iter().zip(seen).zip(texts) {
            let rest = suffix(&text_of(&seen), &text).unwrap_or_default();
            // A signature comes in one piece.
            let size = if key == "signature" {
                usize::MAX
            } else {
                self.piece
            };
            for piece in json_pieces(&rest, size) {
                let delta = format!(r#"{{"{key}":{piece}}}"#);
                self.delta(
                    &match kind {
                        "text" => delta,
                        _ => format!(r#"{{"{kind}":{delta}}}"#),
                    },
                    index,
                );
            }
        }
    }
}
