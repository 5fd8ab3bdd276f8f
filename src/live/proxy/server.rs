//! Listens, lets in who may come, and has each request answered.

use super::answer;
use super::body::{self, Body, Cut, LOOKED_AT, Outgoing, PASSED};
use super::connections::{ConnectionSlot, Connections};
use super::contact::{self, Attended, Contact, Presence, Spare};
use super::guard::{self, Refusal, Upgrade};
use super::headers;
use super::listen::{Door, Listen};
use super::origin::Origin;
use super::pass::{self, Count};
use super::watch::{Passed, Question, TurnedAway, Watch};
use super::websocket::{self, Tunnel};
use hyper::body::{Body as _, Incoming};
use hyper::header::{CONNECTION, HeaderValue, TRANSFER_ENCODING, USER_AGENT};
use hyper::http::request::Parts;
use hyper::http::uri::PathAndQuery;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Method, Request, Response, Version};
use retake_core::exchange::Ending;
use retake_core::wire::{WEBSOCKET, dialect_at};
use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, SystemTime};
use tokio::net::TcpStream;
use tokio::task::JoinSet;
use tokio_util::sync::CancellationToken;

/// Most connections at a time; beyond them the one that is idle for longest is closed. Each takes up to three
/// open files, of which a process may have 1024 on many systems.
const CONNECTIONS: usize = 256;
/// How long nobody is let in after the system refused a connection, as it does when files run out.
const REFUSED: Duration = Duration::from_millis(50);
/// Longest head of a request, in bytes.
const HEAD: usize = 64 * 1024;
/// How long the answer to a missing token takes, so that guessing is slow.
const GUESSED: Duration = Duration::from_millis(250);

struct Place<W> {
    door: Door,
    upstream: Arc<Origin>,
    watch: Arc<W>,
}

#[derive(Debug, thiserror::Error)]
pub enum ServeError {
    #[error("the upstream {0} is this listener itself")]
    Itself(String),
    #[error("the listener cannot be used: {0}")]
    Listener(#[from] std::io::Error),
}

/// Serves a listener until it is stopped; then every connection ends, as it does when this is dropped.
///
/// # Errors
///
/// Where the upstream is this listener, or the system refuses to use it.
pub async fn serve<W: Watch>(
    listen: Listen,
    upstream: Arc<Origin>,
    watch: Arc<W>,
    stop: CancellationToken,
) -> Result<(), ServeError> {
    if upstream.base().is_at(listen.address()) {
        return Err(ServeError::Itself(upstream.base().host()));
    }
    let (listener, door) = listen.open();
    let listener = tokio::net::TcpListener::from_std(listener)?;
    let place = Arc::new(Place {
        door,
        upstream,
        watch,
    });
    let room = Connections::new(CONNECTIONS);
    let mut connections = JoinSet::new();
    let accepting = async {
        loop {
            let Ok((stream, client)) = listener.accept().await else {
                tokio::time::sleep(REFUSED).await;
                continue;
            };
            let Some(seat) = room.admit().await else {
                break;
            };
            connections.spawn(converse(stream, client, place.clone(), seat));
            while connections.try_join_next().is_some() {}
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop.cancelled() => {}
    }
    Ok(())
}

/// One connection, and what its requests share.
struct Conversation<W> {
    client: SocketAddr,
    place: Arc<Place<W>>,
    contact: Arc<Contact>,
    /// A WebSocket that takes the connection over.
    tunnel: Mutex<Option<Tunnel>>,
}

async fn converse<W: Watch>(
    stream: TcpStream,
    client: SocketAddr,
    place: Arc<Place<W>>,
    mut seat: ConnectionSlot,
) {
    let Ok((socket, spare, contact)) = contact::take(stream, place.door.patience) else {
        return; // files have run out; the client sees a closed connection
    };
    seat.take(contact.clone());
    let talk = Arc::new(Conversation {
        client,
        place,
        contact,
        tunnel: Mutex::default(),
    });
    let service = service_fn(|request| {
        let talk = talk.clone();
        async move { Ok::<_, Infallible>(talk.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder
        .half_close(true)
        .max_header_size(HEAD)
        .header_read_timeout(None)
        .auto_date_header(false);
    let served = builder.serve_connection(socket, service).with_upgrades();
    let is_over = tokio::select! {
        // A client that went away, broken HTTP, a body that was cut: all of it ends this connection only. What
        // was cut ends at once: its client is to hear of it now.
        served = served => !served.is_err_and(|error| error.is_user()),
        () = spare.look_after() => false,
    };
    talk.contact.has_no_more_requests();
    if talk.contact.is_tls() {
        talk.place.watch.spoke_tls(client);
    }
    talk.end(is_over, &spare).await;
    drop(seat);
}

impl<W: Watch> Conversation<W> {
    async fn end(&self, is_over: bool, spare: &Spare) {
        let tunnel = self
            .tunnel
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        match tunnel {
            Some(tunnel) => tunnel.run().await,
            None if is_over => spare.linger().await,
            None => {}
        }
    }

    async fn answer(&self, request: Request<Incoming>) -> Response<Attended> {
        self.contact.begin(request.version() == Version::HTTP_11);
        // What hyper does not show: a length beside a chunked body. Whoever sends both may be smuggling;
        // nothing after it is read.
        let is_last = request.headers().contains_key(TRANSFER_ENCODING);
        let (head, body) = request.into_parts();
        let mut reply = match guard::admit_onward(&head, &self.place.door) {
            Ok(path_and_query) => self.serve(head, path_and_query, body).await,
            Err(why) => self.turn_away(&head, why).await,
        };
        if is_last {
            close(&mut reply);
        }
        let (head, body) = reply.into_parts();
        Response::from_parts(head, self.contact.reply(body))
    }

    async fn turn_away(&self, head: &Parts, why: Refusal) -> Response<Body> {
        if why == Refusal::Token {
            tokio::time::sleep(GUESSED).await;
        }
        let path = match why {
            // It may hold most of the token.
            Refusal::Token => String::new(),
            _ => head.uri.path().to_owned(),
        };
        self.refuse(head, path, why)
    }

    fn refuse(&self, head: &Parts, path: String, why: Refusal) -> Response<Body> {
        self.place.watch.turned_away(TurnedAway {
            client: self.client,
            method: head.method.clone(),
            path,
            why,
        });
        let dialect = dialect_at(head.uri.path());
        let mut reply = answer::error(dialect, why.status(), &why.to_string());
        close(&mut reply);
        reply
    }

    async fn serve(
        &self,
        mut head: Parts,
        path_and_query: PathAndQuery,
        body: Incoming,
    ) -> Response<Body> {
        let at = SystemTime::now();
        let refuse = |head: &Parts, why| self.refuse(head, path_and_query.path().to_owned(), why);
        let dialect = dialect_at(path_and_query.path());
        match (guard::upgrade(&head.headers), dialect) {
            (Upgrade::None, _) => {}
            (Upgrade::WebSocket, Some(WEBSOCKET)) if head.method == Method::GET => {
                return self.open(head, path_and_query, at).await;
            }
            (Upgrade::WebSocket | Upgrade::Other, _) => return refuse(&head, Refusal::Upgrade),
        }
        let dialect = dialect.filter(|_| head.method == Method::POST);
        let limit = if dialect.is_some() { LOOKED_AT } else { PASSED };
        if body.size_hint().lower() > limit {
            return refuse(&head, Refusal::TooLong);
        }
        let mut lines = headers::end_to_end(&head.headers);
        let Some(dialect) = dialect else {
            return self.pass(&mut head, path_and_query, lines, body, at).await;
        };
        let body = match body::collect(body, &self.contact).await {
            Ok(body) => body,
            Err(Cut::TooLong) => return refuse(&head, Refusal::TooLong),
            Err(_) => return refuse(&head, Refusal::BodyBroken),
        };
        headers::ask_for_readable(&mut lines);
        let question = Question {
            client: self.client,
            at,
            dialect,
            method: head.method,
            path_and_query,
            lines,
            body,
            presence: Presence::new(&self.contact),
        };
        self.place.watch.exchange(question).await
    }

    /// A request at a path where no dialect is spoken.
    async fn pass(
        &self,
        head: &mut Parts,
        path_and_query: PathAndQuery,
        lines: hyper::HeaderMap,
        body: Incoming,
        at: SystemTime,
    ) -> Response<Body> {
        let agent = lines.get(USER_AGENT).map(|agent| agent.as_bytes());
        let passed = Passed {
            client: self.client,
            agent: String::from_utf8_lossy(agent.unwrap_or_default()).into_owned(),
            at,
            method: head.method.clone(),
            path: path_and_query.path().to_owned(),
            status: None,
            sent: body.size_hint().lower(),
            received: 0,
            first: None,
            total: Duration::ZERO,
            ending: Ending::ClientLeft,
        };
        let body = match Outgoing::begin(body, self.contact.clone()).await {
            Ok(body) => body,
            Err(_) => return self.refuse(head, passed.path, Refusal::BodyBroken),
        };
        let mut count = Count::new(self.place.watch.clone(), passed);
        let upstream = &self.place.upstream;
        let sent = upstream.send(head.method.clone(), &path_and_query, lines, body);
        match sent.await {
            Ok(reply) => {
                count.status(reply.status());
                pass::onward(&head.method, reply, count)
            }
            Err(error) => {
                let why = error.to_string();
                count.end(Ending::NoReply { why }, 0);
                let mut reply = pass::no_reply(None, &error);
                close(&mut reply);
                reply
            }
        }
    }

    async fn open(
        &self,
        head: Parts,
        path_and_query: PathAndQuery,
        at: SystemTime,
    ) -> Response<Body> {
        let place = &self.place;
        let opened = websocket::open(
            &place.upstream,
            &place.watch,
            head,
            self.client,
            path_and_query,
            at,
        );
        let (reply, tunnel) = opened.await;
        let mut slot = self.tunnel.lock().unwrap_or_else(PoisonError::into_inner);
        *slot = tunnel;
        reply
    }
}

/// Closes the connection after a reply.
fn close(reply: &mut Response<Body>) {
    let close = HeaderValue::from_static("close");
    reply.headers_mut().insert(CONNECTION, close);
}
