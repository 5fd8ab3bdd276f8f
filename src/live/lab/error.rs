//! Why there is no experiment, or no history for one.

use crate::live::PrepareError;
use crate::{InputError, RunError, TakeError};
use retake_core::actions::ActionError;
use retake_core::session::Dialect;
use retake_core::wire::write::request::NoRequest;
use std::io;

#[derive(Debug, thiserror::Error)]
pub enum LabError {
    #[error("{path}: {error}")]
    NoRecording {
        /// The file, as the spec names it.
        path: String,
        error: InputError,
    },
    #[error("{path}: {reason}")]
    NoTools {
        /// The file, as the spec names it.
        path: String,
        reason: String,
    },
    #[error("{path}: there is no finding{}{} that words could mend", at(*item), of(rule.as_deref()))]
    NoFinding {
        /// The file, as the spec names it.
        path: String,
        /// The requested item, from 1.
        item: Option<u32>,
        rule: Option<String>,
    },
    #[error("there is nothing to try: a spec names at least one [[finding]] and one [[model]]")]
    Nothing,
    #[error("no wording `{name}` is known{hint}")]
    NoWording {
        name: String,
        /// What was meant, if that is known.
        hint: String,
    },
    /// Words of the spec have the name of another wording that is tried.
    #[error(
        "`{name}` in [[wordings.add]] is the name of another wording: give these words one of their own"
    )]
    NameTaken { name: String },
    #[error("{path}: item {item}: {error}")]
    History {
        /// The file, as the spec names it.
        path: String,
        item: u32,
        error: HistoryError,
    },
    #[error(transparent)]
    Model(#[from] PrepareError),
    #[error("{0}")]
    NoRequest(#[from] NoRequest),
    #[error(transparent)]
    NoJournal(#[from] RunError),
    #[error(transparent)]
    Take(#[from] TakeError),
    #[error("{0}")]
    NotRecording(String),
    #[error("the lab cannot be set up: {0}")]
    NoThread(io::Error),
}

fn at(item: Option<u32>) -> String {
    item.map_or_else(String::new, |item| format!(" at item {item}"))
}

fn of(rule: Option<&str>) -> String {
    rule.map_or_else(String::new, |rule| format!(" of {rule}"))
}

#[derive(Debug, thiserror::Error)]
pub enum HistoryError {
    #[error(transparent)]
    Take(#[from] TakeError),
    #[error("the finding is not there when the history is written for {}", .0.word())]
    NotInDialect(Dialect),
    #[error("the finding is about no item")]
    NoPlace,
    #[error("{0}")]
    Refused(#[from] ActionError),
    #[error("no wording can be tried: {0}")]
    Nothing(String),
}
