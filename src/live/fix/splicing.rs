//! From plans to splices: which items a plan changes, and which plans go together.

use super::{Plan, Round};
use retake_core::formats::lower;
use retake_core::session::{Edit, PairStatus, Session, Splice, index_number};
use std::collections::HashSet;

/// The items that a plan for `item` changes, with their partners.
pub(super) fn touched_by(session: &Session, item: u32, edits: &[Edit]) -> Vec<u32> {
    let mut items = vec![item];
    items.extend(edits.iter().flat_map(items_of));
    let drops = edits.iter().filter_map(|edit| match edit {
        Edit::Drop { item } => Some(*item),
        _ => None,
    });
    let dropped = drops.collect::<HashSet<_>>();
    // Where a further output goes, its call and the first one stay as they are.
    let stays = |item: &u32| {
        let standing = session.pairing.standing(*item as usize);
        dropped.contains(item) && matches!(standing, PairStatus::Duplicate(_))
    };
    let paired = items.iter().filter(|item| !stays(item));
    let partners = paired.map(|item| session.pairing.partner(*item as usize));
    let partners = partners.flatten().map(index_number).collect::<Vec<_>>();
    items.extend(partners);
    items
}

/// The items that an edit changes.
fn items_of(edit: &Edit) -> Vec<u32> {
    match edit {
        Edit::Rewrite { item, .. } | Edit::Drop { item } | Edit::Degrade { item, .. } => {
            vec![*item]
        }
        Edit::Answer { call, .. } => vec![*call],
        Edit::Move { output, call } => vec![*output, *call],
        Edit::Say { after, .. } | Edit::Insert { after, .. } => vec![*after],
        Edit::Cut { from: item } | Edit::Relink { item } => vec![*item],
        Edit::Extend { .. } => Vec::new(),
    }
}

/// Turns plans into splices. Where they meet in one place, some wait for the next round.
pub(super) fn carry_out(session: &Session, plans: Vec<Plan>, round: &mut Round) {
    if plans.is_empty() {
        return;
    }
    let edits = plans.iter().flat_map(|plan| plan.edits.iter().cloned());
    let edits = edits.collect::<Vec<_>>();
    match lower(session, &edits) {
        Ok(found) if !meets(&round.splices, &found) => {
            round.splices.extend(found);
            round
                .splices
                .sort_by_key(|splice| (splice.at.start, splice.at.end));
            round.done.extend(plans);
        }
        Ok(_) if plans.len() == 1 => {}
        Err(error) if plans.len() == 1 => {
            let plan = plans.into_iter().next();
            round.unwritten.extend(plan.map(|plan| (plan, error)));
        }
        Ok(_) | Err(_) => {
            let mut plans = plans;
            let rest = plans.split_off(plans.len() / 2);
            carry_out(session, plans, round);
            carry_out(session, rest, round);
        }
    }
}

/// Whether splices touch each other; both lists are in order.
fn meets(known: &[Splice], new: &[Splice]) -> bool {
    new.iter().any(|splice| {
        let after = known.partition_point(|other| other.at.end < splice.at.start);
        known[after..]
            .iter()
            .take_while(|other| other.at.start <= splice.at.end)
            .next()
            .is_some()
    })
}
