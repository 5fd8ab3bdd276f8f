//! Where the cursor goes.

use crate::tui::effect::Effect;
use crate::tui::keymap::{Command, Direction, with_ways};
use crate::tui::state::document::{
    Checked, Document, Extent, Listed, Place, item_of, list_findings,
};
use crate::tui::state::layout::{Pane, WIDE};
use crate::tui::state::tree::{Folds, Shown, TreeRow};
use crate::tui::state::{Follow, Queued, Stage, State};
use crate::tui::transcript::nested::{NestedPlace, nested_calls};
use crate::tui::transcript::{Jump, keys};
use retake_core::rules::{Finding, Severity};
use retake_core::session::Session;
use retake_live::SubAgent;
use std::sync::Arc;

/// Does what a command of moving says.
pub(super) fn motion(state: &mut State, command: Command) {
    state.has_moved = true;
    let leads_back = matches!(
        command,
        Command::Step(Direction::Backward)
            | Command::HalfPage(Direction::Backward)
            | Command::Page(Direction::Backward)
            | Command::Edge(Direction::Backward)
            | Command::Turn(Direction::Backward)
            | Command::Finding(_)
            | Command::Error(_)
    );
    if leads_back && state.follow == Follow::On {
        state.follow = Follow::Paused;
    }
    let follows_again =
        command == Command::Edge(Direction::Forward) && state.follow == Follow::Paused;
    if follows_again && !state.has_overlay() {
        state.follow = Follow::On;
    }
    if matches!(command, Command::Edge(_)) {
        state.queued = None;
    }
    let page = page(state);
    match command {
        Command::Step(direction) => steps(state, 1, direction),
        Command::HalfPage(direction) => pages(state, page.div_ceil(2), direction),
        Command::Page(direction) => pages(state, page, direction),
        Command::Edge(direction) => edge(state, direction),
        Command::Turn(direction) => turns(state, 1, direction),
        Command::Unfold => unfold(state),
        Command::Fold => fold(state),
        Command::Toggle => toggle(state),
        Command::FoldAll(unfolded) if state.transcript.is_on => {
            state.transcript.set_all_unfolded(unfolded);
        }
        Command::FoldAll(unfolded) => {
            state.folds.set_all(unfolded);
            state.on_turn = state.on_turn || !unfolded;
        }
        Command::Finding(direction) => finding(state, direction, Severity::Info),
        Command::Error(direction) => finding(state, direction, Severity::Error),
        Command::Partner => partner(state),
        Command::SameTool => same_tool(state),
        _ => {}
    }
}

fn page(state: &State) -> usize {
    state.layout.height(state.focus).saturating_sub(1).max(1)
}

fn pages(state: &mut State, count: usize, direction: Direction) {
    match state.focus {
        Pane::Turns if state.transcript.is_on => keys::page(state, count, direction),
        _ => steps(state, count, direction),
    }
}

/// Moves within the pane that has the keys.
pub(super) fn steps(state: &mut State, count: usize, direction: Direction) {
    match state.focus {
        Pane::Turns if state.transcript.is_on => keys::steps(state, count, direction),
        Pane::Turns => tree_steps(state, count, direction),
        Pane::Items => item_steps(state, count, direction),
        Pane::Detail => scroll(state, count, direction),
        Pane::Findings => {
            let rows = list_findings(&state.checked);
            let found: Vec<_> = rows.filter_map(|row| finding_of(&row)).collect();
            let here = (state.session, state.finding);
            let at = found.iter().position(|finding| *finding == here);
            let to = at.map_or(0, |at| shifted(at, count, direction, found.len()));
            if let Some((session, number)) = found.get(to) {
                select_finding(state, *session, *number);
            }
        }
        Pane::Sessions => {
            let total = state.listed_sessions();
            state.listed_session = shifted(state.listed_session, count, direction, total);
        }
    }
}

/// The session and the number of the finding in a row of their list.
pub(super) fn finding_of((session, row): &(usize, Listed)) -> Option<(usize, usize)> {
    match row {
        Listed::Finding(number, _) => Some((*session, *number)),
        Listed::Session | Listed::Rule(..) => None,
    }
}

fn shifted(at: usize, count: usize, direction: Direction, total: usize) -> usize {
    match direction {
        Direction::Forward => at.saturating_add(count).min(total.saturating_sub(1)),
        Direction::Backward => at.saturating_sub(count),
    }
}

/// Says why there is nothing further while the file is not read to its end.
fn tell_the_edge(state: &mut State, moved: bool) {
    if !moved && !state.is_whole() && matches!(state.stage, Stage::Reading { .. }) {
        state.notice = Some("the rest is still being read".to_owned());
    }
}

fn tree_steps(state: &mut State, count: usize, direction: Direction) {
    let cursor = state.tree_row();
    let Some(tree) = state.tree() else { return };
    let from = tree.row_of(cursor);
    let to = shifted(from, count, direction, tree.rows());
    if tree.rows() > 0 {
        let row = tree.row(to);
        put_on(state, row);
    }
    tell_the_edge(state, from != to);
}

/// Puts the cursor on a row of the tree.
pub(super) fn put_on(state: &mut State, row: TreeRow) {
    match row {
        TreeRow::Item(item) => {
            state.item = item;
            state.on_turn = false;
        }
        TreeRow::Turn(turn) => {
            let Some(tree) = state.tree() else { return };
            state.item = tree.item(tree.places_in(turn).start);
            state.on_turn = !state.transcript.is_on;
        }
    }
}

fn item_steps(state: &mut State, count: usize, direction: Direction) {
    let Some(tree) = state.tree() else { return };
    let from = tree.place_of_item(state.item);
    let to = shifted(from, count, direction, tree.items());
    state.item = tree.item(to);
    tell_the_edge(state, from != to);
}

fn scroll(state: &mut State, count: usize, direction: Direction) {
    let width = state.detail_width();
    let detail = &mut state.detail;
    match direction {
        Direction::Forward => detail.scroll.down(count, &detail.lines, width),
        Direction::Backward => detail.scroll.up(count, &detail.lines, width),
    }
}

fn edge(state: &mut State, direction: Direction) {
    if matches!(state.focus, Pane::Findings | Pane::Sessions) {
        steps(state, usize::MAX / 2, direction);
        return;
    }
    match (state.focus, direction) {
        (Pane::Detail, Direction::Backward) => {
            state.detail.scroll = Default::default();
        }
        (Pane::Detail, Direction::Forward) => {
            state.read_detail_to_end();
            let (width, height) = (state.detail_width(), state.layout.height(Pane::Detail));
            state.detail.scroll = crate::tui::text::Scroll::end(&state.detail.lines, width, height);
        }
        (_, Direction::Forward) => to_end(state),
        (_, Direction::Backward) => to_beginning(state),
    }
}

/// To the last item; while the file is being read, to the end of what is read of its end.
pub(super) fn to_end(state: &mut State) {
    state.has_moved = true;
    let extent = state.document.as_ref().map(|document| document.extent);
    let has_more = extent == Some(Extent::Whole) && is_read_on(state);
    if extent == Some(Extent::Head) || has_more && state.follow == Follow::On {
        return state.effects.push(Effect::ReadTail);
    }
    if state.transcript.is_on {
        return keys::to_end(state);
    }
    let Some(tree) = state.tree() else {
        return;
    };
    if let Some(last) = tree.items().checked_sub(1) {
        let item = tree.item(last);
        state.go_to(item);
    }
}

fn to_beginning(state: &mut State) {
    show_head(state, |_, _| true);
    let row = state
        .tree()
        .filter(|tree| tree.rows() > 0)
        .map(|tree| tree.row(0));
    if let Some(row) = row {
        put_on(state, row);
    }
}

/// Shows the beginning of the file where only its end is shown, if it is wanted.
fn show_head(state: &mut State, is_wanted: impl Fn(&Document, &Session) -> bool) {
    let end = state.document.as_ref();
    let is_tail = end.is_some_and(|document| document.extent == Extent::Tail);
    let Some(head) = state.head.clone().filter(|_| is_tail) else {
        return;
    };
    let items = state.session().map_or(&[][..], |session| &session.items);
    let mut starts = items.iter().map(|item| item.span.start);
    let same = starts.find_map(|start| head.find(start, Place::default()));
    let number = same.map_or(0, |place| place.session);
    let session = head.session(number);
    if session.is_some_and(|session| is_wanted(&head, session)) {
        state.session = number;
        state.show(head);
    }
}

/// Whether more of the file is read, or will be, than is shown.
fn is_read_on(state: &State) -> bool {
    !state.is_whole() || matches!(state.stage, Stage::Reading { .. })
}

fn turns(state: &mut State, count: usize, direction: Direction) {
    let current = state.turn();
    let Some(tree) = state.tree() else { return };
    let from = tree.place_of_turn(current);
    let to = shifted(from, count, direction, tree.turns());
    if tree.turns() > 0 {
        let turn = tree.turn(to);
        put_on(state, TreeRow::Turn(turn));
        state.transcript.jump_to(Jump::Turn);
    }
    tell_the_edge(state, from != to);
}

/// Goes to the turn of this number, counted from 1.
pub(super) fn go_to_turn(state: &mut State, number: usize) {
    show_head(state, |head, session| {
        head.extent == Extent::Whole && session.turns.len() >= number
    });
    let extent = state.document.as_ref().map(|document| document.extent);
    let before = state.turns_before.filter(|_| extent != Some(Extent::Head));
    let first = before.and_then(|before| {
        let turn = number.checked_sub(before + 1)?;
        Some(state.session()?.turns.get(turn)?.items().start)
    });
    let turns = state.session().map_or(0, |session| session.turns.len());
    let last = before.map(|before| before + turns);
    let last = last.filter(|_| extent == Some(Extent::Tail) || !is_read_on(state));
    match (first, last) {
        (Some(item), _) => {
            go_to_numbered(state, item);
            state.transcript.jump_to(Jump::Turn);
        }
        (None, Some(last)) if !(1..=last).contains(&number) => {
            state.say(format!("no turn {number}: the last one is {last}"));
        }
        (None, _) => {
            state.queued = Some(Queued::Turn(number));
            state.say(format!("turn {number} is shown once the file is read"));
        }
    }
}

/// Goes to the item of this number, counted from 1.
pub(super) fn go_to_item(state: &mut State, number: usize) {
    show_head(state, |head, session| {
        head.extent == Extent::Whole && session.items.len() >= number
    });
    let count = state.session().map_or(0, |session| session.items.len());
    match number.checked_sub(1).filter(|item| *item < count) {
        Some(item) if state.is_whole() => {
            go_to_numbered(state, item);
            show_item(state, item);
        }
        _ if is_read_on(state) => {
            state.queued = Some(Queued::Item(number));
            state.say(format!("item {number} is shown once the file is read"));
        }
        _ => state.say(format!("no item {number}: the last one is {count}")),
    }
}

fn go_to_numbered(state: &mut State, item: usize) {
    state.has_moved = true;
    if state.follow == Follow::On {
        state.follow = Follow::Paused;
    }
    if matches!(state.focus, Pane::Findings | Pane::Sessions) {
        state.transcript.read_at = None;
        focus(state, Pane::Turns);
    }
    reveal(state, item);
    state.go_to(item);
    state.transcript.jump_to(Jump::Item);
}

fn unfold(state: &mut State) {
    match state.focus {
        Pane::Turns if state.transcript.is_on => {
            match !keys::is_unfolded(state) && keys::can_fold(state) {
                true => keys::toggle(state),
                false => focus(state, Pane::Detail),
            }
        }
        Pane::Turns if state.on_turn && !state.folds.is_unfolded(state.turn()) => {
            let turn = state.turn();
            state.folds.set(turn, true);
        }
        Pane::Turns if state.on_turn => state.on_turn = false,
        Pane::Turns | Pane::Items => focus(state, Pane::Detail),
        Pane::Detail | Pane::Findings | Pane::Sessions => {}
    }
}

fn fold(state: &mut State) {
    match state.focus {
        Pane::Turns if state.transcript.is_on => {
            if keys::is_unfolded(state) {
                keys::toggle(state);
            }
        }
        Pane::Turns if state.on_turn => {
            let turn = state.turn();
            state.folds.set(turn, false);
        }
        Pane::Turns => {
            let turn = state.turn();
            put_on(state, TreeRow::Turn(turn));
        }
        Pane::Items => focus(state, Pane::Turns),
        Pane::Detail => {
            let left = match state.left {
                Pane::Turns | Pane::Items | Pane::Detail
                    if state.size.0 < WIDE || state.transcript.is_on =>
                {
                    Pane::Turns
                }
                Pane::Turns | Pane::Items | Pane::Detail => Pane::Items,
                Pane::Findings => Pane::Findings,
                Pane::Sessions => Pane::Sessions,
            };
            focus(state, left);
        }
        Pane::Findings | Pane::Sessions => {}
    }
}

fn toggle(state: &mut State) {
    if state.transcript.is_on {
        return keys::toggle(state);
    }
    let turn = state.turn();
    let unfolded = state.folds.is_unfolded(turn);
    state.folds.set(turn, !unfolded);
    if unfolded {
        state.on_turn = true;
    }
}

/// Goes to the finding that was asked for before the rules had seen the session.
pub(super) fn queued_finding(state: &mut State) {
    let is_checked = state.checked().is_some();
    let finding = |queued: &mut Queued| is_checked && matches!(queued, Queued::Finding(..));
    if let Some(Queued::Finding(direction, least)) = state.queued.take_if(finding) {
        state.notice = None;
        self::finding(state, direction, least);
    }
}

fn finding(state: &mut State, direction: Direction, least: Severity) {
    let Some(checked) = state.checked.get(state.session).cloned().flatten() else {
        let words = match state.stage {
            Stage::Reading { .. } | Stage::Checking => {
                state.queued = Some(Queued::Finding(direction, least));
                "the finding is shown once the file is read and checked"
            }
            Stage::Ready | Stage::Failed(_) => "the session is not checked",
        };
        return state.say(words);
    };
    let from = match state.focus {
        Pane::Findings => checked.findings().get(state.finding).map(item_of),
        _ => None,
    };
    let from = from.unwrap_or(state.item);
    let is_wanted = |finding: &Finding| {
        let session = state.session();
        let is_stop = session.is_none_or(|session| checked.is_stop(session, finding, least));
        is_stop && !is_hidden(state, item_of(finding))
    };
    let step = |is_forward| checked.step(from, is_forward, is_wanted);
    let is_forward = direction.is_forward();
    match step(is_forward) {
        Some(number) => go_to_finding(state, &checked, number),
        None => {
            let has_others = step(!is_forward).is_some();
            finding_elsewhere(state, direction, least, has_others);
        }
    }
}

/// The next finding in another session of the file; `has_others` says whether this one has some the other way.
fn finding_elsewhere(state: &mut State, direction: Direction, least: Severity, has_others: bool) {
    let bad = |session: &usize| {
        let checked = state.checked.get(*session)?.clone()?;
        let sessions = &state.document.as_ref()?.recording.sessions;
        let session_of = sessions.get(*session)?;
        let mut findings = checked.findings().iter();
        let is_bad = |finding: &Finding| checked.is_stop(session_of, finding, least);
        let number = if direction.is_forward() {
            findings.position(is_bad)
        } else {
            findings.rposition(is_bad)
        };
        Some((*session, number?))
    };
    // Another session is shown without the filter.
    let found = if state.shown.is_some() {
        None
    } else if direction.is_forward() {
        (state.session + 1..state.checked.len()).find_map(|session| bad(&session))
    } else {
        (0..state.session).rev().find_map(|session| bad(&session))
    };
    match found {
        Some((session, number)) => select_finding(state, session, number),
        None if direction.is_forward() && sub_agent_file(state, least) => {}
        None => {
            let what = if least == Severity::Error {
                "error"
            } else {
                "finding"
            };
            let way = if direction.is_forward() {
                "further"
            } else {
                "earlier"
            };
            let back = match (least == Severity::Error, direction) {
                (true, Direction::Forward) => " below: { goes back",
                (true, Direction::Backward) => " above: } goes on",
                (false, Direction::Forward) => " below: [ goes back",
                (false, Direction::Backward) => " above: ] goes on",
            };
            let back = if has_others { back } else { "" };
            let words = match (&state.shown, back.split_once(':')) {
                (None, _) => format!("no {way} {what}{back}"),
                (Some(_), Some((_, back))) => format!("no {way} {what} in this filter:{back}"),
                (Some(_), None) => format!("no {way} {what} in this filter"),
            };
            state.say(with_read_errors(state, &words));
        }
    }
}

/// What is said of findings, with the way to what could not be read where there is any.
pub(super) fn with_read_errors(state: &State, words: &str) -> String {
    let shows = match state.problems() {
        0 => return words.to_owned(),
        1 => "shows 1 read error".to_owned(),
        problems => format!("shows {problems} read errors"),
    };
    with_ways(&format!("{words}; "), &[(Command::Log, &shows)])
}

/// Opens the next sub-agent with a file of its own in which something is as bad; false where there is none.
fn sub_agent_file(state: &mut State, least: Severity) -> bool {
    let sessions = state.document.as_ref().map(|it| &it.recording.sessions[..]);
    let calls = nested_calls(
        sessions.unwrap_or_default(),
        &state.sub_agents,
        state.session,
    );
    let files = calls.into_iter().filter_map(|(call, place)| match place {
        NestedPlace::File(number) => Some((call, state.sub_agents.get(number)?)),
        NestedPlace::Session(_) => None,
    });
    let is_bad = |file: &SubAgent| match least {
        Severity::Error => file.errors > 0,
        Severity::Warning | Severity::Info => file.errors + file.warnings > 0,
    };
    let mut bad = files.filter(|(_, file)| is_bad(file));
    let next = bad.nth(state.passed_sub_agents);
    let next = next.map(|(call, file)| (call, file.path.clone()));
    let Some((call, path)) = next else {
        state.passed_sub_agents = 0;
        return false;
    };
    state.passed_sub_agents += 1;
    state.item = call;
    state.effects.push(Effect::Open(path));
    true
}

/// Puts the cursor on the item of a finding.
pub(super) fn go_to_finding(state: &mut State, checked: &Arc<Checked>, number: usize) {
    state.finding = number;
    if let Some(item) = checked.findings().get(number).map(item_of) {
        reveal(state, item);
        show_item(state, item);
        state.transcript.jump_to(Jump::Item);
    }
}

/// Moves the cursor to an item. Where the turns are the only pane, its turn opens: nothing else shows the item.
pub(super) fn show_item(state: &mut State, item: usize) {
    state.go_to(item);
    if state.on_turn && state.size.0 < WIDE {
        let turn = state.turn();
        state.folds.set(turn, true);
        state.on_turn = false;
    }
}

/// Puts the cursor on a finding of any session of the file.
pub(super) fn select_finding(state: &mut State, session: usize, number: usize) {
    let Some(checked) = state.checked.get(session).cloned().flatten() else {
        return;
    };
    if session != state.session {
        let top = state.tops.findings;
        keys::note_way(state, session);
        open_session(state, session);
        state.tops.findings = top;
        let way = match keys::has_parent(state) {
            true => ": q goes back",
            false => "",
        };
        let finding = checked.findings().get(number);
        let message =
            finding.map(|finding| format!(" · {}: {}", finding.rule.id, finding.message()));
        let message = message.unwrap_or_default();
        state.say(format!("session {}{way}{message}", session + 1));
    }
    go_to_finding(state, &checked, number);
}

/// Takes a filter away that hides an item.
pub(super) fn reveal(state: &mut State, item: usize) {
    if is_hidden(state, item) {
        state.show_all();
    }
}

/// Whether a filter hides an item.
fn is_hidden(state: &State, item: usize) -> bool {
    let hides = |shown: &Arc<Shown>| {
        u32::try_from(item).is_ok_and(|item| shown.items.binary_search(&item).is_err())
    };
    state.shown.as_ref().is_some_and(hides)
}

/// Moves the cursor to an item that the filter shows.
pub(super) fn stay_in_sight(state: &mut State) {
    let Some(tree) = state.tree() else { return };
    let place = tree.place_of_item(state.item);
    if tree.items() > 0 {
        let item = tree.item(place.min(tree.items() - 1));
        state.go_to(item);
    }
}

fn partner(state: &mut State) {
    let partner = state
        .session()
        .and_then(|session| session.pairing.partner(state.item));
    let here = state
        .findings_here()
        .iter()
        .find_map(|finding| finding.related);
    match partner.or(here.map(|item| item as usize)) {
        Some(item) => {
            reveal(state, item);
            state.go_to(item);
            state.transcript.jump_to(Jump::Item);
        }
        None => state.notice = Some("this item has no counterpart".to_owned()),
    }
}

fn same_tool(state: &mut State) {
    use crate::tui::state::preview::tool_of;
    let Some(session) = state.session() else {
        return;
    };
    let tool = tool_of(session, state.item);
    if tool.is_empty() {
        state.notice = Some("this item is not a tool call".to_owned());
        return;
    }
    let name = session.names.find(tool);
    let items = session.items.iter().enumerate();
    let mut same = items
        .filter(|(_, item)| Some(item.name) == name)
        .map(|(index, _)| index);
    let first = same.clone().next();
    let next = same.find(|index| *index > state.item).or(first);
    let Some(next) = next else { return };
    let wrapped = next <= state.item;
    reveal(state, next);
    state.go_to(next);
    state.transcript.jump_to(Jump::Item);
    if wrapped {
        state.notice = Some("search wrapped to the top".to_owned());
    }
}

/// Gives the keys to a pane.
pub(super) fn focus(state: &mut State, pane: Pane) {
    let pane = match pane {
        // The items of a turn stand in the transcript.
        Pane::Items if state.transcript.is_on => Pane::Turns,
        pane => pane,
    };
    match pane {
        Pane::Turns | Pane::Items => state.left = Pane::Turns,
        Pane::Findings => {
            if state.left != Pane::Findings {
                keys::note_place(state);
            }
            state.left = Pane::Findings;
            let near = state.checked().and_then(|checked| {
                let last = checked.findings().len().checked_sub(1)?;
                let here = checked.worst_number(state.item);
                let here = here.unwrap_or(checked.range(state.item..usize::MAX).start);
                Some((state.session, here.min(last)))
            });
            let near = near.or_else(|| {
                let rows = list_findings(&state.checked);
                let found: Vec<_> = rows.filter_map(|row| finding_of(&row)).collect();
                let below = found.iter().find(|(session, _)| *session > state.session);
                below.or(found.last()).copied()
            });
            if let Some((session, number)) = near {
                select_finding(state, session, number);
            }
        }
        Pane::Sessions => {
            state.left = Pane::Sessions;
            state.listed_session = state.session;
        }
        Pane::Detail => {}
    }
    state.focus = pane;
    if pane == Pane::Turns {
        state.on_turn = !state.transcript.is_on && !state.folds.is_unfolded(state.turn());
    }
}

/// Gives the keys to the next pane.
pub(super) fn next_pane(state: &mut State, forward: bool) {
    let panes: &[Pane] = match state.left {
        Pane::Findings => &[Pane::Findings, Pane::Detail],
        Pane::Sessions => &[Pane::Sessions, Pane::Detail],
        Pane::Turns | Pane::Items | Pane::Detail if state.transcript.is_on => {
            &[Pane::Turns, Pane::Detail]
        }
        Pane::Turns | Pane::Items | Pane::Detail => &[Pane::Turns, Pane::Items, Pane::Detail],
    };
    let at = panes
        .iter()
        .position(|pane| *pane == state.focus)
        .unwrap_or_default();
    let step = if forward { 1 } else { panes.len() - 1 };
    focus(state, panes[(at + step) % panes.len()]);
}

/// Shows another session of the file.
pub(super) fn open_session(state: &mut State, session: usize) {
    if state.session == session {
        return;
    }
    state.session = session;
    state.item = 0;
    state.on_turn = !state.transcript.is_on;
    state.folds = Folds::default();
    state.show_all();
    state.tops = Default::default();
    state.finding = 0;
}
