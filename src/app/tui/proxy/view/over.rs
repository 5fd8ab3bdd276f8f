//! What lies over the list and has no view of its own: how to connect, the events, the copy menu.

use super::super::board::{Board, Event};
use super::super::words;
use crate::tui::popup::{centred, framed, rows, write};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use std::borrow::Cow;

/// Most cells of an event.
const EVENT: usize = 240;
/// The widest that what is shown over the list grows.
const WIDEST: u16 = 110;

impl Board {
    pub(in crate::tui::proxy) fn view_connect(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        theme: &Theme,
    ) {
        let width = usize::from(WIDEST.min(area.width).saturating_sub(4)).max(1);
        let lines: Vec<SafeText> = self
            .about
            .connect
            .iter()
            .map(|line| SafeText::from_str(line))
            .flat_map(|line| match line.is_empty() {
                true => vec![line],
                false => line.wrapped(width).collect(),
            })
            .collect();
        let high = u16::try_from(lines.len() + 2).unwrap_or(u16::MAX);
        let area = centred(area, WIDEST, high);
        let title = SafeText::from_static("connect an agent");
        let inside = framed(frame, area, &title, " y copy  esc leave ", theme);
        for (row, line) in rows(inside).zip(lines) {
            write(frame, row, theme.spans(&line, theme.text), Style::new());
        }
    }

    pub(in crate::tui::proxy) fn view_log(
        &self,
        frame: &mut Frame<'_>,
        area: Rect,
        below: usize,
        theme: &Theme,
    ) {
        let area = centred(area, WIDEST, area.height);
        let title = SafeText::from_str(&format!("Events {}", self.log.len()));
        let inside = framed(frame, area, &title, " esc leave ", theme);
        let end = self.log.len().saturating_sub(below);
        let end = end.max(usize::from(inside.height)).min(self.log.len());
        let start = end.saturating_sub(usize::from(inside.height));
        let events = self.log.range(start..end);
        let lines = events.flat_map(|event| logged(event, inside.width, theme));
        let lines: Vec<_> = lines.collect();
        // The newest is seen to its end.
        let first = lines.len().saturating_sub(usize::from(inside.height));
        for (row, spans) in rows(inside).zip(lines.into_iter().skip(first)) {
            write(frame, row, spans, Style::new());
        }
    }
}

/// The rows of an event: its time, and its words as many rows as they need.
fn logged(event: &Event, width: u16, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let style = match event.is_trouble {
        true => theme.warning,
        false => theme.text,
    };
    let time = format!("{}  ", words::time(event.at_ms));
    let words = SafeText::single_line(&event.words, EVENT);
    let room = usize::from(width).saturating_sub(time.len()).max(1);
    let rows = words.wrapped(room).enumerate().map(|(row, words)| {
        let before = match row {
            0 => Span::styled(time.clone(), theme.dim),
            _ => Span::raw(" ".repeat(time.len())),
        };
        let mut spans = vec![before];
        spans.extend(theme.spans(&words, style));
        spans
    });
    rows.collect()
}

/// A line of a program without the sequences by which it colours its words: they mean nothing here. What else
/// it holds is shown as it is anywhere.
pub(super) fn plain(line: &str) -> Cow<'_, str> {
    if !line.contains('\u{1b}') {
        return Cow::Borrowed(line);
    }
    let mut rest = line;
    let mut plain = String::with_capacity(line.len());
    while let Some((before, behind)) = rest.split_once("\u{1b}[") {
        plain.push_str(before);
        let end = behind.find(|letter: char| !matches!(letter, '0'..='9' | ';' | ':'));
        match end {
            Some(end) if behind[end..].starts_with('m') => rest = &behind[end + 1..],
            // Anything but a colour is shown.
            _ => {
                plain.push_str("\u{1b}[");
                rest = behind;
            }
        }
    }
    plain.push_str(rest);
    Cow::Owned(plain)
}
