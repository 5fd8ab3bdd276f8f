//! A call or an output that an edit spells anew: what changes in it goes to the members that hold it in the file.

use crate::formats::lower::place::CannotWrite;
use crate::session::{Flags, Fragment, Patch, Session};
use crate::wire::write::edit::{items_of, member, with_value};
use crate::wire::write::{Object, members_at, quoted, set_member, text_of};
use crate::wire::{Content, Part, body_of};

/// What changes in a call or an output, as JSON; `None` for what stays as it is.
#[derive(Debug, Default)]
pub(super) struct RecordChange {
    pub(super) name: Option<String>,
    /// The arguments of a call: a value, or a string where they are not JSON.
    pub(super) arguments: Option<String>,
    /// The texts of an output.
    pub(super) texts: Option<Vec<String>>,
    /// Whether the output is an error.
    pub(super) is_error: bool,
    /// Whether the object is the call, which holds the output.
    pub(super) is_part: bool,
}

impl RecordChange {
    /// The texts of an output as a list of parts.
    pub(super) fn parts(&self) -> Option<String> {
        let texts = self.texts.as_ref()?.iter();
        let parts = texts.map(|text| format!(r#"{{"type":"text","text":{text}}}"#));
        Some(format!("[{}]", parts.collect::<Vec<_>>().join(",")))
    }

    /// How the member of an output that says whether it is an error changes, if it has one.
    pub(super) fn mark(&self, output: &Object<'_>, key: &str, words: [&str; 2]) -> Option<String> {
        let word = words[usize::from(self.is_error)];
        (self.texts.is_some() && output.has(key)).then(|| quoted(word))
    }

    /// The texts of an output as one.
    pub(super) fn text(&self) -> Option<String> {
        let texts = self.texts.as_ref()?.iter();
        let texts = texts.map(|text| text_of(text)).collect::<Vec<_>>();
        Some(quoted(&texts.join("\n")))
    }
}

/// Values of members, each with the keys on the way to it; the index of an element is a key, too.
pub(super) type Members = Vec<(Vec<&'static str>, String)>;

/// The members that get a value.
pub(super) fn members<const COUNT: usize>(
    all: [(&[&'static str], Option<String>); COUNT],
) -> Members {
    let given = all.into_iter();
    let given = given.filter_map(|(keys, value)| Some((keys.to_vec(), value?)));
    given.collect()
}

/// What an item says that formats may hold.
#[derive(PartialEq)]
pub(super) struct ItemValues {
    pub(super) id: String,
    name: String,
    arguments: String,
    content: Vec<Part>,
    is_error: bool,
}

impl ItemValues {
    /// What an item says once it is patched; `None` where it cannot be read.
    pub(super) fn of(
        session: &Session,
        index: u32,
        patches: &[Patch],
    ) -> Result<Option<Self>, CannotWrite> {
        let item = session
            .items
            .get(index as usize)
            .ok_or(CannotWrite::NoItem(index))?;
        let record = session.records.get(item.record as usize);
        let record = record.ok_or(CannotWrite::NoItem(index))?;
        let mut line = session.source.read(record.span)?;
        let start = usize::try_from(item.span.start - record.span.start).unwrap_or(usize::MAX);
        for patch in patches.iter().rev() {
            let at = start + patch.at.start..start + patch.at.end;
            line.splice(at, patch.with.iter().copied());
        }
        let line = String::from_utf8_lossy(&line);
        let (Some(message), Some(dialect)) = (member(&line, "message"), item.dialect) else {
            return Ok(None);
        };
        let message = &line[message];
        let Fragment { items, names, .. } = items_of(dialect, message);
        let before = session.items[..index as usize].iter().rev();
        let place = before.take_while(|other| other.record == item.record);
        let Some(item) = items.get(place.count()) else {
            return Ok(None);
        };
        let part = |start: u64, end: u64| &message[start as usize..end as usize];
        let bytes = part(item.span.start, item.span.end).as_bytes();
        let (Ok(body), Ok(content)) = (body_of(item, bytes), Content::of(item, bytes)) else {
            return Ok(None);
        };
        let id = item.call_id.span(item.span);
        let id = id.map(|id| text_of(&format!("\"{}\"", part(id.start, id.end))));
        Ok(Some(Self {
            id: id.unwrap_or_default(),
            name: names.text(item.name).to_owned(),
            arguments: body.arguments.as_written().to_owned(),
            content: content.parts,
            is_error: item.flags.has(Flags::ERROR),
        }))
    }

    /// What changes in `self` to make it `after`; `None` where that is nothing, or more than texts can say.
    pub(super) fn change(&self, after: &Self, is_part: bool) -> Option<RecordChange> {
        let is_other_text = self.content != after.content || self.is_error != after.is_error;
        let has_text = |part: &Part| matches!(part, Part::Text(_) | Part::Json(_));
        if self == after || (is_other_text && !after.content.iter().all(has_text)) {
            return None;
        }
        let texts = after.content.iter().filter_map(Part::text).map(quoted);
        Some(RecordChange {
            name: (self.name != after.name).then(|| quoted(&after.name)),
            arguments: (self.arguments != after.arguments).then(|| value(&after.arguments)),
            texts: is_other_text.then(|| texts.collect()),
            is_error: after.is_error,
            is_part,
        })
    }
}

/// Arguments as a value: a string where they are not JSON. A record is one line.
fn value(arguments: &str) -> String {
    match serde_json::from_str::<serde::de::IgnoredAny>(arguments) {
        Ok(_) => arguments.replace(['\n', '\r'], " "),
        Err(_) => quoted(arguments),
    }
}

/// Where the value begins to which keys lead.
pub(super) fn at(object: &str, keys: &[&str]) -> Option<usize> {
    let bytes = object.as_bytes();
    keys.iter().try_fold(0, |at, key| {
        if bytes.get(at) == Some(&b'[') {
            let list = at..object.len();
            let elements = crate::wire::write::edit::elements(object, &list);
            return Some(elements.get(key.parse::<usize>().ok()?)?.start);
        }
        let members = members_at(bytes, at).ok()?;
        let mut members = members.into_iter();
        let member = members.find(|member| member.key == key.as_bytes());
        member.map(|member| member.value.start)
    })
}

/// An object with another value where keys lead; `None` where nothing is there that could hold it.
pub(super) fn set(object: &str, keys: &[&str], value: &str) -> Option<String> {
    let (last, before) = keys.split_last()?;
    let holder = at(object, before).filter(|at| object[*at..].starts_with('{'))?;
    let patch = set_member(object.as_bytes(), holder, last, value).ok()?;
    let with = String::from_utf8_lossy(&patch.with).into_owned();
    Some(with_value(object, &patch.at, &with))
}
