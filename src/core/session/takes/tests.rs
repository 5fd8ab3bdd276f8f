//! The tree of takes as the operator walks it, and its events.

use super::*;
use crate::session::{Span, Splice};
use proptest::prelude::*;

fn take(parent: TakeId, title: &str) -> Take {
    Take {
        parent,
        title: title.to_owned(),
        ..Take::default()
    }
}

fn forked(takes: &mut Takes, parent: TakeId) -> TakeId {
    takes.fork(take(parent, "")).unwrap();
    takes.current()
}

#[test]
fn undo_goes_up_and_redo_goes_down_where_it_came_from() {
    let mut takes = Takes::default();
    assert_eq!((takes.undo(), takes.redo()), (None, None));
    let first = forked(&mut takes, TakeId::MAIN);
    let second = forked(&mut takes, first);
    let other = forked(&mut takes, first);
    assert_eq!(takes.children(first), [second, other]);
    assert_eq!(takes.line(other), [first, other]);
    assert_eq!(takes.count(), 4);
    takes.go_to(second).unwrap();
    takes.undo().unwrap();
    takes.undo().unwrap();
    assert_eq!((takes.current(), takes.undo()), (TakeId::MAIN, None));
    takes.redo().unwrap();
    assert_eq!(takes.redo(), Some(TakeEvent::Moved { to: second }));
    assert_eq!(takes.redo(), None);
}

#[test]
fn going_somewhere_else_is_what_redo_remembers() {
    let mut takes = Takes::default();
    let left = forked(&mut takes, TakeId::MAIN);
    let below = forked(&mut takes, left);
    let right = forked(&mut takes, TakeId::MAIN);
    takes.go_to(below).unwrap();
    takes.go_to(TakeId::MAIN).unwrap();
    takes.redo().unwrap();
    assert_eq!(takes.current(), left);
    takes.go_to(right).unwrap();
    takes.undo().unwrap();
    takes.redo().unwrap();
    assert_eq!(takes.current(), right);
}

#[test]
fn a_dropped_take_is_not_listed_and_not_gone() {
    let mut takes = Takes::default();
    let left = forked(&mut takes, TakeId::MAIN);
    let below = forked(&mut takes, left);
    let right = forked(&mut takes, TakeId::MAIN);
    takes.go_to(below).unwrap();
    takes.go_to(TakeId::MAIN).unwrap();
    takes.drop_take(left).unwrap();
    let listed = |takes: &Takes| {
        let lines = takes.listed().into_iter();
        lines.map(|line| line.id).collect::<Vec<_>>()
    };
    assert_eq!(listed(&takes), [TakeId::MAIN, right]);
    assert_eq!((takes.count(), takes.count_dropped()), (4, 1));
    // The journal, also written anew, says so.
    let mut again = Takes::default();
    for event in takes.events() {
        again.apply(event).unwrap();
    }
    assert_eq!(again, takes);
    // Redo does not lead there.
    assert_eq!(takes.redo(), Some(TakeEvent::Moved { to: right }));
    // Who is there sees where that is.
    takes.go_to(below).unwrap();
    assert_eq!(listed(&takes), [TakeId::MAIN, left, below, right]);
    takes.restore().unwrap();
    assert_eq!(takes.restore(), None);
    takes.go_to(right).unwrap();
    assert_eq!(listed(&takes), [TakeId::MAIN, left, below, right]);
    assert!(takes.drop_take(TakeId::MAIN).is_err());
}

#[test]
fn a_fork_is_drawn_as_a_branch_where_it_is_the_only_child_too() {
    let mut takes = Takes::default();
    let first = forked(&mut takes, TakeId::MAIN);
    let fork = Take {
        forked_at: Some(3),
        ..take(first, "up to item 4")
    };
    takes.fork(fork).unwrap();
    let rails = takes.branches().into_iter().map(|line| line.rails);
    assert_eq!(rails.collect::<Vec<_>>(), [vec![], vec![], vec![false]]);
}

#[test]
fn a_story_without_forks_stays_in_one_column() {
    let mut takes = Takes::default();
    let first = forked(&mut takes, TakeId::MAIN);
    let second = forked(&mut takes, first);
    let third = forked(&mut takes, second);
    forked(&mut takes, third);
    forked(&mut takes, second);
    let drawn = takes.branches();
    let drawn = drawn.iter().map(|branch| {
        let rails = branch.rails.iter();
        let rails: String = rails.map(|rail| if *rail { '|' } else { ' ' }).collect();
        format!("{rails}{} {}", branch.id.0, branch.depth)
    });
    assert_eq!(
        drawn.collect::<Vec<_>>(),
        ["0 0", "1 1", "2 2", "|3 3", "|4 4", " 5 3"]
    );
}

fn appended(text: &str) -> Vec<AnchoredSplice> {
    let splice = Splice {
        at: Span { start: 4, end: 4 },
        with: text.as_bytes().to_vec(),
    };
    anchor(&b"text".to_vec(), vec![splice], false).unwrap()
}

#[test]
fn a_take_grows_until_something_branches_off() {
    let mut takes = Takes::default();
    let grown = takes.grow(TakeId::MAIN, appended("a"));
    assert_eq!(grown, Err(TakeEventError::Recording));
    let run = forked(&mut takes, TakeId::MAIN);
    takes.grow(run, appended("a")).unwrap();
    takes.grow(run, appended("b")).unwrap();
    let steps: Vec<_> = takes.steps(run).map(<[AnchoredSplice]>::to_vec).collect();
    assert_eq!(steps, [vec![], appended("a"), appended("b")]);
    let child = forked(&mut takes, run);
    let grown = takes.grow(run, appended("c"));
    assert_eq!(grown, Err(TakeEventError::HasBranches(run)));
    takes.grow(child, appended("c")).unwrap();
    assert_eq!((takes.growth(run), takes.growth(child)), (2, 1));
}

#[test]
fn what_follows_a_lost_step_has_no_place_and_the_take_grows_on_from_what_is_left() {
    let mut takes = Takes::default();
    let run = forked(&mut takes, TakeId::MAIN);
    let step = |step| TakeEvent::Grown {
        take: run,
        step,
        splices: appended(&step.to_string()),
    };
    takes.apply(step(0)).unwrap();
    let misfit = TakeEventError::NoStep { take: run, step: 2 };
    assert_eq!(takes.apply(step(2)), Err(misfit));
    takes.grow(run, appended("1")).unwrap();
    takes.apply(step(2)).unwrap();
    assert_eq!(takes.growth(run), 3);
}

#[test]
fn what_does_not_fit_changes_nothing_but_keeps_its_number() {
    let mut takes = Takes::default();
    let (lost, child) = (TakeId(7), TakeId(9));
    let orphan = TakeEvent::Taken {
        id: child,
        take: Box::new(take(lost, "")),
    };
    let parent = lost;
    let misfit = TakeEventError::NoParent {
        take: child,
        parent,
    };
    assert_eq!(takes.apply(orphan), Err(misfit));
    assert_eq!(takes.go_to(lost), Err(TakeEventError::NoTake(lost)));
    assert_eq!((takes.count(), takes.current()), (1, TakeId::MAIN));
    assert_eq!(forked(&mut takes, TakeId::MAIN), TakeId(10));
    let again = TakeEvent::Taken {
        id: TakeId(10),
        take: Box::default(),
    };
    assert_eq!(takes.apply(again), Err(TakeEventError::Twice(TakeId(10))));
    assert_eq!(
        misfit.to_string(),
        "take 9 branches off take 7, which does not exist"
    );
}

#[test]
fn notes_and_bookmarks_belong_to_an_item_of_a_take() {
    let mut takes = Takes::default();
    let id = forked(&mut takes, TakeId::MAIN);
    let item = ItemMark::new(12, b"{}");
    takes.note(id, item, "why?".into()).unwrap();
    takes.bookmark(id, item, true).unwrap();
    takes.bookmark(TakeId::MAIN, item, true).unwrap();
    assert_eq!(takes.notes(id).collect::<Vec<_>>(), [(item, "why?")]);
    assert_eq!(takes.notes(TakeId::MAIN).count(), 0);
    assert_eq!(takes.bookmarks(id).collect::<Vec<_>>(), [item]);
    takes.note(id, item, String::new()).unwrap();
    takes.bookmark(id, item, false).unwrap();
    assert_eq!(
        (takes.notes(id).count(), takes.bookmarks(id).count()),
        (0, 0)
    );
}

#[test]
fn an_event_is_readable_and_keeps_bytes_that_are_no_text() {
    let text = b"{\"name\":\"serch\"}".to_vec();
    let at = Span { start: 9, end: 14 };
    let splice = |with: &[u8]| Splice {
        at,
        with: with.to_vec(),
    };
    let event = |with: &[u8]| TakeEvent::Taken {
        id: TakeId(1),
        take: Box::new(Take {
            cause: TakeCause {
                rule: Some("unknown-tool".into()),
                item: Some(3),
                action: Some("take-suggestion".into()),
                by: Author::Fix,
            },
            splices: anchor(&text, vec![splice(with)], false).unwrap(),
            ..take(TakeId::MAIN, "search")
        }),
    };
    let spelled = serde_json::to_string(&event(b"search")).unwrap();
    assert_eq!(
        spelled,
        "{\"type\":\"taken\",\"id\":1,\"take\":{\"parent\":0,\"title\":\"search\",\
         \"cause\":{\"rule\":\"unknown-tool\",\"item\":3,\"action\":\"take-suggestion\",\"by\":\"fix\"},\
         \"splices\":[{\"at\":[9,14],\"with\":\"search\",\"removed\":\"22213c308c1999de\",\"before\":\"f5246ae231b38d93\"}]}}"
    );
    let raw = event(b"\xff\"\xfe");
    let spelled = serde_json::to_string(&raw).unwrap();
    assert!(spelled.contains(r#""with":{"base64":"/yL+"}"#), "{spelled}");
    assert_eq!(serde_json::from_str::<TakeEvent>(&spelled).unwrap(), raw);
}

/// What an operator may do; numbers choose among the takes that are there.
#[derive(Debug, Clone)]
enum Step {
    Fork(usize, Vec<u8>),
    Grow(usize, Vec<u8>),
    Undo,
    Redo,
    GoTo(usize),
    Rename(usize, String),
    Note(usize, u64, String),
    Bookmark(usize, u64, bool),
    Judge(usize, u32),
}

fn step() -> impl Strategy<Value = Step> {
    let some = 0usize..50;
    prop_oneof![
        4 => (some.clone(), proptest::collection::vec(any::<u8>(), 0..6)).prop_map(|(at, with)| Step::Fork(at, with)),
        3 => (some.clone(), proptest::collection::vec(any::<u8>(), 0..6)).prop_map(|(at, with)| Step::Grow(at, with)),
        2 => Just(Step::Undo),
        2 => Just(Step::Redo),
        1 => some.clone().prop_map(Step::GoTo),
        1 => (some.clone(), ".{0,5}").prop_map(|(at, title)| Step::Rename(at, title)),
        1 => (some.clone(), 0u64..3, ".{0,3}").prop_map(|(at, item, text)| Step::Note(at, item, text)),
        1 => (some.clone(), 0u64..3, any::<bool>()).prop_map(|(at, item, set)| Step::Bookmark(at, item, set)),
        1 => (some, any::<u32>()).prop_map(|(at, errors)| Step::Judge(at, errors)),
    ]
}

fn walk(takes: &mut Takes, step: Step) -> Option<TakeEvent> {
    let some = |takes: &Takes, number: usize| {
        let branches = takes.branches();
        branches[number % branches.len()].id
    };
    match step {
        Step::Undo => takes.undo(),
        Step::Redo => takes.redo(),
        Step::Fork(at, with) => {
            let at_start = Span::default();
            let splice = Splice { at: at_start, with };
            let parent = some(takes, at);
            let splices = anchor(&b"text".to_vec(), vec![splice], false).unwrap();
            takes
                .fork(Take {
                    splices,
                    ..take(parent, "a take")
                })
                .ok()
        }
        Step::Grow(at, with) => {
            let at_start = Span::default();
            let splice = Splice { at: at_start, with };
            let take = some(takes, at);
            let splices = anchor(&b"text".to_vec(), vec![splice], false).unwrap();
            let is_leaf = takes.children(take).is_empty() && take != TakeId::MAIN;
            let grown = takes.grow(take, splices);
            assert_eq!(grown.is_ok(), is_leaf);
            grown.ok()
        }
        Step::GoTo(at) => takes.go_to(some(takes, at)).ok(),
        Step::Rename(at, title) => takes.rename(some(takes, at), title).ok(),
        Step::Note(at, item, text) => {
            let item = ItemMark::new(item, b"");
            takes.note(some(takes, at), item, text).ok()
        }
        Step::Bookmark(at, item, set) => {
            let item = ItemMark::new(item, b"");
            takes.bookmark(some(takes, at), item, set).ok()
        }
        Step::Judge(at, errors) => {
            let after = FindingCounts {
                errors,
                ..FindingCounts::default()
            };
            let outcome = TakeOutcome {
                after,
                ..TakeOutcome::default()
            };
            takes.judge(some(takes, at), outcome).ok()
        }
    }
}

fn replayed(events: impl IntoIterator<Item = TakeEvent>) -> Takes {
    let mut takes = Takes::default();
    for event in events {
        let spelled = serde_json::to_string(&event).unwrap();
        let read = serde_json::from_str(&spelled).unwrap();
        assert_eq!(event, read);
        takes.apply(read).unwrap();
    }
    takes
}

proptest! {
    #[test]
    fn events_give_the_tree_and_the_tree_gives_events(steps in proptest::collection::vec(step(), 0..40)) {
        let mut takes = Takes::default();
        let told: Vec<_> = steps.into_iter().filter_map(|step| walk(&mut takes, step)).collect();
        prop_assert_eq!(&replayed(told), &takes);
        prop_assert_eq!(&replayed(takes.events()), &takes);
        for branch in takes.branches() {
            prop_assert_eq!(takes.line(branch.id).len(), branch.depth);
        }
    }
}
