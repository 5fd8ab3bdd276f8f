//! What serves a model on loopback, whoever answers: a scripted model or a recording.
//!
//! It runs on a thread of its own, so that it can be called from anywhere, and stops when
//! its [`Listening`] is dropped.

use crate::proxy::body::{Body, Cut, LOOKED_AT, framed, whole};
use crate::proxy::decode::{DecodeFault, decode};
use crate::proxy::guard::admit;
use crate::proxy::listen::{Door, Token};
use crate::proxy::server::{ClientConnection, Handler, accept, refusal};
use bytes::Bytes;
use futures_util::stream::unfold;
use http_body_util::{BodyExt, StreamBody};
use hyper::body::{Body as _, Frame, Incoming};
use hyper::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_TYPE, HeaderMap, HeaderValue};
use hyper::{Method, Request, Response, StatusCode};
use retake_core::session::Dialect;
use retake_core::wire::write::NewEvent;
use retake_core::wire::write::request::with_route;
use retake_core::wire::{dialect_at, route};
use std::borrow::Cow;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;
use std::time::Duration;
use tokio_util::sync::CancellationToken;

/// The address to listen on where any free port of the loopback will do.
pub const ANY_PORT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::LOCALHOST, 0));

pub(crate) trait Answers: Send + Sync + 'static {
    /// What it is called, for the name of its thread and for refusals.
    const WHAT: &'static str;

    fn answer(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Body>> + Send;
}

/// Lets in who may come: web pages and whoever means another server are refused, as the proxy does.
struct Guarded<A>(Door, A);

impl<A: Answers> Handler for Guarded<A> {
    fn door(&self) -> &Door {
        &self.0
    }

    async fn handle(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        match admit(&head, &self.0) {
            Ok(_) => {
                let dialect = dialect_at(head.uri.path());
                let request = Request::from_parts(head, body);
                framed(dialect, self.1.answer(connection, request).await)
            }
            Err(why) => refusal(&head, why),
        }
    }
}

/// Something that listens, until this is dropped.
#[derive(Debug)]
pub(crate) struct Listening {
    address: SocketAddr,
    stop: CancellationToken,
}

impl Listening {
    /// Begins to listen. Fails where the address is not of the loopback, or cannot be had.
    pub(crate) fn start<A: Answers>(answers: A, listen: SocketAddr) -> io::Result<Self> {
        Self::with_token(answers, listen, None)
    }

    /// The same for clients that bring a token.
    pub(crate) fn with_token<A: Answers>(
        answers: A,
        listen: SocketAddr,
        token: Option<Token>,
    ) -> io::Result<Self> {
        if !listen.ip().is_loopback() {
            let message = format!("{} listens on the loopback only, as 127.0.0.1:0", A::WHAT);
            return Err(io::Error::new(io::ErrorKind::InvalidInput, message));
        }
        let listener = TcpListener::bind(listen)?;
        listener.set_nonblocking(true)?;
        let address = listener.local_addr()?;
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()?;
        let mut door = Door::local(address.port());
        door.token = token;
        let handler = Arc::new(Guarded(door, answers));
        let stop = CancellationToken::new();
        let stopped = stop.clone();
        std::thread::Builder::new()
            .name(A::WHAT.to_owned())
            // Without a listener there is nothing to serve, and clients see a closed port.
            .spawn(move || drop(runtime.block_on(accept(listener, handler, stopped))))?;
        Ok(Self { address, stop })
    }

    pub(crate) fn address(&self) -> SocketAddr {
        self.address
    }

    /// What clients of a dialect call their base URL: those of OpenAI add `/responses` to it, those of Anthropic
    /// `/v1/messages`, those of Gemini `/v1beta/models/`.
    pub(crate) fn base_url(&self, dialect: Dialect) -> String {
        format!("http://{}{}", self.address, dialect.facts().sdk_base)
    }
}

impl Drop for Listening {
    fn drop(&mut self) {
        self.stop.cancel();
    }
}

// Requests from the wire, and the replies.

pub(crate) enum Asking {
    /// A reply of a model.
    Reply {
        /// How it is requested.
        dialect: Dialect,
        headers: HeaderMap,
        body: Bytes,
    },
    Models,
    /// Something that is not served; this is sent instead.
    Nothing(Sending),
}

/// The paths at which requests are answered, for people.
pub fn served_paths() -> String {
    let paths = Dialect::ALL.map(|dialect| {
        let facts = dialect.facts();
        let version = match facts.version {
            "" => String::new(),
            version => format!("/{version}"),
        };
        let method = facts
            .methods
            .map(|methods| format!("/MODEL{}{}", methods.separator, methods.whole));
        format!("{version}/{}{}", facts.path, method.unwrap_or_default())
    });
    paths.join(", ")
}

/// Reads a request. `tag` makes the ids of refusals.
pub(crate) async fn asking(
    connection: &ClientConnection,
    request: Request<Incoming>,
    tag: &str,
) -> Asking {
    let (head, body) = request.into_parts();
    let path = head.uri.path().trim_end_matches('/').to_owned();
    if head.method == Method::GET && path.ends_with("/models") {
        return Asking::Models;
    }
    let refused = |dialect, status, message: &str| {
        Asking::Nothing(Sending::error(dialect, status, message, tag))
    };
    let Some(route) = route(&path) else {
        let message = format!("nothing is served at {path}; there are {}", served_paths());
        return refused(Dialect::default(), StatusCode::NOT_FOUND, &message);
    };
    let dialect = route.dialect;
    if head.method != Method::POST {
        let status = StatusCode::METHOD_NOT_ALLOWED;
        return refused(dialect, status, "only POST is served here");
    }
    let received = received(connection, body).await;
    match received.and_then(|body| plain(&head.headers, body)) {
        Ok(body) => Asking::Reply {
            dialect,
            headers: head.headers,
            body: match with_route(&route, &body) {
                Cow::Owned(body) => body.into(),
                Cow::Borrowed(_) => body,
            },
        },
        Err((status, message)) => refused(dialect, status, message),
    }
}

/// The list of models that a client may ask for.
pub(crate) fn models<'a>(names: impl IntoIterator<Item = &'a str>) -> Sending {
    let models = names.into_iter().map(|name| {
        serde_json::json!({"id": name, "object": "model", "created": 0, "owned_by": "retake"})
    });
    let list = serde_json::json!({"object": "list", "data": models.collect::<Vec<_>>()});
    Sending::json(StatusCode::OK, list.to_string())
}

/// What is to be sent.
pub(crate) struct Sending {
    pub(crate) status: StatusCode,
    pub(crate) headers: HeaderMap,
    pub(crate) body: Body,
}

impl Sending {
    /// Something with this content type.
    pub(crate) fn of(kind: &'static str, body: Body) -> Self {
        let mut headers = HeaderMap::new();
        headers.insert(CONTENT_TYPE, HeaderValue::from_static(kind));
        let status = StatusCode::OK;
        Self {
            status,
            headers,
            body,
        }
    }

    pub(crate) fn json(status: StatusCode, text: String) -> Self {
        let sending = Self::of("application/json", whole(text));
        Self { status, ..sending }
    }

    /// Events of a stream with a pause before each but the first.
    pub(crate) fn events<'a>(
        events: impl IntoIterator<Item = &'a NewEvent>,
        pause: Duration,
        ending: BodyEnding,
    ) -> Self {
        let events = events.into_iter().map(NewEvent::to_wire).collect();
        let body = paced(events, pause, ending);
        let mut sending = Self::of("text/event-stream; charset=utf-8", body);
        let headers = &mut sending.headers;
        headers.insert(CACHE_CONTROL, HeaderValue::from_static("no-cache"));
        sending
    }

    /// An error in the shape of the dialect.
    pub(crate) fn error(dialect: Dialect, status: StatusCode, message: &str, tag: &str) -> Self {
        Self::json(
            status,
            dialect
                .codec()
                .error(status.as_u16(), message, None, tag)
                .to_string(),
        )
    }

    pub(crate) fn into_response(self) -> Response<Body> {
        let mut response = Response::new(self.body);
        *response.status_mut() = self.status;
        *response.headers_mut() = self.headers;
        response
    }
}

async fn received(
    connection: &ClientConnection,
    body: Incoming,
) -> Result<Bytes, (StatusCode, &'static str)> {
    let too_long = (
        StatusCode::PAYLOAD_TOO_LARGE,
        "the request is longer than 64 MB",
    );
    if body.size_hint().lower() > LOOKED_AT {
        return Err(too_long);
    }
    connection.collect(body).await.map_err(|cut| match cut {
        Cut::TooLong => too_long,
        _ => (StatusCode::BAD_REQUEST, "the request broke off"),
    })
}

/// The body of a request without its compression.
fn plain(headers: &HeaderMap, body: Bytes) -> Result<Bytes, (StatusCode, &'static str)> {
    let codings = headers.get_all(CONTENT_ENCODING).iter();
    let codings = codings.map(|codings| codings.to_str().unwrap_or("?"));
    let codings = codings.collect::<Vec<_>>().join(",");
    if codings.is_empty() {
        return Ok(body);
    }
    let decoded = decode(&codings, &body);
    match decoded.fault {
        None => Ok(decoded.bytes.into_owned().into()),
        Some(DecodeFault::TooLong) => Err((
            StatusCode::PAYLOAD_TOO_LARGE,
            "the request unpacks to more than 64 MB",
        )),
        Some(DecodeFault::Lying) => Err((
            StatusCode::BAD_REQUEST,
            "the request is not encoded as its content-encoding says",
        )),
        Some(DecodeFault::Unknown) => Err((
            StatusCode::UNSUPPORTED_MEDIA_TYPE,
            "the request has a content-encoding that is not known",
        )),
    }
}

/// How long what was sent may take to leave before a connection is cut: hyper drops what it still holds.
const LEAVES: Duration = Duration::from_millis(20);

/// What follows the last piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BodyEnding {
    /// The end of the body.
    End,
    /// The end of the connection.
    Cut,
    /// Nothing, and the connection stays.
    Silence,
}

/// A body in pieces with a pause before each but the first.
pub(crate) fn paced(pieces: Vec<String>, pause: Duration, ending: BodyEnding) -> Body {
    let start = (pieces.into_iter(), true);
    let stream = unfold(start, move |(mut pieces, is_first)| async move {
        let Some(piece) = pieces.next() else {
            return match ending {
                BodyEnding::End => None,
                BodyEnding::Cut => {
                    tokio::time::sleep(LEAVES).await;
                    Some((Err(Cut::Decided), (pieces, false)))
                }
                BodyEnding::Silence => std::future::pending().await,
            };
        };
        if !is_first && !pause.is_zero() {
            tokio::time::sleep(pause).await;
        }
        Some((Ok(Frame::data(Bytes::from(piece))), (pieces, false)))
    });
    StreamBody::new(stream).boxed_unsync()
}
