//! The holder of exchanges: takes orders, drives their runs, and hears what the wire knows of their clients.

use super::admission::{Admission, LARGE};
use super::handle::HoldHandle;
use super::hold::{Closing, Hold, HoldInput, Start, Wake, lock, spawn};
use super::{ASKS, HoldOrder, HoldOutcome, HoldUpdate};
use crate::http::{Http, Target};
use crate::live::{IoThread, Thread};
use crate::model::Timeouts;
use crate::proxy::News as ProxyNews;
use retake_core::engine::{Breakpoint, Policy};
use retake_core::exchange::ExchangeId;
use retake_core::session::ledger::Ending;
use std::io;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};

/// Receives what happens to exchanges that are held; it must not wait.
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

/// More holds than this are not worked on at a time: one works for a moment, and then waits.
const MOST: usize = 4;

/// What all holds share.
pub(super) struct Shared {
    pub(super) settings: Settings,
    pub(super) report: Report,
    breakpoints: Mutex<Vec<Breakpoint>>,
    table: Mutex<Table>,
    /// For holds of usual size, and for large ones.
    turns: [Turns; 2],
    has_stopped: AtomicBool,
    thread: Thread,
    /// The clients: for http, for https, whose certificates take a while, and for hosts that need not
    /// prove who they are.
    clients: Mutex<[Option<Http>; 3]>,
}

#[derive(Default)]
struct Table {
    /// In the order in which they began. An exchange can be held again before its last hold
    /// has left the screen.
    holds: Vec<Arc<Hold>>,
    admission: Admission,
}

/// Lets so many threads work at a time.
struct Turns {
    free: Mutex<Receiver<()>>,
    back: Sender<()>,
}

/// A turn of one thread, until it is dropped.
pub(super) struct Turn(Sender<()>);

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

impl Shared {
    /// A slot in the thread that calls models.
    pub(super) fn room(&self) -> IoThread {
        self.thread.room()
    }

    pub(super) fn breakpoints(&self) -> Vec<Breakpoint> {
        lock(&self.breakpoints).clone()
    }

    pub(super) fn has_stopped(&self) -> bool {
        self.has_stopped.load(Ordering::Relaxed)
    }

    /// Waits until a hold may work.
    pub(super) fn turn(&self, hold: &Hold) -> Turn {
        let turns = &self.turns[usize::from(hold.size >= LARGE)];
        // The other end is in `turns` itself.
        let _ = lock(&turns.free).recv();
        Turn(turns.back.clone())
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
    pub(super) fn forget(self: &Arc<Self>, hold: &Arc<Hold>) {
        let mut table = lock(&self.table);
        let before = table.holds.len();
        table.holds.retain(|known| !Arc::ptr_eq(known, hold));
        if table.holds.len() == before {
            return;
        }
        let next = table.admission.leave(hold);
        drop(table);
        for (hold, order, inputs) in next {
            spawn(self, &hold, Start::Order(Box::new(order), inputs));
        }
    }

    /// What cannot be held is released.
    pub(super) fn cannot_hold(&self, hold: &Hold, why: &str) {
        let by = format!("it cannot be held: {why}");
        (self.report)(ProxyNews::Notice(format!(
            "exchange {} was released: {by}",
            hold.id
        )));
        hold.decide(HoldOutcome::Release { by });
    }

    /// The latest hold of an exchange.
    fn find(&self, id: ExchangeId) -> Option<Arc<Hold>> {
        let table = lock(&self.table);
        let mut latest = table.holds.iter().rev();
        latest.find(|hold| hold.id == id).cloned()
    }
}

/// Holds exchanges, until it is dropped. What is not decided by then stays undecided in its journal, and its
/// connections are dropped with what was to hear of it.
pub struct Holder(Arc<Shared>);

impl Holder {
    /// A holder. Fails where the system gives no thread.
    pub fn new(
        settings: Settings,
        report: Arc<dyn Fn(ProxyNews) + Send + Sync>,
    ) -> io::Result<Self> {
        let cores = std::thread::available_parallelism().map_or(1, usize::from);
        Ok(Self(Arc::new(Shared {
            breakpoints: Mutex::new(settings.breakpoints.clone()),
            settings,
            report,
            table: Mutex::default(),
            turns: [Turns::new(cores.clamp(2, MOST)), Turns::new(1)],
            has_stopped: AtomicBool::new(false),
            thread: Thread::start()?,
            clients: Mutex::default(),
        })))
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
                spawn(&self.0, &hold, Start::Order(Box::new(order), inputs));
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
        self.0.settings.asks
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
        *lock(&self.0.breakpoints) = breakpoints;
    }

    /// Hands the run of an exchange over to whoever watches it; its journal is closed here. `None` where it is
    /// not held, not begun yet, or in another's hands.
    ///
    /// `wake` is called, on any thread, when something has happened that [`HoldHandle::handle_io`] hears;
    /// it must not wait.
    pub fn seat(&self, id: ExchangeId, wake: Wake) -> Option<HoldHandle> {
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
