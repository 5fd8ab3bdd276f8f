//! What the contents of items look like to a reader: calls in one line, edits as diffs, terminal output and
//! Markdown as styled lines.
//!
//! Everything here is text from outside that is taken apart, never made safe: whoever draws it puts each piece
//! through [`crate::safe_text::SafeText`].

mod ansi;
mod code;
mod diff;
mod look;
mod markdown;
mod plain;
mod result;
mod size;
mod summary;
mod table;

pub use ansi::{has_colours, terminal_lines, without_colours};
pub use code::{Highlighter, Language, code_lines, language_of};
pub use diff::{Change, DiffLine, FileDiff, beside_diffs, diff_of_text, diffs_of_call};
pub use look::{Colour, Look, StyledLine};
pub use markdown::markdown_lines;
pub use plain::call_text;
pub use result::{ResultText, exit_of_failure, result_text};
pub use size::Size;
pub use summary::{
    CallSummary, PlanStep, StepState, answers_in_markdown, any_name_of, command_of_call,
    display_name, file_read, is_from_program, is_reader, plan_of, summarize_call,
};
