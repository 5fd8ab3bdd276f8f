//! Any reply, spelled in any dialect and streamed in any pieces, is put together to what the dialect says in one piece.

use super::*;
use crate::wire::stream::{Decoder, Splitter};
use crate::wire::turn::Input;
use proptest::prelude::*;

const DIALECTS: [Dialect; 4] = [
    Dialect::Responses,
    Dialect::Chat,
    Dialect::Anthropic,
    Dialect::Converse,
];

fn any_text() -> impl Strategy<Value = String> {
    prop_oneof![
        "\\PC{0,40}",
        "[\\x00-\\x7f]{0,20}",
        Just("  \u{1F600}\r\n\n\u{2028}data: [DONE]\n\n".to_owned())
    ]
}

fn any_arguments() -> impl Strategy<Value = String> {
    prop_oneof![
        Just(String::new()),
        Just("{}".to_owned()),
        Just(r#"{"a": 1e2,"a":2, "b":[{"c":null}]}"#.to_owned()),
        Just(r#"{"from": "JFK", "to": "#.to_owned()),
        Just("[1, 2]".to_owned()),
        Just("  {\"n\": 12345678901234567890123}\n".to_owned()),
        any_text(),
    ]
}

fn any_reply() -> impl Strategy<Value = NewReply> {
    let call = ("[a-z]{1,8}", "[\\w.-]{1,12}", any_arguments());
    let calls = proptest::collection::vec(call, 0..4);
    let said = || proptest::option::of(any_text());
    let texts = proptest::collection::vec(any_text(), 0..4);
    let end = prop_oneof![
        Just(End::Natural),
        Just(End::Length),
        Just(End::ContentFilter)
    ];
    (said(), texts, said(), calls, end).prop_map(|(reasoning, texts, refusal, calls, end)| {
        NewReply {
            tag: "0123abc".to_owned(),
            model: "scripted:any".to_owned(),
            created: 1,
            reasoning,
            texts,
            refusal,
            tools: Vec::new(),
            calls: calls
                .into_iter()
                .map(|(id, name, arguments)| ToolCall::new(&id, &name, &arguments))
                .collect(),
            end,
            input_tokens: 3,
            output_tokens: 4,
        }
    })
}

/// What the events come to after a way over the wire in pieces of so many bytes.
fn accumulated(dialect: Dialect, events: &[NewEvent], bytes: usize) -> Box<dyn Decoder> {
    let wire = events.iter().map(NewEvent::to_wire).collect::<String>();
    let mut reply = dialect.codec().decoder();
    let mut splitter = Splitter::default();
    for chunk in wire.as_bytes().chunks(bytes) {
        splitter.push(chunk, |event| {
            match serde_json::from_str(&event.data) {
                Ok(data) => reply.push(&data),
                Err(_) => reply.push_done(),
            };
        });
    }
    reply
}

/// Without members that say nothing: a stream of Chat leaves them out.
fn told(mut value: Value) -> Value {
    fn clear(value: &mut Value) {
        match value {
            Value::Object(members) => {
                members.retain(|_, value| !value.is_null());
                members.values_mut().for_each(clear);
            }
            Value::Array(values) => values.iter_mut().for_each(clear),
            _ => {}
        }
    }
    clear(&mut value);
    value
}

proptest! {
    #[test]
    fn a_stream_in_any_pieces_comes_to_the_whole_reply(
        reply in any_reply(), piece in 1_usize..30, bytes in 1_usize..200
    ) {
        for dialect in DIALECTS {
            let events = reply.events(dialect, piece, true);
            let found = accumulated(dialect, &events, bytes);
            // A stream of Converse is written from the whole reply, where white space around a value is none.
            let spelled = |arguments: &str| match dialect {
                Dialect::Converse => arguments.trim().to_owned(),
                _ => arguments.to_owned(),
            };
            let calls = found.calls().iter().map(|call| {
                (call.id.to_owned(), call.name.to_string(), spelled(call.arguments))
            }).collect::<Vec<_>>();
            let wanted = reply.calls.iter().map(|call| {
                // Where the input is a value, no text of it is an empty object.
                let arguments = call.input.as_written();
                let is_empty = dialect.facts().object_arguments && arguments.trim().is_empty();
                let arguments = if is_empty { "{}" } else { arguments };
                (call.id.clone().unwrap(), call.name.clone(), spelled(arguments))
            }).collect::<Vec<_>>();
            prop_assert_eq!(calls, wanted, "{:?}", dialect);
            let found = found.finish();
            prop_assert!(found.ended && found.failures.is_empty());
            let whole = reply.spell(dialect);
            if dialect == Dialect::Anthropic {
                // Not only the values: arguments keep every character.
                prop_assert_eq!(&found.json, &whole);
            }
            let [found, whole] = [&found.json, &whole].map(|text| told(serde_json::from_str(text).unwrap()));
            prop_assert_eq!(found, whole, "{:?}", dialect);
        }
    }

    #[test]
    fn the_deltas_alone_say_everything(reply in any_reply(), piece in 1_usize..30) {
        let events = reply.events(Dialect::Responses, piece, true);
        let grows = |event: &&NewEvent| {
            let name = event.name.as_deref().unwrap_or_default();
            name.ends_with(".added") || name.ends_with(".delta")
        };
        let events = events.iter().filter(grows).cloned().collect::<Vec<_>>();
        let found = accumulated(Dialect::Responses, &events, 64);
        prop_assert!(found.calls().iter().zip(&reply.calls).all(|(found, call)| found.arguments == call.input.as_written()));
        let found = serde_json::from_str::<Value>(&found.finish().json).unwrap();
        let whole = serde_json::from_str::<Value>(&reply.spell(Dialect::Responses)).unwrap();
        let said = |value: &Value| {
            let items = value["output"].as_array().unwrap().iter();
            items.map(|item| [&item["content"], &item["summary"]].map(Clone::clone)).collect::<Vec<_>>()
        };
        prop_assert_eq!(said(&found), said(&whole));
    }
}

#[test]
fn a_text_comes_in_several_deltas() {
    let reply = NewReply {
        texts: vec!["a flight at nine".to_owned()],
        ..NewReply::default()
    };
    for dialect in DIALECTS {
        let events = reply.events(dialect, 5, false);
        let deltas = events.iter().filter(|event| {
            let data = &event.data;
            data.contains("a fli") || data.contains("ght a") || data.contains("t nin")
        });
        assert!(deltas.count() >= 3, "{dialect:?}");
    }
    assert_eq!(pieces("añb", 2), ["añ", "b"]);
}

#[test]
fn errors_are_spelled_as_the_provider_would() {
    assert_eq!(
        Dialect::Anthropic
            .codec()
            .error(529, "Overloaded", None, "1")
            .to_string(),
        r#"{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"},"request_id":"req_1"}"#
    );
    assert_eq!(
        Dialect::Chat
            .codec()
            .error(429, "Slow down", None, "1")
            .to_string(),
        r#"{"error":{"message":"Slow down","type":"rate_limit_error","param":null,"code":"rate_limit_exceeded"}}"#
    );
}

#[test]
fn a_call_of_a_custom_tool_is_one_in_responses_and_a_function_call_elsewhere() {
    let input = "*** Begin Patch\n*** End Patch\n";
    let reply = NewReply {
        calls: vec![ToolCall {
            input: Input::Free(input.to_owned()),
            ..ToolCall::new("call_1", "apply_patch", "")
        }],
        ..NewReply::default()
    };
    for dialect in DIALECTS {
        let expected = match dialect {
            Dialect::Responses => input,
            _ => r#"{"input":"*** Begin Patch\n*** End Patch\n"}"#,
        };
        let events = reply.events(dialect, 5, true);
        let found = accumulated(dialect, &events, 7);
        let arguments = found
            .calls()
            .iter()
            .map(|call| call.arguments)
            .collect::<Vec<_>>();
        assert_eq!(arguments, [expected], "{dialect:?}");
    }
    let whole = reply.spell(Dialect::Responses);
    let whole: Value = serde_json::from_str(&whole).unwrap();
    let call = &whole["output"][0];
    assert_eq!(
        (&call["type"], &call["input"]),
        (&"custom_tool_call".into(), &input.into())
    );
}

#[test]
fn several_texts_are_a_message_each_in_responses_a_block_each_in_anthropic_and_one_message_in_chat()
{
    let reply = NewReply {
        texts: ["Let me look.", "", "{\"city\": \"Paris\"}"]
            .map(str::to_owned)
            .into(),
        refusal: Some("no more".to_owned()),
        ..NewReply::default()
    };
    let said = |dialect: Dialect, pointer: &str| {
        let whole: Value = serde_json::from_str(&reply.spell(dialect)).unwrap();
        whole.pointer(pointer).unwrap().clone()
    };
    let messages = said(Dialect::Responses, "/output");
    let messages = messages.as_array().unwrap().iter();
    let (ids, texts): (Vec<&Value>, Vec<&Value>) = messages
        .map(|message| (&message["id"], &message["content"][0]["text"]))
        .unzip();
    assert_eq!(texts, ["Let me look.", "", "{\"city\": \"Paris\"}"]);
    assert_eq!(ids, ["msg_", "msg__1", "msg__2"]);
    let refusal = said(Dialect::Responses, "/output/2/content/1/refusal");
    assert_eq!(refusal, "no more");
    let blocks = said(Dialect::Anthropic, "/content");
    let blocks = blocks.as_array().unwrap().iter();
    let blocks = blocks.map(|block| &block["text"]).collect::<Vec<_>>();
    assert_eq!(
        blocks,
        ["Let me look.", "", "{\"city\": \"Paris\"}", "no more"]
    );
    let content = said(Dialect::Chat, "/choices/0/message/content");
    assert_eq!(content, "Let me look.\n{\"city\": \"Paris\"}");
}

#[test]
fn a_response_repeats_the_tools_of_its_request() {
    let tool =
        serde_json::json!({"type": "function", "name": "f", "parameters": {"type": "object"}});
    let reply = NewReply {
        tools: vec![tool.clone()],
        ..NewReply::default()
    };
    let whole = reply.spell(Dialect::Responses);
    let whole: Value = serde_json::from_str(&whole).unwrap();
    assert_eq!(whole["tools"], serde_json::json!([tool]));
    let events = reply.events(Dialect::Responses, 24, false);
    let created: Value = serde_json::from_str(&events[0].data).unwrap();
    assert_eq!(created["response"]["tools"], serde_json::json!([tool]));
}

#[test]
fn a_call_has_its_namespace_as_a_member_in_responses() {
    let calls = [
        (Some("files"), "read"),
        (None, "read"),
        (None, "files.read"),
    ];
    let calls = calls.map(|(namespace, name)| ToolCall {
        namespace: namespace.map(str::to_owned),
        ..ToolCall::new("c", name, "{}")
    });
    let reply = NewReply {
        calls: calls.to_vec(),
        ..NewReply::default()
    };
    let spelled: Value = serde_json::from_str(&reply.spell(Dialect::Responses)).unwrap();
    let items = spelled["output"].as_array().unwrap().iter();
    let items: Vec<_> = items
        .map(|item| (item["namespace"].as_str(), item["name"].as_str().unwrap()))
        .collect();
    assert_eq!(
        items,
        [
            (Some("files"), "read"),
            (None, "read"),
            (None, "files.read")
        ]
    );
    let events = reply.events(Dialect::Responses, 3, true);
    let read = accumulated(Dialect::Responses, &events, 50);
    let read: Vec<_> = read
        .calls()
        .into_iter()
        .map(|call| call.name.into_owned())
        .collect();
    assert_eq!(read, ["files.read", "read", "files.read"]);
}
