//! Values of a spec; what is wrong with them is gathered with its line.

use super::keys::{SpecPlace, keys_of};
use crate::suggest;
use std::fmt;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most faults that are told.
const MOST: usize = 50;
/// Longest text of the file that a message quotes, in characters.
const QUOTED: usize = 100;

/// Something that is wrong with a spec. It quotes the file: draw it through [`crate::safe_text::SafeText`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecFault {
    pub line: usize,
    pub what: String,
    /// What to do about it, where that needs a word.
    pub hint: Option<String>,
}

impl fmt::Display for SpecFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)?;
        match &self.hint {
            Some(hint) => write!(f, "; {hint}"),
            None => Ok(()),
        }
    }
}

/// Everything that is wrong with a spec, in the order of its lines; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SpecFaults {
    /// The faults, 50 at most.
    pub faults: Vec<SpecFault>,
    /// How many more there are.
    pub more: usize,
}

impl std::error::Error for SpecFaults {}

impl SpecFaults {
    /// A file that gives no spec without any reason of its own.
    pub(super) fn unreadable() -> Self {
        let what = "this is no spec of an experiment".to_owned();
        let (line, hint) = (1, None);
        let faults = vec![SpecFault { line, what, hint }];
        Self { faults, more: 0 }
    }
}

impl fmt::Display for SpecFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            write!(f, "{end}{fault}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

/// A value with its place in the text.
pub(super) type Node<'d> = Spanned<DeValue<'d>>;

/// A table of the file.
#[derive(Clone, Copy)]
pub(super) struct Section<'d> {
    /// Which table it is.
    pub(super) place: SpecPlace,
    pub(super) at: usize,
    pub(super) table: &'d DeTable<'d>,
}

/// Reads values and gathers faults.
pub(super) struct Reader<'t> {
    pub(super) text: &'t str,
    pub(super) faults: Vec<SpecFault>,
}

impl Reader<'_> {
    /// What was found; `None` where nothing is wrong.
    pub(super) fn told(mut self) -> Option<SpecFaults> {
        self.faults.sort_by_key(|fault| fault.line);
        let more = self.faults.len().saturating_sub(MOST);
        self.faults.truncate(MOST);
        let faults = self.faults;
        (!faults.is_empty()).then_some(SpecFaults { faults, more })
    }

    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() + 1
    }

    /// Something is wrong at a byte of the file.
    pub(super) fn tell(&mut self, at: usize, what: String, hint: Option<String>) {
        let line = self.line(at);
        self.faults.push(SpecFault { line, what, hint });
    }

    /// Tells a word that is none of those that are known.
    pub(super) fn unknown(&mut self, at: usize, what: String, word: &str, known: &[&str]) {
        let nearest = suggest::nearest(word, known);
        let hint = match nearest.first() {
            Some(nearest) => format!("did you mean `{}`?", nearest.name),
            None => format!("there are {}", known.join(", ")),
        };
        self.tell(at, what, Some(hint));
    }

    /// Tells keys that are not known in a table.
    pub(super) fn only(&mut self, section: Section<'_>) {
        let place = section.place;
        let known: Vec<&str> = keys_of(place).map(|key| key.name).collect();
        for (key, _) in section.table {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                let what = format!("`{}` is not known in {place}", quoted(name));
                self.unknown(key.span().start, what, name, &known);
            }
        }
    }

    /// Tells that a key is missing.
    pub(super) fn missing(&mut self, section: Section<'_>, key: &str) {
        let place = section.place;
        if !section.table.contains_key(key) {
            self.tell(section.at, format!("{place} has no `{key}`"), None);
        }
    }

    /// The value of a key, as `take` reads it; a value that it does not take is told.
    fn value<'d, T>(
        &mut self,
        section: Section<'d>,
        key: &str,
        take: impl Fn(&'d DeValue<'d>) -> Option<T>,
    ) -> Option<(T, usize)> {
        let node = section.table.get(key)?;
        let at = node.span().start;
        let taken = take(node.get_ref());
        if taken.is_none() {
            let wanted = keys_of(section.place).find(|known| known.name == key);
            let wanted = wanted.map_or("something else", |known| known.wanted);
            let got = match node.get_ref() {
                DeValue::Table(_) => "a table",
                DeValue::Array(_) => "a list of something else",
                _ => self.text.get(node.span()).unwrap_or_default(),
            };
            let what = format!("`{key}` wants {wanted}, and this is {}", quoted(got));
            self.tell(at, what, None);
        }
        Some((taken?, at))
    }

    /// A text that is not empty, and where it begins.
    pub(super) fn text_at<'d>(&mut self, of: Section<'d>, key: &str) -> Option<(&'d str, usize)> {
        self.value(of, key, |value| {
            value.as_str().filter(|text| !text.is_empty())
        })
    }

    pub(super) fn text(&mut self, section: Section<'_>, key: &str) -> Option<String> {
        let (text, _) = self.text_at(section, key)?;
        Some(text.to_owned())
    }

    pub(super) fn flag(&mut self, section: Section<'_>, key: &str) -> Option<bool> {
        let (flag, _) = self.value(section, key, DeValue::as_bool)?;
        Some(flag)
    }

    /// A whole number that is not below 0.
    pub(super) fn whole(&mut self, section: Section<'_>, key: &str) -> Option<u64> {
        let (number, _) = self.value(section, key, whole)?;
        Some(number)
    }

    /// A whole number above 0.
    pub(super) fn count(&mut self, section: Section<'_>, key: &str) -> Option<u32> {
        let count = |value| {
            let number = u32::try_from(whole(value)?).ok()?;
            (number > 0).then_some(number)
        };
        let (number, _) = self.value(section, key, count)?;
        Some(number)
    }

    /// A whole number above 0, which may be large.
    pub(super) fn amount(&mut self, section: Section<'_>, key: &str) -> Option<u64> {
        let amount = |value| whole(value).filter(|number| *number > 0);
        let (number, _) = self.value(section, key, amount)?;
        Some(number)
    }

    /// A number above 0 and not above 1.
    pub(super) fn rate(&mut self, section: Section<'_>, key: &str) -> Option<f64> {
        let (number, _) = self.value(section, key, rate)?;
        Some(number)
    }

    /// A word of a few, or anything else that `take` knows.
    pub(super) fn one_of<'d, T>(
        &mut self,
        section: Section<'d>,
        key: &str,
        take: impl Fn(&'d DeValue<'d>) -> Option<T>,
    ) -> Option<T> {
        let (taken, _) = self.value(section, key, take)?;
        Some(taken)
    }

    pub(super) fn section<'d>(
        &mut self,
        of: Section<'d>,
        key: &str,
        place: SpecPlace,
    ) -> Option<Section<'d>> {
        let (table, at) = self.value(of, key, |value| value.as_table())?;
        Some(Section { place, at, table })
    }

    /// Tables that stand one behind the other.
    pub(super) fn sections<'d>(
        &mut self,
        of: Section<'d>,
        key: &str,
        place: SpecPlace,
    ) -> Vec<Section<'d>> {
        let tables = |value: &'d DeValue<'d>| {
            let sections = value.as_array()?.iter().map(|node| {
                let table = node.get_ref().as_table()?;
                let at = node.span().start;
                Some(Section { place, at, table })
            });
            sections.collect::<Option<Vec<_>>>()
        };
        let found = self.value(of, key, tables);
        found.map_or_else(Vec::new, |(sections, _)| sections)
    }
}

fn whole(value: &DeValue<'_>) -> Option<u64> {
    let number = value.as_integer()?;
    u64::from_str_radix(number.as_str(), number.radix()).ok()
}

fn rate(value: &DeValue<'_>) -> Option<f64> {
    let number: f64 = match value {
        DeValue::Float(number) => number.as_str().parse().ok()?,
        // The only whole number that is one.
        value => (whole(value)? == 1).then_some(1.0)?,
    };
    (number > 0.0 && number <= 1.0).then_some(number)
}

/// The beginning of a text from the file.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

/// Whether a node names a list of names, or all.
pub(super) fn names(value: &DeValue<'_>) -> Option<super::Named> {
    if value.as_str() == Some("all") {
        return Some(super::Named::All);
    }
    let name = |node: &Node<'_>| {
        let name = node.get_ref().as_str()?;
        (!name.is_empty()).then(|| name.to_owned())
    };
    let names = value.as_array()?.iter().map(name);
    names.collect::<Option<_>>().map(super::Named::These)
}
