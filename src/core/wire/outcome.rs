//! Why a whole reply ended, in the provider's own word, and the tokens that it counts.
//!
//! Replies are mostly looked at by those who know no dialect: the names of all dialects are tried, each by its
//! [`Facts`](super::Facts).

use crate::json::{Cursor, display_text};
use crate::session::Dialect;
use crate::session::ledger::Usage;
use serde_json::Value;

/// Longer words are none of a provider's, in bytes.
const LONGEST: usize = 64;

/// Why a whole reply ended; `None` where it does not say. A reply of Responses says so only where it is not
/// complete.
pub fn stop_of(reply: &str) -> Option<String> {
    stop_at(reply.as_bytes(), &Dialect::ALL)
}

/// The same of the reply of one dialect at the start of a text.
pub(crate) fn stop_in(dialect: Dialect, bytes: &[u8]) -> Option<String> {
    stop_at(bytes, &[dialect])
}

fn stop_at(bytes: &[u8], dialects: &[Dialect]) -> Option<String> {
    let mut paths = dialects
        .iter()
        .flat_map(|dialect| dialect.facts().stop_paths);
    let stop = paths.find_map(|path| at_path(bytes, path))?;
    (stop.len() <= LONGEST).then_some(stop)
}

/// The text at a path; `None` where there is none, or an empty one. Of a key that occurs twice the first one counts.
fn at_path(bytes: &[u8], path: &[&str]) -> Option<String> {
    let mut start = 0;
    for step in path {
        let (mut cursor, mut found) = (Cursor::at(bytes, start), None);
        let walked = match *step {
            "0" => cursor.array(|cursor| {
                cursor.peek();
                found.get_or_insert(cursor.position());
                Ok(())
            }),
            wanted => cursor.object(|cursor, key| {
                cursor.peek();
                if key == wanted.as_bytes() {
                    found.get_or_insert(cursor.position());
                }
                Ok(())
            }),
        };
        // What cannot be read says nothing.
        start = walked.ok().and(found)?;
    }
    let inside = Cursor::at(bytes, start).string().ok()??;
    Some(display_text(inside).into_owned()).filter(|word| !word.is_empty())
}

/// Whether a provider's word says that a reply was cut off, refused or withheld, so that it is not what the
/// model meant to say.
pub fn stops_early(word: &str) -> bool {
    let mut all = Dialect::ALL.into_iter();
    all.any(|dialect| dialect.facts().early_stops.contains(&word))
}

/// The tokens that a whole reply counts; nothing where it counts none.
///
/// Anthropic counts tokens read from and written to its cache beside `input_tokens`, the others within; here
/// they are part of what was sent. Gemini counts thoughts beside `candidatesTokenCount`, and what its own tools
/// gave beside `promptTokenCount`.
pub fn usage_of(reply: &str) -> Usage {
    let usage = usage_member(reply).unwrap_or_default();
    let sum = |keys: &[&str]| {
        let counts = keys.iter().filter_map(|key| usage.get(*key)?.as_u64());
        counts.fold(0, u64::saturating_add)
    };
    // The names of a dialect that is not spoken are not there, or count a part of it.
    let most = |keys: fn(Dialect) -> &'static [&'static str]| {
        let sums = Dialect::ALL.into_iter().map(|dialect| sum(keys(dialect)));
        sums.max().unwrap_or_default()
    };
    Usage {
        input: most(|dialect| dialect.facts().input_counts),
        output: most(|dialect| dialect.facts().output_counts),
    }
}

/// The object that counts the tokens; `None` where there is none, or none that can be read. Usage is no reason to
/// refuse a reply.
fn usage_member(reply: &str) -> Option<Value> {
    let mut found = None;
    Cursor::new(reply.as_bytes())
        .object(|cursor, key| {
            let mut all = Dialect::ALL.into_iter();
            if all.any(|dialect| dialect.facts().usage_key.as_bytes() == key) {
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
    fn every_dialect_says_in_its_own_place_why_a_reply_ended() {
        for (reply, stop) in [
            (
                r#"{"choices":[{"index":0,"message":{},"finish_reason":"length"},{"finish_reason":"stop"}]}"#,
                Some("length"),
            ),
            (
                r#"{"type":"message","content":[],"stop_reason":"max_tokens"}"#,
                Some("max_tokens"),
            ),
            (
                r#"{"status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}"#,
                Some("max_output_tokens"),
            ),
            (
                r#"{"status":"completed","incomplete_details":null,"output":[]}"#,
                None,
            ),
            (r#"{"choices":[{"message":{},"finish_reason":null}]}"#, None),
            (r#"{"stop_reason":7}"#, None),
            ("[]", None),
            (
                r#"{"candidates":[{"content":{},"finishReason":"MAX_TOKENS"}]}"#,
                Some("MAX_TOKENS"),
            ),
            (
                r#"{"promptFeedback":{"blockReason":"SAFETY"}}"#,
                Some("SAFETY"),
            ),
        ] {
            assert_eq!(stop_of(reply).as_deref(), stop, "{reply}");
        }
        let long = format!(r#"{{"stop_reason":"{}"}}"#, "x".repeat(LONGEST + 1));
        assert_eq!(stop_of(&long), None);
    }

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
