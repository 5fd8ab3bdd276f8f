//! Drives one exchange: hears the upstream, the client, the judge, the hold and the clock, tells the machine,
//! and does what it says.

use super::ended::{self, EndedExchange, Unjudged, UnjudgedReply};
use super::state::{ExchangeMessage, UpstreamWatcher, ms};
use crate::proxy::body::{ClientPresence, UpstreamBody};
use crate::proxy::chaos::ReplyId;
use crate::proxy::client_side::ClientSide;
use crate::proxy::headers::{content_encoding, shape_of};
use crate::proxy::holds::HoldUpdate;
use crate::proxy::judge::{Continuation, ExchangeVerdict, RequestReading};
use crate::proxy::news::ProxyRequest;
use crate::proxy::origin::UpstreamFailure;
use crate::proxy::recent::StoredRequest;
use crate::proxy::recorder::{REPLY_CAP, RecordedBody, RecordedExchange, RecordedHead};
use crate::takes::wall_clock;
use bytes::Bytes;
use hyper::Response;
use hyper::body::Incoming;
use hyper::http::response::Parts;
use retake_core::exchange::machine::{
    Event, Exchange, ExchangeSettings, ExchangeTimer, HoldDecision, Judgement, ReplyHead,
};
use retake_core::exchange::views::Keeping;
use retake_core::exchange::{ExchangeEnding, ExchangePhase, ExchangeSummary};
use std::collections::VecDeque;
use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::time::Duration;
use tokio::sync::mpsc::UnboundedReceiver;
use tokio::task::JoinHandle;
use tokio::time::{Instant, Sleep, sleep_until};

/// How often the growth of a reply is reported.
const OFTEN: Duration = Duration::from_millis(100);
/// So long a disk may take to write down that an exchange is held.
const DISK: Duration = Duration::from_secs(1);

mod effects;
mod order;

type Asking = Pin<Box<dyn Future<Output = Result<Response<Incoming>, UpstreamFailure>> + Send>>;

pub(crate) struct Pump {
    pub(crate) watcher: UpstreamWatcher,
    /// Remembers the reply where its client can continue it.
    pub(crate) keeping: Option<Keeping>,
    pub(crate) machine: Exchange,
    pub(crate) seen: ExchangeSummary,
    pub(crate) question: ProxyRequest,
    plain: Bytes,
    /// Which request the agent's own one continues.
    continuation: Option<Continuation>,
    /// The request to the upstream, as it is judged.
    pub(crate) reading: Arc<RequestReading>,
    /// The request to the upstream, if it differs from the agent's.
    sent: Option<Bytes>,
    pub(crate) client: ClientSide,
    pub(crate) inbox: UnboundedReceiver<ExchangeMessage>,
    /// Messages that came while the client did not read.
    waiting: VecDeque<ExchangeMessage>,
    began: Instant,
    asking: Option<Asking>,
    reply: Option<UpstreamBody>,
    head: Option<Parts>,
    /// Whether what is held is a reply.
    holds_reply: bool,
    judging: Option<JoinHandle<ExchangeVerdict>>,
    /// What was found in a reply that was judged at once.
    judged: Option<ExchangeVerdict>,
    given: Given,
    begun_with: Option<ReplyHead>,
    /// What came from the upstream last.
    latest: Bytes,
    /// What came from the upstream in reply to the latest request.
    received: RecordedBody,
    /// The reply to the agent's own request, if the upstream has got another one since.
    first: Option<(RecordedHead, RecordedBody)>,
    timers: [Option<Instant>; 3],
    clock: Pin<Box<Sleep>>,
    /// Time and phase of the last report.
    last_report: (Instant, ExchangePhase),
    /// Whether something has happened since.
    is_report_due: bool,
    is_over: bool,
    /// Whether the request can be read, so that it and its reply can be judged at all.
    pub(crate) is_readable: bool,
    /// Whether the request was judged before it left.
    pub(crate) was_looked_at: bool,
    /// Learns the id of the reply, where faults are injected.
    pub(crate) reply_id: Option<ReplyId>,
    /// Whether the reply was.
    was_judged: bool,
    /// The client gets another reply than the provider's first one.
    gets_another_reply: bool,
    /// The client left before it had everything.
    is_lost: bool,
    /// The operator cut the connection while the client did not read.
    is_cut: bool,
    /// The client has closed its side, and was written to since.
    was_doubted: bool,
    /// How many of the findings stay because they were reported. After them come those of the reply as far
    /// as it had come.
    found: usize,
    /// How often the provider has refused the request.
    refusals: u32,
    /// Whether a client that gets no reply may try again by itself.
    may_be_retried: bool,
    /// Whether it is written down, as far as it is known.
    is_written: bool,
}

enum Next {
    Message(ExchangeMessage),
    ClientGone,
    ClientHalfClosed,
    Verdict(Result<ExchangeVerdict, tokio::task::JoinError>),
    Head(Result<Response<Incoming>, UpstreamFailure>),
    Frame(Option<Result<Bytes, String>>),
    TimerFired,
    ReportDue,
    TakesAWhile,
}

impl Pump {
    pub(crate) fn new(
        watcher: UpstreamWatcher,
        settings: ExchangeSettings,
        seen: ExchangeSummary,
        (question, plain, reading): (ProxyRequest, Bytes, Arc<RequestReading>),
        client: ClientSide,
        inbox: UnboundedReceiver<ExchangeMessage>,
    ) -> Self {
        let now = Instant::now();
        let is_own = *reading.body() == question.body;
        Self {
            continuation: is_own.then(|| reading.continuation().clone()),
            watcher,
            keeping: None,
            machine: Exchange::new(settings),
            seen,
            question,
            plain,
            reading,
            sent: None,
            client,
            inbox,
            waiting: VecDeque::new(),
            began: now,
            asking: None,
            reply: None,
            head: None,
            holds_reply: false,
            judging: None,
            judged: None,
            given: Given::default(),
            begun_with: None,
            latest: Bytes::new(),
            received: RecordedBody::default(),
            first: None,
            timers: [None; 3],
            clock: Box::pin(sleep_until(now + Duration::from_secs(86_400))),
            last_report: (now, ExchangePhase::Asking),
            is_report_due: false,
            is_over: false,
            is_readable: false,
            was_looked_at: false,
            reply_id: None,
            was_judged: false,
            gets_another_reply: false,
            is_lost: false,
            is_cut: false,
            was_doubted: false,
            found: 0,
            refusals: 0,
            may_be_retried: false,
            is_written: false,
        }
    }

    /// Runs the exchange to its end. `verdict` is what was found in its request.
    pub(crate) async fn run(mut self, verdict: ExchangeVerdict) {
        let judgement = self.found(verdict);
        self.drive(Event::Asked(judgement)).await;
        while !self.is_over {
            let next = self.next().await;
            self.take(next).await;
        }
        self.finish();
    }

    async fn next(&mut self) -> Next {
        if let Some(verdict) = self.judged.take() {
            return Next::Verdict(Ok(verdict));
        }
        if let Some(message) = self.waiting.pop_front() {
            return Next::Message(message);
        }
        let wants_upstream = self.machine.wants_upstream();
        tokio::select! {
            biased;
            Some(message) = self.inbox.recv() => Next::Message(message),
            frame = next_frame(&mut self.reply), if wants_upstream => Next::Frame(frame),
            head = optional(&mut self.asking) => { self.asking = None; Next::Head(head) }
            verdict = optional(&mut self.judging) => { self.judging = None; Next::Verdict(verdict) }
            () = self.client.left() => Next::ClientGone,
            () = self.question.presence.ended(), if !self.was_doubted => Next::ClientHalfClosed,
            () = &mut self.clock => Next::TimerFired,
            () = sleep_until(self.last_report.0 + OFTEN), if self.is_report_due => Next::ReportDue,
            () = sleep_until(self.began + super::WHILE), if !self.is_written => Next::TakesAWhile,
        }
    }

    async fn take(&mut self, next: Next) {
        match next {
            Next::Message(message) => self.message(message).await,
            Next::ClientGone => {
                self.client.abort();
                self.drive(Event::ClientLeft).await;
            }
            Next::ClientHalfClosed => {
                self.was_doubted = true;
                self.drive(Event::ClientDoubted).await;
            }
            Next::Verdict(Ok(verdict)) => {
                let judgement = self.found(verdict);
                self.drive(Event::Judged(judgement)).await;
            }
            Next::Verdict(Err(_)) => {
                // What cannot be judged passes, as it would have without retake.
                self.note(effects::NOT_JUDGED.to_owned());
                self.drive(Event::Judged(Judgement::Sound)).await;
            }
            Next::Head(Ok(reply)) => self.begins(reply).await,
            Next::Head(Err(error)) => {
                self.may_be_retried = error.may_be_retried();
                self.drive(Event::NoReply(error.to_string())).await;
            }
            Next::Frame(Some(Ok(bytes))) => {
                self.received(&bytes);
                self.latest = bytes.clone();
                self.drive(Event::Bytes(&bytes)).await;
            }
            Next::Frame(Some(Err(why))) => {
                self.reply = None;
                self.drive(Event::Broke(why)).await;
            }
            Next::Frame(None) => {
                self.reply = None;
                self.drive(Event::Ended).await;
            }
            Next::TimerFired => self.timer_fired().await,
            Next::ReportDue => self.report(),
            Next::TakesAWhile => {
                self.is_written = true;
                self.watcher.state.recorder.began(self.recorded_so_far());
            }
        }
    }

    async fn message(&mut self, message: ExchangeMessage) {
        match message {
            ExchangeMessage::Decided(outcome) => {
                let decision = self.decision_of(outcome);
                self.gets_another_reply |= matches!(decision, HoldDecision::Reply { .. });
                match &decision {
                    HoldDecision::Request(_) => self.seen.rewritten.request = true,
                    HoldDecision::Reply { let_pass_by, .. } => {
                        self.seen.rewritten.reply |= let_pass_by.is_none();
                    }
                    _ => {}
                }
                self.drive(Event::Decided(decision)).await;
            }
            ExchangeMessage::Hold(HoldUpdate::AwaitsModel) => self.drive(Event::AskedAgain).await,
            ExchangeMessage::Hold(HoldUpdate::AwaitsDecision(why)) => {
                self.drive(Event::WaitsAgain(why)).await;
            }
            ExchangeMessage::Hold(HoldUpdate::Found(found)) => {
                ended::see(&mut self.seen, self.found, found);
                self.keep_found();
                self.report();
            }
            ExchangeMessage::Release(by) => {
                self.watcher.state.holds.release(self.seen.id, &by);
                self.drive(Event::Decided(HoldDecision::AsItCame { by }))
                    .await;
            }
            ExchangeMessage::Cut => {
                self.watcher.state.holds.cut(self.seen.id, "operator");
                self.drive(Event::Decided(HoldDecision::Cut)).await;
            }
            ExchangeMessage::Joined(client, presence) => self.joined(client, presence).await,
        }
    }

    /// A retry gets what the client before it was given, and then what that one would get.
    async fn joined(&mut self, client: ClientSide, presence: ClientPresence) {
        self.client = client;
        self.question.presence = presence;
        (self.was_doubted, self.is_lost) = (false, false);
        self.seen.retries += 1;
        if self.given.is_cut() {
            // What the client before it has read is not there any more.
            return self.take_gone().await;
        }
        if let Some(head) = self.begun_with {
            let head = self.head_for(head, None);
            let given = self.given.pieces(&self.received);
            let mut result = self.client.begin(head);
            for bytes in given {
                if result.is_ok() {
                    result = self.send(bytes).await;
                }
            }
            if result.is_err() {
                return self.take_gone().await;
            }
        }
        self.drive(Event::ClientJoined).await;
    }

    async fn take_gone(&mut self) {
        self.client.abort();
        Box::pin(self.drive(self.gone())).await;
    }

    async fn begins(&mut self, reply: Response<Incoming>) {
        let (head, body) = UpstreamBody::open(reply);
        let status = head.status.as_u16();
        self.seen.status = Some(status);
        self.seen.first_ms = Some(self.ms_of_upstream());
        let shape = shape_of(&head);
        self.keeping = (head.status.is_success() && self.is_readable)
            .then(|| {
                let (dialect, request_head) = (self.question.dialect, self.reading.request_head()?);
                Keeping::of(
                    &self.watcher.conversations,
                    dialect,
                    self.reading.body(),
                    request_head,
                )
            })
            .flatten();
        self.head = Some(head);
        self.reply = Some(body);
        self.drive(Event::Head { status, shape }).await;
    }

    fn received(&mut self, bytes: &Bytes) {
        self.seen.received += bytes.len() as u64;
        self.received.push_reply(bytes);
        if let Some(reply_id) = &mut self.reply_id {
            reply_id.push(bytes);
        }
        if let Some(keeping) = &mut self.keeping {
            keeping.push(bytes);
        }
    }

    /// Another request is sent to the upstream: the next reply is another one.
    fn asks_again(&mut self) {
        let Some(head) = &self.head else { return };
        let received = std::mem::take(&mut self.received);
        self.given.start_again(&received);
        // What came between the first reply and the last one is in the journal of the hold.
        if self.first.is_none() {
            self.first = Some((RecordedHead::of(&head.headers), received));
        }
    }

    async fn timer_fired(&mut self) {
        let now = Instant::now();
        for (place, timer) in TIMERS.into_iter().enumerate() {
            if self.timers[place].is_some_and(|at| at <= now) {
                self.timers[place] = None;
                self.drive(Event::Rang(timer)).await;
            }
        }
        let next = self.timers.iter().flatten().min().copied();
        let next = next.unwrap_or(now + Duration::from_secs(86_400));
        self.clock.as_mut().reset(next);
    }

    fn note(&mut self, words: String) {
        ended::note(&mut self.seen, &words);
    }

    /// How long it has taken without the time in which decisions were awaited, in milliseconds.
    pub(crate) fn ms_of_upstream(&self) -> u64 {
        let all = ms(self.began.elapsed().as_millis());
        all.saturating_sub(self.seen.held_until(wall_clock()))
    }

    /// Counts the time in which a decision is awaited, where that begins or ends.
    pub(crate) fn count_hold(&mut self, now: u64) {
        match (self.seen.held_since_ms, self.machine.awaits_decision()) {
            (None, true) => self.seen.held_since_ms = Some(now),
            (Some(since), false) => {
                self.seen.held_since_ms = None;
                self.seen.held_ms[usize::from(self.holds_reply)] += now.saturating_sub(since);
            }
            _ => {}
        }
    }

    /// Reports the phase of the exchange if it has changed or was not reported for a while.
    fn report(&mut self) {
        let phase = self.machine.phase();
        if self.is_over {
            // Its end is reported once, with all that is known then.
            return;
        }
        self.is_report_due = phase == self.last_report.1 && self.last_report.0.elapsed() < OFTEN;
        if self.is_report_due {
            return;
        }
        self.last_report = (Instant::now(), phase.clone());
        self.seen.phase = phase;
        self.watcher.state.report_seen(self.seen.clone());
    }
}

const TIMERS: [ExchangeTimer; 3] = [
    ExchangeTimer::Beat,
    ExchangeTimer::Deadline,
    ExchangeTimer::Stall,
];

fn place_of(timer: ExchangeTimer) -> usize {
    match timer {
        ExchangeTimer::Beat => 0,
        ExchangeTimer::Deadline => 1,
        ExchangeTimer::Stall => 2,
    }
}

/// The next bytes of a body; for ever where there is none.
async fn next_frame(body: &mut Option<UpstreamBody>) -> Option<Result<Bytes, String>> {
    match body {
        Some(body) => body.next().await,
        None => std::future::pending().await,
    }
}

/// What a future gives; for ever where there is none.
async fn optional<F: Future + Unpin>(future: &mut Option<F>) -> F::Output {
    match future {
        Some(future) => future.await,
        None => std::future::pending().await,
    }
}

// What a client was given so far: for a retry that takes its place, and for the journal where it
// differs from what came.

/// What a client was given: the beginning of the reply as it came, which is kept elsewhere, and what followed.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// So many bytes of the reply.
    as_it_came: u64,
    rest: RecordedBody,
}

impl Given {
    /// The next bytes of the reply pass.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        if self.rest.total() == 0 {
            self.as_it_came += bytes.len() as u64;
        } else {
            self.rest.push_reply(bytes);
        }
    }

    /// Something else is sent.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.rest.push_reply(bytes);
    }

    /// Whether more was given than is kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.as_it_came > REPLY_CAP || self.rest.is_cut()
    }

    /// All of it, piece by piece; `reply` is what has come.
    pub(crate) fn pieces(&self, reply: &RecordedBody) -> Vec<Bytes> {
        let mut left = usize::try_from(self.as_it_came).unwrap_or(usize::MAX);
        let as_it_came = reply.pieces().map(|mut piece| {
            piece.truncate(left);
            left -= piece.len();
            piece
        });
        let pieces = as_it_came.chain(self.rest.pieces());
        pieces.filter(|piece| !piece.is_empty()).collect()
    }

    /// The same as one body.
    pub(crate) fn whole(&self, reply: &RecordedBody) -> RecordedBody {
        let mut whole = RecordedBody::default();
        for piece in self.pieces(reply) {
            whole.push_reply(&piece);
        }
        whole
    }

    /// Another reply begins; `reply` is the one before.
    pub(crate) fn start_again(&mut self, reply: &RecordedBody) {
        if self.as_it_came > 0 {
            self.rest = self.whole(reply);
            self.as_it_came = 0;
        }
    }
}

impl Pump {
    /// The exchange is over: it is written down and judged, beside what passes. The client has everything already.
    pub(crate) fn finish(mut self) {
        // The upstream has nothing more to say.
        (self.reply, self.asking) = (None, None);
        self.received.end();
        let reply = self.unjudged_reply();
        if let Some(UnjudgedReply { encoding, .. }) = &reply
            && !encoding.is_empty()
            && self.machine.reads_reply()
        {
            self.note(format!(
                "the reply is encoded ({encoding}) although no encoding was requested: it passed unchecked"
            ));
        }
        let (recorded, stored) = self.end();
        let request = (self.is_readable && !self.was_looked_at).then(|| self.reading.clone());
        let ended = EndedExchange {
            state: self.watcher.state.clone(),
            recorded: Arc::new(recorded),
            stored,
            unjudged: Unjudged {
                request,
                reply: reply.filter(|_| self.is_readable),
                kept: self.found,
                secrets: self.secrets(),
            },
        };
        ended.finish();
    }

    /// What is written down of it.
    pub(crate) fn recorded(&self) -> RecordedExchange {
        let (reply_head, reply) = match &self.first {
            Some(first) => first.clone(),
            None => {
                let head = self.head.as_ref();
                let head = head.map(|head| RecordedHead::of(&head.headers));
                (head.unwrap_or_default(), self.received.clone())
            }
        };
        RecordedExchange {
            seen: self.seen.clone(),
            request: RecordedBody::whole(self.question.body.clone()),
            continuation: self.continuation.clone(),
            request_head: RecordedHead::of(&self.question.lines),
            reply,
            reply_head,
            told: None,
            sent: self.sent.clone(),
        }
    }

    /// What is written down of it while its reply comes: the request alone.
    pub(crate) fn recorded_so_far(&self) -> RecordedExchange {
        RecordedExchange {
            reply: RecordedBody::default(),
            ..self.recorded()
        }
    }

    /// What remains when it is over: the record, and the request that can be repeated.
    fn end(&mut self) -> (RecordedExchange, Option<StoredRequest>) {
        self.seen.total_ms = Some(self.ms_of_upstream());
        self.seen.phase = match (self.is_cut, self.is_lost) {
            (true, _) => ExchangePhase::Ended(ExchangeEnding::Cut),
            (false, true) => ExchangePhase::Ended(ExchangeEnding::ClientLeft),
            (false, false) => self.machine.phase(),
        };
        let differs_for_client = self.first.is_some()
            || self.gets_another_reply
            || matches!(
                self.seen.phase,
                ExchangePhase::Ended(
                    ExchangeEnding::Refused { .. } | ExchangeEnding::NoReply { .. }
                )
            );
        let mut recorded = self.recorded();
        recorded.told = differs_for_client.then(|| self.given.whole(&self.received));
        let plain = std::mem::take(&mut self.plain);
        let stored = StoredRequest::of(&self.question, &self.watcher.upstream, plain);
        self.given = Given::default();
        (recorded, stored)
    }

    /// The reply, where nobody has judged it.
    fn unjudged_reply(&self) -> Option<UnjudgedReply> {
        let head = self.head.as_ref()?;
        let is_good = head.status.is_success();
        (is_good && !self.was_judged && !self.received.is_cut()).then(|| UnjudgedReply {
            request: self.reading.clone(),
            encoding: content_encoding(&head.headers),
            body: self.received.clone(),
        })
    }
}
