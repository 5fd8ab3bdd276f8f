//! What a proxy is started with: plain data, made from a command line.

use super::provider;
use hyper::{HeaderMap, Uri};
use retake_core::engine::{Breakpoint, Policy};
pub use retake_core::wire::Family;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The address that is listened on where none is named; where it is taken, the next one that is free.
pub const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8484);

/// Default for how often the upstream is called again for one exchange.
pub const USUAL_ASKS: u32 = 5;

/// What the base URL of a client ends with at OpenAI, and at most that do as they do.
const V1: &str = "/v1";

/// What a proxy is started with.
#[derive(Debug, Clone)]
pub struct ProxyOptions {
    /// The upstreams: at least one. Each has a listener of its own, in this order.
    pub upstreams: Vec<Upstream>,
    pub ports: Ports,
    /// Whether others than this machine may come, each with a token.
    pub allow_remote: bool,
    /// Names that a `Host` may hold beside those of the loopback and of the address that is listened on.
    pub host_names: Vec<String>,
    /// Hosts whose certificates are not verified.
    pub insecure: Vec<String>,
    /// What is done without asking.
    pub policy: Policy,
    /// Where an exchange is held although nothing is wrong.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether somebody is there to decide.
    pub has_operator: bool,
    /// The journal of the proxy, those of holds lie beside it; `None` for one among the operator's own data.
    pub journal: Option<PathBuf>,
    /// Whether anything is held at all; what passes is still watched and recorded.
    pub intercepts: bool,
    /// Whether a request that its provider would refuse is held before it leaves.
    pub holds_requests: bool,
    /// The most repeated calls to the upstream for one exchange.
    pub max_asks: u32,
}

/// Where to listen: each upstream has a port of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The address for the first upstream, the others get the following ports; with port 0, any
    /// free port for each.
    pub first: SocketAddr,
    /// Whether it has to be these; otherwise the next that are free are as good.
    pub are_fixed: bool,
}

impl Default for Ports {
    fn default() -> Self {
        Self {
            first: USUAL,
            are_fixed: false,
        }
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// What the operator calls it; host and port where no name is given.
    pub name: String,
    /// Its URL, as the operator wrote it.
    pub url: String,
    /// Scheme (`http` or `https`), host, port, and the path that precedes every path of a client; a `/v1`
    /// that is in both appears once.
    pub uri: Uri,
    /// What the base URL of its OpenAI clients ends with: `/v1`, or nothing.
    pub version: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    #[error("this is no URL; an upstream is written as https://api.openai.com")]
    NoUrl,
    #[error("a URL of an upstream begins with https:// or http://")]
    NoScheme,
    #[error("a user or a password has no place in it; the agent sends its key as ever")]
    User,
    #[error("a query has no place in it")]
    Query,
    #[error("a name is made of letters, digits, `-`, `_` and `.`")]
    Name,
}

impl Upstream {
    /// Reads `URL` or `NAME=URL`. The URL is what the agent's own base URL is: a `/v1` at its end is what its
    /// clients end theirs with.
    pub fn parse(text: &str) -> Result<Self, UpstreamError> {
        let (name, url) = match text.split_once('=') {
            Some((name, url)) if !name.contains([':', '/']) => (Some(name), url),
            _ => (None, text),
        };
        if name.is_some_and(|name| !is_name(name)) {
            return Err(UpstreamError::Name);
        }
        if !url.contains("://") {
            return Err(UpstreamError::NoScheme);
        }
        let uri = url.parse::<Uri>().map_err(|_| UpstreamError::NoUrl)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(UpstreamError::NoScheme);
        }
        let authority = uri.authority().ok_or(UpstreamError::NoUrl)?;
        if authority.as_str().contains('@') {
            return Err(UpstreamError::User);
        }
        if authority.host().is_empty() {
            return Err(UpstreamError::NoUrl);
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(UpstreamError::Query);
        }
        let path = uri.path().trim_end_matches('/');
        let version = match path.is_empty() || path.ends_with(V1) {
            true => V1,
            false => "",
        };
        let name = name.map_or_else(|| authority.to_string(), str::to_owned);
        let scheme = uri.scheme_str().unwrap_or_default();
        let uri = format!("{scheme}://{authority}{path}/");
        Ok(Self {
            name,
            url: url.to_owned(),
            uri: uri.parse().map_err(|_| UpstreamError::NoUrl)?,
            version,
        })
    }

    /// The path that precedes every path of a client, without a slash at its end.
    pub fn prefix(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }

    /// How surely it speaks this; `None` where it does not, so that no variable sends the keys of
    /// one provider to another.
    pub fn speaks(&self, family: Family) -> Option<Fit> {
        let own = |family| match family {
            Family::OpenAi => provider::OPENAI,
            Family::Anthropic => provider::ANTHROPIC,
            Family::Google => provider::GOOGLE,
        };
        let path = self.prefix().trim_end_matches(V1);
        match self.provider() {
            // Google's speaks Chat as well, at a path of its own.
            Some(provider) if provider == own(family) && !path.ends_with("/openai") => {
                return Some(Fit::Provider);
            }
            Some(provider::OPENAI | provider::ANTHROPIC) => return None,
            _ => {}
        }
        let by_path = [Family::OpenAi, Family::Anthropic]
            .into_iter()
            .find(|family| path.ends_with(&format!("/{}", own(*family))));
        match by_path {
            Some(found) => (found == family).then_some(Fit::Path),
            None if self.is_local() => Some(Fit::Possible),
            None if self.provider() == Some(provider::GOOGLE) => None,
            // Most servers speak as OpenAI does. That one takes Anthropic's keys, too, is for
            // the operator to say.
            None => (family == Family::OpenAi).then_some(Fit::Possible),
        }
    }

    /// The provider whose key these headers hold, where it is surely not this upstream's.
    pub(super) fn foreign_key(&self, headers: &HeaderMap) -> Option<&'static str> {
        let owner = provider::of_key(headers)?;
        let is_foreign = match self.provider() {
            Some(provider) => provider != owner,
            None => {
                owner == provider::ANTHROPIC
                    && !self.is_local()
                    && self.speaks(Family::Anthropic).is_none()
            }
        };
        is_foreign.then_some(owner)
    }

    /// Whose it is: by the operator's name for it, or by its host.
    fn provider(&self) -> Option<&'static str> {
        let host = self.uri.host().unwrap_or_default();
        provider::of_name(&self.name).or_else(|| provider::of_host(host))
    }

    /// Whether it is a server on this machine, which may speak for any provider.
    fn is_local(&self) -> bool {
        let host = self.uri.host().unwrap_or_default();
        let host = host.trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback())
    }
}

/// How surely an upstream speaks as a family of clients does; the last is the surest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Fit {
    /// Nothing speaks against it.
    Possible,
    /// Its path says so: `/openai/v1`.
    Path,
    /// It is the provider itself, by its host or by the operator's name for it.
    Provider,
}

fn is_name(name: &str) -> bool {
    let fits = |letter: char| letter.is_ascii_alphanumeric() || "-_.".contains(letter);
    !name.is_empty() && name.len() <= 40 && name.chars().all(fits)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn parsed(text: &str) -> (String, String, String, &'static str) {
        let upstream = Upstream::parse(text).unwrap();
        let prefix = upstream.prefix().to_owned();
        let origin = upstream.uri.authority().unwrap().to_string();
        (upstream.name, origin, prefix, upstream.version)
    }

    #[test]
    fn an_upstream_is_named_by_its_host_and_a_v1_at_its_end_is_its_clients() {
        let whole = |name: &str, origin: &str, prefix: &str, version| {
            (
                name.to_owned(),
                origin.to_owned(),
                prefix.to_owned(),
                version,
            )
        };
        for (text, wanted) in [
            (
                "https://api.openai.com",
                whole("api.openai.com", "api.openai.com", "", "/v1"),
            ),
            (
                "https://api.openai.com/v1/",
                whole("api.openai.com", "api.openai.com", "/v1", "/v1"),
            ),
            (
                "local=http://127.0.0.1:11434",
                whole("local", "127.0.0.1:11434", "", "/v1"),
            ),
            (
                "https://api.groq.com/openai/v1",
                whole("api.groq.com", "api.groq.com", "/openai/v1", "/v1"),
            ),
            (
                "https://api.z.ai/api/paas/v4",
                whole("api.z.ai", "api.z.ai", "/api/paas/v4", ""),
            ),
            ("http://[::1]:80", whole("[::1]:80", "[::1]:80", "", "/v1")),
        ] {
            assert_eq!(parsed(text), wanted, "{text}");
        }
    }

    #[test]
    fn what_is_no_upstream_says_what_is_wrong_with_it() {
        for (text, wanted) in [
            ("", UpstreamError::NoScheme),
            ("api.openai.com", UpstreamError::NoScheme),
            ("127.0.0.1:8000", UpstreamError::NoScheme),
            ("ftp://host", UpstreamError::NoScheme),
            ("unix:///tmp/socket", UpstreamError::NoUrl),
            ("https://", UpstreamError::NoUrl),
            ("https://a b", UpstreamError::NoUrl),
            ("https://user:secret@host", UpstreamError::User),
            ("https://host/?api-version=1", UpstreamError::Query),
            ("https://host/#part", UpstreamError::Query),
            ("=https://host", UpstreamError::Name),
            ("my host=https://host", UpstreamError::Name),
        ] {
            assert_eq!(Upstream::parse(text), Err(wanted), "{text}");
        }
    }

    #[test]
    fn an_upstream_gets_the_variables_of_a_family_only_where_it_may_be_of_it() {
        let speaks = |text: &str| {
            let upstream = Upstream::parse(text).unwrap();
            [Family::OpenAi, Family::Anthropic].map(|family| upstream.speaks(family))
        };
        let (provider, path, possible) =
            (Some(Fit::Provider), Some(Fit::Path), Some(Fit::Possible));
        for (text, wanted) in [
            ("https://api.openai.com", [provider, None]),
            ("https://eu.api.openai.com", [provider, None]),
            ("https://api.anthropic.com", [None, provider]),
            ("anthropic=http://127.0.0.1:9000", [None, provider]),
            ("anthropic=https://gateway.example", [None, provider]),
            ("https://api.deepseek.com/anthropic", [None, path]),
            ("https://api.z.ai/api/anthropic/v1", [None, path]),
            ("https://api.groq.com/openai/v1", [path, None]),
            ("https://openrouter.ai/api/v1", [possible, None]),
            ("https://notopenai.com", [possible, None]),
            ("http://127.0.0.1:11434", [possible, possible]),
            ("http://[::1]:11434", [possible, possible]),
            ("http://localhost:11434", [possible, possible]),
        ] {
            assert_eq!(speaks(text), wanted, "{text}");
        }
    }

    #[test]
    fn a_key_that_is_surely_another_providers_is_known_by_how_it_begins() {
        let foreign = |text: &str, name: &'static str, key: &str| {
            let mut headers = HeaderMap::new();
            headers.insert(name, key.parse().unwrap());
            Upstream::parse(text).unwrap().foreign_key(&headers)
        };
        let bearer = "authorization";
        for (text, name, key, wanted) in [
            (
                "https://api.groq.com/openai/v1",
                "x-api-key",
                "sk-ant-api03-x",
                Some("anthropic"),
            ),
            (
                "https://api.openai.com",
                bearer,
                "Bearer sk-ant-api03-x",
                Some("anthropic"),
            ),
            (
                "https://api.anthropic.com",
                bearer,
                "bearer sk-proj-x",
                Some("openai"),
            ),
            (
                "https://api.openai.com",
                bearer,
                "Bearer gsk_x",
                Some("groq"),
            ),
            (
                "https://openrouter.ai/api/v1",
                "x-api-key",
                "sk-ant-api03-x",
                Some("anthropic"),
            ),
            (
                "https://api.anthropic.com",
                "x-api-key",
                "sk-ant-api03-x",
                None,
            ),
            ("https://api.openai.com", bearer, "Bearer sk-proj-x", None),
            (
                "https://openrouter.ai/api/v1",
                bearer,
                "Bearer sk-or-v1-x",
                None,
            ),
            // Gateways that take the keys of those behind them.
            (
                "https://oai.helicone.ai/v1",
                bearer,
                "Bearer sk-proj-x",
                None,
            ),
            (
                "anthropic=https://gateway.example",
                "x-api-key",
                "sk-ant-api03-x",
                None,
            ),
            ("http://127.0.0.1:4000", "x-api-key", "sk-ant-api03-x", None),
            ("https://api.openai.com", bearer, "Bearer dummy", None),
        ] {
            assert_eq!(foreign(text, name, key), wanted, "{text} {key}");
        }
    }
}
