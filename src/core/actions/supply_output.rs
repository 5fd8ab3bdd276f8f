//! supply-output: the operator writes the output of a call.

use super::answer::{answer, ends_on_outputs, replace};
use super::evidence::check_value;
use super::plan::{ActionContext, ActionInput, Plan, Result};
use crate::session::Kind;

/// Lets a call have an output; it is checked against the output schema of the tool.
pub(crate) fn plan(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    let call = scene.call();
    // Refuse what may not be answered before prompting for the words.
    scene.may_touch(*call.as_ref().unwrap_or(&scene.item))?;
    if scene.item()?.kind != Kind::Output {
        call.clone()?;
    }
    let text = choice.needed("the output")?;
    if let Ok(call) = call {
        check(scene, call, text)?;
    }
    let mut planned = Plan::default();
    match scene.item()?.kind {
        Kind::Output => replace(scene, scene.item, text, false, &mut planned)?,
        _ => answer(scene, call?, text.to_owned(), false, &mut planned)?,
    }
    planned.asks_model = ends_on_outputs(scene, &planned);
    Ok(planned)
}

fn check(scene: &ActionContext<'_>, call: u32, text: &str) -> Result<()> {
    let name = scene.at(call)?.name;
    let offered = scene.around.offered(call as usize);
    let tool = offered.and_then(|offered| offered.tool(name));
    let schema = tool.and_then(|tool| tool.output_schema.as_ref());
    check_value(text, schema, &format!("the output of {}", scene.tool(call)))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::ActionError;
    use crate::actions::fixture::{USER, anthropic, fixture, history, only};
    use crate::session::Edit;

    #[test]
    fn a_missing_output_is_written_by_hand() {
        let call = r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{}"}"#;
        let fixture = fixture(&history(&[USER, call, USER]));
        assert_eq!(
            fixture.apply("orphan-call", "supply-output", &ActionInput::words(" ")),
            Err(ActionError::NeedsWords("the output"))
        );
        let planned = fixture
            .apply("orphan-call", "supply-output", &ActionInput::words("20"))
            .unwrap();
        assert!(matches!(
            only(&planned),
            Edit::Answer {
                call: 1,
                is_error: false,
                ..
            }
        ));
        assert!(!planned.asks_model);
    }

    #[test]
    fn an_output_that_failed_is_written_anew_and_is_no_error_any_more() {
        let call = r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]}"#;
        let result = r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"offline"}],"is_error":true}]}"#;
        let fixture = fixture(&anthropic(&[USER, call, result]));
        let planned = fixture
            .apply("tool-error", "supply-output", &ActionInput::words("20"))
            .unwrap();
        assert_eq!(
            fixture.after(&planned, 2),
            r#"{"type":"tool_result","tool_use_id":"toolu_1","content":"20","is_error":false}"#
        );
    }

    #[test]
    fn a_shell_has_its_own_spelling() {
        let call = r#"{"type":"shell_call","call_id":"c","action":{"commands":["ls"]}}"#;
        let out = r#"{"type":"shell_call_output","call_id":"c","output":[{"stdout":"","stderr":"no","outcome":{"type":"exit","exit_code":1}}]}"#;
        let fixture = fixture(&history(&[USER, call, out]));
        let planned = fixture
            .act(2, "supply-output", &ActionInput::words("a.txt"))
            .unwrap();
        assert!(
            fixture
                .after(&planned, 2)
                .contains(r#"[{"stdout":"a.txt","stderr":"""#)
        );
    }
}
