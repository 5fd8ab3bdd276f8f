//! output-to-text: an output that answers nothing becomes plain text, so that the model keeps what it knew.

use super::answer::can_be_answered;
use super::evidence::ordinal;
use super::{Choice, Planned, Refusal, Scene};
use crate::session::{Edit, Flags, Kind, Standing, Voice, index_number};
use crate::wire::Placement;

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

/// The output as a message that names its tool and id.
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

/// A call whose output comes after a compaction would become an orphan once that output is text: it gets the
/// same output.
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
    if scene.target.facts().placement == Placement::Behind {
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

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::stage::{USER, anthropic, history, only, stage};

    #[test]
    fn an_orphan_says_what_it_was() {
        let out = r#"{"type":"function_call_output","call_id":"call_9","output":"20 C"}"#;
        let stage = stage(&history(&[USER, out, USER]));
        let planned = stage
            .mend("orphan-output", "output-to-text", &Choice::default())
            .unwrap();
        assert_eq!(
            only(&planned),
            &Edit::Degrade {
                item: 1,
                text: "The output of a tool (call call_9), whose call is no longer in the history:\n20 C".to_owned()
            }
        );
    }

    #[test]
    fn text_never_stands_before_the_outputs_that_follow() {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;
        let results = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"1"},{"type":"tool_result","tool_use_id":"a","content":"2"}]}"#;
        let stage = stage(&anthropic(&[USER, call, results]));
        let planned = stage
            .mend("orphan-output", "output-to-text", &Choice::default())
            .unwrap();
        assert!(matches!(
            planned.edits[..],
            [Edit::Drop { item: 2 }, Edit::Say { after: 3, .. }]
        ));
        let refusal = stage.act(3, "output-to-text", &Choice::default());
        assert!(matches!(refusal, Err(Refusal::WouldBreak(_))));
    }

    #[test]
    fn a_call_before_the_compaction_gets_the_output_too() {
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        let mark = r#"{"type":"compaction","id":"cmp_1","encrypted_content":"x"}"#;
        let out = r#"{"type":"function_call_output","call_id":"c","output":"1"}"#;
        let stage = stage(&history(&[USER, call, mark, out, USER]));
        let planned = stage
            .mend("split-pair", "output-to-text", &Choice::default())
            .unwrap();
        assert!(matches!(
            planned.edits[..],
            [Edit::Answer { call: 1, .. }, Edit::Degrade { item: 3, .. }]
        ));
    }
}
