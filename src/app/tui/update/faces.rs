//! Keys and texts for the faces of recoveries, and what each of their answers leads to.

use super::{Effect, TakesCommand, exchange, lab, live, recover};
use crate::tui::keymap::overlays::{Act, act};
use crate::tui::keymap::{Command, Context};
use crate::tui::live::{breakpoints, places, trust};
use crate::tui::recovery::forms::ConfirmationOutcome;
use crate::tui::recovery::forms::ReadingsOutcome;
use crate::tui::recovery::forms::WordsOutcome;
use crate::tui::recovery::saving::SaveOutcome;
use crate::tui::recovery::{comparison, offers, proposal, takes, wording};
use crate::tui::state::{Asked, Overlay, State};
use crossterm::event::{KeyEvent, MouseEvent};

/// Gives a key to the face on top; `None` where none lies there.
pub(super) fn press(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    if let Some(effects) = of_the_run(state, key) {
        return Some(effects);
    }
    let effects = match state.overlays.last_mut()? {
        Overlay::Offers(menu) => {
            let outcome = menu.key(key);
            chosen(state, outcome)
        }
        Overlay::Wording(editor) => {
            let outcome = editor.key(key);
            worded(state, outcome)
        }
        Overlay::Words(form) => {
            let outcome = form.key(key);
            written(state, outcome)
        }
        Overlay::Question(question) => {
            let outcome = question.key(key);
            answered(state, outcome)
        }
        Overlay::Leaving(question, command) => {
            let (outcome, command) = (question.key(key), *command);
            left(state, outcome, command)
        }
        Overlay::Readings(readings) => {
            let outcome = readings.key(key);
            read(state, outcome)
        }
        Overlay::Proposal(shown) => {
            let outcome = shown.0.key(key);
            decided(state, outcome)
        }
        Overlay::Takes(tree) => {
            let outcome = tree.key(key);
            went(state, outcome)
        }
        Overlay::Comparison(comparison) => {
            if comparison.key(key) == comparison::Outcome::Leave {
                state.overlays.pop();
            }
            Vec::new()
        }
        Overlay::Saving(dialog) => {
            let outcome = dialog.key(key);
            saved(state, outcome)
        }
        _ => return None,
    };
    Some(effects)
}

/// Gives a key to a face of the live run on top; `None` where none lies there.
fn of_the_run(state: &mut State, key: KeyEvent) -> Option<Vec<Effect>> {
    let now = state.now;
    let effects = match state.overlays.last_mut()? {
        Overlay::Approval(dialog) => {
            let (call, outcome) = (dialog.call.clone(), dialog.key(key, now));
            live::approved(state, call, outcome)
        }
        Overlay::Trust(dialog) => match dialog.key(key, now) {
            trust::Outcome::Pending => Vec::new(),
            trust::Outcome::Answer(is_trusted) => live::trusted(state, is_trusted),
        },
        Overlay::Answer(form, answering) => {
            let (answering, outcome) = (answering.clone(), form.key(key));
            live::answered(state, answering, outcome)
        }
        Overlay::Sure(question, command) => match question.key(key) {
            ConfirmationOutcome::Pending => Vec::new(),
            ConfirmationOutcome::No => {
                state.overlays.pop();
                Vec::new()
            }
            ConfirmationOutcome::Yes => {
                let command = command.clone();
                state.overlays.pop();
                vec![Effect::Live(command)]
            }
        },
        Overlay::Cutting(question) => {
            let outcome = question.key(key);
            super::exchange::cutting(state, outcome)
        }
        Overlay::Line(_, Asked::Agent) if act(Context::Line, &key) == Some(Act::Complete) => {
            live::complete(state)
        }
        Overlay::Line(prompt, asked) => {
            let (typed, asked) = (prompt.key(key), *asked);
            live::line(state, typed, asked)
        }
        Overlay::Places(menu) => match menu.key(key) {
            places::Outcome::Pending => Vec::new(),
            places::Outcome::Leave => {
                state.overlays.pop();
                Vec::new()
            }
            places::Outcome::Set {
                choice,
                is_one_shot,
            } => live::placed(state, choice, is_one_shot),
        },
        Overlay::Breakpoints(list) => match list.key(key) {
            breakpoints::Outcome::Pending => Vec::new(),
            breakpoints::Outcome::Leave => {
                state.overlays.pop();
                Vec::new()
            }
            breakpoints::Outcome::Changed => {
                let rows = list.rows().to_vec();
                live::breakpoints_changed(state, rows)
            }
            breakpoints::Outcome::Add => live::write_breakpoint(state),
        },
        Overlay::Tools(_) => tools(state, key),
        _ => return None,
    };
    Some(effects)
}

fn tools(state: &mut State, key: KeyEvent) -> Vec<Effect> {
    let count = state.live.tools.len();
    let Some(Overlay::Tools(cursor)) = state.overlays.last_mut() else {
        return Vec::new();
    };
    match act(Context::Tools, &key) {
        Some(Act::Leave) => {
            state.overlays.pop();
        }
        Some(Act::Switched) => {
            let number = cursor.get();
            return live::enable(state, number);
        }
        Some(Act::OfHistory) => {
            state.overlays.pop();
            return super::layers::health(state);
        }
        _ => {
            cursor.key(key, count);
        }
    }
    Vec::new()
}

/// Gives pasted text to the face on top; whether it took it.
pub(super) fn paste(state: &mut State, text: &str) -> bool {
    match state.overlays.last_mut() {
        Some(Overlay::Wording(editor)) => editor.paste(text),
        Some(Overlay::Words(form)) => form.paste(text),
        Some(Overlay::Answer(form, _)) => form.paste(text),
        Some(Overlay::Line(prompt, _)) => {
            // What was pasted is one line: it submits nothing.
            prompt.paste(text);
        }
        Some(Overlay::Takes(tree)) => tree.paste(text),
        Some(Overlay::Saving(dialog)) => dialog.paste(text),
        _ => return false,
    }
    true
}

/// Gives the mouse to the face on top; whether one lies there.
pub(super) fn mouse(state: &mut State, event: MouseEvent) -> bool {
    match state.overlays.last_mut() {
        Some(Overlay::Offers(menu)) => menu.mouse(event),
        Some(Overlay::Wording(editor)) => editor.mouse(event),
        Some(Overlay::Proposal(shown)) => shown.0.mouse(event),
        Some(Overlay::Takes(tree)) => tree.mouse(event),
        Some(Overlay::Comparison(comparison)) => comparison.mouse(event),
        Some(Overlay::Approval(dialog)) => dialog.mouse(event),
        Some(Overlay::Trust(dialog)) => dialog.mouse(event),
        Some(Overlay::Places(menu)) => menu.mouse(event),
        Some(Overlay::Breakpoints(list)) => list.mouse(event),
        Some(Overlay::Tools(cursor)) => {
            cursor.mouse(event, state.live.tools.len());
        }
        Some(
            Overlay::Words(_)
            | Overlay::Answer(..)
            | Overlay::Sure(..)
            | Overlay::Line(..)
            | Overlay::Question(_)
            | Overlay::Leaving(..)
            | Overlay::Readings(_)
            | Overlay::Saving(_),
        ) => {}
        _ => return false,
    }
    true
}

fn chosen(state: &mut State, outcome: offers::Outcome) -> Vec<Effect> {
    match outcome {
        offers::Outcome::Pending => {}
        offers::Outcome::Leave => {
            state.overlays.pop();
        }
        offers::Outcome::Choose { finding, action } => {
            return recover::begin_on(state, finding, action);
        }
        offers::Outcome::Lab(finding) => return lab::begin_on(state, finding),
    }
    Vec::new()
}

fn worded(state: &mut State, outcome: wording::Outcome) -> Vec<Effect> {
    match outcome {
        wording::Outcome::Pending => Vec::new(),
        wording::Outcome::Leave => leave_words(state),
        wording::Outcome::Accept { .. } if exchange::comes_too_late(state) => leave_words(state),
        wording::Outcome::Editor(text) => vec![Effect::EditWords(text)],
        wording::Outcome::Accept {
            template,
            whole_turn,
        } => {
            keep(state, template.clone());
            if let Some(attempt) = &mut state.recovery.attempt {
                attempt.words = Some(template);
                attempt.whole_turn = whole_turn;
            }
            recover::propose(state)
        }
    }
}

fn written(state: &mut State, outcome: WordsOutcome) -> Vec<Effect> {
    match outcome {
        WordsOutcome::Pending => Vec::new(),
        WordsOutcome::Leave => leave_words(state),
        WordsOutcome::Accept { .. } if exchange::comes_too_late(state) => leave_words(state),
        WordsOutcome::Editor(text) => vec![Effect::EditWords(text)],
        WordsOutcome::Accept { text, in_history } => {
            keep(state, text.clone());
            if let Some(attempt) = &mut state.recovery.attempt {
                let is_edit = attempt.action.id == "edit";
                attempt.words = Some(if is_edit {
                    recover::flattened(&text)
                } else {
                    text
                });
                attempt.in_history = in_history;
            }
            recover::propose(state)
        }
    }
}

/// Leaves a text; it stands there again the next time.
fn leave_words(state: &mut State) -> Vec<Effect> {
    let text = match state.overlays.pop() {
        Some(Overlay::Wording(editor)) => editor.text(),
        Some(Overlay::Words(form)) => form.text(),
        _ => return Vec::new(),
    };
    keep(state, text);
    state.recovery.attempt = None;
    Vec::new()
}

fn keep(state: &mut State, text: String) {
    if let Some(subject) = recover::subject(state) {
        state.recovery.drafts.keep(subject, text);
    }
}

/// Takes over what was written in the operator's editor.
pub(super) fn take_over(state: &mut State, text: &str) {
    match state.overlays.last_mut() {
        Some(Overlay::Wording(editor)) => editor.take_over(text),
        Some(Overlay::Words(form)) => form.take_over(text),
        Some(Overlay::Answer(form, _)) => form.take_over(text),
        _ => {}
    }
}

fn answered(state: &mut State, outcome: ConfirmationOutcome) -> Vec<Effect> {
    match outcome {
        ConfirmationOutcome::Pending => Vec::new(),
        ConfirmationOutcome::No => {
            state.overlays.pop();
            Vec::new()
        }
        ConfirmationOutcome::Yes => {
            state.overlays.pop();
            if let Some(attempt) = &mut state.recovery.attempt {
                attempt.confirmed = true;
            }
            recover::propose(state)
        }
    }
}

fn left(state: &mut State, outcome: ConfirmationOutcome, command: Command) -> Vec<Effect> {
    match outcome {
        ConfirmationOutcome::Pending => return Vec::new(),
        ConfirmationOutcome::No => {}
        ConfirmationOutcome::Yes => return live::leave(state, command),
    }
    state.overlays.pop();
    Vec::new()
}

fn read(state: &mut State, outcome: ReadingsOutcome) -> Vec<Effect> {
    match outcome {
        ReadingsOutcome::Pending => {}
        ReadingsOutcome::Leave => {
            state.overlays.pop();
        }
        ReadingsOutcome::Choose(index) => {
            let text = recover::reading(state, index);
            state.overlays.pop();
            if let Some(attempt) = &mut state.recovery.attempt {
                attempt.words = text;
                attempt.confirmed = true;
            }
            return recover::propose(state);
        }
    }
    Vec::new()
}

fn decided(state: &mut State, outcome: proposal::Outcome) -> Vec<Effect> {
    match outcome {
        proposal::Outcome::Pending => {}
        proposal::Outcome::Leave => {
            state.overlays.pop();
            // Below lies the form with its words, or nothing that would need the attempt.
            let is_asking = matches!(
                state.overlays.last(),
                Some(Overlay::Wording(_) | Overlay::Words(_))
            );
            if let (false, true) = (is_asking, state.recovery.attempt.is_some()) {
                state.recovery.attempt = None;
            } else if let Some(attempt) = &mut state.recovery.attempt {
                attempt.confirmed = false;
            }
        }
        proposal::Outcome::Reword => {
            state.overlays.pop();
        }
        proposal::Outcome::Accept if exchange::comes_too_late(state) => {
            recover::abandon(state);
        }
        proposal::Outcome::Accept if !super::takes::may_ask(state) => {}
        proposal::Outcome::Accept => {
            if let Some(Overlay::Proposal(shown)) = state.overlays.pop() {
                return recover::order(state, &shown.1);
            }
        }
    }
    Vec::new()
}

fn went(state: &mut State, outcome: takes::Outcome) -> Vec<Effect> {
    let command = match outcome {
        takes::Outcome::Pending => return Vec::new(),
        takes::Outcome::Leave => {
            state.overlays.pop();
            return Vec::new();
        }
        takes::Outcome::GoTo(id) => {
            state.overlays.pop();
            TakesCommand::GoTo(id)
        }
        takes::Outcome::Compare(left, right) => TakesCommand::Compare(left, right),
        takes::Outcome::Note(id, text) => TakesCommand::NoteTake(id, text),
        takes::Outcome::Rename(id, name) => TakesCommand::Rename(id, name),
    };
    super::takes::ask(state, command)
}

fn saved(state: &mut State, outcome: SaveOutcome) -> Vec<Effect> {
    match outcome {
        SaveOutcome::Pending => Vec::new(),
        SaveOutcome::Leave => {
            state.overlays.pop();
            Vec::new()
        }
        SaveOutcome::Save {
            path,
            format,
            force,
        } => {
            let session = state.session;
            super::takes::ask(
                state,
                TakesCommand::Save {
                    session,
                    path,
                    format,
                    force,
                },
            )
        }
    }
}
