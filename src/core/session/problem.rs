//! What a reader could not make sense of, and where. A problem costs its record and nothing else.

use crate::json::{JsonErrorKind, SpellingError};

/// One thing in a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Byte position in the source.
    pub at: u64,
    pub kind: ProblemKind,
}

impl Problem {
    pub fn new(at: u64, kind: ProblemKind) -> Self {
        Self { at, kind }
    }
}

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ProblemKind {
    #[error("not JSON: {0}; the record is kept unchanged")]
    NotJson(JsonErrorKind),
    /// The writer was stopped in the middle.
    #[error("the last record is cut; what was written of it is kept as it is")]
    Torn,
    #[error("the text ends before its closing bracket; the records up to there are shown")]
    Unclosed,
    /// A document that the end of the file cuts, and how many items are read of it.
    #[error("the file ends in the middle of its JSON: {}; if it was copied, copy it again", match .items {
        0 => "no item is whole before that".to_owned(),
        1 => "the item before that was read".to_owned(),
        items => format!("the {items} items before that were read"),
    })]
    Cut { items: usize },
    #[error("text after the last record was left alone")]
    Trailing,
    /// Log lines, a code fence.
    #[error("text before the first record was left alone")]
    Leading,
    #[error("a run of NUL bytes, as a power loss leaves, was left alone")]
    Nul,
    /// A number, a string, an array.
    #[error("not a valid record")]
    NotARecord,
    #[error("several records on one line; all of them were read")]
    SharedLine,
    /// The text was UTF-16 or UTF-32.
    #[error("the file is {0}; it is read as UTF-8")]
    Transcoded(&'static str),
    #[error("the compressed file breaks off or is damaged ({0}); what came out of it is shown")]
    BrokenPacking(String),
    #[error("a record of another format ({0})")]
    MixedFormats(&'static str),
    #[error("a Python literal, not JSON: write it with json.dumps")]
    PythonLiteral,
    /// As `cat` leaves it.
    #[error("a byte-order mark in the middle of the file was jumped over")]
    ByteOrderMark,
    #[error("the chain of parents runs in a circle and was cut here")]
    ParentCycle,
    #[error("cannot be decoded: {0}")]
    Undecodable(String),
    #[error("tool definitions that cannot be used: {0}")]
    BadToolDefinitions(String),
    /// A key that decides what the record is.
    #[error("the key \"{0}\" occurs twice; the last one counts")]
    DuplicateKey(String),
    /// Its opening quote is here.
    #[error(
        "a string with {}: no strict parser takes the text, no provider the request; `fix` spells it anew",
        match .0 {
            SpellingError::Control => "a control character that is not escaped",
            SpellingError::Escape => "an escape that JSON does not know",
            SpellingError::Encoding => "bytes that are no UTF-8",
        }
    )]
    BadString(SpellingError),
    /// Items, calls or parts; they are kept.
    #[error("{words}{}", match .count {
        1 => ": not known to this format; nothing judges it".to_owned(),
        count => format!(", {count} times: not known to this format; nothing judges them"),
    })]
    UnknownType { words: String, count: usize },
}

impl ProblemKind {
    /// Whether something of the file was not read, so that no check of it can call it clean.
    pub fn is_unread(&self) -> bool {
        match self {
            Self::NotJson(_)
            | Self::Torn
            | Self::Unclosed
            | Self::Cut { .. }
            | Self::Trailing
            | Self::NotARecord
            | Self::BrokenPacking(_)
            | Self::PythonLiteral
            | Self::Undecodable(_)
            | Self::BadToolDefinitions(_)
            | Self::BadString(_)
            | Self::UnknownType { .. } => true,
            Self::Leading
            | Self::Nul
            | Self::SharedLine
            | Self::Transcoded(_)
            | Self::MixedFormats(_)
            | Self::ByteOrderMark
            | Self::ParentCycle
            | Self::DuplicateKey(_) => false,
        }
    }
}
