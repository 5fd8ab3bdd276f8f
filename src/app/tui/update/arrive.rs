//! What the loader brings: parts of the file, the whole of it, findings, growth.

use super::live::hear;
use super::{exchange, layers, live, motion, recover, takes};
use crate::tui::effect::{Effect, TakesCommand};
use crate::tui::filter::Filter;
use crate::tui::keymap::{Command, with_ways};
use crate::tui::recovery::saving::{Save, SaveDialog};
use crate::tui::recovery::takes::TakeTree;
use crate::tui::report::Report;
use crate::tui::stack::{Flow, Screen as _};
use crate::tui::state::document::{Document, Extent, Place};
use crate::tui::state::takes::TakesView;
use crate::tui::state::tree::Shown;
use crate::tui::state::{Follow, Queued, Stage, State};
use retake_core::rules::{Finding, Severity};
use std::sync::Arc;

/// Takes news of the file.
pub fn arrive(state: &mut State, report: Report) {
    take_in(state, report);
    state.say_fault();
}

fn take_in(state: &mut State, report: Report) {
    match report {
        Report::Progress { done, total } => {
            state.stage = Stage::Reading { done, total };
        }
        // A take stays on the screen while its recording grows.
        Report::Tail(document) | Report::Grown(document) if state.recovery.takes.current != 0 => {
            state.effects.push(Effect::Discard(document))
        }
        Report::Tail(document) => tail(state, document),
        Report::Whole(document) => {
            state.stage = Stage::Checking;
            whole(state, document);
            layers::go_to_sought(state);
            exchange::go_to_asked(state);
        }
        Report::Checked {
            document,
            session,
            checked,
        } => {
            if is_shown(state, &document) {
                state.check(session, checked);
                if session == state.session {
                    layers::sift_checked(state);
                }
                begin_at_error(state, session);
            }
            recover::begin_awaited(state)
        }
        Report::Finished(document) => {
            if is_shown(state, &document) {
                state.stage = Stage::Ready;
                layers::go_to_sought(state);
                motion::queued_finding(state);
                // Those that were looked at follow the run.
                if state.transcript.is_on || state.totals.is_some() || state.has_overlay() {
                    state.count_totals();
                }
                if document.recording.format.id == "claude-code" && state.sub_agents.is_empty() {
                    state.effects.push(Effect::FindSubAgents);
                }
                for session in 0..state.checked.len() {
                    begin_at_error(state, session);
                }
            }
            if let Some(take) = state.recovery.wanted {
                return takes::ask(state, TakesCommand::GoTo(take));
            }
            recover::begin_awaited(state)
        }
        Report::TakesDone => takes::done(state),
        Report::TakesFound(view) => {
            // A take of a held exchange is what is held, not one from before.
            match view.count() - 1 {
                _ if state.exchange.is_some() => {}
                // They are looked for while the operator may make the first one.
                _ if state.recovery.takes.current != 0 => {}
                0 => {}
                _ if view.are_of_run() => {}
                _ if view.left_in != 0 && is_untouched(state) => {
                    takes::take_view(state, view);
                    return takes::ask(state, TakesCommand::Reopen);
                }
                count => {
                    let takes = if count == 1 { "take" } else { "takes" };
                    if let Some(latest) = view.rows.iter().max_by_key(|row| row.id) {
                        state.recovery.latest = Some(latest.id);
                        let latest = latest.label();
                        let latest = format!("opens {latest}, the latest");
                        let opens =
                            with_ways(&format!("{count} {takes}: "), &[(Command::Redo, &latest)]);
                        let lists = [(Command::Takes, "lists them")];
                        state.say(with_ways(&format!("{opens}; "), &lists));
                    }
                }
            }
            takes::take_view(state, view);
        }
        Report::TakeTree(view) => {
            if let Some(tree) = state.layers.top_mut::<TakeTree>() {
                tree.set_rows(view.rows.clone());
            }
            takes::take_view(state, view);
        }
        Report::TakeShown {
            document,
            at,
            view,
            notice,
        } => show(state, document, at, view, notice),
        Report::TakeGrown { document, view } => hear::grown(state, document, view),
        Report::Compared(comparison) => {
            state.open(*comparison, |_, _, ()| ());
        }
        Report::Formats(name, formats) => {
            let take = state.recovery.takes.current;
            let dialog = SaveDialog::new(&name, take, formats);
            state.open(dialog, |state, _, save: Save| {
                let command = TakesCommand::Save {
                    session: state.session,
                    path: save.path,
                    format: save.format,
                    force: save.force,
                };
                takes::ask(state, command);
                Flow::Stay
            });
            for key in state.recovery.typed.take().unwrap_or_default() {
                super::press(state, key);
            }
        }
        Report::Saved(notice) => {
            if state.layers.top::<SaveDialog>().is_some() {
                state.leave_layer();
            }
            state.notice = Some(notice);
        }
        Report::Exists => {
            if let Some(dialog) = state.layers.top_mut::<SaveDialog>() {
                dialog.ask_to_overwrite();
            }
        }
        Report::TakesRefused(reason) => match state.layers.top_mut::<SaveDialog>() {
            Some(dialog) => dialog.complain(&reason),
            None => state.notice = Some(reason),
        },
        Report::Live(news) => hear::hear(state, news),
        Report::PastAgent(path) => hear::past_agent(state, path),
        Report::Asked(items) => {
            if let Some(open) = state.exchange.as_mut().filter(|open| open.is_seat) {
                open.sent = Some(items);
            }
        }
        Report::Breakpoints(breakpoints) => {
            state.live.breakpoints = breakpoints;
        }
        Report::Agent(agent) => {
            hear::agent(state, *agent);
        }
        Report::Past(event, time) => {
            state.live.recall(&event, time);
        }
        Report::Trust(request) => hear::trust(state, request),
        Report::Grown(document) => {
            if matches!(state.stage, Stage::Reading { .. }) {
                state.stage = Stage::Checking;
            }
            whole(state, document);
            if state.follow == Follow::On {
                motion::to_end(state);
            }
        }
        Report::Lines(lines) => {
            state.lines = lines;
        }
        Report::NotFollowed => {
            state.follow = Follow::Off;
            state.say("a file of this format cannot be followed");
        }
        Report::Notice(text) => {
            state.notice = Some(text);
        }
        Report::Sifted {
            document,
            session,
            shown,
            is_preview,
        } => {
            if session == state.session && is_shown(state, &document) {
                layers::sifted(state, shown, is_preview);
            }
        }
        Report::SiftedElsewhere { document, items } if is_shown(state, &document) => {
            layers::sifted_elsewhere(state, items);
        }
        Report::SiftedElsewhere { .. } => {}
        Report::Found(found) => layers::found(state, found),
        Report::Counted(counting, places, is_done) => {
            layers::counted(state, &counting, places, is_done)
        }
        Report::Totalled(document, session, totals) => {
            state.take_totals(document, session, totals);
        }
        Report::SubAgents(found) => {
            state.sub_agents = found.into();
            state.renew();
        }
        Report::ProxyLog(log) => state.live.proxy_log = Some(log),
        Report::Paths(paths) => live::completed(state, &paths),
        Report::Failed(reason) => {
            state.stage = Stage::Failed(reason);
        }
    }
}

/// Whether the operator has done nothing yet, nor asked for a place in the file.
fn is_untouched(state: &State) -> bool {
    let is_sought = state.sought.is_some() || state.queued.is_some();
    !state.has_pressed && !is_sought && state.recovery.wanted.is_none()
}

fn is_shown(state: &State, document: &Arc<Document>) -> bool {
    let now = state.document.as_ref();
    now.is_some_and(|now| Arc::ptr_eq(now, document))
}

/// Puts the cursor on the first error of a session, unless a key was pressed already.
fn begin_at_error(state: &mut State, session: usize) {
    // What goes wrong in a side chain is seen from the conversation that began it.
    let document = state.document.clone();
    let sessions = document
        .as_ref()
        .map_or(&[][..], |document| &document.recording.sessions[..]);
    let is_active = |session: &retake_core::session::Session| session.active;
    if sessions.iter().any(is_active) && !sessions.get(session).is_some_and(is_active) {
        return;
    }
    let Some(checked) = state.checked.get(session).cloned().flatten() else {
        return;
    };
    let mut findings = checked.findings().iter();
    // A command that failed is what an agent works with.
    let is_routine = |finding: &Finding| finding.rule.id == "tool-error";
    // The run broke off in a call that may have run: what to do about it comes before anything else.
    let may_have_run =
        |finding: &Finding| finding.rule.id == "pending-call" && finding.severity > Severity::Info;
    let first = findings
        .position(|it| it.severity == Severity::Error && !is_routine(it) || may_have_run(it));
    if let Some(first) = first.filter(|_| !state.has_moved) {
        state.has_moved = true;
        let (is_other, count) = (state.session != session, sessions.len());
        motion::open_session(state, session);
        motion::go_to_finding(state, &checked, first);
        let finding = &checked.findings()[first];
        if is_other {
            let place = format!("session {} of {count}", session + 1);
            state.say(format!("{place} has an error; S lists the sessions"));
        } else if state.item > 0 && state.exchange.is_none() && !may_have_run(finding) {
            let (turn, rule) = (state.turn() + 1, finding.rule.id);
            let message = finding.message();
            state.say(format!(
                "opened at the first error, turn {turn}; g goes to the start · {rule}: {message}"
            ));
        }
    }
}

fn tail(state: &mut State, document: Arc<Document>) {
    let is_wanted = match state.follow {
        Follow::On => true,
        Follow::Paused => false,
        Follow::Off => !state.is_whole(),
    };
    if !is_wanted {
        return state.effects.push(Effect::Discard(document));
    }
    let before = state
        .document
        .as_ref()
        .and_then(|old| turns_before(old, &document, state));
    let sessions = document.recording.sessions.len();
    if state.is_whole() {
        // `g` and a number lead to what was read before; the rest is read meanwhile.
        state.head = state.document.clone();
        state.stage = Stage::Reading { done: 0, total: 0 };
    }
    state.show(document);
    state.turns_before = before;
    recover::abandon(state);
    state.session = sessions.saturating_sub(1);
    motion::to_end(state);
}

/// How many turns come before the end of a file, where what was shown until now says so.
fn turns_before(old: &Document, end: &Document, state: &State) -> Option<usize> {
    let before = state.turns_before?;
    let session = end.recording.sessions.last()?;
    let old_session = old.recording.sessions.last()?;
    // The last one in both: the first turn of the end may lack its beginning.
    session.items.iter().rev().find_map(|item| {
        let start = item.span.start;
        let mut items = old_session.items.iter().rev();
        let same = items.find(|item| item.span.start <= start);
        let same = same.filter(|same| same.span.start == start)?;
        (before + same.turn as usize).checked_sub(item.turn as usize)
    })
}

/// Shows the whole file with the cursor on the item where it was.
fn whole(state: &mut State, document: Arc<Document>) {
    let here = state.place();
    let unread = state.unread.take().filter(|(_, place)| *place == here);
    let start = unread.map(|(start, _)| start);
    let start = start.or_else(|| Some(state.item()?.span.start));
    let place = state.document.as_ref().zip(start).and_then(|(old, start)| {
        let is_ahead = unread.is_some() || old.extent == Extent::Tail;
        same_place(old, &document, here, start, is_ahead)
    });
    state.show(document);
    recover::abandon(state);
    let head = state.head.take().map(Effect::Discard);
    state.effects.extend(head);
    let before = state.item;
    if let Some(place) = place {
        state.transcript.renumber(before, place.item);
    }
    let found = place.zip(start);
    let place = place.unwrap_or_default();
    state.session = place.session;
    state.item = place.item;
    let starts_at = |start| state.item().is_some_and(|item| item.span.start == start);
    let unread = found.filter(|(_, start)| !starts_at(*start));
    state.unread = unread.map(|(place, start)| (start, place));
    layers::sift_again(state);
    if !state.is_whole() {
        return;
    }
    let queued = state.queued.take();
    if matches!(&queued, Some(queued) if !matches!(queued, Queued::Finding(..))) {
        state.notice = None;
    }
    match queued {
        Some(Queued::Turn(number)) => motion::go_to_turn(state, number),
        Some(Queued::Item(number)) => motion::go_to_item(state, number),
        Some(Queued::Search(direction)) => layers::next_hit(state, direction),
        // The rules have not seen it yet.
        finding @ Some(Queued::Finding(..)) => state.queued = finding,
        None => {}
    }
}

/// The position of the item with the cursor, which begins at `start`, in the new document; the last one before it where
/// it may have been appended since the new document was read.
fn same_place(
    old: &Document,
    new: &Document,
    here: Place,
    start: u64,
    is_ahead: bool,
) -> Option<Place> {
    let near = match old.extent {
        Extent::Head | Extent::Whole => here,
        Extent::Tail => {
            let sessions = new.recording.sessions.len();
            let from_end = old.recording.sessions.len().checked_sub(here.session)?;
            let session = sessions.checked_sub(from_end)?;
            let items = |document: &Document, session: usize| {
                let session = document.recording.sessions.get(session);
                session.map_or(0, |session| session.items.len())
            };
            let from_end = items(old, here.session).checked_sub(here.item)?;
            Place {
                session,
                item: items(new, session).saturating_sub(from_end),
            }
        }
    };
    let found = new.find(start, near);
    found.or_else(|| is_ahead.then(|| new.last_before(start, near.session))?)
}

fn show(
    state: &mut State,
    document: Arc<Document>,
    at: Option<Place>,
    view: Arc<TakesView>,
    notice: String,
) {
    let sessions = document.recording.sessions.len();
    let before = (
        state.session,
        state.session().map_or(0, |it| it.items.len()),
    );
    let filtered = state.shown.clone().filter(|_| state.filter.is_some());
    state.show(document);
    let notice = match recover::abandon(state) {
        true => format!("{notice}; the open dialog was closed"),
        false => notice,
    };
    state.checked = vec![None; sessions];
    state.stage = Stage::Checking;
    state.notice = Some(notice);
    let is_wanted = state.recovery.wanted.take() == Some(view.current);
    takes::take_view(state, view);
    let place = at.unwrap_or(state.place());
    state.session = place.session.min(sessions.saturating_sub(1));
    motion::reveal(state, place.item);
    state.go_to(place.item);
    state.has_moved = true;
    if is_wanted {
        motion::to_end(state);
    }
    hear::shown(state);
    if state.filter.as_ref().is_some_and(Filter::asks_for_findings) {
        keep_filtered(state, filtered, before, at);
    } else {
        layers::sift_again(state);
    }
}

/// Shows what the filter let through until the rules have seen the take.
fn keep_filtered(
    state: &mut State,
    filtered: Option<Arc<Shown>>,
    (session, items): (usize, usize),
    at: Option<Place>,
) {
    let filtered = filtered.filter(|_| state.session == session);
    if let Some((filtered, session)) = filtered.zip(state.session()) {
        let by = session.items.len().wrapping_sub(items).cast_signed();
        let at = at.map_or(items, |at| at.item);
        state.shown = Some(Arc::new(filtered.shifted(session, at, by)));
    }
}
