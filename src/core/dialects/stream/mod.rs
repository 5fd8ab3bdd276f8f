//! Streamed replies: events in, the reply as the provider would have sent it in one piece out.
//!
//! Nothing here reads or waits. A recording pushes all events at once, a live stream one by one, and what is
//! known so far can be asked at any time.

mod anthropic;
mod call_number;
mod chat;
mod halves;
mod responses;
mod said;
mod splitter;

pub use halves::{event_value, rejoin, visible};
pub use said::{Said, said};
pub use splitter::{Event, Splitter};

use crate::session::Dialect;
use serde_json::value::RawValue;
use serde_json::{Map, Value};

/// What an event did to the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing that a reader of the reply would see: a ping, a token count, a type that this
    /// version does not know.
    Nothing,
    /// Text or reasoning grew.
    Text,
    /// The call at this place of [`Accumulator::calls`] began or grew.
    CallGrows(usize),
    /// The call at this place is complete, by the provider's word.
    CallEnds(usize),
    /// The provider reported a failure in the middle of the stream.
    Failed,
    /// The reply has ended.
    Ends,
}

/// A call as far as it is known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartialCall<'a> {
    /// The id that its output will name; empty where the stream gave none.
    pub id: &'a str,
    pub name: &'a str,
    /// The arguments as they were streamed: JSON text, or free text for custom tools.
    pub arguments: &'a str,
    /// Whether the provider said that it is complete.
    pub is_complete: bool,
}

/// A reply put together.
#[derive(Debug, Clone, PartialEq)]
pub struct Reply {
    /// The reply in the shape of its dialect: a Response, a chat completion, a message.
    pub json: String,
    /// Whether the stream reached its end.
    pub ended: bool,
    /// What the provider reported in the middle of the stream.
    pub failures: Vec<Value>,
}

/// Puts one streamed reply together.
#[derive(Debug)]
pub enum Accumulator {
    Responses(responses::Responses),
    /// OpenAI Chat Completions API.
    Chat(Box<chat::Chat>),
    Anthropic(anthropic::Anthropic),
}

impl Accumulator {
    /// An accumulator for a dialect. Gemini streams whole replies, so there is nothing to put together.
    pub fn new(dialect: Dialect) -> Option<Self> {
        match dialect {
            Dialect::Responses => Some(Self::Responses(responses::Responses::default())),
            Dialect::Chat => Some(Self::Chat(Box::default())),
            Dialect::Anthropic => Some(Self::Anthropic(anthropic::Anthropic::default())),
            Dialect::Gemini => None,
        }
    }

    /// Takes the data of one event.
    pub fn push(&mut self, event: &Value) -> Step {
        match self {
            Self::Responses(reply) => reply.push(event),
            Self::Chat(reply) => reply.push(event),
            Self::Anthropic(reply) => reply.push(event),
        }
    }

    /// Takes `[DONE]`, the end mark of Chat streams, which other servers send as well.
    pub fn push_done(&mut self) -> Step {
        if let Self::Chat(reply) = self {
            reply.end();
        }
        Step::Ends
    }

    /// Whether this event belongs to another reply than the one at hand.
    pub fn begins_next(&self, event: &Value) -> bool {
        match self {
            Self::Responses(reply) => reply.begins_next(event),
            Self::Chat(reply) => reply.begins_next(event),
            Self::Anthropic(reply) => reply.begins_next(event),
        }
    }

    /// The calls so far, in the order of the reply.
    pub fn calls(&self) -> Vec<PartialCall<'_>> {
        match self {
            Self::Responses(reply) => reply.calls(),
            Self::Chat(reply) => reply.calls(),
            Self::Anthropic(reply) => reply.calls(),
        }
    }

    /// The reply as far as it came.
    pub fn finish(self) -> Reply {
        match self {
            Self::Responses(reply) => reply.finish(),
            Self::Chat(reply) => reply.finish(),
            Self::Anthropic(reply) => reply.finish(),
        }
    }
}

/// The dialect of an event; `None` for an event that no dialect knows.
pub fn dialect_of(event: &Value) -> Option<Dialect> {
    match text(event, "type") {
        kind if kind.starts_with("response.") => Some(Dialect::Responses),
        "message_start"
        | "content_block_start"
        | "content_block_delta"
        | "content_block_stop"
        | "message_delta"
        | "message_stop" => Some(Dialect::Anthropic),
        _ if event.get("choices").is_some_and(Value::is_array) => Some(Dialect::Chat),
        _ => None,
    }
}

/// A member that is a string; empty where there is none.
fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A member that is an object.
fn object(value: &Value, key: &str) -> Option<Map<String, Value>> {
    value.get(key).and_then(Value::as_object).cloned()
}

/// Adds to a member that is a string; anything else is replaced.
fn append(members: &mut Map<String, Value>, key: &str, more: &str) {
    match members.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            members.insert(key.to_owned(), more.into());
        }
    }
}

/// Writes an object; members of `raw` are written as they are, in place of those of the same
/// name or behind them.
pub(in crate::dialects) fn write_object(
    members: &Map<String, Value>,
    raw: &[(&str, String)],
    out: &mut String,
) {
    out.push('{');
    let mut first = true;
    let mut write = |key: &str, value: &str| {
        if !std::mem::replace(&mut first, false) {
            out.push(',');
        }
        out.push_str(&Value::from(key).to_string());
        out.push(':');
        out.push_str(value);
    };
    for (key, value) in members {
        match raw.iter().find(|(name, _)| name == key) {
            Some((_, value)) => write(key, value),
            None => write(key, &value.to_string()),
        }
    }
    for (key, value) in raw.iter().filter(|(key, _)| !members.contains_key(*key)) {
        write(key, value);
    }
    out.push('}');
}

/// Streamed JSON text as a value: itself where it is one whole object, a string of it where it is not;
/// nothing counts as `{}`.
pub(in crate::dialects) fn input_of(streamed: &str) -> String {
    let trimmed = streamed.trim();
    if trimmed.is_empty() {
        "{}".to_owned()
    } else if trimmed.starts_with('{') && is_whole(trimmed) {
        trimmed.to_owned()
    } else {
        Value::from(streamed).to_string()
    }
}

/// Whether a text is one whole JSON value, without a control character in its strings.
fn is_whole(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}
