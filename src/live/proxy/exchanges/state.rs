//! What all exchanges of a proxy share: their numbers, who is under way, who decides, what is
//! recorded, what is remembered.

use crate::Recording;
use crate::http::Headers;
use crate::lock::lock;
use crate::proxy::body::ClientPresence;
use crate::proxy::chaos::Chaos;
use crate::proxy::client_side::ClientSide;
use crate::proxy::holds::{HoldOrder, HoldOutcome, HoldSettings, HoldUpdate, Holder};
use crate::proxy::judge::Judge;
use crate::proxy::news::{OpenedSocket, ProxyCommand, ProxyNews, ProxyRequest, Report};
use crate::proxy::options::ProxyOptions;
use crate::proxy::origin::UpstreamOrigin;
use crate::proxy::recent::{Recent, StoredRequest};
use crate::proxy::recorder::{RecordedExchange, RecordedHead, Recorder};
use crate::takes::wall_clock;
use bytes::Bytes;
use hyper::http::uri::PathAndQuery;
use retake_core::exchange::client::Client;
use retake_core::exchange::entry::ExchangeNote;
use retake_core::exchange::views::{StoredReplies, Views};
use retake_core::exchange::{ExchangeId, ExchangePhase, ExchangeSummary};
use retake_core::redact::{HeaderSecret, Redactor, Vault, is_key, without_tags};
use retake_core::rules::Finding;
use retake_core::session::hash;
use std::cmp::Reverse;
use std::collections::HashMap;
use std::io;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex, MutexGuard};
use std::thread::JoinHandle;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// What all exchanges of a proxy share.
pub(crate) struct ProxyState {
    pub(crate) judge: Arc<Judge>,
    pub(crate) holds: Holder,
    pub(crate) holds_requests: bool,
    pub(crate) recorder: Arc<Recorder>,
    tokens: Vec<(String, String)>,
    redactor: Redactor,
    /// Where the journals of holds go.
    folder: PathBuf,
    upstreams: Vec<String>,
    report: Report,
    intercepts: AtomicBool,
    next: AtomicU32,
    under_way: Mutex<HashMap<ExchangeId, ActiveExchange>>,
    /// The exchanges whose requests are to be sent again.
    replays: (
        UnboundedSender<ExchangeId>,
        Mutex<Option<UnboundedReceiver<ExchangeId>>>,
    ),
    /// Each connection of a client keeps one.
    pub(crate) connected: Arc<()>,
    recent: Mutex<Recent>,
    pub(crate) late: Late,
}

/// A request as SDKs repeat it, byte for byte. It shares its body with the exchange: nothing is read
/// before something is held.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct RequestKey {
    /// The place of its upstream.
    place: usize,
    /// What its client calls itself.
    client: String,
    /// What it shows to be let in, as a number.
    credentials: u64,
    path_and_query: PathAndQuery,
    body: Bytes,
}

impl RequestKey {
    pub(crate) fn new(place: usize, client: &Client, question: &ProxyRequest) -> Self {
        let shown = Headers::passed_on(&question.lines).secrets();
        let shown = shown.iter().flat_map(|(name, secret)| [name, secret]);
        let shown = shown.map(|word| hash(word.as_bytes()).to_le_bytes());
        Self {
            place,
            client: client.name.clone(),
            credentials: hash(&shown.collect::<Vec<_>>().concat()),
            path_and_query: question.path_and_query.clone(),
            body: question.body.clone(),
        }
    }
}

/// An exchange that is under way.
#[derive(Default)]
pub(crate) struct ActiveExchange {
    /// Where it can be reached; `None` where nobody decides about it.
    inbox: Option<UnboundedSender<ExchangeMessage>>,
    /// By what a retry of its request is known.
    request: Option<RequestKey>,
    /// How often its client has sent it before.
    retry: u32,
    is_held: bool,
    is_gone: bool,
    /// What it was, is handed over to the recorder.
    is_recorded: bool,
}

impl ActiveExchange {
    pub(crate) fn new(
        inbox: UnboundedSender<ExchangeMessage>,
        request: RequestKey,
        retry: u32,
    ) -> Self {
        Self {
            inbox: Some(inbox),
            request: Some(request),
            retry,
            ..Self::default()
        }
    }
}

impl ProxyState {
    /// `upstreams` are host and port of each, `tokens` those of the listeners, each with what its placeholder
    /// calls it. Fails where the system gives no thread.
    pub(crate) fn new(
        options: ProxyOptions,
        recorder: Recorder,
        (upstreams, tokens): (Vec<String>, Vec<(String, String)>),
        report: Report,
    ) -> io::Result<Self> {
        let settings = HoldSettings {
            policy: options.policy.clone(),
            breakpoints: options.breakpoints.clone(),
            has_operator: options.has_operator,
            secrets: tokens.clone(),
            asks: options.max_asks,
        };
        let (replays, wanted) = unbounded_channel();
        let recorder = Arc::new(recorder);
        let recorded = recorded(recorder.clone(), report.clone());
        Ok(Self {
            late: Late::start()?,
            judge: Arc::new(Judge::new(
                options.has_operator,
                options.policy,
                options.breakpoints,
            )),
            holds: Holder::new(settings, recorded)?,
            holds_requests: options.holds_requests,
            redactor: Redactor::new(tokens.iter().cloned()),
            tokens,
            folder: recorder.path().with_extension("holds"),
            recorder,
            upstreams,
            report,
            intercepts: AtomicBool::new(options.intercepts),
            next: AtomicU32::new(1),
            under_way: Mutex::default(),
            replays: (replays, Mutex::new(Some(wanted))),
            connected: Arc::default(),
            recent: Mutex::default(),
        })
    }

    /// The proxy ends: nothing more is judged, everything is written down that was handed over, and what
    /// was not is counted.
    pub(crate) fn end(&self) {
        self.late.end();
        let under_way = lock(&self.under_way);
        let lost = under_way
            .values()
            .filter(|one| !one.is_held && !one.is_recorded);
        let count = lost.count() as u64;
        if count > 0 {
            let at = wall_clock();
            self.recorder.note(ExchangeNote::Lost { at, count });
        }
        drop(under_way);
        self.recorder.close();
    }

    /// Does what the operator wants.
    pub(crate) fn command(&self, command: &ProxyCommand) {
        match command {
            ProxyCommand::Release(id) => {
                self.send(*id, ExchangeMessage::Release("operator".to_owned()))
            }
            ProxyCommand::ReleaseAll => self.release_all("operator"),
            ProxyCommand::Cut(id) => self.send(*id, ExchangeMessage::Cut),
            ProxyCommand::Replay(id) => {
                // A proxy that ends sends nothing more.
                let _ = self.replays.0.send(*id);
            }
            ProxyCommand::Breakpoints(breakpoints) => {
                self.holds.set_breakpoints(breakpoints.clone());
                self.judge.set_breakpoints(breakpoints.clone());
            }
            ProxyCommand::Intercept(is_on) => {
                self.intercepts.store(*is_on, Ordering::Relaxed);
                if !is_on {
                    self.release_all("interception was switched off");
                }
            }
        }
    }

    /// Who sends requests again hears here of which; once.
    pub(crate) fn take_replays(&self) -> Option<UnboundedReceiver<ExchangeId>> {
        lock(&self.replays.1).take()
    }

    /// Says something to the operator.
    pub(crate) fn tell(&self, words: String) {
        (self.report)(ProxyNews::Notice(words));
    }

    /// The journals of holds, and who decides about them.
    pub(crate) fn holds(&self) -> &Holder {
        &self.holds
    }

    /// The latest exchanges; nothing is kept where nobody looks.
    pub(crate) fn recent(&self) -> MutexGuard<'_, Recent> {
        lock(&self.recent)
    }

    /// Whether everything has ended and is written down, but for what is held.
    pub(crate) fn is_settled(&self) -> bool {
        lock(&self.under_way).values().all(|one| one.is_held)
    }

    /// Whether nothing is under way, held or not.
    pub(crate) fn is_idle(&self) -> bool {
        lock(&self.under_way).is_empty()
    }

    fn release_all(&self, by: &str) {
        for active in lock(&self.under_way).values().filter(|one| one.is_held) {
            if let Some(inbox) = &active.inbox {
                let _ = inbox.send(ExchangeMessage::Release(by.to_owned()));
            }
        }
    }

    fn send(&self, id: ExchangeId, message: ExchangeMessage) {
        if let Some(inbox) = self.inbox(id) {
            // It may have ended meanwhile.
            let _ = inbox.send(message);
        }
    }

    fn inbox(&self, id: ExchangeId) -> Option<UnboundedSender<ExchangeMessage>> {
        let under_way = lock(&self.under_way);
        under_way.get(&id)?.inbox.clone()
    }

    /// The number of the next exchange.
    pub(crate) fn number(&self) -> ExchangeId {
        ExchangeId(self.next.fetch_add(1, Ordering::Relaxed))
    }

    /// The tokens of the listeners, each with what its placeholder calls it.
    pub(crate) fn tokens(&self) -> &[(String, String)] {
        &self.tokens
    }

    /// The path or model of a request, as it is reported and written: without secrets, those that its
    /// header lines have `shown` among them.
    pub(crate) fn clean(&self, word: &str, shown: &[HeaderSecret]) -> String {
        let word = self.redactor.text(word, &mut Vault::default());
        // Which secret it is nobody has to know; equal words stay equal.
        let word = without_tags(&word).into_owned();
        let shown = shown.iter();
        let shown = shown.filter(|one| is_key(&one.secret) && word.contains(&one.secret));
        shown.fold(word.clone(), |word, one| {
            word.replace(&one.secret, &format!("[redacted {}]", one.header))
        })
    }

    /// Whether anything is held, and somebody there to decide about it.
    pub(crate) fn intercepts(&self) -> bool {
        self.intercepts.load(Ordering::Relaxed) && self.judge.decides()
    }

    /// Host and port of each upstream.
    pub(crate) fn upstreams(&self) -> &[String] {
        &self.upstreams
    }

    /// The held exchange that a request is a retry of: one whose client has left, else the one that its client
    /// sent last. A client that is there loses its place only to a later try of its own.
    pub(crate) fn held_like(
        &self,
        request: &RequestKey,
        retry: u32,
    ) -> Option<UnboundedSender<ExchangeMessage>> {
        let mut under_way = lock(&self.under_way);
        let like = under_way.iter_mut().filter(|(_, active)| {
            let is_next = active.is_gone || active.retry < retry;
            active.is_held && is_next && active.request.as_ref() == Some(request)
        });
        let best = like.max_by_key(|(id, active)| (active.is_gone, active.retry, Reverse(id.0)));
        let (_, found) = best?;
        (found.retry, found.is_gone) = (retry, false);
        found.inbox.clone()
    }

    pub(crate) fn begins(&self, seen: &ExchangeSummary, active: ActiveExchange) {
        lock(&self.under_way).insert(seen.id, active);
        self.report_seen(seen.clone());
    }

    /// An exchange begins about which nobody decides: it is reported when it is over.
    pub(crate) fn begins_unheld(&self) -> ExchangeId {
        let id = self.number();
        lock(&self.under_way).insert(id, ActiveExchange::default());
        id
    }

    /// The status of an exchange has changed.
    pub(crate) fn report_seen(&self, seen: ExchangeSummary) {
        if let Some(active) = lock(&self.under_way).get_mut(&seen.id) {
            let hold = seen.phase.hold();
            active.is_held = hold.is_some();
            active.is_gone = hold.is_some_and(|holding| holding.is_gone);
        }
        (self.report)(ProxyNews::Exchange(Arc::new(seen)));
    }

    pub(crate) fn report_found(&self, id: ExchangeId, findings: Vec<Finding>, session: Recording) {
        (self.report)(ProxyNews::Found {
            id,
            findings: Arc::new(findings),
            session: Arc::new(session),
        });
    }

    pub(crate) fn notice(&self, words: String) {
        (self.report)(ProxyNews::Notice(words));
    }

    /// Where the journal of a hold goes.
    pub(crate) fn journal_of(&self, id: ExchangeId) -> PathBuf {
        self.folder.join(format!("{}-{id}.jsonl", wall_clock()))
    }

    /// What cannot be held passes as it came.
    pub(crate) fn release(&self, id: ExchangeId, by: String) {
        self.send(id, ExchangeMessage::Release(by));
    }

    /// Begins a hold; what it waits for and how it ends comes back as messages.
    pub(crate) fn begin_hold(&self, order: HoldOrder) {
        let Some(inbox) = self.inbox(order.id) else {
            return;
        };
        let hears = inbox.clone();
        self.holds.start(
            order,
            move |word| {
                // The exchange may have ended meanwhile.
                let _ = hears.send(ExchangeMessage::Hold(word));
            },
            move |outcome| {
                let _ = inbox.send(ExchangeMessage::Decided(outcome));
            },
        );
    }

    /// Writes down an exchange that has all that it will ever get; it may still be judged.
    pub(crate) fn record(&self, recorded: impl Into<Arc<RecordedExchange>>) {
        let recorded = recorded.into();
        self.has_recorded(recorded.seen.id);
        self.recorder.exchange(recorded);
    }

    /// An exchange is handed over to the recorder, with all that it will ever get.
    pub(crate) fn has_recorded(&self, id: ExchangeId) {
        if let Some(active) = lock(&self.under_way).get_mut(&id) {
            active.is_recorded = true;
        }
    }

    /// Writes down what was found in an exchange since it was recorded.
    pub(crate) fn record_judged(&self, seen: &ExchangeSummary) {
        self.recorder.note(ExchangeNote::Judged {
            id: seen.id,
            at: wall_clock(),
            found: seen.found.clone(),
            notes: seen.notes.clone(),
        });
    }

    /// An exchange that is recorded is over.
    pub(crate) fn over(&self, recorded: Arc<RecordedExchange>, stored: Option<StoredRequest>) {
        let (id, seen) = (recorded.seen.id, recorded.seen.clone());
        if self.judge.has_operator {
            lock(&self.recent).keep(recorded, stored);
        }
        self.report_seen(seen);
        lock(&self.under_way).remove(&id);
    }

    /// An exchange about which nothing more is to be found out is over: it is recorded and reported.
    pub(crate) fn over_and_recorded(
        &self,
        recorded: RecordedExchange,
        stored: Option<StoredRequest>,
    ) {
        let recorded = Arc::new(recorded);
        self.record(recorded.clone());
        self.over(recorded, stored);
    }

    /// What is read along of a WebSocket.
    pub(crate) fn observe(&self, place: usize, opened: &OpenedSocket) -> ExchangeSummary {
        let head = RecordedHead::of(&opened.lines);
        let path = self.clean(opened.path_and_query.path(), &head.secrets);
        self.recorder.learn(head);
        ExchangeSummary {
            id: self.number(),
            at_ms: ms_of(opened.at),
            upstream: place,
            method: "GET".to_owned(),
            path,
            status: Some(101),
            phase: ExchangePhase::Replying,
            notes: vec![
                "a WebSocket passes: it is read along, and nothing of it is held".to_owned(),
            ],
            ..ExchangeSummary::default()
        }
    }
}

pub(crate) fn ms_of(time: SystemTime) -> u64 {
    let since = time.duration_since(UNIX_EPOCH).unwrap_or_default();
    ms(since.as_millis())
}

pub(crate) fn ms(millis: u128) -> u64 {
    u64::try_from(millis).unwrap_or(u64::MAX)
}

/// The reports of holds, whose decisions are written down as well.
fn recorded(recorder: Arc<Recorder>, report: Report) -> Report {
    Arc::new(move |news: ProxyNews| {
        if let ProxyNews::Decided {
            id,
            rule,
            action,
            by,
            wording,
            ..
        } = &news
        {
            let decided = ExchangeNote::Decided {
                id: *id,
                at: wall_clock(),
                rule: rule.clone(),
                action: action.clone(),
                by: *by,
                wording: wording.clone(),
            };
            // It is written in the order of the reports; nobody waits for it here.
            drop(recorder.write(decided));
        }
        report(news);
    })
}

pub(crate) enum ExchangeMessage {
    /// Its hold has ended.
    Decided(HoldOutcome),
    /// What its hold has found, or waits for.
    Hold(HoldUpdate),
    /// A retry of its request takes the place of its client.
    Joined(ClientSide, ClientPresence),
    /// The operator ends the hold from the list.
    Release(String),
    /// The operator cuts the connection.
    Cut,
}

/// Watches the exchanges with one upstream.
#[derive(Clone)]
pub(crate) struct UpstreamWatcher {
    pub(crate) state: Arc<ProxyState>,
    pub(crate) upstream: Arc<UpstreamOrigin>,
    /// Its place on the command line.
    pub(crate) place: usize,
    /// Faults on purpose, if any.
    pub(crate) chaos: Option<Arc<Chaos>>,
    /// What agents and this provider see of the same histories.
    pub(crate) views: Arc<Mutex<Arc<Views>>>,
    /// The replies of this provider that its agents can continue.
    pub(crate) conversations: Arc<StoredReplies>,
}

impl UpstreamWatcher {
    pub(crate) fn new(
        state: Arc<ProxyState>,
        upstream: Arc<UpstreamOrigin>,
        place: usize,
        chaos: Option<Arc<Chaos>>,
    ) -> Self {
        Self {
            state,
            upstream,
            place,
            chaos,
            views: Arc::default(),
            conversations: Arc::default(),
        }
    }
}

// What is judged when nothing can be decided any more: one exchange after the other, on a thread of its
// own, beside what passes.
//
// What waits is bounded. An exchange beyond the bound is not judged and says so; it was recorded before.

/// Most bytes of bodies that wait to be judged.
const WAITING: usize = 64 << 20;
/// Most exchanges that wait to be judged.
const COUNT: usize = 10_000;
/// How long an exchange that is being judged may take once nothing else is begun.
const END: Duration = Duration::from_secs(1);
/// How often that is looked at.
const LOOK: Duration = Duration::from_millis(5);
/// So long exchanges gather once all were judged: nobody who hands over has to wake this thread meanwhile.
const REST: Duration = Duration::from_millis(5);

/// Judges an exchange that is over, or hears that it is not to be judged.
pub(crate) type JudgeJob = Box<dyn FnOnce(Judges) + Send>;

/// Whether an exchange is judged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Judges {
    Yes,
    /// Too much waits, or the proxy ends.
    No,
}

/// The thread, and what waits for it.
#[derive(Debug)]
pub(crate) struct Late {
    jobs: Mutex<Option<Sender<(usize, JudgeJob)>>>,
    thread: Mutex<Option<JoinHandle<()>>>,
    load: Arc<Load>,
}

#[derive(Debug, Default)]
struct Load {
    bytes: AtomicUsize,
    count: AtomicUsize,
    ends: AtomicBool,
}

impl Late {
    /// Fails where the system gives no thread.
    pub(crate) fn start() -> io::Result<Self> {
        let load = Arc::new(Load::default());
        let (jobs, received) = channel();
        let inside = load.clone();
        let thread = std::thread::Builder::new().name("late judge".to_owned());
        let thread = thread.spawn(move || run(&received, &inside))?;
        Ok(Self {
            jobs: Mutex::new(Some(jobs)),
            thread: Mutex::new(Some(thread)),
            load,
        })
    }

    /// Has something judged that keeps so many bytes in memory. What comes alone is taken, whatever its length.
    pub(crate) fn judge(&self, bytes: usize, work: JudgeJob) {
        let waiting = self.load.bytes.load(Ordering::Relaxed);
        let is_too_much = waiting > 0 && waiting.saturating_add(bytes) > WAITING;
        if is_too_much || self.load.count.load(Ordering::Relaxed) >= COUNT {
            return work(Judges::No);
        }
        let jobs = lock(&self.jobs);
        let Some(jobs) = &*jobs else {
            return work(Judges::No);
        };
        self.load.bytes.fetch_add(bytes, Ordering::Relaxed);
        self.load.count.fetch_add(1, Ordering::Relaxed);
        if let Err(unsent) = jobs.send((bytes, work)) {
            unsent.0.1(Judges::No);
        }
    }

    /// Judges nothing more. An exchange that is being judged is waited for, but not for long.
    pub(crate) fn end(&self) {
        self.load.ends.store(true, Ordering::Relaxed);
        drop(lock(&self.jobs).take());
        let thread = lock(&self.thread).take();
        let since = Instant::now();
        while thread.as_ref().is_some_and(|thread| !thread.is_finished()) && since.elapsed() < END {
            std::thread::sleep(LOOK);
        }
    }
}

fn run(jobs: &Receiver<(usize, JudgeJob)>, load: &Load) {
    while let Ok(first) = jobs.recv() {
        for (bytes, work) in std::iter::once(first).chain(jobs.try_iter()) {
            work(match load.ends.load(Ordering::Relaxed) {
                true => Judges::No,
                false => Judges::Yes,
            });
            load.bytes.fetch_sub(bytes, Ordering::Relaxed);
            load.count.fetch_sub(1, Ordering::Relaxed);
        }
        if !load.ends.load(Ordering::Relaxed) {
            std::thread::sleep(REST);
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod late_tests {
    use super::*;

    #[test]
    fn what_waits_is_bounded_and_what_is_beyond_hears_that_it_is_not_judged() {
        let late = Late::start().unwrap();
        let (told, hears) = channel();
        let (frees, waits) = channel::<()>();
        late.judge(
            2 * WAITING,
            Box::new(move |_| waits.recv().unwrap_or_default()),
        );
        for name in ["second", "third"] {
            let told = told.clone();
            late.judge(
                1,
                Box::new(move |judges| told.send((name, judges)).unwrap()),
            );
        }
        assert_eq!(hears.recv().unwrap(), ("second", Judges::No));
        assert_eq!(hears.recv().unwrap(), ("third", Judges::No));
        frees.send(()).unwrap();
        let is_free = || late.load.bytes.load(Ordering::Relaxed) == 0;
        while !is_free() {
            std::thread::sleep(LOOK);
        }
        let again = told.clone();
        late.judge(
            1,
            Box::new(move |judges| again.send(("fourth", judges)).unwrap()),
        );
        assert_eq!(hears.recv().unwrap(), ("fourth", Judges::Yes));
        late.end();
        late.judge(
            1,
            Box::new(move |judges| told.send(("fifth", judges)).unwrap()),
        );
        assert_eq!(hears.recv().unwrap(), ("fifth", Judges::No));
    }
}
