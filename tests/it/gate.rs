//! Streams through the gate: whatever they hold and however they are cut, what passes is what came.
#![allow(clippy::unwrap_used)]

use base64::prelude::{BASE64_STANDARD, Engine};
use proptest::prelude::*;
use retake_core::exchange::gate::{Gate, GateStep, StreamEnd, StreamLimits};
use retake_core::session::Dialect;
use retake_core::wire::ToolCall;
use retake_core::wire::write::{NewReply, calls_of};
use serde_json::Value;
use std::path::Path;

const CASES: &str = include_str!("hostile/sse_cases.json");
const DIALECTS: [Dialect; 3] = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic];

/// Who stands at the gate.
#[derive(Debug, Clone, Copy)]
enum Watch {
    /// Every call is sound as soon as it is complete.
    Sound,
    /// Calls are checked late, several at a time.
    Late,
    /// The first call holds the reply, which is released at its end.
    Holds,
    /// The reply is released in the middle.
    Released,
}

/// What a stream in such pieces becomes, and how it ended.
fn through(
    dialect: Dialect,
    watch: Watch,
    pieces: impl Iterator<Item = impl AsRef<[u8]>>,
) -> (Vec<u8>, StreamEnd) {
    let (mut gate, mut out) = (Gate::new(dialect, StreamLimits::default()), Vec::new());
    let mut complete = 0;
    for piece in pieces {
        if gate.push(piece.as_ref(), &mut out) == GateStep::Flows {
            continue;
        }
        complete += 1;
        match watch {
            Watch::Sound => gate.sound(&mut out),
            Watch::Late if complete % 3 == 0 => gate.sound(&mut out),
            Watch::Late => {}
            Watch::Holds => gate.hold(),
            Watch::Released => gate.release(&mut out),
        }
    }
    let end = gate.end(&mut out);
    match watch {
        Watch::Sound | Watch::Late => gate.sound(&mut out),
        Watch::Holds | Watch::Released => gate.release(&mut out),
    }
    (out, end)
}

fn assert_same(dialect: Dialect, watch: Watch, stream: &[u8], size: usize) {
    let (out, _) = through(dialect, watch, stream.chunks(size.max(1)));
    assert!(
        out == stream,
        "{dialect:?}, {watch:?}, pieces of {size}: {} of {} bytes",
        out.len(),
        stream.len()
    );
}

const WATCHES: [Watch; 4] = [Watch::Sound, Watch::Late, Watch::Holds, Watch::Released];

#[test]
fn a13_every_spelling_of_a_stream_passes_byte_for_byte() {
    let file: Value = serde_json::from_str(CASES).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 60);
    for case in cases {
        let bytes = match case["raw_b64"].as_str() {
            Some(raw) => BASE64_STANDARD.decode(raw).unwrap(),
            None => {
                let runs = case["raw_latin1_rle"].as_array().unwrap();
                let text = runs.iter().map(|run| {
                    let count = run[1].as_u64().unwrap() as usize;
                    run[0].as_str().unwrap().repeat(count)
                });
                text.collect::<String>().into_bytes()
            }
        };
        for dialect in DIALECTS {
            for size in [bytes.len(), 1, 3] {
                assert_same(dialect, Watch::Sound, &bytes, size);
            }
            assert_same(dialect, Watch::Holds, &bytes, 2);
        }
        if bytes.len() > 1000 {
            continue;
        }
        for cut in 0..bytes.len() {
            let pieces = [&bytes[..cut], &bytes[cut..]];
            let (out, _) = through(Dialect::Chat, Watch::Sound, pieces.into_iter());
            assert_eq!(out, bytes, "{} cut at {cut}", case["id"]);
        }
    }
}

#[test]
fn recorded_streams_pass_byte_for_byte() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let mut count = 0;
    for entry in folder.read_dir().unwrap() {
        let path = entry.unwrap().path();
        if path.extension().is_none_or(|extension| extension != "sse") {
            continue;
        }
        count += 1;
        let stream = std::fs::read(&path).unwrap();
        for (dialect, watch) in DIALECTS
            .into_iter()
            .flat_map(|one| WATCHES.map(|two| (one, two)))
        {
            for size in [1, 7, 4096] {
                assert_same(dialect, watch, &stream, size);
            }
        }
    }
    assert!(count > 0);
}

fn text() -> impl Strategy<Value = String> {
    prop_oneof![
        "[a-z \\\\\"\u{e9}\u{1f600}]{0,12}",
        Just("\"tool_calls\":[{".to_owned()),
        Just("data: [DONE]".to_owned()),
    ]
}

fn reply() -> impl Strategy<Value = NewReply> {
    let call = (text(), text()).prop_map(|(name, arguments)| ToolCall::new("", &name, &arguments));
    (
        prop::option::of(text()),
        prop::collection::vec(text(), 0..3),
        prop::option::of(text()),
        prop::collection::vec(call, 0..4),
    )
        .prop_map(|(reasoning, texts, refusal, mut calls)| {
            for (number, call) in calls.iter_mut().enumerate() {
                call.id = Some(format!("call_{number}"));
            }
            NewReply {
                tag: "t".to_owned(),
                model: "m".to_owned(),
                reasoning,
                texts,
                refusal,
                calls,
                ..NewReply::default()
            }
        })
}

/// An event as a server may send it, and what may stand between two.
fn event(dialect: Dialect) -> impl Strategy<Value = String> {
    let whole = (reply(), 1..5usize, any::<prop::sample::Index>()).prop_map(
        move |(reply, piece, place)| {
            let events = reply.events(dialect, piece, true);
            events[place.index(events.len())].to_wire()
        },
    );
    prop_oneof![
        6 => whole,
        1 => Just(": comment\n\n".to_owned()),
        1 => Just("data: {\"broken\n\n".to_owned()),
        1 => Just("data: [DONE]\n\n".to_owned()),
        1 => Just("event: x\nid: 1\n".to_owned()),
        1 => Just("\u{feff}".to_owned()),
        1 => Just("data: {\"type\":\"response.output_item.done\",\ndata: \"item\":{\"type\":\"custom_tool_call\"}}\n\n".to_owned()),
    ]
}

fn spelled(lines: &str, end: usize) -> Vec<u8> {
    let end = ["\n", "\r\n", "\r"][end % 3];
    lines.replace('\n', end).into_bytes()
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(96))]

    #[test]
    fn any_events_in_any_pieces_pass_byte_for_byte(
        (dialect, events) in prop::sample::select(&DIALECTS[..])
            .prop_flat_map(|dialect| (Just(dialect), prop::collection::vec(event(dialect), 0..40))),
        watch in prop::sample::select(&WATCHES[..]),
        end in 0..3usize,
        sizes in prop::collection::vec(1..60usize, 1..20),
        cut in 0..10usize,
    ) {
        let mut stream = spelled(&events.concat(), end);
        stream.truncate(stream.len().saturating_sub(cut));
        let (mut rest, mut pieces) = (&stream[..], Vec::new());
        for size in sizes.iter().cycle() {
            if rest.is_empty() {
                break;
            }
            let (piece, behind) = rest.split_at((*size).min(rest.len()));
            pieces.push(piece);
            rest = behind;
        }
        let (out, _) = through(dialect, watch, pieces.into_iter());
        prop_assert_eq!(&out, &stream);
        for size in [1, stream.len().max(1)] {
            let (out, _) = through(dialect, watch, stream.chunks(size));
            prop_assert_eq!(&out, &stream);
        }
    }

    #[test]
    fn a_held_reply_is_the_whole_reply_and_no_call_of_it_has_passed(
        dialect in prop::sample::select(&DIALECTS[..]),
        reply in reply(),
        piece in 1..5usize,
        size in 1..200usize,
    ) {
        let events = reply.events(dialect, piece, true);
        let stream = events.iter().map(|event| event.to_wire()).collect::<String>();
        let (mut gate, mut out) = (Gate::new(dialect, StreamLimits::default()), Vec::new());
        for piece in stream.as_bytes().chunks(size) {
            if gate.push(piece, &mut out) == GateStep::Complete {
                gate.hold();
            }
        }
        prop_assert_eq!(gate.end(&mut out), StreamEnd::Whole);
        let ids = reply.calls.iter().filter_map(|call| call.id.clone()).collect::<Vec<_>>();
        prop_assert_eq!(calls_of(dialect, &gate.reply().unwrap()).unwrap(), ids.clone());
        let passed = String::from_utf8(out.clone()).unwrap();
        prop_assert!(!passed.contains("call_0"));
        // The end of a refusal waits like a call.
        if reply.refusal.is_none() {
            prop_assert_eq!(passed.len() == stream.len(), ids.is_empty());
        }
        gate.release(&mut out);
        prop_assert_eq!(&out, stream.as_bytes());
    }
}
