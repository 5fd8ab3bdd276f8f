//! Conversion: every recording in every dialect, read again; valid requests there and back; transcripts out of nothing.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use proptest::prelude::*;
use retake::dialects::body_of;
use retake::formats::convert::{Converted, LossKind, Options, To, convert};
use retake::repair::{Repair, repair};
use retake::rules::{Finding, Run, check};
use retake::runtime::{Input, ReadOptions, read_input, read_path};
use retake::session::{Flags, Kind, Session, SourceError};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

const OPTIONS: Options = Options {
    as_request: false,
    repair: likely,
};

fn likely(text: &str) -> Option<String> {
    match repair(text) {
        Repair::Likely { text } => Some(text),
        _ => None,
    }
}

fn converted(session: &Session, to: To, options: Options) -> (Vec<u8>, Converted) {
    let mut text = Vec::new();
    let told = convert::<SourceError>(session, to, options, &mut |piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    (text, told.unwrap())
}

fn format_of(to: To) -> &'static str {
    match to {
        To::Responses => "openai-responses",
        To::Chat => "openai-chat",
        To::Anthropic => "anthropic-messages",
    }
}

/// The session of a text in the format of a dialect; `None` where the text holds no item.
fn read(bytes: Vec<u8>, to: To) -> Option<Session> {
    let bytes = Arc::new(bytes);
    let input = Input {
        name: "converted".to_owned(),
        path: None,
        source: bytes.clone(),
        buffer: Some(bytes),
        notices: Vec::new(),
    };
    let options = ReadOptions {
        format: Some(format_of(to).to_owned()),
    };
    let mut recording = read_input(input, &options).unwrap();
    assert_eq!(recording.problems, [], "{to:?}");
    assert!(recording.sessions.len() <= 1, "{to:?}");
    recording.sessions.pop()
}

/// What a provider would refuse a history for.
const STRUCTURE: &[&str] = &[
    "orphan-call",
    "orphan-output",
    "misplaced-output",
    "duplicate-call-id",
    "duplicate-output",
    "missing-call-id",
    "invalid-tool-name",
    "malformed-message",
    "orphan-reasoning",
    "split-pair",
];

fn structure(session: &Session, to: To) -> BTreeMap<&'static str, usize> {
    let findings: Vec<Finding> = check(&Run::new(session, Some(to.dialect()))).unwrap();
    let mut counts = BTreeMap::new();
    for finding in findings {
        if STRUCTURE.contains(&finding.rule.id) {
            // A pair that a compaction severed is an orphan where the compaction is gone.
            let rule = match finding.rule.id {
                "split-pair" | "orphan-call" | "orphan-output" => "orphan",
                other => other,
            };
            *counts.entry(rule).or_default() += 1;
        }
    }
    counts
}

fn count(session: &Session, kind: Kind) -> usize {
    let items = session.items.iter();
    items
        .filter(|item| item.kind == kind && !item.flags.has(Flags::COMPACTED))
        .count()
}

/// The lines that are said in the history, without the marks that stand for what is no text.
fn lines(session: &Session) -> HashSet<String> {
    let mut lines = HashSet::new();
    for item in &session.items {
        let is_said = matches!(
            item.kind,
            Kind::System | Kind::User | Kind::Assistant | Kind::Output
        );
        if !is_said || item.flags.has(Flags::COMPACTED) {
            continue;
        }
        let body = body_of(item, &session.bytes(item).unwrap()).unwrap();
        let told = body.text.lines().map(str::trim);
        let is_text = |line: &&str| !line.is_empty() && !line.starts_with(['[', '{']);
        lines.extend(told.filter(is_text).map(str::to_owned));
    }
    lines
}

fn assert_converts(session: &Session, to: To, place: &str) {
    let (text, told) = converted(session, to, OPTIONS);
    let place = format!("{place} to {to:?}");
    let Some(target) = read(text, to) else {
        assert_eq!(
            count(session, Kind::Call) + count(session, Kind::User),
            0,
            "{place}"
        );
        return;
    };
    let (before, after) = (structure(session, to), structure(&target, to));
    for (rule, found) in &after {
        let allowed = before.get(rule).copied().unwrap_or_default();
        assert!(*found <= allowed, "{place}: {rule} {found} > {allowed}");
    }
    let losses = |kind: &dyn Fn(&LossKind) -> bool| {
        told.losses.iter().filter(|loss| kind(&loss.kind)).count()
    };
    let as_text = losses(&|kind| *kind == LossKind::OutputAsText);
    let calls = |session| count(session, Kind::Call);
    let outputs = |session| count(session, Kind::Output);
    assert_eq!(calls(session), calls(&target), "{place}");
    assert_eq!(outputs(session), outputs(&target) + as_text, "{place}");
    let kept = lines(&target);
    for line in lines(session) {
        assert!(
            kept.contains(&line) || kept.iter().any(|kept| kept.ends_with(&line)),
            "{place}: {line:?} is gone"
        );
    }
}

fn files_below(folder: &Path, out: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else {
        return;
    };
    for entry in entries {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files_below(&path, out);
        } else {
            out.push(path);
        }
    }
    out.sort();
}

fn assert_all_convert(folder: &str) -> usize {
    let mut files = Vec::new();
    files_below(Path::new(folder), &mut files);
    let mut sessions = 0;
    for file in files {
        let read = read_path(&file, &ReadOptions::default());
        let Ok(recording) = read else { continue };
        for (number, session) in recording.sessions.iter().enumerate() {
            sessions += 1;
            for to in To::ALL {
                assert_converts(session, to, &format!("{} #{}", file.display(), number + 1));
            }
        }
    }
    sessions
}

#[test]
fn every_bundled_recording_goes_into_every_dialect() {
    assert!(assert_all_convert("sessions") >= 20);
}

#[test]
fn every_real_recording_goes_into_every_dialect() {
    if assert_all_convert("../shared/corpus") == 0 {
        eprintln!("skipped: ../shared/corpus is absent");
    }
}
