//! Any action on any item of any valid transcript: it is refused with a reason, or the take reads as well as the recording did, and
//! nothing that the action does not name is another.

use super::transcripts::{Transcript, Written, transcripts};
use super::{follows, untouched_but_changed};
use proptest::prelude::*;
use proptest::sample::{Index, select};
use proptest::test_runner::TestRunner;
use retake_core::actions::{
    ACTIONS, Action, ActionContext, ActionError, ActionInput, Defect, Plan, SessionIndex,
};
use retake_core::rules::Severity;
use retake_core::session::takes::{Take, TakeId};
use retake_core::session::{Dialect, Kind, Rope, Session, Source, Span};
use retake_live::{
    ReadOptions, Recording, TakeStore, check_session, mark_resolved, read_path, write_take,
};
use std::cell::RefCell;
use std::collections::BTreeMap;

/// What an operator does.
#[derive(Debug, Clone)]
struct Deed {
    action: Index,
    item: Index,
    words: Words,
    whole_turn: bool,
    include_in_history: bool,
}

#[derive(Debug, Clone)]
enum Words {
    None,
    Text(&'static str),
    /// The bytes of the item, with another text where there is this one.
    Own(&'static str),
}

/// The dialect that a take has to satisfy; mostly that of the recording.
const TARGETS: &[Option<Dialect>] = &[
    None,
    None,
    None,
    Some(Dialect::Responses),
    Some(Dialect::Chat),
    Some(Dialect::Anthropic),
    Some(Dialect::Gemini),
];

/// What the transcripts say.
const SAID: &[&str] = &["plain", "word", "both"];

fn deeds() -> impl Strategy<Value = Vec<Deed>> {
    let texts = vec![
        "plain",
        "two\nlines",
        "{\"a\": 1}",
        "{\"text\": \"né 😀\"}",
        "{{ tool }}: {{ error }}",
        "\"},{\"role\":\"user\"",
        "look",
        "\u{0}\u{1b}[31m",
    ];
    let words = prop_oneof![
        1 => Just(Words::None),
        3 => select(texts.clone()).prop_map(Words::Text),
        1 => select(texts).prop_map(Words::Own),
    ];
    let deed = (
        any::<Index>(),
        any::<Index>(),
        words,
        any::<bool>(),
        any::<bool>(),
    );
    let deed = deed.prop_map(
        |(action, item, words, whole_turn, include_in_history)| Deed {
            action,
            item,
            words,
            whole_turn,
            include_in_history,
        },
    );
    prop::collection::vec(deed, 1..5)
}

impl Deed {
    fn action(&self) -> &'static Action {
        &ACTIONS[self.action.index(ACTIONS.len())]
    }

    fn plan(&self, session: &Session, target: Dialect) -> Result<Plan, ActionError> {
        let item = self.item.index(session.items.len());
        let own = String::from_utf8(session.bytes(&session.items[item]).unwrap()).unwrap();
        let words = match &self.words {
            Words::None => None,
            Words::Text(text) => Some((*text).to_owned()),
            Words::Own(text) => {
                let quoted = serde_json::to_string(text).unwrap();
                let quoted = quoted[1..quoted.len() - 1].to_owned();
                Some(
                    SAID.iter()
                        .fold(own, |own, said| own.replace(said, &quoted)),
                )
            }
        };
        let around = SessionIndex::new(session);
        let item = u32::try_from(item).unwrap();
        let scene = ActionContext {
            around: &around,
            target,
            item,
            defect: Defect::default(),
            beside: &[],
        };
        let choice = ActionInput {
            keeps_schema: false,
            words: words.as_deref(),
            whole_turn: self.whole_turn,
            include_in_history: self.include_in_history,
            confirmed: true,
            never_ran: &[],
        };
        (self.action().plan)(&scene, &choice)
    }
}

/// How many errors of each rule count.
fn errors(session: &Session, target: Dialect, rope: &Rope) -> BTreeMap<&'static str, usize> {
    let mut findings = check_session(session, Some(target)).unwrap();
    mark_resolved(session, rope, &mut findings);
    let mut counts = BTreeMap::new();
    for finding in findings {
        if finding.severity == Severity::Error {
            // An orphan is called by what it stands beside.
            let rule = match finding.rule.id {
                "split-pair" | "orphan-call" | "orphan-output" => "orphan",
                other => other,
            };
            *counts.entry(rule).or_default() += 1;
        }
    }
    counts
}

fn text_of(rope: &Rope) -> Vec<u8> {
    let end = rope.len();
    rope.read(Span { start: 0, end }).unwrap()
}

/// A take on the current take, and what must hold for it.
fn carry_out(
    workbench: &mut TakeStore,
    before: &Recording,
    deed: &Deed,
    target: Dialect,
) -> Result<Option<Recording>, TestCaseError> {
    let parent = workbench.takes().current();
    let Some(session) = before
        .sessions
        .first()
        .filter(|session| !session.items.is_empty())
    else {
        return Ok(None);
    };
    let planned = match deed.plan(session, target) {
        Ok(planned) if planned.edits.is_empty() => return Ok(None),
        Ok(planned) => planned,
        Err(refusal) => {
            prop_assert!(!refusal.to_string().is_empty());
            return Ok(None);
        }
    };
    let action = deed.action().id;
    let old = workbench.rope(parent).unwrap();
    let old_text = text_of(&old);
    let taken = workbench.take(0, session, &planned.edits, Take::default());
    let id = match taken {
        Ok(id) => id,
        Err(reason) => {
            prop_assert!(!reason.to_string().is_empty());
            prop_assert_eq!(workbench.takes().current(), parent);
            return Ok(None);
        }
    };
    let rope = workbench.rope(id).unwrap();
    let after = workbench.read(id, &|_, _| ()).unwrap();
    let told = || {
        format!(
            "{action} with {:?}\n{}\n{}",
            planned.edits,
            String::from_utf8_lossy(&old_text),
            String::from_utf8_lossy(&text_of(&rope))
        )
    };
    prop_assert!(
        after.problems.len() <= before.problems.len(),
        "{:?} {}",
        after.problems,
        told()
    );
    if let Some(changed) = after.sessions.first() {
        let (was, is) = (
            errors(session, target, &old),
            errors(changed, target, &rope),
        );
        for (rule, count) in &is {
            // Reasoning at the end of a history that is broken there shows its loss once something stands behind it.
            let shows = *rule == "orphan-reasoning" && !was.is_empty();
            let is_new = was.get(rule).unwrap_or(&0) < count && !shows;
            prop_assert!(!is_new || follows(action, rule), "new: {rule} {}", told());
        }
        let lost = untouched_but_changed((session, &old), (changed, &rope), &planned.edits);
        prop_assert!(lost.is_none(), "item {lost:?} {}", told());
    }
    prop_assert_eq!(workbench.undo(), Some(parent));
    prop_assert_eq!(text_of(&workbench.rope(parent).unwrap()), old_text);
    prop_assert_eq!(workbench.redo(), Some(id));
    Ok(Some(after))
}

/// What an item is and what it says.
fn told(recording: &Recording) -> Vec<(Kind, Vec<u8>)> {
    let sessions = recording.sessions.iter();
    let items = sessions.flat_map(|session| session.items.iter().map(move |item| (session, item)));
    items
        .map(|(session, item)| (item.kind, session.bytes(item).unwrap()))
        .collect()
}

/// The take that is saved is the take that was seen: the text, or the rows of a database.
fn saved_as_it_reads(workbench: &mut TakeStore, take: &Recording) -> Result<(), TestCaseError> {
    let id = workbench.takes().current();
    let rope = workbench.rope(id).unwrap();
    let base = workbench.base(id).unwrap();
    let mut saved = Vec::new();
    write_take(base, &rope, &mut saved).unwrap();
    if !base.is_database() {
        prop_assert_eq!(saved, text_of(&rope));
        return Ok(());
    }
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("saved.db");
    std::fs::write(&path, saved).unwrap();
    let read = read_path(&path, &ReadOptions::default()).unwrap();
    prop_assert_eq!(told(&read), told(take));
    Ok(())
}

fn any_action_holds(
    transcript: &Transcript,
    deeds: &[Deed],
    target: Option<Dialect>,
    done: &RefCell<BTreeMap<&'static str, usize>>,
) -> Result<(), TestCaseError> {
    let Written {
        recording, path, ..
    } = &transcript.written();
    prop_assert_eq!(&recording.problems, &[]);
    let target = target.unwrap_or(recording.sessions[0].dialect);
    let (mut workbench, _) = TakeStore::open(recording.clone(), path.as_deref(), None, || 0);
    let mut current = Recording::clone(recording);
    for deed in deeds {
        if let Some(after) = carry_out(&mut workbench, &current, deed, target)? {
            *done.borrow_mut().entry(deed.action().id).or_default() += 1;
            current = after;
        }
    }
    saved_as_it_reads(&mut workbench, &current)?;
    workbench.go_to(TakeId::MAIN).unwrap();
    let main = workbench.rope(TakeId::MAIN).unwrap();
    prop_assert_eq!(text_of(&main), text_of(&Rope::new(main.recorded().clone())));
    Ok(())
}

fn cases() -> ProptestConfig {
    let usual = ProptestConfig::default();
    let times = match std::env::var_os("RETAKE_LONG") {
        Some(_) => 20,
        None => 1,
    };
    ProptestConfig {
        cases: usual.cases * times,
        failure_persistence: None,
        ..usual
    }
}

#[test]
fn any_action_on_any_item_is_refused_or_leaves_a_transcript_that_is_as_good() {
    let done = RefCell::new(BTreeMap::new());
    let all = (transcripts(), deeds(), select(TARGETS));
    let run = TestRunner::new(cases()).run(&all, |(transcript, deeds, target)| {
        any_action_holds(&transcript, &deeds, target, &done)
    });
    if let Err(failure) = run {
        panic!("{failure}");
    }
    let done = done.into_inner();
    eprintln!("actions carried out: {done:?}");
    assert!(done.len() >= 10, "{done:?}");
}
