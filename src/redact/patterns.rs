//! What secrets look like: the keys of known services, and what stands where secrets stand.

use regex::{Regex, RegexBuilder};
use std::sync::LazyLock;

/// One way to know a secret by.
pub(super) struct Pattern {
    /// What the placeholder calls it.
    pub(super) what: &'static str,
    regex: &'static str,
}

/// Every pattern, the more telling first: where two find the same text, the earlier one names it. Where one has a group, the group is
/// the secret; everything it finds otherwise. Word boundaries keep `risk-averse` and `sk-learn` what they are.
const PATTERNS: &[Pattern] = &[
    Pattern {
        what: "private key",
        regex: r"-----BEGIN [A-Z ]*PRIVATE KEY-----([\s\S]*?)(?:-----END [A-Z ]*PRIVATE KEY-----|\z)",
    },
    Pattern {
        what: "anthropic key",
        regex: r"\bsk-ant-[A-Za-z0-9_-]{20,}",
    },
    Pattern {
        what: "openrouter key",
        regex: r"\bsk-or-[A-Za-z0-9_-]{20,}",
    },
    Pattern {
        what: "openai key",
        regex: r"\bsk-[A-Za-z0-9_-]{20,}",
    },
    Pattern {
        what: "google key",
        regex: r"\bAIza[A-Za-z0-9_-]{30,}",
    },
    Pattern {
        what: "groq key",
        regex: r"\bgsk_[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "xai key",
        regex: r"\bxai-[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "hugging face token",
        regex: r"\bhf_[A-Za-z0-9]{20,}",
    },
    Pattern {
        what: "github token",
        regex: r"\b(?:gh[pousr]_[A-Za-z0-9]{30,}|github_pat_[A-Za-z0-9_]{22,})",
    },
    Pattern {
        what: "slack token",
        regex: r"\bxox[abeoprs]-[A-Za-z0-9-]{10,}",
    },
    Pattern {
        what: "stripe key",
        regex: r"\b[rs]k_(?:live|test)_[A-Za-z0-9]{16,}",
    },
    Pattern {
        what: "aws key id",
        regex: r"\b(?:AKIA|ASIA)[A-Z0-9]{16}\b",
    },
    Pattern {
        what: "aws secret",
        regex: r#"(?i)aws_secret_access_key["']?\s*[=:]\s*["']?([A-Za-z0-9/+=]{40})"#,
    },
    Pattern {
        what: "token",
        regex: r"\beyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]{4,}\.[A-Za-z0-9_-]{16,}",
    },
    Pattern {
        what: "credentials",
        regex: r"(?i)\b(?:bearer|basic)\s+([A-Za-z0-9+/_.~-]{16,}=*)",
    },
    Pattern {
        what: "credentials",
        regex: r"(?i)\b(?:authorization|x-api-key|api-key|x-goog-api-key|x-auth-token)\s*:\s*(?:(?:bearer|basic)\s+)?([^\s,;]{6,})",
    },
    Pattern {
        what: "cookie",
        regex: r"(?i)\b(?:set-)?cookie:\s*([^\r\n]+)",
    },
    Pattern {
        what: "credentials",
        regex: r#"(?i)[?&](?:key|api_?key|access_token|auth_token|token|sig|signature|client_secret|password)=([^&\s"'#)${<][^&\s"'#)]{5,})"#,
    },
    Pattern {
        what: "password",
        regex: r"://[^/\s:@]+:([^@\s/]+)@",
    },
    Pattern {
        what: "secret",
        regex: r#"\b[A-Z][A-Z0-9_]*(?:KEY|SECRET|TOKEN|PASSWORD|PASSWD|CREDENTIALS)\s*=\s*["']?([^\s"'${<][^\s"']{7,})"#,
    },
];

/// How secrets begin, at the end of a text that is still growing.
const BEGINNINGS: &str = r"\b(?:sk-[A-Za-z0-9_-]*|AIza[A-Za-z0-9_-]*|gsk_[A-Za-z0-9]*|xai-[A-Za-z0-9]*|hf_[A-Za-z0-9]*|gh[pousr]_[A-Za-z0-9]*|github_pat_[A-Za-z0-9_]*|xox[abeoprs]-[A-Za-z0-9-]*|[rs]k_(?:live|test)_[A-Za-z0-9]*|(?:AKIA|ASIA)[A-Z0-9]*|eyJ[A-Za-z0-9_.-]*)\z|-----BEGIN [A-Z ]*PRIVATE KEY-----[\s\S]*\z";

/// Members whose text is a secret whatever it looks like; spelled small, without `_` and `-`.
const NAMES: &[&str] = &[
    "apikey",
    "password",
    "passwd",
    "passphrase",
    "secret",
    "clientsecret",
    "secretkey",
    "secretaccesskey",
    "accesstoken",
    "refreshtoken",
    "authtoken",
    "idtoken",
    "bearertoken",
    "sessiontoken",
    "authorization",
    "proxyauthorization",
    "cookie",
    "setcookie",
    "privatekey",
    "xapikey",
    "xgoogapikey",
    "credentials",
];

/// Endings of the names of environment variables that hold secrets, as `GITHUB_TOKEN`.
const VARIABLES: &[&str] = &["_KEY", "_SECRET", "_TOKEN", "_PASSWORD", "_PASSWD"];

/// Members that only look like secrets and must stay as they are to the byte: providers check them.
const KEPT: &[&str] = &[
    "encrypted_content",
    "signature",
    "thought_signature",
    "thoughtSignature",
    "data",
    "b64_json",
];

/// Whether what stands under this name is a secret: a member of JSON, a variable of the environment.
pub fn names_a_secret(name: &str) -> bool {
    let is_variable = name.len() > 4
        && name
            .bytes()
            .all(|byte| byte.is_ascii_uppercase() || byte.is_ascii_digit() || byte == b'_')
        && VARIABLES.iter().any(|ending| name.ends_with(ending));
    let plain: String = name
        .chars()
        .filter(|letter| !matches!(letter, '_' | '-'))
        .flat_map(char::to_lowercase)
        .collect();
    is_variable || NAMES.contains(&plain.as_str())
}

/// Whether the text of a member of this name stays as it is.
pub(super) fn is_kept(name: &str) -> bool {
    KEPT.contains(&name)
}

/// The patterns, compiled.
pub(super) fn compiled() -> &'static [(&'static str, Regex)] {
    static COMPILED: LazyLock<Vec<(&'static str, Regex)>> = LazyLock::new(|| {
        let compile = |pattern: &Pattern| Some((pattern.what, regex(pattern.regex)?));
        PATTERNS.iter().filter_map(compile).collect()
    });
    &COMPILED
}

/// What may become a secret, at the end of a text.
pub(super) fn beginning() -> Option<&'static Regex> {
    static COMPILED: LazyLock<Option<Regex>> = LazyLock::new(|| regex(BEGINNINGS));
    COMPILED.as_ref()
}

fn regex(pattern: &str) -> Option<Regex> {
    // That each of them compiles is a test's to see.
    RegexBuilder::new(pattern).size_limit(1 << 20).build().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_compiles() {
        assert_eq!(compiled().len(), PATTERNS.len());
        assert!(beginning().is_some());
    }

    #[test]
    fn names_are_known_in_every_spelling() {
        for name in [
            "api_key",
            "API-Key",
            "apiKey",
            "password",
            "client_secret",
            "GITHUB_TOKEN",
        ] {
            assert!(names_a_secret(name), "{name}");
        }
        for name in [
            "next_page_token",
            "max_tokens",
            "key",
            "keyword",
            "passwordless",
        ] {
            assert!(!names_a_secret(name), "{name}");
        }
    }
}
