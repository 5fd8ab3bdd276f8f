//! Leaving, and the questions before.

use crate::tui::effect::Effect;
use crate::tui::keymap::Command;
use crate::tui::recovery::forms::Confirmation;
use crate::tui::stack::Screen as _;
use crate::tui::state::State;
use retake_core::engine;

/// Leaves, unless takes would be lost by that: then the operator has to confirm.
pub(super) fn ask_to_leave(state: &mut State, command: Command) {
    let takes = &state.recovery.takes;
    let held = state.exchange.as_ref().filter(|_| command == Command::Quit);
    let held = held.map_or(0, |open| {
        open.others + usize::from(open.holding().is_some())
    });
    let is_of_proxy = state.exchange.is_some();
    let is_busy = state.live.is_busy() && state.live.leaving.is_none() && !is_of_proxy;
    let lost = match takes.in_memory {
        _ if held > 0 => crate::tui::proxy::words::held(held),
        // The list asks about what else would be lost.
        0 if is_of_proxy && command == Command::Quit => return leave(state, command),
        0 if is_busy => "the run is active and will be stopped".to_owned(),
        0 => return leave(state, command),
        1 => "1 take is only in memory and will be lost".to_owned(),
        count => format!("{count} takes are only in memory and will be lost"),
    };
    let verb = if command == Command::Close {
        "close"
    } else {
        "quit"
    };
    let reason = takes.banner.as_deref().unwrap_or_default();
    let question = Confirmation::new(verb, reason, &format!("{lost}: {verb}?"));
    state.open(question, move |state, _, ()| stop_and_leave(state, command));
}

pub(super) fn leave(state: &mut State, command: Command) {
    state.effects.push(match command {
        Command::Close => Effect::Close,
        _ => Effect::Quit,
    });
}

/// Leaves by a command; a run that is under way is ended first.
fn stop_and_leave(state: &mut State, command: Command) {
    match stop(state, command) {
        true => state.say("stopping the run: press the key again to quit now"),
        false => leave(state, command),
    }
}

/// Stops the run before the program ends; whether there is one to be stopped.
pub fn stop_run(state: &mut State) -> bool {
    stop(state, Command::Quit)
}

fn stop(state: &mut State, command: Command) -> bool {
    // The proxy goes on with what is given back to it.
    let is_given_back = state.exchange.is_some();
    if !state.live.is_busy() || state.live.leaving.is_some() || is_given_back {
        return false;
    }
    state.leave_layers();
    state.live.leaving = Some(command);
    state.command(engine::RunCommand::Abort);
    true
}
