//! What the wording editor looks like: the library stands beside the text where there is room, else
//! it is one row.

use super::{Entry, Focus, WordingEditor};
use crate::tui::keymap::Command;
use crate::tui::popup::{Popup, rows, rule, write};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;

/// Least columns, inside the frame, for a library beside the text.
const BESIDE: u16 = 72;
/// Least rows of the text.
const TEXT: u16 = 3;
/// Rows of the library that tell of the wording under the cursor.
const TOLD: u16 = 5;

impl WordingEditor {
    /// Draws the editor over `area`.
    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let without: &[Command] = match (self.faulty > 1, self.library.is_empty()) {
            (true, false) => &[],
            (true, true) => &[Command::OtherPart],
            (false, false) => &[Command::OtherAnswer],
            (false, true) => &[Command::OtherAnswer, Command::OtherPart],
        };
        let popup = Popup {
            title: &self.title,
            context: self.context(),
            without,
        };
        let inside = popup.view(frame, area, theme);
        if inside.width < 4 || inside.height < 3 {
            return;
        }
        if self.library.is_empty() {
            self.editor(frame, inside, theme);
        } else if inside.width >= BESIDE {
            let wide = (inside.width / 3).clamp(24, 44);
            let (left, right) = split(inside, inside.width - wide - 3);
            self.editor(frame, left, theme);
            for row in rows(inside) {
                let bar = Rect {
                    x: left.right() + 1,
                    width: 1,
                    ..row
                };
                write(
                    frame,
                    bar,
                    vec![Span::styled(theme.glyphs.vertical, theme.border)],
                    Style::new(),
                );
            }
            self.library(frame, right, theme);
        } else {
            let rest = Rect {
                y: inside.y + 1,
                height: inside.height - 1,
                ..inside
            };
            self.library_row(frame, inside, theme);
            self.editor(frame, rest, theme);
        }
    }

    /// The text, the preview and what is said about them, from top to bottom.
    fn editor(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let mut area = area;
        if self.faulty > 1 {
            let row = take_row(&mut area, true);
            write(frame, row, self.reach(theme), Style::new());
        }
        let row = take_row(&mut area, false);
        self.names(frame, row, theme);
        if let Some(tried) = &self.last_try {
            let row = take_row(&mut area, false);
            let mut spans = vec![Span::styled("last try: ", theme.title)];
            let room = usize::from(row.width).saturating_sub(10);
            spans.extend(theme.spans(&tried.truncated(room), theme.text));
            write(frame, row, spans, Style::new());
        }
        let most = (area.height / 2).max(TEXT);
        let high = self.text.rows(area.width, most).clamp(TEXT, most);
        let high = high.min(area.height);
        let text = Rect {
            height: high,
            ..area
        };
        self.text.view(frame, text, theme);
        let mut below = Rect {
            y: area.y + high,
            height: area.height - high,
            ..area
        };
        if below.height > 1 {
            let row = take_row(&mut below, true);
            rule(frame, row, vec![self.preview_title(theme)], theme);
            self.page.view(frame, below, theme);
        }
    }

    fn preview_title(&self, theme: &Theme) -> Span<'static> {
        match (&self.fault, self.focus) {
            (Some(_), _) if self.is_refused => {
                Span::styled("not accepted: the template has an error", theme.error)
            }
            (Some(_), _) if self.good.is_empty() => Span::styled("faulty", theme.error),
            (Some(_), _) => Span::styled("faulty; below, the last good one", theme.error),
            (None, Focus::Text) => Span::styled("as the provider will see it", theme.title),
            (None, Focus::Library) => Span::styled("the wording of the library", theme.title),
        }
    }

    /// `2 faulty calls in this turn: [this one] all`.
    fn reach(&self, theme: &Theme) -> Vec<Span<'static>> {
        let (one, all) = if self.whole_turn {
            (" this one ", "[all]")
        } else {
            ("[this one]", " all ")
        };
        let style = |is_chosen| if is_chosen { theme.title } else { theme.dim };
        vec![
            Span::raw(format!("{} faulty calls in this turn: ", self.faulty)),
            Span::styled(one, style(!self.whole_turn)),
            Span::styled(all, style(self.whole_turn)),
            Span::styled("  ^t", theme.key),
        ]
    }

    /// The names that a template may use.
    fn names(&self, frame: &mut Frame<'_>, row: Rect, theme: &Theme) {
        let mut spans = vec![Span::styled("{{ }} ", theme.title)];
        let room = usize::from(row.width).saturating_sub(6);
        spans.extend(theme.spans(&self.placeholders.truncated(room), theme.dim));
        write(frame, row, spans, Style::new());
    }

    /// The library as a column: the names, and below them what is known of the one under the cursor.
    fn library(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let mut area = area;
        let row = take_row(&mut area, true);
        let title = format!("library {}/{}", self.cursor.get() + 1, self.library.len());
        write(
            frame,
            row,
            vec![Span::styled(title, theme.title)],
            Style::new(),
        );
        let told = TOLD.min(area.height / 2);
        let list = Rect {
            height: area.height - told,
            ..area
        };
        let window = self.cursor.window(list, self.library.len());
        for (row, number) in rows(list).zip(window) {
            let Some(entry) = self.library.get(number) else {
                break;
            };
            let has_cursor = number == self.cursor.get();
            let mark = if has_cursor { theme.glyphs.cursor } else { " " };
            let mut spans = vec![Span::raw(format!("{mark} "))];
            let room = usize::from(row.width).saturating_sub(2);
            spans.extend(theme.spans(&SafeText::single_line(&entry.name, room), theme.text));
            write(frame, row, spans, self.style(has_cursor, theme));
        }
        let below = Rect {
            y: list.bottom(),
            height: told,
            ..area
        };
        if let Some(entry) = self.library.get(self.cursor.get()) {
            told_of(entry, frame, below, theme);
        }
    }

    fn style(&self, has_cursor: bool, theme: &Theme) -> Style {
        match (has_cursor, self.focus) {
            (true, Focus::Library) => theme.selected,
            (true, Focus::Text) => theme.selected_elsewhere,
            (false, _) => Style::new(),
        }
    }

    /// The library as one row: `library 2/7  nearest: names the nearest tool`.
    fn library_row(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = format!("library {}/{}  ", self.cursor.get() + 1, self.library.len());
        let room = usize::from(area.width).saturating_sub(title.len());
        let mut spans = vec![Span::styled(title, theme.title)];
        if let Some(entry) = self.library.get(self.cursor.get()) {
            let words = format!("{}: {}", entry.name, entry.title);
            spans.extend(theme.spans(&SafeText::single_line(&words, room), theme.text));
        }
        let style = match self.focus {
            Focus::Library => theme.selected,
            Focus::Text => Style::new(),
        };
        write(frame, area, spans, style);
    }
}

fn told_of(entry: &Entry, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
    let width = usize::from(area.width).max(1);
    let title = SafeText::from_str(&entry.title);
    let axes = SafeText::from_str(&entry.axes);
    let lines = title.wrapped(width).map(|line| (line, theme.text));
    let lines = lines.chain(axes.wrapped(width).map(|line| (line, theme.dim)));
    for (row, (line, style)) in rows(area).skip(1).zip(lines) {
        write(frame, row, theme.spans(&line, style), Style::new());
    }
}

/// Takes the first or the last row of an area away.
fn take_row(area: &mut Rect, first: bool) -> Rect {
    let height = 1.min(area.height);
    let y = if first {
        area.y
    } else {
        area.bottom() - height
    };
    let row = Rect { y, height, ..*area };
    area.height -= height;
    if first {
        area.y += height;
    }
    row
}

/// Two columns with three cells between them.
fn split(area: Rect, left: u16) -> (Rect, Rect) {
    let right = Rect {
        x: area.x + left + 3,
        width: area.width - left - 3,
        ..area
    };
    (
        Rect {
            width: left,
            ..area
        },
        right,
    )
}
