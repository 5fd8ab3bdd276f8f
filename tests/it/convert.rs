//! Conversion: every recording in every dialect, read again; valid requests there and back; transcripts out of nothing.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use proptest::prelude::*;
use retake_core::formats::convert::{ConvertOptions, Converted, LossKind, convert};
use retake_core::formats::{FORMATS, read_buffer};
use retake_core::json::skip_value;
use retake_core::repair::likely;
use retake_core::rules::{Finding, Run, check};
use retake_core::session::{
    Dialect, Flags, Item, Kind, Problem, ProblemKind, Session, Source, SourceError,
};
use retake_core::wire::body_of;
use retake_live::{Input, ReadOptions, read_input, read_path};
use serde_json::Value;
use std::collections::{BTreeMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub(crate) const OPTIONS: ConvertOptions = ConvertOptions {
    as_request: false,
    repair: likely,
};

pub(crate) fn converted(
    session: &Session,
    to: Dialect,
    options: ConvertOptions,
) -> (Vec<u8>, Converted) {
    let mut text = Vec::new();
    let told = convert::<SourceError>(session, to, options, &mut |piece| {
        text.extend_from_slice(piece);
        Ok(())
    });
    (text, told.unwrap())
}

/// The session of a text in the format of a dialect; `None` where the text holds no item.
pub(crate) fn read(bytes: Vec<u8>, to: Dialect) -> Option<Session> {
    let bytes = Arc::new(bytes);
    let input = Input {
        buffer: Some(bytes.clone()),
        ..Input::of("converted", bytes)
    };
    let options = ReadOptions {
        format: Some(to.facts().format.to_owned()),
        ..ReadOptions::default()
    };
    let mut recording = read_input(input, &options).unwrap();
    let is_mixed = |problem: &&Problem| matches!(problem.kind, ProblemKind::MixedFormats(_));
    let problems = recording.problems.iter();
    assert_eq!(
        problems.filter(|problem| !is_mixed(problem)).count(),
        0,
        "{to:?}"
    );
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

fn structure(session: &Session, to: Dialect) -> BTreeMap<&'static str, usize> {
    let findings: Vec<Finding> = check(&mut Run::new(session, Some(to))).unwrap();
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

/// The lines that are said in the history, without the marks that stand for what is not text.
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
        // Reasoning beside the text of a Chat message is listed as a loss: a client need not send it again.
        let told = body.text[body.thought..].lines().map(str::trim);
        let is_text = |line: &&str| !line.is_empty() && !line.starts_with(['[', '{']);
        lines.extend(told.filter(is_text).map(str::to_owned));
    }
    lines
}

fn assert_converts(session: &Session, to: Dialect, place: &str) {
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
    let errors = |session: &Session| {
        let sent = |item: &&Item| !item.flags.has(Flags::COMPACTED);
        let outputs = session
            .items
            .iter()
            .filter(|item| item.kind == Kind::Output);
        let marked = outputs
            .filter(sent)
            .filter(|item| item.flags.has(Flags::ERROR));
        marked.count()
    };
    let unmarked = losses(&|kind| *kind == LossKind::ErrorMark);
    assert!(
        errors(session) <= errors(&target) + unmarked + as_text,
        "{place}: an error has no mark, and no loss says so"
    );
    let kept = lines(&target);
    for line in lines(session) {
        assert!(
            kept.contains(&line) || kept.iter().any(|kept| kept.ends_with(&line)),
            "{place}: {line:?} is gone"
        );
    }
}

pub(crate) fn files_below(folder: &Path, out: &mut Vec<PathBuf>) {
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
            for to in Dialect::ALL {
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

fn wire_cases() -> Vec<Value> {
    let cases: Value = serde_json::from_str(include_str!("hostile/wire_cases.json")).unwrap();
    cases["cases"].as_array().unwrap().clone()
}

fn request_of(case: &Value) -> (Dialect, Session) {
    let from = Dialect::named(case["dialect"].as_str().unwrap()).unwrap();
    let body = serde_json::to_vec(&case["body"]).unwrap();
    (from, read(body, from).unwrap())
}

/// What a history says, whoever spells it: calls with their arguments and outputs, and the texts between them.
#[derive(Debug, PartialEq)]
struct Said {
    calls: Vec<(String, Value, Option<String>)>,
    texts: Vec<(Kind, String)>,
}

fn said(session: &Session) -> Said {
    let body = |index: usize| {
        let item = &session.items[index];
        body_of(item, &session.bytes(item).unwrap()).unwrap()
    };
    let mut said = Said {
        calls: Vec::new(),
        texts: Vec::new(),
    };
    for (index, item) in session.items.iter().enumerate() {
        match item.kind {
            Kind::Call => {
                let arguments = body(index).arguments;
                let arguments = match arguments.json() {
                    Some(json) => serde_json::from_str(json).unwrap_or(Value::Null),
                    None => serde_json::json!({"input": arguments.as_written()}),
                };
                let output = session
                    .pairing
                    .partner(index)
                    .map(|output| body(output).text);
                said.calls
                    .push((session.name(item).to_owned(), arguments, output));
            }
            Kind::System | Kind::User | Kind::Assistant => {
                let text = body(index).text;
                if !text.trim().is_empty() {
                    said.texts.push((item.kind, text));
                }
            }
            _ => {}
        }
    }
    said.texts.sort_by_key(|(kind, _)| kind.word());
    said
}

#[test]
fn every_decided_request_breaks_nothing_on_its_way() {
    for case in wire_cases() {
        let (_, session) = request_of(&case);
        for to in Dialect::ALL {
            assert_converts(&session, to, case["id"].as_str().unwrap());
        }
    }
}

#[test]
fn a_valid_request_is_valid_in_every_dialect_and_says_the_same_when_it_comes_back() {
    let as_request = ConvertOptions {
        as_request: true,
        ..OPTIONS
    };
    let mut seen = 0;
    for case in wire_cases() {
        if case["verdict"] != "ok" {
            continue;
        }
        let (from, session) = request_of(&case);
        let id = case["id"].as_str().unwrap();
        for to in Dialect::ALL {
            seen += 1;
            let (there, told) = converted(&session, to, as_request);
            serde_json::from_slice::<Value>(&there).unwrap_or_else(|error| panic!("{id}: {error}"));
            let there = read(there, to).unwrap();
            assert!(
                there.contract.is_request && there.contract.tools_known(),
                "{id}"
            );
            // Orphans of a request that relies on the provider's memory have become texts.
            let broken = structure(&there, to);
            if to != from {
                assert_eq!(broken, BTreeMap::new(), "{id} to {to:?}");
            } else if !session.contract.server_state {
                assert_eq!(broken, structure(&session, to), "{id} to {to:?}");
            }
            let (back, _) = converted(&there, from, as_request);
            let back = read(back, from).unwrap();
            let is_told = told.losses.iter().any(|loss| {
                matches!(
                    loss.kind,
                    LossKind::ArgumentsRepaired
                        | LossKind::ArgumentsWrapped
                        | LossKind::OutputAsText
                )
            });
            if !is_told {
                assert_eq!(said(&session), said(&back), "{id} to {to:?} and back");
            }
        }
    }
    assert_eq!(seen, 105);
}

#[test]
fn what_has_the_spelling_already_is_copied_byte_for_byte() {
    let chat = br#"{"model":"m","messages":[
        {"role": "user",   "content":"hi\u0021", "name":"ann"},
        {"role": "assistant", "content":null, "reasoning_content":"hm", "tool_calls":[ {"id":"a","function":{"name":"f","arguments":"{}"}}]},
        {"role":"tool","tool_call_id":"a","content":"1","extra":[1.0]}]}"#;
    let responses = br#"[{"type":"reasoning","id":"rs_1","summary":[],"encrypted_content":"gA\/=="},
        {"type": "message","id":"msg_1","role":"assistant","content":[{"type":"output_text","text":"a"}]},
        {"type":"item_reference","id":"msg_0"}, {"type":"web_search_call","id":"ws_1","status":"completed"}]"#;
    let anthropic = br#"{"system":[{"type":"text","text":"s","cache_control":{"type":"ephemeral"}}],"messages":[{"role":"user","content":"q\u00e9"},
        {"role":"assistant","content":[{"type":"thinking", "thinking":"t\u0021","signature":"Eq\/+=="},{"type":"tool_use","id":"a","name":"f","input":{"x": 1.0}}]},
        {"role":"user","content":[{"type":"tool_result","tool_use_id":"a","content":"1"}]}]}"#;
    let recordings: [(Dialect, &[u8]); 3] = [
        (Dialect::Chat, chat),
        (Dialect::Responses, responses),
        (Dialect::Anthropic, anthropic),
    ];
    for (to, recording) in recordings {
        let session = read(recording.to_vec(), to).unwrap();
        let (text, told) = converted(&session, to, OPTIONS);
        assert_eq!(told.losses, [], "{to:?}");
        let text = String::from_utf8(text).unwrap();
        for item in &session.items {
            let bytes = String::from_utf8(session.bytes(item).unwrap()).unwrap();
            let bytes = bytes.trim_matches(['[', ']']);
            assert!(text.contains(bytes), "{to:?}: {bytes} in {text}");
        }
        if to == Dialect::Chat {
            assert!(text.contains("reasoning_content"), "{text}");
        }
    }
}

/// One step of a transcript: who acts, how much, and what it is about.
type Step = (u8, u8, &'static str);

/// A valid Responses history: calls in parallel or alone, outputs in some order, messages between.
fn history(steps: &[Step]) -> Vec<Value> {
    use serde_json::json;
    let names = ["look", "files.read", "büro", "a_b", "a.b"];
    let mut items = vec![json!({"type": "message", "role": "user", "content": "go"})];
    for (number, (kind, count, text)) in steps.iter().enumerate() {
        let message = |role: &str| json!({"type": "message", "role": role, "content": text});
        match kind % 6 {
            0 => items.push(message("user")),
            1 => items.push(message("developer")),
            2 => items.push(
                json!({"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": text, "annotations": []}]}),
            ),
            3 => items.push(
                json!({"type": "reasoning", "id": format!("rs_{number}"), "summary": [{"type": "summary_text", "text": text}], "encrypted_content": "gA=="}),
            ),
            _ => {}
        }
        if kind % 6 < 3 {
            continue;
        }
        let ids: Vec<String> = (0..=count % 3)
            .map(|call| {
                format!(
                    "call:{text}{number}|{call}{}",
                    "x".repeat(usize::from(*count) / 8)
                )
            })
            .collect();
        for id in &ids {
            let name = names[usize::from(*count) % names.len()];
            let arguments = json!({"text": text}).to_string();
            items.push(if count % 7 == 0 {
                json!({"type": "custom_tool_call", "call_id": id, "name": name, "input": text})
            } else {
                json!({"type": "function_call", "call_id": id, "name": name, "arguments": arguments})
            });
        }
        if count % 5 == 0 {
            items.push(message("user"));
        }
        for id in ids.iter().rev() {
            let of_type = if count % 7 == 0 {
                "custom_tool_call_output"
            } else {
                "function_call_output"
            };
            items.push(json!({"type": of_type, "call_id": id, "output": text}));
        }
    }
    items
}

pub(crate) fn histories() -> impl Strategy<Value = Vec<Value>> {
    let texts = vec!["plain", "né 😀", "a\nb", "\\\"", "\u{1b}[31m", "{\"x\":1}"];
    let step = (any::<u8>(), 0..200_u8, prop::sample::select(texts));
    prop::collection::vec(step, 0..12).prop_map(|steps| history(&steps))
}

proptest! {
    #[test]
    fn no_bytes_make_a_conversion_fall_over(bytes in crate::read_properties::hostile_bytes()) {
        let source: Arc<dyn Source> = Arc::new(bytes.clone());
        for format in FORMATS {
            for session in read_buffer(format, &source, &bytes).unwrap().sessions {
                for (to, as_request) in Dialect::ALL.into_iter().flat_map(|to| [(to, false), (to, true)]) {
                    let (text, _) = converted(&session, to, ConvertOptions { as_request, ..OPTIONS });
                    let whole = skip_value(&text, 0);
                    prop_assert_eq!(whole, Ok(text.len() - 1), "{}", String::from_utf8_lossy(&text));
                }
            }
        }
    }

    #[test]
    fn a_valid_transcript_stays_valid_and_says_the_same(
        items in histories(),
        first in prop::sample::select(vec![Dialect::Chat, Dialect::Anthropic]),
        more in prop::collection::vec(prop::sample::select(Dialect::ALL.to_vec()), 0..3),
    ) {
        let start = read(serde_json::to_vec(&items).unwrap(), Dialect::Responses).unwrap();
        let mut session = start.clone();
        for to in std::iter::once(first).chain(more) {
            let (text, _) = converted(&session, to, OPTIONS);
            serde_json::from_slice::<Value>(&text).unwrap();
            session = read(text, to).unwrap();
            prop_assert_eq!(structure(&session, to), BTreeMap::new(), "{:?}", to);
        }
        let (before, after) = (said(&start), said(&session));
        let told = |said: &Said| {
            let calls = said.calls.iter();
            calls.map(|(_, arguments, output)| (arguments.clone(), output.clone())).collect::<Vec<_>>()
        };
        prop_assert_eq!(told(&before), told(&after));
        let texts = |said: &Said| {
            let mut texts: Vec<String> = said.texts.iter().flat_map(|(_, text)| text.lines().map(str::to_owned)).collect();
            texts.sort();
            texts
        };
        prop_assert_eq!(texts(&before), texts(&after));
    }
}
