//! Listens, lets in who may come, and has each request answered.

use super::body::{
    self, Attended, Body, ClientPresence, Contact, Cut, LOOKED_AT, Outgoing, PASSED, Spare,
};
use super::guard::{self, AdmitError, Upgrade};
use super::headers;
use super::listen::{Door, Listen};
use super::news::{Passed, ProxyRequest, TurnedAway, Watch};
use super::origin::UpstreamOrigin;
use super::pass::{self, Count};
use super::websocket::{self, Tunnel};
use crate::lock::lock;
use bytes::Bytes;
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING, USER_AGENT};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use retake_core::exchange::ExchangeEnding;
use retake_core::wire::{WEBSOCKET, dialect_at};
use std::convert::Infallible;
use std::io;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex};
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio::task::JoinSet;
use tokio::time::timeout;
use tokio_util::sync::CancellationToken;

/// Most connections at a time; beyond them the one that is idle for longest is closed. Each takes up to three
/// open files, of which a process may have 1024 on many systems.
const CONNECTIONS: usize = 256;
/// How long nobody is let in after the system refused a connection, as it does when files run out.
const REFUSED: Duration = Duration::from_millis(50);
/// Longest head of a request, in bytes.
const HEAD: usize = 64 * 1024;
/// Most bytes that are read at a time: a longer body is copied while the processor has it in its cache, and memory
/// of this size is never given back to the system between two requests.
const READ: usize = HEAD + 8 * 1024;
/// How long the answer to a missing token takes, so that guessing is slow.
const GUESSED: Duration = Duration::from_millis(250);

/// What a listener serves.
pub(crate) trait Handler: Send + Sync + 'static {
    /// What it demands of whoever comes.
    fn door(&self) -> &Door;

    /// Answers a request. The future and the body of the reply are dropped when the client is gone.
    fn handle(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> impl Future<Output = Response<Body>> + Send;

    /// A client spoke TLS to this listener, which speaks plain HTTP.
    fn spoke_tls(&self, _: SocketAddr) {}

    /// What each connection keeps for as long as it lasts.
    fn connected(&self) -> Arc<()> {
        Arc::default()
    }
}

/// One connection, and what its requests share.
pub(crate) struct ClientConnection {
    client: SocketAddr,
    contact: Arc<Contact>,
    /// A WebSocket that takes the connection over.
    tunnel: Mutex<Option<Tunnel>>,
}

/// Gives each connection of a listener to a handler until it is stopped; then every connection ends, as it does
/// when this is dropped. Fails where the system refuses to use the listener.
pub(crate) async fn accept(
    listener: std::net::TcpListener,
    handler: Arc<impl Handler>,
    stop: CancellationToken,
) -> io::Result<()> {
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let room = Connections::new(CONNECTIONS);
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            let Ok((stream, client)) = listener.accept().await else {
                tokio::time::sleep(REFUSED).await;
                continue;
            };
            let Some(slot) = room.admit().await else {
                break;
            };
            connections.spawn(converse(stream, client, handler.clone(), slot));
            while connections.try_join_next().is_some() {}
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop.cancelled() => {}
    }
    Ok(())
}

async fn converse(
    stream: TcpStream,
    client: SocketAddr,
    handler: Arc<impl Handler>,
    mut slot: ConnectionSlot,
) {
    let Ok((socket, spare, contact)) = body::take(stream, handler.door().patience) else {
        return; // files have run out; the client sees a closed connection
    };
    slot.take(contact.clone());
    let connected = handler.connected();
    let connection = Arc::new(ClientConnection {
        client,
        contact,
        tunnel: Mutex::default(),
    });
    let service = service_fn(|request| {
        let (connection, handler) = (connection.clone(), handler.clone());
        async move { Ok::<_, Infallible>(connection.answer(&*handler, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
        .max_header_size(HEAD)
        .max_buf_size(READ)
        .header_read_timeout(None)
        .auto_date_header(false);
    let served = builder.serve_connection(socket, service).with_upgrades();
    let is_over = tokio::select! {
        // A client that went away, broken HTTP, a body that was cut: all of it ends this connection only. What
        // was cut ends at once: its client is to hear of it now.
        served = served => !served.is_err_and(|error| error.is_user()),
        () = spare.look_after() => false,
    };
    connection.contact.has_no_more_requests();
    if connection.contact.is_tls() {
        handler.spoke_tls(client);
    }
    connection.end(is_over, &spare).await;
    drop((slot, connected));
}

impl ClientConnection {
    async fn end(&self, is_over: bool, spare: &Spare) {
        let tunnel = lock(&self.tunnel).take();
        match tunnel {
            Some(tunnel) => tunnel.run().await,
            None if is_over => spare.linger().await,
            None => {}
        }
    }

    async fn answer(
        &self,
        handler: &impl Handler,
        request: Request<Incoming>,
    ) -> Response<Attended> {
        self.contact.begin(request.version() == Version::HTTP_11);
        // What hyper does not show: a length beside a chunked body. Whoever sends both may be smuggling;
        // nothing after it is read.
        let is_last = request.headers().contains_key(TRANSFER_ENCODING);
        let mut reply = handler.handle(self, request).await;
        if is_last {
            close(&mut reply);
        }
        let (head, body) = reply.into_parts();
        Response::from_parts(head, self.contact.reply(body))
    }

    /// Reads a request's body to its end.
    pub(crate) async fn collect(&self, body: Incoming) -> Result<Bytes, Cut> {
        body::collect(body, &self.contact).await
    }
}

/// A listener of the proxy with what it is for.
struct Place<W> {
    door: Door,
    upstream: Arc<UpstreamOrigin>,
    watch: Arc<W>,
}

/// Why a listener does not serve.
#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the upstream {0} is this listener itself")]
    Itself(String),
    #[error("the listener cannot be used: {0}")]
    Listener(#[from] io::Error),
}

/// Serves a listener of the proxy until it is stopped; then every connection ends, as it does when this is
/// dropped.
///
/// # Errors
///
/// Where the upstream is this listener, or the system refuses to use it.
pub async fn serve<W: Watch>(
    listen: Listen,
    upstream: Arc<UpstreamOrigin>,
    watch: Arc<W>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    if upstream.base().is_at(listen.address()) {
        return Err(ServeError::Itself(upstream.base().host()));
    }
    let (listener, door) = listen.open();
    let place = Place {
        door,
        upstream,
        watch,
    };
    Ok(accept(listener, Arc::new(place), stop).await?)
}

impl<W: Watch> Handler for Place<W> {
    fn door(&self) -> &Door {
        &self.door
    }

    async fn handle(
        &self,
        connection: &ClientConnection,
        request: Request<Incoming>,
    ) -> Response<Body> {
        let (head, body) = request.into_parts();
        match guard::admit_onward(&head, &self.door) {
            Ok(path_and_query) => self.serve(connection, head, path_and_query, body).await,
            Err(why) => self.turn_away(connection, &head, why).await,
        }
    }

    fn spoke_tls(&self, client: SocketAddr) {
        self.watch.spoke_tls(client);
    }

    fn connected(&self) -> Arc<()> {
        self.watch.connected()
    }
}

impl<W: Watch> Place<W> {
    async fn turn_away(
        &self,
        connection: &ClientConnection,
        head: &Parts,
        why: AdmitError,
    ) -> Response<Body> {
        if why == AdmitError::Token {
            tokio::time::sleep(GUESSED).await;
        }
        let mut path = head.uri.path().to_owned();
        if why == AdmitError::Token {
            // It may hold most of the token.
            path.clear();
        }
        self.refuse(connection, head, path, why)
    }

    fn refuse(
        &self,
        connection: &ClientConnection,
        head: &Parts,
        path: String,
        why: AdmitError,
    ) -> Response<Body> {
        self.watch.turned_away(TurnedAway {
            client: connection.client,
            method: head.method.clone(),
            path,
            why,
        });
        refusal(head, why)
    }

    async fn serve(
        &self,
        connection: &ClientConnection,
        mut head: Parts,
        path_and_query: PathAndQuery,
        body: Incoming,
    ) -> Response<Body> {
        let at = SystemTime::now();
        let refuse = |head: &Parts, why| {
            let path = path_and_query.path().to_owned();
            self.refuse(connection, head, path, why)
        };
        let dialect = dialect_at(path_and_query.path());
        match (guard::upgrade(&head.headers), dialect) {
            (Upgrade::None, _) => {}
            (Upgrade::WebSocket, Some(WEBSOCKET)) if head.method == Method::GET => {
                return self.open(connection, head, path_and_query, at).await;
            }
            (Upgrade::WebSocket | Upgrade::Other, _) => return refuse(&head, AdmitError::Upgrade),
        }
        let dialect = dialect.filter(|_| head.method == Method::POST);
        let limit = if dialect.is_some() { LOOKED_AT } else { PASSED };
        if body.size_hint().lower() > limit {
            return refuse(&head, AdmitError::TooLong);
        }
        let mut lines = headers::end_to_end(&head.headers);
        let Some(dialect) = dialect else {
            let place = (connection, path_and_query);
            return self.pass(place, &mut head, lines, body, at).await;
        };
        let body = match connection.collect(body).await {
            Ok(body) => body,
            Err(Cut::TooLong) => return refuse(&head, AdmitError::TooLong),
            Err(_) => return refuse(&head, AdmitError::BodyBroken),
        };
        headers::ask_for_readable(&mut lines);
        let question = ProxyRequest {
            client: connection.client,
            at,
            dialect,
            method: head.method,
            path_and_query,
            lines,
            body,
            presence: ClientPresence::new(&connection.contact),
        };
        self.watch.exchange(question).await
    }

    /// A request at a path where no dialect is spoken.
    async fn pass(
        &self,
        (connection, path_and_query): (&ClientConnection, PathAndQuery),
        head: &mut Parts,
        lines: hyper::HeaderMap,
        body: Incoming,
        at: SystemTime,
    ) -> Response<Body> {
        let agent = lines.get(USER_AGENT).map(|agent| agent.as_bytes());
        let passed = Passed {
            client: connection.client,
            agent: String::from_utf8_lossy(agent.unwrap_or_default()).into_owned(),
            at,
            method: head.method.clone(),
            path: path_and_query.path().to_owned(),
            status: None,
            sent: body.size_hint().lower(),
            received: 0,
            first: None,
            total: Duration::ZERO,
            ending: ExchangeEnding::ClientLeft,
        };
        let body = match Outgoing::begin(body, connection.contact.clone()).await {
            Ok(body) => body,
            Err(_) => return self.refuse(connection, head, passed.path, AdmitError::BodyBroken),
        };
        let mut count = Count::new(self.watch.clone(), passed);
        let sent = self
            .upstream
            .send(head.method.clone(), &path_and_query, lines, body);
        match sent.await {
            Ok(reply) => {
                count.status(reply.status());
                pass::onward(&head.method, reply, Some(count))
            }
            Err(error) => {
                let why = error.to_string();
                count.end(ExchangeEnding::NoReply { why });
                let mut reply = pass::no_reply(None, &error);
                close(&mut reply);
                reply
            }
        }
    }

    async fn open(
        &self,
        connection: &ClientConnection,
        head: Parts,
        path_and_query: PathAndQuery,
        at: SystemTime,
    ) -> Response<Body> {
        let opened = websocket::open(
            &self.upstream,
            &self.watch,
            head,
            connection.client,
            path_and_query,
            at,
        );
        let (reply, tunnel) = opened.await;
        *lock(&connection.tunnel) = tunnel;
        reply
    }
}

/// Says why a request is refused, and closes the connection.
pub(crate) fn refusal(head: &Parts, why: AdmitError) -> Response<Body> {
    let dialect = dialect_at(head.uri.path());
    let mut reply = headers::error(dialect, why.status(), &why.to_string());
    close(&mut reply);
    reply
}

/// Closes the connection after a reply.
fn close(reply: &mut Response<Body>) {
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(CONNECTION, close);
}

/// How long until another connection is closed, if none has closed by then.
const AGAIN: Duration = Duration::from_millis(20);

/// The connections of a listener.
#[derive(Debug)]
pub(crate) struct Connections {
    permits: Arc<Semaphore>,
    open: Mutex<Vec<Arc<Contact>>>,
}

/// The place of one connection; free again when this is dropped.
#[derive(Debug)]
pub(crate) struct ConnectionSlot {
    room: Arc<Connections>,
    contact: Option<Arc<Contact>>,
    _permit: OwnedSemaphorePermit,
}

impl Connections {
    /// Room for so many connections.
    pub(crate) fn new(connections: usize) -> Arc<Self> {
        Arc::new(Self {
            permits: Arc::new(Semaphore::new(connections)),
            open: Mutex::default(),
        })
    }

    /// A place for a connection that was accepted, as soon as there is one. Clients that keep connections for
    /// later give way to those who have something to ask.
    pub(crate) async fn admit(self: &Arc<Self>) -> Option<ConnectionSlot> {
        let permit = loop {
            if let Ok(permit) = self.permits.clone().try_acquire_owned() {
                break permit;
            }
            self.close_one();
            if let Ok(permit) = timeout(AGAIN, self.permits.clone().acquire_owned()).await {
                break permit.ok()?;
            }
        };
        Some(ConnectionSlot {
            room: self.clone(),
            contact: None,
            _permit: permit,
        })
    }

    /// Asks the connection to close that has been of no use for longest.
    fn close_one(&self) {
        let open = lock(&self.open);
        let longest = open
            .iter()
            .filter_map(|contact| Some((contact.useless_for()?, contact)));
        if let Some((_, contact)) = longest.max_by_key(|(time, _)| *time) {
            contact.ask_to_leave();
        }
    }
}

impl ConnectionSlot {
    /// The connection that has this place.
    pub(crate) fn take(&mut self, contact: Arc<Contact>) {
        lock(&self.room.open).push(contact.clone());
        self.contact = Some(contact);
    }
}

impl Drop for ConnectionSlot {
    fn drop(&mut self) {
        if let Some(contact) = &self.contact {
            let mut open = lock(&self.room.open);
            open.retain(|other| !Arc::ptr_eq(other, contact));
        }
    }
}
