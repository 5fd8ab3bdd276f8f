//! What a reader could not make sense of, and where. A problem costs its record and nothing else.

use crate::json::{JsonErrorKind, SpellingError};
use std::fmt;

/// One thing in a file that could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Problem {
    /// Byte position in the source.
    pub at: u64,
    pub kind: ProblemKind,
}

/// What could not be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProblemKind {
    /// A record that is not JSON.
    NotJson(JsonErrorKind),
    /// The last record is cut: the writer was stopped in the middle.
    Torn,
    /// The array or object that holds the records is not closed.
    Unclosed,
    /// Text after the last record that belongs to nothing.
    Trailing,
    /// Text before the first record that was jumped over: log lines, a code fence.
    Leading,
    /// A run of NUL bytes, as a power loss leaves.
    Nul,
    /// A JSON value that is no record of the format: a number, a string, an array.
    NotARecord,
    /// Two or more records stand on one line; all of them were read.
    SharedLine,
    /// The text was UTF-16 or UTF-32 and was read in UTF-8.
    Transcoded(&'static str),
    /// The compressed file breaks off or is damaged; the text says how.
    BrokenPacking(String),
    /// Lines of another format among those of this one.
    MixedFormats(&'static str),
    /// A Python literal where JSON was expected.
    PythonLiteral,
    /// A byte-order mark in the middle, as `cat` leaves.
    ByteOrderMark,
    /// The chain of parents runs in a circle.
    ParentCycle,
    /// A value that could not be decoded; the text says why.
    Undecodable(String),
    BadToolDefinitions(String),
    /// A key that decides what the record is occurs twice in it; the last one counts.
    DuplicateKey(String),
    /// A string that JSON does not allow; its opening quote is here.
    BadString(SpellingError),
    /// Items, calls or parts of a type that the format does not have; they are kept and nothing judges them.
    UnknownType {
        words: String,
        /// How many there are.
        count: usize,
    },
}

impl ProblemKind {
    /// Whether something of the file was not read, so that no check of it can call it clean.
    pub fn is_unread(&self) -> bool {
        match self {
            Self::NotJson(_)
            | Self::Torn
            | Self::Unclosed
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

impl fmt::Display for ProblemKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NotJson(fault) => write!(f, "not JSON: {fault}; the record is kept as it is"),
            Self::Torn => write!(
                f,
                "the last record is cut; what was written of it is kept as it is"
            ),
            Self::Unclosed => write!(
                f,
                "the text ends before its closing bracket; the records up to there are shown"
            ),
            Self::Trailing => write!(f, "text after the last record was left alone"),
            Self::Leading => write!(f, "text before the first record was left alone"),
            Self::Nul => write!(
                f,
                "a run of NUL bytes, as a power loss leaves, was left alone"
            ),
            Self::NotARecord => write!(f, "a JSON value that is no record of this format"),
            Self::SharedLine => write!(f, "several records on one line; all of them were read"),
            Self::Transcoded(encoding) => write!(f, "the file is {encoding}; it is read as UTF-8"),
            Self::BrokenPacking(reason) => write!(
                f,
                "the compressed file breaks off or is damaged ({reason}); what came out of it is shown"
            ),
            Self::MixedFormats(format) => write!(f, "a record of another format ({format})"),
            Self::PythonLiteral => {
                write!(f, "a Python literal, not JSON: write it with json.dumps")
            }
            Self::ByteOrderMark => write!(
                f,
                "a byte-order mark in the middle of the file was jumped over"
            ),
            Self::ParentCycle => {
                write!(f, "the chain of parents runs in a circle and was cut here")
            }
            Self::Undecodable(reason) => write!(f, "cannot be decoded: {reason}"),
            Self::BadToolDefinitions(reason) => {
                write!(f, "tool definitions that cannot be used: {reason}")
            }
            Self::DuplicateKey(key) => {
                write!(f, "the key \"{key}\" occurs twice; the last one counts")
            }
            Self::BadString(bad) => {
                let what = match bad {
                    SpellingError::Control => "a control character that is not escaped",
                    SpellingError::Escape => "an escape that JSON does not know",
                    SpellingError::Encoding => "bytes that are no UTF-8",
                };
                write!(
                    f,
                    "a string with {what}: no strict parser takes the text, no provider the request; `fix` \
                    spells it anew"
                )
            }
            Self::UnknownType { words, count: 1 } => {
                write!(f, "{words}: not known to this format; nothing judges it")
            }
            Self::UnknownType { words, count } => {
                write!(
                    f,
                    "{words}, {count} times: not known to this format; nothing judges them"
                )
            }
        }
    }
}
