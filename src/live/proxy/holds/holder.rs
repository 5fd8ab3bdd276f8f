//! The holder of exchanges: takes orders, drives their runs, and hears what the wire knows of their clients.

use super::admission::{Admission, LARGE};
use super::handle::HoldHandle;
use super::hold::{Closing, Hold, Job, Stage, lock};
use super::run::{Begun, HeldRun};
use super::workers::Workers;
use super::{ASKS, HoldOrder, HoldOutcome, HoldUpdate};
use crate::TakeStore;
use crate::http::{Http, Target};
use crate::live::{Input, IoEvent, IoThread, News, Thread};
use crate::model::Timeouts;
use crate::proxy::News as ProxyNews;
use retake_core::engine::{Breakpoint, Command, Policy};
use retake_core::exchange::ExchangeId;
use retake_core::session::ledger::Ending;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::{Arc, Mutex};

/// Who hears what happens to exchanges that are held; it must not wait.
pub(super) type Report = Arc<dyn Fn(ProxyNews) + Send + Sync>;

/// How exchanges are held.
#[derive(Debug, Clone)]
pub struct Settings {
    /// What is done without asking.
    pub policy: Policy,
    /// Where a hold stops although nothing is wrong, to begin with.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether somebody is there to decide. Where nobody is, everything passes that the policy does not settle.
    pub has_operator: bool,
    /// Secrets to be taken out of what is written, each with its placeholder; those in header
    /// lines are known besides.
    pub secrets: Vec<(String, String)>,
    /// The most calls to the model that retake adds to one exchange.
    pub asks: u32,
}

impl Default for Settings {
    /// Nobody is there, and no policy: everything passes.
    fn default() -> Self {
        Self {
            policy: Policy::default(),
            breakpoints: Vec::new(),
            has_operator: false,
            secrets: Vec::new(),
            asks: ASKS,
        }
    }
}

/// What all holds share.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) report: Report,
    breakpoints: Mutex<Vec<Breakpoint>>,
    /// In the order in which they began. An exchange can be held again before its last hold
    /// has left the screen.
    holds: Mutex<Vec<Arc<Hold>>>,
    admission: Admission,
    thread: Thread,
    /// The clients: for http, for https, whose certificates take a while, and for hosts that need not
    /// prove who they are.
    clients: Mutex<[Option<Http>; 3]>,
}

impl Shared {
    /// A slot in the thread that calls models.
    pub(super) fn room(&self) -> IoThread {
        self.thread.room()
    }

    /// The client for a target, which is believed as the exchange itself believes it.
    pub(super) fn http(&self, target: &Target, is_verified: bool) -> Result<Http, String> {
        let mut clients = lock(&self.clients);
        let connect = Timeouts::default().connect;
        let (place, make): (_, fn(&_, _) -> _) = match (target.is_encrypted(), is_verified) {
            (false, _) => (0, Http::new),
            (true, true) => (1, Http::new),
            (true, false) => (2, Http::unverified),
        };
        let known = &mut clients[place];
        if known.is_none() {
            let http = make(target, connect);
            *known = Some(http.map_err(|error| error.to_string())?);
        }
        known.clone().ok_or_else(String::new)
    }

    /// A hold is over: nobody asks for it any more.
    fn forget(&self, hold: &Hold) {
        let mut holds = lock(&self.holds);
        let before = holds.len();
        holds.retain(|known| !std::ptr::eq(&**known, hold));
        if holds.len() == before {
            return;
        }
        drop(holds);
        for (hold, order) in self.admission.leave(hold) {
            hold.push(Job::Begin(Box::new(order)));
        }
    }

    /// The latest hold of an exchange.
    fn find(&self, id: ExchangeId) -> Option<Arc<Hold>> {
        let holds = lock(&self.holds);
        holds.iter().rev().find(|hold| hold.id == id).cloned()
    }
}

/// Holds exchanges, until it is dropped. What is not decided by then stays undecided in its journal, and its
/// connections are dropped with what was to hear of it.
pub struct Holder {
    // Its threads end before what they use.
    workers: Workers,
    shared: Arc<Shared>,
}

impl Holder {
    /// A holder. Fails where the system gives no thread.
    pub fn new(
        settings: Settings,
        report: Arc<dyn Fn(ProxyNews) + Send + Sync>,
    ) -> io::Result<Self> {
        let shared = Arc::new(Shared {
            breakpoints: Mutex::new(settings.breakpoints.clone()),
            settings,
            report,
            holds: Mutex::default(),
            admission: Admission::default(),
            thread: Thread::start()?,
            clients: Mutex::default(),
        });
        let inside = shared.clone();
        let workers = Workers::start(move |hold| drive(&inside, hold))?;
        Ok(Self { workers, shared })
    }

    /// Holds an exchange. Returns at once: `on_update` gets findings and wait reasons, `decided`
    /// what is to be done, once, and both perhaps before this returns; they must not wait either. What cannot
    /// be held is released.
    pub fn start(
        &self,
        order: HoldOrder,
        on_update: impl Fn(HoldUpdate) + Send + Sync + 'static,
        decided: impl FnOnce(HoldOutcome) + Send + 'static,
    ) {
        let (id, size) = (order.id, order.size());
        let line = self.workers.line(size >= LARGE);
        let hold = Hold::new((id, size), line, Box::new(on_update), Box::new(decided));
        let hold = Arc::new(hold);
        let mut holds = lock(&self.shared.holds);
        let admitted = self.shared.admission.enter(&hold, order);
        if admitted.is_ok() {
            holds.push(hold.clone());
        }
        // Nobody finds it before it has its place.
        drop(holds);
        match admitted {
            Ok(Some(order)) => hold.push(Job::Begin(Box::new(order))),
            Ok(None) => {}
            Err(why) => {
                let by = format!("it cannot be held: {why}");
                (self.shared.report)(ProxyNews::Notice(format!(
                    "exchange {id} was released: {by}"
                )));
                hold.decide(HoldOutcome::Release { by });
            }
        }
    }

    /// Everything that is held of an exchange passes as it came, now; says whether that decides. `by` is
    /// `operator`, or why nobody is waited for any longer.
    pub fn release(&self, id: ExchangeId, by: &str) -> bool {
        let words = format!("the exchange was released: {by}");
        let by = by.to_owned();
        self.close(id, HoldOutcome::Release { by }, Ending::HandedOver, words)
    }

    /// The connection to the agent is cut; says whether that decides.
    pub fn cut(&self, id: ExchangeId, why: &str) -> bool {
        let words = format!("the exchange was cut: {why}");
        let why = why.to_owned();
        self.close(id, HoldOutcome::Cut { why }, Ending::Aborted, words)
    }

    /// The client has left: the model is not called any more, and nothing is decided; returns whether
    /// the exchange was undecided.
    pub fn gone(&self, id: ExchangeId) -> bool {
        let words = "the client has left: nothing is sent any more".to_owned();
        self.close(id, HoldOutcome::ClientLeft, Ending::Aborted, words)
    }

    fn close(&self, id: ExchangeId, outcome: HoldOutcome, ending: Ending, words: String) -> bool {
        let hold = self.shared.find(id);
        hold.is_some_and(|hold| hold.close(outcome, Closing { ending, words }))
    }

    /// The most calls to the model that retake adds to one exchange.
    pub fn asks(&self) -> u32 {
        self.shared.settings.asks
    }

    /// The exchanges that are held, in order.
    pub fn held(&self) -> Vec<ExchangeId> {
        let holds = lock(&self.shared.holds);
        let held = holds.iter().filter(|hold| !hold.is_decided());
        let mut held: Vec<_> = held.map(|hold| hold.id).collect();
        held.sort_unstable();
        held
    }

    /// Other breakpoints, for what is held from now on.
    pub fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) {
        *lock(&self.shared.breakpoints) = breakpoints;
    }

    /// Hands the run of an exchange over to whoever watches it; its journal is closed here. `None` where it is
    /// not held, not begun yet, or in another's hands.
    ///
    /// `wake` is called, on any thread, when something has happened that [`HoldHandle::handle_io`] hears;
    /// it must not wait.
    pub fn seat(&self, id: ExchangeId, wake: Arc<dyn Fn() + Send + Sync>) -> Option<HoldHandle> {
        HoldHandle::of(self.shared.find(id)?, wake)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        // Their worlds end with them.
        lock(&self.shared.holds).clear();
    }
}

/// Does everything that a hold has to do.
fn drive(shared: &Arc<Shared>, hold: &Arc<Hold>) {
    while let Some(job) = hold.next() {
        let done = catch_unwind(AssertUnwindSafe(|| work(shared, hold, job)));
        if done.is_err() {
            // The panic hook reported it; the agent must not suffer from it.
            let by = "retake failed while it was held".to_owned();
            hold.decide(HoldOutcome::Release { by });
            *lock(&hold.stage) = Stage::Over;
        }
        if matches!(*lock(&hold.stage), Stage::Over) {
            shared.forget(hold);
        }
    }
}

fn work(shared: &Arc<Shared>, hold: &Arc<Hold>, job: Job) {
    let mut stage = lock(&hold.stage);
    let now = std::mem::replace(&mut *stage, Stage::Over);
    *stage = match (now, job) {
        (Stage::New, Job::Begin(order)) => start(shared, hold, *order),
        (Stage::Here(run, bench), Job::Io(event)) => {
            on_run(hold, run, bench, Some(Input::Io(event)))
        }
        (Stage::Here(run, bench), Job::Close) => on_run(hold, run, bench, None),
        // It was decided before it could begin.
        (Stage::New, Job::Close) => Stage::Over,
        // The operator sees it on return.
        (_, Job::GivenBack(run)) => match hold.closing() {
            None if !has_ended(&run) => Stage::Here(run, None),
            None => Stage::Over,
            Some(_) => on_run(hold, run, None, None),
        },
        (Stage::Away, job) => {
            hold.put_back(job);
            Stage::Away
        }
        (stage, _) => stage,
    };
}

fn has_ended(run: &HeldRun) -> bool {
    matches!(run.run().phase(), crate::live::Phase::Ended(_))
}

fn start(shared: &Arc<Shared>, hold: &Arc<Hold>, order: HoldOrder) -> Stage {
    if hold.closing().is_some() {
        return Stage::Over;
    }
    let id = order.id;
    let breakpoints = lock(&shared.breakpoints).clone();
    let to = Arc::downgrade(hold);
    let on_update = Arc::new(move |event: IoEvent| {
        // Nobody hears it when the hold is over; how a reply grows is nobody's to see here.
        if let Some(hold) = to.upgrade() {
            hold.push(Job::Io(event));
        }
    });
    match HeldRun::start(order, shared, breakpoints, on_update) {
        Ok(Begun { run, bench, news }) => settle(hold, run, bench, &news),
        Err(why) => {
            let by = format!("it cannot be held: {why}");
            (shared.report)(ProxyNews::Notice(format!(
                "exchange {id} was released: {by}"
            )));
            hold.decide(HoldOutcome::Release { by });
            Stage::Over
        }
    }
}

/// The run hears something, or that it was decided elsewhere.
fn on_run(
    hold: &Arc<Hold>,
    mut run: Box<HeldRun>,
    bench: Option<Box<TakeStore>>,
    input: Option<Input>,
) -> Stage {
    let bench = match bench {
        Some(bench) => Ok(bench),
        None => run.open().map(Box::new),
    };
    let mut bench = match bench {
        Ok(bench) => bench,
        Err(why) => {
            run.notice(&why);
            let by = format!("its journal is lost: {why}");
            hold.decide(HoldOutcome::Release { by });
            return Stage::Over;
        }
    };
    let input = match (hold.closing(), input) {
        (Some(closing), _) => Input::Operator(Command::End(closing.ending)),
        (None, Some(input)) => input,
        (None, None) => return Stage::Here(run, Some(bench)),
    };
    let news = run.handle(&mut bench, input);
    settle(hold, run, bench, &news)
}

/// Tells what came of it, and decides where the run has ended.
fn settle(
    hold: &Arc<Hold>,
    mut run: Box<HeldRun>,
    mut bench: Box<TakeStore>,
    news: &[News],
) -> Stage {
    hold.report(run.report(news));
    match run.outcome(&mut bench) {
        Some(outcome) => {
            hold.decide(outcome);
            Stage::Over
        }
        None => Stage::Here(run, Some(bench)),
    }
}
