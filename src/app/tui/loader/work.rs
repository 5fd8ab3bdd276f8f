//! What every thread of the loader has: the file, what is known besides it, the takes, who hears the reports.

use super::takes::bench::Bench;
use super::takes::conductor::Staged;
use crate::tui::report::Report;
use retake_core::session::{Dialect, OutputSchema, Tool};
use retake_core::usage::Prices;
use retake_live::{OpenedInput, Recording, through_take};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::AtomicU64;

/// Finds the tools that belong to a file, outside of it.
pub(super) type FindTools = fn(&Path) -> Option<Vec<Tool>>;

/// What is known about the runs besides the files.
#[derive(Debug, Clone, Default)]
pub struct Knowledge {
    tools: Option<Vec<Tool>>,
    tools_beside: Option<FindTools>,
    output_schema: Option<OutputSchema>,
    pub(super) target: Option<Dialect>,
    pub prices: Prices,
    /// The file that this is about.
    path: PathBuf,
}

impl Knowledge {
    /// What the command line says: the tools that were offered, whatever the file says; how the tools of a
    /// file are found that does not tell; the schema of the final output; the dialect to judge for, if not
    /// that of the recording.
    pub fn new(
        tools: Option<Vec<Tool>>,
        tools_beside: FindTools,
        output_schema: Option<OutputSchema>,
        target: Option<Dialect>,
    ) -> Self {
        Self {
            tools,
            tools_beside: Some(tools_beside),
            output_schema,
            target,
            prices: Prices::built_in(),
            path: PathBuf::new(),
        }
    }

    /// What is known about the runs of a file.
    pub fn of_file(&self, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            ..self.clone()
        }
    }

    /// Whether tools are known that the file itself may not tell.
    pub fn has_tools(&self) -> bool {
        self.tools.is_some()
    }

    /// Adds what is known about a file to its recording; returns the dialect to judge for, if not
    /// that of the recording.
    pub fn judge(&self, path: &Path, recording: &mut Recording) -> Option<Dialect> {
        self.of_file(path).apply(recording);
        self.target
    }

    /// The dialect to judge for, if not that of the recording.
    pub fn target(&self) -> Option<Dialect> {
        self.target
    }

    /// Adds what is known to the sessions of a recording.
    pub(super) fn apply(&self, recording: &mut Recording) {
        through_take(&self.path, recording);
        let beside = match (&self.tools, self.tools_beside) {
            (None, Some(find)) => find(&self.path),
            _ => None,
        };
        for session in &mut recording.sessions {
            session.contract.supplement(
                self.tools.as_deref(),
                beside.as_deref(),
                self.output_schema.as_ref(),
            );
        }
    }
}

pub(super) type Hear = Arc<dyn Fn(Report) + Send + Sync>;

#[derive(Clone)]
pub(super) struct Work {
    pub(super) opening: Arc<OpenedInput>,
    /// How long the file was when it was read.
    pub(super) read_to: Arc<AtomicU64>,
    pub(super) knowledge: Arc<Knowledge>,
    pub(super) bench: Arc<Bench>,
    pub(super) staged: Staged,
    pub(super) reports: Hear,
}

impl Work {
    pub(super) fn tell(&self, report: Report) {
        (self.reports)(report);
    }
}
