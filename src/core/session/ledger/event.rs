//! What can be entered in the ledger.

use crate::session::takes::{Author, ContentDigest, TakeId};
use serde::{Deserialize, Serialize};
use std::fmt;

/// A request to the model by its number, from 1; 0 means anything recorded before.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct Ask(pub u32);

/// A call as the world knows it, in whatever take it is seen.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct CallKey {
    /// The question whose reply made it.
    pub ask: Ask,
    pub call_id: String,
}

impl fmt::Display for CallKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} of reply {}", self.call_id, self.ask.0)
    }
}

/// Tokens, as the provider counted them.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Usage {
    #[serde(default)]
    pub input: u64,
    /// What was answered, reasoning included.
    #[serde(default)]
    pub output: u64,
}

impl Usage {
    /// Adds the tokens of another reply.
    pub fn add(&mut self, other: &Self) {
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
    }
}

/// Why a tool did not do what it was called for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
#[derive(strum::IntoStaticStr)]
#[strum(serialize_all = "kebab-case")]
pub enum Failure {
    /// It took too long.
    Timeout,
    /// What runs it cannot be reached, or went away.
    Connection,
    /// It is not allowed.
    Permission,
    /// It reported that it failed: an exit code, an error result.
    Reported,
    /// It was stopped by the operator.
    Stopped,
    /// It was not run: its breaker is open.
    SwitchedOff,
    Unknown,
}

impl Failure {
    /// Whether the same call may succeed a moment later.
    pub fn is_recoverable(self) -> bool {
        matches!(self, Self::Timeout | Self::Connection)
    }

    /// The word for it in reports.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

/// How a run ended.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum Ending {
    /// The model gave its final message.
    Final,
    /// A fallback was accepted as the result.
    Fallback,
    /// What the history ends on went to the agent, or to its provider, which go on with it.
    HandedOver,
    /// It used up its turns.
    TurnLimit { turns: u32 },
    /// The operator ended it.
    Aborted,
    /// A policy failed the run.
    Raised { rule: String },
    /// A request to the model failed.
    ModelFailed { why: String },
    /// Somebody has to decide, and nobody is there.
    Unattended {
        /// What is to be decided.
        why: String,
    },
}

/// One entry of the ledger.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum LedgerEvent {
    /// A run began, or went on after retake was started again.
    Began {
        /// The take that it drives.
        take: TakeId,
        /// What the agent is called.
        agent: String,
        #[serde(default, skip_serializing_if = "String::is_empty")]
        file: String,
        model: String,
        /// Whether the model is a script.
        scripted: bool,
    },
    /// A request goes to the model.
    Asked {
        ask: Ask,
        /// The take whose history is sent.
        take: TakeId,
        attempt: u32,
    },
    /// An attempt brought no reply.
    NotReplied {
        ask: Ask,
        attempt: u32,
        /// HTTP status, where there was one.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        status: Option<u16>,
        why: String,
        /// Milliseconds until it is tried again; `None` where it is not.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        again_in_ms: Option<u64>,
    },
    Replied {
        ask: Ask,
        /// The take that the reply belongs to.
        take: TakeId,
        /// The ids of its calls, in order.
        calls: Vec<String>,
        #[serde(default)]
        usage: Usage,
        /// Milliseconds until the first byte of the reply.
        first_ms: u64,
        /// Milliseconds until the reply was whole.
        total_ms: u64,
        /// Whether the stream reached its end.
        ended: bool,
        /// Why it ended, in the provider's word: `length`, `refusal`.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        stop: Option<String>,
    },
    /// Somebody decided about a call or a finding.
    Decided {
        /// The take in which it was decided.
        take: TakeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallKey>,
        /// Id of the rule, where a finding was decided about.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// What was decided: an action's id, `approve`, `reject`, `release`, `run-again`.
        action: String,
        by: Author,
        /// Name of the wording.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        wording: Option<String>,
        /// The arguments as the model proposed them, where other ones run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        proposed: Option<String>,
        /// The arguments that run.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        effective: Option<String>,
    },
    /// What a policy decided could not be done.
    Refused {
        /// The take in which it was decided.
        take: TakeId,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        call: Option<CallKey>,
        /// Id of the rule.
        rule: String,
        /// Id of the action.
        action: String,
        /// Why it could not be done.
        why: String,
    },
    /// The operator approved every later call of a tool.
    ApprovedAlways { tool: String },
    /// A call is about to be carried out. This is on the disk before anything starts.
    Started {
        call: CallKey,
        /// The take that runs it.
        take: TakeId,
        tool: String,
        /// Digest of the tool and the arguments ([`LedgerEvent::digest`]).
        arguments: ContentDigest,
        attempt: u32,
    },
    /// An attempt to carry out a call ended.
    Finished {
        call: CallKey,
        /// The take that ran it.
        take: TakeId,
        tool: String,
        /// Digest of the tool and the arguments.
        arguments: ContentDigest,
        attempt: u32,
        /// What the model will read.
        output: String,
        /// Whether that reports an error.
        is_error: bool,
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// How long it took, in milliseconds.
        ms: u64,
    },
    /// The output that a call is given next reports an error; not every dialect has a mark for that.
    Failed {
        /// The take that grows by the output.
        take: TakeId,
        call: CallKey,
        tool: String,
        /// Why it failed, where that is known.
        #[serde(default, skip_serializing_if = "Option::is_none")]
        failure: Option<Failure>,
        /// The first line of the output, shortened.
        text: String,
    },
    /// A circuit breaker changed its state.
    Breaker {
        tool: String,
        state: String,
        errors: u32,
    },
    /// The run waits for a decision.
    Paused {
        take: TakeId,
        /// Why, in a few words.
        why: String,
    },
    Ended {
        take: TakeId,
        #[serde(flatten)]
        how: Ending,
    },
}

impl LedgerEvent {
    /// The word in `type` of each, by which a journal tells them from the changes of the tree of takes.
    pub const TYPES: [&'static str; 13] = [
        "began",
        "asked",
        "not-replied",
        "replied",
        "decided",
        "refused",
        "approved-always",
        "started",
        "finished",
        "failed",
        "breaker",
        "paused",
        "ended",
    ];

    /// What tells executions of one call apart: the tool and the arguments that ran, which the
    /// operator may have changed.
    pub fn digest(tool: &str, arguments: &str) -> ContentDigest {
        ContentDigest::of(format!("{tool}\n{arguments}").as_bytes())
    }
}
