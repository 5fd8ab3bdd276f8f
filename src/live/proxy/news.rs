//! News of a proxy for its watchers, and commands to it.

use super::body::{Body, ClientPresence};
use super::guard::AdmitError;
use bytes::Bytes;
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Method, Response};
use retake_core::engine::Breakpoint;
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangeSummary};
use retake_core::rules::Finding;
use retake_core::session::Dialect;
use retake_core::session::takes::Author;
use serde::{Serialize, Serializer};
use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitStatus;
use std::sync::Arc;
use std::time::{Duration, SystemTime};

/// Something has happened. Texts may hold text from outside. What says all that there is to say of it is
/// serialized as the JSON lines of a proxy tell it; the rest is skipped.
#[derive(Debug, Clone, Serialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum ProxyNews {
    /// A listener is ready; they come in the order of the upstreams.
    #[serde(skip)]
    Listening {
        address: SocketAddr,
        /// What its clients call their base URL, without `/v1`; a token is part of it.
        base: String,
        /// The upstream that it leads to: host and port.
        upstream: String,
    },
    /// An exchange has begun, or its status has changed.
    #[serde(skip)]
    Exchange(Arc<ExchangeSummary>),
    /// The reply or the request of an exchange was judged and something was found.
    #[serde(skip)]
    Found {
        id: ExchangeId,
        /// What, in the order of the history.
        findings: Arc<Vec<Finding>>,
        /// What they were found in, for a report.
        session: Arc<crate::Recording>,
    },
    /// Something was decided about an exchange.
    #[serde(rename = "decision")]
    Decided {
        #[serde(rename = "exchange")]
        id: ExchangeId,
        /// Id of the rule, where it is about a finding.
        rule: Option<String>,
        /// Id of the action, or `release`, `cut`.
        action: String,
        by: Author,
        /// The name of the wording.
        wording: Option<String>,
        /// Whether words of the held reply had reached the agent before: the decision follows them.
        #[serde(skip_serializing_if = "std::ops::Not::not")]
        text_sent: bool,
    },
    /// A hold has a journal of its own now, which opens like a recording.
    Journal {
        #[serde(rename = "exchange")]
        id: ExchangeId,
        #[serde(serialize_with = "lossy")]
        path: PathBuf,
    },
    /// The agent that was started with the proxy has written a line.
    Output {
        /// The line without its end; a long one comes in pieces.
        text: String,
        /// Whether it is of its standard error.
        #[serde(rename = "stream", serialize_with = "stream_name")]
        is_error: bool,
    },
    /// The agent that was started with the proxy has ended, and all that it wrote was reported.
    #[serde(skip)]
    AgentEnded(ExitStatus),
    /// The operator should know this.
    #[serde(serialize_with = "message")]
    Notice(String),
}

fn lossy<S: Serializer>(path: &Path, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(&path.to_string_lossy())
}

#[allow(clippy::trivially_copy_pass_by_ref)] // the signature is serde's
fn stream_name<S: Serializer>(is_error: &bool, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(if *is_error { "stderr" } else { "stdout" })
}

fn message<S: Serializer>(message: &str, to: S) -> Result<S::Ok, S::Error> {
    BTreeMap::from([("message", message)]).serialize(to)
}

/// Who hears the news, in threads of the proxy.
pub type Report = Arc<dyn Fn(ProxyNews) + Send + Sync>;

/// What the operator wants of a proxy.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ProxyCommand {
    /// What is held of an exchange passes as it came.
    Release(ExchangeId),
    /// Everything that is held passes as it came.
    ReleaseAll,
    /// The connection to the agent is cut.
    Cut(ExchangeId),
    /// The request of an exchange that is over is sent to its upstream again, as an exchange of its own; no client
    /// gets its reply.
    Replay(ExchangeId),
    /// Whether anything is held at all; what passes is still watched and recorded.
    Intercept(bool),
    /// All breakpoints: where exchanges are held although nothing is wrong.
    Breakpoints(Vec<Breakpoint>),
}

// Who looks at what passes: the seam between the wire and what is made of it.

/// A request at a path where a dialect is spoken, as it would go to the upstream.
#[derive(Debug)]
pub struct ProxyRequest {
    pub client: SocketAddr,
    /// When its head had come.
    pub at: SystemTime,
    pub dialect: Dialect,
    pub method: Method,
    /// Path and query, without a token.
    pub path_and_query: PathAndQuery,
    /// The lines that go on. Only encodings that can be decoded are requested; [`super::ask_for_plain`] wants none.
    pub lines: HeaderMap,
    /// The whole body, as it came.
    pub body: Bytes,
    pub presence: ClientPresence,
}

/// An exchange that only passed, when it is over.
#[derive(Debug, Clone, PartialEq)]
pub struct Passed {
    pub client: SocketAddr,
    /// What the client calls itself, as it came.
    pub agent: String,
    /// When its head had come.
    pub at: SystemTime,
    pub method: Method,
    /// The path, without its query.
    pub path: String,
    pub status: Option<u16>,
    /// Bytes of the request, if it states its length.
    pub sent: u64,
    /// Bytes of the reply.
    pub received: u64,
    /// Until the first byte of the reply's body.
    pub first: Option<Duration>,
    pub total: Duration,
    pub ending: ExchangeEnding,
}

/// A request that was turned away; nothing of it went to the upstream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TurnedAway {
    pub client: SocketAddr,
    pub method: Method,
    /// The path, without its query and without a token.
    pub path: String,
    pub why: AdmitError,
}

/// What a listener is for. Everything is called on the runtime that serves, so nothing may block.
pub trait Watch: Send + Sync + 'static {
    /// Answers a request at a path where a dialect is spoken. The future and the body of the reply are dropped
    /// when the client is gone.
    fn exchange(&self, question: ProxyRequest) -> impl Future<Output = Response<Body>> + Send;

    /// A request at another path has come and gone.
    fn passed(&self, passed: Passed) {
        drop(passed);
    }

    /// What each connection of a client keeps for as long as it lasts: whoever else keeps it can count them.
    fn connected(&self) -> Arc<()> {
        Arc::default()
    }

    fn turned_away(&self, turned: TurnedAway) {
        drop(turned);
    }

    /// A client spoke TLS to this listener, which speaks plain HTTP.
    fn spoke_tls(&self, client: SocketAddr) {
        let _ = client; // whoever only passes things on has nobody to tell
    }

    /// A WebSocket was opened at a path where Responses are spoken; `None` where nobody reads along.
    fn socket(&self, opened: OpenedSocket) -> Option<Box<dyn Observer>> {
        drop(opened);
        None
    }
}

/// A WebSocket that was opened.
#[derive(Debug)]
pub struct OpenedSocket {
    pub client: SocketAddr,
    /// When its head had come.
    pub at: SystemTime,
    pub path_and_query: PathAndQuery,
    /// The lines of the request that went on.
    pub lines: HeaderMap,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SocketDirection {
    /// The client, to the upstream.
    ToUpstream,
    /// The upstream, to the client.
    ToClient,
}

/// Reads along what passes on a WebSocket. Nothing that it does changes what passes.
pub trait Observer: Send {
    fn text(&mut self, direction: SocketDirection, text: &str);
    /// Messages of this direction cannot be read any more; the bytes go on.
    fn unreadable(&mut self, direction: SocketDirection);
    /// The connection is over.
    fn over(&mut self);
}
