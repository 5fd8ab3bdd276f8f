//! Text with its looks: lines that are wrapped only where they are seen, and the window over them. The place of
//! a window is a line and a row of it, never a row of the whole.

use super::keymap::Direction;
use super::list::motion;
use super::theme::Theme;
use ratatui::Frame;
use ratatui::crossterm::event::{KeyEvent, MouseEvent, MouseEventKind};
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{self, Span};
use retake_core::content::Look;
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;
use retake_live::search::Needle;
use std::cell::Cell;
use std::ops::Range;

/// Least cells between a line and its remark.
const GAP: &str = "    ";

/// What a piece of text is, for its looks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Tone {
    /// Words of the recording.
    Plain,
    /// Words of ours that explain.
    Dim,
    /// The name of the tool, and what else heads the item.
    Title,
    /// A key of JSON.
    Key,
    /// A string of JSON.
    String,
    /// A number or word of JSON.
    Scalar,
    /// The sign of a severity; the text only holds its room.
    Sign(Severity),
    /// A sign; the text only holds its room.
    Glyph(Glyph),
    /// Words about an item of this kind.
    Kind(Kind),
    /// Content that looks so.
    Look(Look),
    /// What is set apart.
    Marked,
    Error,
    Warning,
    /// About something worth knowing.
    Info,
    Added,
    /// The part of an added line that makes the difference.
    AddedPart,
    Removed,
    /// The part of a removed line that makes the difference.
    RemovedPart,
}

/// Signs that stand between words.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Glyph {
    Ok,
    /// What hangs on the row above.
    Bar,
    /// Between short facts.
    Dot,
    /// Something was left out.
    More,
    /// A line across.
    Across,
}

impl Glyph {
    fn span(self, width: usize, theme: &Theme) -> Span<'static> {
        let glyphs = &theme.glyphs;
        let (letter, style) = match self {
            Self::Ok => (glyphs.ok, theme.ok),
            Self::Bar => (glyphs.vertical, theme.dim),
            Self::Dot => (glyphs.dot, theme.dim),
            Self::More => (glyphs.more, theme.dim),
            Self::Across => (glyphs.horizontal, theme.dim),
        };
        Span::styled(letter.repeat(width), style)
    }
}

impl Tone {
    /// The tone of words about a finding.
    pub fn of(severity: Severity) -> Self {
        match severity {
            Severity::Error => Self::Error,
            Severity::Warning => Self::Warning,
            Severity::Info => Self::Info,
        }
    }

    fn style(self, theme: &Theme) -> Style {
        match self {
            Self::Plain | Self::Sign(_) | Self::Glyph(_) => theme.text,
            Self::Kind(kind) => theme.kind(kind),
            Self::Look(look) => theme.look(look),
            Self::Marked => theme.marked,
            Self::Dim => theme.dim,
            Self::Title => theme.title,
            Self::Key => theme.json_key,
            Self::String => theme.json_string,
            Self::Scalar => theme.json_scalar,
            Self::Error => theme.error,
            Self::Warning => theme.warning,
            Self::Info => theme.info,
            Self::Added => theme.ok,
            Self::Removed => theme.removed,
            Self::AddedPart => theme.ok.patch(theme.changed),
            Self::RemovedPart => theme.removed.patch(theme.changed),
        }
    }
}

/// What a line is about, beside it.
#[derive(Debug, Clone)]
pub struct Remark {
    /// How bad it is.
    pub severity: Severity,
    /// What is wrong there.
    pub text: SafeText,
}

impl Remark {
    /// Puts the remark after the last row where it fits, else on rows of its own.
    fn place(&self, rows: &mut Vec<DetailRow>, indent: usize, width: usize) {
        let sign = (Tone::Sign(self.severity), SafeText::from_static("  "));
        let tone = Tone::of(self.severity);
        let used = rows.last().map_or(0, DetailRow::width);
        if used + GAP.len() + 2 + self.text.width() <= width
            && let Some(row) = rows.last_mut()
        {
            if !row.pieces.is_empty() {
                row.pieces.push((Tone::Plain, SafeText::from_static(GAP)));
            }
            row.pieces.extend([sign, (tone, self.text.clone())]);
            return;
        }
        rows.retain(|row| !row.pieces.is_empty());
        let room = width.saturating_sub(indent + 2).max(1);
        for (number, part) in self.text.wrapped(room).enumerate() {
            let first = if number == 0 { sign.0 } else { Tone::Plain };
            rows.push(DetailRow {
                indent,
                pieces: vec![(first, sign.1.clone()), (tone, part)],
            });
        }
    }
}

/// One line before it is wrapped.
#[derive(Debug, Clone, Default)]
pub struct Line {
    /// Columns that stay free on the left, also on the rows it wraps to.
    pub indent: usize,
    pub pieces: Vec<(Tone, SafeText)>,
    /// Whether its first piece stands to the left of all rows.
    pub hangs: bool,
    /// A remark to its right.
    pub remark: Option<Remark>,
}

/// One row on the screen.
#[derive(Debug, Clone, Default)]
pub struct DetailRow {
    /// Columns that stay free on the left.
    pub indent: usize,
    pub pieces: Vec<(Tone, SafeText)>,
}

/// Pieces as they are drawn.
pub fn spans_of(pieces: &[(Tone, SafeText)], theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    for (tone, text) in pieces {
        match tone {
            Tone::Sign(severity) => spans.extend([theme.sign(*severity), Span::raw(" ")]),
            Tone::Glyph(glyph) => spans.push(glyph.span(text.width(), theme)),
            tone => spans.extend(theme.spans(text, tone.style(theme))),
        }
    }
    spans
}

impl DetailRow {
    pub fn spans(&self, theme: &Theme) -> Vec<Span<'static>> {
        let mut spans = vec![Span::raw(" ".repeat(self.indent))];
        spans.extend(spans_of(&self.pieces, theme));
        spans
    }

    pub fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let line = text::Line::from(self.spans(theme));
        frame
            .buffer_mut()
            .set_line(area.x, area.y, &line, area.width);
    }

    fn width(&self) -> usize {
        self.indent
            + self
                .pieces
                .iter()
                .map(|(_, text)| text.width())
                .sum::<usize>()
    }
}

impl Line {
    pub fn new(tone: Tone, text: SafeText) -> Self {
        Self {
            pieces: vec![(tone, text)],
            ..Self::default()
        }
    }

    /// Whether it shows nothing.
    pub fn is_blank(&self) -> bool {
        let mut pieces = self.pieces.iter();
        self.remark.is_none() && pieces.all(|(_, text)| text.as_plain().trim().is_empty())
    }

    /// The rows of a text whose words may look different: it breaks between words wherever they stand.
    fn rows_of_text(&self, indent: usize, room: usize) -> Vec<DetailRow> {
        let mut text = SafeText::default();
        let mut ends = Vec::new();
        for (tone, piece) in &self.pieces {
            text.push(piece);
            ends.push((*tone, text.as_plain().len()));
        }
        let row = |range: Range<usize>| {
            let mut start = 0;
            let mut pieces = Vec::new();
            for (tone, end) in &ends {
                let part = start.max(range.start)..(*end).min(range.end);
                start = *end;
                if part.start < part.end {
                    pieces.push((*tone, text.part(part)));
                }
            }
            DetailRow { indent, pieces }
        };
        text.row_ranges(room).map(row).collect()
    }

    /// The places of a text in it, wherever its rows break.
    pub fn matches(&self, needle: &Needle) -> usize {
        needle.ranges_in(&plain_of(&self.pieces)).len()
    }

    /// The rows that it takes in a pane of this width.
    pub fn rows(&self, width: usize) -> Vec<DetailRow> {
        if let Some(((tone, first), pieces)) = self.pieces.split_first().filter(|_| self.hangs) {
            let inner = Self {
                indent: self.indent + first.width(),
                pieces: pieces.to_vec(),
                hangs: false,
                remark: self.remark.clone(),
            };
            let mut rows = inner.rows(width);
            if let Some(row) = rows.first_mut() {
                row.indent = row.indent.saturating_sub(first.width());
                row.pieces.insert(0, (*tone, first.clone()));
            }
            return rows;
        }
        let indent = self.indent.min(width / 2);
        let mut pieces = self.pieces.iter();
        let is_text = match self.pieces.last() {
            // What a model thinks, with the word that says so before it.
            Some((Tone::Kind(Kind::Reasoning), _)) => {
                pieces.all(|(tone, _)| matches!(tone, Tone::Kind(Kind::Reasoning) | Tone::Dim))
            }
            _ => pieces.all(|(tone, _)| matches!(tone, Tone::Look(_))),
        };
        if self.remark.is_none() && is_text {
            return self.rows_of_text(indent, width.saturating_sub(indent).max(1));
        }
        let mut rows = vec![DetailRow {
            indent,
            pieces: Vec::new(),
        }];
        for (tone, text) in &self.pieces {
            flow(*tone, text, width.max(indent + 1), &mut rows);
        }
        if let Some(remark) = &self.remark {
            remark.place(&mut rows, indent, width);
        }
        rows
    }
}

/// The letters of pieces without their looks.
pub fn plain_of(pieces: &[(Tone, SafeText)]) -> String {
    pieces.iter().map(|(_, text)| text.as_plain()).collect()
}

/// A place of a text in rows.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowMatch {
    /// The index of its first row.
    pub row: usize,
    /// Its bytes in the letters of that row.
    pub range: Range<usize>,
    /// Its bytes in the next row, where it goes on there.
    pub rest: Option<Range<usize>>,
}

impl RowMatch {
    /// The rows that it is in, with its bytes in each.
    pub fn parts(&self) -> impl Iterator<Item = (usize, &Range<usize>)> {
        let rest = self.rest.iter().map(|range| (self.row + 1, range));
        std::iter::once((self.row, &self.range)).chain(rest)
    }
}

/// The places of a text in rows that follow each other, also where a row breaks it.
pub fn row_matches(rows: &[String], needle: &Needle) -> Vec<RowMatch> {
    let mut matches = Vec::new();
    for (row, text) in rows.iter().enumerate() {
        let own = needle.ranges_in(text).into_iter();
        matches.extend(own.map(|range| RowMatch {
            row,
            range,
            rest: None,
        }));
        let (left, below) = (text.trim_end(), rows.get(row + 1));
        let right = below.map_or("", |below| below.trim_start());
        if left.is_empty() || right.is_empty() {
            continue;
        }
        let indent = below.map_or(0, String::len) - right.len();
        let over_end = |gap: &str| {
            let begin = left.len() + gap.len();
            let ranges = needle.ranges_in(&format!("{left}{gap}{right}")).into_iter();
            let over = ranges.filter(move |it| it.start < left.len() && it.end > begin);
            let over = over.map(move |range| RowMatch {
                row,
                range: range.start..left.len(),
                rest: Some(indent..indent + range.end - begin),
            });
            over.collect::<Vec<_>>()
        };
        // Rows break at a space or within a word.
        let broken = Some(over_end(" ")).filter(|over| !over.is_empty());
        matches.extend(broken.unwrap_or_else(|| over_end("")));
    }
    matches
}

/// Sets a part of a row apart.
pub fn highlight(
    frame: &mut Frame<'_>,
    row: Rect,
    (indent, text): (usize, &str),
    range: &Range<usize>,
    style: Style,
) {
    let cells = |text: &str| SafeText::from_str(text).width();
    let before = indent + cells(text.get(..range.start).unwrap_or_default());
    let width = cells(text.get(range.clone()).unwrap_or_default());
    let [x, width] = [before, width].map(|it| u16::try_from(it).unwrap_or(u16::MAX));
    let part = Rect {
        x: row.x.saturating_add(x),
        width,
        height: 1,
        ..row
    };
    frame.buffer_mut().set_style(part.intersection(row), style);
}

/// Adds a piece after the last row, on further rows where it does not fit.
fn flow(tone: Tone, text: &SafeText, width: usize, rows: &mut Vec<DetailRow>) {
    let (indent, used) = rows.last().map_or((0, 0), |row| (row.indent, row.width()));
    let needed = text.width();
    if used + needed <= width {
        if let Some(row) = rows.last_mut() {
            row.pieces.push((tone, text.clone()));
        }
        return;
    }
    // A short piece goes to the next row whole, a long one fills up this row first, and so do words where
    // hardly anything is yet.
    let (room, whole) = (width.saturating_sub(used), width - indent);
    let is_long = needed > whole && room > whole / 3;
    let are_words = room > whole * 3 / 4 && text.as_plain().contains(' ');
    let fills_up = used > indent && (is_long || are_words);
    let mut parts = text.wrapped_behind(if fills_up { room } else { whole }, whole);
    let is_fresh = rows.last().is_some_and(|row| row.pieces.is_empty());
    if (fills_up || is_fresh)
        && let (Some(row), Some(part)) = (rows.last_mut(), parts.next())
    {
        row.pieces.push((tone, part));
    }
    rows.extend(parts.map(|part| DetailRow {
        indent,
        pieces: vec![(tone, part)],
    }));
}

/// The upper left corner of the window.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct Scroll {
    /// Index of the line.
    pub line: usize,
    /// Row of that line.
    pub row: usize,
}

impl Scroll {
    /// Moves down, at most until the last row is at the top.
    pub fn down(&mut self, mut rows: usize, lines: &[Line], width: usize) {
        while rows > 0 {
            let Some(line) = lines.get(self.line) else {
                return;
            };
            let left = line.rows(width).len().saturating_sub(self.row + 1);
            if rows <= left {
                self.row += rows;
                return;
            }
            if self.line + 1 >= lines.len() {
                self.row += left;
                return;
            }
            rows -= left + 1;
            *self = Self {
                line: self.line + 1,
                row: 0,
            };
        }
    }

    pub fn up(&mut self, mut rows: usize, lines: &[Line], width: usize) {
        while rows > 0 {
            if rows <= self.row {
                self.row -= rows;
                return;
            }
            let Some(before) = self.line.checked_sub(1) else {
                self.row = 0;
                return;
            };
            rows -= self.row + 1;
            let height = lines.get(before).map_or(1, |line| line.rows(width).len());
            *self = Self {
                line: before,
                row: height.saturating_sub(1),
            };
        }
    }

    /// The place from which the last row is at the bottom of a window.
    pub fn end(lines: &[Line], width: usize, height: usize) -> Self {
        let Some(last) = lines.len().checked_sub(1) else {
            return Self::default();
        };
        let mut scroll = Self {
            line: last,
            row: lines[last].rows(width).len().saturating_sub(1),
        };
        scroll.up(height.saturating_sub(1), lines, width);
        scroll
    }

    /// Moves back where the text ends above the bottom of the window.
    pub fn stop_at_end(&mut self, lines: &[Line], width: usize, height: usize) {
        if *self != Self::default() && self.window(lines, width, height).len() < height {
            *self = (*self).min(Self::end(lines, width, height));
        }
    }

    /// The rows that are seen.
    pub fn window(&self, lines: &[Line], width: usize, height: usize) -> Vec<DetailRow> {
        let lines = lines.get(self.line..).unwrap_or_default();
        let rows = lines.iter().flat_map(|line| line.rows(width));
        rows.skip(self.row).take(height).collect()
    }
}

/// A text and its window. Drawing remembers how large the window is, so that a page is as long as
/// what the operator sees.
#[derive(Debug, Clone, Default)]
pub struct TextWindow {
    lines: Vec<Line>,
    scroll: Scroll,
    /// Width and height of the window, as it was drawn last.
    seen: Cell<(usize, usize)>,
}

impl TextWindow {
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

    pub fn len(&self) -> usize {
        self.lines.len()
    }

    pub fn is_empty(&self) -> bool {
        self.lines.is_empty()
    }

    /// The first line that is seen.
    pub fn top(&self) -> usize {
        self.scroll.line
    }

    /// Whether not all of it was seen in the window as it was drawn last.
    pub fn is_cut(&self) -> bool {
        let (width, height) = self.seen.get();
        self.rows(width, height + 1) > height
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
        let (width, height) = self.seen.get();
        match motion(key, height.max(2)) {
            Some((usize::MAX, Direction::Forward)) => {
                self.scroll = Scroll::end(&self.lines, width.max(1), height);
            }
            Some((usize::MAX, Direction::Backward)) => self.scroll = Scroll::default(),
            Some((rows, direction)) => self.by(rows, direction.is_forward()),
            None => return false,
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
            let row_area = Rect {
                y,
                height: 1,
                ..area
            };
            row.draw(frame, row_area, theme);
        }
        rows.len() > height
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tui::recovery::tests::fixture::{event, screen};
    use retake_core::safe_text::SafeText;

    fn lines() -> Vec<Line> {
        ["one two three", "four", "five six"]
            .map(|text| Line::new(Tone::Plain, SafeText::from_static(text)))
            .to_vec()
    }

    fn seen_lines(scroll: Scroll) -> Vec<String> {
        let rows = scroll.window(&lines(), 5, 3);
        rows.iter()
            .map(|row| {
                row.pieces
                    .iter()
                    .map(|(_, text)| text.as_plain().trim_end())
                    .collect()
            })
            .collect()
    }

    #[test]
    fn a_thought_breaks_between_words_wherever_its_looks_change() {
        let thought = |text| (Tone::Kind(Kind::Reasoning), SafeText::from_static(text));
        let line = Line {
            pieces: vec![
                (Tone::Dim, SafeText::from_static("thinking  ")),
                thought("look at "),
                thought("`file`"),
                thought(". Then go"),
            ],
            ..Line::default()
        };
        let rows = line.rows(24);
        let rows = rows.iter().map(|row| plain_of(&row.pieces));
        let rows: Vec<_> = rows.map(|row| row.trim_end().to_owned()).collect();
        assert_eq!(rows, ["thinking  look at", "`file`. Then go"]);
    }

    #[test]
    fn the_window_moves_by_rows_and_stops_at_both_ends() {
        let mut scroll = Scroll::default();
        assert_eq!(seen_lines(scroll), ["one", "two", "three"]);
        scroll.down(2, &lines(), 5);
        assert_eq!(seen_lines(scroll), ["three", "four", "five"]);
        scroll.down(99, &lines(), 5);
        scroll.stop_at_end(&lines(), 5, 3);
        assert_eq!(scroll, Scroll::end(&lines(), 5, 3));
        assert_eq!(seen_lines(scroll), ["four", "five", "six"]);
        scroll.up(99, &lines(), 5);
        assert_eq!(scroll, Scroll::default());
    }

    fn page() -> TextWindow {
        let words = ["one", "two", "three four", "five", "six"];
        TextWindow::new(
            words
                .map(|text| Line::new(Tone::Plain, SafeText::from_static(text)))
                .to_vec(),
        )
    }

    fn seen(page: &TextWindow) -> String {
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
