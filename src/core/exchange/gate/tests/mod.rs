//! Stories of streams at the gate, dialect by dialect.

mod faults;

use super::*;
use crate::wire::ToolCall;
use crate::wire::write::{NewReply, calls_of};
use serde_json::{Value, json};

fn wire(events: &[Value]) -> Vec<u8> {
    let spell = |event: &Value| match event {
        Value::String(mark) => format!("data: {mark}\n\n"),
        event => match event["type"].as_str() {
            Some(kind) => format!("event: {kind}\ndata: {event}\n\n"),
            None => format!("data: {event}\n\n"),
        },
    };
    events.iter().map(spell).collect::<String>().into_bytes()
}

fn gate(dialect: Dialect) -> Gate {
    Gate::new(dialect, StreamLimits::default())
}

/// What passes of these events, and whether a call is complete by them.
fn push(gate: &mut Gate, events: &[Value]) -> (String, GateStep) {
    let mut out = Vec::new();
    let step = gate.push(&wire(events), &mut out);
    (String::from_utf8(out).unwrap(), step)
}

fn passes(gate: &mut Gate, events: &[Value]) {
    let expected = (String::from_utf8(wire(events)).unwrap(), GateStep::Flows);
    assert_eq!(push(gate, events), expected);
}

fn is_kept(gate: &mut Gate, events: &[Value], step: GateStep) {
    assert_eq!(push(gate, events), (String::new(), step));
}

fn sound(gate: &mut Gate) -> String {
    let mut out = Vec::new();
    gate.sound(&mut out);
    String::from_utf8(out).unwrap()
}

fn text_of(events: &[&[Value]]) -> String {
    events
        .iter()
        .map(|events| String::from_utf8(wire(events)).unwrap())
        .collect()
}

fn two_calls() -> NewReply {
    let call = |id: &str, arguments: &str| ToolCall::new(id, "read", arguments);
    NewReply {
        tag: "t".to_owned(),
        model: "m".to_owned(),
        reasoning: Some("hm".to_owned()),
        texts: vec!["I look.".to_owned()],
        calls: vec![call("call_1", "{\"a\":1}"), call("call_2", "{\"b\":2}")],
        ..NewReply::default()
    }
}

fn stream_of(dialect: Dialect, reply: &NewReply) -> Vec<u8> {
    let events = reply.events(dialect, 3, true);
    events
        .iter()
        .map(|event| event.to_wire())
        .collect::<String>()
        .into_bytes()
}

const DIALECTS: [Dialect; 3] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic];

#[test]
fn items_of_a_response_pass_until_a_call_begins_and_behind_the_last_sound_one() {
    let mut gate = gate(Dialect::Responses);
    let open =
        [json!({"type": "response.created", "response": {"id": "resp_1"}, "sequence_number": 0})];
    let text = [
        json!({"type": "response.output_item.added", "output_index": 0, "item": {"type": "message", "id": "m"}, "sequence_number": 1}),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": "function_call", "sequence_number": 2}),
    ];
    let first = [
        json!({"type": "response.output_item.added", "output_index": 1, "item": {"type": "function_call", "id": "a"}, "sequence_number": 3}),
        json!({"type": "response.function_call_arguments.delta", "output_index": 1, "item_id": "a", "delta": "{}", "sequence_number": 4}),
    ];
    let second = [
        json!({"type": "response.output_item.added", "output_index": 2, "item": {"type": "custom_tool_call", "id": "b"}, "sequence_number": 5}),
        json!({"type": "response.output_text.delta", "output_index": 0, "item_id": "m", "delta": " more", "sequence_number": 6}),
    ];
    let first_ends = [
        json!({"type": "response.output_item.done", "output_index": 1, "item": {"type": "function_call", "id": "a", "call_id": "c1", "name": "f", "arguments": "{}"}, "sequence_number": 7}),
    ];
    let second_ends = [
        json!({"type": "response.output_item.done", "output_index": 2, "item": {"type": "custom_tool_call", "id": "b", "call_id": "c2", "name": "g", "input": "x"}, "sequence_number": 8}),
        json!({"type": "response.completed", "response": {"id": "resp_1", "output": []}, "sequence_number": 9}),
    ];
    passes(&mut gate, &open);
    passes(&mut gate, &text);
    is_kept(&mut gate, &first, GateStep::Flows);
    is_kept(&mut gate, &second, GateStep::Flows);
    is_kept(&mut gate, &first_ends, GateStep::Complete);
    let reply = gate.reply().unwrap();
    assert_eq!(
        calls_of(Dialect::Responses, &reply).unwrap(),
        ["c1"],
        "{reply}"
    );
    assert!(reply.contains("function_call more"), "{reply}");
    // The first is sound; the second has begun before it ended.
    assert_eq!(sound(&mut gate), text_of(&[&first]));
    is_kept(&mut gate, &second_ends, GateStep::Complete);
    let reply = gate.reply().unwrap();
    assert_eq!(calls_of(Dialect::Responses, &reply).unwrap(), ["c1", "c2"]);
    assert_eq!(
        sound(&mut gate),
        text_of(&[&second, &first_ends, &second_ends])
    );
    assert_eq!(gate.end(&mut Vec::new()), StreamEnd::Whole);
}

#[test]
fn a_call_that_only_the_end_of_a_response_tells_of_is_kept() {
    let mut gate = gate(Dialect::Responses);
    let call = json!({"type": "function_call", "id": "a", "call_id": "c1", "name": "f", "arguments": "{}"});
    let end = json!({"type": "response.completed", "response": {"output": [call]}});
    is_kept(&mut gate, &[end], GateStep::Complete);
    let reply = gate.reply().unwrap();
    assert_eq!(calls_of(Dialect::Responses, &reply).unwrap(), ["c1"]);
}

#[test]
fn blocks_of_a_message_pass_but_for_calls_of_the_client() {
    let mut gate = gate(Dialect::Anthropic);
    let start = |index: u64, block: Value| json!({"type": "content_block_start", "index": index, "content_block": block});
    let input = |index: u64| json!({"type": "content_block_delta", "index": index, "delta": {"type": "input_json_delta", "partial_json": "{}"}});
    let stop = |index: u64| json!({"type": "content_block_stop", "index": index});
    let hosted = [
        json!({"type": "message_start", "message": {"id": "msg_1", "content": []}}),
        start(
            0,
            json!({"type": "server_tool_use", "id": "srvtoolu_1", "name": "web_search", "input": {}}),
        ),
        input(0),
        json!({"type": "ping"}),
        stop(0),
    ];
    passes(&mut gate, &hosted);
    let call = [
        start(
            1,
            json!({"type": "tool_use", "id": "toolu_1", "name": "f", "input": {}}),
        ),
        input(1),
    ];
    is_kept(&mut gate, &call, GateStep::Flows);
    let ping = [json!({"type": "ping"})];
    is_kept(&mut gate, &ping, GateStep::Flows);
    is_kept(&mut gate, &[stop(1)], GateStep::Complete);
    assert_eq!(sound(&mut gate), text_of(&[&call, &ping, &[stop(1)]]));
    passes(&mut gate, &[json!({"type": "message_stop"})]);
    assert_eq!(gate.end(&mut Vec::new()), StreamEnd::Whole);
}

#[test]
fn chunks_pass_until_a_call_begins_and_all_calls_end_together() {
    let mut gate = gate(Dialect::Chat);
    let chunk = |delta: Value, reason: Value| json!({"id": "c", "choices": [{"index": 0, "delta": delta, "finish_reason": reason}]});
    passes(
        &mut gate,
        &[chunk(
            json!({"role": "assistant", "content": ""}),
            Value::Null,
        )],
    );
    passes(
        &mut gate,
        &[chunk(json!({"content": "tool_calls"}), Value::Null)],
    );
    let piece = |index: u64, id: Value, arguments: &str| {
        chunk(
            json!({"tool_calls": [{"index": index, "id": id, "function": {"name": "f", "arguments": arguments}}]}),
            Value::Null,
        )
    };
    let calls = [
        piece(0, json!("a"), "{\"x\":"),
        piece(1, json!("b"), "{}"),
        piece(0, Value::Null, "1}"),
    ];
    is_kept(&mut gate, &calls, GateStep::Flows);
    assert!(!gate.reply().unwrap().contains("\"x\""));
    let end = [chunk(json!({}), json!("tool_calls"))];
    is_kept(&mut gate, &end, GateStep::Complete);
    assert_eq!(
        calls_of(Dialect::Chat, &gate.reply().unwrap()).unwrap(),
        ["a", "b"]
    );
    assert_eq!(sound(&mut gate), text_of(&[&calls, &end]));
    let usage = json!({"id": "c", "choices": [], "usage": {"total_tokens": 3}});
    passes(&mut gate, &[usage, json!("[DONE]")]);
    assert_eq!(gate.end(&mut Vec::new()), StreamEnd::Whole);
}

#[test]
fn what_is_held_stays_kept_and_is_released_as_it_came() {
    for dialect in DIALECTS {
        let stream = stream_of(dialect, &two_calls());
        let mut gate = gate(dialect);
        let mut out = Vec::new();
        let mut pieces = stream.chunks(5);
        for piece in pieces.by_ref() {
            if gate.push(piece, &mut out) == GateStep::Complete {
                break;
            }
        }
        gate.hold();
        let seen = out.len();
        for piece in pieces {
            assert_eq!(gate.push(piece, &mut out), GateStep::Flows);
        }
        assert_eq!(gate.end(&mut out), StreamEnd::Whole);
        assert_eq!(out.len(), seen, "{dialect:?}");
        assert!(!gate.awaits_check());
        let reply = gate.reply().unwrap();
        assert_eq!(calls_of(dialect, &reply).unwrap(), ["call_1", "call_2"]);
        gate.release(&mut out);
        assert_eq!(out, stream, "{dialect:?}");
    }
}

#[test]
fn what_comes_after_a_release_passes_at_once() {
    for dialect in DIALECTS {
        let stream = stream_of(dialect, &two_calls());
        let mut gate = gate(dialect);
        let (mut out, mut is_released, mut behind) = (Vec::new(), false, 0);
        for piece in stream.split_inclusive(|byte| *byte == b'\n') {
            gate.push(piece, &mut out);
            if gate.calls.first().is_some() && !is_released {
                gate.release(&mut out);
                is_released = true;
            }
            behind = behind.max(if is_released {
                gate.whole - out.len().min(gate.whole)
            } else {
                0
            });
        }
        assert!(is_released);
        assert_eq!(behind, 0);
        assert_eq!(out, stream);
    }
}

#[test]
fn events_behind_inserted_ones_are_numbered_on() {
    let stream = stream_of(Dialect::Responses, &two_calls());
    let mut gate = gate(Dialect::Responses);
    let mut out = Vec::new();
    for piece in stream.chunks(11) {
        if gate.push(piece, &mut out) == GateStep::Complete {
            let number = gate.next_number();
            let beat = gate.in_progress().unwrap().to_owned();
            assert!(beat.contains("response.in_progress"), "{beat}");
            for number in number..number + 2 {
                let event = json!({"type": "response.in_progress", "sequence_number": number});
                out.extend(wire(&[event]));
            }
            gate.inserted(2);
            assert_eq!(gate.next_number(), number + 2);
            gate.sound(&mut out);
        }
    }
    gate.end(&mut out);
    let (mut last, mut count) = (None, 0);
    for event in events(&out) {
        let data = data_of(&out, event).unwrap();
        let number = classify(Dialect::Responses, &data).unwrap().number;
        assert!(number > last, "{number:?} behind {last:?}");
        (last, count) = (number, count + 1);
    }
    assert_eq!(last, Some(count - 1));
    let came = events(&stream).count() as u64;
    assert_eq!(count, came + 4, "two calls, two beats before each");
}

#[test]
fn a_number_is_found_on_any_line_of_an_event() {
    let mut gate = gate(Dialect::Responses);
    gate.inserted(5);
    let mut out = Vec::new();
    gate.push(b": n\nevent: x\r\ndata: {\"type\":\"x\",\ndata:\"sequence_number\": 7,\ndata: \"a\":{\"sequence_number\":1}}\n\n", &mut out);
    let expected = ": n\nevent: x\r\ndata: {\"type\":\"x\",\ndata:\"sequence_number\": 12,\ndata: \"a\":{\"sequence_number\":1}}\n\n";
    assert_eq!(String::from_utf8(out).unwrap(), expected);
}
