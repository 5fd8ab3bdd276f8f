//! Histories as three dialects spell them.

use crate::session::Dialect::{self, Anthropic, Chat, Responses};
use serde_json::{Value, json};

/// One thing that happens.
#[derive(Clone, Copy)]
pub(super) enum Step {
    User(&'static str),
    Says(&'static str),
    /// Id, tool, arguments.
    Call(&'static str, &'static str, &'static str),
    /// Id of the call, text.
    Fails(&'static str, &'static str),
}
use Step::{Call, Fails, Says, User};

/// The steps as a dialect spells them; replies and answers that belong together are one message.
pub(super) fn spell(dialect: Dialect, steps: &[Step]) -> String {
    let mut messages: Vec<Value> = Vec::new();
    for step in steps {
        let message = match dialect {
            Responses => responses(*step),
            Chat => chat(*step),
            _ => anthropic(*step),
        };
        match messages.last_mut() {
            Some(last) if dialect != Responses && joins(last, &message) => join(last, &message),
            _ => messages.push(message),
        }
    }
    if dialect == Anthropic {
        return json!({"model": "m", "max_tokens": 9, "messages": messages}).to_string();
    }
    Value::from(messages).to_string()
}

fn joins(last: &Value, next: &Value) -> bool {
    last["role"] == next["role"] && last["role"] != "tool"
}

fn join(last: &mut Value, next: &Value) {
    for member in ["content", "tool_calls"] {
        match (last[member].as_array_mut(), &next[member]) {
            (Some(list), Value::Array(more)) => list.extend(more.iter().cloned()),
            (None, more) if !more.is_null() => last[member] = more.clone(),
            _ => {}
        }
    }
}

fn responses(step: Step) -> Value {
    match step {
        User(text) => json!({"type": "message", "role": "user", "content": text}),
        Says(text) => json!({"type": "message", "role": "assistant", "status": "completed",
            "id": "msg_1", "content": [{"type": "output_text", "text": text, "annotations": []}]}),
        Call(id, name, arguments) => {
            json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
        }
        Fails(id, text) => json!({"type": "function_call_output", "call_id": id, "output": text}),
    }
}

fn chat(step: Step) -> Value {
    match step {
        User(text) => json!({"role": "user", "content": text}),
        Says(text) => json!({"role": "assistant", "content": text}),
        Call(id, name, arguments) => json!({"role": "assistant", "tool_calls": [
            {"id": id, "type": "function", "function": {"name": name, "arguments": arguments}}]}),
        Fails(id, text) => json!({"role": "tool", "tool_call_id": id, "content": text}),
    }
}

fn anthropic(step: Step) -> Value {
    let (role, block) = match step {
        User(text) => ("user", json!({"type": "text", "text": text})),
        Says(text) => ("assistant", json!({"type": "text", "text": text})),
        Call(id, name, arguments) => {
            let input: Value = serde_json::from_str(arguments).unwrap();
            let call = json!({"type": "tool_use", "id": id, "name": name, "input": input});
            ("assistant", call)
        }
        Fails(id, text) => {
            let output = json!({"type": "tool_result", "tool_use_id": id, "is_error": true,
                "content": text});
            ("user", output)
        }
    };
    json!({"role": role, "content": [block]})
}
