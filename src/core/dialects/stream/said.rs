//! What one event of a stream adds to what the model says and thinks, for whoever watches it come.

use super::text;
use crate::session::Dialect;
use serde_json::Value;

/// The words of one event; empty where it has none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Said<'a> {
    /// Text for the reader, refusals included.
    pub text: &'a str,
    /// Reasoning, or the summary of it.
    pub reasoning: &'a str,
}

/// The words that an event adds. Events that repeat what was said (`.done`, the last Response) add none.
pub fn said(dialect: Dialect, event: &Value) -> Said<'_> {
    let mut said = Said::default();
    match dialect {
        Dialect::Responses => match text(event, "type") {
            "response.output_text.delta" | "response.refusal.delta" => {
                said.text = text(event, "delta");
            }
            "response.reasoning_text.delta" | "response.reasoning_summary_text.delta" => {
                said.reasoning = text(event, "delta");
            }
            _ => {}
        },
        Dialect::Anthropic => {
            let delta = match text(event, "type") {
                "content_block_delta" => event.get("delta"),
                "content_block_start" => event.get("content_block"),
                _ => None,
            };
            let Some(delta) = delta else { return said };
            match text(delta, "type") {
                "text" | "text_delta" => said.text = text(delta, "text"),
                "thinking" | "thinking_delta" => said.reasoning = text(delta, "thinking"),
                _ => {}
            }
        }
        Dialect::Chat => {
            let choice = super::chat::first_choice(event);
            let delta = choice.and_then(|one| one.get("delta").or_else(|| one.get("message")));
            let Some(delta) = delta else { return said };
            said.text = first_of(delta, &["content", "refusal"]);
            said.reasoning = first_of(delta, &["reasoning_content", "reasoning"]);
        }
        Dialect::Gemini => {}
    }
    said
}

/// The first of the members that has text.
fn first_of<'a>(value: &'a Value, keys: &[&str]) -> &'a str {
    let mut found = keys.iter().map(|key| text(value, key));
    found.find(|text| !text.is_empty()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn words_are_told_from_reasoning_in_every_dialect() {
        let of = |dialect, event: Value| {
            let said = said(dialect, &event);
            (said.text.to_owned(), said.reasoning.to_owned())
        };
        let pair = |text: &str, reasoning: &str| (text.to_owned(), reasoning.to_owned());
        let delta = json!({"type": "response.output_text.delta", "delta": "a"});
        assert_eq!(of(Dialect::Responses, delta), pair("a", ""));
        let delta = json!({"type": "response.reasoning_summary_text.delta", "delta": "b"});
        assert_eq!(of(Dialect::Responses, delta), pair("", "b"));
        let done = json!({"type": "response.output_text.done", "text": "a"});
        assert_eq!(of(Dialect::Responses, done), pair("", ""));
        let delta = json!({"type": "content_block_delta", "delta": {"type": "thinking_delta", "thinking": "c"}});
        assert_eq!(of(Dialect::Anthropic, delta), pair("", "c"));
        let start =
            json!({"type": "content_block_start", "content_block": {"type": "text", "text": "d"}});
        assert_eq!(of(Dialect::Anthropic, start), pair("d", ""));
        let delta = json!({"choices": [{"delta": {"content": "e", "reasoning_content": "f"}}]});
        assert_eq!(of(Dialect::Chat, delta), pair("e", "f"));
        let usage = json!({"choices": [], "usage": {}});
        assert_eq!(of(Dialect::Chat, usage), pair("", ""));
    }
}
