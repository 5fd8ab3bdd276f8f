//! Messages between a run and the process that supervises a tool: one line of JSON there, one back.

use serde::{Deserialize, Serialize};

/// The order: what to start, and for how long.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct ToolOrder {
    pub(super) argv: Vec<String>,
    /// What it reads on its standard input.
    pub(super) input: String,
    pub(super) timeout_ms: u64,
    pub(super) grace_ms: u64,
}

/// The reply of the supervisor: it ended, and so did everything that it had started, but for what is named.
pub(super) type SupervisorReply = Result<Ended, NotStarted>;

/// The system did not start it.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct NotStarted {
    /// The system's number for the reason; `None` where it has none.
    pub(super) errno: Option<i32>,
    pub(super) words: String,
}

/// How a tool ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) why: EndReason,
    pub(super) code: Option<i32>,
    /// The signal that ended it.
    pub(super) signal: Option<i32>,
    /// Whether it had to be killed, as it did not end in the grace period.
    pub(super) was_killed: bool,
    /// Processes that it left running when it ended by itself, by name and number: they were ended too. The
    /// names hold text from outside.
    pub(super) left: String,
    /// Processes that could not be ended.
    pub(super) remain: String,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum EndReason {
    /// By itself, or by a signal that did not come from here.
    #[default]
    ByItself,
    Timeout,
    /// Nobody wants its output any longer: the operator stopped it, or the run is gone.
    Stopped,
}
