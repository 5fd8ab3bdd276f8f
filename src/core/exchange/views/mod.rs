//! The two views of a conversation: what the agent knows of it, and what its provider knows.
//!
//! Where the provider's reply was held, the agent receives a turn that it can use; the provider knows also the
//! turn before, the call that did not work, and how it was answered. The agent repeats its own view in every
//! later request. What it has not seen is put back there, so that to the provider the conversation is the one
//! that it had, and every call keeps its output. The same holds for requests that were repaired before they
//! left: the agent goes on repeating what was broken.

mod element;
mod hold_views;
mod list;
mod message;
mod repairs;
mod stored;
mod story;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

pub use hold_views::{HoldViews, HoldViewsError, hold_views};
pub use stored::{Continued, Keeping, StoredReplies};

use crate::session::Dialect;
use list::RequestList;
use repairs::ListRepair;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::sync::Arc;
use story::Story;

/// Most turns and repairs that are remembered.
const MOST: usize = 4096;
/// Most bytes that they take.
const BYTES: usize = 64 << 20;

/// What is remembered of earlier exchanges. Bounded: the oldest is forgotten, and a conversation that was given
/// otherwise so long ago is then sent as the agent has it. Copies share what they remember.
#[derive(Debug, Clone)]
pub struct Views {
    most: usize,
    /// In the order in which they came; the first has the number `first`.
    kept: VecDeque<Arc<Kept>>,
    first: u64,
    bytes: usize,
    /// The replaced turns that such a digest may identify.
    by_mark: HashMap<u64, Vec<u64>>,
    /// How many of those that are kept are repairs.
    repairs: usize,
}

#[derive(Debug)]
enum Kept {
    Story(Story),
    Repair(ListRepair),
}

impl Kept {
    fn size(&self) -> usize {
        match self {
            Self::Story(story) => story.size(),
            Self::Repair(repair) => repair.size(),
        }
    }
}

/// A request as its provider is to get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Restored {
    pub body: Vec<u8>,
    /// What was put back, a sentence each; they hold names from outside.
    pub notes: Vec<String>,
}

impl Default for Views {
    fn default() -> Self {
        Self::holding(MOST)
    }
}

impl Views {
    fn holding(most: usize) -> Self {
        Self {
            most,
            kept: VecDeque::new(),
            first: 0,
            bytes: 0,
            by_mark: HashMap::new(),
            repairs: 0,
        }
    }

    /// Whether nothing is remembered: then no request needs to be looked at.
    pub fn is_empty(&self) -> bool {
        self.kept.is_empty()
    }

    /// Remembers what an agent received, with the digest of its request: in another conversation nothing of it is
    /// put back, whatever ids that one has. `released` are the elements of the first turn that it was already
    /// sent before the hold, text and reasoning: it repeats them together with the turn that it receives, in one
    /// message (Chat), before its blocks (Anthropic) or its items.
    pub fn remember(&mut self, dialect: Dialect, held: &HoldViews, released: &[String]) {
        if let Some(story) = Story::of(dialect, held, released) {
            self.keep(Kept::Story(story));
        }
    }

    /// Remembers how a request was repaired, element by element. `original` is the body as it was judged:
    /// as [`Self::restore`] gave it.
    pub fn remember_repair(&mut self, dialect: Dialect, original: &[u8], repaired: &[u8]) {
        if let Some(repair) = ListRepair::of(dialect, original, repaired) {
            self.keep(Kept::Repair(repair));
        }
    }

    fn keep(&mut self, kept: Kept) {
        let number = self.first + self.kept.len() as u64;
        match &kept {
            Kept::Story(story) => {
                for mark in story.marks() {
                    self.by_mark.entry(mark).or_default().push(number);
                }
            }
            Kept::Repair(_) => self.repairs += 1,
        }
        self.bytes += kept.size();
        self.kept.push_back(Arc::new(kept));
        while self.kept.len() > self.most || self.bytes > BYTES {
            self.forget();
        }
    }

    fn forget(&mut self) {
        let Some(oldest) = self.kept.pop_front() else {
            return;
        };
        self.bytes -= oldest.size();
        match &*oldest {
            Kept::Story(story) => {
                for mark in story.marks() {
                    if let Some(known) = self.by_mark.get_mut(&mark) {
                        known.retain(|number| *number != self.first);
                        if known.is_empty() {
                            self.by_mark.remove(&mark);
                        }
                    }
                }
            }
            Kept::Repair(_) => self.repairs -= 1,
        }
        self.first += 1;
    }

    /// The request as the provider is to get it; `None` where it can go as it is. Elements that nothing was
    /// given otherwise stay byte for byte.
    ///
    /// Where the provider keeps the conversation itself, only outputs of calls that it knows already
    /// can be put back.
    pub fn restore(&self, dialect: Dialect, request: &[u8]) -> Option<Restored> {
        if self.is_empty() {
            return None;
        }
        let mut list = RequestList::read(dialect, request)?;
        let mut known = self.told_in(&list);
        if self.repairs > 0 && !list.has_server_state {
            let kept = self.kept.iter().zip(self.first..);
            let repairs = kept.filter(|(kept, _)| matches!(***kept, Kept::Repair(_)));
            known.extend(repairs.map(|(_, number)| number));
        }
        // In the order in which they came: each was made of what those before it had left.
        let notes = known
            .into_iter()
            .filter_map(|number| match self.at(number)? {
                Kept::Story(story) => story.apply(&mut list),
                Kept::Repair(repair) => repair.apply(&mut list),
            });
        let notes = notes.collect();
        list.write().map(|body| Restored { body, notes })
    }

    fn at(&self, number: u64) -> Option<&Kept> {
        let index = usize::try_from(number.checked_sub(self.first)?).ok()?;
        self.kept.get(index).map(Arc::as_ref)
    }

    /// The replaced turns that a list may hold, the oldest first.
    fn told_in(&self, list: &RequestList<'_>) -> BTreeSet<u64> {
        let mut found = BTreeSet::new();
        if self.by_mark.is_empty() {
            return found;
        }
        if list.has_server_state {
            // There only outputs stand, which say nothing of what their calls were.
            let all = self.by_mark.values().flatten();
            found.extend(all.copied());
            return found;
        }
        for element in list.iter() {
            let is_item = list.dialect.facts().item_ids && element.calls.is_empty();
            let own = is_item.then(|| element.own_mark()).flatten();
            let marks = element.calls.iter().map(|call| call.id).chain(own);
            let known = marks.filter_map(|mark| self.by_mark.get(&mark));
            found.extend(known.flatten().copied());
        }
        found
    }
}
