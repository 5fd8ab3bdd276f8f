//! What a client has seen of a streamed reply: the bytes that passed, read when somebody needs to know.

use super::cut::{data_lines, data_of, events};
use crate::json::Cursor;
use crate::session::Dialect;
use crate::wire::stream::{classify, event_value, number};
use crate::wire::write::SentStream;
use serde_json::Value;
use std::ops::Range;

/// A stream as it came, as far as it has passed.
#[derive(Debug, Clone, Default)]
pub struct Sent {
    pub(crate) stream: Vec<u8>,
    /// How much of it has passed.
    pub(crate) passed: usize,
    /// How many numbered events of others stood between what has passed.
    pub(crate) inserted: u64,
}

impl Sent {
    /// The data of the events that have passed, with their JSON: what is none, and `[DONE]`, is left out.
    pub(crate) fn events(&self) -> impl Iterator<Item = (String, Value)> {
        let passed = &self.stream[..self.passed];
        events(passed).filter_map(|event| {
            let data = data_of(passed, event)?;
            let data = String::from_utf8_lossy(&data).into_owned();
            let value = event_value(&data)?;
            value.is_object().then_some((data, value))
        })
    }

    /// What of it a writer needs to go on.
    pub(crate) fn begun(&self, dialect: Dialect) -> SentStream {
        SentStream {
            events: self.events().collect(),
            next_number: match dialect.facts().numbers_events {
                true => self.next_number(dialect),
                false => None,
            },
        }
    }

    /// Whether an end mark has passed.
    pub(crate) fn is_over(&self, dialect: Dialect) -> bool {
        let passed = &self.stream[..self.passed];
        events(passed).any(|event| {
            let data = data_of(passed, event).unwrap_or_default();
            classify(dialect, &data).is_some_and(|look| look.ends)
        })
    }

    /// The `sequence_number` that the next event has for the client; `None` where events have
    /// passed that had none.
    pub(crate) fn next_number(&self, dialect: Dialect) -> Option<u64> {
        let passed = &self.stream[..self.passed];
        let (mut last, mut is_numbered) = (None, true);
        for event in events(passed) {
            let Some(data) = data_of(passed, event) else {
                continue;
            };
            if let Some(look) = classify(dialect, &data) {
                is_numbered = look.number.is_some();
                last = look.number.or(last);
            }
        }
        match (last, is_numbered) {
            (Some(last), _) => Some(last.saturating_add(1).saturating_add(self.inserted)),
            (None, true) => Some(self.inserted),
            (None, false) => None,
        }
    }

    /// Passes on what came up to `to`. Events after inserted ones are renumbered.
    pub(crate) fn pass(&mut self, to: usize, out: &mut Vec<u8>) {
        if to <= self.passed {
            return;
        }
        let from = self.passed;
        self.passed = to;
        if self.inserted == 0 {
            return out.extend_from_slice(&self.stream[from..to]);
        }
        let rest = &self.stream[from..to];
        let mut done = 0;
        for event in events(rest) {
            done = event.end;
            renumber(rest, event, self.inserted, out);
        }
        renumber(rest, done..rest.len(), self.inserted, out);
    }
}

/// Writes the event at this place with its `sequence_number` raised, and otherwise as it came.
fn renumber(stream: &[u8], event: Range<usize>, by: u64, out: &mut Vec<u8>) {
    let raised = number_at(stream, event.clone());
    let raised = raised.and_then(|at| Some((at.clone(), number(&stream[at])?.checked_add(by)?)));
    match raised {
        Some((at, number)) => {
            out.extend_from_slice(&stream[event.start..at.start]);
            out.extend_from_slice(number.to_string().as_bytes());
            out.extend_from_slice(&stream[at.end..event.end]);
        }
        None => out.extend_from_slice(&stream[event]),
    }
}

/// The position of the `sequence_number` of an event in the stream.
fn number_at(stream: &[u8], event: Range<usize>) -> Option<Range<usize>> {
    let data = data_of(stream, event.clone())?;
    let mut found = None;
    let walked = Cursor::new(&data).object(|cursor, key| {
        if key == b"sequence_number" {
            found = Some(cursor.skip()?);
        }
        Ok(())
    });
    // A cut event keeps its number.
    walked.ok()?;
    let found = found?;
    let mut before = 0;
    for line in data_lines(stream, event) {
        let line_end = before + line.len();
        if found.end <= line_end {
            let start = line.start + (found.start - before);
            return Some(start..start + found.len());
        }
        before = line_end + 1;
    }
    None
}
