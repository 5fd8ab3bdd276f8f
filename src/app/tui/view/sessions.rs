//! The sessions pane: what a file with several runs holds.

use super::{Row, counts, row_style, title};
use crate::tui::state::State;
use crate::tui::state::layout::Pane;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let total = state
        .document
        .as_ref()
        .map_or(0, |document| document.recording.sessions.len());
    let has_keys = state.focus == Pane::Sessions;
    let block = theme.pane(title(format!(" Sessions {total} ")), has_keys);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let digits = total.to_string().len();
    for (at, session) in state.frame.sessions.iter().enumerate() {
        let open = if session.is_open {
            theme.glyphs.cursor
        } else {
            " "
        };
        let mut left = vec![
            Span::raw(open),
            Span::styled(format!("{:>digits$}  ", session.number), theme.dim),
        ];
        let style = if session.is_active {
            theme.text
        } else {
            theme.dim
        };
        left.extend(theme.spans(&session.label, style));
        left.push(Span::raw("  "));
        left.extend(theme.spans(&session.words, theme.dim));
        let mut right = session
            .counts
            .map_or_else(Vec::new, |found| counts(theme, found));
        if !session.is_active {
            right.push(Span::styled("  not active", theme.dim));
        }
        right.push(Span::styled(
            format!("  {} turns", session.turns),
            theme.dim,
        ));
        let row = Row {
            left,
            right,
            style: row_style(theme, session.has_cursor, has_keys),
        };
        row.draw(frame, inside, at);
    }
}
