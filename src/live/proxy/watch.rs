//! Who looks at what passes: the seam between the wire and what is made of it.

use super::body::Body;
use super::body::ClientPresence;
use super::guard::AdmitError;
use bytes::Bytes;
use hyper::http::uri::PathAndQuery;
use hyper::{HeaderMap, Method, Response};
use retake_core::exchange::Ending;
use retake_core::session::Dialect;
use std::net::SocketAddr;
use std::time::{Duration, SystemTime};

/// A request at a path where a dialect is spoken, as it would go to the upstream.
#[derive(Debug)]
pub struct Question {
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
    pub ending: Ending,
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
    fn exchange(&self, question: Question) -> impl Future<Output = Response<Body>> + Send;

    /// A request at another path has come and gone.
    fn passed(&self, passed: Passed) {
        drop(passed);
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
pub enum Direction {
    /// The client, to the upstream.
    ToUpstream,
    /// The upstream, to the client.
    ToClient,
}

/// Reads along what passes on a WebSocket. Nothing that it does changes what passes.
pub trait Observer: Send {
    fn text(&mut self, direction: Direction, text: &str);
    /// Messages of this direction cannot be read any more; the bytes go on.
    fn unreadable(&mut self, direction: Direction);
    /// The connection is over.
    fn over(&mut self);
}
