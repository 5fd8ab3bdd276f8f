//! fallback: a value is accepted as the final message, or as the output of a tool.
//!
//! It is checked against the schema before it is accepted and replays nothing. A final message is appended
//! after the model's last message, as openai-agents' error handlers do; one that does not enter the history is
//! only the result of the take. The output of a tool always enters the history, because the model called for
//! it.

use super::evidence::check_value;
use super::plan::{ActionContext, ActionInput, Plan, Result};
use super::{close_turn, supply_output};
use crate::session::{Edit, Kind, MessageRole};

/// Rules about how a run ends, whatever item their findings point at.
const OF_THE_END: &[&str] = &[
    "invalid-final-output",
    "missing-final-output",
    "refused",
    "truncated-response",
    "turn-limit",
];

pub(crate) fn plan(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    let is_half = matches!(scene.item()?.kind, Kind::Call | Kind::Output);
    if is_half && !OF_THE_END.contains(&scene.defect.rule) {
        return supply_output::plan(scene, choice);
    }
    final_message(scene, choice)
}

fn final_message(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    // At the turn limit a run ends on whatever came last.
    let turn = match scene.defect.rule {
        "turn-limit" => scene.turn(scene.item)?,
        _ => scene.reply()?,
    };
    let value = choice.needed("the final message")?;
    let schema = scene.session().contract.output_schema.as_ref();
    check_value(
        value,
        schema.map(|schema| &schema.schema),
        "the final output",
    )?;
    let mut planned = Plan {
        result: Some(value.to_owned()),
        ..Plan::default()
    };
    if !choice.include_in_history {
        planned.note("the value is the result of the take and enters no history");
        return Ok(planned);
    }
    close_turn::answer_what_is_open(scene, turn, None, &mut planned)?;
    planned.edits.push(Edit::Say {
        after: turn.end.saturating_sub(1),
        voice: MessageRole::Assistant,
        text: value.to_owned(),
    });
    Ok(planned)
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::ActionError;
    use crate::actions::fixture::{USER, fixture, history, only};
    use serde_json::json;

    const ANSWER: &str =
        r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ten"}]}"#;

    fn euros() -> serde_json::Value {
        json!({"type": "object", "properties": {"eur": {"type": "number"}}, "required": ["eur"]})
    }

    #[test]
    fn a_final_message_is_checked_and_enters_the_history_only_if_asked_to() {
        let fixture = fixture(&history(&[USER, ANSWER])).output_schema(euros());
        let apply =
            |choice: &ActionInput<'_>| fixture.apply("invalid-final-output", "fallback", choice);
        assert_eq!(
            apply(&ActionInput::default()),
            Err(ActionError::NeedsWords("the final message"))
        );
        let refusal = apply(&ActionInput::words(r#"{"eur":"ten"}"#)).unwrap_err();
        assert!(refusal.to_string().contains("/eur"), "{refusal}");
        let apart = apply(&ActionInput::words(r#"{"eur":10}"#)).unwrap();
        assert_eq!(
            (apart.edits.len(), apart.result.as_deref()),
            (0, Some(r#"{"eur":10}"#))
        );
        let choice = ActionInput {
            include_in_history: true,
            ..ActionInput::words(r#"{"eur":10}"#)
        };
        let within = apply(&choice).unwrap();
        assert_eq!(
            only(&within),
            &Edit::Say {
                after: 1,
                voice: MessageRole::Assistant,
                text: r#"{"eur":10}"#.to_owned()
            }
        );
    }

    #[test]
    fn calls_that_are_open_are_closed_before_a_final_message() {
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        let mut fixture = fixture(&history(&[USER, call]));
        fixture.session.contract.turn_limit = Some(1);
        let choice = ActionInput {
            include_in_history: true,
            ..ActionInput::words("enough")
        };
        let planned = fixture.apply("turn-limit", "fallback", &choice).unwrap();
        assert!(matches!(
            planned.edits[..],
            [Edit::Answer { call: 1, .. }, Edit::Say { .. }]
        ));
    }

    #[test]
    fn the_output_of_a_tool_is_a_value_too() {
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        let out =
            r#"{"type":"function_call_output","call_id":"c","output":"Error: printer offline"}"#;
        let fixture = fixture(&history(&[USER, call, out]))
            .tools(json!([{"name": "f", "parameters": {}, "outputSchema": {"type": "array"}}]));
        let planned = fixture.apply("tool-error", "fallback", &ActionInput::words("[]"));
        assert!(planned.is_ok_and(|planned| planned.result.is_none() && planned.asks_model));
    }
}
