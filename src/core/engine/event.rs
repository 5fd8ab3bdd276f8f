//! What the engine is told.

use super::standing::RunStatus;
use crate::session::ledger::{Ask, CallKey, Ending, Failure, Usage};
use crate::session::takes::TakeId;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub enum Event {
    /// The history stands like this now: at the beginning, after the run has grown, after the operator went to
    /// another take or made one.
    StatusChanged(Arc<RunStatus>),
    /// An agent asked the model by itself: that question is under way, and what comes of it is told
    /// as of any other.
    AgentRequested {
        /// The take whose history was sent.
        take: TakeId,
    },
    /// A reply is complete and in the history; [`Event::StatusChanged`] follows.
    Replied {
        ask: Ask,
        /// The ids of its calls.
        calls: Vec<String>,
        usage: Usage,
        /// Milliseconds until its first byte.
        first_ms: u64,
        /// Milliseconds until it was whole.
        total_ms: u64,
        /// Whether its stream reached the end.
        ended: bool,
        /// Why it ended, in the provider's word.
        stop: Option<String>,
    },
    /// An attempt brought no reply.
    NotReplied { ask: Ask, fault: ModelFault },
    /// An attempt to carry out a call ended.
    Finished {
        call: CallKey,
        /// What came of it.
        outcome: Outcome,
    },
    /// A call cannot be answered without the operator: no recorded output fits.
    NeedsOperator {
        call: CallKey,
        /// Why the operator is asked.
        note: String,
    },
    /// A time is up.
    TimerFired(super::Timer),
    /// The operator wants something.
    Operator(Command),
    /// What a policy had decided could not be done.
    Refused {
        /// The rule of the fault.
        rule: String,
        item: Option<u32>,
        why: String,
    },
}

/// What the operator wants of a run.
#[derive(Debug, Clone, PartialEq)]
pub enum Command {
    /// Go on, until something holds.
    Continue,
    /// Go on by one step: one question to the model, or the tools of one reply.
    Step,
    /// Stop before the next step.
    Pause,
    /// End the run: what is under way is stopped, open calls are closed by the runtime.
    Abort,
    /// Let what holds pass as it is.
    Release,
    /// It was decided elsewhere how the run ends.
    End(Ending),
    /// Do not wait any longer: what was to be tried again later is tried now.
    Now,
    /// A call that waits for approval may run.
    Approve {
        call: CallKey,
        /// Whether later calls of the tool need no approval.
        always: bool,
    },
    /// A call that waits for approval may not run.
    Reject {
        call: CallKey,
        /// What the model will read.
        words: String,
    },
    /// The operator wrote the output of a call.
    Supply {
        call: CallKey,
        /// What the model will read.
        output: String,
        /// Whether it reports an error.
        is_error: bool,
    },
    /// A call that may have run is to run again; the operator confirmed it.
    RunAgain { call: CallKey },
    /// Another set of breakpoints.
    Breakpoints(Vec<super::Breakpoint>),
    /// A tool that was switched off is to be used again.
    Enable { tool: String },
    /// The operator accepted a fallback as the result: the run ends with it. [`Event::StatusChanged`] of
    /// its take comes before.
    AcceptFallback,
    /// The run may take this many more turns.
    MoreTurns(u32),
}

/// What came of carrying out a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Outcome {
    /// What the model will read; never empty where it is an error.
    pub output: String,
    /// Whether that reports an error.
    pub is_error: bool,
    /// Why the tool did not do what it was called for.
    pub failure: Option<Failure>,
    /// How long it took, in milliseconds.
    pub ms: u64,
}

/// Why a model did not reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ModelFault {
    /// HTTP status, where there was one.
    pub status: Option<u16>,
    /// What happened, for the operator: the provider's words or ours, without secrets.
    pub why: String,
    /// Whether the same question may be answered a moment later: connection faults, timeouts,
    /// 408, 409, 429, 5xx.
    pub is_recoverable: bool,
    /// How long the provider asks to wait, in milliseconds.
    pub retry_after_ms: Option<u64>,
    /// Whether a part of the reply was shown already.
    pub was_streaming: bool,
}
