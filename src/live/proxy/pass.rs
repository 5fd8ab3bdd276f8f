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

/// Follows a reply on its way to the client.
pub(crate) trait Follow: Send + Unpin + 'static {
    /// A piece passes.
    fn piece(&mut self, piece: &[u8]);
    /// Nothing has come since.
    fn waits(&mut self, cx: &mut Context<'_>) {
        let _ = cx;
    }
    /// The reply is over.
    fn over(&mut self, end: TransferEnd);
}

impl<F: Follow> Follow for Option<F> {
    fn piece(&mut self, piece: &[u8]) {
        self.iter_mut().for_each(|follow| follow.piece(piece));
    }

    fn over(&mut self, end: TransferEnd) {
        if let Some(follow) = self {
            follow.over(end);
        }
    }
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

    pub(crate) fn end(&mut self, ending: ExchangeEnding) {
        if let Some(mut passed) = self.passed.take() {
            passed.total = self.began.elapsed();
            passed.ending = ending;
            self.watch.passed(passed);
        }
    }
}

impl<W: Watch> Follow for Count<W> {
    fn piece(&mut self, piece: &[u8]) {
        if let Some(passed) = &mut self.passed {
            passed.first.get_or_insert_with(|| self.began.elapsed());
            passed.received += piece.len() as u64;
        }
    }

    fn over(&mut self, end: TransferEnd) {
        self.end(end.into());
    }
}

impl<W: Watch> Drop for Count<W> {
    fn drop(&mut self) {
        self.end(ExchangeEnding::ClientLeft);
    }
}

/// How a reply that only passed has gone.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum TransferEnd {
    Whole,
    /// The upstream broke off, and why.
    Truncated(String),
    /// The client did not want all of it.
    Unwanted,
}

impl From<TransferEnd> for ExchangeEnding {
    fn from(end: TransferEnd) -> Self {
        match end {
            TransferEnd::Whole => Self::Passed,
            TransferEnd::Truncated(_) => Self::Truncated,
            TransferEnd::Unwanted => Self::ClientLeft,
        }
    }
}

/// The body of an upstream's reply on its way to the client.
pub(crate) struct Passing<F: Follow> {
    body: Incoming,
    follow: F,
    /// Something was handed over in this round and may not have been written yet.
    is_fresh: bool,
    end: Option<TransferEnd>,
}

impl<F: Follow> Passing<F> {
    pub(crate) fn new(body: Incoming, follow: F) -> Self {
        Self {
            body,
            follow,
            is_fresh: false,
            end: None,
        }
    }
}

impl<F: Follow> HttpBody for Passing<F> {
    type Data = Bytes;
    type Error = Cut;

    fn poll_frame(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, Cut>>> {
        let this = self.get_mut();
        loop {
            if matches!(this.end, Some(TransferEnd::Truncated(_))) {
                return Poll::Ready(Some(Err(Cut::Upstream)));
            }
            let frame = match Pin::new(&mut this.body).poll_frame(cx) {
                Poll::Pending => {
                    this.is_fresh = false;
                    this.follow.waits(cx);
                    return Poll::Pending;
                }
                Poll::Ready(frame) => frame,
            };
            match frame {
                None => {
                    this.end = Some(TransferEnd::Whole);
                    return Poll::Ready(None);
                }
                Some(Err(error)) => {
                    this.end = Some(TransferEnd::Truncated(error.to_string()));
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
                    this.follow.piece(&data);
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

impl<F: Follow> Drop for Passing<F> {
    fn drop(&mut self) {
        let is_whole = self.body.is_end_stream();
        let end = self.end.take().unwrap_or(match is_whole {
            true => TransferEnd::Whole,
            false => TransferEnd::Unwanted,
        });
        self.follow.over(end);
    }
}
