//! What a dialect does that is more than a fact.

use super::facts::Facts;
use super::faults::ShapeFault;
use super::fields::Fields;
use super::head::RequestHead;
use super::history::NoReply;
use super::new_reply::{NewEvent, NewReply, StreamRest};
use super::object::quoted;
use super::stream::{Decoder, EventSummary};
use super::turn::{Element, Part, Role, ToolCall};
use crate::json::{Cursor, Result, display_text};
use crate::session::ledger::Usage;
use crate::session::{Fragment, Item, Kind, MessageRole, OutputSchema, Patch};
use serde::de::IgnoredAny;
use serde_json::{Map, Value, json};
use std::ops::Range;

/// The text that one event of a stream adds; empty where it adds none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct TextDelta<'a> {
    /// Text for the reader, refusals included.
    pub text: &'a str,
    /// Reasoning, or the summary of it.
    pub reasoning: &'a str,
}

/// How an item changes where a part of its text becomes calls.
#[derive(Debug)]
pub struct InsertedCalls {
    /// What becomes of the item.
    pub patches: Vec<Patch>,
    /// The calls that are items of their own, after it.
    pub after: Vec<String>,
}

impl InsertedCalls {
    /// An item whose bytes are replaced as a whole.
    pub(crate) fn whole(bytes: &[u8], with: String) -> Self {
        let at = 0..bytes.len();
        let with = with.into_bytes();
        Self {
            patches: vec![Patch { at, with }],
            after: Vec::new(),
        }
    }
}

/// Reads and writes what a provider and its clients send each other.
pub trait Codec: Sync {
    fn facts(&self) -> &'static Facts;

    // The elements of a history.

    /// Reads one element of the list that holds a history.
    fn read_element(&self, cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()>;

    /// What is wrong with the shape of an item that was marked when it was read.
    fn fault(&self, item: &Item, bytes: &[u8]) -> Option<ShapeFault>;

    /// What an item is that the dialect does not know, in words for a list.
    fn unknown_type(&self, bytes: &[u8]) -> String {
        // The bytes were walked without a fault when the item was read.
        let fields = Fields::read(&mut Cursor::new(bytes)).unwrap_or_default();
        match (fields.kind, fields.role) {
            (None | Some(b"message"), Some(role)) => named("role", role),
            (Some(kind), _) => named("type", kind),
            (None, None) => "an object without type and role".to_owned(),
        }
    }

    /// Whether a history may hold an object of an unknown type: providers add types faster than anyone lists
    /// them, but a message without a role and an object without a type are nothing in any list.
    fn takes_unknown(&self, fields: &Fields<'_>) -> bool {
        fields.kind.is_some()
    }

    /// Whether a call or a text carries a signature.
    fn is_signed(&self, _bytes: &[u8]) -> bool {
        false
    }

    /// Whether an object is a message and no block, where a prompt may be either.
    fn is_prompt_message(&self, _object: &[u8]) -> bool {
        false
    }

    /// A part as a block of a message, in dialects of blocks.
    fn block(&self, part: &Part) -> String {
        self.text_block(part.text().unwrap_or_default())
    }

    /// The elements of a history that say this; in a dialect of blocks the blocks of one message.
    fn write_element(&self, element: &Element) -> Vec<String> {
        element.parts.iter().map(|part| self.block(part)).collect()
    }

    /// A message with one text, as the provider takes it for input.
    fn message(&self, role: MessageRole, text: &str) -> String {
        let role = match role {
            MessageRole::User => Role::User,
            MessageRole::Assistant => Role::Model,
        };
        let element = Element::new(role, vec![Part::Text(text.to_owned())]);
        self.write_element(&element).concat()
    }

    /// A text block of a message that is a list of blocks.
    fn text_block(&self, text: &str) -> String {
        text_block(text)
    }

    /// The output that answers a call. `id` is the call id as it is spelled in its JSON string, `name` the
    /// tool's. `None` where the dialect has no textual output for this type of call.
    fn output(
        &self,
        call: &Item,
        id: &str,
        name: &str,
        text: &str,
        is_error: bool,
    ) -> Option<String>;

    /// Makes calls of the part of an item's text at that place; `left` is the rest of that text, empty where it was
    /// calls and nothing else.
    fn insert_calls(
        &self,
        bytes: &[u8],
        _at: Range<usize>,
        calls: &[ToolCall],
        left: &str,
    ) -> Result<InsertedCalls> {
        let text = (!left.is_empty()).then(|| self.text_block(left));
        let calls = calls.iter().cloned().map(Part::Call);
        let calls = calls.map(|call| self.block(&call));
        let blocks = text.into_iter().chain(calls).collect::<Vec<_>>().join(",");
        let is_bare = bytes.first() == Some(&b'"');
        Ok(InsertedCalls::whole(
            bytes,
            match is_bare {
                true => format!("[{blocks}]"),
                false => blocks,
            },
        ))
    }

    /// The members of an item one of which is an object that holds what the item says; none where the item itself
    /// does.
    fn envelopes(&self, _kind: Kind) -> &'static [&'static str] {
        &[]
    }

    /// The member of an item that holds its call id, and whether that is one of its envelope.
    fn call_id_key(&self, item: &Item, bytes: &[u8]) -> Result<(&'static str, bool)>;

    /// The member that holds the arguments of a call, or the free-form input of a custom one.
    fn arguments_key(&self, is_custom: bool) -> &'static str {
        if is_custom { "input" } else { "arguments" }
    }

    /// The members that change where an output gets another text, each with its value; empty where an output of
    /// this type has no text.
    fn output_members(
        &self,
        output: &Item,
        bytes: &[u8],
        text: &str,
        is_error: bool,
    ) -> Result<Vec<(&'static str, String)>>;

    // Requests.

    /// The definition of a tool: `of_type` is `function` or `custom`, `members` its name, description and schema.
    fn tool(&self, _of_type: &'static str, members: Map<String, Value>) -> Value {
        Value::Object(members)
    }

    /// The instructions of a request, as the value of their member.
    fn instructions(&self, text: &str) -> String {
        quoted(text)
    }

    /// What the final output must look like, as a member of a request and its value.
    fn output_setting(&self, output: &OutputSchema) -> (&'static str, Value);

    /// Reads a member of a request body that only this dialect has.
    fn read_setting(
        &self,
        _head: &mut RequestHead,
        _cursor: &mut Cursor<'_>,
        _key: &[u8],
    ) -> Result<()> {
        Ok(())
    }

    /// Notes what a member of a request or reply in a file says, where only this dialect has such a member. Gives
    /// whether it has.
    fn note_member(
        &self,
        _key: &[u8],
        _cursor: &mut Cursor<'_>,
        _base: u64,
        _out: &mut Fragment,
    ) -> Result<bool> {
        Ok(false)
    }

    // Replies.

    /// Reads the value of [`Facts::reply_key`] in a file; of several replies the first one, since no history holds
    /// the others.
    fn read_reply(&self, _cursor: &mut Cursor<'_>, _base: u64, _out: &mut Fragment) -> Result<()> {
        Ok(())
    }

    /// The elements of the next request's list that a whole reply becomes.
    fn history_of(&self, reply: &str) -> Result<Vec<String>, NoReply>;

    /// Whether a whole reply holds a refusal in the model's own words, where that has a place of its own.
    fn holds_refusal(&self, _reply: &Value) -> bool {
        false
    }

    /// A reply in one piece.
    fn encode_reply(&self, reply: &NewReply) -> String;

    /// A reply in one piece from which a stream is written: arguments that are a value there are a text here, which
    /// keeps every character.
    fn encode_for_stream(&self, reply: &NewReply) -> String {
        self.encode_reply(reply)
    }

    /// The body of an error reply with this HTTP status; `code` is what programs know it by, `tag` makes the id
    /// of the request.
    fn error(&self, status: u16, message: &str, code: Option<&str>, _tag: &str) -> Value {
        let usual = (status == 429).then_some("rate_limit_exceeded");
        // OpenAI API reference, error codes.
        let kind = match status {
            401 => "authentication_error",
            429 => "rate_limit_error",
            500.. => "server_error",
            _ => "invalid_request_error",
        };
        json!({"error": {
            "message": message,
            "type": kind,
            "param": null,
            "code": code.or(usual),
        }})
    }

    /// A failure in the middle of a stream.
    fn failure(&self, message: &str) -> NewEvent {
        NewEvent {
            name: None,
            data: self.error(500, message, None, "").to_string(),
        }
    }

    /// A last message of the model, as replies hold it.
    fn final_message(&self, text: &str) -> String {
        self.message(MessageRole::Assistant, text)
    }

    /// The elements of a turn without what a client was sent of it already; the rest is byte for byte as it was.
    /// Where the turn does not begin like what was sent, as far as its form tells, nothing is left out.
    fn unsent(&self, sent: &[String], turn: &[String]) -> Vec<String> {
        let (Some(sent), Some((first, others))) = (sent.first(), turn.split_first()) else {
            return turn.to_vec();
        };
        // What cannot be read cannot be compared.
        let is_readable = |element: &str| serde_json::from_str::<IgnoredAny>(element).is_ok();
        if !is_readable(sent) || !is_readable(first) {
            return turn.to_vec();
        }
        let first = self.unsent_message(sent, first);
        first.into_iter().chain(others.iter().cloned()).collect()
    }

    /// The rest of a message of which this was sent; `None` where nothing is left.
    fn unsent_message(&self, _sent: &str, message: &str) -> Option<String> {
        Some(message.to_owned())
    }

    /// A whole reply whose turn are these elements of a history, as [`Codec::history_of`] gives them. All else is
    /// that of `template`, a whole reply of the same provider, except what must fit the turn: why it ends, and
    /// the usage where it is not zero. What a history may leave out and a reply may not (the id of a message,
    /// its status) is filled in.
    fn reply_with(&self, template: &str, elements: &[String], usage: Usage) -> String;

    // Streams.

    fn decoder(&self) -> Box<dyn Decoder>;

    /// Whether a stream of the dialect has such events.
    fn owns_event(&self, event: &Value) -> bool;

    /// The text that an event adds. Events that repeat earlier text (`.done`, the last Response) add none.
    fn text_of<'e>(&self, event: &'e Value) -> TextDelta<'e>;

    /// What an event means to whoever holds calls back.
    fn classify<'e>(&self, event: &mut Cursor<'e>) -> Result<EventSummary<'e>>;

    /// Takes the pieces of calls out of an event that may hold more. Gives whether it may.
    fn drops_calls(&self, _event: &mut Value) -> bool {
        false
    }

    /// The events that a client still lacks of a stream.
    fn encode_stream(&self, rest: &StreamRest<'_>) -> Vec<NewEvent>;
}

/// [`Codec::read_reply`] of a list whose elements hold the turn in this member.
pub(crate) fn read_first(
    codec: &dyn Codec,
    turn: &[u8],
    cursor: &mut Cursor<'_>,
    base: u64,
    out: &mut Fragment,
) -> Result<()> {
    let mut is_first = true;
    cursor.array(|cursor| {
        if !std::mem::replace(&mut is_first, false) {
            return Ok(());
        }
        cursor.object(|cursor, key| match key == turn {
            true => codec.read_element(cursor, base, out),
            false => Ok(()),
        })?;
        Ok(())
    })?;
    Ok(())
}

/// The name of an output schema, which some providers want.
pub(crate) fn schema_name(output: &OutputSchema) -> &str {
    match output.name.as_str() {
        "" => "output",
        name => name,
    }
}

/// A word of the dialect with what it is.
pub(crate) fn named(what: &str, word: &[u8]) -> String {
    format!("{what} \"{}\"", display_text(word))
}

pub(crate) fn text_block(text: &str) -> String {
    format!(r#"{{"type":"text","text":{}}}"#, quoted(text))
}

/// One text by itself, or a list of parts.
pub(crate) fn content(parts: &[Part], spell: impl Fn(&Part) -> String) -> String {
    match parts {
        [] => quoted(""),
        [Part::Text(text) | Part::Json(text)] => quoted(text),
        parts => {
            let spelled = parts.iter().map(spell).collect::<Vec<_>>();
            format!("[{}]", spelled.join(","))
        }
    }
}

pub(crate) fn typed_text(of_type: &str, part: &Part) -> String {
    let text = quoted(part.text().unwrap_or_default());
    format!(r#"{{"type":"{of_type}","text":{text}}}"#)
}

/// The member of an id, with the comma after it.
pub(crate) fn id_member(key: &str, id: &Option<String>) -> String {
    let id = id.as_ref();
    id.map_or_else(String::new, |id| format!(r#""{key}":{},"#, quoted(id)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::session::Dialect;
    use serde_json::json;

    #[test]
    fn words_are_told_from_reasoning_in_every_dialect() {
        let of = |dialect: Dialect, event: Value| {
            let delta = dialect.codec().text_of(&event);
            (delta.text.to_owned(), delta.reasoning.to_owned())
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

    fn strings(texts: &[&str]) -> Vec<String> {
        texts.iter().map(|text| (*text).to_owned()).collect()
    }

    #[test]
    fn a_message_of_chat_loses_the_words_and_calls_that_were_told() {
        let sent = strings(&[
            r#"{"role":"assistant","content":"Let me \u006cook.","tool_calls":[{"id":"a"}]}"#,
        ]);
        let turn = strings(&[
            r#"{"role":"assistant","content":"Let me look. Now","tool_calls":[{"id":"a"},{"id":"b","x":1e2}]}"#,
        ]);
        assert_eq!(
            Dialect::Chat.codec().unsent(&sent, &turn),
            [r#"{"role":"assistant","content":" Now","tool_calls":[{"id":"b","x":1e2}]}"#]
        );
    }

    #[test]
    fn nothing_is_left_of_a_turn_that_was_told() {
        let chat = strings(&[r#"{"role":"assistant","content":"ok"}"#]);
        assert!(Dialect::Chat.codec().unsent(&chat, &chat).is_empty());
        let anthropic =
            strings(&[r#"{"role":"assistant","content":[{"type":"text","text":"ok"}]}"#]);
        assert!(
            Dialect::Anthropic
                .codec()
                .unsent(&anthropic, &anthropic)
                .is_empty()
        );
        assert!(Dialect::Responses.codec().unsent(&chat, &chat).is_empty());
    }

    #[test]
    fn blocks_and_items_that_were_told_go_by_their_number() {
        let sent = strings(&[r#"{"role":"assistant","content":[{"type":"thinking"}]}"#]);
        let turn = strings(&[
            r#"{"role":"assistant","content":[{"type":"thinking"},{"type":"tool_use","input":{"a": 1.0}}]}"#,
        ]);
        assert_eq!(
            Dialect::Anthropic.codec().unsent(&sent, &turn),
            [r#"{"role":"assistant","content":[{"type":"tool_use","input":{"a": 1.0}}]}"#]
        );
        let items = strings(&["{\"a\":1}", "{\"b\":2}"]);
        assert_eq!(
            Dialect::Responses.codec().unsent(&items[..1], &items),
            items[1..]
        );
    }

    #[test]
    fn words_that_were_changed_are_told_whole() {
        let sent = strings(&[r#"{"role":"assistant","content":"Let me look."}"#]);
        let turn = strings(&[r#"{"role":"assistant","content":"Other"}"#]);
        assert_eq!(Dialect::Chat.codec().unsent(&sent, &turn), turn);
    }

    #[test]
    fn what_cannot_be_read_is_told_whole() {
        let sound = strings(&[r#"{"role":"assistant","content":"ok"}"#]);
        let broken = strings(&[r#"{"role":"assistant","content":"ok"#]);
        for dialect in [Dialect::Chat, Dialect::Anthropic, Dialect::Gemini] {
            let codec = dialect.codec();
            assert_eq!(codec.unsent(&sound, &broken), broken);
            assert_eq!(codec.unsent(&broken, &sound), sound);
        }
    }

    #[test]
    fn a_message_of_the_model_claims_no_reply_that_it_came_from() {
        let spelled = |dialect: Dialect| dialect.codec().message(MessageRole::Assistant, "\"ten\"");
        for (dialect, message) in [
            (
                Dialect::Responses,
                r#"{"type":"message","role":"assistant","content":"\"ten\""}"#,
            ),
            (Dialect::Chat, r#"{"role":"assistant","content":"\"ten\""}"#),
            (
                Dialect::Anthropic,
                r#"{"role":"assistant","content":"\"ten\""}"#,
            ),
            (
                Dialect::Gemini,
                r#"{"role":"model","parts":[{"text":"\"ten\""}]}"#,
            ),
        ] {
            assert_eq!(spelled(dialect), message);
        }
    }
}
