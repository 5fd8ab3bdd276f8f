//! A request is looked at before anything is decided about it: decoded, read as far as its exchange depends on
//! it, and made what its provider is to get.

use crate::lock::lock;
use crate::proxy::decode::decode;
use crate::proxy::judge::{Judge, REPEATED, RequestReading, shielded};
use bytes::Bytes;
use hyper::http::uri::PathAndQuery;
use retake_core::exchange::views::{StoredReplies, Views};
use retake_core::session::Dialect;
use retake_core::wire::{RequestHead, streams_events};
use std::sync::{Arc, Mutex};
use tokio::task::spawn_blocking;

/// A request that is to be looked at.
#[derive(Clone)]
pub(crate) struct InspectInput {
    pub(crate) judge: Arc<Judge>,
    pub(crate) views: Arc<Mutex<Arc<Views>>>,
    pub(crate) conversations: Arc<StoredReplies>,
    pub(crate) dialect: Dialect,
    /// How its body is encoded, if it says so.
    pub(crate) encoding: Option<String>,
    pub(crate) body: Bytes,
}

/// What is known of a request.
pub(crate) struct InspectedRequest {
    /// The body, decoded; as it came where it cannot be.
    pub(crate) plain: Bytes,
    pub(crate) reading: Arc<RequestReading>,
    pub(crate) request_head: RequestHead,
    /// Whether it and its reply can be judged at all.
    pub(crate) is_readable: bool,
    /// What the provider gets instead, with a notice about it.
    pub(crate) restored: Option<(Vec<String>, Arc<RequestReading>)>,
    /// What the operator should know of it.
    pub(crate) note: Option<&'static str>,
}

impl InspectedRequest {
    /// The same, with what its path says.
    pub(crate) fn at(mut self, dialect: Dialect, path_and_query: &PathAndQuery) -> Self {
        self.request_head = self.request_head.at(path_and_query.path());
        // Otherwise it is a list in one piece of JSON, which nobody can hold back in parts.
        let is_framed = streams_events(dialect, path_and_query.query());
        self.is_readable &= is_framed || !self.request_head.streams;
        self
    }
}

/// Notice for a request that continues an unknown reply.
const UNKNOWN: &str = "the provider keeps the history of this request, and its beginning was not seen: it is \
    judged without tools and history";
/// Notice for a request whose history is sent with it.
const WHOLE: &str =
    "the agent got another reply than its provider keeps: the whole conversation is sent again";

impl InspectInput {
    /// Looks, at a long body on another thread.
    pub(crate) async fn look(self) -> InspectedRequest {
        if !self.takes_long() {
            return self.look_here();
        }
        let look = self.clone();
        let looked = spawn_blocking(move || look.looked()).await;
        looked.unwrap_or_else(|_| self.unread())
    }

    /// Looks on this thread.
    pub(crate) fn look_here(self) -> InspectedRequest {
        let look = self.clone();
        // What cannot be looked at passes, as it would have without retake.
        shielded(|| look.looked()).unwrap_or_else(|| self.unread())
    }

    /// Whether the thread that forwards would be kept from others. How much comes of an
    /// encoded body nobody knows.
    fn takes_long(&self) -> bool {
        self.encoding.is_some() || self.body.len() > REPEATED
    }

    fn looked(self) -> InspectedRequest {
        let Some(plain) = self.plain() else {
            return self.unread();
        };
        let mut reading = self.judge.recall(self.dialect, plain.clone());
        let request_head = reading.request_head();
        let continues = request_head.is_some_and(|request_head| request_head.continues.is_some());
        let is_readable = request_head.is_some_and(|request_head| {
            request_head.history.is_some()
                && request_head.choices <= 1
                && !request_head.in_background
        });
        let request_head = request_head.cloned().unwrap_or_default();
        let continued = continues
            .then(|| self.conversations.continued(self.dialect, &plain))
            .flatten();
        let differs_for_client = continued.as_ref().is_some_and(|one| one.is_told_otherwise);
        let note = (continues && continued.is_none()).then_some(UNKNOWN);
        if let Some(continued) = continued {
            let body = Bytes::from(continued.body);
            reading = self.judge.recall(self.dialect, body);
        }
        // Nobody else waits while a long request is restored.
        let views = lock(&self.views).clone();
        let restored = views.restore(self.dialect, reading.body());
        let restored = match restored {
            Some(restored) => {
                let body = Bytes::from(restored.body);
                Some((restored.notes, self.judge.recall(self.dialect, body)))
            }
            None if differs_for_client => Some((vec![WHOLE.to_owned()], reading.clone())),
            None => None,
        };
        InspectedRequest {
            note,
            plain,
            reading,
            request_head,
            is_readable,
            restored,
        }
    }

    /// The body, decoded; `None` where it cannot be.
    fn plain(&self) -> Option<Bytes> {
        let Some(encoding) = &self.encoding else {
            return Some(self.body.clone());
        };
        let decoded = decode(encoding, &self.body);
        let bytes = decoded.fault.is_none().then_some(decoded.bytes)?;
        Some(Bytes::from(bytes.into_owned()))
    }

    /// What is known of a body that nobody can read.
    fn unread(self) -> InspectedRequest {
        InspectedRequest {
            reading: Arc::new(RequestReading::new(self.dialect, self.body.clone())),
            plain: self.body,
            request_head: RequestHead::default(),
            is_readable: false,
            restored: None,
            note: None,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::future::{Future, poll_fn};
    use std::pin::{Pin, pin};
    use std::sync::mpsc::channel;
    use std::task::Poll;

    fn look(length: usize, encoding: Option<&str>) -> InspectInput {
        let words = "x".repeat(length);
        let body = format!(r#"{{"model":"m","messages":[{{"role":"user","content":"{words}"}}]}}"#);
        InspectInput {
            judge: Arc::default(),
            views: Arc::default(),
            conversations: Arc::default(),
            dialect: Dialect::Chat,
            encoding: encoding.map(str::to_owned),
            body: Bytes::from(body),
        }
    }

    /// The output of a future that is ready at its first poll.
    async fn at_once<F: Future>(mut future: Pin<&mut F>) -> Option<F::Output> {
        poll_fn(|context| {
            Poll::Ready(match future.as_mut().poll(context) {
                Poll::Ready(output) => Some(output),
                Poll::Pending => None,
            })
        })
        .await
    }

    #[test]
    fn a_long_body_keeps_nobody_waiting() {
        let mut runtime = tokio::runtime::Builder::new_current_thread();
        let runtime = runtime.max_blocking_threads(1).build().unwrap();
        runtime.block_on(async {
            // The only other thread is busy, so what is for it has to wait.
            let (frees, waits) = channel::<()>();
            let busy = spawn_blocking(move || waits.recv());
            let mut long = pin!(look(2 * REPEATED, None).look());
            let mut encoded = pin!(look(100, Some("identity")).look());
            assert!(at_once(long.as_mut()).await.is_none());
            assert!(at_once(encoded.as_mut()).await.is_none());
            let short = pin!(look(100, None).look());
            assert!(at_once(short).await.unwrap().is_readable);
            frees.send(()).unwrap();
            let long = long.await;
            assert!(long.is_readable && long.request_head.model == "m");
            assert!(encoded.await.is_readable);
            busy.await.unwrap().unwrap();
        });
    }
}
