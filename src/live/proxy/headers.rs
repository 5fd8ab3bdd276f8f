//! Which header lines go on, in both directions.
//!
//! Nothing is copied by default: what belongs to one connection ends here, and the framing of what goes
//! on is made anew.

use super::body::{self, Body};
use hyper::header::{
    ACCEPT, ACCEPT_ENCODING, AUTHORIZATION, CACHE_CONTROL, CONNECTION, CONTENT_ENCODING,
    CONTENT_LENGTH, CONTENT_TYPE, COOKIE, EXPECT, HOST, HeaderName, HeaderValue, RETRY_AFTER,
    SET_COOKIE, TE, TRAILER, TRANSFER_ENCODING, UPGRADE, VIA, WWW_AUTHENTICATE,
};
use hyper::http::response::Parts;
use hyper::rt::{Read, ReadBuf, ReadBufCursor, Write};
use hyper::{HeaderMap, Response, StatusCode, Uri};
use hyper_util::client::legacy::connect::{Connected, Connection};
use retake_core::exchange::machine::BodyShape;
use retake_core::session::Dialect;
use std::io::{self, ErrorKind, IoSlice};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use tower_service::Service;

/// What retake calls itself in `Via`; a request that comes with it has gone round.
const VIA_US: &str = "1.1 retake";

/// Carries the token of a listener that others can reach. It never goes on.
pub const TOKEN: HeaderName = HeaderName::from_static("x-retake-token");

/// Lines that belong to one connection, or that are made anew for the next one (RFC 9110, section 7.6.1).
static OF_A_CONNECTION: [HeaderName; 14] = [
    CONNECTION,
    CONTENT_LENGTH,
    EXPECT,
    HOST,
    TE,
    TOKEN,
    TRAILER,
    TRANSFER_ENCODING,
    UPGRADE,
    HeaderName::from_static("http2-settings"),
    HeaderName::from_static("keep-alive"),
    HeaderName::from_static("proxy-authenticate"),
    HeaderName::from_static("proxy-authorization"),
    HeaderName::from_static("proxy-connection"),
];

/// Lines that no `Connection` line can strip: credentials, and what a message means.
static END_TO_END: [HeaderName; 17] = [
    ACCEPT,
    AUTHORIZATION,
    CONTENT_ENCODING,
    CONTENT_TYPE,
    COOKIE,
    RETRY_AFTER,
    SET_COOKIE,
    VIA,
    WWW_AUTHENTICATE,
    HeaderName::from_static("anthropic-beta"),
    HeaderName::from_static("anthropic-version"),
    HeaderName::from_static("api-key"),
    HeaderName::from_static("openai-organization"),
    HeaderName::from_static("openai-project"),
    HeaderName::from_static("x-api-key"),
    HeaderName::from_static("x-goog-api-key"),
    HeaderName::from_static("x-should-retry"),
];

/// Encodings that are decoded for looking ([`super::decode`]).
const DECODED: &[&str] = &["gzip", "x-gzip", "deflate", "br", "zstd", "identity"];

/// The lines of a message that go on, in their order.
pub(crate) fn end_to_end(headers: &HeaderMap) -> HeaderMap {
    let listed = listed(headers);
    let mut onward = HeaderMap::with_capacity(headers.len() + 2);
    for (name, value) in headers {
        if !OF_A_CONNECTION.contains(name) && !listed.contains(name) {
            onward.append(name.clone(), value.clone());
        }
    }
    onward
}

/// Names that the `Connection` lines strip.
fn listed(headers: &HeaderMap) -> Vec<HeaderName> {
    let lines = headers.get_all(CONNECTION).iter();
    let words = lines.filter_map(|line| line.to_str().ok());
    let names = words.flat_map(|line| line.split(','));
    let names = names.filter_map(|name| name.trim().parse::<HeaderName>().ok());
    names.filter(|name| !END_TO_END.contains(name)).collect()
}

/// Adds what tells that a request has passed here.
pub(crate) fn sign(headers: &mut HeaderMap) {
    headers.append(VIA, HeaderValue::from_static(VIA_US));
}

/// Whether a request has passed here before.
pub(crate) fn has_gone_round(headers: &HeaderMap) -> bool {
    let lines = headers.get_all(VIA).iter();
    let mut stations = lines.flat_map(|line| line.as_bytes().split(|byte| *byte == b','));
    stations.any(|station| station.trim_ascii().eq_ignore_ascii_case(VIA_US.as_bytes()))
}

/// Asks for encodings only that can be decoded for looking. A client that names none is not spoken for.
pub(crate) fn ask_for_readable(headers: &mut HeaderMap) {
    let lines = headers.get_all(ACCEPT_ENCODING).iter();
    let lines = lines.map(|line| line.to_str().unwrap_or_default());
    let requested = lines.collect::<Vec<_>>().join(",");
    if requested.is_empty() {
        return;
    }
    let is_decoded = |entry: &&str| {
        let coding = entry.split(';').next().unwrap_or_default().trim();
        DECODED
            .iter()
            .any(|known| coding.eq_ignore_ascii_case(known))
    };
    let kept = requested.split(',').map(str::trim).filter(is_decoded);
    let kept = kept.collect::<Vec<_>>().join(", ");
    match HeaderValue::from_str(&kept) {
        Ok(value) if !kept.is_empty() => headers.insert(ACCEPT_ENCODING, value),
        _ => headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity")),
    };
}

/// How a body is encoded, by all lines that say so: codings in the order in which they were applied, in small
/// letters. Empty where it is plain.
pub(crate) fn content_encoding(headers: &HeaderMap) -> String {
    let lines = headers.get_all(CONTENT_ENCODING).iter();
    let lines = lines.map(|line| String::from_utf8_lossy(line.as_bytes()).to_ascii_lowercase());
    let lines = lines.collect::<Vec<_>>().join(",");
    let codings = lines.split(',').map(str::trim);
    let codings = codings.filter(|coding| !matches!(*coding, "" | "identity"));
    codings.collect::<Vec<_>>().join(", ")
}

/// Asks for no encoding at all: a stream is read while it flows.
pub fn ask_for_plain(headers: &mut HeaderMap) {
    headers.insert(ACCEPT_ENCODING, HeaderValue::from_static("identity"));
}

// Heads of replies to a client: the upstream's, and those that retake makes.

/// Tells the SDKs of OpenAI and Anthropic that the same request would
/// fail again (openai-python, `_base_client.py`).
pub(crate) const SHOULD_RETRY: HeaderName = HeaderName::from_static("x-should-retry");

/// The head of an upstream's reply whose body passes as it comes.
pub(crate) fn same_head(upstream: &Parts) -> Parts {
    with_length(upstream, upstream.headers.get(CONTENT_LENGTH).cloned())
}

/// The head of an upstream's reply, for a body of this length, or of one that is not known yet.
pub(crate) fn reply_head(upstream: &Parts, length: Option<usize>) -> Parts {
    with_length(upstream, length.map(HeaderValue::from))
}

fn with_length(upstream: &Parts, length: Option<HeaderValue>) -> Parts {
    let mut head = parts(upstream.status);
    head.headers = end_to_end(&upstream.headers);
    if let Some(length) = length {
        head.headers.insert(CONTENT_LENGTH, length);
    }
    head
}

/// The head of a stream that begins before the upstream is called.
pub(crate) fn stream_head() -> Parts {
    let mut head = parts(StatusCode::OK);
    let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
    head.headers.insert(CONTENT_TYPE, kind);
    let cache = HeaderValue::from_static("no-cache");
    head.headers.insert(CACHE_CONTROL, cache);
    head
}

/// The head of an error that retake made.
pub(crate) fn error_head(status: u16) -> Parts {
    let mut head = parts(StatusCode::from_u16(status).unwrap_or(StatusCode::BAD_GATEWAY));
    let kind = HeaderValue::from_static("application/json");
    head.headers.insert(CONTENT_TYPE, kind);
    head.headers
        .insert(SHOULD_RETRY, HeaderValue::from_static("false"));
    head
}

/// The head of an error as a provider gives it: nothing keeps the client from trying again, and with 429
/// it is given the time.
pub(crate) fn provider_error_head(status: u16) -> Parts {
    let mut head = error_head(status);
    head.headers.remove(SHOULD_RETRY);
    if head.status == StatusCode::TOO_MANY_REQUESTS {
        head.headers
            .insert(RETRY_AFTER, HeaderValue::from_static("1"));
    }
    head
}

fn parts(status: StatusCode) -> Parts {
    let mut reply = Response::new(());
    *reply.status_mut() = status;
    reply.into_parts().0
}

/// What the body of a reply is, by its head.
pub(crate) fn shape_of(head: &Parts) -> BodyShape {
    if !content_encoding(&head.headers).is_empty() {
        return BodyShape::Opaque;
    }
    let kind = word(&head.headers, "content-type").unwrap_or_default();
    match kind.split(';').next().unwrap_or_default().trim() {
        "text/event-stream" => BodyShape::Stream,
        "application/json" => BodyShape::Whole,
        _ => BodyShape::Opaque,
    }
}

fn word(headers: &HeaderMap, name: &str) -> Option<String> {
    let value = headers.get(name)?.to_str().ok()?;
    Some(value.trim().to_ascii_lowercase())
}

/// Most characters of an error text.
const TEXT: usize = 500;

/// An error in the dialect of a path, or in OpenAI's where none is spoken. Control characters of the text are
/// escaped, and it is cut at 500 characters.
pub fn error(dialect: Option<Dialect>, status: StatusCode, text: &str) -> Response<Body> {
    let dialect = dialect.unwrap_or_default();
    let spelled = dialect
        .codec()
        .error(status.as_u16(), &plain(text), None, "retake")
        .to_string();
    Response::from_parts(error_head(status.as_u16()), body::whole(spelled))
}

fn plain(text: &str) -> String {
    let mut plain = String::from("retake: ");
    for char in text.chars().take(TEXT) {
        match char.is_control() {
            true => plain.extend(char.escape_default()),
            false => plain.push(char),
        }
    }
    match plain.char_indices().nth(TEXT - 1) {
        Some((at, _)) => format!("{}…", &plain[..at]),
        None => plain,
    }
}

// Heads of replies must end their lines as HTTP does (RFC 9112, section 2.2). The parser below takes a line
// feed alone for the end of a line, so that a server beyond the upstream that lets one through could add
// header lines of its own; such a reply is none.

/// How much of a head is read at a time.
const PIECE: usize = 4096;
/// What the first line of a request ends with.
const REQUEST: &[u8] = b" HTTP/1.1";

/// Makes connections whose replies are looked at.
#[derive(Debug, Clone)]
pub(crate) struct StrictHeads<C>(pub(crate) C);

impl<C> Service<Uri> for StrictHeads<C>
where
    C: Service<Uri>,
    C::Future: Send + 'static,
{
    type Response = CheckedConnection<C::Response>;
    type Error = C::Error;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, C::Error>> + Send>>;

    fn poll_ready(&mut self, cx: &mut Context<'_>) -> Poll<Result<(), C::Error>> {
        self.0.poll_ready(cx)
    }

    fn call(&mut self, uri: Uri) -> Self::Future {
        let connecting = self.0.call(uri);
        Box::pin(async move { connecting.await.map(CheckedConnection::new) })
    }
}

/// A connection whose replies are looked at, from each request to the end of the head that answers it.
#[derive(Debug)]
pub(crate) struct CheckedConnection<T> {
    inner: T,
    head: Head,
    /// A reply came before, so that the connection was kept for this request.
    is_kept: bool,
}

/// A server has closed a connection that was kept, before a byte of the next reply came.
#[derive(Debug, thiserror::Error)]
#[error("the upstream closed a kept connection over the request")]
pub(crate) struct KeptClosed;

/// How far the head of a reply has come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Head {
    /// It is over, and the body passes.
    Over,
    Comes {
        /// So many bytes of the blank line that ends it have come (of CR LF CR LF), in their order.
        ended: u8,
        /// How many bytes have come, as far as its status.
        place: u8,
        /// Whether it is an interim one, which another follows: its status begins with 1.
        is_interim: bool,
    },
}

/// Where the status begins after `HTTP/1.1`.
const STATUS: u8 = 9;

impl<T> CheckedConnection<T> {
    fn new(inner: T) -> Self {
        Self {
            inner,
            head: Head::BEGINS,
            is_kept: false,
        }
    }

    /// Whether a request was sent on a kept connection, and nothing of its reply has come.
    fn awaits_next(&self) -> bool {
        self.is_kept && self.head == Head::BEGINS
    }

    /// Where a request begins with what is written, the next that comes is the head of its reply.
    fn writes(&mut self, pieces: &[&[u8]]) {
        if self.head == Head::Over && begins_request(pieces) {
            self.head = Head::BEGINS;
            self.is_kept = true;
        }
    }
}

/// Whether bytes begin with the first line of a request. The body of one that was answered early is still
/// written, and may hold such a line further on.
fn begins_request(pieces: &[&[u8]]) -> bool {
    let bytes = pieces.iter().flat_map(|piece| piece.iter().copied());
    let method = bytes.clone().take_while(u8::is_ascii_uppercase).count();
    if method == 0 || bytes.clone().nth(method) != Some(b' ') {
        return false;
    }
    let line: Vec<u8> = bytes.take_while(|byte| *byte != b'\r').collect();
    line.ends_with(REQUEST)
}

impl Head {
    const BEGINS: Self = Self::Comes {
        ended: 0,
        place: 0,
        is_interim: false,
    };

    /// Takes bytes of a head; those after it belong to the body.
    fn take(&mut self, bytes: &[u8]) -> io::Result<()> {
        for byte in bytes {
            let Self::Comes {
                ended,
                place,
                is_interim,
            } = self
            else {
                return Ok(());
            };
            *is_interim |= *place == STATUS && *byte == b'1';
            *place = place.saturating_add(1);
            *ended = match (byte, *ended) {
                (b'\r', 0 | 2) | (b'\n', 1 | 3) => *ended + 1,
                (b'\n', _) | (_, 1 | 3) => {
                    let why = "a line of the reply's head does not end as HTTP wants it";
                    return Err(io::Error::new(ErrorKind::InvalidData, why));
                }
                _ => 0,
            };
            if *ended == 4 {
                *self = match *is_interim {
                    true => Self::BEGINS,
                    false => Self::Over,
                };
            }
        }
        Ok(())
    }
}

impl<T: Read + Unpin> Read for CheckedConnection<T> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        mut buf: ReadBufCursor<'_>,
    ) -> Poll<io::Result<()>> {
        if self.head == Head::Over {
            return Pin::new(&mut self.inner).poll_read(cx, buf);
        }
        let mut piece = [0; PIECE];
        let room = buf.remaining().min(PIECE);
        let mut read = ReadBuf::new(&mut piece[..room]);
        let result = ready!(Pin::new(&mut self.inner).poll_read(cx, read.unfilled()));
        if self.awaits_next() && (result.is_err() || read.filled().is_empty()) {
            return Poll::Ready(Err(io::Error::new(ErrorKind::ConnectionReset, KeptClosed)));
        }
        result?;
        self.head.take(read.filled())?;
        buf.put_slice(read.filled());
        Poll::Ready(Ok(()))
    }
}

impl<T: Write + Unpin> Write for CheckedConnection<T> {
    fn poll_write(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        bytes: &[u8],
    ) -> Poll<io::Result<usize>> {
        self.writes(&[bytes]);
        Pin::new(&mut self.inner).poll_write(cx, bytes)
    }

    fn poll_write_vectored(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        pieces: &[IoSlice<'_>],
    ) -> Poll<io::Result<usize>> {
        if self.head == Head::Over {
            self.writes(&pieces.iter().map(|piece| &**piece).collect::<Vec<_>>());
        }
        Pin::new(&mut self.inner).poll_write_vectored(cx, pieces)
    }

    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }

    fn poll_flush(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_flush(cx)
    }

    fn poll_shutdown(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        Pin::new(&mut self.inner).poll_shutdown(cx)
    }
}

impl<T: Connection> Connection for CheckedConnection<T> {
    fn connected(&self) -> Connected {
        self.inner.connected()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn map(lines: &[(&'static str, &'static str)]) -> HeaderMap {
        let lines = lines.iter();
        lines
            .map(|(name, value)| {
                let name = HeaderName::from_static(name);
                (name, HeaderValue::from_static(value))
            })
            .fold(HeaderMap::new(), |mut map, (name, value)| {
                map.append(name, value);
                map
            })
    }

    fn lines(map: &HeaderMap) -> Vec<String> {
        let lines = map.iter();
        lines
            .map(|(name, value)| format!("{name}: {}", value.to_str().unwrap()))
            .collect()
    }

    #[test]
    fn c06_what_belongs_to_a_connection_ends_here_and_credentials_cannot_be_stripped() {
        let sent = map(&[
            ("host", "127.0.0.1:1"),
            ("x-api-key", "k"),
            ("connection", "keep-alive, x-api-key, authorization, x-mine"),
            ("authorization", "Bearer k"),
            ("x-mine", "1"),
            ("x-twice", "a"),
            ("te", "trailers"),
            ("keep-alive", "5"),
            ("proxy-authorization", "Basic eA=="),
            ("proxy-connection", "keep-alive"),
            ("upgrade", "h2c"),
            ("content-length", "5"),
            ("transfer-encoding", "chunked"),
            ("x-retake-token", "secret"),
            ("x-twice", "b"),
            ("content-type", "application/json"),
        ]);
        assert_eq!(
            lines(&end_to_end(&sent)),
            [
                "x-api-key: k",
                "authorization: Bearer k",
                "x-twice: a",
                "x-twice: b",
                "content-type: application/json",
            ]
        );
    }

    #[test]
    fn c09_a_request_that_went_round_is_known_by_its_via() {
        assert!(!has_gone_round(&map(&[
            ("via", "1.1 agdb"),
            ("via", "1.1 retakes")
        ])));
        assert!(has_gone_round(&map(&[("via", "1.1 a, 1.1 retake")])));
        let mut headers = map(&[("via", "1.0 other")]);
        sign(&mut headers);
        assert!(has_gone_round(&headers));
        assert_eq!(lines(&headers), ["via: 1.0 other", "via: 1.1 retake"]);
    }

    #[test]
    fn all_lines_say_how_a_body_is_encoded() {
        for (sent, read) in [
            (&[("content-encoding", "gzip")][..], "gzip"),
            (&[("content-encoding", "GZip, identity")], "gzip"),
            (
                &[("content-encoding", "gzip"), ("content-encoding", "br")],
                "gzip, br",
            ),
            (
                &[
                    ("content-encoding", "identity"),
                    ("content-encoding", "zstd"),
                ],
                "zstd",
            ),
            (&[("content-encoding", " ")], ""),
            (&[], ""),
        ] {
            assert_eq!(content_encoding(&map(sent)), read, "{sent:?}");
        }
    }

    #[test]
    fn encodings_are_asked_for_that_can_be_decoded() {
        for (requested, onward) in [
            ("gzip, deflate, br, zstd", "gzip, deflate, br, zstd"),
            ("dcb, gzip;q=0.5", "gzip;q=0.5"),
            ("compress", "identity"),
            ("*", "identity"),
        ] {
            let mut headers = map(&[("accept-encoding", requested)]);
            ask_for_readable(&mut headers);
            assert_eq!(headers[ACCEPT_ENCODING], onward);
        }
        let mut none = HeaderMap::new();
        ask_for_readable(&mut none);
        assert!(none.is_empty());
    }
}

#[cfg(test)]
mod heads_tests {
    use super::*;
    use http_body_util::BodyExt;

    #[tokio::test]
    async fn c13_errors_are_short_plain_and_in_the_dialect_of_the_path() {
        let long = format!("\u{1b}[2J{}", "x".repeat(2000));
        for (dialect, pointer) in [
            (Some(Dialect::Anthropic), "/error/message"),
            (Some(Dialect::Responses), "/error/message"),
            (None, "/error/message"),
        ] {
            let reply = error(dialect, StatusCode::BAD_GATEWAY, &long);
            assert_eq!(reply.headers()["x-should-retry"], "false");
            let bytes = reply.into_body().collect().await.unwrap().to_bytes();
            let value: serde_json::Value = serde_json::from_slice(&bytes).unwrap();
            let text = value.pointer(pointer).unwrap().as_str().unwrap();
            assert!(text.starts_with("retake: \\u{1b}[2Jxxx"), "{text}");
            assert!(text.chars().count() <= 500 && !text.contains('\u{1b}'));
            assert_eq!(
                dialect == Some(Dialect::Anthropic),
                value["type"] == "error"
            );
        }
    }
}

#[cfg(test)]
mod strict_heads_tests {
    use super::*;

    fn taken(pieces: &[&str]) -> Result<Head, ErrorKind> {
        let mut head = Head::BEGINS;
        for piece in pieces {
            head.take(piece.as_bytes()).map_err(|error| error.kind())?;
        }
        Ok(head)
    }

    #[test]
    fn a_request_is_known_by_its_first_line_wherever_it_is_cut() {
        for pieces in [
            &["POST /v1/messages HTTP/1.1\r\nhost: x\r\n\r\n"][..],
            &["GET /", "a HTTP", "/1.1\r\nhost: x\r\n\r\n"],
            &["", "GET / HTTP/1.1\r\n"],
        ] {
            let pieces: Vec<&[u8]> = pieces.iter().map(|piece| piece.as_bytes()).collect();
            assert!(begins_request(&pieces), "{pieces:?}");
        }
        for body in [
            "{\"text\":\"GET / HTTP/1.1\r\n\"}",
            "Words, then\r\nGET / HTTP/1.1\r\n",
            "GET",
            "",
        ] {
            assert!(!begins_request(&[body.as_bytes()]), "{body}");
        }
    }

    #[test]
    fn u006_a_line_feed_alone_ends_no_line_of_a_head() {
        let good = "HTTP/1.1 200 OK\r\nx: a\r\n\r\n";
        assert_eq!(taken(&[good, "body\nwith\n\nlines"]), Ok(Head::Over));
        for cut in 0..good.len() {
            let (one, other) = good.split_at(cut);
            assert_eq!(taken(&[one, other]), Ok(Head::Over), "{cut}");
        }
        for bad in [
            "HTTP/1.1 200 OK\r\nx: a\nset-cookie: evil\r\n\r\n",
            "HTTP/1.1 200 OK\n\n",
            "HTTP/1.1 200 OK\r\nx: a\rset-cookie: evil\r\n\r\n",
            "HTTP/1.1 200 OK\r\nx: a\r\n\n",
        ] {
            assert_eq!(taken(&[bad]), Err(ErrorKind::InvalidData), "{bad:?}");
            let behind = format!("HTTP/1.1 103 Early Hints\r\n\r\n{bad}");
            assert_eq!(taken(&[&behind]), Err(ErrorKind::InvalidData), "{behind:?}");
        }
    }
}
