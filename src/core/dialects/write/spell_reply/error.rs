//! Errors as providers spell them.

use super::NewEvent;
use crate::session::Dialect;
use serde_json::{Value, json};

/// The body of an error reply with this HTTP status. `tag` makes the id of the request, where
/// the dialect says one.
pub fn spell_error(dialect: Dialect, status: u16, message: &str, tag: &str) -> String {
    let error = dialect.codec().error(status, message, None, tag);
    error.to_string()
}

/// The same with a code that programs know it by. Anthropic has no place for one of its own; clients pass over
/// what they do not know.
pub fn spell_error_with_code(
    dialect: Dialect,
    status: u16,
    message: &str,
    (code, tag): (&str, &str),
) -> String {
    let error = dialect.codec().error(status, message, Some(code), tag);
    error.to_string()
}

/// A failure that a provider reports in the middle of a stream, where the status was sent long ago.
pub fn spell_failure(dialect: Dialect, message: &str) -> NewEvent {
    dialect.codec().failure(message)
}

pub(in crate::dialects) fn anthropic(
    status: u16,
    message: &str,
    code: Option<&str>,
    tag: &str,
) -> Value {
    let mut error = json!({
        "type": "error",
        "error": {"type": anthropic_type(status), "message": message},
        "request_id": format!("req_{tag}"),
    });
    if let Some(code) = code {
        error["error"]["code"] = code.into();
    }
    error
}

pub(in crate::dialects) fn openai(status: u16, message: &str, code: Option<&str>) -> Value {
    let usual = (status == 429).then_some("rate_limit_exceeded");
    json!({"error": {
        "message": message,
        "type": openai_type(status),
        "param": null,
        "code": code.or(usual),
    }})
}

/// Anthropic API reference, errors.
fn anthropic_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        402 => "billing_error",
        403 => "permission_error",
        404 => "not_found_error",
        413 => "request_too_large",
        429 => "rate_limit_error",
        504 => "timeout_error",
        529 => "overloaded_error",
        500.. => "api_error",
        _ => "invalid_request_error",
    }
}

/// OpenAI API reference, error codes.
fn openai_type(status: u16) -> &'static str {
    match status {
        401 => "authentication_error",
        429 => "rate_limit_error",
        500.. => "server_error",
        _ => "invalid_request_error",
    }
}
