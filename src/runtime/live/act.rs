//! What a run does to the history besides growing: a policy's recoveries, and closing what is open. Each is a take, made by the same
//! actions as the operator's.

use super::stood::Stood;
use crate::actions::{self, Choice, Planned};
use crate::engine::Decision;
use crate::rules::{self, Run};
use crate::runtime::Workbench;
use crate::session::ledger::Ran;
use crate::session::takes::{Author, Cause, Outcome, Take, TakeId};
use crate::session::{Edit, Session};

/// What the model reads of a call that the operator kept from running.
const NOT_RUN: &str = "The run was stopped before this tool ran.";
/// What it reads of one that had started.
const MAY_HAVE_RUN: &str = "The run was stopped while this tool ran. It may have done its work: check before you call it again.";

/// Carries out what a policy decided about a finding; gives the take, or why it could not be done.
pub(super) fn act(
    bench: &mut Workbench,
    (number, take): (u32, TakeId),
    stood: &Stood,
    decision: &Decision,
) -> Result<TakeId, String> {
    let session = stood.session(number).ok_or("the session is gone")?;
    let finding = stood.findings.iter().find(|finding| {
        finding.rule.id == decision.rule && finding.item == decision.item && !finding.is_settled
    });
    let finding = finding.ok_or("the finding is gone")?;
    let action = actions::find(decision.action).ok_or("there is no such action")?;
    let run = Run::new(session, None);
    let beside = rules::beside(session, &stood.findings, finding);
    let scene = run.scene(finding.defect(), &beside);
    let scene = scene.ok_or("it is about the session as a whole, and not about an item")?;
    // The history cannot tell that nothing ran that would run again; the ledger can.
    let mut calls = stood.standing.calls.iter();
    let runs_nothing_twice =
        decision.action == "retry" && calls.all(|call| call.is_open && call.ran == Ran::No);
    let choice = Choice {
        confirmed: runs_nothing_twice,
        words: decision.value.as_deref().or(decision.template()),
        include_in_history: decision.include_in_history,
        ..Choice::default()
    };
    let planned = (action.plan)(&scene, &choice).map_err(|refusal| refusal.to_string())?;
    let about = Take {
        title: action.title.to_owned(),
        forked_at: decision.item,
        cause: Cause {
            rule: Some(decision.rule.clone()),
            item: decision.item,
            action: Some(action.id.to_owned()),
            by: Author::Policy,
        },
        wording: decision.wording_name(),
        ..told(&planned)
    };
    fork(bench, (number, take), session, &planned.edits, about)
}

/// Answers every open call with a word about why there is no output; `None` where none is open.
pub(super) fn close(
    bench: &mut Workbench,
    (number, take): (u32, TakeId),
    stood: &Stood,
) -> Result<Option<TakeId>, String> {
    let session = stood.session(number).ok_or("the session is gone")?;
    let open = stood.standing.calls.iter().filter(|call| call.is_open);
    let edits = open.map(|call| Edit::Answer {
        call: call.item,
        text: match call.ran {
            Ran::No => NOT_RUN,
            Ran::MayHave | Ran::Yes { .. } => MAY_HAVE_RUN,
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
        cause: Cause {
            item: Some(*call),
            action: Some("close-turn".to_owned()),
            ..Cause::default()
        },
        ..Take::default()
    };
    fork(bench, (number, take), session, &edits, about).map(Some)
}

fn told(planned: &Planned) -> Take {
    let said = planned.edits.iter().find_map(|edit| match edit {
        Edit::Answer { text, .. } | Edit::Say { text, .. } => Some(text.clone()),
        _ => None,
    });
    Take {
        words: said,
        notes: planned.notes.clone(),
        fallback: planned.result.clone(),
        outcome: Outcome {
            asks_model: planned.asks_model,
            ..Outcome::default()
        },
        ..Take::default()
    }
}

fn fork(
    bench: &mut Workbench,
    (number, take): (u32, TakeId),
    session: &Session,
    edits: &[Edit],
    about: Take,
) -> Result<TakeId, String> {
    let made = if bench.takes().current() == take {
        Ok(())
    } else {
        bench.go_to(take)
    };
    let made = made.and_then(|()| bench.take(number, session, edits, about));
    made.map_err(|error| error.to_string())
}
