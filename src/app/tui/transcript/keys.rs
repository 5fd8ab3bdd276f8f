//! What the keys of moving and folding do in the transcript.

use super::nested::{Nested, nested_of};
use super::order::Order;
use super::{Parent, Step, Transcript, block};
use crate::tui::effect::Effect;
use crate::tui::keymap::Direction;
use crate::tui::state::State;
use crate::tui::state::tree::{Folds, Shown};
use std::sync::Arc;

/// Switches between the transcript and the columns; the cursor stays on its item.
pub(in crate::tui) fn switch(state: &mut State) {
    state.set_flowing(!state.transcript.is_on);
    if state.transcript.is_on {
        return state.count_totals();
    }
    let turn = state.turn();
    let first = state.session().and_then(|session| session.turns.get(turn));
    if first.is_some_and(|turn| turn.items().start != state.item) {
        state.folds.set(turn, true);
        state.on_turn = false;
    }
}

/// Moves by items, or by rows where it is more than one.
pub(in crate::tui) fn steps(state: &mut State, count: usize, direction: Direction) {
    state.on_turn = false;
    let is_forward = direction.is_forward();
    let cursor = state.with_transcript(|transcript, subject| {
        if count > 1 {
            return Some(transcript.scroll(subject, count, is_forward));
        }
        match transcript.step(subject, is_forward) {
            Step::To(item) => Some(item),
            Step::Scrolled => None,
            Step::Nowhere => {
                transcript.scroll(subject, 1, is_forward);
                None
            }
        }
    });
    if let Some(cursor) = cursor.flatten() {
        state.item = cursor;
    }
}

/// Moves by so many rows; where the history ends before them, the cursor goes to its last item or its first one.
pub(in crate::tui) fn page(state: &mut State, count: usize, direction: Direction) {
    state.on_turn = false;
    let is_forward = direction.is_forward();
    let scrolled = state.with_transcript(|transcript, subject| {
        transcript.scroll_to_edge(subject, count, is_forward)
    });
    let Some((cursor, is_at_edge)) = scrolled else {
        return;
    };
    let edge = state.tree().and_then(|tree| {
        let last = tree.items().checked_sub(1)?;
        Some(tree.item(if is_forward { last } else { 0 }))
    });
    state.item = edge.filter(|_| is_at_edge).unwrap_or(cursor);
}

/// Puts the cursor on the last item and shows the end of it.
pub(in crate::tui) fn to_end(state: &mut State) {
    let last = state.session().and_then(|session| {
        let order = Order {
            session,
            shown: state.shown.as_deref(),
        };
        order.last()
    });
    if let Some(item) = last {
        state.go_to(item);
        state.transcript.end_of = Some(item);
    }
}

/// Shows what a cell of the scrollbar stands for, with the cursor there.
pub(in crate::tui) fn scroll_to(state: &mut State, cell: usize, cells: usize) {
    let cursor =
        state.with_transcript(|transcript, subject| transcript.scroll_to(subject, cell, cells));
    if let Some(item) = cursor {
        state.go_to(item);
    }
}

/// Shows the item with the cursor in full, or folds it again.
pub(in crate::tui) fn toggle(state: &mut State) {
    if !can_fold(state) {
        return state.say("nothing here is folded");
    }
    let item = folded_item(state);
    let is_unfolded = state.transcript.unfolded.is_unfolded(item);
    state.transcript.set_unfolded(item, !is_unfolded);
}

/// Whether folding or unfolding the item with the cursor changes what is seen.
pub(in crate::tui) fn can_fold(state: &mut State) -> bool {
    let can = state.with_transcript(Transcript::is_foldable);
    can.unwrap_or_default()
}

/// Whether the item with the cursor is shown in full.
pub(in crate::tui) fn is_unfolded(state: &State) -> bool {
    state.transcript.unfolded.is_unfolded(folded_item(state))
}

/// A result folds with its call.
fn folded_item(state: &State) -> usize {
    let call = state.session().and_then(|session| {
        let order = Order {
            session,
            shown: state.shown.as_deref(),
        };
        order.call_of(state.item)
    });
    call.unwrap_or(state.item)
}

/// Moves the cursor from a call to the result below it, unless the call shows more: what it writes to files.
pub(in crate::tui) fn go_to_result(state: &mut State) {
    let result = state.session().and_then(|session| {
        let order = Order {
            session,
            shown: state.shown.as_deref(),
        };
        let result = order.output_of(state.item)?;
        (!block::writes_files(session, state.item)).then_some(result)
    });
    state.item = result.unwrap_or(state.item);
}

/// Goes into the session of the sub-agent that the call with the cursor, or that of the result, began; false where there is none.
pub(in crate::tui) fn enter(state: &mut State, open: impl Fn(&mut State, usize)) -> bool {
    let call = folded_item(state);
    let nested = state.document.as_ref().and_then(|document| {
        let sessions = &document.recording.sessions;
        nested_of(sessions, &state.sub_agents, state.session, call)
    });
    let nested = match nested.filter(|_| state.transcript.is_on) {
        Some(Nested::Session(nested)) => nested,
        Some(Nested::File(file)) => {
            let path = file.path.clone();
            state.effects.push(Effect::OpenAtStart(path));
            return true;
        }
        None => return false,
    };
    push_parent(state, nested);
    open(state, nested);
    true
}

fn push_parent(state: &mut State, nested: usize) {
    let parent = parent(state, nested);
    state.transcript.parents.push(parent);
}

fn parent(state: &State, nested: usize) -> Parent {
    Parent {
        session: state.session,
        item: state.item,
        top: state.transcript.top,
        unfolded: state.transcript.unfolded.clone(),
        filter_bar: state.filter_bar.clone(),
        filter: state.filter.clone(),
        only_marked: state.only_marked,
        nested,
    }
}

/// Where the operator reads.
#[derive(Debug)]
pub struct ReadingPlace {
    here: Parent,
    on_turn: bool,
    folds: Folds,
    shown: Option<Arc<Shown>>,
    shown_elsewhere: Vec<(usize, usize)>,
    parents: Vec<Parent>,
}

/// Notes where the operator reads, for [`return_to_place`].
pub(in crate::tui) fn note_place(state: &mut State) {
    state.transcript.read_at = Some(Box::new(ReadingPlace {
        here: parent(state, state.session),
        on_turn: state.on_turn,
        folds: state.folds.clone(),
        shown: state.shown.clone(),
        shown_elsewhere: state.shown_elsewhere.clone(),
        parents: state.transcript.parents.clone(),
    }));
}

/// Goes back to where the operator read, unless something else was opened meanwhile.
pub(in crate::tui) fn return_to_place(state: &mut State, open: impl Fn(&mut State, usize)) {
    let Some(place) = state.transcript.read_at.take() else {
        return;
    };
    restore(state, &place.here, open);
    (state.on_turn, state.folds) = (place.on_turn, place.folds);
    (state.shown, state.shown_elsewhere) = (place.shown, place.shown_elsewhere);
    state.transcript.parents = place.parents;
}

/// Has [`leave`] lead back from another session to this one, or to where this one was reached from.
pub(in crate::tui) fn note_way(state: &mut State, other: usize) {
    let here = state.session;
    let parents = &mut state.transcript.parents;
    if let Some(depth) = parents.iter().position(|parent| parent.session == other) {
        return parents.truncate(depth);
    }
    match parents.last_mut() {
        _ if here == other => {}
        Some(parent) if parent.nested == here => parent.nested = other,
        Some(_) | None => push_parent(state, other),
    }
}

/// Whether [`leave`] leads back to another session.
pub(in crate::tui) fn has_parent(state: &State) -> bool {
    let mut parents = state.transcript.parents.iter();
    parents.any(|parent| parent.nested == state.session)
}

/// Goes back to the session from which this one was reached; false where there was none.
pub(in crate::tui) fn leave(state: &mut State, open: impl Fn(&mut State, usize)) -> bool {
    let parents = &mut state.transcript.parents;
    // The operator may have opened another session meanwhile.
    let depth = parents
        .iter()
        .rposition(|parent| parent.nested == state.session);
    let Some(parent) = depth.map(|depth| parents[depth].clone()) else {
        parents.clear();
        return false;
    };
    parents.truncate(depth.unwrap_or_default());
    restore(state, &parent, open);
    true
}

fn restore(state: &mut State, place: &Parent, open: impl Fn(&mut State, usize)) {
    open(state, place.session);
    state.item = place.item;
    state.transcript.top = place.top;
    state.transcript.unfolded = place.unfolded.clone();
    state.transcript.shown_for = Some(state.item);
    // The window is not that of the other session.
    state.transcript.made_for = None;
    state.filter_bar = place.filter_bar.clone();
    state.filter = place.filter.clone();
    state.only_marked = place.only_marked;
}
