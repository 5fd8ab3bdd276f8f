//! What comes to the debugger, one after the other.

use crate::tui::effect::Effect;
use crate::tui::layer::Input;
use crate::tui::report::Report;
use crate::tui::state::State;
use crate::tui::update;
use crossterm::event::{KeyEvent, MouseEvent};

#[derive(Debug)]
pub(in crate::tui) enum Message {
    Key(KeyEvent),
    Mouse(MouseEvent),
    Paste(String),
    /// The terminal has another size: columns and rows.
    Resize(u16, u16),
    Now(u64),
    Report(Report),
}

pub(in crate::tui) fn update(state: &mut State, message: Message) -> Vec<Effect> {
    match message {
        Message::Key(key) => update::take(state, Input::Key(key)),
        Message::Mouse(event) => update::take(state, Input::Mouse(event)),
        Message::Paste(text) => update::take(state, Input::Paste(&text)),
        Message::Resize(width, height) => state.size = (width, height),
        Message::Now(now) => state.now = now,
        Message::Report(report) => update::arrive(state, report),
    }
    std::mem::take(&mut state.effects)
}
