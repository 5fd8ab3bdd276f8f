//! The lower row: the finding under the cursor or a notice, and the keys that fit.

use super::{rect, sign};
use crate::safe_text::SafeText;
use crate::tui::keymap;
use crate::tui::state::State;
use crate::tui::theme::Theme;
use crate::tui::update::context_of;
use ratatui::Frame;
use ratatui::text::{Line, Span};

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: &Theme) {
    let area = rect(state.layout.footer);
    let width = usize::from(area.width);
    let said = said(state, theme, width * 6 / 10);
    let said = Line::from(said);
    let mut room = width.saturating_sub(said.width() + 2);
    let mut keys: Vec<Span<'static>> = Vec::new();
    for binding in keymap::footer(context_of(state)) {
        let (key, words) = (binding.first_key(), binding.footer.1);
        let needed = key.len() + words.len() + 3;
        if needed > room {
            continue;
        }
        room -= needed;
        keys.push(Span::styled(key, theme.key));
        keys.push(Span::raw(format!(" {words}  ")));
    }
    let keys = Line::from(keys);
    let start = area
        .width
        .saturating_sub(u16::try_from(keys.width()).unwrap_or(area.width));
    frame
        .buffer_mut()
        .set_line(area.x, area.y, &said, area.width);
    frame
        .buffer_mut()
        .set_line(area.x + start, area.y, &keys, area.width - start);
}

fn said(state: &State, theme: &Theme, room: usize) -> Vec<Span<'static>> {
    let mut spans = vec![Span::raw(" ")];
    if let Some(notice) = &state.notice {
        spans.extend(theme.spans(&SafeText::single_line(notice, room), theme.warning));
        return spans;
    }
    if let Some((severity, rule, message)) = &state.frame.finding {
        spans.push(sign(theme, *severity));
        spans.push(Span::styled(format!(" {rule}  "), theme.title));
        let left = room.saturating_sub(rule.len() + 5);
        spans.extend(theme.spans(&message.truncated(left), theme.text));
    }
    spans
}
