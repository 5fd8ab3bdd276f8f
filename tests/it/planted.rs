//! Transcripts with planted defects: check finds exactly those, in every format and at every size, also when parts are read side by side.

use retake_core::session::Kind;
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

/// The kinds of defects that are planted.
const KINDS: [&str; 5] = [
    "unknown_tool",
    "bad_json",
    "schema",
    "orphan_call",
    "orphan_output",
];

/// Makes a file with a generator, reads it, and compares what is found with what was planted; gives the kinds of that.
fn finds_exactly_what_was_planted(
    generator: &[&str],
    format: &str,
    bytes: &str,
) -> BTreeSet<String> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("run.jsonl");
    let made = Command::new("python3")
        .args(generator)
        .args(["--format", format, "--bytes", bytes, "--seed", "7", "--out"])
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
    assert_eq!(recording.problems, [], "{format}");
    let counted = |kind| {
        let counts = recording.sessions.iter().map(|one| one.count(kind));
        Value::from(counts.sum::<usize>())
    };
    assert_eq!(counted(Kind::Call), truth["calls"], "{format}");
    assert_eq!(counted(Kind::Output), truth["outputs"], "{format}");
    let text = |defect: &Value, key: &str| defect[key].as_str().unwrap().to_owned();
    let list = truth["list"].as_array().unwrap();
    let planted: BTreeSet<(String, String)> = list
        .iter()
        .map(|defect| {
            (
                rule_of(&text(defect, "kind")).to_owned(),
                text(defect, "call_id"),
            )
        })
        .collect();
    let rules = KINDS.map(rule_of);
    let findings = check_recording(&recording, None).unwrap();
    let found: BTreeSet<(String, String)> = recording
        .sessions
        .iter()
        .zip(&findings)
        .flat_map(|(session, findings)| findings.iter().map(move |finding| (session, finding)))
        .filter(|(_, finding)| rules.contains(&finding.rule.id))
        .map(|(session, finding)| {
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
    list.iter().map(|defect| text(defect, "kind")).collect()
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
            let kinds = finds_exactly_what_was_planted(&[GENERATOR], format, bytes);
            assert!(kinds.len() >= 2, "{format}: {kinds:?}");
        }
    }
}

/// The formats of `benches/more_formats.py`.
const MORE: [&str; 10] = [
    "codex",
    "copilot-cli",
    "gemini-cli",
    "har",
    "hermes-sqlite",
    "opencode-sqlite",
    "openhands",
    "otel",
    "pi",
    "vcr",
];

#[test]
fn defects_of_each_kind_are_found_in_formats_of_agents_traces_and_traffic() {
    if !Path::new(GENERATOR).exists() {
        eprintln!("skipped: {GENERATOR} is absent");
        return;
    }
    for format in MORE {
        let kinds =
            finds_exactly_what_was_planted(&["benches/more_formats.py", GENERATOR], format, "1M");
        // A call of opencode and its output are one part.
        let expected = KINDS
            .iter()
            .filter(|kind| (format, **kind) != ("opencode-sqlite", "orphan_output"));
        assert!(
            kinds.iter().eq(expected.copied().collect::<BTreeSet<_>>()),
            "{format}: {kinds:?}"
        );
    }
}
