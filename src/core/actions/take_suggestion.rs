//! take-suggestion: the call gets the name that was meant.

use super::evidence::{nearest, one_line, quote, violations};
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use super::sanitise_name::is_plain;
use crate::session::{Edit, Family, PairStatus};
use crate::wire::write::rename;
use serde_json::Value;

pub(crate) fn plan(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    let call = scene.call()?;
    scene.may_touch(call)?;
    let name = wanted(scene, call, choice)?;
    let item = scene.at(call)?;
    if scene.session().name(item) == name {
        return Err(ActionError::NothingToDo);
    }
    if changes_other_pairs(scene, call, &name) {
        return Err(ActionError::WouldBreak(format!(
            "calls without ids take their outputs in order: as {name} it would take that of another call"
        )));
    }
    let mut planned = Plan::default();
    check_arguments(scene, call, &name, &mut planned)?;
    planned.note(format!(
        "the model wrote {}",
        quote(scene.session().name(item))
    ));
    if let PairStatus::Paired(output) = scene.standing(call) {
        let text = scene.body(output)?.text;
        planned.note(format!("its output stays as it is: {}", quote(&text)));
        // Some outputs name the tool.
        let names_tool = item.facts().is_some_and(|facts| facts.names_outputs);
        if item.family == Family::Legacy || names_tool {
            let patches = rename(scene.at(output)?, &scene.bytes(output)?, &name)?;
            planned.edits.push(Edit::rewrite(output, patches));
        }
    }
    let patches = rename(item, &scene.bytes(call)?, &name)?;
    planned.edits.push(Edit::rewrite(call, patches));
    Ok(planned)
}

/// Whether, with this name, calls of its turn would take other outputs: without ids the calls of one name take the
/// outputs of that name in order.
fn changes_other_pairs(scene: &ActionContext<'_>, call: u32, name: &str) -> bool {
    let (session, call) = (scene.session(), call as usize);
    let Some(item) = session
        .items
        .get(call)
        .filter(|item| item.call_id.is_none())
    else {
        return false;
    };
    let output = |index| session.pairing.partner(index).unwrap_or(usize::MAX);
    session.items.iter().enumerate().any(|(index, other)| {
        let is_rival = other.turn == item.turn && other.kind == item.kind && index != call;
        is_rival
            && other.call_id.is_none()
            && session.name(other) == name
            && output(index) != output(call)
            && (index < call) != (output(index) < output(call))
    })
}

/// The name to take: the operator's, or the nearest.
fn wanted(scene: &ActionContext<'_>, call: u32, choice: &ActionInput<'_>) -> Result<String> {
    let own = choice.words.map(str::trim).filter(|name| !name.is_empty());
    if let Some(name) = own {
        return match scene.around.offered(call as usize) {
            Some(offered) if !offered.callable().contains(&name) => {
                Err(ActionError::BadWords(format!("{name} is not offered here")))
            }
            None if !is_plain(name) => Err(ActionError::BadWords(
                "a name is made of up to 64 letters, digits, `_` and `-`".to_owned(),
            )),
            _ => Ok(name.to_owned()),
        };
    }
    let near = nearest(scene, &scene.defect, call).into_iter().next();
    near.map_or_else(|| Err(nothing_to_suggest(scene, call)), Ok)
}

/// Why there is no name to take.
fn nothing_to_suggest(scene: &ActionContext<'_>, call: u32) -> ActionError {
    let offered = scene.around.offered(call as usize);
    let name = scene.at(call).ok().map(|item| item.name);
    ActionError::WouldBreak(match (offered, name) {
        (Some(offered), Some(name)) if offered.tool(name).is_some() => {
            "the tool's name is right".to_owned()
        }
        (Some(_), _) => "no offered tool has a name near this one".to_owned(),
        (None, _) => "it is not known which tools were offered".to_owned(),
    })
}

/// Refuses arguments that the other tool would reject; adds a note where that cannot be checked.
fn check_arguments(
    scene: &ActionContext<'_>,
    call: u32,
    name: &str,
    planned: &mut Plan,
) -> Result<()> {
    let body = scene.body(call)?;
    let value = body
        .arguments
        .json()
        .and_then(|text| serde_json::from_str::<Value>(text).ok());
    let offered = scene.around.offered(call as usize);
    let validator = offered.and_then(|offered| offered.validator_of(name));
    let (Some(value), Some(Ok(validator))) = (value, validator) else {
        planned.note(format!(
            "whether its arguments fit {name} cannot be checked"
        ));
        return Ok(());
    };
    let found = violations(validator, &value);
    if found.is_empty() {
        return Ok(());
    }
    Err(ActionError::WouldBreak(format!(
        "its arguments break the schema of {name}: {}",
        one_line(&found)
    )))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{USER, fixture, history};
    use serde_json::json;

    const CALL: &str =
        r#"{"type":"function_call","call_id":"c","name":"serch_flights","arguments":"{\"to\":1}"}"#;

    #[test]
    fn the_nearest_name_is_taken_and_the_rest_stays() {
        let fixture = fixture(&history(&[USER, CALL])).tools(json!([{"name": "search_flights"}]));
        let planned = fixture
            .apply("unknown-tool", "take-suggestion", &ActionInput::default())
            .unwrap();
        assert_eq!(fixture.after(&planned, 1), CALL.replace("serch", "search"));
        assert_eq!(
            planned.notes,
            [
                "whether its arguments fit search_flights cannot be checked",
                "the model wrote serch_flights"
            ]
        );
        let own = fixture.apply(
            "unknown-tool",
            "take-suggestion",
            &ActionInput::words("fly"),
        );
        assert_eq!(
            own,
            Err(ActionError::BadWords("fly is not offered here".to_owned()))
        );
    }

    #[test]
    fn arguments_that_the_other_tool_refuses_are_no_help() {
        let schema = json!({"type": "object", "properties": {"to": {"type": "string"}}});
        let fixture = fixture(&history(&[USER, CALL]))
            .tools(json!([{"name": "search_flights", "parameters": schema}]));
        let refusal = fixture.act(1, "take-suggestion", &ActionInput::default());
        assert!(refusal.is_err_and(|refusal| refusal.to_string().contains("/to")));
    }

    #[test]
    fn a_call_without_id_takes_no_output_of_another_call() {
        let request = |first: &str, outputs: &str| {
            format!(
                r#"{{"contents":[{{"role":"user","parts":[{{"text":"hi"}}]}},{{"role":"model","parts":[
                {{"functionCall":{{"name":"{first}","args":{{}}}}}},{{"functionCall":{{"name":"search_flights","args":{{}}}}}}]}},
                {{"role":"user","parts":[{outputs}]}}],"tools":[{{"functionDeclarations":[{{"name":"search_flights"}}]}}]}}"#
            )
        };
        let output =
            |name: &str| format!(r#"{{"functionResponse":{{"name":"{name}","response":{{}}}}}}"#);
        let (own, other) = (output("serch_flights"), output("search_flights"));
        let take = |outputs: &str| {
            let fixture = fixture(&request("serch_flights", outputs));
            fixture.apply("unknown-tool", "take-suggestion", &ActionInput::default())
        };
        for taken in [other.clone(), format!("{other},{own}")] {
            let refusal = take(&taken).map(|_| ()).unwrap_err().to_string();
            assert!(refusal.contains("that of another call"), "{refusal}");
        }
        assert!(take(&format!("{own},{other}")).is_ok());
    }

    #[test]
    fn a_namespace_is_a_member_of_its_own() {
        let call = r#"{"type":"function_call","call_id":"c","name":"opne","namespace":"tabs","arguments":"{}"}"#;
        let tools = r#"{"type":"additional_tools","tools":[{"type":"namespace","name":"browser","description":"d","tools":[{"type":"function","name":"open"}]}]}"#;
        let fixture = fixture(&history(&[USER, tools, call]));
        let planned = fixture
            .act(2, "take-suggestion", &ActionInput::words("browser.open"))
            .unwrap();
        assert!(
            fixture
                .after(&planned, 2)
                .contains(r#""name":"open","namespace":"browser""#)
        );
    }

    #[test]
    fn no_near_name_means_no_suggestion() {
        let fixture = fixture(&history(&[USER, CALL])).tools(json!([{"name": "zebra"}]));
        let refusal = fixture.act(1, "take-suggestion", &ActionInput::default());
        assert!(
            matches!(refusal, Err(ActionError::WouldBreak(_))),
            "{refusal:?}"
        );
    }

    #[test]
    fn a_refusal_gives_the_true_reason() {
        let refused = |fixture: crate::actions::fixture::ActionFixture| {
            let refusal = fixture.act(1, "take-suggestion", &ActionInput::default());
            refusal.unwrap_err().to_string()
        };
        let offers = |name: &str| fixture(&history(&[USER, CALL])).tools(json!([{"name": name}]));
        let own = refused(offers("serch_flights"));
        assert!(own.contains("the tool's name is right"), "{own}");
        let far = refused(offers("zebra"));
        assert!(
            far.contains("no offered tool has a name near this one"),
            "{far}"
        );
        let unknown = refused(fixture(&history(&[USER, CALL])));
        assert!(
            unknown.contains("it is not known which tools were offered"),
            "{unknown}"
        );
    }

    #[test]
    fn old_chat_pairs_by_name_so_the_output_gets_the_new_one_too() {
        let call =
            r#"{"role":"assistant","content":null,"function_call":{"name":"f","arguments":"{}"}}"#;
        let out = r#"{"role":"function","name":"f","content":"1"}"#;
        let fixture = fixture(&history(&[USER, call, out]));
        let planned = fixture
            .act(1, "take-suggestion", &ActionInput::words("g"))
            .unwrap();
        assert_eq!(fixture.after(&planned, 2), out.replace("\"f\"", "\"g\""));
        // Without a list of tools a name must at least be one.
        let refusal = fixture.act(1, "take-suggestion", &ActionInput::words("a b"));
        assert!(
            matches!(refusal, Err(ActionError::BadWords(_))),
            "{refusal:?}"
        );
    }
}
