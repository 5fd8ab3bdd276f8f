//! What a live run tells whoever watches it.

use super::snapshot::TakeSnapshot;
use crate::Recording;
use retake_core::engine::{self, Millis};
pub use retake_core::engine::{Phase, ToolState};
use retake_core::rules::Finding;
use retake_core::session::ledger::{Ask, LedgerEvent, Usage};
use retake_core::session::takes::TakeId;
use std::fmt;
use std::sync::Arc;

/// Something about the run has changed.
#[derive(Debug, Clone, PartialEq)]
pub enum RunNews {
    Phase(Phase),
    /// The history of this take has grown, or the run drives another take now.
    Grown(TakeId),
    Judged(Judged),
    /// What has come of the reply so far.
    Streaming(Streaming),
    /// Something was entered in the ledger.
    Recorded(LedgerEvent),
    /// The operator should know this; it holds text from outside.
    Notice(String),
    /// How the tools stand.
    Tools(Vec<ToolState>),
    /// Tokens of all replies so far.
    Usage(Usage),
}

/// A take as it was read once, and what was found in its session.
#[derive(Clone)]
pub struct Judged(pub(crate) Arc<TakeSnapshot>);

impl Judged {
    pub fn recording(&self) -> &Recording {
        &self.0.recording
    }

    /// The same, to keep.
    pub fn shared(&self) -> Arc<Recording> {
        self.0.recording.clone()
    }

    /// What holds a run, or would: the faults of the last turn, or of a request that is about to be sent.
    pub fn faults(&self) -> &[engine::RunFault] {
        &self.0.standing.faults
    }

    /// What was found, in the order of the history.
    pub fn findings(&self) -> &[Finding] {
        &self.0.findings
    }
}

/// The same reading: what is read again is another one.
impl PartialEq for Judged {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

/// How much was found.
impl fmt::Debug for Judged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Judged")
            .field("findings", &self.0.findings.len())
            .finish_non_exhaustive()
    }
}

/// A reply that is on its way.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Streaming {
    pub ask: Ask,
    pub reasoning: String,
    pub text: String,
    pub calls: Vec<StreamedCall>,
    /// Nothing has come for so many milliseconds.
    pub silent_ms: Millis,
}

#[derive(Debug, Clone, PartialEq, Default)]
pub struct StreamedCall {
    /// Its id; empty while it is not known.
    pub call_id: String,
    pub name: String,
    /// The arguments so far.
    pub arguments: String,
    pub is_complete: bool,
}
