//! The upper row: file, format, model, size, what is wrong, the take.

use super::{Row, cells, counts, rect};
use crate::tui::state::document::Extent;
use crate::tui::state::layout::WIDE;
use crate::tui::state::{Follow, Stage, State};
use crate::tui::theme::Theme;
use crate::usage::UsageSummary;
use crate::words::{model_name, session_label, shortened, shortened_label};
use ratatui::Frame;
use ratatui::style::Style;
use ratatui::text::Span;
use retake_core::safe_text::SafeText;

/// Least columns for a long name of a take, and for one that retake gave it.
const ROOMY: u16 = 140;
/// Least columns for infos beside errors and for the findings of the other sessions.
const SPACIOUS: u16 = 120;
/// Least columns for findings beside what a run does.
const NARROW: u16 = 60;
/// The same where an exchange waits beside it.
const SEAT: u16 = 72;
/// Most cells of the file's name.
const NAME: usize = 40;
/// Least cells of the file's name.
const LEAST_NAME: usize = 12;
/// About as many cells as the filter has at most, and at least.
const FILTER: usize = 60;
const LEAST_FILTER: usize = 20;
const FILTER_STEP: usize = 5;
/// Most cells of what tells a session from the others.
const LABEL: usize = 24;
/// Least cells of it, beside which the word is left out.
const LEAST_LABEL: usize = 6;
const SESSION: &str = "session ";

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: &Theme) {
    draw_with(frame, state, theme, state.size.0 >= SPACIOUS);
}

/// Draws it; `is_spacious` is whether findings elsewhere have words rather than a number.
fn draw_with(frame: &mut Frame<'_>, state: &State, theme: &Theme, is_spacious: bool) {
    let mut right = status(state, theme, is_spacious);
    match state.recovery.takes.current {
        0 if state.size.0 < WIDE || state.recovery.takes.is_read_only() => {}
        0 if state.size.0 < SPACIOUS && state.recovery.takes.count() == 1 => {}
        0 => {
            let label = state.recovery.takes.label();
            right.push(Span::styled(format!("   {label}"), theme.dim));
        }
        current => {
            let label = match state.size.0 >= WIDE {
                true => state.recovery.takes.label(),
                false => state.recovery.takes.named(current),
            };
            right.push(Span::styled(format!("   {label}"), theme.title));
            let (name, is_renamed) = state.recovery.takes.name();
            let room = match state.size.0 {
                ROOMY.. => LABEL,
                WIDE.. => LABEL * 2 / 3,
                _ => LABEL / 2,
            };
            if !name.is_empty() && (is_renamed || state.size.0 >= ROOMY) {
                right.push(Span::raw("  "));
                right.extend(theme.spans(&SafeText::single_line(name, room), theme.text));
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
    let figures = |parts: &[HeaderPart]| -> usize {
        let figures = parts.iter().filter(|part| part.worth > Worth::Extra);
        figures.map(|part| part.cells + 2).sum()
    };
    let wide = if state.size.0 >= WIDE { LABEL } else { 0 };
    // The filter gives way to the name and the turn.
    let needed = |shown: &[HeaderPart]| {
        let turn = shown.iter().position(|part| part.is_turn);
        let parts = shown.iter().take(turn.map_or(0, |turn| turn + 1));
        used + LEAST_NAME + 2 + parts.map(|part| part.cells + 2).sum::<usize>()
    };
    let least = if state.shown.is_some() {
        LEAST_FILTER
    } else {
        FILTER
    };
    // What is said of other sessions gives way to the filter.
    if is_spacious && state.shown.is_some() && needed(&parts(state, theme, wide, FILTER)) > room {
        return draw_with(frame, state, theme, false);
    }
    let filters = (least..=FILTER).rev().step_by(FILTER_STEP);
    let filter = filters.into_iter().find(|filter| {
        let shown = parts(state, theme, wide, *filter);
        needed(&shown) <= room
    });
    let filter = filter.unwrap_or(least);
    let mut shown = parts(state, theme, wide, filter);
    // On narrow screens the label of the session has what the figures and a short name leave over.
    let spare = room.saturating_sub(used + figures(&shown) + 2 + LEAST_NAME);
    let label = (spare + SESSION.len()).saturating_sub(1).min(LABEL);
    if wide == 0 && label >= LEAST_LABEL {
        shown = parts(state, theme, label, filter);
    }
    let mut parts = shown;
    let turn = parts.iter().position(|part| part.is_turn);
    if is_spacious && turn.is_some() && needed(&parts) > room {
        return draw_with(frame, state, theme, false);
    }
    if let Some(turn) = turn.filter(|_| state.shown.is_some() && needed(&parts) > room) {
        let turn = parts.remove(turn);
        let at = parts.partition_point(|part| part.worth == Worth::Urgent);
        parts.insert(at, turn);
    }
    // The name has what the figures leave over.
    let figures = figures(&parts);
    let least = match state.exchange {
        Some(_) => usize::from(state.size.0) / 4,
        None => LEAST_NAME,
    };
    let space = room.saturating_sub(used + figures + 2).max(least).min(NAME);
    let name = shortened(name(state).as_bytes(), space, theme.glyphs.more);
    let at = parts.partition_point(|part| part.worth == Worth::Urgent);
    let name = theme.spans(&name, theme.text);
    parts.insert(at, HeaderPart::new(Worth::Figure, name));
    // A part is shown in full or not at all: half a number would be another number.
    let mut has_room = true;
    for part in parts {
        let fits = used + 2 + part.cells <= room;
        if fits && (has_room || part.worth > Worth::Extra) {
            used += 2 + part.cells;
            left.push(Span::raw("  "));
            left.extend(part.spans);
        }
        has_room &= fits;
    }
    let row = Row {
        left,
        right,
        style: Style::new(),
    };
    row.draw(frame, rect(state.layout.header), 0, theme);
}

/// How much a part of the header matters.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Worth {
    /// Less than the name of the file.
    Extra,
    Figure,
    /// It comes before the name.
    Urgent,
}

/// A part of the header.
struct HeaderPart {
    worth: Worth,
    spans: Vec<Span<'static>>,
    cells: usize,
    is_turn: bool,
}

impl HeaderPart {
    fn new(worth: Worth, spans: Vec<Span<'static>>) -> Self {
        Self {
            worth,
            cells: cells(&spans),
            spans,
            is_turn: false,
        }
    }
}

/// The name of the file or of the agent.
fn name(state: &State) -> String {
    let name = match state.name.as_str() {
        "-" => "standard input",
        name => name.rsplit('/').next().unwrap_or(name),
    };
    // The file of a run has a long name that adds nothing to that of the agent.
    let agent = super::live::agent_name(state).filter(|_| state.exchange.is_none());
    agent.unwrap_or(name).to_owned()
}

/// The facts beside the name, the most important first; the label of a session has `label` cells, the filter about
/// `filter`.
fn parts(state: &State, theme: &Theme, label: usize, filter: usize) -> Vec<HeaderPart> {
    let facts = super::live::facts(state, theme);
    let is_live = !facts.is_empty();
    // How long an exchange waits matters more than its name.
    let waits = super::exchange::waits(state, theme).into_iter();
    let mut parts: Vec<_> = waits.map(|it| HeaderPart::new(Worth::Urgent, it)).collect();
    // The columns name the filter above the turns.
    let filter = super::panes::filter_words(state, filter).filter(|_| state.transcript.is_on);
    let filter = filter.map(|words| vec![Span::styled(words, theme.marked)]);
    parts.extend(filter.map(|words| HeaderPart::new(Worth::Urgent, words)));
    let facts = super::exchange::facts(state, theme)
        .into_iter()
        .chain(facts);
    parts.extend(facts.map(|fact| HeaderPart::new(Worth::Figure, fact)));
    let (Some(document), Some(session)) = (&state.document, state.session()) else {
        return parts;
    };
    let mut push = |worth, spans| parts.push(HeaderPart::new(worth, spans));
    let sessions = document.recording.sessions.len();
    // What tells a session from the others matters more than the word.
    let label = shortened_label(&session_label(session), label, theme.glyphs.more);
    let is_named = sessions > 1 && !label.is_empty();
    if sessions > 1 {
        let word = if is_named { "" } else { SESSION };
        let mut words = vec![Span::raw(format!("{word}{}/{sessions}", state.session + 1))];
        if is_named {
            words.push(Span::raw(" "));
            words.extend(theme.spans(&label, theme.text));
        }
        push(Worth::Figure, words);
    }
    let model = session.model.as_deref();
    if let Some(model) = model.filter(|_| state.live.agent.is_none()) {
        let model = model_name(model);
        let short = model.strip_prefix("claude-").unwrap_or(model);
        let model = if state.size.0 < SPACIOUS {
            short
        } else {
            model
        };
        let model = SafeText::single_line(model, NAME);
        push(Worth::Figure, theme.spans(&model, theme.text));
    }
    let before = state
        .turns_before
        .filter(|_| document.extent != Extent::Head);
    if let Some(before) = before.filter(|_| !is_live) {
        let (turn, turns) = (before + state.turn() + 1, before + session.turns.len());
        let turn = vec![Span::raw(format!("turn {turn}/{turns}"))];
        parts.push(HeaderPart {
            is_turn: true,
            ..HeaderPart::new(Worth::Figure, turn)
        });
        let mut push = |worth, spans| parts.push(HeaderPart::new(worth, spans));
        if let Some(share) = state.context_share() {
            push(Worth::Figure, vec![Span::raw(format!("ctx {share}%"))]);
        }
        if let Some(totals) = state.last_totals() {
            let UsageSummary { span, tokens, cost } = UsageSummary::of(totals);
            let figures = [tokens, cost].into_iter().flatten();
            let drawn = |figure: String| theme.spans(&SafeText::from_str(&figure), theme.text);
            figures.for_each(|figure| push(Worth::Figure, drawn(figure)));
            span.into_iter()
                .for_each(|span| push(Worth::Extra, vec![Span::raw(span)]));
        }
    }
    let format = Span::styled(document.recording.format.id, theme.dim);
    parts.push(HeaderPart::new(Worth::Extra, vec![format]));
    parts
}

/// That takes are only in memory, and since when; why is in the log.
fn banner(state: &State) -> Option<String> {
    let banner = state.recovery.takes.banner.as_deref()?;
    let short = banner.split(": ").next().unwrap_or(banner);
    Some(match state.size.0 >= WIDE && !state.live.has_news() {
        true => format!("{short}  "),
        false if state.recovery.takes.is_read_only() => "read-only  ".to_owned(),
        false => "NOT RECORDING  ".to_owned(),
    })
}

fn status(state: &State, theme: &Theme, is_spacious: bool) -> Vec<Span<'static>> {
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
        stage @ Stage::Reading { .. } => {
            let words = match stage.percent() {
                None => format!("reading{}", theme.glyphs.more),
                Some(percent) => format!("reading {percent}%"),
            };
            spans.push(Span::styled(words, theme.dim));
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
    let is_narrow = state.size.0 < WIDE && !is_live && state.transcript.is_on;
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
            spans.push(Span::raw(plural(problems, "read error")));
        }
        let wrong = found.errors + found.warnings + problems;
        if wrong > 0 && found.infos > 0 && state.size.0 >= SPACIOUS && !is_live {
            spans.push(Span::styled(format!("  {}", glyphs.info), theme.info));
            spans.push(Span::raw(format!(" {} info", found.infos)));
        }
        if wrong > 0 && found.answered > 0 && !is_narrow {
            let words = format!("  {} answered", found.answered);
            spans.push(Span::styled(words, theme.dim));
        }
        // What is wrong in other sessions: the tick is only about this one.
        let (errors, warnings, are_nested) = state.findings_elsewhere();
        let elsewhere = errors + warnings;
        let place = match are_nested {
            true => "in sub-agents",
            false => "elsewhere",
        };
        if wrong == 0 && state.stage == Stage::Ready && !is_live {
            let has_infos = found.infos > 0;
            let infos = match has_infos && is_spacious {
                true => vec![
                    Span::styled(glyphs.info, theme.info),
                    Span::raw(format!(" {} info", found.infos)),
                ],
                false => counts(theme, found),
            };
            let gap = if infos.is_empty() { "" } else { "  " };
            spans.extend(infos);
            spans.push(Span::raw(gap));
            let words = match (found.answered, elsewhere) {
                _ if is_narrow => String::new(),
                (0, elsewhere) if (has_infos || elsewhere > 0) && !is_spacious => String::new(),
                (0, 0) if has_infos => " no errors or warnings".to_owned(),
                (0, _) if has_infos => " no errors or warnings here".to_owned(),
                (0, 0) => " no findings".to_owned(),
                (0, _) => " no findings here".to_owned(),
                (count, _) if count == found.fixed => format!(" {count} fixed in transit"),
                (answered, _) => format!(" {answered} answered"),
            };
            let is_told = elsewhere > 0 && !is_spacious;
            if !is_told || !words.is_empty() {
                spans.push(Span::styled(format!("{}{words}", glyphs.ok), theme.ok));
                spans.push(Span::raw(if is_told { "  " } else { "" }));
            }
            if is_told {
                let signs = [
                    (errors, glyphs.error, theme.error),
                    (warnings, glyphs.warning, theme.warning),
                ];
                for (count, sign, style) in signs.into_iter().filter(|it| it.0 > 0) {
                    spans.push(Span::styled(sign, style));
                    spans.push(Span::raw(format!(" {count} ")));
                }
                spans.push(Span::raw(place));
            }
        }
        if elsewhere > 0 && is_spacious {
            let kinds = [(errors, "error"), (warnings, "warning")].into_iter();
            let kinds = kinds.filter(|(count, _)| *count > 0);
            let kinds = kinds.map(|(count, kind)| plural(count, kind));
            let kinds = kinds.collect::<Vec<_>>().join(",");
            let words = format!(" {}{kinds} {place}", glyphs.dot);
            spans.push(Span::styled(words, theme.dim));
        } else if elsewhere > 0 && wrong > 0 && state.size.0 >= SPACIOUS {
            spans.push(Span::styled(format!("  +{elsewhere} {place}"), theme.dim));
        }
    }
    spans
}
