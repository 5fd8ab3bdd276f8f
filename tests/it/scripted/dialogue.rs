//! Conversations with a scripted model: requests that grow by what was replied.

use retake_core::formats::{Sample, read_buffer, recognise};
use retake_core::json::display_text;
use retake_core::session::{Dialect, Kind, Session, Source};
use serde_json::{Value, json};
use std::sync::Arc;

pub(super) const DIALECTS: [Dialect; 3] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic];

/// A tool as every dialect offers it.
fn tool(dialect: Dialect, name: &str) -> Value {
    let parameters = json!({"type": "object"});
    match dialect {
        Dialect::Responses => json!({"type": "function", "name": name, "parameters": parameters}),
        Dialect::Chat => {
            json!({"type": "function", "function": {"name": name, "parameters": parameters}})
        }
        _ => json!({"name": name, "input_schema": parameters}),
    }
}

fn list(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Responses => "input",
        _ => "messages",
    }
}

/// A first request.
pub(super) fn opening(dialect: Dialect, words: &str, streams: bool) -> Value {
    let tools = ["search_flights", "book_flight", "get_weather"];
    let tools = tools.map(|name| tool(dialect, name));
    json!({
        "model": "any", "max_tokens": 1000, "stream": streams, "stream_options": {"include_usage": true},
        "tools": tools, list(dialect): [{"role": "user", "content": words}],
    })
}

/// What the model said, as a file of its own holds it.
pub(super) fn read(reply: &[u8]) -> Session {
    let format = recognise(&Sample::new(reply, true)).unwrap();
    let source: Arc<dyn Source> = Arc::new(reply.to_vec());
    let mut contents = read_buffer(format, &source, reply).unwrap();
    assert!(contents.problems.is_empty(), "{:?}", contents.problems);
    contents.sessions.remove(0)
}

/// A call: id, tool, arguments.
pub(super) type Call = (String, String, String);

/// The calls of a reply, read by the formats.
pub(super) fn calls(session: &Session) -> Vec<Call> {
    let calls = session.items.iter().filter(|item| item.kind == Kind::Call);
    let read = calls.map(|item| {
        let bytes = session.bytes(item).unwrap();
        let body = retake_core::wire::body_of(item, &bytes).unwrap();
        let id = session.call_id(item).unwrap();
        let id = display_text(id.as_bytes()).into_owned();
        let arguments = body.arguments.as_written().to_owned();
        (id, session.name(item).to_owned(), arguments)
    });
    read.collect()
}

/// The text of a reply, without its reasoning, which a message of Chat holds as well.
pub(super) fn text(session: &Session) -> String {
    let said = session.items.iter();
    let said = said.filter(|item| item.kind == Kind::Assistant);
    let said = said.map(|item| {
        let bytes = session.bytes(item).unwrap();
        match session.dialect {
            Dialect::Chat => {
                let message: Value = serde_json::from_slice(&bytes).unwrap();
                message["content"].as_str().unwrap_or_default().to_owned()
            }
            _ => retake_core::wire::body_of(item, &bytes).unwrap().text,
        }
    });
    said.collect()
}

/// The request goes on: what the model said, and the same output for each of its calls.
pub(super) fn answered(
    request: &Value,
    dialect: Dialect,
    session: &Session,
    output: &str,
) -> Value {
    let calls = calls(session);
    let said = text(session);
    let mut request = request.clone();
    let history = request[list(dialect)].as_array_mut().unwrap();
    match dialect {
        Dialect::Responses => {
            history.push(json!({"role": "assistant", "content": said}));
            history.extend(calls.iter().map(|(id, name, arguments)| {
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
            }));
            history.extend(calls.iter().map(
                |(id, ..)| json!({"type": "function_call_output", "call_id": id, "output": output}),
            ));
        }
        Dialect::Chat => {
            let made = calls.iter().map(|(id, name, arguments)| {
                json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}})
            });
            let made = made.collect::<Value>();
            history.push(json!({"role": "assistant", "content": said, "tool_calls": made}));
            history.extend(
                calls
                    .iter()
                    .map(|(id, ..)| json!({"role": "tool", "tool_call_id": id, "content": output})),
            );
        }
        _ => {
            let made = calls.iter().map(|(id, name, arguments)| {
                let input = serde_json::from_str::<Value>(arguments).unwrap_or(json!({}));
                json!({"type": "tool_use", "id": id, "name": name, "input": input})
            });
            let words = json!({"type": "text", "text": said});
            let content = std::iter::once(words).chain(made).collect::<Value>();
            history.push(json!({"role": "assistant", "content": content}));
            let results = calls.iter().map(
                |(id, ..)| json!({"type": "tool_result", "tool_use_id": id, "content": output}),
            );
            let results = results.collect::<Value>();
            history.push(json!({"role": "user", "content": results}));
        }
    }
    request
}

/// The request goes on with what the model said and a message of the user.
pub(super) fn told(request: &Value, dialect: Dialect, said: &str, words: &str) -> Value {
    let mut request = request.clone();
    let history = request[list(dialect)].as_array_mut().unwrap();
    history.push(json!({"role": "assistant", "content": said}));
    history.push(json!({"role": "user", "content": words}));
    request
}
