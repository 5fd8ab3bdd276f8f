//! What is held, what it reports, and how it ends.

use crate::http::{Headers, Target};
use crate::live::UpstreamResult;
use retake_core::exchange::{ExchangeId, Found};
use retake_core::session::Dialect;
use retake_core::session::ledger::Usage;
use std::path::PathBuf;

/// Calls to the model that retake adds to one exchange before it turns to the operator.
pub const ASKS: u32 = 5;

/// An exchange that is to be held.
#[derive(Debug)]
pub struct HoldOrder {
    pub id: ExchangeId,
    /// How it is spelled.
    pub dialect: Dialect,
    /// The model of the request.
    pub model: String,
    /// Where the client's request goes, with its path and its query.
    pub target: Target,
    /// Whether the server must prove who it is.
    pub is_verified: bool,
    /// The client's own lines ([`Headers::passed_on`]).
    pub headers: Headers,
    /// The request, decoded and otherwise as it came.
    pub request: Vec<u8>,
    pub came: UpstreamResult,
    /// Why the model cannot be called again, if it cannot.
    pub closed: Option<String>,
    /// Whether the agent has words of the held reply already.
    pub text_sent: bool,
    /// Where the journal of the hold is to be; there is no such file yet.
    pub journal: PathBuf,
}

impl HoldOrder {
    /// Bytes of what is held.
    pub(crate) fn size(&self) -> usize {
        let came = match &self.came {
            UpstreamResult::Reply(answer) => answer.json.len(),
            UpstreamResult::Nothing | UpstreamResult::Refusal(_) => 0,
        };
        self.request.len() + came
    }
}

/// What the wire is to do with an exchange.
#[derive(Debug, Clone, PartialEq)]
pub enum HoldOutcome {
    /// What is held passes as it came: a reply, a refusal, a request.
    Release {
        /// `operator`, `policy`, or why nobody was waited for any longer.
        by: String,
    },
    /// Another request goes to the provider than the agent's: its repair.
    Request(Box<EditedExchange>),
    /// The agent gets another reply than the provider's, or the provider is to see another
    /// history than the agent.
    Reply(Box<EditedExchange>),
    /// The agent gets this text as the model's final message.
    Value {
        text: String,
        /// What was changed beside it.
        edited: Box<EditedExchange>,
    },
    /// The agent gets an error that it does not try again on.
    Refused {
        /// Why; it holds text of the exchange.
        why: String,
    },
    /// The connection to the agent is cut.
    Cut { why: String },
    /// There is nobody left to answer.
    ClientLeft,
}

/// What an exchange has become. Secrets are in their places.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct EditedExchange {
    /// The agent's request, as it came.
    pub base: Vec<u8>,
    /// The same with everything after it, as the last take has it: what the provider is to see.
    pub take: Vec<u8>,
    /// The last reply of the provider that the take goes on from, as one piece of JSON; empty
    /// where there was none.
    pub last_reply: String,
    /// Tokens of all replies that retake requested, and of the held one.
    pub usage: Usage,
    /// Who let the last reply pass although something is still wrong with it; `None` where nothing is.
    pub let_pass_by: Option<String>,
}

/// What a hold tells its exchange before it is decided.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HoldUpdate {
    Found(Vec<Found>),
    Waits(WaitReason),
}

/// What a hold waits for.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum WaitReason {
    /// Somebody's decision: why, in a few words that hold text of the exchange.
    ForDecision(String),
    /// Another reply of the model.
    ForModel,
}
