//! Byte streams and the events that a WHATWG parser gives for them, pushed whole, byte by byte and in uneven pieces.
#![allow(clippy::unwrap_used, clippy::print_stderr)]

use base64::prelude::{BASE64_STANDARD, Engine};
use retake_core::session::Dialect;
use retake_core::wire::stream::{Splitter, StreamEvent};
use serde_json::{Value, json};

const CASES: &str = include_str!("hostile/sse_cases.json");

fn split(bytes: &[u8], size: usize) -> (Vec<StreamEvent>, Splitter) {
    let (mut events, mut splitter) = (Vec::new(), Splitter::default());
    for piece in bytes.chunks(size.max(1)) {
        splitter.push(piece, |event| events.push(event));
    }
    (events, splitter)
}

#[test]
fn streams_are_cut_into_the_events_of_the_standard() {
    let file: Value = serde_json::from_str(CASES).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 60);
    let mut whole = 0;
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let (Some(raw), Some(expected)) = (case["raw_b64"].as_str(), case["events"].as_array())
        else {
            assert_long(id, case);
            continue;
        };
        whole += 1;
        let bytes = BASE64_STANDARD.decode(raw).unwrap();
        for size in [bytes.len(), 1, 2, 3, 7] {
            let (events, splitter) = split(&bytes, size);
            let found = events
                .iter()
                .map(|event| (&*event.name, &*event.data, &*event.id));
            let wanted = expected.iter().map(|event| {
                let text = |key: &str| event[key].as_str().unwrap();
                (text("event"), text("data"), text("id"))
            });
            let (found, wanted) = (found.collect::<Vec<_>>(), wanted.collect::<Vec<_>>());
            assert_eq!(found, wanted, "{id} in pieces of {size}");
            assert_eq!(splitter.retry(), case["retry"].as_u64(), "{id}");
            let tail = case["unterminated_tail"].as_bool().unwrap();
            assert_eq!(splitter.is_within_line(), tail, "{id}");
            let ordered = events
                .windows(2)
                .all(|pair| pair[0].range.end <= pair[1].range.start);
            assert!(ordered, "{id}");
        }
    }
    assert!(whole >= 55, "{whole}");
}

/// Streams that are stored as runs of a text.
fn assert_long(id: &str, case: &Value) {
    let runs = case["raw_latin1_rle"].as_array().unwrap();
    let text = runs.iter().map(|run| {
        let count = run[1].as_u64().unwrap() as usize;
        run[0].as_str().unwrap().repeat(count)
    });
    let bytes = text.collect::<String>().into_bytes();
    for size in [bytes.len(), 1, 1000] {
        let (events, _) = split(&bytes, size);
        assert_eq!(
            events.len() as u64,
            case["events_count"].as_u64().unwrap(),
            "{id}"
        );
        let first = case["first_event_len"].as_u64().unwrap();
        assert_eq!(events[0].data.len() as u64, first, "{id}");
    }
}

#[test]
fn a_giant_event_takes_linear_time() {
    let data = "x".repeat(8 << 20);
    let text = format!("data: {data}\n\n");
    let (events, _) = split(text.as_bytes(), 1000);
    assert_eq!(events[0].data.len(), data.len());
    let lines = "data: a\n".repeat(200_000) + "\n";
    let (events, _) = split(lines.as_bytes(), 1000);
    assert_eq!(events[0].data.len(), 2 * 200_000 - 1);
}

const REPORTED: &str = "../shared/corpus/reported_cases/vectors.jsonl";

#[test]
fn deltas_as_reported_give_the_calls_that_were_meant() {
    let Ok(text) = std::fs::read_to_string(REPORTED) else {
        return eprintln!("skipped: {REPORTED} is absent");
    };
    let cases = text
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let cases = cases
        .filter(|case| case["kind"] == "openai_chat_deltas")
        .collect::<Vec<_>>();
    let names = [
        &["bash"][..],
        &["read_file", "write_file", "read_file"],
        &["weather", "weather"],
    ];
    assert_eq!(cases.len(), names.len());
    for (case, names) in cases.iter().zip(names) {
        let mut reply = Dialect::Chat.codec().decoder();
        for delta in case["deltas"].as_array().unwrap() {
            reply.push(&json!({"choices": [{"index": 0, "delta": delta}]}));
        }
        let found = reply
            .calls()
            .iter()
            .map(|call| call.name.to_string())
            .collect::<Vec<_>>();
        assert_eq!(found, names, "{}", case["cls"]);
        let arguments = reply
            .calls()
            .iter()
            .all(|call| call.arguments.starts_with('{'));
        assert!(arguments, "{}", case["cls"]);
    }
}
