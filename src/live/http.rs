//! Requests over HTTP: the one file that knows the client library, and everything that it must
//! not do by itself.
//!
//! No redirect is followed (a key in `x-api-key` would go along), no proxy is taken from the environment,
//! nothing is decompressed, no request is sent twice, and no error text holds a URL.

use bytes::{Bytes, BytesMut};
/// What a client of ours reports to a library that sends through it ([`Http::into_client`]).
pub(crate) use reqwest::Error as ClientError;
use reqwest::header::{HeaderMap, HeaderName, HeaderValue};
use reqwest::{Client, Response, Url, redirect};
use retake_core::redact::{HeaderSecret, secrets_of_header};
use std::error::Error;
use std::fmt;
use std::io::{self, ErrorKind};
use std::net::IpAddr;
use std::sync::Once;
use std::time::Duration;

/// What retake calls itself.
const USER_AGENT: &str = concat!("retake/", env!("CARGO_PKG_VERSION"));

/// A webhook is called once, with a short limit.
const WEBHOOK: Duration = Duration::from_secs(5);

/// The most bytes that go to a webhook.
const WEBHOOK_BODY: usize = 64 * 1024;

/// Where a request goes: `http` or `https`, without a user or a password.
#[derive(Clone, PartialEq, Eq)]
pub struct HttpTarget(Url);

/// Why a text is no [`HttpTarget`]. The text itself may hold a secret and is not repeated.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum UrlError {
    #[error("invalid URL")]
    NoUrl,
    /// Its scheme is neither `http` nor `https`, or it has no host.
    #[error("a URL of a server begins with http:// or https://")]
    NoServer,
    #[error("a URL may not hold a user or a password; put the key into the environment")]
    Secret,
}

impl HttpTarget {
    /// Reads a URL. A fragment is dropped, a query stays.
    pub fn parse(text: &str) -> Result<Self, UrlError> {
        let mut url = Url::parse(text.trim()).map_err(|_| UrlError::NoUrl)?;
        if !matches!(url.scheme(), "http" | "https") || url.host_str().is_none() {
            return Err(UrlError::NoServer);
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err(UrlError::Secret);
        }
        url.set_fragment(None);
        Ok(Self(url))
    }

    pub fn path(&self) -> &str {
        self.0.path()
    }

    /// The same server and query with another path.
    pub fn with_path(&self, path: &str) -> Self {
        let mut url = self.0.clone();
        url.set_path(path);
        Self(url)
    }

    /// The same server with this path after its own, and with the query of both.
    pub fn with_path_behind(&self, path_and_query: &str) -> Self {
        let (path, query) = match path_and_query.split_once('?') {
            Some((path, query)) => (path, Some(query)),
            None => (path_and_query, None),
        };
        let mut url = self.0.clone();
        url.set_path(&format!("{}/{path}", self.0.path().trim_end_matches('/')));
        if let Some(query) = query {
            let own = self.0.query().map(|own| format!("{own}&{query}"));
            url.set_query(Some(own.as_deref().unwrap_or(query)));
        }
        Self(url)
    }

    pub fn host(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port_or_known_default() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// Host and port as a `Host` line says them: without the port that the scheme implies.
    pub(crate) fn authority(&self) -> String {
        let host = self.0.host_str().unwrap_or_default();
        match self.0.port() {
            Some(port) => format!("{host}:{port}"),
            None => host.to_owned(),
        }
    }

    /// The host without its port, an IPv6 address in brackets.
    pub(crate) fn name(&self) -> &str {
        self.0.host_str().unwrap_or_default()
    }

    /// Whether it is a server on this machine.
    pub fn is_local(&self) -> bool {
        let host = self.name().trim_start_matches('[').trim_end_matches(']');
        let address = host.parse::<IpAddr>();
        host.eq_ignore_ascii_case("localhost") || address.is_ok_and(|ip| ip.is_loopback())
    }

    /// The port, also where the scheme implies it.
    pub(crate) fn port(&self) -> u16 {
        self.0.port_or_known_default().unwrap_or_default()
    }

    pub(crate) fn has_query(&self) -> bool {
        self.0.query().is_some()
    }

    pub(crate) fn is_encrypted(&self) -> bool {
        self.0.scheme() == "https"
    }
}

impl fmt::Debug for HttpTarget {
    /// Without the query, which may hold a key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}://{}{}", self.0.scheme(), self.host(), self.path())
    }
}

/// Header lines of a request; a later line replaces an earlier one of the same name.
#[derive(Clone, Default)]
pub struct Headers(HeaderMap);

/// A header's name or value holds characters that HTTP does not allow.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error(
    "the header {name} cannot be sent: its name or its value holds characters that HTTP does not allow"
)]
pub struct HeaderError {
    name: String,
}

impl Headers {
    /// Sets a line. Its value is taken for a secret.
    pub fn set(&mut self, name: &str, value: &str) -> Result<(), HeaderError> {
        let bad = || HeaderError {
            name: name.escape_default().to_string(),
        };
        let key = HeaderName::from_bytes(name.as_bytes()).map_err(|_| bad())?;
        let mut value = HeaderValue::from_str(value).map_err(|_| bad())?;
        value.set_sensitive(true);
        self.0.insert(key, value);
        Ok(())
    }
}

impl Headers {
    /// The lines, for whoever sends the request.
    pub(crate) fn lines<C: FromIterator<(HeaderName, HeaderValue)>>(&self) -> C {
        let lines = self.0.iter();
        lines
            .map(|(name, value)| (name.clone(), value.clone()))
            .collect()
    }
}

impl fmt::Debug for Headers {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.keys()).finish()
    }
}

/// Why a request brought no reply, or not all of it. No text of it holds a URL.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Broken {
    #[error("the connection is refused")]
    Refused,
    #[error("the name of the host cannot be resolved")]
    NoName,
    #[error("no connection in time")]
    NoConnection,
    /// There is no trust in the server, or it does not speak TLS.
    #[error("no safe connection: {0}")]
    Tls(String),
    #[error("the host cannot be reached: {0}")]
    Unreachable(String),
    /// The connection ended too early, or what came was not HTTP.
    #[error("the connection broke off: {0}")]
    Cut(String),
}

impl Broken {
    fn new(error: reqwest::Error) -> Self {
        let error = error.without_url();
        let words = error.to_string();
        Self::of(&error, words)
    }

    /// Whether something may have reached the host. TLS can fail after a request, too.
    pub fn may_have_arrived(&self) -> bool {
        matches!(self, Self::Cut(_) | Self::Tls(_))
    }

    /// What an error comes to; `words` tell it where it has no cause.
    pub(crate) fn of(error: &ClientError, words: String) -> Self {
        if error.is_connect() && error.is_timeout() {
            return Self::NoConnection;
        }
        Self::because(error.source(), words, error.is_connect())
    }

    /// What a chain of causes comes to; `words` tell it where there is none. `is_connect`:
    /// no connection was made.
    pub(crate) fn because(
        mut cause: Option<&(dyn Error + 'static)>,
        mut words: String,
        is_connect: bool,
    ) -> Self {
        let (mut tls, mut name, mut refused, mut late) = (None, false, false, false);
        let mut has_no_end = false;
        while let Some(at) = cause {
            words = at.to_string();
            name |= words == "dns error";
            let io = at.downcast_ref::<io::Error>();
            refused |= io.is_some_and(|io| io.kind() == ErrorKind::ConnectionRefused);
            late |= io.is_some_and(|io| io.kind() == ErrorKind::TimedOut);
            has_no_end |= io.is_some_and(|io| io.kind() == ErrorKind::UnexpectedEof);
            if at.is::<rustls::Error>() {
                tls = Some(words.clone());
            }
            // What an I/O error wraps is not among its sources.
            let wrapped = io.and_then(io::Error::get_ref);
            cause = wrapped
                .map(|inner| inner as &(dyn Error + 'static))
                .or_else(|| at.source());
        }
        match tls {
            Some(tls) => Self::Tls(tls),
            None if !is_connect && has_no_end => Self::Cut("the reply has no end".to_owned()),
            None if !is_connect => Self::Cut(words),
            None if late => Self::NoConnection,
            None if name => Self::NoName,
            None if refused => Self::Refused,
            None => Self::Unreachable(words),
        }
    }
}

/// No client can be made on this system: its certificates cannot be read.
#[derive(Debug, thiserror::Error)]
#[error("no HTTP client: {0}")]
pub struct HttpClientError(#[source] reqwest::Error);

/// A client with its connections. They belong to the tokio runtime in which it is used first.
#[derive(Debug, Clone)]
pub struct Http(Client);

impl Http {
    /// A client for a target, with a limit for making a connection. The certificates of the system are read
    /// where they are needed.
    pub fn new(target: &HttpTarget, connect: Duration) -> Result<Self, HttpClientError> {
        Self::trusting(target.is_encrypted(), true, connect)
    }

    /// A client for TLS or without it. A server that is not verified need not prove who it is, since the
    /// operator has named it.
    pub(crate) fn trusting(
        is_encrypted: bool,
        is_verified: bool,
        connect: Duration,
    ) -> Result<Self, HttpClientError> {
        static PROVIDER: Once = Once::new();
        PROVIDER.call_once(|| {
            // Refused where one is installed already; then that one serves.
            let _ = rustls::crypto::ring::default_provider().install_default();
        });
        let builder = Client::builder()
            .user_agent(USER_AGENT)
            .redirect(redirect::Policy::none())
            .referer(false)
            .no_proxy()
            .no_gzip()
            .no_brotli()
            .no_zstd()
            .no_deflate()
            .http1_only()
            .connect_timeout(connect)
            .tls_danger_accept_invalid_certs(!is_verified);
        let builder = match is_encrypted && is_verified {
            true => builder,
            false => builder.tls_certs_only([]),
        };
        builder.build().map(Self).map_err(HttpClientError)
    }

    /// The client itself, for a library that sends requests of its own.
    pub(crate) fn into_client(self) -> Client {
        self.0
    }

    /// Sends a request and waits for the head of the reply. Sets no limit of time but that of the connection.
    pub async fn post(
        &self,
        target: &HttpTarget,
        headers: Headers,
        body: Vec<u8>,
    ) -> Result<Incoming, Broken> {
        let request = self.0.post(target.0.clone()).headers(headers.0).body(body);
        request.send().await.map(Incoming).map_err(Broken::new)
    }
}

/// A reply whose head has come.
#[derive(Debug)]
pub struct Incoming(Response);

impl Incoming {
    pub fn status(&self) -> u16 {
        self.0.status().as_u16()
    }

    /// What the status is called; empty for one without a name.
    pub fn reason(&self) -> &'static str {
        self.0.status().canonical_reason().unwrap_or_default()
    }

    /// The first header line of this name, where it is text.
    pub fn header(&self, name: &str) -> Option<&str> {
        self.0.headers().get(name)?.to_str().ok()
    }

    /// The next bytes of the body; `None` at its end.
    pub async fn next(&mut self) -> Result<Option<Bytes>, Broken> {
        self.0.chunk().await.map_err(Broken::new)
    }

    /// The first bytes of the body, up to a limit. What broke off is cut there: this is for error texts.
    pub async fn beginning(&mut self, limit: usize) -> Bytes {
        let mut body = BytesMut::new();
        while body.len() < limit
            && let Ok(Some(more)) = self.next().await
        {
            body.extend_from_slice(&more[..more.len().min(limit - body.len())]);
        }
        body.freeze()
    }
}

#[derive(Debug, thiserror::Error)]
pub enum PostError {
    #[error(transparent)]
    Url(#[from] UrlError),
    #[error("the text has more than {} KiB", WEBHOOK_BODY / 1024)]
    TooLong,
    #[error(transparent)]
    Client(#[from] HttpClientError),
    #[error(transparent)]
    Broken(#[from] Broken),
    #[error("the server answers with status {0}")]
    Status(u16),
    #[error("no answer within {} seconds", WEBHOOK.as_secs())]
    Late,
}

/// Posts JSON and waits five seconds at most for a status of 2xx. Nothing is tried again, and the
/// reply is not read.
///
/// What the JSON holds is the caller's to redact.
pub async fn post_json(url: &str, json: String) -> Result<(), PostError> {
    let target = HttpTarget::parse(url)?;
    if json.len() > WEBHOOK_BODY {
        return Err(PostError::TooLong);
    }
    let http = Http::new(&target, WEBHOOK)?;
    let mut headers = Headers::default();
    headers.0.insert(
        reqwest::header::CONTENT_TYPE,
        HeaderValue::from_static("application/json"),
    );
    let posted = http.post(&target, headers, json.into_bytes());
    let Ok(reply) = tokio::time::timeout(WEBHOOK, posted).await else {
        return Err(PostError::Late);
    };
    match reply?.status() {
        200..300 => Ok(()),
        status => Err(PostError::Status(status)),
    }
}

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
    use std::io::{Read, Write};
    use std::net::TcpListener;
    use std::thread::JoinHandle;

    /// A server that reads one request and answers it.
    fn server(answer: &'static str) -> (String, JoinHandle<String>) {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let url = format!(
            "http://{}/hook?token=hunter2",
            listener.local_addr().unwrap()
        );
        let seen = std::thread::spawn(move || {
            let (mut client, _) = listener.accept().unwrap();
            let mut bytes = Vec::new();
            while !bytes.ends_with(b"}") {
                let mut more = [0; 1024];
                let count = client.read(&mut more).unwrap();
                bytes.extend_from_slice(&more[..count]);
            }
            client.write_all(answer.as_bytes()).unwrap();
            String::from_utf8(bytes).unwrap()
        });
        (url, seen)
    }

    #[tokio::test]
    async fn a_webhook_is_told_once_as_json() {
        let (url, seen) = server("HTTP/1.1 204 No Content\r\n\r\n");
        post_json(&url, "{\"tool\":\"find\"}".to_owned())
            .await
            .unwrap();
        let request = seen.join().unwrap();
        assert!(
            request.starts_with("POST /hook?token=hunter2 "),
            "{request}"
        );
        assert!(request.contains("content-type: application/json\r\n"));
        assert!(request.ends_with("\r\n\r\n{\"tool\":\"find\"}"));
    }

    #[tokio::test]
    async fn a_webhook_that_fails_says_so_without_its_url() {
        for (answer, why) in [
            (
                "HTTP/1.1 500 X\r\n\r\n",
                "the server answers with status 500",
            ),
            (
                "HTTP/1.1 302 X\r\nlocation: http://127.0.0.1:1\r\n\r\n",
                "the server answers with status 302",
            ),
            ("what?", "the connection broke off: "),
        ] {
            let (url, seen) = server(answer);
            let error = post_json(&url, "{}".to_owned())
                .await
                .unwrap_err()
                .to_string();
            assert!(
                error.starts_with(why) && !error.contains("hunter2"),
                "{error}"
            );
            seen.join().unwrap();
        }
        let long = "x".repeat(WEBHOOK_BODY + 1);
        let refused = post_json("http://127.0.0.1:1", long).await;
        assert!(matches!(refused, Err(PostError::TooLong)));
        let refused = post_json("file:///etc/passwd", String::new()).await;
        assert!(matches!(refused, Err(PostError::Url(UrlError::NoServer))));
    }

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
