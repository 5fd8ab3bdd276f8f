//! A live run on the screen: news of it come in, the operator's commands go out. No command is obeyed here;
//! each is an [`Effect::Live`] that the conductor answers with news.

mod breaks;
mod decide;
mod hear;

pub(super) use breaks::{changed as breakpoints_changed, placed, write_breakpoint};
pub(super) use decide::{answered, approved, recover, trusted};
pub(super) use hear::{agent, grown, hear, past_agent, resume_following, shown, trust};

use super::{Effect, Paths, overlay, takes};
use crate::tui::keymap::Command;
use crate::tui::list::ListCursor;
use crate::tui::prompt::{Prompt, Typing};
use crate::tui::recovery::forms::Confirmation;
use crate::tui::state::{Asked, Overlay, State};
use retake_core::engine::{self, Breakpoint, Reason};
use retake_core::safe_text::SafeText;
use retake_live::live::Phase;

/// Something to be done to the live run.
#[derive(Debug, Clone, PartialEq)]
pub enum LiveCommand {
    /// What the engine is to be told.
    Engine(engine::Command),
    /// The agent that is known is to run from the beginning.
    Begin { agent: String },
    /// A run goes on from a take.
    GoOnFrom {
        /// The file of the agent whose model and tools are used.
        agent: String,
        /// The number of the take; 0 is the recording.
        take: u32,
        session: usize,
    },
    /// Whether what the agent's file names may run.
    ConfirmTrust(bool),
    /// All breakpoints; they hold for this run and those that are begun later.
    SetBreakpoints(Vec<Breakpoint>),
    /// The operator says this; the history was empty.
    Say(String),
}

fn told(command: engine::Command) -> Vec<Effect> {
    vec![Effect::Live(LiveCommand::Engine(command))]
}

fn notice(state: &mut State, words: &str) -> Vec<Effect> {
    state.notice = Some(words.to_owned());
    Vec::new()
}

/// What is said where there is nothing to command.
const NO_RUN: &str = "nothing runs: c goes on live from this take";

/// Does what a command of the run says.
pub(super) fn obey(state: &mut State, command: Command) -> Vec<Effect> {
    match command {
        Command::Break => breaks::break_here(state),
        Command::Breakpoints => breaks::list(state),
        Command::StepRun => step(state),
        Command::Continue => go_on(state),
        Command::PauseRun => pause(state),
        Command::Abort => abort(state),
        Command::Always => decide::always(state),
        _ => Vec::new(),
    }
}

/// Goes on, or begins to.
fn go_on(state: &mut State) -> Vec<Effect> {
    if let Some(request) = state.live.trust.take() {
        return trust(state, request);
    }
    match &state.live.phase {
        Phase::Idle | Phase::Ended(_) => begin(state),
        Phase::Asking { .. } | Phase::Running { .. } => {
            notice(state, "the run is going on: p pauses it, X aborts it")
        }
        Phase::Waiting { .. } => told(engine::Command::Now),
        Phase::Paused { .. } => settle(state, engine::Command::Continue),
    }
}

/// One step of the run.
fn step(state: &mut State) -> Vec<Effect> {
    match &state.live.phase {
        Phase::Idle | Phase::Ended(_) => notice(state, NO_RUN),
        Phase::Asking { .. } | Phase::Running { .. } => pause(state),
        Phase::Waiting { .. } => told(engine::Command::Now),
        Phase::Paused { .. } => settle(state, engine::Command::Step),
    }
}

/// Stops before the next step.
fn pause(state: &mut State) -> Vec<Effect> {
    if !state.live.is_busy() {
        let words = match state.live.is_paused() {
            true => "the run is paused already",
            false => NO_RUN,
        };
        return notice(state, words);
    }
    state.notice = Some("the run pauses before its next step".to_owned());
    told(engine::Command::Pause)
}

/// Goes on from a pause, or asks what has to be decided before.
fn settle(state: &mut State, command: engine::Command) -> Vec<Effect> {
    let here = state.live.reason_at(state.item);
    let reason = here.or_else(|| state.live.reasons().first()).cloned();
    match reason {
        Some(Reason::Approval { .. }) => decide::open_approval(state),
        Some(Reason::AskOperator { .. } | Reason::NothingSaid) => decide::open_answer(state, false),
        Some(Reason::TurnLimit { turns }) => {
            let mut prompt = Prompt::new("more replies", "how many more the model may give");
            prompt.open(&turns.to_string());
            overlay(state, Overlay::Line(Box::new(prompt), Asked::MoreTurns))
        }
        Some(Reason::Fault { .. }) => {
            state.notice = Some("what is wrong holds the run: A releases it as it is".to_owned());
            told(command)
        }
        Some(Reason::MayHaveRun { .. }) => {
            state.notice = Some("r runs the call again, o supplies its output".to_owned());
            told(command)
        }
        Some(Reason::Breakpoint { .. } | Reason::Model { .. } | Reason::Stepped) | None => {
            told(command)
        }
    }
}

fn begin(state: &mut State) -> Vec<Effect> {
    if !takes::may_ask(state) {
        return Vec::new();
    }
    let live = &state.live;
    match &live.agent {
        Some(agent) if live.phase == Phase::Idle && !live.is_of_recording => {
            let agent = agent.path.clone();
            vec![Effect::Live(LiveCommand::Begin { agent })]
        }
        Some(agent) if !agent.path.is_empty() => go_on_with(state, agent.path.clone()),
        _ => {
            let proposed = live.proposed_agent.clone().unwrap_or_default();
            let mut prompt = Prompt::new(
                "agent",
                "the agent's file that goes on from here  tab completes",
            );
            prompt.open(&proposed);
            let mut effects = overlay(state, Overlay::Line(Box::new(prompt), Asked::Agent));
            if proposed.is_empty() {
                effects.push(Effect::Complete(proposed));
            }
            effects
        }
    }
}

fn go_on_with(state: &mut State, agent: String) -> Vec<Effect> {
    state.live.is_of_recording = true;
    state.live.proposed_agent = Some(agent.clone());
    vec![Effect::Live(LiveCommand::GoOnFrom {
        agent,
        take: state.recovery.takes.current,
        session: state.session,
    })]
}

/// Ends the run, once the operator has confirmed it.
fn abort(state: &mut State) -> Vec<Effect> {
    if !state.live.is_on() {
        return notice(state, NO_RUN);
    }
    let reason = match &state.live.phase {
        Phase::Running { calls } if !calls.is_empty() => {
            let tools: Vec<&str> = calls.iter().map(|(_, tool)| tool.as_str()).collect();
            format!(
                "These run now and are stopped: {}. What they have done until then is not undone.",
                tools.join(", ")
            )
        }
        Phase::Asking { .. } => "The model is being asked; its reply is dropped.".to_owned(),
        _ => "Nothing runs at the moment.".to_owned(),
    };
    let reason = format!("{reason} Open calls are closed with outputs that say so.");
    let question = Confirmation::new("abort", &reason, "Abort the run?");
    let command = LiveCommand::Engine(engine::Command::Abort);
    overlay(state, Overlay::Sure(Box::new(question), command))
}

/// Leaves by a command; a run that is under way is ended first.
pub(super) fn leave(state: &mut State, command: Command) -> Vec<Effect> {
    // The proxy goes on with what is given back to it.
    let is_given_back = state.exchange.is_some();
    if !state.live.is_busy() || state.live.leaving.is_some() || is_given_back {
        return takes::leave(command);
    }
    state.overlays.clear();
    state.live.leaving = Some(command);
    state.notice = Some("the run is being stopped: the same key again leaves at once".to_owned());
    told(engine::Command::Abort)
}

/// The tools of the run, or how tools fared in the history where nothing ran.
pub(super) fn health(state: &mut State) -> Vec<Effect> {
    if state.live.tools.is_empty() {
        return super::layers::health(state);
    }
    overlay(state, Overlay::Tools(ListCursor::default()))
}

/// Uses a tool again that a breaker has switched off.
pub(super) fn enable(state: &mut State, number: usize) -> Vec<Effect> {
    match state.live.tools.get(number) {
        Some(tool) if tool.breaker != "closed" => told(engine::Command::Enable {
            tool: tool.tool.clone(),
        }),
        Some(_) => notice(state, "this tool is in use: its breaker is closed"),
        None => Vec::new(),
    }
}

pub(super) fn line(state: &mut State, typed: Typing, asked: Asked) -> Vec<Effect> {
    let text = match typed {
        Typing::Pending | Typing::Changed => return Vec::new(),
        Typing::Cancelled => {
            state.overlays.pop();
            return Vec::new();
        }
        Typing::Submitted(text) => text,
    };
    let text = text.trim();
    let done = match asked {
        Asked::Agent if text.is_empty() => Err("a path is needed".to_owned()),
        Asked::Agent => {
            state.overlays.pop();
            return go_on_with(state, text.to_owned());
        }
        Asked::MoreTurns => match text.parse() {
            Ok(0) | Err(_) => Err("a number from 1 is needed".to_owned()),
            Ok(turns) => Ok(told(engine::Command::MoreTurns(turns))),
        },
        Asked::Breakpoint => {
            return breaks::written(state, text);
        }
    };
    match done {
        Ok(effects) => {
            state.overlays.pop();
            effects
        }
        Err(complaint) => complain(state, &complaint),
    }
}

/// Asks what the path that is typed can be completed to.
pub(super) fn complete(state: &State) -> Vec<Effect> {
    match state.overlays.last() {
        Some(Overlay::Line(prompt, Asked::Agent)) => vec![Effect::Complete(prompt.text())],
        _ => Vec::new(),
    }
}

/// Completes the path of the agent's file as far as that is certain; says what it may be
/// where there are several.
pub(super) fn completed(state: &mut State, paths: &Paths) -> Vec<Effect> {
    let Some(Overlay::Line(prompt, Asked::Agent)) = state.overlays.last_mut() else {
        return Vec::new();
    };
    // What was typed meanwhile counts.
    if prompt.text() != paths.typed {
        return Vec::new();
    }
    let Some(first) = paths.found.first() else {
        if !paths.typed.is_empty() {
            prompt.complain(SafeText::from_static(
                "no folder and no .toml file begins so",
            ));
        }
        return Vec::new();
    };
    let same = |one: &str, other: &str| {
        let letters = one.char_indices().zip(other.chars());
        let shared = letters.take_while(|((_, one), other)| one == other);
        shared
            .last()
            .map_or(0, |((at, letter), _)| at + letter.len_utf8())
    };
    let common = paths
        .found
        .iter()
        .fold(first.len(), |most, path| most.min(same(first, path)));
    prompt.open(&first[..common]);
    if paths.found.len() > 1 {
        let name = |path: &String| {
            let path = path.trim_end_matches('/');
            path.rsplit('/').next().unwrap_or_default().to_owned()
        };
        let names: Vec<String> = paths.found.iter().take(NAMED).map(name).collect();
        let words = format!("{}: {}", paths.found.len(), names.join("  "));
        prompt.complain(SafeText::single_line(&words, 200));
    }
    Vec::new()
}

/// How many paths are named that a text can be completed to.
const NAMED: usize = 8;

fn complain(state: &mut State, complaint: &str) -> Vec<Effect> {
    if let Some(Overlay::Line(prompt, _)) = state.overlays.last_mut() {
        prompt.complain(SafeText::single_line(complaint, 200));
    }
    Vec::new()
}
