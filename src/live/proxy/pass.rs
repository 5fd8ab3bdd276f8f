//! What passes untouched: the plainest use of a listener.

use super::answer;
use super::body::{Body, Outgoing, Passing, TransferEnd, TransferObserver};
use super::headers;
use super::heads::SHOULD_RETRY;
use super::origin::{NoReply, Origin};
use super::watch::{Passed, Question, Watch};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::header::CONTENT_LENGTH;
use hyper::{Method, Response, StatusCode};
use retake_core::exchange::Ending;
use retake_core::session::Dialect;
use std::sync::Arc;
use std::time::Instant;

/// Looks at nothing: what comes is sent on, and the reply comes back as it is.
#[derive(Debug, Clone)]
pub struct PassThrough {
    upstream: Arc<Origin>,
}

impl PassThrough {
    pub fn new(upstream: Arc<Origin>) -> Self {
        Self { upstream }
    }
}

impl Watch for PassThrough {
    async fn exchange(&self, question: Question) -> Response<Body> {
        let Question {
            dialect,
            method,
            path_and_query,
            lines,
            body,
            ..
        } = question;
        let body = Outgoing::whole(body);
        let reply = self
            .upstream
            .send(method.clone(), &path_and_query, lines, body)
            .await;
        match reply {
            Ok(reply) => onward(&method, reply, Nobody),
            Err(error) => no_reply(Some(dialect), &error),
        }
    }
}

/// The reply that tells a client why there is none.
pub fn no_reply(dialect: Option<Dialect>, error: &NoReply) -> Response<Body> {
    let mut reply = answer::error(dialect, error.status(), &error.to_string());
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

/// An upstream's reply as it goes to the client.
pub(super) fn onward(
    method: &Method,
    reply: Response<Incoming>,
    tally: impl TransferObserver,
) -> Response<Body> {
    let head = head(method, &reply, ());
    let body = Passing::new(reply.into_body(), tally).boxed_unsync();
    head.map(|()| body)
}

struct Nobody;

impl TransferObserver for Nobody {
    fn first(&mut self) {}
    fn over(&mut self, _: TransferEnd, _: u64) {}
}

/// Counts what passes, and tells whoever watches when it is over. An exchange whose client leaves before there
/// is a reply ends so, too.
pub(super) struct Count<W: Watch> {
    watch: Arc<W>,
    began: Instant,
    passed: Option<Passed>,
}

impl<W: Watch> Count<W> {
    pub(super) fn new(watch: Arc<W>, passed: Passed) -> Self {
        Self {
            watch,
            began: Instant::now(),
            passed: Some(passed),
        }
    }

    /// The upstream answers with this status.
    pub(super) fn status(&mut self, status: StatusCode) {
        if let Some(passed) = &mut self.passed {
            passed.status = Some(status.as_u16());
        }
    }

    pub(super) fn end(&mut self, ending: Ending, received: u64) {
        if let Some(mut passed) = self.passed.take() {
            passed.total = self.began.elapsed();
            passed.received = received;
            passed.ending = ending;
            self.watch.passed(passed);
        }
    }
}

impl<W: Watch> TransferObserver for Count<W> {
    fn first(&mut self) {
        if let Some(passed) = &mut self.passed {
            passed.first = Some(self.began.elapsed());
        }
    }

    fn over(&mut self, gone: TransferEnd, bytes: u64) {
        let ending = match gone {
            TransferEnd::Whole => Ending::Passed,
            TransferEnd::Truncated => Ending::Truncated,
            TransferEnd::Unwanted => Ending::ClientLeft,
        };
        self.end(ending, bytes);
    }
}

impl<W: Watch> Drop for Count<W> {
    fn drop(&mut self) {
        self.end(Ending::ClientLeft, 0);
    }
}
