//! Whole replies: does one hold calls?

use crate::dialects::write::calls_of;
use crate::session::Dialect;
use memchr::memmem;

/// Whether a whole reply may hold calls that its client answers, so that it is to be checked before it passes. What is no reply of the
/// dialect holds none.
pub fn may_hold_calls(dialect: Dialect, reply: &[u8]) -> bool {
    let marks: &[&str] = match dialect {
        Dialect::Responses => &["_call\"", "\"program\""],
        Dialect::Chat => &["\"tool_calls\"", "\"function_call\""],
        Dialect::Anthropic => &["\"tool_use\""],
        Dialect::Gemini => return false,
    };
    // Most replies hold no calls, and this is the speed of memory.
    let may_hold = |mark: &&str| memmem::find(reply, mark.as_bytes()).is_some();
    if !marks.iter().any(may_hold) {
        return false;
    }
    let text = String::from_utf8_lossy(reply);
    let text = text.trim_start_matches('\u{feff}');
    calls_of(dialect, text).is_ok_and(|calls| !calls.is_empty())
}

#[cfg(test)]
mod tests {
    use super::*;

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
