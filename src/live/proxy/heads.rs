//! Heads of replies to a client: the upstream's, and those that retake makes.

use super::body::{self, Body};
use super::headers;
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
};
use hyper::http::response::Parts;
use hyper::{HeaderMap, Response, StatusCode};
use retake_core::exchange::machine::Shape;
use retake_core::session::Dialect;

/// Tells the SDKs of OpenAI and Anthropic that the same request would
/// fail again (openai-python, `_base_client.py`).
pub(crate) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The head of an upstream's reply whose body passes as it comes.
pub(crate) fn same_head(upstream: &Parts) -> Parts {
    with_length(upstream, upstream.headers.get(CONTENT_LENGTH).cloned())
}

/// The head of an upstream's reply, for a body of this length, or of one that is not known yet.
pub(crate) fn reply_head(upstream: &Parts, length: Option<usize>) -> Parts {
    with_length(upstream, length.map(HeaderValue::from))
}

fn with_length(upstream: &Parts, length: Option<HeaderValue>) -> Parts {
    let mut head = parts(upstream.status);
    head.headers = headers::end_to_end(&upstream.headers);
    if let Some(length) = length {
        head.headers.insert(CONTENT_LENGTH, length);
    }
    head
}

/// The head of a stream that begins before the upstream is called.
pub(crate) fn stream_head() -> Parts {
    let mut head = parts(StatusCode::OK);
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    head.headers.insert(CONTENT_TYPE, kind);
    let cache = HeaderValue::from_static("no-cache");
    head.headers.insert(CACHE_CONTROL, cache);
    head
}

/// The head of an error that retake made.
pub(crate) fn error_head(status: u16) -> Parts {
    let mut head = parts(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY));
    let kind = HeaderValue::from_static("application/json");
    head.headers.insert(CONTENT_TYPE, kind);
    head.headers
        .insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    head
}

/// The head of an error as a provider gives it: nothing keeps the client from trying again, and with 429
/// it is given the time.
pub(crate) fn provider_error_head(status: u16) -> Parts {
    let mut head = error_head(status);
    head.headers.remove(SHOULD_RETRY);
    if head.status == StatusCode::TOO_MANY_REQUESTS {
        head.headers
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    head
}

fn parts(status: StatusCode) -> Parts {
    let mut reply = Response::new(());
    *reply.status_mut() = status;
    reply.into_parts().0
}

/// What the body of a reply is, by its head.
pub(crate) fn shape_of(head: &Parts) -> Shape {
    if !headers::content_encoding(&head.headers).is_empty() {
        return Shape::Opaque;
    }
    let kind = word(&head.headers, "content-type").unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => Shape::Stream,
        "application/json" => Shape::Whole,
        _ => Shape::Opaque,
    }
}

fn word(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value.trim().to_ascii_lowercase())
}

/// Most characters of an error text.
const TEXT: usize = 500;

/// An error in the dialect of a path, or in OpenAI's where none is spoken. Control characters of the text are
/// escaped, and it is cut at 500 characters.
pub fn error(dialect: Option<Dialect>, status: StatusCode, text: &str) -> Response<Body> {
    let dialect = dialect.unwrap_or_default();
    let spelled = dialect
        .codec()
        .error(status.as_u16(), &plain(text), None, "retake")
        .to_string();
    Response::from_parts(error_head(status.as_u16()), body::whole(spelled))
}

fn plain(text: &str) -> String {
    let mut plain = String::from("retake: ");
    for char in text.chars().take(TEXT) {
        match char.is_control() {
            true => plain.extend(char.escape_default()),
            false => plain.push(char),
        }
    }
    match plain.char_indices().nth(TEXT - 1) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn c13_errors_are_short_plain_and_in_the_dialect_of_the_path() {
        let long = format!("\u{1b}[2J{}", "x".repeat(2000));
        for (dialect, pointer) in [
            (Some(Dialect::Anthropic), "/error/message"),
            (Some(Dialect::Responses), "/error/message"),
            (None, "/error/message"),
        ] {
            let reply = error(dialect, StatusCode::BAD_GATEWAY, &long);
            assert_eq!(reply.headers()["x-should-retry"], "false");
            let bytes = reply.into_body().collect().await.unwrap().to_bytes();
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let text = value.pointer(pointer).unwrap().as_str().unwrap();
            assert!(text.starts_with("retake: \\u{1b}[2Jxxx"), "{text}");
            assert!(text.chars().count() <= 500 && !text.contains('\u{1b}'));
            assert_eq!(
                dialect == Some(Dialect::Anthropic),
                value["type"] == "error"
            );
        }
    }
}
