//! One exchange that is held: what it still has to hear, who has it in hand, and the one decision about it.

use super::run::HeldRun;
use super::workers::Line;
use super::{HoldOrder, HoldOutcome, HoldUpdate};
use crate::TakeStore;
use crate::live::IoEvent;
use retake_core::exchange::ExchangeId;
use retake_core::session::ledger::Ending;
use std::collections::VecDeque;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Who hears what was decided.
pub(super) type Decided = Box<dyn FnOnce(HoldOutcome) + Send>;
/// Who hears what a hold tells before it is decided.
pub(super) type OnUpdate = Box<dyn Fn(HoldUpdate) + Send + Sync>;

/// Tells whoever sits in the seat that there is something to hear.
pub(super) type Wake = Arc<dyn Fn() + Send + Sync>;

/// An exchange that is held.
pub(super) struct Hold {
    pub(super) id: ExchangeId,
    /// Bytes of what is held.
    pub(super) size: usize,
    /// Taken by whoever decides: there is one decision.
    decided: Mutex<Option<Decided>>,
    on_update: OnUpdate,
    inbox: Mutex<Inbox>,
    line: Line,
    /// Locked by whoever drives it.
    pub(super) stage: Mutex<Stage>,
}

#[derive(Default)]
struct Inbox {
    jobs: VecDeque<Job>,
    /// Whether it is queued or being run.
    is_in_line: bool,
    /// Notifies whoever watches the run that there is an input.
    seat: Option<Wake>,
    /// How it was decided from outside of its run.
    closing: Option<Closing>,
}

/// Something that a hold is to hear.
pub(super) enum Job {
    Begin(Box<HoldOrder>),
    Io(IoEvent),
    Close,
    GivenBack(Box<HeldRun>),
}

/// A decision that does not come from the run.
#[derive(Debug, Clone)]
pub(super) struct Closing {
    /// How the run ends.
    pub(super) ending: Ending,
    pub(super) words: String,
}

/// Who has the run.
pub(super) enum Stage {
    /// Nobody yet: it is to begin.
    New,
    /// It is held here. The workbench is opened when it is needed.
    Here(Box<HeldRun>, Option<Box<TakeStore>>),
    /// The screen has it.
    Away,
    Over,
}

impl Hold {
    pub(super) fn new(
        (id, size): (ExchangeId, usize),
        line: Line,
        on_update: OnUpdate,
        decided: Decided,
    ) -> Self {
        Self {
            id,
            size,
            decided: Mutex::new(Some(decided)),
            on_update,
            inbox: Mutex::default(),
            line,
            stage: Mutex::new(Stage::New),
        }
    }

    /// Tells the decision, unless there is one; says whether it counts.
    pub(super) fn decide(&self, outcome: HoldOutcome) -> bool {
        let decided = lock(&self.decided).take();
        decided.map(|decided| decided(outcome)).is_some()
    }

    /// Whether it was decided.
    pub(super) fn is_decided(&self) -> bool {
        lock(&self.decided).is_none()
    }

    /// Decides from outside of the run, which ends so.
    pub(super) fn close(self: &Arc<Self>, outcome: HoldOutcome, closing: Closing) -> bool {
        if !self.decide(outcome) {
            return false;
        }
        lock(&self.inbox).closing = Some(closing);
        self.push(Job::Close);
        true
    }

    /// How it was decided from outside of its run.
    pub(super) fn closing(&self) -> Option<Closing> {
        lock(&self.inbox).closing.clone()
    }

    pub(super) fn report(&self, words: Vec<HoldUpdate>) {
        words.into_iter().for_each(&self.on_update);
    }

    /// Hands in something to hear.
    pub(super) fn push(self: &Arc<Self>, job: Job) {
        let mut inbox = lock(&self.inbox);
        inbox.jobs.push_back(job);
        let wake = inbox.seat.clone();
        let is_in_line = wake.is_some() || std::mem::replace(&mut inbox.is_in_line, true);
        drop(inbox);
        match wake {
            Some(wake) => wake(),
            None if !is_in_line => self.line.push(self.clone()),
            None => {}
        }
    }

    /// What is to be heard next here; without anything it leaves the line.
    pub(super) fn next(&self) -> Option<Job> {
        let mut inbox = lock(&self.inbox);
        let is_seated = inbox.seat.is_some();
        let job = inbox.jobs.pop_front_if(|_| !is_seated);
        inbox.is_in_line = job.is_some();
        job
    }

    /// Hands a job back that is the seat's to hear.
    pub(super) fn put_back(&self, job: Job) {
        let mut inbox = lock(&self.inbox);
        let after_handover = matches!(inbox.jobs.front(), Some(Job::GivenBack(_)));
        inbox.jobs.insert(usize::from(after_handover), job);
        let wake = inbox.seat.clone();
        drop(inbox);
        if let Some(wake) = wake {
            wake();
        }
    }

    /// From now on whoever sits in the seat hears what happens, and what was not heard yet.
    pub(super) fn seat(&self, wake: Wake) {
        let mut inbox = lock(&self.inbox);
        inbox.seat = Some(wake.clone());
        let has_more = !inbox.jobs.is_empty();
        drop(inbox);
        if has_more {
            wake();
        }
    }

    /// What is to be heard next in the seat.
    pub(super) fn next_in_seat(&self) -> Option<Job> {
        lock(&self.inbox).jobs.pop_front()
    }

    /// He is gone: what he did not hear is heard here.
    pub(super) fn unseat(self: &Arc<Self>, run: Box<HeldRun>) {
        let mut inbox = lock(&self.inbox);
        inbox.seat = None;
        inbox.jobs.push_front(Job::GivenBack(run));
        let is_in_line = std::mem::replace(&mut inbox.is_in_line, true);
        drop(inbox);
        if !is_in_line {
            self.line.push(self.clone());
        }
    }
}

/// A lock; what a panic left is whole enough, since every holder puts back what it takes.
pub(super) fn lock<T: ?Sized>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
