//! A provider's error body, taken apart: what it says, and the codes beside it, in whatever shape
//! a server sends it.

use super::stream::{is_exception, typed_event};
use serde_json::Value;

/// What an error body says. Members that it does not have are empty.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Refusal {
    /// The sentence for people.
    pub message: String,
    /// `type` or Gemini's `status`: `invalid_request_error`, `overloaded_error`.
    pub kind: String,
    /// `code`, or Anthropic's `details.error_code`: `rate_limit_exceeded`.
    pub code: String,
    /// The member of the request that is meant: `input[4]`.
    pub param: String,
}

impl Refusal {
    /// Reads the body of an error reply, or what a stream reported in its middle. `None` where nothing in it
    /// tells of an error.
    ///
    /// Shapes: `{"error": {...}}` (OpenAI, Anthropic, Gemini; Gemini wraps it in a list), `{"error":
    /// "..."}` (Ollama), `{"throttlingException":
    /// {...}}` (an event of Bedrock), the members at the top (older vLLM), `{"detail": ...}` (FastAPI), and the
    /// error alone, as an event carries it.
    pub fn of(body: &Value) -> Option<Self> {
        let body = match body {
            Value::Array(list) => list.first()?,
            body => body,
        };
        if let Value::String(message) = body {
            return Some(Self {
                message: message.clone(),
                ..Self::default()
            });
        }
        let exception = typed_event(body).filter(|(name, _)| is_exception(name));
        let error = body.get("error").filter(|error| !error.is_null());
        let error = error.or(exception.map(|(_, error)| error));
        let inner = error.unwrap_or(body);
        if let Value::String(message) = inner {
            return Some(Self {
                message: message.clone(),
                ..Self::default()
            });
        }
        let member = |keys: &[&str]| {
            let mut found = keys.iter().filter_map(|key| words(inner.get(*key)?));
            found.next().unwrap_or_default()
        };
        let details = inner
            .get("details")
            .and_then(|details| words(details.get("error_code")?));
        let refusal = Self {
            message: member(&["message", "detail", "error_description"]),
            kind: match exception {
                Some((name, _)) => name.to_owned(),
                None => member(&["type", "status", "__type"]),
            },
            code: details.unwrap_or_else(|| member(&["code"])),
            param: member(&["param"]),
        };
        (!refusal.message.is_empty() || error.is_some()).then_some(refusal)
    }

    /// Whether the same request may be answered a moment later, by the words of an error in the middle of a
    /// stream; of an unknown error nobody can say, and asking again does no harm where nothing was executed.
    pub fn may_pass(&self) -> bool {
        !LASTING
            .iter()
            .any(|word| self.kind == *word || self.code == *word)
    }

    /// Whether waiting does not help although the status says so: a quota that is used up is a
    /// 429 of OpenAI too.
    pub fn is_used_up(&self) -> bool {
        const WORDS: &[&str] = &["insufficient_quota", "billing_not_active", "billing_error"];
        WORDS
            .iter()
            .any(|word| self.kind == *word || self.code == *word)
    }

    /// One line: the sentence, and the codes that help to look it up.
    pub fn line(&self) -> String {
        let mut line = self.message.trim().to_owned();
        if line.is_empty() {
            line.push_str("an error without a message");
        }
        let codes = [
            ("type", &self.kind),
            ("code", &self.code),
            ("param", &self.param),
        ];
        let is_new = |name: &str, value: &str| name == "type" || value != self.kind;
        let codes = codes.iter();
        let codes = codes.filter(|(name, value)| !value.is_empty() && is_new(name, value));
        let codes = codes
            .map(|(name, value)| format!("{name}: {value}"))
            .collect::<Vec<_>>();
        if !codes.is_empty() {
            line.push_str(&format!(" ({})", codes.join(", ")));
        }
        line
    }
}

/// Errors of the request itself, of the key and of the account (Anthropic and OpenAI error references): the
/// same question fails again.
const LASTING: &[&str] = &[
    "authentication_error",
    "billing_error",
    "billing_not_active",
    "content_filter",
    "context_length_exceeded",
    "insufficient_quota",
    "invalid_api_key",
    "invalid_prompt",
    "invalid_request_error",
    "not_found_error",
    "permission_error",
    "request_too_large",
];

/// A member as text; what is not text as JSON, and nothing for null.
fn words(value: &Value) -> Option<String> {
    match value {
        Value::Null => None,
        Value::String(text) if text.is_empty() => None,
        Value::String(text) => Some(text.clone()),
        other => Some(other.to_string()),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::wire::provider_errors::decode;
    use serde_json::json;

    #[test]
    fn every_shape_of_an_error_body_is_read() {
        let line = |body: Value| Refusal::of(&body).map(|refusal| refusal.line());
        let cases = [
            (
                json!({"error": {"message": "No.", "type": "invalid_request_error", "param": "input[4]", "code": null}}),
                "No. (type: invalid_request_error, param: input[4])",
            ),
            (
                json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}, "request_id": "req_1"}),
                "Overloaded (type: overloaded_error)",
            ),
            (
                json!([{"error": {"code": 400, "message": "Bad.", "status": "INVALID_ARGUMENT"}}]),
                "Bad. (type: INVALID_ARGUMENT, code: 400)",
            ),
            (json!({"error": "model not found"}), "model not found"),
            (
                json!({"object": "error", "message": "Too long", "type": "BadRequestError", "param": null, "code": 400}),
                "Too long (type: BadRequestError, code: 400)",
            ),
            (json!({"detail": "Not Found"}), "Not Found"),
            (
                json!({"error": {"message": "No.", "type": "not_found", "code": "not_found"}}),
                "No. (type: not_found)",
            ),
            (
                json!({"error": {"type": "x", "details": {"error_code": "tool_name_conflict"}}}),
                "an error without a message (type: x, code: tool_name_conflict)",
            ),
            (json!({"error": {}}), "an error without a message"),
        ];
        for (body, expected) in cases {
            assert_eq!(line(body.clone()).as_deref(), Some(expected), "{body}");
        }
        for body in [
            json!({}),
            json!({"choices": []}),
            json!([]),
            json!(5),
            json!({"error": null}),
        ] {
            assert_eq!(line(body.clone()), None, "{body}");
        }
    }

    #[test]
    fn the_line_still_names_the_guilty_item() {
        let body = json!({"error": {"message": "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'.", "type": "invalid_request_error", "param": "messages.[3].role", "code": null}});
        let decoded = decode(&Refusal::of(&body).unwrap().line());
        assert_eq!(decoded[0].place.as_ref().unwrap().indices, [3]);
        assert!(decoded[0].rule.is_some());
    }
}
