//! What has to be read before it is answered: a text that is shown to its end, and keys that were typed
//! before it was seen.

use crate::tui::text::Line;
use crate::tui::text::Page;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent};
use ratatui::layout::Rect;
use retake_core::engine::Millis;
use std::cell::Cell;

/// For how long after a dialog came by itself keys are not for it: they were typed for something else.
const TYPED_AHEAD: Millis = 300;

/// A text that has to be read.
#[derive(Debug, Clone, Default)]
pub struct Vetting {
    page: Page,
    /// Since when it is seen.
    since: Cell<Option<Millis>>,
    /// Whether its end was on the screen.
    was_read: Cell<bool>,
}

impl Vetting {
    /// Nothing of it was seen yet.
    pub fn new(lines: Vec<Line>) -> Self {
        Self {
            page: Page::new(lines),
            ..Self::default()
        }
    }

    /// Whether a key of this moment was typed for it.
    pub fn hears(&self, now: Millis) -> bool {
        let since = self.since.get();
        since.is_some_and(|since| now.saturating_sub(since) >= TYPED_AHEAD)
    }

    /// Whether it was shown to its end.
    pub fn was_read(&self) -> bool {
        self.was_read.get()
    }

    /// Takes a key that moves.
    pub fn key(&mut self, key: KeyEvent) {
        self.page.key(key);
    }

    pub fn mouse(&mut self, event: MouseEvent) {
        self.page.mouse(event);
    }

    /// How many rows it takes at this width, counted no further than `most`.
    pub fn rows(&self, width: usize, most: usize) -> usize {
        self.page.rows(width, most)
    }

    /// Draws what is seen of it at this moment.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, now: Millis, theme: &Theme) {
        self.since.set(self.since.get().or(Some(now)));
        let has_more = self.page.view(frame, area, theme);
        if !has_more && !area.intersection(frame.area()).is_empty() {
            self.was_read.set(true);
        }
    }
}
