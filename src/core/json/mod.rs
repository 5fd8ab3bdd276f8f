//! Where things stand in JSON text, without building values: the ground under every reader.
//!
//! A transcript of a gigabyte is mostly strings that nobody looks at. This room walks the text once, jumps
//! from quote to quote, and hands out byte ranges. It checks structure, literals and numbers; what is inside
//! strings (escapes, UTF-8) is judged only where a string is read. Nothing here recurses, so no nesting depth
//! can overflow the stack.

mod complete;
mod cursor;
mod skip;
mod spelling;
mod text;

pub use complete::complete;
pub use cursor::Cursor;
pub use skip::{skip_value, skip_whitespace, string_end};
pub use spelling::{SpellingError, bad_strings, respelled};
pub use text::{display_text, unescape};

use std::fmt;

/// Why a text is not JSON, and where: `at` counts bytes from the start of the slice that was read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct JsonError {
    /// Byte position in the slice.
    pub at: usize,
    /// What was found there.
    pub kind: JsonErrorKind,
}

/// What was found where JSON does not allow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum JsonErrorKind {
    /// The text stops inside a value.
    End,
    /// A byte that cannot start or continue here.
    Byte(u8),
    /// A number that JSON does not know, as `01`, `.5` or `1.`.
    Number,
    /// A word other than `true`, `false` and `null`, as `NaN` or `None`.
    Word,
}

impl JsonError {
    /// Moves the place by the offset of the slice in a larger text.
    pub fn shifted(self, by: usize) -> Self {
        Self {
            at: self.at + by,
            ..self
        }
    }
}

impl fmt::Display for JsonErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::End => write!(f, "the text stops inside a value"),
            Self::Byte(byte) if byte.is_ascii_graphic() => {
                write!(f, "unexpected `{}`", *byte as char)
            }
            Self::Byte(byte) => write!(f, "unexpected byte 0x{byte:02x}"),
            Self::Number => write!(f, "a number that JSON does not know"),
            Self::Word => write!(f, "a word that JSON does not know"),
        }
    }
}
