//! From the rows of the transcript to cells: the bar of the cursor at the left, the scrollbar at the right.

use super::block::RowKind;
use crate::tui::state::State;
use crate::tui::state::layout::Pane;
use crate::tui::text::{highlight, plain_of, spans_of};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::{Modifier, Style};
use ratatui::text::{Line, Span};
use retake_core::rules::Severity;

pub(in crate::tui) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let transcript = &state.transcript;
    let has_keys = state.focus == Pane::Turns;
    let text = Rect {
        x: area.x + 1,
        width: area.width.saturating_sub(3),
        ..area
    };
    let marked = |item: usize| {
        let item = state.session().and_then(|session| session.items.get(item));
        item.map_or(" ", |item| {
            let at = item.span.start;
            match (state.marks.contains(&at), state.recovery.takes.note(at)) {
                (true, _) => theme.glyphs.marked,
                (false, Some(_)) => theme.glyphs.note,
                (false, None) => " ",
            }
        })
    };
    for (number, (item, row)) in transcript.rows.iter().enumerate() {
        let is_own = !matches!(row.kind, RowKind::Gap | RowKind::Head);
        let has_cursor = *item == state.item && is_own;
        let style = match (has_cursor, row.kind, has_keys) {
            (true, RowKind::Title, true) => theme.selected,
            (true, RowKind::Title, false) => theme.selected_elsewhere,
            _ => Style::new(),
        };
        let mut left = Vec::new();
        match row.kind {
            RowKind::Title => {
                left.push(Span::styled(marked(*item), theme.marked));
                left.push(Span::raw(" ".repeat(row.indent.saturating_sub(1))));
            }
            RowKind::Gap | RowKind::Head | RowKind::Body => {
                left.push(Span::raw(" ".repeat(row.indent)));
            }
        }
        left.extend(spans_of(&row.left, theme));
        let Ok(at) = u16::try_from(number) else {
            return;
        };
        let whole = Rect::new(text.x, text.y + at, text.width, 1).intersection(area);
        let right = Line::from(spans_of(&row.right, theme));
        let needed = u16::try_from(right.width()).unwrap_or(u16::MAX);
        let left = Line::from(left);
        let used = u16::try_from(left.width()).unwrap_or(u16::MAX);
        let buffer = frame.buffer_mut();
        buffer.set_line(whole.x, whole.y, &left, whole.width);
        if needed > 0 && needed.saturating_add(used) <= whole.width {
            buffer.set_line(whole.right() - needed, whole.y, &right, needed);
        }
        buffer.set_style(whole, style);
        let letters = plain_of(&row.left);
        let own = transcript.highlights.iter().filter(|it| it.row == number);
        for found in own {
            let style = match found.is_current {
                true => theme.matched,
                false => theme.matched_elsewhere,
            };
            highlight(frame, whole, (row.indent, &letters), &found.range, style);
        }
        if has_cursor {
            let bar = Rect::new(area.x, area.y + at, 1, 1).intersection(area);
            frame.render_widget(Span::styled(theme.glyphs.edge, theme.border_focused), bar);
        }
    }
    let items = state.session().map_or(0, |session| session.items.len());
    let compactions = state.totals().map_or(&[][..], |it| &it.compactions);
    let height = usize::from(area.height);
    let cells = transcript.overview(items, state.checked(), compactions, height);
    for (y, cell) in (area.y..).zip(cells) {
        let mut span = match (cell.worst, cell.is_compaction, cell.is_seen) {
            (Some(severity @ (Severity::Error | Severity::Warning)), _, _) => theme.sign(severity),
            (_, true, _) => Span::styled(theme.glyphs.marked, theme.info),
            (_, false, true) => Span::styled(theme.glyphs.thumb, theme.dim),
            (_, false, false) => Span::styled(theme.glyphs.vertical, theme.dim),
        };
        // A mark would hide where the window is.
        if cell.is_seen && span.content != theme.glyphs.thumb {
            span.style = span.style.add_modifier(Modifier::REVERSED);
        }
        let at = Rect::new(area.right().saturating_sub(1), y, 1, 1).intersection(area);
        frame.render_widget(span, at);
    }
}
