//! The live run: what it does in the header, what holds it and the keys that settle that in the footer, the
//! reply that is on its way, the events.

use super::{Row, cells};
use crate::tui::keymap::hints::Hint;
use crate::tui::keymap::{Command, KEYMAP};
use crate::tui::live::reply::{self, ReplyPart};
use crate::tui::live::words;
use crate::tui::popup;
use crate::tui::state::State;
use crate::tui::state::layout::Area;
use crate::tui::state::preview::tool_of;
use crate::tui::text::{Line, Scroll};
use crate::tui::theme::Theme;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::style::Style;
use ratatui::text::Span;
use ratatui::widgets::Clear;
use retake_core::engine::Reason;
use retake_core::safe_text::SafeText;
use retake_core::session::Speaker;
use retake_core::session::ledger::Ending;
use retake_live::live::Phase;

/// What is beside the phase whenever the model is a script.
const SCRIPTED: &str = "scripted";
/// Least cells of the phase.
const LEAST: usize = 8;
/// Most cells of the phase.
const MOST: usize = 64;
/// Most cells of what holds a run.
const REASON: usize = 300;

/// What the run does, in at most `room` cells.
pub(super) fn status(state: &State, theme: &Theme, room: usize) -> Vec<Span<'static>> {
    let live = &state.live;
    let named = |reason: &Reason| {
        let place = live.reasons().iter().position(|known| known == reason);
        let item = place.and_then(|place| *live.places.get(place)?);
        let tool = state
            .session()
            .zip(item)
            .map_or("", |(session, item)| tool_of(session, item));
        words::reason(reason, tool)
    };
    let for_ms = state.now.saturating_sub(live.since);
    let scripted = match live.is_scripted() {
        true => vec![Span::styled(format!("[{SCRIPTED}]"), theme.warning)],
        false => Vec::new(),
    };
    let words = match words::phase(&live.phase, for_ms, live.streaming.is_some(), &named) {
        Some(words) => words,
        None if is_interrupted(state) => "interrupted".to_owned(),
        None => return scripted,
    };
    // What is shown may be another take than the one in which the run ended.
    let words = match (&live.phase, live.take.map(|take| take.0)) {
        (Phase::Ended(_), Some(take)) if take != state.recovery.takes.current => {
            format!("{} {words}", state.recovery.takes.named(take))
        }
        (Phase::Asking { .. }, _) if live.is_pausing => "pausing after this reply".to_owned(),
        (Phase::Running { .. }, _) if live.is_pausing => "pausing after these tools".to_owned(),
        _ => words,
    };
    let style = match &live.phase {
        Phase::Idle => theme.warning,
        Phase::Asking { .. } | Phase::Running { .. } => theme.ok,
        Phase::Waiting { .. } => theme.info,
        Phase::Paused { .. } => theme.warning,
        Phase::Ended(_) => theme.title,
    };
    let left = room.saturating_sub(cells(&scripted) + 4).clamp(LEAST, MOST);
    // Why an exchange is held is seen before that it is, which the time beside it says.
    let is_held = state.exchange.as_ref().is_some_and(|open| open.is_seat);
    let why = words.strip_prefix("paused: ");
    let why = why.filter(|_| is_held && words.chars().count() > left);
    let words = SafeText::single_line(why.unwrap_or(&words), left);
    let mut spans = vec![Span::styled(format!("{} ", theme.glyphs.run), style)];
    spans.extend(theme.spans(&words, style));
    if !scripted.is_empty() {
        spans.push(Span::raw("  "));
    }
    spans.extend(scripted);
    spans
}

/// Whether the history is of a run that retake was ended in: `c` goes on with it.
fn is_interrupted(state: &State) -> bool {
    let run = state.session().and_then(|session| session.run.as_ref());
    let agent = state.live.agent.as_ref();
    let is_known = agent.is_some_and(|agent| !agent.path.is_empty());
    let is_open = run.is_some_and(|run| run.ending.is_none());
    state.live.phase == Phase::Idle && is_known && is_open && state.exchange.is_none()
}

/// What the agent of a run is called that began here, not in a recording.
pub(super) fn agent_name(state: &State) -> Option<&str> {
    let live = &state.live;
    let agent = live.agent.as_ref()?;
    let is_of_run = !live.is_of_recording || state.recovery.takes.are_of_run();
    let is_own = live.has_news() && is_of_run && !agent.name.is_empty();
    is_own.then_some(agent.name.as_str())
}

/// The model, how many replies it has given, and the tokens.
pub(super) fn facts(state: &State, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let live = &state.live;
    let Some(agent) = &live.agent else {
        return Vec::new();
    };
    let mut facts = Vec::new();
    if let Some(session) = state.session().filter(|_| live.has_news()) {
        let turns = session.turns.iter();
        let replies = turns.filter(|turn| turn.speaker == Speaker::Model).count();
        let turns = match agent.max_turns {
            Some(most) => format!("reply {replies}/{most}"),
            None => format!("reply {replies}"),
        };
        facts.push(vec![Span::raw(turns)]);
    }
    facts.extend(words::tokens(&live.usage).map(|words| vec![Span::styled(words, theme.dim)]));
    // What the run does is marked as scripted already.
    let is_said = agent.is_scripted && agent.model == SCRIPTED;
    if !agent.model.is_empty() && !is_said {
        facts.push(theme.spans(&SafeText::single_line(&agent.model, 40), theme.text));
    }
    facts
}

/// What holds the run, where the cursor is on it.
pub(super) fn reason(state: &State) -> Option<SafeText> {
    let reason = state.live.reason_at(state.item)?;
    // A finding speaks for itself.
    let is_said = match reason {
        Reason::Fault { .. } => state.worst_here().is_some(),
        // The header says all that there is.
        Reason::Stepped => true,
        _ => false,
    };
    (!is_said).then(|| SafeText::single_line(&words::sentence(reason), REASON))
}

/// The finding that holds the run, in words, where the cursor is on it.
pub(super) fn fault(state: &State) -> Option<SafeText> {
    let reason = state.live.reason_at(state.item)?;
    let finding = state.worst_here()?;
    let words = format!("{}  {}", finding.rule.id, finding.message());
    matches!(reason, Reason::Fault { .. }).then(|| SafeText::single_line(&words, REASON))
}

/// A key of the run.
pub(super) struct LiveHint {
    pub(super) hint: Hint,
    /// Whether it is before what a finding offers.
    pub(super) is_first: bool,
}

/// The keys that settle what holds the run, or that command it.
pub(super) fn hints(state: &State) -> Vec<LiveHint> {
    let live = &state.live;
    let is_seat = state.exchange.as_ref().is_some_and(|open| open.is_seat);
    let abort = if is_seat { "cut" } else { "abort" };
    let go_on: &[(Command, &'static str)] = &[
        (Command::Continue, "continue"),
        (Command::StepRun, "step"),
        (Command::Abort, abort),
    ];
    let of = |rows: &[(Command, &'static str)], is_first| {
        let rows = rows.iter().filter_map(|(command, words)| {
            let binding = KEYMAP.iter().find(|it| it.command == *command)?;
            let hint = (binding.first_key(), *words);
            Some(LiveHint { hint, is_first })
        });
        rows.collect::<Vec<_>>()
    };
    let rows = match &live.phase {
        Phase::Idle if is_interrupted(state) => {
            return of(&[(Command::Continue, "continue")], true);
        }
        Phase::Idle => return Vec::new(),
        // The proxy goes on with it.
        Phase::Ended(_) if is_seat => return Vec::new(),
        Phase::Ended(Ending::Final) => return of(&[(Command::Continue, "next message")], false),
        Phase::Ended(_) => return of(&[(Command::Continue, "continue")], false),
        Phase::Waiting { .. } => {
            let rows = [(Command::Continue, "try now"), (Command::Abort, abort)];
            return of(&rows, true);
        }
        Phase::Asking { .. } | Phase::Running { .. } => {
            let pause = if live.is_pausing {
                "do not pause"
            } else {
                "pause"
            };
            let rows = [(Command::PauseRun, pause), (Command::Abort, abort)];
            return of(&rows, true);
        }
        Phase::Paused { .. } => match live.reason_at(state.item) {
            None => match live.reasons().first() {
                Some(Reason::Fault { .. }) => {
                    let rows = [(Command::Always, "release"), (Command::Abort, abort)];
                    return of(&rows, false);
                }
                Some(Reason::MayHaveRun { .. }) => return of(&go_on[2..], false),
                _ => return of(go_on, false),
            },
            Some(reason) => settling(reason),
        },
    };
    let is_first = !matches!(live.reason_at(state.item), Some(Reason::Fault { .. }));
    let mut hints = of(&rows, is_first);
    // A fault, and a call that may have run, hold the run until they are settled.
    let is_settled = !matches!(
        live.reason_at(state.item),
        Some(Reason::Fault { .. } | Reason::MayHaveRun { .. })
    );
    let go_on = if is_settled { go_on } else { &go_on[2..] };
    hints.extend(of(go_on, is_first));
    hints
}

fn settling(reason: &Reason) -> Vec<(Command, &'static str)> {
    match reason {
        Reason::Fault { .. } => vec![(Command::Always, "release")],
        Reason::Approval { .. } => vec![
            (Command::Recover("fallback"), "decide"),
            (Command::Recover("inject-error"), "reject"),
        ],
        Reason::AskOperator { .. } => vec![
            (Command::Recover("supply-output"), "output"),
            (Command::Recover("inject-error"), "error"),
        ],
        Reason::MayHaveRun { .. } => vec![
            (Command::Recover("supply-output"), "output"),
            (Command::Recover("retry"), "run again"),
            (Command::Recover("inject-error"), "error"),
        ],
        Reason::NothingSaid => vec![(Command::Recover("supply-output"), "first message")],
        Reason::Model { .. } => vec![(Command::Continue, "ask again")],
        Reason::Breakpoint { .. } | Reason::TurnLimit { .. } | Reason::Stepped => Vec::new(),
    }
}

/// Draws parts of the reply that is on its way in the last rows of an area.
pub(super) fn coming(
    frame: &mut Frame<'_>,
    area: Rect,
    parts: &[ReplyPart],
    most: usize,
    theme: &Theme,
) {
    let shown = parts.len().min(most).min(area.height.into());
    let Some(first) = usize::from(area.height).checked_sub(shown) else {
        return;
    };
    for (at, part) in (first..).zip(&parts[parts.len() - shown..]) {
        let mut left = vec![Span::styled(format!("{} ", theme.glyphs.more), theme.dim)];
        let kind = theme.kind(part.kind).patch(theme.dim);
        left.push(Span::styled(format!("{:<9} ", part.kind.word()), kind));
        if !part.tool.is_empty() {
            left.extend(theme.spans(&part.tool.truncated(24), theme.dim));
            left.push(Span::raw(" "));
        }
        let room = usize::from(area.width).saturating_sub(cells(&left));
        left.extend(theme.spans(&end_of(&part.tail, room), theme.dim));
        let row = Row {
            left,
            right: Vec::new(),
            style: Style::new(),
        };
        row.draw(frame, area, at, theme);
    }
}

/// Draws the end of a reply that is being received below the transcript.
pub(super) fn reply_below(frame: &mut Frame<'_>, area: Area, state: &State, theme: &Theme) {
    let Some(streaming) = &state.live.streaming else {
        return;
    };
    let rows = u16::try_from(state.coming_rows(area)).unwrap_or(area.height);
    let below = Rect::new(area.x, area.y + area.height - rows, area.width, rows);
    frame.render_widget(Clear, below);
    reply(frame, below, &reply::lines(streaming), theme);
}

/// The end of a text, as much of it as has room: what comes last is what is new.
fn end_of(text: &SafeText, room: usize) -> SafeText {
    let plain = text.as_plain();
    let mut from = plain.ceil_char_boundary(plain.len().saturating_sub(room));
    loop {
        let end = SafeText::single_line(&plain[from..], room.saturating_mul(2).max(1));
        if end.width() <= room || from >= plain.len() {
            return end;
        }
        from = plain.ceil_char_boundary(from + 1);
    }
}

/// Draws the reply that is on its way in full, its end in sight.
pub(super) fn reply(frame: &mut Frame<'_>, area: Rect, lines: &[Line], theme: &Theme) {
    let (width, height) = (usize::from(area.width).max(1), usize::from(area.height));
    let scroll = Scroll::end(lines, width, height);
    let window = scroll.window(lines, width, height);
    for (row, area) in window.iter().zip(popup::rows(area)) {
        row.draw(frame, area, theme);
    }
}
