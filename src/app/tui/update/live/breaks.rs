//! Breakpoints: set on what is under the cursor, listed, written.

use super::super::{Effect, overlay};
use super::{LiveCommand, complain};
use crate::tui::live::breakpoints::Breakpoints;
use crate::tui::live::places::{Choice, Places};
use crate::tui::prompt::Prompt;
use crate::tui::state::preview::tool_of;
use crate::tui::state::{Asked, Overlay, State};
use retake_core::engine::{Breakpoint, Place};
use retake_core::session::Kind;

/// The menu of what a breakpoint may be set on here.
pub(super) fn break_here(state: &mut State) -> Vec<Effect> {
    let mut choices = Vec::new();
    if let (Some(session), Some(item)) = (state.session(), state.item()) {
        let tool = tool_of(session, state.item);
        if !tool.is_empty() {
            choices.push(Place::Tool(tool.to_owned()));
        }
        for finding in state.findings_here() {
            choices.push(Place::Rule(finding.rule.id.to_owned()));
        }
        choices.push(Place::Kind(item.kind.word().to_owned()));
        let turn = u32::try_from(state.turn() + 1).unwrap_or(u32::MAX);
        choices.push(Place::Turn(turn));
    }
    choices.dedup();
    let mut choices: Vec<Choice> = choices.into_iter().map(Choice::Place).collect();
    let is_call = state.item().is_some_and(|item| item.kind == Kind::Call);
    let begun = if is_call { "arg ." } else { "tool " };
    choices.push(Choice::Written(begun.to_owned()));
    overlay(state, Overlay::Places(Box::new(Places::new(choices))))
}

/// What the operator chose of the menu.
pub(in crate::tui::update) fn placed(
    state: &mut State,
    choice: Choice,
    is_one_shot: bool,
) -> Vec<Effect> {
    state.overlays.pop();
    match choice {
        Choice::Place(place) => set(state, place, is_one_shot),
        Choice::Written(begun) => {
            let once = if is_one_shot { "once " } else { "" };
            write(state, &format!("{once}{begun}"))
        }
    }
}

pub(super) fn list(state: &mut State) -> Vec<Effect> {
    let list = Breakpoints::new(state.live.breakpoints.clone());
    overlay(state, Overlay::Breakpoints(Box::new(list)))
}

/// Asks for one more, in words.
pub(in crate::tui::update) fn write_breakpoint(state: &mut State) -> Vec<Effect> {
    write(state, "")
}

/// Asks for a breakpoint in words.
fn write(state: &mut State, begun: &str) -> Vec<Effect> {
    let mut prompt = Prompt::new("break", "tool search_*, arg .n > 9, once turn 5");
    prompt.open(begun);
    overlay(state, Overlay::Line(Box::new(prompt), Asked::Breakpoint))
}

/// A breakpoint in words.
pub(super) fn written(state: &mut State, text: &str) -> Vec<Effect> {
    match Breakpoint::parse(state.live.next_breakpoint(), text) {
        Ok(breakpoint) => {
            state.overlays.pop();
            set(state, breakpoint.on, breakpoint.is_one_shot)
        }
        Err(fault) => complain(state, &fault.to_string()),
    }
}

fn set(state: &mut State, on: Place, is_one_shot: bool) -> Vec<Effect> {
    let number = state.live.next_breakpoint();
    state.notice = Some(format!("breakpoint {number}: {on}"));
    let mut breakpoints = state.live.breakpoints.clone();
    breakpoints.push(Breakpoint {
        number,
        on,
        is_one_shot,
        is_enabled: true,
    });
    if let Some(Overlay::Breakpoints(list)) = state.overlays.last_mut() {
        list.set_rows(breakpoints.clone());
    }
    changed(state, breakpoints)
}

/// Other breakpoints hold from now on.
pub(in crate::tui::update) fn changed(
    state: &mut State,
    breakpoints: Vec<Breakpoint>,
) -> Vec<Effect> {
    state.live.breakpoints.clone_from(&breakpoints);
    vec![Effect::Live(LiveCommand::SetBreakpoints(breakpoints))]
}
