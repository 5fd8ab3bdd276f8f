//! Streamed replies: events in, the reply as the provider would have sent it in one piece out.
//!
//! Nothing here reads or waits. A recording pushes all events at once, a live stream one by one, and what is
//! known so far can be asked at any time.

pub(super) mod anthropic;
mod call_number;
pub(super) mod chat;
pub(super) mod gemini;
mod halves;
pub(super) mod look;
pub(super) mod responses;
mod splitter;

pub use halves::{event_value, rejoin, visible};
pub use look::{Look, Part};
pub(crate) use look::{look, number};
pub use splitter::{Event, Splitter};

use crate::session::Dialect;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::fmt;

/// What an event did to the reply.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// Nothing that a reader of the reply would see: a ping, a token count, a type that this
    /// version does not know.
    Nothing,
    /// Text or reasoning grew.
    Text,
    /// The call at this place of [`Decoder::calls`] began or grew.
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
pub trait Decoder: fmt::Debug + Send + Sync {
    /// Takes the data of one event.
    fn push(&mut self, event: &Value) -> Step;

    /// Takes `[DONE]`, the end mark of Chat streams, which other servers send as well.
    fn push_done(&mut self) -> Step {
        Step::Ends
    }

    /// Whether this event belongs to another reply than the one at hand.
    fn begins_next(&self, event: &Value) -> bool;

    /// The calls so far, in the order of the reply.
    fn calls(&self) -> Vec<PartialCall<'_>>;

    /// The reply as far as it came.
    fn finish(self: Box<Self>) -> Reply;
}

/// The dialect of an event; `None` for an event that no dialect knows.
pub fn dialect_of(event: &Value) -> Option<Dialect> {
    let mut spoken = Dialect::ALL.into_iter();
    spoken.find(|dialect| dialect.codec().owns_event(event))
}

/// A member that is a string; empty where there is none.
pub(super) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
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
