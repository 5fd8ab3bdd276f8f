//! A text that was changed in a few places and read again, as far as the changes go, is what reading all of it gives.

use super::read_properties::{input, transcripts};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::strategy::ValueTree;
use retake_core::formats::lower;
use retake_core::rules::{CleanCache, Finding, Run, check_by, mending_rules};
use retake_core::session::{
    Edit, MessageRole, Patch, Rope, Session, Source, SourceError, Span, Splice, Tool, ToolKind,
    recorded,
};
use retake_live::{Base, ReadOptions, Recording, read_input};
use serde_json::{Value, json};
use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

const KEEPS: ReadOptions = ReadOptions {
    as_file: false,
    format: None,
    keeps: true,
};

/// All that a session is, in words: names by their text, for their numbers say nothing; the model only of what is active, for in a
/// log it stands where it changes, whichever branch that is.
fn told(recording: &Recording) -> String {
    let mut out = format!("{:?}\n", recording.problems);
    for session in &recording.sessions {
        let told = (
            (
                &session.label,
                session.active,
                session.model.as_ref().filter(|_| session.active),
            ),
            (session.dialect, &session.contract, &session.stops),
            (&session.turns, &session.pairing),
        );
        writeln!(out, "{told:?}").unwrap();
        for item in &session.items {
            let record = &session.records[item.record as usize];
            let head = (item.span, item.turn, item.kind, item.family, item.dialect);
            let ids = (session.name(item), item.call_id, item.flags);
            writeln!(out, "{head:?} {ids:?} {record:?}").unwrap();
        }
    }
    out
}

/// Reads a text again after splices, in part and in full.
fn again(
    base: &Base,
    before: &Recording,
    rope: &Rope,
    splices: &[Splice],
) -> (Recording, Arc<Rope>) {
    let next = Arc::new(rope.spliced(splices));
    let read = base.read_again(before, splices, &next, &|_, _| ());
    let full = base.read(&next, &|_, _| ());
    match (read, full) {
        (Ok(read), Ok(full)) => {
            let (one, other) = (told(&read), told(&full));
            let same = one
                .bytes()
                .zip(other.bytes())
                .take_while(|(one, other)| one == other);
            let same = same.count();
            let near = |text: &str| {
                let near = text.bytes().skip(same.saturating_sub(150)).take(300);
                String::from_utf8_lossy(&near.collect::<Vec<u8>>()).into_owned()
            };
            assert_eq!(near(&one), near(&other));
            (read, next)
        }
        (read, full) => panic!("{:?} {:?}", read.err(), full.err()),
    }
}

/// An edit of one item, of a kind that is chosen by a number.
fn edit(session: &Session, kind: u8, at: Index) -> Option<Edit> {
    let item = u32::try_from(at.index(session.items.len().max(1))).unwrap();
    let length = session.items.get(item as usize)?.span.len();
    let text = "It is\n\"so\" {}".to_owned();
    let partner = session.pairing.partner(item as usize);
    Some(match kind % 8 {
        0 => Edit::Drop { item },
        1 => Edit::Answer {
            call: item,
            text,
            is_error: true,
        },
        2 => Edit::Degrade { item, text },
        3 => Edit::Say {
            after: item,
            voice: MessageRole::User,
            text,
        },
        4 => Edit::Say {
            after: item,
            voice: MessageRole::Assistant,
            text,
        },
        5 => Edit::Cut { from: item },
        6 => Edit::Move {
            output: item,
            call: u32::try_from(partner?).unwrap(),
        },
        _ => {
            let place = usize::try_from(length).unwrap() - 1;
            let patches = vec![Patch {
                at: place..place,
                with: b" ".to_vec(),
            }];
            Edit::Rewrite { item, patches }
        }
    })
}

/// Judges a text by what is known of the one before, and in full.
fn judge(recording: &mut Recording, rope: &Rope, faultless: &mut Vec<CleanCache>) {
    let tools = [Tool {
        name: "look".to_owned(),
        kind: ToolKind::Function,
        description: String::new(),
        parameters: Some(json!({"type": "object", "required": ["text"]})),
        output_schema: None,
    }];
    let rules = mending_rules();
    faultless.resize_with(recording.sessions.len(), CleanCache::default);
    for (session, faultless) in recording.sessions.iter_mut().zip(faultless) {
        session.contract.supplement(Some(&tools), None, None);
        let mut run = Run::new(session, None);
        let full = check_by(&mut run, &rules).unwrap();
        let known = faultless.among(&run, |span| recorded(rope, span));
        let part = check_by(&mut Run::new(session, None).knowing(known), &rules).unwrap();
        let told = |findings: &[Finding]| {
            let told = findings
                .iter()
                .map(|finding| format!("{finding:?} {:?} {:?}", finding.related, finding.offers));
            told.collect::<Vec<_>>()
        };
        assert_eq!(told(&part), told(&full));
        *faultless = CleanCache::of(&run, |span| recorded(rope, span), &full);
    }
}

/// Carries out rounds of edits, each in the session that the round before gave.
fn edit_in_rounds(mut recording: Recording, rounds: &[Vec<(Index, u8, Index)>]) -> usize {
    let mut faultless = Vec::new();
    let whole = Rope::new(recording.source.clone());
    judge(&mut recording, &whole, &mut faultless);
    let Ok(base) = Base::new(Arc::new(recording), None) else {
        return 0;
    };
    let (mut recording, mut rope) = (base.recording().clone(), base.rope().clone());
    let mut done = 0;
    for round in rounds {
        let mut splices: Vec<Splice> = Vec::new();
        for (session, kind, at) in round {
            let sessions = &recording.sessions;
            let Some(session) = sessions.get(session.index(sessions.len().max(1))) else {
                continue;
            };
            let lowered = edit(session, *kind, *at).map(|edit| lower(session, &[edit]));
            let Some(Ok(lowered)) = lowered else { continue };
            let touches = |new: &Splice| {
                let meets = |old: &Splice| old.at.start <= new.at.end && new.at.start <= old.at.end;
                splices.iter().any(meets)
            };
            if !lowered.iter().any(touches) {
                splices.extend(lowered);
                splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
                done += 1;
            }
        }
        let (mut read, next) = again(&base, &recording, &rope, &splices);
        judge(&mut read, &next, &mut faultless);
        (recording, rope) = (Arc::new(read), next);
    }
    done
}

fn rounds() -> impl Strategy<Value = Vec<Vec<(Index, u8, Index)>>> {
    let edit = (any::<Index>(), any::<u8>(), any::<Index>());
    prop::collection::vec(prop::collection::vec(edit, 1..5), 1..4)
}

/// Transcripts of the formats whose lines are wrapped records.
fn logs() -> impl Strategy<Value = String> {
    let claude = |number: usize, kind: u8| {
        let id = format!(
            "toolu_{}",
            number - usize::from(kind % 4 == 2 && number > 0)
        );
        let (role, content) = match kind % 4 {
            0 => ("user", json!("go on")),
            1 => (
                "assistant",
                json!([{"type": "tool_use", "id": id, "name": "look", "input": {"a": 1}}]),
            ),
            2 => (
                "user",
                json!([{"type": "tool_result", "tool_use_id": id, "content": "seen"}]),
            ),
            _ => ("assistant", json!([{"type": "text", "text": "done"}])),
        };
        let model = ["one", "two"][usize::from(kind > 230)];
        let parent = number
            .checked_sub(1 + usize::from(kind > 200))
            .map(|parent| format!("u{parent}"));
        json!({"type": role, "uuid": format!("u{number}"), "parentUuid": parent, "sessionId": "s", "isSidechain": kind > 240,
            "message": {"id": format!("msg_{number}"), "role": role, "model": model, "content": content}})
    };
    let codex = |number: usize, kind: u8| {
        let payload = match kind % 4 {
            0 => {
                json!({"type": "message", "role": "user", "content": [{"type": "input_text", "text": "go on"}]})
            }
            1 => {
                json!({"type": "function_call", "call_id": format!("c{number}"), "name": "look", "arguments": "{}"})
            }
            2 => {
                json!({"type": "function_call_output", "call_id": format!("c{}", number.saturating_sub(1)), "output": "seen"})
            }
            _ => {
                return json!({"timestamp": "t", "type": "turn_context", "payload": {"model": format!("m{}", kind % 3)}});
            }
        };
        json!({"timestamp": "t", "type": "response_item", "payload": payload})
    };
    let lines = move |is_claude: bool, kinds: Vec<u8>| {
        let head = json!({"timestamp": "t", "type": "session_meta", "payload": {"id": "s", "cli_version": "1"}});
        let head = (!is_claude).then_some(head);
        let kinds = kinds.into_iter().enumerate();
        let records: Vec<Value> = head
            .into_iter()
            .chain(kinds.map(|(number, kind)| {
                if is_claude {
                    claude(number, kind)
                } else {
                    codex(number, kind)
                }
            }))
            .collect();
        records
            .iter()
            .map(|record| format!("{record}\n"))
            .collect::<String>()
    };
    (any::<bool>(), prop::collection::vec(any::<u8>(), 2..40))
        .prop_map(move |(is_claude, kinds)| lines(is_claude, kinds))
}

fn texts() -> impl Strategy<Value = String> {
    prop_oneof![2 => transcripts(300, 12), 1 => logs()]
}

proptest! {
    #[test]
    fn edits_read_again_as_they_read_in_full(text in texts(), rounds in rounds()) {
        let recording = read_input(input(text.as_bytes(), false), &KEEPS).unwrap();
        edit_in_rounds(recording, &rounds);
    }

    #[test]
    fn bytes_anywhere_read_again_as_they_read_in_full(
        text in texts(),
        rounds in prop::collection::vec(prop::collection::vec((any::<Index>(), 0..40_u64, select(vec![
            "", "x", "\"", "\\", "{", "}", "[", "]", ",", "]}", "\n", "\n\n", "\0\0", "\u{feff}", "1,", "null\n", "{oops}\n", "[{\"a\":",
            "{\"role\":\"user\",\"content\":\"a\"}", ",{\"role\":\"user\",\"content\":\"a\"}", "\n{\"role\":\"user\",\"content\":\"a\"}\n",
            "{\"type\":\"function_call\",\"call_id\":\"c\",\"name\":\"new\",\"arguments\":\"{}\"},", "\"model\":\"other\",",
        ])), 1..4), 1..4),
    ) {
        let recording = read_input(input(text.as_bytes(), false), &KEEPS).unwrap();
        let base = Base::new(Arc::new(recording), None);
        prop_assume!(base.is_ok());
        let base = base.unwrap();
        let (mut recording, mut rope) = (base.recording().clone(), base.rope().clone());
        for round in rounds {
            let mut splices: Vec<Splice> = Vec::new();
            for (at, length, with) in round {
                let start = at.index(usize::try_from(rope.len()).unwrap() + 1) as u64;
                let end = (start + length).min(rope.len());
                splices.push(Splice { at: Span { start, end }, with: with.as_bytes().to_vec() });
            }
            splices.sort_by_key(|splice| (splice.at.start, splice.at.end));
            let (read, next) = again(&base, &recording, &rope, &splices);
            (recording, rope) = (Arc::new(read), next);
            prop_assume!(rope.len() > 0);
        }
    }
}

fn files_below(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten();
    let paths = entries.map(|entry| entry.unwrap().path());
    paths
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

#[test]
fn the_corpus_reads_again_as_it_reads_in_full() {
    let mut runner = proptest::test_runner::TestRunner::deterministic();
    let (mut files, mut edits) = (0, 0);
    for path in files_below(Path::new("../shared/corpus")) {
        let Ok(recording) = retake_live::read_path(&path, &KEEPS) else {
            continue;
        };
        files += 1;
        for _ in 0..4 {
            let rounds = rounds().new_tree(&mut runner).unwrap().current();
            edits += edit_in_rounds(recording.clone(), &rounds);
        }
    }
    if files == 0 {
        eprintln!("skipped: ../shared/corpus is absent");
    } else {
        assert!(edits > files, "{edits} edits in {files} files");
    }
}

/// A source that counts what is read of it.
#[derive(Debug)]
struct Counted(Vec<u8>, AtomicU64);

impl Source for Counted {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
        self.1.fetch_add(span.len(), Ordering::Relaxed);
        self.0.read(span)
    }
}

/// How many bytes are read to read a text of 4 MB again after its last message was dropped.
fn read_after_one_edit(text: &str) -> u64 {
    let source = Arc::new(Counted(text.as_bytes().to_vec(), AtomicU64::new(0)));
    let mut input = input(b"", false);
    input.source = source.clone();
    let base = Base::new(Arc::new(read_input(input, &KEEPS).unwrap()), None).unwrap();
    let session = &base.recording().sessions[0];
    let item = u32::try_from(session.items.len()).unwrap() - 2;
    let splices = lower(session, &[Edit::Drop { item }]).unwrap();
    source.1.store(0, Ordering::Relaxed);
    let next = Arc::new(base.rope().spliced(&splices));
    base.read_again(base.recording(), &splices, &next, &|_, _| ())
        .unwrap();
    source.1.load(Ordering::Relaxed)
}

#[test]
fn only_what_was_touched_is_read() {
    let message = json!({"role": "user", "content": "word ".repeat(200)}).to_string();
    let lines = format!("{message}\n").repeat(4000);
    let array = format!("[{}]", vec![message; 4000].join(","));
    let document = format!("{{\"model\":\"m\",\"messages\":{array},\"tools\":[]}}");
    for text in [lines, array, document] {
        let read = read_after_one_edit(&text);
        assert!(read < 1 << 20, "{read} of {}", text.len());
    }
}
