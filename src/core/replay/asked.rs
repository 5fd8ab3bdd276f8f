//! A request as a recording is asked: read by the readers of its dialect.

use super::history::{self, Replies};
use super::said::Said;
use super::terms::Terms;
use crate::formats::{self, read_buffer};
use crate::session::{Dialect, Session, Source};
use serde_json::Value;
use std::sync::Arc;

#[derive(Debug, Clone)]
pub struct Asked {
    /// How it is spelled.
    pub dialect: Dialect,
    /// The model that it names.
    pub model: String,
    /// Whether the reply is to be streamed.
    pub streams: bool,
    /// Whether a stream of Chat is to tell the usage.
    pub wants_usage: bool,
    /// The tools on offer, as a request of Responses spells them; its reply repeats them.
    pub tools: Vec<Value>,
    /// Its history, in its forms.
    pub(super) history: Vec<Vec<Said>>,
    /// The words of its history, whatever their order.
    pub(super) words: u64,
    /// How many replies its history holds.
    pub(super) replies: usize,
    /// What it holds beside.
    pub(super) terms: Terms,
}

/// Why a request cannot be answered, whatever is recorded.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    #[error("the request is not a JSON object: {0}")]
    NotJson(String),
    /// The dialect is not served.
    #[error("a recording is not replayed in the dialect {0}")]
    Dialect(&'static str),
    /// It cannot be read.
    #[error("the request cannot be read: {0}")]
    Unreadable(String),
    /// Older items are not in it.
    #[error(
        "a replay keeps nothing for its clients: send the whole history instead of previous_response_id or conversation"
    )]
    ServerState,
}

impl Asked {
    /// Reads the body of a request.
    pub fn read(dialect: Dialect, body: &[u8]) -> Result<Self, NotAsked> {
        let request = serde_json::from_slice::<Value>(body)
            .map_err(|error| NotAsked::NotJson(error.to_string()))?;
        if !request.is_object() {
            return Err(NotAsked::NotJson("it is another value".to_owned()));
        }
        let session = session_of(dialect, body)?;
        if session.contract.server_state {
            return Err(NotAsked::ServerState);
        }
        let unreadable =
            |error: crate::session::SourceError| NotAsked::Unreadable(error.to_string());
        let (mut pieces, mut words, mut replies) = (Vec::new(), 0_u64, Replies::default());
        for index in 0..session.items.len() {
            if let Some(piece) = history::piece(&session, index).map_err(unreadable)? {
                words = words.wrapping_add(piece.fingerprint());
                replies.push(&piece);
                pieces.push(piece);
            }
        }
        let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or_default();
        let usage = request.get("stream_options");
        let model = request.get("model").and_then(Value::as_str);
        let tools = request.get("tools").and_then(Value::as_array);
        let tools = tools.filter(|_| dialect.facts().repeats_tools);
        Ok(Self {
            dialect,
            model: model.unwrap_or_default().to_owned(),
            streams: flag(request.get("stream")),
            wants_usage: flag(usage.and_then(|options| options.get("include_usage"))),
            tools: tools.cloned().unwrap_or_default(),
            history: history::forms(&session, pieces),
            words,
            replies: replies.count,
            terms: Terms::of_request(&session).map_err(unreadable)?,
        })
    }
}

/// The request as a session.
fn session_of(dialect: Dialect, body: &[u8]) -> Result<Session, NotAsked> {
    let format = formats::of_dialect(dialect).ok_or(NotAsked::Dialect(dialect.word()))?;
    let source: Arc<dyn Source> = Arc::new(body.to_vec());
    let contents = read_buffer(format, &source, body);
    let contents = contents.map_err(|error| NotAsked::Unreadable(error.to_string()))?;
    let session = contents.sessions.into_iter().next();
    Ok(session.unwrap_or_else(|| Session::empty(source, format.id, dialect)))
}
