//! Replies that no provider gave: whole, and as the events of a stream, in the spelling of each dialect.
//!
//! What is spelled here comes back whole from [`crate::dialects::stream`] and the readers of
//! [`crate::dialects`]: arguments keep every character, also where they are no JSON.

pub(in crate::dialects) mod anthropic;
pub(in crate::dialects) mod chat;
pub(in crate::dialects) mod error;
pub(in crate::dialects) mod gemini;
pub(in crate::dialects) mod responses;

use crate::session::Dialect;
use serde_json::Value;

/// A reply as nobody has spelled it yet: reasoning, then words, then calls.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewReply {
    /// What its ids are made of: letters and digits, 40 at most, another one for each reply.
    pub tag: String,
    /// The model that is said to have made it.
    pub model: String,
    /// When it is said to have been made, in seconds since 1970.
    pub created: u64,
    pub reasoning: Option<String>,
    /// Texts, in Responses a message each, in Anthropic a block each; Chat has one message only, in which they
    /// stand one below the other.
    pub texts: Vec<String>,
    /// A refusal, which stands in the message of the last text.
    pub refusal: Option<String>,
    pub calls: Vec<NewCall>,
    /// The tools that the request offers, as it spells them: a Response repeats them.
    pub tools: Vec<Value>,
    pub end: End,
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: u64,
}

/// A call of a function tool, or of a custom tool.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct NewCall {
    /// The id that its output will name.
    pub id: String,
    pub name: String,
    /// Its arguments as the model wrote them, JSON or not.
    pub arguments: String,
    /// The input of a custom tool, which is no JSON. Responses has calls for it; in the other dialects it is a
    /// function call with the arguments.
    pub input: Option<String>,
}

/// Why a reply ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum End {
    /// It is all said.
    #[default]
    Natural,
    /// The token limit; the last part is cut.
    Length,
    /// A filter of the provider.
    ContentFilter,
}

/// One event of a stream.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct NewEvent {
    /// Its type; Chat names none.
    pub name: Option<String>,
    /// Its data on one line.
    pub data: String,
}

impl NewEvent {
    /// An event whose type stands in its data, too.
    pub(in crate::dialects) fn named(data: &Value) -> Self {
        let name = data.get("type").and_then(Value::as_str).map(str::to_owned);
        let data = data.to_string();
        Self { name, data }
    }

    /// As it goes over the wire (WHATWG HTML, section 9.2.6).
    pub fn to_wire(&self) -> String {
        match &self.name {
            Some(name) => format!("event: {name}\ndata: {}\n\n", self.data),
            None => format!("data: {}\n\n", self.data),
        }
    }
}

impl NewReply {
    /// The reply in one piece.
    pub fn spell(&self, dialect: Dialect) -> String {
        dialect.codec().whole(self)
    }

    /// The reply as events whose texts and arguments come in pieces of so many characters. Chat tells the usage
    /// only where the request wants it (`stream_options.include_usage`).
    pub fn events(&self, dialect: Dialect, piece: usize, with_usage: bool) -> Vec<NewEvent> {
        dialect.codec().events(self, piece, with_usage)
    }
}

impl NewReply {
    /// The texts as one message; `None` where there are none.
    fn one_text(&self) -> Option<String> {
        let texts = self.texts.iter().map(String::as_str);
        let texts = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>();
        (!self.texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// A text in pieces of so many characters.
fn pieces(text: &str, size: usize) -> Vec<&str> {
    let mut pieces = Vec::new();
    let mut rest = text;
    while !rest.is_empty() {
        let end = rest.char_indices().nth(size.max(1));
        let (piece, behind) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        pieces.push(piece);
        rest = behind;
    }
    pieces
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
