//! What a request asks for, as far as its exchange depends on it: one walk over the members of the
//! body, no values built.

use crate::json::{Cursor, Fault, display_text, skip_value, skip_whitespace};
use crate::session::Dialect;
use std::ops::Range;

/// Longest name of a model that is kept, in characters: it is shown.
const MODEL: usize = 120;

/// What a request asks for. Members are those of the request bodies in the OpenAI and Anthropic API references.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Asked {
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
    /// Whether it begins or continues a thread (Anthropic, beta `message-threads-2026-08-12`).
    pub has_thread: bool,
    /// Whether the provider is to keep the reply, where the request says so.
    pub stores: Option<bool>,
    /// Whether the reply is made in the background and fetched later.
    pub in_background: bool,
    /// Whether tools are offered.
    pub has_tools: bool,
    /// Whether the final output must follow a schema.
    pub has_output_schema: bool,
    /// Whether a chunk of the stream is to tell the tokens (Chat).
    pub wants_usage: bool,
    /// How many replies are asked for at once (`n` of Chat); 1 where nothing else is said.
    pub choices: u32,
    /// Where the value of `input` or `messages` stands in the body: a list, or in Responses a text.
    pub history: Option<Range<usize>>,
    /// How many members there are that could hold a history, and how many of them are lists.
    holders: u32,
    lists: u32,
}

impl Asked {
    /// Reads a body. `None` where it is not one JSON object: it then passes untouched.
    pub fn read(dialect: Dialect, body: &[u8]) -> Option<Self> {
        let mut asked = Self {
            choices: 1,
            ..Self::default()
        };
        let mut cursor = Cursor::new(body);
        let read = cursor.object(|cursor, key| asked.member(dialect, cursor, key));
        let is_whole = skip_whitespace(body, cursor.position()) == body.len();
        (matches!(read, Ok(true)) && is_whole).then_some(asked)
    }

    /// What a body asks for that is one which was read, with other elements in its history: the one at `from`
    /// begins in both at the same place, and the last `behind` bytes, the bracket that closes the history among
    /// them, are the same. `None` where the history is no list any more.
    pub fn going_on(&self, body: &[u8], from: usize, behind: usize) -> Option<Self> {
        let history = self.history.clone().filter(|_| self.has_one_list())?;
        let bracket = body.len().checked_sub(behind)?;
        let mut at = from;
        loop {
            at = skip_whitespace(body, skip_value(body, at).ok()?);
            match body.get(at)? {
                b',' => at = skip_whitespace(body, at + 1),
                b']' if at == bracket => break,
                _ => return None,
            }
        }
        Some(Self {
            history: Some(history.start..bracket + 1),
            ..self.clone()
        })
    }

    /// Whether the history is a list, and no other member could be taken for one.
    pub fn has_one_list(&self) -> bool {
        (self.holders, self.lists) == (1, 1)
    }

    fn member(
        &mut self,
        dialect: Dialect,
        cursor: &mut Cursor<'_>,
        key: &[u8],
    ) -> Result<(), Fault> {
        let facts = dialect.facts();
        if facts.holders.iter().any(|holder| holder.as_bytes() == key) {
            self.holders += 1;
            self.lists += u32::from(cursor.peek() == Some(b'['));
        }
        match (key, dialect) {
            (b"model", _) => {
                let name = display_text(cursor.string()?.unwrap_or_default());
                self.model = name.chars().take(MODEL).collect();
            }
            (b"stream", _) => self.streams = cursor.is_true()?,
            (b"tools" | b"functions", _) => {
                self.has_tools = !matches!(within(cursor.raw()?), [] | b"null");
            }
            (key, _) if key == facts.history_key.as_bytes() => {
                self.history = Some(cursor.skip()?);
            }
            (b"previous_response_id", Dialect::Responses) => {
                self.continues = id_at(cursor)?;
                self.has_server_state |= self.continues.is_some();
            }
            (b"conversation", Dialect::Responses) => {
                self.has_server_state |= !matches!(cursor.raw()?, b"null" | b"\"\"");
            }
            (b"thread", Dialect::Anthropic) => {
                self.has_thread = cursor.object(|cursor, key| {
                    if key == b"previous_message_id" {
                        self.continues = id_at(cursor)?;
                        self.has_server_state |= self.continues.is_some();
                    }
                    Ok(())
                })?;
            }
            (b"store", _) => {
                self.stores = match cursor.raw()? {
                    b"true" => Some(true),
                    b"false" => Some(false),
                    _ => None,
                };
            }
            (b"background", Dialect::Responses) => self.in_background = cursor.is_true()?,
            (b"text", Dialect::Responses) | (b"output_config", Dialect::Anthropic) => {
                self.has_output_schema |= format_is_schema(cursor)?;
            }
            (b"response_format", Dialect::Chat) | (b"output_format", Dialect::Anthropic) => {
                self.has_output_schema |= is_schema(cursor)?;
            }
            (b"stream_options", Dialect::Chat) => {
                cursor.object(|cursor, key| {
                    if key == b"include_usage" {
                        self.wants_usage = cursor.is_true()?;
                    }
                    Ok(())
                })?;
            }
            (b"n", Dialect::Chat) => {
                let number = std::str::from_utf8(cursor.raw()?).ok();
                self.choices = number.and_then(|number| number.parse().ok()).unwrap_or(1);
            }
            _ => {}
        }
        Ok(())
    }
}

/// An id; `None` where there is none.
fn id_at(cursor: &mut Cursor<'_>) -> Result<Option<String>, Fault> {
    let id = cursor.string()?.map(|id| display_text(id).into_owned());
    Ok(id.filter(|id| !id.is_empty()))
}

/// The inside of a list, or the value itself.
fn within(value: &[u8]) -> &[u8] {
    let inside = value
        .strip_prefix(b"[")
        .and_then(|value| value.strip_suffix(b"]"));
    inside.unwrap_or(value).trim_ascii()
}

/// Whether the member `format` of an object asks for a schema.
fn format_is_schema(cursor: &mut Cursor<'_>) -> Result<bool, Fault> {
    let mut found = false;
    cursor.object(|cursor, key| {
        if key == b"format" {
            found = is_schema(cursor)?;
        }
        Ok(())
    })?;
    Ok(found)
}

/// Whether a format is `json_schema`.
fn is_schema(cursor: &mut Cursor<'_>) -> Result<bool, Fault> {
    let mut found = false;
    cursor.object(|cursor, key| {
        if key == b"type" {
            found = cursor.string()? == Some(b"json_schema");
        }
        Ok(())
    })?;
    Ok(found)
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
        let asked = Asked::read(Dialect::Responses, body).unwrap();
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
        let asked = Asked::read(Dialect::Chat, body).unwrap();
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
            let asked = Asked::read(Dialect::Anthropic, body.as_bytes()).unwrap();
            assert!(asked.has_output_schema, "{format}");
        }
    }

    #[test]
    fn what_goes_on_is_read_from_where_it_differs() {
        let [one, two] = [r#"{"role":"user"}"#, r#"{"role":"user","n":[2]}"#];
        let body = |list: &str| format!(r#"{{"model":"m","messages":[{list}],"stream":true}}"#);
        let was = body(one);
        let asked = Asked::read(Dialect::Chat, was.as_bytes()).unwrap();
        let from = was.find('[').unwrap() + 1;
        let behind = was.len() - was.rfind(']').unwrap();
        for list in [one.to_owned(), format!("{one} , {two}"), two.to_owned()] {
            let body = body(&list);
            let known = asked.going_on(body.as_bytes(), from, behind);
            assert_eq!(known, Asked::read(Dialect::Chat, body.as_bytes()));
        }
        for broken in ["", "{},", "{}{}", "{},,{}", "{]", "{}],\"n\":[{}"] {
            let body = body(broken);
            assert_eq!(
                asked.going_on(body.as_bytes(), from, behind),
                None,
                "{broken}"
            );
        }
        let twice = br#"{"messages":[{}],"messages":[{}]}"#;
        let asked = Asked::read(Dialect::Chat, twice).unwrap();
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
            assert_eq!(Asked::read(Dialect::Chat, body), None, "{body:?}");
        }
        let long = format!(r#"{{"model":"{}"}}"#, "m".repeat(5_000));
        let asked = Asked::read(Dialect::Chat, long.as_bytes()).unwrap();
        assert_eq!(asked.model.len(), MODEL);
    }
}
