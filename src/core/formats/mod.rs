//! How files hold sessions: one file per format, recognised by content, read record by record.
//!
//! A format is a row of [`FORMATS`]: how sure it is that a text is its own, how it reads one record, and how it
//! puts the records of a whole file in the order of the history. Reading one record needs no other record, so
//! parts of a file can be read side by side; `split` says where records begin and end. Reading never fails as a
//! whole: a broken record costs that record.

mod agents_runstate;
pub mod agents_sqlite;
mod anthropic_messages;
mod assemble;
mod body;
mod claude_code;
mod codex;
pub mod convert;
mod foreign;
mod gemini_contents;
mod lower;
mod openai_chat;
mod openai_responses;
pub mod retake_journal;
mod sample;
pub mod split;
mod sse;
mod unknown;

pub use assemble::{RequestError, assemble_plain, read_request, read_request_part};
pub use foreign::{Foreign, recognise_foreign};
pub use lower::{CannotWrite, lower, new_message};
pub use sample::{Document, Layout, Sample};
pub use unknown::{another_format, unknown_types};

use crate::json::{Cursor, JsonError};
use crate::session::{Dialect, Fragment, Problem, Session, Source, SourceError};
use std::sync::Arc;

/// Reads the value at the cursor as one record; `base` is where the walked text begins in the source.
pub type ReadRecord = fn(&mut Cursor<'_>, u64, &mut Fragment) -> Result<(), JsonError>;

/// Reads the member `key` of a document whose records stand in one of its arrays.
pub type ReadMember = fn(&[u8], &mut Cursor<'_>, u64, &mut Fragment) -> Result<(), JsonError>;

/// Reads a whole text at once. The sessions may have a source of their own, where items do not stand in the
/// text as they are.
pub type ReadWhole = fn(&Arc<dyn Source>, &[u8]) -> Result<Contents, SourceError>;

/// Puts what was read in the order of the history.
pub type Assemble = fn(Fragment, &Arc<dyn Source>) -> Result<Contents, SourceError>;

/// What a file holds.
#[derive(Debug, Default)]
pub struct Contents {
    /// Its sessions; the active ones first where a format knows dead branches.
    pub sessions: Vec<Session>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

impl Contents {
    /// Puts problems that were found earlier before its own.
    pub fn behind(mut self, earlier: Vec<Problem>) -> Self {
        self.problems.splice(0..0, earlier);
        self
    }
}

#[derive(Debug, Clone, Copy)]
pub struct Format {
    /// Its id on the command line and in reports.
    pub id: &'static str,
    /// What it is, for people.
    pub title: &'static str,
    /// The dialect of its items.
    pub dialect: Dialect,
    /// How sure it is that a text is its own: 0 not at all, 100 beyond doubt.
    pub sniff: fn(&Sample<'_>) -> u8,
    pub reading: Reading,
}

/// How a format is read.
#[derive(Debug, Clone, Copy)]
pub enum Reading {
    /// Record by record, in parallel where the file is large.
    Records(Records),
    /// The whole text at once.
    Whole(ReadWhole),
    /// By the database in `runtime`; the text is not JSON.
    Database,
}

/// How the records of a format are read.
#[derive(Debug, Clone, Copy)]
pub struct Records {
    /// One value of a stream of values (a line).
    pub line: ReadRecord,
    /// One element of the array that holds the records.
    pub element: ReadRecord,
    /// A member of the document beside that array.
    pub member: ReadMember,
    /// The names of such arrays in a document.
    pub arrays: &'static [&'static str],
    /// The order of the history.
    pub assemble: Assemble,
}

/// Every format, the one that is asked first on equal terms first.
pub const FORMATS: &[Format] = &[
    claude_code::FORMAT,
    codex::FORMAT,
    agents_sqlite::FORMAT,
    agents_runstate::FORMAT,
    sse::FORMAT,
    retake_journal::FORMAT,
    openai_responses::FORMAT,
    anthropic_messages::FORMAT,
    openai_chat::FORMAT,
    gemini_contents::FORMAT,
];

/// Whether a changed session can be written in the format that it was read from. A captured stream holds no
/// whole item, the lines of a journal are never changed, and a RunState says the same items in several places,
/// which the SDK checks against each other.
pub fn is_written(format: &Format) -> bool {
    let others = [
        sse::FORMAT.id,
        retake_journal::FORMAT.id,
        agents_runstate::FORMAT.id,
    ];
    !others.contains(&format.id)
}

/// The format that reads the requests and replies of a dialect.
pub fn of_dialect(dialect: Dialect) -> &'static Format {
    match dialect {
        Dialect::Responses => &openai_responses::FORMAT,
        Dialect::Chat => &openai_chat::FORMAT,
        Dialect::Anthropic => &anthropic_messages::FORMAT,
        Dialect::Gemini => &gemini_contents::FORMAT,
    }
}

pub fn find(id: &str) -> Option<&'static Format> {
    FORMATS.iter().find(|format| format.id == id)
}

/// The format that claims a text most surely.
pub fn recognise(sample: &Sample<'_>) -> Option<&'static Format> {
    if foreign::is_rather_foreign(sample) {
        return None;
    }
    let scored = FORMATS
        .iter()
        .map(|format| ((format.sniff)(sample), format))
        .filter(|(score, _)| *score > 0);
    scored
        .rev()
        .max_by_key(|(score, _)| *score)
        .map(|(_, format)| format)
}

/// Reads a text that is in memory.
pub fn read_buffer(
    format: &Format,
    source: &Arc<dyn Source>,
    bytes: &[u8],
) -> Result<Contents, SourceError> {
    match format.reading {
        Reading::Whole(read) => read(source, bytes),
        Reading::Database => Ok(Contents::default()),
        Reading::Records(records) => {
            let sample = Sample::new(bytes, true);
            let mut fragment = split::read_all(&records, &sample, bytes);
            let problems = std::mem::take(&mut fragment.problems);
            Ok((records.assemble)(fragment, source)?.behind(problems))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_unique_and_spelled_alike() {
        for (index, format) in FORMATS.iter().enumerate() {
            assert!(
                format
                    .id
                    .bytes()
                    .all(|byte| byte.is_ascii_lowercase() || byte == b'-'),
                "{}",
                format.id
            );
            assert!(
                FORMATS[..index].iter().all(|other| other.id != format.id),
                "{}",
                format.id
            );
        }
    }
}
