//! What a reply cost: the tokens of its `usage`, in the spelling of each provider.

use crate::json::Cursor;
use crate::session::ledger::Usage;
use serde_json::Value;

/// The tokens that a whole reply reports; nothing where it reports none.
///
/// Anthropic counts tokens read from and written to its cache beside `input_tokens`, the others within; here
/// they are part of what was sent. Gemini counts thoughts beside `candidatesTokenCount`, and what its own tools
/// gave beside `promptTokenCount`.
pub fn usage_of(reply: &str) -> Usage {
    let usage = usage_member(reply).unwrap_or_default();
    let count = |keys: &[&str]| {
        let mut found = keys.iter().filter_map(|key| usage.get(*key)?.as_u64());
        found.next().unwrap_or(0)
    };
    let sum = |keys: &[&str]| {
        let counts = keys.iter().map(|key| count(&[*key]));
        counts.fold(0, u64::saturating_add)
    };
    let beside = sum(&[
        "cache_read_input_tokens",
        "cache_creation_input_tokens",
        "toolUsePromptTokenCount",
    ]);
    let input = count(&["input_tokens", "prompt_tokens", "promptTokenCount"]);
    let output = count(&["output_tokens", "completion_tokens", "candidatesTokenCount"]);
    Usage {
        input: input.saturating_add(beside),
        output: output.saturating_add(sum(&["thoughtsTokenCount"])),
    }
}

/// The value of `usage` (`usageMetadata` of Gemini); `None` where there is none, or none that can be read.
/// Usage is no reason to refuse a reply.
fn usage_member(reply: &str) -> Option<Value> {
    let mut found = None;
    Cursor::new(reply.as_bytes())
        .object(|cursor, key| {
            if matches!(key, b"usage" | b"usageMetadata") {
                found = Some(cursor.skip()?);
            }
            Ok(())
        })
        .ok()?;
    serde_json::from_str(reply.get(found?)?).ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_dialect_counts_in_its_own_words() {
        let of = |usage: Value| {
            let usage = usage_of(&json!({ "usage": usage }).to_string());
            (usage.input, usage.output)
        };
        let responses = json!({"input_tokens": 10, "input_tokens_details": {"cached_tokens": 4}, "output_tokens": 3, "total_tokens": 13});
        assert_eq!(of(responses), (10, 3));
        let chat = json!({"prompt_tokens": 7, "completion_tokens": 2, "total_tokens": 9});
        assert_eq!(of(chat), (7, 2));
        let anthropic = json!({"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 20, "output_tokens": 1});
        assert_eq!(of(anthropic), (125, 1));
        let gemini = json!({"promptTokenCount": 5, "candidatesTokenCount": 2, "thoughtsTokenCount": 3, "totalTokenCount": 10});
        assert_eq!(of(gemini), (5, 5));
    }

    #[test]
    fn odd_or_absent_numbers_count_nothing() {
        for reply in [
            "{}",
            r#"{"usage":null}"#,
            r#"{"usage":{"prompt_tokens":"7","completion_tokens":-1}}"#,
            "[]",
            r#"{"usage":"#,
        ] {
            assert_eq!(usage_of(reply), Usage::default(), "{reply}");
        }
        let huge = json!({"usage": {"input_tokens": u64::MAX, "cache_read_input_tokens": 1}});
        assert_eq!(usage_of(&huge.to_string()).input, u64::MAX);
        let text = r#"{"text":"\ud83d","usage":{"input_tokens":1}}"#;
        assert_eq!(usage_of(text).input, 1);
    }
}
