//! The turns pane: turns, and items below those that are unfolded.

use super::items::{mark, policy, standing};
use super::{Row, counts, row_style, title};
use crate::tui::state::State;
use crate::tui::state::frame::{ItemRow, TreeRow, TurnRow};
use crate::tui::state::layout::Pane;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;
use retake_core::session::Speaker;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let has_keys = state.focus == Pane::Turns;
    let mut name = " Turns ".to_owned();
    if let Some(shown) = &state.shown {
        let items = match shown.items.len() {
            1 => "1 item".to_owned(),
            items => format!("{items} items"),
        };
        let written = state.filter_bar.applied();
        name = match (state.only_marked, written.is_empty()) {
            (true, _) => format!(" Turns: {items} marked "),
            (false, true) => format!(" Turns: {items} shown "),
            (false, false) => {
                let room = usize::from(area.width)
                    .saturating_sub(items.len() + 14)
                    .max(4);
                let written = SafeText::single_line(written, room);
                format!(" Turns: {items} of f {} ", written.as_plain())
            }
        };
    }
    let block = theme.pane(title(name), has_keys);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let widest = state.session().map_or(1, |session| session.turns.len());
    let digits = widest.to_string().len();
    for (at, row) in state.frame.turns.iter().enumerate() {
        let row = match row {
            TreeRow::Turn(turn) => turn_row(turn, digits, theme, has_keys),
            TreeRow::Item(item) => item_row(item, digits, theme, has_keys),
        };
        row.draw(frame, inside, at);
    }
    super::live::coming(frame, inside, &state.frame.reply, 1, theme);
}

fn turn_row(turn: &TurnRow, digits: usize, theme: &Theme, has_keys: bool) -> Row {
    let glyphs = &theme.glyphs;
    let fold = match (turn.is_unfolded, turn.is_current) {
        (true, _) => glyphs.unfolded,
        (false, true) => glyphs.cursor,
        (false, false) => " ",
    };
    let number = turn
        .number
        .map_or(String::new(), |number| number.to_string());
    let style = match turn.speaker {
        Speaker::System | Speaker::User => theme.user,
        Speaker::Model => theme.assistant,
        Speaker::File => theme.dim,
    };
    let mut left = vec![
        Span::raw(fold),
        Span::styled(format!("{number:>digits$} "), theme.dim),
        Span::styled(format!("{:<9.10} ", turn.word), style),
    ];
    left.extend(theme.spans(&turn.preview, theme.dim));
    let mut right = counts(theme, turn.counts);
    if turn.is_decided {
        right.splice(0..0, policy(theme));
    }
    Row {
        left,
        right,
        style: row_style(theme, turn.has_cursor, has_keys),
    }
}

fn item_row(item: &ItemRow, digits: usize, theme: &Theme, has_keys: bool) -> Row {
    let mut left = vec![
        Span::raw(" ".repeat(digits + 1)),
        mark(item, theme),
        standing(item, theme),
    ];
    left.push(Span::styled(
        format!(" {:<9}", item.kind.word()),
        theme.kind(item.kind),
    ));
    let text = if item.tool.is_empty() {
        &item.preview
    } else {
        &item.tool
    };
    left.push(Span::raw(" "));
    left.extend(theme.spans(text, theme.text));
    Row {
        left,
        right: Vec::new(),
        style: row_style(theme, item.has_cursor, has_keys),
    }
}
