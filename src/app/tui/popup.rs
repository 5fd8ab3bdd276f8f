//! The frame of what lies over the panes: a title above, the keys below.

use super::keymap::hints::{Hint, fitting};
use super::keymap::{self, Command, Context};
use super::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Constraint::{Fill, Length};
use ratatui::layout::{Layout, Rect};
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use retake_core::safe_text::SafeText;
use unicode_width::UnicodeWidthStr;

#[derive(Debug)]
pub struct Popup<'a> {
    /// The title in its upper edge.
    pub title: &'a SafeText,
    /// Whose keys stand in its lower edge.
    pub context: Context,
    /// Keys that have no use now.
    pub without: &'a [Command],
}

impl Popup<'_> {
    /// Draws the frame over `area`; gives what is inside, a cell away from both sides.
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) -> Rect {
        let area = area.intersection(frame.area());
        let room = usize::from(area.width).saturating_sub(4);
        let keys = Line::from(self.keys(room, theme));
        draw_frame(frame, area, &self.title.truncated(room), keys, theme)
    }

    /// The keys that fit, what matters most first.
    fn keys(&self, room: usize, theme: &Theme) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        if !theme.shows_keys {
            return spans;
        }
        let rows = keymap::footer(self.context).into_iter();
        let useful = rows.filter(|row| !self.without.contains(&row.command));
        let hints = useful.map(|row| (row.first_key(), row.footer.1)).collect();
        for (key, words) in fitting(hints, room) {
            spans.push(Span::styled(format!(" {key}"), theme.key));
            spans.push(Span::raw(format!(" {words} ")));
        }
        spans
    }
}

/// Draws a plain frame; gives what is inside, a cell away from both sides.
pub fn framed(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &SafeText,
    keys: &'static str,
    theme: &Theme,
) -> Rect {
    draw_frame(frame, area, title, Line::styled(keys, theme.key), theme)
}

fn draw_frame(
    frame: &mut Frame<'_>,
    area: Rect,
    title: &SafeText,
    keys: Line<'static>,
    theme: &Theme,
) -> Rect {
    let mut line = vec![Span::raw(" ")];
    line.extend(theme.spans(title, theme.title));
    line.push(Span::raw(" "));
    let pane = theme
        .pane(Line::from(line), true)
        .title_bottom(keys.right_aligned());
    let inside = pane.inner(area);
    frame.render_widget(Clear, area);
    frame.render_widget(pane, area);
    Rect {
        x: inside.x + 1.min(inside.width),
        width: inside.width.saturating_sub(2),
        ..inside
    }
}

/// The narrowest that what lies below is seen beside a popup: less of it is only its edge.
const BESIDE: u16 = 8;

/// A rectangle of at most this size in the middle of another, or as wide as it where little would be seen beside it.
pub fn centred(area: Rect, width: u16, height: u16) -> Rect {
    let width = match area.width.saturating_sub(width) < 2 * BESIDE {
        true => area.width,
        false => width,
    };
    let height = height.min(area.height);
    Rect {
        x: area.x + (area.width - width) / 2,
        y: area.y + (area.height - height) / 2,
        width,
        height,
    }
}

/// An area without its first rows, after these.
pub fn split_top(area: Rect, rows: u16) -> [Rect; 2] {
    Layout::vertical([Length(rows), Fill(1)]).areas(area)
}

/// An area without its last rows, before these.
pub fn split_bottom(area: Rect, rows: u16) -> [Rect; 2] {
    Layout::vertical([Fill(1), Length(rows)]).areas(area)
}

/// An area without its last columns, before these.
pub fn split_right(area: Rect, columns: u16) -> [Rect; 2] {
    Layout::horizontal([Fill(1), Length(columns)]).areas(area)
}

/// Writes a text at the left of a row, and at its right the keys that fit beside it.
pub fn footer(
    frame: &mut Frame<'_>,
    area: Rect,
    left: Vec<Span<'static>>,
    hints: Vec<Hint>,
    theme: &Theme,
) {
    let used: usize = left.iter().map(Span::width).sum();
    let mut keys = Line::default();
    for (key, words) in fitting(hints, usize::from(area.width).saturating_sub(used + 2)) {
        keys.push_span(Span::styled(key, theme.key));
        keys.push_span(Span::raw(format!(" {words}  ")));
    }
    write(frame, area, left, Style::new(), theme);
    let width = u16::try_from(keys.width()).unwrap_or(area.width);
    let [_, right] = split_right(area, width.min(area.width));
    write(frame, right, keys.spans, Style::new(), theme);
}

/// Writes spans into a row; where not all of it has room, it ends with the sign for that.
pub fn write(
    frame: &mut Frame<'_>,
    area: Rect,
    spans: Vec<Span<'static>>,
    style: Style,
    theme: &Theme,
) {
    if area.is_empty() {
        return;
    }
    let row = Rect { height: 1, ..area };
    let (line, buffer) = (Line::from(spans), frame.buffer_mut());
    buffer.set_line(row.x, row.y, &line, row.width);
    let text = line.to_string();
    if text.trim_end().width() > usize::from(row.width) {
        let more = theme.glyphs.more;
        let cells = u16::try_from(more.chars().count()).unwrap_or(row.width);
        let at = row.right() - cells.min(row.width);
        let before = at > row.x;
        let before = before.then(|| buffer[(at - 1, row.y)].symbol().to_owned());
        let before = before.unwrap_or_default();
        if before.width() > 1 {
            buffer[(at - 1, row.y)].set_symbol(" ");
        }
        // A part of the row that is cut itself has the sign already.
        let has_sign = more.starts_with(&*before) && !before.is_empty();
        let letters = more
            .chars()
            .map(|letter| if has_sign { ' ' } else { letter });
        for (letter, column) in letters.zip(at..row.right()) {
            buffer[(column, row.y)].set_char(letter);
        }
    }
    buffer.set_style(row, style);
}

pub fn rows(area: Rect) -> impl Iterator<Item = Rect> {
    (area.y..area.bottom()).map(move |y| Rect {
        y,
        height: 1,
        ..area
    })
}

/// A rule across a row, with words in it.
pub fn rule(frame: &mut Frame<'_>, area: Rect, words: Vec<Span<'static>>, theme: &Theme) {
    let width = usize::from(area.width);
    let line = theme.glyphs.horizontal.repeat(width);
    write(
        frame,
        area,
        vec![Span::styled(line, theme.border)],
        Style::new(),
        theme,
    );
    if words.is_empty() || width < 6 {
        return;
    }
    let mut spans = vec![Span::raw(" ")];
    spans.extend(words);
    spans.push(Span::raw(" "));
    let inside = Rect {
        x: area.x + 1,
        width: area.width - 2,
        ..area
    };
    write(frame, inside, spans, Style::new(), theme);
}
