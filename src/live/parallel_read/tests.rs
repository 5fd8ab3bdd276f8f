//! Parts change nothing, and cost little.

use super::*;
use proptest::prelude::*;
use retake_core::formats::{self, Reading};
use std::sync::atomic::{AtomicU64, Ordering};

/// Reads a text in parts of every small size and compares with reading it in one piece.
fn parts_change_nothing(text: &str) {
    let bytes = text.as_bytes().to_vec();
    let sample = Sample::new(&bytes, true);
    let format = formats::recognise(&sample).unwrap();
    let Reading::Records(records) = format.reading else {
        panic!("{}", format.id)
    };
    let whole = split::read_all(&records, &sample, &bytes);
    let told = |fragment: &Fragment| {
        let items = fragment
            .items
            .iter()
            .map(|item| (item.span, item.kind, item.record))
            .collect::<Vec<_>>();
        (
            items,
            fragment.records.clone(),
            fragment.problems.clone(),
            fragment.facts.clone(),
        )
    };
    for part in [17, 40, 64, 100, 333, 1000] {
        let mut file = File::new(&records, &bytes, bytes.len() as u64);
        (file.part, file.beyond) = (part, part / 2);
        (file.step, file.patience) = (1 + part / 3, 2 * part);
        let read = file
            .read(&sample, split::layout(&records, &sample))
            .unwrap();
        assert_eq!(told(&read.fragment), told(&whole), "parts of {part} bytes");
    }
}

#[test]
fn lines_read_in_parts_are_the_lines() {
    let line = |index: usize| {
        format!(
            "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
            "x".repeat(index * 7 % 90)
        )
    };
    parts_change_nothing(&(0..60).map(line).collect::<String>());
}

#[test]
fn broken_lines_and_shared_lines_stay_where_they_are() {
    let good = "{\"role\":\"user\",\"content\":\"a\"}";
    let text = format!(
        "{good}\n{{oops}}\n{good}{good}\n\n[1,\n{good}\n\"x\"\n{{\"role\":\"us\n{good}\n{{\"role\":\"user\",\"con"
    );
    parts_change_nothing(&text.repeat(3));
}

#[test]
fn an_array_on_one_line_is_read_like_lines() {
    // Contents hold arrays of objects and text that looks like a boundary: both invite wrong guesses.
    let message = |index: usize| {
        format!(
            r#"{{"role":"assistant","content":[{{"type":"text","text":"a}},{{"}},{{"type":"text","text":"\"}},{{\"role\":{index}"}}],"tool_calls":[{{"id":"c{index}","function":{{"name":"f","arguments":"{{}}"}}}},{{"id":"d{index}","function":{{"name":"g"}}}}]}}"#
        )
    };
    let messages = (0..40).map(message).collect::<Vec<_>>().join(",");
    parts_change_nothing(&format!("[{messages}]"));
    parts_change_nothing(&format!(
        r#"{{"model":"m","messages":[{messages}],"tools":[{{"type":"function","function":{{"name":"f"}}}}]}}"#
    ));
}

#[test]
fn runs_of_nul_bytes_are_told_once() {
    let line = "{\"role\":\"user\",\"content\":\"a\"}\n";
    let hole = "\0".repeat(300);
    parts_change_nothing(&[line, &hole, line, &hole, "\n", &hole, line, "\0"].concat());
}

#[test]
fn a_document_that_others_follow_is_one_of_them() {
    let body = format!(
        r#"{{"model":"m","messages":[{}],"tools":[]}}"#,
        [r#"{"role":"user","content":"a"}"#; 9].join(",")
    );
    let text = format!("{body}\n{body}\n").into_bytes();
    let head = &text[..100];
    let sample = Sample::new(head, false);
    let format = formats::recognise(&Sample::new(&text, true)).unwrap();
    let Reading::Records(records) = format.reading else {
        panic!("{}", format.id)
    };
    let layout = split::layout(&records, &sample);
    assert!(matches!(layout, Layout::Object(_)));
    let file = File::new(&records, &text, text.len() as u64);
    let read = file.read(&sample, layout).unwrap();
    assert_eq!(
        (read.fragment.records.len(), read.fragment.problems.len()),
        (2, 0)
    );
}

#[test]
fn a_record_larger_than_a_part_is_one_record() {
    let long = format!(
        "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
        "},{\\\"a\\\":".repeat(300)
    );
    let short = "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"y\"}\n";
    parts_change_nothing(&[short, &long, short, &long, &long, short].concat());
}

#[test]
fn pretty_documents_are_read_across_their_lines() {
    let document = "{\n  \"role\": \"user\",\n  \"content\": \"hello\"\n}\n";
    parts_change_nothing(&document.repeat(40));
}

proptest! {
    /// Whatever is in a text, reading it in parts gives what reading it in one piece gives.
    #[test]
    fn parts_of_any_text_change_nothing(
        pieces in prop::collection::vec(prop::sample::select(PIECES.to_vec()), 1..40),
        layout in 0..3,
    ) {
        let good = r#"{"role":"tool","tool_call_id":"c","content":"seen"}"#;
        let text = pieces.concat();
        parts_change_nothing(&match layout {
            0 => format!("{good}\n{text}"),
            1 => format!("[{good},{text}"),
            _ => format!("{{\"messages\":[{good},{text}"),
        });
    }
}

/// What texts are made of, whole and broken.
const PIECES: [&str; 24] = [
    "{\"role\":\"user\",\"content\":\"hello\"}\n",
    "{\"role\":\"user\",\"content\":\"hello\"},",
    "{\"role\":\"user\",\"content\":\"hello\"}",
    "{\"role\":\"assistant\",\"content\":[{\"type\":\"text\",\"text\":\"},{\\\"a\"},{\"a\":1}]},",
    "{\"role\":\"us\n",
    "{\"role\":[\n",
    "{oops}\n",
    "],\"tools\":[{\"function\":{\"name\":\"f\"}}]}",
    "\n",
    "\r\n",
    ",",
    "  ",
    "\0\0\0\0\0",
    "\u{feff}",
    "\u{1e}",
    "1,",
    "\"a\",",
    "null\n",
    "]",
    "}",
    "[",
    "{",
    "\"",
    "\\",
];

/// A source that counts what is read of it.
#[derive(Debug)]
struct Counted(Vec<u8>, AtomicU64);

impl Source for Counted {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
        self.1.fetch_add(span.len(), Ordering::Relaxed);
        self.0.read(span)
    }
}

/// Texts that lead every guess astray cost a fixed multiple of their length, not of its square.
#[test]
fn wrong_guesses_cost_linear_work() {
    let work = |first: &str, flood: &str, length: usize| {
        let text = format!("{first}{}", flood.repeat(length / flood.len())).into_bytes();
        let format = formats::find("openai-chat").unwrap();
        let Reading::Records(records) = format.reading else {
            panic!("{}", format.id)
        };
        let sample = Sample::new(&text[..1024], false);
        let layout = split::layout(&records, &sample);
        let source = Counted(text.clone(), AtomicU64::default());
        let mut file = File::new(&records, &source, source.len());
        (file.part, file.beyond, file.step, file.patience) = (4096, 64, 256, 8192);
        file.read(&sample, layout).unwrap();
        source.1.load(Ordering::Relaxed) / source.len()
    };
    for (first, flood) in [
        ("[", "},{\"a\":1"),
        ("[{\"a\":[", "},{\"a\":[{\"b\":1"),
        ("[{\"a\":\"", "},{\\\"a\\\":\\\""),
        ("[1", ",1"),
        ("{\"messages\":[{\"a\":[", "},{\"a\":[{\"b\":1"),
        ("{\"messages\":[],", "\"a\":1,"),
        ("{", "\"a\":{"),
        ("", "{\"a\":\"x\n"),
        ("", "\"\n"),
        ("", "{\"role\":1}"),
    ] {
        let factors = [1 << 16, 1 << 20].map(|length| work(first, flood, length));
        assert!(factors[1] < 12, "{first}{flood}: {factors:?}");
    }
}
