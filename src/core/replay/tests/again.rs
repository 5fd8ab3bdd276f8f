//! Stories of a request that comes again, and of one that goes on after the end.

use super::{assistant, chat, request, tape, user};
use crate::replay::{Matching, NotFound, Tape};
use crate::session::Dialect;
use serde_json::{Value, json};
use std::collections::BTreeSet;

/// What the turns say that answer this request when it comes so many times.
fn answers(tape: &Tape, request: &Value, matching: Matching, times: usize) -> Vec<String> {
    let mut served = BTreeSet::new();
    let mut next = || {
        let found = tape.find_next(&chat(request), matching, &served).unwrap();
        assert_eq!(found.differences, None);
        served.insert(found.place);
        let said = tape
            .reply(found.place, Dialect::Chat, "m")
            .unwrap()
            .new_reply;
        said.texts.concat()
    };
    (0..times).map(|_| next()).collect()
}

#[test]
fn of_several_turns_behind_the_same_history_each_answers_once_and_then_the_last() {
    let recorded = ["1", "2", "3"].map(|text| json!([user("a number"), assistant(text)]));
    let tape = tape(&recorded);
    let asked = json!({"messages": [user("a number")]});
    let any = Matching::default();
    assert_eq!(answers(&tape, &asked, any, 5), ["1", "2", "3", "3", "3"]);
    let second = Matching {
        session: Some(1),
        ..any
    };
    assert_eq!(answers(&tape, &asked, second, 2), ["2", "2"]);
}

#[test]
fn a_turn_that_has_no_equal_answers_again_and_again() {
    let recorded = request(&[user("hi"), assistant("yo")]);
    let tape = tape(&[recorded]);
    let asked = request(&[user("hi")]);
    assert_eq!(answers(&tape, &asked, Matching::default(), 2), ["yo", "yo"]);
}

#[test]
fn behind_the_end_the_last_turn_is_the_nearest_only_where_it_may_be() {
    let talk = [
        user("hi"),
        assistant("yo"),
        user("Again."),
        assistant("yo!"),
    ];
    let tape = tape(&[request(&talk[..2])]);
    let asked = chat(&request(&[&talk[..], &[user("Once more.")]].concat()));
    let matching = Matching {
        is_lenient: true,
        ..Matching::default()
    };
    let found = tape.find(&asked, matching);
    assert!(
        matches!(found, Err(NotFound::AfterTheLast { .. })),
        "{found:?}"
    );
    let matching = Matching {
        repeats_last: true,
        ..matching
    };
    let found = tape.find(&asked, matching).unwrap();
    assert_eq!(tape.turn(found.place), 2);
    let Some(differences) = found.differences else {
        panic!("it is no recorded request");
    };
    assert!(
        differences.to_string().contains("{+Again.+}"),
        "{differences}"
    );
}
