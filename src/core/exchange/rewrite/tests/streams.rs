//! Streams: what was sent, and what follows it.

use super::client::read;
use super::*;
use crate::wire::stream::event_value;
use crate::wire::write::push_event;
use proptest::prelude::*;
use serde_json::json;

const SUM: Usage = Usage {
    input: 1000,
    output: 50,
};

fn rest(dialect: Dialect, sent: &Sent, reply: &str) -> Vec<u8> {
    continuation(dialect, sent, reply, Usage::default(), true)
}

/// What a reply says of itself, without what a stream may say otherwise.
fn turn(dialect: Dialect, reply: &str) -> Value {
    let reply = value(reply);
    match dialect {
        Dialect::Responses => reply["output"].clone(),
        Dialect::Chat => {
            let mut message = reply["choices"][0]["message"].clone();
            let members = message.as_object_mut().unwrap();
            members.retain(|_, value| !value.is_null() && *value != json!([]));
            // Put together, calls lose the members that only one vendor knows.
            for call in members
                .get_mut("tool_calls")
                .and_then(Value::as_array_mut)
                .into_iter()
                .flatten()
            {
                call.as_object_mut().unwrap().remove("extra_content");
            }
            message
        }
        Dialect::Converse => reply["output"]["message"]["content"].clone(),
        _ => reply["content"].clone(),
    }
}

#[test]
fn a_whole_stream_says_what_the_reply_says() {
    for dialect in DIALECTS {
        let reply = rich(dialect).replace("1e400", "1");
        let stream = rest(dialect, &Sent::default(), &reply);
        let read = read(dialect, &stream);
        assert_eq!(turn(dialect, &read), turn(dialect, &reply), "{dialect:?}");
        assert_eq!(value(&read)["usage"], value(&reply)["usage"]);
        assert_eq!(value(&read)["id"], value(&reply)["id"]);
        assert_eq!(value(&read)["stop_reason"], value(&reply)["stop_reason"]);
    }
}

#[test]
fn numbers_escapes_and_signatures_are_spelled_as_they_were_given() {
    for (dialect, spellings) in [
        (
            Dialect::Responses,
            &[
                r#""encrypted_content":"gAAA\/==""#,
                r#""arguments":"{\"n\": 1e2,\"n\":2,\"s\":\"\\u00e9\"}""#,
                r#""n":1e400"#,
                r#""temperature":1.0"#,
            ][..],
        ),
        (
            Dialect::Chat,
            &[
                r#""arguments": "{\"n\": 1e2,\"n\":2}""#,
                r#"h\u006dm"#,
                r#""thought_signature": "s""#,
            ],
        ),
        (
            Dialect::Anthropic,
            &[
                r#""signature":"Er+\/=""#,
                r#"{\"n\": 1e2, \"n\": 2, \"s\": \"\\u00e9\"}"#,
                r#""data": "xx""#,
            ],
        ),
        (
            Dialect::Converse,
            &[
                r#""signature":"Er+\/=""#,
                r#"{\"n\": 1e2, \"n\": 2, \"s\": \"\\u00e9\"}"#,
                r#""redactedContent": "eHg=""#,
            ],
        ),
    ] {
        let stream = rest(dialect, &Sent::default(), rich(dialect));
        let stream = String::from_utf8(stream).unwrap();
        for spelling in spellings {
            let spelling = match dialect {
                Dialect::Anthropic => spelling.replace(r#""data": "xx""#, r#""data":"xx""#),
                _ => (*spelling).to_owned(),
            };
            assert!(stream.contains(&spelling), "{spelling} in {stream}");
        }
    }
}

#[test]
fn a_mended_turn_follows_what_the_client_has_seen() {
    for dialect in DIALECTS {
        let stream = stream_of(dialect, &seen());
        let (gate, mut out) = gate_after(dialect, &stream);
        let reply = rich(dialect).replace("1e400", "1");
        out.extend(continuation(dialect, gate.sent(), &reply, SUM, true));
        let read = value(&read(dialect, &out));
        let text = read.to_string();
        assert!(!text.contains("no_such"), "{text}");
        match dialect {
            Dialect::Responses => {
                let output = read["output"].as_array().unwrap();
                assert_eq!(output[..2], seen_items());
                assert_eq!(Value::from(output[2..].to_vec()), turn(dialect, &reply));
                assert_eq!(
                    (&read["id"], &read["model"]),
                    (&json!("resp_1"), &json!("m-2"))
                );
                let usage = json!({"input_tokens": 1000, "input_tokens_details": {"cached_tokens": 1}, "output_tokens": 50, "output_tokens_details": {"reasoning_tokens": 2}, "total_tokens": 1050});
                assert_eq!(read["usage"], usage);
            }
            Dialect::Chat => {
                let message = &read["choices"][0]["message"];
                assert_eq!(message["content"], "I look. one \u{1f600}");
                assert_eq!(message["reasoning_content"], "thinkhmm");
                assert_eq!(message["tool_calls"][0]["id"], "call_2");
                assert_eq!(
                    (&read["id"], &read["model"]),
                    (&json!("chatcmpl-1"), &json!("m-1"))
                );
                assert_eq!(read["usage"]["total_tokens"], 1050);
                assert_eq!(read["usage"]["prompt_tokens_details"]["cached_tokens"], 1);
            }
            Dialect::Converse => {
                let content = read["output"]["message"]["content"].as_array().unwrap();
                assert_eq!(content[1], json!({"text": "I look. "}));
                assert_eq!(Value::from(content[2..].to_vec()), turn(dialect, &reply));
                assert_eq!(read["stopReason"], "tool_use");
                let usage = json!({"inputTokens": 900, "cacheReadInputTokens": 100, "outputTokens": 50, "totalTokens": 1050});
                assert_eq!(read["usage"], usage);
            }
            _ => {
                let content = read["content"].as_array().unwrap();
                assert_eq!(content[1], json!({"type": "text", "text": "I look. "}));
                assert_eq!(Value::from(content[2..].to_vec()), turn(dialect, &reply));
                assert_eq!(
                    (&read["id"], &read["stop_reason"]),
                    (&json!("msg_1"), &json!("tool_use"))
                );
                let usage = json!({"input_tokens": 900, "cache_read_input_tokens": 100, "cache_creation_input_tokens": 0, "output_tokens": 50});
                assert_eq!(read["usage"], usage);
            }
        }
    }
}

/// The items of [`seen`] that pass before its call.
fn seen_items() -> [Value; 2] {
    let reply = value(&seen().spell(Dialect::Responses));
    [reply["output"][0].clone(), reply["output"][1].clone()]
}

#[test]
fn what_was_seen_at_the_beginning_of_the_turn_is_not_said_again() {
    for dialect in DIALECTS {
        let stream = stream_of(dialect, &seen());
        let (gate, mut out) = gate_after(dialect, &stream);
        let mut mended = seen();
        mended.calls[0].name = "read_file".to_owned();
        let mended = mended.spell(dialect);
        out.extend(rest(dialect, gate.sent(), &mended));
        let read = read(dialect, &out);
        assert_eq!(turn(dialect, &read), turn(dialect, &mended), "{dialect:?}");
    }
}

#[test]
fn a_call_that_was_sound_is_not_made_twice() {
    for dialect in [Dialect::Responses, Dialect::Anthropic] {
        let mut first = seen();
        let mut bad = first.calls[0].clone();
        bad.id = Some("call_2".to_owned());
        first.calls.push(bad);
        let stream = stream_of(dialect, &first);
        let (mut gate, mut out) = (Gate::new(dialect, StreamLimits::default()), Vec::new());
        let mut complete = 0;
        for piece in stream.chunks(10) {
            if gate.push(piece, &mut out) == GateStep::Complete {
                complete += 1;
                match complete {
                    1 => gate.sound(&mut out),
                    _ => gate.hold(),
                }
            }
        }
        assert_eq!(complete, 2);
        let mut mended = first;
        mended.calls[1].name = "read_file".to_owned();
        let mended = mended.spell(dialect);
        out.extend(rest(dialect, gate.sent(), &mended));
        let read = read(dialect, &out);
        assert_eq!(turn(dialect, &read), turn(dialect, &mended), "{dialect:?}");
    }
}

#[test]
fn events_of_ours_between_are_counted() {
    let stream = stream_of(Dialect::Responses, &seen());
    let (mut gate, mut out) = gate_after(Dialect::Responses, &stream);
    for _ in 0..3 {
        let number = gate.next_number();
        let beat = format!("{{\"type\":\"response.in_progress\",\"sequence_number\":{number}}}");
        push_event(&mut out, Some("response.in_progress"), &beat);
        gate.inserted(1);
    }
    out.extend(rest(Dialect::Responses, gate.sent(), RESPONSE));
    let text = String::from_utf8(out.clone())
        .unwrap()
        .replace("1e400", "1");
    read(Dialect::Responses, text.as_bytes());
}

#[test]
fn the_usage_of_a_chat_is_told_only_to_who_has_asked_for_it() {
    let reply = rich(Dialect::Chat);
    for (tells, count) in [(true, 1), (false, 0)] {
        let stream = continuation(Dialect::Chat, &Sent::default(), reply, SUM, tells);
        let text = String::from_utf8(stream).unwrap();
        assert_eq!(text.matches("\"choices\":[]").count(), count);
        assert_eq!(text.matches("prompt_tokens\"").count(), count);
    }
}

#[test]
fn the_old_function_call_and_parts_of_a_text_are_streamed_too() {
    let reply = r#"{"id":"c","choices":[{"message":{"content":[{"type":"text","text":"a"},{"type":"text","text":"b"}],"function_call":{"name":"f","arguments":"{ }"}},"finish_reason":null}]}"#;
    let stream = rest(Dialect::Chat, &Sent::default(), reply);
    let read = value(&read(Dialect::Chat, &stream));
    let message = &read["choices"][0]["message"];
    assert_eq!(message["content"], "ab");
    assert_eq!(
        message["function_call"],
        json!({"name": "f", "arguments": "{ }"})
    );
    assert_eq!(read["choices"][0]["finish_reason"], "function_call");
}

#[test]
fn items_that_were_open_are_ended_where_they_are() {
    let added = |index: u64, item: Value| json!({"type": "response.output_item.added", "output_index": index, "item": item});
    let mut events = [
        json!({"type": "response.created", "response": {"id": "resp_1", "created_at": 1, "output": []}}),
        added(
            0,
            json!({"id": "msg_1", "type": "message", "status": "in_progress", "role": "assistant", "content": []}),
        ),
        json!({"type": "response.content_part.added", "output_index": 0, "item_id": "msg_1", "content_index": 0, "part": {"type": "output_text", "text": "", "annotations": []}}),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": "hal"}),
        added(
            1,
            json!({"id": "fc_1", "type": "function_call", "call_id": "c", "name": "f", "arguments": ""}),
        ),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "msg_1", "content_index": 0, "delta": "f a word"}),
    ];
    for (number, event) in events.iter_mut().enumerate() {
        event["sequence_number"] = number.into();
    }
    let mut stream = Vec::new();
    for event in &events {
        push_event(&mut stream, event["type"].as_str(), &event.to_string());
    }
    let message = |text: &str| json!({"id": "msg_1", "type": "message", "status": "completed", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]});
    let (gate, out) = gate_after(Dialect::Responses, &stream);
    // Another turn leaves the text as it was.
    let mut other = out.clone();
    other.extend(rest(
        Dialect::Responses,
        gate.sent(),
        r#"{"id":"resp_2","output":[{"type":"message","role":"assistant","content":"hi"}]}"#,
    ));
    let seen = value(&read(Dialect::Responses, &other));
    assert_eq!(seen["output"][0], message("hal"));
    assert_eq!(seen["output"][1]["content"][0]["text"], "hi");
    assert_eq!(seen["output"][1]["id"], "msg_1_1");
    // The same turn goes on with it.
    let mut same = out;
    let whole = json!({"id": "resp_1", "output": [message("half a word")]});
    same.extend(rest(Dialect::Responses, gate.sent(), &whole.to_string()));
    assert!(String::from_utf8_lossy(&same).contains("\"delta\":\"f a word\""));
    let seen = value(&read(Dialect::Responses, &same));
    assert_eq!(seen["output"], json!([message("half a word")]));
}

#[test]
fn a_stream_that_has_ended_gets_nothing_more() {
    for dialect in DIALECTS {
        let reply = NewReply {
            calls: Vec::new(),
            ..seen()
        };
        let stream = stream_of(dialect, &reply);
        let (gate, _) = gate_after(dialect, &stream);
        assert_eq!(rest(dialect, gate.sent(), rich(dialect)), b"");
    }
}

#[test]
fn what_is_no_reply_only_ends_the_stream() {
    for dialect in DIALECTS {
        let (gate, mut out) = gate_after(dialect, &stream_of(dialect, &seen()));
        out.extend(rest(dialect, gate.sent(), "<html>"));
        read(dialect, &out);
    }
}

fn words() -> impl Strategy<Value = Option<String>> {
    prop::option::of("[a-z\\\\\"\n\u{e9}\u{1f600}]{1,8}")
}

fn any_reply(tag: &'static str) -> impl Strategy<Value = NewReply> {
    let arguments = prop_oneof![Just("{}"), Just("{\"a\": 1e2}"), Just("{\"a\":"), Just("")];
    let call = ("[a-z_]{1,6}", arguments)
        .prop_map(|(name, arguments)| ToolCall::new("", &name, arguments));
    (words(), words(), words(), prop::collection::vec(call, 0..3)).prop_map(
        move |(reasoning, text, refusal, mut calls)| {
            for (number, call) in calls.iter_mut().enumerate() {
                call.id = Some(format!("call_{tag}_{number}"));
            }
            NewReply {
                tag: tag.to_owned(),
                model: format!("m-{tag}"),
                reasoning,
                texts: text.into_iter().collect(),
                refusal,
                calls,
                input_tokens: 1,
                output_tokens: 1,
                ..NewReply::default()
            }
        },
    )
}

/// What a client has of a stream that is not over.
fn so_far(dialect: Dialect, stream: &[u8]) -> Value {
    let mut reply = dialect.codec().decoder();
    let mut splitter = crate::wire::stream::Splitter::default();
    splitter.push(stream, |event| {
        if let Some(event) = event_value(&event.data) {
            reply.push(&event);
        }
    });
    turn(dialect, &reply.finish().json)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(200))]

    #[test]
    fn behind_any_beginning_any_turn_is_the_turn(
        dialect in prop::sample::select(&DIALECTS[..]),
        first in any_reply("1"),
        second in any_reply("2"),
        cut in 0.0..1.0f64,
        sound in any::<bool>(),
    ) {
        let stream = stream_of(dialect, &first);
        let cut = (stream.len() as f64 * cut) as usize;
        let (mut gate, mut out) = (Gate::new(dialect, StreamLimits::default()), Vec::new());
        for piece in stream[..cut].chunks(7) {
            gate.push(piece, &mut out);
            if sound {
                gate.sound(&mut out);
            }
        }
        gate.hold();
        let before = so_far(dialect, &out);
        let whole = second.spell(dialect);
        // Whoever was told why the turn ended hears no more of it.
        let passed = String::from_utf8_lossy(&out).into_owned();
        let is_finished = ["finish_reason\":\"", "\"message_delta\"", "\"messageStop\""]
            .iter()
            .any(|mark| passed.contains(mark));
        out.extend(rest(dialect, gate.sent(), &whole));
        if gate.sent().is_over(dialect) || is_finished {
            read(dialect, &out);
            return Ok(());
        }
        let after = turn(dialect, &read(dialect, &out));
        let expected = turn(dialect, &whole);
        if dialect == Dialect::Chat {
            for key in ["content", "refusal", "reasoning_content"] {
                let text = |of: &Value| of[key].as_str().unwrap_or_default().to_owned();
                let (seen, new) = (text(&before), text(&expected));
                let joined = if new.starts_with(&seen) { new } else { seen + &new };
                prop_assert_eq!(text(&after), joined);
            }
            let calls = |of: &Value| of["tool_calls"].as_array().cloned().unwrap_or_default();
            prop_assert_eq!(calls(&after), [calls(&before), calls(&expected)].concat());
        } else {
            let (before, after) = (before.as_array().unwrap(), after.as_array().unwrap());
            let expected = expected.as_array().unwrap();
            // What the client has of the turn stays where it is; the rest comes at the end.
            let is_said = (0..=expected.len()).any(|had| {
                let (had, rest) = expected.split_at(had);
                after.starts_with(had) && after.ends_with(rest)
            });
            prop_assert!(is_said, "{after:?} does not hold {expected:?}");
            prop_assert!(after.len() <= before.len() + expected.len());
            for (seen, now) in before.iter().zip(after) {
                prop_assert_eq!(&seen["type"], &now["type"]);
            }
        }
    }
}
