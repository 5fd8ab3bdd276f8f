//! What a wording becomes once it was measured: texts to copy or to save.

use super::Subject;
use super::table::Table;
use crate::safe_text::SafeText;
use crate::tui::keymap::Context;
use crate::tui::keymap::overlays::{Act, act};
use crate::tui::recovery::page::Page;
use crate::tui::recovery::popup::{Popup, rows, write};
use crate::tui::state::detail::{Line, Tone};
use crate::tui::theme::Theme;
use crossterm::event::{KeyEvent, MouseEvent};
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

/// What a key did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outcome {
    /// Nothing that concerns others.
    Pending,
    /// Nothing is to be done.
    Leave,
    /// This is to be copied.
    Copy(String),
    /// This is to be saved.
    Save {
        /// The name that is proposed.
        name: String,
        /// The text.
        text: String,
    },
}

/// Something that a wording becomes.
#[derive(Debug, Clone, PartialEq, Eq)]
struct Becoming {
    /// What it is.
    title: &'static str,
    /// What a file of it is called.
    file: String,
    text: String,
}

/// What a wording becomes.
#[derive(Debug)]
pub(super) struct Winning {
    title: SafeText,
    becomings: Vec<Becoming>,
    chosen: usize,
    page: Page,
}

impl Winning {
    /// Of the wording with the cursor; `None` while there is none.
    pub(super) fn of(table: &Table, subject: &Subject) -> Option<Self> {
        let _ = (table, subject);
        None
    }

    fn show(&mut self) {
        let text = self.becomings.get(self.chosen);
        let text = SafeText::from_str(text.map_or("", |it| &it.text));
        let lines = text.lines().map(|line| Line::new(Tone::Plain, line));
        self.page = Page::new(lines.collect());
    }

    /// Takes a key.
    pub(super) fn key(&mut self, key: KeyEvent) -> Outcome {
        let chosen = self.becomings.get(self.chosen);
        match (act(Context::Winner, &key), chosen) {
            (Some(Act::Leave), _) => return Outcome::Leave,
            (Some(Act::Choose), Some(it)) => return Outcome::Copy(it.text.clone()),
            (Some(Act::Accept), Some(it)) => {
                return Outcome::Save {
                    name: it.file.clone(),
                    text: it.text.clone(),
                };
            }
            (Some(Act::Value(direction)), Some(_)) => {
                let count = self.becomings.len();
                let step = if direction.is_forward() { 1 } else { count - 1 };
                self.chosen = (self.chosen + step) % count;
                self.show();
            }
            _ => drop(self.page.key(key)),
        }
        Outcome::Pending
    }

    /// Takes the wheel.
    pub(super) fn mouse(&mut self, event: MouseEvent) {
        self.page.mouse(event);
    }

    /// Draws it over `area`.
    pub(super) fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let popup = Popup {
            title: &self.title,
            context: Context::Winner,
            without: &[],
        };
        let inside = popup.view(frame, area, theme);
        let mut tabs = Vec::new();
        for (number, becoming) in self.becomings.iter().enumerate() {
            let style = match number == self.chosen {
                true => theme.selected,
                false => theme.dim,
            };
            tabs.push(Span::styled(format!(" {} ", becoming.title), style));
            tabs.push(Span::raw(" "));
        }
        if let Some(row) = rows(inside).next() {
            write(frame, row, tabs, Style::new());
        }
        let below = Rect {
            y: inside.y + 2.min(inside.height),
            height: inside.height.saturating_sub(2),
            ..inside
        };
        self.page.view(frame, below, theme);
    }
}
