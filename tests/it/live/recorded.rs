//! Recordings go on live: the history as it was is what the model is asked with.

use super::Stage;
use super::driven::{HeldRun, attended, reasons};
use super::wire::Wire;
use retake_core::engine::{Reason, RunCommand};
use retake_core::session::ledger::{CallKey, Ending};
use retake_core::session::takes::{Take, TakeId};
use retake_core::session::{Dialect, Edit, Kind, Session};
use retake_core::wire::body_of;
use retake_live::live::{Phase, RunOptions};
use retake_live::takes::wall_clock;
use retake_live::{AS_REQUEST, ReadOptions, Recording, TakeStore, read_path};
use serde_json::Value;
use std::path::{Path, PathBuf};
use std::sync::Arc;

const SCRIPT: &str = "[[rule]]\ntext = \"Gone on.\"\n";

fn agent(stage: &Stage, wire: &Wire, dialect: Dialect) -> PathBuf {
    let (word, url) = (dialect.word(), wire.base_url(dialect));
    let agent = format!(
        "name = \"goes-on\"\n[model]\ndialect = \"{word}\"\nname = \"m\"\nmax_tokens = 99\nbase_url = \"{url}\"\n"
    );
    stage.write("agent.toml", &agent)
}

/// The files of a folder and of those in it, in order.
fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let mut entries: Vec<PathBuf> = std::fs::read_dir(folder)
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .collect();
    entries.sort();
    for path in entries {
        match path.is_dir() {
            true => files(&path, found),
            false => found.push(path),
        }
    }
}

/// The first words of what the user said, as far as the model still saw it at the end: a compaction takes the place of what was before.
fn said(session: &Session) -> Vec<String> {
    let compacted = session
        .items
        .iter()
        .rposition(|item| item.kind == Kind::Compaction);
    let seen = &session.items[compacted.unwrap_or_default()..];
    let users = seen.iter().filter(|item| item.kind == Kind::User);
    let texts = users.filter_map(|item| {
        let bytes = session.bytes(item).ok()?;
        let text = body_of(item, &bytes).ok()?.text;
        let line = text.lines().find(|line| !line.trim().is_empty())?;
        Some(line.trim().chars().take(30).collect())
    });
    texts.collect()
}

/// Every text in a JSON value, in a row.
fn texts(value: &Value, out: &mut String) {
    match value {
        Value::String(text) => {
            out.push_str(text);
            out.push('\n');
        }
        Value::Array(values) => values.iter().for_each(|value| texts(value, out)),
        Value::Object(members) => members.values().for_each(|value| texts(value, out)),
        _ => {}
    }
}

/// The call whose output the operator is asked for, where that is all that the run waits for.
fn asked_for(phase: &Phase) -> Option<CallKey> {
    let Phase::Paused { reasons } = phase else {
        return None;
    };
    let calls = reasons.iter().map(|reason| match reason {
        Reason::AskOperator { call, .. } => Some(call.clone()),
        _ => None,
    });
    calls.collect::<Option<Vec<_>>>()?.pop()
}

/// What became of a recording that goes on.
#[derive(Debug, PartialEq, Eq, Clone, Copy)]
enum Went {
    Final,
    Held,
}

fn goes_on(path: &Path, recording: Recording, dialect: Dialect) -> Went {
    let stage = Stage::new();
    let wire = Wire::to(SCRIPT);
    let agent = agent(&stage, &wire, dialect);
    let was = recording.sessions[0].dialect;
    let users = said(&recording.sessions[0]);
    let recording = Arc::new(recording);
    let state = stage.path("state");
    let before = std::fs::read(path).unwrap();
    let (bench, _) = TakeStore::open(recording, Some(path), Some(&state), wall_clock);
    let mut driven = HeldRun::of_recording(&agent, bench, attended());
    let name = path.display();
    let mut phase = driven.rest();
    // Where the history ends on an answer, the user says something more.
    if phase == Phase::Ended(Ending::Final) && wire.bodies().is_empty() {
        driven.handle(retake_live::live::RunInput::Say("And then?".to_owned()));
        phase = driven.rest();
    }
    // Calls that wait for their outputs get them by hand.
    while let Some(call) = asked_for(&phase) {
        driven.command(RunCommand::Supply {
            call,
            output: "told by hand".to_owned(),
            is_error: false,
        });
        phase = driven.rest();
    }
    let take = driven.run.take();
    assert_ne!(take, TakeId::MAIN, "{name}");
    let line = driven.bench.line(take);
    let as_request = line.iter().any(|take| {
        let take = driven.bench.takes().get(*take);
        take.is_some_and(|take| take.cause.action.as_deref() == Some(AS_REQUEST))
    });
    assert!(
        as_request || was == dialect,
        "{name}: {was:?} goes on in {dialect:?}"
    );
    assert_eq!(std::fs::read(path).unwrap(), before, "{name} was written");
    let bodies = wire.bodies();
    if bodies.is_empty() {
        assert!(!reasons(&phase).is_empty(), "{name}: {phase:?}");
        return Went::Held;
    }
    assert_eq!(
        phase,
        Phase::Ended(Ending::Final),
        "{name}: {:#?}",
        driven.news
    );
    let mut sent = String::new();
    texts(&bodies[0], &mut sent);
    for words in users {
        assert!(sent.contains(&words), "{name}: {words:?} is not in {sent}");
    }
    assert_eq!(
        driven.run.final_text().as_deref(),
        Some("Gone on."),
        "{name}"
    );
    let grown = driven.read(take);
    let session = &grown.sessions[0];
    assert_eq!(session.dialect, dialect, "{name}");
    let calls = |value: &Value| value.to_string().matches("\"name\":").count();
    assert!(calls(&bodies[0]) >= session.count(Kind::Call), "{name}");
    Went::Final
}

fn every_one(folder: &Path) -> (usize, usize, usize) {
    let mut found = Vec::new();
    files(folder, &mut found);
    let (mut gone_on, mut held, mut other) = (0, 0, 0);
    for (number, path) in found.into_iter().enumerate() {
        let is_agent = path.components().any(|part| part.as_os_str() == "agents");
        let recording = read_path(&path, &ReadOptions::default());
        let recording = recording
            .ok()
            .filter(|read| !is_agent && !read.sessions.is_empty());
        let recording = recording.filter(|read| {
            read.sessions[0].items.len() < 3000 && !path.to_string_lossy().ends_with(".tools.json")
        });
        let Some(recording) = recording else {
            other += 1;
            continue;
        };
        let dialects = [Dialect::Responses, Dialect::Chat, Dialect::Anthropic];
        match goes_on(&path, recording, dialects[number % 3]) {
            Went::Final => gone_on += 1,
            Went::Held => held += 1,
        }
    }
    (gone_on, held, other)
}

#[test]
fn every_bundled_recording_goes_on_with_its_whole_history() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let (gone_on, held, _) = every_one(&root.join("sessions"));
    assert!(
        gone_on >= 15 && held <= 4,
        "{gone_on} went on, {held} are held"
    );
}

#[test]
fn every_recording_of_the_corpus_goes_on_with_its_whole_history() {
    let corpus = Path::new("../shared/corpus");
    if !corpus.is_dir() {
        eprintln!("skipped: {} is absent", corpus.display());
        return;
    }
    let (gone_on, held, other) = every_one(corpus);
    eprintln!("corpus: {gone_on} went on, {held} are held, {other} are none that can");
    assert!(
        gone_on > 50 && held * 10 <= gone_on,
        "{gone_on} went on, {held} are held"
    );
}

const RUN: &str = r#"{"model": "m", "tools": [{"type": "function", "function": {"name": "find_book", "parameters": {"type": "object"}}}],
    "messages": [{"role": "user", "content": "find two"},
    {"role": "assistant", "content": null, "tool_calls": [
        {"id": "1", "type": "function", "function": {"name": "find_book", "arguments": "{\"title\": \"Emma\"}"}}]},
    {"role": "tool", "tool_call_id": "1", "content": "shelf 4"},
    {"role": "assistant", "content": "On shelf 4."}]}"#;

const READER: &str = r#"
[[rule]]
turn = 1
calls = [{ name = "find_book", arguments = { title = "Emma" } }]
[[rule]]
turn = 2
calls = [{ name = "find_book", arguments = { title = "Ulysses" } }]
[[rule]]
text = "Found: {{ last }}"
"#;

#[test]
fn a_recorded_tool_answers_while_the_calls_are_the_same_and_then_the_operator_is_asked() {
    let stage = Stage::new();
    let path = stage.write("run.json", RUN);
    stage.write("agent.script.toml", READER);
    let agent = "name = \"reader\"\n[model]\ndialect = \"chat\"\nscript = \"agent.script.toml\"\n[[tools]]\nname = \"find_book\"\nrecorded = true\n";
    let agent = stage.write("agent.toml", agent);
    let recording = Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
    let session = recording.sessions[0].clone();
    let state = stage.path("state");
    let (mut bench, _) = TakeStore::open(recording, Some(&path), Some(&state), wall_clock);
    // Everything behind the user's words is taken away.
    let cut = session
        .items
        .iter()
        .position(|item| item.kind == Kind::Call)
        .unwrap();
    let from = u32::try_from(cut).unwrap();
    bench
        .take(0, &session, &[Edit::Cut { from }], Take::default())
        .unwrap();
    let options = RunOptions {
        at_hand: Some(session),
        ..attended()
    };
    let mut driven = HeldRun::of_recording(&agent, bench, options);
    let phase = driven.rest();
    let why = reasons(&phase);
    assert!(
        why.contains("the output of find_book is the operator's to give"),
        "{why}"
    );
    let take = driven.run.take();
    let read = driven.read(take);
    assert_eq!(
        read.sessions[0].count(Kind::Output),
        1,
        "the first was answered"
    );
    let call = asked_for(&phase).unwrap();
    driven.command(RunCommand::Supply {
        call,
        output: "lent out".to_owned(),
        is_error: false,
    });
    assert_eq!(driven.rest(), Phase::Ended(Ending::Final));
    assert!(driven.run.final_text().unwrap().contains("lent out"));
    let mut out = Vec::new();
    let (take, rope) = (
        driven.run.take(),
        driven.bench.rope(driven.run.take()).unwrap(),
    );
    retake_live::write_take(driven.bench.base(take).unwrap(), &rope, &mut out).unwrap();
    assert!(String::from_utf8(out).unwrap().contains("shelf 4"));
}

/// A history that ends on a call, in the words of a dialect, with the tool that was offered.
fn ends_on(dialect: Dialect, name: &str, arguments: &str) -> String {
    let schema = serde_json::json!({"type": "object", "required": ["id"], "properties": {"id": {"type": "integer"}}});
    let user = serde_json::json!({"role": "user", "content": "Who is 7?"});
    let body = match dialect {
        Dialect::Responses => serde_json::json!({"model": "m",
            "tools": [{"type": "function", "name": "look", "parameters": schema}],
            "input": [user, {"type": "function_call", "call_id": "c1", "name": name, "arguments": arguments}]}),
        Dialect::Chat => serde_json::json!({"model": "m",
            "tools": [{"type": "function", "function": {"name": "look", "parameters": schema}}],
            "messages": [user, {"role": "assistant", "content": null, "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": name, "arguments": arguments}}]}]}),
        Dialect::Anthropic | Dialect::Gemini | Dialect::Converse => {
            serde_json::json!({"model": "m", "max_tokens": 9,
            "tools": [{"name": "look", "input_schema": schema}],
            "messages": [user, {"role": "assistant", "content": [
                {"type": "tool_use", "id": "toolu_1", "name": name, "input": {"id": 7}}]}]})
        }
    };
    body.to_string()
}

#[test]
fn what_a_policy_cannot_do_about_a_recording_is_followed_by_otherwise() {
    let policy = "[policy.on.unknown-tool]\ndo = \"suggest\"\notherwise = \"inject\"\n\
                  [policy.on.malformed-arguments]\ndo = \"repair\"\notherwise = \"inject\"\n";
    let tool = "[[tools]]\nname = \"look\"\ncanned = \"Ann\"\n[tools.parameters]\ntype = \"object\"\nrequired = [\"id\"]\nproperties.id = { type = \"integer\" }\n";
    for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
        for (name, arguments) in [
            ("zzz", "{\"id\":7}"),
            ("look", "<<<"),
            ("look", "{\"id\": "),
        ] {
            // Arguments of Anthropic are JSON where the reply is whole.
            if dialect == Dialect::Anthropic && name == "look" {
                continue;
            }
            let stage = Stage::new();
            let wire = Wire::to(SCRIPT);
            let file = agent(&stage, &wire, dialect);
            let text = std::fs::read_to_string(&file).unwrap() + policy + tool;
            std::fs::write(&file, text).unwrap();
            let path = stage.write("run.json", &ends_on(dialect, name, arguments));
            let recording = Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
            let state = stage.path("state");
            let (bench, _) = TakeStore::open(recording, Some(&path), Some(&state), wall_clock);
            let options = RunOptions {
                has_operator: false,
                ..attended()
            };
            let mut driven = HeldRun::of_recording(&file, bench, options);
            let what = format!("{dialect:?} {name} {arguments}");
            assert_eq!(
                driven.rest(),
                Phase::Ended(Ending::Final),
                "{what}: {:#?}",
                driven.news
            );
            let line = driven.bench.line(driven.run.take());
            let actions = line.iter().filter_map(|take| {
                let take = driven.bench.takes().get(*take)?;
                take.cause.action.clone()
            });
            let actions: Vec<String> = actions.collect();
            assert_eq!(actions, ["continue", "inject-error"], "{what}");
        }
    }
}
