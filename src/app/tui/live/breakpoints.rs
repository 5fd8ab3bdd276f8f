//! The list of breakpoints: on or off, once or lasting, deleted, and one more by words.

use crate::tui::keymap::Context;
use crate::tui::keymap::overlays::{Act, act};
use crate::tui::list::ListCursor;
use crate::tui::recovery::popup::{Popup, centred, rows, write};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::engine::Breakpoint;
use retake_core::safe_text::SafeText;

/// The widest that the list grows.
const WIDEST: u16 = 76;

/// What a key did.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    /// Nothing that concerns others.
    Pending,
    /// The list is left.
    Leave,
    /// Other breakpoints stand in the list now.
    Changed,
    /// One more, by words.
    Add,
}

#[derive(Debug, Clone)]
pub struct Breakpoints {
    rows: Vec<Breakpoint>,
    cursor: ListCursor,
}

impl Breakpoints {
    pub fn new(rows: Vec<Breakpoint>) -> Self {
        Self {
            rows,
            cursor: ListCursor::default(),
        }
    }

    /// The breakpoints as they are now.
    pub fn rows(&self) -> &[Breakpoint] {
        &self.rows
    }

    /// Other breakpoints, the cursor on the last one.
    pub fn set_rows(&mut self, rows: Vec<Breakpoint>) {
        self.cursor.set(rows.len().saturating_sub(1));
        self.rows = rows;
    }

    pub fn key(&mut self, key: KeyEvent) -> Outcome {
        let at = self.cursor.get();
        match (act(Context::Breakpoints, &key), self.rows.get_mut(at)) {
            (Some(Act::Leave), _) => return Outcome::Leave,
            (Some(Act::Add), _) => return Outcome::Add,
            (Some(Act::Switched), Some(row)) => row.is_enabled = !row.is_enabled,
            (Some(Act::Once), Some(row)) => row.is_one_shot = !row.is_one_shot,
            (Some(Act::Delete), Some(_)) => {
                self.rows.remove(at);
                self.cursor.set(at.min(self.rows.len().saturating_sub(1)));
            }
            _ => {
                self.cursor.key(key, self.rows.len());
                return Outcome::Pending;
            }
        }
        Outcome::Changed
    }

    pub fn mouse(&mut self, event: MouseEvent) {
        self.cursor.mouse(event, self.rows.len());
    }

    /// Draws the list in the middle of `area`.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let without: &[Act] = match self.rows.is_empty() {
            true => &[Act::Switched, Act::Once, Act::Delete],
            false => &[],
        };
        let popup = Popup {
            title: &SafeText::from_static("breakpoints"),
            context: Context::Breakpoints,
            without,
        };
        let high = u16::try_from(self.rows.len().max(1) + 2).unwrap_or(u16::MAX);
        let inside = popup.view(frame, centred(area, WIDEST, high), theme);
        if self.rows.is_empty() {
            let words = SafeText::from_static("none yet: a adds one, b sets one at the cursor");
            let words = words.truncated(inside.width.into());
            write(frame, inside, theme.spans(&words, theme.dim), Style::new());
            return;
        }
        let window = self.cursor.window(inside, self.rows.len());
        for (row, number) in rows(inside).zip(window) {
            let Some(breakpoint) = self.rows.get(number) else {
                break;
            };
            let style = match number == self.cursor.get() {
                true => theme.selected,
                false => Style::new(),
            };
            write(frame, row, line(breakpoint, row.width, theme), style);
        }
    }
}

/// `[x] 3 once  tool search_*`.
fn line(breakpoint: &Breakpoint, width: u16, theme: &Theme) -> Vec<Span<'static>> {
    let (mark, style) = match breakpoint.is_enabled {
        true => ("[x]", theme.text),
        false => ("[ ]", theme.dim),
    };
    let once = if breakpoint.is_one_shot { "once" } else { "" };
    let head = format!("{mark} {:>2} {once:<4}  ", breakpoint.number);
    let room = usize::from(width).saturating_sub(head.len());
    let text = SafeText::single_line(&breakpoint.on.to_string(), room);
    let mut spans = vec![Span::styled(head, style)];
    spans.extend(theme.spans(&text, style));
    spans
}
