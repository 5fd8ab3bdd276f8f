//! Replies of Anthropic Messages, new ones and the rest of those that a client knows in part (Anthropic API
//! reference, Messages and streaming).

use super::decode;
use crate::session::ledger::Usage;
use crate::wire::codec::{id_member, text_block};
use crate::wire::new_reply::{
    End, NewEvent, NewReply, SentStream, StreamRest, joined_lists, json_pieces, set_usage,
};
use crate::wire::object::{Object, elements, list, quoted, suffix};
use crate::wire::stream::{Decoder, rejoin};
use serde_json::{Value, json};

/// The whole message. `input` spells arguments: as they were written, and as a text where they are no object, as an
/// accumulated stream has them; or all as a text.
pub(crate) fn whole(reply: &NewReply, input: fn(&str) -> String) -> String {
    let mut content = Vec::new();
    if let Some(reasoning) = &reply.reasoning {
        let signature = format!("scripted{}", reply.tag);
        let block = json!({"type": "thinking", "thinking": reasoning, "signature": signature});
        content.push(block.to_string());
    }
    // For this provider a refusal is text.
    let texts = reply.texts.iter().chain(&reply.refusal);
    content.extend(texts.map(|text| text_block(text)));
    content.extend(reply.calls.iter().map(|call| {
        let (id, name) = (id_member("id", &call.id), quoted(&call.name));
        let input = input(&call.input.as_object());
        format!(r#"{{"type":"tool_use",{id}"name":{name},"input":{input}}}"#)
    }));
    let stop_reason = match reply.end {
        End::Length => "max_tokens",
        End::ContentFilter => "refusal",
        End::Natural if reply.refusal.is_some() => "refusal",
        End::Natural if reply.calls.is_empty() => "end_turn",
        End::Natural => "tool_use",
    };
    let mut message = Object::default();
    message.set("id", quoted(&format!("msg_{}", reply.tag)));
    message.set("type", "\"message\"");
    message.set("role", "\"assistant\"");
    message.set("model", quoted(&reply.model));
    message.set("content", list(&content));
    message.set("stop_reason", quoted(stop_reason));
    message.set("stop_sequence", "null");
    let (input, output) = (reply.input_tokens, reply.output_tokens);
    let usage = json!({"input_tokens": input, "output_tokens": output});
    message.set("usage", usage.to_string());
    message.json()
}

pub(crate) fn reply_with(template: &str, turn: &[String], usage: Usage) -> String {
    let mut reply = Object::read(template);
    let contents = turn.iter().map(|message| content_of(message));
    let contents = contents.collect::<Vec<_>>();
    let content = joined_lists(&contents);
    let blocks = elements(&content);
    let reason = fitting(&blocks, reply.get("stop_reason"));
    reply.add("type", "\"message\"");
    reply.add("role", "\"assistant\"");
    reply.set("content", content.as_str());
    reply.set("stop_reason", reason);
    set_usage(&mut reply, &super::FACTS, usage);
    reply.json()
}

/// The blocks of a message: a text means one.
fn content_of(message: &str) -> String {
    match Object::read(message).get("content") {
        Some(text) if text.starts_with('"') => format!(r#"[{{"type":"text","text":{text}}}]"#),
        Some(content) if content.starts_with('[') => content.to_owned(),
        _ => "[]".to_owned(),
    }
}

/// Why a turn of these blocks ends, as JSON.
fn fitting<Block: AsRef<str>>(blocks: &[Block], known_stop: Option<&str>) -> String {
    let is_call = |block: &Block| Object::read(block.as_ref()).text("type") == "tool_use";
    let word = match known_stop {
        _ if blocks.iter().any(is_call) => "\"tool_use\"",
        None | Some("\"tool_use\"") => "\"end_turn\"",
        Some(known_stop) => known_stop,
    };
    word.to_owned()
}

/// What a client has seen of a message.
#[derive(Default)]
struct Seen {
    has_started: bool,
    /// Whether the end of the turn was sent.
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
        let mut reply = Box::new(decode::AnthropicStream::default());
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

/// The events that a client lacks.
pub(crate) fn stream(rest: &StreamRest<'_>) -> Vec<NewEvent> {
    let begun = Seen::read(rest.sent);
    let message = Object::read(rest.reply);
    let blocks = elements(message.get("content").unwrap_or_default());
    let usage = rest.counts(&super::FACTS, message.get("usage"));
    let mut stream = Stream {
        events: Vec::new(),
        piece: rest.piece,
    };
    if !begun.has_started {
        stream.start(&message, usage.as_deref());
    }
    // What the client has seen at the beginning of the turn is not repeated.
    let pairs = begun.blocks.iter().zip(&blocks);
    let same = pairs
        .take_while(|(seen, block)| goes_on(seen, block))
        .count();
    for (place, seen) in begun.blocks.iter().enumerate() {
        let index = seen.index.to_string();
        match blocks.get(place).filter(|_| place < same) {
            _ if seen.is_done => continue,
            Some(block) => stream.grow(&Object::read(block), &Object::read(&seen.json), &index),
            None => {}
        }
        stream.push("content_block_stop", &[("index", &index)]);
    }
    let next = begun
        .blocks
        .last()
        .map_or(0, |last| last.index.saturating_add(1));
    // After the end of the turn no block may begin.
    if !begun.has_stopped {
        for (index, block) in (next..).zip(&blocks[same..]) {
            stream.block(block, &index.to_string(), rest.is_new() && index == 0);
        }
        // Blocks of the turn that the client has already count as well: a call among them is to be answered.
        let seen = begun.blocks.iter().map(|seen| seen.json.as_str());
        let all = seen.chain(blocks[same..].iter().copied());
        let reason = match message.get("stop_reason") {
            Some(reason) if rest.is_new() => reason.to_owned(),
            reason => fitting(&all.collect::<Vec<_>>(), reason),
        };
        stream.stop(&message, reason, usage);
    }
    stream.push("message_stop", &[]);
    stream.events
}

/// Whether a block is the one that the client has seen, or goes on with it.
fn goes_on(seen: &BegunBlock, block: &str) -> bool {
    let (old, new) = (Object::read(&seen.json), Object::read(block));
    let kind = new.text("type");
    if old.text("type") != kind {
        return false;
    }
    // A signature is that of its whole text.
    let mut texts = [&*kind, "signature"].into_iter();
    match (seen.is_done, &*kind) {
        (false, "text" | "thinking") => texts.all(|key| new.text(key).starts_with(&old.text(key))),
        (true, "text" | "thinking") => texts.all(|key| new.text(key) == old.text(key)),
        (true, _) => {
            let value = |json: &str| serde_json::from_str::<Value>(json).ok();
            value(&seen.json) == value(block)
        }
        (false, _) => false,
    }
}

/// The members of a block that come in deltas, and their deltas.
const GROWTHS: &[(&str, &str)] = &[
    ("text", "text_delta"),
    ("thinking", "thinking_delta"),
    ("signature", "signature_delta"),
];

/// The events that are written.
struct Stream {
    events: Vec<NewEvent>,
    piece: usize,
}

impl Stream {
    fn push(&mut self, kind: &str, members: &[(&str, &str)]) {
        let mut event = Object::default();
        event.set("type", quoted(kind));
        for (key, value) in members {
            event.set(key, *value);
        }
        self.events.push(NewEvent::new(Some(kind), &event.json()));
    }

    fn start(&mut self, message: &Object<'_>, usage: Option<&str>) {
        let mut start = message.clone();
        start.add("type", "\"message\"");
        start.add("role", "\"assistant\"");
        start.set("content", "[]");
        start.set("stop_reason", "null");
        start.set("stop_sequence", "null");
        start.remove("stop_details");
        let mut usage = Object::read(usage.unwrap_or_default());
        usage.add("input_tokens", "0");
        let first = usage.number("output_tokens").unwrap_or_default().min(1);
        usage.set("output_tokens", first.to_string());
        start.set("usage", usage.json());
        self.push("message_start", &[("message", &start.json())]);
    }

    /// Why the turn ends, and the usage.
    fn stop(&mut self, message: &Object<'_>, reason: String, usage: Option<String>) {
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
        self.push("message_delta", &members);
    }

    fn delta(&mut self, index: &str, delta: &str) {
        self.push("content_block_delta", &[("index", index), ("delta", delta)]);
    }

    /// All events of a block; a provider sends a ping with the first one.
    fn block(&mut self, json: &str, index: &str, with_ping: bool) {
        let block = Object::read(json);
        let kind = block.text("type");
        let is_text = matches!(&*kind, "text" | "thinking");
        let streams_input = kind.ends_with("tool_use");
        let mut begin = block.clone();
        if is_text {
            for (key, _) in GROWTHS {
                begin.change(key, "\"\"");
            }
            if begin.get("citations").is_some() {
                begin.set("citations", "[]");
            }
        }
        if streams_input {
            begin.change("input", "{}");
        }
        let begin = begin.json();
        let members = [("index", index), ("content_block", &begin)];
        self.push("content_block_start", &members);
        if with_ping {
            self.push("ping", &[]);
        }
        if streams_input {
            // Arguments that are no JSON are a text in a whole reply.
            let input = block.get("input").unwrap_or("{}");
            let input = match input.starts_with('"') {
                true => input.to_owned(),
                false => quoted(input),
            };
            for piece in json_pieces(&input, self.piece) {
                let delta = format!(r#"{{"type":"input_json_delta","partial_json":{piece}}}"#);
                self.delta(index, &delta);
            }
        }
        if is_text {
            self.grow(&block, &Object::default(), index);
        }
        self.push("content_block_stop", &[("index", index)]);
    }

    /// The deltas of a block of text or thinking, of which some was seen.
    fn grow(&mut self, block: &Object<'_>, seen: &Object<'_>, index: &str) {
        for (key, kind) in GROWTHS {
            let text = block.get(key).unwrap_or("\"\"");
            let rest = suffix(&seen.text(key), text).unwrap_or_default();
            // A signature comes in one piece.
            let size = if *key == "signature" {
                usize::MAX
            } else {
                self.piece
            };
            for piece in json_pieces(&rest, size) {
                self.delta(index, &format!(r#"{{"type":"{kind}","{key}":{piece}}}"#));
            }
        }
        let seen = seen.get("citations").map(elements).unwrap_or_default();
        let citations = block.get("citations").map(elements).unwrap_or_default();
        for citation in citations.into_iter().skip(seen.len()) {
            let delta = format!(r#"{{"type":"citations_delta","citation":{citation}}}"#);
            self.delta(index, &delta);
        }
    }
}
