//! Takes of a recording that are there again, and those that grow.

use super::*;
use crate::takes::About;
use crate::{ReadOptions, check_session, read_path};
use retake_core::rules::{Finding, Severity};
use retake_core::session::ledger::LedgerEvent;
use retake_core::session::{Kind, MessageRole, PairStatus, Source, Span};
use std::fs;

const LINES: &str = concat!(
    "{\"role\":\"user\",\"content\":\"hi\"}\n",
    "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}\n",
);

struct Desk {
    folder: tempfile::TempDir,
}

impl Desk {
    fn new(text: &str) -> Self {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("run.jsonl"), text).unwrap();
        Self { folder }
    }

    fn open(&self) -> TakeStore {
        let path = self.folder.path().join("run.jsonl");
        let recording = Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
        let root = self.folder.path().join("state");
        let (workbench, damages) = TakeStore::open(recording, Some(&path), Some(&root), || 0);
        assert!(damages.is_empty(), "{damages:?}");
        workbench
    }
}

fn kinds(workbench: &mut TakeStore, id: TakeId) -> Vec<Kind> {
    let recording = workbench.read(id, &|_, _| ()).unwrap();
    recording.sessions[0]
        .items
        .iter()
        .map(|item| item.kind)
        .collect()
}

fn take(workbench: &mut TakeStore, edits: &[Edit]) -> TakeId {
    let current = workbench.takes().current();
    let recording = workbench.read(current, &|_, _| ()).unwrap();
    workbench
        .take(0, &recording.sessions[0], edits, Take::default())
        .unwrap()
}

fn answer() -> Edit {
    Edit::Answer {
        call: 1,
        text: "no".to_owned(),
        is_error: true,
    }
}

fn say(after: u32) -> Edit {
    Edit::Say {
        after,
        voice: MessageRole::User,
        text: "and?".to_owned(),
    }
}

#[test]
fn takes_are_there_again_when_the_file_is_opened_again_and_when_it_has_grown() {
    let desk = Desk::new(LINES);
    let mut workbench = desk.open();
    let first = take(&mut workbench, &[answer()]);
    let second = take(&mut workbench, &[say(2)]);
    let answered = vec![Kind::User, Kind::Call, Kind::Output];
    let gone_on = vec![Kind::User, Kind::Call, Kind::Output, Kind::User];
    assert_eq!(kinds(&mut workbench, second), gone_on);
    assert_eq!(workbench.undo(), Some(first));
    assert_eq!(workbench.redo(), Some(second));
    drop(workbench);
    let mut again = desk.open();
    assert_eq!(again.takes().current(), second);
    assert_eq!(kinds(&mut again, first), answered);
    assert_eq!(kinds(&mut again, second), gone_on);
    drop(again);
    let path = desk.folder.path().join("run.jsonl");
    fs::write(
        &path,
        format!("{LINES}{{\"role\":\"user\",\"content\":\"hello?\"}}\n"),
    )
    .unwrap();
    let mut grown = desk.open();
    assert_eq!(kinds(&mut grown, first), gone_on);
    assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
}

#[test]
fn a_log_of_exchanges_is_changed_as_one_request() {
    let text = concat!(
        r#"{"request":{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]},"response":{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"g","arguments":"{}"}}]}}]}}"#,
        "\n"
    );
    let desk = Desk::new(text);
    let mut workbench = desk.open();
    let recording = workbench.read(TakeId::MAIN, &|_, _| ()).unwrap();
    let refused = workbench.take(0, &recording.sessions[0], &[answer()], Take::default());
    assert!(refused.is_err_and(|error| error.wants_request()));
    let request = workbench.as_request(0, Dialect::Chat, &[]).unwrap();
    assert_eq!(kinds(&mut workbench, request), [Kind::User, Kind::Call]);
    let known = workbench.read(request, &|_, _| ()).unwrap();
    assert!(known.sessions[0].contract.tools_known());
    let answered = take(&mut workbench, &[answer()]);
    assert_eq!(
        kinds(&mut workbench, answered),
        [Kind::User, Kind::Call, Kind::Output]
    );
}

/// A first request in each dialect, as a run begins with it, and what the model and the tools of that dialect say.
struct Spoken {
    format: &'static str,
    request: &'static str,
    reply: &'static str,
    last: &'static str,
}

const SPOKEN: [Spoken; 3] = [
    Spoken {
        format: "openai-chat",
        request: r#"{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f","parameters":{"type":"object"}}}]}"#,
        reply: r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}},{"id":"b","type":"function","function":{"name":"f","arguments":"{}"}}]}"#,
        last: r#"{"role":"assistant","content":"done"}"#,
    },
    Spoken {
        format: "openai-responses",
        request: r#"{"model":"m","input":"hi","tools":[{"type":"function","name":"f","parameters":{"type":"object"}}]}"#,
        reply: r#"{"type":"function_call","call_id":"a","name":"f","arguments":"{}"} {"type":"function_call","call_id":"b","name":"f","arguments":"{}"}"#,
        last: r#"{"type":"message","role":"assistant","content":[{"type":"output_text","text":"done"}]}"#,
    },
    Spoken {
        format: "anthropic-messages",
        request: r#"{"model":"m","max_tokens":9,"system":"be kind","messages":[{"role":"user","content":"hi"}],"tools":[{"name":"f","input_schema":{"type":"object"}}]}"#,
        reply: r#"{"role":"assistant","content":[{"type":"tool_use","id":"a","name":"f","input":{}},{"type":"tool_use","id":"b","name":"f","input":{}}]}"#,
        last: r#"{"role":"assistant","content":[{"type":"text","text":"done"}]}"#,
    },
];

impl Spoken {
    fn about(&self) -> About {
        About {
            agent: "demo".to_owned(),
            format: self.format.to_owned(),
            model: "m".to_owned(),
            scripted: true,
        }
    }

    fn begin(&self, path: &Path) -> TakeStore {
        let request = self.request.as_bytes();
        let mut workbench = TakeStore::begin_run(path, self.about(), request, || 7).unwrap();
        let about = Take {
            title: "the run".to_owned(),
            ..Take::default()
        };
        let run = take_of(&mut workbench, &[], about);
        let began = LedgerEvent::Began {
            take: run,
            agent: "demo".to_owned(),
            file: String::new(),
            model: "m".to_owned(),
            scripted: true,
        };
        workbench.record(&began).unwrap();
        workbench
    }
}

fn take_of(workbench: &mut TakeStore, edits: &[Edit], about: Take) -> TakeId {
    let current = workbench.takes().current();
    let recording = workbench.read(current, &|_, _| ()).unwrap();
    workbench
        .take(0, &recording.sessions[0], edits, about)
        .unwrap()
}

fn grow(workbench: &mut TakeStore, edits: &[Edit]) {
    let current = workbench.takes().current();
    let recording = workbench.read(current, &|_, _| ()).unwrap();
    workbench
        .grow(current, &recording.sessions[0], edits)
        .unwrap();
    assert!(workbench.not_recording().is_none());
}

fn extend(items: &str) -> Edit {
    let items =
        serde_json::Deserializer::from_str(items).into_iter::<Box<serde_json::value::RawValue>>();
    Edit::Extend {
        items: items.map(|item| item.unwrap().get().to_owned()).collect(),
    }
}

fn finished(call: u32, text: &str) -> Edit {
    Edit::Answer {
        call,
        text: text.to_owned(),
        is_error: false,
    }
}

fn text(workbench: &mut TakeStore, id: TakeId) -> String {
    let rope = workbench.rope(id).unwrap();
    let (start, end) = (0, rope.len());
    String::from_utf8(rope.read(Span { start, end }).unwrap()).unwrap()
}

fn faults(recording: &Recording) -> Vec<String> {
    let session = &recording.sessions[0];
    let findings = check_session(session, Some(session.dialect)).unwrap();
    let shown = |finding: &Finding| {
        (finding.severity != Severity::Info).then(|| finding.rule.id.to_owned())
    };
    findings.iter().filter_map(shown).collect()
}

fn calls(recording: &Recording) -> Vec<u32> {
    let items = (0..).zip(&recording.sessions[0].items);
    items
        .filter(|(_, item)| item.kind == Kind::Call)
        .map(|(index, _)| index)
        .collect()
}

#[test]
fn a_run_grows_in_each_dialect_and_is_a_valid_history_at_every_step() {
    for spoken in SPOKEN {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("runs/demo.jsonl");
        let mut workbench = spoken.begin(&path);
        let run = workbench.takes().current();
        grow(&mut workbench, &[extend(spoken.reply)]);
        let asked = workbench.read(run, &|_, _| ()).unwrap();
        assert_eq!(faults(&asked), [""; 0], "{}", spoken.format);
        let calls = calls(&asked);
        assert_eq!(
            asked.sessions[0].pairing.standing(calls[0] as usize),
            PairStatus::Pending
        );
        // The second call is done first.
        grow(&mut workbench, &[finished(calls[1], "two")]);
        grow(&mut workbench, &[finished(calls[0], "one")]);
        grow(&mut workbench, &[extend(spoken.last)]);
        let done = workbench.read(run, &|_, _| ()).unwrap();
        assert_eq!(faults(&done), [""; 0], "{}", spoken.format);
        let count = |kind| done.sessions[0].count(kind);
        assert_eq!(
            [count(Kind::Call), count(Kind::Output)],
            [2, 2],
            "{}",
            spoken.format
        );
        let told = text(&mut workbench, run);
        serde_json::from_str::<serde_json::Value>(&told).unwrap();
        drop(workbench);
        let (mut again, damages) = TakeStore::open_run(&path, || 7).unwrap();
        assert_eq!((damages.len(), text(&mut again, run)), (0, told.clone()));
        assert!(again.ledger().is_driven(&again.line(run)));
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        assert_eq!(
            (recording.format.id, recording.problems.len()),
            (spoken.format, 0)
        );
        assert_eq!(faults(&recording), [""; 0]);
        assert_eq!(recording.source.len(), told.len() as u64);
    }
}
