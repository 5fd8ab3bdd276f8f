//! The configuration of a run, its events, and the effects that the engine requests.

use super::breakpoint::Breakpoint;
use super::policy::{Approval, Millis, Policy};
use super::standing::RunStatus;
use crate::session::ledger::{Ask, CallKey, CallOutcome, Ending, LedgerEvent, ReplySummary};
use crate::session::takes::TakeId;
use std::collections::BTreeMap;
use std::sync::Arc;

#[derive(Debug, Clone, PartialEq)]
pub enum RunEvent {
    /// The status of the history: at the beginning, after the run has grown, after the operator went to
    /// another take or made one.
    StatusChanged(Arc<RunStatus>),
    /// An agent has sent a request by itself: it is under way, and its result is reported as that of
    /// any other.
    AgentRequested {
        /// The take whose history was sent.
        take: TakeId,
    },
    /// A reply is complete and in the history; [`RunEvent::StatusChanged`] follows.
    Replied { ask: Ask, reply: ReplySummary },
    /// An attempt brought no reply.
    NotReplied { ask: Ask, fault: ModelFault },
    /// An attempt to carry out a call ended.
    Finished { call: CallKey, outcome: CallOutcome },
    /// A call cannot be answered without the operator: no recorded output fits.
    NeedsOperator { call: CallKey, note: String },
    /// A time is up.
    TimerFired(super::Timer),
    /// The operator wants something.
    Operator(RunCommand),
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
pub enum RunCommand {
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
    /// The operator accepted a fallback as the result: the run ends with it. [`RunEvent::StatusChanged`] of
    /// its take comes before.
    AcceptFallback,
    /// The run may take this many more turns.
    MoreTurns(u32),
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

// What the engine asks for.

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum RunEffect {
    /// To be entered in the ledger, on the disk before anything that follows.
    Record(LedgerEvent),
    /// The model is to be called with the current history.
    Ask {
        ask: Ask,
        attempt: u32,
    },
    /// The question at hand is called off.
    CancelAsk(Ask),
    /// A call is to be carried out.
    Run {
        call: CallKey,
        tool: String,
        arguments: String,
        attempt: u32,
    },
    /// Tools that run are to be stopped; each still ends with [`super::RunEvent::Finished`].
    StopTools,
    /// The history grows by the output of a call.
    Answer {
        call: CallKey,
        /// What the model will read.
        output: String,
        /// Whether it reports an error.
        is_error: bool,
    },
    /// A policy decided about a fault: the action is to be carried out as a take,
    /// [`super::RunEvent::StatusChanged`] or [`super::RunEvent::Refused`] follows.
    Act(super::Decision),
    /// Open calls are to be closed, so that the history is one that a provider takes.
    Close,
    /// The run waits for the operator.
    Pause(Vec<Reason>),
    /// [`super::RunEvent::TimerFired`] is to come then.
    Wait {
        timer: Timer,
        /// In so many milliseconds.
        for_ms: Millis,
    },
    /// Somebody wants to hear that a breaker opened.
    Webhook {
        url: String,
        change: super::BreakerChange,
    },
    /// Something that the operator should know: an event that belongs to nothing at hand, a decision that
    /// cannot be carried out.
    Note(String),
    Finish(Ending),
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum Timer {
    /// The request is sent again.
    AskAgain(Ask),
    /// A call is tried again.
    RunAgain(CallKey),
}

/// Why a run waits for the operator.
#[derive(Debug, Clone, PartialEq, serde::Serialize, serde::Deserialize)]
#[serde(tag = "reason", rename_all = "kebab-case")]
pub enum Reason {
    /// Something is wrong with the last turn.
    Fault {
        /// Id of the rule.
        rule: String,
        /// The item of the take.
        item: Option<u32>,
        message: String,
    },
    Breakpoint {
        number: u32,
        /// What it looks for, as the operator wrote it.
        what: String,
        item: Option<u32>,
    },
    /// A call needs the operator's approval.
    Approval {
        call: CallKey,
        tool: String,
        arguments: String,
        /// Whether each call of the tool needs one: it cannot be approved for good.
        is_each_time: bool,
    },
    /// The operator is the tool.
    AskOperator {
        call: CallKey,
        tool: String,
        arguments: String,
        /// Why, where that needs a word: no recorded output fits.
        note: String,
    },
    MayHaveRun {
        call: CallKey,
        tool: String,
    },
    /// The model cannot be called.
    Model {
        why: String,
    },
    /// The turns are used up.
    TurnLimit {
        turns: u32,
    },
    /// The operator stepped, or paused.
    Stepped,
    /// The history is empty: the operator begins.
    NothingSaid,
}

impl Reason {
    /// The reason in a few words, for the ledger and for reports; it holds text of the run.
    pub fn words(&self) -> String {
        match self {
            Self::Fault { rule, message, .. } => format!("{rule}: {message}"),
            Self::Breakpoint { number, what, .. } => format!("breakpoint {number}: {what}"),
            Self::Approval { call, tool, .. } => format!("{tool} needs an approval ({call})"),
            Self::AskOperator { call, tool, .. } => {
                format!("the output of {tool} is the operator's to give ({call})")
            }
            Self::MayHaveRun { call, tool } => format!("{tool} may have run ({call})"),
            Self::Model { why } => format!("the request to the model failed: {why}"),
            Self::TurnLimit { turns } => format!("the run has used up its {turns} turns"),
            Self::Stepped => "the next step".to_owned(),
            Self::NothingSaid => "the history is empty".to_owned(),
        }
    }
}

// The configuration of a run.

/// How a run is to be led.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The name of the agent, for templates.
    pub agent: String,
    /// Whether somebody is there to decide. Where nobody is, breakpoints and steps hold nothing, and what has
    /// to be decided ends the run.
    pub has_operator: bool,
    /// The most replies that the history may hold.
    pub max_turns: Option<u32>,
    /// Who carries out the calls.
    pub tools_are: ToolOwner,
    /// The tools by their qualified names. One that is not among them is the operator's.
    pub tools: BTreeMap<String, ToolConfig>,
    /// What is done without asking.
    pub policy: Policy,
    /// Where the run stops although nothing is wrong, to begin with.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether the run stops before each step, to begin with.
    pub is_stepping: bool,
    /// Spreads waiting times, so that runs that failed together do not come back together.
    pub seed: u64,
}

/// Who carries out the calls of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolOwner {
    #[default]
    Own,
    /// An agent elsewhere, whose exchange with its model is held: sound calls are handed over to it,
    /// and the run ends.
    Agents {
        /// How often the model is called again before the operator decides.
        asks: u32,
    },
}

/// How calls of a tool are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolConfig {
    /// Whether a call needs an approval, unless the policy says otherwise.
    pub approval: Approval,
    /// What carrying out a call means.
    pub nature: Nature,
}

/// What carrying out a call means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nature {
    /// Something happens in the world; its start is recorded before.
    #[default]
    Acts,
    /// A canned or recorded output is given; nothing happens.
    Answers,
    /// The operator types the output.
    Operator,
}
