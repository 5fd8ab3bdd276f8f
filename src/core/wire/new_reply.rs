//! Replies that no provider gave: whole, and as the events of a stream, in the spelling of each dialect.
//!
//! Each dialect writes a whole reply, and one stream: a new one of that reply, or the rest of one that a client has
//! seen in part. What is written here comes back whole from [`super::stream`] and the readers of the dialects:
//! arguments keep every character, also where they are no JSON.

use super::facts::Facts;
use super::object::{Object, elements, list, quoted, text_of};
use super::turn::ToolCall;
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
    /// Texts, in Responses a message each, in Anthropic a block each; Chat has one message only, which holds them
    /// as lines.
    pub texts: Vec<String>,
    /// A refusal, in the message of the last text.
    pub refusal: Option<String>,
    /// Only Responses has free-form input; elsewhere it is the argument `input` of a function.
    pub calls: Vec<ToolCall>,
    /// The tools that the request offers, as it spells them: a Response repeats them.
    pub tools: Vec<Value>,
    pub end: End,
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the reply.
    pub output_tokens: u64,
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
    /// Line ends between the tokens of its JSON become spaces: an event has one line of data.
    pub(crate) fn new(name: Option<&str>, json: &str) -> Self {
        Self {
            name: name.map(str::to_owned),
            data: json.replace(['\n', '\r'], " "),
        }
    }

    /// An event whose type is in its data, too.
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

    /// The reply as events whose texts and arguments come in pieces of so many characters. Chat reports the usage
    /// only where the request wants it (`stream_options.include_usage`).
    pub fn events(&self, dialect: Dialect, piece: usize, reports_usage: bool) -> Vec<NewEvent> {
        let codec = dialect.codec();
        let (sent, reply) = (SentStream::of_none(), codec.encode_for_stream(self));
        let rest = StreamRest {
            sent: &sent,
            reply: &reply,
            usage: Usage::default(),
            reports_usage,
            piece,
        };
        codec.encode_stream(&rest)
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
        let (piece, after) = rest.split_at(end.map_or(rest.len(), |(at, _)| at));
        pieces.push(piece);
        rest = after;
    }
    pieces
}

/// A JSON string in pieces of so many characters, none where it is empty. One that comes in one piece keeps its
/// spelling: half a character is not text.
pub(crate) fn json_pieces(json: &str, size: usize) -> Vec<String> {
    match (text_of(json), size) {
        (text, _) if text.is_empty() => Vec::new(),
        (_, usize::MAX) => vec![json.to_owned()],
        (text, size) => pieces(&text, size).into_iter().map(quoted).collect(),
    }
}

/// What a client was sent of a stream.
#[derive(Debug, Default)]
pub struct SentStream {
    /// The data of its events, with their JSON.
    pub events: Vec<(String, Value)>,
    /// The number of the next event; `None` where events of this stream have none.
    pub next_number: Option<u64>,
}

impl SentStream {
    /// A stream that is still to begin.
    fn of_none() -> Self {
        Self {
            events: Vec::new(),
            next_number: Some(0),
        }
    }
}

/// What a client still lacks of a stream.
pub struct StreamRest<'a> {
    pub sent: &'a SentStream,
    /// The whole reply as which the stream ends.
    pub reply: &'a str,
    /// The tokens that are reported; those of the reply where this is zero.
    pub usage: Usage,
    /// Whether the usage is reported where only clients that want it get it.
    pub reports_usage: bool,
    /// Characters of texts and arguments in one event; [`usize::MAX`] where they come in one piece.
    pub piece: usize,
}

impl StreamRest<'_> {
    /// Whether nothing was sent yet: the stream is to look as the provider's own from its beginning.
    pub(crate) fn is_new(&self) -> bool {
        self.sent.events.is_empty()
    }

    /// The usage as it is reported.
    pub(crate) fn counts(&self, facts: &Facts, own: Option<&str>) -> Option<String> {
        counted(facts, own, self.usage)
    }
}

/// The usage of a reply with these tokens in place of its own; `None` where neither is known. What is counted beside
/// the others (tokens of a cache, thoughts) stays as it is.
pub(crate) fn counted(facts: &Facts, own: Option<&str>, usage: Usage) -> Option<String> {
    if usage == Usage::default() {
        return own.map(str::to_owned);
    }
    let mut counted = Object::read(own.unwrap_or_default());
    for (keys, sum) in [
        (facts.input_counts, usage.input),
        (facts.output_counts, usage.output),
    ] {
        if let [key, beside @ ..] = keys {
            let counts = beside
                .iter()
                .filter_map(|key| counted.get(key)?.parse::<u64>().ok());
            let own = sum.saturating_sub(counts.fold(0, u64::saturating_add));
            counted.set(key, own.to_string());
        }
    }
    if let Some(key) = facts.total_count {
        counted.set(key, usage.input.saturating_add(usage.output).to_string());
    }
    Some(counted.json())
}

/// Sets the usage of a whole reply where it is known; see [`counted`].
pub(crate) fn set_usage(reply: &mut Object<'_>, facts: &'static Facts, usage: Usage) {
    if let Some(counts) = counted(facts, reply.get(facts.usage_key), usage) {
        reply.set(facts.usage_key, counts);
    }
}

/// Changes the first of the alternatives in a list of a whole reply, or adds it.
pub(crate) fn change_first<'a>(
    reply: &mut Object<'a>,
    key: &'a str,
    change: impl FnOnce(&mut Object<'_>),
) {
    let mut all = reply
        .list(key)
        .into_iter()
        .map(str::to_owned)
        .collect::<Vec<_>>();
    let place = all.iter().position(|one| is_first(one));
    let place = place.unwrap_or_else(|| {
        all.push("{}".to_owned());
        all.len() - 1
    });
    let mut first = Object::read(&all[place]);
    change(&mut first);
    let first = first.json();
    all[place] = first;
    reply.set(key, list(&all));
}

/// Whether an alternative is the one that counts.
pub(crate) fn is_first(alternative: &str) -> bool {
    matches!(Object::read(alternative).get("index"), None | Some("0"))
}

/// Several lists of blocks as one.
pub(crate) fn joined_lists(lists: &[String]) -> String {
    match lists {
        [only] => only.clone(),
        lists => {
            let blocks = lists.iter().flat_map(|list| elements(list));
            list(&blocks.collect::<Vec<_>>())
        }
    }
}

pub fn push_event(out: &mut Vec<u8>, name: Option<&str>, json: &str) {
    out.extend_from_slice(NewEvent::new(name, json).to_wire().as_bytes());
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
