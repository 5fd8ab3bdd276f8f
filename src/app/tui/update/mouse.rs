//! The mouse: a click puts the cursor on a row, the wheel moves the pane below it; the scrollbar and the border of
//! the detail can be dragged.

use super::motion;
use crate::tui::keymap::Direction;
use crate::tui::layer::Input;
use crate::tui::stack::Screen as _;
use crate::tui::state::document::list_findings;
use crate::tui::state::layout::{self, Area, Pane};
use crate::tui::state::{Grip, State};
use crate::tui::transcript::keys;
use crossterm::event::{MouseButton, MouseEvent, MouseEventKind};

/// How many rows a notch of the wheel moves.
const NOTCH: usize = 3;

pub(super) fn mouse(state: &mut State, event: MouseEvent) {
    state.recovery.awaited = None;
    if state.give_to_layers(Input::Mouse(event)) {
        return;
    }
    let direction = match event.kind {
        MouseEventKind::ScrollDown => Direction::Forward,
        MouseEventKind::ScrollUp => Direction::Backward,
        MouseEventKind::Down(MouseButton::Left) => {
            state.drag = grip_at(state, event.column, event.row);
            click(state, event.column, event.row);
            return;
        }
        MouseEventKind::Drag(MouseButton::Left) => {
            drag(state, event.column, event.row);
            return;
        }
        MouseEventKind::Up(MouseButton::Left) => {
            state.drag = None;
            return;
        }
        _ => return,
    };
    if state.has_overlay() {
        return;
    }
    state.has_moved = true;
    let before = state.focus;
    if let Some((pane, _)) = pane_at(state, event.column, event.row) {
        state.focus = pane;
        motion::steps(state, NOTCH, direction);
        state.focus = before;
    }
}

/// What can be dragged at a cell.
fn grip_at(state: &State, column: u16, row: u16) -> Option<Grip> {
    if state.has_overlay() {
        return None;
    }
    if is_on_scrollbar(state, column, row) {
        return Some(Grip::Scrollbar);
    }
    let [.., (_, before), (Pane::Detail, detail)] = &state.layout.panes[..] else {
        return None;
    };
    let is_between = match is_below(before, detail) {
        true => row == detail.y || row + 1 == detail.y,
        // The transcript has its scrollbar there.
        false => column == detail.x || column + 1 == detail.x,
    };
    is_between.then_some(Grip::Border)
}

fn is_below(before: &Area, detail: &Area) -> bool {
    detail.y > before.y
}

fn is_on_scrollbar(state: &State, column: u16, row: u16) -> bool {
    let area = state.layout.area(Pane::Turns);
    let area = area.filter(|_| state.transcript.is_on && state.transcript.has_scrollbar());
    area.is_some_and(|area| column + 1 == area.x + area.width && area.contains(column, row))
}

/// Moves what was gripped to a cell.
fn drag(state: &mut State, column: u16, row: u16) {
    match state.drag {
        None => {}
        Some(Grip::Scrollbar) => {
            if let Some(area) = state.layout.area(Pane::Turns) {
                scroll_to(state, usize::from(row.saturating_sub(area.y)));
            }
        }
        Some(Grip::Border) => {
            let [.., (_, before), (Pane::Detail, detail)] = state.layout.panes[..] else {
                return;
            };
            let (whole, from) = match is_below(&before, &detail) {
                true => (before.height + detail.height, row.saturating_sub(before.y)),
                false => (state.size.0, column),
            };
            let rest = u32::from(whole.saturating_sub(from));
            // As many cells as were dragged: a share is rounded down.
            let percent = (rest * 100).div_ceil(u32::from(whole.max(1)));
            state.set_detail_share(u16::try_from(percent).unwrap_or(layout::DETAIL.1));
        }
    }
}

/// Scrolls the transcript to a row of its scrollbar.
fn scroll_to(state: &mut State, row: usize) {
    let rows = state.layout.height(Pane::Turns);
    match row + 1 < rows {
        true => keys::scroll_to(state, row, rows),
        false => motion::to_end(state),
    }
}

fn pane_at(state: &State, column: u16, row: u16) -> Option<(Pane, usize)> {
    let (pane, area) = state
        .layout
        .panes
        .iter()
        .find(|(_, area)| area.contains(column, row))?;
    let top = state.layout.inside(*pane).map_or(area.y, |inside| inside.y);
    Some((*pane, usize::from(row.saturating_sub(top))))
}

fn click(state: &mut State, column: u16, row: u16) {
    if state.leave_layer() {
        return;
    }
    let Some((pane, row)) = pane_at(state, column, row) else {
        return;
    };
    state.has_moved = true;
    state.notice = None;
    if state.focus != pane {
        match pane {
            Pane::Findings | Pane::Sessions => state.focus = pane,
            Pane::Turns | Pane::Items | Pane::Detail => motion::focus(state, pane),
        }
    }
    match pane {
        Pane::Turns if state.transcript.is_on => match state.transcript.item_at(row) {
            _ if state.drag == Some(Grip::Scrollbar) => scroll_to(state, row),
            Some(item) => {
                let leaves_out = state.transcript.leaves_out_at(row);
                state.go_to(item);
                if leaves_out && !keys::is_unfolded(state) {
                    keys::toggle(state);
                }
            }
            None => {}
        },
        Pane::Turns => {
            let row = state.tops.turns + row;
            let tree = state.tree().filter(|tree| row < tree.rows());
            if let Some(row) = tree.map(|tree| tree.row(row)) {
                motion::put_on(state, row);
            }
        }
        Pane::Items => {
            let turn = state.turn();
            let place = state.tops.items + row;
            let item = state.tree().and_then(|tree| {
                let places = tree.places_in(turn);
                (place < places.len()).then(|| tree.item(places.start + place))
            });
            if let Some(item) = item {
                state.go_to(item);
            }
        }
        Pane::Findings => {
            let row = state.tops.findings + row;
            let clicked = list_findings(&state.checked).nth(row);
            if let Some((session, number)) = clicked.as_ref().and_then(motion::finding_of) {
                motion::select_finding(state, session, number);
            }
        }
        Pane::Sessions => {
            let (row, at) = (state.tops.sessions + row, state.listed_session);
            step_to(state, row, at);
        }
        Pane::Detail => {}
    }
}

fn step_to(state: &mut State, row: usize, at: usize) {
    if row >= at {
        motion::steps(state, row - at, Direction::Forward);
    } else {
        motion::steps(state, at - row, Direction::Backward);
    }
}
