//! What goes wrong upstream; each test is named after its row in the list of faults that retake holds to (`a7`, `a26`).

use super::*;

#[test]
fn a7_a_stream_cut_between_events_is_short_and_its_parts_of_calls_are_no_calls() {
    for dialect in DIALECTS {
        let stream = stream_of(dialect, &two_calls());
        let text = String::from_utf8(stream).unwrap();
        // The cut is after the first event that brings arguments.
        let at = ["arguments.delta", "\"arguments\":\"{", "input_json_delta"]
            .iter()
            .filter_map(|mark| text.find(mark))
            .min()
            .unwrap();
        let cut = at + text[at..].find("\n\n").unwrap() + 2;
        let mut gate = gate(dialect);
        let mut out = Vec::new();
        assert_eq!(
            gate.push(&text.as_bytes()[..cut], &mut out),
            GateStep::Flows
        );
        assert!(
            calls_of(dialect, &gate.reply().unwrap())
                .unwrap()
                .is_empty()
        );
        assert!(out.len() < cut);
        gate.release(&mut out);
        assert_eq!(out, &text.as_bytes()[..cut]);
        assert_eq!(gate.end(&mut out), StreamEnd::Short, "{dialect:?}");
    }
}

#[test]
fn a8_half_an_event_waits_and_is_told_apart_at_the_end() {
    let mut gate = gate(Dialect::Chat);
    let mut out = Vec::new();
    gate.push(b"data: {\"choices\":[]}\n\ndata: {\"cho", &mut out);
    assert_eq!(out, b"data: {\"choices\":[]}\n\n");
    assert_eq!(gate.end(&mut out), StreamEnd::InEvent);
    assert_eq!(out, b"data: {\"choices\":[]}\n\ndata: {\"cho");
}

#[test]
fn a9_half_a_character_is_told_apart_and_passes() {
    let mut gate = gate(Dialect::Chat);
    let stream = b"data: {\"choices\":[]}\n\ndata: {\"a\":\"\xf0\x9f";
    let mut out = Vec::new();
    gate.push(stream, &mut out);
    assert_eq!(gate.end(&mut out), StreamEnd::InCharacter);
    assert_eq!(out, stream);
}

#[test]
fn a10_an_end_without_its_mark_is_noticed_in_every_dialect() {
    for dialect in DIALECTS {
        let reply = NewReply {
            calls: Vec::new(),
            ..two_calls()
        };
        let events = reply.events(dialect, 3, true);
        for left in 1..3 {
            let mut gate = gate(dialect);
            let mut out = Vec::new();
            for event in &events[..events.len() - left] {
                gate.push(event.to_wire().as_bytes(), &mut out);
            }
            let expected = match dialect {
                // Nothing but the usage and the mark is missing.
                Dialect::Chat => StreamEnd::Unmarked,
                _ => StreamEnd::Short,
            };
            assert_eq!(gate.end(&mut out), expected, "{dialect:?}");
        }
    }
    let mut gate = gate(Dialect::Chat);
    let mut out = Vec::new();
    gate.push(
        &wire(&[json!({"choices": [{"delta": {"content": "half"}}]})]),
        &mut out,
    );
    assert_eq!(gate.end(&mut out), StreamEnd::Short);
}

#[test]
fn a10_calls_of_a_stream_without_its_mark_are_checked_all_the_same() {
    let mut gate = gate(Dialect::Chat);
    let piece = json!({"choices": [{"index": 0, "delta": {"tool_calls": [{"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}}]}}]});
    is_kept(&mut gate, &[piece], GateStep::Flows);
    let mut out = Vec::new();
    assert_eq!(gate.end(&mut out), StreamEnd::Short);
    assert!(out.is_empty() && gate.awaits_check());
    assert_eq!(
        calls_of(Dialect::Chat, &gate.reply().unwrap()).unwrap(),
        ["a"]
    );
    gate.sound(&mut out);
    assert!(!out.is_empty() && !gate.awaits_check());
}

#[test]
fn a11_a_malformed_event_passes_and_later_ones_are_understood() {
    let mut gate = gate(Dialect::Anthropic);
    let mut out = Vec::new();
    let broken = b"event: content_block_delta\ndata: {\"broken\n\n";
    assert_eq!(gate.push(broken, &mut out), GateStep::Flows);
    assert_eq!(out, broken);
    assert_eq!(gate.oddities().malformed, 1);
    let call = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f"}});
    is_kept(&mut gate, &[call], GateStep::Flows);
}

#[test]
fn a12_a_failure_in_the_stream_is_how_it_ended() {
    for (dialect, event) in [
        (
            Dialect::Anthropic,
            json!({"type": "error", "error": {"type": "overloaded_error", "message": "Overloaded"}}),
        ),
        (
            Dialect::Chat,
            json!({"error": {"message": "The server had an error"}}),
        ),
        (
            Dialect::Responses,
            json!({"type": "error", "code": "server_error", "message": "x", "sequence_number": 3}),
        ),
        (
            Dialect::Responses,
            json!({"type": "response.failed", "response": {"error": {"code": "server_error"}}}),
        ),
        (
            Dialect::Anthropic,
            json!({"error": {"message": "a gateway's words"}}),
        ),
    ] {
        let mut gate = gate(dialect);
        passes(&mut gate, &[event]);
        assert_eq!(gate.end(&mut Vec::new()), StreamEnd::Failed);
    }
}

#[test]
fn a18_a_page_or_a_document_passes_and_is_told_apart() {
    for text in [
        "<html><body>Sign in</body></html>",
        "{\n  \"error\": {\n    \"message\": \"x\"\n  }\n}\n",
        "{\"choices\":[]}",
    ] {
        let mut gate = gate(Dialect::Responses);
        let mut out = Vec::new();
        for byte in text.as_bytes() {
            gate.push(&[*byte], &mut out);
        }
        assert_eq!(gate.end(&mut out), StreamEnd::Foreign, "{text}");
        assert_eq!(out, text.as_bytes());
    }
}

#[test]
fn a21_past_its_limit_an_endless_line_passes_and_no_memory_is_kept() {
    let limits = StreamLimits {
        held: 1 << 20,
        event: 1 << 16,
    };
    let mut gate = Gate::new(Dialect::Chat, limits);
    let (mut passed, mut out) = (0, Vec::new());
    gate.push(b"data: ", &mut out);
    for _ in 0..1000 {
        gate.push(&[b'x'; 8192], &mut out);
        passed += out.len();
        out.clear();
        assert!(gate.sent.stream.capacity() <= 1 << 20);
    }
    assert!(gate.is_over_bound());
    assert_eq!(passed, 6 + 1000 * 8192);
    assert_eq!(gate.reply(), None);
    assert_eq!(gate.end(&mut out), StreamEnd::Unseen);
}

#[test]
fn a21_an_endless_call_is_let_go_at_the_limit() {
    let limits = StreamLimits {
        held: 1 << 16,
        event: 1 << 16,
    };
    let mut gate = Gate::new(Dialect::Anthropic, limits);
    let mut out = Vec::new();
    let start = json!({"type": "content_block_start", "index": 0, "content_block": {"type": "tool_use", "id": "t", "name": "f"}});
    let delta = json!({"type": "content_block_delta", "index": 0, "delta": {"type": "input_json_delta", "partial_json": "[[[["}});
    let mut stream = wire(&[start]);
    for _ in 0..1000 {
        stream.extend(wire(std::slice::from_ref(&delta)));
    }
    for piece in stream.chunks(997) {
        gate.push(piece, &mut out);
    }
    assert!(gate.is_over_bound());
    gate.hold();
    gate.end(&mut out);
    assert_eq!(out, stream);
}

#[test]
fn a21_calls_without_number_are_let_go() {
    let mut gate = gate(Dialect::Anthropic);
    let mut out = Vec::new();
    for index in 0..2000 {
        let start = json!({"type": "content_block_start", "index": index, "content_block": {"type": "tool_use", "id": "t", "name": "f"}});
        gate.push(&wire(&[start]), &mut out);
    }
    assert!(gate.is_over_bound());
}

#[test]
fn a23_events_behind_the_end_pass_and_are_counted() {
    let mut gate = gate(Dialect::Chat);
    let chunk = json!({"choices": [{"delta": {"content": "a"}, "finish_reason": "stop"}]});
    passes(
        &mut gate,
        &[
            chunk.clone(),
            json!("[DONE]"),
            chunk.clone(),
            chunk,
            json!("[DONE]"),
        ],
    );
    assert_eq!(gate.oddities().late, 2);
    assert_eq!(gate.end(&mut Vec::new()), StreamEnd::Whole);
}

#[test]
fn a26_pieces_of_calls_in_any_order_are_the_calls_that_were_meant() {
    let mut gate = gate(Dialect::Chat);
    let piece = |call: Value| json!({"id": "c", "choices": [{"index": 0, "delta": {"content": null, "tool_calls": [call]}}]});
    let pieces = [
        json!({"id": "c", "choices": [], "usage": null}),
        piece(
            json!({"index": 0, "id": "a", "type": "function", "function": {"name": "f", "arguments": ""}}),
        ),
        piece(json!({"index": 1, "function": {"name": "g", "arguments": "{\"y\""}})),
        piece(json!({"index": 0, "id": "a", "function": {"name": "f", "arguments": "{}"}})),
        piece(json!({"index": 1, "id": "b", "function": {"name": null, "arguments": ":1}"}})),
    ];
    passes(&mut gate, &pieces[..1]);
    is_kept(&mut gate, &pieces[1..], GateStep::Flows);
    is_kept(&mut gate, &[json!("[DONE]")], GateStep::Complete);
    let reply: Value = serde_json::from_str(&gate.reply().unwrap()).unwrap();
    let calls = &reply["choices"][0]["message"]["tool_calls"];
    assert_eq!(
        calls[0],
        json!({"id": "a", "type": "function", "function": {"name": "f", "arguments": "{}"}})
    );
    assert_eq!(
        calls[1],
        json!({"id": "b", "type": "function", "function": {"name": "g", "arguments": "{\"y\":1}"}})
    );
    assert!(calls[2].is_null());
}

#[test]
fn a26_a_call_without_its_first_event_or_without_an_index_is_kept() {
    let delta =
        json!({"type": "response.function_call_arguments.delta", "item_id": "a", "delta": "{}"});
    let done = json!({"type": "response.output_item.done", "item": {"type": "function_call", "id": "a", "call_id": "c1", "name": "f", "arguments": "{}"}});
    let mut whole = gate(Dialect::Responses);
    is_kept(&mut whole, std::slice::from_ref(&delta), GateStep::Flows);
    is_kept(&mut whole, std::slice::from_ref(&done), GateStep::Complete);
    let mut only_its_end = gate(Dialect::Responses);
    is_kept(&mut only_its_end, &[done], GateStep::Complete);
    assert_eq!(sound(&mut whole).matches("data:").count(), 2);
}

#[test]
fn a27_halves_of_a_character_in_two_deltas_are_one() {
    let mut gate = gate(Dialect::Responses);
    let mut out = Vec::new();
    let stream = "data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"item_id\":\"m\",\"delta\":\"\\ud83d\"}\n\n\
                  data: {\"type\":\"response.output_text.delta\",\"output_index\":0,\"item_id\":\"m\",\"delta\":\"\\ude00 caf\u{e9}\"}\n\n";
    for byte in stream.as_bytes() {
        gate.push(&[*byte], &mut out);
    }
    assert_eq!(out, stream.as_bytes());
    assert!(gate.reply().unwrap().contains("\u{1f600} caf\u{e9}"));
}

#[test]
fn a28_unknown_events_and_members_pass_untouched() {
    let mut gate = gate(Dialect::Responses);
    let mut out = Vec::new();
    let stream = b"event: x-debug\nid: 7\nretry: 10\ndata: {\"type\":\"x-debug\",\"n\":1e2}\n\nevent: only\n\n: comment\n\ndata:\n\n";
    gate.push(stream, &mut out);
    assert_eq!(out, stream);
    assert_eq!(gate.oddities(), Oddities::default());
}
