//! What lies over the panes: the keys, the problems of reading, the offers.

use super::{Row, rect, title};
use crate::actions;
use crate::safe_text::SafeText;
use crate::tui::keymap::{Command, Group, KEYMAP};
use crate::tui::state::layout::Area;
use crate::tui::state::{Overlay, State};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;

pub(super) fn draw(frame: &mut Frame<'_>, overlay: &Overlay, state: &State, theme: &Theme) {
    let (width, height) = state.size;
    let room = usize::from(height.saturating_sub(4));
    let (name, mut lines) = match overlay {
        Overlay::Help => (" Keys ".to_owned(), help(theme, width >= 110)),
        Overlay::Log => log(state, theme, room),
        Overlay::Offers => (" What can be done ".to_owned(), offers(state, theme)),
    };
    let total = lines.len();
    let needed = lines.iter().map(Line::width).max().unwrap_or(0) + 4;
    let wide = u16::try_from(needed)
        .unwrap_or(width)
        .clamp(36, width.saturating_sub(2));
    let high = u16::try_from(total + 2)
        .unwrap_or(height)
        .min(height.saturating_sub(2));
    let area = rect(Area {
        x: (width - wide) / 2,
        y: (height - high) / 2,
        width: wide,
        height: high,
    });
    let top = match overlay {
        Overlay::Log => 0,
        Overlay::Help | Overlay::Offers => state
            .tops
            .overlay
            .min(total.saturating_sub(usize::from(high.saturating_sub(2)))),
    };
    frame.render_widget(Clear, area);
    let block = theme.pane(title(name), true);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    for (at, line) in lines.drain(..).skip(top).enumerate() {
        let mut left = vec![Span::raw(" ")];
        left.extend(line.spans);
        let row = Row {
            left,
            right: Vec::new(),
            style: Style::new(),
        };
        row.draw(frame, inside, at);
    }
}

/// The table of keys, in two columns where there is room.
fn help(theme: &Theme, wide: bool) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for (group, name) in Group::ALL {
        lines.push(Line::from(Span::styled(name, theme.title)));
        for binding in KEYMAP.iter().filter(|binding| binding.group == group) {
            let later = match binding.command {
                Command::Later(_) => "  (not yet)",
                _ => "",
            };
            lines.push(Line::from(vec![
                Span::styled(format!("  {:<13}", binding.labels()), theme.key),
                Span::raw(binding.help),
                Span::styled(later, theme.dim),
            ]));
        }
    }
    if !wide {
        return lines;
    }
    let half = lines.len().div_ceil(2);
    let right = lines.split_off(half);
    for (at, line) in right.into_iter().enumerate() {
        let gap = 52_usize.saturating_sub(lines[at].width());
        lines[at].spans.push(Span::raw(" ".repeat(gap + 1)));
        lines[at].spans.extend(line.spans);
    }
    lines
}

/// The problems of reading, a window of them.
fn log(state: &State, theme: &Theme, room: usize) -> (String, Vec<Line<'static>>) {
    let problems = state
        .document
        .as_ref()
        .map_or(&[][..], |document| &document.recording.problems);
    let name = format!(" Problems of reading {} ", problems.len());
    if problems.is_empty() {
        let words = "everything could be read";
        return (name, vec![Line::from(Span::styled(words, theme.dim))]);
    }
    let top = state.tops.overlay.min(problems.len().saturating_sub(room));
    let lines = problems.iter().skip(top).take(room).map(|problem| {
        let mut spans = vec![Span::styled(format!("byte {:<12} ", problem.at), theme.dim)];
        let text = SafeText::single_line(&problem.kind.to_string(), 200);
        spans.extend(theme.spans(&text, theme.text));
        Line::from(spans)
    });
    (name, lines.collect())
}

/// What can be done about the findings under the cursor.
fn offers(state: &State, theme: &Theme) -> Vec<Line<'static>> {
    let mut lines = Vec::new();
    for finding in state.findings_here() {
        lines.push(Line::from(Span::styled(finding.rule.id, theme.title)));
        for offer in &finding.offers {
            let Some(action) = actions::find(offer.action) else {
                continue;
            };
            lines.push(Line::from(vec![
                Span::raw(format!("  {:<20} ", action.title)),
                Span::styled(format!("{:<7} ", offer.safety.word()), theme.dim),
                Span::raw(action.what),
            ]));
        }
    }
    lines.push(Line::from(Span::styled(
        "not yet: none of these can be done in this version",
        theme.dim,
    )));
    lines
}
