//! Why a reply ended, in the provider's own word.

use serde::Deserialize;

/// Longer words are none of a provider's, in bytes.
const LONGEST: usize = 64;

/// What a whole reply says of its end; members of the other dialects are absent.
#[derive(Deserialize)]
struct Reply {
    #[serde(default)]
    stop_reason: Option<String>,
    /// Chat: of the first choice, `length`, `content_filter`.
    #[serde(default)]
    choices: Vec<Choice>,
    /// Responses: `max_output_tokens`, `content_filter`, where the status is `incomplete`.
    #[serde(default)]
    incomplete_details: Option<Incomplete>,
    /// Gemini: `finishReason` of the first candidate; `blockReason` where the prompt got no reply.
    #[serde(default)]
    candidates: Vec<Candidate>,
    #[serde(default, rename = "promptFeedback")]
    prompt_feedback: Option<PromptFeedback>,
}

#[derive(Deserialize)]
struct Choice {
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct Candidate {
    #[serde(default)]
    finish_reason: Option<String>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct PromptFeedback {
    #[serde(default)]
    block_reason: Option<String>,
}

#[derive(Deserialize)]
struct Incomplete {
    #[serde(default)]
    reason: Option<String>,
}

/// Why a whole reply ended; `None` where it does not say. A reply of Responses says so only where
/// it is not complete.
pub fn stop_of(reply: &str) -> Option<String> {
    let reply: Reply = serde_json::from_str(reply).ok()?;
    let of_choice = reply.choices.into_iter().next();
    let of_choice = of_choice.and_then(|choice| choice.finish_reason);
    let of_response = reply.incomplete_details.and_then(|details| details.reason);
    let of_candidate = reply.candidates.into_iter().next();
    let of_candidate = of_candidate.and_then(|candidate| candidate.finish_reason);
    let of_prompt = reply.prompt_feedback.and_then(|told| told.block_reason);
    let of_gemini = of_candidate.or(of_prompt);
    let stop = reply
        .stop_reason
        .or(of_choice)
        .or(of_response)
        .or(of_gemini)?;
    (!stop.is_empty() && stop.len() <= LONGEST).then_some(stop)
}

/// Whether a provider's word says that a reply was cut off, refused or withheld, so that it is not what the
/// model meant to say.
pub fn stops_early(word: &str) -> bool {
    EARLY.contains(&word)
}

/// Chat and Responses; Anthropic; Gemini (`FinishReason`, `BlockReason`).
const EARLY: [&str; 21] = [
    "length",
    "max_output_tokens",
    "content_filter",
    "max_tokens",
    "model_context_window_exceeded",
    "refusal",
    "MAX_TOKENS",
    "SAFETY",
    "RECITATION",
    "LANGUAGE",
    "OTHER",
    "BLOCKLIST",
    "PROHIBITED_CONTENT",
    "SPII",
    "IMAGE_SAFETY",
    "IMAGE_PROHIBITED_CONTENT",
    "IMAGE_RECITATION",
    "IMAGE_OTHER",
    "MALFORMED_FUNCTION_CALL",
    "UNEXPECTED_TOOL_CALL",
    "TOO_MANY_TOOL_CALLS",
];

#[cfg(test)]
mod tests {
    use super::*;

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
}
