//! Providers that are known by their hosts and by how their keys begin.

use hyper::HeaderMap;
use hyper::header::AUTHORIZATION;

pub(super) const OPENAI: &str = "openai";
pub(super) const ANTHROPIC: &str = "anthropic";
pub(super) const GOOGLE: &str = "google";

/// Name, the domain of its API, and how keys begin that only it gives out. From each provider's own
/// documentation of its keys.
const PROVIDERS: &[(&str, &str, &[&str])] = &[
    (ANTHROPIC, "anthropic.com", &["sk-ant-"]),
    (
        OPENAI,
        "openai.com",
        &["sk-proj-", "sk-svcacct-", "sk-admin-"],
    ),
    ("openrouter", "openrouter.ai", &["sk-or-"]),
    ("groq", "groq.com", &["gsk_"]),
    ("xai", "x.ai", &["xai-"]),
    (GOOGLE, "googleapis.com", &["AIza"]),
];

pub(super) fn of_name(name: &str) -> Option<&'static str> {
    let mut providers = PROVIDERS.iter();
    let found = providers.find(|(known, _, _)| known.eq_ignore_ascii_case(name));
    found.map(|(name, _, _)| *name)
}

pub(super) fn of_host(host: &str) -> Option<&'static str> {
    let host = host.to_ascii_lowercase();
    let is_at = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    let found = PROVIDERS.iter().find(|(_, domain, _)| is_at(domain));
    found.map(|(name, _, _)| *name)
}

/// The provider whose key a client sends.
pub(super) fn of_key(headers: &HeaderMap) -> Option<&'static str> {
    let lines = ["x-api-key", "api-key", "x-goog-api-key"].map(|name| headers.get(name));
    let lines = lines.into_iter().flatten().map(|key| key.as_bytes());
    let bearer = headers.get(AUTHORIZATION).map(|line| line.as_bytes());
    let bearer = bearer.and_then(|line| {
        let (scheme, key) = line.split_at_checked("bearer ".len())?;
        scheme.eq_ignore_ascii_case(b"bearer ").then_some(key)
    });
    let owner = |key: &[u8]| {
        let is_its = |beginnings: &[&str]| {
            beginnings
                .iter()
                .any(|begins| key.starts_with(begins.as_bytes()))
        };
        let found = PROVIDERS
            .iter()
            .find(|(_, _, beginnings)| is_its(beginnings));
        found.map(|(name, _, _)| *name)
    };
    lines.chain(bearer).find_map(owner)
}
