//! The turns of a WebSocket on which Responses are spoken: each is recorded as an exchange, so that it
//! opens like any other.
//!
//! A client asks with `{"type":"response.create", ...}`, whose other members are those of a
//! request, and the server streams the events of one Response, the last of which holds it whole
//! (OpenAI API, guide "WebSocket mode").

use super::ended::{EndedExchange, Unjudged, UnjudgedReply};
use super::state::ProxyState;
use crate::http::Headers;
use crate::proxy::news::{Observer, OpenedSocket, SocketDirection};
use crate::proxy::recorder::{RecordedBody, RecordedExchange};
use crate::takes::wall_clock;
use bytes::Bytes;
use retake_core::exchange::entry::SocketSide;
use retake_core::exchange::{ExchangeEnding, ExchangePhase, ExchangeSummary};
use retake_core::json::Cursor;
use retake_core::wire::{RequestHead, WEBSOCKET};
use std::sync::Arc;

/// Reads along on a WebSocket.
pub(crate) struct WebSocketRecorder {
    state: Arc<ProxyState>,
    seen: ExchangeSummary,
    turns: Turns,
    /// What its client has shown.
    secrets: Vec<(String, String)>,
    is_over: bool,
}

impl WebSocketRecorder {
    pub(crate) fn new(
        state: Arc<ProxyState>,
        seen: ExchangeSummary,
        opened: &OpenedSocket,
    ) -> Self {
        let shown = Headers::passed_on(&opened.lines).secrets();
        Self {
            secrets: state.tokens().iter().cloned().chain(shown).collect(),
            state,
            seen,
            turns: Turns::default(),
            is_over: false,
        }
    }
}

/// The proxy may end before the connection does.
impl Drop for WebSocketRecorder {
    fn drop(&mut self) {
        self.over();
    }
}

impl Observer for WebSocketRecorder {
    fn text(&mut self, direction: SocketDirection, text: &str) {
        let length = text.len() as u64;
        let from = match direction {
            SocketDirection::ToUpstream => {
                self.seen.sent += length;
                SocketSide::Agent
            }
            SocketDirection::ToClient => {
                self.seen.received += length;
                SocketSide::Provider
            }
        };
        self.state.recorder.observed(self.seen.id, from, text);
        let socket = (&self.seen, &self.secrets[..]);
        self.turns.handle(&self.state, socket, direction, text);
    }

    fn unreadable(&mut self, _: SocketDirection) {
        let note = "its messages cannot be read any more; they pass all the same".to_owned();
        if !self.seen.notes.contains(&note) {
            self.seen.notes.push(note);
            self.state.report_seen(self.seen.clone());
        }
    }

    fn over(&mut self) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.seen.phase = ExchangePhase::Ended(ExchangeEnding::Passed);
        let total = wall_clock().saturating_sub(self.seen.at_ms);
        self.seen.total_ms = Some(total);
        self.state.over_and_recorded(
            RecordedExchange {
                seen: std::mem::take(&mut self.seen),
                ..RecordedExchange::default()
            },
            None,
        );
    }
}

/// The exchange that a connection is, and the secrets that its client has shown.
type Socket<'a> = (&'a ExchangeSummary, &'a [(String, String)]);

/// The turn that is under way.
#[derive(Debug, Default)]
pub(crate) struct Turns {
    /// When it was requested, and how.
    request_body: Option<(u64, Bytes)>,
}

impl Turns {
    /// A message has passed on the connection that is this exchange.
    pub(crate) fn handle(
        &mut self,
        state: &Arc<ProxyState>,
        socket: Socket<'_>,
        from: SocketDirection,
        text: &str,
    ) {
        let Some((kind, response)) = look(text.as_bytes()) else {
            return;
        };
        match (from, kind) {
            (SocketDirection::ToUpstream, b"response.create") => {
                self.request_body = Some((wall_clock(), Bytes::copy_from_slice(text.as_bytes())));
            }
            (
                SocketDirection::ToClient,
                b"response.completed" | b"response.incomplete" | b"response.failed",
            ) => {
                let reply = Bytes::copy_from_slice(response.unwrap_or_default());
                if let Some(request_body) = self.request_body.take() {
                    over(state, socket, request_body, reply);
                }
            }
            _ => {}
        }
    }
}

/// The type of a message, and the Response in it; `None` where it is no JSON object.
fn look(message: &[u8]) -> Option<(&[u8], Option<&[u8]>)> {
    let (mut kind, mut response) = (None, None);
    let mut cursor = Cursor::new(message);
    let read = cursor.object(|cursor, key| {
        match key {
            b"type" => kind = cursor.string()?,
            b"response" => response = Some(cursor.raw()?),
            _ => {}
        }
        Ok(())
    });
    read.ok()?.then_some((kind?, response))
}

/// A turn is over: it is recorded, judged and reported.
fn over(
    state: &Arc<ProxyState>,
    (socket, secrets): Socket<'_>,
    (at, request_body): (u64, Bytes),
    reply: Bytes,
) {
    let dialect = WEBSOCKET;
    let model = RequestHead::read(dialect, &request_body).map(|request_body| request_body.model);
    let seen = ExchangeSummary {
        id: state.number(),
        at_ms: at,
        upstream: socket.upstream,
        client: socket.client.clone(),
        method: socket.method.clone(),
        path: socket.path.clone(),
        dialect: Some(dialect),
        model: state.clean(&model.unwrap_or_default(), &[]),
        streams: true,
        status: socket.status,
        sent: request_body.len() as u64,
        received: reply.len() as u64,
        total_ms: Some(wall_clock().saturating_sub(at)),
        phase: ExchangePhase::Ended(ExchangeEnding::Passed),
        notes: vec![format!(
            "a turn of the WebSocket that is exchange {}",
            socket.id
        )],
        ..ExchangeSummary::default()
    };
    let request = state.judge.recall(dialect, request_body.clone());
    let reply = RecordedBody::whole(reply);
    let ended = EndedExchange {
        state: state.clone(),
        recorded: Arc::new(RecordedExchange {
            seen,
            continuation: Some(request.continuation().clone()),
            request: RecordedBody::whole(request_body),
            reply: reply.clone(),
            ..RecordedExchange::default()
        }),
        stored: None,
        unjudged: Unjudged {
            request: Some(request.clone()),
            reply: Some(UnjudgedReply {
                request,
                encoding: String::new(),
                body: reply,
            }),
            kept: 0,
            secrets: secrets.to_vec(),
        },
    };
    ended.finish();
}
