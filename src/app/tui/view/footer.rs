//! The lower row: the finding under the cursor or a notice, and the keys that fit.

use super::{Row, cleared_above, rect};
use crate::tui::keymap::hints::{Hint, cells, cells_of_help};
use crate::tui::keymap::{self, Binding, Command, Context, Direction};
use crate::tui::popup;
use crate::tui::state::State;
use crate::tui::state::layout::{Pane, WIDE};
use crate::tui::theme::Theme;
use crate::tui::transcript;
use crate::tui::update;
use ratatui::Frame;
use ratatui::layout::Rect;
use ratatui::text::Span;
use retake_core::engine::Reason;
use retake_core::rules::Finding;
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;

pub(super) fn draw(frame: &mut Frame<'_>, state: &State, theme: &Theme) {
    let area = rect(state.layout.footer);
    let width = usize::from(area.width);
    let hints = hints(state);
    let room = room(state, &hints, width);
    let above = finding_above(state, room);
    let status = match long(state, room) {
        None if !above.is_empty() => {
            draw_finding(frame, area, &above, state, theme);
            hit(state).map_or_else(Vec::new, |hit| {
                vec![Span::styled(format!(" {hit}"), theme.title)]
            })
        }
        Some(message) => {
            super::message_above(frame, area, &message, theme.warning, theme);
            let others = super::exchange::others(state).filter(|_| state.notice.is_none());
            let others = others.map(|words| format!(" {words}"));
            vec![Span::styled(others.unwrap_or_default(), theme.warning)]
        }
        None => status(state, theme, room),
    };
    popup::footer(frame, area, status, hints, theme);
}

/// How many rows [`draw`] takes above the footer.
pub(super) fn message_rows(state: &State) -> u16 {
    let width = state.size.0;
    let room = room(state, &hints(state), width.into());
    let rows = match long(state, room) {
        Some(message) => super::message_lines(&message, width).count(),
        None => finding_above(state, room).len(),
    };
    u16::try_from(rows).unwrap_or(0)
}

/// Most rows of a finding above the keys: `!` shows all of it.
const FINDING_ROWS: usize = 2;
/// Least rows of a screen that gives some of them to a finding.
const TALL: u16 = 16;
/// Cells before what a finding says: its sign with the space around it.
const SIGN: usize = 3;

/// The finding under the cursor in rows of its own, where it has no room beside the keys.
fn finding_above(state: &State, room: usize) -> Vec<SafeText> {
    let says_more = state.notice.is_some() || super::live::reason(state).is_some();
    let Some(finding) = state.finding_here().filter(|_| !says_more) else {
        return Vec::new();
    };
    let words = format!("{}  {}", finding_head(state, finding), finding.message());
    let words = SafeText::single_line(&words, LONGEST);
    let taken = super::exchange::others(state).map_or(0, |others| others.len())
        + hit(state).map_or(0, |hit| hit.len() + 2);
    let fits = words.width() + SIGN <= room.saturating_sub(taken);
    if fits || state.size.1 < TALL || state.has_overlay() {
        return Vec::new();
    }
    let width = usize::from(state.size.0).saturating_sub(SIGN + 1).max(1);
    let mut rows: Vec<SafeText> = words.wrapped(width).take(FINDING_ROWS + 1).collect();
    if let Some(rest) = rows.get(FINDING_ROWS).cloned() {
        rows.truncate(FINDING_ROWS);
        if let Some(last) = rows.last_mut() {
            last.push(&rest);
            *last = last.truncated(width);
        }
    }
    rows
}

fn draw_finding(
    frame: &mut Frame<'_>,
    footer: Rect,
    rows: &[SafeText],
    state: &State,
    theme: &Theme,
) {
    let Some(finding) = state.finding_here() else {
        return;
    };
    let head = finding_head(state, finding).len();
    let area = cleared_above(frame, footer, rows.len());
    for (at, row) in rows.iter().enumerate() {
        let mut left = vec![Span::raw(" ".repeat(if at == 0 { 1 } else { SIGN }))];
        if at == 0 {
            left.extend([theme.sign(finding.severity), Span::raw(" ")]);
            let head = head.min(row.as_plain().len());
            left.extend(theme.spans(&row.part(0..head), theme.title));
            left.extend(theme.spans(&row.part(head..row.as_plain().len()), theme.text));
        } else {
            left.extend(theme.spans(row, theme.text));
        }
        Row::filled(left).draw(frame, area, at, theme);
    }
}

/// Cells of what is said beside the keys.
fn room(state: &State, hints: &[Hint], width: usize) -> usize {
    // What is said goes away with the next key: until then it may have all the room.
    match state.notice {
        Some(_) => width.saturating_sub(1 + cells_of_help(hints)),
        // What holds a run is in the header too: the keys that settle it matter more.
        None if state.live.is_paused() => width * 4 / 10,
        // A finding comes before all keys but those that it offers.
        None if state.size.0 >= WIDE && !state.live.is_on() => {
            let offered = hints.iter().take(offered(state, None).len());
            let keys = cells_of_help(hints) + offered.map(cells).sum::<usize>();
            let left = width.saturating_sub(1 + keys);
            match state.size.1 < TALL {
                true => left.max(width * 6 / 10),
                false => left,
            }
        }
        None => width * 6 / 10,
    }
}

/// The rule of a finding, with how many others there are about the same item.
fn finding_head(state: &State, finding: &Finding) -> String {
    match state.findings_here().len() {
        0 | 1 => finding.rule.id.to_owned(),
        several => format!("{} +{}", finding.rule.id, several - 1),
    }
}

/// How many offers of a finding stand before the keys of the run.
const BEFORE: usize = 2;
/// Most cells of what is told.
const LONGEST: usize = 1000;

/// Keys with their words, what matters most first: on a finding what it offers, in its order.
fn hints(state: &State) -> Vec<Hint> {
    if let Some(hints) = super::exchange::hints(state) {
        return hints;
    }
    let context = update::context(state);
    let mut bindings = keymap::footer(context);
    let live = match context {
        Context::Overlay => Vec::new(),
        _ => super::live::hints(state),
    };
    let is_offered = |finding: &Finding| !finding.offers.is_empty();
    if !state.offering_here().any(is_offered) && context != Context::List {
        bindings.retain(|binding| binding.command != Command::Open);
    }
    let partner = state
        .session()
        .and_then(|session| session.pairing.partner(state.item));
    let related = state.findings_here().iter().find_map(|it| it.related);
    if partner.is_none() && related.is_none() {
        bindings.retain(|binding| binding.command != Command::Partner);
    }
    let takes_error = state.item().is_some_and(|item| match item.kind {
        Kind::Call => true,
        Kind::Output => partner.is_some(),
        _ => false,
    });
    // The list of sessions has no item under its cursor.
    let is_about_item = state.focus != Pane::Sessions;
    let checked = state.checked().filter(|_| state.is_known());
    let (errors, warnings, _) = state.findings_elsewhere();
    let is_sound = checked.is_some_and(|checked| checked.findings().is_empty());
    let is_sound = is_sound && errors + warnings == 0;
    bindings.retain(|binding| match binding.command {
        Command::Recover("inject-error") => takes_error && is_about_item,
        Command::Partner => is_about_item,
        Command::Finding(_) | Command::Pane(3) => !is_sound,
        Command::FixAll => context != Context::Overlay && state.offers_safe_fix(),
        _ => true,
    });
    if state.problems() > 0 && context != Context::Overlay {
        let log = keymap::rows().find(|row| row.command == Command::Log && row.has_key());
        let at = bindings.partition_point(|binding| binding.footer.0 >= 90);
        bindings.splice(at..at, log);
    }
    if state.size.0 < WIDE {
        // Only one pane is seen: nothing else says that there are others.
        bindings.sort_by_key(|binding| binding.command != Command::NextPane(Direction::Forward));
    }
    if context != Context::Overlay && is_about_item {
        let menu = bindings.iter().find(|it| it.command == Command::Open);
        let menu = menu.filter(|_| context != Context::List).copied();
        let offered = offered(state, menu);
        bindings.retain(|binding| !offered.iter().any(|it| it.command == binding.command));
        let is_crowded = state.size.0 < WIDE && !offered.is_empty();
        bindings.splice(0..0, offered);
        // On a narrow screen few keys have room beside the finding.
        let fixes_all = bindings.iter().position(|it| it.command == Command::FixAll);
        if let Some(at) = fixes_all.filter(|at| *at > 1 && is_crowded) {
            let binding = bindings.remove(at);
            bindings.insert(1, binding);
        }
    }
    let words = |binding: &Binding| match (binding.command, context) {
        (Command::Open, Context::List) => "open",
        (Command::Log, _) => "read errors",
        (Command::Close, _) if state.exchange.is_some() => "back to list",
        (Command::Close, _) if update::closes_pane(state) => "close pane",
        (Command::Close, _) if transcript::keys::has_parent(state) => "back",
        (Command::Close, _) => state.close_words,
        _ => binding.footer.1,
    };
    let others = bindings
        .into_iter()
        .map(|binding| (binding.first_key(), words(binding)));
    let mut hints: Vec<Hint> = Vec::new();
    let (first, last): (Vec<_>, Vec<_>) = live.into_iter().partition(|hint| hint.is_first);
    let offered = offered(state, None).len().min(BEFORE);
    let mut others = others.peekable();
    hints.extend(first.iter().map(|hint| hint.hint));
    hints.extend(others.by_ref().take(offered));
    hints.extend(last.iter().map(|hint| hint.hint));
    if context == Context::Browse && state.transcript.can_fold() {
        hints.push(match transcript::keys::is_unfolded(state) {
            true => ("space", "fold"),
            false => ("space", "unfold"),
        });
    }
    hints.extend(others);
    if context == Context::Detail {
        let zoom = if state.is_zoomed { "all panes" } else { "zoom" };
        let own = [
            (Command::View, "pretty/raw"),
            (Command::ZoomPane, zoom),
            (Command::Resize(Direction::Forward), "wider"),
            (Command::Resize(Direction::Backward), "narrower"),
        ];
        // One pane alone is neither zoomed nor resized.
        let most = match state.size.0 {
            ..WIDE => 1,
            _ if state.is_zoomed => 2,
            _ => own.len(),
        };
        let own = own.into_iter().take(most).filter_map(|(command, words)| {
            let row = keymap::rows().find(|row| row.command == command && row.has_key())?;
            Some((row.first_key(), words))
        });
        let leads = |hint: &Hint| {
            let mut rows = keymap::rows().filter(|row| row.first_key() == hint.0);
            rows.any(|row| matches!(row.command, Command::Close | Command::Finding(_)))
        };
        let at = hints.iter().rposition(leads).map_or(0, |at| at + 1);
        hints.splice(at..at, own);
    }
    if context == Context::Browse && state.transcript.is_on {
        let totals = keymap::rows().find(|row| row.command == Command::Usage);
        hints.extend(totals.map(|row| (row.first_key(), "totals")));
    }
    let mut known: Vec<&str> = Vec::new();
    hints.retain(|(key, _)| {
        let is_new = !known.contains(key);
        known.push(key);
        is_new
    });
    hints
}

/// The keys of what the findings at the cursor offer, the worst finding first. What has no key of its own
/// is in the menu of offers.
fn offered(state: &State, menu: Option<&'static Binding>) -> Vec<&'static Binding> {
    let mut findings: Vec<&Finding> = state.findings_here().iter().collect();
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    let offers = findings.iter().flat_map(|finding| &finding.offers);
    let mut keys: Vec<&'static Binding> = Vec::new();
    for key in offers.filter_map(|offer| keymap::recovery(offer.action).or(menu)) {
        if !keys.iter().any(|known| known.command == key.command) {
            keys.push(key);
        }
    }
    keys
}

/// What is told, where it is longer than its room beside the keys.
fn long(state: &State, room: usize) -> Option<SafeText> {
    let shown = match &state.notice {
        Some(notice) => SafeText::single_line(notice, LONGEST),
        // Its dialog shows it.
        None if state.has_overlay() => return None,
        None if matches!(
            state.live.reason_at(state.item),
            Some(Reason::Approval { .. })
        ) =>
        {
            return None;
        }
        None => super::live::reason(state).or_else(|| super::live::fault(state))?,
    };
    (shown.width() > room).then_some(shown)
}

/// Which of the places of the text that is searched for the cursor is on.
fn hit(state: &State) -> Option<String> {
    let hits = state.hits.as_ref();
    let hits = hits.filter(|_| state.notice.is_none() || state.says_hit)?;
    let occurrence = state.occurrence_here().unwrap_or(0);
    hits.label(state.place(), occurrence)
}

fn status(state: &State, theme: &Theme, room: usize) -> Vec<Span<'static>> {
    let mut spans = vec![Span::raw(" ")];
    let hit = hit(state).map_or_else(String::new, |hit| format!("{hit}  "));
    let room = room.saturating_sub(hit.len());
    spans.push(Span::styled(hit, theme.title));
    if let Some(notice) = &state.notice {
        spans.extend(theme.spans(&SafeText::single_line(notice, room), theme.warning));
        return spans;
    }
    let others = super::exchange::others(state).unwrap_or_default();
    let room = room.saturating_sub(others.len());
    spans.push(Span::styled(others, theme.warning));
    if let Some(reason) = super::live::reason(state) {
        spans.extend(theme.spans(&reason.truncated(room), theme.warning));
        return spans;
    }
    if let Some(finding) = state.finding_here() {
        let rule = finding_head(state, finding);
        spans.push(theme.sign(finding.severity));
        let left = room.saturating_sub(rule.len() + 5);
        spans.push(Span::styled(format!(" {rule}  "), theme.title));
        let message = SafeText::single_line(&finding.message(), left);
        spans.extend(theme.spans(&message, theme.text));
    }
    spans
}
