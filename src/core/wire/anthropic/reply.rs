//! Replies of Anthropic Messages, new ones and the rest of those that a client knows in part (Anthropic API
//! reference, Messages and streaming).

use super::decode;
use crate::session::ledger::Usage;
use crate::wire::codec::text_block;
use crate::wire::new_reply::{End, NewEvent, NewReply, SentStream, pieces, push_event};
use crate::wire::object::{Object, elements, list, quoted, suffix, text_of};
use crate::wire::stream::{Decoder, input_of, rejoin, write_object};
use serde_json::{Value, json};

/// The whole message. Arguments stand in it as they were written; those that are no object stand as a text, as
/// an accumulated stream has them.
pub(crate) fn whole(reply: &NewReply) -> String {
    let mut content = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        content.push(thinking(reply, reasoning).to_string());
    }
    content.extend(words(reply).map(|text| text_block(text)));
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
pub(crate) fn events(reply: &NewReply, piece: usize) -> Vec<NewEvent> {
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

pub(crate) fn reply_with(template: &str, turn: &[String], usage: Usage) -> String {
    let mut reply = Object::read(template);
    let contents = turn.iter().map(|message| content_of(message));
    let contents = contents.collect::<Vec<_>>();
    let content = match &contents[..] {
        [content] => content.clone(),
        contents => list(
            &contents
                .iter()
                .flat_map(|content| elements(content))
                .collect::<Vec<_>>(),
        ),
    };
    let blocks = elements(&content);
    let reason = fitting(&blocks, reply.get("stop_reason"));
    reply.add("type", "\"message\"");
    reply.add("role", "\"assistant\"");
    reply.set("content", content.as_str());
    reply.set("stop_reason", reason);
    let told = counted(reply.get("usage"), usage);
    if let Some(told) = told {
        reply.set("usage", told);
    }
    reply.json()
}

/// The blocks of a message: a text stands for one.
fn content_of(message: &str) -> String {
    match Object::read(message).get("content") {
        Some(text) if text.starts_with('"') => format!(r#"[{{"type":"text","text":{text}}}]"#),
        Some(content) if content.starts_with('[') => content.to_owned(),
        _ => "[]".to_owned(),
    }
}

/// Why a turn of these blocks ends, as JSON.
fn fitting<Block: AsRef<str>>(blocks: &[Block], said: Option<&str>) -> String {
    let is_call = |block: &Block| Object::read(block.as_ref()).text("type") == "tool_use";
    let word = match said {
        _ if blocks.iter().any(is_call) => "\"tool_use\"",
        None | Some("\"tool_use\"") => "\"end_turn\"",
        Some(said) => said,
    };
    word.to_owned()
}

/// What a client has seen of a message.
#[derive(Default)]
struct Seen {
    has_started: bool,
    /// Whether the end of the turn was told.
    has_stopped: bool,
    blocks: Vec<BegunBlock>,
}

struct BegunBlock {
    index: u64,
    json: String,
    is_done: bool,
}

impl Seen {
    fn read(sent: &SentStream) -> Self {
        let mut begun = Self::default();
        let mut reply = Box::new(decode::Anthropic::default());
        for (data, event) in &sent.events {
            reply.push(event);
            let kind = event.get("type").and_then(Value::as_str);
            let index = event.get("index").and_then(Value::as_u64);
            match kind.unwrap_or_default() {
                "message_start" => begun.has_started = true,
                "message_delta" => begun.has_stopped = true,
                "content_block_start" => begun.blocks.push(BegunBlock {
                    index: index.unwrap_or(begun.blocks.len() as u64),
                    json: Object::read(data)
                        .get("content_block")
                        .unwrap_or_default()
                        .to_owned(),
                    is_done: false,
                }),
                "content_block_stop" => {
                    let is_it = |block: &&mut BegunBlock| index.is_none_or(|at| at == block.index);
                    if let Some(block) = begun.blocks.iter_mut().rev().find(is_it) {
                        block.is_done = true;
                    }
                }
                _ => {}
            }
        }
        begun.blocks.sort_by_key(|block| block.index);
        let reply = reply.finish().json;
        let reply = rejoin(&reply);
        let reply = Object::read(&reply);
        let content = elements(reply.get("content").unwrap_or_default());
        // They differ where a block grew that nothing began.
        if content.len() == begun.blocks.len() {
            for (block, json) in begun.blocks.iter_mut().zip(content) {
                json.clone_into(&mut block.json);
            }
        }
        begun
    }
}

pub(crate) fn continuation(sent: &SentStream, reply: &str, usage: Usage) -> Vec<u8> {
    let begun = Seen::read(sent);
    let message = Object::read(reply);
    let blocks = elements(message.get("content").unwrap_or_default());
    let told = counted(message.get("usage"), usage);
    let mut out = Vec::new();
    if !begun.has_started {
        start(&message, told.as_deref(), &mut out);
    }
    // What the client has seen at the beginning of the turn is not said again.
    let pairs = begun.blocks.iter().zip(&blocks);
    let same = pairs
        .take_while(|(seen, block)| goes_on(seen, block))
        .count();
    for (place, seen) in begun.blocks.iter().enumerate() {
        let index = seen.index.to_string();
        match blocks.get(place).filter(|_| place < same) {
            _ if seen.is_done => continue,
            Some(block) => grow(
                &Object::read(block),
                &Object::read(&seen.json),
                &index,
                &mut out,
            ),
            None => {}
        }
        push(&mut out, "content_block_stop", &[("index", &index)]);
    }
    let next = begun
        .blocks
        .last()
        .map_or(0, |last| last.index.saturating_add(1));
    // Behind the end of the turn no block may begin.
    if !begun.has_stopped {
        for (index, block) in (next..).zip(&blocks[same..]) {
            push_block(block, &index.to_string(), &mut out);
        }
        // Blocks of the turn that the client has already count as well: a call among them is to be answered.
        let seen = begun.blocks.iter().map(|seen| seen.json.as_str());
        let all = seen.chain(blocks[same..].iter().copied());
        let reason = fitting(&all.collect::<Vec<_>>(), message.get("stop_reason"));
        stop(&message, reason, told, &mut out);
    }
    push(&mut out, "message_stop", &[]);
    out
}

/// Tells why the turn ends, and what it cost.
fn stop(message: &Object<'_>, reason: String, usage: Option<String>, out: &mut Vec<u8>) {
    let mut delta = Object::default();
    delta.set("stop_reason", reason);
    let sequence = message.get("stop_sequence").unwrap_or("null");
    delta.set("stop_sequence", sequence);
    for key in ["stop_details", "container"] {
        if let Some(value) = message.get(key) {
            delta.set(key, value);
        }
    }
    let usage = usage.unwrap_or_else(|| r#"{"output_tokens":0}"#.to_owned());
    let members = [("delta", &*delta.json()), ("usage", &usage)];
    push(out, "message_delta", &members);
}

/// Whether a block is the one that the client has seen, or goes on with it.
fn goes_on(seen: &BegunBlock, block: &str) -> bool {
    let (old, new) = (Object::read(&seen.json), Object::read(block));
    let kind = new.text("type");
    if old.text("type") != kind {
        return false;
    }
    match (seen.is_done, &*kind) {
        (false, "text" | "thinking") => new.text(&kind).starts_with(&old.text(&kind)),
        (true, "text" | "thinking") => new.text(&kind) == old.text(&kind),
        (true, _) => {
            let value = |json: &str| serde_json::from_str::<Value>(json).ok();
            value(&seen.json) == value(block)
        }
        (false, _) => false,
    }
}

fn push(out: &mut Vec<u8>, kind: &str, members: &[(&str, &str)]) {
    let mut event = Object::default();
    event.set("type", quoted(kind));
    for (key, value) in members {
        event.set(key, *value);
    }
    push_event(out, Some(kind), &event.json());
}

fn start(message: &Object<'_>, usage: Option<&str>, out: &mut Vec<u8>) {
    let mut start = message.clone();
    start.add("type", "\"message\"");
    start.add("role", "\"assistant\"");
    start.set("content", "[]");
    start.set("stop_reason", "null");
    start.set("stop_sequence", "null");
    start.remove("stop_details");
    let mut usage = Object::read(usage.unwrap_or_default());
    usage.add("input_tokens", "0");
    usage.set("output_tokens", "0");
    start.set("usage", usage.json());
    push(out, "message_start", &[("message", &start.json())]);
}

/// The members of a block that come in deltas, and their deltas.
const GROWTHS: &[(&str, &str)] = &[
    ("text", "text_delta"),
    ("thinking", "thinking_delta"),
    ("signature", "signature_delta"),
];

fn push_block(json: &str, index: &str, out: &mut Vec<u8>) {
    let block = Object::read(json);
    let kind = block.text("type");
    let mut begin = block.clone();
    if matches!(&*kind, "text" | "thinking") {
        for (key, _) in GROWTHS {
            begin.change(key, "\"\"");
        }
        if begin.get("citations").is_some() {
            begin.set("citations", "[]");
        }
    }
    let streams_input = kind.ends_with("tool_use");
    if streams_input {
        begin.change("input", "{}");
    }
    let begin = begin.json();
    push(
        out,
        "content_block_start",
        &[("index", index), ("content_block", &begin)],
    );
    if streams_input {
        // Arguments that are no JSON stand in a whole reply as a text.
        let input = block.get("input").unwrap_or("{}");
        let input = if input.starts_with('"') {
            input.to_owned()
        } else {
            quoted(input)
        };
        let delta = format!(r#"{{"type":"input_json_delta","partial_json":{input}}}"#);
        push(
            out,
            "content_block_delta",
            &[("index", index), ("delta", &delta)],
        );
    }
    if matches!(&*kind, "text" | "thinking") {
        grow(&block, &Object::default(), index, out);
    }
    push(out, "content_block_stop", &[("index", index)]);
}

/// The deltas of a block of text or thinking, of which some was seen.
fn grow(block: &Object<'_>, seen: &Object<'_>, index: &str, out: &mut Vec<u8>) {
    let mut delta = |delta: &str| {
        push(
            out,
            "content_block_delta",
            &[("index", index), ("delta", delta)],
        );
    };
    for (key, kind) in GROWTHS {
        let text = block.get(key).unwrap_or("\"\"");
        let rest = suffix(&seen.text(key), text).unwrap_or_default();
        if !text_of(&rest).is_empty() {
            delta(&format!(r#"{{"type":"{kind}","{key}":{rest}}}"#));
        }
    }
    let seen = seen.get("citations").map(elements).unwrap_or_default();
    let citations = block.get("citations").map(elements).unwrap_or_default();
    for citation in citations.into_iter().skip(seen.len()) {
        delta(&format!(
            r#"{{"type":"citations_delta","citation":{citation}}}"#
        ));
    }
}

/// The usage of a message with these tokens in place of its own; `None` where neither is known.
fn counted(own: Option<&str>, usage: Usage) -> Option<String> {
    if usage == Usage::default() {
        return own.map(str::to_owned);
    }
    let mut counted = Object::read(own.unwrap_or_default());
    // Tokens of the cache are counted beside the others.
    let count = |key| counted.get(key).and_then(|count| count.parse::<u64>().ok());
    let cached = count("cache_read_input_tokens")
        .unwrap_or(0)
        .saturating_add(count("cache_creation_input_tokens").unwrap_or(0));
    let input = usage.input.saturating_sub(cached).to_string();
    counted.set("input_tokens", input);
    counted.set("output_tokens", usage.output.to_string());
    Some(counted.json())
}
