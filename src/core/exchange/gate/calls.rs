//! The calls of a reply that were not found sound yet.

use crate::wire::stream::CallPart;

/// The most calls that wait at a time; each event is matched with all of them.
const MOST: usize = 1024;

/// A call that has begun.
#[derive(Debug, Clone)]
struct Call {
    key: Vec<u8>,
    /// Where its first event begins.
    begins: usize,
    is_complete: bool,
}

/// The calls that wait, in the order in which they began.
#[derive(Debug, Clone, Default)]
pub(crate) struct Calls {
    waiting: Vec<Call>,
    /// How many have begun at all.
    begun: usize,
}

impl Calls {
    /// Takes an event about a part of the reply, which begins at `at`. Gives whether a call is complete by it.
    pub(crate) fn take(&mut self, part: CallPart<'_>, at: usize) -> bool {
        let known = self.place_of(part.key);
        let place = match known {
            Some(place) => place,
            None if part.is_call => {
                self.begin(part.key, at);
                self.waiting.len() - 1
            }
            None => return false,
        };
        self.waiting[place].is_complete |= part.ends;
        part.ends
    }

    /// A call begins with the event at `at`, or something else that waits like one.
    pub(crate) fn begin(&mut self, key: &[u8], at: usize) {
        self.begun += usize::from(!key.starts_with(b"\0"));
        self.waiting.push(Call {
            key: key.to_vec(),
            begins: at,
            is_complete: false,
        });
    }

    /// All that have begun are complete. Gives whether one was not before.
    pub(crate) fn complete(&mut self) -> bool {
        let mut changed = false;
        for call in self.waiting.iter_mut().filter(|call| !call.is_complete) {
            call.is_complete = true;
            changed = true;
        }
        changed
    }

    /// Those that are complete are sound, and wait no longer.
    pub(crate) fn sound(&mut self) {
        self.waiting.retain(|call| !call.is_complete);
    }

    /// None waits any longer.
    pub(crate) fn clear(&mut self) {
        self.waiting.clear();
    }

    /// How many have begun at all.
    pub(crate) fn begun(&self) -> usize {
        self.begun
    }

    /// Where the first one that waits begins.
    pub(crate) fn first(&self) -> Option<usize> {
        self.waiting.first().map(|call| call.begins)
    }

    /// Whether a complete one waits.
    pub(crate) fn has_complete(&self) -> bool {
        self.waiting.iter().any(|call| call.is_complete)
    }

    /// Whether more wait than are kept apart.
    pub(crate) fn are_too_many(&self) -> bool {
        self.waiting.len() > MOST
    }

    /// Whether the event at `at` about the part with this key belongs to a call that is not complete.
    pub(crate) fn is_open_at(&self, key: &[u8], at: usize) -> bool {
        let place = self.place_of(key);
        place.is_some_and(|place| self.waiting[place].begins <= at)
    }

    /// The latest one with this key that is not complete.
    fn place_of(&self, key: &[u8]) -> Option<usize> {
        let is_it = |call: &Call| !call.is_complete && call.key == key;
        self.waiting.iter().rposition(is_it)
    }
}
