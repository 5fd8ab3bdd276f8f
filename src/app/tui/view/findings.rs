//! The findings pane: everything that is wrong with the session.

use super::{Row, row_style, title};
use crate::tui::state::layout::Pane;
use crate::tui::state::{Stage, State};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;

/// Cells of the column of rules.
const RULE: usize = 20;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let total = state
        .checked()
        .map_or(0, |checked| checked.findings().len());
    let has_keys = state.focus == Pane::Findings;
    let block = theme.pane(title(format!(" Findings {total} ")), has_keys);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    if total == 0 {
        let words = match state.stage {
            Stage::Ready => "nothing is broken in this session",
            _ => "not known yet",
        };
        let row = Row {
            left: vec![Span::styled(words, theme.dim)],
            right: Vec::new(),
            style: Style::new(),
        };
        row.draw(frame, inside, 0);
    }
    for (at, finding) in state.frame.findings.iter().enumerate() {
        let turn = finding
            .turn
            .map_or(String::new(), |turn| format!("turn {turn}"));
        let (sign, style, settled) = match theme.sign(finding.severity) {
            sign if finding.is_settled => (sign.style(theme.dim), theme.dim, "settled  "),
            sign => (sign, theme.text, ""),
        };
        let rule = format!(" {:<RULE$} ", finding.rule);
        let mut left = vec![sign, Span::styled(rule, style)];
        left.extend(theme.spans(&finding.message, style));
        let row = Row {
            left,
            right: vec![Span::styled(format!("{settled}{turn}"), theme.dim)],
            style: row_style(theme, finding.has_cursor, has_keys),
        };
        row.draw(frame, inside, at);
    }
}
