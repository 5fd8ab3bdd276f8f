//! What lies over the panes: the problems of reading, the offers, and what has a view of its own.

use super::{Row, rect, title};
use crate::tui::health::Table;
use crate::tui::live::tools;
use crate::tui::state::layout::Area;
use crate::tui::state::{Overlay, State};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use retake_core::rules::Health;
use retake_core::safe_text::SafeText;

pub(super) fn draw(frame: &mut Frame<'_>, overlay: &Overlay, state: &State, theme: &Theme) {
    match overlay {
        Overlay::Help(help) => help.view(frame, frame.area(), theme),
        Overlay::Palette(palette) => palette.view(frame, frame.area(), theme),
        Overlay::Copy(menu) => menu.view(frame, above_footer(frame.area()), theme),
        Overlay::Filter => {
            let footer = rect(state.layout.footer);
            frame.render_widget(Clear, footer);
            state.filter_bar.view(frame, footer, theme);
        }
        Overlay::Find => {
            let footer = rect(state.layout.footer);
            frame.render_widget(Clear, footer);
            state.find.view(frame, footer, theme);
        }
        Overlay::Note => {
            let footer = rect(state.layout.footer);
            frame.render_widget(Clear, footer);
            state.note.view(frame, footer, theme);
        }
        Overlay::Log | Overlay::Health(..) => popup(frame, overlay, state, theme),
        Overlay::Offers(menu) => menu.view(frame, above_footer(frame.area()), theme),
        Overlay::Wording(editor) => editor.view(frame, frame.area(), theme),
        Overlay::Words(form) => form.view(frame, frame.area(), theme),
        Overlay::Question(question) | Overlay::Leaving(question, _) => {
            question.view(frame, frame.area(), theme)
        }
        Overlay::Readings(readings) => readings.view(frame, frame.area(), theme),
        Overlay::Proposal(shown) => shown.0.view(frame, frame.area(), theme),
        Overlay::Takes(tree) => tree.view(frame, frame.area(), theme),
        Overlay::Comparison(comparison) => comparison.view(frame, frame.area(), theme),
        Overlay::Saving(dialog) => dialog.view(frame, frame.area(), theme),
        Overlay::Approval(dialog) => dialog.view(frame, frame.area(), theme),
        Overlay::Trust(dialog) => dialog.view(frame, frame.area(), theme),
        Overlay::Answer(form, _) => form.view(frame, frame.area(), theme),
        Overlay::Sure(question, _) | Overlay::Cutting(question) => {
            question.view(frame, frame.area(), theme)
        }
        Overlay::Line(prompt, _) => {
            let footer = rect(state.layout.footer);
            frame.render_widget(Clear, footer);
            prompt.view(frame, footer, theme);
        }
        Overlay::Places(menu) => menu.view(frame, above_footer(frame.area()), theme),
        Overlay::Breakpoints(list) => list.view(frame, above_footer(frame.area()), theme),
        Overlay::Tools(cursor) => {
            let area = above_footer(frame.area());
            tools::view(frame, area, theme, &state.live.tools, cursor);
        }
    }
}

fn above_footer(area: Rect) -> Rect {
    Rect {
        height: area.height.saturating_sub(1),
        ..area
    }
}

fn popup(frame: &mut Frame<'_>, overlay: &Overlay, state: &State, theme: &Theme) {
    let (width, height) = state.size;
    let room = usize::from(height.saturating_sub(4));
    let (name, mut lines) = match overlay {
        Overlay::Health(tally, sessions) => health(tally, *sessions, width, theme),
        _ if state.live.has_news() => super::live::events(state, theme, room),
        _ => log(state, theme, room),
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
        Overlay::Health(..) => state
            .tops
            .overlay
            .min(total.saturating_sub(usize::from(high.saturating_sub(2)))),
        _ => 0,
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

/// The problems of reading, a window of them.
pub(super) fn log(state: &State, theme: &Theme, room: usize) -> (String, Vec<Line<'static>>) {
    let problems = state
        .document
        .as_ref()
        .map_or(&[][..], |document| &document.recording.problems);
    let name = format!(" Problems of reading {} ", problems.len());
    let trouble = state.recovery.takes.banner.iter().map(|trouble| {
        let text = SafeText::single_line(trouble, 200);
        Line::from(theme.spans(&text, theme.error))
    });
    if problems.is_empty() {
        let words = Span::styled("everything could be read", theme.dim);
        return (name, trouble.chain([Line::from(words)]).collect());
    }
    let top = state.tops.overlay.min(problems.len().saturating_sub(room));
    let width = usize::from(state.size.0).saturating_sub(6 + 16).max(1);
    let lines = problems.iter().skip(top).take(room).flat_map(|problem| {
        let place = match state.lines.get(&problem.at) {
            Some(line) => format!("line {line:<10} "),
            None => format!("byte {:<10} ", problem.at),
        };
        let text = SafeText::single_line(&problem.kind.to_string(), 1000);
        let rows: Vec<_> = text.wrapped(width).collect();
        rows.into_iter().enumerate().map(move |(number, row)| {
            let before = match number {
                0 => Span::styled(place.clone(), theme.dim),
                _ => Span::raw(" ".repeat(place.len())),
            };
            let mut spans = vec![before];
            spans.extend(theme.spans(&row, theme.text));
            Line::from(spans)
        })
    });
    (name, trouble.chain(lines).collect())
}

/// The table of tool health. The frame and the space before each row take five columns with what is
/// left free beside it.
fn health(
    tally: &Health,
    sessions: usize,
    width: u16,
    theme: &Theme,
) -> (String, Vec<Line<'static>>) {
    let name = match (tally.sessions, sessions) {
        (1, 1) => " Tool health ".to_owned(),
        (counted, sessions) if counted == sessions => {
            format!(" Tool health of {sessions} sessions ")
        }
        (counted, _) => format!(" Tool health: {counted} of {sessions} sessions are checked "),
    };
    let Table { heading, rows } = Table::new(tally, usize::from(width.saturating_sub(5)));
    let mut lines = vec![Line::from(Span::styled(heading, theme.title))];
    for row in rows {
        let style = if row.is_open { theme.error } else { theme.text };
        let mut spans = theme.spans(&row.name, style);
        spans.push(Span::styled(row.figures, style));
        lines.push(Line::from(spans));
        let details = row.details.into_iter();
        lines.extend(details.map(|detail| Line::from(Span::styled(detail, theme.dim))));
    }
    (name, lines)
}
