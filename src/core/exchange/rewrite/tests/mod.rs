//! A client that has seen the beginning of one reply, and gets another turn after it.

mod client;
mod streams;
mod whole;

use super::*;
use crate::exchange::gate::{Gate, GateStep, StreamLimits};
use crate::wire::ToolCall;
use crate::wire::write::NewReply;
use serde_json::Value;

const DIALECTS: [Dialect; 4] = [
    Dialect::Responses,
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Converse,
];

/// A reply with everything that providers put into one, spelled as nobody would twice.
fn rich(dialect: Dialect) -> &'static str {
    match dialect {
        Dialect::Responses => RESPONSE,
        Dialect::Chat => COMPLETION,
        Dialect::Anthropic => MESSAGE,
        Dialect::Converse => CONVERSE,
        Dialect::Gemini => "",
    }
}

const RESPONSE: &str = r#"{
  "id": "resp_2", "object": "response", "created_at": 9, "status": "completed", "completed_at": 10,
  "error": null, "incomplete_details": null, "model": "m-2", "temperature": 1.0,
  "output": [
    {"id":"rs_2","type":"reasoning","summary":[{"type":"summary_text","text":"a\u00e9"},{"type":"summary_text","text":""}],"encrypted_content":"gAAA\/=="},
    {"id":"rs_3","type":"reasoning","summary":[],"content":[{"type":"reasoning_text","text":"raw"}]},
    {"id":"ws_2","type":"web_search_call","status":"completed","action":{"type":"search","query":"x"}},
    {"id":"mcp_2","type":"mcp_call","server_label":"s","name":"n","arguments":"{}","output":"o","error":null,"status":"completed"},
    {"id":"msg_2","type":"message","status":"completed","role":"assistant","phase":"commentary","content":[
      {"type":"output_text","text":"one \ud83d\ude00","annotations":[{"type":"url_citation","url":"https://example.org","start_index":0,"end_index":3,"title":"t"}],"logprobs":[]},
      {"type":"output_text","text":"two","annotations":[]},
      {"type":"refusal","refusal":"no"}]},
    {"id":"fc_2","type":"function_call","status":"completed","call_id":"call_2","name":"f","arguments":"{\"n\": 1e2,\"n\":2,\"s\":\"\\u00e9\"}"},
    {"id":"ctc_2","type":"custom_tool_call","status":"completed","call_id":"call_3","name":"g","input":"*** Begin\nPatch"},
    {"id":"x_2","type":"of_tomorrow","n":1e400}
  ],
  "usage": {"input_tokens": 5, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 6, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 11}
}"#;

const COMPLETION: &str = r#"{
  "id": "chatcmpl-2", "object": "chat.completion", "created": 9, "model": "m-2", "system_fingerprint": "fp", "service_tier": "default",
  "choices": [{"index": 0, "finish_reason": "tool_calls", "logprobs": null, "message": {
    "role": "assistant", "content": "one \ud83d\ude00", "refusal": null, "reasoning_content": "h\u006dm", "annotations": [], "audio": null, "function_call": null,
    "tool_calls": [
      {"id": "call_2", "type": "function", "function": {"name": "f", "arguments": "{\"n\": 1e2,\"n\":2}"}, "extra_content": {"google": {"thought_signature": "s"}}},
      {"id": "call_3", "type": "custom", "custom": {"name": "g", "input": "*** Begin\nPatch"}}]}}],
  "usage": {"prompt_tokens": 5, "completion_tokens": 6, "total_tokens": 11, "prompt_tokens_details": {"cached_tokens": 1}}
}"#;

const MESSAGE: &str = r#"{
  "id": "msg_2", "type": "message", "role": "assistant", "model": "m-2",
  "content": [
    {"type": "thinking", "thinking": "h\u006dm", "signature": "Er+\/="},
    {"type": "redacted_thinking", "data": "xx"},
    {"type": "text", "text": "one \ud83d\ude00", "citations": [{"type": "char_location", "cited_text": "c", "document_index": 0}]},
    {"type": "server_tool_use", "id": "srvtoolu_2", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "srvtoolu_2", "content": [{"type": "web_search_result", "url": "u"}]},
    {"type": "tool_use", "id": "toolu_2", "name": "f", "input": {"n": 1e2, "n": 2, "s": "\u00e9"}, "caller": {"type": "direct"}},
    {"type": "tool_use", "id": "toolu_3", "name": "g", "input": {}}
  ],
  "stop_reason": "tool_use", "stop_sequence": null,
  "usage": {"input_tokens": 5, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 6}
}"#;

const CONVERSE: &str = r#"{
  "output": {"message": {"role": "assistant", "content": [
    {"reasoningContent": {"reasoningText": {"text": "h\u006dm", "signature": "Er+\/="}}},
    {"reasoningContent": {"redactedContent": "eHg="}},
    {"text": "one \ud83d\ude00"},
    {"toolUse": {"toolUseId": "tooluse_1", "name": "nova_code_interpreter", "input": {"snippet": "1"}, "type": "server_tool_use"}},
    {"toolResult": {"toolUseId": "tooluse_1", "content": [{"json": {"stdOut": "1"}}], "status": "success", "type": "nova_code_interpreter_result"}},
    {"citationsContent": {"content": [{"text": "two"}], "citations": [{"title": "t"}]}},
    {"toolUse": {"toolUseId": "tooluse_2", "name": "f", "input": {"n": 1e2, "n": 2, "s": "\u00e9"}}},
    {"toolUse": {"toolUseId": "tooluse_3", "name": "g", "input": {}}}]}},
  "stopReason": "tool_use",
  "usage": {"inputTokens": 5, "outputTokens": 6, "totalTokens": 111, "cacheReadInputTokens": 100},
  "metrics": {"latencyMs": 7}
}"#;

/// A reply of which a client has seen something before its call was held.
fn seen() -> NewReply {
    NewReply {
        tag: "1".to_owned(),
        model: "m-1".to_owned(),
        created: 7,
        reasoning: Some("think".to_owned()),
        texts: vec!["I look. ".to_owned()],
        calls: vec![ToolCall::new("call_1", "no_such", "{}")],
        input_tokens: 1,
        output_tokens: 2,
        ..NewReply::default()
    }
}

/// A gate through which the first bytes of a reply have gone, and which holds the rest.
fn gate_after(dialect: Dialect, stream: &[u8]) -> (Gate, Vec<u8>) {
    let (mut gate, mut out) = (Gate::new(dialect, StreamLimits::default()), Vec::new());
    gate.push(stream, &mut out);
    gate.hold();
    (gate, out)
}

fn stream_of(dialect: Dialect, reply: &NewReply) -> Vec<u8> {
    let events = reply.events(dialect, 3, true);
    let wire = events.iter().map(|event| event.to_wire());
    wire.collect::<String>().into_bytes()
}

fn value(json: &str) -> Value {
    serde_json::from_str(json).unwrap()
}
