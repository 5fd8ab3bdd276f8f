//! The detail pane: one item in full.

use super::Row;
use crate::tui::live::reply;
use crate::tui::popup;
use crate::tui::state::detail::Mode;
use crate::tui::state::document::Extent;
use crate::tui::state::layout::Pane;
use crate::tui::state::{Follow, State};
use crate::tui::text::{highlight, plain_of, row_matches};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
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
    let block = match position(state, inside).filter(|_| reply.is_empty()) {
        Some(words) => block.title_bottom(Line::from(words).right_aligned()),
        None => block,
    };
    frame.render_widget(block, area);
    if state.document.is_none() {
        Row::of(Span::styled("reading the file", theme.dim)).draw(frame, inside, 0, theme);
        return;
    }
    if state.has_no_match() {
        return;
    }
    if !reply.is_empty() {
        super::live::reply(frame, inside, &reply, theme);
        return;
    }
    let detail = &state.detail;
    let (width, height) = (usize::from(inside.width), usize::from(inside.height));
    let rows = detail.scroll.window(&detail.lines, width, height);
    for (row, row_area) in rows.iter().zip(popup::rows(inside)) {
        row.draw(frame, row_area, theme);
    }
    if let Some(needle) = state.highlighted() {
        highlight_lines(frame, inside, state, needle, theme);
    }
}

/// Which lines are seen: `12-60/340`; `None` where all are.
fn position(state: &State, area: Rect) -> Option<String> {
    let detail = &state.detail;
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    let (first, all) = (detail.scroll.line, detail.lines.len());
    let mut rows = height + detail.scroll.row;
    let lines = detail.lines.get(first..).unwrap_or_default();
    let seen = lines.iter().take_while(|line| {
        let is_seen = rows > 0;
        rows = rows.saturating_sub(line.rows(width).len());
        is_seen
    });
    let last = first + seen.count();
    let is_all = first == 0 && detail.scroll.row == 0 && last == all;
    let more = if detail.left_out > 0 { "+" } else { "" };
    (!is_all && height > 0).then(|| format!(" {}-{last}/{all}{more} ", first + 1))
}

/// Sets apart where the text is that is searched for, line by line: rows break it anywhere.
fn highlight_lines(
    frame: &mut Frame<'_>,
    area: Rect,
    state: &State,
    needle: &Needle,
    theme: &Theme,
) {
    let detail = &state.detail;
    let has_found = state.hit.is_some_and(|hit| hit.place == state.place());
    let (width, height) = (usize::from(area.width), usize::from(area.height));
    // Rows above the window come first: it may begin within a line.
    let above = detail.scroll.row;
    let mut top = 0;
    let lines = detail.lines.iter().enumerate().skip(detail.scroll.line);
    for (number, line) in lines {
        if top >= height + above {
            return;
        }
        let rows = line.rows(width);
        let texts: Vec<String> = rows.iter().map(|row| plain_of(&row.pieces)).collect();
        let is_wanted = |nth| has_found && detail.found == Some((number, nth));
        for (nth, found) in row_matches(&texts, needle).into_iter().enumerate() {
            let style = match is_wanted(nth) {
                true => theme.matched,
                false => theme.matched_elsewhere,
            };
            for (row, range) in found.parts() {
                let at = (top + row)
                    .checked_sub(above)
                    .and_then(|at| u16::try_from(at).ok());
                let Some(at) = at.filter(|at| *at < area.height) else {
                    continue;
                };
                let row_area = Rect {
                    y: area.y + at,
                    height: 1,
                    ..area
                };
                highlight(
                    frame,
                    row_area,
                    (rows[row].indent, &texts[row]),
                    range,
                    style,
                );
            }
        }
        top += rows.len();
    }
}

fn name(state: &State, is_reply: bool) -> String {
    if is_reply {
        return " Reply, streaming ".to_owned();
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
