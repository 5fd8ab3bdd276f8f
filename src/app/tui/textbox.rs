//! Where the operator types: [`TextBox`], an editor of one line or of many.
//!
//! This is the only file that names the editor widget. The text is the operator's own or a
//! recording's and is kept as it is; what reaches the screen is checked cell by cell, since the
//! widget itself lets invisible characters through.

use super::theme::Theme;
use ratatui::Frame;
use ratatui::buffer::Buffer;
use ratatui::crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::widgets::Widget;
use retake_core::safe_text::{SafeText, TextMark};
use tui_textarea::{CursorMove, TextArea, WrapMode};

/// How many changes can be taken back; a letter is one.
const CHANGES: usize = 2000;

/// An editor for a text of one line or of many.
#[derive(Debug, Clone)]
pub struct TextBox {
    area: TextArea<'static>,
    is_single: bool,
}

impl TextBox {
    /// A box of one line: line breaks that are pasted become spaces.
    pub fn single(text: &str) -> Self {
        Self::new(text, true)
    }

    /// A box of many lines, wrapped at its edge.
    pub fn multi(text: &str) -> Self {
        Self::new(text, false)
    }

    fn new(text: &str, is_single: bool) -> Self {
        let mut textbox = Self {
            area: TextArea::default(),
            is_single,
        };
        textbox.set_text(text);
        textbox
    }

    /// Replaces the text; the cursor goes to its end, and nothing is left to undo.
    pub fn set_text(&mut self, text: &str) {
        let lines = if self.is_single {
            vec![one_line(text)]
        } else {
            text.split('\n').map(str::to_owned).collect()
        };
        self.area = TextArea::new(lines);
        self.area.set_max_histories(CHANGES);
        if !self.is_single {
            self.area.set_wrap_mode(WrapMode::WordOrGlyph);
        }
        self.area.set_cursor_line_style(Style::new());
        self.area
            .set_selection_style(Style::new().add_modifier(Modifier::REVERSED));
        self.area.move_cursor(CursorMove::Bottom);
        self.area.move_cursor(CursorMove::End);
    }

    /// Replaces the text as one change that can be undone.
    pub fn replace(&mut self, text: &str) {
        self.area.select_all();
        self.area.insert_str(text.replace("\r\n", "\n"));
    }

    /// Takes back the last change; false where there is none. An empty text between two others is no halt on
    /// the way: replacing is taking out and putting in.
    pub fn undo(&mut self) -> bool {
        let is_undone = self.area.undo();
        if is_undone && self.is_empty() {
            self.area.undo();
        }
        is_undone
    }

    /// Makes the change again that was taken back last.
    pub fn redo(&mut self) -> bool {
        let is_redone = self.area.redo();
        if is_redone && self.is_empty() {
            self.area.redo();
        }
        is_redone
    }

    /// How many rows it takes at this width, as far as `most`.
    pub fn rows(&self, width: u16, most: u16) -> u16 {
        let (width, most) = (usize::from(width).max(1), usize::from(most));
        let lines = self.area.lines().iter().take(most);
        let rows = lines.map(|line| {
            // Of a line that is longer than all rows there are, the rest does not matter.
            let seen = SafeText::single_line(line, width.saturating_mul(most));
            seen.wrapped(width).take(most).count().max(1)
        });
        u16::try_from(rows.sum::<usize>().min(most)).unwrap_or(u16::MAX)
    }

    /// Selects the text, the cursor at its end: what is typed replaces it, a movement keeps it.
    pub fn select_all(&mut self) {
        self.area.select_all();
    }

    /// Puts the cursor at the start of the text.
    pub fn go_to_start(&mut self) {
        self.area.move_cursor(CursorMove::Jump(0, 0));
    }

    pub fn text(&self) -> String {
        self.area.lines().join("\n")
    }

    pub fn is_empty(&self) -> bool {
        self.area.is_empty()
    }

    fn is_all_selected(&self) -> bool {
        let lines = self.area.lines();
        let end = lines.last().map_or(0, |line| line.chars().count());
        let all = ((0, 0), (lines.len().saturating_sub(1), end));
        !self.is_empty() && self.area.selection_range() == Some(all)
    }

    /// Takes a key; true if the text is another one now. Enter, and what terminals send for it, is not text
    /// in a single line.
    pub fn key(&mut self, key: KeyEvent) -> bool {
        let control = key.modifiers.contains(KeyModifiers::CONTROL);
        let breaks_line = match key.code {
            KeyCode::Enter => true,
            KeyCode::Char('m' | 'j') => control,
            _ => false,
        };
        if self.is_single && breaks_line {
            return false;
        }
        // A text that is proposed is replaced by a text, not by a line break.
        if breaks_line && self.is_all_selected() {
            self.area.cancel_selection();
            return false;
        }
        // As in shells; the widget would undo. Of a prompt the whole line goes, wherever the cursor is.
        if control && key.code == KeyCode::Char('u') {
            if self.is_single {
                self.area.move_cursor(CursorMove::End);
            }
            return self.area.delete_line_by_head();
        }
        if !self.is_single && control && key.code == KeyCode::Char('x') {
            let had_text = !self.is_empty();
            self.replace("");
            return had_text;
        }
        self.area.input(key)
    }

    /// Takes a pasted text as one edit; true if there was any.
    pub fn paste(&mut self, text: &str) -> bool {
        let text = text.replace("\r\n", "\n").replace('\r', "\n");
        let text = if self.is_single {
            one_line(&text)
        } else {
            text
        };
        self.area.insert_str(text)
    }

    /// Shows or hides the cursor; at first it is shown.
    pub fn focus(&mut self, focused: bool) {
        self.area.set_cursor_style(if focused {
            Style::new().add_modifier(Modifier::REVERSED)
        } else {
            Style::new()
        });
    }

    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let area = area.intersection(frame.area());
        if area.is_empty() {
            return;
        }
        // Drawing the box itself and no copy lets the widget remember how far it is scrolled.
        (&self.area).render(area, frame.buffer_mut());
        make_safe(frame.buffer_mut(), area, theme);
    }
}

/// A text without line breaks.
fn one_line(text: &str) -> String {
    text.trim_end_matches('\n').replace(['\n', '\t'], " ")
}

/// Takes out of the cells what a terminal would obey or hide. Where something was taken out, the cell says
/// so by its style.
fn make_safe(buffer: &mut Buffer, area: Rect, theme: &Theme) {
    for position in area.positions() {
        let Some(cell) = buffer.cell_mut(position) else {
            continue;
        };
        let symbol = cell.symbol();
        if symbol.len() == 1 && !symbol.as_bytes()[0].is_ascii_control() || symbol.is_empty() {
            continue;
        }
        let safe = SafeText::from_str(symbol);
        let is_changed = safe.runs().any(|(mark, _)| mark == TextMark::Escaped);
        if !is_changed && !theme.glyphs.ascii {
            continue;
        }
        let kept: String = safe
            .runs()
            .filter(|(mark, _)| *mark == TextMark::Plain)
            .map(|(_, run)| run)
            .collect();
        if is_changed {
            let shown = if kept.is_empty() { "?" } else { &kept };
            let style = cell.style().patch(theme.escaped);
            cell.set_symbol(shown).set_style(style);
        }
        if theme.glyphs.ascii && !cell.symbol().is_ascii() {
            cell.set_symbol("?");
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::theme::{Glyphs, Variant};
    use super::*;
    use ratatui::Terminal;
    use ratatui::backend::TestBackend;

    #[test]
    fn a_box_of_many_lines_keeps_them() {
        let mut textbox = TextBox::multi("a");
        textbox.paste("b\r\nc");
        textbox.key(KeyCode::Enter.into());
        assert_eq!(textbox.text(), "ab\nc\n");
    }

    #[test]
    fn a_text_that_was_replaced_comes_back_at_once() {
        let mut textbox = TextBox::multi("one\ntwo");
        textbox.key(KeyCode::Char('!').into());
        textbox.replace("three\nfour");
        assert_eq!(textbox.text(), "three\nfour");
        assert!(textbox.undo());
        assert_eq!(textbox.text(), "one\ntwo!");
        assert!(textbox.undo());
        assert_eq!(textbox.text(), "one\ntwo");
        assert!(!textbox.undo());
        assert!(textbox.redo() && textbox.redo());
        assert_eq!(textbox.text(), "three\nfour");
    }

    #[test]
    fn every_size_can_be_drawn() {
        let textbox = TextBox::multi("one\ntwo\nthree");
        let theme = Theme::new(Variant::Mono, Glyphs::UNICODE);
        for (width, height) in [(1, 1), (2, 1), (3, 2), (7, 3), (200, 2)] {
            let mut terminal = Terminal::new(TestBackend::new(width, height)).unwrap();
            terminal
                .draw(|frame| {
                    textbox.view(frame, frame.area(), &theme);
                    textbox.view(frame, Rect::new(0, 0, 0, 0), &theme);
                })
                .unwrap();
        }
    }
}
