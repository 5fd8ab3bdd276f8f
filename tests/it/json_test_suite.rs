//! The JSON parsing test suite as whole files and as lines between good ones: whatever a line holds, its neighbours are read.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use base64::prelude::{BASE64_STANDARD, Engine};
use retake_core::formats::{self, Contents, Sample};
use retake_core::session::{Kind, Source};
use serde_json::Value;
use std::sync::Arc;

const SUITE: &str = "../shared/suites/json_test_suite.json";

const BEFORE: &[u8] = br#"{"role":"user","content":"before"}"#;
const BEHIND: &[u8] = br#"{"role":"assistant","content":"behind"}"#;

fn cases() -> Vec<(String, Vec<u8>)> {
    let Ok(text) = std::fs::read_to_string(SUITE) else {
        eprintln!("skipped: {SUITE} is absent");
        return Vec::new();
    };
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    assert_eq!(cases.len(), 318);
    let decode = |case: &Value| {
        let bytes = BASE64_STANDARD.decode(case["bytes_b64"].as_str().unwrap());
        (case["name"].as_str().unwrap().to_owned(), bytes.unwrap())
    };
    cases.iter().map(decode).collect()
}

fn read_as(format: &str, bytes: &[u8]) -> Contents {
    let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
    formats::read_buffer(formats::find(format).unwrap(), &source, bytes).unwrap()
}

#[test]
fn no_json_text_breaks_a_reader() {
    for (name, bytes) in cases() {
        if let Some(format) = formats::recognise(&Sample::new(&bytes, true)) {
            read_as(format.id, &bytes);
        }
        for format in formats::FORMATS {
            let contents = read_as(format.id, &bytes);
            for problem in &contents.problems {
                assert!(problem.at <= bytes.len() as u64, "{name}: {problem:?}");
            }
        }
    }
}

#[test]
fn a_line_costs_nothing_but_itself() {
    for (name, bytes) in cases() {
        let text = [BEFORE, &bytes, BEHIND, b""].join(&b'\n');
        let contents = read_as("openai-chat", &text);
        let session = &contents.sessions[0];
        let has = |wanted: &[u8], kind: Kind| {
            let mut items = session.items.iter();
            items.any(|item| item.kind == kind && session.bytes(item).unwrap() == wanted)
        };
        assert!(has(BEFORE, Kind::User), "{name}");
        assert!(
            has(BEHIND, Kind::Assistant),
            "{name}: {:?}",
            String::from_utf8_lossy(&bytes)
        );
        let mut end = 0;
        for record in session.records.iter() {
            assert!(
                end <= record.span.start && record.span.end <= text.len() as u64,
                "{name}"
            );
            end = record.span.end;
        }
    }
}

#[test]
fn an_element_costs_nothing_but_itself_and_what_cannot_be_told_from_it() {
    for (name, bytes) in cases() {
        let text = [b"[", BEFORE, b",", &bytes, b",", BEHIND, b"]"].concat();
        let contents = read_as("openai-chat", &text);
        let first = contents.sessions[0].items[0];
        assert_eq!(
            contents.sessions[0].bytes(&first).unwrap(),
            BEFORE,
            "{name}"
        );
    }
}
