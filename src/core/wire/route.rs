//! Which requests are looked at: those whose path says that a model is asked, in a dialect that is read.

use super::facts::{Facts, Methods};
use crate::session::Dialect;
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, percent_decode_str, utf8_percent_encode};

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
    route(path).map(|route| route.dialect)
}

/// Whether a stream comes as events where this is the query of its request: one of a dialect with methods is a
/// list otherwise.
pub fn streams_events(dialect: Dialect, query: Option<&str>) -> bool {
    let has = |wanted: &str| query.is_some_and(|query| query.split('&').any(|it| it == wanted));
    dialect
        .facts()
        .methods
        .is_none_or(|methods| methods.query.is_empty() || has(methods.query))
}

/// What a path says of a request.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Route {
    pub dialect: Dialect,
    /// The model, and whether the reply is to come as a stream, where the path says it and not the body.
    pub asks: Option<(String, bool)>,
}

/// The same with what else the path says.
pub fn route(path: &str) -> Option<Route> {
    let path = path.trim_end_matches('/');
    let is_other = OTHERS.iter().any(|other| path.contains(other));
    let mut all = Dialect::ALL.into_iter().filter(|_| !is_other);
    all.find_map(|dialect| {
        let facts = dialect.facts();
        let asks = match facts.methods {
            Some(methods) => Some(model_path(path, facts, methods)?),
            None => {
                path.strip_suffix(facts.path)?.strip_suffix('/')?;
                None
            }
        };
        Some(Route { dialect, asks })
    })
}

/// The model that a path with a method asks, and whether for a stream.
fn model_path(path: &str, facts: &Facts, methods: Methods) -> Option<(String, bool)> {
    let (before, method) = path.rsplit_once(methods.separator)?;
    let streams = method == methods.streamed;
    if !streams && method != methods.whole {
        return None;
    }
    let (before, model) = before.rsplit_once('/')?;
    // Tuned models have a collection of their own (`tunedModels/m`).
    let collection = before.rsplit('/').next()?.to_ascii_lowercase();
    (!model.is_empty() && collection.ends_with(facts.path)).then(|| {
        let model = percent_decode_str(model).decode_utf8_lossy();
        (model.into_owned(), streams)
    })
}

/// A text as one part of a path.
pub(crate) fn encoded(text: &str) -> String {
    /// All but the unreserved characters (RFC 3986, section 2.3).
    const RESERVED: &AsciiSet = &NON_ALPHANUMERIC
        .remove(b'-')
        .remove(b'.')
        .remove(b'_')
        .remove(b'~');
    utf8_percent_encode(text, RESERVED).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_asked_with_one_v1_with_none_and_with_two() {
        for dialect in Dialect::ALL {
            let end = match dialect.facts().methods {
                Some(methods) => format!(
                    "{}/m{}{}",
                    dialect.facts().path,
                    methods.separator,
                    methods.whole
                ),
                None => dialect.facts().path.to_owned(),
            };
            for base in ["", "/v1", "/v1/v1", "/openai/v1", "/proxy/team"] {
                let path = format!("{base}/{end}");
                assert_eq!(dialect_at(&path), Some(dialect), "{path}");
                assert_eq!(dialect_at(&format!("{path}/")), Some(dialect), "{path}/");
            }
        }
    }

    #[test]
    fn a_path_with_a_method_names_the_model_and_the_stream() {
        for (path, model, streams) in [
            (
                "/v1beta/models/gemini-3-pro:generateContent",
                "gemini-3-pro",
                false,
            ),
            ("/v1/models/m:streamGenerateContent", "m", true),
            ("/v1beta/tunedModels/m:generateContent", "m", false),
            (
                "/v1/projects/p/locations/l/publishers/google/models/m:streamGenerateContent",
                "m",
                true,
            ),
        ] {
            let asks = Some((model.to_owned(), streams));
            let dialect = Dialect::Gemini;
            assert_eq!(route(path), Some(Route { dialect, asks }), "{path}");
        }
        let path = "/model/us.amazon.nova-lite-v1%3A0/converse-stream";
        let asks = Some(("us.amazon.nova-lite-v1:0".to_owned(), true));
        let dialect = Dialect::Converse;
        assert_eq!(route(path), Some(Route { dialect, asks }));
        assert_eq!(encoded("nova-lite-v1:0"), "nova-lite-v1%3A0");
        for path in [
            "/model/m/invoke",
            "/v1beta/models/m:countTokens",
            "/generateContent",
            "/models/:generateContent",
        ] {
            assert_eq!(route(path), None, "{path}");
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
            "/v1/models/m",
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
