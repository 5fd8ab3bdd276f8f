//! The request to a scripted model, as rules see it: the same for every dialect.

use crate::formats::{RequestError, read_request};
use crate::rules::reports_error;
use crate::session::{Dialect, Kind, Session, Speaker, index_number};
use crate::wire::RequestHead;
use crate::wire::body_of;
use serde::Deserialize;
use serde_json::Value;
use std::sync::Arc;

/// A request to a model.
#[derive(Debug, Clone)]
pub struct ScriptRequest {
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

/// The state of a history when a reply is requested.
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
    /// A digest of the history so far, without ids: sibling takes of the same content have the same.
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

impl ScriptRequest {
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
        let parts = [
            item.kind.word(),
            name,
            &body.text,
            body.arguments.as_written(),
        ];
        for part in parts {
            now.fingerprint = now.fingerprint.and(part.as_bytes());
        }
    }
    Ok(Moments { before, now })
}

// Hashes that are the same in every process and version: what a script draws and the ids that it
// gives hang on them.

/// FNV-1a in 64 bits, over parts that cannot run into each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Fingerprint(u64);

impl Default for Fingerprint {
    fn default() -> Self {
        Self(0xcbf2_9ce4_8422_2325)
    }
}

impl Fingerprint {
    /// With a part more.
    pub(crate) fn and(self, part: &[u8]) -> Self {
        let length = (part.len() as u64).to_le_bytes();
        let bytes = part.iter().chain(&length);
        Self(bytes.fold(self.0, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
        }))
    }

    /// With a number more.
    pub(crate) fn and_number(self, number: u64) -> Self {
        self.and(&number.to_le_bytes())
    }

    /// All bits stirred (the finaliser of SplitMix64): neighbouring histories have nothing in common.
    pub(crate) fn number(self) -> u64 {
        let mut bits = self.0;
        bits = (bits ^ (bits >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        bits = (bits ^ (bits >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        bits ^ (bits >> 31)
    }

    /// From 0 to 1, never 1.
    pub(crate) fn fraction(self) -> f64 {
        // 53 bits are what a double holds exactly.
        (self.number() >> 11) as f64 / (1_u64 << 53) as f64
    }

    /// 24 letters and digits for an id.
    pub(crate) fn word(self) -> String {
        let (high, low) = (self.number(), self.and_number(1).number());
        format!("{high:016x}{:08x}", low >> 32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hashes_never_change() {
        let hash = Fingerprint::default().and(b"user").and(b"hello");
        assert_eq!(hash.word(), "43c0db1aea5ca789af5866d5");
        assert_ne!(
            hash,
            Fingerprint::default().and(b"userh").and(b"ello"),
            "parts do not run into each other"
        );
        assert!((0.0..1.0).contains(&hash.fraction()));
    }
}
