//! What serves a model on loopback, whoever answers: a scripted model or a recording.
//!
//! It runs on a thread of its own, so that it can be called from anywhere, and stops when
//! its [`Listening`] is dropped.

mod sending;

pub(crate) use sending::{Asking, BodyEnding, Sending, asking, models, paced};

use crate::proxy::body::Body;
use crate::proxy::guard::admit;
use crate::proxy::listen::Door;
use crate::proxy::server::{ClientConnection, Handler, accept, refusal};
use hyper::body::Incoming;
use hyper::{Request, Response};
use retake_core::session::Dialect;
use std::future::Future;
use std::io;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4, TcpListener};
use std::sync::Arc;
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
                let request = Request::from_parts(head, body);
                self.1.answer(connection, request).await
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
        let handler = Arc::new(Guarded(Door::local(address.port()), answers));
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
