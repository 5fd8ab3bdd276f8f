//! What the screen looks like: the state in, cells out. One file per pane.

mod detail;
mod exchange;
mod footer;
mod header;
mod live;
mod panes;

use super::layer::Areas;
use super::popup::write;
use super::state::State;
use super::state::document::Counts;
use super::state::layout::{Area, LEAST, Pane};
use super::theme::Theme;
use super::transcript;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::{Line, Span};
use ratatui::widgets::Clear;
use retake_core::safe_text::SafeText;

/// Fits the state to the frame and draws it. A terminal may have another size by now than the last event said.
pub fn fit(frame: &mut Frame<'_>, state: &mut State, theme: &Theme) {
    let area = frame.area();
    prepare(state, (area.width, area.height));
    draw(frame, state, theme);
}

/// Prepares the state for a screen of this size.
pub(super) fn prepare(state: &mut State, size: (u16, u16)) {
    state.size = size;
    state.message_rows = footer::message_rows(state);
    state.prepare();
}

/// Draws the screen, of a state that is prepared for this size.
pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: &Theme) {
    let size = frame.area();
    if state.layout.panes.is_empty() || size.width < LEAST.0 || size.height < LEAST.1 {
        too_small(frame, size);
        return;
    }
    header::draw(frame, state, theme);
    for (pane, area) in &state.layout.panes {
        let area = rect(*area).intersection(size);
        match pane {
            Pane::Turns if state.transcript.is_on => {
                transcript::draw::draw(frame, area, state, theme);
                panes::no_match(frame, area, state, theme);
                if let Some(area) = state.layout.area(Pane::Turns) {
                    live::reply_below(frame, area, state, theme);
                }
            }
            Pane::Turns => panes::turns(frame, area, state, theme),
            Pane::Items => panes::items(frame, area, state, theme),
            Pane::Detail => detail::draw(frame, area, state, theme),
            Pane::Findings => panes::findings(frame, area, state, theme),
            Pane::Sessions => panes::sessions(frame, area, state, theme),
        }
    }
    footer::draw(frame, state, theme);
    state
        .layers
        .view(frame, Areas::below(0, size), state, theme);
    exchange::warn(frame, state, theme);
}

pub(super) fn too_small(frame: &mut Frame<'_>, size: Rect) {
    let text = format!(
        "too small: retake needs {}x{}, this is {}x{}",
        LEAST.0, LEAST.1, size.width, size.height
    );
    let width = usize::from(size.width).max(1);
    for (row, part) in text.as_bytes().chunks(width).enumerate() {
        let Ok(row) = u16::try_from(row) else { return };
        if row < size.height {
            let part = String::from_utf8_lossy(part);
            frame
                .buffer_mut()
                .set_string(size.x, size.y + row, part, Style::new());
        }
    }
}

fn rect(area: Area) -> Rect {
    Rect::new(area.x, area.y, area.width, area.height)
}

/// Spans that fill a row from the left, and others that end at its right edge. What has no room is left out:
/// first on the left.
struct Row {
    left: Vec<Span<'static>>,
    right: Vec<Span<'static>>,
    style: Style,
}

impl Row {
    /// A row of one span.
    fn of(span: Span<'static>) -> Self {
        Self::filled(vec![span])
    }

    /// A row with nothing at its right edge.
    fn filled(left: Vec<Span<'static>>) -> Self {
        Self {
            left,
            right: Vec::new(),
            style: Style::new(),
        }
    }

    fn draw(self, frame: &mut Frame<'_>, area: Rect, at: usize, theme: &Theme) {
        let Some(y) = u16::try_from(at).ok().map(|at| area.y + at) else {
            return;
        };
        if y >= area.bottom() || area.width == 0 {
            return;
        }
        let whole = Rect::new(area.x, y, area.width, 1);
        let right = Line::from(self.right);
        let needed = u16::try_from(right.width()).unwrap_or(u16::MAX);
        let room = if needed == 0 || needed + 2 > area.width {
            area.width
        } else {
            let right_area = Rect::new(area.right() - needed, y, needed, 1);
            frame.buffer_mut().set_line(right_area.x, y, &right, needed);
            area.width - needed - 1
        };
        let left = Rect {
            width: room,
            ..whole
        };
        write(frame, left, self.left, Style::new(), theme);
        frame.buffer_mut().set_style(whole, self.style);
    }
}

/// How many columns spans take.
fn cells(spans: &[Span<'_>]) -> usize {
    spans.iter().map(Span::width).sum()
}

/// Most rows of a message that does not fit beside the keys.
const MESSAGE: usize = 8;

/// The rows of a message above the footer of a screen of this width.
pub(super) fn message_lines(text: &SafeText, width: u16) -> impl Iterator<Item = SafeText> + '_ {
    let room = usize::from(width).saturating_sub(2).max(1);
    text.wrapped(room).take(MESSAGE)
}

/// Draws a message that has no room beside the keys, in full, in rows of its own over the last
/// row of the screen.
pub(super) fn message_above(
    frame: &mut Frame<'_>,
    footer: Rect,
    text: &SafeText,
    style: Style,
    theme: &Theme,
) {
    let rows: Vec<SafeText> = message_lines(text, footer.width).collect();
    let area = cleared_above(frame, footer, rows.len());
    for (at, row) in rows.iter().enumerate() {
        let mut left = vec![Span::raw(" ")];
        left.extend(theme.spans(row, style));
        Row::filled(left).draw(frame, area, at, theme);
    }
}

/// So many rows above the footer, as far as there are any, emptied.
fn cleared_above(frame: &mut Frame<'_>, footer: Rect, rows: usize) -> Rect {
    let height = u16::try_from(rows).unwrap_or(0).min(footer.y);
    let area = Rect {
        y: footer.y - height,
        height,
        ..footer
    };
    frame.render_widget(Clear, area);
    area
}

fn row_style(theme: &Theme, has_cursor: bool, has_keys: bool) -> Style {
    match (has_cursor, has_keys) {
        (true, true) => theme.selected,
        (true, false) => theme.selected_elsewhere,
        (false, _) => Style::new(),
    }
}

/// Counts as signs with numbers, the worst first; what is zero is left out.
fn counts(theme: &Theme, counts: Counts) -> Vec<Span<'static>> {
    let glyphs = &theme.glyphs;
    let parts = [
        (counts.errors, glyphs.error, theme.error),
        (counts.warnings, glyphs.warning, theme.warning),
        (counts.infos, glyphs.info, theme.info),
        (counts.fine, glyphs.ok, theme.ok),
    ];
    let mut spans = Vec::new();
    for (count, glyph, style) in parts {
        if count > 0 {
            if !spans.is_empty() {
                spans.push(Span::raw(" "));
            }
            spans.push(Span::styled(format!("{glyph}{count}"), style));
        }
    }
    spans
}
