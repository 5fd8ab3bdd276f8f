//! Calls and outputs without findings: while neither they nor their circumstances change, they need no new
//! check.

use super::finding::Finding;
use super::run::{CleanItem, Digest, Run};
use crate::session::{Kind, Session, Span, ToolSet};
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

/// The calls and outputs of a session in which no rule of items found anything.
///
/// Only these are remembered, for the rules about them see little beside the item itself: what is offered
/// to the reply of a call (invalid-arguments), whether it was cut (malformed-arguments, invalid-arguments),
/// and the format (tool-error). That a call is answered changes what is offered about a finding, not
/// whether there is one. leaked-tool-call looks at the calls of the turn and all names of the session, so
/// texts are judged again.
#[derive(Debug, Default)]
pub struct CleanCache {
    tool_sets: Vec<ToolSet>,
    items: HashMap<Span, CacheEntry, FixedState>,
}

#[derive(Debug)]
struct CacheEntry {
    circumstances: u64,
    digest: Option<Digest>,
}

impl CleanCache {
    /// Those of a session that some rules have gone over, with their `findings`. `place` maps a span of its text to
    /// the recording.
    pub fn of(run: &Run<'_>, place: impl Fn(Span) -> Option<Span>, findings: &[Finding]) -> Self {
        let faulty: HashSet<u32> = findings.iter().filter_map(|finding| finding.item).collect();
        let items = judged_in(run.session).filter(|index| !faulty.contains(index));
        let items = items.filter_map(|index| {
            let index = index as usize;
            let place = place(run.session.items[index].span)?;
            let judged = CacheEntry {
                circumstances: circumstances(run, index),
                digest: run.digests.get(index).copied(),
            };
            Some((place, judged))
        });
        Self {
            tool_sets: run.session.contract.tool_sets.clone(),
            items: items.collect(),
        }
    }

    /// The cached items that occur, under the same circumstances, in another text of the same recording.
    pub fn among(&self, run: &Run<'_>, place: impl Fn(Span) -> Option<Span>) -> Vec<CleanItem> {
        let sets = &run.session.contract.tool_sets;
        let is_same = |(one, other): (&ToolSet, &ToolSet)| {
            one.replaces == other.replaces && one.tools == other.tools
        };
        let is_same_contract =
            sets.len() == self.tool_sets.len() && sets.iter().zip(&self.tool_sets).all(is_same);
        if self.items.is_empty() || !is_same_contract {
            return Vec::new();
        }
        let known = judged_in(run.session).filter_map(|item| {
            let place = place(run.session.items[item as usize].span)?;
            let judged = self.items.get(&place)?;
            let digest = judged.digest.map(|digest| Digest { item, ..digest });
            (judged.circumstances == circumstances(run, item as usize))
                .then_some(CleanItem { item, digest })
        });
        known.collect()
    }
}

fn judged_in(session: &Session) -> impl Iterator<Item = u32> {
    let items = (0..).zip(&session.items);
    items
        .filter_map(|(index, item)| matches!(item.kind, Kind::Call | Kind::Output).then_some(index))
}

/// What an item is judged by, beside its bytes and the tools.
fn circumstances(run: &Run<'_>, index: usize) -> u64 {
    let item = &run.session.items[index];
    FixedState::default().hash_one((
        (
            item.kind == Kind::Call,
            item.family,
            item.dialect,
            item.flags,
        ),
        (run.session.name(item), item.call_id.length),
        (run.epoch(index), run.is_cut(index), run.target),
    ))
}
