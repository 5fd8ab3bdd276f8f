//! How much is held at once: a hold takes several times the memory of what it holds.

use super::hold::{Hold, HoldInput};
use super::order::HoldOrder;
use std::collections::VecDeque;
use std::sync::Arc;
use std::sync::mpsc::Receiver;

/// From so many bytes on, a hold is large: one at a time is worked on, so that others do not
/// wait for it.
pub(super) const LARGE: usize = 1 << 20;
/// Most bytes of large holds that have started; one hold alone may be larger.
const STARTED: usize = 24 << 20;
/// Most bytes of large holds that wait to start.
const WAITING: usize = 64 << 20;

/// Which large holds may start.
#[derive(Default)]
pub(super) struct Admission {
    /// Bytes of those that have started.
    started: usize,
    waiting: VecDeque<Waiting>,
}

/// A hold that has not started, with its order and its inputs.
pub(super) type Waiting = (Arc<Hold>, HoldOrder, Receiver<HoldInput>);

impl Admission {
    fn has_room(&self, size: usize) -> bool {
        self.started == 0 || self.started + size <= STARTED
    }

    /// Returns the order if its hold may start, and keeps it if the hold has to wait. Fails if too much waits
    /// already.
    pub(super) fn enter(
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
    pub(super) fn leave(&mut self, hold: &Arc<Hold>) -> Vec<Waiting> {
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
pub(super) struct AdmissionError;
