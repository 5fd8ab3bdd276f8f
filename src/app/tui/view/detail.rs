//! The detail pane: one item in full.

use super::Row;
use crate::tui::live::reply;
use crate::tui::popup;
use crate::tui::state::detail::Mode;
use crate::tui::state::document::Extent;
use crate::tui::state::layout::Pane;
use crate::tui::state::{Follow, State};
use crate::tui::text::DetailRow;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use retake_core::safe_text::SafeText;
use retake_live::search::Needle;

pub(super) fn draw(frame: &mut Frame<'_>, area: Rect, state: &State, theme: &Theme) {
    let streaming = state.live.streaming.as_ref();
    let streaming = streaming.filter(|_| state.follow == Follow::On);
    let reply = streaming.map_or_else(Vec::new, reply::lines);
    let block = theme.pane(
        Line::from(name(state, !reply.is_empty())),
        state.focus == Pane::Detail,
    );
    let inside = block.inner(area);
    frame.render_widget(block, area);
    if state.document.is_none() {
        Row::of(Span::styled("reading the file", theme.dim)).draw(frame, inside, 0);
        return;
    }
    if !reply.is_empty() {
        super::live::reply(frame, inside, &reply, theme);
        return;
    }
    let detail = &state.detail;
    let (width, height) = (usize::from(inside.width), usize::from(inside.height));
    let rows = detail.scroll.window(&detail.lines, width, height);
    for (at, (row, row_area)) in rows.iter().zip(popup::rows(inside)).enumerate() {
        row.draw(frame, row_area, theme);
        if let Some(needle) = &state.needle {
            highlight(frame, inside, at, row, needle, theme);
        }
    }
}

/// Shows where the text stands that is searched for. A hit that reaches over pieces or rows
/// is shown by neither.
fn highlight(
    frame: &mut Frame<'_>,
    area: Rect,
    at: usize,
    row: &DetailRow,
    needle: &Needle,
    theme: &Theme,
) {
    let mut before = row.indent;
    for (_, text) in &row.pieces {
        let plain = text.as_plain();
        for hit in needle.ranges_in(plain) {
            let from = before + SafeText::from_str(&plain[..hit.start]).width();
            let width = SafeText::from_str(&plain[hit]).width();
            let cells = [from, at, width].map(|cells| u16::try_from(cells).unwrap_or(u16::MAX));
            let [x, y, width] = cells;
            let hit = Rect::new(area.x.saturating_add(x), area.y.saturating_add(y), width, 1);
            let hit = hit.intersection(area);
            frame.buffer_mut().set_style(hit, theme.matched);
        }
        before += text.width();
    }
}

fn name(state: &State, is_reply: bool) -> String {
    if is_reply {
        return " Reply, as it comes ".to_owned();
    }
    let Some(item) = state.item() else {
        return " Item ".to_owned();
    };
    let is_numbered = state
        .document
        .as_ref()
        .is_some_and(|document| document.extent != Extent::Tail);
    let number = if is_numbered {
        format!(" {}", state.item + 1)
    } else {
        String::new()
    };
    let mode = match state.detail.mode {
        Mode::Pretty => "",
        Mode::Unescaped => "  unescaped",
        Mode::Raw => "  raw",
    };
    format!(" Item{number}  {}{mode} ", item.kind.word())
}
