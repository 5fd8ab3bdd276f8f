//! output-to-text: an output that answers nothing becomes plain text, so that the model keeps what it knew.

use super::answer::can_be_answered;
use super::evidence::named;
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::session::{Edit, Flags, Kind, MessageRole, PairStatus};
use crate::wire::OutputPlacement;

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    let item = scene.item()?;
    if item.kind != Kind::Output {
        return Err(ActionError::WrongKind("a result"));
    }
    scene.may_touch(scene.item)?;
    let output = scene.body(scene.item)?.text;
    let text = message(scene, &output)?;
    let mut planned = Plan::default();
    match scene.standing(scene.item) {
        PairStatus::Paired(call) => {
            return Err(ActionError::WouldBreak(format!(
                "{} would be left without output",
                named(scene, call)
            )));
        }
        PairStatus::Duplicate(_) => {
            let reason = "its call has another output: drop this one";
            return Err(ActionError::WouldBreak(reason.to_owned()));
        }
        PairStatus::Severed(call) => keep_call_whole(scene, call, &output, &mut planned)?,
        PairStatus::Alone | PairStatus::Pending | PairStatus::Orphan => {}
    }
    match last_answer_behind(scene) {
        Some(last) => {
            planned.edits.push(Edit::Drop { item: scene.item });
            planned.edits.push(Edit::Say {
                after: last,
                voice: MessageRole::User,
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
fn message(scene: &ActionContext<'_>, output: &str) -> Result<String> {
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
        "The output of {tool}{id}, whose call is no longer in the history:\n{output}"
    ))
}

/// A call whose output comes after a compaction would become an orphan once that output is text: it gets the
/// same output.
fn keep_call_whole(
    scene: &ActionContext<'_>,
    call: u32,
    output: &str,
    planned: &mut Plan,
) -> Result<()> {
    if scene.standing(call) != PairStatus::Severed(scene.item) {
        return Ok(());
    }
    scene.may_touch(call)?;
    can_be_answered(scene, call)?;
    let item = scene.item()?;
    planned.note(format!(
        "{}, before the compaction, gets the same output",
        named(scene, call)
    ));
    planned.edits.push(Edit::Answer {
        call,
        text: output.to_owned(),
        is_error: item.flags.has(Flags::ERROR),
    });
    Ok(())
}

/// The last answer among the outputs that directly follow: text must not stand before outputs that answer the
/// same reply. What answers nothing becomes text, too.
fn last_answer_behind(scene: &ActionContext<'_>) -> Option<u32> {
    if scene.target.facts().placement == OutputPlacement::Behind {
        return None;
    }
    let items = (scene.item + 1..).zip(scene.session().items.get(scene.item as usize + 1..)?);
    let outputs = items.take_while(|(_, item)| item.kind == Kind::Output);
    let answers = outputs.filter(|(index, _)| {
        let standing = scene.standing(*index);
        matches!(standing, PairStatus::Paired(_) | PairStatus::Duplicate(_))
    });
    answers.last().map(|(index, _)| index)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, anthropic, fixture, history, only};

    #[test]
    fn an_orphan_says_what_it_was() {
        let out = r#"{"type":"function_call_output","call_id":"call_9","output":"20 C"}"#;
        let fixture = fixture(&history(&[USER, out, USER]));
        let planned = fixture
            .apply("orphan-output", "output-to-text", &ActionInput::default())
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
    fn text_never_precedes_the_outputs() {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}}]}"#;
        let results = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"x","content":"1"},{"type":"tool_result","tool_use_id":"a","content":"2"}]}"#;
        let fixture = fixture(&anthropic(&[USER, call, results]));
        let planned = fixture
            .apply("orphan-output", "output-to-text", &ActionInput::default())
            .unwrap();
        assert!(matches!(
            planned.edits[..],
            [Edit::Drop { item: 2 }, Edit::Say { after: 3, .. }]
        ));
        let refusal = fixture.act(3, "output-to-text", &ActionInput::default());
        assert!(matches!(refusal, Err(ActionError::WouldBreak(_))));
    }

    #[test]
    fn a_call_before_the_compaction_gets_the_output_too() {
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        let mark = r#"{"type":"compaction","id":"cmp_1","encrypted_content":"x"}"#;
        let out = r#"{"type":"function_call_output","call_id":"c","output":"1"}"#;
        let fixture = fixture(&history(&[USER, call, mark, out, USER]));
        let planned = fixture
            .apply("split-pair", "output-to-text", &ActionInput::default())
            .unwrap();
        assert!(matches!(
            planned.edits[..],
            [Edit::Answer { call: 1, .. }, Edit::Degrade { item: 3, .. }]
        ));
    }
}
