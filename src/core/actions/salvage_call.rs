//! salvage-call: a call that the model wrote as text becomes the call that it is. A reading of the text, never
//! taken by itself: the screen shows the change.

use super::evidence::{one_line, ordinal, violations};
use super::plan::{ActionContext, ActionError, ActionInput, Plan, Result};
use crate::repair::likely;
use crate::session::{CallId, Edit, Item, Kind, ToolKind};
use crate::wire::leaked::{LeakedBlock, Written, find};
use crate::wire::write::texts_of;
use crate::wire::{Input, ToolCall};
use serde_json::{Map, Value};

pub(crate) fn plan(scene: &ActionContext<'_>, _: &ActionInput<'_>) -> Result<Plan> {
    let item = scene.item()?;
    if item.kind != Kind::Assistant {
        return Err(ActionError::WrongKind("message of the model"));
    }
    scene.may_touch(scene.item)?;
    let bytes = scene.bytes(scene.item)?;
    let texts = texts_of(&bytes)?;
    let wanted = scene.defect.fact("tool");
    let found = texts.iter().find_map(|(at, text)| {
        let mut blocks = find(text);
        let mut wanted = blocks
            .iter()
            .filter(|block| wanted.is_none_or(|tool| tool == block.tool));
        let place = wanted.next()?.at.clone();
        // A list is one thing: all its calls are made.
        blocks.retain(|block| block.at == place);
        Some((at, text, place, blocks))
    });
    let (at, text, place, blocks) = found.ok_or(ActionError::NothingToDo)?;
    if item.is_message_with_calls() && has_call_beside(scene) {
        return Err(ActionError::WouldBreak(
            "the message makes a call already: edit that".to_owned(),
        ));
    }
    let mut planned = Plan::default();
    let arguments = blocks
        .iter()
        .map(|block| arguments(scene, block, &mut planned))
        .collect::<Result<Vec<_>, _>>()?;
    let ids = fresh_ids(scene, blocks.len());
    let before = without_mark(text[..place.start].trim_end());
    let after = text[place.end..].trim();
    let left = match (before, after) {
        ("", text) | (text, "") => text.to_owned(),
        (before, after) => format!("{before}\n\n{after}"),
    };
    let calls = blocks.iter().zip(&ids).zip(&arguments);
    let calls = calls.map(|((block, id), arguments)| ToolCall {
        id: Some(id.clone()),
        name: block.tool.to_owned(),
        namespace: None,
        input: Input::Json(arguments.clone()),
    });
    let calls = calls.collect::<Vec<_>>();
    let codec = item
        .codec()
        .ok_or_else(|| ActionError::NotInDialect("no call can stand here".to_owned()))?;
    let made = codec.insert_calls(&bytes, at.clone(), &calls, left.trim())?;
    let form = blocks.first().map_or("", |block| block.form);
    planned.note(format!("the text was written as {form}"));
    planned.edits.push(Edit::rewrite(scene.item, made.patches));
    planned
        .edits
        .extend(made.after.into_iter().map(|element| Edit::Insert {
            after: scene.item,
            element,
        }));
    Ok(planned)
}

/// A text without the lone word that models write before a call that leaks (claude-code#77061).
fn without_mark(text: &str) -> &str {
    let last = text.rfind('\n').map_or(0, |end| end + 1);
    match text[last..].trim() {
        "call" | "count" => text[..last].trim_end(),
        _ => text,
    }
}

/// Whether the same message of Chat holds calls: they are items of the same reply.
fn has_call_beside(scene: &ActionContext<'_>) -> bool {
    let Ok(turn) = scene.turn(scene.item) else {
        return false;
    };
    let items = &scene.session().items[turn.items()];
    items.iter().any(|item| item.kind == Kind::Call)
}

/// The arguments as a JSON object; what the text says of them is a reading.
fn arguments(
    scene: &ActionContext<'_>,
    block: &LeakedBlock<'_>,
    planned: &mut Plan,
) -> Result<String> {
    let offered = scene.around.offered(scene.item as usize);
    let tool = offered.and_then(|offered| offered.tools().find(|tool| tool.name == block.tool));
    if tool.is_some_and(|tool| tool.kind == ToolKind::Custom) {
        return Err(ActionError::NotInDialect(
            "a custom tool takes free text: make the call by hand".to_owned(),
        ));
    }
    let schema = tool.and_then(|tool| tool.parameters.as_ref());
    let value = match &block.arguments {
        Written::Json(text) => read(text),
        Written::Named(named) => Some(Value::Object(typed(named, schema))),
        Written::Code => None,
    };
    let value = value.filter(Value::is_object).ok_or_else(|| {
        let reason = "its arguments cannot be read as JSON: make the call by hand";
        ActionError::WouldBreak(reason.to_owned())
    })?;
    if let Some(Ok(validator)) = offered.and_then(|offered| offered.validator_of(block.tool)) {
        let found = violations(validator, &value);
        if !found.is_empty() {
            planned.note(format!(
                "its arguments break the schema of {}: {}",
                block.tool,
                one_line(&found)
            ));
        }
    }
    Ok(value.to_string())
}

/// JSON, or what it was probably meant to be; a text that holds JSON counts as that.
fn read(text: &str) -> Option<Value> {
    let value = match serde_json::from_str(text) {
        Ok(value) => value,
        Err(_) => serde_json::from_str(&likely(text)?).ok()?,
    };
    match value {
        Value::String(inner) => serde_json::from_str(&inner).ok(),
        value => Some(value),
    }
}

/// Values that were written as text under their names: what the schema wants as no text is read as JSON.
fn typed(named: &[(&str, &str)], schema: Option<&Value>) -> Map<String, Value> {
    let properties = schema.and_then(|schema| schema.get("properties"));
    let members = named.iter().map(|(name, text)| {
        let kind = properties
            .and_then(|properties| properties.get(*name))
            .and_then(|property| property.get("type"))
            .and_then(Value::as_str);
        let value = match kind {
            None | Some("string") => None,
            Some(_) => serde_json::from_str(text.trim()).ok(),
        };
        let value = value.unwrap_or_else(|| Value::from(*text));
        ((*name).to_owned(), value)
    });
    members.collect()
}

/// So many ids that no call of the session has.
fn fresh_ids(scene: &ActionContext<'_>, count: usize) -> Vec<String> {
    let facts = scene.item().ok().and_then(Item::facts);
    let prefix = facts.map_or("call_", |facts| facts.call_prefix);
    let own = ordinal(scene.item);
    let ids = (1..).map(|number| match number {
        1 => format!("{prefix}text_{own}"),
        number => format!("{prefix}text_{own}_{number}"),
    });
    let is_free = |id: &String| !scene.around.has_call_id(CallId::new(id.as_bytes(), 0).hash);
    ids.filter(is_free).take(count).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::actions::fixture::{ActionFixture, USER, anthropic, fixture, history};
    use crate::formats::lower;
    use crate::session::{Rope, Source, Span};
    use serde_json::json;

    const LEAK: &str = "I look.\\n<tool_call>\\n{\\\"name\\\": \\\"read\\\", \\\"arguments\\\": {\\\"path\\\": \\\"a\\\"}}\\n</tool_call>";

    fn offered(text: &str) -> ActionFixture {
        fixture(text).tools(
            json!([{"name": "read", "parameters": {"type": "object", "required": ["path"],
            "properties": {"path": {"type": "string"}, "lines": {"type": "integer"}}}}]),
        )
    }

    fn salvaged(fixture: &ActionFixture) -> Plan {
        fixture
            .apply("leaked-tool-call", "salvage-call", &ActionInput::default())
            .unwrap()
    }

    #[test]
    fn chat_gets_the_call_in_its_message() {
        let text = format!(r#"{{"role":"assistant","content":"{LEAK}"}}"#);
        let fixture = offered(&history(&[USER, &text]));
        let planned = salvaged(&fixture);
        let after: Value = serde_json::from_str(&fixture.after(&planned, 1)).unwrap();
        assert_eq!(after["content"], "I look.");
        let call = &after["tool_calls"][0];
        assert_eq!(call["function"]["name"], "read");
        assert_eq!(call["function"]["arguments"], r#"{"path":"a"}"#);
        assert_eq!(call["id"], "call_text_2");
    }

    #[test]
    fn all_calls_of_a_list_are_made_in_its_order() {
        let list = r#"I look.[TOOL_CALLS][{\"name\": \"read\", \"arguments\": {\"path\": \"a\"}}, {\"name\": \"read\", \"arguments\": {\"path\": \"b\"}}]"#;
        let chat = format!(r#"{{"role":"assistant","content":"{list}"}}"#);
        let item = format!(
            r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{list}"}}]}}"#
        );
        let system = r#"{"model":"m","max_tokens":9,"system":"s","messages":["#;
        for text in [
            history(&[USER, &chat]),
            format!("{system}{USER},{chat}]}}"),
            history(&[r#"{"type":"message","role":"user","content":"hi"}"#, &item]),
        ] {
            let fixture = offered(&text);
            let planned = salvaged(&fixture);
            let splices = lower(&fixture.session, &planned.edits).unwrap();
            let rope = Rope::new(fixture.session.source.clone()).spliced(&splices);
            let end = rope.len();
            let after = rope.read(Span { start: 0, end }).unwrap();
            let after = String::from_utf8(after).unwrap();
            let [one, two] = ["a", "b"].map(|path| {
                let spelled = [
                    format!(r#"{{\"path\":\"{path}\"}}"#),
                    format!(r#"{{"path":"{path}"}}"#),
                ];
                spelled
                    .iter()
                    .find_map(|spelled| after.find(spelled))
                    .unwrap()
            });
            assert!(one < two && !after.contains("TOOL_CALLS"), "{after}");
            assert!(after.contains("I look."), "{after}");
            let ids = after.matches("_text_").collect::<Vec<_>>();
            assert_eq!(ids.len(), 2, "{after}");
            assert!(serde_json::from_str::<Value>(&after).is_ok(), "{after}");
        }
    }

    #[test]
    fn anthropic_gets_a_block_after_the_text() {
        let bare = format!(r#"{{"role":"assistant","content":"{LEAK}"}}"#);
        let block =
            format!(r#"{{"role":"assistant","content":[{{"type":"text","text":"{LEAK}"}}]}}"#);
        let system = r#"{"model":"m","max_tokens":9,"system":"s","messages":["#;
        for message in [bare, block] {
            let fixture = offered(&format!("{system}{USER},{message}]}}"));
            let planned = salvaged(&fixture);
            let after = fixture.after(&planned, 2);
            let list = if after.starts_with('[') {
                after
            } else {
                format!("[{after}]")
            };
            let after: Value = serde_json::from_str(&list).unwrap();
            assert_eq!(after[0]["text"], "I look.");
            assert_eq!(after[1]["type"], "tool_use");
            assert_eq!(after[1]["input"], json!({"path": "a"}));
        }
        assert!(anthropic(&[USER]).contains("max_tokens"));
    }

    #[test]
    fn responses_gets_an_item_of_its_own() {
        let message = |text: &str| {
            format!(
                r#"{{"type":"message","role":"assistant","content":[{{"type":"output_text","text":"{text}"}}]}}"#
            )
        };
        let user = r#"{"type":"message","role":"user","content":"hi"}"#;
        let fixture = offered(&history(&[user, &message(LEAK)]));
        let planned = salvaged(&fixture);
        let [Edit::Rewrite { .. }, Edit::Insert { after: 1, element }] = &planned.edits[..] else {
            panic!("{:?}", planned.edits);
        };
        let call: Value = serde_json::from_str(element).unwrap();
        assert_eq!(
            (&call["type"], &call["name"]),
            (&json!("function_call"), &json!("read"))
        );
        let alone = LEAK.trim_start_matches("I look.\\n");
        let fixture = offered(&history(&[user, &message(alone)]));
        let planned = salvaged(&fixture);
        assert_eq!(planned.edits.len(), 1);
        assert!(
            fixture
                .after(&planned, 1)
                .starts_with(r#"{"type":"function_call","#)
        );
    }

    #[test]
    fn named_values_take_the_type_that_the_schema_wants() {
        let text = r#"<invoke name=\"read\">\n<parameter name=\"path\">7</parameter>\n<parameter name=\"lines\">7</parameter>\n</invoke>"#;
        let fixture = offered(&history(&[
            USER,
            &format!(r#"{{"role":"assistant","content":"{text}"}}"#),
        ]));
        let planned = salvaged(&fixture);
        let after: Value = serde_json::from_str(&fixture.after(&planned, 1)).unwrap();
        assert_eq!(after["content"], Value::Null);
        let arguments = after["tool_calls"][0]["function"]["arguments"]
            .as_str()
            .unwrap();
        assert_eq!(
            serde_json::from_str::<Value>(arguments).unwrap(),
            json!({"path": "7", "lines": 7})
        );
    }

    #[test]
    fn code_is_left_to_the_operator() {
        let text = r#"```tool_code\nprint(default_api.read(path=1))\n```"#;
        let fixture = offered(&history(&[
            USER,
            &format!(r#"{{"role":"assistant","content":"{text}"}}"#),
        ]));
        let refusal = fixture.apply("leaked-tool-call", "salvage-call", &ActionInput::default());
        assert!(
            matches!(refusal, Err(ActionError::WouldBreak(_))),
            "{refusal:?}"
        );
    }
}
