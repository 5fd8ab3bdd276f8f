//! The cursor of a list and the window that shows it.

use super::keymap::{self, Command, Context, Direction};
use super::popup::{rows, write};
use super::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use std::cell::Cell;
use std::ops::Range;

/// Which row is chosen, and which rows are seen. Drawing remembers the height of the window, so that a page is
/// as long as what the operator sees.
#[derive(Debug, Clone, Default)]
pub struct ListCursor {
    cursor: usize,
    top: Cell<usize>,
    area: Cell<Rect>,
}

impl ListCursor {
    /// The row with the cursor.
    pub fn get(&self) -> usize {
        self.cursor
    }

    pub fn set(&mut self, row: usize) {
        self.cursor = row;
    }

    /// Moves the cursor through `count` rows; false if the key does not move.
    pub fn key(&mut self, key: KeyEvent, count: usize) -> bool {
        let page = usize::from(self.area.get().height).max(2);
        let to = moved(key, self.cursor, page, count.saturating_sub(1));
        self.cursor = to.unwrap_or(self.cursor);
        to.is_some()
    }

    /// Takes the mouse: a click on a row moves the cursor there, the wheel by three rows. True if it
    /// was for this list.
    pub fn mouse(&mut self, event: MouseEvent, count: usize) -> bool {
        let area = self.area.get();
        let (column, row) = (event.column, event.row);
        if !area.contains((column, row).into()) {
            return false;
        }
        let last = count.saturating_sub(1);
        self.cursor = match event.kind {
            MouseEventKind::ScrollDown => (self.cursor + 3).min(last),
            MouseEventKind::ScrollUp => self.cursor.saturating_sub(3),
            MouseEventKind::Down(_) => {
                let clicked = self.top.get() + usize::from(row - area.y);
                if clicked >= count {
                    return false;
                }
                clicked
            }
            _ => return false,
        };
        true
    }

    /// The rows to draw in `area`, one line each; the cursor is among them.
    pub fn window(&self, area: Rect, count: usize) -> Range<usize> {
        let height = usize::from(area.height);
        let cursor = self.cursor.min(count.saturating_sub(1));
        let top = self
            .top
            .get()
            .max((cursor + 1).saturating_sub(height))
            .min(cursor)
            .min(count.saturating_sub(height));
        self.top.set(top);
        self.area.set(area);
        top..(top + height).min(count)
    }

    /// Draws the rows in sight; the one with the cursor has this style.
    pub fn draw(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        count: usize,
        selected: Style,
        theme: &Theme,
        row: impl Fn(usize, Rect) -> Vec<Span<'static>>,
    ) {
        for (area, number) in rows(area).zip(self.window(area, count)) {
            let style = match number == self.cursor {
                true => selected,
                false => Style::new(),
            };
            write(frame, area, row(number, area), style, theme);
        }
    }

    /// The rows that were drawn last.
    pub fn visible(&self) -> Range<usize> {
        let top = self.top.get();
        top..top + usize::from(self.area.get().height)
    }
}

/// How far a key moves, and where to, by pages of so many rows; `usize::MAX` leads to the end. `None` if it does
/// not move.
pub fn motion(key: KeyEvent, page: usize) -> Option<(usize, Direction)> {
    match keymap::command(Context::Overlay, &key)? {
        Command::Step(direction) => Some((1, direction)),
        Command::HalfPage(direction) => Some((page / 2, direction)),
        Command::Page(direction) => Some((page, direction)),
        Command::Edge(direction) => Some((usize::MAX, direction)),
        _ => None,
    }
}

/// Where a key leads from a row, by pages of so many rows and no further than `last`; `None` if it does not move.
pub fn moved(key: KeyEvent, from: usize, page: usize, last: usize) -> Option<usize> {
    let (rows, direction) = motion(key, page)?;
    let to = match direction {
        Direction::Forward => from.saturating_add(rows),
        Direction::Backward => from.saturating_sub(rows),
    };
    Some(to.min(last))
}

#[cfg(test)]
mod tests {
    use super::*;
    use ratatui::crossterm::event::{KeyCode, KeyModifiers};

    fn area(height: u16) -> Rect {
        Rect::new(0, 2, 20, height)
    }

    #[test]
    fn the_window_follows_the_cursor_and_stays_while_it_is_inside() {
        let mut list = ListCursor::default();
        assert_eq!(list.window(area(5), 100), 0..5);
        assert!(list.key(KeyCode::Char('G').into(), 100));
        assert_eq!((list.get(), list.window(area(5), 100)), (99, 95..100));
        list.key(KeyCode::Up.into(), 100);
        assert_eq!(list.window(area(5), 100), 95..100);
        list.key(KeyCode::PageUp.into(), 100);
        assert_eq!((list.get(), list.window(area(5), 100)), (93, 93..98));
        let half = KeyEvent::new(KeyCode::Char('d'), KeyModifiers::CONTROL);
        list.key(half, 100);
        assert_eq!((list.get(), list.window(area(5), 100)), (95, 93..98));
        assert!(!list.key(KeyCode::Char('x').into(), 100));
    }

    #[test]
    fn lists_without_rows_and_windows_without_height_are_harmless() {
        let mut list = ListCursor::default();
        list.key(KeyCode::Down.into(), 0);
        assert_eq!((list.get(), list.window(area(5), 0)), (0, 0..0));
        list.set(7);
        assert_eq!(list.window(area(0), 9), 7..7);
    }

    #[test]
    fn a_click_chooses_the_row_under_it() {
        let mut list = ListCursor::default();
        list.set(50);
        assert_eq!(list.window(area(5), 100), 46..51);
        let click = |row, kind| MouseEvent {
            kind,
            column: 3,
            row,
            modifiers: KeyModifiers::NONE,
        };
        let down = MouseEventKind::Down(ratatui::crossterm::event::MouseButton::Left);
        assert!(list.mouse(click(3, down), 100));
        assert_eq!(list.get(), 47);
        assert!(!list.mouse(click(9, down), 100));
        assert!(list.mouse(click(3, MouseEventKind::ScrollDown), 100));
        assert_eq!(list.get(), 50);
    }
}
