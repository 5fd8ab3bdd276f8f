//! Stories of what the model says in several messages, or in several parts of one.

use super::{sessions, user};
use crate::replay::{Differences, Matching, ReplayRequest, Tape};
use crate::session::Dialect;
use serde_json::{Value, json};

/// A turn of several messages, the last of them in two parts, and one that goes on from it.
fn messages() -> Tape {
    let message = |parts: &[&str]| {
        let part = |text: &&str| json!({"type": "output_text", "text": text, "annotations": []});
        json!({"type": "message", "role": "assistant", "content": parts.iter().map(part).collect::<Vec<_>>()})
    };
    let items = json!([
        user("Where?"),
        message(&["Let me look."]),
        message(&["{\"city\": \"Pa", "ris\"}"]),
        user("And when?"),
        message(&["At ", "\n", "nine."]),
    ]);
    Tape::of(sessions("openai-responses", &items.to_string())).unwrap()
}

/// A turn that a citation splits into blocks, and one that goes on from it.
fn blocks() -> Tape {
    let block = |text: &str| json!({"type": "text", "text": text});
    let cited = [
        block("The capital of France is "),
        block("Paris"),
        block(", of course."),
    ];
    let request = json!({"model": "m", "max_tokens": 9, "messages": [
        user("Which?"),
        {"role": "assistant", "content": cited},
        user("Thanks."),
        {"role": "assistant", "content": "Gladly."},
    ]});
    Tape::of(sessions("anthropic-messages", &request.to_string())).unwrap()
}

/// The reply of the first turn in a dialect: as it is spelled, and its texts.
fn first(tape: &Tape, dialect: Dialect) -> (Value, Vec<String>) {
    let place = tape.places().next().unwrap();
    let said = tape.reply(place, dialect, "m").unwrap().new_reply;
    let spelled = said.spell(dialect);
    (serde_json::from_str(&spelled).unwrap(), said.texts)
}

const JSON: &str = "{\"city\": \"Paris\"}";

#[test]
fn messages_stay_messages_and_the_parts_of_one_go_on_from_each_other() {
    for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
        let (spelled, texts) = first(&messages(), dialect);
        assert_eq!(texts, ["Let me look.", JSON], "{dialect:?}");
        let last = match dialect {
            Dialect::Responses => &spelled["output"][1]["content"][0]["text"],
            Dialect::Anthropic => &spelled["content"][1]["text"],
            _ => continue,
        };
        assert_eq!(last, JSON, "{dialect:?}");
    }
}

#[test]
fn blocks_that_a_citation_splits_stay_blocks_and_are_one_message_elsewhere() {
    let (spelled, texts) = first(&blocks(), Dialect::Anthropic);
    let whole = ["The capital of France is ", "Paris", ", of course."];
    assert_eq!(texts, whole);
    assert_eq!(spelled["content"][1]["text"], "Paris");
    for dialect in [Dialect::Responses, Dialect::Chat] {
        assert_eq!(first(&blocks(), dialect).1, [whole.concat()], "{dialect:?}");
    }
}

/// How the second turn is found by a request that says the first one in this message.
fn behind(tape: &Tape, question: &str, assistant: &[Value], then: &str) -> Option<Differences> {
    let mut messages = vec![user(question)];
    messages.extend_from_slice(assistant);
    messages.push(user(then));
    let body = json!({"model": "m", "messages": messages}).to_string();
    let asked = ReplayRequest::read(Dialect::Chat, body.as_bytes()).unwrap();
    let lenient = Matching {
        is_lenient: true,
        ..Matching::default()
    };
    tape.find(&asked, lenient).unwrap().differences
}

#[test]
fn however_a_reply_comes_back_divided_the_next_turn_is_behind_it() {
    let message = |content: Value| json!({"role": "assistant", "content": content});
    let part = |text: &str| json!({"type": "text", "text": text});
    for assistant in [
        vec![message(json!(format!("Let me look.\n{JSON}")))],
        vec![message("Let me look.".into()), message(JSON.into())],
        vec![message(json!([
            part("Let me look."),
            part("{\"city\": \"Pa"),
            part("ris\"}")
        ]))],
    ] {
        let how = behind(&messages(), "Where?", &assistant, "And when?");
        assert_eq!(how, None, "{assistant:?}");
    }
    let said = message("The capital of France is Paris, of course.".into());
    assert_eq!(behind(&blocks(), "Which?", &[said], "Thanks."), None);
    let other = message("The capital of France is Parma, of course.".into());
    let how = behind(&blocks(), "Which?", &[other], "Thanks.");
    assert!(how.is_some(), "{how:?}");
}
