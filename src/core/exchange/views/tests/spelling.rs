//! How the three dialects spell a turn, its outputs and a request, and what agents make of what they receive.

use crate::session::Dialect;
use serde_json::{Map, Value, json};

/// Id, tool and arguments of a call.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Call(pub &'static str, pub &'static str, pub &'static str);

/// The elements of a model's turn: reasoning where the dialect has it, a text, calls.
pub(crate) fn turn(
    dialect: Dialect,
    mark: &str,
    text: Option<&str>,
    calls: &[Call],
) -> Vec<String> {
    let arguments = |call: &Call| serde_json::from_str::<Value>(call.2).unwrap();
    match dialect {
        Dialect::Responses => {
            let mut items = vec![format!(
                r#"{{"id":"rs_{mark}_0123456789", "type":"reasoning","summary":[],"encrypted_content":"gAAA{mark}=="}}"#
            )];
            items.extend(text.map(|text| {
                format!(
                    r#"{{"id":"msg_{mark}_0123456789","type":"message","role":"assistant","status":"completed","content":[{{"type":"output_text","text":"{text}","annotations":[]}}]}}"#
                )
            }));
            items.extend(calls.iter().map(|Call(id, tool, arguments)| {
                let arguments = Value::from(*arguments);
                format!(
                    r#"{{"id":"fc_{id}","type":"function_call","status":"completed","call_id":"{id}","name":"{tool}","arguments":{arguments}}}"#
                )
            }));
            items
        }
        Dialect::Anthropic => {
            let mut blocks = vec![format!(
                r#"{{"type":"thinking","thinking":"hm {mark}","signature":"Er{mark}="}}"#
            )];
            blocks.extend(text.map(|text| format!(r#"{{"type":"text","text":"{text}"}}"#)));
            blocks.extend(calls.iter().map(|call| {
                let (Call(id, tool, _), input) = (call, arguments(call));
                format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{input}}}"#)
            }));
            vec![format!(
                r#"{{"role":"assistant","content":[{}]}}"#,
                blocks.join(",")
            )]
        }
        _ => {
            let content = text.map_or(Value::Null, Value::from);
            let calls = calls.iter().map(|Call(id, tool, arguments)| {
                let arguments = Value::from(*arguments);
                format!(
                    r#"{{"id":"{id}","type":"function","function":{{"name":"{tool}","arguments":{arguments}}}}}"#
                )
            });
            let calls = calls.collect::<Vec<_>>().join(",");
            let calls = match calls.is_empty() {
                true => String::new(),
                false => format!(r#","tool_calls":[{calls}]"#),
            };
            vec![format!(
                r#"{{"role":"assistant","content":{content}{calls}}}"#
            )]
        }
    }
}

/// The elements that answer calls.
pub(crate) fn outputs(dialect: Dialect, answered: &[(Call, &str)]) -> Vec<String> {
    let outputs = answered.iter().map(|(Call(id, ..), text)| match dialect {
        Dialect::Responses => {
            format!(r#"{{"type":"function_call_output","call_id":"{id}","output":"{text}"}}"#)
        }
        Dialect::Anthropic => {
            format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":"{text}"}}"#)
        }
        _ => format!(r#"{{"role":"tool","tool_call_id":"{id}","content":"{text}"}}"#),
    });
    let outputs = outputs.collect::<Vec<_>>();
    match dialect {
        Dialect::Anthropic => vec![format!(
            r#"{{"role":"user","content":[{}]}}"#,
            outputs.join(",")
        )],
        _ => outputs,
    }
}

pub(crate) fn user(text: &str) -> String {
    format!(r#"{{"role":"user","content":"{text}"}}"#)
}

/// A request with settings on both sides of its list, and white space in it.
pub(crate) fn request(dialect: Dialect, elements: &[Vec<String>]) -> String {
    let key = match dialect {
        Dialect::Responses => "input",
        _ => "messages",
    };
    let list = elements.concat().join(" ,\n  ");
    format!(
        "{{ \"model\": \"m\", \"max_tokens\": 1e2,\n \"{key}\": [\n  {list}\n ],\n \"tools\": [], \"metadata\": {{\"a\":  1}} }}"
    )
}

/// What an agent repeats of a turn of which it got a part before the hold: one message where its dialect has one message for a turn.
pub(crate) fn echo(dialect: Dialect, released: &[String], turn: &[String]) -> Vec<String> {
    if dialect == Dialect::Responses || released.is_empty() {
        return [released, turn].concat();
    }
    let read = |text: &String| serde_json::from_str::<Value>(text).unwrap();
    let (early, mut late) = (read(&released[0]), read(&turn[0]));
    late["content"] = match dialect {
        Dialect::Anthropic => {
            let blocks = |message: &Value| message["content"].as_array().unwrap().clone();
            Value::from([blocks(&early), blocks(&late)].concat())
        }
        _ => {
            let text = |message: &Value| message["content"].as_str().unwrap_or_default().to_owned();
            Value::from(text(&early) + &text(&late))
        }
    };
    vec![late.to_string()]
}

/// The same element as another serialiser writes it: members in another order, white space, escapes, without ids of items, with marks for a
/// cache.
pub(crate) fn respelled(element: &str) -> String {
    let mut value: Value = serde_json::from_str(element).unwrap();
    if let Some(kind) = value["type"].as_str().map(str::to_owned)
        && kind != "reasoning"
        && let Some(item) = value.as_object_mut()
    {
        item.remove("id");
        item.remove("status");
    }
    if let Some(block) = value["content"]
        .as_array_mut()
        .and_then(|blocks| blocks.last_mut())
        && block["type"] != "output_text"
    {
        block["cache_control"] = json!({"type": "ephemeral"});
    }
    let text = serde_json::to_string_pretty(&turned(&value)).unwrap();
    text.replace("read", "r\\u0065ad")
}

fn turned(value: &Value) -> Value {
    match value {
        Value::Object(members) => {
            let members = members.iter().rev();
            Value::Object(
                members
                    .map(|(key, value)| (key.clone(), turned(value)))
                    .collect::<Map<_, _>>(),
            )
        }
        Value::Array(list) => list.iter().map(turned).collect(),
        scalar => scalar.clone(),
    }
}
