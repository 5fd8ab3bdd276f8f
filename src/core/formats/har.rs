//! HTTP archives (HAR 1.2), as browsers, proxies and Polly.JS write them.

use super::http_exchanges::{ExchangeBody, Exchanges, HttpExchange};
use super::messages::{Place, document, placed};
use super::{Contents, Format, Reading};
use crate::json::{Cursor, Result, display_text};
use crate::session::{Source, SourceResult, Span};
use serde_json::Value;
use std::borrow::Cow;
use std::sync::Arc;

/// The row of this format. The dialect is that of the recorded provider.
pub(super) const FORMAT: Format = Format {
    id: "har",
    title: "HTTP archives (HAR)",
    sniff: |sample| match sample.any(|document| document.object("log").has("entries")) {
        true => 97,
        false => 0,
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut exchanges = Exchanges::default();
    if let Some(walked) = walk(bytes) {
        return walked.finish(FORMAT.id);
    }
    let archive = document(bytes, |at, kind| exchanges.report(at, kind));
    let log = Place::whole(bytes).member("log");
    for (entry, place) in placed(&archive["log"], log, "entries") {
        let (request, response) = (&entry["request"], &entry["response"]);
        exchanges.push(&HttpExchange {
            url: request["url"].as_str().unwrap_or_default(),
            request: (&request["postData"]["text"]).into(),
            response: (&response["content"]).into(),
            status: response["status"].as_u64().unwrap_or_default(),
            headers: [&request["headers"], &response["headers"]],
            sent: entry["startedDateTime"].clone(),
            took: entry["time"].as_f64().map(|time| time as u64),
            place: place.pair(),
            continues: None,
        });
    }
    exchanges.finish(FORMAT.id)
}

/// Reads a whole archive entry by entry, without the bodies that a request repeats; `None` for a broken one.
fn walk(bytes: &[u8]) -> Option<Exchanges> {
    let mut exchanges = Exchanges::default();
    let (mut line, mut counted) = (1, 0);
    let mut cursor = Cursor::new(bytes);
    let walked = cursor.object(|cursor, key| {
        if key != b"log" {
            return Ok(());
        }
        cursor.object(|cursor, key| {
            if key != b"entries" {
                return Ok(());
            }
            cursor.array(|cursor| {
                let at = cursor.position();
                line += memchr::memchr_iter(b'\n', &bytes[counted..at]).count() as u64;
                counted = at;
                push_entry(cursor, (at as u64, line), &mut exchanges)
            })?;
            Ok(())
        })?;
        Ok(())
    });
    let is_all = cursor.peek().is_none();
    (walked.is_ok() && is_all).then_some(exchanges)
}

fn push_entry(cursor: &mut Cursor<'_>, place: (u64, u64), exchanges: &mut Exchanges) -> Result<()> {
    let (mut sent, mut took, mut status) = (Value::Null, Value::Null, Value::Null);
    let (mut url, mut headers) = (None, [Value::Null, Value::Null]);
    let [mut request, mut response] = [&Value::Null, &Value::Null].map(ExchangeBody::from);
    cursor.object(|cursor, key| {
        match key {
            b"startedDateTime" => sent = value(cursor)?,
            b"time" => took = value(cursor)?,
            b"request" => {
                cursor.object(|cursor, key| {
                    match key {
                        b"url" => url = cursor.string()?,
                        b"headers" => headers[0] = value(cursor)?,
                        b"postData" => request = body(cursor)?,
                        _ => {}
                    }
                    Ok(())
                })?;
            }
            b"response" => {
                cursor.object(|cursor, key| {
                    match key {
                        b"status" => status = value(cursor)?,
                        b"headers" => headers[1] = value(cursor)?,
                        b"content" => response = body(cursor)?,
                        _ => {}
                    }
                    Ok(())
                })?;
            }
            _ => {}
        }
        Ok(())
    })?;
    exchanges.push(&HttpExchange {
        url: &display_text(url.unwrap_or_default()),
        request,
        response,
        status: status.as_u64().unwrap_or_default(),
        headers: [&headers[0], &headers[1]],
        sent,
        took: took.as_f64().map(|time| time as u64),
        place,
        continues: None,
    });
    Ok(())
}

/// The body that an object holds: its `text`, unless that is packed.
fn body<'a>(cursor: &mut Cursor<'a>) -> Result<ExchangeBody<'a>> {
    let (text, start) = (cursor.bytes(), cursor.clone());
    let (mut inside, mut is_packed) = (None, false);
    cursor.object(|cursor, key| {
        match (key, cursor.peek()) {
            (b"text", Some(b'"')) => {
                let quoted = cursor.skip()?;
                inside = Some(Span::within(0, quoted.start + 1..quoted.end - 1));
            }
            (b"encoding", _) => is_packed = true,
            _ => {}
        }
        Ok(())
    })?;
    match inside.filter(|_| !is_packed) {
        Some(at) => Ok(ExchangeBody::Quoted { text, at }),
        None => value(&mut { start }).map(|value| ExchangeBody::Parsed(Cow::Owned(value))),
    }
}

/// The next value; null where it is broken.
fn value(cursor: &mut Cursor<'_>) -> Result<Value> {
    Ok(serde_json::from_slice(cursor.raw()?).unwrap_or_default())
}
