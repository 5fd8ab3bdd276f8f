//! What a list of edits asks for as a whole: their order, what leaves, and whether two of them meet.

use super::place::CannotWrite;
use crate::session::{Edit, Kind, Session, Splice};
use std::collections::BTreeSet;

/// The same edits, with the answers among them in the order of their calls.
pub(super) fn in_call_order(edits: &[Edit]) -> Vec<&Edit> {
    let call = |edit: &&Edit| match edit {
        Edit::Answer { call, .. } => Some(*call),
        _ => None,
    };
    let mut answers: Vec<&Edit> = edits.iter().filter(|edit| call(edit).is_some()).collect();
    answers.sort_by_key(call);
    let mut answers = answers.into_iter();
    let next = |edit| match call(&edit) {
        Some(_) => answers.next().unwrap_or(edit),
        None => edit,
    };
    edits.iter().map(next).collect()
}

/// The items that leave their places.
pub(super) fn dropped_by(session: &Session, edits: &[Edit]) -> BTreeSet<u32> {
    let mut dropped = BTreeSet::new();
    for edit in edits {
        match edit {
            Edit::Drop { item } => {
                dropped.insert(*item);
            }
            Edit::Move { output, .. } => {
                dropped.insert(*output);
            }
            Edit::Cut { from } => {
                dropped.extend(*from..crate::session::index_number(session.items.len()))
            }
            Edit::Rewrite { .. }
            | Edit::Answer { .. }
            | Edit::Degrade { .. }
            | Edit::Say { .. }
            | Edit::Relink { .. }
            | Edit::Insert { .. }
            | Edit::Extend { .. } => {}
        }
    }
    dropped
}

/// The last item that is kept of those from a call to the end of its reply and of the outputs right after it, and
/// the item after all of them.
pub(super) fn reply_end(session: &Session, dropped: &BTreeSet<u32>, call: u32) -> (u32, u32) {
    let turn = session.items.get(call as usize).map(|item| item.turn);
    let (mut last, mut end) = (call, call + 1);
    for (index, item) in (call..).zip(&session.items[call as usize..]).skip(1) {
        let belongs = item.kind.is_from_model() || item.kind == Kind::Output;
        if Some(item.turn) != turn || !belongs || item.dialect.is_none() {
            break;
        }
        if !dropped.contains(&index) {
            last = index;
        }
        end = index + 1;
    }
    (last, end)
}

/// The splices in the order of their places; an error where two change the same bytes.
pub(super) fn without_conflict(
    mut splices: Vec<Splice>,
    session: &Session,
) -> Result<Vec<Splice>, CannotWrite> {
    splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
    let mut pairs = splices.windows(2);
    let Some(pair) = pairs.find(|pair| pair[1].at.start < pair[0].at.end) else {
        return Ok(splices);
    };
    let mut items = (0..).zip(&session.items);
    let meets = items.find(|(_, item)| item.span.contains(pair[1].at.start));
    Err(CannotWrite::Conflict(meets.map_or(0, |(index, _)| index)))
}
