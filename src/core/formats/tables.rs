//! The rows of a database as its format reads them.

use crate::json::{lossy_text, skip_value};
use crate::session::{Source, SourceError, SourceResult, Span};
use crate::wire::write::{Object, push_quoted, text_of};
use std::borrow::Cow;
use std::collections::HashMap;
use std::ops::Range;

#[derive(Debug, Clone, Copy)]
pub struct Query {
    pub sql: &'static str,
    /// The columns that order its rows. SQLite would order many rows in a file, with all that is in them.
    pub order: &'static [&'static str],
    /// The columns whose texts are JSON.
    pub json: &'static [&'static str],
}

/// The rows of each query: objects of their columns, in which the JSON of a column stands as it is. Readers take
/// long texts from here as from a file.
#[derive(Debug, Clone, Default)]
pub struct Rows {
    text: String,
    queries: Vec<Vec<Range<usize>>>,
}

impl Rows {
    /// What follows are the rows of the next query.
    pub fn begin_query(&mut self) {
        self.queries.push(Vec::new());
    }

    /// Adds a row whose columns `write` adds.
    pub fn push<E>(
        &mut self,
        write: impl FnOnce(&mut RowWriter<'_>) -> Result<(), E>,
    ) -> Result<(), E> {
        let start = self.text.len();
        let text = &mut self.text;
        text.push('{');
        write(&mut RowWriter { text, start })?;
        text.push('}');
        let row = start..text.len();
        self.queries
            .last_mut()
            .into_iter()
            .for_each(|rows| rows.push(row.clone()));
        Ok(())
    }

    /// Puts the rows of the last query in the order of their keys.
    pub fn order_by<K: Ord>(&mut self, keys: &[K]) {
        if let Some(rows) = self.queries.last_mut().filter(|_| !keys.is_sorted()) {
            let mut keyed: Vec<_> = keys.iter().zip(std::mem::take(rows)).collect();
            keyed.sort_by_key(|(key, _)| *key);
            rows.extend(keyed.into_iter().map(|(_, row)| row));
        }
    }

    /// The same with other rows of a query.
    pub fn with<'a>(&self, query: usize, rows: impl Iterator<Item = &'a str>) -> Self {
        let mut all = self.clone();
        let rows = rows.map(|row| {
            let start = all.text.len();
            all.text.push_str(row);
            start..all.text.len()
        });
        let rows = rows.collect();
        if let Some(old) = all.queries.get_mut(query) {
            *old = rows;
        }
        all
    }

    /// The rows of a query.
    pub fn of(&self, query: usize) -> impl Iterator<Item = &str> {
        let rows = self.queries.get(query).into_iter().flatten();
        rows.map(|row| &self.text[row.clone()])
    }

    /// The same by the text of a column.
    pub(super) fn by(&self, query: usize, column: &str) -> HashMap<String, Vec<&str>> {
        let mut groups: HashMap<String, Vec<&str>> = HashMap::new();
        for row in self.of(query) {
            let key = Object::read(row).text(column);
            groups.entry(key).or_default().push(row);
        }
        groups
    }

    /// Where a part of a row is, for those who take texts from here.
    pub(super) fn place_of(&self, part: &str) -> Option<u64> {
        // The distance of their addresses is its place, if it is a slice of the text.
        let at = (part.as_ptr() as usize).wrapping_sub(self.text.as_ptr() as usize);
        (at < self.text.len()).then_some(at as u64)
    }
}

impl From<Vec<Vec<String>>> for Rows {
    fn from(queries: Vec<Vec<String>>) -> Self {
        let mut all = Self::default();
        for (query, rows) in queries.into_iter().enumerate() {
            all.begin_query();
            all = all.with(query, rows.iter().map(String::as_str));
        }
        all
    }
}

impl Source for Rows {
    fn len(&self) -> u64 {
        self.text.len() as u64
    }

    fn read(&self, span: Span) -> SourceResult<Vec<u8>> {
        let mut bytes = vec![0; usize::try_from(span.len()).unwrap_or_default()];
        self.fill(span.start, &mut bytes)?;
        Ok(bytes)
    }

    fn fill(&self, start: u64, place: &mut [u8]) -> SourceResult<()> {
        let end = start + place.len() as u64;
        let gone = SourceError::Gone {
            span: Span { start, end },
        };
        let bytes = self.text.as_bytes().get(start as usize..end as usize);
        place.copy_from_slice(bytes.ok_or(gone)?);
        Ok(())
    }
}

/// Adds the columns of a row. A name is JSON.
pub struct RowWriter<'a> {
    text: &'a mut String,
    start: usize,
}

impl RowWriter<'_> {
    fn name(&mut self, name: &str) {
        if self.text.len() > self.start + 1 {
            self.text.push(',');
        }
        self.text.push_str(name);
        self.text.push(':');
    }

    pub fn number(&mut self, name: &str, number: i64) {
        self.name(name);
        self.text.push_str(&number.to_string());
    }

    pub fn decimal(&mut self, name: &str, number: f64) {
        self.name(name);
        self.text
            .push_str(&serde_json::Value::from(number).to_string());
    }

    pub fn text(&mut self, name: &str, text: &[u8]) {
        self.name(name);
        push_quoted(self.text, &lossy_text(text));
    }

    /// Adds a text that may be the JSON of an object or of a list.
    pub fn json(&mut self, name: &str, text: &[u8]) {
        match (text.first(), skip_value(text, 0)) {
            (Some(b'{' | b'['), Ok(end)) if end == text.len() => {
                self.name(name);
                self.text.push_str(&lossy_text(text));
            }
            _ => self.text(name, text),
        }
    }
}

/// The JSON in a column, which may be a text of it.
pub(super) fn json_in<'a>(row: &'a Object<'_>, column: &str) -> Cow<'a, str> {
    match row.get(column) {
        Some(text) if text.starts_with('"') => Cow::Owned(text_of(text)),
        json => Cow::Borrowed(json.unwrap_or_default()),
    }
}
