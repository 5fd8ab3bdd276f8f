//! Conversions told: one transcript of each dialect in the others, with what it loses, and the repairs that a target asks for.
#![allow(clippy::unwrap_used, clippy::panic)]

use retake_core::formats::convert::{ConvertOptions, LossKind, convert};
use retake_core::formats::{find, read_buffer};
use retake_core::session::{Dialect, Session, Source, SourceError};
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::sync::Arc;

fn read(format: &str, text: &str) -> Session {
    let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
    let contents = read_buffer(find(format).unwrap(), &source, text.as_bytes()).unwrap();
    contents.sessions.into_iter().next().unwrap()
}

fn converted(
    session: &Session,
    to: Dialect,
    as_request: bool,
) -> (String, Vec<(Option<u32>, LossKind)>) {
    let repair = |text: &str| {
        text.starts_with("{\"a\": 1")
            .then(|| "{\"a\": 1}".to_owned())
    };
    let mut text = Vec::new();
    let options = ConvertOptions { as_request, repair };
    let told = convert::<SourceError>(session, to, options, &mut |piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    let losses = told.unwrap().losses.into_iter();
    let losses = losses.map(|loss| (loss.item.map(|item| item + 1), loss.kind));
    (String::from_utf8(text).unwrap(), losses.collect())
}

fn value(format: &str, text: &Value, to: Dialect) -> (Value, Vec<(Option<u32>, LossKind)>) {
    let (text, losses) = converted(&read(format, &text.to_string()), to, false);
    (serde_json::from_str(&text).unwrap(), losses)
}

/// The text and the losses, for review.
fn told(format: &str, text: &str, to: Dialect) -> String {
    let (mut page, losses) = converted(&read(format, text), to, true);
    page.push('\n');
    for (item, kind) in losses {
        let item = item.map_or(String::new(), |item| format!("item {item}: "));
        writeln!(page, "{item}{kind}").unwrap();
    }
    page
}

const RESPONSES: &str = r#"{"model":"gpt-5","instructions":"Be brief.","input":[
  {"type":"message","role":"user","content":[{"type":"input_text","text":"What is it?"},{"type":"input_image","image_url":"data:image/png;base64,AA=="}]},
  {"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA=="},
  {"type":"message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"Let me look.","annotations":[{"type":"url_citation"}]}]},
  {"type":"function_call","id":"fc_1","call_id":"call_1","name":"look","namespace":"files","arguments":"{\"at\": 1.0}"},
  {"type":"custom_tool_call","id":"ctc_1","call_id":"call_2","name":"patch","input":"*** Begin"},
  {"type":"message","role":"developer","content":"No more than two."},
  {"type":"function_call_output","call_id":"call_1","output":[{"type":"input_text","text":"a"},{"type":"input_image","image_url":"https://example.org/a.png"}]},
  {"type":"custom_tool_call_output","call_id":"call_2","output":"done"},
  {"type":"web_search_call","id":"ws_1","status":"completed","action":{"type":"search","query":"q"}},
  {"type":"shell_call","call_id":"call_3","action":{"commands":["ls"]}},
  {"type":"shell_call_output","call_id":"call_3","output":[{"stdout":"a\n","stderr":"","outcome":{"type":"exit","exit_code":0}}]},
  {"type":"message","role":"assistant","content":[{"type":"refusal","refusal":"I cannot say."}]}],
 "tools":[{"type":"namespace","name":"files","tools":[{"type":"function","name":"look","parameters":{"type":"object"}}]},
  {"type":"custom","name":"patch","format":{"type":"text"}},{"type":"web_search"}],
 "text":{"format":{"type":"json_schema","name":"answer","schema":{"type":"object"}}}}"#;

const CHAT: &str = r#"{"model":"gpt-4o","messages":[
  {"role":"system","content":"Be brief."},
  {"role":"user","content":[{"type":"text","text":"What is it?"},{"type":"image_url","image_url":{"url":"https://example.org/a.png","detail":"low"}},{"type":"input_audio","input_audio":{"data":"AA","format":"wav"}}]},
  {"role":"assistant","content":"Let me look.","reasoning_content":"hm","tool_calls":[
    {"id":"call|1","type":"function","function":{"name":"look.at","arguments":"{\"a\": 1, "}},
    {"id":"call_2","type":"custom","custom":{"name":"patch","input":"*** Begin"}}]},
  {"role":"tool","tool_call_id":"call_2","content":"done"},
  {"role":"tool","tool_call_id":"call|1","content":[{"type":"text","text":"a"},{"type":"text","text":"b"}]},
  {"role":"assistant","content":null,"refusal":"I cannot say."}],
 "tools":[{"type":"function","function":{"name":"look.at","description":"Looks.","parameters":{"type":"object"}}}]}"#;

const ANTHROPIC: &str = r#"{"model":"claude-x","max_tokens":100,"system":[{"type":"text","text":"Be brief."}],"messages":[
  {"role":"user","content":"What is it?"},
  {"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"Eq=="},{"type":"text","text":"Let me look."},
    {"type":"tool_use","id":"toolu_1","name":"look","input":{"at": 1.0}},{"type":"tool_use","id":"toolu_2","name":"see","input":{}},
    {"type":"server_tool_use","id":"srvtoolu_1","name":"web_search","input":{"query":"q"}},{"type":"web_search_tool_result","tool_use_id":"srvtoolu_1","content":[]}]},
  {"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_2","content":"no","is_error":true},
    {"type":"tool_result","tool_use_id":"toolu_1","content":[{"type":"text","text":"a"},{"type":"image","source":{"type":"base64","media_type":"image/png","data":"AA=="}}]},
    {"type":"text","text":"And now?"}]}],
 "tools":[{"name":"look","description":"Looks.","input_schema":{"type":"object"}}]}"#;

#[test]
fn each_transcript_in_each_other_dialect_is_as_reviewed() {
    insta::assert_snapshot!(
        "responses_to_chat",
        told("openai-responses", RESPONSES, Dialect::Chat)
    );
    insta::assert_snapshot!(
        "responses_to_anthropic",
        told("openai-responses", RESPONSES, Dialect::Anthropic)
    );
    insta::assert_snapshot!(
        "chat_to_responses",
        told("openai-chat", CHAT, Dialect::Responses)
    );
    insta::assert_snapshot!(
        "chat_to_anthropic",
        told("openai-chat", CHAT, Dialect::Anthropic)
    );
    insta::assert_snapshot!(
        "anthropic_to_responses",
        told("anthropic-messages", ANTHROPIC, Dialect::Responses)
    );
    insta::assert_snapshot!(
        "anthropic_to_chat",
        told("anthropic-messages", ANTHROPIC, Dialect::Chat)
    );
}

fn call(id: &str, name: &str, arguments: &str) -> Value {
    json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
}

fn output(id: &str, text: &str) -> Value {
    json!({"type": "function_call_output", "call_id": id, "output": text})
}

#[test]
fn an_id_that_is_reused_too_long_or_missing_becomes_one_that_the_pair_shares() {
    let long = "c".repeat(60);
    let history = json!([
        call("a", "f", "{}"),
        output("a", "1"),
        call("a", "f", "{}"),
        output("a", "2"),
        call(&long, "f", "{}"),
        output(&long, "3"),
    ]);
    let (chat, losses) = value("openai-responses", &history, Dialect::Chat);
    let ids = |at: usize| {
        (
            &chat[at]["tool_calls"][0]["id"],
            &chat[at + 1]["tool_call_id"],
        )
    };
    assert_eq!(ids(0), (&json!("a"), &json!("a")));
    assert_eq!(ids(2), (&json!("a_3"), &json!("a_3")));
    assert_eq!(ids(4).0, &json!("c".repeat(40)));
    assert_eq!(ids(4).0, ids(4).1);
    let changed = losses.iter().map(|(item, kind)| (*item, kind.id()));
    assert_eq!(
        changed.collect::<Vec<_>>(),
        [(Some(3), "new-id"), (Some(5), "new-id")]
    );

    let old = json!([
        {"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}},
        {"role": "function", "name": "f", "content": "1"},
    ]);
    let (anthropic, _) = value("openai-chat", &old, Dialect::Anthropic);
    let messages = &anthropic["messages"];
    let id = &messages[0]["content"][0]["id"];
    assert_eq!(id, "call_1");
    assert_eq!(id, &messages[1]["content"][0]["tool_use_id"]);
}

#[test]
fn arguments_that_are_no_object_are_repaired_or_kept_as_they_are_in_one() {
    let arguments = ["{\"a\": 1,", "{\"b\": Par", "[1]", "", " {\"c\": 1.0} "];
    let calls = arguments.iter().enumerate();
    let calls = calls.map(|(number, text)| call(&format!("c{number}"), "f", text));
    let (anthropic, losses) = value("openai-responses", &calls.collect(), Dialect::Anthropic);
    let blocks = anthropic["messages"][0]["content"].as_array().unwrap();
    let inputs = blocks.iter().map(|block| block["input"].clone());
    let expected = [
        json!({"a": 1}),
        json!({"_raw": "{\"b\": Par"}),
        json!({"_raw": "[1]"}),
        json!({}),
        json!({"c": 1.0}),
    ];
    assert_eq!(inputs.collect::<Vec<_>>(), expected);
    let expected = [
        (Some(1), LossKind::ArgumentsRepaired),
        (Some(2), LossKind::ArgumentsWrapped),
        (Some(3), LossKind::ArgumentsWrapped),
    ];
    assert_eq!(losses, expected);
}

#[test]
fn what_a_compaction_replaced_stays_behind_and_an_orphan_stays_an_orphan() {
    let rollout = [
        json!({"timestamp": "t", "type": "session_meta", "payload": {"id": "s"}}),
        json!({"timestamp": "t", "type": "response_item", "payload": call("old", "f", "{}")}),
        json!({"timestamp": "t", "type": "compacted", "payload": {"message": "so far", "replacement_history": [
            {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "so far"}]}]}}),
        json!({"timestamp": "t", "type": "response_item", "payload": call("lost", "f", "{}")}),
        json!({"timestamp": "t", "type": "response_item", "payload": {"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]}}),
    ];
    let lines: Vec<String> = rollout.iter().map(Value::to_string).collect();
    let session = read("codex", &lines.join("\n"));
    let (text, losses) = converted(&session, Dialect::Chat, false);
    let chat: Value = serde_json::from_str(&text).unwrap();
    let roles = chat.as_array().unwrap().iter();
    let roles: Vec<_> = roles
        .map(|message| message["role"].as_str().unwrap())
        .collect();
    assert_eq!(roles, ["user", "assistant", "user"]);
    assert_eq!(chat[1]["tool_calls"][0]["id"], "lost");
    assert!(
        losses.contains(&(None, LossKind::Earlier { count: 1 })),
        "{losses:?}"
    );
}

#[test]
fn what_the_provider_keeps_is_no_orphan_in_the_target() {
    let request = json!({"model": "m", "previous_response_id": "resp_1", "input": [output("c", "20C"), {"type": "item_reference", "id": "msg_1"}]});
    let (chat, losses) = value("openai-responses", &request, Dialect::Chat);
    assert_eq!(
        chat,
        json!([{"role": "user", "content": "Output of the call c: 20C"}])
    );
    let expected = [
        (None, LossKind::ServerState),
        (Some(1), LossKind::OutputAsText),
        (Some(2), LossKind::Reference),
    ];
    assert_eq!(losses, expected);
}

#[test]
fn a_log_loses_its_envelope_and_the_notes_of_its_client() {
    let line = |uuid: &str, parent: &str, kind: &str, message: Value, more: Value| {
        let mut line = json!({"type": kind, "uuid": uuid, "parentUuid": parent, "sessionId": "s", "timestamp": "t", "message": message});
        line.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        line.to_string()
    };
    let reply = |block: Value| json!({"id": "msg_1", "role": "assistant", "model": "m", "content": [block], "usage": {}});
    let use_of = |id: &str| reply(json!({"type": "tool_use", "id": id, "name": "f", "input": {}}));
    let result_of = |id: &str| json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": "1"}]});
    let log = [
        line(
            "1",
            "",
            "user",
            json!({"role": "user", "content": "go"}),
            json!({}),
        ),
        line("2", "1", "assistant", use_of("a"), json!({})),
        line("3", "2", "user", result_of("a"), json!({})),
        line("4", "3", "assistant", use_of("b"), json!({})),
        line("5", "4", "user", result_of("b"), json!({})),
        line(
            "6",
            "5",
            "assistant",
            json!({"role": "assistant", "model": "<synthetic>", "content": [{"type": "text", "text": "API Error"}]}),
            json!({"isApiErrorMessage": true}),
        ),
    ];
    let session = read("claude-code", &log.join("\n"));
    let (text, losses) = converted(&session, Dialect::Anthropic, false);
    let found: Value = serde_json::from_str(&text).unwrap();
    let expected = json!({"messages": [
        {"role": "user", "content": [{"type": "text", "text": "go"}]},
        {"role": "assistant", "content": [
            {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            {"type": "tool_use", "id": "b", "name": "f", "input": {}}]},
        {"role": "user", "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "1"},
            {"type": "tool_result", "tool_use_id": "b", "content": "1"}]},
    ]});
    assert_eq!(found, expected);
    assert_eq!(losses, [(Some(6), LossKind::Notice)]);
}
