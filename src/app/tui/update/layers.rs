//! What lies over the panes and takes the keys: the prompt, the palette, the menus.

use super::{Counting, Effect, Search, Sifting, motion, obey, overlay};
use crate::tui::copy::{Copied, CopyMenu, Copying};
use crate::tui::filter::{Filter, Filtering};
use crate::tui::keymap::{self, Direction, KEYMAP};
use crate::tui::live::words;
use crate::tui::palette::Choice;
use crate::tui::prompt::Typing;
use crate::tui::state::document::Place;
use crate::tui::state::hits::Hits;
use crate::tui::state::layout::Pane;
use crate::tui::state::tree::Shown;
use crate::tui::state::{Overlay, State};
use crossterm::event::KeyEvent;
use retake_core::dialects::body_of;
use retake_core::rules::Health;
use retake_core::session::{Item, Kind};
use retake_live::search::Needle;
use std::sync::Arc;

/// Rows of the screen that the log leaves free.
const LOG_FRAME: u16 = 4;

/// Gives a key to what lies on top; `None` where that leaves it to the table of keys.
pub(super) fn press(state: &mut State, key: &KeyEvent) -> Option<Vec<Effect>> {
    match state.overlays.last_mut()? {
        Overlay::Find => {
            let typed = state.find.key(*key);
            return Some(typing(state, typed));
        }
        Overlay::Filter => {
            let filtering = state.filter_bar.key(*key);
            return Some(filtering_done(state, filtering));
        }
        Overlay::Help(help) => {
            if help.key(*key) {
                state.overlays.pop();
            }
        }
        Overlay::Palette(palette) => match palette.key(*key) {
            Choice::Pending => {}
            Choice::Left => {
                state.overlays.pop();
            }
            Choice::Chosen(number) => {
                state.overlays.pop();
                let command = KEYMAP.get(number).map(|binding| binding.command);
                return command.map(|command| obey(state, command));
            }
            Choice::Number(number) => {
                state.overlays.pop();
                motion::go_to_turn(state, number);
            }
        },
        Overlay::Copy(menu) => match menu.key(*key) {
            Copying::Pending => {}
            Copying::Left => {
                state.overlays.pop();
            }
            Copying::Copy(what) => {
                state.overlays.pop();
                return Some(copy(state, what));
            }
        },
        Overlay::Note => {
            let typed = state.note.key(*key);
            return Some(noted(state, typed));
        }
        _ => return None,
    }
    Some(Vec::new())
}

/// Shows the keys of what lies on top, where the key asks for that.
pub(super) fn help(state: &mut State, key: &KeyEvent) -> Option<Vec<Effect>> {
    let help = keymap::help_of(state.overlays.last()?.places(), key)?;
    Some(overlay(state, Overlay::Help(Box::new(help))))
}

/// Gives pasted text to what lies on top.
pub(super) fn paste(state: &mut State, text: &str) -> Vec<Effect> {
    match state.overlays.last_mut() {
        Some(Overlay::Find) => {
            let typed = state.find.paste(text);
            return typing(state, typed);
        }
        Some(Overlay::Filter) => {
            let filtering = state.filter_bar.paste(text);
            return filtering_done(state, filtering);
        }
        Some(Overlay::Palette(palette)) => palette.paste(text),
        Some(Overlay::Help(help)) => help.paste(text),
        Some(Overlay::Note) => {
            let typed = state.note.paste(text);
            return noted(state, typed);
        }
        _ => {
            super::faces::paste(state, text);
        }
    }
    Vec::new()
}

fn noted(state: &mut State, typed: Typing) -> Vec<Effect> {
    match typed {
        Typing::Pending | Typing::Changed => Vec::new(),
        Typing::Cancelled => {
            state.overlays.pop();
            Vec::new()
        }
        Typing::Submitted(text) => {
            state.overlays.pop();
            super::takes::note(state, text)
        }
    }
}

fn typing(state: &mut State, typed: Typing) -> Vec<Effect> {
    match typed {
        Typing::Pending | Typing::Changed => Vec::new(),
        Typing::Cancelled => {
            state.overlays.pop();
            Vec::new()
        }
        Typing::Submitted(text) => {
            state.overlays.pop();
            match Needle::new(&text) {
                Ok(needle) => {
                    state.needle = Some(Arc::new(needle));
                    next_hit(state, Direction::Forward)
                }
                Err(error) => {
                    state.notice = Some(error.to_string());
                    Vec::new()
                }
            }
        }
    }
}

fn filtering_done(state: &mut State, filtering: Filtering) -> Vec<Effect> {
    match filtering {
        Filtering::Pending => Vec::new(),
        Filtering::Preview(filter) => sift(state, filter, true).into_iter().collect(),
        Filtering::Apply(filter) => {
            state.overlays.pop();
            state.only_marked = false;
            state.shown = None;
            state.filter = (!matches!(filter, Filter::Everything)).then(|| filter.clone());
            state.has_moved = true;
            sift(state, filter, false).into_iter().collect()
        }
        Filtering::Cancelled => {
            state.overlays.pop();
            state.shown = state.shown_before.take();
            Vec::new()
        }
    }
}

/// Asks which items a filter lets through.
pub(super) fn sift(state: &mut State, filter: Filter, is_preview: bool) -> Option<Effect> {
    if matches!(filter, Filter::Everything) {
        state.shown = None;
        return None;
    }
    Some(Effect::Sift(Sifting {
        document: state.document.clone()?,
        session: state.session,
        checked: state.checked.get(state.session).cloned().flatten(),
        filter,
        is_preview,
    }))
}

/// Shows what a filter lets through.
pub(super) fn sifted(state: &mut State, shown: Arc<Shown>, is_preview: bool) {
    let is_typing = matches!(state.overlays.last(), Some(Overlay::Filter));
    if is_preview != is_typing {
        return;
    }
    if shown.items.is_empty() {
        state.notice = Some("no item matches".to_owned());
        if !is_preview {
            state.show_all();
        }
        return;
    }
    state.shown = Some(shown);
    motion::stay_in_sight(state);
}

/// Asks for the next item that holds the text.
pub(super) fn next_hit(state: &mut State, direction: Direction) -> Vec<Effect> {
    let (Some(needle), Some(document)) = (state.needle.clone(), state.document.clone()) else {
        state.notice = Some("nothing to find yet: / asks for a text".to_owned());
        return Vec::new();
    };
    if !state.is_whole() {
        state.notice = Some("the file is still being read".to_owned());
        return Vec::new();
    }
    state.has_moved = true;
    state.notice = Some("searching".to_owned());
    let counting = Counting {
        document: document.clone(),
        needle: needle.clone(),
        session: state.session,
    };
    let mut effects = vec![Effect::Search(Search {
        document,
        needle,
        from: Place {
            session: state.session,
            item: state.item,
        },
        direction,
    })];
    if !state
        .hits
        .as_ref()
        .is_some_and(|hits| hits.is_of(&counting))
    {
        state.hits = Some(Hits::new(counting.clone()));
        effects.push(Effect::Count(counting));
    }
    effects
}

/// Goes to the item that was found.
pub(super) fn found(state: &mut State, found: Option<(Place, bool)>) -> Vec<Effect> {
    state.notice = match found {
        None => Some("not found".to_owned()),
        Some((_, true)) => Some("search wrapped".to_owned()),
        Some((_, false)) => None,
    };
    if let Some((place, _)) = found {
        motion::open_session(state, place.session);
        motion::reveal(state, place.item);
        state.go_to(place.item);
        state.detail.seeks = true;
    }
    Vec::new()
}

/// Takes more of the items that hold the text.
pub(super) fn counted(
    state: &mut State,
    counting: &Counting,
    places: Vec<Place>,
    is_done: bool,
) -> Vec<Effect> {
    let hits = state.hits.as_mut();
    if let Some(hits) = hits.filter(|hits| hits.is_of(counting)) {
        hits.take(places, is_done);
    }
    Vec::new()
}

/// Opens the log at its end.
pub(super) fn log(state: &mut State) -> Vec<Effect> {
    let effects = overlay(state, Overlay::Log);
    // The newest events are what is looked for.
    state.tops.overlay = log_end(state);
    effects
}

/// The first event of the last page of the log.
pub(super) fn log_end(state: &State) -> usize {
    let rows = usize::from(state.size.1.saturating_sub(LOG_FRAME));
    let width = words::log_width(state.size.0);
    state.live.last_page(width, rows)
}

/// Counts what is checked so far, for the table of tool health.
pub(super) fn health(state: &mut State) -> Vec<Effect> {
    let Some(document) = state.document.clone() else {
        return Vec::new();
    };
    let sessions = &document.recording.sessions;
    let mut health = Health::default();
    for (session, checked) in sessions.iter().zip(&state.checked) {
        if let Some(checked) = checked {
            health.add(session, checked.findings());
        }
    }
    overlay(state, Overlay::Health(Box::new(health), sessions.len()))
}

/// The menu of what can be copied of the item with the cursor.
pub(super) fn copy_menu(state: &State) -> CopyMenu {
    let mut available = vec![Copied::Text, Copied::Path, Copied::Raw];
    let kind = state.item().map(|item| item.kind);
    if matches!(kind, Some(Kind::Call | Kind::HostedCall)) {
        available.push(Copied::Arguments);
    }
    let has_partner = state
        .session()
        .is_some_and(|session| session.pairing.partner(state.item).is_some());
    if kind == Some(Kind::Output) || has_partner {
        available.push(Copied::Output);
    }
    if state.item().is_some_and(|item| !item.call_id.is_none()) {
        available.push(Copied::CallId);
    }
    CopyMenu::new(&available)
}

/// The bytes that are to be copied.
fn copy(state: &mut State, what: Copied) -> Vec<Effect> {
    match copied(state, what) {
        Some(bytes) => vec![Effect::Copy(bytes)],
        None => {
            state.notice = Some("nothing to copy".to_owned());
            Vec::new()
        }
    }
}

fn copied(state: &State, what: Copied) -> Option<Vec<u8>> {
    let session = state.session()?;
    let item = state.item()?;
    let body = |item: &Item| body_of(item, &session.bytes(item).ok()?).ok();
    let bytes = match what {
        Copied::Text => match body(item) {
            Some(body) if body.text.is_empty() => body.arguments.as_written().into(),
            Some(body) => body.text.into_bytes(),
            None => session.bytes(item).ok()?,
        },
        Copied::Arguments => body(item)?.arguments.as_written().into(),
        Copied::Output if item.kind == Kind::Output => body(item)?.text.into_bytes(),
        Copied::Output => {
            let output = session.pairing.partner(state.item)?;
            body(session.items.get(output)?)?.text.into_bytes()
        }
        Copied::CallId => session.call_id(item).ok()?.into_bytes(),
        Copied::Path => state.name.clone().into_bytes(),
        Copied::JqPath => return None,
        Copied::Raw => session.bytes(item).ok()?,
    };
    Some(bytes)
}

/// One step back: what lies over the panes, then a filter, then the pane.
pub(super) fn back(state: &mut State) {
    if state.overlays.pop().is_some() {
    } else if state.shown.is_some() {
        state.show_all();
    } else if state.focus != Pane::Turns {
        motion::focus(state, Pane::Turns);
    }
}

/// Closes what `q` closes before it quits.
pub(super) fn back_from_list(state: &mut State) -> bool {
    let is_list = matches!(state.left, Pane::Findings | Pane::Sessions);
    if state.has_overlay() || is_list {
        back(state);
        return true;
    }
    false
}
