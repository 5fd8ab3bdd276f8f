//! What holds for every text: reading never falls over, what is read lies inside the source, and a recording that is read by its
//! head, by its end or as it grows is the recording that is read as a whole.

use proptest::prelude::*;
use proptest::sample::select;
use retake_core::formats::{self, FORMATS, Sample};
use retake_core::session::{Kind, Problem, Session, Source, Span};
use retake_live::{FileGrowth, Input, OpenedInput, ReadOptions, Recording, open, read_input};
use serde_json::{Value, json};
use std::io::Write;
use std::sync::Arc;

/// A tenth of the usual number of cases: each of these reads a megabyte or writes a file.
fn fewer() -> ProptestConfig {
    let usual = ProptestConfig::default();
    ProptestConfig {
        cases: usual.cases.div_ceil(10),
        ..usual
    }
}

/// An input of bytes that are read by position, as those of a file are; or held in memory.
pub(crate) fn input(bytes: &[u8], is_held: bool) -> Input {
    let bytes = Arc::new(bytes.to_vec());
    Input {
        buffer: is_held.then(|| bytes.clone()),
        ..Input::of("text", bytes)
    }
}

fn assert_inside(length: u64, sessions: &[Session], problems: &[Problem]) {
    for session in sessions {
        let length = session.source.len();
        for span in session
            .items
            .iter()
            .map(|item| item.span)
            .chain(session.records.iter().map(|record| record.span))
        {
            assert!(span.start <= span.end && span.end <= length, "{span:?}");
        }
    }
    for problem in problems {
        assert!(problem.at <= length, "{problem:?}");
    }
}

/// Bytes as they come from crashes, from other programs and from nowhere.
pub(super) fn hostile_bytes() -> impl Strategy<Value = Vec<u8>> {
    let pieces = [
        "{\"role\":\"user\",\"content\":\"hi\"}\n",
        "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"x\"},",
        "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"f\",\"arguments\":\"{}\"}\n",
        "{\"type\":\"assistant\",\"uuid\":\"a\",\"parentUuid\":\"b\",\"sessionId\":\"s\",\"message\":{\"role\":\"assistant\",\"content\":[",
        "{\"type\":\"response_item\",\"timestamp\":\"t\",\"payload\":{\"type\":\"message\",",
        "event: message_start\ndata: {\"type\":\"message_start\",\"message\":{\"id\":\"m\"",
        "data: [DONE]\n\n",
        "{\"messages\":[",
        "\"tool_calls\":[{\"id\":\"c\",\"function\":{\"name\":\"f\",\"arguments\":\"{",
        "\"content\":[{\"type\":\"tool_use\",\"id\":\"c\",\"name\":\"f\",\"input\":",
        "{\"$schemaVersion\":\"1.0\",\"current_turn\":1,\"original_input\":",
        "{\"retake\":1,\"seq\":0}",
        "\"role\":\"assistant\",",
        "[",
        "]",
        "{",
        "}",
        "},{",
        ",",
        ":",
        "\"",
        "\\",
        "\n",
        "\r\n",
        " ",
        "\0\0",
        "null",
        "1e9",
        "\u{feff}",
        "```json\n",
    ];
    let piece = prop_oneof![
        6 => select(pieces.to_vec()).prop_map(|piece| piece.as_bytes().to_vec()),
        1 => prop::collection::vec(any::<u8>(), 1..8),
    ];
    prop::collection::vec(piece, 0..30).prop_map(|pieces| pieces.concat())
}

proptest! {
    #[test]
    fn no_bytes_make_reading_fall_over(bytes in hostile_bytes()) {
        let source: Arc<dyn Source> = Arc::new(bytes.clone());
        let length = bytes.len() as u64;
        for is_complete in [true, false] {
            let sample = Sample::new(&bytes, is_complete);
            formats::recognise(&sample);
            formats::recognise_foreign(&sample);
        }
        for format in FORMATS {
            let contents = formats::read_buffer(format, &source, &bytes).unwrap();
            assert_inside(length, &contents.sessions, &contents.problems);
            let options = ReadOptions { format: Some(format.id.to_owned()), ..ReadOptions::default() };
            let opening = OpenedInput::begin(input(&bytes, false), &options).unwrap();
            let parts = [opening.head(), opening.tail(), opening.read(&|_, _| ()).map(Some)];
            for recording in parts.into_iter().flatten().flatten() {
                assert_inside(length, &recording.sessions, &recording.problems);
            }
            if let Some(follower) = opening.follow().unwrap() {
                let recording = follower.recording().unwrap();
                assert_inside(length, &recording.sessions, &recording.problems);
            }
        }
    }
}

/// How a transcript is spelled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Spelling {
    Chat,
    Responses,
    Anthropic,
}

/// How a transcript is written down.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Writing {
    Lines,
    Windows,
    Array,
    Pretty,
    Document,
}

/// What one step of a transcript is, how long its text is, and how the text begins.
type Step = (u8, usize, &'static str);

fn message(spelling: Spelling, number: usize, (kind, length, text): Step) -> Vec<Value> {
    let id = format!("call_{number}");
    let text = format!("{text} {}", "word ".repeat(length / 5));
    let arguments = json!({ "text": text }).to_string();
    match (spelling, kind % 3) {
        (Spelling::Chat, 0) => vec![json!({"role": "user", "content": text})],
        (Spelling::Chat, 1) => vec![json!({"role": "assistant", "content": text})],
        (Spelling::Chat, _) => vec![
            json!({"role": "assistant", "content": null, "tool_calls": [
                {"id": id, "type": "function", "function": {"name": "look", "arguments": arguments}},
                {"id": format!("{id}b"), "type": "function", "function": {"name": "see", "arguments": "{}"}}]}),
            json!({"role": "tool", "tool_call_id": id, "content": text}),
            json!({"role": "tool", "tool_call_id": format!("{id}b"), "content": [{"type": "text", "text": text}]}),
        ],
        (Spelling::Responses, 0) => {
            vec![
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}),
            ]
        }
        (Spelling::Responses, 1) => vec![
            json!({"type": "message", "id": format!("msg_{number}"), "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}),
        ],
        (Spelling::Responses, _) => vec![
            json!({"type": "function_call", "call_id": id, "name": "look", "arguments": arguments}),
            json!({"type": "function_call_output", "call_id": id, "output": text}),
        ],
        (Spelling::Anthropic, 0) => {
            vec![json!({"role": "user", "content": [{"type": "text", "text": text}]})]
        }
        (Spelling::Anthropic, 1) => {
            vec![
                json!({"role": "assistant", "content": [{"type": "text", "text": text}, {"type": "text", "text": text}]}),
            ]
        }
        (Spelling::Anthropic, _) => vec![
            json!({"role": "assistant", "content": [{"type": "tool_use", "id": id, "name": "look", "input": {"text": text}}]}),
            json!({"role": "user", "content": [{"type": "tool_result", "tool_use_id": id, "content": [{"type": "text", "text": text}]}]}),
        ],
    }
}

/// The messages of a transcript. The first ones are a call and its output, so that its dialect is known at once.
pub(crate) fn messages(spelling: Spelling, steps: &[Step]) -> Vec<Value> {
    let all = [(2, 5, "first")].into_iter().chain(steps.iter().copied());
    all.enumerate()
        .flat_map(|(number, step)| message(spelling, number, step))
        .collect()
}

fn written(spelling: Spelling, writing: Writing, steps: &[Step]) -> String {
    laid_out(spelling, writing, &messages(spelling, steps))
}

pub(crate) fn laid_out(spelling: Spelling, writing: Writing, messages: &[Value]) -> String {
    let lines = |end: &str| {
        messages
            .iter()
            .map(|message| format!("{message}{end}"))
            .collect()
    };
    match writing {
        Writing::Lines => lines("\n"),
        Writing::Windows => lines("\r\n"),
        Writing::Array => json!(messages).to_string(),
        Writing::Pretty => format!("{:#}\n", json!(messages)),
        Writing::Document => {
            let key = if spelling == Spelling::Responses {
                "input"
            } else {
                "messages"
            };
            json!({"model": "m", key: messages, "tools": []}).to_string()
        }
    }
}

fn spellings() -> impl Strategy<Value = Spelling> {
    select(vec![
        Spelling::Chat,
        Spelling::Responses,
        Spelling::Anthropic,
    ])
}

pub(crate) fn steps(longest: usize, most: usize) -> impl Strategy<Value = Vec<Step>> {
    let texts = vec![
        "plain",
        "},{\"role\":\"user\"",
        "a\nb\r\n",
        "]}\n{\"",
        "né 😀",
        "\\\"",
        "\u{0}\u{1b}",
    ];
    prop::collection::vec((any::<u8>(), 0..longest, select(texts)), 1..most)
}

pub(super) fn transcripts(longest: usize, most: usize) -> impl Strategy<Value = String> {
    let writings = vec![
        Writing::Lines,
        Writing::Windows,
        Writing::Array,
        Writing::Pretty,
        Writing::Document,
    ];
    (spellings(), select(writings), steps(longest, most))
        .prop_map(|(spelling, writing, steps)| written(spelling, writing, &steps))
}

fn told(recording: &Recording) -> Vec<(Span, Kind)> {
    let items = recording.sessions.iter().flat_map(|session| &session.items);
    items.map(|item| (item.span, item.kind)).collect()
}

fn whole(text: &str) -> Recording {
    read_input(input(text.as_bytes(), true), &ReadOptions::default()).unwrap()
}

proptest! {
    #![proptest_config(fewer())]

    #[test]
    fn head_and_tail_are_parts_of_the_whole(text in transcripts(30_000, 60)) {
        let opening = OpenedInput::begin(input(text.as_bytes(), false), &ReadOptions::default()).unwrap();
        let (all, head, tail) = (whole(&text), opening.head().unwrap().unwrap(), opening.tail().unwrap().unwrap());
        prop_assert_eq!(&all.problems, &[]);
        prop_assert_eq!(all.format.id, head.format.id);
        let (all, head, tail) = (told(&all), told(&head), told(&tail));
        prop_assert!(all.starts_with(&head), "{} of {}", head.len(), all.len());
        prop_assert!(all.ends_with(&tail) && !tail.is_empty(), "{} of {}", tail.len(), all.len());
        prop_assert_eq!(all, told(&opening.read(&|_, _| ()).unwrap()));
    }

    #[test]
    fn a_follower_knows_what_reading_the_whole_file_tells(
        spelling in spellings(),
        steps in steps(300, 12),
        between in prop::collection::vec(select(vec!["\n", "\r\n", "\n\n", "", " ", "\n{oops}\n", "\n[1]\n", "\n\0\0\n"]), 40),
        cuts in prop::collection::vec((any::<prop::sample::Index>(), 1..4_usize), 0..12),
    ) {
        let lines: Vec<_> = messages(spelling, &steps).iter().map(Value::to_string).collect();
        let mut rest = String::new();
        for (line, between) in lines.iter().skip(2).zip(between.iter().cycle()) {
            rest.push_str(line);
            rest.push_str(between);
        }
        rest.push('\n');
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("growing.jsonl");
        let mut file = std::fs::File::create(&path).unwrap();
        writeln!(file, "{}\n{}", lines[0], lines[1]).unwrap();
        let opening = OpenedInput::begin(open(&path).unwrap(), &ReadOptions::default()).unwrap();
        let mut follower = opening.follow().unwrap().unwrap();
        let mut cuts: Vec<_> = cuts.iter().map(|(at, looks)| (at.index(rest.len()), *looks)).collect();
        cuts.sort_unstable();
        cuts.push((rest.len(), 1));
        let mut from = 0;
        for (to, looks) in cuts {
            file.write_all(&rest.as_bytes()[from..to]).unwrap();
            from = to;
            for _ in 0..looks {
                prop_assert_ne!(follower.advance().unwrap(), FileGrowth::Shrunk);
            }
        }
        let (followed, all) = (follower.recording().unwrap(), opening.read(&|_, _| ()).unwrap());
        prop_assert_eq!(told(&followed), told(&all));
        prop_assert_eq!(followed.problems, all.problems);
    }
}

/// A file of more than four megabytes is read in parts; what comes out is what one piece gives.
#[test]
fn a_large_file_is_read_in_parts_as_in_one_piece() {
    let texts = ["plain", "},{\"role\":\"user\"", "a\nb", "\\\""];
    let steps: Vec<Step> = (0..1600)
        .map(|number: usize| (number as u8, number * 7919 % 9000, texts[number % 4]))
        .collect();
    for spelling in [Spelling::Chat, Spelling::Responses, Spelling::Anthropic] {
        for writing in [Writing::Lines, Writing::Array, Writing::Document] {
            let text = written(spelling, writing, &steps);
            assert!(text.len() > 9 << 20);
            let parts = read_input(input(text.as_bytes(), false), &ReadOptions::default()).unwrap();
            let whole = whole(&text);
            assert_eq!(told(&parts), told(&whole), "{spelling:?} {writing:?}");
            assert_eq!(parts.problems, whole.problems);
        }
    }
}

/// The sessions of a text, its problems, and how far the items reach: `None` where no format claims it.
fn read_cut(bytes: &[u8]) -> Option<Recording> {
    read_input(input(bytes, true), &ReadOptions::default()).ok()
}

/// The items that were read, by their kinds.
fn items_of(recording: &Recording) -> Vec<(Kind, u64)> {
    let items = recording.sessions.iter().flat_map(|session| &session.items);
    let read = items.filter(|item| item.kind != Kind::Unreadable);
    read.map(|item| (item.kind, item.span.end)).collect()
}

#[test]
fn a_document_that_is_cut_anywhere_tells_so_once_and_gives_what_came_before() {
    let documents = std::fs::read_dir("sessions").unwrap().flatten();
    let documents = documents.map(|entry| entry.path());
    for path in documents.filter(|path| path.extension().is_some_and(|end| end == "json")) {
        let name = path.display();
        let pretty = std::fs::read(&path).unwrap();
        let value: Value = serde_json::from_slice(&pretty).unwrap();
        let minified = value.to_string().into_bytes();
        for whole in [pretty, minified] {
            let Some(recording) = read_cut(&whole) else {
                continue;
            };
            let all = items_of(&recording);
            // A RunState says elsewhere which of its items are of the history.
            let stands_in_file = recording.format.id != "agents-runstate"
                && recording
                    .sessions
                    .iter()
                    .all(|session| session.stands_in(&recording.source));
            for number in 1..40 {
                let end = whole.len() * number / 40;
                let Some(cut) = read_cut(&whole[..end]) else {
                    continue;
                };
                let problems = cut.problems.len();
                let (read, known) = (items_of(&cut).len(), recording.problems.len());
                assert!(problems <= known + 3, "{name} {end}: {:?}", cut.problems);
                assert!(
                    problems > 0 && read <= all.len(),
                    "{name} {end}: {read} items"
                );
                if cut.format.id == recording.format.id && stands_in_file {
                    let before = all.iter().filter(|(_, last)| *last <= end as u64).count();
                    assert!(read >= before, "{name} {end}: {read} of {before} items");
                }
            }
        }
    }
}

#[test]
fn a_cut_in_a_character_is_one_problem() {
    let whole = r#"[{"role":"user","content":"Where is it?"},{"role":"assistant","content":"At the café."}]"#;
    let end = whole.find('é').unwrap() + 1;
    let cut = read_cut(&whole.as_bytes()[..end]).unwrap();
    let told: Vec<String> = cut
        .problems
        .iter()
        .map(|problem| problem.kind.to_string())
        .collect();
    assert_eq!(
        told,
        [
            "the file ends in the middle of its JSON: the item before that was read; if it was copied, copy it again"
        ]
    );
}
