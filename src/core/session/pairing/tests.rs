//! Pairing told as short histories: `call id`, `out id`, `user`, `say`, `cut`.

use super::*;
use crate::session::{Dialect, Record, Span};
use std::sync::Arc;

/// Pairs a history written as words and writes each after its word.
fn stand(history: &str) -> String {
    let mut session = Session::empty(Arc::new(Vec::new()), "test", Dialect::Responses);
    let mut records = Vec::new();
    for (index, word) in history.split(", ").enumerate() {
        let (verb, id) = word.split_once(' ').unwrap_or((word, ""));
        let kind = match verb {
            "call" | "custom" => Kind::Call,
            "out" | "custom-out" => Kind::Output,
            "user" => Kind::User,
            "say" => Kind::Assistant,
            "cut" => Kind::Compaction,
            "hosted" => Kind::HostedCall,
            other => panic!("{other}"),
        };
        let family = match verb {
            "custom" | "custom-out" => Family::Custom,
            "hosted" => Family::Hosted,
            _ => Family::Function,
        };
        records.push(Record {
            span: Span {
                start: index as u64,
                end: index as u64 + 1,
            },
            number: 0,
        });
        session.items.push(Item {
            call_id: CallId::new(id.as_bytes(), 0),
            record: index as u32,
            family,
            ..Item::new(kind, Some(Dialect::Responses), Span::default())
        });
    }
    session.records = records.into();
    session.link();
    let told = (0..session.items.len()).map(|index| match session.pairing.standing(index) {
        PairStatus::Alone => "-".to_owned(),
        PairStatus::Paired(partner) => format!("={partner}"),
        PairStatus::Pending => "pending".to_owned(),
        PairStatus::Orphan => "orphan".to_owned(),
        PairStatus::Duplicate(call) => format!("again {call}"),
        PairStatus::Severed(partner) => format!("severed {partner}"),
    });
    told.collect::<Vec<_>>().join(", ")
}

#[test]
fn parallel_calls_find_their_outputs_in_any_order() {
    assert_eq!(
        stand("user, call a, call b, out b, out a, say"),
        "-, =4, =3, =2, =1, -"
    );
}

#[test]
fn a_call_that_a_message_follows_is_an_orphan_and_one_at_the_end_waits() {
    assert_eq!(stand("call a, user, say"), "orphan, -, -");
    assert_eq!(stand("user, call a, call b, out a"), "-, =3, pending, =1");
}

#[test]
fn an_output_without_call_is_an_orphan() {
    assert_eq!(
        stand("out a, user, call b, out b, say"),
        "orphan, -, =3, =2, -"
    );
}

#[test]
fn an_id_that_comes_back_pairs_with_the_nearest_open_call() {
    assert_eq!(
        stand("call a, out a, call a, out a, say"),
        "=1, =0, =3, =2, -"
    );
    assert_eq!(
        stand("call a, user, call a, out a, say"),
        "orphan, -, =3, =2, -"
    );
}

#[test]
fn an_id_twice_in_one_reply_is_answered_in_order() {
    assert_eq!(
        stand("call a, call a, out a, out a, say"),
        "=2, =3, =0, =1, -"
    );
}

#[test]
fn a_second_output_is_a_duplicate_of_the_first() {
    assert_eq!(stand("call a, out a, out a, say"), "=1, =0, again 0, -");
}

#[test]
fn a_result_written_before_its_call_still_belongs_to_it() {
    assert_eq!(stand("user, out a, call a, say"), "-, =2, =1, -");
}

#[test]
fn families_do_not_answer_each_other() {
    assert_eq!(stand("custom a, out a, say"), "orphan, orphan, -");
}

#[test]
fn nothing_pairs_across_a_compaction() {
    assert_eq!(
        stand("user, call a, cut, out a, say"),
        "-, severed 3, -, severed 1, -"
    );
    assert_eq!(stand("user, call a, cut, user, say"), "-, orphan, -, -, -");
    assert_eq!(
        stand("call a, out a, cut, out a, say"),
        "=1, =0, -, severed 0, -"
    );
}

#[test]
fn a_hosted_call_needs_no_answer() {
    assert_eq!(stand("hosted w, user, say"), "-, -, -");
}

#[test]
fn calls_without_ids_pair_by_order() {
    assert_eq!(stand("call , out , call , out , say"), "=1, =0, =3, =2, -");
}

#[test]
fn in_chat_a_tool_message_answers_a_custom_call() {
    let mut session = Session::empty(Arc::new(Vec::new()), "test", Dialect::Chat);
    let item = |kind, family| Item {
        call_id: CallId::new(b"a", 0),
        family,
        ..Item::new(kind, Some(Dialect::Chat), Span::default())
    };
    session.items = vec![
        item(Kind::Call, Family::Custom),
        item(Kind::Output, Family::Function),
    ];
    session.link();
    assert_eq!(session.pairing.standing(0), PairStatus::Paired(1));
}
