//! Which requests are looked at: those whose path says that a model is asked, in a dialect that is read.

use super::SPOKEN;
use crate::session::Dialect;

/// Other resources whose paths end alike: the messages of a thread or of a stored chat
/// completion (OpenAI API reference).
const OTHERS: [&str; 2] = ["/threads/", "/chat/completions/"];

/// The dialect that is spoken at a path without its query. What lies beneath such a path
/// (`/v1/messages/count_tokens`, `/v1/responses/compact`, `/v1/responses/resp_1`) asks no model for its
/// turn and only passes.
///
/// Clients put `/v1` before it, leave it out, or have it twice: some SDKs want it in their base URL and some add
/// it themselves.
pub fn dialect_at(path: &str) -> Option<Dialect> {
    let path = path.trim_end_matches('/');
    let is_other = OTHERS.iter().any(|other| path.contains(other));
    let ends_with = |end: &str| {
        path.strip_suffix(end)
            .is_some_and(|rest| rest.ends_with('/'))
    };
    let mut spoken = SPOKEN.into_iter().filter(|_| !is_other);
    spoken.find(|dialect| ends_with(dialect.facts().path))
}

/// Whether a path asks a model of Gemini, whose requests and replies are not read
/// (Gemini API reference, `models.generateContent`).
pub fn asks_gemini(path: &str) -> bool {
    let method = path.rsplit_once(':').map(|(_, method)| method);
    matches!(method, Some("generateContent" | "streamGenerateContent"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_asked_with_one_v1_with_none_and_with_two() {
        for dialect in SPOKEN {
            let end = dialect.facts().path;
            for base in ["", "/v1", "/v1/v1", "/openai/v1", "/proxy/team"] {
                let path = format!("{base}/{end}");
                assert_eq!(dialect_at(&path), Some(dialect), "{path}");
                assert_eq!(dialect_at(&format!("{path}/")), Some(dialect), "{path}/");
            }
        }
    }

    #[test]
    fn a_path_of_gemini_is_known_and_not_read() {
        for path in [
            "/v1beta/models/gemini-3-pro:generateContent",
            "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent",
        ] {
            assert!(asks_gemini(path) && dialect_at(path).is_none(), "{path}");
        }
        for path in [
            "/v1beta/models/m:countTokens",
            "/v1/messages",
            "/generateContent",
        ] {
            assert!(!asks_gemini(path), "{path}");
        }
    }

    #[test]
    fn what_lies_beneath_or_only_ends_alike_is_not_looked_at() {
        for path in [
            "/v1/messages/count_tokens",
            "/v1/messages/batches",
            "/v1/responses/compact",
            "/v1/responses/input_tokens",
            "/v1/responses/resp_1",
            "/v1/threads/thread_1/messages",
            "/v1/chat/completions/chatcmpl-1/messages",
            "/v1/models",
            "/v1/completions",
            "/v1/embeddings",
            "/v1/myresponses",
            "/",
            "",
        ] {
            assert_eq!(dialect_at(path), None, "{path}");
        }
    }
}
