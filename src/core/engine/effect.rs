//! What the engine asks for.

use crate::session::ledger::{Ask, CallKey, Ending, LedgerEvent};

/// Moments and durations in milliseconds; moments count from any beginning that never goes back.
pub type Millis = u64;

/// What is to be done, in this order.
#[derive(Debug, Clone, PartialEq)]
pub enum Effect {
    /// To be entered in the ledger, on the disk before anything that follows.
    Record(LedgerEvent),
    /// The model is to be asked with the history as it stands.
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
    /// Tools that run are to be stopped; each still ends with [`super::Event::Finished`].
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
    /// [`super::Event::StatusChanged`] or [`super::Event::Refused`] follows.
    Act(super::Decision),
    /// Open calls are to be closed, so that the history is one that a provider takes.
    Close,
    /// The run waits for the operator.
    Pause(Vec<Reason>),
    /// [`super::Event::TimerFired`] is to come then.
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
    /// The model is asked again.
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
    },
    /// The operator is the tool.
    AskOperator {
        call: CallKey,
        tool: String,
        arguments: String,
        /// Why the operator is asked, where that needs a word: no recorded output fits.
        note: String,
    },
    /// A call may have run.
    MayHaveRun { call: CallKey, tool: String },
    /// The model cannot be asked.
    Model { why: String },
    /// The turns are used up.
    TurnLimit { turns: u32 },
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
            Self::Model { why } => format!("the model cannot be asked: {why}"),
            Self::TurnLimit { turns } => format!("the run has used up its {turns} turns"),
            Self::Stepped => "the next step".to_owned(),
            Self::NothingSaid => "nothing was said yet".to_owned(),
        }
    }
}
