//! Listens, and gives each connection to hyper.

use super::Answers;
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper_util::rt::{TokioIo, TokioTimer};
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpStream;
use tokio::sync::{OwnedSemaphorePermit, Semaphore};
use tokio_util::sync::CancellationToken;

/// Most connections at a time; more wait.
const CONNECTIONS: usize = 256;
/// How long a client may take for the head of a request, also for the next one of a connection that is kept.
const HEAD: Duration = Duration::from_secs(60);
/// How long nobody is let in after the system refused a connection, as it does when files run out.
const REFUSED: Duration = Duration::from_millis(50);

/// Serves until it is told to stop; connections that are open then end with the runtime.
pub(super) async fn serve(listener: TcpListener, answers: impl Answers, stop: CancellationToken) {
    let Ok(listener) = tokio::net::TcpListener::from_std(listener) else {
        // The listener was made for this; without it there is nothing to serve, and clients see a closed port.
        return;
    };
    let answers = Arc::new(answers);
    let room = Arc::new(Semaphore::new(CONNECTIONS));
    let accepting = async {
        while let Ok(permit) = room.clone().acquire_owned().await {
            match listener.accept().await {
                Ok((stream, _)) => {
                    tokio::spawn(converse(stream, answers.clone(), permit));
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

async fn converse<A: Answers>(stream: TcpStream, answers: Arc<A>, permit: OwnedSemaphorePermit) {
    // Without it events that are ready would wait for the client's acknowledgements; where the system refuses, they do.
    let _ = stream.set_nodelay(true);
    let service = service_fn(move |request| {
        let answers = answers.clone();
        async move { Ok::<_, std::convert::Infallible>(answers.answer(request).await) }
    });
    let mut builder = http1::Builder::new();
    builder.timer(TokioTimer::new()).header_read_timeout(HEAD);
    // A client that went away, broken HTTP, a reply that is cut on purpose: all of it ends this connection only.
    let _ = builder
        .serve_connection(TokioIo::new(stream), service)
        .await;
    drop(permit);
}
