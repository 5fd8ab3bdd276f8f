//! repair-arguments: broken arguments become what they probably meant. A guess, never silent: the
//! screen shows the change.

use super::evidence::{one_line, violations};
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::repair::{Repair, decoded_twice, repair};
use crate::session::{Edit, Family, Item};
use crate::wire::Arguments;
use crate::wire::write::replace_arguments;
use serde_json::Value;

pub(crate) fn plan(scene: &ActionContext<'_>, choice: &ActionInput<'_>) -> Result<Plan> {
    let call = scene.call()?;
    scene.may_touch(call)?;
    let item = scene.at(call)?;
    if !matches!(item.family, Family::Function | Family::Legacy) {
        return Err(ActionError::WrongKind("a call with JSON arguments"));
    }
    let arguments = scene.body(call)?.arguments;
    let mut planned = Plan::default();
    let json = match choice.words.filter(|words| !words.trim().is_empty()) {
        Some(own) => own.to_owned(),
        None => {
            let is_odd = is_spelled_otherwise(item, &arguments);
            meant(&arguments, is_odd, choice.confirmed, &mut planned)?
        }
    };
    check(scene, call, &json, choice, &mut planned)?;
    let patch = replace_arguments(item, &scene.bytes(call)?, &json)?;
    planned.edits.push(Edit::rewrite(call, vec![patch]));
    Ok(planned)
}

/// Whether the arguments are JSON, but not as the dialect holds it: a text where it wants the object, the object
/// where it wants its text, nothing where it wants an object.
fn is_spelled_otherwise(item: &Item, arguments: &Arguments) -> bool {
    item.facts().is_some_and(|facts| match arguments {
        Arguments::None => facts.needs_arguments,
        Arguments::Text(_) => facts.object_arguments,
        Arguments::Value(_) => !facts.object_arguments,
        Arguments::FreeForm(_) => false,
    })
}

/// What the arguments probably meant.
fn meant(
    arguments: &Arguments,
    is_odd: bool,
    confirmed: bool,
    planned: &mut Plan,
) -> Result<String> {
    let text = arguments.json().ok_or(ActionError::NothingToDo)?;
    match repair(text) {
        Repair::Likely { text } => Ok(text),
        Repair::OneOpinion { text } => {
            planned.note("only one of two readers makes sense of these arguments");
            Ok(text)
        }
        Repair::Disagree { a, .. } if confirmed => {
            planned.note("two readers disagree; this is the more careful reading");
            Ok(a)
        }
        Repair::Disagree { a, b } => Err(ActionError::NeedsConfirmation(format!(
            "two readers disagree: {a} or {b}"
        ))),
        Repair::Valid => match decoded_twice(text) {
            Some(inner) => Ok(inner),
            None if is_odd => Ok(text.to_owned()),
            None => Err(ActionError::NothingToDo),
        },
        Repair::None => Err(ActionError::WouldBreak(
            "cannot be repaired without guessing: edit the arguments".to_owned(),
        )),
    }
}

/// Arguments must be an object; a note says whether the tool would accept it.
fn check(
    scene: &ActionContext<'_>,
    call: u32,
    json: &str,
    choice: &ActionInput<'_>,
    planned: &mut Plan,
) -> Result<()> {
    let value = serde_json::from_str::<Value>(json)
        .ok()
        .filter(Value::is_object);
    let Some(value) = value else {
        return Err(if choice.words.is_some() {
            ActionError::BadWords("arguments are a JSON object".to_owned())
        } else {
            ActionError::WouldBreak(format!("they would be {json}, which is not an object"))
        });
    };
    let name = scene.at(call)?.name;
    let offered = scene.around.offered(call as usize);
    if let Some(Ok(validator)) = offered.and_then(|offered| offered.validator(name)) {
        let found = violations(validator, &value);
        if !found.is_empty() {
            let (tool, broken) = (scene.tool(call), one_line(&found));
            let note = format!("repaired, they break the schema of {tool}: {broken}");
            if choice.keeps_schema {
                return Err(ActionError::WouldBreak(note));
            }
            planned.note(note);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::fixture::{ActionFixture, USER, anthropic, fixture, history};
    use serde_json::json;

    fn called(arguments: &Value) -> ActionFixture {
        let call = json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]});
        fixture(&history(&[USER, &call.to_string()]))
    }

    fn repaired(fixture: &ActionFixture, choice: &ActionInput<'_>) -> Result<String> {
        let planned = fixture.act(1, "repair-arguments", choice)?;
        let call = serde_json::from_str::<Value>(&fixture.after(&planned, 1)).unwrap();
        Ok(call["function"]["arguments"].as_str().unwrap().to_owned())
    }

    #[test]
    fn what_two_readers_agree_on_is_taken() {
        let fixture = called(&json!("{\"a\": 1, \"b\": 'x',}"));
        assert_eq!(
            repaired(&fixture, &ActionInput::default()).unwrap(),
            "{\"a\": 1, \"b\": \"x\"}"
        );
    }

    #[test]
    fn valid_json_is_not_repaired_and_nonsense_cannot_be() {
        let none = ActionInput::default();
        assert_eq!(
            repaired(&called(&json!("{}")), &none),
            Err(ActionError::NothingToDo)
        );
        let refusal = repaired(&called(&json!("please do it")), &none);
        assert!(
            matches!(refusal, Err(ActionError::WouldBreak(_))),
            "{refusal:?}"
        );
        assert_eq!(
            repaired(&called(&json!("please")), &ActionInput::words("{\"a\":1}")).unwrap(),
            "{\"a\":1}"
        );
        let list = repaired(&called(&json!("please")), &ActionInput::words("[1]"));
        assert!(matches!(list, Err(ActionError::BadWords(_))));
    }

    #[test]
    fn json_in_another_spelling_is_spelled_as_the_dialect_does() {
        let none = ActionInput::default();
        assert_eq!(
            repaired(&called(&json!("\"{\\\"a\\\":1}\"")), &none).unwrap(),
            "{\"a\":1}"
        );
        assert_eq!(
            repaired(&called(&json!({"a": 1})), &none).unwrap(),
            "{\"a\":1}"
        );
        let quoted = r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":"{\"a\":1}"}]}"#;
        let fixture = fixture(&anthropic(&[USER, quoted]));
        let planned = fixture.act(1, "repair-arguments", &none).unwrap();
        assert!(fixture.after(&planned, 1).ends_with(r#""input":{"a":1}}"#));
    }
}
