//! What a proxy is started with: plain data, made from a command line.

use crate::engine::{Breakpoint, Policy};
use crate::session::Dialect;
use hyper::Uri;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::path::PathBuf;

/// The address that is listened on where none is named; where it is taken, the next one that is free.
pub const USUAL: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::LOCALHOST), 8484);

/// How often the upstream is asked again for one exchange where nothing else is said.
pub const USUAL_ASKS: u32 = 5;

/// What the base URL of a client ends with at OpenAI, and at most that do as they do.
const V1: &str = "/v1";

/// What a proxy is started with.
#[derive(Debug, Clone)]
pub struct Options {
    /// Who is asked: at least one. Each has a listener of its own, in this order.
    pub upstreams: Vec<Upstream>,
    /// Where to listen.
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
    /// How often the upstream is asked again for one exchange at most.
    pub max_asks: u32,
}

/// Where to listen: each upstream has a port of its own.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ports {
    /// The address for the first upstream, the others get the ports behind it; with port 0, any free port for each.
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

/// The wires that a client can be pointed with one variable: those of OpenAI (Responses and Chat), and that of Anthropic.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Family {
    /// OpenAI's, and of the many servers that speak Chat.
    OpenAi,
    /// Anthropic's.
    Anthropic,
}

impl Family {
    /// The family of a dialect.
    pub fn of(dialect: Dialect) -> Self {
        match dialect {
            Dialect::Anthropic => Self::Anthropic,
            _ => Self::OpenAi,
        }
    }
}

/// Who is asked.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Upstream {
    /// What the operator calls it; host and port where no name is given.
    pub name: String,
    /// Its URL, as the operator wrote it.
    pub url: String,
    /// Scheme (`http` or `https`), host, port, and the path that every path of a client is put behind; a `/v1` that is in both stands
    /// there once.
    pub uri: Uri,
    /// What the base URL of its OpenAI clients ends with: `/v1`, or nothing.
    pub version: &'static str,
}

/// Why a text names no upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum NoUpstream {
    /// It cannot be read as a URL.
    #[error("this is no URL; an upstream is written as https://api.openai.com")]
    NoUrl,
    /// Neither `http` nor `https`.
    #[error("a URL of an upstream begins with https:// or http://")]
    NoScheme,
    /// `https://user:password@host`.
    #[error("a user or a password has no place in it; the agent sends its key as ever")]
    User,
    /// `https://host/?key=value`.
    #[error("a query has no place in it")]
    Query,
    /// `=https://host`, or a name with spaces.
    #[error("a name is made of letters, digits, `-`, `_` and `.`")]
    Name,
}

impl Upstream {
    /// Reads `URL` or `NAME=URL`. The URL is what the agent's own base URL is: a `/v1` at its end is what its clients end theirs with.
    pub fn parse(text: &str) -> Result<Self, NoUpstream> {
        let (name, url) = match text.split_once('=') {
            Some((name, url)) if !name.contains([':', '/']) => (Some(name), url),
            _ => (None, text),
        };
        if name.is_some_and(|name| !is_name(name)) {
            return Err(NoUpstream::Name);
        }
        if !url.contains("://") {
            return Err(NoUpstream::NoScheme);
        }
        let uri = url.parse::<Uri>().map_err(|_| NoUpstream::NoUrl)?;
        if !matches!(uri.scheme_str(), Some("http" | "https")) {
            return Err(NoUpstream::NoScheme);
        }
        let authority = uri.authority().ok_or(NoUpstream::NoUrl)?;
        if authority.as_str().contains('@') {
            return Err(NoUpstream::User);
        }
        if authority.host().is_empty() {
            return Err(NoUpstream::NoUrl);
        }
        if uri.query().is_some() || url.contains('#') {
            return Err(NoUpstream::Query);
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
            uri: uri.parse().map_err(|_| NoUpstream::NoUrl)?,
            version,
        })
    }

    /// The path that every path of a client is put behind, without a slash at its end.
    pub fn prefix(&self) -> &str {
        self.uri.path().trim_end_matches('/')
    }

    /// Whether it may speak this. A key must not reach another provider than its own, so one that is known by its host or its name
    /// to be of one family is not of the other.
    pub fn speaks(&self, family: Family) -> bool {
        let host = self.uri.host().unwrap_or_default();
        let host = host.to_ascii_lowercase();
        let ends = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
        let name = self.name.to_ascii_lowercase();
        let is_openai = name == "openai" || ends("openai.com");
        let path = self.prefix().trim_end_matches(V1);
        let is_anthropic =
            name == "anthropic" || ends("anthropic.com") || path.ends_with("/anthropic");
        match family {
            Family::OpenAi => is_openai || !is_anthropic,
            Family::Anthropic => is_anthropic || !is_openai,
        }
    }
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
            ("", NoUpstream::NoScheme),
            ("api.openai.com", NoUpstream::NoScheme),
            ("127.0.0.1:8000", NoUpstream::NoScheme),
            ("ftp://host", NoUpstream::NoScheme),
            ("unix:///tmp/socket", NoUpstream::NoUrl),
            ("https://", NoUpstream::NoUrl),
            ("https://a b", NoUpstream::NoUrl),
            ("https://user:secret@host", NoUpstream::User),
            ("https://host/?api-version=1", NoUpstream::Query),
            ("https://host/#part", NoUpstream::Query),
            ("=https://host", NoUpstream::Name),
            ("my host=https://host", NoUpstream::Name),
        ] {
            assert_eq!(Upstream::parse(text), Err(wanted), "{text}");
        }
    }

    #[test]
    fn a_provider_that_is_known_is_not_sent_the_keys_of_another() {
        let speaks = |text: &str| {
            let upstream = Upstream::parse(text).unwrap();
            [Family::OpenAi, Family::Anthropic].map(|family| upstream.speaks(family))
        };
        assert_eq!(speaks("https://api.openai.com"), [true, false]);
        assert_eq!(speaks("https://eu.api.openai.com"), [true, false]);
        assert_eq!(speaks("https://api.anthropic.com"), [false, true]);
        assert_eq!(speaks("anthropic=http://127.0.0.1:9000"), [false, true]);
        assert_eq!(speaks("https://api.deepseek.com/anthropic"), [false, true]);
        assert_eq!(speaks("https://api.z.ai/api/anthropic/v1"), [false, true]);
        assert_eq!(speaks("http://127.0.0.1:11434"), [true, true]);
        assert_eq!(speaks("https://notopenai.com"), [true, true]);
    }
}
