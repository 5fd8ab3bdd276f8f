//! What the operator decides at a pause: about a call that needs approval, one whose output the operator
//! writes, one that may have run, a fault that is to pass.

use super::super::{exchange, motion, recover as recoveries};
use crate::tui::effect::{Effect, LiveCommand};
use crate::tui::keymap::Command;
use crate::tui::live::approval::{self, ApprovalForm};
use crate::tui::live::words;
use crate::tui::recovery::forms::{Confirmation, WordsForm, WordsSetup, WrittenWords};
use crate::tui::stack::{Flow, OpeningLayer, Screen as _};
use crate::tui::state::State;
use crate::tui::text::{Line, Tone};
use retake_core::engine::{Reason, RunCommand as Wish};
use retake_core::safe_text::SafeText;
use retake_core::session::ledger::CallKey;

/// What the model reads of a call that is rejected, until the operator writes something else.
const REJECTED: &str = "The operator rejected this call.";
const MUTE: &str = "enter a text for the model";

/// A key of recovering at a pause, where what holds there wants something else than a recording does; whether
/// it does.
pub(crate) fn recover(state: &mut State, action: &'static str) -> bool {
    let is_at_limit = |reason: &Reason| matches!(reason, Reason::TurnLimit { .. });
    if action == "fallback" && state.live.reasons().iter().any(is_at_limit) {
        return recoveries::end_at_limit(state);
    }
    if action == "supply-output" && state.finding_for(action).is_none() {
        go_to_missing_output(state);
    }
    let Some(reason) = state.live.reason_at(state.item).cloned() else {
        return false;
    };
    match (action, reason) {
        ("fallback", Reason::Fault { .. }) if state.finding_for(action).is_none() => {
            state.command(Wish::Release);
        }
        ("fallback", Reason::Approval { .. }) => open_approval(state),
        ("inject-error", Reason::Approval { call, .. }) => reject(state, call),
        ("inject-error", Reason::AskOperator { .. } | Reason::MayHaveRun { .. }) => {
            open_answer(state, true);
        }
        (
            "supply-output",
            Reason::AskOperator { .. } | Reason::MayHaveRun { .. } | Reason::NothingSaid,
        ) => open_answer(state, false),
        ("retry", Reason::MayHaveRun { call, tool }) => run_again(state, call, &tool),
        // The request that failed is what there is to be tried again.
        ("retry", Reason::Model { .. }) => state.command(Wish::Continue),
        _ => return false,
    }
    true
}

/// Puts the cursor on the call whose output the run waits for.
fn go_to_missing_output(state: &mut State) {
    let wants = |reason: &Reason| {
        matches!(
            reason,
            Reason::AskOperator { .. } | Reason::MayHaveRun { .. }
        )
    };
    let live = &state.live;
    if live.reason_at(state.item).is_some_and(wants) {
        return;
    }
    let mut both = live.reasons().iter().zip(&live.places);
    if let Some((_, Some(item))) = both.find(|(reason, place)| wants(reason) && place.is_some()) {
        let item = *item;
        motion::reveal(state, item);
        motion::show_item(state, item);
    }
}

/// Approves a tool for good, or lets what holds pass as it is.
pub(super) fn always(state: &mut State) {
    let here = state.live.reason_at(state.item);
    match here.or_else(|| state.live.reasons().first()) {
        Some(Reason::Approval { .. }) => open_approval(state),
        Some(Reason::Fault { .. } | Reason::Breakpoint { .. }) => state.command(Wish::Release),
        Some(_) => state.say("nothing to release here"),
        None => state.say("nothing is held"),
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
pub(super) fn open_approval(state: &mut State) {
    let Some(Reason::Approval {
        call,
        tool,
        arguments,
        is_each_time,
    }) = approval(state)
    else {
        return;
    };
    let runs = state.live.runs(&tool);
    let dialog = ApprovalForm::new((call.clone(), &tool), arguments.clone(), runs, is_each_time);
    let waiting = call.clone();
    let decide = move |state: &mut State, dialog: &mut ApprovalForm, command| match command {
        Command::Yes | Command::Always => {
            let (call, always) = (dialog.call.clone(), command == Command::Always);
            state.command(Wish::Approve { call, always });
        }
        Command::No => reject(state, dialog.call.clone()),
        Command::Change => edit_call(state, &dialog.call),
        _ => {
            state.notice = Some("the call is still waiting: a opens the question again".to_owned())
        }
    };
    OpeningLayer::new(dialog, decide)
        // Nothing is approved but what was shown.
        .as_long_as(move |state| {
            state.live.reasons().iter().any(|reason| {
                matches!(reason, Reason::Approval { call, arguments: shown, .. }
                    if *call == waiting && *shown == arguments)
            })
        })
        .over(state);
}

/// Opens the dialog by itself where an approval is the first thing that holds.
pub(super) fn offer_approval(state: &mut State) {
    if matches!(state.live.reasons().first(), Some(Reason::Approval { .. })) {
        open_approval(state);
    }
}

/// Proposes the call with other arguments.
fn edit_call(state: &mut State, call: &CallKey) {
    if let Some(item) = item_of(state, call) {
        state.go_to(item);
        state.on_turn = false;
    }
    if !exchange::obey(state, Command::Recover("edit")) {
        recoveries::begin(state, "edit");
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

/// Asks for what the model reads in place of the output of a call.
fn reject(state: &mut State, call: CallKey) {
    let tool = state.live.reasons().iter().find_map(|reason| match reason {
        Reason::Approval {
            call: waiting,
            tool,
            ..
        } if *waiting == call => Some(tool.as_str()),
        _ => None,
    });
    let title = format!("reject {}", tool.unwrap_or_default());
    // What is typed goes on after it.
    let text = draft(state, &call).unwrap_or_else(|| format!("{REJECTED} "));
    let purpose = "what the model reads as the result of the call";
    let setup = WordsSetup::for_purpose(title, purpose, text);
    ask_about(state, setup, call, |call, written| Wish::Reject {
        call,
        words: written.text.trim_end().to_owned(),
    });
}

/// Opens a form about a call. A text that is left is there again the next time.
fn ask_about(
    state: &mut State,
    setup: WordsSetup,
    call: CallKey,
    command: fn(CallKey, WrittenWords) -> Wish,
) {
    let (left, waiting) = (call.clone(), call.clone());
    let form = WordsForm::new(setup);
    OpeningLayer::new(
        form,
        move |state: &mut State, form, written: WrittenWords| {
            let command = command(call.clone(), written);
            // An output may be empty where it is not an error; what the model reads never is.
            let is_mute = match &command {
                Wish::Supply {
                    output, is_error, ..
                } => *is_error && output.trim().is_empty(),
                Wish::Reject { words, .. } => words.trim().is_empty(),
                _ => false,
            };
            if is_mute {
                form.complain(MUTE);
                return Flow::Stay;
            }
            state.live.draft = None;
            state.command(command);
            Flow::Close
        },
    )
    .if_left(move |state, form| state.live.draft = Some((left, form.text())))
    .as_long_as(move |state| waits(state, &waiting))
    .over(state);
}

/// Whether the run waits for the operator's word about a call.
fn waits(state: &State, call: &CallKey) -> bool {
    state.live.reasons().iter().any(|reason| match reason {
        Reason::Approval { call: waiting, .. }
        | Reason::AskOperator { call: waiting, .. }
        | Reason::MayHaveRun { call: waiting, .. } => waiting == call,
        _ => false,
    })
}

/// Opens the form for what the operator has to write at the cursor.
pub(super) fn open_answer(state: &mut State, is_error: bool) {
    let here = state.live.reason_at(state.item).cloned();
    let (call, tool, heading) = match here.or_else(|| state.live.reasons().first().cloned()) {
        Some(Reason::AskOperator {
            call,
            tool,
            arguments,
            note,
        }) => {
            let mut lines = approval::heading(&tool, &call.call_id, state.live.runs(&tool));
            if !note.is_empty() {
                lines.push(Line::new(Tone::Warning, SafeText::from_str(&note)));
            }
            lines.extend(approval::arguments_of(&arguments));
            (call, tool, lines)
        }
        Some(reason @ Reason::MayHaveRun { .. }) => {
            let words = SafeText::from_str(&words::sentence(&reason));
            let Reason::MayHaveRun { call, tool } = reason else {
                return;
            };
            (call, tool, vec![Line::new(Tone::Warning, words)])
        }
        Some(Reason::NothingSaid) => return ask_for_message(state, "the first message"),
        _ => return,
    };
    let text = draft(state, &call).unwrap_or_default();
    let title = format!("the output of {tool}");
    let setup = WordsSetup {
        title,
        above: heading,
        text,
        question: Some(("reports an error", is_error)),
        ..WordsSetup::default()
    };
    ask_about(state, setup, call, |call, written| Wish::Supply {
        call,
        output: written.text,
        is_error: written.is_yes,
    });
}

/// Opens the form for a message of the user, with which the run goes on.
pub(super) fn ask_for_message(state: &mut State, title: &str) {
    let form = WordsForm::new(WordsSetup {
        title: title.to_owned(),
        ..WordsSetup::default()
    });
    state.open(form, |state, form, written| {
        if written.text.trim().is_empty() {
            form.complain(MUTE);
            return Flow::Stay;
        }
        state.live.draft = None;
        let command = LiveCommand::Say(written.text);
        state.effects.push(Effect::Live(command));
        Flow::Close
    });
}

fn draft(state: &State, call: &CallKey) -> Option<String> {
    let kept = state.live.draft.as_ref();
    let kept = kept.filter(|(of, _)| of == call)?;
    Some(kept.1.clone())
}

/// Asks whether a call that may have run is to run again.
fn run_again(state: &mut State, call: CallKey, tool: &str) {
    let arguments = state.live.places.iter().find_map(|place| {
        let session = state.session()?;
        let item = session.items.get((*place)?)?;
        let is_meant = session.call_id(item).is_ok_and(|id| id == call.call_id);
        let body = is_meant.then(|| session.bytes(item).ok())??;
        let body = retake_core::wire::body_of(item, &body).ok()?;
        Some(body.arguments.as_written().to_owned())
    });
    let arguments = arguments.unwrap_or_default();
    let reason = format!(
        "{tool} was started and nobody knows whether it finished. If it did, this would happen a second \
        time:\n{tool} {arguments}"
    );
    let question = Confirmation::new("run again", &reason, &format!("Run {tool} again?"));
    let waiting = call.clone();
    OpeningLayer::new(question, move |state: &mut State, _, ()| {
        let call = call.clone();
        state.command(Wish::RunAgain { call });
    })
    .as_long_as(move |state| waits(state, &waiting))
    .over(state);
}

/// Says whether an agent's file is trusted.
pub(crate) fn answer_trust(state: &mut State, is_trusted: bool) {
    if !is_trusted {
        state.live.agent = None;
        state.notice = Some("the agent is not trusted: nothing runs".to_owned());
    }
    let command = LiveCommand::ConfirmTrust(is_trusted);
    state.effects.push(Effect::Live(command));
}
