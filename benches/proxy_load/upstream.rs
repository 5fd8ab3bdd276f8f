//! A model API that thinks for no time: what a proxy adds is all there is to measure.

use crate::Failed;
use crate::ask::{ANSWER, Answer, Dialect};
use crate::reply::{self, Stream};
use bytes::Bytes;
use futures_util::stream;
use http_body_util::combinators::UnsyncBoxBody;
use http_body_util::{BodyExt, Full, StreamBody};
use hyper::body::{Frame, Incoming};
use hyper::header::{CONTENT_TYPE, HeaderValue};
use hyper::server::conn::http1;
use hyper::service::service_fn;
use hyper::{Request, Response};
use hyper_util::rt::TokioIo;
use std::convert::Infallible;
use std::sync::Arc;
use std::time::Duration;
use tokio::net::TcpListener;
use tokio::time::{Instant, MissedTickBehavior, interval_at};

const PAUSE: Duration = Duration::from_millis(1);

/// The whole replies, written once: \[chat, responses\] x \[text, call\].
type Wholes = Arc<[[Bytes; 2]; 2]>;

/// A reply, whole or streamed.
type Body = UnsyncBoxBody<Bytes, Infallible>;

/// Serves until it is stopped.
pub(crate) async fn serve(listener: TcpListener) -> Result<(), Failed> {
    let of = |dialect| [false, true].map(|calls| reply::whole(dialect, calls));
    let wholes = Arc::new([of(Dialect::Chat), of(Dialect::Responses)]);
    loop {
        let (connection, _) = listener.accept().await?;
        connection.set_nodelay(true)?;
        let wholes = wholes.clone();
        let service = service_fn(move |request| answer(request, wholes.clone()));
        let served = http1::Builder::new().serve_connection(TokioIo::new(connection), service);
        // A client that goes away ends its connection and nothing else.
        tokio::spawn(async { served.await.ok() });
    }
}

async fn answer(
    request: Request<Incoming>,
    wholes: Wholes,
) -> Result<Response<Body>, hyper::Error> {
    let dialect = match request.uri().path().ends_with("/responses") {
        true => Dialect::Responses,
        false => Dialect::Chat,
    };
    let wanted = request.headers().get(ANSWER).cloned();
    let mut body = request.into_body();
    while let Some(frame) = body.frame().await {
        drop(frame?);
    }
    let is = |answer: Answer| {
        wanted
            .as_ref()
            .is_some_and(|wanted| wanted == answer.word())
    };
    if is(Answer::Stream) {
        let mut response = Response::new(streamed(dialect));
        let kind = HeaderValue::from_static("text/event-stream; charset=utf-8");
        response.headers_mut().insert(CONTENT_TYPE, kind);
        return Ok(response);
    }
    let whole = &wholes[usize::from(dialect == Dialect::Responses)][usize::from(is(Answer::Call))];
    let mut response = Response::new(Full::new(whole.clone()).boxed_unsync());
    let kind = HeaderValue::from_static("application/json");
    response.headers_mut().insert(CONTENT_TYPE, kind);
    Ok(response)
}

/// The first event at once, then one each millisecond.
fn streamed(dialect: Dialect) -> Body {
    let mut clock = interval_at(Instant::now() + PAUSE, PAUSE);
    clock.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let begun = (Stream::new(dialect), clock);
    let pieces = stream::unfold(begun, |(mut stream, mut clock)| async {
        if stream.has_begun() {
            clock.tick().await;
        }
        let piece = stream.next()?;
        Some((Ok(Frame::data(piece)), (stream, clock)))
    });
    BodyExt::boxed_unsync(StreamBody::new(pieces))
}
