//! A scripted model: rules over what a model is asked, and what it answers.
//!
//! A script is a TOML file of rules; the first that fits answers ([`Script::choose`], [`Script::answer`]).
//! Rules look at the history that the request holds and at nothing else, so the same history is answered alike
//! in every run, in every take and in every dialect. Two conditions are different, and say so: `chance` draws
//! from a hash of the history, which `sample` varies, and `attempt` counts how often the endpoint was asked the
//! very same thing, since a request that failed leaves nothing in a history.
//!
//! Here is no socket and no clock: `runtime::scripted` serves a script.

mod answer;
mod asked;
mod choose;
mod file;
mod hash;
mod keys;

pub use asked::{Asked, Last, Moment};
pub use file::LENGTH;
pub use keys::SCRIPT_TABLES;

use crate::config::one_or_many;
use crate::dialects::write::End;
use regex::Regex;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use serde_json::{Map, Value};

/// Characters in one event of a stream, where a rule does not say.
const CHUNK: usize = 24;

#[derive(Debug, Clone)]
pub struct Script {
    pub name: String,
    /// The file that it was read from, for messages.
    pub file: String,
    /// What chance begins with.
    pub seed: u64,
    /// Its rules, in the order in which they are asked.
    pub rules: Vec<Rule>,
}

impl Script {
    /// What replies name as their model.
    pub fn model(&self) -> String {
        format!("scripted:{}", self.name)
    }
}

/// A rule: where everything in `when` holds, it answers.
#[derive(Debug, Clone)]
pub struct Rule {
    /// Its line in the file, from 1.
    pub line: usize,
    pub when: When,
    pub answer: Answer,
}

/// When a rule fits; what is not given holds always.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(default)]
pub struct When {
    /// Which reply is asked for, from 1.
    pub turn: Option<u32>,
    /// What the history ends on.
    pub last: Option<Last>,
    /// What is new since the last reply contains this, letter case told apart.
    pub last_contains: Option<String>,
    /// What is new since the last reply matches this.
    #[serde(deserialize_with = "pattern")]
    pub last_matches: Option<Regex>,
    /// Whether an output since the last reply reports an error.
    pub last_is_error: Option<bool>,
    /// The tool of the last call of the history.
    pub called: Option<String>,
    /// Tools that are all on offer.
    #[serde(deserialize_with = "one_or_many")]
    pub offers: Vec<String>,
    /// Tools none of which is on offer.
    #[serde(deserialize_with = "one_or_many")]
    pub lacks: Vec<String>,
    /// How many replies of one history the rule gives at most.
    pub times: Option<u32>,
    /// How often the endpoint was asked exactly this, this time included.
    pub attempt: Option<u32>,
    /// The share of histories that it fits, from 0 to 1.
    pub chance: Option<f64>,
}

/// What a rule answers.
#[derive(Debug, Clone, Deserialize)]
pub struct Answer {
    /// Reasoning; a template, as all texts here.
    pub reasoning: Option<String>,
    pub text: Option<String>,
    pub refusal: Option<String>,
    #[serde(default)]
    pub calls: Vec<ScriptedCall>,
    /// Why the reply ends.
    #[serde(default, rename = "finish", deserialize_with = "end")]
    pub end: End,
    /// Milliseconds until anything is sent.
    #[serde(default)]
    pub delay_ms: u64,
    /// Milliseconds between the events of a stream.
    #[serde(default)]
    pub chunk_ms: u64,
    /// Characters of a text or of arguments in one event.
    #[serde(default = "usual_chunk")]
    pub chunk: usize,
    /// What its keys come to together.
    #[serde(skip)]
    pub fault: Option<ScriptedFault>,
}

fn usual_chunk() -> usize {
    CHUNK
}

fn end<'de, D: Deserializer<'de>>(value: D) -> Result<End, D::Error> {
    Ok(match String::deserialize(value)?.as_str() {
        "length" => End::Length,
        _ => End::ContentFilter,
    })
}

fn pattern<'de, D: Deserializer<'de>>(value: D) -> Result<Option<Regex>, D::Error> {
    let pattern = Regex::new(&String::deserialize(value)?);
    pattern.map(Some).map_err(D::Error::custom)
}

/// A call that a rule makes.
#[derive(Debug, Clone, Deserialize)]
pub struct ScriptedCall {
    /// The tool, offered or not.
    pub name: String,
    #[serde(default)]
    pub arguments: ScriptedArguments,
    /// The id; made from the history where none is given.
    pub id: Option<String>,
}

/// The arguments of a call.
#[derive(Debug, Clone, Deserialize)]
#[serde(untagged)]
pub enum ScriptedArguments {
    /// Text that is sent as it is, JSON or not.
    Raw(String),
    /// A value whose texts are templates.
    Value(Value),
}

impl Default for ScriptedArguments {
    fn default() -> Self {
        Self::Value(Value::Object(Map::new()))
    }
}

/// What goes wrong instead of a whole reply.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ScriptedFault {
    /// An error of the provider.
    Status {
        status: u16,
        /// What its error says.
        message: String,
        retry_after: Option<String>,
    },
    /// The connection ends after so many events of a stream, or in the middle of a reply that is not streamed.
    Cut {
        after: usize,
        /// The failure that the provider reports in the stream before it ends, where it reports one.
        error: Option<String>,
    },
    /// Nothing comes any more after so many events, and the connection stays.
    Hang {
        /// How many; 0 sends not even the head of a reply.
        after: usize,
    },
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
