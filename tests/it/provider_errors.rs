//! Real error texts, in every wrapping they are met in, decode to the fact behind them; everything else decodes to nothing.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::fs;
use std::time::{Duration, Instant};

use retake_core::wire::provider_errors::{Decoded, Fault, Provider, decode, table};
use serde_json::{Value, json};

#[track_caller]
fn one(text: &str) -> Decoded {
    let mut results = decode(text);
    assert_eq!(results.len(), 1, "{text}\n{results:#?}");
    results.remove(0)
}

/// What a request of `wire_cases.json` is refused for, by the sentence that the case quotes.
fn fault_of_case(id: &str) -> Fault {
    match id {
        "chat-14" => Fault::EmptyToolCalls,
        "chat-15" | "anthropic-18" | "anthropic-19" => Fault::EmptyContent,
        "chat-16" | "responses-12" => Fault::ArgumentsNotString,
        "chat-18" => Fault::IdTooLong,
        "chat-19" | "responses-13" | "anthropic-17" => Fault::InvalidToolName,
        "chat-21" | "responses-14" => Fault::WrongFieldType,
        "chat-24" => Fault::MissingCallId,
        "chat-09" | "chat-10" | "chat-12" | "responses-03" | "responses-07" | "anthropic-09"
        | "anthropic-10" => Fault::OutputWithoutCall,
        "responses-06" => Fault::ReasoningWithoutFollower,
        "responses-09" => Fault::CallWithoutReasoning,
        "responses-11" => Fault::WrongIdPrefix,
        "responses-18" => Fault::DuplicateItemId,
        "anthropic-11" => Fault::DuplicateOutput,
        "anthropic-12" => Fault::DuplicateCallId,
        "anthropic-13" => Fault::EmptyErrorContent,
        "anthropic-15" => Fault::InputNotObject,
        "anthropic-16" => Fault::IdCharacters,
        "anthropic-20" => Fault::BadSignature,
        "anthropic-23" => Fault::UnknownRole,
        _ => Fault::CallWithoutOutput,
    }
}

#[test]
fn every_refusal_of_the_wire_cases_is_understood() {
    let cases: Value = serde_json::from_str(include_str!("hostile/wire_cases.json")).unwrap();
    let mut seen = 0;
    for case in cases["cases"].as_array().unwrap() {
        let Some(text) = case["provider_error"].as_str() else {
            continue;
        };
        let id = case["id"].as_str().unwrap();
        let decoded = one(text);
        assert_eq!(decoded.fault, fault_of_case(id), "{id}: {text}");
        assert!(
            decoded.call_ids.iter().all(|id| !id.contains('…')),
            "{id}: a placeholder is no id"
        );
        seen += 1;
    }
    assert_eq!(seen, 44, "cases with a text");
}

#[test]
fn reported_errors_are_understood() {
    let path = "../shared/corpus/reported_cases/vectors.jsonl";
    let Ok(lines) = fs::read_to_string(path) else {
        eprintln!("skipped: {path} is absent");
        return;
    };
    let mut seen = 0;
    for line in lines.lines() {
        let vector: Value = serde_json::from_str(line).unwrap();
        if vector["kind"] == "api_error" {
            let decoded = one(vector["message"].as_str().unwrap());
            assert_eq!(decoded.call_ids.len(), 1, "{vector}");
            assert!(
                matches!(
                    decoded.fault,
                    Fault::CallWithoutOutput | Fault::OutputWithoutCall
                ),
                "{vector}"
            );
            seen += 1;
        }
    }
    assert_eq!(seen, 4);
}

/// The ways in which one message reaches a terminal or an issue.
fn wrappings(message: &str) -> Vec<String> {
    let openai = json!({"error": {"message": message, "type": "invalid_request_error", "param": null, "code": null}});
    let anthropic = json!({"type": "error", "error": {"type": "invalid_request_error", "message": message}, "request_id": "req_1"});
    let gemini =
        json!([{"error": {"code": 400, "message": message, "status": "INVALID_ARGUMENT"}}]);
    let python = message.replace('\\', "\\\\").replace('\'', "\\'");
    vec![
        message.to_owned(),
        openai.to_string(),
        serde_json::to_string_pretty(&openai).unwrap(),
        json!({"error": {"message": openai.to_string(), "code": 502}}).to_string(),
        anthropic.to_string(),
        gemini.to_string(),
        format!(
            "Error code: 400 - {{'error': {{'message': '{python}', 'type': 'invalid_request_error', 'code': None}}}}"
        ),
        format!("litellm.BadRequestError: AnthropicException - b'{anthropic}'"),
        format!(
            "2026-11-20T10:00:00Z ERROR agent: request failed: 400 {message} (request id req_1)"
        ),
        format!("  │ {} │", message.replace(' ', "\n  │ ")),
        format!("\u{1b}[31m{message}\u{1b}[0m"),
        message.replace(['\'', '`'], "\""),
        message.replace(['\'', '`'], ""),
        message.replace('_', "\\_"),
    ]
}

#[test]
fn a_message_means_the_same_in_every_wrapping() {
    for row in table()
        .iter()
        .filter(|row| !row.example.contains(['{', '\n']))
    {
        let bare = one(&row.example);
        for text in wrappings(&row.example) {
            let decoded = one(&text);
            assert_eq!(
                (
                    decoded.fault,
                    &decoded.call_ids,
                    &decoded.item_ids,
                    &decoded.tool,
                    &decoded.place.map(|place| place.indices)
                ),
                (
                    row.fault,
                    &bare.call_ids,
                    &bare.item_ids,
                    &bare.tool,
                    &bare.place.clone().map(|place| place.indices)
                ),
                "{text}"
            );
        }
    }
}

#[test]
fn an_sdk_exception_points_at_the_call_and_the_place() {
    let decoded = one(
        "openai.BadRequestError: Error code: 400 - {'error': {'message': \"An assistant message with 'tool_calls' must be followed by \
         tool messages responding to each 'tool_call_id'. The following tool_call_ids did not have response messages: call_a, call_b\", \
         'type': 'invalid_request_error', 'param': 'messages.[57].role', 'code': None}}",
    );
    assert_eq!(decoded.provider, Provider::OpenAiChat);
    assert_eq!(decoded.call_ids, ["call_a", "call_b"]);
    let place = decoded.place.unwrap();
    assert_eq!(
        (place.path.as_str(), place.text.as_str()),
        ("messages", "messages.[57].role")
    );
    assert_eq!(place.indices, [57]);
    assert_eq!(decoded.rule, Some("orphan-call"));
}

#[test]
fn a_sentence_that_two_apis_share_belongs_to_the_one_whose_place_it_names() {
    let name = |place: &str| {
        one(&format!(
            "Invalid '{place}': string does not match pattern."
        ))
        .provider
    };
    assert_eq!(name("input[1].name"), Provider::OpenAiResponses);
    assert_eq!(
        name("messages[1].tool_calls[0].function.name"),
        Provider::OpenAiChat
    );
    assert_eq!(name("tools[0].function.name"), Provider::OpenAi);
}

#[test]
fn each_bad_function_name_of_one_refusal_is_a_result() {
    let text = "* GenerateContentRequest.tools[0].function_declarations[92].name: Invalid function name. Must start with a letter or an \
        underscore.\\\\n* GenerateContentRequest.tools[0].function_declarations[93].name: Invalid function name. Must start with a letter or an underscore.";
    let indices: Vec<_> = decode(text)
        .into_iter()
        .map(|decoded| decoded.place.unwrap().indices)
        .collect();
    assert_eq!(indices, [[0, 92], [0, 93]]);
}

#[test]
fn a_program_item_without_a_valid_id_is_no_unknown_tool() {
    assert_eq!(
        one("Model produced program item without a valid call_id.").fault,
        Fault::MissingCallId
    );
}

#[test]
fn a_place_named_beside_the_message_is_read() {
    let text = "Invalid parameter: messages with role 'tool' must be a response to a preceeding message with 'tool_calls'. (param `messages.[3].role`)";
    assert_eq!(one(text).place.unwrap().indices, [3]);
}

#[test]
fn prose_and_other_errors_decode_to_nothing() {
    for text in [
        "",
        " ",
        "error",
        "{}",
        "null",
        "400 Bad Request",
        "Error: connect ECONNREFUSED 127.0.0.1:8080",
        "error[E0308]: mismatched types",
        "Tool calls must be followed by their outputs, as the manual says.",
        "The tool was not found in the box; maximum turns of the screw: ten.",
        "I found an unknown tool: hammer, perhaps?",
        "Please make sure that the reply is not too long.",
        "Each tool_use should have a tool_result in the next message.",
        r#"{"error":{"message":"Invalid value: 'object'. Supported values are: 'json_object', 'json_schema', and 'text'.","param":"response_format.type"}}"#,
        r#"{"error":{"message":"Unsupported value: 'temperature' does not support 0.2 with this model.","param":"temperature"}}"#,
        r#"{"messages":[{"role":"tool","tool_call_id":"call_a","content":"no such file"}]}"#,
        "TypeError: Invalid input, expected a number",
        "FileNotFoundError: [Errno 2] No such file or directory: 'tools.json'",
        "Repository not found: check the name of the tool.",
        "Input tag 'c' found using 'type' does not match any of the expected tags: 'a', 'b'",
    ] {
        assert_eq!(decode(text), [], "{text}");
    }
}

#[test]
fn errors_of_the_service_are_known_and_mean_no_item() {
    for text in [
        "Error code: 401 - {'error': {'message': 'Incorrect API key provided', 'type': 'invalid_request_error', 'code': 'invalid_api_key'}}",
        "Error code: 429 - {'error': {'message': 'Rate limit reached', 'type': 'tokens', 'code': 'rate_limit_exceeded'}}",
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}"#,
    ] {
        let found = decode(text);
        let [decoded] = found.as_slice() else {
            panic!("{text}: {found:?}");
        };
        assert!(decoded.fault.is_of_service(), "{text}");
        assert_eq!((decoded.rule, &decoded.place), (None, &None), "{text}");
        assert!(
            decoded.call_ids.is_empty() && decoded.item_ids.is_empty(),
            "{text}"
        );
    }
}

#[test]
fn hostile_text_is_read_quickly_and_without_panic() {
    let sentence = "No tool output found for function call call_abc.";
    let megabytes = 10 * 1024 * 1024;
    decode(sentence); // the table is compiled once
    let hostile = [
        "a".repeat(megabytes),
        "é".repeat(megabytes / 2),
        "\\".repeat(megabytes),
        "\\u".repeat(megabytes / 2),
        "{\"error\":".repeat(megabytes / 9),
        "[".repeat(megabytes),
        "messages.1.".repeat(megabytes / 11),
        "item x of type ".repeat(megabytes / 15),
        "tool tool not found in ".repeat(megabytes / 23),
        format!("{} ", sentence).repeat(megabytes / 49),
        "invalid value: a. supported values are: ".repeat(megabytes / 40),
        "\u{1b}[".repeat(megabytes / 2),
    ];
    for text in &hostile {
        let start = Instant::now();
        decode(text);
        let spent = start.elapsed();
        assert!(spent < Duration::from_secs(5), "{spent:?} for {:.40}", text);
    }
}

#[test]
fn a_sentence_at_either_end_of_a_long_log_is_found() {
    let sentence = "No tool output found for function call call_abc.";
    let noise = "2026-11-20 INFO all is well\n".repeat(400_000);
    assert_eq!(one(&format!("{sentence}\n{noise}")).call_ids, ["call_abc"]);
    assert_eq!(one(&format!("{noise}{sentence}")).call_ids, ["call_abc"]);
}
