//! Journals of runs: one file each, with everything in it.

use super::*;
use crate::takes::{is_run, read_run};
use retake_core::session::ledger::{Ask, CallKey, ExecutionStatus, LedgerEvent};
use std::os::unix::fs::PermissionsExt;

const BASE: &str = r#"{"model":"m","messages":[{"role":"user","content":"hi"}]}"#;

fn about() -> About {
    About {
        agent: "demo".to_owned(),
        format: "openai-chat".to_owned(),
        model: "m".to_owned(),
        scripted: true,
    }
}

fn call() -> CallKey {
    CallKey {
        ask: Ask(1),
        call_id: "a".to_owned(),
    }
}

fn started() -> LedgerEvent {
    LedgerEvent::Started {
        call: call(),
        take: TakeId(1),
        tool: "f".to_owned(),
        arguments: LedgerEvent::digest("f", "{}"),
        attempt: 1,
    }
}

fn said(number: u32) -> TakeEvent {
    // After the message that is there, and after those that came before.
    let said = |number| format!(r#",{{"role":"user","content":"number {number}"}}"#);
    let base = BASE.len() as u64 - 2;
    let before: String = (0..number).map(said).collect();
    let at = base + before.len() as u64;
    let text = format!("{}{before}]}}", &BASE[..BASE.len() - 2]).into_bytes();
    let splice = Splice {
        at: Span { start: at, end: at },
        with: said(number).into_bytes(),
    };
    TakeEvent::Grown {
        take: TakeId(1),
        step: number,
        splices: anchor(&text, vec![splice], false).unwrap(),
    }
}

/// A run with a call that was started and ten messages that were appended.
fn run(path: &Path) -> OpenedTakes {
    Journal::begin_run(path, about(), BASE.as_bytes(), clock).unwrap();
    let mut opened = Journal::open_run(path, clock);
    let take = fork(&mut opened);
    opened.journal.append(&take).unwrap();
    opened.journal.append(&started()).unwrap();
    for number in 0..10 {
        let grown = said(number);
        opened.takes.apply(grown.clone()).unwrap();
        opened.journal.append(&grown).unwrap();
    }
    opened
}

#[test]
fn a_run_is_one_private_file_that_nobody_else_writes_to() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("new/runs/demo.jsonl");
    let opened = run(&path);
    let mode = |path: &Path| fs::metadata(path).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode(&path), 0o600);
    assert_eq!(mode(path.parent().unwrap()), 0o700);
    let refused = Journal::begin_run(&path, about(), b"{}", clock).unwrap_err();
    assert!(
        matches!(refused.why, JournalError::Exists { .. }),
        "{refused}"
    );
    let mut second = Journal::open_run(&path, clock);
    assert_eq!((second.takes.count(), second.base.is_some()), (2, true));
    let trouble = second.journal.append(&started()).unwrap_err().to_string();
    assert!(trouble.contains("another retake (process"), "{trouble}");
    drop((opened, second));
    let again = Journal::open_run(&path, clock);
    assert!(again.journal.not_recording().is_none());
    let digest = LedgerEvent::digest("f", "{}");
    assert_eq!(again.ledger.ran(&call(), digest), ExecutionStatus::MayHave);
    assert_eq!(again.happened.len(), 1);
    let happened = &again.happened[0];
    assert_eq!((happened.current, happened.time), (TakeId(1), clock()));
    assert_eq!(fs::read_dir(path.parent().unwrap()).unwrap().count(), 1);
}

/// How many messages were appended to the run in a journal, as it is shown.
fn shown(bytes: &[u8]) -> Option<(usize, usize)> {
    let run = read_run(bytes)?;
    let (start, end) = (0, run.rope.len());
    let text = run.rope.read(Span { start, end }).unwrap();
    let text: serde_json::Value = serde_json::from_slice(&text).unwrap();
    let messages = text["messages"].as_array().unwrap();
    for (number, message) in messages.iter().skip(1).enumerate() {
        assert_eq!(message["content"], format!("number {number}"));
    }
    Some((messages.len() - 1, run.problems.len()))
}

#[test]
fn a_run_that_breaks_off_anywhere_is_shown_up_to_there_and_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.jsonl");
    drop(run(&path));
    let whole = fs::read(&path).unwrap();
    assert_eq!(shown(&whole), Some((10, 0)));
    let lines = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
    let first = 1 + whole.iter().position(|byte| *byte == b'\n').unwrap();
    let second = 1
        + first
        + whole[first..]
            .iter()
            .position(|byte| *byte == b'\n')
            .unwrap();
    for cut in second..whole.len() {
        let torn = &whole[..cut];
        assert!(is_run(torn));
        // Header, base, take, call, and then what it said; a line feed may be all that is missing.
        let is_whole = whole[cut] == b'\n';
        let kept = (lines(torn) + usize::from(is_whole)).saturating_sub(4);
        let is_torn = !torn.ends_with(b"\n") && !is_whole;
        assert_eq!(
            shown(torn),
            Some((kept, usize::from(is_torn))),
            "cut at {cut}"
        );
    }
    for cut in (second..whole.len()).step_by(29) {
        fs::write(&path, &whole[..cut]).unwrap();
        let mut opened = Journal::open_run(&path, clock);
        if !opened.takes.contains(TakeId(1)) {
            let take = fork(&mut opened);
            opened.journal.append(&take).unwrap();
        }
        let grown = said(opened.takes.growth(TakeId(1)));
        opened.takes.apply(grown.clone()).unwrap();
        opened.journal.append(&grown).unwrap();
        let count = opened.takes.growth(TakeId(1)) as usize;
        drop(opened);
        assert_eq!(
            shown(&fs::read(&path).unwrap()),
            Some((count, 0)),
            "cut at {cut}"
        );
    }
}

#[test]
fn a_changed_byte_of_a_run_is_told_and_nothing_is_invented() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.jsonl");
    drop(run(&path));
    let mut bytes = fs::read(&path).unwrap();
    let base = memchr::memmem::find(&bytes, b"\"text\":").unwrap();
    for at in 0..bytes.len() {
        bytes[at] ^= 1 << (at % 8);
        if is_run(&bytes) {
            match shown(&bytes) {
                Some((_, problems)) => assert!(problems > 0, "byte {at}"),
                // Without the first request there is nothing to show.
                None => assert!(at < base + 200, "byte {at}"),
            }
        }
        bytes[at] ^= 1 << (at % 8);
    }
}

#[test]
fn a_lost_step_ends_what_is_shown_and_the_run_goes_on_from_there() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.jsonl");
    drop(run(&path));
    let text = fs::read_to_string(&path).unwrap();
    fs::write(&path, text.replace("number 6", "number X")).unwrap();
    let (kept, problems) = shown(&fs::read(&path).unwrap()).unwrap();
    // The line, and the three that follow it.
    assert_eq!((kept, problems), (6, 4));
    let mut opened = Journal::open_run(&path, clock);
    let grown = said(6);
    opened.takes.apply(grown.clone()).unwrap();
    opened.journal.append(&grown).unwrap();
    drop(opened);
    assert_eq!(shown(&fs::read(&path).unwrap()), Some((7, 4)));
}

#[test]
fn a_run_of_a_newer_retake_is_left_alone() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("demo.jsonl");
    drop(run(&path));
    let text = fs::read_to_string(&path).unwrap();
    let (first, rest) = text.split_once('\n').unwrap();
    let body = &first[..first.rfind(",\"crc\"").unwrap()];
    let body = body.replace("\"version\":1", "\"version\":99");
    let crc = crc32fast::hash(body.as_bytes());
    let newer = format!("{body},\"crc\":\"{crc:08x}\"}}\n{rest}");
    fs::write(&path, &newer).unwrap();
    assert!(read_run(newer.as_bytes()).is_none());
    let mut opened = Journal::open_run(&path, clock);
    assert!(opened.base.is_none());
    let trouble = opened.journal.append(&started()).unwrap_err().to_string();
    assert!(trouble.contains("version 99"), "{trouble}");
    assert_eq!(fs::read_to_string(&path).unwrap(), newer);
}

#[test]
fn no_word_is_used_by_takes_and_by_the_ledger() {
    for word in LedgerEvent::TYPES {
        let read = serde_json::from_value::<TakeEvent>(serde_json::json!({"type": word}));
        let unknown = read.unwrap_err().to_string();
        assert!(unknown.contains("unknown variant"), "{unknown}");
        let read = serde_json::from_value::<LedgerEvent>(serde_json::json!({"type": word}));
        let known = read.map_or_else(|error| error.to_string(), |_| String::new());
        assert!(!known.contains("unknown variant"), "{known}");
    }
    let none = serde_json::from_value::<LedgerEvent>(serde_json::json!({"type": "none"}));
    let all = none.unwrap_err().to_string();
    let listed = all.matches('`').count() / 2 - 1;
    assert_eq!(listed, LedgerEvent::TYPES.len(), "{all}");
}
