//! What agents ask and what models answer, in every dialect, and how a client reads it.

use crate::proxy_wire::client::Got;
use crate::proxy_wire::fake::{STREAM, chunk, ok};
use retake_core::rules::Severity;
use retake_core::session::Dialect;
use retake_core::wire::ToolCall;
use retake_core::wire::stop_of;
use retake_core::wire::stream::{FRAMES, FrameReader, FrameWriter, Splitter, event_value, rejoin};
use retake_core::wire::write::{NewReply, history_of};
use retake_live::{ReadOptions, check_recording, read_path};
use serde_json::{Value, json};

pub(super) const DIALECTS: [Dialect; 5] = Dialect::ALL;

/// Every dialect, whole and streamed.
pub(super) fn ways() -> impl Iterator<Item = (Dialect, bool)> {
    DIALECTS
        .into_iter()
        .flat_map(|dialect| [(dialect, false), (dialect, true)])
}

/// A call of a model: its id, the tool, the arguments as they are written.
pub(super) type Call<'a> = (&'a str, &'a str, &'a str);

pub(super) const GOOD: Call<'static> = ("call_good_0123456789", "search", r#"{"city":"Oslo"}"#);
pub(super) const BAD: Call<'static> = ("call_bad_0123456789", "serch", r#"{"city":"Rome"}"#);
pub(super) const THEN: Call<'static> = ("call_then_0123456789", "search", r#"{"city":"Rome"}"#);

/// A turn of the model: a sentence and calls.
pub(super) fn turn(tag: &str, text: &str, calls: &[Call<'_>]) -> NewReply {
    let calls = calls
        .iter()
        .map(|(id, name, arguments)| ToolCall::new(id, name, arguments));
    NewReply {
        tag: tag.to_owned(),
        model: "m".to_owned(),
        texts: Some(text.to_owned())
            .filter(|text| !text.is_empty())
            .into_iter()
            .collect(),
        calls: calls.collect(),
        input_tokens: 5,
        output_tokens: 3,
        ..NewReply::default()
    }
}

/// The bytes of its stream, event by event.
pub(super) fn events(dialect: Dialect, reply: &NewReply) -> Vec<Vec<u8>> {
    let events = reply.events(dialect, 6, true);
    let mut pieces: Vec<Vec<u8>> = events
        .iter()
        .map(|event| as_sent(dialect, &event.to_wire()))
        .collect();
    if dialect == Dialect::Chat {
        pieces.push(b"data: [DONE]\n\n".to_vec());
    }
    pieces
}

/// An event as the provider sends it.
pub(super) fn as_sent(dialect: Dialect, event: &str) -> Vec<u8> {
    match dialect.facts().stream_type {
        FRAMES => FrameWriter::default().push(event.as_bytes()),
        _ => event.as_bytes().to_vec(),
    }
}

/// The body of a reply.
pub(super) fn body(dialect: Dialect, streams: bool, reply: &NewReply) -> Vec<u8> {
    match streams {
        true => events(dialect, reply).concat(),
        false => reply.spell(dialect).into_bytes(),
    }
}

/// The same as it goes over the wire.
pub(super) fn http(dialect: Dialect, streams: bool, reply: &NewReply) -> Vec<u8> {
    if !streams {
        return ok(&reply.spell(dialect));
    }
    let chunks = events(dialect, reply)
        .into_iter()
        .map(|event| chunk(&event));
    [
        stream_head(dialect).as_bytes(),
        &chunks.collect::<Vec<_>>().concat(),
        b"0\r\n\r\n",
    ]
    .concat()
}

/// The head of a streamed reply.
pub(super) fn stream_head(dialect: Dialect) -> String {
    STREAM.replace("text/event-stream", dialect.facts().stream_type)
}

pub(super) fn path((dialect, streams): (Dialect, bool)) -> &'static str {
    match dialect {
        Dialect::Responses => "/v1/responses",
        Dialect::Anthropic => "/v1/messages",
        Dialect::Chat => "/v1/chat/completions",
        Dialect::Gemini if streams => "/v1beta/models/m:streamGenerateContent?alt=sse",
        Dialect::Gemini => "/v1beta/models/m:generateContent",
        Dialect::Converse if streams => "/model/m/converse-stream",
        Dialect::Converse => "/model/m/converse",
    }
}

/// A message of the user.
pub(super) fn user(dialect: Dialect, text: &str) -> Value {
    match dialect {
        Dialect::Gemini => json!({"role": "user", "parts": [{"text": text}]}),
        Dialect::Converse => json!({"role": "user", "content": [{"text": text}]}),
        _ => json!({"role": "user", "content": text}),
    }
}

/// The member that holds the history.
pub(super) fn list(dialect: Dialect) -> &'static str {
    dialect.facts().history_key
}

/// The output of a call, as an element of the history.
pub(super) fn output(dialect: Dialect, id: &str, text: &str) -> Value {
    match dialect {
        Dialect::Responses => {
            json!({"type": "function_call_output", "call_id": id, "output": text})
        }
        Dialect::Anthropic => {
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": text}]})
        }
        Dialect::Gemini => {
            let response = json!({"id": id, "name": "search", "response": {"output": text}});
            json!({"role": "user", "parts": [{"functionResponse": response}]})
        }
        Dialect::Converse => {
            let result = json!({"toolUseId": id, "content": [{"text": text}]});
            json!({"role": "user", "content": [{"toolResult": result}]})
        }
        Dialect::Chat => {
            json!({"role": "tool", "tool_call_id": id, "content": text})
        }
    }
}

/// A turn of the model, as elements of the history.
pub(super) fn spoken(dialect: Dialect, reply: &NewReply) -> Vec<Value> {
    elements(dialect, &reply.spell(dialect))
}

fn elements(dialect: Dialect, reply: &str) -> Vec<Value> {
    let elements = history_of(dialect, reply).unwrap();
    elements
        .iter()
        .map(|text| serde_json::from_str(text).unwrap())
        .collect()
}

/// An agent: it repeats what it knows of its conversation in every request.
#[derive(Debug, Clone)]
pub(super) struct Agent {
    pub(super) dialect: Dialect,
    pub(super) streams: bool,
    pub(super) history: Vec<Value>,
    /// Further members of its requests.
    pub(super) members: Value,
}

impl Agent {
    pub(super) fn new((dialect, streams): (Dialect, bool)) -> Self {
        Self {
            dialect,
            streams,
            history: vec![user(dialect, "Where is it warm?")],
            members: json!({}),
        }
    }

    /// The body of its next request.
    pub(super) fn request(&self) -> String {
        let schema = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
        let tool = match self.dialect {
            Dialect::Responses => {
                json!({"type": "function", "name": "search", "parameters": schema})
            }
            Dialect::Anthropic => json!({"name": "search", "input_schema": schema}),
            Dialect::Gemini => json!({"functionDeclarations": [
                {"name": "search", "parametersJsonSchema": schema},
            ]}),
            Dialect::Converse => {
                json!({"toolSpec": {"name": "search", "inputSchema": {"json": schema}}})
            }
            Dialect::Chat => {
                json!({"type": "function", "function": {"name": "search", "parameters": schema}})
            }
        };
        let mut request = json!({"model": "m", "tools": [tool], list(self.dialect): self.history});
        let says_all = self.dialect.facts().methods.is_none();
        if !says_all {
            request.as_object_mut().unwrap().remove("model");
        }
        if self.dialect == Dialect::Converse {
            let tools = request.as_object_mut().unwrap().remove("tools");
            request["toolConfig"] = json!({ "tools": tools });
        }
        if self.dialect == Dialect::Anthropic {
            request["max_tokens"] = json!(100);
        }
        if self.streams && says_all {
            request["stream"] = json!(true);
        }
        for (name, value) in self.members.as_object().unwrap() {
            request[name] = value.clone();
        }
        // Spelled as no writer of ours would, so that a copy that was not made byte for byte shows.
        format!(" {}\n", serde_json::to_string_pretty(&request).unwrap())
    }

    /// Reads a reply and takes its turn into the history; gives the calls of the turn: id and tool.
    #[track_caller]
    pub(super) fn reads(&mut self, got: &Got) -> Vec<(String, String)> {
        assert_eq!(got.status, Some(200), "{}", got.text());
        assert!(got.is_whole, "{}", got.text());
        let json = match self.streams {
            true => read_stream(self.dialect, &got.body),
            false => got.text(),
        };
        let turn = elements(self.dialect, &json);
        let calls = calls_in(self.dialect, &turn);
        self.history.extend(turn);
        calls
    }

    /// Says something.
    pub(super) fn says(&mut self, text: &str) {
        self.history.push(user(self.dialect, text));
    }

    /// Answers a call.
    pub(super) fn answers(&mut self, id: &str, text: &str) {
        self.history.push(output(self.dialect, id, text));
    }
}

/// The request of an agent as it goes over the wire to an address.
pub(super) fn http_body(address: std::net::SocketAddr, agent: &Agent) -> Vec<u8> {
    let (path, body) = (path((agent.dialect, agent.streams)), agent.request());
    let length = body.len();
    format!("POST {path} HTTP/1.1\r\nHost: {address}\r\nContent-Length: {length}\r\n\r\n{body}")
        .into_bytes()
}

/// Why a reply ended, in its provider's word.
pub(super) fn stop(dialect: Dialect, streams: bool, got: &Got) -> Option<String> {
    let json = match streams {
        true => read_stream(dialect, &got.body),
        false => got.text(),
    };
    stop_of(&json)
}

/// That word where the reply calls tools; Responses has none.
pub(super) fn calls_stop(dialect: Dialect) -> Option<&'static str> {
    match dialect {
        Dialect::Chat => Some("tool_calls"),
        Dialect::Anthropic => Some("tool_use"),
        Dialect::Gemini => Some("STOP"),
        Dialect::Converse => Some("tool_use"),
        Dialect::Responses => None,
    }
}

/// The calls of a turn: id and tool.
pub(super) fn calls_in(dialect: Dialect, turn: &[Value]) -> Vec<(String, String)> {
    let word = |value: &Value| value.as_str().unwrap().to_owned();
    let mut calls = Vec::new();
    for element in turn {
        match dialect {
            Dialect::Responses if element["type"] == "function_call" => {
                calls.push((word(&element["call_id"]), word(&element["name"])));
            }
            Dialect::Anthropic => {
                let blocks = element["content"].as_array().cloned().unwrap_or_default();
                let blocks = blocks.iter().filter(|block| block["type"] == "tool_use");
                calls.extend(blocks.map(|block| (word(&block["id"]), word(&block["name"]))));
            }
            Dialect::Gemini => {
                let parts = element["parts"].as_array().cloned().unwrap_or_default();
                let calls_of = parts.iter().map(|part| &part["functionCall"]);
                let found = calls_of.filter(|call| call.is_object());
                calls.extend(found.map(|call| (word(&call["id"]), word(&call["name"]))));
            }
            Dialect::Converse => {
                let blocks = element["content"].as_array().cloned().unwrap_or_default();
                let calls_of = blocks.iter().map(|block| &block["toolUse"]);
                let found = calls_of.filter(|call| call.is_object());
                calls.extend(found.map(|call| (word(&call["toolUseId"]), word(&call["name"]))));
            }
            Dialect::Chat => {
                let listed = element["tool_calls"]
                    .as_array()
                    .cloned()
                    .unwrap_or_default();
                calls.extend(
                    listed
                        .iter()
                        .map(|call| (word(&call["id"]), word(&call["function"]["name"]))),
                );
            }
            _ => {}
        }
    }
    calls
}

/// Reads a stream as a strict client: it ends well, and nothing failed.
#[track_caller]
pub(super) fn read_stream(dialect: Dialect, stream: &[u8]) -> String {
    let text = String::from_utf8_lossy(stream);
    let (mut reply, mut splitter) = (dialect.codec().decoder(), Splitter::default());
    let mut events = Vec::new();
    let stream = FrameReader::default().push(stream).unwrap().into_owned();
    splitter.push(&stream, |event| events.push(event));
    assert!(!splitter.is_within_line(), "{text}");
    let mut number = None;
    for event in &events {
        if event.data == "[DONE]" {
            reply.push_done();
            continue;
        }
        let value = event_value(&event.data).unwrap();
        if dialect == Dialect::Responses {
            let next = value["sequence_number"].as_u64();
            assert!(next > number, "{next:?} behind {number:?}: {text}");
            number = next;
        }
        reply.push(&value);
    }
    let reply = reply.finish();
    assert!(reply.ended && reply.failures.is_empty(), "{text}");
    rejoin(&reply.json).into_owned()
}

/// What our rules say against a request.
pub(super) fn complaints(request: &[u8]) -> Vec<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("request.json");
    std::fs::write(&path, request).unwrap();
    let recording = read_path(&path, &ReadOptions::default()).unwrap();
    let findings = check_recording(&recording, None).unwrap();
    let findings = findings.iter().flatten();
    // What the model did wrong once stands in the history for good.
    let bad = findings.filter(|one| {
        one.severity == Severity::Error
            && one.rule.id != "unknown-tool"
            && one.rule.id != "pending-call"
    });
    bad.map(|finding| finding.message()).collect()
}
