//! The endpoint of a model: the path and the header lines of each dialect.

use crate::http::{HeaderError, Headers, HttpClientError, HttpTarget, UrlError};
use retake_core::redact::header_holds_a_secret;
use retake_core::session::Dialect;
use std::fmt;
use std::time::Duration;

/// An endpoint that speaks one dialect.
#[derive(Clone)]
pub struct Endpoint {
    pub dialect: Dialect,
    /// Its URL, with `/v1` or without, as SDKs of either kind are given it.
    pub base_url: String,
    /// Header lines beside, or in place of, those of the dialect.
    pub headers: Vec<(String, String)>,
    /// The key; local servers need none.
    pub key: Option<ApiKey>,
    /// How long to wait.
    pub timeouts: Timeouts,
}

impl fmt::Debug for Endpoint {
    /// Without what headers say, and without the query of the URL.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names = self.headers.iter().map(|(name, _)| name);
        f.debug_struct("Endpoint")
            .field("dialect", &self.dialect)
            .field("base_url", &HttpTarget::parse(&self.base_url))
            .field("headers", &names.collect::<Vec<_>>())
            .field("key", &self.key)
            .field("timeouts", &self.timeouts)
            .finish()
    }
}

/// How long to wait for a model.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Timeouts {
    /// Until there is a connection.
    pub connect: Duration,
    /// Until the head of the reply has come. A reply that is not streamed comes with its head.
    pub first: Duration,
    /// Between two pieces of a reply.
    pub idle: Duration,
    /// After so long without a piece, [`super::ReplyProgress::Silent`] says so.
    pub quiet: Duration,
    /// Until the reply is whole.
    pub total: Duration,
}

impl Default for Timeouts {
    /// Those of the providers' own clients (600 s), within half an hour.
    fn default() -> Self {
        Self {
            connect: Duration::from_secs(10),
            first: Duration::from_secs(600),
            idle: Duration::from_secs(300),
            quiet: Duration::from_secs(15),
            total: Duration::from_secs(1800),
        }
    }
}

/// Why an endpoint cannot be called.
#[derive(Debug, thiserror::Error)]
pub enum ModelError {
    #[error("base_url: {0}")]
    Url(#[from] UrlError),
    /// One of its headers, or its key.
    #[error(transparent)]
    Header(#[from] HeaderError),
    #[error(transparent)]
    Client(#[from] HttpClientError),
}

impl Endpoint {
    /// Where the requests go; where their path names the model, what is before that.
    ///
    /// A base that ends with the path of the dialect is taken as it is. One with a version in its path (`/v1`,
    /// `/api/v4`, `/v1beta/openai`) gets the path appended, any other one gets the usual version as well.
    pub(crate) fn target(&self) -> Result<HttpTarget, ModelError> {
        let base = HttpTarget::parse(&self.base_url)?;
        let facts = self.dialect.facts();
        let word = match facts.methods {
            Some(_) => "",
            None => facts.path,
        };
        let path = base.path().trim_end_matches('/');
        let is_whole = path
            .strip_suffix(word)
            .is_some_and(|rest| rest.ends_with('/'));
        let version = facts.version;
        let whole = match (is_whole, path.split('/').any(is_version)) {
            (true, _) => path.to_owned(),
            (false, true) => format!("{path}/{word}"),
            (false, false) => format!("{path}/{version}/{word}"),
        };
        Ok(base.with_path(whole.trim_end_matches('/')))
    }

    /// The header lines of a request.
    pub(crate) fn headers(&self, is_streamed: bool) -> Result<Headers, ModelError> {
        let mut headers = Headers::default();
        headers.set("content-type", "application/json")?;
        let accepted = match is_streamed {
            true => format!("{}, application/json", self.dialect.facts().stream_type),
            false => "application/json".to_owned(),
        };
        headers.set("accept", &accepted)?;
        headers.set("accept-encoding", "identity")?;
        let facts = self.dialect.facts();
        for (name, value) in facts.headers {
            headers.set(name, value)?;
        }
        if let Some(key) = &self.key {
            let (name, prefix) = facts.key_header;
            headers.set(name, &format!("{prefix}{}", key.expose()))?;
        }
        for (name, value) in &self.headers {
            headers.set(name, value)?;
        }
        Ok(headers)
    }

    /// What must not stand in an error text.
    pub(crate) fn secrets(&self) -> Vec<&str> {
        let headers = self.headers.iter();
        let headers = headers.filter(|(name, _)| header_holds_a_secret(name));
        // `Bearer` before a key is not a secret.
        let values = headers.filter_map(|(_, value)| value.split_whitespace().last());
        values
            .chain(self.key.as_ref().map(ApiKey::expose))
            .collect()
    }
}

/// Whether a part of a path is `v1`, `v1beta`, `v4`.
fn is_version(part: &str) -> bool {
    let mut chars = part.chars();
    chars.next() == Some('v') && chars.next().is_some_and(|char| char.is_ascii_digit())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(crate) mod tests;

// The key of an endpoint, and what a provider's error text repeats of it.

/// A secret that goes into a header. It is shown nowhere.
#[derive(Clone, PartialEq, Eq)]
pub struct ApiKey(String);

impl ApiKey {
    /// The key that a variable of the environment holds; `None` where it is not set or blank,
    /// which local servers accept.
    pub fn from_env(variable: &str) -> Option<Self> {
        std::env::var(variable)
            .ok()
            .and_then(|text| Self::new(&text))
    }

    /// A key out of a text; `None` of a blank one.
    pub fn new(text: &str) -> Option<Self> {
        let text = text.trim();
        (!text.is_empty()).then(|| Self(text.to_owned()))
    }

    /// The secret itself: for the header that carries it, and for whoever takes it out of texts.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for ApiKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key(…)")
    }
}

/// The placeholder of a secret.
const MASK: &str = "[secret]";

/// So much of a key in a word makes the word a part of the key.
const SHARED: usize = 8;

/// What remains of a key before or after the stars of the provider's own mask.
const REMNANT: usize = 3;

/// A text without the words that repeat one of the keys, or a part of it: `Incorrect
/// API key provided: sk-ab***yz.`
///
/// Words that a provider masked itself (three stars in a row) go whether or not they are known: what they leave
/// is a part of a key.
pub(crate) fn mask(text: &str, keys: &[&str]) -> String {
    let mut masked = String::with_capacity(text.len());
    let mut rest = text;
    while let Some(start) = rest.find(is_of_key) {
        masked.push_str(&rest[..start]);
        let word = &rest[start..];
        let end = word.find(|char| !is_of_key(char)).unwrap_or(word.len());
        let (word, tail) = word.split_at(end);
        // The full stop of a sentence is not part of its last word.
        let bare = word.trim_end_matches('.');
        if word.contains("***") || keys.iter().any(|key| repeats(bare, key)) {
            masked.push_str(MASK);
            masked.push_str(&word[bare.len()..]);
        } else {
            masked.push_str(word);
        }
        rest = tail;
    }
    masked.push_str(rest);
    masked
}

/// The characters of keys, and of the masks that providers put over them.
fn is_of_key(char: char) -> bool {
    char.is_ascii_alphanumeric() || matches!(char, '-' | '_' | '.' | '*' | '/' | '+' | '=' | '~')
}

fn repeats(word: &str, key: &str) -> bool {
    let (word, key) = (word.as_bytes(), key.as_bytes());
    if key.len() < SHARED {
        return !key.is_empty() && memchr::memmem::find(word, key).is_some();
    }
    let shares = key
        .windows(SHARED)
        .any(|part| memchr::memmem::find(word, part).is_some());
    let is_masked = memchr::memmem::find(word, b"..").is_some() || word.contains(&b'*');
    let ends = word.starts_with(&key[..REMNANT]) || word.ends_with(&key[key.len() - REMNANT..]);
    shares || (is_masked && ends)
}

#[cfg(test)]
mod key_tests {
    use super::*;

    const KEY: &str = "sk-test-0123456789abcdefXYZ";

    #[test]
    fn a_key_shows_nothing_of_itself() {
        let key = ApiKey::new(&format!(" {KEY}\n"));
        assert_eq!(format!("{key:?}"), "Some(Key(…))");
        assert_eq!(key.as_ref().map(ApiKey::expose), Some(KEY));
        assert_eq!(ApiKey::new(" \n"), None);
    }

    #[test]
    fn every_echo_of_a_key_is_masked() {
        for (text, expected) in [
            (
                "Incorrect API key provided: sk-te***********fXYZ. You can find yours.",
                "Incorrect API key provided: [secret]. You can find yours.",
            ),
            ("got sk-test-0123456789abcdefXYZ", "got [secret]"),
            ("{\"key\":\"0123456789\"}", "{\"key\":\"[secret]\"}"),
            ("Bearer sk-...XYZ is unknown", "Bearer [secret] is unknown"),
            ("…abcdefXYZ", "…[secret]"),
            ("no key here... really", "no key here... really"),
            ("another's key: ab***", "another's key: [secret]"),
        ] {
            assert_eq!(mask(text, &[KEY]), expected);
        }
        assert_eq!(mask("sk-test", &[]), "sk-test");
    }
}
