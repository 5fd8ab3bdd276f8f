//! A text that is read through a window: lines that wrap at its edge, and where it is scrolled to.

use crate::tui::keymap::Direction;
use crate::tui::state::detail::{DetailRow, Line, Scroll};
use crate::tui::theme::Theme;
use crate::tui::view::detail_spans;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::text;
use std::cell::Cell;

/// A text and its window. Drawing remembers how large the window is, so that a page is as long as
/// what the operator sees.
#[derive(Debug, Clone, Default)]
pub struct Page {
    lines: Vec<Line>,
    scroll: Scroll,
    /// Width and height of the window, as it was drawn last.
    seen: Cell<(usize, usize)>,
}

impl Page {
    /// A text, shown from its beginning.
    pub fn new(lines: Vec<Line>) -> Self {
        Self {
            lines,
            ..Self::default()
        }
    }

    /// Shows another text in the same window, at the same place as far as it goes.
    pub fn set_lines(&mut self, lines: Vec<Line>) {
        self.lines = lines;
        self.stop_at_end();
    }

    /// How many lines there are.
    pub fn len(&self) -> usize {
        self.lines.len()
    }

    /// Whether there is nothing to read.
    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The first line that is seen.
    pub fn top(&self) -> usize {
        self.scroll.line
    }

    /// Puts a line at the top, as far as the text reaches below it.
    pub fn go_to(&mut self, line: usize) {
        self.scroll = Scroll { line, row: 0 };
        self.stop_at_end();
    }

    /// Scrolls by a page.
    pub fn turn(&mut self, direction: Direction) {
        let rows = self.seen.get().1.max(2) - 1;
        self.by(rows, direction.is_forward());
    }

    /// Takes a key; false if it does not move.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let (_, height) = self.seen.get();
        let page = height.max(2);
        match (key.code, control) {
            (KeyCode::Down, _) | (KeyCode::Char('j'), false) => self.by(1, true),
            (KeyCode::Up, _) | (KeyCode::Char('k'), false) => self.by(1, false),
            (KeyCode::Char('d'), true) => self.by(page / 2, true),
            (KeyCode::Char('u'), true) => self.by(page / 2, false),
            (KeyCode::PageDown, _) | (KeyCode::Char('f'), true) => self.by(page, true),
            (KeyCode::PageUp, _) | (KeyCode::Char('b'), true) => self.by(page, false),
            (KeyCode::Home, _) | (KeyCode::Char('g'), false) => self.scroll = Scroll::default(),
            (KeyCode::End, _) | (KeyCode::Char('G'), false) => {
                let (width, height) = self.seen.get();
                self.scroll = Scroll::end(&self.lines, width.max(1), height);
            }
            _ => return false,
        }
        true
    }

    pub fn mouse(&mut self, event: MouseEvent) {
        match event.kind {
            MouseEventKind::ScrollDown => self.by(3, true),
            MouseEventKind::ScrollUp => self.by(3, false),
            _ => {}
        }
    }

    fn by(&mut self, rows: usize, down: bool) {
        let width = self.seen.get().0.max(1);
        if down {
            self.scroll.down(rows, &self.lines, width);
            self.stop_at_end();
        } else {
            self.scroll.up(rows, &self.lines, width);
        }
    }

    fn stop_at_end(&mut self) {
        let (width, height) = self.seen.get();
        if height > 0 {
            self.scroll.stop_at_end(&self.lines, width, height);
        }
    }

    /// How many rows the text takes at this width, counted no further than `most`.
    pub fn rows(&self, width: usize, most: usize) -> usize {
        let window = Scroll::default().window(&self.lines, width.max(1), most);
        window.len()
    }

    /// Draws the window; gives whether there is more below.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> bool {
        let area = area.intersection(frame.area());
        let (width, height) = (usize::from(area.width), usize::from(area.height));
        self.seen.set((width, height));
        if area.is_empty() {
            return false;
        }
        let mut scroll = self.scroll;
        scroll.stop_at_end(&self.lines, width, height);
        let rows = scroll.window(&self.lines, width, height + 1);
        for (y, row) in (area.y..area.bottom()).zip(&rows) {
            draw_row(
                frame,
                Rect {
                    y,
                    height: 1,
                    ..area
                },
                row,
                theme,
            );
        }
        rows.len() > height
    }
}

/// Draws one row of a text.
pub(super) fn draw_row(frame: &mut Frame<'_>, area: Rect, row: &DetailRow, theme: &Theme) {
    let line = text::Line::from(detail_spans(row, theme));
    frame
        .buffer_mut()
        .set_line(area.x, area.y, &line, area.width);
}

#[cfg(test)]
mod tests {
    use super::super::fixture::{event, screen};
    use super::*;
    use crate::tui::state::detail::Tone;
    use retake_core::safe_text::SafeText;

    fn page() -> Page {
        let words = ["one", "two", "three four", "five", "six"];
        Page::new(
            words
                .map(|text| Line::new(Tone::Plain, SafeText::from_static(text)))
                .to_vec(),
        )
    }

    fn seen(page: &Page) -> String {
        screen((6, 3), |frame, area, theme| {
            page.view(frame, area, theme);
        })
    }

    #[test]
    fn it_scrolls_by_rows_and_stops_at_its_ends() {
        let mut page = page();
        assert_eq!(seen(&page), "one\ntwo\nthree");
        assert!(page.key(event("j")));
        assert_eq!(seen(&page), "two\nthree\nfour");
        page.key(event("G"));
        assert_eq!(seen(&page), "four\nfive\nsix");
        page.key(event("j"));
        assert_eq!(seen(&page), "four\nfive\nsix");
        page.key(event("g"));
        page.go_to(4);
        assert_eq!(seen(&page), "four\nfive\nsix");
        assert!(!page.key(event("x")));
    }
}
