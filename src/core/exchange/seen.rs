//! What is known of an exchange, for whoever watches or records it.

use crate::rules::{Finding, Severity};
use crate::session::{Dialect, Session};
use serde::{Deserialize, Serialize};
use std::fmt;

/// An exchange by its number, from 1, in the order in which the requests came.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct ExchangeId(pub u32);

impl fmt::Display for ExchangeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.fmt(f)
    }
}

/// An exchange as far as it is known. Texts are from outside. It is serialized as the JSON lines of a proxy
/// tell it; how it ended and the name of its upstream stand beside it there.
#[derive(Debug, Clone, PartialEq, Default, Serialize)]
pub struct ExchangeSummary {
    #[serde(rename = "exchange")]
    pub id: ExchangeId,
    /// When its request came, in milliseconds since 1970.
    pub at_ms: u64,
    /// Which upstream it goes to, by its place on the command line, from 0.
    #[serde(skip)]
    pub upstream: usize,
    /// What the client calls itself, shortened: `openai-python 3.52.0`.
    pub client: String,
    pub method: String,
    /// The path, without its query.
    pub path: String,
    /// The dialect that is spoken there; `None` for what only passes.
    pub dialect: Option<Dialect>,
    /// The model of the request.
    pub model: String,
    /// Whether the request wants a stream.
    pub streams: bool,
    /// How many retries of the same request have joined it.
    pub retries: u32,
    /// The status of the reply.
    pub status: Option<u16>,
    /// Bytes of the request.
    pub sent: u64,
    /// Bytes of the reply so far.
    pub received: u64,
    /// Milliseconds until the first byte of the reply, without those in which a decision was awaited.
    pub first_ms: Option<u64>,
    /// Milliseconds until its end, counted likewise.
    pub total_ms: Option<u64>,
    /// Milliseconds in which a decision about the request was awaited, and one about the reply.
    pub held_ms: [u64; 2],
    /// Since when a decision is awaited, in milliseconds since 1970; none while the upstream is called again.
    #[serde(skip)]
    pub held_since_ms: Option<u64>,
    #[serde(skip)]
    pub rewritten: Rewritten,
    #[serde(skip)]
    pub phase: ExchangePhase,
    /// What was found, the worst first.
    #[serde(rename = "findings")]
    pub found: Vec<ExchangeFinding>,
    /// What the operator should know of it: a stream that was cut, a body that cannot be decoded.
    pub notes: Vec<String>,
}

impl ExchangeSummary {
    /// How long decisions were awaited until a moment, in milliseconds.
    pub fn held_until(&self, now: u64) -> u64 {
        let current = self
            .held_since_ms
            .map_or(0, |since| now.saturating_sub(since));
        self.held_ms.iter().sum::<u64>() + current
    }
}

/// What of an exchange did not pass as it came.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Rewritten {
    /// The request was changed as an earlier one of the conversation was, without another decision.
    pub again: bool,
    /// The request, by a decision about it.
    pub request: bool,
    /// The reply, by a decision about it.
    pub reply: bool,
}

/// Something that was found in an exchange.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct ExchangeFinding {
    /// Id of the rule.
    pub rule: &'static str,
    pub severity: Severity,
    /// The tool that it is about.
    pub tool: Option<String>,
    /// The rule's sentence; it holds text of the exchange.
    pub message: String,
}

impl ExchangeFinding {
    pub fn of(finding: &Finding, session: &Session) -> Self {
        Self {
            rule: finding.rule.id,
            severity: finding.severity,
            tool: finding.tool(session).map(str::to_owned),
            message: finding.message(),
        }
    }
}

/// What an exchange is doing.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum ExchangePhase {
    /// Its request comes, or is looked at.
    #[default]
    Asking,
    /// The upstream has the request and has not answered yet.
    Waiting,
    /// The reply comes, and what may pass passes.
    Replying,
    /// It waits for a decision.
    Held(Holding),
    /// It is held, and retake asks the upstream again meanwhile.
    AskingAgain(Holding),
    Ended(ExchangeEnding),
}

impl ExchangePhase {
    /// How it is held, whether a decision is awaited or the upstream is called again.
    pub fn hold(&self) -> Option<&Holding> {
        match self {
            Self::Held(holding) | Self::AskingAgain(holding) => Some(holding),
            _ => None,
        }
    }
}

/// How an exchange waits for a decision.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holding {
    /// Whether the request is held, and not the reply.
    pub is_request: bool,
    /// Since when, in milliseconds since 1970.
    pub since_ms: u64,
    /// When it is released without a decision, in milliseconds since 1970, because its client would give up
    /// soon after; `None` where the client waits as long as it hears heartbeats.
    pub until_ms: Option<u64>,
    /// Why, in a few words.
    pub why: String,
    /// Whether its client has left: only a retry of the client can still be answered.
    pub is_gone: bool,
    /// What the agent has of the held reply already.
    pub has: AgentHas,
}

/// What an agent has of a reply that is held: what was streamed to it before.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct AgentHas {
    /// Whether anything of the turn was sent.
    pub is_begun: bool,
    /// Whether words of the model are among that.
    pub text: bool,
    /// The ids of the calls among that.
    pub calls: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case", tag = "how")]
pub enum ExchangeEnding {
    /// Everything passed as it came.
    Passed,
    /// What was held was released as it came: by whom.
    Released {
        /// `operator`, `policy`, or why nobody was waited for any longer.
        by: String,
    },
    /// The agent got another reply than the provider's first one, or the provider another
    /// request than the agent's.
    Mended,
    /// The agent got an error that retake made.
    Refused { why: String },
    /// The connection to the agent was cut by a decision.
    Cut,
    /// The upstream gave no reply.
    NoReply { why: String },
    /// The reply broke off; the agent's connection was broken off as well.
    Truncated,
    /// The client left before its end.
    ClientLeft,
    /// retake was ended while it was under way; only found after a restart.
    Interrupted,
}
