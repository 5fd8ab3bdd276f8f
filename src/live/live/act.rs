//! What a run does to the history besides growing: a policy's recoveries, and closing what is open. Each is a
//! take, made by the same actions as the operator's.

use super::snapshot::TakeSnapshot;
use crate::TakeStore;
use retake_core::actions::{self, ActionContext, ActionError, ActionInput, Plan};
use retake_core::engine::{Decision, TURN_LIMIT};
use retake_core::rules::{self, Finding, Run};
use retake_core::session::ledger::ExecutionStatus;
use retake_core::session::takes::{Author, Take, TakeCause, TakeId, TakeOutcome};
use retake_core::session::{Edit, MessageRole, Session};
use retake_core::wording;
use std::collections::HashMap;

/// What the model reads of a call that the operator kept from running.
const NOT_RUN: &str = "The run was stopped before this tool ran.";
/// What it reads of one that had started.
const MAY_HAVE_RUN: &str = "The run was stopped while this tool ran. It may have done its work: check before \
    you call it again.";

/// What became of a policy's action.
pub(crate) enum Acted {
    /// It was done, in this take.
    All(TakeId),
    /// It was done in this take about the first fault alone, since one of the others cannot be settled so.
    Alone(TakeId),
}

/// Carries out what a policy or the operator decided about a finding, or about several; gives the take, or why it
/// could not be done.
pub(crate) fn act(
    store: &mut TakeStore,
    (number, take): (u32, TakeId),
    snapshot: &TakeSnapshot,
    decision: &Decision,
    by: Author,
) -> Result<Acted, String> {
    let session = snapshot.session(number).ok_or("the session is gone")?;
    let finding = match decision.rule.as_str() {
        TURN_LIMIT => at_the_limit(session),
        rule => snapshot
            .findings
            .iter()
            .find(|finding| {
                finding.rule.id == rule && finding.item == decision.item && !finding.is_settled
            })
            .cloned(),
    };
    let finding = &finding.ok_or("the finding is gone")?;
    let action = actions::find(decision.action).ok_or("there is no such action")?;
    let run = Run::new(session, None);
    let beside = rules::beside(session, &snapshot.findings, finding);
    let scene = run.scene(finding.defect(), &beside);
    let scene = scene.ok_or("it is about the session as a whole, and not about an item")?;
    // The history cannot tell that nothing ran that would run again; the ledger can.
    let mut calls = snapshot.standing.calls.iter();
    let runs_nothing_twice = decision.action == "retry"
        && calls.all(|call| call.is_open && call.ran == ExecutionStatus::No);
    let never_ran = snapshot.standing.calls.iter();
    let never_ran = never_ran.filter(|call| call.is_open && call.ran == ExecutionStatus::No);
    let never_ran: Vec<String> = never_ran.map(|call| call.key.call_id.clone()).collect();
    let choice = ActionInput {
        never_ran: &never_ran,
        confirmed: runs_nothing_twice,
        words: decision.value.as_deref().or(decision.template()),
        include_in_history: decision.include_in_history,
        keeps_schema: decision.keeps_schema,
        ..ActionInput::default()
    };
    let planned = match (decision.rule.as_str(), action.id) {
        (TURN_LIMIT, "retry") => another_turn(&scene, decision),
        _ => (action.plan)(&scene, &choice),
    };
    let mut planned = planned.map_err(|refusal| refusal.to_string())?;
    let is_whole = match others(&run, snapshot, decision, &choice) {
        Some(others) => {
            let asks_model = others.last().map(|last| last.asks_model);
            planned.asks_model = asks_model.unwrap_or(planned.asks_model);
            for other in others {
                planned.edits.extend(other.edits);
                planned.notes.extend(other.notes);
            }
            true
        }
        None => false,
    };
    let about = Take {
        title: action.title.to_owned(),
        forked_at: decision.item,
        cause: TakeCause {
            rule: Some(decision.rule.clone()),
            item: decision.item,
            action: Some(action.id.to_owned()),
            by,
        },
        wording: decision
            .wording
            .as_ref()
            .and_then(|words| words.name.clone()),
        ..take_of(&planned)
    };
    let take = fork(store, (number, take), session, &planned.edits, about)?;
    Ok(match is_whole {
        true => Acted::All(take),
        false => Acted::Alone(take),
    })
}

/// What the same action does about the other findings of a decision; `None` where it cannot be done
/// about one of them.
fn others(
    run: &Run<'_>,
    snapshot: &TakeSnapshot,
    decision: &Decision,
    choice: &ActionInput<'_>,
) -> Option<Vec<Plan>> {
    let action = actions::find(decision.action)?;
    let open = snapshot
        .findings
        .iter()
        .filter(|finding| !finding.is_settled);
    let findings: HashMap<_, _> = open
        .map(|finding| ((finding.rule.id, finding.item), finding))
        .collect();
    let planned = decision.also.iter().map(|also| {
        let finding = findings.get(&(also.rule.as_str(), also.item))?;
        let beside = rules::beside(run.session, &snapshot.findings, finding);
        let scene = run.scene(finding.defect(), &beside)?;
        // The reason is reported once it is decided about alone.
        (action.plan)(&scene, choice).ok()
    });
    planned.collect()
}

/// What is found where the turns are used up: the engine counts them, and no rule has looked yet.
fn at_the_limit(session: &Session) -> Option<Finding> {
    let last = session.items.len().checked_sub(1)?;
    Some(Finding::new(rules::find(TURN_LIMIT)?, last))
}

/// The model gets a message before it is called once more.
fn another_turn(scene: &ActionContext<'_>, decision: &Decision) -> Result<Plan, ActionError> {
    let template = decision.template().unwrap_or_default();
    let text = wording::render(template, &actions::context(scene)?)?;
    Ok(Plan {
        asks_model: true,
        ..Plan::of(vec![Edit::Say {
            after: scene.item,
            voice: MessageRole::User,
            text,
        }])
    })
}

/// Answers every open call with a word about why there is no output; `None` where none is open.
pub(crate) fn close(
    store: &mut TakeStore,
    (number, take): (u32, TakeId),
    snapshot: &TakeSnapshot,
) -> Result<Option<TakeId>, String> {
    let session = snapshot.session(number).ok_or("the session is gone")?;
    let open = snapshot.standing.calls.iter().filter(|call| call.is_open);
    let edits = open.map(|call| Edit::Answer {
        call: call.item,
        text: match call.ran {
            ExecutionStatus::No => NOT_RUN,
            ExecutionStatus::MayHave | ExecutionStatus::Yes { .. } => MAY_HAVE_RUN,
        }
        .to_owned(),
        is_error: true,
    });
    let edits: Vec<Edit> = edits.collect();
    let Some(Edit::Answer { call, .. }) = edits.first() else {
        return Ok(None);
    };
    let about = Take {
        title: "stopped".to_owned(),
        forked_at: Some(*call),
        cause: TakeCause {
            item: Some(*call),
            action: Some("close-turn".to_owned()),
            ..TakeCause::default()
        },
        ..Take::default()
    };
    fork(store, (number, take), session, &edits, about).map(Some)
}

fn take_of(planned: &Plan) -> Take {
    let words = planned.edits.iter().find_map(|edit| match edit {
        Edit::Answer { text, .. } | Edit::Say { text, .. } => Some(text.clone()),
        _ => None,
    });
    Take {
        words: words.or_else(|| planned.texts.first().cloned()),
        notes: planned.notes.clone(),
        fallback: planned.result.clone(),
        outcome: TakeOutcome {
            asks_model: planned.asks_model,
            ..TakeOutcome::default()
        },
        ..Take::default()
    }
}

fn fork(
    store: &mut TakeStore,
    (number, take): (u32, TakeId),
    session: &Session,
    edits: &[Edit],
    about: Take,
) -> Result<TakeId, String> {
    let made = if store.takes().current() == take {
        Ok(())
    } else {
        store.go_to(take)
    };
    let made = made.and_then(|()| store.take(number, session, edits, about));
    made.map_err(|error| error.to_string())
}
