//! What a model is asked, as rules look at it: the same of every dialect.

use super::hash::Fingerprint;
use crate::dialects::body_of;
use crate::formats::{RequestError, read_request};
use crate::rules::reports_error;
use crate::session::{Dialect, Kind, Session, Speaker, index_number};
use crate::wire::RequestHead;
use serde::Deserialize;
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
    pub head: RequestHead,
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
    pub(crate) fingerprint: Fingerprint,
}

/// What a history ends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
#[derive(strum::IntoStaticStr, strum::VariantArray)]
#[strum(serialize_all = "lowercase")]
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
    pub const ALL: &[Self] = <Self as strum::VariantArray>::VARIANTS;

    /// The word of scripts and messages.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl Asked {
    /// Reads the body of a request.
    pub fn read(dialect: Dialect, body: &[u8]) -> Result<Self, RequestError> {
        let (head, session) = read_request(dialect, body)?;
        let moments = walk(&session)?;
        let seed = RequestHead::value(body, &head.seed).filter(|seed| !seed.is_null());
        Ok(Self {
            dialect,
            before: moments.before,
            now: moments.now,
            sample: seed.map_or(0, |seed| sample_of(&seed.to_string())),
            tools: head.repeated_tools(dialect, body),
            head,
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

fn sample_of(word: &str) -> u64 {
    Fingerprint::default().and(word.as_bytes()).number()
}

struct Moments {
    before: Vec<Moment>,
    now: Moment,
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
