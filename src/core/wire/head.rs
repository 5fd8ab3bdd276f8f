//! What a request asks for beside its history: one walk over the members of the body, no values built.

use super::facts::{Facts, ServerState};
use super::route::route;
use crate::json::{Cursor, Result, display_text, skip_value, skip_whitespace};
use crate::session::Dialect;
use serde_json::Value;
use std::ops::Range;

/// Longest name of a model that is kept, in characters: it is shown.
const MODEL: usize = 120;

/// What a request asks for. Members are those of the request bodies in the OpenAI and Anthropic API references.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RequestHead {
    /// The model; text from outside, shortened.
    pub model: String,
    /// Whether the reply is to come as a stream. SDKs accept `application/json` even then: only
    /// the body says it.
    pub streams: bool,
    /// Whether the provider keeps the history (`previous_response_id`, `conversation`, a `thread` that is
    /// continued): what is asked is then only a part of it.
    pub has_server_state: bool,
    /// The id of the reply that it goes on from, where it names one (`previous_response_id`,
    /// `thread.previous_message_id`).
    pub continues: Option<String>,
    /// The id of the conversation that the provider keeps (`conversation`).
    pub conversation: Option<String>,
    /// Whether it begins or continues a thread (Anthropic, beta `message-threads-2026-08-12`).
    pub has_thread: bool,
    /// Whether the provider is to keep the reply, where the request says so.
    pub stores: Option<bool>,
    /// Whether the reply is made in the background and fetched later.
    pub in_background: bool,
    /// Whether tools are offered.
    pub has_tools: bool,
    /// Where the lists of tools stand: `tools`, and `functions` of old requests of Chat.
    pub tools: Option<Range<usize>>,
    pub functions: Option<Range<usize>>,
    /// Whether the final output must be JSON, and whether it must follow a schema.
    pub wants_json: bool,
    pub has_output_schema: bool,
    /// Where that schema is.
    pub output_schema: Option<Range<usize>>,
    /// Where the number is that is to tell samples apart.
    pub seed: Option<Range<usize>>,
    /// Whether a chunk of the stream is to tell the tokens (Chat).
    pub wants_usage: bool,
    /// How many replies are asked for at once (`n` of Chat); 1 where nothing else is said.
    pub choices: u32,
    /// Where the value of `input` or `messages` is in the body: a list, or in Responses a text.
    pub history: Option<Range<usize>>,
    /// How many members there are that could hold a history, and how many of them are lists.
    holders: u32,
    lists: u32,
}

impl RequestHead {
    /// Reads a body. `None` where it is not one JSON object: it then passes untouched.
    pub fn read(dialect: Dialect, body: &[u8]) -> Option<Self> {
        let mut head = Self {
            choices: 1,
            ..Self::default()
        };
        let mut cursor = Cursor::new(body);
        let read = cursor.object(|cursor, key| head.member(dialect.facts(), cursor, key));
        let is_whole = skip_whitespace(body, cursor.position()) == body.len();
        (matches!(read, Ok(true)) && is_whole).then_some(head)
    }

    /// Takes what the path of the request says, where it says it and not the body.
    pub fn at(self, path: &str) -> Self {
        match route(path).and_then(|route| route.asks) {
            Some((model, streams)) => Self {
                model: model.chars().take(MODEL).collect(),
                streams,
                ..self
            },
            None => self,
        }
    }

    /// What a body asks for that is one which was read, with other elements in its history: the one at `from`
    /// begins in both at the same place, and the last `after` bytes, the bracket that closes the history among
    /// them, are the same. `None` where the history is not a list any more.
    pub fn going_on(&self, body: &[u8], from: usize, after: usize) -> Option<Self> {
        let history = self.history.clone().filter(|_| self.has_one_list())?;
        let bracket = body.len().checked_sub(after)?;
        let mut at = from;
        loop {
            at = skip_whitespace(body, skip_value(body, at).ok()?);
            match body.get(at)? {
                b',' => at = skip_whitespace(body, at + 1),
                b']' if at == bracket => break,
                _ => return None,
            }
        }
        let end = bracket + 1;
        // What follows the history has moved.
        let moved = |at: usize| {
            if at < history.end {
                at
            } else {
                at + end - history.end
            }
        };
        let moved = |place: &Option<Range<usize>>| {
            let place = place.as_ref();
            place.map(|place| moved(place.start)..moved(place.end))
        };
        Some(Self {
            tools: moved(&self.tools),
            functions: moved(&self.functions),
            output_schema: moved(&self.output_schema),
            seed: moved(&self.seed),
            history: Some(history.start..end),
            ..self.clone()
        })
    }

    pub fn value(body: &[u8], place: &Option<Range<usize>>) -> Option<Value> {
        let place = place.clone()?;
        serde_json::from_slice(body.get(place)?).ok()
    }

    /// The tools on offer, where a reply repeats them.
    pub fn repeated_tools(&self, dialect: Dialect, body: &[u8]) -> Vec<Value> {
        match Self::value(body, &self.tools) {
            Some(Value::Array(tools)) if dialect.facts().repeats_tools => tools,
            _ => Vec::new(),
        }
    }

    /// Whether the history is a list, and no other member could be taken for one.
    pub fn has_one_list(&self) -> bool {
        (self.holders, self.lists) == (1, 1)
    }

    fn member(&mut self, facts: &Facts, cursor: &mut Cursor<'_>, key: &[u8]) -> Result<()> {
        if facts.holders.iter().any(|holder| holder.as_bytes() == key) {
            self.holders += 1;
            self.lists += u32::from(cursor.peek() == Some(b'['));
        }
        let keeps = facts.server_state;
        match key {
            b"model" => {
                let name = display_text(cursor.string()?.unwrap_or_default());
                self.model = name.chars().take(MODEL).collect();
            }
            b"stream" => self.streams = cursor.is_true()?,
            b"tools" => self.read_tools(cursor)?,
            b"functions" => self.functions = Some(self.list_of_tools(cursor)?),
            _ if key == facts.history_key.as_bytes() => self.history = Some(cursor.skip()?),
            b"previous_response_id" if keeps == ServerState::Replies => {
                self.continues = id_at(cursor)?;
                self.has_server_state |= self.continues.is_some();
            }
            b"conversation" if keeps == ServerState::Replies => self.read_conversation(cursor)?,
            b"thread" if keeps == ServerState::Threads => {
                self.has_thread = cursor.object(|cursor, key| {
                    if key == b"previous_message_id" {
                        self.continues = id_at(cursor)?;
                        self.has_server_state |= self.continues.is_some();
                    }
                    Ok(())
                })?;
            }
            b"store" => {
                self.stores = match cursor.raw()? {
                    b"true" => Some(true),
                    b"false" => Some(false),
                    _ => None,
                };
            }
            b"background" if keeps == ServerState::Replies => {
                self.in_background = cursor.is_true()?;
            }
            b"seed" => self.seed = Some(cursor.skip()?),
            b"stream_options" if facts.tells_usage_last => {
                cursor.object(|cursor, key| {
                    if key == b"include_usage" {
                        self.wants_usage = cursor.is_true()?;
                    }
                    Ok(())
                })?;
            }
            b"n" if facts.tells_usage_last => {
                self.choices = count(cursor.raw()?);
            }
            _ => {
                let place = facts
                    .formats
                    .iter()
                    .find(|place| place[0].as_bytes() == key);
                match place {
                    Some([_]) => self.read_format(cursor)?,
                    Some([_, inner]) => {
                        cursor.object(|cursor, key| match key == inner.as_bytes() {
                            true => self.read_format(cursor),
                            false => Ok(()),
                        })?;
                    }
                    _ => facts.dialect.codec().read_setting(self, cursor, key)?,
                }
            }
        }
        Ok(())
    }

    /// Reads the list of the tools on offer.
    pub(crate) fn read_tools(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        self.tools = Some(self.list_of_tools(cursor)?);
        Ok(())
    }

    fn list_of_tools(&mut self, cursor: &mut Cursor<'_>) -> Result<Range<usize>> {
        cursor.peek();
        let list = cursor.skip()?;
        self.has_tools = !matches!(within(&cursor.bytes()[list.clone()]), [] | b"null");
        Ok(list)
    }

    /// Reads `conversation`: an id, or an object that has one.
    fn read_conversation(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let start = cursor.position();
        let value = cursor.raw()?;
        self.has_server_state |= !matches!(value, b"null" | b"\"\"");
        let mut inside = Cursor::at(cursor.bytes(), start);
        if value.first() == Some(&b'{') {
            inside.object(|cursor, key| {
                if key == b"id" {
                    self.conversation = id_at(cursor)?;
                }
                Ok(())
            })?;
        } else {
            self.conversation = id_at(&mut inside)?;
        }
        Ok(())
    }

    /// Reads the format of the final output.
    fn read_format(&mut self, cursor: &mut Cursor<'_>) -> Result<()> {
        let mut schema = None;
        cursor.object(|cursor, key| {
            match key {
                b"type" => {
                    let kind = cursor.string()?;
                    self.has_output_schema |= kind == Some(b"json_schema");
                    self.wants_json |= self.has_output_schema || kind == Some(b"json_object");
                }
                b"schema" => schema = Some(cursor.skip()?),
                b"json_schema" => {
                    cursor.object(|cursor, key| {
                        if key == b"schema" {
                            schema = Some(cursor.skip()?);
                        }
                        Ok(())
                    })?;
                }
                _ => {}
            }
            Ok(())
        })?;
        self.output_schema = self.output_schema.take().or(schema);
        Ok(())
    }
}

/// An id; `None` where there is none.
fn id_at(cursor: &mut Cursor<'_>) -> Result<Option<String>> {
    let id = cursor.string()?.map(|id| display_text(id).into_owned());
    Ok(id.filter(|id| !id.is_empty()))
}

/// How many replies are asked for.
pub(crate) fn count(raw: &[u8]) -> u32 {
    let number = std::str::from_utf8(raw).ok();
    number.and_then(|number| number.parse().ok()).unwrap_or(1)
}

/// The inside of a list, or the value itself.
fn within(value: &[u8]) -> &[u8] {
    let inside = value
        .strip_prefix(b"[")
        .and_then(|value| value.strip_suffix(b"]"));
    inside.unwrap_or(value).trim_ascii()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_request_of_responses_tells_what_its_exchange_depends_on() {
        let body = br#"{"model":"gpt-5","input":[{"role":"user","content":"hi \"stream\":true"}],"stream": true,"store":false,
            "background":false,"conversation":null,"previous_response_id":"resp_1","tools":[{"type":"function","name":"f"}],
            "text":{"format":{"type":"json_schema","name":"a","schema":{}}}}"#;
        let asked = RequestHead::read(Dialect::Responses, body).unwrap();
        assert_eq!(asked.model, "gpt-5");
        assert!(asked.streams && asked.has_server_state && asked.has_tools);
        assert!(asked.has_output_schema && !asked.in_background && !asked.wants_usage);
        assert_eq!(asked.stores, Some(false));
        let list = &body[asked.history.unwrap()];
        assert!(list.starts_with(b"[{\"role\"") && list.ends_with(b"}]"));
    }

    #[test]
    fn a_request_of_chat_says_whether_it_wants_usage_and_how_many_replies() {
        let body = br#"{"messages":[],"model":"m","n":2,"stream":false,"stream_options":{"include_usage":true},"tools":[ ],
            "response_format":{"type":"json_object"}}"#;
        let asked = RequestHead::read(Dialect::Chat, body).unwrap();
        assert!(asked.wants_usage && !asked.streams && !asked.has_tools);
        assert!(!asked.has_output_schema && !asked.has_server_state);
        assert_eq!(asked.choices, 2);
        assert_eq!(&body[asked.history.unwrap()], b"[]");
    }

    #[test]
    fn a_request_of_anthropic_asks_for_its_schema_in_two_ways() {
        for format in [
            r#""output_config":{"effort":"low","format":{"type":"json_schema","schema":{}}}"#,
            r#""output_format":{"type":"json_schema","schema":{}}"#,
        ] {
            let body = format!(r#"{{"model":"m","max_tokens":9,"messages":[],{format}}}"#);
            let asked = RequestHead::read(Dialect::Anthropic, body.as_bytes()).unwrap();
            assert!(asked.has_output_schema, "{format}");
        }
    }

    #[test]
    fn what_goes_on_is_read_from_where_it_differs() {
        let [one, two] = [r#"{"role":"user"}"#, r#"{"role":"user","n":[2]}"#];
        let body = |list: &str| format!(r#"{{"model":"m","messages":[{list}],"stream":true}}"#);
        let was = body(one);
        let asked = RequestHead::read(Dialect::Chat, was.as_bytes()).unwrap();
        let from = was.find('[').unwrap() + 1;
        let after = was.len() - was.rfind(']').unwrap();
        for list in [one.to_owned(), format!("{one} , {two}"), two.to_owned()] {
            let body = body(&list);
            let known = asked.going_on(body.as_bytes(), from, after);
            assert_eq!(known, RequestHead::read(Dialect::Chat, body.as_bytes()));
        }
        for broken in ["", "{},", "{}{}", "{},,{}", "{]", "{}],\"n\":[{}"] {
            let body = body(broken);
            assert_eq!(
                asked.going_on(body.as_bytes(), from, after),
                None,
                "{broken}"
            );
        }
        let twice = br#"{"messages":[{}],"messages":[{}]}"#;
        let asked = RequestHead::read(Dialect::Chat, twice).unwrap();
        assert!(!asked.has_one_list() && asked.going_on(twice, 13, 20).is_none());
    }

    #[test]
    fn what_is_not_one_json_object_is_not_read() {
        for body in [
            &b""[..],
            b"[]",
            b"\"text\"",
            b"{\"model\":\"m\"",
            b"{\"model\":\"m\"} {}",
            b"\xef\xbb\xbf{\"model\":\"m\"}",
            b"{\"model\":nope}",
            b"\x1f\x8b\x08",
        ] {
            assert_eq!(RequestHead::read(Dialect::Chat, body), None, "{body:?}");
        }
        let long = format!(r#"{{"model":"{}"}}"#, "m".repeat(5_000));
        let asked = RequestHead::read(Dialect::Chat, long.as_bytes()).unwrap();
        assert_eq!(asked.model.len(), MODEL);
    }
}
