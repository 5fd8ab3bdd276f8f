//! News of the run: what is shown of them, where the cursor goes, which dialog comes by itself.

use super::super::{exchange, layers, leaving, motion, recover, takes};
use super::decide;
use crate::tui::live::approval::TrustForm;
use crate::tui::live::words;
use crate::tui::stack::Screen as _;
use crate::tui::state::document::Document;
use crate::tui::state::live::{AgentInfo, TrustRequest};
use crate::tui::state::takes::TakesView;
use crate::tui::state::{Follow, Stage, State};
use retake_core::engine::Reason;
use retake_core::session::ledger::LedgerEvent;
use retake_core::session::takes::Author;
use retake_live::live::{Phase, RunNews};
use std::sync::Arc;

/// Takes news of the run.
pub(crate) fn hear(state: &mut State, news: RunNews) {
    if let RunNews::Notice(text) = &news {
        state.notice = Some(text.clone());
    }
    let was_on = state.live.is_on();
    if let RunNews::Recorded(event @ LedgerEvent::Decided { by, .. }) = &news
        && was_on
        && *by == Author::Policy
    {
        state.notice = Some(words::event(event).1);
    }
    if !state.live.hear(news, state.now) {
        return;
    }
    if !was_on && state.live.is_on() {
        state.follow = Follow::On;
        // A run begins where the whole of its history is known.
        motion::to_end(state);
    }
    let live = &mut state.live;
    let document = state.document.as_ref();
    live.find_places(document.and_then(|document| document.session(state.session)));
    if state.leave_outdated() {
        state.notice = Some("the run has continued: the open dialog was closed".to_owned());
    }
    if state.live.is_paused() {
        drop_one_shots(state);
        state.live.jumps = true;
        jump(state);
        if !state.has_overlay() && state.follow == Follow::On {
            decide::offer_approval(state);
        }
    }
    if let Some(command) = state.live.leaving.filter(|_| !state.live.is_on()) {
        state.live.leaving = None;
        leaving::leave(state, command);
    }
}

/// Takes note of the agent.
pub(crate) fn agent(state: &mut State, agent: AgentInfo) {
    state.live.proposed_agent = Some(agent.path.clone());
    state.live.agent = Some(agent);
}

/// Takes note of the agent that ran here before: going on means going on with it.
pub(crate) fn past_agent(state: &mut State, path: String) {
    state.live.is_of_recording = true;
    state.live.proposed_agent = Some(path.clone());
    state.live.agent.get_or_insert_default().path = path;
}

/// Asks whether an agent's file is trusted; later, where the operator is at something else.
pub(crate) fn trust(state: &mut State, request: TrustRequest) {
    if state.has_overlay() {
        state.notice = Some("trust the agent's file first: c shows it".to_owned());
        state.live.trust = Some(request);
        return;
    }
    state.open(TrustForm::new(&request), |state, _, is_trusted| {
        decide::answer_trust(state, is_trusted);
    });
}

/// Shows the take that the run drives, which has grown. What is known of its items stays until
/// they are checked again.
pub(crate) fn grown(state: &mut State, document: Arc<Document>, view: Arc<TakesView>) {
    let sessions = document.recording.sessions.len();
    state.show(document);
    recover::abandon(state);
    state.stage = Stage::Checking;
    takes::take_view(state, view);
    state.session = state.session.min(sessions.saturating_sub(1));
    let items = state.session().map_or(0, |session| session.items.len());
    state.item = state.item.min(items.saturating_sub(1));
    shown(state);
    layers::sift_again(state);
}

/// Another document is shown: the cursor goes where the run is, unless the operator looks elsewhere.
pub(crate) fn shown(state: &mut State) {
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
    motion::show_item(state, item);
    true
}

/// A breakpoint that was to stop the run once has done so.
fn drop_one_shots(state: &mut State) {
    let live = &mut state.live;
    let Phase::Paused { reasons } = &live.phase else {
        return;
    };
    live.breakpoints.retain(|breakpoint| {
        let is_hit = |reason: &Reason| {
            matches!(
                reason,
                Reason::Breakpoint { number, .. } if *number == breakpoint.number
            )
        };
        !(breakpoint.is_one_shot && reasons.iter().any(is_hit))
    });
}
