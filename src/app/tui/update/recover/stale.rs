//! What is being decided when another document comes to be shown: it was planned for items that are no longer
//! those of these numbers.

use super::subject;
use crate::tui::state::recovery::Attempt;
use crate::tui::state::{Overlay, State};
use std::sync::Arc;

/// What the operator reads when a plan is given up.
const GIVEN_UP: &str = "the history has changed: what was begun is closed";

/// Gives up what is being decided, because another document comes to be shown; words stand there again the next
/// time. Whether anything was open.
pub(in crate::tui::update) fn abandon(state: &mut State) -> bool {
    let mut words = None;
    let open = state.overlays.len();
    state.overlays.retain(|overlay| {
        match overlay {
            Overlay::Wording(editor) => words = Some(editor.text()),
            Overlay::Words(form) => words = Some(form.text()),
            _ => {}
        }
        !is_planned(overlay)
    });
    if let (Some(text), Some(subject)) = (words, subject(state)) {
        state.recovery.drafts.keep(subject, text);
    }
    state.recovery.attempt = None;
    let was_open = state.overlays.len() < open;
    if was_open {
        state.notice = Some(GIVEN_UP.to_owned());
    }
    was_open
}

/// Whether what lies over the panes speaks of items of the document below it.
fn is_planned(overlay: &Overlay) -> bool {
    matches!(
        overlay,
        Overlay::Offers(_)
            | Overlay::Wording(_)
            | Overlay::Words(_)
            | Overlay::Question(_)
            | Overlay::Readings(_)
            | Overlay::Proposal(_)
    )
}

/// Whether an attempt was planned for another document than the one that is shown; it is given up then.
pub(super) fn is_of_another_document(state: &mut State, attempt: &Attempt) -> bool {
    let shown = state.document.as_ref();
    let is_shown = shown.is_some_and(|shown| Arc::ptr_eq(shown, &attempt.document));
    if !is_shown {
        abandon(state);
        state.notice = Some(GIVEN_UP.to_owned());
    }
    !is_shown
}
