//! The threads of holds: each drives the run of one hold until it is over, or the screen takes it over.

use super::hold::{Active, Hold, HoldInput};
use super::order::{HoldOrder, HoldOutcome};
use super::run::HeldRun;
use super::shared::HoldContext;
use crate::TakeStore;
use crate::live::{IoEvent, News as RunNews, RunInput};
use crate::lock::lock;
use crate::proxy::news::News;
use retake_core::engine::Command;
use retake_core::exchange::ExchangeId;
use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, SendError, Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::Builder;

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
        (self.shared.report)(News::Notice(format!(
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
                Some(closing) => RunInput::Operator(Command::End(closing.ending.clone())),
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
            settle(&mut run, store, &news, hold);
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
    settle(&mut run, &mut store, &news, hold);
    Ok((run, store))
}

/// Reports what came of an input, and decides where the run has ended.
pub(crate) fn settle(run: &mut HeldRun, store: &mut TakeStore, news: &[RunNews], hold: &Hold) {
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
