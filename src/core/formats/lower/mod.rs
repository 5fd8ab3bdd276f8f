//! From edits to bytes: what the history is to say, written where the file holds it, with every other byte
//! left as it is.
//!
//! Three questions are answered one after the other: which object of the dialect an item belongs to and in
//! which list that object stands (`place`), what leaves and what comes at these places (here; `unit` for
//! messages that lose a part, `block` for those that gain one, `claude_code` for lines that are linked), and
//! how elements of a list are separated (`list`).

mod block;
mod claude_code;
mod extend;
mod list;
mod place;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
mod unit;

use crate::json::JsonError;
use crate::session::{
    Dialect, Edit, Family, Item, Kind, MessageRole, Patch, Session, SourceError, Span, Splice,
};
use crate::wire::write::draft_output;
use block::Begun;
use claude_code::Lines;
use list::{ListEdits, splice_list};
use place::{Ground, List, Place, Seat};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// Why edits cannot be written where the session stands.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum CannotWrite {
    /// An edit names an item that the session does not have.
    #[error("there is no item {0}")]
    NoItem(u32),
    /// The item is a member of a request, no element of its history: instructions, or all of the
    /// input as one text.
    #[error("item {} stands in no list of messages", .0 + 1)]
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

/// The splices of the session's source that carry out edits.
pub fn lower(session: &Session, edits: &[Edit]) -> Result<Vec<Splice>, CannotWrite> {
    if session.format == super::retake_journal::FORMAT.id {
        return Err(CannotWrite::Journal);
    }
    let mut lowering = Lowering {
        dropped: dropped_by(session, edits),
        cut: edits.iter().filter_map(cut_of).min(),
        ground: Ground::new(session),
        lists: BTreeMap::new(),
        begun: BTreeMap::new(),
        filled: BTreeMap::new(),
        splices: Vec::new(),
        lines: Lines::default(),
        reply: None,
        is_linked: session.format == super::claude_code::FORMAT.id,
    };
    for edit in in_call_order(edits) {
        lowering.edit(edit)?;
    }
    unit::drop_items(&mut lowering)?;
    lowering.finish()
}

/// The same edits, with the answers among them in the order of their calls.
fn in_call_order(edits: &[Edit]) -> Vec<&Edit> {
    let call = |edit: &&Edit| match edit {
        Edit::Answer { call, .. } => Some(*call),
        _ => None,
    };
    let mut answers: Vec<&Edit> = edits.iter().filter(|edit| call(edit).is_some()).collect();
    answers.sort_by_key(call);
    let mut answers = answers.into_iter();
    let next = |edit| match call(&edit) {
        Some(_) => answers.next().unwrap_or(edit),
        None => edit,
    };
    edits.iter().map(next).collect()
}

/// The items that leave their places.
fn dropped_by(session: &Session, edits: &[Edit]) -> BTreeSet<u32> {
    let mut dropped = BTreeSet::new();
    for edit in edits {
        match edit {
            Edit::Drop { item } => {
                dropped.insert(*item);
            }
            Edit::Move { output, .. } => {
                dropped.insert(*output);
            }
            Edit::Cut { from } => {
                dropped.extend(*from..crate::session::index_number(session.items.len()))
            }
            Edit::Rewrite { .. }
            | Edit::Answer { .. }
            | Edit::Degrade { .. }
            | Edit::Say { .. }
            | Edit::Relink { .. }
            | Edit::Insert { .. }
            | Edit::Extend { .. } => {}
        }
    }
    dropped
}

/// A new message as the file of a session spells it beside an item.
pub fn new_message(session: &Session, beside: &Item, voice: MessageRole, text: &str) -> String {
    if session.format == super::codex::FORMAT.id {
        return super::codex::message(voice, text);
    }
    let dialect = beside.dialect.unwrap_or_else(|| dialect_of(session));
    dialect.codec().message(voice, text)
}

fn cut_of(edit: &Edit) -> Option<u32> {
    match edit {
        Edit::Cut { from } => Some(*from),
        _ => None,
    }
}

struct Lowering<'a> {
    ground: Ground<'a>,
    dropped: BTreeSet<u32>,
    /// The first item of those that a cut takes along.
    cut: Option<u32>,
    lists: BTreeMap<List, ListEdits>,
    /// Outputs behind a message that no message of the user follows: they become one, where outputs are blocks.
    begun: BTreeMap<u32, Begun>,
    /// Blocks for messages that say nothing, by where their content stands.
    filled: BTreeMap<(u64, u64), Vec<String>>,
    splices: Vec<Splice>,
    lines: Lines,
    /// The items from a call to the end of its reply and the outputs behind it, as they were walked last, and
    /// the last that stays.
    reply: Option<(Range<u32>, u32)>,
    /// Whether lines name the line before them (Claude Code).
    is_linked: bool,
}

impl Lowering<'_> {
    fn edit(&mut self, edit: &Edit) -> Result<(), CannotWrite> {
        match edit {
            Edit::Drop { .. } | Edit::Cut { .. } => Ok(()),
            Edit::Rewrite { item, patches } => self.rewrite(*item, patches),
            Edit::Answer {
                call,
                text,
                is_error,
            } => self.answer(*call, text, *is_error),
            Edit::Move { output, call } => {
                let item = self.ground.item(*output)?;
                let bytes = on_one_line(&self.ground.bytes(item)?);
                self.put_output(*call, String::from_utf8_lossy(&bytes).into_owned())
            }
            Edit::Degrade { item, text } => self.degrade(*item, text),
            Edit::Say { after, voice, text } => self.say(*after, *voice, text),
            Edit::Extend { items } => self.extend(items),
            Edit::Insert { after, element } => {
                let place = self.ground.place(*after)?;
                let last = self.end_of_unit(*after, place);
                self.put_unit(last, None, element.clone())
            }
            Edit::Relink { item } if self.is_linked => {
                self.lines.relink(*item);
                Ok(())
            }
            Edit::Relink { item } => Err(CannotWrite::NoPlace(*item)),
        }
    }

    fn rewrite(&mut self, index: u32, patches: &[Patch]) -> Result<(), CannotWrite> {
        let item = self.ground.item(index)?;
        if self.dropped.contains(&index) {
            return Err(CannotWrite::Conflict(index));
        }
        self.ground.check_alone(item)?;
        for patch in patches {
            let start = item.span.start + patch.at.start as u64;
            let end = item.span.start + patch.at.end as u64;
            let at = Span { start, end };
            // What stands on many lines is no line of a file.
            let is_line = !self.ground.session.source.read(at)?.contains(&b'\n');
            let with = match is_line {
                true => on_one_line(&patch.with),
                false => patch.with.clone(),
            };
            self.splices.push(Splice { at, with });
        }
        Ok(())
    }

    fn answer(&mut self, call: u32, text: &str, is_error: bool) -> Result<(), CannotWrite> {
        let session = self.ground.session;
        let item = self.ground.item(call)?;
        let id = match item.call_id.span(item.span) {
            Some(span) => String::from_utf8_lossy(&session.source.read(span)?).into_owned(),
            None if item.family == Family::Legacy => String::new(),
            None => return Err(CannotWrite::NoCallId(call)),
        };
        let output = draft_output(item, &id, session.name(item), text, is_error)
            .ok_or(CannotWrite::NoOutputOf(item.family))?;
        self.put_output(call, output)
    }

    /// Puts an output where the dialect wants it: behind the reply and the outputs that are there already; in
    /// Anthropic at the head of the next message.
    fn put_output(&mut self, call: u32, output: String) -> Result<(), CannotWrite> {
        let item = *self.ground.item(call)?;
        let Some(facts) = item.facts().filter(|facts| facts.has_blocks) else {
            let anchor = self.end_of_reply(call);
            return self.put_unit(anchor, Some(call), output);
        };
        if self.is_linked {
            let message = facts.message_of("user", &output);
            let anchor = self.end_of_reply(call);
            return self.put_unit(anchor, Some(call), message);
        }
        let place = self.ground.place(call)?;
        let last = self.end_of_unit(call, place);
        match self.next_of_user(last) {
            Some(next) => self.put_block(next, call, &output),
            None => self.put_first_block(place.seat, last, &output),
        }
    }

    /// Whether an item leaves because everything behind a place does.
    fn is_cut(&self, index: u32) -> bool {
        self.cut.is_some_and(|from| index >= from)
    }

    /// The last item of the reply that holds a call and of the outputs right behind it.
    fn end_of_reply(&mut self, call: u32) -> u32 {
        if let Some((known, last)) = &self.reply
            && known.contains(&call)
        {
            return call.max(*last);
        }
        let session = self.ground.session;
        let turn = session.items.get(call as usize).map(|item| item.turn);
        let (mut last, mut end) = (call, call + 1);
        for (index, item) in (call..).zip(&session.items[call as usize..]).skip(1) {
            let belongs = item.kind.is_from_model() || item.kind == Kind::Output;
            if Some(item.turn) != turn || !belongs || item.dialect.is_none() {
                break;
            }
            if !self.dropped.contains(&index) {
                last = index;
            }
            end = index + 1;
        }
        self.reply = Some((call..end, last));
        last
    }

    /// The last item of the unit of an item.
    fn end_of_unit(&self, index: u32, place: Place) -> u32 {
        let items = &self.ground.session.items;
        let mut last = index;
        while let Some(next) = items.get(last as usize + 1) {
            if !is_within(next, place.unit) {
                break;
            }
            last += 1;
        }
        last
    }

    /// The first item of the message behind an item, where that is the user's.
    fn next_of_user(&self, last: u32) -> Option<u32> {
        let next = self.ground.session.items.get(last as usize + 1)?;
        let is_of_user = next.facts().is_some_and(|facts| match next.kind {
            Kind::Output => facts.has_blocks,
            Kind::User => facts.mixes_outputs,
            _ => false,
        });
        is_of_user.then_some(last + 1)
    }

    fn degrade(&mut self, index: u32, text: &str) -> Result<(), CannotWrite> {
        let item = *self.ground.item(index)?;
        let place = self.ground.place(index)?;
        let codec = item.codec().filter(|codec| codec.facts().has_blocks);
        let (Some(codec), Some(seat)) = (codec, place.part) else {
            let with =
                new_message(self.ground.session, &item, MessageRole::User, text).into_bytes();
            self.splices.push(Splice {
                at: place.unit,
                with,
            });
            return Ok(());
        };
        // Text goes behind the last result of the message: results stand first.
        let items = &self.ground.session.items;
        let results = (index + 1..)
            .zip(&items[index as usize + 1..])
            .take_while(|(_, next)| is_within(next, place.unit))
            .filter(|(_, next)| next.kind == Kind::Output);
        let block = codec.text_block(text);
        match results.last() {
            None => self.splices.push(Splice {
                at: seat.span,
                with: block.into_bytes(),
            }),
            Some((last, _)) => {
                self.dropped.insert(index);
                self.reply = None;
                if let Some(seat) = self.ground.place(last)?.part {
                    self.put_after(seat, block);
                }
            }
        }
        Ok(())
    }

    fn say(&mut self, after: u32, voice: MessageRole, text: &str) -> Result<(), CannotWrite> {
        if self.ground.session.items.is_empty() {
            return self.say_first(voice, text);
        }
        let item = *self.ground.item(after)?;
        let place = match self.ground.place(after) {
            Err(CannotWrite::NoPlace(_)) if self.has_no_list()? => {
                let said = self.say_first(voice, text);
                return said.map_err(|_| CannotWrite::NoPlace(after));
            }
            place => place?,
        };
        let last = self.end_of_unit(after, place);
        let message = new_message(self.ground.session, &item, voice, text);
        self.put_unit(last, None, message)
    }

    /// Puts a new message or item behind the one that holds `anchor`, with what the file puts around it.
    fn put_unit(
        &mut self,
        anchor: u32,
        answers: Option<u32>,
        unit: String,
    ) -> Result<(), CannotWrite> {
        let place = self.ground.place(anchor)?;
        let element = if self.is_linked {
            self.lines
                .put(&mut self.ground, anchor, answers, &unit, &self.dropped)?
        } else {
            self.wrapped(place, unit)?
        };
        self.put_after(place.seat, element);
        Ok(())
    }

    fn put_after(&mut self, seat: Seat, text: String) {
        let edits = self.lists.entry(seat.list).or_default();
        edits.at.entry(seat.index).or_default().after.push(text);
    }

    /// A unit with the envelope of its neighbour.
    fn wrapped(&self, place: Place, unit: String) -> Result<String, CannotWrite> {
        let Seat { span, .. } = place.seat;
        if span == place.unit {
            return Ok(unit);
        }
        let source = &self.ground.session.source;
        let head = source.read(Span {
            start: span.start,
            end: place.unit.start,
        })?;
        let tail = source.read(Span {
            start: place.unit.end,
            end: span.end,
        })?;
        let [head, tail] = [head, tail].map(|bytes| String::from_utf8_lossy(&bytes).into_owned());
        Ok(format!("{head}{unit}{tail}"))
    }

    fn finish(mut self) -> Result<Vec<Splice>, CannotWrite> {
        for (list, edits) in &self.lists {
            splice_list(&mut self.ground, *list, edits, &mut self.splices)?;
        }
        for ((start, end), blocks) in std::mem::take(&mut self.filled) {
            let at = Span { start, end };
            let with = format!("[{}]", blocks.join(",")).into_bytes();
            self.splices.push(Splice { at, with });
        }
        if self.is_linked {
            let gone = self.lists.get(&List::Records);
            self.lines.link(&mut self.ground, gone, &mut self.splices)?;
        }
        self.splices
            .sort_by_key(|splice| (splice.at.start, splice.at.end));
        let meets = self
            .splices
            .windows(2)
            .find(|pair| pair[1].at.start < pair[0].at.end);
        match meets {
            None => Ok(self.splices),
            Some(pair) => Err(CannotWrite::Conflict(self.item_at(pair[1].at.start))),
        }
    }

    fn item_at(&self, place: u64) -> u32 {
        let mut items = (0..).zip(&self.ground.session.items);
        items
            .find(|(_, item)| item.span.contains(place))
            .map_or(0, |(index, _)| index)
    }
}

/// JSON without line ends, which are white space in it: a record may be a line.
fn on_one_line(json: &[u8]) -> Vec<u8> {
    let flat = |byte: &u8| {
        if matches!(byte, b'\n' | b'\r') {
            b' '
        } else {
            *byte
        }
    };
    json.iter().map(flat).collect()
}

/// Whether an item stands in a unit.
fn is_within(item: &Item, unit: Span) -> bool {
    unit.start <= item.span.start && item.span.end <= unit.end
}

/// How the messages of a session are spelled.
fn dialect_of(session: &Session) -> Dialect {
    let spelled = session.items.iter().find_map(|item| item.dialect);
    spelled.unwrap_or_default()
}
