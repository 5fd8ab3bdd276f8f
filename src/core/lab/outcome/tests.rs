//! Stories: a failing call that was told about, and what the model did next, in three dialects.

mod spelling;

use super::{FailedCall, JudgedReply, classify};
use crate::actions::fixture::{ActionFixture, fixture};
use crate::lab::{Class, Meant, Subject};
use crate::session::Dialect::{self, Anthropic, Chat, Responses};
use crate::wording::FailureKind;
use serde_json::{Value, json};
use spelling::Step::{self, Call, Fails, Says, User};
use spelling::spell;

const DIALECTS: [Dialect; 3] = [Responses, Chat, Anthropic];
const DAY: &str = r#"{"date":"2026-03-10"}"#;
const GO: Step = User("A flight on the 10th, please.");
const WRONG: Step = Call("call_1", "serch_flights", DAY);
const TOLD: Step = Fails("call_1", "Error: there is no tool serch_flights.");
const STORY: [Step; 3] = [GO, WRONG, TOLD];

fn tools() -> Value {
    json!([
        {"name": "search_flights", "parameters": {"type": "object", "required": ["date"],
            "properties": {"date": {"type": "string"}}}},
        {"name": "get_weather", "parameters": {"type": "object"}},
        {"name": "mcp__travel__hotels", "parameters": {"type": "object"}},
        {"type": "namespace", "name": "desk", "tools": [
            {"type": "function", "name": "rooms", "parameters": {"type": "object"}}]},
    ])
}

/// A failing call of `serch_flights` for which `search_flights` was meant.
fn subject() -> Subject {
    Subject {
        finding: 0,
        path: "story.json".to_owned(),
        session: 0,
        item: 1,
        rule: "unknown-tool".to_owned(),
        kind: FailureKind::UnknownTool,
        tool: "serch_flights".to_owned(),
        meant: Meant::Tool("search_flights".to_owned()),
    }
}

fn of_rule(rule: &str, tool: &str) -> Subject {
    Subject {
        rule: rule.to_owned(),
        tool: tool.to_owned(),
        meant: Meant::Tool(tool.to_owned()),
        ..subject()
    }
}

fn final_output(rule: &str) -> Subject {
    Subject {
        meant: Meant::Message,
        ..of_rule(rule, "")
    }
}

fn read(dialect: Dialect, steps: &[Step]) -> ActionFixture {
    let mut fixture = fixture(&spell(dialect, steps)).tools(tools());
    // As runs and the takes of a journal are read.
    fixture.session.contract.goes_on = true;
    fixture.session.link();
    fixture
}

/// What a reply to a history is called, with the reason.
fn judge_staged(
    before: &ActionFixture,
    after: &ActionFixture,
    subject: &Subject,
) -> (Class, String) {
    let told = before.findings();
    let failing = told.iter().find(|finding| finding.rule.id == subject.rule);
    let failed = failing.and_then(|finding| FailedCall::of(&before.session, finding).unwrap());
    let reply = JudgedReply {
        session: &after.session,
        first: before.session.items.len(),
        findings: &after.findings(),
    };
    classify(&reply, subject, failed.as_ref()).unwrap()
}

fn judge(dialect: Dialect, history: &[Step], reply: &[Step], subject: &Subject) -> (Class, String) {
    let before = read(dialect, history);
    let after = read(dialect, &[history, reply].concat());
    judge_staged(&before, &after, subject)
}

#[track_caller]
fn expect(history: &[Step], reply: &[Step], subject: &Subject, class: Class, why: &str) {
    for dialect in DIALECTS {
        let judged = judge(dialect, history, reply, subject);
        assert_eq!(judged, (class, why.to_owned()), "{dialect:?}");
    }
}

const RIGHT: Step = Call("call_9", "search_flights", DAY);

#[test]
fn a_sound_call_of_the_tool_that_was_meant_is_corrected() {
    let corrected = Class::Corrected;
    expect(
        &STORY,
        &[RIGHT],
        &subject(),
        corrected,
        "calls search_flights",
    );
    expect(
        &STORY,
        &[
            Says("I try again."),
            Call("call_8", "get_weather", "{}"),
            RIGHT,
        ],
        &subject(),
        corrected,
        "calls get_weather, search_flights",
    );
}

#[test]
fn where_nobody_knows_the_tool_that_was_meant_any_sound_call_is_corrected() {
    let subject = Subject {
        meant: Meant::AnyTool,
        ..subject()
    };
    let reply = [Call("call_9", "get_weather", "{}")];
    expect(
        &STORY,
        &reply,
        &subject,
        Class::Corrected,
        "calls get_weather",
    );
}

#[test]
fn the_tool_that_was_meant_may_be_named_without_its_namespace() {
    let meant = |name: &str| Subject {
        meant: Meant::Tool(name.to_owned()),
        ..subject()
    };
    let reply = [Call("call_9", "mcp__travel__hotels", "{}")];
    for name in ["mcp__travel__hotels", "travel.hotels", "hotels"] {
        let why = "calls mcp__travel__hotels";
        expect(&STORY, &reply, &meant(name), Class::Corrected, why);
    }
    let before = read(Responses, &STORY);
    let mut items: Value = serde_json::from_str(&spell(Responses, &STORY)).unwrap();
    items
        .as_array_mut()
        .unwrap()
        .push(json!({"type": "function_call", "call_id": "call_9",
        "namespace": "desk", "name": "rooms", "arguments": "{}"}));
    let after = fixture(&items.to_string()).tools(tools());
    for name in ["desk.rooms", "rooms"] {
        let judged = judge_staged(&before, &after, &meant(name));
        assert_eq!(judged, (Class::Corrected, "calls desk.rooms".to_owned()));
    }
    let other = judge_staged(&before, &after, &meant("hotels.rooms"));
    assert_eq!(other.0, Class::OtherMistake);
}

#[test]
fn the_same_wrong_name_is_the_same_mistake_with_whatever_arguments() {
    let same = Class::SameMistake;
    let again = "calls serch_flights again";
    expect(
        &STORY,
        &[Call("call_9", "serch_flights", DAY)],
        &subject(),
        same,
        again,
    );
    expect(
        &STORY,
        &[Call("call_9", "serch_flights", "{}")],
        &subject(),
        same,
        again,
    );
    // A sound call beside it does not make up for it.
    let beside = [RIGHT, Call("call_10", "functions.serch_flights", "{}")];
    let again = "calls functions.serch_flights again";
    expect(&STORY, &beside, &subject(), same, again);
}

#[test]
fn arguments_that_break_the_schema_again_are_the_same_mistake_only_for_the_same_tool() {
    let history = [
        GO,
        Call("call_1", "search_flights", "{}"),
        Fails("call_1", "Error: no date"),
    ];
    let subject = of_rule("invalid-arguments", "search_flights");
    let still = [Call("call_9", "search_flights", r#"{"date":10}"#)];
    for dialect in DIALECTS {
        let (class, why) = judge(dialect, &history, &still, &subject);
        assert_eq!(class, Class::SameMistake, "{dialect:?}");
        assert!(why.starts_with("again invalid-arguments: "), "{why}");
    }
    let wrong = [Call("call_9", "serch_flights", DAY)];
    expect(
        &history,
        &wrong,
        &subject,
        Class::OtherMistake,
        "unknown-tool: serch_flights",
    );
    expect(
        &history,
        &[RIGHT],
        &subject,
        Class::Corrected,
        "calls search_flights",
    );
}

#[test]
fn another_wrong_name_and_a_sound_call_of_another_tool_are_other_mistakes() {
    let other = Class::OtherMistake;
    let wrong = [Call("call_9", "find_flights", DAY)];
    expect(
        &STORY,
        &wrong,
        &subject(),
        other,
        "unknown-tool: find_flights",
    );
    let sound = [Call("call_9", "get_weather", "{}")];
    let why = "sound, but calls get_weather and not search_flights";
    expect(&STORY, &sound, &subject(), other, why);
    for dialect in DIALECTS {
        let broken = [Call("call_9", "search_flights", "{}")];
        let (class, why) = judge(dialect, &STORY, &broken, &subject());
        assert_eq!(class, other, "{dialect:?}");
        assert!(why.starts_with("invalid-arguments: "), "{why}");
    }
}

#[test]
fn a_call_that_failed_twice_and_comes_again_is_a_loop() {
    let twice = [
        STORY.as_slice(),
        &[Call(
            "call_2",
            "serch_flights",
            r#"{ "date": "2026-03-10" }"#,
        )],
        &[Fails("call_2", "Error: there is no tool serch_flights.")],
    ];
    let twice = twice.concat();
    let again = [Call("call_9", "serch_flights", DAY)];
    let why = "calls serch_flights again, in vain before";
    expect(&twice, &again, &subject(), Class::Looped, why);
    // A word of the user makes it no new call.
    let told = [twice.as_slice(), &[User("There is no such tool.")]].concat();
    expect(&told, &again, &subject(), Class::Looped, why);
    // Other arguments are not a loop.
    let other = [Call("call_9", "serch_flights", "{}")];
    let why = "calls serch_flights again";
    expect(&twice, &other, &subject(), Class::SameMistake, why);
}

#[test]
fn a_call_that_helped_in_between_is_no_loop() {
    let call = |id| Call(id, "search_flights", DAY);
    let history = [
        GO,
        call("call_1"),
        Fails("call_1", "Error: timeout"),
        User("Again."),
        call("call_2"),
        Fails("call_2", "Error: timeout"),
    ];
    let reply = [call("call_9")];
    let subject = of_rule("unknown-tool", "search_flights");
    for dialect in [Responses, Chat] {
        let (class, _) = judge(dialect, &history, &reply, &subject);
        assert_eq!(class, Class::Looped, "{dialect:?}");
        let mut helped = history;
        helped[5] = Fails("call_2", "KS 218");
        let (class, _) = judge(dialect, &helped, &reply, &subject);
        assert_eq!(class, Class::Corrected, "{dialect:?}");
    }
}

#[test]
fn the_call_that_a_tool_failed_on_is_made_again() {
    let failing = |text| {
        [
            GO,
            Call("call_1", "get_weather", r#"{"at":7}"#),
            Fails("call_1", text),
        ]
    };
    let subject = of_rule("tool-error", "get_weather");
    let same = [Call("call_9", "get_weather", r#"{ "at": 7.0 }"#)];
    let other = [Call("call_9", "get_weather", r#"{"at":8}"#)];
    let refused = failing("Error: no such place");
    let why = "calls get_weather again with the same arguments";
    expect(&refused, &same, &subject, Class::SameMistake, why);
    expect(
        &refused,
        &other,
        &subject,
        Class::Corrected,
        "calls get_weather",
    );
    // Nothing was wrong with a call that took too long.
    let late = failing("Error: timed out after 30 seconds");
    expect(
        &late,
        &same,
        &subject,
        Class::Corrected,
        "calls get_weather",
    );
}

#[test]
fn words_are_a_question_or_giving_up() {
    let asks = [Says("I cannot search. Which date do you mean?")];
    let why = "asks: Which date do you mean?";
    expect(&STORY, &asks, &subject(), Class::AskedUser, why);
    let gives_up = [Says("I am sorry,\nI cannot search.")];
    let why = "says: I am sorry, I cannot search.";
    expect(&STORY, &gives_up, &subject(), Class::GaveUp, why);
    let calls = [Says("Shall I?"), RIGHT];
    expect(
        &STORY,
        &calls,
        &subject(),
        Class::Corrected,
        "calls search_flights",
    );
}

#[test]
fn an_empty_reply_is_giving_up() {
    expect(&STORY, &[], &subject(), Class::GaveUp, "an empty reply");
}

/// Replies without text and call, as providers spell them.
fn nothings() -> [(Dialect, Value); 6] {
    let message = |content: Value| json!({"role": "assistant", "content": content});
    [
        (
            Responses,
            json!({"type": "message", "role": "assistant", "status": "completed", "id": "msg_1",
                "content": [{"type": "output_text", "text": "", "annotations": []}]}),
        ),
        (
            Responses,
            json!({"type": "reasoning", "id": "rs_1", "summary": []}),
        ),
        (Chat, message(Value::Null)),
        (Chat, message("".into())),
        (Anthropic, message(json!([]))),
        (Anthropic, message(json!([{"type": "text", "text": ""}]))),
    ]
}

#[test]
fn an_empty_reply_is_the_same_however_it_is_spelled() {
    let told = |rule| final_output(rule);
    for (subject, class) in [
        (subject(), Class::GaveUp),
        (told("invalid-final-output"), Class::GaveUp),
        (told("missing-final-output"), Class::SameMistake),
    ] {
        for (dialect, reply) in nothings() {
            let mut spelled: Value = serde_json::from_str(&spell(dialect, &STORY)).unwrap();
            let messages = match dialect {
                Anthropic => &mut spelled["messages"],
                _ => &mut spelled,
            };
            messages.as_array_mut().unwrap().push(reply.clone());
            let mut after = asked(fixture(&spelled.to_string()).tools(tools()));
            after.session.contract.goes_on = true;
            after.session.link();
            let judged = judge_staged(&asked(read(dialect, &STORY)), &after, &subject);
            let rule = &subject.rule;
            assert_eq!(
                judged,
                (class, "an empty reply".to_owned()),
                "{rule} {reply}"
            );
        }
    }
}

#[test]
fn a_call_written_as_text_is_another_mistake() {
    let text = "<function_calls><invoke name=\"search_flights\"><parameter name=\"date\">1</parameter></invoke></function_calls>";
    for dialect in DIALECTS {
        let (class, why) = judge(dialect, &STORY, &[Says(text)], &subject());
        assert_eq!(class, Class::OtherMistake, "{dialect:?}: {why}");
        assert!(why.starts_with("leaked-tool-call: "), "{why}");
    }
}

fn asked(fixture: ActionFixture) -> ActionFixture {
    fixture.output_schema(json!({"type": "object", "required": ["answer"]}))
}

fn judge_asked(history: &[Step], reply: &[Step], subject: &Subject) -> Vec<(Class, String)> {
    let judge = |dialect| {
        let before = asked(read(dialect, history));
        let after = asked(read(dialect, &[history, reply].concat()));
        judge_staged(&before, &after, subject)
    };
    DIALECTS.into_iter().map(judge).collect()
}

#[test]
fn a_final_message_is_corrected_once_no_rule_objects_to_it() {
    let history = [GO, Says("KS 218"), User("Answer with JSON.")];
    let subject = final_output("invalid-final-output");
    for (reply, class, why) in [
        (
            [Says(r#"{"answer":"KS 218"}"#)],
            Class::Corrected,
            "says: {",
        ),
        (
            [Says("KS 218")],
            Class::SameMistake,
            "again invalid-final-output: ",
        ),
        (
            [Says("Which one?")],
            Class::SameMistake,
            "again invalid-final-output: ",
        ),
        (
            [RIGHT],
            Class::OtherMistake,
            "sound, but calls search_flights in place of",
        ),
    ] {
        for (got, told) in judge_asked(&history, &reply, &subject) {
            assert_eq!(got, class, "{told}");
            assert!(told.starts_with(why), "{told}");
        }
    }
}

#[test]
fn where_a_call_was_meant_the_form_of_the_message_is_not_judged() {
    for (reply, class) in [
        ([Says("I cannot search.")], Class::GaveUp),
        ([Says("Which date?")], Class::AskedUser),
    ] {
        for (got, why) in judge_asked(&STORY, &reply, &subject()) {
            assert_eq!(got, class, "{why}");
        }
    }
}

/// A reply as the provider tells why it ended.
fn ended(reason: &str, message: &Value) -> (Class, String) {
    let messages = spell(Chat, &STORY);
    let messages: Value = serde_json::from_str(&messages).unwrap();
    let request = json!({"model": "m", "messages": messages, "tools": [
        {"type": "function", "function": {"name": "search_flights"}}]});
    let before = fixture(&request.to_string());
    let exchange = json!({"request": request, "response":
        {"choices": [{"finish_reason": reason, "message": message}]}});
    judge_staged(&before, &fixture(&exchange.to_string()), &subject())
}

#[test]
fn a_refusal_is_giving_up_and_a_reply_that_was_cut_off_is_another_mistake() {
    let refusal = json!({"role": "assistant", "content": null, "refusal": "I will not."});
    assert_eq!(
        ended("stop", &refusal),
        (Class::GaveUp, "refused: I will not.".to_owned())
    );
    let cut = json!({"role": "assistant", "content": "I shall now"});
    let (class, why) = ended("length", &cut);
    assert_eq!(class, Class::OtherMistake);
    assert!(why.starts_with("truncated-response: "), "{why}");
}

#[test]
fn what_the_model_says_is_quoted_on_one_short_line() {
    let long = "word ".repeat(200);
    let reply = Says(Box::leak(long.into_boxed_str()));
    for dialect in DIALECTS {
        let (_, why) = judge(dialect, &STORY, &[reply], &subject());
        assert!(why.chars().count() < 120 && why.ends_with('…'), "{why}");
    }
}
