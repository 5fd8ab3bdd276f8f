//! Header lines that hold secrets: one list for the recorder, for holds and for WebSockets.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;

/// Words of the names of such lines.
const WORDS: &[&str] = &["auth", "key", "token", "secret", "cookie", "password"];
/// Names with such words whose lines hold none: another value with each request, or what a server asks for.
const NONE: &[&str] = &[
    "idempotency-key",
    "x-idempotency-key",
    "sec-websocket-key",
    "www-authenticate",
    "proxy-authenticate",
    "access-control-allow-headers",
    "surrogate-key",
    "cache-key",
];

/// Whether the name of a header says that it holds a secret.
pub fn header_holds_a_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    // Limits count tokens.
    let is_count = name.contains("ratelimit") || name.contains("tokens");
    !is_count && !NONE.contains(&&*name) && WORDS.iter().any(|word| name.contains(word))
}

/// A secret of a header.
#[derive(Clone, PartialEq, Eq)]
pub struct HeaderSecret {
    /// The name of the header.
    pub header: String,
    /// The secret by itself: of `Bearer KEY` the key.
    pub secret: String,
    /// Whether it is a cookie: servers give another one again and again.
    pub is_cookie: bool,
}

/// Never shows the secret.
impl std::fmt::Debug for HeaderSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("HeaderSecret")
            .field("header", &self.header)
            .finish_non_exhaustive()
    }
}

/// The secrets of a header: in `Authorization` what follows the scheme, and the password in `Basic`; in
/// `Cookie` each value; in `Set-Cookie` the first one, before the attributes (RFC 6265, 4.1).
pub fn secrets_of_header(name: &str, value: &str) -> Vec<HeaderSecret> {
    if !header_holds_a_secret(name) {
        return Vec::new();
    }
    let name = name.to_ascii_lowercase();
    let is_cookie = name.ends_with("cookie");
    let shown = |secret: &str| HeaderSecret {
        header: name.clone(),
        secret: secret.to_owned(),
        is_cookie,
    };
    if is_cookie {
        let most = if name == "set-cookie" { 1 } else { usize::MAX };
        let pairs = value.split(';').take(most);
        let pairs = pairs.filter_map(|pair| pair.split_once('='));
        return pairs.map(|(_, secret)| shown(secret.trim())).collect();
    }
    let words = value.trim().split_once(char::is_whitespace);
    let (scheme, rest) = words.unwrap_or(("", value));
    let rest = rest.trim();
    let mut secrets = vec![shown(rest)];
    if scheme.eq_ignore_ascii_case("basic")
        && let Ok(decoded) = STANDARD.decode(rest)
        && let Some((_, password)) = String::from_utf8_lossy(&decoded).split_once(':')
    {
        secrets.push(shown(password));
    }
    secrets.retain(|one| !one.secret.is_empty());
    secrets
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(name: &str, value: &str) -> Vec<String> {
        let shown = secrets_of_header(name, value).into_iter();
        shown.map(|one| one.secret).collect()
    }

    #[test]
    fn lines_that_hold_secrets_are_known_by_their_names() {
        for name in [
            "Authorization",
            "x-portkey-api-key",
            "helicone-auth",
            "cf-aig-authorization",
            "ocp-apim-subscription-key",
            "x-amz-security-token",
        ] {
            assert_eq!(
                secrets(name, "Bearer k-0123456789"),
                ["k-0123456789"],
                "{name}"
            );
        }
        for name in [
            "x-ratelimit-remaining-tokens",
            "anthropic-ratelimit-tokens-limit",
            "idempotency-key",
            "user-agent",
        ] {
            assert!(secrets(name, "0123456789").is_empty(), "{name}");
        }
    }

    #[test]
    fn of_a_cookie_that_is_set_its_attributes_are_no_secrets() {
        let set = "__cf_bm=value-1; Path=/; Expires=Fri, 01 Nov 2026 10:00:00 GMT; HttpOnly";
        assert_eq!(secrets("set-cookie", set), ["value-1"]);
        assert_eq!(secrets("cookie", "a=one; b=two"), ["one", "two"]);
        let basic = format!("Basic {}", STANDARD.encode("u:hunter2-abc"));
        assert_eq!(secrets("proxy-authorization", &basic)[1], "hunter2-abc");
    }
}
