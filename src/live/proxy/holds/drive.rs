//! The threads of holds: each drives the run of one hold until it is over, or the screen takes it over.

use super::run::{HeldRun, HoldContext, HoldOrder, HoldOutcome, HoldSettings, HoldUpdate};
use crate::live::{IoEvent, Phase, RunInput, RunNews};
use crate::lock::lock;
use crate::proxy::news::{ProxyNews, Report};
use crate::{TakeError, TakeStore};
use retake_core::engine::{Breakpoint, RunCommand};
use retake_core::exchange::ExchangeId;
use retake_core::session::ledger::Ending;
use retake_core::session::takes::TakeId;
use std::collections::VecDeque;
use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::{Builder, JoinHandle};

/// Where the thread of a hold begins.
pub(crate) enum HoldStart {
    Order(Box<HoldOrder>, Receiver<HoldInput>),
    /// The screen gives the run back.
    GivenBack(Active),
}

/// More holds than this are not worked on at a time: one works for a moment, and then waits.
const MOST: usize = 4;

/// All holds, and what their threads share.
pub(crate) struct Holds {
    pub(crate) shared: HoldContext,
    pub(crate) table: Mutex<HoldTable>,
    /// For holds of usual size, and for large ones.
    turns: [Turns; 2],
    pub(crate) has_stopped: AtomicBool,
}

#[derive(Default)]
pub(crate) struct HoldTable {
    /// In the order in which they began. An exchange can be held again before its last hold
    /// has left the screen.
    pub(crate) holds: Vec<Arc<Hold>>,
    pub(crate) admission: Admission,
}

/// Lets so many threads work at a time.
struct Turns {
    free: Mutex<Receiver<()>>,
    back: Sender<()>,
}

/// A turn of one thread, until it is dropped.
struct Turn(Sender<()>);

impl Turns {
    fn new(most: usize) -> Self {
        let (back, free) = channel();
        for _ in 0..most {
            drop(Turn(back.clone()));
        }
        let free = Mutex::new(free);
        Self { free, back }
    }
}

impl Drop for Turn {
    fn drop(&mut self) {
        // Nobody waits for a turn any more when the receiver is gone.
        let _ = self.0.send(());
    }
}

impl Holds {
    pub(crate) fn new(shared: HoldContext) -> Self {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Self {
            shared,
            table: Mutex::default(),
            turns: [Turns::new(cores.clamp(2, MOST)), Turns::new(1)],
            has_stopped: AtomicBool::new(false),
        }
    }

    pub(crate) fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Relaxed)
    }

    /// Waits until a hold may work.
    fn turn(&self, hold: &Hold) -> Turn {
        let turns = &self.turns[usize::from(hold.size >= LARGE)];
        // The other end is in `turns` itself.
        let _ = lock(&turns.free).recv();
        Turn(turns.back.clone())
    }

    /// A hold is over: nobody asks for it any more.
    fn forget(self: &Arc<Self>, hold: &Arc<Hold>) {
        let mut table = lock(&self.table);
        let before = table.holds.len();
        table.holds.retain(|known| !Arc::ptr_eq(known, hold));
        if table.holds.len() == before {
            return;
        }
        let next = table.admission.leave(hold);
        drop(table);
        for (hold, order, inputs) in next {
            self.spawn(&hold, HoldStart::Order(Box::new(order), inputs));
        }
    }

    /// What cannot be held is released.
    pub(crate) fn cannot_hold(&self, hold: &Hold, why: &str) {
        let by = format!("it cannot be held: {why}");
        (self.shared.report)(ProxyNews::Notice(format!(
            "exchange {} was released: {by}",
            hold.id
        )));
        hold.decide(HoldOutcome::Release { by });
    }

    /// The latest hold of an exchange.
    pub(crate) fn find(&self, id: ExchangeId) -> Option<Arc<Hold>> {
        let table = lock(&self.table);
        let mut latest = table.holds.iter().rev();
        latest.find(|hold| hold.id == id).cloned()
    }

    /// Runs a hold on a thread of its own until it is over, or the screen has it.
    pub(crate) fn spawn(self: &Arc<Self>, hold: &Arc<Hold>, start: HoldStart) {
        let (inside, held) = (self.clone(), hold.clone());
        let spawned = Builder::new().name("hold".to_owned()).spawn(move || {
            let run = || inside.drive(&held, start);
            let is_over = catch_unwind(AssertUnwindSafe(run)).unwrap_or_else(|_| {
                // The panic hook reported it; the agent must not suffer from it.
                let by = "retake failed while it was held".to_owned();
                held.decide(HoldOutcome::Release { by });
                true
            });
            if is_over {
                inside.forget(&held);
            }
        });
        match spawned {
            Ok(thread) => *lock(&hold.thread) = Some(thread),
            Err(error) => {
                self.cannot_hold(hold, &error.to_string());
                self.forget(hold);
            }
        }
    }

    /// Returns whether the hold is over.
    fn drive(&self, hold: &Arc<Hold>, start: HoldStart) -> bool {
        let (
            Active {
                mut run,
                mut inputs,
            },
            mut store,
        ) = match start {
            HoldStart::GivenBack(active) => (active, None),
            // It was decided before it could start.
            HoldStart::Order(..) if hold.closing().is_some() => return true,
            HoldStart::Order(order, inputs) => {
                let _turn = self.turn(hold);
                match start_run(*order, &self.shared, hold) {
                    Ok((run, store)) => (Active { run, inputs }, Some(store)),
                    Err(why) => {
                        self.cannot_hold(hold, &why);
                        return true;
                    }
                }
            }
        };
        while !run.has_ended() {
            let input = match hold.closing() {
                Some(closing) => RunInput::Operator(RunCommand::End(closing.ending.clone())),
                None => match inputs.recv() {
                    Ok(HoldInput::Io(event)) => RunInput::Io(event),
                    Ok(HoldInput::Close) => continue,
                    Ok(HoldInput::HandOver(to)) => {
                        // The journal is another one's to open now.
                        store = None;
                        match to.send(Active { run, inputs }) {
                            Ok(()) => return false,
                            Err(SendError(back)) => Active { run, inputs } = back,
                        }
                        continue;
                    }
                    Ok(HoldInput::Stop) | Err(_) => return true,
                },
            };
            let _turn = self.turn(hold);
            let opened = match store.take() {
                Some(store) => Ok(store),
                None => run.open().map(Box::new),
            };
            let store: &mut TakeStore = match opened {
                Ok(opened) => store.insert(opened),
                Err(why) => {
                    run.notice(&why);
                    let by = format!("its journal is lost: {why}");
                    hold.decide(HoldOutcome::Release { by });
                    return true;
                }
            };
            let news = run.handle(store, input);
            report_and_decide(&mut run, store, &news, hold);
        }
        true
    }
}

/// Starts the run of an order, and decides where it has ended already. Fails, in words for the operator, where
/// the exchange cannot be held.
fn start_run(
    order: HoldOrder,
    shared: &HoldContext,
    hold: &Arc<Hold>,
) -> Result<(Box<HeldRun>, Box<TakeStore>), String> {
    let to = Arc::downgrade(hold);
    let on_event = Arc::new(move |event: IoEvent| {
        // Nobody hears it when the hold is over.
        if let Some(hold) = to.upgrade() {
            hold.send(HoldInput::Io(event));
        }
    });
    let (mut run, mut store, news) = HeldRun::start(order, shared, on_event)?;
    report_and_decide(&mut run, &mut store, &news, hold);
    Ok((run, store))
}

/// Reports what came of an input, and decides where the run has ended.
pub(crate) fn report_and_decide(
    run: &mut HeldRun,
    store: &mut TakeStore,
    news: &[RunNews],
    hold: &Hold,
) {
    hold.report(run.report(news));
    if !hold.is_decided()
        && let Some(outcome) = run.outcome(store)
    {
        hold.decide(outcome);
    }
}

/// From so many bytes on, a hold is large: one at a time is worked on, so that others do not
/// wait for it.
pub(crate) const LARGE: usize = 1 << 20;
/// Most bytes of large holds that have started; one hold alone may be larger.
const STARTED: usize = 24 << 20;
/// Most bytes of large holds that wait to start.
const WAITING: usize = 64 << 20;

/// Which large holds may start.
#[derive(Default)]
pub(crate) struct Admission {
    /// Bytes of those that have started.
    started: usize,
    waiting: VecDeque<Waiting>,
}

/// A hold that has not started, with its order and its inputs.
pub(crate) type Waiting = (Arc<Hold>, HoldOrder, Receiver<HoldInput>);

impl Admission {
    fn has_room(&self, size: usize) -> bool {
        self.started == 0 || self.started + size <= STARTED
    }

    /// Returns the order if its hold may start, and keeps it if the hold has to wait. Fails if too much waits
    /// already.
    pub(crate) fn enter(
        &mut self,
        hold: &Arc<Hold>,
        order: HoldOrder,
        inputs: Receiver<HoldInput>,
    ) -> Result<Option<(HoldOrder, Receiver<HoldInput>)>, AdmissionError> {
        if hold.size < LARGE {
            return Ok(Some((order, inputs)));
        }
        if self.waiting.is_empty() && self.has_room(hold.size) {
            self.started += hold.size;
            return Ok(Some((order, inputs)));
        }
        let waiting: usize = self.waiting.iter().map(|(hold, ..)| hold.size).sum();
        if waiting + hold.size > WAITING {
            return Err(AdmissionError);
        }
        self.waiting.push_back((hold.clone(), order, inputs));
        Ok(None)
    }

    /// A hold is over, whether it had started or not; returns those that may start now.
    pub(crate) fn leave(&mut self, hold: &Arc<Hold>) -> Vec<Waiting> {
        if hold.size < LARGE {
            return Vec::new();
        }
        let before = self.waiting.len();
        self.waiting.retain(|(known, ..)| !Arc::ptr_eq(known, hold));
        if self.waiting.len() == before {
            self.started = self.started.saturating_sub(hold.size);
        }
        let mut next = Vec::new();
        while let Some((first, ..)) = self.waiting.front()
            && self.has_room(first.size)
        {
            self.started += first.size;
            next.extend(self.waiting.pop_front());
        }
        next
    }
}

/// Too many bytes wait to be held.
#[derive(Debug, thiserror::Error)]
#[error("too much is held: {} MiB more wait", WAITING >> 20)]
pub(crate) struct AdmissionError;

// One exchange that is held: its one decision, and the inputs of its run.

pub(crate) type Decided = Box<dyn FnOnce(HoldOutcome) + Send>;
/// Receives what a hold reports before it is decided.
pub(crate) type OnUpdate = Box<dyn Fn(HoldUpdate) + Send + Sync>;
/// Notifies whoever watches the run that there is an input.
pub(crate) type Wake = Arc<dyn Fn() + Send + Sync>;

/// An exchange that is held, as everybody but its run sees it. The run is a thread's, or the screen's
/// ([`super::HoldHandle`]); whoever has it has the receiver of its inputs as well.
pub(crate) struct Hold {
    pub(crate) id: ExchangeId,
    /// Bytes of what is held.
    pub(crate) size: usize,
    /// Taken by whoever decides: there is one decision.
    decided: Mutex<Option<Decided>>,
    /// A decision that does not come from the run.
    closing: OnceLock<Closing>,
    on_update: OnUpdate,
    inputs: Sender<HoldInput>,
    /// Set while the screen has the run.
    pub(crate) wake: Mutex<Option<Wake>>,
    /// Set once it has started.
    pub(crate) thread: Mutex<Option<JoinHandle<()>>>,
}

/// An input of a hold's run.
pub(crate) enum HoldInput {
    Io(IoEvent),
    /// It was decided from outside of its run.
    Close,
    /// The screen wants the run.
    HandOver(Sender<Active>),
    Stop,
}

/// The run of a hold, with its inputs.
pub(crate) struct Active {
    pub(crate) run: Box<HeldRun>,
    pub(crate) inputs: Receiver<HoldInput>,
}

/// How a run ends that was decided from outside.
#[derive(Debug)]
pub(crate) struct Closing {
    pub(crate) ending: Ending,
    pub(crate) words: String,
}

impl Hold {
    pub(crate) fn new(
        (id, size): (ExchangeId, usize),
        inputs: Sender<HoldInput>,
        on_update: OnUpdate,
        decided: Decided,
    ) -> Self {
        Self {
            id,
            size,
            decided: Mutex::new(Some(decided)),
            closing: OnceLock::new(),
            on_update,
            inputs,
            wake: Mutex::default(),
            thread: Mutex::default(),
        }
    }

    /// Reports the decision, unless there is one; returns whether it counts.
    pub(crate) fn decide(&self, outcome: HoldOutcome) -> bool {
        let decided = lock(&self.decided).take();
        decided.map(|decided| decided(outcome)).is_some()
    }

    pub(crate) fn is_decided(&self) -> bool {
        lock(&self.decided).is_none()
    }

    /// Decides from outside of the run, which ends so.
    pub(crate) fn close(&self, outcome: HoldOutcome, closing: Closing) -> bool {
        let Some(decided) = lock(&self.decided).take() else {
            return false;
        };
        // Whoever decides is the only one to get here.
        let _ = self.closing.set(closing);
        decided(outcome);
        self.send(HoldInput::Close);
        true
    }

    pub(crate) fn closing(&self) -> Option<&Closing> {
        self.closing.get()
    }

    pub(crate) fn report(&self, updates: Vec<HoldUpdate>) {
        updates.into_iter().for_each(&self.on_update);
    }

    pub(crate) fn send(&self, input: HoldInput) {
        // Without a receiver the run has ended.
        let _ = self.inputs.send(input);
        let wake = lock(&self.wake).clone();
        if let Some(wake) = wake {
            wake();
        }
    }
}

// The handle of whoever watches a held exchange: its run, as any live run, until the exchange is decided or
// the handle is dropped.

/// A held run that somebody watches. Dropped before anything is decided, it leaves the exchange held; the store of
/// its journal is to be dropped before.
pub struct HoldHandle {
    holds: Arc<Holds>,
    hold: Arc<Hold>,
    /// There until the handle is dropped.
    active: Option<Active>,
}

impl HoldHandle {
    /// Takes over the run of a hold that has started and that nobody watches.
    pub(crate) fn of(holds: &Arc<Holds>, hold: Arc<Hold>, wake: Wake) -> Option<Self> {
        if hold.is_decided() || lock(&hold.thread).is_none() || lock(&hold.wake).is_some() {
            return None;
        }
        let (to, active) = channel();
        hold.send(HoldInput::HandOver(to));
        let active = active.recv().ok();
        active.as_ref()?;
        *lock(&hold.wake) = Some(wake.clone());
        // Something may have happened before anybody could be notified.
        wake();
        let holds = holds.clone();
        Some(Self {
            holds,
            hold,
            active,
        })
    }

    pub fn id(&self) -> ExchangeId {
        self.hold.id
    }

    /// The journal of the run.
    pub fn journal(&self) -> Option<&Path> {
        self.active.as_ref().map(|active| active.run.journal())
    }

    /// Goes on with the run, in a store of its takes; everything is reported again.
    pub fn start(&mut self, store: &mut TakeStore) -> Result<Vec<RunNews>, TakeError> {
        let Some(Active { run, .. }) = &mut self.active else {
            return Ok(Vec::new());
        };
        let news = run.start_again(store)?;
        report_and_decide(run, store, &news, &self.hold);
        Ok(news)
    }

    /// Handles an input. Of an exchange that was decided nothing goes on.
    pub fn handle(&mut self, store: &mut TakeStore, input: RunInput) -> Vec<RunNews> {
        let Some(Active { run, .. }) = &mut self.active else {
            return Vec::new();
        };
        let news = match (self.hold.closing(), run.has_ended()) {
            (Some(closing), false) => {
                let mut news = vec![RunNews::Notice(closing.words.clone())];
                let end = RunInput::Operator(RunCommand::End(closing.ending.clone()));
                news.extend(run.handle(store, end));
                news
            }
            // Going about its takes asks for nothing.
            (_, true) if matches!(input, RunInput::Went(_) | RunInput::Io(_)) => Vec::new(),
            (_, true) => {
                let text = "the exchange is decided: nothing goes on here any more";
                vec![RunNews::Notice(text.to_owned())]
            }
            (None, false) => run.handle(store, input),
        };
        report_and_decide(run, store, &news, &self.hold);
        news
    }

    /// Handles what has happened meanwhile: to its model, and to its exchange.
    pub fn handle_io(&mut self, store: &mut TakeStore) -> Vec<RunNews> {
        let mut news = Vec::new();
        while let Some(Ok(input)) = self.active.as_ref().map(|active| active.inputs.try_recv()) {
            match input {
                HoldInput::Io(event) => news.extend(self.handle(store, RunInput::Io(event))),
                HoldInput::Close => {
                    let current = self.take();
                    news.extend(self.handle(store, RunInput::Went(current)));
                }
                // It is in somebody's hands; the proxy ends with the screen.
                HoldInput::HandOver(_) | HoldInput::Stop => {}
            }
        }
        news
    }

    /// The take that the run drives.
    pub fn take(&self) -> TakeId {
        let active = self.active.as_ref();
        active.map_or(TakeId::MAIN, |active| active.run.run().take())
    }

    /// What it is doing.
    pub fn phase(&self) -> Phase {
        let active = self.active.as_ref();
        active.map_or(Phase::Idle, |active| active.run.run().phase())
    }
}

impl Drop for HoldHandle {
    fn drop(&mut self) {
        *lock(&self.hold.wake) = None;
        if let Some(active) = self.active.take()
            && !self.holds.has_stopped()
        {
            self.holds.spawn(&self.hold, HoldStart::GivenBack(active));
        }
    }
}

// The holder of exchanges: takes orders, and hears what the wire knows of their clients.

/// Holds exchanges, until it is dropped. What is not decided by then stays undecided in its journal, and its
/// connections are dropped with what was to hear of it.
pub struct Holder(Arc<Holds>);

impl Holder {
    /// A holder. Fails where the system gives no thread.
    pub fn new(settings: HoldSettings, report: Report) -> io::Result<Self> {
        let shared = HoldContext::start(settings, report)?;
        Ok(Self(Arc::new(Holds::new(shared))))
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
        let about = (order.id, order.size());
        let (to, inputs) = channel();
        let hold = Arc::new(Hold::new(about, to, Box::new(on_update), Box::new(decided)));
        let mut table = lock(&self.0.table);
        let admitted = table.admission.enter(&hold, order, inputs);
        if admitted.is_ok() {
            table.holds.push(hold.clone());
        }
        drop(table);
        match admitted {
            Ok(Some((order, inputs))) => {
                self.0
                    .spawn(&hold, HoldStart::Order(Box::new(order), inputs));
            }
            Ok(None) => {}
            Err(why) => self.0.cannot_hold(&hold, &why.to_string()),
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
        let hold = self.0.find(id);
        hold.is_some_and(|hold| hold.close(outcome, Closing { ending, words }))
    }

    /// The most calls to the model that retake adds to one exchange.
    pub fn asks(&self) -> u32 {
        self.0.shared.settings.asks
    }

    /// The exchanges that are held, in order.
    pub fn held(&self) -> Vec<ExchangeId> {
        let table = lock(&self.0.table);
        let held = table.holds.iter().filter(|hold| !hold.is_decided());
        let mut held: Vec<_> = held.map(|hold| hold.id).collect();
        held.sort_unstable();
        held
    }

    /// Other breakpoints, for what is held from now on.
    pub fn set_breakpoints(&self, breakpoints: Vec<Breakpoint>) {
        *lock(&self.0.shared.breakpoints) = breakpoints;
    }

    /// Hands the run of an exchange over to whoever watches it; its journal is closed here. `None` where it is
    /// not held, not begun yet, or in another's hands.
    ///
    /// `wake` is called, on any thread, when something has happened that [`HoldHandle::handle_io`] hears;
    /// it must not wait.
    pub fn take_over(&self, id: ExchangeId, wake: Wake) -> Option<HoldHandle> {
        HoldHandle::of(&self.0, self.0.find(id)?, wake)
    }
}

impl Drop for Holder {
    fn drop(&mut self) {
        self.0.has_stopped.store(true, Ordering::Relaxed);
        let holds = std::mem::take(&mut lock(&self.0.table).holds);
        for hold in &holds {
            hold.send(HoldInput::Stop);
        }
        for hold in &holds {
            let thread = lock(&hold.thread).take();
            // The panic hook has reported a panic in it.
            let _ = thread.map(std::thread::JoinHandle::join);
        }
    }
}
