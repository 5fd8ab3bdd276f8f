//! Where a history can be cut so that what belongs together stays together.
//!
//! A boundary is a number of items: those before it leave, those from it on are kept. It is clean when it comes
//! between no two items with a [`Bond`]. Pairs are those of [`super::pairing`]; this file adds what else a
//! provider wants whole. All boundaries of a session are judged in one pass from the end, which carries the
//! earliest item that anything later still needs.

use super::item::{Item, Kind, index_number};
use super::pairing::{PairStatus, Session};

/// Two items of which a cut keeps both or none, or one that has to be kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Bond {
    /// Index of the earlier item.
    pub first: u32,
    /// Index of the later item; `None` for an item that something outside still waits for.
    pub last: Option<u32>,
    /// What holds them together.
    pub kind: BondKind,
}

/// What holds two items together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, strum::IntoStaticStr)]
#[strum(serialize_all = "lowercase")]
pub enum BondKind {
    /// A call and its output, a request for approval and its decision.
    Pair,
    /// Reasoning and what it led to (OpenAI API reference: reasoning items go back with the items that follow
    /// them).
    Reasoning,
    /// Parts of one message: text and calls of a Chat message, blocks of an Anthropic message.
    Message,
    /// A call or an approval that still waits for its answer.
    Waiting,
}

impl BondKind {
    /// Its word in reports.
    pub fn word(self) -> &'static str {
        self.into()
    }
}

impl Bond {
    /// Whether a history in which only these items are kept breaks it.
    pub fn is_broken(&self, is_kept: impl Fn(usize) -> bool) -> bool {
        match self.last {
            Some(last) => is_kept(self.first as usize) != is_kept(last as usize),
            None => !is_kept(self.first as usize),
        }
    }
}

/// The boundary for a wish.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum BoundaryChoice {
    /// As much as is to be kept is all there is.
    Nothing,
    /// The items from this index on are kept.
    Before(usize),
    /// No boundary keeps so much and splits nothing.
    Nowhere,
}

/// The bonds of a session and what they say of each boundary.
#[derive(Debug)]
pub struct Boundaries {
    bonds: Vec<Bond>,
    /// For each boundary the earliest item that something at or after it is bound to.
    needed: Vec<u32>,
    /// How many items of instructions open the history: they stay whatever is cut.
    opening: usize,
}

impl Boundaries {
    /// Judges every boundary of a session whose turns and pairs are known. Linear in the number of items.
    pub fn of(session: &Session) -> Self {
        let count = session.items.len();
        let bonds = bonds(session);
        let mut needed = vec![index_number(count); count + 1];
        for bond in &bonds {
            let place = &mut needed[bond.last.map_or(count, |last| last as usize)];
            *place = bond.first.min(*place);
        }
        for boundary in (0..count).rev() {
            needed[boundary] = needed[boundary].min(needed[boundary + 1]);
        }
        let instructs = |item: &&Item| matches!(item.kind, Kind::System | Kind::ToolDefinitions);
        Self {
            bonds,
            needed,
            opening: session.items.iter().take_while(instructs).count(),
        }
    }

    /// The number of items.
    fn count(&self) -> usize {
        self.needed.len() - 1
    }

    /// Whether a boundary splits nothing. The one after the last item is clean while nothing is pending.
    pub fn is_clean(&self, boundary: usize) -> bool {
        let needed = self.needed.get(boundary);
        needed.is_some_and(|needed| *needed as usize >= boundary)
    }

    /// How many items of instructions open the history; a boundary must come after them to cut anything.
    pub fn opening(&self) -> usize {
        self.opening
    }

    /// The nearest clean boundary that keeps the items from `wished` on.
    pub fn at_or_before(&self, wished: usize) -> BoundaryChoice {
        if wished <= self.opening {
            return BoundaryChoice::Nothing;
        }
        let last = wished.min(self.count());
        let mut candidates = (self.opening + 1..=last).rev();
        let found = candidates.find(|boundary| self.is_clean(*boundary));
        found.map_or(BoundaryChoice::Nowhere, BoundaryChoice::Before)
    }

    /// The nearest clean boundary after `wished` that keeps something.
    pub fn after(&self, wished: usize) -> Option<usize> {
        let from = wished.max(self.opening) + 1;
        (from..self.count()).find(|boundary| self.is_clean(*boundary))
    }

    pub fn split_at(&self, boundary: usize) -> Vec<Bond> {
        self.broken(|index| index >= boundary)
    }

    /// What a history breaks in which only these items are kept.
    pub fn broken(&self, is_kept: impl Fn(usize) -> bool) -> Vec<Bond> {
        let broken = self.bonds.iter().filter(|bond| bond.is_broken(&is_kept));
        broken.copied().collect()
    }
}

/// The calls and outputs that have no other half to be split from: orphans, and halves that
/// a compaction parted already.
pub fn unpaired(session: &Session) -> Vec<usize> {
    let is_unpaired = |index: &usize| {
        matches!(
            session.pairing.standing(*index),
            PairStatus::Orphan | PairStatus::Severed(_)
        )
    };
    (0..session.items.len()).filter(is_unpaired).collect()
}

/// Every bond of a session: at most four for an item.
fn bonds(session: &Session) -> Vec<Bond> {
    let mut bonds = Vec::new();
    let mut reply = Reply::default();
    for (index, item) in session.items.iter().enumerate() {
        let index = index_number(index);
        match session.pairing.standing(index as usize) {
            PairStatus::Paired(partner) if partner < index => {
                bonds.push(Bond::between(partner, index, BondKind::Pair));
            }
            PairStatus::Duplicate(call) => {
                let (first, last) = (call.min(index), call.max(index));
                bonds.push(Bond::between(first, last, BondKind::Pair));
            }
            PairStatus::Pending => bonds.push(Bond {
                first: index,
                last: None,
                kind: BondKind::Waiting,
            }),
            _ => {}
        }
        bonds.extend(reply.bonds(index, item).into_iter().flatten());
        bonds.extend(answer(session, index));
    }
    bonds
}

impl Bond {
    fn between(first: u32, last: u32, kind: BondKind) -> Self {
        Self {
            first,
            last: Some(last),
            kind,
        }
    }
}

/// The reply of the model that is being walked through.
#[derive(Default)]
struct Reply {
    turn: Option<u32>,
    first: u32,
    /// The first of the reasoning items that what comes next goes back to.
    reasoning: Option<u32>,
    /// Whether reasoning may still go on.
    reasons: bool,
}

impl Reply {
    /// What holds an item of the model to its reply: that they are one message, and the reasoning before it.
    fn bonds(&mut self, index: u32, item: &Item) -> [Option<Bond>; 2] {
        if !item.kind.is_from_model() {
            return [None; 2];
        }
        if self.turn != Some(item.turn) {
            *self = Self {
                turn: Some(item.turn),
                first: index,
                ..Self::default()
            };
        }
        // A turn is one message where a dialect has messages that hold calls.
        let is_message = item.facts().is_some_and(|facts| facts.calls_key.is_some());
        let message = (is_message && self.first < index)
            .then(|| Bond::between(self.first, index, BondKind::Message));
        if item.kind == Kind::Reasoning {
            if !self.reasons {
                self.reasoning = Some(index);
            }
            self.reasons = true;
            return [message, None];
        }
        self.reasons = false;
        let reasoning = self
            .reasoning
            .map(|reasoning| Bond::between(reasoning, index, BondKind::Reasoning));
        // Reasoning that opens the message says the same, and more.
        let says_less = self.reasoning == Some(self.first);
        [message.filter(|_| !says_less), reasoning]
    }
}

/// What holds a block of a message of the user to the block before it. Where one record holds a
/// whole request, messages of the user in a row count as one, as the API merges them.
fn answer(session: &Session, index: u32) -> Option<Bond> {
    let before = index.checked_sub(1)?;
    let is_block = |item: &Item| item.is_block() && matches!(item.kind, Kind::User | Kind::Output);
    let (first, last) = (
        &session.items[before as usize],
        &session.items[index as usize],
    );
    let is_one = is_block(first) && is_block(last) && first.record == last.record;
    is_one.then(|| Bond::between(before, index, BondKind::Message))
}
