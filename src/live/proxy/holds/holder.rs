//! The holder of exchanges: takes orders, and hears what the wire knows of their clients.

use super::drive::{HoldStart, Holds};
use super::handle::HoldHandle;
use super::hold::{Closing, Hold, HoldInput, Wake};
use super::order::{HoldOrder, HoldOutcome, HoldUpdate};
use super::shared::{HoldContext, HoldSettings};
use crate::lock::lock;
use crate::proxy::news::Report;
use retake_core::engine::Breakpoint;
use retake_core::exchange::ExchangeId;
use retake_core::session::ledger::Ending;
use std::io;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::sync::mpsc::channel;

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
