//! What comes after a change: the replies that the model gave to the old words leave a run, and what the run
//! does next.

use crate::tui::state::State;
use crate::tui::state::recovery::Attempt;
use retake_core::actions::Plan;
use retake_core::session::{Edit, Kind, Session, Speaker, index_number};
use retake_live::live::{Phase, goes_on};

/// Ends the history of a run before the model's next reply, where the plan changes what that reply was given to.
pub(super) fn end_before_reply(state: &State, attempt: &Attempt, planned: &mut Plan) {
    if state.exchange.is_some() {
        // A client gets what is left of the reply that it waits for.
        planned.asks_model &= attempt.action.id != "drop-pair";
        return;
    }
    if state.live.phase == Phase::Idle {
        return;
    }
    let session = attempt.document.session(attempt.place.session);
    let Some((session, from)) = session.and_then(|session| {
        let read = planned
            .edits
            .iter()
            .filter_map(|edit| read_by_model(session, edit));
        Some((session, next_reply(session, read.min()?)?))
    }) else {
        return;
    };
    let leaves = |edit: &Edit| matches!(edit, Edit::Cut { .. });
    if planned.edits.iter().any(leaves) {
        return;
    }
    let count = session.items.len() - from as usize;
    let items = if count == 1 { "item" } else { "items" };
    planned.notes.push(format!(
        "the model gave its next replies to the old words: {count} {items} after this turn leave this take"
    ));
    planned.edits.push(Edit::Cut { from });
    planned.asks_model = true;
}

/// The item in which an edit gives the model other words to reply to.
fn read_by_model(session: &Session, edit: &Edit) -> Option<u32> {
    match edit {
        Edit::Answer { call, .. } => Some(*call),
        Edit::Rewrite { item, .. } => {
            let kind = session.items.get(*item as usize)?.kind;
            matches!(kind, Kind::Output | Kind::User | Kind::System).then_some(*item)
        }
        _ => None,
    }
}

/// The first item of the reply that the model gave after an item.
fn next_reply(session: &Session, item: u32) -> Option<u32> {
    let mut turns = session.turns.iter();
    let next = turns.find(|turn| turn.speaker == Speaker::Model && turn.first > item)?;
    Some(next.first)
}

/// What follows by itself from what is proposed, or what is waited for.
pub(super) fn what_follows(
    state: &State,
    attempt: &Attempt,
    planned: &Plan,
) -> Option<&'static str> {
    let is_held = state.exchange.as_ref().is_some_and(|open| open.is_seat);
    let is_of_run = is_held || state.live.phase != Phase::Idle;
    let goes_on = is_held || goes_on(&state.live.phase, Some(attempt.action.id));
    match (is_of_run, goes_on, planned.asks_model) {
        (false, _, true) => Some("the take ends at the model's turn: c continues live"),
        (true, true, true) => Some("next: a request to the model"),
        (true, false, true) => Some("the run pauses here: c sends the request"),
        (true, false, false) if planned.result.is_some() => None,
        (true, false, false) if stays_final(attempt, planned) => {
            Some("the items after it stay, up to the final message; D ends the history at an item")
        }
        (true, false, false) => Some("the run pauses here: c continues"),
        (true, true, false) if !is_held && planned.result.is_none() => {
            Some("the run continues from here: open calls run next")
        }
        _ => None,
    }
}

/// Whether the history ends on a final message before and after.
fn stays_final(attempt: &Attempt, planned: &Plan) -> bool {
    let Some(session) = attempt.document.session(attempt.place.session) else {
        return false;
    };
    let last = index_number(session.items.len().saturating_sub(1));
    let is_final = session
        .items
        .last()
        .is_some_and(|item| item.kind == Kind::Assistant);
    let touches = |edit: &Edit| match edit {
        Edit::Drop { item } | Edit::Degrade { item, .. } => *item == last,
        Edit::Cut { .. } | Edit::Extend { .. } => true,
        Edit::Say { after, .. } => *after == last,
        _ => false,
    };
    is_final && !planned.edits.iter().any(touches)
}
