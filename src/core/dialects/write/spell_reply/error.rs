//! Errors as providers spell them.

use serde_json::{Value, json};

/// Anthropic has no place for a code of its own; clients pass over what they do not know.
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

/// The shape of Google's APIs (AIP-193). A code of its own stands as the reason in the details.
pub(in crate::dialects) fn google(status: u16, message: &str, code: Option<&str>) -> Value {
    let mut error = json!({"code": status, "message": message, "status": google_status(status)});
    if let Some(code) = code {
        let kind = "type.googleapis.com/google.rpc.ErrorInfo";
        error["details"] = json!([{"@type": kind, "reason": code}]);
    }
    json!({ "error": error })
}

/// The codes of gRPC by their HTTP status (`google.rpc.Code`).
fn google_status(status: u16) -> &'static str {
    match status {
        401 => "UNAUTHENTICATED",
        403 => "PERMISSION_DENIED",
        404 => "NOT_FOUND",
        409 => "ABORTED",
        429 => "RESOURCE_EXHAUSTED",
        499 => "CANCELLED",
        501 => "UNIMPLEMENTED",
        502 | 503 | 529 => "UNAVAILABLE",
        504 => "DEADLINE_EXCEEDED",
        500.. => "INTERNAL",
        _ => "INVALID_ARGUMENT",
    }
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
