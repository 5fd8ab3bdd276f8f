//! The tree of takes: the recording, its branches, and where the operator is among them.
//!
//! Everything that changes the tree is one [`TakeEvent`]. The methods that change it give the event back, for
//! the journal; the events of a journal, applied to an empty tree in their order, give the tree.

pub use anchor::{AnchorError, AnchorErrorKind, AnchoredSplice, ContentDigest, anchor, resolve};
use serde::{Deserialize, Serialize};
use std::collections::{BTreeMap, BTreeSet};
use std::fmt;

mod anchor;
pub mod spelling;
#[cfg(test)]
mod tests;

/// The tree of takes of one recording.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Takes {
    main: Branches,
    takes: BTreeMap<TakeId, Node>,
    current: TakeId,
    /// The largest number that was ever spoken of; a lost take keeps its number.
    largest: u32,
    notes: BTreeMap<(TakeId, ItemMark), String>,
    bookmarks: BTreeSet<(TakeId, ItemMark)>,
    /// Takes that the operator dropped, with all that branches off them; the last one last.
    dropped: Vec<TakeId>,
    /// Takes that have a name which the operator gave them.
    renamed: BTreeSet<TakeId>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Node {
    take: Take,
    /// What was appended after it was made, one step after the other.
    growth: Vec<Vec<AnchoredSplice>>,
    below: Branches,
}

/// What branches off a take.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
struct Branches {
    /// In the order in which they were made.
    children: Vec<TakeId>,
    /// The one that the operator was in last: where redo leads.
    last: Option<TakeId>,
}

/// A line of the tree as it is drawn.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TakeLine {
    pub id: TakeId,
    /// How many takes lie between it and the recording, itself included; 0 for the recording.
    pub depth: usize,
    /// One entry for each fork above it, from the recording down: whether further branches of that fork
    /// follow below. A take that is the only child of its parent, and changes it, continues the column of its
    /// parent, so that a long story stays narrow.
    pub rails: Vec<bool>,
    /// Whether it is the last child of its parent.
    pub is_last: bool,
}

impl Takes {
    /// The take at hand.
    pub fn current(&self) -> TakeId {
        self.current
    }

    /// A take; `None` for the recording and for what is not there.
    pub fn get(&self, id: TakeId) -> Option<&Take> {
        self.takes.get(&id).map(|node| &node.take)
    }

    /// Whether there is such a take, or it is the recording.
    pub fn contains(&self, id: TakeId) -> bool {
        id == TakeId::MAIN || self.takes.contains_key(&id)
    }

    /// How many takes there are, with the recording.
    pub fn count(&self) -> usize {
        self.takes.len() + 1
    }

    /// What a take branches off.
    pub fn parent(&self, id: TakeId) -> Option<TakeId> {
        self.get(id).map(|take| take.parent)
    }

    /// What branches off a take, the oldest first.
    pub fn children(&self, id: TakeId) -> &[TakeId] {
        self.below(id).map_or(&[], |below| &below.children)
    }

    /// What makes a take's text of its parent's: its own splices, then what it grew by, each in the places of
    /// the text so far.
    pub fn steps(&self, id: TakeId) -> impl Iterator<Item = &[AnchoredSplice]> {
        let node = self.takes.get(&id).into_iter();
        node.flat_map(|node| {
            let growth = node.growth.iter().map(Vec::as_slice);
            std::iter::once(&*node.take.splices).chain(growth)
        })
    }

    /// How often a take grew.
    pub fn growth(&self, id: TakeId) -> u32 {
        let node = self.takes.get(&id);
        node.map_or(0, |node| {
            crate::session::item::index_number(node.growth.len())
        })
    }

    /// The takes that lead from the recording to this one, which is the last: laid over each other
    /// they are its text.
    pub fn line(&self, id: TakeId) -> Vec<TakeId> {
        let mut line = Vec::new();
        let mut at = id;
        while let Some(take) = self.get(at) {
            line.push(at);
            at = take.parent;
        }
        line.reverse();
        line
    }

    /// The notes on a take, by the place of their item.
    pub fn notes(&self, take: TakeId) -> impl Iterator<Item = (ItemMark, &str)> {
        let of_take = self.notes.iter().filter(move |((of, _), _)| *of == take);
        of_take.map(|((_, item), text)| (*item, text.as_str()))
    }

    /// The bookmarks in a take, by the place of their item.
    pub fn bookmarks(&self, take: TakeId) -> impl Iterator<Item = ItemMark> {
        let of_take = self.bookmarks.iter().filter(move |(of, _)| *of == take);
        of_take.map(|(_, item)| *item)
    }

    /// Adds a take below its parent and goes there.
    pub fn fork(&mut self, take: Take) -> Result<TakeEvent, TakeEventError> {
        let id = self.free_id();
        let take = Box::new(take);
        self.changed(TakeEvent::Taken { id, take })
    }

    /// Appends to a take; neither to one that others branch off, whose text they are laid over,
    /// nor to the recording.
    pub fn grow(
        &mut self,
        take: TakeId,
        splices: Vec<AnchoredSplice>,
    ) -> Result<TakeEvent, TakeEventError> {
        let step = self.growth(take);
        self.changed(TakeEvent::Grown {
            take,
            step,
            splices,
        })
    }

    /// Goes back to the take that this one branches off; `None` in the recording.
    pub fn undo(&mut self) -> Option<TakeEvent> {
        let to = self.parent(self.current)?;
        self.changed(TakeEvent::Moved { to }).ok()
    }

    /// Goes down again to where undo came from; `None` where nothing branches off.
    pub fn redo(&mut self) -> Option<TakeEvent> {
        let below = self.below(self.current)?;
        let is_listed = |id: &TakeId| !self.dropped.contains(id);
        let others = below.children.iter().rev().copied();
        let to = below.last.into_iter().chain(others).find(is_listed)?;
        self.changed(TakeEvent::Moved { to }).ok()
    }

    /// Goes to any take.
    pub fn go_to(&mut self, to: TakeId) -> Result<TakeEvent, TakeEventError> {
        self.changed(TakeEvent::Moved { to })
    }

    /// Whether the operator has named a take.
    pub fn is_renamed(&self, take: TakeId) -> bool {
        self.renamed.contains(&take)
    }

    pub fn rename(&mut self, take: TakeId, title: String) -> Result<TakeEvent, TakeEventError> {
        self.changed(TakeEvent::Titled { take, title })
    }

    /// Writes a note on an item; an empty one takes it away.
    pub fn note(
        &mut self,
        take: TakeId,
        item: ItemMark,
        text: String,
    ) -> Result<TakeEvent, TakeEventError> {
        self.changed(TakeEvent::Noted { take, item, text })
    }

    /// Sets a bookmark on an item, or takes it away.
    pub fn bookmark(
        &mut self,
        take: TakeId,
        item: ItemMark,
        set: bool,
    ) -> Result<TakeEvent, TakeEventError> {
        self.changed(TakeEvent::Bookmarked { take, item, set })
    }

    /// Drops a take with all that branches off it: it is listed no more, and nothing is lost.
    pub fn drop_take(&mut self, take: TakeId) -> Result<TakeEvent, TakeEventError> {
        let dropped = true;
        self.changed(TakeEvent::Dropped { take, dropped })
    }

    /// Lists the take again that was dropped last; `None` where there is none.
    pub fn restore(&mut self) -> Option<TakeEvent> {
        let (take, dropped) = (*self.dropped.last()?, false);
        self.changed(TakeEvent::Dropped { take, dropped }).ok()
    }

    /// How many takes were dropped, not counting those that branch off them.
    pub fn count_dropped(&self) -> usize {
        self.dropped.len()
    }

    /// Says what a take came to.
    pub fn judge(
        &mut self,
        take: TakeId,
        outcome: TakeOutcome,
    ) -> Result<TakeEvent, TakeEventError> {
        self.changed(TakeEvent::Judged { take, outcome })
    }

    fn changed(&mut self, event: TakeEvent) -> Result<TakeEvent, TakeEventError> {
        self.apply(event.clone())?;
        Ok(event)
    }

    /// Takes an event over. One that does not fit changes nothing.
    pub fn apply(&mut self, event: TakeEvent) -> Result<(), TakeEventError> {
        self.remember_numbers(&event);
        match event {
            TakeEvent::Taken { id, take } => self.add(id, *take)?,
            TakeEvent::Grown {
                take,
                step,
                splices,
            } => self.lengthen(take, step, splices)?,
            TakeEvent::Moved { to } => {
                self.known(to)?;
                self.enter(to);
            }
            TakeEvent::Titled { take, title } => {
                self.branch_mut(take)?.title = title;
                self.renamed.insert(take);
            }
            TakeEvent::Judged { take, outcome } => self.branch_mut(take)?.outcome = outcome,
            TakeEvent::Noted { take, item, text } => {
                self.known(take)?;
                if text.is_empty() {
                    self.notes.remove(&(take, item));
                } else {
                    self.notes.insert((take, item), text);
                }
            }
            TakeEvent::Bookmarked { take, item, set } => {
                self.known(take)?;
                if set {
                    self.bookmarks.insert((take, item));
                } else {
                    self.bookmarks.remove(&(take, item));
                }
            }
            TakeEvent::Dropped { take, dropped } => {
                self.branch_mut(take)?;
                self.dropped.retain(|id| *id != take);
                self.dropped.extend(dropped.then_some(take));
            }
        }
        Ok(())
    }

    fn remember_numbers(&mut self, event: &TakeEvent) {
        let (TakeId(number), TakeId(parent)) = match event {
            TakeEvent::Taken { id, take } => (*id, take.parent),
            TakeEvent::Moved { to: id }
            | TakeEvent::Grown { take: id, .. }
            | TakeEvent::Titled { take: id, .. }
            | TakeEvent::Noted { take: id, .. }
            | TakeEvent::Bookmarked { take: id, .. }
            | TakeEvent::Dropped { take: id, .. }
            | TakeEvent::Judged { take: id, .. } => (*id, *id),
        };
        self.largest = self.largest.max(number).max(parent);
    }

    /// A number that no take ever had; a number that is free now, should a journal have used up all of them.
    fn free_id(&self) -> TakeId {
        let fresh = self.largest.checked_add(1).map(TakeId);
        let free = || (1..).map(TakeId).find(|id| !self.contains(*id));
        fresh.or_else(free).unwrap_or_default()
    }

    fn add(&mut self, id: TakeId, take: Take) -> Result<(), TakeEventError> {
        if self.contains(id) {
            return Err(TakeEventError::Twice(id));
        }
        let parent = take.parent;
        let Some(above) = self.below_mut(parent) else {
            return Err(TakeEventError::NoParent { take: id, parent });
        };
        above.children.push(id);
        let node = Node {
            take,
            growth: Vec::new(),
            below: Branches::default(),
        };
        self.takes.insert(id, node);
        self.enter(id);
        Ok(())
    }

    fn lengthen(
        &mut self,
        id: TakeId,
        step: u32,
        splices: Vec<AnchoredSplice>,
    ) -> Result<(), TakeEventError> {
        if id == TakeId::MAIN {
            return Err(TakeEventError::Recording);
        }
        let node = self.takes.get_mut(&id).ok_or(TakeEventError::NoTake(id))?;
        if !node.below.children.is_empty() {
            return Err(TakeEventError::HasBranches(id));
        }
        if step as usize != node.growth.len() {
            return Err(TakeEventError::NoStep { take: id, step });
        }
        node.growth.push(splices);
        Ok(())
    }

    /// Makes a take the current one, and the way to it the one that redo follows.
    fn enter(&mut self, to: TakeId) {
        let from = std::mem::replace(&mut self.current, to);
        let mut at = to;
        while let Some(parent) = self.parent(at) {
            if let Some(below) = self.below_mut(parent) {
                below.last = Some(at);
            }
            // The way to the take at hand is marked already.
            if parent == from {
                break;
            }
            at = parent;
        }
    }

    fn known(&self, id: TakeId) -> Result<(), TakeEventError> {
        let known = self.contains(id).then_some(());
        known.ok_or(TakeEventError::NoTake(id))
    }

    fn branch_mut(&mut self, id: TakeId) -> Result<&mut Take, TakeEventError> {
        let node = self.takes.get_mut(&id).ok_or(TakeEventError::NoTake(id))?;
        Ok(&mut node.take)
    }

    fn below(&self, id: TakeId) -> Option<&Branches> {
        match id {
            TakeId::MAIN => Some(&self.main),
            id => self.takes.get(&id).map(|node| &node.below),
        }
    }

    fn below_mut(&mut self, id: TakeId) -> Option<&mut Branches> {
        match id {
            TakeId::MAIN => Some(&mut self.main),
            id => self.takes.get_mut(&id).map(|node| &mut node.below),
        }
    }

    /// The tree from the recording down, each take before those that branch off it.
    pub fn branches(&self) -> Vec<TakeLine> {
        self.lines(|_| true)
    }

    /// The same without what was dropped, unless the operator is there.
    pub fn listed(&self) -> Vec<TakeLine> {
        let here = self.line(self.current);
        self.lines(|id| !self.dropped.contains(&id) || here.contains(&id))
    }

    fn lines(&self, is_listed: impl Fn(TakeId) -> bool) -> Vec<TakeLine> {
        let mut branches = Vec::with_capacity(self.count());
        let mut waiting = vec![TakeLine {
            id: TakeId::MAIN,
            depth: 0,
            rails: Vec::new(),
            is_last: true,
        }];
        while let Some(branch) = waiting.pop() {
            let children = self.children(branch.id).iter().copied();
            let children: Vec<TakeId> = children.filter(|id| is_listed(*id)).collect();
            // The history of its parent goes on beside a fork, even the only one.
            let is_fork = |id: &TakeId| {
                let take = self.get(*id);
                take.is_some_and(|take| take.cause.action.is_none() && take.forked_at.is_some())
            };
            let forks = children.len() > 1 || children.iter().any(is_fork);
            for (number, id) in children.iter().enumerate().rev() {
                let is_last = number + 1 == children.len();
                let mut rails = branch.rails.clone();
                rails.extend(forks.then_some(!is_last));
                waiting.push(TakeLine {
                    id: *id,
                    depth: branch.depth + 1,
                    rails,
                    is_last,
                });
            }
            branches.push(branch);
        }
        branches
    }

    /// The shortest story that gives this tree.
    pub fn events(&self) -> Vec<TakeEvent> {
        let mut order = self.branches();
        let mut events = Vec::with_capacity(self.count());
        for branch in &order {
            let Some(take) = self.get(branch.id) else {
                continue;
            };
            let (id, take) = (branch.id, Box::new(take.clone()));
            let title = self.is_renamed(id).then(|| take.title.clone());
            events.push(TakeEvent::Taken { id, take });
            events.extend(title.map(|title| TakeEvent::Titled { take: id, title }));
            // It grew before anything branched off.
            let growth = (0..).zip(self.steps(id).skip(1));
            events.extend(growth.map(|(step, splices)| TakeEvent::Grown {
                take: id,
                step,
                splices: splices.to_vec(),
            }));
        }
        // Going to a take marks the way to it; the forks nearer to the recording are set right
        // after those below them.
        order.sort_by_key(|branch| std::cmp::Reverse(branch.depth));
        let forks = order.iter().filter_map(|branch| self.below(branch.id));
        let forks = forks.filter(|below| below.children.len() > 1);
        let ways = forks.filter_map(|below| below.last).chain([self.current]);
        events.extend(ways.map(|to| TakeEvent::Moved { to }));
        events.extend(
            self.notes
                .iter()
                .map(|((take, item), text)| TakeEvent::Noted {
                    take: *take,
                    item: *item,
                    text: text.clone(),
                }),
        );
        let set = |(take, item): &(TakeId, ItemMark)| TakeEvent::Bookmarked {
            take: *take,
            item: *item,
            set: true,
        };
        events.extend(self.bookmarks.iter().map(set));
        let drop = |take: &TakeId| TakeEvent::Dropped {
            take: *take,
            dropped: true,
        };
        events.extend(self.dropped.iter().map(drop));
        events
    }
}

// The take and the events of the tree of takes: the entries of its journal.

/// A take by its number; 0 is the recording itself.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default, Serialize, Deserialize,
)]
#[serde(transparent)]
pub struct TakeId(pub u32);

impl TakeId {
    pub const MAIN: Self = Self(0);
}

impl fmt::Display for TakeId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::MAIN => f.write_str("the recording"),
            Self(number) => write!(f, "take {number}"),
        }
    }
}

/// A branch of a session: what was done differently, and why.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Take {
    /// The take that it branches off.
    pub parent: TakeId,
    /// Its label in the tree.
    pub title: String,
    /// The session of the file that it is about, from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub session: u32,
    /// The item at which it branches off, as a number in its parent from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub forked_at: Option<u32>,
    /// Which finding it fixes, by which action, and who decided it.
    pub cause: TakeCause,
    /// Name of the wording.
    #[serde(default, skip_serializing_if = "is_default")]
    pub wording: Option<String>,
    /// The words as the model reads them.
    #[serde(default, skip_serializing_if = "is_default")]
    pub words: Option<String>,
    /// The notes that the operator read before accepting.
    #[serde(default, skip_serializing_if = "is_default")]
    pub notes: Vec<String>,
    /// Which sample of its parent's words it holds, from 0, in a journal of the lab.
    #[serde(default, skip_serializing_if = "is_default")]
    pub sample: Option<u32>,
    /// A value that was accepted as fallback and enters no history.
    #[serde(default, skip_serializing_if = "is_default")]
    pub fallback: Option<String>,
    #[serde(default, skip_serializing_if = "is_default")]
    pub outcome: TakeOutcome,
    /// A text of its own in the place of its parent's: the history written as one request.
    #[serde(default, skip_serializing_if = "is_default")]
    pub own: Option<OwnText>,
    /// What changes, in the places of its parent.
    pub splices: Vec<AnchoredSplice>,
}

/// A text that a take replaces its parent's with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct OwnText {
    /// Id of the format that reads it.
    pub format: String,
    #[serde(with = "spelling::bytes")]
    pub text: Vec<u8>,
}

/// Why there is a take.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TakeCause {
    /// Id of the rule whose finding it mends; `None` where the operator acted without one.
    #[serde(default, skip_serializing_if = "is_default")]
    pub rule: Option<String>,
    /// The item that it is about, as a number in the parent from 0.
    #[serde(default, skip_serializing_if = "is_default")]
    pub item: Option<u32>,
    /// Id of the action; `None` for a branch without a change.
    #[serde(default, skip_serializing_if = "is_default")]
    pub action: Option<String>,
    #[serde(default)]
    pub by: Author,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Author {
    /// The operator, on the screen.
    #[default]
    Operator,
    Fix,
    Policy,
}

/// The result of a take.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct TakeOutcome {
    /// The findings of its parent.
    #[serde(default)]
    pub before: FindingCounts,
    #[serde(default)]
    pub after: FindingCounts,
    /// Whether that is known: nothing may have been found on either side.
    #[serde(default, skip_serializing_if = "is_default")]
    pub checked: bool,
    /// Whether it ends where it is the model's turn.
    #[serde(default, skip_serializing_if = "is_default")]
    pub asks_model: bool,
    /// What the model did next, in the words of the live run.
    #[serde(default, skip_serializing_if = "is_default")]
    pub live: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct FindingCounts {
    pub errors: u32,
    pub warnings: u32,
    /// Findings of severity info.
    pub infos: u32,
}

/// An item of a take: where its bytes begin, and what they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub struct ItemMark {
    /// Byte at which the item begins in the take.
    pub at: u64,
    /// Digest of its bytes: the item may have gone from there.
    pub digest: ContentDigest,
    /// Index of its session and its own index there, where they are known.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub place: Option<(u32, u32)>,
}

impl ItemMark {
    /// The mark of an item with these bytes.
    pub fn new(at: u64, bytes: &[u8]) -> Self {
        Self {
            at,
            digest: ContentDigest::of(bytes),
            place: None,
        }
    }

    /// What a note on a take as a whole is written on: no item begins before the first byte with this digest.
    pub fn whole() -> Self {
        Self::new(0, b"")
    }
}

/// One change of the tree.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "kebab-case")]
pub enum TakeEvent {
    /// A new take, which becomes the current one.
    Taken { id: TakeId, take: Box<Take> },
    /// A take grew: something was appended to its text.
    Grown {
        take: TakeId,
        /// Which of its steps this is, from 0: what follows a lost step has no place.
        step: u32,
        /// What changes, in the places of its text so far.
        splices: Vec<AnchoredSplice>,
    },
    /// Another take became the current one.
    Moved { to: TakeId },
    /// A take got another title.
    Titled { take: TakeId, title: String },
    /// A note was written on an item; empty takes it away.
    Noted {
        take: TakeId,
        item: ItemMark,
        text: String,
    },
    /// A bookmark was set on an item, or taken away.
    Bookmarked {
        take: TakeId,
        item: ItemMark,
        /// Whether it is set.
        set: bool,
    },
    /// A take was dropped with all that branches off it, or is listed again.
    Dropped { take: TakeId, dropped: bool },
    /// The result of a take is known.
    Judged { take: TakeId, outcome: TakeOutcome },
}

/// Why an event cannot be applied to the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum TakeEventError {
    /// It is about a take that is not there.
    #[error("{0} does not exist")]
    NoTake(TakeId),
    /// The take that it branches off is not there.
    #[error("{take} branches off {parent}, which does not exist")]
    NoParent {
        take: TakeId,
        /// The one that is missing.
        parent: TakeId,
    },
    /// There is a take of this number already.
    #[error("{0} is there twice")]
    Twice(TakeId),
    /// The recording does not grow by a take's event.
    #[error("nothing can be appended to the recording itself")]
    Recording,
    /// Other takes build on its text.
    #[error("other takes branch off {0}, so nothing can be appended to it")]
    HasBranches(TakeId),
    /// Steps before it are missing, or one of them occurs twice.
    #[error("step {step} of {take} does not follow its previous step")]
    NoStep { take: TakeId, step: u32 },
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}
