//! A recorded turn in the words of whoever asks for it.

use super::history::{CallText, content, texts_and_refusals, words};
use super::tape::{Tape, TapePlace};
use crate::formats::convert::LossKind;
use crate::json::Cursor;
use crate::session::ledger::Usage;
use crate::session::{Dialect, Family, Flags, Item, Kind, Session, SourceResult};
use crate::wire::write::edit::member;
use crate::wire::write::{End, NewReply};
use crate::wire::{Arguments, Input, ToolCall, body_of};
use serde_json::Value;
use std::ops::Range;

/// A turn as it is served.
#[derive(Debug, Clone)]
pub struct ServedReply {
    pub new_reply: NewReply,
    /// What the recording has beside it and the reply has not; each once.
    pub left_out: Vec<LossKind>,
    /// Milliseconds until the reply began, and until it ended, as far as they were recorded.
    pub took: [Option<u64>; 2],
}

impl Tape {
    /// A turn as a reply in a dialect. `model` is the one that was requested: it is named where
    /// the recording names none.
    pub fn reply(
        &self,
        place: TapePlace,
        dialect: Dialect,
        model: &str,
    ) -> SourceResult<ServedReply> {
        let session = &self.reels[place.session].session;
        let turn = session.turns[self.recorded(place).turn];
        let mut writing = Writing::of(session, dialect);
        writing.new_reply.model = session.model.clone().unwrap_or_else(|| model.to_owned());
        writing.new_reply.tag = format!("replay{}t{}", place.session + 1, self.turn(place));
        for index in turn.items() {
            writing.add(index)?;
        }
        writing.new_reply.end = end_of(session, turn.items());
        let mut left_out = writing.left_out;
        left_out.sort();
        left_out.dedup();
        let Noted { usage, took } = noted(session, turn.items())?;
        (
            writing.new_reply.input_tokens,
            writing.new_reply.output_tokens,
        ) = (usage.input, usage.output);
        Ok(ServedReply {
            new_reply: writing.new_reply,
            left_out,
            took,
        })
    }
}

/// A reply that is being put together.
struct Writing<'a> {
    session: &'a Session,
    dialect: Dialect,
    new_reply: NewReply,
    /// The index of the item that the last text is of.
    last_text: Option<usize>,
    left_out: Vec<LossKind>,
}

impl<'a> Writing<'a> {
    fn of(session: &'a Session, dialect: Dialect) -> Self {
        Self {
            session,
            dialect,
            new_reply: NewReply::default(),
            last_text: None,
            left_out: Vec::new(),
        }
    }

    fn add(&mut self, index: usize) -> SourceResult<()> {
        let session = self.session;
        let item = &session.items[index];
        match item.kind {
            Kind::Assistant => {
                let content = content(session, item)?;
                let [mut text, mut refusal] =
                    texts_and_refusals(&content).map(|parts| parts.concat());
                if item.flags.has(Flags::REFUSAL) && refusal.is_empty() {
                    std::mem::swap(&mut text, &mut refusal);
                }
                if !refusal.is_empty() {
                    add_line(&mut self.new_reply.refusal, &refusal);
                }
                if !text.is_empty() || refusal.is_empty() {
                    self.add_text(index, text);
                }
                self.add_reasoning(&content.reasoning);
            }
            Kind::Reasoning => match words(&content(session, item)?) {
                none if none.is_empty() => self.left_out.push(LossKind::Reasoning),
                text => self.add_reasoning(&text),
            },
            Kind::Call => self.call(index, item)?,
            Kind::HostedCall | Kind::HostedOutput => {
                let tool = Some(session.name(item)).filter(|name| !name.is_empty());
                let tool = tool.unwrap_or("a tool").to_owned();
                self.left_out.push(LossKind::Hosted { tool });
            }
            _ => {}
        }
        Ok(())
    }

    /// Adds the text of a message, or of a block of one: what a citation splits there
    /// is one message elsewhere.
    fn add_text(&mut self, index: usize, text: String) {
        let facts = self.session.items[index].facts();
        let is_block = facts.is_some_and(|facts| facts.splits_texts);
        let goes_on = self.last_text.is_some() && self.last_text == index.checked_sub(1);
        self.last_text = Some(index);
        match self.new_reply.texts.last_mut() {
            Some(last) if is_block && goes_on && !self.dialect.facts().has_blocks => {
                last.push_str(&text);
            }
            Some(last) if last.is_empty() => *last = text,
            Some(_) if text.is_empty() => {}
            _ => self.new_reply.texts.push(text),
        }
    }

    fn add_reasoning(&mut self, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.dialect == self.session.dialect {
            true => add_line(&mut self.new_reply.reasoning, text),
            false => self.left_out.push(LossKind::Reasoning),
        }
    }

    fn call(&mut self, index: usize, item: &Item) -> SourceResult<()> {
        let bytes = self.session.bytes(item)?;
        let written = body_of(item, &bytes).unwrap_or_default().arguments;
        let input = match (item.family, &written) {
            (Family::Function | Family::Legacy, written) => {
                Input::Json(match written.as_written() {
                    "" => "{}".to_owned(),
                    written => written.to_owned(),
                })
            }
            (family, Arguments::FreeForm(text)) if self.takes(family) => Input::Free(text.clone()),
            (family, written) => {
                self.left_out.push(LossKind::as_function(family));
                Input::Json(match super::history::input(written) {
                    CallText::Json(value) if value.is_object() => value.to_string(),
                    CallText::Json(_) | CallText::Broken(_) => {
                        Input::Free(written.as_written().to_owned()).as_object()
                    }
                })
            }
        };
        let id = match self.session.call_id(item)? {
            id if id.is_empty() => format!("call_{}", index + 1),
            id => id,
        };
        // Read with its namespace, where the call has one in a member of its own.
        let name = self.session.name(item);
        let has_namespace = self.dialect.facts().namespaces
            && member(&String::from_utf8_lossy(&bytes), "namespace").is_some();
        let (namespace, name) = match name.rsplit_once('.').filter(|_| has_namespace) {
            Some((namespace, own)) => (Some(namespace.to_owned()), own),
            None => (None, name),
        };
        self.new_reply.calls.push(ToolCall {
            id: Some(id),
            name: name.to_owned(),
            namespace,
            input,
        });
        Ok(())
    }

    /// Whether whoever asks knows calls of custom tools, and this is one.
    fn takes(&self, family: Family) -> bool {
        family == Family::Custom && self.dialect.facts().made_custom_calls
    }
}

/// Adds a line to a text that may not be there yet.
fn add_line(text: &mut Option<String>, line: &str) {
    let text = text.get_or_insert_default();
    if !text.is_empty() {
        text.push('\n');
    }
    text.push_str(line);
}

/// Why a turn ended.
fn end_of(session: &Session, items: Range<usize>) -> End {
    let stops = session.stops.iter();
    let stop = stops
        .rev()
        .find(|stop| items.contains(&(stop.item as usize)));
    let is_cut = session.items[items.clone()]
        .iter()
        .any(|item| item.kind.is_from_model() && item.flags.has(Flags::INCOMPLETE));
    match stop {
        Some(stop) if stop.is_token_limit() => End::Length,
        Some(stop) if stop.reason == "content_filter" => End::ContentFilter,
        None if is_cut => End::Length,
        Some(_) | None => End::Natural,
    }
}

// What the record of a reply says beside the reply: what it cost, and how long it took.

/// What was noted of a reply.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noted {
    /// Its tokens; 0 where nothing was noted.
    pub(super) usage: Usage,
    /// Milliseconds until it began, and until it ended.
    pub(super) took: [Option<u64>; 2],
}

/// Longest wait that a difference of times counts as, in milliseconds: after it the run rested.
const LONGEST: u64 = 10 * 60 * 1000;
/// How deep in a record its usage may stand: `entry.response.usage`.
const DEPTH: usize = 4;

/// What the records of these items, a turn, say.
pub(super) fn noted(session: &Session, items: Range<usize>) -> SourceResult<Noted> {
    let mut noted = Noted::default();
    let mut first_time = None;
    let mut last = None;
    for index in items.clone() {
        let item = &session.items[index];
        if !item.kind.is_from_model() || last == Some(item.record) {
            continue;
        }
        last = Some(item.record);
        let Some(value) = record_of_reply(session, index)? else {
            continue;
        };
        if let Some(usage) = usage_in(&value, DEPTH) {
            noted.usage = usage;
        }
        if let Some(took) = took_in(&value) {
            noted.took = took;
        }
        first_time = first_time.or(time_in(&value));
    }
    if let (None, Some(time), Some(before)) =
        (noted.took[0], first_time, items.start.checked_sub(1))
    {
        let before = record_of(session, before)?;
        let before = before.and_then(|value| time_in(&value));
        let wait = before.and_then(|before| time.checked_sub(before));
        noted.took[0] = wait.filter(|wait| *wait <= LONGEST);
    }
    Ok(noted)
}

fn record_of(session: &Session, index: usize) -> SourceResult<Option<Value>> {
    let item = &session.items[index];
    let Some(record) = session.records.get(item.record as usize) else {
        return Ok(None);
    };
    // What is no JSON notes nothing.
    Ok(serde_json::from_slice(&session.source.read(record.span)?).ok())
}

/// The record that a reply came in; none where the item is known only from a later request that repeats it:
/// what such a record notes is of another reply.
fn record_of_reply(session: &Session, index: usize) -> SourceResult<Option<Value>> {
    let item = &session.items[index];
    let Some(record) = session.records.get(item.record as usize) else {
        return Ok(None);
    };
    let bytes = session.source.read(record.span)?;
    let at = item.span.start.checked_sub(record.span.start);
    let at = at.and_then(|at| usize::try_from(at).ok());
    let is_repeated = at.is_some_and(|at| is_in_request(&mut Cursor::new(&bytes), at, DEPTH));
    // What is no JSON notes nothing.
    Ok(match is_repeated {
        true => None,
        false => serde_json::from_slice(&bytes).ok(),
    })
}

/// Whether what is at this place of a record is within a member `request`.
fn is_in_request(record: &mut Cursor<'_>, place: usize, depth: usize) -> bool {
    if record.peek() != Some(b'{') {
        return false;
    }
    let mut is_in = false;
    let walked = record.object(|record, key| {
        let is_request = key == b"request";
        let mut inside = Cursor::at(record.bytes(), record.position());
        let holds = record.skip()?.contains(&place);
        is_in |=
            holds && (is_request || (depth > 0 && is_in_request(&mut inside, place, depth - 1)));
        Ok(())
    });
    walked.is_ok() && is_in
}

/// The first member `usage` that counts tokens, outside of a request.
fn usage_in(value: &Value, depth: usize) -> Option<Usage> {
    let members = value.as_object()?;
    if let Some(usage) = members.get("usage").filter(|usage| usage.is_object()) {
        let of_reply = serde_json::json!({"usage": usage}).to_string();
        return Some(crate::wire::usage_of(&of_reply));
    }
    let inside = members.iter().filter(|(key, _)| *key != "request");
    let mut inside = inside.filter_map(|(_, value)| usage_in(value, depth.checked_sub(1)?));
    inside.next()
}

/// `ms` of an exchange in a proxy's journal.
fn took_in(value: &Value) -> Option<[Option<u64>; 2]> {
    let ms = value.get("entry")?.get("ms")?.as_array()?;
    let at = |place: usize| ms.get(place).and_then(Value::as_u64);
    Some([at(0), at(1)])
}

/// `timestamp` of a record (RFC 3339), in milliseconds since 1970.
fn time_in(value: &Value) -> Option<u64> {
    crate::json::milliseconds(value.get("timestamp")?.as_str()?)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn usage_is_that_of_the_reply_and_not_of_what_a_request_holds() {
        let record = json!({"entry": {
            "request": {"usage": {"input_tokens": 1, "output_tokens": 1}},
            "response": {"usage": {"prompt_tokens": 20, "completion_tokens": 3}},
            "ms": [120, null],
        }});
        let usage = usage_in(&record, DEPTH).unwrap();
        assert_eq!((usage.input, usage.output), (20, 3));
        assert_eq!(took_in(&record), Some([Some(120), None]));
    }

    #[test]
    fn what_stands_in_a_request_is_told_from_what_stands_in_a_reply() {
        let record =
            r#"{"entry": {"response": {"text": "new"}, "request": {"messages": ["old"]}}}"#;
        let is_in = |text: &str| {
            let place = record.find(text).unwrap();
            is_in_request(&mut Cursor::new(record.as_bytes()), place, DEPTH)
        };
        assert!(is_in("\"old\""));
        assert!(!is_in("\"new\""));
    }
}
