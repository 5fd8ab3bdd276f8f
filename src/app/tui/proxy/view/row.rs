//! A row of the list.

use super::super::board::ExchangeBoard;
use super::super::columns::ExchangeColumn;
use super::super::rows::{is_held, is_over};
use super::super::words;
use crate::tui::columns::Column;
use crate::tui::columns::size;
use crate::tui::theme::Theme;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::exchange::{ExchangeEnding, ExchangePhase, ExchangeSummary};
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;

impl ExchangeBoard {
    pub(super) fn row(
        &self,
        seen: &ExchangeSummary,
        is_chosen: bool,
        columns: &[(Column<ExchangeColumn>, usize)],
        theme: &Theme,
    ) -> Vec<Span<'static>> {
        let cursor = if is_chosen { theme.glyphs.cursor } else { " " };
        let mut spans = vec![Span::raw(cursor)];
        for (column, width) in columns {
            let cell = self.cell(seen, column.id, *width, theme);
            spans.extend(column.cell(cell, *width));
        }
        spans
    }

    fn cell(
        &self,
        seen: &ExchangeSummary,
        column: ExchangeColumn,
        width: usize,
        theme: &Theme,
    ) -> Vec<Span<'static>> {
        let text = |text: &str, style| theme.spans(&SafeText::single_line(text, width), style);
        let held = is_held(seen);
        let plain = if held { theme.warning } else { theme.text };
        match column {
            ExchangeColumn::Number => text(&seen.id.to_string(), plain),
            ExchangeColumn::Time => text(&words::time(seen.at_ms), theme.dim),
            ExchangeColumn::Client => text(&seen.client, plain),
            ExchangeColumn::Upstream => {
                let name = self.about.upstreams.get(seen.upstream);
                text(name.map_or("", String::as_str), theme.dim)
            }
            ExchangeColumn::Dialect => {
                text(seen.dialect.map_or("", |dialect| dialect.word()), theme.dim)
            }
            ExchangeColumn::Model => text(&seen.model, plain),
            ExchangeColumn::Path if seen.method.is_empty() || seen.method == "POST" => {
                text(&seen.path, plain)
            }
            ExchangeColumn::Path => text(&format!("{} {}", seen.method, seen.path), plain),
            ExchangeColumn::Status => {
                let status = seen.status.map_or_else(String::new, |it| it.to_string());
                let style = match seen.status {
                    Some(400..) => theme.error,
                    _ => theme.text,
                };
                text(&status, style)
            }
            ExchangeColumn::Bytes if seen.received == 0 => Vec::new(),
            ExchangeColumn::Bytes => text(&size(seen.received), theme.dim),
            ExchangeColumn::Timing => {
                // What is not over is counted.
                let so_far = || {
                    let all = self
                        .now
                        .checked_sub(seen.at_ms)
                        .filter(|_| !is_over(seen))?;
                    Some(all.saturating_sub(seen.held_until(self.now)))
                };
                let total = words::span(seen.total_ms.or_else(so_far));
                let first = words::span(seen.first_ms);
                text(&format!("{first}/{total}"), theme.dim)
            }
            // How long the client waited is counted once it cannot come back.
            ExchangeColumn::Held if seen.phase.hold().is_some_and(|it| it.is_gone) => Vec::new(),
            ExchangeColumn::Held => match seen.held_until(self.now) {
                0 => Vec::new(),
                held => text(&words::span(Some(held)), theme.dim),
            },
            ExchangeColumn::State => self.state(seen, width, theme),
            ExchangeColumn::Found => found(seen, width, theme),
        }
    }

    fn state(&self, seen: &ExchangeSummary, width: usize, theme: &Theme) -> Vec<Span<'static>> {
        let (glyph, style): (&str, Style) = match &seen.phase {
            ExchangePhase::Asking | ExchangePhase::Waiting => (theme.glyphs.dot, theme.dim),
            ExchangePhase::Replying => (theme.glyphs.down, theme.info),
            ExchangePhase::Held(holding) | ExchangePhase::AskingAgain(holding)
                if holding.is_gone =>
            {
                (theme.glyphs.warning, theme.error)
            }
            ExchangePhase::Held(_) => (theme.glyphs.run, theme.warning),
            ExchangePhase::AskingAgain(_) => (theme.glyphs.pair, theme.info),
            ExchangePhase::Ended(ExchangeEnding::Passed) if seen.rewritten.again => {
                (theme.glyphs.ok, theme.ok)
            }
            ExchangePhase::Ended(ExchangeEnding::Passed) if words::error_status(seen).is_none() => {
                (theme.glyphs.ok, theme.dim)
            }
            ExchangePhase::Ended(ExchangeEnding::Mended) => (theme.glyphs.ok, theme.ok),
            ExchangePhase::Ended(ExchangeEnding::Released { .. }) => {
                (theme.glyphs.info, theme.text)
            }
            ExchangePhase::Ended(_) => (theme.glyphs.warning, theme.error),
        };
        let mut label = words::phase(seen, self.now);
        if seen.retries > 0 {
            label = format!("{label} +{}", seen.retries);
        }
        let mut spans = vec![Span::styled(format!("{glyph} "), style)];
        let text = SafeText::single_line(&label, width.saturating_sub(2));
        spans.extend(theme.spans(&text, style));
        spans
    }
}

/// The rules that found something, each once: first the one that holds, then the worst, and how many findings have
/// no room. Without any, why it ended, or the last note.
fn found(seen: &ExchangeSummary, width: usize, theme: &Theme) -> Vec<Span<'static>> {
    let ranked = words::ranked(seen);
    let mut rules: Vec<(&str, Severity)> = Vec::new();
    for found in &ranked {
        if !rules.iter().any(|(rule, _)| *rule == found.rule) {
            rules.push((found.rule, found.severity));
        }
    }
    let mut spans = Vec::new();
    let mut room = width;
    let mut named = 0;
    for (rule, severity) in &rules {
        let (glyph, style) = theme.severity(*severity);
        let gap = if spans.is_empty() { "" } else { "  " };
        // What has no room is counted.
        let more = match ranked.len() - named {
            1 => 0,
            left => more(left - 1).len(),
        };
        let needed = gap.len() + 2 + more;
        if room < needed + if named == 0 { 4 } else { rule.len() } {
            break;
        }
        let name = SafeText::single_line(rule, room - needed);
        room -= gap.len() + 2 + name.width();
        named += 1;
        spans.push(Span::raw(gap));
        spans.push(Span::styled(format!("{glyph} "), style));
        spans.extend(theme.spans(&name, theme.text));
    }
    if named > 0 && ranked.len() > named {
        spans.push(Span::styled(more(ranked.len() - named), theme.dim));
    }
    let label = words::why(&seen.phase).or(seen.notes.last().map(String::as_str));
    if let (true, Some(note)) = (spans.is_empty(), label) {
        return theme.spans(&SafeText::single_line(note, width), theme.dim);
    }
    spans
}

fn more(count: usize) -> String {
    format!(" +{count}")
}
