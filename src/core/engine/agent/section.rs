//! A table of an agent file, checked against the table of keys: unknown keys and other types are told when it
//! is opened, so that whoever reads it asks for what is there.

use super::fault::{Notes, Wrong};
use super::keys::{Place, Wanted, keys_of};
use super::values;
use crate::engine::{Approval, Millis};
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// A value with its place in the text.
#[derive(Debug, Clone, Copy)]
pub(super) struct At<T> {
    pub(super) at: usize,
    pub(super) value: T,
}

/// A table whose members have the types that their keys want.
pub(super) struct Section<'d> {
    pub(super) at: usize,
    members: Vec<(&'static str, At<&'d DeValue<'d>>)>,
    /// Keys that are there with a value that cannot be used.
    refused: Vec<&'static str>,
}

impl<'d> Section<'d> {
    pub(super) fn open(
        place: Place,
        at: usize,
        table: &'d DeTable<'d>,
        notes: &mut Notes<'_>,
    ) -> Self {
        let mut section = Self {
            at,
            members: Vec::new(),
            refused: Vec::new(),
        };
        for (name, value) in table {
            let Some(key) = keys_of(place).find(|key| key.name == name.get_ref().as_ref()) else {
                let key = name.get_ref().chars().take(100).collect();
                notes.note(name.span().start, Wrong::UnknownKey { key, place });
                continue;
            };
            if value.span().is_empty() {
                // The value is not there: a fault of the syntax, told already.
                section.refused.push(key.name);
                continue;
            }
            let at = value.span().start;
            let value = value.get_ref();
            if fits(key.wanted, value) {
                section.members.push((key.name, At { at, value }));
                continue;
            }
            section.refused.push(key.name);
            let wrong = match value {
                DeValue::String(text) if key.wanted == Wanted::Text && text.is_empty() => {
                    Wrong::Empty(key.name)
                }
                DeValue::Array(list) if key.wanted == Wanted::Texts && list.is_empty() => {
                    Wrong::Empty(key.name)
                }
                value => Wrong::Type {
                    key: key.name,
                    wanted: key.wanted,
                    got: word_of(value, key.wanted),
                },
            };
            notes.note(at, wrong);
        }
        section
    }

    /// Whether a key is there, its value of use or not.
    pub(super) fn has(&self, key: &str) -> bool {
        self.get(key).is_some() || self.refused.contains(&key)
    }

    pub(super) fn get(&self, key: &str) -> Option<At<&'d DeValue<'d>>> {
        let member = self.members.iter().find(|(name, _)| *name == key);
        member.map(|(_, value)| *value)
    }

    /// Where the value of a key stands; where it is not there, the table.
    pub(super) fn place_of(&self, key: &str) -> usize {
        self.get(key).map_or(self.at, |found| found.at)
    }

    pub(super) fn text(&self, key: &str) -> Option<At<&'d str>> {
        let found = self.get(key)?;
        let value = found.value.as_str()?;
        Some(At {
            at: found.at,
            value,
        })
    }

    pub(super) fn flag(&self, key: &str) -> Option<bool> {
        self.get(key)?.value.as_bool()
    }

    pub(super) fn count(&self, key: &str) -> Option<u32> {
        values::count(self.get(key)?.value)
    }

    pub(super) fn time(&self, key: &str) -> Option<Millis> {
        values::time(self.get(key)?.value.as_str()?)
    }

    pub(super) fn texts(&self, key: &str) -> Option<At<Vec<String>>> {
        let found = self.get(key)?;
        let texts = found.value.as_array()?.iter();
        let value = texts.filter_map(|text| text.get_ref().as_str().map(str::to_owned));
        Some(At {
            at: found.at,
            value: value.collect(),
        })
    }

    pub(super) fn table(&self, key: &str) -> Option<At<&'d DeTable<'d>>> {
        let found = self.get(key)?;
        let value = found.value.as_table()?;
        Some(At {
            at: found.at,
            value,
        })
    }

    /// Tables that stand one behind the other.
    pub(super) fn tables(&self, key: &str) -> impl Iterator<Item = At<&'d DeTable<'d>>> {
        let list = self.get(key).and_then(|found| found.value.as_array());
        let tables = list.into_iter().flat_map(|list| list.iter());
        tables.filter_map(|table: &Spanned<DeValue<'_>>| {
            let value = table.get_ref().as_table()?;
            let at = table.span().start;
            Some(At { at, value })
        })
    }

    pub(super) fn approval(&self) -> Option<Approval> {
        named(self.get("approval")?.value.as_str()?)
    }

    /// Tells where more than one of some keys stand.
    pub(super) fn at_most_one(&self, keys: &[&'static str], notes: &mut Notes<'_>) {
        let mut there = keys.iter().filter(|key| self.has(key));
        let Some(one) = there.next() else { return };
        for other in there {
            let at = self.place_of(other);
            notes.note(at, Wrong::Both { one, other });
        }
    }
}

fn fits(wanted: Wanted, value: &DeValue<'_>) -> bool {
    let is_text = |value: &Spanned<DeValue<'_>>| value.get_ref().is_str();
    match (wanted, value) {
        (Wanted::Text, DeValue::String(text)) => !text.is_empty(),
        (Wanted::Flag, DeValue::Boolean(_)) => true,
        (Wanted::Count, value @ DeValue::Integer(_)) => values::count(value).is_some(),
        (Wanted::Time, DeValue::String(text)) => values::time(text).is_some(),
        (Wanted::Texts, DeValue::Array(list)) => !list.is_empty() && list.iter().all(is_text),
        (Wanted::Table | Wanted::Section, DeValue::Table(_)) => true,
        (Wanted::TableOfTexts, DeValue::Table(table)) => table.values().all(is_text),
        (Wanted::Sections, DeValue::Array(list)) => {
            list.iter().all(|value| value.get_ref().is_table())
        }
        (Wanted::Dialect, DeValue::String(word)) => values::dialect(word).is_some(),
        (Wanted::Approval, DeValue::String(word)) => named(word).is_some(),
        (Wanted::Canned, DeValue::String(_)) => true,
        (Wanted::Canned, DeValue::Array(list)) => {
            !list.is_empty() && list.iter().all(|value| value.get_ref().is_table())
        }
        (Wanted::TextOrTrue, DeValue::String(text)) => !text.is_empty(),
        (Wanted::TextOrTrue | Wanted::True, DeValue::Boolean(is_true)) => *is_true,
        _ => false,
    }
}

fn word_of(value: &DeValue<'_>, wanted: Wanted) -> &'static str {
    match value {
        DeValue::String(_)
            if matches!(wanted, Wanted::Time | Wanted::Dialect | Wanted::Approval) =>
        {
            "another text"
        }
        DeValue::String(_) => "a text",
        DeValue::Integer(_) if wanted == Wanted::Count => "another number",
        DeValue::Integer(_) | DeValue::Float(_) => "a number",
        DeValue::Boolean(true) => "true",
        DeValue::Boolean(false) => "false",
        DeValue::Datetime(_) => "a date",
        DeValue::Array(_) => "a list of something else",
        DeValue::Table(_) => "a table",
    }
}

fn named(word: &str) -> Option<Approval> {
    let mut all = Approval::ALL.into_iter();
    all.find(|(_, known, _)| *known == word)
        .map(|(approval, ..)| approval)
}
