//! repair-arguments: broken arguments become what they probably meant. A guess, never silent: the
//! screen shows the change.

use super::evidence::{one_line, violations};
use super::{Choice, Planned, Refusal, Scene};
use crate::dialects::Arguments;
use crate::dialects::write::replace_arguments;
use crate::repair::{Repair, decoded_twice, repair};
use crate::session::{Edit, Family, Shape};
use serde_json::Value;

pub(super) fn plan(scene: &Scene<'_>, choice: &Choice<'_>) -> Result<Planned, Refusal> {
    let call = scene.call()?;
    scene.may_touch(call)?;
    let item = scene.at(call)?;
    if !matches!(item.family, Family::Function | Family::Legacy) {
        return Err(Refusal::WrongKind("call with JSON arguments"));
    }
    let arguments = scene.body(call)?.arguments;
    let mut planned = Planned::default();
    let json = match choice.words.filter(|words| !words.trim().is_empty()) {
        Some(own) => own.to_owned(),
        None => {
            let is_odd = is_spelled_otherwise(item.shape, &arguments);
            meant(&arguments, is_odd, choice.confirmed, &mut planned)?
        }
    };
    check(scene, call, &json, choice, &mut planned)?;
    let patch = replace_arguments(item, &scene.bytes(call)?, &json)?;
    planned.edits.push(Edit::Rewrite {
        item: call,
        patches: vec![patch],
    });
    Ok(planned)
}

/// Whether the arguments are JSON, but not as the dialect holds it: a text where Anthropic wants the object,
/// the object where OpenAI wants its text, nothing where Anthropic wants an object.
fn is_spelled_otherwise(shape: Shape, arguments: &Arguments) -> bool {
    matches!(
        (shape, arguments),
        (Shape::Anthropic, Arguments::Text(_) | Arguments::None)
            | (Shape::Responses | Shape::Chat, Arguments::Value(_))
    )
}

/// What the arguments probably meant.
fn meant(
    arguments: &Arguments,
    is_odd: bool,
    confirmed: bool,
    planned: &mut Planned,
) -> Result<String, Refusal> {
    let text = arguments.json().ok_or(Refusal::NothingToDo)?;
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
        Repair::Disagree { a, b } => Err(Refusal::NeedsConfirmation(format!(
            "two readers disagree: {a} or {b}"
        ))),
        Repair::Valid => match decoded_twice(text) {
            Some(inner) => Ok(inner),
            None if is_odd => Ok(text.to_owned()),
            None => Err(Refusal::NothingToDo),
        },
        Repair::None => Err(Refusal::WouldBreak(
            "nothing can be read from these arguments".to_owned(),
        )),
    }
}

/// Arguments must be an object; a note says whether the tool would accept it.
fn check(
    scene: &Scene<'_>,
    call: u32,
    json: &str,
    choice: &Choice<'_>,
    planned: &mut Planned,
) -> Result<(), Refusal> {
    let value = serde_json::from_str::<Value>(json)
        .ok()
        .filter(Value::is_object);
    let Some(value) = value else {
        return Err(if choice.words.is_some() {
            Refusal::BadWords("arguments are a JSON object".to_owned())
        } else {
            Refusal::WouldBreak(format!("they would be {json}, which is no object"))
        });
    };
    let name = scene.at(call)?.name;
    let offered = scene.around.offered(call as usize);
    if let Some(Ok(validator)) = offered.and_then(|offered| offered.validator(name)) {
        let found = violations(validator, &value);
        if !found.is_empty() {
            let (tool, broken) = (scene.tool(call), one_line(&found));
            let told = format!("repaired, they break the schema of {tool}: {broken}");
            if choice.keeps_schema {
                return Err(Refusal::WouldBreak(told));
            }
            planned.note(told);
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests {
    use super::*;
    use crate::actions::stage::{Stage, USER, anthropic, history, stage};
    use serde_json::json;

    fn called(arguments: &Value) -> Stage {
        let call = json!({"role": "assistant", "tool_calls": [{"id": "c", "type": "function", "function": {"name": "f", "arguments": arguments}}]});
        stage(&history(&[USER, &call.to_string()]))
    }

    fn repaired(stage: &Stage, choice: &Choice<'_>) -> Result<String, Refusal> {
        let planned = stage.act(1, "repair-arguments", choice)?;
        let call = serde_json::from_str::<Value>(&stage.after(&planned, 1)).unwrap();
        Ok(call["function"]["arguments"].as_str().unwrap().to_owned())
    }

    #[test]
    fn what_two_readers_agree_on_is_taken() {
        let stage = called(&json!("{\"a\": 1, \"b\": 'x',}"));
        assert_eq!(
            repaired(&stage, &Choice::default()).unwrap(),
            "{\"a\": 1, \"b\": \"x\"}"
        );
    }

    #[test]
    fn valid_json_is_not_repaired_and_nonsense_cannot_be() {
        let none = Choice::default();
        assert_eq!(
            repaired(&called(&json!("{}")), &none),
            Err(Refusal::NothingToDo)
        );
        let refusal = repaired(&called(&json!("please do it")), &none);
        assert!(
            matches!(refusal, Err(Refusal::WouldBreak(_))),
            "{refusal:?}"
        );
        assert_eq!(
            repaired(&called(&json!("please")), &Choice::words("{\"a\":1}")).unwrap(),
            "{\"a\":1}"
        );
        let list = repaired(&called(&json!("please")), &Choice::words("[1]"));
        assert!(matches!(list, Err(Refusal::BadWords(_))));
    }

    #[test]
    fn json_in_another_spelling_is_spelled_as_the_dialect_does() {
        let none = Choice::default();
        assert_eq!(
            repaired(&called(&json!("\"{\\\"a\\\":1}\"")), &none).unwrap(),
            "{\"a\":1}"
        );
        assert_eq!(
            repaired(&called(&json!({"a": 1})), &none).unwrap(),
            "{\"a\":1}"
        );
        let quoted = r#"{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":"{\"a\":1}"}]}"#;
        let stage = stage(&anthropic(&[USER, quoted]));
        let planned = stage.act(1, "repair-arguments", &none).unwrap();
        assert!(stage.after(&planned, 1).ends_with(r#""input":{"a":1}}"#));
    }
}
