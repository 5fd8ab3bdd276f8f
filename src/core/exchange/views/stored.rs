//! Conversations that the provider keeps: what a request that names an earlier reply goes on from.
//!
//! A request that continues a thread (Anthropic, beta `message-threads-2026-08-12`,
//! `thread.previous_message_id`) or a stored Response (`previous_response_id`) holds only what is new. What its
//! provider puts before that is remembered here, so that the request is judged like any other. Where an agent
//! received another reply than its provider gave, its next request is sent with the whole history: the
//! provider's own copy ends on a reply that the agent does not know.

use super::element::{ElementOwner, ListElement};
use super::hold_views::history;
use super::message::with_results;
use crate::session::Dialect;
use crate::wire::stream::{Splitter, event_value, rejoin};
use crate::wire::write::edit::{member, with_value, without_member};
use crate::wire::write::history_of;
use crate::wire::{RequestHead, ServerState};
use bytes::Bytes;
use serde_json::Value;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Most bytes that are remembered; the oldest replies are forgotten first.
const BYTES: usize = 16 << 20;
/// Most replies that are remembered.
const MOST: usize = 1024;
/// So many bytes of a stream are searched for its first event.
const LOOKED_THROUGH: usize = 64 << 10;

/// The replies that can be continued, by their ids.
#[derive(Debug, Default)]
pub struct StoredReplies(Mutex<VecDeque<(String, Arc<Stored>)>>);

/// A reply that can be continued, with its request.
#[derive(Debug)]
struct Stored {
    dialect: Dialect,
    /// The request with its whole history.
    request: Bytes,
    turn: Mutex<Turn>,
}

/// What follows the request.
#[derive(Debug)]
enum Turn {
    /// The provider's reply as it came so far.
    Came(Vec<u8>),
    /// The agent received another turn; these elements are what the provider is to see.
    Told(Vec<String>),
}

/// A request that names the reply it goes on from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Continued {
    /// The request with its whole history, as one that names no earlier reply. A thread begins anew with it.
    pub body: Vec<u8>,
    /// Whether the agent received another reply than its provider gave, so that only the whole
    /// history can be sent.
    pub is_told_otherwise: bool,
}

/// Reads along in a reply that can be continued.
#[derive(Debug)]
pub struct Keeping {
    conversations: Arc<StoredReplies>,
    stored: Arc<Stored>,
    id: Option<String>,
}

impl StoredReplies {
    /// The request with its whole history; `None` where it names no earlier reply, or one that is not known.
    pub fn continued(&self, dialect: Dialect, request: &[u8]) -> Option<Continued> {
        let id = RequestHead::read(dialect, request)?.continues?;
        let stored = self.find(&id)?;
        stored.continued(dialect, request)
    }

    fn find(&self, id: &str) -> Option<Arc<Stored>> {
        let kept = self.lock();
        let found = kept.iter().rev().find(|(known, _)| known == id);
        found.map(|(_, stored)| stored.clone())
    }

    fn keep(&self, id: String, stored: Arc<Stored>) {
        let mut kept = self.lock();
        kept.retain(|(known, _)| *known != id);
        kept.push_back((id, stored));
        let mut bytes = 0;
        let fits = |stored: &Stored| {
            bytes += stored.size();
            bytes <= BYTES
        };
        let sizes = kept.iter().rev().map(|(_, stored)| &**stored);
        let count = sizes.map(fits).take_while(|fits| *fits).count().min(MOST);
        let forgotten = kept.len() - count;
        kept.drain(..forgotten);
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, Arc<Stored>)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Keeping {
    /// Reads along in the reply to a request with its whole history; `None` where that
    /// reply cannot be continued.
    pub fn of(
        conversations: &Arc<StoredReplies>,
        dialect: Dialect,
        request: &Bytes,
        head: &RequestHead,
    ) -> Option<Self> {
        let is_kept = match dialect.facts().server_state {
            ServerState::Threads => head.has_thread,
            ServerState::Replies => head.stores != Some(false),
            ServerState::None => false,
        };
        (is_kept && !head.has_server_state && !head.in_background).then(|| Self {
            conversations: conversations.clone(),
            stored: Arc::new(Stored {
                dialect,
                request: request.clone(),
                turn: Mutex::new(Turn::Came(Vec::new())),
            }),
            id: None,
        })
    }

    /// Takes the next bytes of the reply, before the client has them.
    pub fn push(&mut self, bytes: &[u8]) {
        let mut turn = self.stored.lock();
        let Turn::Came(came) = &mut *turn else {
            return;
        };
        came.extend_from_slice(bytes);
        if self.id.is_none() {
            self.id = id_in(came);
            if let Some(id) = self.id.clone() {
                drop(turn);
                self.conversations.keep(id, self.stored.clone());
            }
        }
    }

    /// The agent gets another turn; `provider` is what its provider is to see of it. `template` is the whole
    /// reply whose id the agent may get in place of the first one's.
    pub fn tell(&mut self, provider: Vec<String>, template: &str) {
        *self.stored.lock() = Turn::Told(provider);
        if let Some(id) = id_in(template.as_bytes()) {
            self.conversations.keep(id, self.stored.clone());
        }
    }
}

impl Stored {
    fn lock(&self) -> MutexGuard<'_, Turn> {
        self.turn.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn size(&self) -> usize {
        let turn = match &*self.lock() {
            Turn::Came(came) => came.len(),
            Turn::Told(elements) => elements.iter().map(String::len).sum(),
        };
        self.request.len() + turn
    }

    fn continued(&self, dialect: Dialect, request: &[u8]) -> Option<Continued> {
        if dialect != self.dialect {
            return None;
        }
        let (turn, is_told_otherwise) = match &*self.lock() {
            Turn::Told(elements) => (elements.clone(), true),
            Turn::Came(came) => (history_of(dialect, &whole(dialect, came)?).ok()?, false),
        };
        let mut elements = history(dialect, &self.request).ok()?;
        elements.extend(turn);
        let own = history(dialect, request).ok()?;
        match joined(dialect, &elements, &own) {
            Some(joined) => {
                elements.pop();
                elements.push(joined);
                elements.extend(own.into_iter().skip(1));
            }
            None => elements.extend(own),
        }
        let first = std::str::from_utf8(&self.request).ok()?;
        let body = std::str::from_utf8(request).ok()?;
        let body = body_with(dialect, first, body, &elements)?.into_bytes();
        Some(Continued {
            body,
            is_told_otherwise,
        })
    }
}

/// The message of the user that both the history ends on and the request begins with: results of one turn
/// stand in one message.
fn joined(dialect: Dialect, history: &[String], own: &[String]) -> Option<String> {
    let (last, next) = (history.last()?, own.first()?);
    if !dialect.facts().has_blocks {
        return None;
    }
    let last = ListElement::read(dialect, last);
    if last.side != ElementOwner::Outputs {
        return None;
    }
    with_results(dialect, &ListElement::read(dialect, next), &[last])
}

/// The request with these elements, and with what the first request of its conversation set for all of them.
fn body_with(dialect: Dialect, first: &str, body: &str, elements: &[String]) -> Option<String> {
    let head = RequestHead::read(dialect, body.as_bytes())?;
    let list = format!("[{}]", elements.join(","));
    let mut body = with_value(body, &head.history?, &list);
    match dialect.facts().server_state {
        ServerState::Replies => body = without_member(&body, "previous_response_id"),
        _ => {
            let thread = member(&body, "thread")?;
            body = with_value(&body, &thread, r#"{"type":"create"}"#);
            // A request that continues a thread must not repeat them.
            for key in ["system", "tools"] {
                if member(&body, key).is_none()
                    && let Some(value_at) = member(first, key)
                {
                    let open = body.find('{')? + 1;
                    body.insert_str(open, &format!("\"{key}\":{},", &first[value_at]));
                }
            }
        }
    }
    Some(body)
}

/// The reply in one piece; `None` where it has not come to its end.
fn whole(dialect: Dialect, came: &[u8]) -> Option<String> {
    if came.trim_ascii_start().starts_with(b"{") {
        return String::from_utf8(came.to_vec()).ok();
    }
    let (mut reply, mut splitter) = (dialect.codec().decoder(), Splitter::default());
    splitter.push(came, |event| {
        if let Some(event) = event_value(&event.data) {
            reply.push(&event);
        }
    });
    let reply = reply.finish();
    let is_whole = reply.ended && reply.failures.is_empty();
    is_whole.then(|| rejoin(&reply.json).into_owned())
}

/// The id of a reply, in the first event of a stream or in a whole document, once that much of it has come.
fn id_in(came: &[u8]) -> Option<String> {
    let text = came.trim_ascii();
    if text.starts_with(b"{") {
        let is_over = text.ends_with(b"}");
        let reply = is_over.then(|| serde_json::from_slice::<Value>(text).ok())??;
        return id_of(&reply);
    }
    let (mut found, mut splitter) = (None, Splitter::default());
    if came.len() > LOOKED_THROUGH {
        return None;
    }
    splitter.push(came, |event| {
        if found.is_none()
            && let Some(event) = event_value(&event.data)
        {
            found = id_of(&event["response"]).or_else(|| id_of(&event["message"]));
        }
    });
    found
}

fn id_of(reply: &Value) -> Option<String> {
    reply.get("id")?.as_str().map(str::to_owned)
}
