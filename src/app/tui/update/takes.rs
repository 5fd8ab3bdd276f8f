//! Takes on the screen: undo and redo, the tree, notes and marks, saving, and what the loader brings of them.

use crate::tui::effect::{Effect, TakeOrder, TakesCommand};
use crate::tui::keymap::{Command, Context, command, ways};
use crate::tui::recovery::changes::changes_of;
use crate::tui::recovery::forms::Confirmation;
use crate::tui::recovery::proposal::{Proposal, ProposalVerdict, Proposed};
use crate::tui::recovery::takes::TakeTree;
use crate::tui::stack::{Flow, OpeningLayer, Screen as _};
use crate::tui::state::State;
use crate::tui::state::layout::Pane;
use crate::tui::state::takes::TakesView;
use crossterm::event::KeyEvent;
use retake_core::actions::Safety;
use retake_core::session::takes::{Take, TakeCause, TakeOutcome};
use retake_core::session::{Edit, Kind, Session};
use std::sync::Arc;

/// Asks for something to be done to the takes; one thing at a time. To save is not an answer to what is shown: it
/// waits for its turn.
pub(super) fn ask(state: &mut State, command: TakesCommand) {
    let is_formats = matches!(command, TakesCommand::Formats(_));
    let can_wait = is_formats || matches!(command, TakesCommand::Save { .. });
    if is_formats && state.is_whole() {
        state.recovery.typed.get_or_insert_default();
    }
    if can_wait && state.recovery.is_busy && state.is_whole() {
        state.recovery.queued = Some(command);
        return;
    }
    if !may_ask(state) {
        return;
    }
    state.recovery.is_busy = true;
    state.effects.push(Effect::Takes(command))
}

/// Whether requests about the items that are shown are possible; else the operator reads why not.
pub(super) fn may_ask(state: &mut State) -> bool {
    let reason = if state.recovery.is_busy {
        "the last change is still in progress"
    } else if !state.is_whole() {
        "the file is still being read"
    } else {
        return true;
    };
    state.notice = Some(reason.to_owned());
    false
}

/// Keeps a key for the save dialog that was requested and is not there yet; whether it did. Leaving it
/// calls the keys off.
pub(super) fn keep_key(state: &mut State, key: &KeyEvent) -> bool {
    let Some(typed) = &mut state.recovery.typed else {
        return false;
    };
    if command(Context::Saving, key) == Some(Command::Leave) {
        state.recovery.typed = None;
        state.recovery.queued = None;
    } else {
        typed.push(*key);
    }
    true
}

/// The last request is done: what waits is next.
pub(super) fn done(state: &mut State) {
    state.recovery.is_busy = false;
    match state.recovery.queued.take() {
        Some(command) => ask(state, command),
        None => {
            state.recovery.typed = None;
        }
    }
}

/// Forward to the next take; from a recording that was opened with takes to the latest one.
pub(super) fn redo(state: &mut State) {
    let is_recording = state.recovery.takes.current == 0;
    let command = match state.recovery.latest.take().filter(|_| is_recording) {
        Some(latest) => TakesCommand::GoTo(latest),
        None => TakesCommand::Redo,
    };
    ask(state, command);
}

pub(super) fn tree(state: &mut State) {
    let rows = state.recovery.takes.rows.clone();
    if rows.len() < 2 && state.recovery.takes.dropped == 0 {
        state.notice = Some("no takes yet: i, r, a, s, e, o and x create one".to_owned());
        return;
    }
    state.open(TakeTree::new(rows), |state, tree, command| {
        if command == TakesCommand::Restore && state.recovery.takes.dropped == 0 {
            tree.complain("no take was dropped");
            return Flow::Stay;
        }
        if let TakesCommand::Drop(id) = command {
            confirm_drop(state, id);
            return Flow::Stay;
        }
        let goes = matches!(command, TakesCommand::GoTo(_));
        ask(state, command);
        if goes { Flow::Close } else { Flow::Stay }
    });
}

/// Asks whether a take is to be dropped.
fn confirm_drop(state: &mut State, id: u32) {
    let rows = &state.recovery.takes.rows;
    let mut below = vec![id];
    for row in rows {
        if row.parent.is_some_and(|parent| below.contains(&parent)) {
            below.push(row.id);
        }
    }
    let others = match below.len() - 1 {
        0 => String::new(),
        1 => " and the take below it".to_owned(),
        others => format!(" and {others} takes below it"),
    };
    let name = state.recovery.takes.named(id);
    let reason = "It leaves the list; u in the tree restores it. The recording does not change.";
    let question = Confirmation::new("drop", reason, &format!("Drop {name}{others}?"));
    state.open(question, move |state, _, ()| {
        ask(state, TakesCommand::Drop(id))
    });
}

/// Proposes a take that ends after the item with the cursor, or after the turn.
pub(super) fn fork(state: &mut State) {
    let Some(document) = state.document.clone() else {
        return;
    };
    let Some(session) = document.session(state.session) else {
        return;
    };
    let is_on_turn = state.on_turn && state.focus == Pane::Turns;
    let turn = session.turns.get(state.turn()).filter(|_| is_on_turn);
    let item = match turn {
        Some(turn) => turn.items().end.saturating_sub(1),
        None if state.transcript.is_on => with_results(session, state.item),
        None => state.item,
    };
    let title = match turn {
        Some(_) => format!("up to the end of turn {}", state.turn() + 1),
        None if item > state.item => {
            format!("up to item {}, the last result of its calls", item + 1)
        }
        None => format!("up to item {}", item + 1),
    };
    if item + 1 >= session.items.len() {
        state.notice = Some("nothing after this item".to_owned());
        return;
    }
    let (here, next) = (&session.items[item], &session.items[item + 1]);
    // A reply that is complete is no question.
    let is_final = here.kind == Kind::Assistant && next.turn != here.turn;
    let number = u32::try_from(item).unwrap_or(u32::MAX);
    if !may_ask(state) {
        return;
    }
    let edits = vec![Edit::Cut { from: number + 1 }];
    let (changes, more_removed) = changes_of(session, &edits);
    let count = session.items.len() - item - 1;
    let items = if count == 1 { "item" } else { "items" };
    let goes_on = ways(&[(Command::Continue, "continues from the end of the take")]);
    let undo = ways(&[
        (Command::Undo, "undoes it"),
        (Command::Takes, "shows all takes"),
    ]);
    let notes = [
        Some(format!(
            "what comes after leaves the take: {count} {items}; the recording keeps them"
        )),
        Some(goes_on).filter(|ways| !is_final && !ways.is_empty()),
        Some(undo).filter(|ways| !ways.is_empty()),
    ];
    let proposal = Proposal::new(&Proposed {
        title: format!("fork {title}"),
        safety: Safety::Unsafe,
        faults: Vec::new(),
        notes: notes.into_iter().flatten().collect(),
        changes,
        more_removed,
        has_words: false,
    });
    let order = TakeOrder {
        document: document.clone(),
        session: state.session,
        edits,
        about: Take {
            title,
            forked_at: Some(number),
            cause: TakeCause {
                item: Some(number),
                ..TakeCause::default()
            },
            outcome: TakeOutcome {
                asks_model: !is_final,
                ..TakeOutcome::default()
            },
            ..Take::default()
        },
    };
    let accept = move |state: &mut State, _: &mut Proposal, _: ProposalVerdict| {
        if !may_ask(state) {
            return Flow::Stay;
        }
        state.recovery.is_busy = true;
        state.effects.push(Effect::Take(Box::new(order.clone())));
        Flow::Close
    };
    let forked = document.clone();
    let is_shown = move |state: &State| {
        let shown = state.document.as_ref();
        shown.is_some_and(|shown| Arc::ptr_eq(shown, &forked))
    };
    let opening = OpeningLayer::new(proposal, accept);
    opening.as_long_as(is_shown).over(state);
}

/// The last item of a history that ends after an item and leaves no call beside it without the result that it has:
/// in the transcript the two are one.
fn with_results(session: &Session, item: usize) -> usize {
    let is_call = |index: usize| {
        let items = &session.items;
        items
            .get(index)
            .is_some_and(|found| found.kind == Kind::Call)
    };
    let call = session.pairing.partner(item).unwrap_or(item).min(item);
    let first = (0..call).rev().take_while(|index| is_call(*index)).last();
    let calls = (first.unwrap_or(call)..).take_while(|index| is_call(*index));
    let results = calls.filter_map(|call| session.pairing.partner(call));
    results.max().unwrap_or(item).max(item)
}

/// The first byte and the bytes of the item with the cursor.
fn item_here(state: &State) -> Option<(u64, Vec<u8>)> {
    let item = state.item()?;
    Some((item.span.start, state.session()?.bytes(item).ok()?))
}

/// Marks the item with the cursor, or takes its mark away. Nobody waits for a mark.
pub(super) fn mark(state: &mut State) {
    if !may_ask(state) {
        return;
    }
    let Some((at, bytes)) = item_here(state) else {
        return;
    };
    let set = !state.marks.remove(&at);
    if set {
        state.marks.insert(at);
    }
    state
        .effects
        .push(Effect::Takes(TakesCommand::Mark { at, bytes, set }))
}

/// The note on the item with the cursor.
fn note_here(state: &State) -> String {
    let at = state.item().map(|item| item.span.start);
    let note = at.and_then(|at| state.recovery.takes.note(at));
    note.unwrap_or_default().to_owned()
}

/// Asks for a note on the item with the cursor.
pub(super) fn ask_for_note(state: &mut State) {
    if !may_ask(state) {
        return;
    }
    let known = note_here(state);
    let mut prompt = state.note.clone();
    prompt.open(&known);
    state.open(prompt, |state, prompt, text| {
        state.note = prompt.clone();
        note(state, text);
    });
}

/// Writes a note on the item with the cursor.
fn note(state: &mut State, text: String) {
    let Some((at, bytes)) = item_here(state) else {
        return;
    };
    ask(state, TakesCommand::NoteItem { at, bytes, text })
}

pub(super) fn take_view(state: &mut State, view: Arc<TakesView>) {
    match (&state.recovery.takes.banner, &view.banner) {
        (None, Some(trouble)) => {
            let since = trouble.split(": ").next().unwrap_or(trouble);
            state.notice = Some(format!("{since}: L shows why"));
        }
        (Some(_), None) => state.notice = Some("takes can be recorded again".to_owned()),
        _ => {}
    }
    state.marks = view.bookmarks.iter().copied().collect();
    state.recovery.takes = view;
    state.renew();
}
