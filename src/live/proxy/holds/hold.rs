//! One exchange that is held: its one decision, and the inputs of its run.

use super::order::{HoldOutcome, HoldUpdate};
use super::run::HeldRun;
use crate::live::IoEvent;
use crate::lock::lock;
use retake_core::exchange::ExchangeId;
use retake_core::session::ledger::Ending;
use std::sync::mpsc::{Receiver, Sender};
use std::sync::{Arc, Mutex, OnceLock};
use std::thread::JoinHandle;

/// Receives the decision.
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
    /// The proxy ends.
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
