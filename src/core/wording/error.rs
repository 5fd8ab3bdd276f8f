//! Why a template cannot be used, with the line and what would help.

use super::context::VARIABLES;
use super::render::{OUTPUT, TEMPLATE};

/// Why a template cannot be used. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template is too long.
    #[error("the template is too long: {} KB at most", TEMPLATE / 1024)]
    TooLong,
    /// It uses an unknown name.
    #[error("line {line}: unknown name `{name}`; available: {}", names())]
    UnknownName { name: String, line: usize },
    /// It uses a part of the template language that wordings leave out.
    #[error("line {line}: `{what}` is not for wordings; {hint}")]
    NotForWordings {
        /// The statement or operator.
        what: String,
        /// What to use instead.
        hint: &'static str,
        line: usize,
    },
    /// It cannot be read, or fails for this failure.
    #[error("line {line}: {reason}")]
    Failed { reason: String, line: usize },
    /// It runs on and on.
    #[error("the template does not come to an end; loop over fewer things")]
    Endless,
    /// What it says is too long.
    #[error("the text is too long: {} KB at most", OUTPUT / 1024)]
    TooMuch,
}

impl TemplateError {
    /// The line of the template, where one is to blame.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::UnknownName { line, .. }
            | Self::NotForWordings { line, .. }
            | Self::Failed { line, .. } => Some(*line),
            Self::TooLong | Self::Endless | Self::TooMuch => None,
        }
    }
}

impl TemplateError {
    /// Its line in a TOML file whose template starts, quotes included, at byte `at`. A multi-line text usually
    /// starts on the line after its quotes.
    pub fn line_in_toml(&self, file: &str, at: usize) -> usize {
        let (before, text) = file.split_at_checked(at).unwrap_or((file, ""));
        let quotes = text.starts_with("\"\"\"") || text.starts_with("'''");
        let skipped = usize::from(quotes && text[3..].trim_start_matches('\r').starts_with('\n'));
        let inside = match quotes {
            true => self.line().unwrap_or(1) - 1 + skipped,
            false => 0,
        };
        before.matches('\n').count() + 1 + inside
    }
}

fn names() -> String {
    let names = VARIABLES.iter().map(|variable| variable.name);
    names.collect::<Vec<_>>().join(", ")
}
