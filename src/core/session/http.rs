//! The HTTP exchange of an item: its address, its status and the headers that say something to the operator.

use super::pairing::Session;
use crate::json::{Cursor, Result, display_text};
use serde_json::Value;

/// The headers that are shown, in this order; any other may hold a secret.
const SHOWN: [&str; 10] = [
    "request-id",
    "x-request-id",
    "x-amzn-requestid",
    "apim-request-id",
    "retry-after",
    "retry-after-ms",
    "anthropic-version",
    "anthropic-beta",
    "openai-version",
    "openai-model",
];

/// How much of an exchange is read: what describes it precedes its bodies.
const HEAD: u64 = 64 * 1024;

/// What a recording says of an HTTP exchange beside its bodies.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct HttpFacts {
    /// Where the request went, without a query: it may hold a key.
    pub address: String,
    /// 0 where none is recorded.
    pub status: u16,
    /// Those of the request, then those of the reply.
    pub headers: Vec<(String, String)>,
}

impl HttpFacts {
    /// The exchange that an item is from; `None` where it is from none.
    pub fn of(session: &Session, item: usize) -> Option<Self> {
        let item = session.items.get(item)?;
        let record = session.records.get(item.record as usize)?.span;
        if record == item.span {
            return None;
        }
        let bytes = session.source.read(record.head(HEAD)).ok()?;
        let (mut facts, mut is_exchange) = (Self::default(), false);
        // What precedes a fault counts.
        let _ = facts.read(&mut Cursor::new(&bytes), &mut is_exchange);
        let is_known = facts.status > 0 || !facts.address.is_empty();
        (is_exchange && is_known).then_some(facts)
    }

    /// The first header of this name.
    pub fn header(&self, name: &str) -> Option<&str> {
        let mut headers = self.headers.iter();
        let found = headers.find(|(known, _)| known.eq_ignore_ascii_case(name));
        found.map(|(_, value)| &**value)
    }

    /// `HTTP 429  https://api.example.com/v1/messages`, then each header.
    pub fn lines(&self) -> Vec<String> {
        let mut words = Vec::new();
        if self.status > 0 {
            words.push(format!("HTTP {}", self.status));
        }
        if !self.address.is_empty() {
            words.push(self.address.clone());
        }
        let mut lines = vec![words.join("  ")];
        let headers = self.headers.iter();
        lines.extend(headers.map(|(name, value)| format!("{name}: {value}")));
        lines
    }

    /// Reads an entry of a journal.
    fn read(&mut self, cursor: &mut Cursor<'_>, is_exchange: &mut bool) -> Result<()> {
        let mut upstream = String::new();
        let read = cursor.object(|cursor, key| {
            match (key, cursor.peek()) {
                (b"entry", Some(b'{')) => self.read(cursor, is_exchange)?,
                (b"type", Some(b'"')) => {
                    let word = cursor.string()?;
                    *is_exchange = matches!(word, Some(b"exchange" | b"began" | b"held"));
                }
                (b"upstream", Some(b'"')) => upstream = text(cursor)?,
                (b"path", Some(b'"')) => self.address = text(cursor)?,
                (b"status", Some(b'1'..=b'9')) => {
                    let number = String::from_utf8_lossy(cursor.raw()?).parse();
                    self.status = number.unwrap_or_default();
                }
                (b"headers", Some(b'{')) => {
                    let headers = serde_json::from_slice::<Value>(cursor.raw()?);
                    let headers = headers.unwrap_or_default();
                    let sides = ["request", "response"].iter();
                    let pairs = sides.flat_map(|side| shown_headers(&headers[side]));
                    self.headers = pairs.collect();
                }
                _ => {}
            }
            Ok(())
        });
        self.address = format!("{upstream}{}", without_query(&self.address));
        read.map(|_| ())
    }
}

fn text(cursor: &mut Cursor<'_>) -> Result<String> {
    let inside = cursor.string()?.unwrap_or_default();
    Ok(display_text(inside).into_owned())
}

/// An address without what may be a secret in it: the query, and a password before the host.
pub(crate) fn without_query(url: &str) -> String {
    let address = url.split(['?', '#']).next().unwrap_or_default();
    let (scheme, rest) = address
        .split_once("://")
        .map_or(("", address), |(scheme, rest)| (scheme, rest));
    let host_end = rest.find('/').unwrap_or(rest.len());
    let host = rest[..host_end].rfind('@').map_or(0, |at| at + 1);
    let gap = if scheme.is_empty() { "" } else { "://" };
    format!("{scheme}{gap}{}", &rest[host..])
}

/// The headers that are shown among pairs, objects with `name` and `value`, or members with one value or several.
pub(crate) fn shown_headers(headers: &Value) -> Vec<(String, String)> {
    let value_of = |value: &Value| {
        let value = value.as_str().or_else(|| value.get(0)?.as_str());
        value.map(str::to_owned)
    };
    let named = |header: &Value| -> Option<(String, String)> {
        let (name, value) = match header {
            Value::Array(pair) => (pair.first()?, pair.get(1)?),
            header => (header.get("name")?, header.get("value")?),
        };
        Some((name.as_str()?.to_ascii_lowercase(), value_of(value)?))
    };
    let all: Vec<(String, String)> = match headers {
        Value::Array(list) => list.iter().filter_map(named).collect(),
        headers => {
            let members = headers.as_object().into_iter().flatten();
            let members = members
                .filter_map(|(name, value)| Some((name.to_ascii_lowercase(), value_of(value)?)));
            members.collect()
        }
    };
    let shown = SHOWN.iter();
    let shown = shown.filter_map(|name| all.iter().find(|(known, _)| known == name).cloned());
    shown.collect()
}
