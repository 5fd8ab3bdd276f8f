//! What the lab is opened for, what it measures, and what it asks of the world.

use super::memory::LabMemory;
use crate::tui::recovery::wording::Previewer;
use crate::tui::state::document::{Document, Place};
use retake_core::lab::{LabCommand, Spec, WordingVariant};
use retake_core::session::Dialect;
use retake_core::wording::FailureKind;
use retake_live::lab::Report;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The finding that the lab is opened for. Texts are from outside.
#[derive(Debug, Clone)]
pub struct LabSubject {
    pub document: Arc<Document>,
    pub place: Place,
    /// Whether the recording itself is shown, and no take of it.
    pub is_main: bool,
    /// The file that holds exactly what is shown; `None` where it has to be saved first: a take, standard
    /// input, a held exchange.
    pub file: Option<PathBuf>,
    /// Whether more tools are known than the file tells.
    pub has_tools_from_outside: bool,
    pub name: String,
    pub rule: &'static str,
    pub message: String,
    pub kind: FailureKind,
    /// The tool of the call, as the model spelled it; empty where there is none.
    pub tool: String,
    /// Whether that tool takes free-form input.
    pub is_custom: bool,
    /// How the recording spells things.
    pub dialect: Dialect,
    /// The wordings that can be compared: that of the recording first, where there is one.
    pub candidates: Vec<WordingVariant>,
    /// The tool that was probably meant.
    pub nearest: Option<String>,
    /// The file of an agent that is proposed for its model.
    pub agent: Option<String>,
    pub previewer: Previewer,
    /// What was written and measured before.
    pub memory: LabMemory,
}

/// An experiment that is to begin.
#[derive(Debug, Clone)]
pub struct ExperimentOrder {
    pub spec: Spec,
    /// What it is measured on.
    pub subject: Arc<LabSubject>,
    /// Whether what was answered before is left alone.
    pub is_fresh: bool,
}

/// What the lab asks of the world.
pub trait LabBench: Send + Sync {
    /// Prepares an experiment and begins it; what comes of it is reported to `report`, also after this has
    /// returned. It takes a while: never on the thread of the screen. The error is for the operator and
    /// holds text from outside.
    fn begin(&self, order: &ExperimentOrder, report: Report) -> Result<Running, String>;

    /// The spec by which `retake lab` does the same where it is saved in this folder: what is shown
    /// is a file then.
    fn spec(&self, order: &ExperimentOrder, folder: &Path) -> Result<Spec, String>;
}

/// An experiment that goes on until this is dropped: does what the operator wants; what comes of it is news.
pub type Running = Box<dyn Fn(LabCommand) + Send>;

/// A file that is to be written.
#[derive(Debug, Clone)]
pub struct Saving {
    /// Where to, as it was typed.
    pub path: String,
    pub what: Saved,
    /// Whether a file that is there already may be replaced.
    pub force: bool,
}

/// What a file is to hold.
#[derive(Debug, Clone)]
pub enum Saved {
    /// The spec of an experiment.
    Spec(Box<ExperimentOrder>),
    Text(String),
}
