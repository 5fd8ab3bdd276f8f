//! How the picker looks.

use super::{Picker, Row};
use crate::tui::keymap::hints::{Hint, fitting};
use crate::tui::layer::Layer as _;
use crate::tui::popup::{self, split_bottom, split_top};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use retake_core::safe_text::SafeText;
use retake_live::discover::Candidate;
use std::os::unix::ffi::OsStrExt;
use std::time::{Duration, SystemTime};

/// The keys of the footer, what matters most first.
const HINTS: [Hint; 4] = [
    ("enter", "open"),
    ("/", "filter"),
    ("?", "help"),
    ("q", "quit"),
];
/// Cells of the columns before the name: sign, counts, age, size.
const COUNT: usize = 5;
const AGE: usize = 5;
const SIZE: usize = 6;
const FORMAT: usize = 20;
/// Least rows inside the frame for the heads of the columns.
const TITLED: u16 = 9;
/// From this width on the format and the first words are shown.
const WIDE: usize = 90;

impl Picker {
    pub fn view(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let area = area.intersection(frame.area());
        let pane = theme.pane(self.title(theme), true);
        let inner = pane.inner(area);
        frame.render_widget(pane, area);
        if inner.is_empty() {
            return;
        }
        let below = if inner.height >= 6 {
            2
        } else {
            1.min(inner.height - 1)
        };
        let titled = u16::from(inner.height >= TITLED && !self.rows.is_empty());
        let [heads, rest] = split_top(inner, titled);
        let [list, footer] = split_bottom(rest, below);
        if titled > 0 {
            let words = self.heads(inner.width.into());
            let words = SafeText::single_line(&words, inner.width.into());
            frame.render_widget(theme.line(&words, theme.dim), heads);
        }
        if self.shown.is_empty() {
            self.view_nothing(frame, list, theme);
        }
        let draw = |index: usize, area: Rect| {
            let row = &self.rows[self.shown[index]];
            self.row(row, area.width.into(), index == self.cursor.get(), theme)
        };
        let count = self.shown.len();
        self.cursor.draw(frame, list, count, theme.selected, draw);
        self.view_footer(frame, footer, theme);
        if let Some(help) = &self.help {
            help.view(frame, area, self, theme);
        }
    }

    fn title(&self, theme: &Theme) -> Line<'static> {
        let count = match (self.shown.len(), self.rows.len()) {
            (shown, all) if shown == all => format!(" recordings  {all} "),
            (shown, all) => format!(" recordings  {shown} of {all} "),
        };
        let mut title = Line::from(count);
        if self.is_looking {
            title.push_span(Span::styled(
                format!("looking{} ", theme.glyphs.more),
                theme.dim,
            ));
        }
        title
    }

    /// Why no row is there, and where it was looked.
    fn view_nothing(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let mut text = if !self.rows.is_empty() {
            SafeText::from_static("nothing matches; esc shows all")
        } else if self.is_looking {
            SafeText::from_static("looking for recordings in ")
        } else {
            SafeText::from_static("no recording in ")
        };
        if self.rows.is_empty() {
            for (index, place) in self.places.iter().enumerate() {
                if index > 0 {
                    text.push(&SafeText::from_static(", "));
                }
                let path = place.path.as_os_str().as_bytes();
                text.push(&SafeText::single_line_bytes(path, 200));
            }
            if !self.is_looking {
                text.push(&SafeText::from_static("; name a file: retake FILE"));
            }
        }
        let rows = text.wrapped(usize::from(area.width).max(1));
        for (area, row) in popup::rows(area).zip(rows) {
            frame.render_widget(theme.line(&row, theme.dim), area);
        }
    }

    /// The prompt while filtering, else the path; above it, where there is room, more about the chosen row.
    fn view_footer(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        if area.is_empty() {
            return;
        }
        let [_, last] = split_bottom(area, 1);
        let width = usize::from(area.width);
        let chosen = self
            .shown
            .get(self.cursor.get())
            .map(|number| &self.rows[*number]);
        if area.height > 1 {
            let first = Rect { height: 1, ..area };
            let line = match (&self.notice, chosen) {
                (Some(notice), _) => theme.line(&notice.truncated(width), theme.warning),
                (None, Some(row)) => preview(row, width, theme),
                (None, None) => Line::default(),
            };
            frame.render_widget(line, first);
        }
        if self.is_filtering {
            self.filter.draw(frame, last, theme);
            return;
        }
        let mut hint = SafeText::default();
        for (number, (key, words)) in fitting(HINTS.to_vec(), width + 2).into_iter().enumerate() {
            let gap = if number == 0 { "" } else { "  " };
            hint.push(&SafeText::from_str(&format!("{gap}{key} {words}")));
        }
        let room = width.saturating_sub(hint.width() + 2);
        let line = match chosen.filter(|_| room >= 12) {
            Some(row) => {
                let path = row.candidate.path.as_os_str().as_bytes();
                let path = shortened(path, room, theme);
                let gap = " ".repeat(width - path.width() - hint.width());
                let mut line = theme.line(&path, theme.text);
                line.push_span(Span::raw(gap));
                line.spans.extend(theme.spans(&hint, theme.dim));
                line
            }
            None => theme.line(&hint.truncated(width), theme.dim),
        };
        frame.render_widget(line, last);
    }

    fn row(&self, row: &Row, width: usize, selected: bool, theme: &Theme) -> Vec<Span<'static>> {
        let cursor = if selected { theme.glyphs.cursor } else { " " };
        let mut spans = vec![Span::raw(cursor)];
        spans.extend(counts(row, theme));
        let (age, size) = (self.age(&row.candidate), size(row.candidate.size));
        spans.push(Span::styled(
            format!("{age:>AGE$}{size:>SIZE$}  "),
            theme.dim,
        ));
        let is_wide = width >= WIDE;
        let summary = row
            .summary
            .as_ref()
            .and_then(|summary| summary.as_ref().ok());
        if is_wide {
            let format = summary.map_or("", |summary| summary.format);
            spans.push(Span::styled(format!("{format:<FORMAT$}"), theme.dim));
        }
        let used: usize = spans.iter().map(Span::width).sum();
        let room = width.saturating_sub(used);
        let name = self.name(&row.candidate).as_bytes();
        let name_room = if is_wide { room * 2 / 5 } else { room };
        let name = shortened(name, name_room, theme);
        spans.extend(theme.spans(&name, theme.text));
        if let (true, Some(summary)) = (is_wide, summary) {
            let gap = (name_room + 2).saturating_sub(name.width());
            spans.push(Span::raw(" ".repeat(gap)));
            let words = SafeText::single_line(&summary.words, room.saturating_sub(name_room + 2));
            spans.extend(theme.spans(&words, theme.dim));
        }
        spans
    }

    /// The heads of the columns, as `row` has them.
    fn heads(&self, width: usize) -> String {
        let before = 1 + 2 * COUNT;
        let mut heads = format!("{:<before$}{:>AGE$}{:>SIZE$}  ", " found", "age", "size");
        match width >= WIDE {
            true => {
                heads.push_str(&format!("{:<FORMAT$}", "format"));
                let room = width.saturating_sub(heads.len()) * 2 / 5 + 2;
                heads.push_str(&format!("{:<room$}first words", "file"));
            }
            false => heads.push_str("file"),
        }
        heads
    }

    /// How long ago the file was written, in the largest unit.
    fn age(&self, candidate: &Candidate) -> String {
        let modified = candidate.modified.unwrap_or(SystemTime::UNIX_EPOCH);
        age_words(self.now.duration_since(modified).unwrap_or_default())
    }
}

/// A path that fits its room: what is left out is in its middle, since files of one folder differ at the end.
fn shortened(path: &[u8], room: usize, theme: &Theme) -> SafeText {
    let whole = SafeText::single_line_bytes(path, usize::from(u16::MAX));
    if whole.width() <= room {
        return whole;
    }
    let plain = whole.as_plain();
    let (kept, more) = (room.saturating_sub(1), theme.glyphs.more);
    let mut from = plain.len();
    for (at, _) in plain.char_indices().rev() {
        if SafeText::from_str(&plain[at..]).width() > kept * 2 / 3 {
            break;
        }
        from = at;
    }
    let end = SafeText::from_str(&plain[from..]);
    let start = kept.saturating_sub(end.width());
    let mut to = 0;
    for (at, letter) in plain.char_indices() {
        if SafeText::from_str(&plain[..at + letter.len_utf8()]).width() > start {
            break;
        }
        to = at + letter.len_utf8();
    }
    let mut short = SafeText::from_str(&plain[..to]);
    short.push(&SafeText::from_static(more));
    short.push(&end);
    short
}

/// Errors and warnings, or that there are none, or that it is not known yet.
fn counts(row: &Row, theme: &Theme) -> Vec<Span<'static>> {
    let whole = |text: &str, style: Style| {
        vec![Span::styled(
            format!("{text:<width$}", width = 2 * COUNT),
            style,
        )]
    };
    match &row.summary {
        None => whole(theme.glyphs.dot, theme.dim),
        Some(Err(_)) => whole("?", theme.dim),
        Some(Ok(summary)) if summary.errors + summary.warnings == 0 => {
            whole(theme.glyphs.ok, theme.ok)
        }
        Some(Ok(summary)) => {
            let some = |count: usize, glyph: &str, style: Style| {
                let text = match count {
                    0 => String::new(),
                    1..=999 => format!("{glyph}{count}"),
                    _ => format!("{glyph}{}k", (count / 1000).min(99)),
                };
                Span::styled(format!("{text:<COUNT$}"), style)
            };
            vec![
                some(summary.errors, theme.glyphs.error, theme.error),
                some(summary.warnings, theme.glyphs.warning, theme.warning),
            ]
        }
    }
}

/// The folder, the turns and the first words of a recording, or why it has none.
fn preview(row: &Row, width: usize, theme: &Theme) -> Line<'static> {
    match &row.summary {
        None => Line::default(),
        Some(Err(reason)) => theme.line(&SafeText::single_line(reason, width), theme.warning),
        Some(Ok(summary)) => {
            let facts = match summary.sessions {
                1 => turns(summary.turns),
                sessions => format!("{sessions} sessions, {}", turns(summary.turns)),
            };
            let mut text = SafeText::from_str(&facts);
            for more in summary.folder.iter().chain([&summary.words]) {
                if !more.is_empty() {
                    text.push(&SafeText::from_static("  "));
                    text.push(&SafeText::single_line(more, width));
                }
            }
            theme.line(&text.truncated(width), theme.dim)
        }
    }
}

fn turns(count: usize) -> String {
    match count {
        1 => "1 turn".to_owned(),
        _ => format!("{count} turns"),
    }
}

fn age_words(age: Duration) -> String {
    const UNITS: [(u64, &str); 6] = [
        (365 * 86400, "y"),
        (7 * 86400, "w"),
        (86400, "d"),
        (3600, "h"),
        (60, "m"),
        (1, "s"),
    ];
    let seconds = age.as_secs();
    let unit = UNITS.iter().find(|(length, _)| seconds >= *length);
    unit.map_or_else(
        || "now".to_owned(),
        |(length, unit)| format!("{}{unit}", (seconds / length).min(9999)),
    )
}

/// A size with its unit, in decimal steps: `812B`, `1.2M`.
pub(in crate::tui) fn size(bytes: u64) -> String {
    const UNITS: [(u64, &str); 4] = [
        (1_000_000_000_000, "T"),
        (1_000_000_000, "G"),
        (1_000_000, "M"),
        (1_000, "K"),
    ];
    match UNITS.iter().find(|(unit, _)| bytes >= *unit) {
        Some((unit, letter)) if bytes < 10 * unit => {
            format!("{}.{}{letter}", bytes / unit, bytes % unit * 10 / unit)
        }
        Some((unit, letter)) => format!("{}{letter}", bytes / unit),
        None => format!("{bytes}B"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ages_and_sizes_are_short() {
        let age = |seconds| age_words(Duration::from_secs(seconds));
        assert_eq!(
            [
                age(0),
                age(59),
                age(7200),
                age(86400 * 13),
                age(86400 * 800)
            ],
            ["now", "59s", "2h", "1w", "2y"]
        );
        assert_eq!(
            [size(0), size(999), size(1_250_000), size(250_000_000_000)],
            ["0B", "999B", "1.2M", "250G"]
        );
    }
}
