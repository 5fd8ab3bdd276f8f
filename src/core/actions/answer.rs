//! Giving a call an output, or the output that is there another text: what injecting, supplying and
//! closing have in common.

use super::belonging::open_partner;
use super::evidence::{named, quote};
use super::plan::{ActionContext, ActionError, Plan, Result};
use super::sanitise_name::spell_answered;
use crate::session::{Edit, Family, Flags, Kind, PairStatus, Patch};
use crate::wire::write::{draft_output, replace_output};

/// Lets the model read `text` as the output of a call: as a new output, or in the place of what
/// the recorded one says. A name that the provider refuses is spelled anew with it.
pub(crate) fn answer(
    scene: &ActionContext<'_>,
    call: u32,
    text: String,
    is_error: bool,
    planned: &mut Plan,
) -> Result<()> {
    scene.may_touch(call)?;
    if scene.is_unanswered(call) {
        spare_lost_output(scene, call)?;
    }
    put(scene, call, text, is_error, planned)
}

/// The same, of a call that is known to have no output that lost its id.
pub(crate) fn put(
    scene: &ActionContext<'_>,
    call: u32,
    text: String,
    is_error: bool,
    planned: &mut Plan,
) -> Result<()> {
    scene.may_touch(call)?;
    match scene.standing(call) {
        PairStatus::Paired(output) => replace(scene, output, &text, is_error, planned)?,
        PairStatus::Severed(output) => {
            return Err(ActionError::WouldBreak(format!(
                "{}, which answers it, comes after a compaction",
                named(scene, output)
            )));
        }
        PairStatus::Orphan | PairStatus::Pending | PairStatus::Alone | PairStatus::Duplicate(_) => {
            can_be_answered(scene, call)?;
            planned.edits.push(Edit::Answer {
                call,
                text,
                is_error,
            });
        }
    }
    spell_answered(scene, call, planned)
}

/// Whether a text can answer a call unchanged.
pub(crate) fn can_be_answered(scene: &ActionContext<'_>, call: u32) -> Result<()> {
    let item = scene.at(call)?;
    if item.kind != Kind::Call {
        return Err(ActionError::WrongKind("a call that the client answers"));
    }
    if item.call_id.is_none() && item.family != Family::Legacy {
        let reason = "the call has no id that an output could name: give it one first";
        return Err(ActionError::WouldBreak(reason.to_owned()));
    }
    if draft_output(item, "", "", "", true).is_none() {
        return Err(no_text(scene, call));
    }
    Ok(())
}

/// Refuses to pass over an output that has lost its id and is probably that of a call.
pub(crate) fn spare_lost_output(scene: &ActionContext<'_>, call: u32) -> Result<()> {
    if scene.at(call)?.call_id.is_none() {
        return Ok(());
    }
    match open_partner(scene, call)? {
        Some(output) => Err(ActionError::WouldBreak(format!(
            "{}, which has no id, is probably its own: give that the id first",
            named(scene, output)
        ))),
        None => Ok(()),
    }
}

/// Another text for an output that is there.
pub(crate) fn replace(
    scene: &ActionContext<'_>,
    output: u32,
    text: &str,
    is_error: bool,
    planned: &mut Plan,
) -> Result<()> {
    scene.may_touch(output)?;
    let item = scene.at(output)?;
    if item.kind != Kind::Output {
        return Err(ActionError::WrongKind("a result from the client"));
    }
    let before = scene.body(output)?.text;
    let bytes = scene.bytes(output)?;
    let patches = replace_output(item, &bytes, text, is_error)?;
    let patches = patches.ok_or_else(|| no_text(scene, output))?;
    // Not every dialect can say of an output that it is an error.
    let changes = |patch: &Patch| bytes.get(patch.at.clone()) != Some(&patch.with[..]);
    let says_so = before == text && item.flags.has(Flags::ERROR) == is_error;
    if says_so || !patches.iter().any(changes) {
        return Err(ActionError::NothingToDo);
    }
    planned.note(format!("{} said: {}", named(scene, output), quote(&before)));
    planned.edits.push(Edit::rewrite(output, patches));
    Ok(())
}

fn no_text(scene: &ActionContext<'_>, index: u32) -> ActionError {
    ActionError::NotInDialect(format!(
        "the output of {} is not text that could be written here",
        scene.tool(index)
    ))
}

/// Whether the history ends on outputs once the edits are made, so that the model is next.
pub(crate) fn ends_on_outputs(scene: &ActionContext<'_>, planned: &Plan) -> bool {
    let session = scene.session();
    let is_last = |turn: u32| turn as usize + 1 == session.turns.len();
    let Some(turn) = scene.turn(scene.item).ok().filter(|_| {
        let turn = scene.at(scene.item).map(|item| item.turn);
        turn.is_ok_and(is_last)
    }) else {
        return false;
    };
    let is_answered = |call: u32| {
        let by_edit =
            |edit: &Edit| matches!(edit, Edit::Answer { call: answered, .. } if *answered == call);
        planned.edits.iter().any(by_edit)
    };
    let mut open = (turn.first..turn.end).filter(|index| scene.is_unanswered(*index));
    open.all(is_answered)
}
