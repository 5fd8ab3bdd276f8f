//! What passes untouched.

use super::body::{Body, Cut};
use super::headers;
use super::headers::SHOULD_RETRY;
use super::news::{Passed, Watch};
use super::origin::UpstreamFailure;
use bytes::Bytes;
use http_body_util::BodyExt;
use hyper::body::{Body as HttpBody, Frame, Incoming, SizeHint};
use hyper::header::CONTENT_LENGTH;
use hyper::{Method, Response, StatusCode};
use retake_core::exchange::ExchangeEnding;
use retake_core::session::Dialect;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Instant;

/// The reply that tells a client why there is none.
pub fn no_reply(dialect: Option<Dialect>, error: &UpstreamFailure) -> Response<Body> {
    let mut reply = headers::error(dialect, error.status(), &error.to_string());
    if error.may_be_retried() {
        reply.headers_mut().remove(SHOULD_RETRY);
    }
    reply
}

/// The head of an upstream's reply as it goes to the client; its body may be another.
///
/// The status passes untouched, redirects and refusals too. What belongs to the connection is left out.
pub fn head<B>(method: &Method, reply: &Response<Incoming>, body: B) -> Response<B> {
    let mut onward = Response::new(body);
    *onward.status_mut() = reply.status();
    *onward.headers_mut() = headers::end_to_end(reply.headers());
    // These have no body; the length that they tell is that of another reply.
    let is_bodiless = method == Method::HEAD || reply.status() == StatusCode::NOT_MODIFIED;
    if let Some(length) = reply.headers().get(CONTENT_LENGTH).filter(|_| is_bodiless) {
        let lines = onward.headers_mut();
        lines.insert(CONTENT_LENGTH, length.clone());
    }
    onward
}

/// An upstream's reply as it goes to the client; `count` is called when it is over.
pub fn onward<W: Watch>(
    method: &Method,
    reply: Response<Incoming>,
    count: Option<Count<W>>,
) -> Response<Body> {
    let head = head(method, &reply, ());
    let body = Passing::new(reply.into_body(), count).boxed_unsync();
    head.map(|()| body)
}

/// Counts what passes, and tells whoever watches when it is over. An exchange whose client leaves before there
/// is a reply ends so, too.
pub struct Count<W: Watch> {
    watch: Arc<W>,
    began: Instant,
    passed: Option<Passed>,
}

impl<W: Watch> Count<W> {
    pub(crate) fn new(watch: Arc<W>, passed: Passed) -> Self {
        Self {
            watch,
            began: Instant::now(),
            passed: Some(passed),
        }
    }

    /// The upstream answers with this status.
    pub(crate) fn status(&mut self, status: StatusCode) {
        if let Some(passed) = &mut self.passed {
            passed.status = Some(status.as_u16());
        }
    }

    fn first(&mut self) {
        if let Some(passed) = &mut self.passed {
            passed.first = Some(self.began.elapsed());
        }
    }

    fn over(&mut self, gone: TransferEnd, bytes: u64) {
        let ending = match gone {
            TransferEnd::Whole => ExchangeEnding::Passed,
            TransferEnd::Truncated => ExchangeEnding::Truncated,
            TransferEnd::Unwanted => ExchangeEnding::ClientLeft,
        };
        self.end(ending, bytes);
    }

    pub(crate) fn end(&mut self, ending: ExchangeEnding, received: u64) {
        if let Some(mut passed) = self.passed.take() {
            passed.total = self.began.elapsed();
            passed.received = received;
            passed.ending = ending;
            self.watch.passed(passed);
        }
    }
}

impl<W: Watch> Drop for Count<W> {
    fn drop(&mut self) {
        self.end(ExchangeEnding::ClientLeft, 0);
    }
}

/// How a reply that only passed has gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum TransferEnd {
    Whole,
    /// The upstream broke off.
    Truncated,
    /// The client did not want all of it.
    Unwanted,
}

/// The body of an upstream's reply on its way to the client.
struct Passing<W: Watch> {
    body: Incoming,
    count: Option<Count<W>>,
    bytes: u64,
    /// Something was handed over in this round and may not have been written yet.
    is_fresh: bool,
    gone: Option<TransferEnd>,
}

impl<W: Watch> Passing<W> {
    fn new(body: Incoming, count: Option<Count<W>>) -> Self {
        Self {
            body,
            count,
            bytes: 0,
            is_fresh: false,
            gone: None,
        }
    }
}

impl<W: Watch> HttpBody for Passing<W> {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        loop {
            if this.gone == Some(TransferEnd::Truncated) {
                return Poll::Ready(Some(Err(Cut::Upstream)));
            }
            let frame = match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Pending => {
                    this.is_fresh = false;
                    return Poll::Pending;
                }
                Poll::Ready(frame) => frame,
            };
            match frame {
                None => {
                    this.gone = Some(TransferEnd::Whole);
                    return Poll::Ready(None);
                }
                Some(Err(_)) => {
                    this.gone = Some(TransferEnd::Truncated);
                    if std::mem::take(&mut this.is_fresh) {
                        // hyper drops what it has not written when a body fails; it writes when
                        // nothing more is ready.
                        cx.waker().wake_by_ref();
                        return Poll::Pending;
                    }
                }
                Some(Ok(frame)) => {
                    // Trailers are not passed: no header announced them.
                    let Ok(data) = frame.into_data() else {
                        continue;
                    };
                    if this.bytes == 0
                        && let Some(count) = &mut this.count
                    {
                        count.first();
                    }
                    this.bytes += data.len() as u64;
                    this.is_fresh = true;
                    return Poll::Ready(Some(Ok(Frame::data(data))));
                }
            }
        }
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

impl<W: Watch> Drop for Passing<W> {
    fn drop(&mut self) {
        let is_whole = self.body.is_end_stream();
        let gone = self.gone.unwrap_or(match is_whole {
            true => TransferEnd::Whole,
            false => TransferEnd::Unwanted,
        });
        if let Some(count) = &mut self.count {
            count.over(gone, self.bytes);
        }
    }
}
