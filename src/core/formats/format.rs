//! What a format is: how it is recognised, how it is read, and what comes of that.

use super::sample::Sample;
use super::tables::{Query, Rows};
use crate::json::{Cursor, Result};
use crate::session::{Fragment, Problem, Session, Source, SourceError};
use std::sync::Arc;

/// Reads the value at the cursor as one record; `base` is where the walked text begins in the source.
pub type ReadRecord = fn(&mut Cursor<'_>, u64, &mut Fragment) -> Result<()>;

/// Reads the member `key` of a document whose records stand in one of its arrays.
pub type ReadMember = fn(&[u8], &mut Cursor<'_>, u64, &mut Fragment) -> Result<()>;

/// Reads a whole text at once. The sessions may have a source of their own, where items do not stand in the
/// text as they are.
pub type ReadWhole = fn(&Arc<dyn Source>, &[u8]) -> Result<Contents, SourceError>;

/// Puts what was read in the order of the history.
pub type Assemble = fn(Fragment, &Arc<dyn Source>) -> Result<Contents, SourceError>;

/// Builds the sessions of a database from the rows of each query.
pub type ReadTables = fn(&Arc<Rows>) -> Result<Contents, SourceError>;

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
    pub fn after(mut self, earlier: Vec<Problem>) -> Self {
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
    /// How sure it is that a text is its own: 0 not at all, 100 beyond doubt.
    pub sniff: fn(&Sample<'_>) -> u8,
    pub reading: Reading,
}

/// How a format is read.
#[derive(Debug, Clone, Copy)]
pub enum Reading {
    /// Record by record, in parallel where the file is large.
    Records(Records),
    /// The same where the messages of the file are spelled in no dialect: each record is spelled anew.
    Spelled(Records),
    /// The whole text at once.
    Whole(ReadWhole),
    /// By the database in `runtime`; the text is not JSON.
    Database,
    /// By the tables of a database that is never written.
    Tables(Tables),
}

/// How the tables of a database are read.
#[derive(Debug, Clone, Copy)]
pub struct Tables {
    pub queries: &'static [Query],
    pub read: ReadTables,
}

/// How the records of a format are read.
#[derive(Debug, Clone, Copy)]
pub struct Records {
    /// Whether records are spelled anew: then no span of an item or a record is one of the file.
    pub spells: bool,
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

impl Records {
    /// Values one after another or in an array, each of which is spelled anew.
    pub(super) const fn spelled(read: ReadRecord, assemble: Assemble) -> Self {
        Self {
            spells: true,
            line: read,
            element: read,
            member: |_, _, _, _| Ok(()),
            arrays: &[],
            assemble,
        }
    }
}
