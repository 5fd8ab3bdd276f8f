//! An exchange that gets a fault on purpose: the reply is collected whole, changed, and sent as the client
//! requested it. If the fault does not fit, the reply is passed on unchanged.

use super::state::UpstreamWatcher;
use crate::proxy::body::{Outgoing, UpstreamBody};
use crate::proxy::chaos::{Chaos, ReplyId};
use crate::proxy::client_side::{ClientSide, Gone};
use crate::proxy::headers::{ask_for_plain, error_head, provider_error_head, reply_head, shape_of};
use crate::proxy::news::ProxyRequest;
use crate::proxy::recent::StoredRequest;
use crate::proxy::recorder::{self, RecordedExchange, assemble};
use bytes::Bytes;
use hyper::http::response::Parts;
use retake_core::chaos::{ChaosRequest, FaultKind, FaultyReply, InjectionOrder, NotHere, inject};
use retake_core::exchange::gate::Sent;
use retake_core::exchange::machine::BodyShape;
use retake_core::exchange::rewrite::continuation;
use retake_core::exchange::{ExchangeEnding, ExchangePhase, ExchangeSummary};
use retake_core::session::ledger::Usage;
use retake_core::wire::stream::rejoin;
use std::sync::Arc;
use tokio::time::{Instant, sleep};

/// What a client reads when it gets an error on purpose.
const WORDS: &str = "injected by retake: try again later";

/// One exchange that is to get a fault.
pub(crate) struct Injected {
    pub(crate) watcher: UpstreamWatcher,
    pub(crate) chaos: Arc<Chaos>,
    pub(crate) order: InjectionOrder,
    /// Learns the id of the reply.
    pub(crate) reply_id: Option<ReplyId>,
    pub(crate) request: ChaosRequest,
    /// Whether the client wants a Chat stream to report token usage.
    pub(crate) tells_usage: bool,
    pub(crate) seen: ExchangeSummary,
    pub(crate) question: ProxyRequest,
    pub(crate) plain: Bytes,
    pub(crate) client: ClientSide,
}

/// What came from the upstream, and what the client was given in its place.
#[derive(Default)]
struct Bodies {
    head: Option<Parts>,
    came: recorder::RecordedBody,
    sent: Option<Vec<u8>>,
}

impl Injected {
    /// Runs the exchange to its end.
    pub(crate) async fn run(mut self) {
        let began = Instant::now();
        let mut bodies = Bodies::default();
        let ending = match self.order.trial.fault.kind {
            FaultKind::Status(status) => self.refuse(status, &mut bodies),
            FaultKind::Change(_) | FaultKind::Cut | FaultKind::Slow => self.ask(&mut bodies).await,
        };
        let total = began.elapsed().as_millis();
        self.seen.total_ms = u64::try_from(total).ok();
        self.seen.phase = ExchangePhase::Ended(ending);
        self.finish(bodies);
    }

    /// The client gets an error, as its provider spells it.
    fn refuse(&mut self, status: u16, bodies: &mut Bodies) -> ExchangeEnding {
        let fault = self.order.trial.fault.id;
        self.begin_fault();
        let body = self
            .question
            .dialect
            .codec()
            .error(status, WORDS, None, "chaos")
            .to_string();
        let head = provider_error_head(status);
        self.seen.status = Some(status);
        bodies.sent = Some(body.clone().into_bytes());
        match self.client.give(head, Bytes::from(body)) {
            Ok(()) => {
                self.chaos.course().read(&self.order);
                let why = format!("chaos: {fault}");
                ExchangeEnding::Refused { why }
            }
            Err(Gone) => ExchangeEnding::ClientLeft,
        }
    }

    /// From here on the agent has the fault.
    fn begin_fault(&mut self) {
        self.chaos.injected(&self.order);
        self.seen
            .notes
            .push(format!("chaos: {}", self.order.trial.fault.id));
    }

    async fn ask(&mut self, bodies: &mut Bodies) -> ExchangeEnding {
        let reply = match self.collect(bodies).await {
            Ok(reply) => reply,
            Err(ending) => {
                self.chaos.course().missed(&self.order, None);
                return ending;
            }
        };
        let Some(head) = bodies.head.take() else {
            return ExchangeEnding::ClientLeft;
        };
        if let Some(reply_id) = &mut self.reply_id {
            reply_id.push(&reply);
        }
        let result = match self.faulty_reply(&head, &reply) {
            Ok(faulty) => {
                self.begin_fault();
                self.seen.rewritten.reply = matches!(faulty, FaultyReply::Changed(_));
                self.send(&head, &reply, faulty, bodies).await
            }
            Err(why) => {
                self.chaos.course().missed(&self.order, Some(why));
                let fault = self.order.trial.fault.id;
                self.seen
                    .notes
                    .push(format!("chaos: {fault} does not fit: {why}"));
                let whole = reply_head(&head, Some(reply.len()));
                self.client
                    .give(whole, reply)
                    .map(|()| ExchangeEnding::Passed)
            }
        };
        bodies.head = Some(head);
        result.unwrap_or(ExchangeEnding::ClientLeft)
    }

    /// The whole reply of the upstream; how it ends otherwise.
    async fn collect(&mut self, bodies: &mut Bodies) -> Result<Bytes, ExchangeEnding> {
        let mut lines = self.question.lines.clone();
        ask_for_plain(&mut lines);
        let (method, path_and_query) =
            (self.question.method.clone(), &self.question.path_and_query);
        let body = Outgoing::whole(self.question.body.clone());
        let reply = tokio::select! {
            reply = self.watcher.upstream.send(method, path_and_query, lines, body) => reply,
            () = self.client.left() => return Err(ExchangeEnding::ClientLeft),
        };
        let reply = reply.map_err(|error| {
            let (status, why) = (error.status().as_u16(), error.to_string());
            let body = self
                .question
                .dialect
                .codec()
                .error(status, &why, None, "retake")
                .to_string();
            // Whoever has left needs no reply.
            let _gone = self.client.give(error_head(status), Bytes::from(body));
            ExchangeEnding::NoReply { why }
        })?;
        let (head, mut body) = UpstreamBody::open(reply);
        self.seen.status = Some(head.status.as_u16());
        let mut bytes = Vec::new();
        loop {
            let frame = tokio::select! {
                frame = body.next() => frame,
                () = self.client.left() => return Err(ExchangeEnding::ClientLeft),
            };
            match frame {
                Some(Ok(piece)) => {
                    self.seen.received += piece.len() as u64;
                    bodies.came.push_reply(&piece);
                    bytes.extend_from_slice(&piece);
                }
                Some(Err(why)) => {
                    self.seen.notes.push(format!("the reply broke off: {why}"));
                    // Broken off as it came.
                    if self.client.begin(reply_head(&head, None)).is_ok() {
                        let _gone = self.client.send(Bytes::from(bytes)).await;
                    }
                    self.client.abort();
                    bodies.head = Some(head);
                    return Err(ExchangeEnding::Truncated);
                }
                None => break,
            }
        }
        bodies.head = Some(head);
        Ok(Bytes::from(bytes))
    }

    /// The reply with the fault in it.
    fn faulty_reply(&mut self, head: &Parts, reply: &[u8]) -> Result<FaultyReply, NotHere> {
        if !head.status.is_success() {
            return Err(NotHere::Unreadable);
        }
        let (whole, stream) = match shape_of(head) {
            BodyShape::Stream => {
                let whole = assemble(Some(self.question.dialect), reply).reply;
                (whole.map(|whole| rejoin(&whole).into_owned()), Some(reply))
            }
            BodyShape::Whole => (std::str::from_utf8(reply).ok().map(str::to_owned), None),
            BodyShape::Opaque => return Err(NotHere::Unreadable),
        };
        let dice = &mut self.order.dice;
        inject(
            self.order.trial.fault,
            &self.request,
            whole.as_deref(),
            stream,
            dice,
        )
    }

    /// Sends the faulty reply to the client.
    async fn send(
        &mut self,
        head: &Parts,
        reply: &Bytes,
        faulty: FaultyReply,
        bodies: &mut Bodies,
    ) -> Result<ExchangeEnding, Gone> {
        let is_stream = shape_of(head) == BodyShape::Stream;
        match faulty {
            FaultyReply::Changed(json) if is_stream => {
                let (dialect, sent) = (self.question.dialect, Sent::default());
                let usage = Usage::default();
                let body = continuation(dialect, &sent, &json, usage, self.tells_usage);
                bodies.sent = Some(body.clone());
                self.client.begin(reply_head(head, None))?;
                self.client.send(Bytes::from(body)).await?;
                self.client.end().await?;
                self.chaos.course().read(&self.order);
                Ok(ExchangeEnding::Mended)
            }
            FaultyReply::Changed(json) => {
                bodies.sent = Some(json.clone().into_bytes());
                let whole = reply_head(head, Some(json.len()));
                self.client.give(whole, Bytes::from(json))?;
                self.chaos.course().read(&self.order);
                Ok(ExchangeEnding::Mended)
            }
            FaultyReply::CutAt(at) => {
                let part = reply.slice(..at.min(reply.len()));
                bodies.sent = Some(part.to_vec());
                self.client.begin(reply_head(head, None))?;
                self.client.send(part).await?;
                self.client.abort();
                Ok(ExchangeEnding::Cut)
            }
            FaultyReply::Paused(pauses) => {
                self.client.begin(reply_head(head, None))?;
                let ends = pauses.iter().copied().skip(1).chain([reply.len()]);
                for (from, to) in pauses.iter().copied().zip(ends) {
                    tokio::select! {
                        () = sleep(self.chaos.pause()) => {}
                        () = self.client.left() => return Err(Gone),
                    }
                    self.client.send(reply.slice(from..to)).await?;
                }
                self.client.end().await?;
                self.chaos.course().read(&self.order);
                Ok(ExchangeEnding::Passed)
            }
        }
    }

    fn finish(self, bodies: Bodies) {
        let reply_head = bodies.head.as_ref();
        let reply_head = reply_head.map(|head| recorder::RecordedHead::of(&head.headers));
        let stored = StoredRequest::of(&self.question, &self.watcher.upstream, self.plain);
        let recorded = RecordedExchange {
            seen: self.seen,
            request: recorder::RecordedBody::whole(self.question.body),
            request_head: recorder::RecordedHead::of(&self.question.lines),
            reply: bodies.came,
            reply_head: reply_head.unwrap_or_default(),
            told: bodies
                .sent
                .map(|sent| recorder::RecordedBody::whole(sent.into())),
            sent: None,
            continuation: None,
        };
        self.watcher.state.over_and_recorded(recorded, stored);
    }
}
