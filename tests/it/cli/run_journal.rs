//! The journal of a run reads like any recording, and is never written over.

use super::{folder, told};
use retake_core::rules::Severity;
use retake_core::session::ledger::{Ask, CallKey, LedgerEvent, ReplySummary};
use retake_core::session::takes::{Author, Take, TakeId};
use retake_core::session::{Dialect, Edit, Kind, Patch};
use retake_live::takes::About;
use retake_live::{ReadOptions, TakeStore, check_session, read_path};
use serde_json::Value;
use std::fs;
use std::path::Path;

const BASE: &str = r#"{"model":"m","messages":[{"role":"user","content":"A flight to Lisbon, please."}],"tools":[{"type":"function","function":{"name":"search_flights","parameters":{"type":"object"}}}]}"#;
const REPLY: &str = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"NAME","arguments":"{\"to\":\"LIS\"}"}}]}"#;

fn begin(path: &Path, name: &str) -> (TakeStore, TakeId) {
    let about = About {
        agent: "demo".to_owned(),
        format: "openai-chat".to_owned(),
        model: "m".to_owned(),
        scripted: true,
    };
    let mut workbench = TakeStore::begin_run(path, about, BASE.as_bytes(), || 0).unwrap();
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

fn grow(workbench: &mut TakeStore, take: TakeId, edits: &[Edit]) {
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
    let recorded = super::STORY;
    let here = folder(&[("run.json", recorded)]);
    let path = here.path().join("run.json");
    let state = here.path().join("state");
    let open = || {
        let recording = std::sync::Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
        TakeStore::open(recording, Some(&path), Some(&state), || 0).0
    };
    let spoken = [
        (Dialect::Chat, r#"{"role":"user","content":"thanks"}"#),
        (
            Dialect::Responses,
            r#"{"type":"message","role":"user","content":"thanks"}"#,
        ),
        (Dialect::Anthropic, r#"{"role":"user","content":"thanks"}"#),
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
        let text = |workbench: &mut TakeStore| {
            let rope = workbench.rope(take).unwrap();
            let mut out = Vec::new();
            let base = workbench.base(take).unwrap();
            retake_live::write_take(base, &rope, &mut out).unwrap();
            out
        };
        let before = text(&mut workbench);
        drop(workbench);
        let mut again = open();
        assert_eq!(again.takes().current(), take);
        assert_eq!(text(&mut again), before);
        let read = again.read(take, &|_, _| ()).unwrap();
        let session = &read.sessions[0];
        assert_eq!((session.dialect, session.items.len()), (to, 5));
        assert!(session.contract.goes_on);
        check_session(session, Some(to)).unwrap();
        let child = again.take(0, session, &[], Take::default()).unwrap();
        let items = vec![said.to_owned()];
        let refused = again.grow(take, session, &[Edit::Extend { items }]);
        assert!(
            refused
                .unwrap_err()
                .to_string()
                .contains("other takes branch off")
        );
        assert_eq!(again.line(child), [take, child]);
    }
    assert_eq!(fs::read_to_string(&path).unwrap(), recorded);
}

/// Rules and severities of what is found in a journal.
fn found(path: &Path) -> Vec<(&'static str, Severity)> {
    let recording = read_path(path, &ReadOptions::default()).unwrap();
    let findings = check_session(&recording.sessions[0], None).unwrap();
    let found = findings.iter();
    found.map(|one| (one.rule.id, one.severity)).collect()
}

#[test]
fn an_error_that_the_operator_gave_a_call_is_his_answer_and_one_of_the_tool_is_nobodys() {
    for (action, severity) in [
        (None, Severity::Warning),
        (Some("approve"), Severity::Warning),
        (Some("supply-output"), Severity::Info),
        (Some("reject"), Severity::Info),
    ] {
        let here = folder(&[]);
        let path = here.path().join("demo.jsonl");
        let (mut workbench, run) = begin(&path, "search_flights");
        let decided = action.map(|action| LedgerEvent::Decided {
            take: run,
            call: Some(CallKey {
                ask: Ask(1),
                call_id: "call_1".to_owned(),
            }),
            rule: None,
            action: action.to_owned(),
            by: Author::Operator,
            wording: None,
            proposed: None,
            effective: None,
        });
        if let Some(decided) = decided {
            workbench.record(&decided).unwrap();
        }
        grow(&mut workbench, run, &[answer("Error: no such day")]);
        let of_take = workbench.read(run, &|_, _| ()).unwrap();
        let live = check_session(&of_take.sessions[0], None).unwrap();
        let live = live.iter().map(|one| (one.rule.id, one.severity));
        assert_eq!(live.collect::<Vec<_>>(), [("tool-error", severity)]);
        drop(workbench);
        assert_eq!(found(&path), [("tool-error", severity)], "{action:?}");
    }
}

#[test]
fn a_call_that_was_let_pass_and_ran_is_no_fault_any_more() {
    let here = folder(&[]);
    let path = here.path().join("demo.jsonl");
    let (mut workbench, run) = begin(&path, "serch_flights");
    let open = [
        ("unknown-tool", Severity::Error),
        ("pending-call", Severity::Info),
    ];
    assert_eq!(found(&path), open);
    grow(&mut workbench, run, &[answer("KS 218 at nine")]);
    assert_eq!(found(&path), [("unknown-tool", Severity::Info)]);
}

#[test]
fn a_reply_that_broke_off_is_known_as_such_until_a_take_mends_it() {
    let here = folder(&[]);
    let path = here.path().join("demo.jsonl");
    let (mut workbench, run) = begin(&path, "search_flights");
    grow(&mut workbench, run, &[answer("KS 218 at nine")]);
    let replied = |ended, stop: Option<&str>| LedgerEvent::Replied {
        ask: Ask(2),
        take: run,
        reply: ReplySummary {
            ended,
            stop: stop.map(str::to_owned),
            ..ReplySummary::default()
        },
    };
    workbench.record(&replied(false, None)).unwrap();
    let items = vec![r#"{"role":"assistant","content":"KS 218 le"}"#.to_owned()];
    grow(&mut workbench, run, &[Edit::Extend { items }]);
    assert_eq!(found(&path), [("truncated-response", Severity::Warning)]);
    let cut = workbench.read(run, &|_, _| ()).unwrap();
    // The first reply and its output are whole.
    let session = &cut.sessions[0];
    let is_cut =
        |item: &retake_core::session::Item| item.flags.has(retake_core::session::Flags::INCOMPLETE);
    let marks: Vec<bool> = session.items.iter().map(is_cut).collect();
    assert_eq!(marks, [false, false, false, true]);
    let text = session.bytes(&session.items[3]).unwrap();
    let text = String::from_utf8(text.to_vec()).unwrap();
    let at = text.find("le\"").unwrap();
    let replace = Edit::Rewrite {
        item: 3,
        patches: vec![Patch {
            at: at..at + 2,
            with: b"leaves at nine.".to_vec(),
        }],
    };
    workbench
        .take(0, session, &[replace], Take::default())
        .unwrap();
    assert_eq!(found(&path), []);
}
