//! What a model is asked, as rules look at it: the same of every dialect.

use super::hash::Fingerprint;
use crate::dialects::body_of;
use crate::formats::{self, read_buffer};
use crate::rules::reports_error;
use crate::session::{Dialect, Kind, Session, Source, Speaker, index_number};
use serde_json::Value;
use std::sync::Arc;

/// A request to a model.
#[derive(Debug, Clone)]
pub struct Asked {
    /// How it is spelled.
    pub dialect: Dialect,
    /// How things stood before each reply of the history, the first first.
    pub before: Vec<Moment>,
    /// How they stand now.
    pub now: Moment,
    /// Whether the reply is to be streamed.
    pub streams: bool,
    /// Whether a stream of Chat is to tell the usage.
    pub wants_usage: bool,
    /// What tells samples of the same history apart; 0 where nothing does.
    pub sample: u64,
    /// The tools on offer as a request of Responses spells them, which its reply repeats.
    pub tools: Vec<Value>,
    /// How long the request is, in bytes.
    pub length: usize,
}

/// How a history stands when a reply is asked for.
#[derive(Debug, Clone)]
pub struct Moment {
    /// Which reply, from 1.
    pub turn: u32,
    /// What the history ends on.
    pub last: Last,
    /// What is new since the last reply: outputs and messages, one below the other.
    pub text: String,
    /// Whether one of those outputs reports an error.
    pub is_error: bool,
    /// The tool of the last call.
    pub called: Option<String>,
    /// The tools on offer.
    pub offered: Arc<[String]>,
    /// Of everything said so far, without ids: sibling takes that say the same are the same.
    pub(super) fingerprint: Fingerprint,
}

/// What a history ends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Last {
    #[default]
    Nothing,
    /// A message of the user.
    User,
    /// The output of a call.
    Output,
    Model,
}

impl Last {
    /// The words of scripts and messages.
    pub const ALL: [(Self, &'static str); 4] = [
        (Self::Nothing, "nothing"),
        (Self::User, "user"),
        (Self::Output, "output"),
        (Self::Model, "model"),
    ];

    pub fn word(self) -> &'static str {
        let known = Self::ALL.iter().find(|(last, _)| *last == self);
        known.map_or("", |(_, word)| word)
    }
}

/// Why a request cannot be answered.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NotAsked {
    #[error("the request is not a JSON object: {0}")]
    NotJson(String),
    /// The dialect is not served.
    #[error("a scripted model does not speak {0}")]
    Dialect(&'static str),
    /// It cannot be read.
    #[error("the request cannot be read: {0}")]
    Unreadable(String),
    /// Older items are not in it.
    #[error(
        "a scripted model keeps no conversations: send the whole history instead of conversation"
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
        let flag = |value: Option<&Value>| value.and_then(Value::as_bool).unwrap_or_default();
        let usage = request.get("stream_options");
        let moments = moments(dialect, body)?;
        Ok(Self {
            dialect,
            before: moments.before,
            now: moments.now,
            streams: flag(request.get("stream")),
            wants_usage: flag(usage.and_then(|options| options.get("include_usage"))),
            sample: request.get("seed").map_or(0, |seed| match seed {
                Value::Null => 0,
                seed => sample_of(&seed.to_string()),
            }),
            tools: tools_of(dialect, &request),
            length: body.len(),
        })
    }

    /// The same request for another sample.
    pub fn for_sample(mut self, word: &str) -> Self {
        self.sample = sample_of(word);
        self
    }

    /// What tells this request from others that a script may answer differently.
    pub fn fingerprint(&self) -> u64 {
        self.now.fingerprint.and_number(self.sample).number()
    }
}

fn tools_of(dialect: Dialect, request: &Value) -> Vec<Value> {
    let tools = request.get("tools").and_then(Value::as_array);
    let tools = tools.filter(|_| dialect.facts().repeats_tools);
    tools.cloned().unwrap_or_default()
}

fn sample_of(word: &str) -> u64 {
    Fingerprint::default().and(word.as_bytes()).number()
}

struct Moments {
    before: Vec<Moment>,
    now: Moment,
}

fn moments(dialect: Dialect, body: &[u8]) -> Result<Moments, NotAsked> {
    let format = formats::of_dialect(dialect).ok_or(NotAsked::Dialect(dialect.word()))?;
    let unreadable = |error: &dyn ToString| NotAsked::Unreadable(error.to_string());
    let source: Arc<dyn Source> = Arc::new(body.to_vec());
    let contents = read_buffer(format, &source, body).map_err(|error| unreadable(&error))?;
    let session = contents.sessions.into_iter().next();
    let session = session.unwrap_or_else(|| Session::empty(source, format.id, dialect));
    if session.contract.server_state {
        return Err(NotAsked::ServerState);
    }
    walk(&session).map_err(|error| unreadable(&error))
}

/// Goes through a history and keeps how it stood before each reply.
fn walk(session: &Session) -> Result<Moments, crate::session::SourceError> {
    let tools = session
        .contract
        .tools_at(index_number(session.items.len()))
        .into_iter();
    let mut before = Vec::new();
    let mut now = Moment {
        turn: 1,
        last: Last::Nothing,
        text: String::new(),
        is_error: false,
        called: None,
        offered: tools.map(|tool| tool.name.clone()).collect(),
        fingerprint: Fingerprint::default(),
    };
    for (index, item) in session.items.iter().enumerate() {
        let turn = session.turns.get(item.turn as usize);
        let opens = |speaker| turn.is_some_and(|turn| turn.speaker == speaker);
        let first = turn.is_some_and(|turn| turn.first as usize == index);
        if first && opens(Speaker::Model) {
            before.push(now.clone());
            now.turn += 1;
        }
        let bytes = session.bytes(item)?;
        // What is no JSON is kept raw everywhere; it says nothing that a rule could look at.
        let body = body_of(item, &bytes).unwrap_or_default();
        let name = session.name(item);
        match item.kind {
            Kind::User | Kind::Output => {
                if !now.text.is_empty() {
                    now.text.push('\n');
                }
                now.text.push_str(&body.text);
                now.is_error |=
                    item.kind == Kind::Output && reports_error(session, item, &body.text);
                now.last = match item.kind {
                    Kind::Output => Last::Output,
                    _ => Last::User,
                };
            }
            kind if kind.is_from_model() => {
                now.text.clear();
                now.is_error = false;
                now.last = Last::Model;
                if kind == Kind::Call {
                    now.called = Some(name.to_owned());
                }
            }
            _ => {}
        }
        let said = [
            item.kind.word(),
            name,
            &body.text,
            body.arguments.as_written(),
        ];
        for part in said {
            now.fingerprint = now.fingerprint.and(part.as_bytes());
        }
    }
    Ok(Moments { before, now })
}
