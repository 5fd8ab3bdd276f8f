//! Hostile files as they come from crashes, other systems and other tools: no panic, the trouble has a place, the rest is shown, and
//! nothing of the bytes is lost. Files that need a disk (sizes, kinds, names, changes while open) are tested where files are opened.
#![allow(clippy::unwrap_used, clippy::panic)]

use base64::prelude::{BASE64_STANDARD, Engine};
use retake_core::formats::{self, Contents, Sample};
use retake_core::session::{Item, Kind, Problem, ProblemKind, Session, Source};
use serde_json::Value;
use std::sync::Arc;

const CASES: &str = include_str!("hostile/file_hostile.json");

struct Case {
    id: String,
    bytes: Vec<u8>,
}

fn cases() -> Vec<Case> {
    let file: Value = serde_json::from_str(CASES).unwrap();
    let cases = file["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 55);
    let whole = cases.iter().filter_map(|case| {
        Some(Case {
            id: case["id"].as_str().unwrap().to_owned(),
            bytes: BASE64_STANDARD.decode(case["raw_b64"].as_str()?).unwrap(),
        })
    });
    whole.collect()
}

/// Reads a text as its own format, or as chat messages where no format claims it; `None` where it is none.
fn read(bytes: &[u8]) -> Option<Contents> {
    let sample = Sample::new(bytes, true);
    let format = formats::recognise(&sample)?;
    let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
    Some(formats::read_buffer(format, &source, bytes).unwrap())
}

/// Every byte is in a record or between two, in order; so the records and what is between them give back the file.
fn assert_nothing_is_lost(id: &str, bytes: &[u8], session: &Session) {
    let mut rebuilt = Vec::new();
    let mut at = 0;
    for record in session.records.iter() {
        let (start, end) = (record.span.start as usize, record.span.end as usize);
        assert!(at <= start && start <= end, "{id}: {record:?}");
        rebuilt.extend_from_slice(&bytes[at..start]);
        rebuilt.extend(session.source.read(record.span).unwrap());
        at = end;
    }
    rebuilt.extend_from_slice(&bytes[at..]);
    assert_eq!(rebuilt, bytes, "{id}");
}

/// What is between records is white space, separators, marks and brackets, unless a problem says that something was left alone.
fn assert_nothing_is_passed_over(id: &str, bytes: &[u8], contents: &Contents) {
    let Some(session) = contents.sessions.first() else {
        return;
    };
    let mut at = 0;
    let ends = session.records.iter().map(|record| record.span);
    let last = bytes.len() as u64;
    for span in ends.chain([retake_core::session::Span {
        start: last,
        end: last,
    }]) {
        let between = &bytes[at..span.start as usize];
        let rest = between
            .iter()
            .position(|byte| !b" \t\r\n,[]\x1e".contains(byte));
        if let Some(rest) = rest {
            let place = (at + rest) as u64;
            let is_mark = at == 0 && between[rest..].starts_with(b"\xef\xbb\xbf");
            let is_fence = between[rest..].starts_with(b"```");
            let told = contents.problems.iter().any(|problem| problem.at <= place);
            assert!(
                told || is_mark || is_fence,
                "{id}: {:?}",
                String::from_utf8_lossy(between)
            );
        }
        at = span.end as usize;
    }
}

#[test]
fn no_file_makes_retake_fall_over_or_lose_a_byte() {
    let mut read_count = 0;
    for Case { id, bytes } in cases() {
        let Some(contents) = read(&bytes) else {
            continue;
        };
        read_count += 1;
        for problem in &contents.problems {
            assert!(problem.at <= bytes.len() as u64, "{id}: {problem:?}");
            assert!(!problem.kind.to_string().is_empty(), "{id}");
        }
        for session in &contents.sessions {
            assert_nothing_is_lost(&id, &bytes, session);
        }
        assert_nothing_is_passed_over(&id, &bytes, &contents);
        assert_cut_anywhere_is_survived(&bytes);
    }
    assert!(read_count > 30, "{read_count}");
}

fn assert_cut_anywhere_is_survived(bytes: &[u8]) {
    for end in 0..bytes.len().min(400) {
        read(&bytes[..end]);
        read(&bytes[end..]);
    }
}

/// The kinds of the items of a file, and its problems.
fn told(id: &str) -> (Vec<Kind>, Vec<ProblemKind>) {
    let case = cases().into_iter().find(|case| case.id == id).unwrap();
    let contents = read(&case.bytes).unwrap_or_else(|| panic!("{id} was not recognised"));
    let items = contents.sessions.iter().flat_map(|session| &session.items);
    let kinds = items.map(|item: &Item| item.kind).collect();
    let problems = contents
        .problems
        .into_iter()
        .map(|problem: Problem| problem.kind);
    (kinds, problems.collect())
}

#[test]
fn what_is_whole_is_shown_without_a_word() {
    let both = vec![Kind::User, Kind::Assistant];
    for id in ["F11", "F12", "F13", "F14", "F23", "F24"] {
        assert_eq!(told(id), (both.clone(), vec![]), "{id}");
    }
    for id in ["F04", "F28", "F32", "F33", "F34"] {
        assert_eq!(told(id), (vec![Kind::User], vec![]), "{id}");
    }
    assert_eq!(told("F35"), (vec![Kind::Assistant], vec![]));
    assert_eq!(told("F22"), (vec![Kind::User, Kind::User], vec![]));
    assert_eq!(told("F38"), (vec![Kind::HostedCall, Kind::Other], vec![]));
    assert_eq!(told("F40"), (vec![Kind::Call], vec![]));
    assert_eq!(told("F55").0, vec![Kind::User; told("F55").0.len()]);
    // It is shown, and no parser takes it.
    let (kinds, problems) = told("F10");
    assert_eq!(kinds, [Kind::User]);
    assert!(
        matches!(problems[..], [ProblemKind::BadString(_)]),
        "{problems:?}"
    );
}

#[test]
fn trouble_has_a_name_and_costs_its_record_only() {
    use retake_core::session::ProblemKind::*;
    let user = vec![Kind::User];
    let both = vec![Kind::User, Kind::Assistant];
    let torn = vec![Kind::User, Kind::Unreadable];
    assert_eq!(told("F05"), (both.clone(), vec![ByteOrderMark]));
    for id in ["F15", "F16", "F17"] {
        assert_eq!(told(id), (torn.clone(), vec![Torn]), "{id}");
    }
    assert_eq!(told("F18"), (user.clone(), vec![Nul]));
    assert_eq!(told("F19"), (both.clone(), vec![Nul]));
    let (kinds, problems) = told("F20");
    assert_eq!(kinds, [Kind::User, Kind::Unreadable, Kind::Assistant]);
    assert!(matches!(problems[..], [NotJson(_)]), "{problems:?}");
    assert_eq!(told("F21"), (both, vec![SharedLine]));
    assert_eq!(told("F25"), (user.clone(), vec![Unclosed]));
    assert_eq!(told("F26"), (user.clone(), vec![Trailing]));
    assert_eq!(told("F27"), (user, vec![Leading]));
    let (kinds, problems) = told("F36");
    assert_eq!(kinds, [Kind::Unreadable]);
    assert!(matches!(problems[..], [NotJson(_)]), "{problems:?}");
    let duplicates = |key: &str| vec![DuplicateKey(key.to_owned())];
    assert_eq!(told("F30"), (vec![Kind::Output], duplicates("role")));
    assert_eq!(
        told("F31"),
        (vec![Kind::Output], duplicates("tool_call_id"))
    );
    let (kinds, problems) = told("F29");
    assert!(kinds.len() >= 3, "{kinds:?}");
    assert!(
        problems.iter().any(|kind| matches!(kind, MixedFormats(_))),
        "{problems:?}"
    );
    let (kinds, problems) = told("F39");
    assert_eq!(kinds.len(), 6);
    assert_eq!(problems, vec![NotARecord; 4]);
}

#[test]
fn what_is_no_recording_is_named_or_refused() {
    for id in ["F01", "F02", "F03"] {
        let case = cases().into_iter().find(|case| case.id == id).unwrap();
        assert!(read(&case.bytes).is_none(), "{id}");
    }
    let case = cases().into_iter().find(|case| case.id == "F37").unwrap();
    let foreign = formats::recognise_foreign(&Sample::new(&case.bytes, true)).unwrap();
    assert!(foreign.title.contains("Python"), "{}", foreign.title);
    for (id, name) in [("F53", "agents-sqlite"), ("F54", "har")] {
        let case = cases().into_iter().find(|case| case.id == id).unwrap();
        let format = formats::recognise(&Sample::new(&case.bytes, true)).unwrap();
        assert_eq!(format.id, name);
    }
}

#[test]
fn depth_costs_no_stack() {
    for depth in [127, 128, 10_000, 5_000_000] {
        let text = format!(
            "{{\"role\":\"user\",\"content\":\"hi\"}}\n{{\"role\":\"user\",\"content\":{}1{}}}\n",
            "[".repeat(depth),
            "]".repeat(depth)
        );
        let contents = read(text.as_bytes()).unwrap();
        assert_eq!(contents.sessions[0].items.len(), 2, "{depth}");
        assert_eq!(contents.problems, [], "{depth}");
        let open = &text[..text.len() - depth / 2];
        assert_eq!(read(open.as_bytes()).unwrap().problems.len(), 1, "{depth}");
    }
}

#[test]
fn a_bundled_session_may_be_cut_anywhere() {
    for entry in std::fs::read_dir("sessions").unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            continue;
        }
        let name = path.display().to_string();
        let bytes = std::fs::read(&path).unwrap();
        let sample = Sample::new(&bytes, true);
        let Some(format) = formats::recognise(&sample) else {
            continue;
        };
        for end in (0..bytes.len()).step_by(61) {
            let source: Arc<dyn Source> = Arc::new(bytes[..end].to_vec());
            let contents = formats::read_buffer(format, &source, &bytes[..end]).unwrap();
            for session in &contents.sessions {
                for item in &session.items {
                    assert!(session.bytes(item).is_ok(), "{name} cut at {end}: {item:?}");
                }
            }
            for problem in &contents.problems {
                assert!(problem.at <= end as u64, "{name} cut at {end}: {problem:?}");
            }
        }
    }
}

#[test]
fn exchanges_that_wrap_each_other_without_end_do_not_exhaust_the_stack() {
    for wrapping in ["request", "response", "body"] {
        let levels = 100_000;
        let nested = format!(
            "{}{{}}{}",
            format!("{{\"{wrapping}\":").repeat(levels),
            "}".repeat(levels)
        );
        let text = format!("{{\"role\":\"user\",\"content\":\"hi\"}}\n{nested}\n");
        let contents = read(text.as_bytes()).unwrap();
        assert_eq!(contents.sessions[0].items[0].kind, Kind::User, "{wrapping}");
    }
}

#[test]
fn system_prompts_behind_the_messages_stand_before_them_in_the_order_of_the_file() {
    let text = r#"{"model":"m","messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},
        {"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]}],
        "system":"first","system":"second"}"#;
    let contents = read(text.as_bytes()).unwrap();
    let session = &contents.sessions[0];
    let texts = session.items[..2]
        .iter()
        .map(|item| session.bytes(item).unwrap());
    assert_eq!(
        texts.collect::<Vec<_>>(),
        [b"\"first\"".to_vec(), b"\"second\"".to_vec()]
    );
    let kinds = session.items.iter().map(|item| item.kind);
    assert_eq!(
        kinds.collect::<Vec<_>>(),
        [Kind::System, Kind::System, Kind::User, Kind::Call]
    );
}
