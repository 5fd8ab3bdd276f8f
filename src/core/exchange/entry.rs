//! What a proxy's journal says: the entries of its lines, as they are written.
//!
//! The journal is one of format `retake-journal`; `formats::retake_journal::exchange` reads the bodies
//! back. Every entry has a `type`, and `at` in milliseconds since 1970. Texts have lost their secrets
//! before they get here.

use super::{ExchangeEnding, ExchangeFinding, ExchangeId, ExchangePhase, ExchangeSummary};
use crate::session::Dialect;
use serde::Serialize;
use serde_json::Value;
use serde_json::value::RawValue;

/// `exchange`: one that is over. `began`: one whose reply takes a while, with its request. `held`:
/// one that waits for a decision. The last two say what is known by then; if their proxy is killed,
/// this is what is left.
#[derive(Debug, Default, Serialize)]
pub struct ExchangeEntry<'a> {
    /// `exchange`, `began` or `held`.
    #[serde(rename = "type")]
    pub kind: &'static str,
    pub id: ExchangeId,
    /// When its request came.
    pub at: u64,
    /// Host and port of its upstream.
    pub upstream: &'a str,
    pub client: &'a str,
    pub method: &'a str,
    pub path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    #[serde(skip_serializing_if = "str::is_empty")]
    pub model: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub status: Option<u16>,
    #[serde(skip_serializing_if = "is_zero")]
    pub retries: u32,
    /// Bytes of the request and of the reply, as they went over the wire.
    pub bytes: [u64; 2],
    /// Milliseconds until the first byte of the reply, and until its end, without those of `held_ms`.
    pub ms: [Option<u64>; 2],
    /// Milliseconds in which a decision about the request was awaited, and one about the reply.
    #[serde(skip_serializing_if = "is_never")]
    pub held_ms: [u64; 2],
    #[serde(skip_serializing_if = "Option::is_none")]
    pub ending: Option<&'a ExchangeEnding>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub holding: Option<HoldingEntry<'a>>,
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub found: &'a [ExchangeFinding],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub notes: Vec<String>,
    /// The headers that are recorded.
    pub headers: HeadersEntry<'a>,
    /// The agent's request, and what is no JSON of it.
    #[serde(flatten)]
    pub request: RequestEntry,
    #[serde(flatten)]
    pub response: ResponseEntry,
    /// What the agent got, where it is something else than the reply.
    #[serde(flatten)]
    pub told: AgentResponseEntry,
    /// A sentence for the reader who finds no end of what is held.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub notice: Option<String>,
}

/// The members of a request.
#[derive(Debug, Default, Serialize)]
pub struct RequestEntry {
    /// The body, where it is JSON. In the journal of a proxy a member `continues` may be in its place, for a body
    /// that goes on from one that the file has: which, how many bytes both begin with, the new elements of its
    /// list, how many bytes both end with.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request: Option<Box<RawValue>>,
    /// The body, where it is another text.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub request_text: Option<String>,
    /// What was sent to the provider, where it is something else than the request.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub sent: Option<Box<RawValue>>,
}

/// The members of a reply.
#[derive(Debug, Default, Serialize)]
pub struct ResponseEntry {
    /// The reply in one piece, in the shape of its dialect; one that was streamed was put together.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response: Option<Box<RawValue>>,
    /// What is no JSON of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub response_text: Option<String>,
    /// The stream as it came, where it was odd: events that are no JSON, one that broke off, failures.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub stream: Option<String>,
    /// Whether the stream did not reach its end.
    #[serde(skip_serializing_if = "std::ops::Not::not")]
    pub incomplete: bool,
    /// What the provider reported in the middle of the stream.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub failures: Vec<Value>,
}

/// The members of what the agent got.
#[derive(Debug, Default, Serialize)]
pub struct AgentResponseEntry {
    /// In one piece, in the shape of its dialect.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told: Option<Box<RawValue>>,
    /// What is no JSON of it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub told_text: Option<String>,
}

/// How a held exchange waits.
#[derive(Debug, Serialize)]
pub struct HoldingEntry<'a> {
    pub since: u64,
    /// Whether the request is held, and not the reply.
    pub is_request: bool,
    pub why: &'a str,
    /// The file of the run that the hold is.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub journal: Option<String>,
}

/// Headers by name, in the order in which they came.
#[derive(Debug, Default, Serialize)]
pub struct HeadersEntry<'a> {
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub request: &'a [(String, String)],
    #[serde(skip_serializing_if = "<[_]>::is_empty")]
    pub response: &'a [(String, String)],
}

impl<'a> ExchangeEntry<'a> {
    /// The entry of an exchange, without its bodies and headers.
    pub fn of(seen: &'a ExchangeSummary, upstream: &'a str) -> Self {
        let (ending, holding) = match &seen.phase {
            ExchangePhase::Ended(ending) => (Some(ending), None),
            ExchangePhase::Held(holding) => (None, Some(holding)),
            _ => (None, None),
        };
        Self {
            kind: "exchange",
            id: seen.id,
            at: seen.at_ms,
            upstream,
            client: &seen.client,
            method: &seen.method,
            path: seen.path.split(['?', '#']).next().unwrap_or_default(),
            dialect: seen.dialect,
            model: &seen.model,
            status: seen.status,
            retries: seen.retries,
            bytes: [seen.sent, seen.received],
            ms: [seen.first_ms, seen.total_ms],
            held_ms: seen.held_ms,
            ending,
            holding: holding.map(|holding| HoldingEntry {
                since: holding.since_ms,
                is_request: holding.is_request,
                why: &holding.why,
                journal: None,
            }),
            found: &seen.found,
            notes: seen.notes.clone(),
            ..Self::default()
        }
    }
}

/// A short entry about an exchange.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(rename_all = "kebab-case", tag = "type")]
pub enum ExchangeNote {
    /// Something was decided about an exchange that is held.
    Decided {
        id: ExchangeId,
        at: u64,
        /// Id of the rule, where it is about a finding.
        #[serde(skip_serializing_if = "Option::is_none")]
        rule: Option<String>,
        /// Id of the action, or `release`, `cut`.
        action: String,
        by: crate::session::takes::Author,
        /// The name of the wording.
        #[serde(skip_serializing_if = "Option::is_none")]
        wording: Option<String>,
    },
    /// A held exchange is over; this is its last entry.
    Ended {
        id: ExchangeId,
        at: u64,
        ending: ExchangeEnding,
    },
    /// A message of a WebSocket that passed.
    Observed {
        /// The number of the exchange that the connection is.
        id: ExchangeId,
        at: u64,
        from: SocketSide,
        /// What: JSON, or a text.
        message: Value,
    },
    /// An exchange that is recorded was judged since: all that was found, and all notes.
    Judged {
        id: ExchangeId,
        at: u64,
        #[serde(skip_serializing_if = "Vec::is_empty")]
        found: Vec<ExchangeFinding>,
        /// What the operator should know of it.
        #[serde(skip_serializing_if = "Vec::is_empty")]
        notes: Vec<String>,
    },
    /// Exchanges that could not be recorded.
    Lost {
        /// When that was known.
        at: u64,
        count: u64,
    },
    /// The proxy was ended, and everything is in the journal. It is the last line.
    Closed { at: u64 },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum SocketSide {
    Agent,
    Provider,
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn is_zero(number: &u32) -> bool {
    *number == 0
}

fn is_never(held_ms: &[u64; 2]) -> bool {
    *held_ms == [0, 0]
}
