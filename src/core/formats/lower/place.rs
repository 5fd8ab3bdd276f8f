//! Where an item is in its file: the message or item object it belongs to, and the list in which that
//! object is one of many.

use crate::json::{Cursor, JsonError, Result};
use crate::session::{Dialect, Family, Item, Kind, Session, SourceError, Span};
use std::collections::HashMap;
use std::ops::Range;
use std::rc::Rc;

/// Why edits cannot be written where the session is.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotWrite {
    /// An edit names an item that the session does not have.
    #[error("there is no item {0}")]
    NoItem(u32),
    /// The item is a member of a request, no element of its history: instructions, or all of the
    /// input as one text.
    #[error("item {} is in no list of messages", .0 + 1)]
    NoPlace(u32),
    /// The list has no element to stand beside.
    #[error("the list is empty")]
    EmptyList,
    /// The file is no plain list of what the provider is sent.
    #[error("nothing can be appended to a history of this format")]
    NotAppended,
    /// The file repeats its history.
    #[error("this file is a log of exchanges, in which each request repeats the history")]
    Exchanges,
    /// The lines of a journal are numbered and checked.
    #[error("the lines of a journal are not changed")]
    Journal,
    /// The format spells messages in its own way.
    #[error("in this format only calls and their results are changed")]
    OnlyPairs,
    /// The format has no member for what changes.
    #[error("this format cannot hold what changes in item {}", .0 + 1)]
    NotHeld(u32),
    #[error("the agent adds and moves results by itself when it loads the session")]
    AnswersItself,
    /// The call has no id that an output could name.
    #[error("item {} has no call id that an output could name", .0 + 1)]
    NoCallId(u32),
    /// The dialect has no textual output for this type of call.
    #[error("a call of this type ({0:?}) has no output of text")]
    NoOutputOf(Family),
    /// An item is changed and leaves at the same time, or two changes meet.
    #[error("two changes meet in item {}", .0 + 1)]
    Conflict(u32),
    /// The bytes cannot be read.
    #[error(transparent)]
    Unreadable(#[from] SourceError),
    /// The bytes are not JSON.
    #[error("not JSON: {0:?}")]
    NotJson(JsonError),
}

impl From<JsonError> for CannotWrite {
    fn from(fault: JsonError) -> Self {
        Self::NotJson(fault)
    }
}

/// A list of objects that edits add to and take from: the records of the file, or an array
/// inside of one record.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(super) enum List {
    /// Lines, or elements of the document's own array; indices are those of [`Session::records`].
    Records,
    /// An array in a record.
    Array {
        record: u32,
        /// Where the array begins in the source.
        start: u64,
    },
}

/// A place in a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Seat {
    pub(super) list: List,
    pub(super) index: usize,
    pub(super) span: Span,
}

/// Where an item is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    /// The object that the dialect sends as one: an item of Responses, a message of Chat or Anthropic.
    pub(super) unit: Span,
    /// What goes with it: an element or a record, with whatever the file format puts around the unit.
    pub(super) seat: Seat,
    /// Where the item is a part of its unit: a content block, an entry of `tool_calls`.
    pub(super) part: Option<Seat>,
}

/// One step from a record down to an item.
#[derive(Debug, Clone)]
enum Step {
    Member {
        key: Vec<u8>,
        object: Range<usize>,
    },
    Element {
        array: Range<usize>,
        element: Range<usize>,
        index: usize,
    },
}

/// A session with the records that were looked at.
#[derive(Debug)]
pub(super) struct Ground<'a> {
    pub(super) session: &'a Session,
    /// The record at hand: edits come in the order of the history, mostly several for one record.
    records: HashMap<u32, Rc<Vec<u8>>>,
    arrays: HashMap<List, Rc<Vec<Span>>>,
    /// The way that was gone last, with what is beside it: a message may hold thousands of parts, a
    /// body thousands of messages.
    last: Way,
}

/// Containers from a record down, each a part of the one before it.
#[derive(Debug, Default)]
struct Way {
    record: u32,
    levels: Vec<Level>,
}

/// An object or an array, and what it holds, in order.
#[derive(Debug)]
struct Level {
    container: Range<usize>,
    parts: Vec<(Option<Vec<u8>>, Range<usize>)>,
}

/// How far before or after a record is looked for what is around it.
pub(super) const LOOK: u64 = 4096;

/// How many members of a request are records of their own: its instructions, its input.
const MEMBERS: usize = 4;

/// How many records are kept in memory.
const KEPT: usize = 64;

impl<'a> Ground<'a> {
    pub(super) fn new(session: &'a Session) -> Self {
        Self {
            session,
            records: HashMap::new(),
            arrays: HashMap::new(),
            last: Way::default(),
        }
    }

    pub(super) fn item(&self, index: u32) -> Result<&'a Item, CannotWrite> {
        let session: &'a Session = self.session;
        session
            .items
            .get(index as usize)
            .ok_or(CannotWrite::NoItem(index))
    }

    pub(super) fn record_span(&self, record: u32) -> Option<Span> {
        self.session
            .records
            .get(record as usize)
            .map(|record| record.span)
    }

    /// The bytes of a record.
    pub(super) fn record(&mut self, record: u32) -> Result<Rc<Vec<u8>>, CannotWrite> {
        if let Some(known) = self.records.get(&record) {
            return Ok(known.clone());
        }
        let span = self
            .record_span(record)
            .ok_or(CannotWrite::NoItem(record))?;
        let bytes = Rc::new(self.session.source.read(span)?);
        if self.records.len() >= KEPT {
            self.records.clear();
        }
        self.records.insert(record, bytes.clone());
        Ok(bytes)
    }

    pub(super) fn bytes(&self, item: &Item) -> Result<Vec<u8>, CannotWrite> {
        Ok(self.session.bytes(item)?)
    }

    /// Whether the bytes of an item may be changed where they stand: not where later requests of
    /// a log repeat them.
    pub(super) fn check_alone(&mut self, item: &Item) -> Result<(), CannotWrite> {
        let (steps, _) = self.steps(item)?;
        self.refuse_exchange(&steps)
    }

    /// Where an item is.
    pub(super) fn place(&mut self, index: u32) -> Result<Place, CannotWrite> {
        let item = self.item(index)?;
        let (steps, base) = self.steps(item)?;
        self.refuse_exchange(&steps)?;
        let own = item.span.start - base..item.span.end - base;
        let own = usize_range(&own);
        let (unit, depth, part) = unit_of(item, &steps, own);
        let unit = unit.ok_or(CannotWrite::NoPlace(index))?;
        if steps.is_empty() && self.is_member(item.record)? {
            return Err(CannotWrite::NoPlace(index));
        }
        let seat = self.seat_above(item.record, &steps[..depth], base)?;
        let part = part
            .map(|step| self.seat(item.record, step, base))
            .transpose()?;
        Ok(Place {
            unit: Span::within(base, unit),
            seat,
            part: part.flatten(),
        })
    }

    /// Whether a record is the value of a member of the document and no element of a list: a string or an
    /// object that holds the instructions, or the first input.
    fn is_member(&self, record: u32) -> Result<bool, CannotWrite> {
        let end = self.record_span(record).unwrap_or_default().start;
        let start = end.saturating_sub(LOOK);
        let before = self.session.source.read(Span { start, end })?;
        let key = before.trim_ascii_end().strip_suffix(b":");
        Ok(key.is_some_and(|key| key.trim_ascii_end().ends_with(b"\"")))
    }

    /// The list element that holds the unit, or its record.
    fn seat_above(&mut self, record: u32, above: &[Step], base: u64) -> Result<Seat, CannotWrite> {
        for step in above.iter().rev() {
            if let Some(seat) = self.seat(record, step, base)? {
                return Ok(seat);
            }
        }
        Ok(Seat {
            list: List::Records,
            index: record as usize,
            span: self
                .record_span(record)
                .ok_or(CannotWrite::NoItem(record))?,
        })
    }

    fn seat(&self, record: u32, step: &Step, base: u64) -> Result<Option<Seat>, CannotWrite> {
        let Step::Element {
            array,
            element,
            index,
        } = step
        else {
            return Ok(None);
        };
        Ok(Some(Seat {
            list: List::Array {
                record,
                start: base + array.start as u64,
            },
            index: *index,
            span: Span::within(base, element.clone()),
        }))
    }

    fn steps(&mut self, item: &Item) -> Result<(Vec<Step>, u64), CannotWrite> {
        let record = self.record(item.record)?;
        let base = self.record_span(item.record).unwrap_or_default().start;
        let own = usize_range(
            &(item.span.start.saturating_sub(base)..item.span.end.saturating_sub(base)),
        );
        if self.last.record != item.record {
            self.last = Way {
                record: item.record,
                levels: Vec::new(),
            };
        }
        let start = match self.last.levels.first() {
            Some(level) => level.container.clone(),
            None => {
                let mut cursor = Cursor::new(&record);
                cursor.peek();
                cursor.skip()?
            }
        };
        Ok((self.last.steps_to(&record, start, &own)?, base))
    }

    /// A log of exchanges repeats its history in each request; changing it in one place would tear it apart.
    fn refuse_exchange(&self, steps: &[Step]) -> Result<(), CannotWrite> {
        let apart = |step: &Step| {
            matches!(
                step,
                Step::Member { key, .. } if matches!(&key[..], b"request" | b"response" | b"choices" | b"candidates")
            )
        };
        let is_nested = steps.iter().enumerate().any(|(depth, step)| {
            matches!(step, Step::Element { .. })
                && depth
                    .checked_sub(1)
                    .and_then(|above| steps.get(above))
                    .is_some_and(is_conversation)
        });
        let items = &self.session.items;
        let spans_records =
            items.first().map(|item| item.record) != items.last().map(|item| item.record);
        if steps.iter().any(apart) || (is_nested && spans_records) {
            return Err(CannotWrite::Exchanges);
        }
        Ok(())
    }

    /// The last seat of the list of a seat.
    pub(super) fn last_seat(&mut self, seat: Seat) -> Result<Seat, CannotWrite> {
        if seat.list == List::Records {
            return Ok(seat);
        }
        let elements = self.elements(seat.list)?;
        let last = elements.last().map(|span| Seat {
            list: seat.list,
            index: elements.len() - 1,
            span: *span,
        });
        Ok(last.unwrap_or(seat))
    }

    /// Whether an item is in the `output` of a reply of Responses.
    pub(super) fn is_in_output(&mut self, index: u32) -> Result<bool, CannotWrite> {
        let item = self.item(index)?;
        let (steps, _) = self.steps(item)?;
        let is_output =
            |step: &Step| matches!(step, Step::Member { key, .. } if &key[..] == b"output");
        // The output of a call has such a member of its own.
        if steps.iter().take(1).any(is_output) {
            return Ok(true);
        }
        // Members beside the list may be records, too, and stand before its first element.
        for record in self.session.records.iter().take(MEMBERS) {
            let end = record.span.start;
            let start = end.saturating_sub(LOOK);
            let before = self.session.source.read(Span { start, end })?;
            let list = before.trim_ascii_end().strip_suffix(b"[");
            let key = list.and_then(|list| list.trim_ascii_end().strip_suffix(b":"));
            if let Some(key) = key {
                return Ok(key.trim_ascii_end().ends_with(b"\"output\""));
            }
        }
        Ok(false)
    }

    /// Where the elements of an array in a record stand.
    pub(super) fn elements(&mut self, list: List) -> Result<Rc<Vec<Span>>, CannotWrite> {
        let List::Array { record, start } = list else {
            return Ok(Rc::default());
        };
        if let Some(known) = self.arrays.get(&list) {
            return Ok(known.clone());
        }
        let bytes = self.record(record)?;
        let base = self.record_span(record).unwrap_or_default().start;
        let mut elements = Vec::new();
        let at = usize::try_from(start - base).unwrap_or(usize::MAX);
        Cursor::at(&bytes, at).array(|cursor| {
            cursor.peek();
            elements.push(Span::within(base, cursor.skip()?));
            Ok(())
        })?;
        let elements = Rc::new(elements);
        self.arrays.insert(list, elements.clone());
        Ok(elements)
    }
}

/// Whether a member holds the conversation of a body.
fn is_conversation(step: &Step) -> bool {
    let Step::Member { key, .. } = step else {
        return false;
    };
    let mut holders = Dialect::ALL
        .iter()
        .flat_map(|dialect| dialect.facts().holders);
    matches!(&key[..], b"traj" | b"trajectory")
        || holders.any(|holder| holder.as_bytes() == &key[..])
}

/// The unit of an item, how many of the steps lead to it, and the step by which the item is a part of it.
fn unit_of<'s>(
    item: &Item,
    steps: &'s [Step],
    own: Range<usize>,
) -> (Option<Range<usize>>, usize, Option<&'s Step>) {
    let facts = item.facts();
    let facts = facts.filter(|facts| facts.has_blocks || item.kind == Kind::Call);
    let keys = facts.map(|facts| [facts.calls_key, facts.legacy_call_key]);
    let is_list = |known: &[u8]| {
        let mut keys = keys.iter().flatten().flatten();
        keys.any(|key| key.as_bytes() == known)
    };
    let holder = steps
        .iter()
        .rposition(|step| matches!(step, Step::Member { key, .. } if is_list(key)));
    if let Some(depth) = holder
        && let Step::Member { object, .. } = &steps[depth]
    {
        return (Some(object.clone()), depth, steps.get(depth + 1));
    }
    let is_member = matches!(
        steps.last(),
        Some(Step::Member { key, .. }) if matches!(
            &key[..],
            b"system" | b"systemInstruction" | b"system_instruction" | b"instructions" | b"input" | b"original_input"
        )
    );
    let unit = (!is_member && !own.is_empty()).then_some(own);
    (unit, steps.len(), None)
}

impl Way {
    /// The steps from a value down to a part of it.
    fn steps_to(
        &mut self,
        bytes: &[u8],
        mut value: Range<usize>,
        target: &Range<usize>,
    ) -> Result<Vec<Step>> {
        let mut steps = Vec::new();
        while value != *target {
            let depth = steps.len();
            let is_known = |level: &Level| level.container == value;
            if !self.levels.get(depth).is_some_and(is_known) {
                self.levels.truncate(depth);
                self.levels.push(Level::of(bytes, value)?);
            }
            let Some((step, part)) = self.levels[depth].step_to(target) else {
                break;
            };
            value = part;
            steps.push(step);
        }
        Ok(steps)
    }
}

impl Level {
    fn of(bytes: &[u8], container: Range<usize>) -> Result<Self> {
        let mut parts = Vec::new();
        let mut cursor = Cursor::at(bytes, container.start);
        if bytes.get(container.start) == Some(&b'[') {
            cursor.array(|cursor| {
                cursor.peek();
                parts.push((None, cursor.skip()?));
                Ok(())
            })?;
        } else {
            cursor.object(|cursor, key| {
                cursor.peek();
                parts.push((Some(key.to_vec()), cursor.skip()?));
                Ok(())
            })?;
        }
        Ok(Self { container, parts })
    }

    /// The step to the part that holds a target, and where that part is.
    fn step_to(&self, target: &Range<usize>) -> Option<(Step, Range<usize>)> {
        let index = self
            .parts
            .partition_point(|(_, part)| part.end < target.end);
        let (key, part) = self
            .parts
            .get(index)
            .filter(|(_, part)| part.start <= target.start)?;
        let step = match key.clone() {
            Some(key) => Step::Member {
                key,
                object: self.container.clone(),
            },
            None => Step::Element {
                array: self.container.clone(),
                element: part.clone(),
                index,
            },
        };
        Some((step, part.clone()))
    }
}

fn usize_range(range: &Range<u64>) -> Range<usize> {
    let number = |at: u64| usize::try_from(at).unwrap_or(usize::MAX);
    number(range.start)..number(range.end)
}

/// JSON without line ends, which are white space in it: a record may be a line.
pub(crate) fn on_one_line(json: &[u8]) -> Vec<u8> {
    let flat = |byte: &u8| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            *byte
        }
    };
    json.iter().map(flat).collect()
}

pub(crate) fn is_within(item: &Item, unit: Span) -> bool {
    unit.start <= item.span.start && item.span.end <= unit.end
}
