//! Heads of replies to a client: the upstream's, and those that retake makes.

use super::headers;
use hyper::header::{
    CACHE_CONTROL, CONTENT_LENGTH, CONTENT_TYPE, HeaderName, HeaderValue, RETRY_AFTER,
};
use hyper::http::response::Parts;
use hyper::{HeaderMap, Response, StatusCode};
use retake_core::exchange::machine::Shape;

/// Tells the SDKs of OpenAI and Anthropic that the same request would
/// fail again (openai-python, `_base_client.py`).
pub(super) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The head of an upstream's reply whose body passes as it comes.
pub(super) fn same_head(upstream: &Parts) -> Parts {
    with_length(upstream, upstream.headers.get(CONTENT_LENGTH).cloned())
}

/// The head of an upstream's reply, for a body of this length, or of one that is not known yet.
pub(super) fn reply_head(upstream: &Parts, length: Option<usize>) -> Parts {
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
pub(super) fn stream_head() -> Parts {
    let mut head = parts(StatusCode::OK);
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    head.headers.insert(CONTENT_TYPE, kind);
    let cache = HeaderValue::from_static("no-cache");
    head.headers.insert(CACHE_CONTROL, cache);
    head
}

/// The head of an error that retake made.
pub(super) fn error_head(status: u16) -> Parts {
    let mut head = parts(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY));
    let kind = HeaderValue::from_static("application/json");
    head.headers.insert(CONTENT_TYPE, kind);
    head.headers
        .insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    head
}

/// The head of an error as a provider gives it: nothing keeps the client from trying again, and with 429
/// it is given the time.
pub(super) fn provider_error_head(status: u16) -> Parts {
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
pub(super) fn shape_of(head: &Parts) -> Shape {
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
