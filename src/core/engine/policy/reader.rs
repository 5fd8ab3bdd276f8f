//! Typed values of a policy file; what is wrong with them is gathered with its line.

use super::Policy;
use super::fault::{PolicyFault, PolicyFaults};
use super::settings::duration;
use super::value::integer;
use crate::engine::Millis;
use crate::{suggest, wording};
use std::borrow::Cow;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most faults that are told.
const MOST_FAULTS: usize = 50;
/// So many words are listed only where none of them is near.
const MANY: usize = 12;
/// Most characters of the file that a message quotes at a time.
const QUOTED: usize = 60;

pub(super) type Key<'t> = Spanned<Cow<'t, str>>;
pub(super) type Node<'t> = Spanned<DeValue<'t>>;

/// Reads values and gathers faults.
pub(super) struct Reader<'a> {
    text: &'a str,
    faults: Vec<PolicyFault>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            faults: Vec::new(),
        }
    }

    /// The policy where nothing is wrong.
    pub(super) fn finish(mut self, policy: Policy) -> Result<Policy, PolicyFaults> {
        if self.faults.is_empty() {
            return Ok(policy);
        }
        self.faults.sort_by_key(|fault| fault.line);
        if self.faults.len() > MOST_FAULTS {
            self.faults.truncate(MOST_FAULTS);
            if let Some(last) = self.faults.last_mut() {
                last.message = "more faults follow that are not told".to_owned();
            }
        }
        Err(PolicyFaults(self.faults))
    }

    /// Something is wrong at a byte of the file.
    pub(super) fn tell(&mut self, at: usize, message: String) {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        self.faults.push(PolicyFault { line, message });
    }

    /// Something is wrong with a template that begins at a byte of the file.
    pub(super) fn template(&mut self, fault: &wording::Fault, at: usize) {
        let line = fault.line_in_toml(self.text, at);
        let message = format!("the template, {fault}");
        self.faults.push(PolicyFault { line, message });
    }

    /// A word that is not one of those that are known here.
    pub(super) fn unknown(&mut self, at: usize, word: &str, what: &str, known: &[&str]) {
        let nearest = suggest::nearest(word, known);
        let meant = nearest.first().map_or(String::new(), |nearest| {
            format!(" (did you mean `{}`?)", nearest.name)
        });
        let all = match known.len() {
            0 => String::new(),
            MANY.. if !meant.is_empty() => String::new(),
            _ => format!("; there are {}", known.join(", ")),
        };
        self.tell(at, format!("`{}` is {what}{meant}{all}", quoted(word)));
    }

    /// Tells keys that are not known in a table.
    pub(super) fn only(&mut self, table: &DeTable<'_>, known: &[&str]) {
        for (key, _) in table {
            let name = key.get_ref().as_ref();
            if !known.contains(&name) {
                self.unknown(key.span().start, name, "not known here", known);
            }
        }
    }

    /// Tells that a key does not belong where it stands.
    pub(super) fn forbid(&mut self, table: &DeTable<'_>, key: &str, why: &str) {
        if let Some((key, _)) = table.get_key_value(key) {
            self.tell(key.span().start, format!("`{}` {why}", key.get_ref()));
        }
    }

    /// A value that is there; one that is missing behind its key is a fault of the syntax, told already.
    pub(super) fn get<'t, 'i>(&self, table: &'t DeTable<'i>, key: &str) -> Option<&'t Node<'i>> {
        table.get(key).filter(|node| !node.span().is_empty())
    }

    pub(super) fn table<'t, 'i>(
        &mut self,
        table: &'t DeTable<'i>,
        key: &str,
    ) -> Option<&'t DeTable<'i>> {
        let node = table.get(key)?;
        self.as_table(key, node)
    }

    /// A value that is to be a table.
    pub(super) fn as_table<'t, 'i>(
        &mut self,
        key: &str,
        node: &'t Node<'i>,
    ) -> Option<&'t DeTable<'i>> {
        let table = node.get_ref().as_table();
        if table.is_none() {
            self.wrong(key, node, "a table");
        }
        table
    }

    /// A text, and where it begins.
    pub(super) fn text<'t>(
        &mut self,
        table: &'t DeTable<'_>,
        key: &str,
    ) -> Option<(&'t str, usize)> {
        let node = self.get(table, key)?;
        let text = node.get_ref().as_str();
        if text.is_none() {
            self.wrong(key, node, "a text");
        }
        Some((text?, node.span().start))
    }

    pub(super) fn whole(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        let node = self.get(table, key)?;
        let number = node.get_ref().as_integer().and_then(integer);
        let number = number.and_then(|number| u32::try_from(number).ok());
        let found = number.filter(|number| range.contains(number));
        if found.is_none() {
            let wanted = format!("a whole number from {} to {}", range.start(), range.end());
            self.wrong(key, node, &wanted);
        }
        found
    }

    pub(super) fn flag(&mut self, table: &DeTable<'_>, key: &str) -> Option<bool> {
        let node = self.get(table, key)?;
        let flag = node.get_ref().as_bool();
        if flag.is_none() {
            self.wrong(key, node, "true or false");
        }
        flag
    }

    pub(super) fn duration(&mut self, table: &DeTable<'_>, key: &str) -> Option<Millis> {
        let node = self.get(table, key)?;
        let found = node.get_ref().as_str().and_then(duration);
        if found.is_none() {
            let wanted = "a duration of a day at most, like \"500ms\", \"30s\", \"2m\" or \"1h\"";
            self.wrong(key, node, wanted);
        }
        found
    }

    fn wrong(&mut self, key: &str, node: &Node<'_>, wanted: &str) {
        let span = node.span();
        if span.is_empty() {
            return;
        }
        let value = node.get_ref();
        let found = match value {
            DeValue::Table(_) | DeValue::Array(_) => value.type_str(),
            _ => self.text.get(span.clone()).unwrap_or_default(),
        };
        let message = format!("`{}` is {wanted}, not {}", quoted(key), quoted(found));
        self.tell(span.start, message);
    }
}

/// The beginning of a text from the file.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
