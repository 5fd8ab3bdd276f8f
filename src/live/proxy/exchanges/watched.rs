//! An exchange about which nobody decides: it passes as it comes, in the task of its connection, and all that is to
//! be found out about it is found out on the thread that writes it down, and later.

use super::ended::{EndedExchange, Unjudged, UnjudgedReply};
use super::inspect_request::InspectedRequest;
use super::state::{UpstreamWatcher, ms};
use crate::proxy::body::{Body, Outgoing, whole};
use crate::proxy::headers::{content_encoding, error_head, provider_error_head, same_head};
use crate::proxy::news::ProxyRequest;
use crate::proxy::origin::UpstreamFailure;
use crate::proxy::pass::{Follow, Passing, TransferEnd};
use crate::proxy::recorder::{RecordStage, RecordedBody, RecordedExchange, RecordedHead};
use http_body_util::BodyExt;
use hyper::body::Incoming;
use hyper::{HeaderMap, Response, StatusCode};
use retake_core::exchange::client::Client;
use retake_core::exchange::machine::{STALL, stalled};
use retake_core::exchange::views::Keeping;
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangePhase, ExchangeSummary};
use std::future::poll_fn;
use std::pin::{Pin, pin};
use std::sync::{Arc, OnceLock};
use std::task::{Context, Poll};
use std::time::Duration;
use tokio::time::{Instant, Sleep, sleep_until};

/// An exchange under way.
pub(crate) struct WatchedExchange {
    request: Arc<WatchedRequest>,
    reply: WatchedReply,
    began: Instant,
    /// Rings when it takes a while, then when it stalls.
    clock: Pin<Box<Sleep>>,
    /// When it counts as stalled.
    stalls: Instant,
    /// Whether it is written down, as far as it is known.
    is_written: bool,
    is_over: bool,
}

/// The request of an exchange.
struct WatchedRequest {
    watcher: UpstreamWatcher,
    id: ExchangeId,
    question: ProxyRequest,
    /// What is known of it, once somebody wants to write it down.
    known: OnceLock<KnownRequest>,
}

struct KnownRequest {
    inspected: InspectedRequest,
    seen: ExchangeSummary,
    head: RecordedHead,
}

/// What came in reply.
#[derive(Default)]
struct WatchedReply {
    status: Option<StatusCode>,
    lines: HeaderMap,
    body: RecordedBody,
    /// The error that the client got in its place.
    error: Option<RecordedBody>,
    first_ms: Option<u64>,
    total_ms: Option<u64>,
    notes: Vec<String>,
    phase: ExchangePhase,
}

impl WatchedExchange {
    /// Passes a request to its upstream, and the reply to its client.
    pub(crate) async fn pass(watcher: &UpstreamWatcher, question: ProxyRequest) -> Response<Body> {
        let (method, path_and_query, lines, body) = (
            question.method.clone(),
            question.path_and_query.clone(),
            question.lines.clone(),
            Outgoing::whole(question.body.clone()),
        );
        let mut exchange = Self::begin(watcher, question);
        let upstream = &watcher.upstream;
        let mut asking = pin!(upstream.send(method, &path_and_query, lines, body));
        let reply = poll_fn(|cx| {
            let reply = asking.as_mut().poll(cx);
            if reply.is_pending() {
                exchange.waits(cx);
            }
            reply
        });
        match reply.await {
            Ok(reply) => exchange.replies(reply),
            Err(error) => exchange.fails(&error),
        }
    }

    fn begin(watcher: &UpstreamWatcher, question: ProxyRequest) -> Self {
        let began = Instant::now();
        let request = WatchedRequest {
            id: watcher.state.begins_unheld(),
            watcher: watcher.clone(),
            question,
            known: OnceLock::new(),
        };
        Self {
            request: Arc::new(request),
            reply: WatchedReply::default(),
            began,
            clock: Box::pin(sleep_until(began + super::WHILE)),
            stalls: began + STALLED,
            is_written: false,
            is_over: false,
        }
    }

    fn ms(&self) -> u64 {
        ms(self.began.elapsed().as_millis())
    }

    fn replies(mut self, reply: Response<Incoming>) -> Response<Body> {
        let (head, body) = reply.into_parts();
        let onward = same_head(&head);
        self.reply.status = Some(head.status);
        self.reply.lines = head.headers;
        self.reply.first_ms = Some(self.ms());
        self.stalls = Instant::now() + STALLED;
        Response::from_parts(onward, Passing::new(body, self).boxed_unsync())
    }

    fn fails(mut self, error: &UpstreamFailure) -> Response<Body> {
        let why = error.to_string();
        let head = match error.may_be_retried() {
            true => provider_error_head(NO_REPLY),
            false => error_head(NO_REPLY),
        };
        let codec = self.request.question.dialect.codec();
        let text = codec.error(NO_REPLY, &why, None, "retake").to_string();
        let body = whole(text.clone());
        self.reply.error = Some(RecordedBody::whole(text.into()));
        self.end(ExchangeEnding::NoReply { why });
        Response::from_parts(head, body)
    }

    /// It is over: it is written down and judged, beside what passes.
    fn end(&mut self, ending: ExchangeEnding) {
        if std::mem::replace(&mut self.is_over, true) {
            return;
        }
        self.reply.total_ms = Some(self.ms());
        self.reply.phase = ExchangePhase::Ended(ending);
        self.reply.body.end();
        let (request, reply) = (self.request.clone(), std::mem::take(&mut self.reply));
        let state = &self.request.watcher.state;
        state.has_recorded(request.id);
        let cost = request.question.body.len() + reply.body.memory();
        let exchange = Box::new(move || request.over(reply));
        state
            .recorder
            .put_together(cost, RecordStage::Over, exchange);
    }
}

/// After so long without a byte an exchange counts as stalled.
const STALLED: Duration = Duration::from_millis(STALL);
/// The status of a reply that is none.
const NO_REPLY: u16 = 502;

impl Follow for WatchedExchange {
    fn piece(&mut self, piece: &[u8]) {
        self.reply.body.push_reply(piece);
        self.stalls = Instant::now() + STALLED;
    }

    fn waits(&mut self, cx: &mut Context<'_>) {
        while self.clock.as_mut().poll(cx) == Poll::Ready(()) {
            let now = Instant::now();
            if !std::mem::replace(&mut self.is_written, true) {
                let (request, cost) = (self.request.clone(), self.request.question.body.len());
                let exchange = Box::new(move || request.so_far());
                let recorder = &self.request.watcher.state.recorder;
                recorder.put_together(cost, RecordStage::Began, exchange);
            }
            if now >= self.stalls {
                // It is noted once.
                self.stalls = now + 4 * STALLED;
                if !self.reply.notes.contains(&stalled()) {
                    self.reply.notes.push(stalled());
                }
            }
            self.clock.as_mut().reset(self.stalls);
        }
    }

    fn over(&mut self, end: TransferEnd) {
        if let TransferEnd::Truncated(why) = &end {
            let note = format!("the reply broke off: {why}");
            self.reply.notes.push(note);
        }
        self.end(end.into());
    }
}

/// Its client may leave before there is a reply.
impl Drop for WatchedExchange {
    fn drop(&mut self) {
        self.end(ExchangeEnding::ClientLeft);
    }
}

impl WatchedRequest {
    fn known(&self) -> &KnownRequest {
        self.known.get_or_init(|| {
            let question = &self.question;
            let inspected = self.watcher.to_inspect(question).look_here();
            let inspected = inspected.at(question.dialect, &question.path_and_query);
            let client = Client::of(|name| question.lines.get(name)?.to_str().ok());
            let head = RecordedHead::of(&question.lines);
            let of = (&client, &inspected.request_head);
            let mut seen = self.watcher.seen(self.id, question, &head.secrets, of);
            seen.notes.extend(inspected.note.map(str::to_owned));
            KnownRequest {
                inspected,
                seen,
                head,
            }
        })
    }

    /// What is written down of it while its reply comes.
    fn so_far(&self) -> Arc<RecordedExchange> {
        let seen = ExchangeSummary {
            phase: ExchangePhase::Replying,
            ..self.known().seen.clone()
        };
        Arc::new(self.recorded(seen))
    }

    fn recorded(&self, seen: ExchangeSummary) -> RecordedExchange {
        let known = self.known();
        let (question, reading) = (&self.question, &known.inspected.reading);
        let is_own = *reading.body() == question.body;
        RecordedExchange {
            seen,
            request: RecordedBody::whole(question.body.clone()),
            continuation: is_own.then(|| reading.continuation().clone()),
            request_head: known.head.clone(),
            ..RecordedExchange::default()
        }
    }

    /// What is written down of it once it is over; it is judged later.
    fn over(&self, reply: WatchedReply) -> Arc<RecordedExchange> {
        let KnownRequest {
            inspected,
            seen,
            head,
        } = self.known();
        let mut seen = seen.clone();
        seen.status = reply.status.map(|status| status.as_u16());
        seen.received = reply.body.total();
        (seen.first_ms, seen.total_ms) = (reply.first_ms, reply.total_ms);
        seen.notes.extend(reply.notes);
        seen.phase = reply.phase;
        let recorded = Arc::new(RecordedExchange {
            reply: reply.body,
            reply_head: RecordedHead::of(&reply.lines),
            told: reply.error,
            ..self.recorded(seen)
        });
        let (reading, state) = (&inspected.reading, &self.watcher.state);
        let is_good = reply.status.is_some_and(|status| status.is_success());
        let mut unjudged = Unjudged::default();
        if inspected.is_readable {
            if is_good {
                self.keep(&recorded.reply, inspected);
            }
            let shown = head.secrets.iter();
            let shown = shown.map(|one| (one.header.clone(), one.secret.clone()));
            unjudged = Unjudged {
                request: Some(reading.clone()),
                reply: (is_good && !recorded.reply.is_cut()).then(|| UnjudgedReply {
                    request: reading.clone(),
                    encoding: content_encoding(&reply.lines),
                    body: recorded.reply.clone(),
                }),
                kept: 0,
                secrets: state.tokens().iter().cloned().chain(shown).collect(),
            };
        }
        let ended = EndedExchange {
            state: state.clone(),
            // It is repeated by hand, and there is no operator.
            stored: None,
            recorded: recorded.clone(),
            unjudged,
        };
        ended.judge();
        recorded
    }

    /// Remembers the reply where its client can continue it.
    fn keep(&self, reply: &RecordedBody, inspected: &InspectedRequest) {
        let (reading, conversations) = (&inspected.reading, &self.watcher.conversations);
        let head = reading.request_head();
        let keeping = head
            .and_then(|head| Keeping::of(conversations, reading.dialect(), reading.body(), head));
        if let Some(mut keeping) = keeping {
            reply.pieces().for_each(|piece| keeping.push(&piece));
        }
    }
}
