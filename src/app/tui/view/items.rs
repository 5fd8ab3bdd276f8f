//! The items pane: what happened in one turn.

use super::{Row, cells, row_style, title};
use crate::tui::state::State;
use crate::tui::state::document::Extent;
use crate::tui::state::frame::ItemRow;
use crate::tui::state::layout::Pane;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;

/// Cells of the column of tools, by the width of the pane.
fn tool_cells(width: u16) -> usize {
    usize::from(width / 3).clamp(8, 24)
}

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let has_keys = state.focus == Pane::Items;
    let is_numbered = state
        .document
        .as_ref()
        .is_some_and(|document| document.extent != Extent::Tail);
    let name = match (state.session(), is_numbered) {
        (Some(_), true) => format!(" Turn {} ", state.turn() + 1),
        (Some(_), false) => " Turn ".to_owned(),
        (None, _) => " Items ".to_owned(),
    };
    let block = theme.pane(title(name), has_keys);
    let inside = block.inner(area);
    frame.render_widget(block, area);
    let items = &state.frame.items;
    let kinds = items.iter().map(|item| item.kind.word().len()).max();
    for (at, item) in items.iter().enumerate() {
        let row = row(item, kinds.unwrap_or(0), inside.width, theme, has_keys);
        row.draw(frame, inside, at);
    }
    let is_last = state
        .session()
        .is_none_or(|session| state.turn() + 1 >= session.turns.len());
    if is_last {
        let most = usize::from(inside.height / 2);
        super::live::coming(frame, inside, &state.frame.reply, most, theme);
    }
}

/// A row of the list; `kinds` is the width of the column of kinds.
fn row(item: &ItemRow, kinds: usize, width: u16, theme: &Theme, has_keys: bool) -> Row {
    let glyphs = &theme.glyphs;
    let mut left = vec![mark(item, theme), standing(item, theme)];
    left.push(Span::styled(
        format!(" {:<kinds$} ", item.kind.word()),
        theme.kind(item.kind),
    ));
    let mut right = match (item.finding, item.partner) {
        _ if item.is_settled => vec![Span::styled("settled", theme.dim)],
        (Some((severity, rule)), _) => {
            vec![Span::styled(rule, theme.severity(severity).1)]
        }
        (None, Some(output)) => vec![Span::styled(
            format!("{} output {output}", glyphs.pair),
            theme.dim,
        )],
        (None, None) => Vec::new(),
    };
    if item.is_decided {
        right.splice(0..0, policy(theme));
    }
    if !item.tool.is_empty() {
        let column = tool_cells(width);
        let room = usize::from(width).saturating_sub(cells(&left) + cells(&right) + 1);
        let tool = item.tool.truncated(column.min(room));
        let rest = column.saturating_sub(tool.width());
        left.extend(theme.spans(&tool, theme.text));
        left.push(Span::raw(" ".repeat(rest + 1)));
    }
    left.extend(theme.spans(&item.preview, theme.dim));
    Row {
        left,
        right,
        style: row_style(theme, item.has_cursor, has_keys),
    }
}

/// What says that a policy did something here; what it did stands in the item.
pub(super) fn policy(theme: &Theme) -> [Span<'static>; 2] {
    [Span::styled("policy", theme.marked), Span::raw(" ")]
}

/// What the operator left on an item: a mark, or a note.
pub(super) fn mark(item: &ItemRow, theme: &Theme) -> Span<'static> {
    let glyph = match (item.is_marked, item.has_note) {
        (true, _) => theme.glyphs.marked,
        (false, true) => theme.glyphs.note,
        (false, false) => " ",
    };
    Span::styled(glyph, theme.marked)
}

pub(super) fn standing(item: &ItemRow, theme: &Theme) -> Span<'static> {
    match item.finding {
        Some((severity, _)) if item.is_settled => theme.sign(severity).style(theme.dim),
        Some((severity, _)) => theme.sign(severity),
        None if item.is_fine => Span::styled(theme.glyphs.ok, theme.ok),
        None => Span::raw(" "),
    }
}
