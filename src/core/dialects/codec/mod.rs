//! What a dialect does that is more than a fact: one row of methods, one file per dialect.

mod anthropic;
mod chat;
mod gemini;
mod responses;

use super::stream::{Decoder, Look};
use super::write::rewrite::Begun;
use super::write::spell_reply::error;
use super::write::{NewEvent, NewReply, NoReply};
use crate::json::{Cursor, JsonError};
use crate::session::ledger::Usage;
use crate::session::{Dialect, Fragment};
use crate::wire::Element;
use serde_json::Value;

/// The words of one event of a stream; empty where it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Said<'a> {
    /// Text for the reader, refusals included.
    pub text: &'a str,
    /// Reasoning, or the summary of it.
    pub reasoning: &'a str,
}

/// Reads and writes what a provider and its clients tell each other.
pub trait Codec: Sync {
    /// Reads one element of the list that holds a history.
    fn read_element(
        &self,
        cursor: &mut Cursor<'_>,
        base: u64,
        out: &mut Fragment,
    ) -> Result<(), JsonError>;

    /// The elements of a history that say this; in a dialect of blocks the blocks of one message.
    fn write_element(&self, element: &Element) -> Vec<String>;

    /// The elements of the next request's list that a whole reply becomes.
    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply>;

    /// Whether a whole reply holds a refusal in the model's own words, where that has a place of its own.
    fn holds_refusal(&self, _reply: &Value) -> bool {
        false
    }

    fn decoder(&self) -> Box<dyn Decoder>;

    /// Whether a stream of the dialect has such events.
    fn owns_event(&self, event: &Value) -> bool;

    /// The words that an event adds. Events that repeat what was said (`.done`, the last Response) add none.
    fn said<'e>(&self, event: &'e Value) -> Said<'e>;

    /// What an event means to whoever holds calls back.
    fn look<'e>(&self, event: &mut Cursor<'e>) -> Result<Look<'e>, JsonError>;

    /// Takes the pieces of calls out of an event that may hold more. Gives whether it may.
    fn drops_calls(&self, _event: &mut Value) -> bool {
        false
    }

    /// A reply in one piece.
    fn whole(&self, reply: &NewReply) -> String;

    /// A reply as events, whose texts and arguments come in pieces of so many characters.
    fn events(&self, reply: &NewReply, piece: usize, tells_usage: bool) -> Vec<NewEvent>;

    /// The body of an error reply with this HTTP status; `code` is what programs know it by, `tag` makes the id
    /// of the request.
    fn error(&self, status: u16, message: &str, code: Option<&str>, _tag: &str) -> Value {
        error::openai(status, message, code)
    }

    /// A failure in the middle of a stream.
    fn failure(&self, message: &str) -> NewEvent {
        NewEvent {
            name: None,
            data: self.error(500, message, None, "").to_string(),
        }
    }

    /// A last message of the model, as replies hold it.
    fn final_message(&self, text: &str) -> String;

    /// The elements of a turn without what a client has of it; what stays is byte for byte as it was. Where the
    /// turn does not begin like what was sent, as far as it can be compared by its form, nothing is left out.
    fn behind(&self, sent: &[String], turn: &[String]) -> Vec<String>;

    /// A whole reply whose turn are these elements of a history, as [`Codec::history_of`] gives them. All else is
    /// that of `template`, a whole reply of the same provider, except what must fit the turn: why it ends, and
    /// the usage where it is not zero. What a history may leave out and a reply may not (the id of a message,
    /// its status) is filled in.
    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String;

    /// The rest of a stream that ends as `reply`.
    fn continuation(&self, begun: &Begun, reply: &str, usage: Usage, tells_usage: bool) -> Vec<u8>;
}

impl Dialect {
    /// What reads and writes it.
    pub fn codec(self) -> &'static dyn Codec {
        match self {
            Self::Responses => &responses::Responses,
            Self::Chat => &chat::Chat,
            Self::Anthropic => &anthropic::Anthropic,
            Self::Gemini => &gemini::Gemini,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_told_from_reasoning_in_every_dialect() {
        let of = |dialect: Dialect, event: Value| {
            let said = dialect.codec().said(&event);
            (said.text.to_owned(), said.reasoning.to_owned())
        };
        let pair = |text: &str, reasoning: &str| (text.to_owned(), reasoning.to_owned());
        let delta = json!({"type": "response.output_text.delta", "delta": "a"});
        assert_eq!(of(Dialect::Responses, delta), pair("a", ""));
        let delta = json!({"type": "response.reasoning_summary_text.delta", "delta": "b"});
        assert_eq!(of(Dialect::Responses, delta), pair("", "b"));
        let done = json!({"type": "response.output_text.done", "text": "a"});
        assert_eq!(of(Dialect::Responses, done), pair("", ""));
        let delta = json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "c"}});
        assert_eq!(of(Dialect::Anthropic, delta), pair("", "c"));
        let start =
            json!({"type": "content_block_start", "content_block": {"type": "text", "text": "d"}});
        assert_eq!(of(Dialect::Anthropic, start), pair("d", ""));
        let delta = json!({"choices": [{"delta": {"content": "e", "reasoning_content": "f"}}]});
        assert_eq!(of(Dialect::Chat, delta), pair("e", "f"));
        let usage = json!({"choices": [], "usage": {}});
        assert_eq!(of(Dialect::Chat, usage), pair("", ""));
    }
}
