//! Messages between a run and the process that supervises a tool: one line of JSON there, one back.

use serde::{Deserialize, Serialize};

/// The order: what to start, and for how long.
#[derive(Debug, Serialize, Deserialize)]
pub(super) struct Order {
    pub(super) argv: Vec<String>,
    /// What it reads on its standard input.
    pub(super) input: String,
    pub(super) timeout_ms: u64,
    pub(super) grace_ms: u64,
}

/// The reply of the supervisor.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum SupervisorReply {
    /// The system did not start it.
    NotStarted {
        /// The system's number for the reason; `None` where it has none.
        errno: Option<i32>,
        words: String,
    },
    /// It ended, and so did everything that it had started, but for what is named.
    Ended(Ended),
}

/// How a tool ended.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Ended {
    pub(super) why: Why,
    pub(super) code: Option<i32>,
    /// The signal that ended it.
    pub(super) signal: Option<i32>,
    /// Whether it had to be killed, as it did not end in the grace period.
    pub(super) was_killed: bool,
    /// Processes that it left running when it ended by itself: they were ended too.
    pub(super) left: Vec<Process>,
    /// Processes that could not be ended.
    pub(super) remain: Vec<Process>,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(super) enum Why {
    /// By itself, or by a signal that did not come from here.
    #[default]
    ByItself,
    Timeout,
    /// Nobody wants its output any longer: the operator stopped it, or the run is gone.
    Stopped,
}

/// A process, for a report.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Process {
    pub(super) pid: i32,
    /// What the system calls it; it holds text from outside.
    pub(super) name: String,
}
