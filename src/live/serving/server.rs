//! Listens, and gives each connection to hyper.

use super::body::Body;
use super::{Answers, Sending};
use crate::proxy::{Door, Refusal, admit};
use hyper::body::Incoming;
use hyper::header::{CONNECTION, HeaderValue};
use hyper::http::request::Parts;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::{TokioIo, TokioTimer};
use retake_core::wire::dialect_at;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Most connections at a time; more wait. Fewer than the 1,024 files that a process may usually open.
const CONNECTIONS: usize = 768;
/// How long a client may take for the head of a request, also for the next one of a connection that is kept:
/// connections without a request must not keep others out. Clients close idle connections earlier (httpx after
/// 5 s, undici after 4 s).
const HEAD: Duration = Duration::from_secs(15);
/// How long nobody is let in after the system refused a connection, as it does when files run out.
const REFUSED: Duration = Duration::from_millis(50);

/// Serves until it is stopped; connections that are open then end with the runtime.
pub(super) async fn serve(listener: TcpListener, answers: impl Answers, stop: CancellationToken) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        // The listener was made for this; without it there is nothing to serve, and clients see a closed port.
        return;
    };
    let Ok(address) = listener.local_addr() else {
        return;
    };
    let service = Arc::new((Door::local(address.port()), answers));
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let accepting = async {
        while let Ok(permit) = room.clone().acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(converse(stream, service.clone(), permit));
                }
                Err(_) => tokio::time::sleep(REFUSED).await,
            }
        }
    };
    tokio::select! {
        () = accepting => {}
        () = stop.cancelled() => {}
    }
}

async fn converse<A: Answers>(
    stream: TcpStream,
    service: Arc<(Door, A)>,
    permit: OwnedSemaphorePermit,
) {
    // Without it events that are ready would wait for the client's acknowledgements; where the
    // system refuses, they do.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let service = service.clone();
        async move { Ok::<_, std::convert::Infallible>(answer(&service.0, &service.1, request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    // A client that went away, broken HTTP, a reply that is cut on purpose: all of it
    // ends this connection only.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
    drop(permit);
}

/// Answers a request that may come in; web pages and whoever means another server are refused,
/// as the proxy does.
async fn answer<A: Answers>(
    door: &Door,
    answers: &A,
    request: Request<Incoming>,
) -> Response<Body> {
    let (head, body) = request.into_parts();
    match admit(&head, door) {
        Ok(_) => answers.answer(Request::from_parts(head, body)).await,
        Err(why) => refused(&head, why),
    }
}

fn refused(head: &Parts, why: Refusal) -> Response<Body> {
    let dialect = dialect_at(head.uri.path()).unwrap_or_default();
    let sending = Sending::error(dialect, why.status(), &why.to_string(), "refused");
    let mut response = sending.into_response();
    let close = HeaderValue::from_static("close");
    response.headers_mut().insert(CONNECTION, close);
    response
}
