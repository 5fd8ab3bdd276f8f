//! A client as small as can be, and the requests that it sends.

use retake_core::session::Dialect;
use serde_json::{Value, json};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

/// Longer than anything that comes takes on a busy machine.
pub(super) const PATIENCE: Duration = Duration::from_secs(60);

/// Every dialect that is served, with its path.
pub(super) const DIALECTS: [(Dialect, &str); 3] = [
    (Dialect::Responses, "/v1/responses"),
    (Dialect::Chat, "/v1/chat/completions"),
    (Dialect::Anthropic, "/v1/messages"),
];

/// A talk about the weather, as a Chat request that holds all of it. Turns 3, 4 and 6 are the model's.
pub(super) fn recording() -> Value {
    json!({
        "model": "gpt-weather",
        "tools": [{"type": "function", "function": {
            "name": "get_weather", "description": "Tells the weather.",
            "parameters": {"type": "object", "properties": {"city": {"type": "string"}}},
        }}],
        "messages": [
            {"role": "system", "content": "You know the weather."},
            {"role": "user", "content": "How is it in Bern?"},
            {"role": "assistant", "content": "Let me look.", "tool_calls": [
                {"id": "call_7", "type": "function", "function": {"name": "get_weather", "arguments": "{\"city\": \"Bern\"}"}},
            ]},
            {"role": "tool", "tool_call_id": "call_7", "content": "18 degrees"},
            {"role": "assistant", "content": "It has 18 degrees in Bern."},
            {"role": "user", "content": "Thanks!"},
            {"role": "assistant", "content": "Gladly."},
        ],
    })
}

/// The request for a turn of it, as an agent on any SDK sends it: 3, 4 or 6.
pub(super) fn request(dialect: Dialect, turn: usize, city: &str, streams: bool) -> Value {
    let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}});
    let (name, description) = ("get_weather", "Tells the weather.");
    let (system, question) = ("You know the weather.", format!("How is it in {city}?"));
    let arguments = format!("{{\"city\":\"{city}\"}}");
    let (looks, answer) = ("Let me look.", "It has 18 degrees in Bern.");
    let user = |text: &str| json!({"role": "user", "content": text});
    let assistant = |text: &str| json!({"role": "assistant", "content": text});
    let mut said = match dialect {
        Dialect::Responses => vec![
            user(&question),
            assistant(looks),
            json!({"type": "function_call", "call_id": "x", "name": name, "arguments": arguments}),
            json!({"type": "function_call_output", "call_id": "x", "output": "18 degrees"}),
        ],
        Dialect::Chat => vec![
            json!({"role": "system", "content": system}),
            user(&question),
            json!({"role": "assistant", "content": looks, "tool_calls": [
                {"id": "x", "type": "function", "function": {"name": name, "arguments": arguments}},
            ]}),
            json!({"role": "tool", "tool_call_id": "x", "content": "18 degrees"}),
        ],
        _ => vec![
            user(&question),
            json!({"role": "assistant", "content": [
                {"type": "text", "text": looks},
                {"type": "tool_use", "id": "x", "name": name, "input": {"city": city}},
            ]}),
            json!({"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "x", "content": "18 degrees"},
            ]}),
        ],
    };
    match turn {
        3 => {
            let questions = said
                .iter()
                .position(|one| one["content"] == question.as_str());
            said.truncate(questions.unwrap() + 1);
        }
        4 => {}
        _ => said.extend([assistant(answer), user("Thanks!")]),
    }
    match dialect {
        Dialect::Responses => json!({
            "model": "any", "stream": streams, "instructions": system, "input": said,
            "tools": [{"type": "function", "name": name, "description": description, "parameters": schema}],
        }),
        Dialect::Chat => json!({
            "model": "any", "stream": streams, "messages": said,
            "tools": [{"type": "function", "function": {"name": name, "description": description, "parameters": schema}}],
        }),
        _ => json!({
            "model": "any", "stream": streams, "max_tokens": 9, "system": system, "messages": said,
            "tools": [{"name": name, "description": description, "input_schema": schema}],
        }),
    }
}

/// What came back.
#[derive(Debug)]
pub(super) struct Reply {
    pub(super) status: u16,
    head: String,
    pub(super) body: String,
}

impl Reply {
    pub(super) fn header(&self, name: &str) -> Option<&str> {
        let mut lines = self.head.lines();
        lines.find_map(|line| {
            let (key, value) = line.split_once(':')?;
            key.eq_ignore_ascii_case(name).then(|| value.trim())
        })
    }
}

/// Asks once.
pub(super) fn ask(address: SocketAddr, method: &str, path: &str, body: &str) -> Reply {
    ask_with(address, (method, path), "", body.as_bytes())
}

/// Asks once, with further headers. HTTP/1.0 has no chunks: the body ends with the connection.
pub(super) fn ask_with(
    address: SocketAddr,
    (method, path): (&str, &str),
    headers: &str,
    body: &[u8],
) -> Reply {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    let length = body.len();
    write!(
        stream,
        "{method} {path} HTTP/1.0\r\nhost: {address}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n{headers}\r\n"
    )
    .unwrap();
    stream.write_all(body).unwrap();
    let mut text = String::new();
    stream.read_to_string(&mut text).unwrap();
    let (head, body) = text.split_once("\r\n\r\n").unwrap();
    Reply {
        status: head.split(' ').nth(1).unwrap().parse().unwrap(),
        head: head.to_owned(),
        body: body.to_owned(),
    }
}
