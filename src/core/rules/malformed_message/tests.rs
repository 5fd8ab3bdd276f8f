//! Every fault of shape, with what comes close to it and is taken.

use super::*;
use crate::rules::fixture::{Fixture, fixture};
use crate::session::Dialect;
use serde_json::{Value, json};

/// A request of each dialect whose history holds these items after a message of the user.
fn request(dialect: Dialect, items: &[Value]) -> Fixture {
    let mut history = vec![json!({"role": "user", "content": "hi"})];
    history.extend_from_slice(items);
    let body = match dialect {
        Dialect::Responses => json!({"model": "m", "input": history}),
        Dialect::Anthropic => {
            json!({"model": "m", "max_tokens": 9, "system": "s", "messages": history,
            "tools": [{"name": "f", "input_schema": {}}]})
        }
        _ => json!({"model": "m", "messages": history}),
    };
    fixture(&body.to_string())
}

#[track_caller]
fn refused(dialect: Dialect, items: Value, fault: &str) {
    let items = items.as_array().unwrap();
    let finding = request(dialect, items).finding(&RULE);
    assert_eq!(finding.get("fault"), Some(fault), "{items:?}");
    assert_eq!(finding.severity, Severity::Error);
}

#[track_caller]
fn taken(dialect: Dialect, items: Value) {
    let found = request(dialect, items.as_array().unwrap()).findings(&RULE);
    assert!(found.is_empty(), "{items}: {found:?}");
}

fn chat_pair(id: &str, arguments: &Value, content: &Value) -> Value {
    json!([{"role": "assistant", "content": null, "tool_calls": [
            {"id": id, "type": "function", "function": {"name": "f", "arguments": arguments}}]},
        {"role": "tool", "tool_call_id": id, "content": content}])
}

fn responses_pair(call: &Value, output: &Value) -> Value {
    let mut call = call.clone();
    call["type"] = json!("function_call");
    call["name"] = json!("f");
    let id = call["call_id"].as_str().unwrap_or("call_1").to_owned();
    call["call_id"] = json!(id);
    json!([call, {"type": "function_call_output", "call_id": id, "output": output}])
}

fn anthropic_pair(id: &str, input: &Value, result: &Value) -> Value {
    let mut result = result.clone();
    result["type"] = json!("tool_result");
    result["tool_use_id"] = json!(id);
    json!([{"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "f", "input": input}]},
        {"role": "user", "content": [result]}])
}

#[test]
fn a_chat_reply_says_something_or_calls() {
    let says = |message: Value| json!([message, {"role": "user", "content": "go on"}]);
    let refused = |message, fault| refused(Dialect::Chat, says(message), fault);
    refused(
        json!({"role": "assistant", "content": "x", "tool_calls": []}),
        "has an empty list of calls",
    );
    refused(
        json!({"role": "assistant", "content": null, "tool_calls": []}),
        "has an empty list of calls",
    );
    refused(
        json!({"role": "assistant", "content": null}),
        "has neither content nor calls",
    );
    refused(
        json!({"role": "assistant", "content": null, "tool_calls": null}),
        "has neither content nor calls",
    );
    let taken = |message| taken(Dialect::Chat, says(message));
    taken(json!({"role": "assistant", "content": ""}));
    taken(json!({"role": "assistant", "content": "x", "tool_calls": null}));
    taken(json!({"role": "assistant", "content": null, "refusal": "no"}));
    taken(json!({"role": "assistant", "content": null, "audio": {"id": "audio_1"}}));
    taken(json!({"role": "assistant", "content": [{"type": "text", "text": "x"}]}));
    taken(
        json!({"role": "assistant", "content": null, "function_call": {"name": "f", "arguments": "{}"}}),
    );
}

#[test]
fn content_is_text_or_parts() {
    let fault = "has content that is neither a string nor a list";
    let arguments = json!("{}");
    refused(
        Dialect::Chat,
        chat_pair("call_1", &arguments, &json!({"temp": 20})),
        fault,
    );
    refused(
        Dialect::Chat,
        chat_pair("call_1", &arguments, &json!(null)),
        fault,
    );
    refused(
        Dialect::Chat,
        json!([{"role": "user", "content": null}]),
        fault,
    );
    taken(Dialect::Chat, chat_pair("call_1", &arguments, &json!("")));
    taken(
        Dialect::Chat,
        chat_pair(
            "call_1",
            &arguments,
            &json!([{"type": "text", "text": "20"}]),
        ),
    );
    let call = json!({"arguments": "{}"});
    refused(
        Dialect::Responses,
        responses_pair(&call, &json!({"x": 1})),
        fault,
    );
    taken(Dialect::Responses, responses_pair(&call, &json!("")));
    taken(
        Dialect::Responses,
        responses_pair(&call, &json!([{"type": "input_text", "text": "x"}])),
    );
    // What the screen shows is an object.
    taken(
        Dialect::Responses,
        json!([{"type": "computer_call", "id": "cu_1", "call_id": "c", "action": {}},
        {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot"}}]),
    );
    refused(
        Dialect::Anthropic,
        anthropic_pair("toolu_1", &json!({}), &json!({"content": {"x": 1}})),
        fault,
    );
}

#[test]
fn arguments_are_a_string_where_openai_reads_them() {
    let fault = "has arguments that are not a string";
    let (object, text) = (json!({"city": "P"}), json!("{\"city\": Par"));
    refused(
        Dialect::Chat,
        chat_pair("call_1", &object, &json!("20")),
        fault,
    );
    refused(
        Dialect::Responses,
        responses_pair(&json!({"arguments": object}), &json!("20")),
        fault,
    );
    // Broken text is a mistake of the model, not of the shape.
    taken(Dialect::Chat, chat_pair("call_1", &text, &json!("error")));
    taken(
        Dialect::Responses,
        responses_pair(&json!({"arguments": text}), &json!("error")),
    );
    taken(
        Dialect::Responses,
        json!([
        {"type": "tool_search_call", "execution": "client", "call_id": "c", "arguments": {}},
        {"type": "tool_search_output", "execution": "client", "call_id": "c", "tools": []}]),
    );
}

#[test]
fn an_input_that_is_missing_is_no_object() {
    let result = json!({"content": "20"});
    refused(
        Dialect::Anthropic,
        anthropic_pair("toolu_1", &json!(null), &result),
        "has no input object",
    );
    refused(
        Dialect::Anthropic,
        anthropic_pair("toolu_1", &json!(""), &result),
        "has no input object",
    );
    taken(
        Dialect::Anthropic,
        anthropic_pair("toolu_1", &json!({}), &result),
    );
    // malformed-arguments tells of a string.
    taken(
        Dialect::Anthropic,
        anthropic_pair("toolu_1", &json!("{}"), &result),
    );
}

#[test]
fn call_ids_are_short_and_plain() {
    let (arguments, output) = (json!("{}"), json!("20"));
    let long = |length: usize| "c".repeat(length);
    refused(
        Dialect::Chat,
        chat_pair(&long(41), &arguments, &output),
        "has a call id of more than 40 characters",
    );
    taken(Dialect::Chat, chat_pair(&long(40), &arguments, &output));
    taken(Dialect::Chat, chat_pair("bash:1", &arguments, &output));
    let call = |length| json!({"call_id": long(length), "arguments": "{}"});
    refused(
        Dialect::Responses,
        responses_pair(&call(65), &output),
        "has a call id of more than 64 characters",
    );
    taken(Dialect::Responses, responses_pair(&call(64), &output));
    let fault = "has a call id with characters other than a-z A-Z 0-9 _ -";
    let result = json!({"content": "20"});
    refused(
        Dialect::Anthropic,
        anthropic_pair("bash:1", &json!({}), &result),
        fault,
    );
    taken(
        Dialect::Anthropic,
        anthropic_pair("call-1_A", &json!({}), &result),
    );
    taken(
        Dialect::Anthropic,
        anthropic_pair(&long(65), &json!({}), &result),
    );
    let server = |id| {
        json!([{"role": "assistant", "content": [
        {"type": "server_tool_use", "id": id, "name": "web_search", "input": {}},
        {"type": "web_search_tool_result", "tool_use_id": id, "content": []}]}])
    };
    refused(Dialect::Anthropic, server("toolu_1"), fault);
    taken(Dialect::Anthropic, server("srvtoolu_1"));
}

#[test]
fn a_new_id_cures_a_call_id_and_nothing_else() {
    let actions = |items: Value| {
        let finding = request(Dialect::Chat, items.as_array().unwrap()).finding(&RULE);
        finding
            .offers
            .iter()
            .map(|offer| offer.action)
            .collect::<Vec<_>>()
    };
    let long = chat_pair(&"c".repeat(41), &json!("{}"), &json!("20"));
    assert_eq!(actions(long), ["renew-id", "edit", "drop-pair"]);
    assert_eq!(
        actions(chat_pair("c", &json!({}), &json!("20"))),
        ["repair-arguments", "edit", "drop-pair"]
    );
    assert_eq!(
        actions(json!([{"role": "user", "content": null}])),
        ["edit", "drop-item"]
    );
}

#[test]
fn item_ids_begin_as_their_type_asks() {
    let call = |id: Value| responses_pair(&json!({"id": id, "arguments": "{}"}), &json!("20"));
    refused(
        Dialect::Responses,
        call(json!("msg_0123")),
        "has an id that does not begin with fc",
    );
    refused(
        Dialect::Responses,
        call(json!("")),
        "has an id that is empty or has characters other than a-z A-Z 0-9 _ -",
    );
    refused(
        Dialect::Responses,
        call(json!(format!("fc_{}", "a".repeat(62)))),
        "has an id of more than 64 characters",
    );
    taken(Dialect::Responses, call(json!("fc_0123")));
    taken(Dialect::Responses, call(json!(null)));
    let message = |id: &str| {
        json!([{"type": "message", "role": "assistant", "id": id, "status": "completed",
        "content": [{"type": "output_text", "text": "ok", "annotations": []}]}])
    };
    refused(
        Dialect::Responses,
        message("chatcmpl-1"),
        "has an id that does not begin with msg",
    );
    taken(Dialect::Responses, message("msg_1"));
}

#[test]
fn an_item_id_stands_once() {
    let message = |id: &str| {
        json!({"type": "message", "role": "assistant", "id": id, "status": "completed",
        "content": [{"type": "output_text", "text": "ok".repeat(200), "annotations": []}]})
    };
    let twice = [message("msg_1"), message("msg_2"), message("msg_1")];
    let finding = request(Dialect::Responses, &twice).finding(&RULE);
    assert_eq!((finding.item, finding.related), (Some(3), Some(1)));
    taken(
        Dialect::Responses,
        json!([message("msg_1"), message("msg_2")]),
    );
    let plain = json!({"role": "assistant", "content": "ok"});
    taken(Dialect::Responses, json!([plain, plain]));
}

#[test]
fn an_id_behind_a_long_text_is_found() {
    let message = json!({"content": [{"type": "output_text", "text": "ok".repeat(2000)}], "role": "assistant",
        "type": "message", "id": "msg_1"});
    request(Dialect::Responses, &[message.clone(), message]).expect(&RULE, &["#3"]);
}

#[test]
fn anthropic_takes_nothing_empty() {
    let says = |content: Value| json!([{"role": "assistant", "content": content}, {"role": "user", "content": "go on"}]);
    let refused = |content, fault| refused(Dialect::Anthropic, says(content), fault);
    refused(json!([]), "has no content");
    refused(json!(""), "has no content");
    refused(json!([{"type": "text", "text": ""}]), "has no text");
    refused(json!([{"type": "text", "text": " \n"}]), "has no text");
    let taken = |content| taken(Dialect::Anthropic, says(content));
    taken(json!("x"));
    taken(json!([{"type": "text", "text": "\nx"}]));
    taken(
        json!([{"type": "thinking", "thinking": "", "signature": "c2ln"}, {"type": "text", "text": "x"}]),
    );
}

#[test]
fn the_last_message_of_the_assistant_may_be_empty() {
    taken(
        Dialect::Anthropic,
        json!([{"role": "assistant", "content": []}]),
    );
    refused(
        Dialect::Anthropic,
        json!([{"role": "user", "content": ""}]),
        "has no content",
    );
}

#[test]
fn an_error_says_something() {
    let result = |result: Value| anthropic_pair("toolu_1", &json!({}), &result);
    let fault = "is an error that says nothing";
    refused(
        Dialect::Anthropic,
        result(json!({"content": "", "is_error": true})),
        fault,
    );
    refused(
        Dialect::Anthropic,
        result(json!({"content": [], "is_error": true})),
        fault,
    );
    refused(Dialect::Anthropic, result(json!({"is_error": true})), fault);
    taken(
        Dialect::Anthropic,
        result(json!({"content": "no such tool", "is_error": true})),
    );
    taken(Dialect::Anthropic, result(json!({"content": ""})));
    taken(Dialect::Anthropic, result(json!({})));
}

#[test]
fn roles_are_those_of_the_dialect() {
    let fault = "has no role that the dialect knows";
    refused(
        Dialect::Chat,
        json!([{"role": "wizard", "content": "x"}]),
        fault,
    );
    taken(
        Dialect::Chat,
        json!([{"role": "developer", "content": "x"}]),
    );
    refused(
        Dialect::Anthropic,
        json!([{"role": "wizard", "content": "x"}]),
        fault,
    );
    taken(
        Dialect::Anthropic,
        json!([{"role": "system", "content": "x"}]),
    );
}

#[test]
fn a_reply_may_hold_what_a_request_may_not() {
    let reply = r#"{"object":"chat.completion","choices":[{"finish_reason":"stop","message":{"role":"assistant","content":null,"tool_calls":[]}}]}"#;
    fixture(reply).expect(&RULE, &[]);
    fixture(r#"[{"role":"user","content":"hi"},{"role":"assistant","content":null}]"#)
        .expect(&RULE, &[]);
}

#[test]
fn what_a_reply_followed_was_taken_and_what_is_to_be_sent_is_doubtful() {
    let taken = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"x","tool_calls":[]},
        {"role":"user","content":"go on"},{"role":"assistant","content":"ok"}]"#;
    fixture(taken).expect(&RULE, &[]);
    let stuck = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"x","tool_calls":[]},{"role":"user","content":"go on"}]"#;
    fixture(stuck).expect(&RULE, &["#2"]);
    assert_eq!(fixture(stuck).finding(&RULE).severity, Severity::Warning);
}

#[test]
fn another_dialect_would_spell_the_item_anew() {
    let story = request(
        Dialect::Chat,
        &[json!({"role": "assistant", "content": "x", "tool_calls": []})],
    );
    story.clone().target(Dialect::Anthropic).expect(&RULE, &[]);
    story.target(Dialect::Gemini).expect(&RULE, &[]);
}

#[test]
fn the_log_of_a_client_is_no_request() {
    let line = r#"{"type":"assistant","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"id":"m","role":"assistant","content":[{"type":"thinking","thinking":"t","signature":""}]}}
        {"type":"user","uuid":"u2","parentUuid":"u1","sessionId":"s","message":{"role":"user","content":"go on"}}"#;
    fixture(line).expect(&RULE, &[]);
}
