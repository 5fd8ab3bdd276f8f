//! Where requests go: one fixed server with a base path, to which the client's path is appended.

use crate::http::{Target, UrlError};
use hyper::Uri;
use hyper::http::uri::{Authority, Parts, PathAndQuery, Scheme};
use std::fmt;
use std::net::{IpAddr, SocketAddr, ToSocketAddrs};

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
    target: Target,
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
        let target = Target::parse(text)?;
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
mod tests {
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
