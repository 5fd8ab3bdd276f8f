//! How much is held at once: a hold takes several times the memory of what it holds.

use super::HoldOrder;
use super::hold::{Hold, lock};
use std::collections::VecDeque;
use std::sync::{Arc, Mutex};

/// From so many bytes on, a hold is large: it is run on a thread of its own, so that others do
/// not wait for it.
pub(super) const LARGE: usize = 1 << 20;
/// Most bytes of large holds that have begun; one hold alone may be larger.
const BEGUN: usize = 24 << 20;
/// Most bytes of large holds that wait to begin.
const WAITING: usize = 64 << 20;

/// Which large holds may begin.
#[derive(Default)]
pub(super) struct Admission(Mutex<Large>);

/// A hold that has not begun, with its order.
pub(super) type Waiting = (Arc<Hold>, HoldOrder);

#[derive(Default)]
struct Large {
    /// Bytes of those that have begun.
    begun: usize,
    waiting: VecDeque<Waiting>,
}

impl Large {
    fn has_room(&self, size: usize) -> bool {
        self.begun == 0 || self.begun + size <= BEGUN
    }
}

impl Admission {
    /// Gives the order back where its hold may begin, and keeps it where the hold has to wait. Fails where
    /// too much waits already.
    pub(super) fn enter(
        &self,
        hold: &Arc<Hold>,
        order: HoldOrder,
    ) -> Result<Option<HoldOrder>, AdmissionError> {
        if hold.size < LARGE {
            return Ok(Some(order));
        }
        let mut large = lock(&self.0);
        if large.waiting.is_empty() && large.has_room(hold.size) {
            large.begun += hold.size;
            return Ok(Some(order));
        }
        let waiting: usize = large.waiting.iter().map(|(hold, _)| hold.size).sum();
        if waiting + hold.size > WAITING {
            return Err(AdmissionError);
        }
        large.waiting.push_back((hold.clone(), order));
        Ok(None)
    }

    /// A hold that had begun, or was decided before that, is over; gives those that may begin now.
    pub(super) fn leave(&self, hold: &Hold) -> Vec<Waiting> {
        if hold.size < LARGE {
            return Vec::new();
        }
        let mut large = lock(&self.0);
        let before = large.waiting.len();
        let waiting = &mut large.waiting;
        waiting.retain(|(known, _)| !std::ptr::eq(&**known, hold));
        if large.waiting.len() == before {
            large.begun = large.begun.saturating_sub(hold.size);
        }
        let mut next = Vec::new();
        while let Some((first, _)) = large.waiting.front()
            && large.has_room(first.size)
        {
            large.begun += first.size;
            next.extend(large.waiting.pop_front());
        }
        next
    }
}

/// Too many bytes wait to be held.
#[derive(Debug, thiserror::Error)]
#[error("too much is held: {} MiB more wait", WAITING >> 20)]
pub(super) struct AdmissionError;
