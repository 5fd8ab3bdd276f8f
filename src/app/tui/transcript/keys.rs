//! What the keys of moving and folding do in the transcript.

use super::Step;
use super::order::Order;
use crate::tui::keymap::Direction;
use crate::tui::state::State;
use crate::tui::state::layout::Pane;

/// Switches between the transcript and the columns.
pub(in crate::tui) fn switch(state: &mut State) {
    state.transcript.is_on = !state.transcript.is_on;
    state.left = Pane::Turns;
    state.focus = Pane::Turns;
    state.on_turn = !state.transcript.is_on && !state.folds.is_unfolded(state.turn());
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

/// Shows the item with the cursor in full, or folds it again.
pub(in crate::tui) fn toggle(state: &mut State) {
    let item = folded_item(state);
    let is_unfolded = state.transcript.unfolded.is_unfolded(item);
    state.transcript.set_unfolded(item, !is_unfolded);
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
