//! Scripts read, rules chosen, answers made.

use super::CONDITIONS;
use super::*;
use crate::config::Key;
use crate::formats::RequestError;
use crate::session::Dialect;
use serde_json::json;

fn script(text: &str) -> Script {
    Script::parse("test.script.toml", text).unwrap_or_else(|faults| panic!("{faults:#?}"))
}

/// A request of Chat with these messages.
fn asked(messages: &Value) -> ScriptRequest {
    let tool = |name: &str| json!({"type": "function", "function": {"name": name}});
    let tools = [tool("search_flights"), tool("get_weather")];
    let request = json!({"model": "m", "messages": messages, "tools": tools, "stream": true});
    ScriptRequest::read(Dialect::Chat, request.to_string().as_bytes()).unwrap()
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn calls(name: &str) -> Value {
    let function = json!({"name": name, "arguments": "{}"});
    json!({"role": "assistant", "content": null,
        "tool_calls": [{"id": "c", "type": "function", "function": function}]})
}

fn output(text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": "c", "content": text})
}

/// The place of the rule that fits, from 0.
fn chosen(script: &Script, messages: &Value) -> Option<usize> {
    script.choose(&asked(messages), 1).map(|(index, _)| index)
}

#[test]
fn the_first_rule_that_fits_answers() {
    let script = script(
        r#"
        [[rule]]
        turn = 2
        text = "second"
        [[rule]]
        last = "user"
        last_contains = "Lisbon"
        text = "a city"
        [[rule]]
        last_matches = '^\d+$'
        text = "a number"
        "#,
    );
    assert_eq!(chosen(&script, &json!([user("to Lisbon")])), Some(1));
    assert_eq!(chosen(&script, &json!([user("to lisbon")])), None);
    assert_eq!(chosen(&script, &json!([user("42")])), Some(2));
    let second = json!([user("42"), says("ok"), user("to Lisbon")]);
    assert_eq!(chosen(&script, &second), Some(0));
    let told = script.nothing_fits(&asked(&json!([user("no")])));
    assert_eq!(
        told,
        "no rule of test.script.toml fits reply 1: the history ends on user, which says \"no\"; called last: nothing; on offer: search_flights, get_weather"
    );
}

#[test]
fn rules_look_at_calls_outputs_and_tools() {
    let script = script(
        r#"
        [[rule]]
        called = "serch_flights"
        last_is_error = true
        text = "corrected"
        [[rule]]
        last = "output"
        offers = ["search_flights", "get_weather"]
        lacks = "book_flight"
        text = "done"
        [[rule]]
        offers = ["book_flight"]
        text = "booked"
        "#,
    );
    let history = |said: &str| json!([user("a flight"), calls("serch_flights"), output(said)]);
    assert_eq!(chosen(&script, &history("Error: no such tool")), Some(0));
    let own = history("There is no tool named \"serch_flights\".");
    assert_eq!(
        chosen(&script, &own),
        Some(0),
        "a wording of ours is an error"
    );
    assert_eq!(chosen(&script, &history("TP 204")), Some(1));
    assert_eq!(chosen(&script, &json!([user("a flight")])), None);
}

#[test]
fn outputs_of_calls_that_were_made_together_are_looked_at_together() {
    let script = script("[[rule]]\nlast_contains = \"second\"\ntext = \"x\"");
    let mut reply = calls("a");
    reply["tool_calls"] = json!([
        {"id": "c", "type": "function", "function": {"name": "a", "arguments": "{}"}},
        {"id": "d", "type": "function", "function": {"name": "b", "arguments": "{}"}},
        {"id": "e", "type": "function", "function": {"name": "a", "arguments": "{}"}},
    ]);
    let told = |id: &str, text: &str| json!({"role": "tool", "tool_call_id": id, "content": text});
    let history = json!([
        user("go"),
        reply,
        told("c", "first"),
        told("d", "second"),
        told("e", "third")
    ]);
    assert_eq!(chosen(&script, &history), Some(0));
}

#[test]
fn how_often_a_rule_answered_is_counted_in_the_history() {
    let script = script(
        r#"
        [[rule]]
        last_contains = "again"
        times = 2
        text = "once more"
        [[rule]]
        text = "enough"
        "#,
    );
    let again = user("again");
    let mut history = vec![again.clone()];
    let mut told = Vec::new();
    for _ in 0..3 {
        told.push(chosen(&script, &json!(history)));
        history.extend([says("once more"), again.clone()]);
    }
    assert_eq!(told, [Some(0), Some(0), Some(1)]);
    let sibling = json!([user("other"), says("enough"), again]);
    assert_eq!(
        chosen(&script, &sibling),
        Some(0),
        "another history counts for itself"
    );
}

#[test]
fn what_was_asked_before_is_told_by_attempts() {
    let script = script(
        r#"
        [[rule]]
        attempt = 1
        status = 503
        [[rule]]
        text = "well"
        times = 1
        [[rule]]
        text = "over"
        "#,
    );
    let first = asked(&json!([user("hi")]));
    let place =
        |asked: &ScriptRequest, attempt| script.choose(asked, attempt).map(|(index, _)| index);
    assert_eq!((place(&first, 1), place(&first, 2)), (Some(0), Some(1)));
    let later = asked(&json!([user("hi"), says("well"), user("hi")]));
    assert_eq!(
        place(&later, 2),
        Some(2),
        "the failure gave no reply of the history"
    );
    assert_ne!(first.fingerprint(), later.fingerprint());
}

#[test]
fn chance_is_the_same_for_the_same_history_and_another_for_another_sample() {
    let script = script("seed = 7\n[[rule]]\nchance = 0.3\ntext = \"x\"\n[[rule]]\ntext = \"y\"");
    let history = |number: usize| asked(&json!([user(&format!("question {number}"))]));
    let is_hit =
        |asked: &ScriptRequest| script.choose(asked, 1).is_some_and(|(index, _)| index == 0);
    let hits = (0..1000).filter(|number| is_hit(&history(*number))).count();
    assert!((230..370).contains(&hits), "{hits} of 1000");
    assert_eq!(is_hit(&history(1)), is_hit(&history(1)));
    let samples = (0..1000).map(|sample: usize| history(1).for_sample(&sample.to_string()));
    let hits = samples.filter(is_hit).count();
    assert!((230..370).contains(&hits), "{hits} of 1000 samples");
}

#[test]
fn the_same_history_is_the_same_in_every_dialect() {
    let requests = [
        (
            Dialect::Chat,
            json!({"model": "m", "messages": [user("hi"), calls("f"), output("no")]}),
        ),
        (
            Dialect::Responses,
            json!({"model": "m", "input": [
                {"role": "user", "content": "hi"},
                {"type": "function_call", "call_id": "x", "name": "f", "arguments": "{}"},
                {"type": "function_call_output", "call_id": "x", "output": "no"}]}),
        ),
        (
            Dialect::Anthropic,
            json!({"model": "m", "max_tokens": 9, "messages": [
                {"role": "user", "content": "hi"},
                {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {}}]},
                {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "no"}]}]}),
        ),
    ];
    let read = requests.map(|(dialect, request)| {
        ScriptRequest::read(dialect, request.to_string().as_bytes()).unwrap()
    });
    for asked in &read {
        let now = &asked.now;
        assert_eq!(
            (now.turn, now.last, now.text.as_str()),
            (2, Last::Output, "no")
        );
        assert_eq!((now.called.as_deref(), asked.before.len()), (Some("f"), 1));
        assert_eq!(
            asked.fingerprint(),
            read[0].fingerprint(),
            "{:?}",
            asked.dialect
        );
    }
    let plain = br#"{"model": "m", "input": "hi", "stream": true}"#;
    let plain = ScriptRequest::read(Dialect::Responses, plain).unwrap();
    assert_eq!(
        (plain.now.last, plain.now.text.as_str(), plain.head.streams),
        (Last::User, "hi", true)
    );
}

#[test]
fn requests_that_cannot_be_answered_say_why() {
    let why = |body: &str| ScriptRequest::read(Dialect::Responses, body.as_bytes()).unwrap_err();
    assert!(matches!(why("{"), RequestError::NotJson(_)));
    assert!(matches!(why("[]"), RequestError::NotJson(_)));
    let server = why(r#"{"model": "m", "input": "hi", "previous_response_id": "resp_1"}"#);
    assert_eq!(server, RequestError::ServerState);
}

#[test]
fn answers_fill_templates_and_make_ids_from_the_history() {
    let script = script(
        r#"
        name = "echo"
        [[rule]]
        text = "you said {{ last }} in turn {{ turn }}"
        calls = [
            { name = "a", arguments = { said = "{{ last }}", list = [1, "{{ offered }}"] } },
            { name = "b", arguments = '{"cut": "{{ last }}' , id = "mine" },
        ]
        finish = "length"
        "#,
    );
    let asked = asked(&json!([user("\"hi\"")]));
    let (_, rule) = script.choose(&asked, 1).unwrap();
    let reply = script.answer(rule, &asked).unwrap();
    assert_eq!(reply.model, "scripted:echo");
    assert_eq!(reply.texts, ["you said \"hi\" in turn 1"]);
    let arguments = r#"{"said":"\"hi\"","list":[1,"search_flights, get_weather"]}"#;
    assert_eq!(reply.calls[0].input.as_written(), arguments);
    let broken = "{\"cut\": \"{{ last }}";
    assert_eq!(reply.calls[1].input.as_written(), broken);
    assert_eq!(
        (reply.calls[1].id.as_deref(), reply.end),
        (Some("mine"), End::Length)
    );
    let id = reply.calls[0].id.as_deref().unwrap();
    assert!(id.starts_with("call_") && id.len() == 29);
    assert_eq!(
        script.answer(rule, &asked).unwrap(),
        reply,
        "the same again"
    );
    let other = script.answer(rule, &asked.clone().for_sample("2")).unwrap();
    assert_ne!(other.calls[0].id, reply.calls[0].id);
    assert!(reply.output_tokens > 10 && reply.input_tokens > 10);
}

#[test]
fn everything_that_is_wrong_with_a_file_is_told_at_once() {
    let faults = Script::parse(
        "bad.script.toml",
        r#"name = "two words"
speed = 3

[[rule]]
turns = 1
last = "users"
last_matches = "("
text = "{{ latest }} {% if %}"

[[rule]]
chance = 1.5
turn = 0
offers = 3

[[rule]]
status = 200
retry_after = true

[[rule]]
error = "no"
text = 5

[[rule]]
status = 500
times = 2
text = "both"

[[rule]]
calls = [{ arguments = 3, nmae = "x" }, "y"]

[[rule]]
text = "{{ latest }}"

[[rule]]
text = "never"
"#,
    );
    insta::assert_snapshot!(faults.unwrap_err());
}

#[test]
fn syntax_and_emptiness_are_told_with_their_line() {
    let told = |text: &str| {
        let errors = Script::parse("x.toml", text).unwrap_err();
        errors
            .errors
            .iter()
            .map(ToString::to_string)
            .collect::<Vec<_>>()
    };
    assert!(told("name = \"a\"\n[[rule]\n")[0].starts_with("line 2: "));
    assert!(told("")[0].starts_with("line 1: there is no rule; write `[[rule]]`"));
    assert!(told("[rule]\ntext = \"x\"")[0].contains("write `[[rule]]` with two brackets"));
    assert!(told(&"#".repeat(LENGTH + 1))[0].contains("more than 1024 KB"));
}

#[test]
fn every_key_of_the_table_is_read() {
    let [top, rule, call] = SCRIPT_TABLES;
    let read = |key: &Key, text: &dyn Fn(&str) -> String| {
        let value = match key.name {
            "turn" | "times" | "attempt" | "seed" | "delay_ms" | "chunk_ms" | "chunk"
            | "cut_after" => "1",
            "chance" => "0.5",
            "last" => "\"user\"",
            "finish" => "\"length\"",
            "last_is_error" | "hang" => "true",
            "status" => "429",
            "retry_after" => "2",
            "calls" => "[{ name = \"f\" }]",
            "arguments" => "{ a = 1 }",
            "rule" => "[{ text = \"x\" }]",
            _ => "\"word\"",
        };
        script(&text(&format!("{} = {value}", key.name)))
    };
    for key in top.keys {
        let rule = match key.name {
            "rule" => "",
            _ => "\n[[rule]]\ntext = \"x\"",
        };
        read(key, &|line| format!("{line}{rule}"));
    }
    for key in rule.keys {
        let beside = match key.name {
            "status" | "text" => "",
            "error" | "retry_after" => "status = 500",
            _ => "text = \"x\"",
        };
        read(key, &|line| format!("[[rule]]\n{beside}\n{line}"));
    }
    for key in call.keys {
        let name = match key.name {
            "name" => "",
            _ => "name = \"f\", ",
        };
        read(key, &|line| {
            format!("[[rule]]\ncalls = [{{ {name}{line} }}]")
        });
    }
    for name in CONDITIONS {
        assert!(rule.keys.iter().any(|key| key.name == name), "{name}");
    }
}

#[test]
fn rules_that_are_never_asked_are_told() {
    let text = "[[rule]]\ntext = \"always\"\n[[rule]]\nturn = 1\ntext = \"never\"";
    let faults = Script::parse("x.toml", text).unwrap_err();
    assert_eq!(
        faults.to_string(),
        "line 3: no rule from here on is ever asked: the one in line 1 fits always; give that one a condition, or put it last"
    );
}
