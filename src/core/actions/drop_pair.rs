//! drop-pair: call, outputs and the reasoning that led to the call leave the history.

use super::belonging::drop_all;
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::session::{Family, Flags, Kind, Turn, index_number};

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    let item = scene.item()?;
    let partner = scene.session().pairing.partner(scene.item as usize);
    let partner = partner.map(index_number);
    let (call, output) = match item.kind {
        Kind::Call | Kind::HostedCall | Kind::ApprovalRequest => (Some(scene.item), partner),
        Kind::Output | Kind::HostedOutput | Kind::ApprovalResponse => (partner, Some(scene.item)),
        _ => return Err(ActionError::WrongKind("a call or its result")),
    };
    let mut going = call.into_iter().chain(output).collect::<Vec<_>>();
    if let Some(call) = call {
        if scene.at(call)?.family == Family::Program {
            return Err(ActionError::NotInDialect(
                "the calls that the program made belong to it: retry the turn instead".to_owned(),
            ));
        }
        let first = scene.session().pairing.partner(call as usize);
        going.extend(first.map(index_number));
        going.extend(scene.around.further_outputs(call));
    }
    going.sort_unstable();
    going.dedup();
    let mut planned = drop_all(scene, &going)?;
    planned.asks_model = call.is_some_and(|call| was_all_of_the_end(scene, call, &going));
    let ran = output.filter(|_| call.is_some_and(|call| is_clean(scene, call)));
    if ran.is_some_and(|output| is_clean(scene, output)) {
        planned.note(format!(
            "{} ran; the model will not know of it",
            scene.tool(scene.item)
        ));
    }
    Ok(planned)
}

/// Whether the history ended on this call alone: what the model said before it is no final message.
fn was_all_of_the_end(scene: &ActionContext<'_>, call: u32, going: &[u32]) -> bool {
    let items = &scene.session().items;
    let is_last = |turn: &Turn| turn.end as usize == items.len();
    let Some(turn) = scene.turn(call).ok().filter(is_last) else {
        return false;
    };
    let stays = |index: &u32| !going.contains(index);
    turn.items().map(index_number).filter(stays).all(|index| {
        let kind = items[index as usize].kind;
        kind != Kind::Call && (index < call || kind != Kind::Assistant)
    })
}

fn is_clean(scene: &ActionContext<'_>, index: u32) -> bool {
    let failed = Flags::ERROR;
    scene
        .at(index)
        .is_ok_and(|item| !item.flags.has(failed) && !item.flags.has(Flags::REJECTED))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, anthropic, dropped, fixture, history};

    const REASONING: &str = r#"{"type":"reasoning","id":"rs_1","summary":[]}"#;

    #[test]
    fn call_outputs_and_reasoning_leave_together_from_either_side() {
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        let out = r#"{"type":"function_call_output","call_id":"c","output":"1"}"#;
        let fixture = fixture(&history(&[USER, REASONING, call, out, out, USER]));
        for item in [2, 3, 4] {
            let planned = fixture
                .act(item, "drop-pair", &ActionInput::default())
                .unwrap();
            assert_eq!(dropped(&planned), [1, 2, 3, 4]);
        }
        let refusal = fixture.act(5, "drop-pair", &ActionInput::default());
        assert!(matches!(refusal, Err(ActionError::WrongKind(_))));
    }

    #[test]
    fn reasoning_of_the_next_call_stays() {
        let calls = [1, 2].map(|id| {
            format!(r#"{{"type":"function_call","call_id":"{id}","name":"f","arguments":"{{}}"}}"#)
        });
        let fixture = fixture(&history(&[
            USER,
            REASONING,
            &calls[0],
            &REASONING.replace("rs_1", "rs_2"),
            &calls[1],
            USER,
        ]));
        let planned = fixture
            .apply("orphan-call", "drop-pair", &ActionInput::default())
            .unwrap();
        assert_eq!(dropped(&planned), [1, 2]);
    }

    #[test]
    fn a_call_leaves_a_reply_with_thinking_only_with_all_of_it() {
        let thinking = r#"{"type":"thinking","thinking":"hm","signature":"c2ln"}"#;
        let text = r#"{"type":"text","text":"so"}"#;
        let call = r#"{"type":"tool_use","id":"a","name":"f","input":{}}"#;
        let reply = |blocks: &[&str]| {
            let reply = format!(r#"{{"role":"assistant","content":[{}]}}"#, blocks.join(","));
            let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}"#;
            fixture(&anthropic(&[USER, &reply, result]))
        };
        let alone = reply(&[thinking, call]).act(2, "drop-pair", &ActionInput::default());
        assert_eq!(dropped(&alone.unwrap()), [1, 2, 3]);
        let beside = reply(&[thinking, text, call]).act(3, "drop-pair", &ActionInput::default());
        assert!(
            matches!(beside, Err(ActionError::WouldBreak(_))),
            "{beside:?}"
        );
        let without = reply(&[text, call]).act(2, "drop-pair", &ActionInput::default());
        assert_eq!(dropped(&without.unwrap()), [2, 3]);
    }
}
