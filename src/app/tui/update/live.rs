//! A live run on the screen: news of it come in, the operator's commands go out. No command is obeyed here;
//! each is an [`Effect::Live`] that the conductor answers with news.

pub(super) mod decide;
pub(super) mod hear;

use super::takes;
use crate::tui::effect::{Effect, LiveCommand};
use crate::tui::keymap::{Command, ways, with_ways};
use crate::tui::live::agent_prompt::AgentPrompt;
use crate::tui::live::breakpoints::{Breakpoints, Places};
use crate::tui::live::tools::Tools;
use crate::tui::prompt::Prompt;
use crate::tui::recovery::forms::Confirmation;
use crate::tui::report::Paths;
use crate::tui::stack::{Flow, Screen as _};
use crate::tui::state::State;
use crate::tui::state::preview::tool_of;
use retake_core::engine::{self, BreakpointTarget, Reason};
use retake_core::safe_text::SafeText;
use retake_core::session::Kind;
use retake_core::session::ledger::Ending;
use retake_live::live::Phase;

/// The notice where there is nothing to command.
fn no_run() -> String {
    with_ways(
        "no run: ",
        &[(Command::Continue, "continues live from this take")],
    )
}

/// Does what a command of the run says.
pub(super) fn obey(state: &mut State, command: Command) {
    match command {
        Command::Break => break_here(state),
        Command::Breakpoints => state.open(Breakpoints::default(), |_, _, ()| ()),
        Command::StepRun => step(state),
        Command::Continue => go_on(state),
        Command::PauseRun => pause(state),
        Command::Abort => abort(state),
        Command::Always => decide::always(state),
        _ => {}
    }
}

/// The menu of what a breakpoint may be set on here.
fn break_here(state: &mut State) {
    let mut choices = Vec::new();
    if let (Some(session), Some(item)) = (state.session(), state.item()) {
        let tool = tool_of(session, state.item);
        if !tool.is_empty() {
            choices.push(BreakpointTarget::Tool(tool.to_owned()));
        }
        for finding in state.findings_here() {
            choices.push(BreakpointTarget::Rule(finding.rule.id.to_owned()));
        }
        choices.push(BreakpointTarget::Kind(item.kind.word().to_owned()));
        let turn = u32::try_from(state.turn() + 1).unwrap_or(u32::MAX);
        choices.push(BreakpointTarget::Turn(turn));
    }
    let is_call = state.item().is_some_and(|item| item.kind == Kind::Call);
    let begun = if is_call { "arg ." } else { "tool " };
    state.open(Places::new(choices, begun), |_, _, ()| ());
}

/// Goes on, or begins to.
fn go_on(state: &mut State) {
    if let Some(request) = state.live.trust.take() {
        return hear::trust(state, request);
    }
    if state.live.is_pausing {
        return pause(state);
    }
    match &state.live.phase {
        Phase::Ended(Ending::Final) if state.exchange.is_none() => {
            decide::ask_for_message(state, "the next message")
        }
        Phase::Idle | Phase::Ended(_) => begin(state),
        Phase::Asking { .. } | Phase::Running { .. } => {
            let ways = [
                (Command::PauseRun, "pauses it"),
                (Command::Abort, "aborts it"),
            ];
            state.say(with_ways("the run is active: ", &ways))
        }
        Phase::Waiting { .. } => state.command(engine::RunCommand::Now),
        Phase::Paused { .. } => settle(state, engine::RunCommand::Continue),
    }
}

/// One step of the run.
fn step(state: &mut State) {
    match &state.live.phase {
        Phase::Idle | Phase::Ended(_) => state.say(no_run()),
        Phase::Asking { .. } | Phase::Running { .. } if state.live.is_pausing => {
            state.command(engine::RunCommand::Pause)
        }
        Phase::Asking { .. } | Phase::Running { .. } => pause(state),
        Phase::Waiting { .. } => state.command(engine::RunCommand::Now),
        Phase::Paused { .. } => settle(state, engine::RunCommand::Step),
    }
}

/// Stops before the next step, or takes that back.
fn pause(state: &mut State) {
    if !state.live.is_busy() {
        let words = match state.live.is_paused() {
            true => "the run is already paused".to_owned(),
            false => no_run(),
        };
        return state.say(words);
    }
    state.live.is_pausing = !state.live.is_pausing;
    match state.live.is_pausing {
        true => {
            state.notice = Some("the run pauses before its next step".to_owned());
            state.command(engine::RunCommand::Pause)
        }
        false => {
            state.notice = Some("the run does not pause".to_owned());
            state.command(engine::RunCommand::Continue)
        }
    }
}

/// Goes on from a pause, or asks what has to be decided before.
fn settle(state: &mut State, command: engine::RunCommand) {
    let here = state.live.reason_at(state.item);
    let reason = here.or_else(|| state.live.reasons().first()).cloned();
    match reason {
        Some(Reason::Approval { .. }) => decide::open_approval(state),
        Some(Reason::AskOperator { .. } | Reason::NothingSaid) => decide::open_answer(state, false),
        Some(Reason::TurnLimit { turns }) => {
            let mut prompt =
                Prompt::new("more replies", "how many more replies the model may give");
            prompt.open(&turns.to_string());
            state.open(prompt, |state, prompt, text| match text.trim().parse() {
                Ok(0) | Err(_) => {
                    prompt.complain(SafeText::from_static("enter a number from 1"));
                    Flow::Stay
                }
                Ok(turns) => {
                    state.command(engine::RunCommand::MoreTurns(turns));
                    Flow::Close
                }
            });
        }
        Some(Reason::Fault { .. }) => {
            let mut ways = vec![
                (Command::Recover("inject-error"), "injects an error"),
                (Command::Recover("take-suggestion"), "corrects"),
                (Command::Recover("retry"), "retries"),
                (Command::Always, "releases it unchanged"),
            ];
            if state.rule_without_suggestion().is_some() {
                ways.remove(1);
            }
            state.notice = Some(with_ways("held by a finding: ", &ways));
            resume(state, command);
        }
        Some(Reason::MayHaveRun { .. }) => {
            state.notice = Some(ways(&[
                (Command::Recover("retry"), "runs the call again"),
                (Command::Recover("supply-output"), "supplies its output"),
            ]));
            resume(state, command);
        }
        Some(Reason::Breakpoint { .. } | Reason::Model { .. } | Reason::Stepped) | None => {
            state.command(command)
        }
    }
}

/// Lets a paused run go on as far as it can. A step that is refused is not kept for later.
fn resume(state: &mut State, command: engine::RunCommand) {
    if command != engine::RunCommand::Step {
        state.command(command);
    }
}

fn begin(state: &mut State) {
    if !takes::may_ask(state) {
        return;
    }
    let live = &state.live;
    match &live.agent {
        Some(agent) if live.phase == Phase::Idle && !live.is_of_recording => {
            let agent = agent.path.clone();
            state
                .effects
                .push(Effect::Live(LiveCommand::Begin { agent }))
        }
        Some(agent) if !agent.path.is_empty() => go_on_with(state, agent.path.clone()),
        _ => {
            let proposed = live.proposed_agent.clone().unwrap_or_default();
            state.open(AgentPrompt::new(&proposed), |state, prompt, path| {
                if path.is_empty() {
                    prompt.complain("enter a path");
                    return Flow::Stay;
                }
                go_on_with(state, path);
                Flow::Close
            });
            if proposed.is_empty() {
                state.effects.push(Effect::Complete(proposed));
            }
        }
    }
}

fn go_on_with(state: &mut State, agent: String) {
    state.live.is_of_recording = true;
    state.live.proposed_agent = Some(agent.clone());
    state.effects.push(Effect::Live(LiveCommand::GoOnFrom {
        agent,
        take: state.recovery.takes.current,
        session: state.session,
    }));
}

/// Ends the run, once the operator has confirmed it.
fn abort(state: &mut State) {
    if !state.live.is_on() {
        return state.say(no_run());
    }
    let reason = match &state.live.phase {
        Phase::Running { calls } if !calls.is_empty() => {
            let tools: Vec<&str> = calls.iter().map(|(_, tool)| tool.as_str()).collect();
            format!(
                "Running now, will be stopped: {}. What they have done so far is not undone.",
                tools.join(", ")
            )
        }
        Phase::Asking { .. } => {
            "A request to the model is running; its reply is dropped.".to_owned()
        }
        _ => "Nothing is running.".to_owned(),
    };
    let reason = format!("{reason} Open calls are closed with outputs that say so.");
    let question = Confirmation::new("abort", &reason, "Abort the run?");
    state.open(question, |state, _, ()| {
        state.command(engine::RunCommand::Abort)
    });
}

/// The tools of the run, or how tools fared in the history where nothing ran.
pub(super) fn health(state: &mut State) {
    if state.live.tools.is_empty() {
        return super::layers::health(state);
    }
    state.open(Tools::default(), |state, _, tool| match tool {
        Some(number) => {
            enable_tool(state, number);
            Flow::Stay
        }
        None => {
            super::layers::health(state);
            Flow::Close
        }
    });
}

/// Uses a tool again that a breaker has switched off.
fn enable_tool(state: &mut State, number: usize) {
    match state.live.tools.get(number) {
        Some(tool) if tool.breaker != "closed" => {
            let tool = tool.tool.clone();
            state.command(engine::RunCommand::Enable { tool });
        }
        Some(_) => state.say("this tool is enabled: its breaker is closed"),
        None => {}
    }
}

/// Takes what the path of an agent's file can be completed to.
pub(super) fn completed(state: &mut State, paths: &Paths) {
    if let Some(prompt) = state.layers.top_mut::<AgentPrompt>() {
        prompt.complete(paths);
    }
}
