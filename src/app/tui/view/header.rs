//! The upper row: file, format, model, size, what is wrong, the take.

use super::{Row, cells, counts, rect};
use crate::tui::state::document::Extent;
use crate::tui::state::layout::WIDE;
use crate::tui::state::{Follow, Stage, State};
use crate::tui::theme::Theme;
use crate::words::model_name;
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;

/// Least columns for the name of a take.
const ROOMY: u16 = 140;
/// Least columns for the findings of the other sessions.
const SPACIOUS: u16 = 120;
/// Least columns for findings beside what a run does.
const NARROW: u16 = 60;
/// The same where an exchange waits beside it.
const SEAT: u16 = 72;
/// Most cells of the file's name.
const NAME: usize = 40;
/// Most cells of what tells a session from the others.
const LABEL: usize = 24;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: &Theme) {
    let mut right = status(state, theme);
    match state.recovery.takes.current {
        0 if state.size.0 < WIDE => {}
        0 => {
            let label = state.recovery.takes.label();
            right.push(Span::styled(format!("   take {label}"), theme.dim));
        }
        current => {
            let label = match state.size.0 >= WIDE {
                true => state.recovery.takes.label(),
                false => current.to_string(),
            };
            right.push(Span::styled(format!("   take {label}"), theme.title));
            let name = state.recovery.takes.name();
            if state.size.0 >= ROOMY && !name.is_empty() {
                right.push(Span::raw("  "));
                right.extend(theme.spans(&SafeText::single_line(name, LABEL), theme.text));
            }
        }
    }
    right.push(Span::raw(" "));
    let room = usize::from(state.size.0).saturating_sub(cells(&right) + 1);
    let mut left = vec![Span::styled(" retake", theme.title)];
    let own = super::exchange::reserved(state);
    let space = room.saturating_sub(cells(&left) + 2 + own);
    let live = super::exchange::gone(state, theme);
    let live = live.unwrap_or_else(|| super::live::status(state, theme, space));
    if !live.is_empty() {
        left.push(Span::raw("  "));
        left.extend(live);
    }
    let mut used = cells(&left);
    // A part stands there in full or not at all: half a number would be another number.
    for part in parts(state, theme) {
        let width = 2 + cells(&part);
        if used + width <= room {
            used += width;
            left.push(Span::raw("  "));
            left.extend(part);
        }
    }
    let row = Row {
        left,
        right,
        style: Style::new(),
    };
    row.draw(frame, rect(state.layout.header), 0);
}

/// What is said of the file, what matters most first.
fn parts(state: &State, theme: &Theme) -> Vec<Vec<Span<'static>>> {
    let name = match state.name.as_str() {
        "-" => "standard input",
        name => name.rsplit('/').next().unwrap_or(name),
    };
    let room = NAME.min(usize::from(state.size.0) / 4);
    let facts = super::live::facts(state, theme);
    let is_live = !facts.is_empty();
    // The file of a run has a long name that says no more than that of the agent.
    let agent = super::live::agent_name(state).filter(|_| state.exchange.is_none());
    let name = agent.unwrap_or(name);
    // How long an exchange waits matters more than what it is called.
    let mut parts: Vec<_> = super::exchange::waits(state, theme).into_iter().collect();
    // The columns say it above the turns.
    let filter = super::panes::filter_words(state, NAME).filter(|_| state.transcript.is_on);
    parts.extend(filter.map(|words| vec![Span::styled(words, theme.marked)]));
    parts.push(theme.spans(&SafeText::single_line(name, room), theme.text));
    parts.extend(super::exchange::facts(state, theme));
    parts.extend(facts);
    if let Some(document) = &state.document {
        let sessions = document.recording.sessions.len();
        if sessions > 1 {
            let session = format!("session {}/{sessions}", state.session + 1);
            parts.push(vec![Span::raw(session)]);
            let label = state.session().map_or("", |session| &session.label);
            if !label.is_empty() {
                parts.push(theme.spans(&SafeText::single_line(label, LABEL), theme.text));
            }
        }
        let format = Span::styled(document.recording.format.id, theme.dim);
        parts.push(vec![format]);
        if let Some(session) = state.session() {
            if let Some(model) = session
                .model
                .as_ref()
                .filter(|_| state.live.agent.is_none())
            {
                let model = SafeText::single_line(model_name(model), NAME);
                parts.push(theme.spans(&model, theme.text));
            }
            if document.extent == Extent::Whole && !is_live {
                let turns = match session.turns.len() {
                    1 => "1 turn".to_owned(),
                    turns => format!("{turns} turns"),
                };
                parts.push(vec![Span::raw(turns)]);
                let facts = state.totals().map(|totals| crate::usage::summary(totals));
                let facts = facts.into_iter().flatten();
                parts.extend(facts.map(|fact| vec![Span::raw(fact)]));
            }
        }
    }
    parts
}

/// That takes are only in memory, and since when; why stands in the log.
fn banner(state: &State) -> Option<String> {
    let banner = state.recovery.takes.banner.as_deref()?;
    let short = banner.split(": ").next().unwrap_or(banner);
    Some(match state.size.0 >= WIDE && !state.live.has_news() {
        true => format!("{short}  "),
        false => "NOT RECORDING  ".to_owned(),
    })
}

fn status(state: &State, theme: &Theme) -> Vec<Span<'static>> {
    let mut spans = Vec::new();
    spans.extend(banner(state).map(|banner| Span::styled(banner, theme.error)));
    match state.follow {
        Follow::Off => {}
        // A run is followed unless something else is said.
        Follow::On if state.live.has_news() => {}
        Follow::On => spans.push(Span::styled("follow  ", theme.ok)),
        Follow::Paused => spans.push(Span::styled("follow paused  ", theme.dim)),
    }
    let is_live = state.live.has_news();
    match &state.stage {
        Stage::Reading { .. } | Stage::Checking if is_live => {}
        Stage::Reading { done, total } => {
            let percent = done.saturating_mul(100).checked_div(*total).unwrap_or(0);
            spans.push(Span::styled(format!("reading {percent}%"), theme.dim));
        }
        Stage::Checking => spans.push(Span::styled("checking  ", theme.dim)),
        Stage::Ready => {}
        Stage::Failed(reason) => {
            spans.push(Span::styled("stopped: ", theme.error));
            spans.extend(theme.spans(&SafeText::single_line(reason, 60), theme.error));
        }
    }
    // On the narrowest screens what the run does matters more.
    let is_seat = state.exchange.as_ref().is_some_and(|open| open.is_seat);
    let least = if is_seat { SEAT } else { NARROW };
    let has_room = !is_live || state.size.0 >= least;
    if let Some(found) = state.counts().filter(|_| has_room) {
        let plural = |count: usize, word: &str| match count {
            1 => format!(" 1 {word}"),
            _ => format!(" {count} {word}s"),
        };
        let glyphs = &theme.glyphs;
        if found.errors > 0 {
            spans.push(Span::styled(glyphs.error, theme.error));
            spans.push(Span::raw(plural(found.errors, "error")));
        }
        if found.warnings > 0 {
            let before = if found.errors > 0 { "  " } else { "" };
            spans.push(Span::raw(before));
            spans.push(Span::styled(glyphs.warning, theme.warning));
            spans.push(Span::raw(plural(found.warnings, "warning")));
        }
        let problems = state.problems();
        if problems > 0 {
            let before = if found.errors + found.warnings > 0 {
                "  "
            } else {
                ""
            };
            spans.push(Span::raw(before));
            spans.push(Span::styled(glyphs.warning, theme.warning));
            spans.push(Span::raw(plural(problems, "problem")));
        }
        let wrong = found.errors + found.warnings + problems;
        if wrong == 0 && state.stage == Stage::Ready && !is_live {
            let notes = counts(theme, found);
            let gap = if notes.is_empty() { "" } else { "  " };
            spans.extend(notes);
            spans.push(Span::raw(gap));
            spans.push(Span::styled(
                format!("{} nothing broken", glyphs.ok),
                theme.ok,
            ));
        }
        let elsewhere = state.findings_elsewhere();
        if elsewhere > 0 && state.size.0 >= SPACIOUS {
            let words = format!("  ({elsewhere} elsewhere)");
            spans.push(Span::styled(words, theme.dim));
        }
    }
    spans
}
