//! News of the run: what is shown of them, where the cursor goes, which dialog comes by itself.

use super::super::{Effect, exchange, layers, motion, recover, takes};
use super::{LiveCommand, decide};
use crate::tui::keymap::Command;
use crate::tui::live::trust::{Trust, TrustRequest};
use crate::tui::live::words;
use crate::tui::state::document::Document;
use crate::tui::state::live::AgentInfo;
use crate::tui::state::recovery::TakesView;
use crate::tui::state::{Follow, Overlay, Stage, State};
use retake_core::engine::{self, Reason};
use retake_core::session::ledger::{CallKey, LedgerEvent};
use retake_core::session::takes::Author;
use retake_live::live::{News, Phase};
use std::sync::Arc;

/// Takes news of the run.
pub(in crate::tui::update) fn hear(state: &mut State, news: News) -> Vec<Effect> {
    if let News::Notice(text) = &news {
        state.notice = Some(text.clone());
    }
    let was_on = state.live.is_on();
    if let News::Recorded(event @ LedgerEvent::Decided { by, .. }) = &news
        && was_on
        && *by == Author::Policy
    {
        state.notice = Some(words::event(event).1);
    }
    if !state.live.hear(news, state.now) {
        return Vec::new();
    }
    if !was_on && state.live.is_on() {
        state.follow = Follow::On;
        // A run begins where the whole of its history is known.
        let _nothing_to_read = motion::to_end(state);
    }
    let live = &mut state.live;
    let document = state.document.as_ref();
    live.find_places(document.and_then(|document| document.session(state.session)));
    close_what_is_over(state);
    if state.live.is_paused() {
        drop_one_shots(state);
        state.live.jumps = true;
        jump(state);
        if !state.has_overlay() && state.follow == Follow::On {
            decide::offer_approval(state);
        }
    }
    match state.live.leaving.filter(|_| !state.live.is_on()) {
        Some(command) => {
            state.live.leaving = None;
            takes::leave(command)
        }
        None => Vec::new(),
    }
}

/// Takes note of the agent.
pub(in crate::tui::update) fn agent(state: &mut State, agent: AgentInfo) {
    state.live.proposed_agent = Some(agent.path.clone());
    state.live.agent = Some(agent);
}

/// Takes note of the agent that ran here before: going on means going on with it.
pub(in crate::tui::update) fn past_agent(state: &mut State, path: String) -> Vec<Effect> {
    state.live.is_of_recording = true;
    state.live.proposed_agent = Some(path.clone());
    state.live.agent.get_or_insert_default().path = path;
    Vec::new()
}

/// Asks whether an agent's file is trusted; later, where the operator is at something else.
pub(in crate::tui::update) fn trust(state: &mut State, request: TrustRequest) -> Vec<Effect> {
    if state.has_overlay() {
        state.notice = Some("the agent's file has to be trusted first: c shows it".to_owned());
        state.live.trust = Some(request);
        return Vec::new();
    }
    state
        .overlays
        .push(Overlay::Trust(Box::new(Trust::new(&request))));
    Vec::new()
}

/// Shows the take that the run drives, which has grown. What is known of its items stays until
/// they are checked again.
pub(in crate::tui::update) fn grown(
    state: &mut State,
    document: Arc<Document>,
    view: Arc<TakesView>,
) -> Vec<Effect> {
    let sessions = document.recording.sessions.len();
    recover::abandon(state);
    let mut effects: Vec<Effect> = state
        .show(document)
        .map(Effect::Discard)
        .into_iter()
        .collect();
    state.stage = Stage::Checking;
    takes::take_view(state, view);
    state.session = state.session.min(sessions.saturating_sub(1));
    let items = state.session().map_or(0, |session| session.items.len());
    state.item = state.item.min(items.saturating_sub(1));
    shown(state);
    if let Some(filter) = state.filter.clone() {
        effects.extend(layers::sift(state, filter, false));
    }
    effects
}

/// Another document is shown: the cursor goes where the run is, unless the operator looks elsewhere.
pub(in crate::tui::update) fn shown(state: &mut State) {
    let document = state.document.clone();
    let session = document.as_ref().and_then(|it| it.session(state.session));
    state.live.shown(session);
    exchange::narrow(state);
    if !state.live.is_on() && !matches!(state.live.phase, Phase::Ended(_)) {
        return;
    }
    let has_jumped = jump(state);
    if !has_jumped && state.follow == Follow::On && !state.live.is_paused() {
        motion::to_end(state);
    }
}

/// Puts the cursor on what holds the run, unless the operator is at something else: then a line says so.
fn jump(state: &mut State) -> bool {
    if !state.live.jumps {
        return false;
    }
    if state.has_overlay() || state.follow != Follow::On {
        state.live.jumps = false;
        if let Some(reason) = state.live.reasons().first().map(words::sentence) {
            state.notice = Some(format!("the run is paused: {reason}"));
        }
        return false;
    }
    let Some(item) = state.live.places.iter().find_map(|place| *place) else {
        return false;
    };
    state.live.jumps = false;
    motion::reveal(state, item);
    state.has_moved = true;
    state.go_to(item);
    true
}

/// Follows the run again, from where it is now.
pub(in crate::tui::update) fn resume_following(state: &mut State, command: Command) {
    let is_asked = command == Command::Edge(crate::tui::keymap::Direction::Forward);
    if is_asked && state.live.is_on() && state.follow == Follow::Paused && !state.has_overlay() {
        state.follow = Follow::On;
    }
}

/// A breakpoint that was to stop the run once has done so.
fn drop_one_shots(state: &mut State) {
    let live = &mut state.live;
    let Phase::Paused { reasons } = &live.phase else {
        return;
    };
    live.breakpoints.retain(|breakpoint| {
        let is_hit = |reason: &Reason| matches!(reason, Reason::Breakpoint { number, .. } if *number == breakpoint.number);
        !(breakpoint.is_one_shot && reasons.iter().any(is_hit))
    });
    let rows = live.breakpoints.clone();
    for overlay in &mut state.overlays {
        if let Overlay::Breakpoints(list) = overlay {
            list.set_rows(rows.clone());
        }
    }
}

/// Closes dialogs about calls that no longer wait; a text that was begun is kept.
fn close_what_is_over(state: &mut State) {
    let State { live, overlays, .. } = state;
    let waits = |call: &CallKey| {
        live.reasons().iter().any(|reason| match reason {
            Reason::Approval { call: waiting, .. }
            | Reason::AskOperator { call: waiting, .. }
            | Reason::MayHaveRun { call: waiting, .. } => waiting == call,
            _ => false,
        })
    };
    let mut draft = None;
    let open = overlays.len();
    overlays.retain(|overlay| match overlay {
        // Nothing is approved but what was shown.
        Overlay::Approval(dialog) => live.reasons().iter().any(|reason| {
            matches!(reason, Reason::Approval { call, arguments, .. }
                if *call == dialog.call && *arguments == dialog.arguments)
        }),
        Overlay::Answer(form, answering) => match answering.call() {
            Some(call) if !waits(call) => {
                draft = Some((call.clone(), form.text()));
                false
            }
            _ => true,
        },
        Overlay::Sure(_, LiveCommand::Engine(engine::Command::RunAgain { call })) => waits(call),
        _ => true,
    });
    if overlays.len() < open {
        state.notice = Some("the run has gone on: what was begun is closed".to_owned());
    }
    if draft.is_some() {
        live.draft = draft;
    }
}
