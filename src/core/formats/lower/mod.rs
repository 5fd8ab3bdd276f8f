//! From edits to bytes: what the history is to say, written where the file holds it, with every other byte
//! left as it is.
//!
//! Three questions are answered one after the other: which object of the dialect an item belongs to and in
//! which list that object is (`place`), what leaves and what comes at these places (here; `claude_code` for
//! lines that are linked), and how elements of a list are separated (`list`).

mod claude_code;
mod edits;
mod list;
mod native;
mod place;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use crate::json::{Cursor, JsonError, JsonErrorKind};
use crate::session::{
    Dialect, Edit, Family, Item, Kind, MessageRole, Patch, Session, Span, Splice,
};
use crate::wire::write::{Member, draft_output, members_at};
use claude_code::AddedLines;
use edits::{dropped_by, in_call_order, reply_end, without_conflict};
use list::{ListEdits, insertion, splice_list};
pub use native::{EditedRows, NativeEdits, native_edits};
pub use place::CannotWrite;
use place::{Ground, List, Place, Seat, is_within, on_one_line};
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

/// The splices of the session's source that carry out edits.
pub fn lower(session: &Session, edits: &[Edit]) -> Result<Vec<Splice>, CannotWrite> {
    if session.format == super::retake_journal::FORMAT.id {
        return Err(CannotWrite::Journal);
    }
    if let Some(file) = &session.file {
        return native::lower(session, file, edits);
    }
    let mut lowering = Lowering {
        dropped: dropped_by(session, edits),
        degraded: edits.iter().filter_map(degraded_by).collect(),
        cut: edits.iter().filter_map(cut_of).min(),
        ground: Ground::new(session),
        lists: BTreeMap::new(),
        begun: BTreeMap::new(),
        filled: BTreeMap::new(),
        splices: Vec::new(),
        lines: AddedLines::default(),
        reply: None,
        is_linked: LINKED.contains(&session.format),
    };
    for edit in in_call_order(edits) {
        lowering.edit(edit)?;
    }
    drop_items(&mut lowering)?;
    lowering.finish()
}

/// The formats whose lines hold a message each and name the line before them.
const LINKED: [&str; 2] = [super::claude_code::FORMAT.id, super::qwen_code::FORMAT.id];

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

fn degraded_by(edit: &Edit) -> Option<u32> {
    match edit {
        Edit::Degrade { item, .. } => Some(*item),
        _ => None,
    }
}

struct Lowering<'a> {
    ground: Ground<'a>,
    dropped: BTreeSet<u32>,
    /// The items that become text.
    degraded: BTreeSet<u32>,
    /// The first item of those that a cut takes along.
    cut: Option<u32>,
    lists: BTreeMap<List, ListEdits>,
    /// Outputs after a message that no message of the user follows: they become one, where outputs are blocks.
    begun: BTreeMap<u32, Begun>,
    /// Blocks for messages that say nothing, by where their content is.
    filled: BTreeMap<(u64, u64), Vec<String>>,
    splices: Vec<Splice>,
    lines: AddedLines,
    /// The items from a call to the end of its reply and the outputs after it, as they were walked last, and
    /// the last that stays.
    reply: Option<(Range<u32>, u32)>,
    /// Whether lines name the line before them.
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
            // What is on many lines is not a line of a file.
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

    /// Puts an output where the dialect wants it: after the reply and the outputs that are there already; in
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

    /// Whether an item leaves because everything after a place does.
    fn is_cut(&self, index: u32) -> bool {
        self.cut.is_some_and(|from| index >= from)
    }

    /// The last item of the reply that holds a call and of the outputs right after it.
    fn end_of_reply(&mut self, call: u32) -> u32 {
        if let Some((known, last)) = &self.reply
            && known.contains(&call)
        {
            return call.max(*last);
        }
        let (last, end) = reply_end(self.ground.session, &self.dropped, call);
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

    /// The first item of the message after an item, where that is the user's.
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
            self.splices.push(Splice::new(place.unit, with));
            return Ok(());
        };
        // Text goes after the last result of the message: results stand first.
        let items = &self.ground.session.items;
        let results = (index + 1..)
            .zip(&items[index as usize + 1..])
            .take_while(|(_, next)| is_within(next, place.unit))
            .filter(|(at, next)| next.kind == Kind::Output && !self.degraded.contains(at));
        let block = codec.text_block(text);
        match results.last() {
            None => self
                .splices
                .push(Splice::new(seat.span, block.into_bytes())),
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
                let written = self.say_first(voice, text);
                return written.map_err(|_| CannotWrite::NoPlace(after));
            }
            place => place?,
        };
        let last = self.end_of_unit(after, place);
        let message = new_message(self.ground.session, &item, voice, text);
        self.put_unit(last, None, message)
    }

    /// Puts a new message or item after the one that holds `anchor`, with what the file puts around it.
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
        let head = source.read(Span::new(span.start, place.unit.start))?;
        let tail = source.read(Span::new(place.unit.end, span.end))?;
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
        without_conflict(self.splices, self.ground.session)
    }
}

/// How the messages of a session are spelled.
fn dialect_of(session: &Session) -> Dialect {
    let spelled = session.items.iter().find_map(|item| item.dialect);
    spelled.unwrap_or_default()
}

// Outputs that come into a message of the user, whatever its content looks like.

/// A message of outputs that was put after a reply.
#[derive(Debug)]
struct Begun {
    blocks: Vec<String>,
    /// Which it is among what was put there.
    number: usize,
}

impl Lowering<'_> {
    /// Puts a `tool_result` block into a message of its own after a reply, or into the one that was
    /// put there for another.
    fn put_first_block(&mut self, seat: Seat, last: u32, block: &str) -> Result<(), CannotWrite> {
        let facts = self.ground.item(last)?.facts();
        let facts = facts.ok_or(CannotWrite::NoPlace(last))?;
        let message_of = |blocks: &str| facts.message_of("user", blocks);
        let Some(begun) = self.begun.get_mut(&last) else {
            let edits = self.lists.get(&seat.list);
            let there = edits.and_then(|edits| edits.at.get(&seat.index));
            let begun = Begun {
                blocks: vec![block.to_owned()],
                number: there.map_or(0, |there| there.after.len()),
            };
            self.begun.insert(last, begun);
            return self.put_unit(last, None, message_of(block));
        };
        begun.blocks.push(block.to_owned());
        let (number, message) = (begun.number, message_of(&begun.blocks.join(",")));
        let place = self.ground.place(last)?;
        let message = self.wrapped(place, message)?;
        let edits = self.lists.entry(seat.list).or_default();
        let after = &mut edits.at.entry(seat.index).or_default().after;
        if let Some(there) = after.get_mut(number) {
            *there = message;
        }
        Ok(())
    }

    /// Puts a `tool_result` block among those at the head of a message: after those of earlier calls.
    fn put_block(&mut self, first: u32, call: u32, block: &str) -> Result<(), CannotWrite> {
        let place = self.ground.place(first)?;
        let Some(seat) = place.part else {
            return self.put_into_text(first, block);
        };
        let session = self.ground.session;
        let is_earlier = |index: &u32| {
            let answered = session.pairing.partner(*index as usize);
            let item = &session.items[*index as usize];
            item.kind == Kind::Output
                && is_within(item, place.unit)
                && answered.is_none_or(|answered| answered < call as usize)
        };
        let leading = (first..crate::session::index_number(session.items.len()))
            .take_while(is_earlier)
            .count();
        let edits = self.lists.entry(seat.list).or_default();
        match leading {
            0 => edits.front.push(block.to_owned()),
            count => {
                let at = edits.at.entry(seat.index + count - 1).or_default();
                at.after.push(block.to_owned());
            }
        }
        Ok(())
    }

    /// A message whose content is a string becomes one of blocks, and one without content gets some.
    fn put_into_text(&mut self, index: u32, block: &str) -> Result<(), CannotWrite> {
        let item = self.ground.item(index)?;
        if self.dropped.contains(&index) {
            return Err(CannotWrite::Conflict(index));
        }
        let text = self.ground.bytes(item)?;
        if let Some(content) = empty_content(&text)? {
            let content = Span::within(item.span.start, content);
            let blocks = self.filled.entry((content.start, content.end)).or_default();
            blocks.push(block.to_owned());
            return Ok(());
        }
        if text.first() != Some(&b'"') {
            return Err(CannotWrite::NoPlace(index));
        }
        let opening = Span::new(item.span.start, item.span.start);
        let closing = Span::new(item.span.end, item.span.end);
        let is_open = self.splices.iter().any(|splice| splice.at == closing);
        let open = if is_open {
            format!("{block},")
        } else {
            self.splices.push(Splice::new(closing, b"}]".to_vec()));
            format!("[{block},")
        };
        // Each further block goes in front of the text block, which is opened by the last splice at this place.
        self.splices
            .retain(|splice| splice.at != opening || splice.with != TEXT_OPENS);
        self.splices.push(Splice::new(opening, open.into_bytes()));
        self.splices.push(Splice::new(opening, TEXT_OPENS.to_vec()));
        Ok(())
    }
}

/// Where the content of a message is that says nothing: `[]`, `null` or `""`. An item without content is
/// its whole message, one whose content is a string is that string.
fn empty_content(item: &[u8]) -> Result<Option<Range<usize>>, CannotWrite> {
    let is_empty = |value: &[u8]| {
        let inside = value
            .strip_prefix(b"[")
            .and_then(|rest| rest.strip_suffix(b"]"));
        matches!(value, b"null" | b"\"\"")
            || inside.is_some_and(|rest| rest.trim_ascii().is_empty())
    };
    if item.first() != Some(&b'{') {
        return Ok(is_empty(item).then_some(0..item.len()));
    }
    let members = members_at(item, 0)?;
    let mut members = members.into_iter();
    let content = members.find(|member| matches!(member.key, b"content" | b"parts"));
    let content = content.map(|member| member.value);
    Ok(content.filter(|content| is_empty(&item[content.clone()])))
}

/// What opens the block that a string of a message becomes.
const TEXT_OPENS: &[u8] = br#"{"type":"text","text":"#;

// Items that leave: alone where they are a whole object, as a part of their message, or with the message where
// nothing of it is left.

/// Takes out every dropped item.
fn drop_items(lowering: &mut Lowering<'_>) -> Result<(), CannotWrite> {
    let dropped: Vec<u32> = lowering.dropped.iter().copied().collect();
    let mut done = Span::default();
    for index in dropped {
        let item = *lowering.ground.item(index)?;
        if item.span.is_empty() || (is_within(&item, done) && !done.is_empty()) {
            continue;
        }
        let place = match lowering.ground.place(index) {
            // What is cut after the history of a request are its settings, which are not part of the history.
            Err(CannotWrite::NoPlace(_)) if item.kind == Kind::System && lowering.is_cut(index) => {
                continue;
            }
            place => place?,
        };
        done = place.unit;
        drop_from_unit(lowering, index, place)?;
    }
    Ok(())
}

/// The items of the unit that holds `member`, by number: they are neighbours in the history.
fn items_of(lowering: &Lowering<'_>, member: u32, unit: Span) -> Vec<u32> {
    let items = &lowering.ground.session.items;
    let start = items[..member as usize]
        .iter()
        .rposition(|item| !is_within(item, unit))
        .map_or(0, |before| before + 1);
    let count = items[start..]
        .iter()
        .take_while(|item| is_within(item, unit))
        .count();
    (start..start + count)
        .map(crate::session::index_number)
        .collect()
}

fn drop_from_unit(
    lowering: &mut Lowering<'_>,
    member: u32,
    place: Place,
) -> Result<(), CannotWrite> {
    let own = items_of(lowering, member, place.unit);
    let (gone, kept): (Vec<u32>, Vec<u32>) = own
        .into_iter()
        .partition(|index| lowering.dropped.contains(index));
    let first = gone
        .first()
        .map(|index| lowering.ground.item(*index))
        .transpose()?;
    match first.and_then(Item::facts) {
        Some(facts) if facts.has_blocks => drop_blocks(lowering, place, &gone, &kept),
        Some(facts) if facts.calls_key.is_some() => {
            drop_from_message(lowering, place, &gone, &kept)
        }
        _ => {
            drop_seat(lowering, place.seat);
            Ok(())
        }
    }
}

fn drop_seat(lowering: &mut Lowering<'_>, seat: Seat) {
    let edits = lowering.lists.entry(seat.list).or_default();
    edits.at.entry(seat.index).or_default().is_dropped = true;
}

/// Blocks of a message.
fn drop_blocks(
    lowering: &mut Lowering<'_>,
    place: Place,
    gone: &[u32],
    kept: &[u32],
) -> Result<(), CannotWrite> {
    let mut seats = Vec::new();
    for index in gone {
        seats.extend(lowering.ground.place(*index)?.part);
    }
    let list = seats.first().map(|seat| seat.list);
    let gains = list
        .and_then(|list| lowering.lists.get(&list))
        .is_some_and(|edits| {
            !edits.front.is_empty() || edits.at.values().any(|edit| !edit.after.is_empty())
        });
    if (kept.is_empty() && !gains) || list.is_none() {
        drop_seat(lowering, place.seat);
        return Ok(());
    }
    for seat in seats {
        drop_seat(lowering, seat);
    }
    Ok(())
}

/// Chat: the text of a message, or entries of its `tool_calls`.
fn drop_from_message(
    lowering: &mut Lowering<'_>,
    place: Place,
    gone: &[u32],
    kept: &[u32],
) -> Result<(), CannotWrite> {
    if kept.is_empty() {
        drop_seat(lowering, place.seat);
        return Ok(());
    }
    let record = lowering.ground.item(gone[0])?.record;
    let base = lowering
        .ground
        .record_span(record)
        .unwrap_or_default()
        .start;
    let bytes = lowering.ground.record(record)?;
    let unit = usize::try_from(place.unit.start - base).unwrap_or(usize::MAX);
    let items = &lowering.ground.session.items;
    let is_call = |index: &u32| items[*index as usize].kind == Kind::Call;
    let calls_left = kept.iter().any(is_call);
    let (mut text_goes, mut seats) = (false, Vec::new());
    for index in gone {
        if is_call(index) {
            seats.extend(lowering.ground.place(*index)?.part);
        } else {
            text_goes = true;
        }
    }
    let splice = |range: Range<usize>, with: &str| {
        Splice::new(Span::within(base, range), with.as_bytes().to_vec())
    };
    let members = members_at(&bytes, unit)?;
    if text_goes && let Some(content) = members.iter().find(|member| member.key == b"content") {
        lowering.splices.push(splice(content.value.clone(), "null"));
    }
    if calls_left {
        for seat in seats {
            drop_seat(lowering, seat);
        }
    } else if gone.iter().any(is_call) {
        for key in [&b"tool_calls"[..], b"function_call"] {
            if let Some(range) = without(&members, key) {
                lowering.splices.push(splice(range, ""));
            }
        }
    }
    Ok(())
}

/// A member of an object.
/// The members of the object at a place.
/// The range that takes a member out together with one comma.
fn without(members: &[Member<'_>], key: &[u8]) -> Option<Range<usize>> {
    let index = members.iter().position(|member| member.key == key)?;
    let whole = members[index].range();
    Some(match (index.checked_sub(1), members.get(index + 1)) {
        (Some(before), _) => members[before].value.end..whole.end,
        (None, Some(next)) => whole.start..next.start,
        (None, None) => whole,
    })
}

// New elements at the end of the history: after the last one, or into a list that has none yet.

/// The largest request without a history that is looked through for the place of one, in
/// bytes: instructions and tools.
const LARGEST: u64 = 64 << 20;

impl Lowering<'_> {
    /// Appends elements, each the JSON of one object of the dialect.
    fn extend(&mut self, items: &[String]) -> Result<(), CannotWrite> {
        if !is_plain(self.ground.session.format) {
            return Err(CannotWrite::NotAppended);
        }
        let mut elements = Vec::with_capacity(items.len());
        for item in items {
            check_object(item)?;
            let flat = on_one_line(item.as_bytes());
            elements.push(String::from_utf8_lossy(&flat).into_owned());
        }
        let Some(last) = self.last_in_a_list()? else {
            return self.begin_list(elements);
        };
        let is_reply = self.ground.is_in_output(last)?;
        let place = self.ground.place(last)?;
        if is_reply || place.seat.span != place.unit {
            return Err(CannotWrite::NotAppended);
        }
        let seat = self.ground.last_seat(place.seat)?;
        for element in elements {
            self.put_after(seat, element);
        }
        Ok(())
    }

    /// A message at the end of a history that has no element yet.
    fn say_first(&mut self, voice: MessageRole, text: &str) -> Result<(), CannotWrite> {
        let codec = self.ground.session.dialect.codec();
        self.extend(&[codec.message(voice, text)])
    }

    /// Whether no item is an element of a list: there is none, or instructions, or all of the
    /// input is one text.
    fn has_no_list(&mut self) -> Result<bool, CannotWrite> {
        let is_plain = is_plain(self.ground.session.format);
        Ok(is_plain && self.last_in_a_list()?.is_none())
    }

    /// The last item that is an element of a list, or is in one.
    fn last_in_a_list(&mut self) -> Result<Option<u32>, CannotWrite> {
        let count = crate::session::index_number(self.ground.session.items.len());
        for index in (0..count).rev() {
            match self.ground.place(index) {
                Ok(_) => return Ok(Some(index)),
                Err(CannotWrite::NoPlace(_)) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(None)
    }

    /// Fills the list of a request that holds nothing, or only a text.
    fn begin_list(&mut self, elements: Vec<String>) -> Result<(), CannotWrite> {
        let source = &self.ground.session.source;
        let end = source.len();
        if end > LARGEST {
            return Err(CannotWrite::EmptyList);
        }
        let bytes = source.read(Span { start: 0, end })?;
        let text = elements.join(",");
        match list_of(&bytes)? {
            Holder::List(list) => {
                let inside = &bytes[list.start + 1..list.end - 1];
                let comma = if inside.trim_ascii().is_empty() {
                    ""
                } else {
                    ","
                };
                let following = list.start + 1 + inside.trim_ascii_end().len();
                self.splices
                    .push(insertion(following as u64, comma.to_owned() + &text));
            }
            Holder::Text(input) => {
                // What was said stays as it is written; only what is around it comes.
                let opens = insertion(input.start as u64, INPUT_OPENS.to_owned());
                let closes = insertion(input.end as u64, format!("}},{text}]"));
                self.close_list(opens, closes, &text);
            }
        }
        Ok(())
    }

    fn close_list(&mut self, opens: Splice, closes: Splice, text: &str) {
        let earlier = self
            .splices
            .iter_mut()
            .find(|splice| splice.at == closes.at && splice.with.ends_with(b"]"));
        match earlier {
            Some(earlier) => {
                earlier.with.pop();
                earlier
                    .with
                    .extend_from_slice(format!(",{text}]").as_bytes());
            }
            None => self.splices.extend([opens, closes]),
        }
    }
}

/// What is before the text of an input that becomes the first item of a list (OpenAI API reference: a
/// string as `input` is a text input with the role `user`).
const INPUT_OPENS: &str = r#"[{"role":"user","content":"#;

/// Whether a history in this format is a plain list of what the provider is sent.
fn is_plain(format: &str) -> bool {
    Dialect::ALL
        .iter()
        .any(|dialect| dialect.facts().format == format)
}

/// Whether a member of a request holds its history.
fn holds_history(key: &[u8]) -> bool {
    let mut keys = Dialect::ALL
        .iter()
        .map(|dialect| dialect.facts().history_key);
    key == b"items" || keys.any(|known| known.as_bytes() == key)
}

/// Where a request holds its history.
enum Holder {
    List(Range<usize>),
    /// A text, with its quotes.
    Text(Range<usize>),
}

/// The history of a text that is one request, or one list.
fn list_of(bytes: &[u8]) -> Result<Holder, CannotWrite> {
    let mut cursor = Cursor::new(bytes);
    let opens = cursor.peek();
    let mut found = None;
    if opens == Some(b'[') {
        found = Some(Holder::List(cursor.skip()?));
    } else {
        cursor.object(|cursor, key| {
            let opens = cursor.peek();
            let value = cursor.skip()?;
            match opens {
                Some(b'[') if holds_history(key) => found = Some(Holder::List(value)),
                Some(b'"') if key == b"input" => found = Some(Holder::Text(value)),
                _ => {}
            }
            Ok(())
        })?;
    }
    // Several requests on lines of their own are a log.
    if cursor.peek().is_some() {
        return Err(CannotWrite::Exchanges);
    }
    found.ok_or(CannotWrite::EmptyList)
}

/// Whether a text is one JSON object and nothing else.
fn check_object(text: &str) -> Result<(), CannotWrite> {
    let bytes = text.as_bytes();
    let mut cursor = Cursor::new(bytes);
    let opens = cursor.peek();
    let fault = |at, found: Option<u8>| {
        JsonError::new(at, found.map_or(JsonErrorKind::End, JsonErrorKind::Byte))
    };
    if opens != Some(b'{') {
        return Err(fault(cursor.position(), opens).into());
    }
    cursor.skip()?;
    match cursor.peek() {
        None => Ok(()),
        found => Err(fault(cursor.position(), found).into()),
    }
}
