//! What a proxy is started with: plain data, made from a command line.

use crate::http::{HttpTarget, UrlError};
use hyper::header::AUTHORIZATION;
use hyper::http::uri::{Authority, Parts, PathAndQuery, Scheme};
use hyper::{HeaderMap, Uri};
use retake_core::engine::{Breakpoint, Policy};
pub use retake_core::wire::Family;
use std::fmt;
use std::net::{IpAddr, Ipv4Addr, SocketAddr, ToSocketAddrs};
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
    /// What the operator calls it; where no name is given, its host, and its port unless the scheme implies it.
    pub name: String,
    pub base: UpstreamBase,
    /// What the base URL of its OpenAI clients ends with: `/v1`, or nothing.
    pub version: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UpstreamError {
    #[error("invalid URL; an upstream is written as https://api.openai.com")]
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
        if url.contains('#') {
            return Err(UpstreamError::Query);
        }
        let base = UpstreamBase::parse(url).map_err(|error| match error {
            BaseUrlError::Url(UrlError::NoUrl) => UpstreamError::NoUrl,
            BaseUrlError::Url(UrlError::NoServer) => UpstreamError::NoScheme,
            BaseUrlError::Url(UrlError::Secret) => UpstreamError::User,
            BaseUrlError::Query => UpstreamError::Query,
        })?;
        let version = match base.path().is_empty() || base.path().ends_with(V1) {
            true => V1,
            false => "",
        };
        let name = name.map_or_else(|| base.authority().to_owned(), str::to_owned);
        Ok(Self {
            name,
            base,
            version,
        })
    }

    /// The path that precedes every path of a client, without a slash at its end.
    pub fn prefix(&self) -> &str {
        self.base.path()
    }

    /// How surely it speaks this; `None` where it does not, so that no variable sends the keys of
    /// one provider to another.
    pub fn speaks(&self, family: Family) -> Option<Fit> {
        let own = |family| match family {
            Family::OpenAi => OPENAI,
            Family::Anthropic => ANTHROPIC,
            Family::Google => GOOGLE,
            Family::Amazon => AMAZON,
        };
        let path = self.prefix().trim_end_matches(V1);
        match self.provider() {
            // Google's speaks Chat as well, at a path of its own.
            Some(provider) if provider == own(family) && !path.ends_with("/openai") => {
                return Some(Fit::Provider);
            }
            Some(OPENAI | ANTHROPIC) => return None,
            _ => {}
        }
        let by_path = [Family::OpenAi, Family::Anthropic]
            .into_iter()
            .find(|family| path.ends_with(&format!("/{}", own(*family))));
        match by_path {
            Some(found) => (found == family).then_some(Fit::Path),
            None if self.is_local() => Some(Fit::Possible),
            None if matches!(self.provider(), Some(GOOGLE | AMAZON)) => None,
            // Most servers speak as OpenAI does. That one takes Anthropic's keys, too, is for
            // the operator to say.
            None => (family == Family::OpenAi).then_some(Fit::Possible),
        }
    }

    /// The provider whose key these headers hold, where it is surely not this upstream's.
    pub(crate) fn foreign_key(&self, headers: &HeaderMap) -> Option<&'static str> {
        let owner = provider_of_key(headers)?;
        let is_foreign = match self.provider() {
            Some(provider) => provider != owner,
            None => {
                owner == ANTHROPIC && !self.is_local() && self.speaks(Family::Anthropic).is_none()
            }
        };
        is_foreign.then_some(owner)
    }

    /// Whose it is: by the operator's name for it, or by its host.
    fn provider(&self) -> Option<&'static str> {
        provider_of_name(&self.name).or_else(|| provider_of_host(self.base.name()))
    }

    /// Whether it is a server on this machine, which may speak for any provider.
    pub fn is_local(&self) -> bool {
        self.base.target.is_local()
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

/// How many ports are passed by at most where any will do.
const PASSED_BY: u16 = 100;

impl Ports {
    /// Opens a listener for each of so many upstreams, in their order. `is_in_use` says of a failure that
    /// somebody else has this port.
    pub fn open<T, E>(
        self,
        count: usize,
        mut listen: impl FnMut(SocketAddr) -> Result<T, E>,
        is_in_use: impl Fn(&E) -> bool,
    ) -> Result<Vec<T>, E> {
        let mut opened = Vec::with_capacity(count);
        let mut address = self.first;
        let mut left = if self.are_fixed { 0 } else { PASSED_BY };
        while opened.len() < count {
            match listen(address) {
                Ok(listener) => opened.push(listener),
                Err(failure) if left > 0 && is_in_use(&failure) => left -= 1,
                Err(failure) => return Err(failure),
            }
            if address.port() != 0 {
                // After the last port there is none; the last one is in use then, and says so.
                address.set_port(address.port().saturating_add(1));
            }
        }
        Ok(opened)
    }
}

const OPENAI: &str = "openai";
const ANTHROPIC: &str = "anthropic";
const GOOGLE: &str = "google";
const AMAZON: &str = "bedrock";

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
    (AMAZON, "amazonaws.com", &["bedrock-api-key-", "ABSK"]),
];

fn provider_of_name(name: &str) -> Option<&'static str> {
    let mut providers = PROVIDERS.iter();
    let found = providers.find(|(known, _, _)| known.eq_ignore_ascii_case(name));
    found.map(|(name, _, _)| *name)
}

fn provider_of_host(host: &str) -> Option<&'static str> {
    let host = host.to_ascii_lowercase();
    let is_at = |domain: &str| host == domain || host.ends_with(&format!(".{domain}"));
    let found = PROVIDERS.iter().find(|(_, domain, _)| is_at(domain));
    found.map(|(name, _, _)| *name)
}

/// The provider whose key a client sends.
fn provider_of_key(headers: &HeaderMap) -> Option<&'static str> {
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

// Where requests go: one fixed server with a base path, to which the client's path is appended.

/// What a version is called in the paths of all three APIs. Some clients want it in their base URL and some add
/// it themselves, so that it can be there twice.
const VERSION: &str = "/v1";

/// The base URL of an upstream.
///
/// The client's path is appended to the base path as it is, and never read as a URL: whatever a client sends,
/// host and port stay these. One thing is changed: a `/v1` that would appear twice at the seam appears once, so
/// that a base URL may be given with and without it.
#[derive(Clone, PartialEq, Eq)]
pub struct UpstreamBase {
    target: HttpTarget,
    scheme: Scheme,
    authority: Authority,
    /// Without a slash at its end.
    path: String,
}

/// Why a text is no base URL. The text itself may hold a secret and is not repeated.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BaseUrlError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("a base URL has no query; the agent's own requests bring it")]
    Query,
}

impl UpstreamBase {
    pub fn parse(text: &str) -> Result<Self, BaseUrlError> {
        let target = HttpTarget::parse(text)?;
        if target.has_query() {
            return Err(BaseUrlError::Query);
        }
        let scheme = match target.is_encrypted() {
            true => Scheme::HTTPS,
            false => Scheme::HTTP,
        };
        let authority = target.authority().parse().map_err(|_| UrlError::NoUrl)?;
        let path = target.path().trim_end_matches('/').to_owned();
        Ok(Self {
            target,
            scheme,
            authority,
            path,
        })
    }

    pub fn host(&self) -> String {
        self.target.host()
    }

    /// The host, without its port.
    pub fn name(&self) -> &str {
        self.target.name()
    }

    /// The path that precedes every path of a client; a `/v1` that is in both appears once.
    pub fn path(&self) -> &str {
        &self.path
    }

    /// What the `Host` line of a request says.
    pub fn authority(&self) -> &str {
        self.authority.as_str()
    }

    pub fn is_encrypted(&self) -> bool {
        self.target.is_encrypted()
    }

    /// The URL of what a client asks for.
    pub(crate) fn join(&self, path_and_query: &PathAndQuery) -> Result<Uri, hyper::http::Error> {
        let mut rest = path_and_query.as_str();
        let base_ends = self.path.ends_with(VERSION);
        while let Some(shorter) = rest.strip_prefix(VERSION)
            && (is_segment(shorter) && base_ends || is_segment_and_more(shorter))
        {
            rest = shorter;
        }
        let path = if self.path.is_empty() && rest.len() == path_and_query.as_str().len() {
            path_and_query.clone()
        } else {
            PathAndQuery::try_from(format!("{}{rest}", self.path))?
        };
        let mut parts = Parts::default();
        parts.scheme = Some(self.scheme.clone());
        parts.authority = Some(self.authority.clone());
        parts.path_and_query = Some(path);
        Ok(Uri::from_parts(parts)?)
    }

    /// Whether requests would come back to a listener at this address. A name that cannot
    /// be resolved leads nowhere.
    pub fn is_at(&self, listener: SocketAddr) -> bool {
        let port = self.target.port();
        if port != listener.port() {
            return false;
        }
        let name = self.name().trim_matches(['[', ']']);
        let Ok(addresses) = (name, port).to_socket_addrs() else {
            return false;
        };
        let is_here = |ip: IpAddr| {
            let ip = ip.to_canonical();
            // A listener on every address is at each address of this machine; which those are,
            // only binding one tells.
            let is_ours = || std::net::TcpListener::bind((ip, 0)).is_ok();
            ip == listener.ip().to_canonical()
                || ip.is_unspecified()
                || listener.ip().is_unspecified() && (ip.is_loopback() || is_ours())
        };
        addresses.into_iter().any(|address| is_here(address.ip()))
    }
}

/// Whether the text after `/v1` shows that it was a whole segment.
fn is_segment(rest: &str) -> bool {
    rest.is_empty() || rest.starts_with(['/', '?'])
}

/// Whether the text after `/v1` is another `/v1`.
fn is_segment_and_more(rest: &str) -> bool {
    rest.strip_prefix(VERSION).is_some_and(is_segment)
}

impl fmt::Debug for UpstreamBase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.target.fmt(f)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::io;
    use std::net::TcpListener;

    fn parsed(text: &str) -> (String, String, String, &'static str) {
        let upstream = Upstream::parse(text).unwrap();
        let prefix = upstream.prefix().to_owned();
        let origin = upstream.base.authority().to_owned();
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
            ("http://[::1]:80", whole("[::1]", "[::1]", "", "/v1")),
            ("http://[::1]:81", whole("[::1]:81", "[::1]:81", "", "/v1")),
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
            ("unix:///tmp/socket", UpstreamError::NoScheme),
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
            // Gateways that take the keys of their upstreams.
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

    fn taken(port: u16, are_fixed: bool, count: usize) -> io::Result<Vec<TcpListener>> {
        let first = SocketAddr::from(([127, 0, 0, 1], port));
        let in_use = |error: &io::Error| error.kind() == io::ErrorKind::AddrInUse;
        Ports { first, are_fixed }.open(count, TcpListener::bind, in_use)
    }

    fn ports(listeners: &[TcpListener]) -> Vec<u16> {
        let ports = listeners.iter();
        ports.map(|one| one.local_addr().unwrap().port()).collect()
    }

    #[test]
    fn a_port_in_use_is_passed_by_unless_it_was_asked_for() {
        let other = TcpListener::bind(("127.0.0.1", 0)).unwrap();
        let port = other.local_addr().unwrap().port();
        let found = ports(&taken(port, false, 1).unwrap());
        assert!(found[0] > port, "{found:?}");
        let refused = taken(port, true, 1).unwrap_err();
        assert_eq!(refused.kind(), io::ErrorKind::AddrInUse);
    }

    #[test]
    fn each_upstream_has_a_port_of_its_own() {
        let any = ports(&taken(0, true, 3).unwrap());
        assert!(any[0] != any[1] && any[1] != any[2] && any[0] != any[2]);
        let begun = ports(&taken(any[0], false, 3).unwrap());
        assert!(begun[0] < begun[1] && begun[1] < begun[2], "{begun:?}");
    }

    #[test]
    fn behind_the_last_port_is_none() {
        // The last one may be in use by somebody else; then there is none either.
        assert!(taken(u16::MAX, true, 2).is_err());
    }
}

#[cfg(test)]
mod base_tests {
    use super::*;

    fn joined(base: &str, path_and_query: &str) -> String {
        let path_and_query = PathAndQuery::try_from(path_and_query).unwrap();
        UpstreamBase::parse(base)
            .unwrap()
            .join(&path_and_query)
            .unwrap()
            .to_string()
    }

    #[test]
    fn the_path_is_appended_and_a_doubled_v1_collapses() {
        for (base, path_and_query, whole) in [
            ("http://a", "/v1/x?q=1", "http://a/v1/x?q=1"),
            ("http://a", "/x", "http://a/x"),
            ("http://a/", "/v1/v1/x", "http://a/v1/x"),
            ("http://a/v1", "/v1/x", "http://a/v1/x"),
            ("http://a/v1/", "/x", "http://a/v1/x"),
            ("http://a/v1", "/v1/v1/x", "http://a/v1/x"),
            ("http://a/v1", "/v1", "http://a/v1"),
            ("http://a/v1", "/v10/x", "http://a/v1/v10/x"),
            ("http://a", "/v1/v10/x", "http://a/v1/v10/x"),
            ("https://a/openai/v1", "/v1/x", "https://a/openai/v1/x"),
            ("https://a:443/api", "/v1/x", "https://a/api/v1/x"),
            ("http://a", "/x/v1/v1", "http://a/x/v1/v1"),
            ("http://[::1]:8080", "/x", "http://[::1]:8080/x"),
        ] {
            assert_eq!(
                joined(base, path_and_query),
                whole,
                "{base} {path_and_query}"
            );
        }
    }

    #[test]
    fn c04_no_path_leads_to_another_host() {
        for path_and_query in [
            "//evil.example/v1",
            "/@evil.example/v1",
            "/\\evil.example/v1",
            "/x@evil.example",
            "/:80@evil.example",
            "/v1/x?api_base=http://evil.example",
            "/http://evil.example/",
        ] {
            for base in ["http://good.example:81", "http://good.example:81/v1"] {
                let path_and_query = PathAndQuery::try_from(path_and_query).unwrap();
                let uri = UpstreamBase::parse(base)
                    .unwrap()
                    .join(&path_and_query)
                    .unwrap();
                assert_eq!(
                    uri.authority().unwrap(),
                    "good.example:81",
                    "{path_and_query}"
                );
                assert!(uri.path().starts_with('/'));
            }
        }
    }

    #[test]
    fn what_is_no_base_is_refused_without_repeating_it() {
        for (text, why) in [
            ("api.openai.com", BaseUrlError::Url(UrlError::NoUrl)),
            ("file:///etc/passwd", BaseUrlError::Url(UrlError::NoServer)),
            (
                "https://user:hunter2@a",
                BaseUrlError::Url(UrlError::Secret),
            ),
            ("https://a/v1?key=hunter2", BaseUrlError::Query),
        ] {
            let error = UpstreamBase::parse(text).unwrap_err();
            assert_eq!(error, why);
            assert!(!error.to_string().contains("hunter2"));
        }
    }

    #[test]
    fn c09_an_upstream_that_is_the_listener_is_recognized() {
        let base = |text: &str| UpstreamBase::parse(text).unwrap();
        let here = SocketAddr::from(([127, 0, 0, 1], 4321));
        let everywhere = SocketAddr::from(([0, 0, 0, 0], 4321));
        for text in [
            "http://127.0.0.1:4321/v1",
            "http://localhost:4321",
            "http://0.0.0.0:4321",
        ] {
            assert!(base(text).is_at(here), "{text}");
            assert!(base(text).is_at(everywhere), "{text}");
        }
        assert!(base("http://[::ffff:127.0.0.1]:4321").is_at(here));
        for text in [
            "http://127.0.0.1:4322",
            "http://192.0.2.1:4321",
            "https://127.0.0.1",
        ] {
            assert!(
                !base(text).is_at(here) && !base(text).is_at(everywhere),
                "{text}"
            );
        }
    }
}
