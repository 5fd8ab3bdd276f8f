//! Header lines of a client, as another request of its kind is sent with them.

use super::{HeaderError, Headers};
use hyper::header::HeaderMap;
use retake_core::redact::{HeaderSecret, secrets_of_header};

/// Lines that are about one connection, and would be wrong on another one (RFC 9110, 7.6.1).
const OF_A_CONNECTION: &[&str] = &[
    "accept-encoding",
    "connection",
    "content-length",
    "expect",
    "host",
    "keep-alive",
    "proxy-authenticate",
    "proxy-authorization",
    "proxy-connection",
    "te",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Lines that are about one body: how it was packed (RFC 9110, 8.4), its digests (RFC 9530), and the key that
/// marks retries of one request, by which a provider would give the first reply again.
const OF_A_BODY: &[&str] = &[
    "content-digest",
    "content-encoding",
    "content-md5",
    "digest",
    "idempotency-key",
    "repr-digest",
];

/// Removes the lines that would be wrong of another body.
pub(crate) fn strip_lines_of_a_body(lines: &mut HeaderMap) {
    for name in OF_A_BODY {
        lines.remove(*name);
    }
}

impl Headers {
    /// The lines of a client's request as they are sent with another body of its kind: all that are meant for
    /// the server at the end. Their values are taken for secrets.
    pub fn passed_on(lines: &HeaderMap) -> Self {
        let named = lines.get_all("connection").iter();
        let named = named.filter_map(|value| value.to_str().ok());
        let named: Vec<String> = named
            .flat_map(|value| value.split(','))
            .map(|name| name.trim().to_ascii_lowercase())
            .collect();
        let mut passed = HeaderMap::new();
        for (name, value) in lines {
            let is_left_out = OF_A_CONNECTION.contains(&name.as_str())
                || OF_A_BODY.contains(&name.as_str())
                || named.iter().any(|named| named == name.as_str());
            if !is_left_out {
                let mut value = value.clone();
                value.set_sensitive(true);
                passed.append(name.clone(), value);
            }
        }
        Self(passed)
    }

    /// The same with another line, in place of those of its name.
    pub(crate) fn with(&self, name: &str, value: &str) -> Result<Self, HeaderError> {
        let mut lines = self.clone();
        lines.set(name, value)?;
        Ok(lines)
    }

    /// The secrets of these lines, each with the name of its line.
    pub(crate) fn secrets(&self) -> Vec<(String, String)> {
        let shown = secrets_shown(&self.0).into_iter();
        shown.map(|one| (one.header, one.secret)).collect()
    }
}

pub(crate) fn secrets_shown(lines: &HeaderMap) -> Vec<HeaderSecret> {
    let shown = lines.iter().flat_map(|(name, value)| {
        let value = String::from_utf8_lossy(value.as_bytes());
        secrets_of_header(name.as_str(), &value)
    });
    shown.collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use hyper::header::{HeaderName, HeaderValue};

    #[test]
    fn lines_of_a_client_are_passed_on_without_those_of_its_connection() {
        let mut lines = HeaderMap::new();
        for (name, value) in [
            ("authorization", "Bearer sk-0123456789"),
            ("x-api-key", "k-0123456789"),
            ("anthropic-beta", "one"),
            ("anthropic-beta", "two"),
            ("user-agent", "client/1"),
            ("host", "127.0.0.1:1"),
            ("content-length", "7"),
            ("content-encoding", "zstd"),
            ("accept-encoding", "gzip"),
            ("connection", "close, X-Hop"),
            ("x-hop", "1"),
            ("idempotency-key", "1"),
        ] {
            let name = HeaderName::from_bytes(name.as_bytes()).unwrap();
            lines.append(name, HeaderValue::from_static(value));
        }
        let passed = Headers::passed_on(&lines);
        let names: Vec<&str> = passed.0.keys().map(HeaderName::as_str).collect();
        assert_eq!(
            names,
            ["authorization", "x-api-key", "anthropic-beta", "user-agent"]
        );
        assert_eq!(passed.0.get_all("anthropic-beta").iter().count(), 2);
        let secrets = passed.secrets();
        assert_eq!(secrets[0].1, "sk-0123456789");
        assert_eq!(secrets[1].1, "k-0123456789");
        let shown = format!("{passed:?} {:?}", passed.0);
        assert!(!shown.contains("0123456789"), "{shown}");
    }
}
