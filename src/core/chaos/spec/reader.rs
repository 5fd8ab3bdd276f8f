//! Typed values of a spec; what is wrong with them is gathered with its line.

use super::{Spec, SpecFault, SpecFaults, Turn};
use crate::chaos::faults::{FAULTS, Fault, find};
use crate::engine::duration;
use crate::suggest;
use std::ops::RangeInclusive;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Most faults that are told.
const MOST_FAULTS: usize = 50;
/// Most characters of the file that a message quotes at a time.
const QUOTED: usize = 60;

type Node<'t> = Spanned<DeValue<'t>>;

/// Reads values and gathers faults.
pub(super) struct Reader<'a> {
    text: &'a str,
    faults: Vec<SpecFault>,
}

impl<'a> Reader<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Self {
            text,
            faults: Vec::new(),
        }
    }

    /// The spec where nothing is wrong.
    pub(super) fn finish(mut self, spec: Spec) -> Result<Spec, SpecFaults> {
        if self.faults.is_empty() {
            return Ok(spec);
        }
        self.faults.sort_by_key(|fault| fault.line);
        self.faults.truncate(MOST_FAULTS);
        Err(SpecFaults(self.faults))
    }

    /// Something is wrong at a byte of the file.
    pub(super) fn tell(&mut self, at: usize, message: String) {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        let line = memchr::memchr_iter(b'\n', before).count() + 1;
        self.faults.push(SpecFault { line, message });
    }

    fn unknown(&mut self, at: usize, word: &str, what: &str, known: &[&str]) {
        let nearest = suggest::nearest(word, known);
        let meant = nearest.first().map_or_else(
            || format!("; there are {}", known.join(", ")),
            |nearest| format!(" (did you mean `{}`?)", nearest.name),
        );
        self.tell(at, format!("`{}` is {what}{meant}", quoted(word)));
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

    fn wrong(&mut self, key: &str, node: &Node<'_>, wanted: &str) {
        let span = node.span();
        // A value that is missing behind its key is a fault of the syntax, told already.
        if !span.is_empty() {
            let found = self.text.get(span.clone()).unwrap_or_default();
            let message = format!("`{key}` is {wanted}, not {}", quoted(found));
            self.tell(span.start, message);
        }
    }

    pub(super) fn table<'t, 'i>(
        &mut self,
        table: &'t DeTable<'i>,
        key: &str,
    ) -> Option<&'t DeTable<'i>> {
        let node = table.get(key)?;
        let found = node.get_ref().as_table();
        if found.is_none() {
            self.wrong(key, node, "a table");
        }
        found
    }

    /// Any whole number that is not negative.
    pub(super) fn seed(&mut self, table: &DeTable<'_>, key: &str) -> Option<u64> {
        let node = table.get(key)?;
        let found = number(node);
        if found.is_none() {
            self.wrong(key, node, "a whole number from 0");
        }
        found
    }

    pub(super) fn whole(
        &mut self,
        table: &DeTable<'_>,
        key: &str,
        range: RangeInclusive<u32>,
    ) -> Option<u32> {
        let node = table.get(key)?;
        let found = within(node, &range);
        if found.is_none() {
            let wanted = format!("a whole number from {} to {}", range.start(), range.end());
            self.wrong(key, node, &wanted);
        }
        found
    }

    /// A duration of at least so much, in milliseconds.
    pub(super) fn duration(&mut self, table: &DeTable<'_>, key: &str, least: u64) -> Option<u64> {
        let node = table.get(key)?;
        let found = node.get_ref().as_str().and_then(duration);
        let found = found.filter(|found| *found >= least);
        if found.is_none() {
            let above = if least > 0 { "above zero and " } else { "" };
            let wanted = format!(
                "a duration {above}of a day at most, like \"500ms\", \"30s\", \"2m\" or \"1h\""
            );
            self.wrong(key, node, &wanted);
        }
        found
    }

    /// `"all"`, or names of faults; in the order of their table, each once.
    pub(super) fn faults(&mut self, table: &DeTable<'_>, key: &str) -> Option<Vec<&'static Fault>> {
        let wanted = "\"all\" or a list of names";
        let nodes = self.word_or_list(table, key, "all", wanted)?;
        let ids: Vec<&str> = FAULTS.iter().map(|fault| fault.id).collect();
        let mut found = Vec::new();
        for node in nodes {
            match node.get_ref().as_str() {
                Some(id) => match find(id) {
                    Some(fault) => found.push(fault),
                    None => self.unknown(node.span().start, id, "no fault", &ids),
                },
                None => self.wrong(key, node, wanted),
            }
        }
        let all = FAULTS.iter().filter(|fault| found.contains(fault));
        Some(all.collect())
    }

    /// `"any"`, or numbers of replies.
    pub(super) fn turns(&mut self, table: &DeTable<'_>, key: &str, most: u32) -> Option<Vec<Turn>> {
        let wanted = format!("\"any\" or a list of whole numbers from 1 to {most}");
        let nodes = self.word_or_list(table, key, "any", &wanted)?;
        let mut turns = Vec::new();
        for node in nodes {
            match within(node, &(1..=most)).map(Turn::Nth) {
                Some(turn) if turns.contains(&turn) => {}
                Some(turn) => turns.push(turn),
                None => self.wrong(key, node, &wanted),
            }
        }
        Some(turns)
    }

    /// The elements of a list that is not empty; `None` where the word stands in its place.
    fn word_or_list<'t, 'i>(
        &mut self,
        table: &'t DeTable<'i>,
        key: &str,
        word: &str,
        wanted: &str,
    ) -> Option<Vec<&'t Node<'i>>> {
        let node = table.get(key)?;
        if node.get_ref().as_str() == Some(word) {
            return None;
        }
        let list = node.get_ref().as_array();
        let list = list.filter(|list| !list.is_empty());
        if list.is_none() {
            self.wrong(key, node, wanted);
        }
        Some(list?.iter().collect())
    }
}

fn number(node: &Node<'_>) -> Option<u64> {
    let integer = node.get_ref().as_integer()?;
    u64::from_str_radix(integer.as_str(), integer.radix()).ok()
}

fn within(node: &Node<'_>, range: &RangeInclusive<u32>) -> Option<u32> {
    let number = u32::try_from(number(node)?).ok()?;
    range.contains(&number).then_some(number)
}

/// The beginning of a text from the file.
fn quoted(text: &str) -> String {
    match text.char_indices().nth(QUOTED) {
        Some((end, _)) => format!("{}...", &text[..end]),
        None => text.to_owned(),
    }
}
