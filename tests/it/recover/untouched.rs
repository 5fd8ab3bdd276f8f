//! What nobody touched is saved byte for byte: hostile files as they are, and every JSON text of the parsing suite beside an edit.

use base64::prelude::{BASE64_STANDARD, Engine};
use retake_core::formats::lower;
use retake_core::session::{Edit, Kind};
use retake_live::replace::Backup;
use retake_live::{Base, ReadOptions, Recording, read_path, save_take};
use serde_json::Value;
use std::path::Path;
use std::sync::Arc;

const SUITE: &str = "../shared/suites/json_test_suite.json";

fn opened(path: &Path, format: Option<&str>) -> Option<Arc<Recording>> {
    let options = ReadOptions {
        format: format.map(str::to_owned),
        ..ReadOptions::default()
    };
    read_path(path, &options).ok().map(Arc::new)
}

#[test]
fn hostile_files_are_saved_as_they_are() {
    let file: Value = serde_json::from_str(include_str!("../hostile/file_hostile.json")).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let mut saved = 0;
    for case in file["cases"].as_array().unwrap() {
        let Some(bytes) = case["raw_b64"].as_str() else {
            continue;
        };
        let bytes = BASE64_STANDARD.decode(bytes).unwrap();
        let (from, to) = (folder.path().join("from"), folder.path().join("to"));
        std::fs::write(&from, &bytes).unwrap();
        let Some(recording) = opened(&from, None) else {
            continue;
        };
        let Ok(base) = Base::new(recording.clone(), Some(&from)) else {
            continue;
        };
        // A text in another encoding, or packed, is saved as the text that was read.
        let read = recording.source.read(retake_core::session::Span {
            start: 0,
            end: recording.source.len(),
        });
        save_take(&base, base.rope(), &to, Backup::None).unwrap();
        assert_eq!(std::fs::read(&to).unwrap(), read.unwrap(), "{}", case["id"]);
        assert_eq!(std::fs::read(&from).unwrap(), bytes, "{}", case["id"]);
        std::fs::remove_file(&to).unwrap();
        saved += 1;
    }
    assert!(saved >= 30, "{saved}");
}

#[test]
fn texts_of_the_parsing_suite_stay_as_they_are_beside_an_edit() {
    let Ok(text) = std::fs::read_to_string(SUITE) else {
        eprintln!("skipped: {SUITE} is absent");
        return;
    };
    let cases: Vec<Value> = serde_json::from_str(&text).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (from, to) = (folder.path().join("a.jsonl"), folder.path().join("b.jsonl"));
    let mut saved = 0;
    for case in cases {
        let name = case["name"].as_str().unwrap();
        let own = BASE64_STANDARD
            .decode(case["bytes_b64"].as_str().unwrap())
            .unwrap();
        if !name.starts_with("y_") || own.contains(&b'\n') {
            continue;
        }
        let call = br#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
        let user = [
            &br#"{"role":"user","content":"hi","extra":"#[..],
            &own,
            b"}",
        ]
        .concat();
        let before = [&user[..], call, &user, b""].join(&b'\n');
        std::fs::write(&from, &before).unwrap();
        let recording = opened(&from, Some("openai-chat")).unwrap();
        let session = &recording.sessions[0];
        let at = session
            .items
            .iter()
            .position(|item| item.kind == Kind::Call)
            .unwrap();
        let answer = Edit::Answer {
            call: u32::try_from(at).unwrap(),
            text: "no".to_owned(),
            is_error: true,
        };
        let base = Base::new(recording.clone(), Some(&from)).unwrap();
        let rope = base.rope().spliced(&lower(session, &[answer]).unwrap());
        save_take(&base, &rope, &to, Backup::None).unwrap();
        let output = br#"{"role":"tool","tool_call_id":"a","content":"no"}"#;
        let after = [&user[..], call, output, &user, b""].join(&b'\n');
        assert_eq!(std::fs::read(&to).unwrap(), after, "{name}");
        saved += 1;
    }
    assert!(saved >= 80, "{saved}");
}
