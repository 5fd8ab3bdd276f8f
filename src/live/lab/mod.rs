//! The lab in the world: recordings are read, histories with each wording are sent, replies are classed
//! and kept as takes.
//!
//! Each trial has a journal of its own that opens like any recording: its base is the history up to the failing
//! turn, each wording a take, each reply a take below it.
//!
//! ```text
//! prepare(&Spec, Beside) ─▶ Prepared ─▶ Lab::start(prepared, report) ─▶ Report(News) ...; Lab::command(Command)
//! ```

mod driver;
mod error;
mod history;
mod prepare;
mod trial;

pub use driver::{LabNews, LabRun, Report};
pub use error::{HistoryError, LabError};
pub use history::recorded_text;
pub use prepare::{LabContext, PreparedLab, prepare, variant_of};

use std::path::{Path, PathBuf};

/// The folder of the journals of experiments, below the operator's own one ([`super::takes::usual_root`]).
pub fn labs_folder(root: &Path) -> PathBuf {
    root.join("retake").join("labs")
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
