//! What the tree of takes looks like.

use super::{TakeTree, name_of, write};
use crate::tui::keymap::Context;
use crate::tui::popup::{Popup, rows, rule};
use crate::tui::state::recovery::TakeRow;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;

/// Rows below the tree that tell of the take under the cursor.
const TOLD: u16 = 5;
/// Forks above a take that are drawn; of more, those nearest to it.
const RAILS: usize = 6;
/// Least columns, inside the frame, for the words of a take in its row.
const WIDE: u16 = 80;

impl TakeTree {
    /// Draws the tree over `area`.
    pub(super) fn draw(&self, frame: &mut Frame<'_>, area: Rect, theme: &Theme) {
        let title = SafeText::from_static("takes");
        let popup = Popup {
            title: &title,
            context: match self.asked.is_some() {
                true => Context::Line,
                false => Context::Takes,
            },
            without: &[],
        };
        let inside = popup.view(frame, area, theme);
        let told = (TOLD + 1).min(inside.height / 2);
        let list = Rect {
            height: inside.height - told,
            ..inside
        };
        let window = self.cursor.window(list, self.rows.len());
        for (row, number) in rows(list).zip(window) {
            self.row(frame, row, number, theme);
        }
        let mut below = rows(Rect {
            y: list.bottom(),
            height: told,
            ..inside
        });
        let Some(bar) = below.next() else { return };
        rule(frame, bar, Vec::new(), theme);
        if self.asked.is_some() {
            if let Some(row) = below.next() {
                self.prompt.draw(frame, row, theme);
            }
            return;
        }
        if let Some(complaint) = self.complaint {
            let words = SafeText::from_static(complaint);
            for (row, line) in below.zip(words.wrapped(usize::from(inside.width).max(1))) {
                write(frame, row, theme.spans(&line, theme.warning), Style::new());
            }
            return;
        }
        self.told(frame, below, theme);
    }

    /// What the takes come from, in words.
    fn first(&self) -> &'static str {
        match self.rows.iter().any(|row| row.is_first_request) {
            true => "the first request",
            false => "the recording",
        }
    }

    fn row(&self, frame: &mut Frame<'_>, area: Rect, number: usize, theme: &Theme) {
        let Some(take) = self.rows.get(number) else {
            return;
        };
        let parent = self.rows.iter().find(|row| Some(row.id) == take.parent);
        let forks = parent.is_some_and(|parent| parent.rails.len() < take.rails.len());
        let glyphs = &theme.glyphs;
        let has_cursor = number == self.cursor.get();
        let mark = if has_cursor { glyphs.cursor } else { " " };
        let mut spans = vec![Span::raw(format!("{mark} "))];
        let is_only = parent.is_some_and(|parent| parent.id != 0) && !forks;
        spans.push(Span::styled(
            stem(&take.rails, forks, is_only, theme),
            theme.dim,
        ));
        let name_style = if take.is_current {
            theme.title
        } else {
            theme.text
        };
        spans.extend(theme.spans(&name_of(take), name_style));
        if !take.action.is_empty() {
            spans.push(Span::raw("  "));
            spans.extend(theme.spans(&SafeText::single_line(&take.action, 40), theme.text));
        }
        if area.width >= WIDE && !take.wording.is_empty() {
            let words = SafeText::single_line(&take.wording, usize::from(area.width) / 3);
            spans.push(Span::raw("  \""));
            spans.extend(theme.spans(&words, theme.dim));
            spans.push(Span::raw("\""));
        }
        let right = self.right(take, area.width, theme);
        let needed = right.iter().map(Span::width).sum::<usize>();
        let needed = u16::try_from(needed).unwrap_or(area.width).min(area.width);
        let left = Rect {
            width: area.width.saturating_sub(needed + 1),
            ..area
        };
        write(frame, left, spans, Style::new());
        let end = Rect {
            x: area.right() - needed,
            width: needed,
            ..area
        };
        write(frame, end, right, Style::new());
        if has_cursor {
            frame.buffer_mut().set_style(area, theme.selected);
        }
    }

    /// What stands at the end of a row: marks in words, and the findings before and after.
    fn right(&self, take: &TakeRow, width: u16, theme: &Theme) -> Vec<Span<'static>> {
        let mut spans = Vec::new();
        let words = [
            (self.marked == Some(take.id), "marked  ", theme.marked),
            (!take.note.is_empty() && width >= 50, "note  ", theme.dim),
            (take.is_current, "current  ", theme.title),
        ];
        for (applies, word, style) in words {
            if applies {
                spans.push(Span::styled(word, style));
            }
        }
        spans.push(outcome(take, theme));
        spans
    }

    /// The take under the cursor in full.
    fn told(&self, frame: &mut Frame<'_>, area: impl Iterator<Item = Rect>, theme: &Theme) {
        let Some(take) = self.selected() else { return };
        let mut texts = vec![story(take, self.first())];
        if !take.note.is_empty() {
            texts.push(labelled("note", &take.note));
        }
        if !take.wording.is_empty() {
            texts.push(labelled("words", &take.wording));
        }
        let mut area = area.peekable();
        let Some(width) = area.peek().map(|row| usize::from(row.width).max(1)) else {
            return;
        };
        let lines = texts
            .iter()
            .flat_map(|text| text.wrapped(width).take(2).collect::<Vec<_>>());
        for (row, line) in area.zip(lines) {
            write(frame, row, theme.spans(&line, theme.text), Style::new());
        }
    }
}

/// `│  ├─ `: the branches left of a take. One that is the only child of its parent stands in the parent's
/// column, behind an arrow.
fn stem(rails: &[bool], forks: bool, is_only: bool, theme: &Theme) -> String {
    let glyphs = &theme.glyphs;
    let hidden = rails.len().saturating_sub(RAILS);
    let mut stem = match hidden {
        0 => String::new(),
        _ => format!("+{hidden} "),
    };
    let seen = &rails[hidden..];
    let above = seen.len() - usize::from(forks && !seen.is_empty());
    for goes_on in &seen[..above] {
        let bar = if *goes_on { glyphs.vertical } else { " " };
        stem.push_str(&format!("{bar}  "));
    }
    if let Some(goes_on) = seen.get(above) {
        let joint = match goes_on {
            true => glyphs.branch,
            false => glyphs.border.bottom_left,
        };
        stem.push_str(&format!("{joint}{} ", glyphs.horizontal));
    }
    if is_only {
        stem.push_str(&format!("{} ", glyphs.down));
    }
    stem
}

/// `3 -> 1`: findings before and after.
fn outcome(take: &TakeRow, theme: &Theme) -> Span<'static> {
    match take.findings {
        None => Span::styled("not checked", theme.dim),
        Some((_, after)) if take.id == 0 => Span::styled(format!("findings {after}"), theme.dim),
        Some((before, after)) => {
            let style = match after.cmp(&before) {
                std::cmp::Ordering::Less => theme.ok,
                std::cmp::Ordering::Equal => theme.dim,
                std::cmp::Ordering::Greater => theme.error,
            };
            Span::styled(format!("findings {before} -> {after}"), style)
        }
    }
}

/// What brought a take about, in a sentence.
fn story(take: &TakeRow, first: &'static str) -> SafeText {
    if take.id == 0 && take.is_first_request {
        return SafeText::from_static("the first request of the run");
    }
    if take.id == 0 {
        return SafeText::from_static("the recording, as it stands in the file");
    }
    let mut words = take.action.clone();
    if !take.rule.is_empty() {
        words.push_str(&format!(" for {}", take.rule));
    }
    if let Some(parent) = take.parent {
        let parent = match parent {
            0 => first.to_owned(),
            parent => format!("take {parent}"),
        };
        words.push_str(&format!("; from {parent}"));
    }
    if let Some(fork) = take.fork {
        words.push_str(&format!(" at item {fork}"));
    }
    SafeText::single_line(&words, 400)
}

fn labelled(label: &'static str, text: &str) -> SafeText {
    let mut labelled = SafeText::from_static(label);
    labelled.push(&SafeText::from_static(": "));
    labelled.push(&SafeText::single_line(text, 400));
    labelled
}
