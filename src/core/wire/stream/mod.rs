//! Streamed replies: events in, the reply as the provider would have sent it in one piece out.
//!
//! Nothing here reads or waits. A recording pushes all events at once, a live stream one by one, and what is
//! known so far can be asked at any time.

mod frames;
mod halves;
mod splitter;
#[cfg(test)]
mod tests;

pub use frames::{FRAMES, FrameError, FrameReader, FrameWriter, is_framed};
pub(crate) use frames::{is_exception, typed_event};
pub use halves::{event_value, rejoin, visible};
pub use splitter::{Splitter, StreamEvent};

use super::outcome::stops_early;
use crate::json::{Cursor, Result, skip_whitespace};
use crate::session::Dialect;
use serde_json::value::RawValue;
use serde_json::{Map, Value};
use std::borrow::Cow;
use std::fmt;
use std::ops::Range;

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
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartialCall<'a> {
    /// The id that its output will name; empty where the stream gave none.
    pub id: &'a str,
    /// The name with its namespace, as `namespace.name`.
    pub name: Cow<'a, str>,
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
pub(crate) fn text<'a>(value: &'a Value, key: &str) -> &'a str {
    value.get(key).and_then(Value::as_str).unwrap_or_default()
}

/// A member that is an object.
pub(crate) fn object(value: &Value, key: &str) -> Option<Map<String, Value>> {
    value.get(key).and_then(Value::as_object).cloned()
}

/// Adds to a member that is a string; anything else is replaced.
pub(crate) fn append(members: &mut Map<String, Value>, key: &str, more: &str) {
    match members.get_mut(key) {
        Some(Value::String(text)) => text.push_str(more),
        _ => {
            members.insert(key.to_owned(), more.into());
        }
    }
}

/// Writes an object; members of `raw` are written as they are, in place of those of the same
/// name or after them.
pub(crate) fn write_object(members: &Map<String, Value>, raw: &[(&str, String)], out: &mut String) {
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
pub(crate) fn input_of(streamed: &str) -> String {
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
pub(crate) fn is_whole(text: &str) -> bool {
    serde_json::from_str::<&RawValue>(text).is_ok()
}

/// What an event means to whoever holds calls back, found in one walk over its data and without a copy.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct EventSummary<'a> {
    /// Its `sequence_number`, which only Responses has.
    pub number: Option<u64>,
    /// The part of the reply that it is about, where that is, or may be, a call.
    pub part: Option<CallPart<'a>>,
    /// Whether a Response opens, or says that it is in progress.
    pub opens: bool,
    /// Whether all calls that have begun are complete.
    pub completes: bool,
    /// Whether it is the end mark of the stream.
    pub ends: bool,
    /// Whether the provider reports a failure.
    pub fails: bool,
    /// Whether it says that the reply was cut off, refused or withheld.
    pub stops_early: bool,
    /// Whether it brings a refusal in the model's own words.
    pub refuses: bool,
    /// How many calls it repeats, at the end of a Response.
    pub calls: usize,
}

/// A part of a reply, in an event about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CallPart<'a> {
    /// Its index as it is spelled, or its id; Chat tells its calls apart only at their end.
    pub key: &'a [u8],
    /// Whether the event alone shows that it is a call.
    pub is_call: bool,
    /// Whether it is complete.
    pub ends: bool,
}

/// What the data of an event means; `None` where it is neither JSON nor an end mark.
pub(crate) fn classify(dialect: Dialect, data: &[u8]) -> Option<EventSummary<'_>> {
    if data.trim_ascii() == b"[DONE]" {
        return Some(EventSummary {
            completes: true,
            ends: dialect.facts().tells_usage_last,
            ..EventSummary::default()
        });
    }
    let mut cursor = Cursor::new(data);
    let found = dialect.codec().classify(&mut cursor);
    let is_all = skip_whitespace(data, cursor.position()) == data.len();
    found.ok().filter(|_| is_all)
}

/// The members of an event that names its type.
#[derive(Default)]
pub(crate) struct Typed<'a> {
    pub(crate) kind: &'a [u8],
    pub(crate) key: Option<&'a [u8]>,
    pub(crate) item_id: Option<&'a [u8]>,
    pub(crate) number: Option<u64>,
    /// `item`, `content_block`, `response` or `delta`.
    pub(crate) inner: Option<Range<usize>>,
    pub(crate) has_error: bool,
}

pub(crate) fn typed<'a>(cursor: &mut Cursor<'a>) -> Result<Typed<'a>> {
    let mut event = Typed::default();
    cursor.object(|cursor, key| {
        match key {
            b"type" => event.kind = cursor.string()?.unwrap_or_default(),
            b"sequence_number" => event.number = number(cursor.raw()?),
            b"output_index" | b"index" => {
                event.key = Some(cursor.raw()?).filter(|raw| *raw != b"null");
            }
            b"item_id" => event.item_id = cursor.string()?,
            b"item" | b"content_block" | b"response" | b"delta" => {
                event.inner = Some(cursor.skip()?);
            }
            b"error" => event.has_error = cursor.raw()? != b"null",
            _ => {}
        }
        Ok(())
    })?;
    Ok(event)
}

pub(crate) fn is_early_word(word: &[u8]) -> bool {
    std::str::from_utf8(word).is_ok_and(stops_early)
}

pub(crate) fn number(raw: &[u8]) -> Option<u64> {
    std::str::from_utf8(raw).ok()?.parse().ok()
}

/// Which call of a reply a part of it is, counted on from the last answer: events mostly speak of the newest part,
/// and a reply may hold tens of thousands of calls.
#[derive(Debug, Default)]
pub(crate) struct CallNumber {
    /// The part that was asked for last.
    place: usize,
    /// How many calls stand before it.
    before: usize,
}

impl CallNumber {
    /// How many of the parts before `place` are calls.
    pub(crate) fn of<Part>(
        &mut self,
        parts: &[Part],
        place: usize,
        is_call: impl Fn(&Part) -> bool,
    ) -> usize {
        if place < self.place {
            *self = Self::default();
        }
        let passed = &parts[self.place..place];
        self.before += passed.iter().filter(|part| is_call(part)).count();
        self.place = place;
        self.before
    }
}
