//! inject-error: the call is answered with an error that the model can read.

use super::answer::{answer, ends_on_outputs};
use super::evidence::{named, render};
use super::plan::{ActionContext, ActionInput, Defect, Plan, Result};
use crate::repair::certain;
use crate::session::{Edit, Family, Kind};
use crate::wire::models::parses_arguments;
use crate::wire::write::replace_arguments;
use serde_json::{Value, json};

/// Rules about calls that are faulty in themselves, the most telling one first: what is wrong with a call says
/// more than that it was not answered.
const FAULTS: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "duplicate-argument-key",
    "invalid-arguments",
    "orphan-call",
];

pub(crate) fn plan(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    let mut planned = Plan::default();
    let call = scene.call()?;
    tell(scene, call, choice, &mut planned)?;
    if choice.whole_turn {
        for other in faulty_calls(scene, call)? {
            if scene.awaits_approval(other) {
                planned.note(format!(
                    "{} awaits an approval and is left alone",
                    named(scene, other)
                ));
            } else {
                tell(scene, other, choice, &mut planned)?;
            }
        }
    }
    planned.asks_model = ends_on_outputs(scene, &planned);
    Ok(planned)
}

/// The other faulty calls of the turn, each once, in their order.
fn faulty_calls(scene: &ActionContext<'_>, call: u32) -> Result<Vec<u32>> {
    let turn = scene.turn(call)?;
    let faulty = scene.beside.iter();
    let faulty = faulty.filter(|defect| FAULTS.contains(&defect.rule));
    let mut calls = faulty
        .filter_map(|defect| defect.item)
        .filter(|index| *index != call && turn.items().contains(&(*index as usize)))
        .filter(|index| scene.at(*index).is_ok_and(|item| item.kind == Kind::Call))
        .collect::<Vec<_>>();
    calls.sort_unstable();
    calls.dedup();
    Ok(calls)
}

fn tell(
    scene: &ActionContext<'_>,
    call: u32,
    choice: &ActionInput<'_>,
    planned: &mut Plan,
) -> Result<()> {
    let defect = telling(scene, call);
    let text = render(scene, &defect, call, choice.words)?;
    planned.texts.push(text.clone());
    answer(scene, call, text, true, planned)?;
    keep_replayable(scene, call, planned)
}

/// The defect to report to the model. A missing answer is only the consequence of the call's own defect.
fn telling<'a>(scene: &ActionContext<'a>, call: u32) -> Defect<'a> {
    let rank = |defect: &&Defect<'_>| {
        let place = FAULTS.iter().position(|rule| *rule == defect.rule);
        place.unwrap_or(FAULTS.len())
    };
    let own = scene.defect;
    let is_own = own.item == Some(call) || scene.item == call || scene.call() == Ok(call);
    if is_own && own.rule != "orphan-call" && own.rule != "pending-call" {
        return own;
    }
    let known = scene.defects_of(call).min_by_key(rank).copied();
    known.unwrap_or(Defect {
        item: Some(call),
        ..Defect::default()
    })
}

/// Some providers take arguments as an object only: broken ones would make every later request fail,
/// whatever answers the call.
fn keep_replayable(scene: &ActionContext<'_>, call: u32, planned: &mut Plan) -> Result<()> {
    let item = scene.at(call)?;
    let model = scene.session().model.as_deref().unwrap_or_default();
    let takes_objects =
        item.is_block() || scene.target.facts().object_arguments || parses_arguments(model);
    if !takes_objects || !matches!(item.family, Family::Function | Family::Legacy) {
        return Ok(());
    }
    let body = scene.body(call)?;
    let Some(text) = body.arguments.json() else {
        return Ok(());
    };
    let is_object =
        |text: &str| serde_json::from_str::<Value>(text).is_ok_and(|value| value.is_object());
    let is_quoted = item.is_block() && matches!(body.arguments, crate::wire::Arguments::Text(_));
    if is_object(text) && !is_quoted {
        return Ok(());
    }
    let (json, what) = match certain(text) {
        None if is_object(text) => (text.to_owned(), "the object that they quote"),
        Some(text) if is_object(&text) => (text, "what they probably meant"),
        _ => (
            json!({ "_raw": text }).to_string(),
            "{\"_raw\": ...}, which holds them as text",
        ),
    };
    planned.note(format!(
        "the provider takes only an object as arguments: those of {} become {what}",
        named(scene, call)
    ));
    let patch = replace_arguments(item, &scene.bytes(call)?, &json)?;
    planned.edits.push(Edit::rewrite(call, vec![patch]));
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::ActionError;
    use crate::actions::fixture::{USER, anthropic, fixture, history, only};
    use crate::session::Dialect;
    use serde_json::json;

    const CALL: &str =
        r#"{"type":"function_call","call_id":"call_1","name":"serch","arguments":"{}"}"#;
    const OTHER: &str =
        r#"{"type":"function_call","call_id":"call_2","name":"search","arguments":"{\"q\":1}"}"#;
    const OUT: &str =
        r#"{"type":"function_call_output","call_id":"call_1","output":"Tool serch not found."}"#;

    fn tools() -> serde_json::Value {
        json!([{"name": "search", "parameters": {"type": "object", "properties": {"q": {"type": "string"}}}}])
    }

    #[test]
    fn a_call_without_output_is_answered_and_the_model_is_next() {
        let fixture = fixture(&history(&[USER, CALL])).tools(tools());
        let planned = fixture
            .apply("unknown-tool", "inject-error", &ActionInput::default())
            .unwrap();
        let Edit::Answer {
            call: 1,
            text,
            is_error: true,
        } = only(&planned)
        else {
            panic!("{planned:?}");
        };
        assert!(text.contains("serch") && text.contains("search"), "{text}");
        assert!(planned.asks_model);
    }

    #[test]
    fn the_poor_text_of_a_runtime_is_replaced_and_quoted() {
        let fixture = fixture(&history(&[USER, CALL, OUT, USER])).tools(tools());
        let choice = ActionInput::words("No {{ tool }}; try {{ nearest|first }}.");
        let planned = fixture
            .apply("unknown-tool", "inject-error", &choice)
            .unwrap();
        assert_eq!(
            fixture.after(&planned, 2),
            OUT.replace("Tool serch not found.", "No serch; try search.")
        );
        assert_eq!(
            planned.notes,
            ["the output of serch in turn 2 said: Tool serch not found."]
        );
        assert!(!planned.asks_model);
    }

    #[test]
    fn every_faulty_call_of_the_turn_gets_its_own_error_once() {
        let fixture = fixture(&history(&[USER, CALL, OTHER])).tools(tools());
        let choice = ActionInput {
            whole_turn: true,
            ..ActionInput::default()
        };
        let planned = fixture
            .apply("unknown-tool", "inject-error", &choice)
            .unwrap();
        let told = planned.edits.iter().map(|edit| match edit {
            Edit::Answer { call, text, .. } => (*call, text.contains("/q")),
            other => panic!("{other:?}"),
        });
        assert_eq!(told.collect::<Vec<_>>(), [(1, false), (2, true)]);
        assert!(planned.asks_model);
    }

    #[test]
    fn broken_arguments_stay_for_openai_and_become_an_object_for_anthropic() {
        let broken = |arguments: &str| {
            let call = json!({"type": "function_call", "call_id": "c", "name": "f", "arguments": arguments});
            fixture(&history(&[USER, &call.to_string()]))
        };
        let cut = broken("{\"path\": \"src/ma");
        let kept = cut
            .apply(
                "malformed-arguments",
                "inject-error",
                &ActionInput::default(),
            )
            .unwrap();
        assert!(matches!(only(&kept), Edit::Answer { .. }));
        let anthropic = broken("not json at all").target(Dialect::Anthropic);
        let planned = anthropic
            .apply(
                "malformed-arguments",
                "inject-error",
                &ActionInput::default(),
            )
            .unwrap();
        assert!(
            anthropic
                .after(&planned, 1)
                .contains(r#"{\"_raw\":\"not json at all\"}"#)
        );
        assert!(
            planned.notes[0].contains("takes only an object"),
            "{:?}",
            planned.notes
        );
    }

    #[test]
    fn anthropic_has_a_mark_for_errors_and_a_quoted_object_is_unquoted() {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":"{\"a\":1}"}]}"#;
        let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"bad"}]}"#;
        let fixture = fixture(&anthropic(&[USER, call, result]));
        let planned = fixture
            .apply(
                "malformed-arguments",
                "inject-error",
                &ActionInput::words("No."),
            )
            .unwrap();
        assert_eq!(
            fixture.after(&planned, 2),
            r#"{"is_error":true,"type":"tool_result","tool_use_id":"toolu_1","content":"No."}"#
        );
        assert!(fixture.after(&planned, 1).contains(r#""input":{"a":1}"#));
    }

    #[test]
    fn what_awaits_an_approval_and_what_has_no_text_are_refused() {
        let computer = r#"{"type":"computer_call","call_id":"c","action":{"type":"screenshot"}}"#;
        let fixture = fixture(&history(&[USER, computer, USER]));
        let refusal = fixture.apply("orphan-call", "inject-error", &ActionInput::default());
        assert!(
            matches!(refusal, Err(ActionError::NotInDialect(_))),
            "{refusal:?}"
        );
        let refusal = fixture.act(0, "inject-error", &ActionInput::default());
        assert!(matches!(refusal, Err(ActionError::WrongKind(_))));
        let refusal = fixture.act(1, "inject-error", &ActionInput::words("{{ tol }}"));
        assert!(matches!(refusal, Err(ActionError::BadWords(_))));
    }
}
