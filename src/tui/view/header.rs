//! The upper row: file, format, model, size, what is wrong, the take.

use super::{Row, counts, rect};
use crate::safe_text::SafeText;
use crate::tui::state::document::Extent;
use crate::tui::state::layout::WIDE;
use crate::tui::state::{Follow, Stage, State};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::Span;

/// Most cells of the file's name.
const NAME: usize = 40;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: &Theme) {
    let gap = || Span::raw("  ");
    let mut left = vec![Span::styled(" retake", theme.title), gap()];
    let name = match state.name.as_str() {
        "-" => "standard input",
        name => name.rsplit('/').next().unwrap_or(name),
    };
    let room = NAME.min(usize::from(state.size.0) / 4);
    left.extend(theme.spans(&SafeText::single_line(name, room), theme.text));
    if let Some(document) = &state.document {
        left.push(gap());
        left.push(Span::styled(document.recording.format.id, theme.dim));
        let sessions = document.recording.sessions.len();
        if sessions > 1 {
            left.push(gap());
            left.push(Span::raw(format!(
                "session {}/{sessions}",
                state.session + 1
            )));
        }
        if let Some(session) = state.session() {
            if let Some(model) = &session.model {
                left.push(gap());
                left.extend(theme.spans(&SafeText::single_line(model, NAME), theme.text));
            }
            if document.extent == Extent::Whole {
                left.push(gap());
                left.push(Span::raw(format!("{} turns", session.turns.len())));
            }
        }
    }
    let mut right = status(state, theme);
    if state.size.0 >= WIDE {
        right.push(Span::styled("   take main 1/1", theme.dim));
    }
    right.push(Span::raw(" "));
    let row = Row {
        left,
        right,
        style: Style::new(),
    };
    row.draw(frame, rect(state.layout.header), 0);
}

fn status(state: &State, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    match state.follow {
        Follow::Off => {}
        Follow::On => spans.push(Span::styled("follow  ", theme.ok)),
        Follow::Paused => spans.push(Span::styled("follow paused  ", theme.dim)),
    }
    match &state.stage {
        Stage::Reading { done, total } => {
            let percent = done.saturating_mul(100).checked_div(*total).unwrap_or(0);
            spans.push(Span::styled(format!("reading {percent}%"), theme.dim));
        }
        Stage::Checking => spans.push(Span::styled("checking  ", theme.dim)),
        Stage::Ready => {}
        Stage::Failed(reason) => {
            spans.push(Span::styled("stopped: ", theme.error));
            spans.extend(theme.spans(&SafeText::single_line(reason, 60), theme.error));
        }
    }
    if let Some(found) = state.counts() {
        let plural = |count: usize, word: &str| match count {
            1 => format!(" 1 {word}"),
            _ => format!(" {count} {word}s"),
        };
        let glyphs = &theme.glyphs;
        if found.errors > 0 {
            spans.push(Span::styled(glyphs.error, theme.error));
            spans.push(Span::raw(plural(found.errors, "error")));
        }
        if found.warnings > 0 {
            let before = if found.errors > 0 { "  " } else { "" };
            spans.push(Span::raw(before));
            spans.push(Span::styled(glyphs.warning, theme.warning));
            spans.push(Span::raw(plural(found.warnings, "warning")));
        }
        if found.errors + found.warnings == 0 && state.stage == Stage::Ready {
            spans.extend(counts(theme, found));
            spans.push(Span::styled(
                format!("{} nothing broken", glyphs.ok),
                theme.ok,
            ));
        }
    }
    spans
}
