//! output-to-text: an output that answers nothing becomes plain text, so that the model keeps what it knew.

use super::answer::can_be_answered;
use super::evidence::ordinal;
use super::{Choice, Planned, Refusal, Scene};
use crate::session::{Dialect, Edit, Flags, Kind, Standing, Voice, index_number};

pub(super) fn plan(scene: &Scene<'_>, _: &Choice<'_>) -> Result<Planned, Refusal> {
    let item = scene.item()?;
    if item.kind != Kind::Output {
        return Err(Refusal::WrongKind("output"));
    }
    scene.may_touch(scene.item)?;
    let said = scene.body(scene.item)?.text;
    let text = told(scene, &said)?;
    let mut planned = Planned::default();
    match scene.standing(scene.item) {
        Standing::Paired(call) => {
            return Err(Refusal::WouldBreak(format!(
                "its call at item {} would be left without output",
                ordinal(call)
            )));
        }
        Standing::Duplicate(_) => {
            let reason = "its call has another output: drop this one";
            return Err(Refusal::WouldBreak(reason.to_owned()));
        }
        Standing::Severed(call) => keep_call_whole(scene, call, &said, &mut planned)?,
        Standing::Alone | Standing::Pending | Standing::Orphan => {}
    }
    match outputs_behind(scene) {
        Some(last) => {
            planned.edits.push(Edit::Drop { item: scene.item });
            planned.edits.push(Edit::Say {
                after: last,
                voice: Voice::User,
                text,
            });
        }
        None => planned.edits.push(Edit::Degrade {
            item: scene.item,
            text,
        }),
    }
    Ok(planned)
}

/// Which tool it was, by which id, and what it said.
fn told(scene: &Scene<'_>, said: &str) -> Result<String, Refusal> {
    let id = scene.session().call_id(scene.item()?)?;
    let tool = scene.tool(scene.item);
    let tool = if tool == Kind::Output.word() {
        "a tool"
    } else {
        tool
    };
    let id = if id.is_empty() {
        String::new()
    } else {
        format!(" (call {id})")
    };
    Ok(format!(
        "The output of {tool}{id}, whose call is no longer in the history:\n{said}"
    ))
}

/// A call before a compaction whose output stands behind it would be an orphan once the output is text: it gets the same output.
fn keep_call_whole(
    scene: &Scene<'_>,
    call: u32,
    said: &str,
    planned: &mut Planned,
) -> Result<(), Refusal> {
    if scene.standing(call) != Standing::Severed(scene.item) {
        return Ok(());
    }
    scene.may_touch(call)?;
    can_be_answered(scene, call)?;
    let item = scene.item()?;
    planned.note(format!(
        "its call at item {}, before the compaction, gets the same output",
        ordinal(call)
    ));
    planned.edits.push(Edit::Answer {
        call,
        text: said.to_owned(),
        is_error: item.flags.has(Flags::ERROR),
    });
    Ok(())
}

/// The last output that directly follows: text must not stand before outputs that answer the same reply.
fn outputs_behind(scene: &Scene<'_>) -> Option<u32> {
    if scene.target == Dialect::Responses {
        return None;
    }
    let behind = scene.item as usize + 1;
    let items = scene.session().items.get(behind..)?;
    let count = items
        .iter()
        .take_while(|item| item.kind == Kind::Output)
        .count();
    (count > 0).then(|| index_number(behind + count - 1))
}
