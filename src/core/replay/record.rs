//! What the record of a reply says beside the reply: what it cost, and how long it took.

use crate::json::Cursor;
use crate::session::ledger::Usage;
use crate::session::{Session, SourceError};
use serde_json::Value;
use std::ops::Range;

/// What was noted of a reply.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Noted {
    /// Its tokens; 0 where nothing was noted.
    pub(super) usage: Usage,
    /// Milliseconds until it began, and until it ended.
    pub(super) took: [Option<u64>; 2],
}

/// Longest wait that a difference of times stands for, in milliseconds: behind it the run rested.
const LONGEST: u64 = 10 * 60 * 1000;
/// How deep in a record its usage may stand: `entry.response.usage`.
const DEPTH: usize = 4;

/// What the records of these items, a turn, say.
pub(super) fn noted(session: &Session, items: Range<usize>) -> Result<Noted, SourceError> {
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

fn record_of(session: &Session, index: usize) -> Result<Option<Value>, SourceError> {
    let item = &session.items[index];
    let Some(record) = session.records.get(item.record as usize) else {
        return Ok(None);
    };
    // What is no JSON notes nothing.
    Ok(serde_json::from_slice(&session.source.read(record.span)?).ok())
}

/// The record that a reply came in; none where the item is known only from a later request that repeats it:
/// what such a record notes is of another reply.
fn record_of_reply(session: &Session, index: usize) -> Result<Option<Value>, SourceError> {
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

/// Whether what stands at this place of a record is within a member `request`.
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
        return Some(crate::dialects::usage_of(&of_reply));
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
    crate::usage::milliseconds(value.get("timestamp")?.as_str()?)
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
