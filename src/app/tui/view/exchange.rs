//! An exchange of a proxy in the header and the footer of the debugger.

use crate::tui::keymap::hints::Hint;
use crate::tui::keymap::{Command, KEYMAP};
use crate::tui::proxy::words;
use crate::tui::state::State;
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::{Line, Span};
use ratatui::widgets::{Clear, Widget};
use retake_core::exchange::ExchangePhase;
use retake_core::safe_text::SafeText;

/// Most cells of the client's name.
const CLIENT: usize = 32;
/// Most cells of who did what about it.
const DECIDED: usize = 60;

/// How long the exchange waits, or what else it is doing.
pub(super) fn waits(state: &State, theme: &Theme) -> Option<Vec<Span<'static>>> {
    let open = state.exchange.as_ref().filter(|open| !open.is_gone())?;
    let words = match open.holding() {
        Some(holding) => format!("held: {}", words::countdown(holding, open.wall_ms)),
        None => words::phase(&open.seen, open.wall_ms),
    };
    let style = match open.seen.phase {
        ExchangePhase::Held(_) => theme.warning,
        ExchangePhase::Ended(_) => theme.dim,
        _ => theme.info,
    };
    Some(theme.spans(&SafeText::single_line(&words, CLIENT), style))
}

/// What else is said of the exchange in the header: whose it is, which view is shown.
pub(super) fn facts(state: &State, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let Some(open) = &state.exchange else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    let client = SafeText::single_line(&open.seen.client, CLIENT);
    if !client.is_empty() {
        facts.push(theme.spans(&client, theme.text));
    }
    if open.is_seat || state.has_two_sides() {
        let is_agents = match open.is_seat {
            true => open.is_agents_view,
            false => state.session == 0,
        };
        let view = match is_agents {
            true => "agent sees",
            false => "provider sees",
        };
        // What is over has other hints in its footer.
        let key = if open.is_seat { "" } else { " (v)" };
        facts.push(vec![Span::styled(format!("{view}{key}"), theme.dim)]);
    }
    if let Some(decided) = open.decided.as_ref().filter(|_| !open.is_seat) {
        let words = SafeText::single_line(decided, DECIDED);
        facts.push(theme.spans(&words, theme.marked));
    }
    facts
}

/// How many cells its number and the time that is left take: they are seen beside what the run does,
/// however long that is.
pub(super) fn reserved(state: &State) -> usize {
    let held = state.exchange.as_ref().and_then(|open| {
        let words = words::countdown(open.holding()?, open.wall_ms);
        Some("held: ".len() + words.len() + state.name.len() + 4)
    });
    held.unwrap_or(0)
}

/// Warns whoever is deciding of the time that is left, above whatever lies there.
pub(super) fn warn(frame: &mut Frame<'_>, state: &State, theme: &Theme) {
    let Some(words) = hurry(state) else { return };
    let area = Rect {
        height: 1,
        ..frame.area()
    };
    let words = SafeText::single_line(&words, usize::from(area.width).saturating_sub(2));
    let mut spans = vec![Span::raw(" ")];
    spans.extend(theme.spans(&words, theme.error));
    Clear.render(area, frame.buffer_mut());
    Line::from(spans).render(area, frame.buffer_mut());
}

/// What whoever writes words for a decision has to know of its time.
fn hurry(state: &State) -> Option<String> {
    let open = state.exchange.as_ref().filter(|_| state.has_overlay())?;
    if open.is_settled() {
        let why = match open.is_gone() {
            true => "the client left".to_owned(),
            false => words::outcome(&open.seen, None),
        };
        return Some(format!(
            "too late: {why}; esc leaves, and the text is kept as a draft"
        ));
    }
    let left = open.hurry()?;
    Some(format!(
        "{left} s left: then it is released unchanged, and your text is kept as a draft"
    ))
}

/// What is in place of what the run does, once nobody waits for it.
pub(super) fn gone(state: &State, theme: &Theme) -> Option<Vec<Span<'static>>> {
    let open = state.exchange.as_ref()?;
    let words = format!("{} client left", theme.glyphs.error);
    open.is_gone()
        .then(|| vec![Span::styled(words, theme.error)])
}

/// How many other exchanges wait.
pub(super) fn others(state: &State) -> Option<String> {
    let open = state.exchange.as_ref().filter(|open| open.others > 0)?;
    let word = if open.others == 1 {
        "exchange"
    } else {
        "exchanges"
    };
    Some(format!("{} more {word} held  ", open.others))
}

/// The keys that are left once the client is gone.
pub(super) fn hints(state: &State) -> Option<Vec<Hint>> {
    let open = state.exchange.as_ref()?;
    let left = [
        (Command::Close, "close"),
        (Command::SaveAs, "save as"),
        (Command::Help, "help"),
    ];
    let rows = left.iter().filter_map(|(command, words)| {
        let binding = KEYMAP.iter().find(|it| it.command == *command)?;
        Some((binding.first_key(), *words))
    });
    open.is_gone().then(|| rows.collect())
}
