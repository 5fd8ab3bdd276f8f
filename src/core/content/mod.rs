//! What the contents of items look like to a reader: calls in one line, edits as diffs, terminal output and
//! Markdown as styled lines.
//!
//! Everything here is text from outside that is taken apart, never made safe: whoever draws it puts each piece
//! through [`crate::safe_text::SafeText`].

mod ansi;
mod diff;
mod markdown;
mod result;
mod size;
mod summary;

pub use ansi::{has_colours, terminal_lines};
pub use diff::{Change, DiffLine, FileDiff, diff_of_text, diffs_of_call};
pub use markdown::markdown_lines;
pub use result::{ResultText, result_text};
pub use size::Size;
pub use summary::{CallSummary, display_name, is_from_program, is_reader, summarize_call};

/// How a piece of content looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Look {
    #[default]
    Plain,
    Faint,
    Strong,
    Emphasis,
    Heading,
    Code,
    Quote,
    Added,
    Removed,
    /// Where a part of a diff stands in its file.
    Place,
    /// A colour of terminal output.
    Colour(Colour),
}

/// The colours that terminal output is shown in. Which shade of them it was is not kept, and neither are
/// black, white and backgrounds: they are unreadable on somebody's screen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Colour {
    Red,
    Green,
    Yellow,
    Blue,
    Magenta,
    Cyan,
}

/// A line of pieces.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct StyledLine {
    pub pieces: Vec<(Look, String)>,
}

impl StyledLine {
    pub fn new(look: Look, text: &str) -> Self {
        Self {
            pieces: vec![(look, text.to_owned())],
        }
    }

    /// Adds text behind; what looks like the last piece joins it.
    fn push(&mut self, look: Look, text: &str) {
        if text.is_empty() {
            return;
        }
        match self.pieces.last_mut() {
            Some((last, before)) if *last == look => before.push_str(text),
            _ => self.pieces.push((look, text.to_owned())),
        }
    }
}
