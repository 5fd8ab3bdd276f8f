//! Replies that no provider gave: whole, and as the events of a stream, in the spelling of each dialect.
//!
//! What is spelled here comes back whole from [`super::stream`] and the readers of the dialects: arguments keep every character, also where they are no JSON.

use super::object::Object;
use crate::session::Dialect;
use crate::session::ledger::Usage;
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
    pub(crate) fn named(data: &Value) -> Self {
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
        dialect.codec().encode_reply(self)
    }

    /// The reply as events whose texts and arguments come in pieces of so many characters. Chat tells the usage
    /// only where the request wants it (`stream_options.include_usage`).
    pub fn events(&self, dialect: Dialect, piece: usize, with_usage: bool) -> Vec<NewEvent> {
        dialect.codec().encode_events(self, piece, with_usage)
    }

    /// The texts as one message; `None` where there are none.
    pub(crate) fn one_text(&self) -> Option<String> {
        let texts = self.texts.iter().map(String::as_str);
        let texts = texts.filter(|text| !text.is_empty()).collect::<Vec<_>>();
        (!self.texts.is_empty()).then(|| texts.join("\n"))
    }
}

/// A text in pieces of so many characters.
pub(crate) fn pieces(text: &str, size: usize) -> Vec<&str> {
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

/// What a client was sent of a stream.
#[derive(Debug, Default)]
pub struct SentStream {
    /// The data of its events, with their JSON.
    pub events: Vec<(String, Value)>,
    /// The number of the next event; `None` where events of this stream have none.
    pub next_number: Option<u64>,
}

/// The usage of a reply with these tokens in place of its own, in members of these names; `None` where neither
/// is known.
pub(crate) fn counted(
    [input_key, output_key]: [&'static str; 2],
    own: Option<&str>,
    usage: Usage,
) -> Option<String> {
    if usage == Usage::default() {
        return own.map(str::to_owned);
    }
    let mut counted = Object::read(own.unwrap_or_default());
    counted.set(input_key, usage.input.to_string());
    counted.set(output_key, usage.output.to_string());
    let total = usage.input.saturating_add(usage.output);
    counted.set("total_tokens", total.to_string());
    Some(counted.json())
}

/// Adds an event. Its data stands on one line: line ends between the tokens of a reply become spaces.
pub fn push_event(out: &mut Vec<u8>, name: Option<&str>, data: &str) {
    if let Some(name) = name {
        out.extend_from_slice(b"event: ");
        out.extend_from_slice(name.as_bytes());
        out.push(b'\n');
    }
    out.extend_from_slice(b"data: ");
    let bytes = data.bytes().map(|byte| match byte {
        b'\n' | b'\r' => b' ',
        byte => byte,
    });
    out.extend(bytes);
    out.extend_from_slice(b"\n\n");
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
