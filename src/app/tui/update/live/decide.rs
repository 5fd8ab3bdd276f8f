//! What the operator decides at a pause: about a call that needs approval, one whose output the operator
//! writes, one that may have run, a fault that is to pass.

use super::super::{Effect, obey, overlay, recover as recoveries};
use super::{LiveCommand, notice, told};
use crate::tui::keymap::Command;
use crate::tui::live::answer::{self, Answer, Answering};
use crate::tui::live::approval::{self, Approval};
use crate::tui::live::words;
use crate::tui::recovery::forms::Confirmation;
use crate::tui::state::detail::{Line, Tone};
use crate::tui::state::{Overlay, State};
use retake_core::engine::{Command as Wish, Reason};
use retake_core::safe_text::SafeText;
use retake_core::session::ledger::CallKey;

/// What the model reads of a call that is rejected, until the operator writes something else.
const REJECTED: &str = "The operator rejected this call.";

/// A key of recovering at a pause, where what holds there wants something else than a recording does.
pub(in crate::tui::update) fn recover(
    state: &mut State,
    action: &'static str,
) -> Option<Vec<Effect>> {
    let is_at_limit = |reason: &Reason| matches!(reason, Reason::TurnLimit { .. });
    if action == "fallback" && state.live.reasons().iter().any(is_at_limit) {
        return recoveries::end_at_limit(state);
    }
    let reason = state.live.reason_at(state.item)?.clone();
    let effects = match (action, reason) {
        ("fallback", Reason::Fault { .. }) if !recoveries::offers_here(state, action) => {
            told(Wish::Release)
        }
        ("fallback", Reason::Approval { .. }) => open_approval(state),
        ("inject-error", Reason::Approval { call, tool, .. }) => reject(state, call, &tool),
        ("inject-error", Reason::AskOperator { .. } | Reason::MayHaveRun { .. }) => {
            open_answer(state, true)
        }
        (
            "supply-output",
            Reason::AskOperator { .. } | Reason::MayHaveRun { .. } | Reason::NothingSaid,
        ) => open_answer(state, false),
        ("retry", Reason::MayHaveRun { call, tool }) => run_again(state, call, &tool),
        // The request that failed is what there is to be tried again.
        ("retry", Reason::Model { .. }) => told(Wish::Continue),
        _ => return None,
    };
    Some(effects)
}

/// Approves a tool for good, or lets what holds pass as it is.
pub(super) fn always(state: &mut State) -> Vec<Effect> {
    let here = state.live.reason_at(state.item);
    match here.or_else(|| state.live.reasons().first()) {
        Some(Reason::Approval { .. }) => open_approval(state),
        Some(Reason::Fault { .. } | Reason::Breakpoint { .. }) => told(Wish::Release),
        Some(_) => notice(state, "there is nothing to release here"),
        None => notice(state, "nothing holds"),
    }
}

/// The approval that waits at the cursor, else the first one.
fn approval(state: &State) -> Option<Reason> {
    let is_one = |reason: &&Reason| matches!(reason, Reason::Approval { .. });
    let here = state.live.reason_at(state.item).filter(is_one);
    let found = here.or_else(|| state.live.reasons().iter().find(is_one));
    found.cloned()
}

/// Opens the dialog about the call that waits for approval.
pub(super) fn open_approval(state: &mut State) -> Vec<Effect> {
    if let Some(Reason::Approval {
        call,
        tool,
        arguments,
    }) = approval(state)
    {
        let runs = state.live.runs(&tool);
        let dialog = Approval::new(call, &tool, arguments, runs);
        state.overlays.push(Overlay::Approval(Box::new(dialog)));
    }
    Vec::new()
}

/// Opens the dialog by itself where an approval is the first thing that holds.
pub(super) fn offer_approval(state: &mut State) {
    if matches!(state.live.reasons().first(), Some(Reason::Approval { .. })) {
        open_approval(state);
    }
}

/// What the operator said to a call that waits for approval.
pub(in crate::tui::update) fn approved(
    state: &mut State,
    call: CallKey,
    outcome: approval::Outcome,
) -> Vec<Effect> {
    if outcome == approval::Outcome::Pending {
        return Vec::new();
    }
    state.overlays.pop();
    match outcome {
        approval::Outcome::Pending => Vec::new(),
        approval::Outcome::Leave => notice(state, "the call still waits: a asks again"),
        approval::Outcome::Approve { always } => told(Wish::Approve { call, always }),
        approval::Outcome::Reject => {
            let tool = state.live.reasons().iter().find_map(|reason| match reason {
                Reason::Approval {
                    call: waiting,
                    tool,
                    ..
                } if *waiting == call => Some(tool.clone()),
                _ => None,
            });
            reject(state, call, &tool.unwrap_or_default())
        }
        approval::Outcome::Edit => {
            if let Some(item) = item_of(state, &call) {
                state.go_to(item);
                state.on_turn = false;
            }
            obey(state, Command::Recover("edit"))
        }
    }
}

fn item_of(state: &State, call: &CallKey) -> Option<usize> {
    let mut both = state.live.reasons().iter().zip(&state.live.places);
    let found = both.find(|(reason, _)| match reason {
        Reason::Approval { call: waiting, .. } => waiting == call,
        _ => false,
    });
    found.and_then(|(_, place)| *place)
}

fn reject(state: &mut State, call: CallKey, tool: &str) -> Vec<Effect> {
    let told = vec![Line::new(
        Tone::Dim,
        SafeText::from_static("what the model reads as the output of the call"),
    )];
    let text = draft(state, &call).unwrap_or_else(|| REJECTED.to_owned());
    let form = Answer::new(&format!("reject {tool}"), told, &text, None);
    let answering = Answering::Reject(call);
    overlay(state, Overlay::Answer(Box::new(form), answering))
}

/// Opens the form for what the operator has to write at the cursor.
pub(super) fn open_answer(state: &mut State, is_error: bool) -> Vec<Effect> {
    let here = state.live.reason_at(state.item).cloned();
    let reason = here.or_else(|| state.live.reasons().first().cloned());
    let (answering, title, told) = match reason {
        Some(Reason::AskOperator {
            call,
            tool,
            arguments,
            note,
        }) => {
            let runs = state.live.runs(&tool);
            let mut lines = approval::told(&tool, &call.call_id, runs);
            if !note.is_empty() {
                lines.push(Line::new(Tone::Warning, SafeText::from_str(&note)));
            }
            lines.extend(approval::arguments_of(&arguments));
            (
                Answering::Supply(call),
                format!("the output of {tool}"),
                lines,
            )
        }
        Some(reason @ Reason::MayHaveRun { .. }) => {
            let lines = vec![Line::new(
                Tone::Warning,
                SafeText::from_str(&words::sentence(&reason)),
            )];
            let Reason::MayHaveRun { call, tool } = reason else {
                return Vec::new();
            };
            (
                Answering::Supply(call),
                format!("the output of {tool}"),
                lines,
            )
        }
        Some(Reason::NothingSaid) => (Answering::Say, "the first message".to_owned(), Vec::new()),
        _ => return Vec::new(),
    };
    let text = answering.call().and_then(|call| draft(state, call));
    let asks = matches!(answering, Answering::Supply(_)).then_some(is_error);
    let form = Answer::new(&title, told, &text.unwrap_or_default(), asks);
    overlay(state, Overlay::Answer(Box::new(form), answering))
}

fn draft(state: &State, call: &CallKey) -> Option<String> {
    let kept = state.live.draft.as_ref();
    let kept = kept.filter(|(of, _)| of == call)?;
    Some(kept.1.clone())
}

/// What came of a text that the run asked for.
pub(in crate::tui::update) fn answered(
    state: &mut State,
    answering: Answering,
    outcome: answer::Outcome,
) -> Vec<Effect> {
    let (text, is_error) = match outcome {
        answer::Outcome::Pending => return Vec::new(),
        answer::Outcome::Editor(text) => return vec![Effect::EditWords(text)],
        answer::Outcome::Leave => {
            if let (Some(Overlay::Answer(form, _)), Some(call)) =
                (state.overlays.pop(), answering.call())
            {
                state.live.draft = Some((call.clone(), form.text()));
            }
            return Vec::new();
        }
        answer::Outcome::Accept { text, is_error } => (text, is_error),
    };
    // An output may be empty where it is no error; what the model is told never is.
    let needs_words = is_error || !matches!(answering, Answering::Supply(_));
    if needs_words && text.trim().is_empty() {
        if let Some(Overlay::Answer(form, _)) = state.overlays.last_mut() {
            form.complain("the model needs words to read");
        }
        return Vec::new();
    }
    state.overlays.pop();
    state.live.draft = None;
    match answering {
        Answering::Supply(call) => told(Wish::Supply {
            call,
            output: text,
            is_error,
        }),
        Answering::Reject(call) => told(Wish::Reject { call, words: text }),
        Answering::Say => vec![Effect::Live(LiveCommand::Say(text))],
    }
}

/// Asks whether a call that may have run is to run again.
fn run_again(state: &mut State, call: CallKey, tool: &str) -> Vec<Effect> {
    let arguments = state.live.places.iter().find_map(|place| {
        let session = state.session()?;
        let item = session.items.get((*place)?)?;
        let is_meant = session.call_id(item).is_ok_and(|id| id == call.call_id);
        let body = is_meant.then(|| session.bytes(item).ok())??;
        let body = retake_core::dialects::body_of(item, &body).ok()?;
        Some(body.arguments.as_written().to_owned())
    });
    let arguments = arguments.unwrap_or_default();
    let reason = format!(
        "{tool} was started and nobody knows whether it finished. If it did, this would happen a second \
        time:\n{tool} {arguments}"
    );
    let question = Confirmation::new("run again", &reason, &format!("Run {tool} again?"));
    let command = LiveCommand::Engine(Wish::RunAgain { call });
    overlay(state, Overlay::Sure(Box::new(question), command))
}

/// What the operator said to an agent's file.
pub(in crate::tui::update) fn trusted(state: &mut State, is_trusted: bool) -> Vec<Effect> {
    state.overlays.pop();
    if !is_trusted {
        state.live.agent = None;
        state.notice = Some("nothing of the agent runs".to_owned());
    }
    vec![Effect::Live(LiveCommand::ConfirmTrust(is_trusted))]
}
