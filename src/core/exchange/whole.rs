//! Whole replies: does one hold calls, or end before it was all said?

use crate::session::Dialect;
use crate::wire::write::calls_of;
use crate::wire::{stop_of, stops_early};
use memchr::memmem;

/// Whether a whole reply may hold calls that its client answers, so that it is to be checked before it passes.
/// What is no reply of the dialect holds none.
pub fn may_hold_calls(dialect: Dialect, reply: &[u8]) -> bool {
    let marks = dialect.facts().call_marks;
    // Most replies hold no calls, and this is the speed of memory.
    let may_hold = |mark: &&str| memmem::find(reply, mark.as_bytes()).is_some();
    if !marks.iter().any(may_hold) {
        return false;
    }
    let text = String::from_utf8_lossy(reply);
    let text = text.trim_start_matches('\u{feff}');
    calls_of(dialect, text).is_ok_and(|calls| !calls.is_empty())
}

/// Whether a whole reply was cut off, refused or withheld.
pub fn ends_early(dialect: Dialect, reply: &[u8]) -> bool {
    let marks = dialect.facts().early_end_marks;
    let may_end = |mark: &&str| memmem::find(reply, mark.as_bytes()).is_some();
    if !marks.iter().any(may_end) {
        return false;
    }
    let text = String::from_utf8_lossy(reply);
    let text = text.trim_start_matches('\u{feff}');
    stop_of(text).is_some_and(|word| stops_early(&word)) || holds_refusal(dialect, text)
}

/// Whether the model says in its own words that it refuses, which has a place of its
/// own (OpenAI API reference).
fn holds_refusal(dialect: Dialect, reply: &str) -> bool {
    let reply = serde_json::from_str::<serde_json::Value>(reply).unwrap_or_default();
    dialect.codec().holds_refusal(&reply)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_reply_that_was_cut_off_refused_or_withheld_is_known() {
        for (dialect, reply, expected) in [
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":"a"},"finish_reason":"length"}]}"#,
                true,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":"\"length\"","refusal":null},"finish_reason":"stop"}]}"#,
                false,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"refusal":"No."},"finish_reason":"stop"}]}"#,
                true,
            ),
            (
                Dialect::Anthropic,
                r#"{"content":[],"stop_reason":"refusal"}"#,
                true,
            ),
            (
                Dialect::Anthropic,
                r#"{"content":[{"type":"text","text":"\"refusal\""}],"stop_reason":"end_turn"}"#,
                false,
            ),
            (
                Dialect::Responses,
                r#"{"incomplete_details":{"reason":"content_filter"},"output":[]}"#,
                true,
            ),
            (
                Dialect::Responses,
                r#"{"incomplete_details":null,"output":[]}"#,
                false,
            ),
            (
                Dialect::Responses,
                r#"{"output":[{"type":"message","content":[{"type":"refusal","refusal":"No."}]}]}"#,
                true,
            ),
        ] {
            assert_eq!(ends_early(dialect, reply.as_bytes()), expected, "{reply}");
        }
    }

    #[test]
    fn calls_are_found_and_words_about_them_are_not() {
        for (dialect, reply, expected) in [
            (
                Dialect::Responses,
                r#"{"output":[{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}]}"#,
                true,
            ),
            (
                Dialect::Responses,
                r#"{"output":[{"type":"web_search_call","id":"ws"},{"type":"message","content":[]}]}"#,
                false,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":null,"tool_calls":[{"id":"c","function":{"name":"f","arguments":"{}"}}]}}]}"#,
                true,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":"hi","tool_calls":[],"function_call":null}}]}"#,
                false,
            ),
            (
                Dialect::Chat,
                r#"{"choices":[{"message":{"content":null,"function_call":{"name":"f","arguments":"{}"}}}]}"#,
                true,
            ),
            (
                Dialect::Anthropic,
                r#"{"content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#,
                true,
            ),
            (
                Dialect::Anthropic,
                r#"{"content":[{"type":"text","text":"\"tool_use\""},{"type":"server_tool_use"}]}"#,
                false,
            ),
            (Dialect::Anthropic, "<html>\"tool_use\"", false),
        ] {
            assert_eq!(
                may_hold_calls(dialect, reply.as_bytes()),
                expected,
                "{reply}"
            );
        }
    }
}
