//! The only definition of a pair and of an orphan.
//!
//! An output answers a call of its own [`Family`] with the same id. Ids come back in real recordings, so an
//! output takes the nearest call before it that is still open; what is left over is matched with calls that
//! come later (a result written before its call), and only what is then left alone is an orphan. Nothing pairs
//! across a compaction: the provider sees one side only.
//!
//! Where ids are missing (legacy `function_call`, Gemini-style replies) calls and outputs pair by name and
//! order. Which places a provider accepts for a pair is not decided here but in [`crate::dialects`].

use super::contract::Keyed;
use super::item::index_number;
use super::{CallId, Family, Flags, Item, Kind, NameId, Session, Shape};
use std::collections::hash_map::Entry;
use std::collections::{HashMap, VecDeque};

/// Which output answers which call, by item index.
#[derive(Debug, Clone, Default)]
pub struct Pairing {
    standings: Vec<PairStatus>,
}

/// Whether an item has a partner.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum PairStatus {
    /// It is no part of a pair.
    Alone,
    /// It has its partner.
    Paired(u32),
    /// A call whose session ends before its output, or that awaits a decision.
    Pending,
    /// A call without output, or an output without call, inside the history.
    Orphan,
    /// A further output for a call that was answered already; the number is the call.
    Duplicate(u32),
    /// The partner is on the other side of a compaction.
    Severed(u32),
}

impl Pairing {
    pub fn standing(&self, index: usize) -> PairStatus {
        self.standings
            .get(index)
            .copied()
            .unwrap_or(PairStatus::Alone)
    }

    /// The other half of the pair, of whatever kind.
    pub fn partner(&self, index: usize) -> Option<usize> {
        match self.standing(index) {
            PairStatus::Paired(partner)
            | PairStatus::Duplicate(partner)
            | PairStatus::Severed(partner) => Some(partner as usize),
            PairStatus::Alone | PairStatus::Pending | PairStatus::Orphan => None,
        }
    }
}

/// Pairs the items of a session whose turns are numbered.
pub fn pair(session: &Session) -> Pairing {
    let mut matcher = Matcher::new(&session.items);
    for (index, item) in session.items.iter().enumerate() {
        match role_of(item.kind) {
            Role::Asks => matcher.ask(index, item),
            Role::Answers => matcher.answer(index, item),
            Role::Neither if item.kind == Kind::Compaction => matcher.cut(),
            Role::Neither => {}
        }
    }
    matcher.match_late_calls();
    Pairing {
        standings: matcher.finish(session),
    }
}

enum Role {
    Asks,
    Answers,
    Neither,
}

fn role_of(kind: Kind) -> Role {
    match kind {
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest => Role::Asks,
        Kind::Output | Kind::HostedOutput | Kind::ApprovalResponse => Role::Answers,
        Kind::System
        | Kind::User
        | Kind::Assistant
        | Kind::Reasoning
        | Kind::Compaction
        | Kind::ToolDefinitions
        | Kind::Notice
        | Kind::Other
        | Kind::Unreadable => Role::Neither,
    }
}

/// What a call and its output have in common.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Key {
    Id(Family, u64),
    Name(Family, NameId),
    Order(Family),
}

/// The key by which an item finds its partner. Hosted calls of all kinds share one family, as their results do;
/// in Chat a `tool` message answers custom calls and function calls alike.
fn key_of(item: &Item) -> Key {
    let family = match (item.family, item.shape) {
        (Family::Custom, Shape::Chat) => Family::Function,
        (family, _) => family,
    };
    match (family, item.call_id) {
        (Family::Legacy, _) => Key::Name(Family::Legacy, item.name),
        (family, CallId { hash: 0, .. }) => Key::Order(family),
        (family, id) => Key::Id(family, id.hash),
    }
}

struct Matcher<'a> {
    items: &'a [Item],
    standings: Vec<PairStatus>,
    /// Calls without output so far.
    open: HashMap<Key, Waiting, Keyed>,
    /// The last call with this key that has its output.
    answered: HashMap<Key, u32, Keyed>,
    /// Calls that stand before the last compaction.
    severed: HashMap<Key, u32, Keyed>,
    /// Outputs that found no call before them.
    early: Vec<u32>,
}

impl<'a> Matcher<'a> {
    fn new(items: &'a [Item]) -> Self {
        Self {
            items,
            standings: vec![PairStatus::Alone; items.len()],
            open: HashMap::default(),
            answered: HashMap::default(),
            severed: HashMap::default(),
            early: Vec::new(),
        }
    }

    fn ask(&mut self, index: usize, item: &Item) {
        self.standings[index] = PairStatus::Orphan;
        self.open
            .entry(key_of(item))
            .or_default()
            .push(index_number(index), item.turn);
    }

    fn answer(&mut self, index: usize, item: &Item) {
        let key = key_of(item);
        if let Some(call) = self.take(key) {
            self.join(call, index_number(index));
            self.answered.insert(key, call);
        } else if let (Key::Id(..), Some(call)) = (key, self.answered.get(&key)) {
            self.standings[index] = PairStatus::Duplicate(*call);
        } else {
            self.early.push(index_number(index));
            self.standings[index] = PairStatus::Orphan;
        }
    }

    /// The call that an answer with this key belongs to. Keys without calls leave the table, which stays as
    /// small as what is open.
    fn take(&mut self, key: Key) -> Option<u32> {
        let Entry::Occupied(mut entry) = self.open.entry(key) else {
            return None;
        };
        let call = entry.get_mut().take();
        if entry.get().last().is_none() {
            entry.remove();
        }
        call
    }

    fn join(&mut self, call: u32, output: u32) {
        self.standings[call as usize] = PairStatus::Paired(output);
        self.standings[output as usize] = PairStatus::Paired(call);
    }

    /// A compaction: what is open stays open on the other side, and ids start anew.
    fn cut(&mut self) {
        self.match_late_calls();
        // Taken and not drained: to drain an empty table that was large costs as much as it was large, at
        // each of many marks.
        for (key, calls) in std::mem::take(&mut self.open) {
            if let Some(call) = calls.last() {
                self.severed.insert(key, call);
            }
        }
        self.severed.extend(std::mem::take(&mut self.answered));
    }

    /// Gives outputs that stood before their call to the calls that are still open.
    fn match_late_calls(&mut self) {
        for output in std::mem::take(&mut self.early) {
            let key = key_of(&self.items[output as usize]);
            // A call before the output would have taken it at once, so whatever is open now comes later.
            let late = self.take(key);
            if let (Some(call), Key::Id(..)) = (late, key) {
                self.join(call, output);
                self.answered.insert(key, call);
            } else if let Some(call) = self.severed.get(&key) {
                self.standings[output as usize] = PairStatus::Severed(*call);
                if self.standings[*call as usize] == PairStatus::Orphan {
                    self.standings[*call as usize] = PairStatus::Severed(output);
                }
            }
        }
    }

    /// Tells what waits from what is lost, and lets hosted calls and decisions stand alone.
    fn finish(mut self, session: &Session) -> Vec<PairStatus> {
        let last_spoken = session.last_spoken_turn();
        for (standing, item) in self.standings.iter_mut().zip(self.items) {
            if *standing != PairStatus::Orphan {
                continue;
            }
            let at_end = last_spoken == Some(item.turn as usize) && session.contract.may_go_on();
            *standing = match item.kind {
                Kind::Call if item.flags.has(Flags::AWAITS_APPROVAL) || at_end => {
                    PairStatus::Pending
                }
                Kind::ApprovalRequest => PairStatus::Pending,
                Kind::Call | Kind::Output => PairStatus::Orphan,
                _ => PairStatus::Alone,
            };
        }
        self.standings
    }
}

/// The calls of one key that wait, by turn. Nearly always there is one, which needs no list.
#[derive(Default)]
struct Waiting {
    only: Option<(u32, u32)>,
    by_turn: Vec<(u32, VecDeque<u32>)>,
}

impl Waiting {
    fn push(&mut self, call: u32, turn: u32) {
        if self.only.is_none() && self.by_turn.is_empty() {
            self.only = Some((call, turn));
            return;
        }
        if let Some((first, its_turn)) = self.only.take() {
            self.by_turn.push((its_turn, VecDeque::from([first])));
        }
        match self.by_turn.last_mut() {
            Some((last, calls)) if *last == turn => calls.push_back(call),
            _ => self.by_turn.push((turn, VecDeque::from([call]))),
        }
    }

    /// The first call of the newest turn.
    fn take(&mut self) -> Option<u32> {
        if let Some((call, _)) = self.only.take() {
            return Some(call);
        }
        let (_, calls) = self.by_turn.last_mut()?;
        let call = calls.pop_front();
        if calls.is_empty() {
            self.by_turn.pop();
        }
        call
    }

    fn last(&self) -> Option<u32> {
        let listed = || {
            self.by_turn
                .last()
                .and_then(|(_, calls)| calls.back().copied())
        };
        self.only.map(|(call, _)| call).or_else(listed)
    }
}

#[cfg(test)]
mod tests;
