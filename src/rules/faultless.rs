//! The calls in which no rule found anything: where neither they nor what they are judged by has changed, none will.

use super::{Finding, Run};
use crate::session::{Kind, Rope, Session, Span, ToolSet, recorded};
use foldhash::fast::FixedState;
use std::collections::{HashMap, HashSet};
use std::hash::BuildHasher;

/// The calls of a session in which no rule of items found anything.
///
/// Only calls are remembered, for the rules about them see little beside the call itself: what is offered to its reply
/// (invalid-arguments) and whether the reply was cut (malformed-arguments, invalid-arguments). That a call is answered changes what
/// is offered about a finding, not whether there is one. leaked-tool-call looks at the calls of the turn and all names of the
/// session, so texts are judged again.
#[derive(Debug, Default)]
pub struct Faultless {
    tool_sets: Vec<ToolSet>,
    calls: HashMap<Span, u64, FixedState>,
}

impl Faultless {
    /// The calls of a session with `findings`, all of the same rules; `rope` is its text.
    pub fn of(run: &Run<'_>, rope: &Rope, findings: &[Finding]) -> Self {
        let faulty: HashSet<u32> = findings.iter().filter_map(|finding| finding.item).collect();
        let calls = calls_of(run.session).filter(|index| !faulty.contains(index));
        let calls = calls.filter_map(|index| {
            let place = recorded(rope, run.session.items[index as usize].span)?;
            Some((place, circumstances(run, index as usize)))
        });
        Self {
            tool_sets: run.session.contract.tool_sets.clone(),
            calls: calls.collect(),
        }
    }

    /// Those of the calls that stand in another text of the same recording and are judged by the same there.
    pub fn among(&self, run: &Run<'_>, rope: &Rope) -> Vec<u32> {
        let sets = &run.session.contract.tool_sets;
        let is_same = |(one, other): (&ToolSet, &ToolSet)| {
            one.replaces == other.replaces && one.tools == other.tools
        };
        let is_same_contract =
            sets.len() == self.tool_sets.len() && sets.iter().zip(&self.tool_sets).all(is_same);
        if !is_same_contract {
            return Vec::new();
        }
        let is_known = |index: &u32| {
            let place = recorded(rope, run.session.items[*index as usize].span);
            let known = place.and_then(|place| self.calls.get(&place));
            known.is_some_and(|known| *known == circumstances(run, *index as usize))
        };
        calls_of(run.session).filter(is_known).collect()
    }
}

fn calls_of(session: &Session) -> impl Iterator<Item = u32> {
    let items = (0..).zip(&session.items);
    items.filter_map(|(index, item)| (item.kind == Kind::Call).then_some(index))
}

/// What a call is judged by, beside its bytes and the tools.
fn circumstances(run: &Run<'_>, index: usize) -> u64 {
    let item = &run.session.items[index];
    FixedState::default().hash_one((
        (item.family, item.shape, item.flags),
        run.session.name(item),
        (run.epoch(index), run.is_cut(index), run.target),
    ))
}
