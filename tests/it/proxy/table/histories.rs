//! Faults of a history: what an agent sends, or a recording holds.

use super::proxied::spelled;
use super::{Fault, Makes, Way};
use crate::proxy::speech::{Agent, GOOD, THEN, output, spoken, turn};
use retake_core::session::Dialect;
use serde_json::{Value, json};

/// The text of a history; `None` where a dialect has no way to say it.
pub(super) type History = fn(Way) -> Option<String>;

fn history(rule: &'static str, form: &'static str, history: History) -> Fault {
    Fault {
        rule,
        form,
        makes: Makes::History(history),
    }
}

/// A message of the user.
fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

/// A turn of the model with a call.
fn calls(dialect: Dialect) -> Vec<Value> {
    spoken(dialect, &turn("0", "I look.", &[GOOD]))
}

/// The call in the elements of a turn, and the members of a call: id, name, arguments.
fn call_of(dialect: Dialect, turn: &mut [Value]) -> (&mut Value, [&'static str; 3]) {
    let last = turn.last_mut().unwrap();
    match dialect {
        Dialect::Responses => (last, ["call_id", "name", "arguments"]),
        Dialect::Anthropic => {
            let blocks = last["content"].as_array_mut().unwrap();
            (blocks.last_mut().unwrap(), ["id", "name", "input"])
        }
        _ => (&mut last["tool_calls"][0], ["id", "name", "arguments"]),
    }
}

/// Where a member of a call stands.
fn member<'v>(dialect: Dialect, call: &'v mut Value, name: &str) -> &'v mut Value {
    match (dialect, name) {
        (Dialect::Chat, "name" | "arguments") => &mut call["function"][name],
        _ => &mut call[name],
    }
}

/// A call and its output, with a change in either.
fn pair(
    dialect: Dialect,
    id: &str,
    change: impl FnOnce(&mut Value, [&str; 3]),
    answer: impl FnOnce(&mut Value),
) -> Vec<Value> {
    let mut turn = calls(dialect);
    let (call, names) = call_of(dialect, &mut turn);
    call[names[0]] = json!(id);
    change(call, names);
    let mut result = output(dialect, id, "9 degrees");
    answer(match dialect {
        Dialect::Anthropic => &mut result["content"][0],
        _ => &mut result,
    });
    turn.push(result);
    turn
}

/// What an agent sends that has these elements behind its question, and the user's next words.
fn sends(way: Way, elements: Vec<Value>) -> Option<String> {
    Some(spelled(way, |agent| {
        agent.history.extend(elements);
        agent.history.push(user("Well?"));
    }))
}

/// The same to a model that Anthropic makes.
fn sends_to_claude(way: Way, elements: Vec<Value>) -> Option<String> {
    Some(spelled(way, |agent| {
        agent.members = json!({"model": "claude-opus-4-7"});
        agent.history.extend(elements);
    }))
}

fn unanswered(way: Way) -> Option<String> {
    sends(way, calls(way.0))
}

fn ends_on_a_call(way: Way) -> Option<String> {
    Some(spelled(way, |agent| agent.history.extend(calls(way.0))))
}

fn invented(way: Way) -> Option<String> {
    sends(way, vec![output(way.0, THEN.0, "9 degrees")])
}

fn misplaced(way: Way) -> Option<String> {
    let (dialect, _) = way;
    let mut elements = calls(dialect);
    let result = output(dialect, GOOD.0, "9 degrees");
    match dialect {
        Dialect::Responses => elements.insert(0, result),
        Dialect::Anthropic => {
            let text = json!({"type": "text", "text": "Wait."});
            elements.push(json!({"role": "user", "content": [text, result["content"][0]]}));
        }
        _ => elements.extend([user("Wait."), result]),
    }
    sends(way, elements)
}

fn text_behind_call(way: Way) -> Option<String> {
    if way.0 != Dialect::Anthropic {
        return None;
    }
    let mut elements = calls(way.0);
    let blocks = elements[0]["content"].as_array_mut().unwrap();
    blocks.push(json!({"type": "text", "text": "So."}));
    elements.push(output(way.0, GOOD.0, "9 degrees"));
    sends(way, elements)
}

fn same_id(way: Way) -> Option<String> {
    let (dialect, _) = way;
    let other = (GOOD.0, "search", r#"{"city":"Rome"}"#);
    let mut elements = spoken(dialect, &turn("0", "I look.", &[GOOD, other]));
    let result = output(dialect, GOOD.0, "9 degrees");
    match dialect {
        Dialect::Anthropic => {
            let block = &result["content"][0];
            elements.push(json!({"role": "user", "content": [block, block]}));
        }
        _ => elements.extend([result.clone(), result]),
    }
    sends(way, elements)
}

fn answered_twice(way: Way) -> Option<String> {
    let (dialect, _) = way;
    let mut elements = calls(dialect);
    let result = output(dialect, GOOD.0, "9 degrees");
    match dialect {
        Dialect::Anthropic => {
            let block = &result["content"][0];
            elements.push(json!({"role": "user", "content": [block, block]}));
        }
        _ => elements.extend([result.clone(), result]),
    }
    sends(way, elements)
}

fn without_id(way: Way) -> Option<String> {
    let (dialect, _) = way;
    let remove = |value: &mut Value, name: &str| {
        value.as_object_mut().unwrap().remove(name);
    };
    let elements = match dialect {
        Dialect::Responses => pair(
            dialect,
            GOOD.0,
            |call, names| remove(call, names[0]),
            |_| (),
        ),
        Dialect::Anthropic => pair(
            dialect,
            GOOD.0,
            |_, _| (),
            |result| remove(result, "tool_use_id"),
        ),
        _ => pair(
            dialect,
            GOOD.0,
            |_, _| (),
            |result| remove(result, "tool_call_id"),
        ),
    };
    sends(way, elements)
}

fn dotted_name(way: Way) -> Option<String> {
    let (dialect, _) = way;
    let elements = pair(
        dialect,
        GOOD.0,
        |call, names| *member(dialect, call, names[1]) = json!("weather.search"),
        |_| (),
    );
    sends(way, elements)
}

fn says_nothing(way: Way) -> Option<String> {
    let message = match way.0 {
        Dialect::Responses => return None,
        Dialect::Anthropic => json!({"role": "assistant", "content": []}),
        _ => json!({"role": "assistant", "content": null}),
    };
    sends(way, vec![message])
}

fn unspelled_arguments(way: Way) -> Option<String> {
    let (dialect, _) = way;
    let elements = pair(
        dialect,
        GOOD.0,
        |call, names| match dialect {
            Dialect::Anthropic => {
                call.as_object_mut().unwrap().remove("input");
            }
            _ => *member(dialect, call, names[2]) = json!({"city": "Oslo"}),
        },
        |_| (),
    );
    if dialect != Dialect::Anthropic {
        return sends(way, elements);
    }
    // What is missing is mended to no arguments, which the tool takes.
    let tool = json!({"name": "search", "input_schema": {"type": "object"}});
    Some(spelled(way, |agent| {
        agent.members = json!({"tools": [tool]});
        agent.history.extend(elements);
        agent.history.push(user("Well?"));
    }))
}

fn odd_content(way: Way) -> Option<String> {
    let (dialect, _) = way;
    let name = if dialect == Dialect::Responses {
        "output"
    } else {
        "content"
    };
    let elements = pair(
        dialect,
        GOOD.0,
        |_, _| (),
        |result| result[name] = json!({"degrees": 9}),
    );
    sends(way, elements)
}

fn odd_id(way: Way) -> Option<String> {
    let id = format!("call:{}", "9".repeat(70));
    sends(way, pair(way.0, &id, |_, _| (), |_| ()))
}

fn reasoning_alone(way: Way) -> Option<String> {
    let reasoning = match way.0 {
        Dialect::Responses => json!({"type": "reasoning", "id": "rs_1", "summary": []}),
        _ => return None,
    };
    sends(way, vec![reasoning])
}

fn prefilled(way: Way) -> Option<String> {
    sends_to_claude(way, spoken(way.0, &turn("0", "It is", &[])))
}

fn unsigned(way: Way) -> Option<String> {
    if way.0 != Dialect::Anthropic {
        return None;
    }
    let mut elements = calls(way.0);
    let blocks = elements[0]["content"].as_array_mut().unwrap();
    blocks.insert(
        0,
        json!({"type": "thinking", "thinking": "Hm.", "signature": ""}),
    );
    elements.push(output(way.0, GOOD.0, "9 degrees"));
    elements.extend(spoken(way.0, &turn("1", "It is warm.", &[])));
    elements.push(user("Well?"));
    sends_to_claude(way, elements)
}

/// The beginning of a picture that is 8001 pixels wide.
const WIDE: &str = "iVBORw0KGgoAAAANSUhEUgAAH0EAAABA";

fn large_picture(way: Way) -> Option<String> {
    let url = format!("data:image/png;base64,{WIDE}");
    let (image, text) = match way.0 {
        Dialect::Responses => (
            json!({"type": "input_image", "image_url": url}),
            json!({"type": "input_text", "text": "What is this?"}),
        ),
        Dialect::Anthropic => (
            json!({"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": WIDE}}),
            json!({"type": "text", "text": "What is this?"}),
        ),
        _ => (
            json!({"type": "image_url", "image_url": {"url": url}}),
            json!({"type": "text", "text": "What is this?"}),
        ),
    };
    sends_to_claude(way, vec![json!({"role": "user", "content": [image, text]})])
}

fn bad_definition(way: Way) -> Option<String> {
    let schema = json!({"type": "string"});
    let tool = match way.0 {
        Dialect::Responses => json!({"type": "function", "name": "list", "parameters": schema}),
        Dialect::Anthropic => json!({"name": "list", "input_schema": schema}),
        _ => json!({"type": "function", "function": {"name": "list", "parameters": schema}}),
    };
    Some(spelled(way, |agent| {
        agent.members = json!({"tools": [tool]})
    }))
}

fn hosted_result_alone(way: Way) -> Option<String> {
    if way.0 != Dialect::Anthropic {
        return None;
    }
    let result =
        json!({"type": "advisor_tool_result", "tool_use_id": "srvtoolu_1", "content": "x"});
    let text = json!({"type": "text", "text": "So."});
    sends(
        way,
        vec![json!({"role": "assistant", "content": [result, text]})],
    )
}

fn compacted(way: Way, before: Vec<Value>, behind: Vec<Value>) -> Option<String> {
    if way.0 != Dialect::Responses {
        return None;
    }
    let mark = json!({"type": "compaction", "id": "cmp_1", "encrypted_content": "x"});
    let elements = before.into_iter().chain([mark]).chain(behind);
    sends(way, elements.collect())
}

fn split_from_call(way: Way) -> Option<String> {
    compacted(way, calls(way.0), vec![output(way.0, GOOD.0, "9 degrees")])
}

fn split_from_reasoning(way: Way) -> Option<String> {
    let reasoning = json!({"type": "reasoning", "id": "rs_1", "summary": []});
    let (call, result) = (
        json!({"type": "function_call", "call_id": "c", "name": "search", "arguments": "{\"city\":\"Oslo\"}"}),
        output(way.0, "c", "9 degrees"),
    );
    compacted(way, vec![reasoning], vec![call, result])
}

fn split_approval(way: Way) -> Option<String> {
    let request = json!({"type": "mcp_approval_request", "id": "mcpr_1", "server_label": "s", "name": "pay", "arguments": "{}"});
    compacted(way, vec![request], Vec::new())
}

fn waits(way: Way) -> Option<String> {
    let mut agent = Agent::new(way);
    agent.history.extend(calls(way.0));
    Some(Value::from(agent.history).to_string())
}

fn holds_a_key(way: Way) -> Option<String> {
    let key = format!("sk-{}", "proj-Abc123".repeat(4));
    sends(way, vec![user(&format!("My key is {key}."))])
}

/// Each fault of a history.
pub(super) fn faults() -> Vec<Fault> {
    vec![
        history("orphan-call", "", unanswered),
        history("orphan-call", "at the end", ends_on_a_call),
        history("orphan-output", "", invented),
        history("misplaced-output", "", misplaced),
        history("misplaced-output", "text behind", text_behind_call),
        history("duplicate-call-id", "", same_id),
        history("duplicate-output", "", answered_twice),
        history("missing-call-id", "", without_id),
        history("invalid-tool-name", "", dotted_name),
        history("malformed-message", "", says_nothing),
        history("malformed-message", "arguments", unspelled_arguments),
        history("malformed-message", "content", odd_content),
        history("malformed-message", "id", odd_id),
        history("orphan-reasoning", "", reasoning_alone),
        history("assistant-prefill", "", prefilled),
        history("missing-signature", "", unsigned),
        history("image-limits", "", large_picture),
        history("invalid-tool-definition", "", bad_definition),
        history("orphan-hosted-result", "", hosted_result_alone),
        history("split-pair", "", split_from_call),
        history("split-pair", "reasoning", split_from_reasoning),
        history("split-pair", "approval", split_approval),
        history("pending-call", "", waits),
        history("exposed-secret", "", holds_a_key),
    ]
}
