//! The journal of a run reads like any recording, and is never written over.

use super::{folder, told};
use retake::runtime::takes::About;
use retake::runtime::{ReadOptions, Workbench, check_session, read_path};
use retake::session::ledger::LedgerEvent;
use retake::session::takes::{Take, TakeId};
use retake::session::{Edit, Kind};
use serde_json::Value;
use std::fs;
use std::path::Path;

const BASE: &str = r#"{"model":"m","messages":[{"role":"user","content":"A flight to Lisbon, please."}],"tools":[{"type":"function","function":{"name":"search_flights","parameters":{"type":"object"}}}]}"#;
const REPLY: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"NAME","arguments":"{\"to\":\"LIS\"}"}}]}"#;

fn begin(path: &Path, name: &str) -> (Workbench, TakeId) {
    let about = About {
        agent: "demo".to_owned(),
        format: "openai-chat".to_owned(),
        model: "m".to_owned(),
        scripted: true,
    };
    let mut workbench = Workbench::begin_run(path, about, BASE.as_bytes(), || 0).unwrap();
    let first = workbench.recording().clone();
    let take = Take {
        title: "the run".to_owned(),
        ..Take::default()
    };
    let run = workbench.take(0, &first.sessions[0], &[], take).unwrap();
    let began = LedgerEvent::Began {
        take: run,
        agent: "demo".to_owned(),
        file: String::new(),
        model: "m".to_owned(),
        scripted: true,
    };
    workbench.record(&began).unwrap();
    let items = vec![REPLY.replace("NAME", name)];
    grow(&mut workbench, run, &[Edit::Extend { items }]);
    (workbench, run)
}

fn grow(workbench: &mut Workbench, take: TakeId, edits: &[Edit]) {
    let recording = workbench.read(take, &|_, _| ()).unwrap();
    workbench.grow(take, &recording.sessions[0], edits).unwrap();
    assert!(workbench.not_recording().is_none());
}

fn answer(text: &str) -> Edit {
    Edit::Answer {
        call: 1,
        text: text.to_owned(),
        is_error: false,
    }
}

#[test]
fn a_run_is_checked_shown_and_converted_while_it_goes_on() {
    let here = folder(&[]);
    let path = here.path().join("demo.jsonl");
    let (mut workbench, run) = begin(&path, "search_flights");
    let journal = fs::read(&path).unwrap();
    let (code, out, err) = told(here.path(), &["check", "demo.jsonl"]);
    assert_eq!((code, err.as_str()), (0, ""), "{out}");
    grow(&mut workbench, run, &[answer("KS 218 at nine")]);
    let (code, out, err) = told(here.path(), &["show", "demo.jsonl"]);
    assert_eq!(code, 0, "{err}");
    assert!(out.contains("KS 218 at nine"), "{out}");
    for to in ["chat", "responses", "anthropic"] {
        let (code, out, err) = told(
            here.path(),
            &["convert", "demo.jsonl", "--to", to, "--request"],
        );
        assert_eq!(code, 0, "{err}");
        serde_json::from_str::<Value>(&out).unwrap();
        assert!(out.contains("KS 218 at nine"), "{out}");
    }
    drop(workbench);
    assert!(fs::read(&path).unwrap().starts_with(&journal));
}

#[test]
fn what_is_wrong_in_a_run_is_found_and_its_journal_is_not_written_over() {
    let here = folder(&[]);
    let path = here.path().join("demo.jsonl");
    let (workbench, _) = begin(&path, "serch_flights");
    drop(workbench);
    let journal = fs::read(&path).unwrap();
    let (code, out, _) = told(here.path(), &["check", "demo.jsonl"]);
    assert_eq!(code, 1, "{out}");
    assert!(
        out.contains("unknown-tool") && !out.contains("orphan-call"),
        "{out}"
    );
    let (code, _, err) = told(here.path(), &["fix", "demo.jsonl", "--in-place"]);
    assert_ne!(code, 0);
    assert!(!err.is_empty());
    assert_eq!(fs::read(&path).unwrap(), journal);
    let (code, _, err) = told(here.path(), &["fix", "demo.jsonl", "-o", "fixed.json"]);
    assert_eq!(code, 0, "{err}");
    let fixed = read_path(&here.path().join("fixed.json"), &ReadOptions::default()).unwrap();
    assert_eq!(fixed.sessions[0].count(Kind::Output), 1);
    // A journal that lost its end says so.
    fs::write(&path, &journal[..journal.len() - 9]).unwrap();
    let (_, out, err) = told(here.path(), &["check", "demo.jsonl"]);
    assert!(format!("{out}{err}").contains("demo.jsonl"), "{out}{err}");
    let torn = read_path(&path, &ReadOptions::default()).unwrap();
    assert_eq!(torn.problems.len(), 1);
    assert_eq!(torn.sessions[0].items.len(), 1);
}

#[test]
fn a_recording_goes_on_in_any_dialect_and_reads_the_same_after_a_restart() {
    use retake::formats::convert::To;
    let recorded = super::STORY;
    let here = folder(&[("run.json", recorded)]);
    let path = here.path().join("run.json");
    let state = here.path().join("state");
    let open = || {
        let recording = std::sync::Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
        Workbench::open(recording, Some(&path), Some(&state), || 0).0
    };
    let spoken = [
        (To::Chat, r#"{"role":"user","content":"thanks"}"#),
        (
            To::Responses,
            r#"{"type":"message","role":"user","content":"thanks"}"#,
        ),
        (To::Anthropic, r#"{"role":"user","content":"thanks"}"#),
    ];
    for (to, said) in spoken {
        let mut workbench = open();
        workbench.go_to(TakeId::MAIN).unwrap();
        let take = workbench.as_request(0, to, &[]).unwrap();
        let began = LedgerEvent::Began {
            take,
            agent: "demo".to_owned(),
            file: String::new(),
            model: "m".to_owned(),
            scripted: true,
        };
        workbench.record(&began).unwrap();
        let items = vec![said.to_owned()];
        grow(&mut workbench, take, &[Edit::Extend { items }]);
        let text = |workbench: &mut Workbench| {
            let rope = workbench.rope(take).unwrap();
            let mut out = Vec::new();
            let base = workbench.base(take).unwrap();
            retake::runtime::write_take(base, &rope, &mut out).unwrap();
            out
        };
        let before = text(&mut workbench);
        drop(workbench);
        let mut again = open();
        assert_eq!(again.takes().current(), take);
        assert_eq!(text(&mut again), before);
        let read = again.read(take, &|_, _| ()).unwrap();
        let session = &read.sessions[0];
        assert_eq!((session.dialect, session.items.len()), (to.dialect(), 5));
        assert!(session.contract.goes_on);
        check_session(session, Some(to.dialect())).unwrap();
        let child = again.take(0, session, &[], Take::default()).unwrap();
        let items = vec![said.to_owned()];
        let refused = again.grow(take, session, &[Edit::Extend { items }]);
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("others branch off")
        );
        assert_eq!(again.line(child), [take, child]);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), recorded);
}
