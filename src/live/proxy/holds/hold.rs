//! One exchange that is held: its one decision, and the inputs of its run.

use super::holder::Shared;
use super::run::HeldRun;
use super::{HoldOrder, HoldOutcome, HoldUpdate};
use crate::TakeStore;
use crate::live::{Input, IoEvent};
use retake_core::engine::Command;
use retake_core::exchange::ExchangeId;
use retake_core::session::ledger::Ending;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::mpsc::{Receiver, SendError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread::{Builder, JoinHandle};

/// Receives the decision.
pub(super) type Decided = Box<dyn FnOnce(HoldOutcome) + Send>;
/// Receives what a hold reports before it is decided.
pub(super) type OnUpdate = Box<dyn Fn(HoldUpdate) + Send + Sync>;
/// Notifies whoever watches the run that there is an input.
pub(super) type Wake = Arc<dyn Fn() + Send + Sync>;

/// An exchange that is held, as everybody but its run sees it. The run is a thread's, or the screen's
/// ([`super::HoldHandle`]); whoever has it has the receiver of its inputs as well.
pub(super) struct Hold {
    pub(super) id: ExchangeId,
    /// Bytes of what is held.
    pub(super) size: usize,
    /// Taken by whoever decides: there is one decision.
    decided: Mutex<Option<Decided>>,
    /// A decision that does not come from the run.
    closing: OnceLock<Closing>,
    on_update: OnUpdate,
    inputs: Sender<HoldInput>,
    /// Set while the screen has the run.
    pub(super) wake: Mutex<Option<Wake>>,
    /// Set once it has started.
    pub(super) thread: Mutex<Option<JoinHandle<()>>>,
}

/// An input of a hold's run.
pub(super) enum HoldInput {
    Io(IoEvent),
    /// It was decided from outside of its run.
    Close,
    /// The screen wants the run.
    HandOver(Sender<Active>),
    /// The proxy ends.
    Stop,
}

/// The run of a hold, with its inputs.
pub(super) struct Active {
    pub(super) run: Box<HeldRun>,
    pub(super) inputs: Receiver<HoldInput>,
}

/// How a run ends that was decided from outside.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) ending: Ending,
    pub(super) words: String,
}

impl Hold {
    pub(super) fn new(
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
    pub(super) fn decide(&self, outcome: HoldOutcome) -> bool {
        let decided = lock(&self.decided).take();
        decided.map(|decided| decided(outcome)).is_some()
    }

    pub(super) fn is_decided(&self) -> bool {
        lock(&self.decided).is_none()
    }

    /// Decides from outside of the run, which ends so.
    pub(super) fn close(&self, outcome: HoldOutcome, closing: Closing) -> bool {
        let Some(decided) = lock(&self.decided).take() else {
            return false;
        };
        // Whoever decides is the only one to get here.
        let _ = self.closing.set(closing);
        decided(outcome);
        self.send(HoldInput::Close);
        true
    }

    pub(super) fn closing(&self) -> Option<&Closing> {
        self.closing.get()
    }

    pub(super) fn report(&self, updates: Vec<HoldUpdate>) {
        updates.into_iter().for_each(&self.on_update);
    }

    pub(super) fn send(&self, input: HoldInput) {
        // Without a receiver the run has ended.
        let _ = self.inputs.send(input);
        let wake = lock(&self.wake).clone();
        if let Some(wake) = wake {
            wake();
        }
    }
}

/// Where the thread of a hold begins.
pub(super) enum Start {
    Order(Box<HoldOrder>, Receiver<HoldInput>),
    /// The screen gives the run back.
    GivenBack(Active),
}

/// Runs a hold on a thread of its own until it is over, or the screen has it.
pub(super) fn spawn(shared: &Arc<Shared>, hold: &Arc<Hold>, start: Start) {
    let (inside, held) = (shared.clone(), hold.clone());
    let spawned = Builder::new().name("hold".to_owned()).spawn(move || {
        let run = || drive(&inside, &held, start);
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
            shared.cannot_hold(hold, &error.to_string());
            shared.forget(hold);
        }
    }
}

/// Returns whether the hold is over.
fn drive(shared: &Arc<Shared>, hold: &Arc<Hold>, start: Start) -> bool {
    let (
        Active {
            mut run,
            mut inputs,
        },
        mut store,
    ) = match start {
        Start::GivenBack(active) => (active, None),
        // It was decided before it could start.
        Start::Order(..) if hold.closing().is_some() => return true,
        Start::Order(order, inputs) => {
            let _turn = shared.turn(hold);
            match HeldRun::start(*order, shared, hold) {
                Ok((run, store)) => (Active { run, inputs }, Some(store)),
                Err(why) => {
                    shared.cannot_hold(hold, &why);
                    return true;
                }
            }
        }
    };
    while !run.has_ended() {
        let input = match hold.closing() {
            Some(closing) => Input::Operator(Command::End(closing.ending.clone())),
            None => match inputs.recv() {
                Ok(HoldInput::Io(event)) => Input::Io(event),
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
        let _turn = shared.turn(hold);
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
        run.settle(store, &news, hold);
    }
    true
}

/// A lock; what a panic left is whole enough, since every holder puts back what it takes.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
