//! Formats that spell a history in their own way: an edit changes the records of the file that the items were made
//! of. An item is found by its call id in the record that it was read from, so that only calls and
//! outputs can be edited.

mod rewrite;
mod writers;

use super::claude_code::{Link, Links, join_broken, link_of, new_id};
use super::edits::{dropped_by, in_call_order, reply_end, without_conflict};
use super::list::{ListEdits, splice_list};
use super::place::{CannotWrite, Ground, List};
use crate::formats::sample::{Layout, Sample};
use crate::formats::transcript::read_values;
use crate::json::{Cursor, Result};
use crate::session::{Edit, Kind, Patch, Record, Session, Source, Span, Splice, index_number};
use crate::wire::write::edit::{elements, with_value};
use crate::wire::write::{Object, members_at, quoted, text_of};
use rewrite::{ItemValues, at, set};
use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::ops::Range;
use std::sync::Arc;
use writers::{
    AiSdk, Copilot, GeminiCli, Goose, Hermes, LangChain, OpenClaw, Opencode, OutputTexts, Pi,
    PydanticAi, WriteNative,
};

/// How a format is edited.
pub struct NativeEdits {
    format: &'static str,
    /// The rows of a database that the records are; else they are lines or elements of a document.
    pub rows: Option<EditedRows>,
    /// Where a document that is an object may hold the list of the records.
    lists: &'static [&'static [&'static str]],
    /// The member of a record that holds its entry, where the record is not the entry itself.
    holder: Option<&'static str>,
    /// The members by which an entry names itself and the one before.
    links: Option<Links>,
    /// The members that hold the id of a call, in the call and in its output.
    ids: &'static [&'static str],
    /// Where a call that holds its output has the object of it with an id of its own.
    output_in_call: &'static [&'static str],
    write: &'static (dyn WriteNative + Sync),
}

/// The rows of a table that hold the messages, or the parts of messages.
#[derive(Debug, PartialEq, Eq)]
pub struct EditedRows {
    /// Which of the queries of the format reads them.
    pub query: usize,
    pub table: &'static str,
    /// The column of the query that holds the row id.
    pub number: &'static str,
    /// The columns whose texts are JSON.
    pub json: &'static [&'static str],
    /// The column by which rows are ordered before their ids; of these, new ones may come in.
    pub order: Option<&'static str>,
}

const PI: NativeEdits = NativeEdits {
    format: "pi",
    rows: None,
    lists: &[],
    holder: None,
    links: Some(Links {
        id: "id",
        parent: "parentId",
    }),
    ids: &["id", "toolCallId"],
    output_in_call: &["result", "0", "functionResponse"],
    write: &Pi,
};

static NATIVE: [NativeEdits; 12] = [
    PI,
    NativeEdits {
        format: "openclaw-sqlite",
        rows: Some(EditedRows {
            query: 0,
            table: "transcript_events",
            number: "number",
            json: &["event_json"],
            order: None,
        }),
        holder: Some("event_json"),
        write: &OpenClaw,
        ..PI
    },
    NativeEdits {
        format: "gemini-cli",
        links: None,
        ids: &["id"],
        write: &GeminiCli,
        ..PI
    },
    NativeEdits {
        format: "copilot-cli",
        ids: &["toolCallId"],
        write: &Copilot,
        ..PI
    },
    NativeEdits {
        format: "opencode",
        links: None,
        ids: &["callID"],
        write: &Opencode,
        ..PI
    },
    NativeEdits {
        format: "opencode-sqlite",
        rows: Some(EditedRows {
            query: 2,
            table: "part",
            number: "number",
            json: &["data"],
            order: None,
        }),
        links: None,
        ids: &["callID"],
        write: &Opencode,
        ..PI
    },
    NativeEdits {
        format: "goose",
        links: None,
        ids: &["id"],
        write: &Goose("content"),
        ..PI
    },
    NativeEdits {
        format: "goose-sqlite",
        rows: Some(EditedRows {
            query: 1,
            table: "messages",
            number: "id",
            json: &["content_json"],
            order: Some("timestamp"),
        }),
        links: None,
        ids: &["id"],
        write: &Goose("content_json"),
        ..PI
    },
    NativeEdits {
        format: "hermes-sqlite",
        rows: Some(EditedRows {
            query: 1,
            table: "messages",
            number: "id",
            json: &["tool_calls"],
            order: Some("timestamp"),
        }),
        links: None,
        ids: &["tool_call_id", "id", "call_id"],
        write: &Hermes,
        ..PI
    },
    NativeEdits {
        format: "langchain",
        lists: &[&["messages"], &["values", "messages"]],
        links: None,
        ids: &["tool_call_id", "id"],
        write: &LangChain,
        ..PI
    },
    NativeEdits {
        format: "pydantic-ai",
        lists: &[&["messages"]],
        links: None,
        ids: &["tool_call_id"],
        write: &PydanticAi,
        ..PI
    },
    NativeEdits {
        format: "ai-sdk",
        lists: &[&["messages"]],
        links: None,
        ids: &["toolCallId"],
        write: &AiSdk,
        ..PI
    },
];

/// How a format is edited whose items do not stand in the file as they are.
pub fn native_edits(format: &str) -> Option<&'static NativeEdits> {
    NATIVE.iter().find(|native| native.format == format)
}

/// The splices of the file's text that carry out edits.
pub(super) fn lower(
    session: &Session,
    file: &Arc<dyn Source>,
    edits: &[Edit],
) -> Result<Vec<Splice>, CannotWrite> {
    let native = native_edits(session.format).ok_or(CannotWrite::OnlyPairs)?;
    for edit in edits {
        match edit {
            Edit::Say { .. } | Edit::Insert { .. } | Edit::Extend { .. } => {
                return Err(CannotWrite::OnlyPairs);
            }
            Edit::Answer { .. } | Edit::Move { .. } if native.write.leaves_open_calls() => {
                return Err(CannotWrite::AnswersItself);
            }
            Edit::Answer { .. }
            | Edit::Move { .. }
            | Edit::Rewrite { .. }
            | Edit::Drop { .. }
            | Edit::Cut { .. }
            | Edit::Degrade { .. }
            | Edit::Relink { .. } => {}
        }
    }
    let mut records = Session::empty(file.clone(), session.format, session.dialect);
    let found = Records::of(native, &**file)?;
    records.records = found.all.into();
    let mut lowering = NativeLowering {
        native,
        session,
        numbers: found.numbers,
        items: HashMap::new(),
        dropped: dropped_by(session, edits),
        ground: Ground::new(&records),
        lists: BTreeMap::new(),
        splices: Vec::new(),
        objects: BTreeMap::new(),
        added: HashMap::new(),
        broken: Vec::new(),
    };
    for index in 0..index_number(session.items.len()) {
        let number = lowering.number_of(index)?;
        lowering.items.entry(number).or_default().push(index);
    }
    for edit in in_call_order(edits) {
        lowering.edit(edit)?;
    }
    for item in lowering.dropped.clone() {
        lowering.drop_item(item)?;
    }
    lowering.finish()
}

/// The records of a file, and by the number that items name which they are.
struct Records {
    all: Vec<Record>,
    numbers: HashMap<u64, Vec<u32>>,
}

impl Records {
    fn of(native: &NativeEdits, file: &dyn Source) -> Result<Self, CannotWrite> {
        let bytes = file.read(Span::new(0, file.len()))?;
        let sample = Sample::new(&bytes, true);
        let document = std::str::from_utf8(&bytes[sample.skipped..]).unwrap_or_default();
        let list = || native.lists.iter().find_map(|keys| at(document, keys));
        let inside = match sample.layout {
            Layout::Array(inside) => inside,
            Layout::Object(_) => list().map_or(0, |start| start + 1),
            Layout::Lines | Layout::Text => 0,
        };
        let mut records = Self {
            all: Vec::new(),
            numbers: HashMap::new(),
        };
        let (mut line, mut counted) = (1, 0);
        let mut line_at = |at| {
            line += memchr::memchr_iter(b'\n', &bytes[counted..at]).count() as u64;
            counted = at;
            line
        };
        read_values(&bytes, sample.skipped + inside, |value, at| {
            let Ok(value) = value else {
                return;
            };
            let index = index_number(records.all.len());
            let end = at + value.len();
            let (first, last) = (line_at(at), line_at(end));
            let mut note = |number| records.numbers.entry(number).or_default().push(index);
            match &native.rows {
                Some(rows) => {
                    let row = Object::read(std::str::from_utf8(value).unwrap_or_default());
                    note(row.number(rows.number).unwrap_or_default());
                }
                None => (first..=last).for_each(note),
            }
            records.all.push(Record {
                span: Span::within(0, at..end),
                number: first,
            });
        });
        Ok(records)
    }
}

struct NativeLowering<'a> {
    native: &'static NativeEdits,
    session: &'a Session,
    numbers: HashMap<u64, Vec<u32>>,
    /// The items by the number of their record.
    items: HashMap<u64, Vec<u32>>,
    dropped: BTreeSet<u32>,
    /// The records of the file.
    ground: Ground<'a>,
    lists: BTreeMap<List, ListEdits>,
    splices: Vec<Splice>,
    /// The objects that changed, by their records and places, as edits left them.
    objects: BTreeMap<(u32, usize), (Found, String)>,
    /// By the record that it follows: the id of the entry that was added last.
    added: HashMap<u32, String>,
    /// Items whose entries name a parent that is not there, with their records.
    broken: Vec<(u32, u32)>,
}

/// An object that bears the id of a call.
#[derive(Debug, Clone)]
struct Found {
    record: u32,
    object: Range<usize>,
    /// The element of a list that holds it.
    element: Option<Element>,
}

impl Found {
    fn place(&self) -> (u32, usize) {
        (self.record, self.object.start)
    }
}

#[derive(Debug, Clone)]
struct Element {
    array: usize,
    index: usize,
    range: Range<usize>,
}

impl NativeLowering<'_> {
    fn edit(&mut self, edit: &Edit) -> Result<(), CannotWrite> {
        match edit {
            Edit::Drop { .. }
            | Edit::Cut { .. }
            | Edit::Say { .. }
            | Edit::Insert { .. }
            | Edit::Extend { .. } => Ok(()),
            Edit::Rewrite { item, patches } => self.rewrite(*item, patches),
            Edit::Answer {
                call,
                text,
                is_error,
            } => self.answer(*call, text, *is_error),
            Edit::Move { output, call } => self.move_output(*output, *call),
            Edit::Degrade { item, text } => self.degrade(*item, text),
            Edit::Relink { item } if self.native.links.is_some() => {
                let number = self.number_of(*item)?;
                let records = self.numbers.get(&number);
                let record = records.and_then(|records| records.first());
                let record = *record.ok_or(CannotWrite::NoPlace(*item))?;
                self.broken.push((*item, record));
                Ok(())
            }
            Edit::Relink { item } => Err(CannotWrite::NoPlace(*item)),
        }
    }

    /// Changes a call or an output as patches of the item do.
    fn rewrite(&mut self, index: u32, patches: &[Patch]) -> Result<(), CannotWrite> {
        let kind = self.item(index)?.kind;
        if !matches!(kind, Kind::Call | Kind::Output) {
            return Err(CannotWrite::OnlyPairs);
        }
        let not_held = CannotWrite::NotHeld(index);
        let spelled = |patches: &[Patch]| ItemValues::of(self.session, index, patches);
        let before = spelled(&[])?.ok_or(not_held.clone())?;
        let after = spelled(patches)?.ok_or(not_held.clone())?;
        let around = self.call_around(index)?;
        let change = before.change(&after, around.is_some());
        let change = change.ok_or(not_held.clone())?;
        let found = match around {
            Some(call) => vec![self.holder(call)?],
            None => self.objects(index)?,
        };
        if found.is_empty() {
            return Err(CannotWrite::NoPlace(index));
        }
        for found in found {
            let mut json = self.object_of(&found)?;
            let write = self.native.write;
            let members = match kind {
                Kind::Call => write.call(&Object::read(&json), &change),
                _ => write.output(&Object::read(&json), &change),
            };
            for (keys, value) in members.ok_or(not_held.clone())? {
                json = set(&json, &keys, &value).ok_or(not_held.clone())?;
            }
            if before.id != after.id {
                json = self.with_id(&json, &before.id, &after.id, change.is_part);
            }
            self.put_object(&found, json);
        }
        Ok(())
    }

    /// An object with another call id: in the call itself, or in the output that it holds.
    fn with_id(&self, object: &str, old: &str, new: &str, is_part: bool) -> String {
        let holder = match is_part {
            true => at(object, self.native.output_in_call),
            false => Some(0),
        };
        let members = holder.map(|holder| members_at(object.as_bytes(), holder));
        let mut ids = members.and_then(Result::ok).unwrap_or_default();
        ids.retain(|member| {
            let is_key = self.native.ids.iter().any(|id| id.as_bytes() == member.key);
            is_key && is_id(&object[member.value.clone()], old)
        });
        let values = ids.into_iter().map(|member| member.value).rev();
        values.fold(object.to_owned(), |object, value| {
            let written = text_of(&object[value.clone()]);
            let rest = written.get(old.len()..).unwrap_or_default();
            with_value(&object, &value, &quoted(&format!("{new}{rest}")))
        })
    }

    fn item(&self, index: u32) -> Result<&crate::session::Item, CannotWrite> {
        let item = self.session.items.get(index as usize);
        item.ok_or(CannotWrite::NoItem(index))
    }

    /// The number of the record that an item was read from.
    fn number_of(&self, index: u32) -> Result<u64, CannotWrite> {
        let record = self.session.records.get(self.item(index)?.record as usize);
        Ok(record.map_or(0, |record| record.number))
    }

    /// The record that an item was read from. Where several begin on its line, it is the one with its call id, or with
    /// the nearest before it.
    fn record_of(&mut self, index: u32) -> Result<u32, CannotWrite> {
        let (line, no_place) = (self.number_of(index)?, CannotWrite::NoPlace(index));
        if !self.shares_line(index)? {
            let records = self.numbers.get(&line).and_then(|records| records.last());
            return records.copied().ok_or(no_place);
        }
        for item in (0..=index).rev() {
            if self.number_of(item)? != line {
                break;
            }
            let has_id = !self.session.call_id(self.item(item)?)?.is_empty();
            if let (true, Some(found)) = (has_id, self.objects(item)?.first()) {
                return Ok(found.record);
            }
        }
        Err(no_place)
    }

    /// Whether several records begin on the line of an item.
    fn shares_line(&self, index: u32) -> Result<bool, CannotWrite> {
        let line = self.number_of(index)?;
        let records = self.numbers.get(&line).into_iter().flatten();
        let begins = |record: &&u32| self.ground.session.records[**record as usize].number == line;
        Ok(self.native.rows.is_none() && records.filter(begins).count() > 1)
    }

    /// The objects with the call id of an item in its record.
    fn all_of(&mut self, index: u32) -> Result<Vec<Found>, CannotWrite> {
        let id = self.session.call_id(self.item(index)?)?;
        if id.is_empty() {
            return Err(CannotWrite::NoCallId(index));
        }
        let records = self.numbers.get(&self.number_of(index)?);
        let mut found = Vec::new();
        for record in records.cloned().unwrap_or_default() {
            let bytes = self.ground.record(record)?;
            let search = Search {
                bytes: &bytes,
                ids: self.native.ids,
                id: &id,
                record,
            };
            search.look(0..bytes.len(), None, DEEPEST, &mut found)?;
        }
        Ok(found)
    }

    /// The object that an item was made of. An output that is a part of its call is none.
    fn find(&mut self, index: u32) -> Result<Found, CannotWrite> {
        let found = match self.call_around(index)? {
            Some(_) => None,
            None => self.objects(index)?.into_iter().next(),
        };
        found.ok_or(CannotWrite::NoPlace(index))
    }

    /// The objects that an item was made of: some formats say a call twice.
    fn objects(&mut self, index: u32) -> Result<Vec<Found>, CannotWrite> {
        let found = self.all_of(index)?;
        let (item, number) = (*self.item(index)?, self.number_of(index)?);
        let is_alike = |other: &&u32| {
            let other = &self.session.items[**other as usize];
            other.kind == item.kind && other.call_id.hash == item.call_id.hash
        };
        let beside = self.items.get(&number).into_iter().flatten();
        let alike = beside.filter(is_alike).copied().collect::<Vec<_>>();
        let before = alike.iter().take_while(|other| **other < index).count();
        let mut fitting = Vec::new();
        for object in found {
            let json = self.object_of(&object)?;
            let is_output = self.native.write.is_output(&Object::read(&json));
            if is_output.is_none_or(|is| is == (item.kind == Kind::Output)) {
                fitting.push(object);
            }
        }
        let own = fitting.into_iter().skip(before);
        Ok(own.step_by(alike.len().max(1)).collect())
    }

    /// The call that holds an output as a part of it.
    fn call_around(&self, index: u32) -> Result<Option<u32>, CannotWrite> {
        if self.item(index)?.kind != Kind::Output || !self.native.write.calls_hold_outputs() {
            return Ok(None);
        }
        let call = self.session.pairing.partner(index as usize);
        let number = self.number_of(index)?;
        let call = call.map(index_number);
        Ok(call.filter(|call| self.number_of(*call) == Ok(number)))
    }

    /// The object of a call that holds its output, or will.
    fn holder(&mut self, call: u32) -> Result<Found, CannotWrite> {
        for found in self.objects(call)? {
            let json = self.object_of(&found)?;
            let object = Object::read(&json);
            let holds = !self.native.write.calls_hold_outputs();
            if holds || object.has("status") || object.has("state") {
                return Ok(found);
            }
        }
        Err(CannotWrite::NoPlace(call))
    }

    /// An object as edits left it.
    fn object_of(&mut self, found: &Found) -> Result<String, CannotWrite> {
        if let Some((_, json)) = self.objects.get(&found.place()) {
            return Ok(json.clone());
        }
        let bytes = self.ground.record(found.record)?;
        Ok(String::from_utf8_lossy(&bytes[found.object.clone()]).into_owned())
    }

    fn put_object(&mut self, found: &Found, json: String) {
        self.objects.insert(found.place(), (found.clone(), json));
    }

    fn answer(&mut self, call: u32, text: &str, is_error: bool) -> Result<(), CannotWrite> {
        let name = quoted(self.session.name(self.item(call)?));
        let found = self.holder(call)?;
        let json = self.object_of(&found)?;
        let object = Object::read(&json);
        let mut ids = self.native.ids.iter();
        let id = ids.find_map(|key| object.get(key).filter(|id| id.starts_with('"')));
        let answer = OutputTexts {
            id: id.unwrap_or("\"\""),
            name,
            text: quoted(text),
            is_error,
        };
        if self.native.write.calls_hold_outputs() {
            let mut changed = Object::read(&json);
            self.native.write.answer(&mut changed, &answer);
            self.put_object(&found, changed.json());
            return Ok(());
        }
        let record = self.text_of(found.record)?;
        self.put_entry(call, &record, |entry| {
            self.native.write.answer(entry, &answer);
        })
    }

    /// Puts an entry after the reply of a call and the outputs that follow it; it begins as a copy of a record.
    fn put_entry(
        &mut self,
        call: u32,
        record: &str,
        change: impl FnOnce(&mut Object<'_>),
    ) -> Result<(), CannotWrite> {
        let (last, _) = reply_end(self.session, &self.dropped, call);
        let anchor = self.record_of(last)?;
        if !self.native.write.is_entry(&Object::read(record)) {
            return Err(CannotWrite::NoPlace(call));
        }
        let links = self.native.links.as_ref();
        let parent = match (self.added.get(&anchor), links) {
            (_, None) => String::new(),
            (Some(added), _) => added.clone(),
            (None, Some(_)) => self.link(anchor)?.id,
        };
        let mut id = None;
        let mut text = self.with_entry(record, |entry| {
            change(entry);
            if let Some(links) = links.filter(|_| !parent.is_empty()) {
                let new = new_id(&format!("{parent} {}", entry.json()));
                entry.set(links.id, quoted(&new));
                entry.set(links.parent, quoted(&parent));
                id = Some(new);
            }
        });
        if let Some(rows) = &self.native.rows {
            let mut row = Object::read(&text);
            row.remove(rows.number);
            text = row.json();
        }
        self.added.extend(id.map(|id| (anchor, id)));
        let edits = self.lists.entry(List::Records).or_default();
        let at = edits.at.entry(anchor as usize).or_default();
        at.after.push(text.replace(['\n', '\r'], " "));
        Ok(())
    }

    fn move_output(&mut self, output: u32, call: u32) -> Result<(), CannotWrite> {
        let found = self.find(output)?;
        if !self.is_alone(output)? {
            return Err(CannotWrite::NoPlace(output));
        }
        let record = self.text_of(found.record)?;
        self.put_entry(call, &record, |_| ())
    }

    fn degrade(&mut self, index: u32, text: &str) -> Result<(), CannotWrite> {
        let found = self.find(index)?;
        let start = self.span_of(found.record).start;
        let part = self.native.write.text_part(text);
        let splice = match (found.element, part) {
            (Some(element), Some(part)) => {
                Splice::new(Span::within(start, element.range), part.into_bytes())
            }
            (element, _) => {
                let record = self.text_of(found.record)?;
                let is_entry = self.native.write.is_entry(&Object::read(&record));
                if !is_entry || (element.is_some() && !self.is_alone(index)?) {
                    return Err(CannotWrite::NoPlace(index));
                }
                let with = self.with_entry(&record, |entry| self.native.write.say(entry, text));
                Splice::new(self.span_of(found.record), with.into_bytes())
            }
        };
        self.splices.push(splice);
        Ok(())
    }

    /// A record with another entry in it.
    fn with_entry(&self, record: &str, change: impl FnOnce(&mut Object<'_>)) -> String {
        let mut outer = Object::read(record);
        let Some(holder) = self.native.holder else {
            change(&mut outer);
            return outer.json();
        };
        let json = outer.get(holder).unwrap_or("{}").to_owned();
        let mut entry = Object::read(&json);
        change(&mut entry);
        outer.set(holder, entry.json());
        outer.json()
    }

    fn text_of(&mut self, record: u32) -> Result<String, CannotWrite> {
        let bytes = self.ground.record(record)?;
        Ok(String::from_utf8_lossy(&bytes).into_owned())
    }

    fn span_of(&self, record: u32) -> Span {
        self.ground.record_span(record).unwrap_or_default()
    }

    /// Whether nothing stays of the record that an item was read from when it leaves.
    fn is_alone(&mut self, index: u32) -> Result<bool, CannotWrite> {
        if self.ground.session.records.len() < 2 {
            return Ok(false);
        }
        if self.shares_line(index)? {
            return self.is_alone_among(index);
        }
        let mut beside = self
            .items
            .get(&self.number_of(index)?)
            .into_iter()
            .flatten();
        let stays = |other: &u32| *other != index && !self.dropped.contains(other);
        Ok(!beside.any(stays))
    }

    /// The same where several records begin on the line of the item. An output shares its record with the other
    /// elements of its list, a call with what the model says around it and with the calls whose ids are in it.
    fn is_alone_among(&mut self, index: u32) -> Result<bool, CannotWrite> {
        let found = self.find(index)?;
        let record = self.text_of(found.record)?;
        if self.item(index)?.kind == Kind::Output {
            let mut going = usize::from(!self.dropped.contains(&index));
            for other in &self.dropped {
                let id = self.session.call_id(self.item(*other)?)?;
                going += usize::from(record.contains(&quoted(&id)));
            }
            let list = found.element.map(|element| element.array..record.len());
            let parts = list.map(|list| elements(&record, &list).len());
            return Ok(parts.is_none_or(|parts| parts <= going));
        }
        let from_model = |index: &u32| {
            self.item(*index)
                .is_ok_and(|item| item.kind.is_from_model())
        };
        let before = (0..index).rev().take_while(from_model);
        let around = before.chain((index + 1..).take_while(from_model));
        for other in around.filter(|other| !self.dropped.contains(other)) {
            let id = self.session.call_id(self.item(other)?)?;
            if id.is_empty() || record.contains(&quoted(&id)) {
                return Ok(false);
            }
        }
        Ok(true)
    }

    fn drop_item(&mut self, index: u32) -> Result<(), CannotWrite> {
        let record = self.find(index)?.record;
        let record = self.text_of(record)?;
        let is_entry = self.native.write.is_entry(&Object::read(&record));
        let is_alone = is_entry && self.is_alone(index)?;
        for found in self.objects(index)? {
            let whole = (List::Records, found.record as usize);
            let (list, place) = match found.element {
                Some(element) if !is_alone => {
                    let start = self.span_of(found.record).start + element.array as u64;
                    let list = List::Array {
                        record: found.record,
                        start,
                    };
                    (list, element.index)
                }
                _ => whole,
            };
            let edits = self.lists.entry(list).or_default();
            edits.at.entry(place).or_default().is_dropped = true;
        }
        Ok(())
    }

    /// How a record hangs in the chain.
    fn link(&mut self, record: u32) -> Result<Link, CannotWrite> {
        let bytes = self.ground.record(record)?;
        let Some(links) = &self.native.links else {
            return Ok(Link::default());
        };
        let at = match self.native.holder {
            None => 0,
            Some(holder) => {
                let members = members_at(&bytes, 0)?;
                let mut members = members.into_iter();
                let entry = members.find(|member| member.key == holder.as_bytes());
                entry.map_or(0, |entry| entry.value.start)
            }
        };
        link_of(&bytes, at, links)
    }

    fn finish(mut self) -> Result<Vec<Splice>, CannotWrite> {
        for (list, edits) in &self.lists {
            splice_list(&mut self.ground, *list, edits, &mut self.splices)?;
        }
        for (found, json) in std::mem::take(&mut self.objects).into_values() {
            let base = self.span_of(found.record).start;
            self.splices.push(Splice::new(
                Span::within(base, found.object),
                json.into_bytes(),
            ));
        }
        let records = self.lists.get(&List::Records);
        let has_gone = records.is_some_and(|edits| edits.at.values().any(|edit| edit.is_dropped));
        let is_linked = self.native.links.is_some();
        if is_linked && (has_gone || !self.added.is_empty() || !self.broken.is_empty()) {
            self.relink()?;
        }
        without_conflict(self.splices, self.session)
    }

    /// Gives each entry the parent that it has now: the nearest that is kept, or what was added after it.
    fn relink(&mut self) -> Result<(), CannotWrite> {
        let count = index_number(self.ground.session.records.len());
        let links = (0..count).map(|record| self.link(record));
        let links = links.collect::<Result<Vec<_>, _>>()?;
        let gone = self.lists.get(&List::Records);
        let is_gone = |record: &u32| gone.is_some_and(|edits| edits.drops(*record));
        let all = || (0..).zip(&links);
        let above: HashMap<&str, &str> = all()
            .filter(|(record, _)| is_gone(record))
            .map(|(_, link)| (&*link.id, &*link.parent))
            .collect();
        let added: HashMap<&str, &str> = all()
            .filter_map(|(record, link)| Some((&*link.id, &**self.added.get(&record)?)))
            .collect();
        let mut splices = Vec::new();
        for (record, link) in all().filter(|(record, _)| !is_gone(record)) {
            let (Some(at), mut parent) = (link.parent_at.clone(), &*link.parent) else {
                continue;
            };
            // A damaged log may link in a circle.
            let mut steps = 0..=above.len();
            while let (Some(_), Some(next)) = (steps.next(), above.get(parent)) {
                parent = next;
            }
            parent = added.get(parent).copied().unwrap_or(parent);
            if parent != link.parent {
                let with = match parent {
                    "" => "null".to_owned(),
                    parent => quoted(parent),
                };
                splices.push(Splice::new(
                    Span::within(self.span_of(record).start, at),
                    with.into_bytes(),
                ));
            }
        }
        self.splices.extend(splices);
        join_broken(&self.ground, &links, &self.broken, &mut self.splices)
    }
}

/// How deep an item is looked for in its record.
const DEEPEST: usize = 12;

/// Looks for the objects that bear a call id in a record, the outer ones only.
struct Search<'a> {
    bytes: &'a [u8],
    ids: &'a [&'static str],
    id: &'a str,
    record: u32,
}

impl Search<'_> {
    fn look(
        &self,
        value: Range<usize>,
        element: Option<Element>,
        depth: usize,
        out: &mut Vec<Found>,
    ) -> Result<()> {
        let opens = self.bytes.get(value.start);
        if depth == 0 || !matches!(opens, Some(b'{' | b'[')) {
            return Ok(());
        }
        if opens == Some(&b'[') {
            let (mut cursor, mut index) = (Cursor::at(self.bytes, value.start), 0);
            let array = value.start;
            let mut ranges = Vec::new();
            cursor.array(|cursor| {
                cursor.peek();
                ranges.push(cursor.skip()?);
                Ok(())
            })?;
            for range in ranges {
                let element = Element {
                    array,
                    index,
                    range: range.clone(),
                };
                index += 1;
                self.look(range, Some(element), depth - 1, out)?;
            }
            return Ok(());
        }
        let members = members_at(self.bytes, value.start)?;
        let is_own = members.iter().any(|member| {
            let is_id = self.ids.iter().any(|id| id.as_bytes() == member.key);
            let value = std::str::from_utf8(&self.bytes[member.value.clone()]);
            is_id && value.is_ok_and(|value| self::is_id(value, self.id))
        });
        if is_own {
            out.push(Found {
                record: self.record,
                object: value,
                element,
            });
            return Ok(());
        }
        for member in members {
            self.look(member.value, element.clone(), depth - 1, out)?;
        }
        Ok(())
    }
}

/// Whether a value is an id; the id of an item of Responses may follow it (`call|item`).
fn is_id(value: &str, id: &str) -> bool {
    let text = text_of(value);
    text == id || text.split('|').next() == Some(id)
}
