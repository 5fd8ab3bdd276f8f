//! Drives one exchange: hears the upstream, the client, the judge, the hold and the clock, tells the machine,
//! and does what it says.

use super::state::Message;
use super::state::Watcher;
use crate::proxy::body::ClientPresence;
use crate::proxy::body::next_data;
use crate::proxy::chaos::ReplyId;
use crate::proxy::client_side::ClientSide;
use crate::proxy::heads::shape_of;
use crate::proxy::holds::{HoldUpdate, WaitReason};
use crate::proxy::judge::{Continuation, Reading, Verdict};
use crate::proxy::origin::NoReply;
use crate::proxy::recorder;
use crate::proxy::watch::Question;
use bytes::Bytes;
use hyper::Response;
use hyper::body::Incoming;
use hyper::http::response::Parts;
use retake_core::exchange::machine::{Decision, Event, Exchange, Head, Judgement, Settings, Timer};
use retake_core::exchange::views::Keeping;
use retake_core::exchange::{Phase, Seen};
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
/// An exchange that takes longer is written down before its end.
const WHILE: Duration = Duration::from_millis(200);
/// So long a disk may take to write down that an exchange is held.
const DISK: Duration = Duration::from_secs(1);

mod effects;
mod given;
mod order;
mod review;

use given::Given;

type Asking = Pin<Box<dyn Future<Output = Result<Response<Incoming>, NoReply>> + Send>>;

pub(crate) struct Pump {
    pub(crate) watcher: Watcher,
    /// Remembers the reply where its client can continue it.
    pub(crate) keeping: Option<Keeping>,
    pub(crate) machine: Exchange,
    pub(crate) seen: Seen,
    pub(crate) question: Question,
    plain: Bytes,
    /// Which request the agent's own one continues.
    continuation: Option<Continuation>,
    /// The request to the upstream, as it is judged.
    pub(crate) reading: Arc<Reading>,
    /// The request to the upstream, if it differs from the agent's.
    sent: Option<Bytes>,
    pub(crate) client: ClientSide,
    pub(crate) inbox: UnboundedReceiver<Message>,
    /// Messages that came while the client did not read.
    waiting: VecDeque<Message>,
    began: Instant,
    asking: Option<Asking>,
    reply: Option<Incoming>,
    head: Option<Parts>,
    /// Whether what is held is a reply.
    holds_reply: bool,
    judging: Option<JoinHandle<Verdict>>,
    /// What was found in a reply that was judged at once.
    judged: Option<Verdict>,
    given: Given,
    begun_with: Option<Head>,
    /// What came from the upstream last.
    latest: Bytes,
    /// What came from the upstream in reply to the latest request.
    received: recorder::RecordedBody,
    /// The reply to the agent's own request, if the upstream has got another one since.
    first: Option<(recorder::RecordedHead, recorder::RecordedBody)>,
    timers: [Option<Instant>; 3],
    clock: Pin<Box<Sleep>>,
    /// Time and phase of the last report.
    last_report: (Instant, Phase),
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
    Message(Message),
    ClientGone,
    ClientHalfClosed,
    Verdict(Result<Verdict, tokio::task::JoinError>),
    Head(Result<Response<Incoming>, NoReply>),
    Frame(Option<Result<Bytes, String>>),
    TimerFired,
    ReportDue,
    TakesAWhile,
}

impl Pump {
    pub(crate) fn new(
        watcher: Watcher,
        settings: Settings,
        seen: Seen,
        (question, plain, reading): (Question, Bytes, Arc<Reading>),
        client: ClientSide,
        inbox: UnboundedReceiver<Message>,
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
            received: recorder::RecordedBody::default(),
            first: None,
            timers: [None; 3],
            clock: Box::pin(sleep_until(now + Duration::from_secs(86_400))),
            last_report: (now, Phase::Asking),
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
    pub(crate) async fn run(mut self, verdict: Verdict) {
        let judgement = self.found(verdict);
        self.drive(Event::Asked(judgement)).await;
        while !self.is_over {
            let next = self.next().await;
            self.take(next).await;
        }
        self.settle();
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
            () = sleep_until(self.began + WHILE), if !self.is_written => Next::TakesAWhile,
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

    async fn message(&mut self, message: Message) {
        match message {
            Message::Decided(outcome) => {
                let decision = self.decision_of(outcome);
                self.gets_another_reply |= matches!(decision, Decision::Reply { .. });
                self.drive(Event::Decided(decision)).await;
            }
            Message::Hold(HoldUpdate::Waits(WaitReason::ForModel)) => {
                self.drive(Event::AskedAgain).await
            }
            Message::Hold(HoldUpdate::Waits(WaitReason::ForDecision(why))) => {
                self.drive(Event::WaitsAgain(why)).await;
            }
            Message::Hold(HoldUpdate::Found(found)) => {
                self.see(found);
                self.keep_found();
                self.report();
            }
            Message::Release(by) => {
                self.watcher.state.holds.release(self.seen.id, &by);
                self.drive(Event::Decided(Decision::AsItCame { by })).await;
            }
            Message::Cut => {
                self.watcher.state.holds.cut(self.seen.id, "operator");
                self.drive(Event::Decided(Decision::Cut)).await;
            }
            Message::Joined(client, presence) => self.joined(client, presence).await,
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
        let (head, body) = reply.into_parts();
        let status = head.status.as_u16();
        self.seen.status = Some(status);
        self.seen.first_ms = Some(self.ms());
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
            self.first = Some((recorder::RecordedHead::of(&head.headers), received));
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

    fn note(&mut self, note: String) {
        if !self.seen.notes.contains(&note) {
            self.seen.notes.push(note);
        }
    }

    pub(crate) fn ms(&self) -> u64 {
        self.began
            .elapsed()
            .as_millis()
            .try_into()
            .unwrap_or(u64::MAX)
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
        self.watcher.state.report_seen(&self.seen);
    }
}

const TIMERS: [Timer; 3] = [Timer::Beat, Timer::Deadline, Timer::Stall];

fn place_of(timer: Timer) -> usize {
    match timer {
        Timer::Beat => 0,
        Timer::Deadline => 1,
        Timer::Stall => 2,
    }
}

/// The next bytes of a body; for ever where there is none.
async fn next_frame(body: &mut Option<Incoming>) -> Option<Result<Bytes, String>> {
    match body {
        Some(body) => next_data(body).await,
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
