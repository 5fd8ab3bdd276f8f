//! Flows of mitmproxy: tagged netstrings, one dictionary a flow.
//!
//! A value is its length in decimal, a colon, that many bytes, and a letter for its type (mitmproxy,
//! `io/tnetstring.py`). A body may be packed as it was on the wire.

use super::http_exchanges::{Exchanges, HttpExchange, body_of_bytes};
use super::{Contents, Format, Reading};
use crate::session::{ProblemKind, Source, SourceResult};
use serde_json::{Map, Value, json};
use std::sync::Arc;

/// The row of this format. The dialect is that of the recorded provider.
pub(super) const FORMAT: Format = Format {
    id: "mitmproxy",
    title: "mitmproxy flows",
    sniff: |sample| {
        let digits = sample
            .bytes
            .iter()
            .take_while(|byte| byte.is_ascii_digit())
            .count();
        let is_string = (1..=12).contains(&digits) && sample.bytes.get(digits) == Some(&b':');
        let is_flow = is_string && sample.mentions("7:request") && sample.mentions("4:type");
        if is_flow { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut exchanges = Exchanges::default();
    let (mut rest, mut number) = (bytes, 0);
    while !rest.trim_ascii().is_empty() {
        let at = (bytes.len() - rest.len()) as u64;
        let Some((flow, after)) = value(rest, 0) else {
            exchanges.report(at, ProblemKind::Torn);
            break;
        };
        (rest, number) = (after, number + 1);
        let (request, response) = (&flow["request"], &flow["response"]);
        let milliseconds = |seconds: &Value| Some((seconds.as_f64()? * 1000.0) as u64);
        let sent = milliseconds(&request["timestamp_start"]);
        let ended = milliseconds(&response["timestamp_end"]);
        // A connection that broke has its reason instead of a reply.
        let broken = match &flow["error"]["msg"] {
            Value::String(reason) => json!({ "error": reason }),
            _ => Value::Null,
        };
        let body = match response.is_object() {
            true => &response["content"],
            false => &broken,
        };
        let word = |key: &str| request[key].as_str().unwrap_or_default();
        let url = format!("{}://{}{}", word("scheme"), word("host"), word("path"));
        exchanges.push(&HttpExchange {
            url: &url,
            request: (&request["content"]).into(),
            response: body.into(),
            status: response["status_code"].as_u64().unwrap_or_default(),
            headers: [&request["headers"], &response["headers"]],
            sent: json!(sent),
            took: ended
                .zip(sent)
                .and_then(|(ended, sent)| ended.checked_sub(sent)),
            place: (at, number),
            continues: None,
        });
    }
    exchanges.finish(FORMAT.id)
}

/// How deep a flow may be nested.
const DEPTH: usize = 32;

/// The value at the start of `bytes`, and what follows it.
fn value(bytes: &[u8], depth: usize) -> Option<(Value, &[u8])> {
    let colon = memchr::memchr(b':', &bytes[..bytes.len().min(13)])?;
    let length: usize = text(&bytes[..colon])?.parse().ok()?;
    let (inside, after) = bytes[colon + 1..].split_at_checked(length)?;
    let (kind, after) = after.split_first()?;
    let found = match kind {
        b',' | b';' => body_of_bytes(inside),
        b'#' => json!(text(inside)?.parse::<i64>().ok()),
        b'^' => json!(text(inside)?.parse::<f64>().ok()),
        b'!' => json!(inside == b"true"),
        b'~' => Value::Null,
        b']' => Value::Array(values(inside, depth)?),
        b'}' => {
            let mut members = Map::new();
            let mut all = values(inside, depth)?.into_iter();
            while let (Some(key), Some(value)) = (all.next(), all.next()) {
                members.insert(key.as_str()?.to_owned(), value);
            }
            Value::Object(members)
        }
        _ => return None,
    };
    Some((found, after))
}

fn values(mut bytes: &[u8], depth: usize) -> Option<Vec<Value>> {
    let mut found = Vec::new();
    while depth < DEPTH && !bytes.is_empty() {
        let (one, after) = value(bytes, depth + 1)?;
        found.push(one);
        bytes = after;
    }
    Some(found)
}

fn text(bytes: &[u8]) -> Option<&str> {
    std::str::from_utf8(bytes).ok()
}
