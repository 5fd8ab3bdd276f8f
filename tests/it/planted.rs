//! Transcripts with planted defects: check finds exactly those, in every format and at every size, also when parts are read side by side.

use retake_core::wire::tools::read_tools;
use retake_live::{ReadOptions, check_recording, read_path};
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::Path;
use std::process::Command;

const GENERATOR: &str = "../shared/bench/gen.py";

/// The rule that finds a planted defect.
fn rule_of(defect: &str) -> &'static str {
    match defect {
        "unknown_tool" => "unknown-tool",
        "bad_json" => "malformed-arguments",
        "schema" => "invalid-arguments",
        "orphan_call" => "orphan-call",
        "orphan_output" => "orphan-output",
        other => panic!("{other}"),
    }
}

fn finds_exactly_what_was_planted(format: &str, bytes: &str) {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let made = Command::new("python3")
        .args([
            GENERATOR, "--format", format, "--bytes", bytes, "--seed", "7", "--out",
        ])
        .arg(&file)
        .output()
        .unwrap();
    assert!(
        made.status.success(),
        "{}",
        String::from_utf8_lossy(&made.stderr)
    );
    let read = |suffix: &str| -> Value {
        serde_json::from_slice(&std::fs::read(format!("{}.{suffix}.json", file.display())).unwrap())
            .unwrap()
    };
    let truth = read("truth");
    let mut recording = read_path(&file, &ReadOptions::default()).unwrap();
    let (tools, _) = read_tools(&read("tools"));
    recording.sessions.iter_mut().for_each(|session| {
        session.contract.supplement(Some(&tools), None, None);
    });
    assert_eq!(
        (recording.sessions.len(), recording.problems.len()),
        (1, 0),
        "{format}"
    );
    let session = &recording.sessions[0];
    let counted = |kind| Value::from(session.count(kind));
    assert_eq!(
        counted(retake_core::session::Kind::Call),
        truth["calls"],
        "{format}"
    );
    assert_eq!(
        counted(retake_core::session::Kind::Output),
        truth["outputs"],
        "{format}"
    );
    let planted: BTreeSet<(String, String)> = truth["list"]
        .as_array()
        .unwrap()
        .iter()
        .map(|defect| {
            let text = |key: &str| defect[key].as_str().unwrap().to_owned();
            (rule_of(&text("kind")).to_owned(), text("call_id"))
        })
        .collect();
    let rules = [
        "unknown_tool",
        "bad_json",
        "schema",
        "orphan_call",
        "orphan_output",
    ]
    .map(rule_of);
    assert!(planted.len() >= 2, "{format}: defects are planted");
    let found: BTreeSet<(String, String)> = check_recording(&recording, None).unwrap()[0]
        .iter()
        .filter(|finding| rules.contains(&finding.rule.id))
        .map(|finding| {
            let item = &session.items[finding.item.unwrap() as usize];
            (finding.rule.id.to_owned(), session.call_id(item).unwrap())
        })
        .collect();
    let missed = planted.difference(&found).collect::<Vec<_>>();
    let invented = found.difference(&planted).collect::<Vec<_>>();
    assert!(
        missed.is_empty() && invented.is_empty(),
        "{format} {bytes}: missed {missed:?}, invented {invented:?}"
    );
}

#[test]
fn planted_defects_are_found_exactly() {
    if !Path::new(GENERATOR).exists() {
        eprintln!("skipped: {GENERATOR} is absent");
        return;
    }
    let sizes: &[&str] = if std::env::var_os("RETAKE_LONG").is_some() {
        &["200K", "2M", "12M", "200M"]
    } else {
        &["200K", "12M"]
    };
    for format in ["claude-jsonl", "responses", "chat"] {
        for bytes in sizes {
            finds_exactly_what_was_planted(format, bytes);
        }
    }
}
