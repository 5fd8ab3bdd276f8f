//! Why a template cannot be used, with the line and what would help.

use super::context::VARIABLES;
use super::render::{OUTPUT, TEMPLATE};

/// Why a template cannot be used. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Fault {
    /// The template is too long.
    #[error("the template is too long: {} KB at most", TEMPLATE / 1024)]
    TooLong,
    /// It uses a name that does not stand ready.
    #[error("line {line}: there is no `{name}`; these stand ready: {}", names())]
    UnknownName {
        /// The name.
        name: String,
        /// Where it stands.
        line: usize,
    },
    /// It uses a part of the template language that wordings leave out.
    #[error("line {line}: `{what}` is not for wordings; {hint}")]
    NotForWordings {
        /// The statement or operator.
        what: String,
        /// What to use instead.
        hint: &'static str,
        /// Where it stands.
        line: usize,
    },
    /// It cannot be read, or fails for this failure.
    #[error("line {line}: {reason}")]
    Failed {
        /// What is wrong.
        reason: String,
        /// Where it stands.
        line: usize,
    },
    /// It runs on and on.
    #[error("the template does not come to an end; loop over fewer things")]
    Endless,
    /// What it says is too long.
    #[error("the text is too long: {} KB at most", OUTPUT / 1024)]
    TooMuch,
}

impl Fault {
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

fn names() -> String {
    let names = VARIABLES.iter().map(|variable| variable.name);
    names.collect::<Vec<_>>().join(", ")
}
