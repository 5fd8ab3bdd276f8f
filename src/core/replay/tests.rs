//! Stories of a request that meets a recording.

mod again;
mod divided;
mod replies;

use super::*;
use crate::formats::{RequestError, find, read_buffer};
use crate::session::{Dialect, Session, Source};
use serde_json::{Value, json};
use std::sync::Arc;

fn sessions(format: &str, text: &str) -> Vec<Session> {
    let source: Arc<dyn Source> = Arc::new(text.as_bytes().to_vec());
    let contents = read_buffer(find(format).unwrap(), &source, text.as_bytes());
    contents.unwrap().sessions
}

/// A tape of Chat requests or lists of messages, one session each.
fn tape(recordings: &[Value]) -> Tape {
    let read = |value: &Value| sessions("openai-chat", &value.to_string());
    Tape::of(recordings.iter().flat_map(read).collect()).unwrap()
}

fn chat(request: &Value) -> ReplayRequest {
    ReplayRequest::read(Dialect::Chat, request.to_string().as_bytes()).unwrap()
}

fn strict(tape: &Tape, request: &Value) -> Result<usize, String> {
    let found = tape.find(&chat(request), Matching::default());
    found
        .map(|found| tape.turn(found.place))
        .map_err(|why| why.words(tape))
}

fn lenient(tape: &Tape, request: &Value) -> Result<(usize, String), String> {
    let matching = Matching {
        is_lenient: true,
        ..Matching::default()
    };
    let found = tape.find(&chat(request), matching);
    let found = found.map_err(|why| why.words(tape))?;
    let words = match found.differences {
        None => "same".to_owned(),
        Some(differences) => differences.to_string(),
    };
    Ok((tape.turn(found.place), words))
}

fn user(text: &str) -> Value {
    json!({"role": "user", "content": text})
}

fn system(text: &str) -> Value {
    json!({"role": "system", "content": text})
}

fn assistant(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

fn calls(made: &[(&str, &str, &str)]) -> Value {
    let call = |(id, name, arguments): &(&str, &str, &str)| json!({"id": id, "type": "function", "function": {"name": name, "arguments": arguments}});
    let made = made.iter().map(call).collect::<Vec<_>>();
    json!({"role": "assistant", "content": null, "tool_calls": made})
}

fn output(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn tool(name: &str, description: &str) -> Value {
    let schema =
        json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    json!({"type": "function", "function": {"name": name, "description": description, "parameters": schema}})
}

/// Turns 3, 4 and 6 are the model's.
fn journey() -> Vec<Value> {
    vec![
        system("You help people to travel."),
        user("Fly me to Paris on Monday, please."),
        calls(&[
            ("a", "flights", r#"{"to":"CDG","day":1}"#),
            ("b", "weather", r#"{"city":"Paris"}"#),
        ]),
        output("a", "AF 7, 490 EUR"),
        output("b", "18 degrees"),
        assistant("AF 7 costs 490 EUR; it will be warm."),
        user("Book it."),
        assistant("It is booked."),
    ]
}

fn request(messages: &[Value]) -> Value {
    let tools = [
        tool("flights", "Finds flights."),
        tool("weather", "Tells the weather."),
    ];
    json!({"model": "m", "messages": messages, "tools": tools})
}

#[test]
fn a_request_that_repeats_the_history_gets_the_turn_behind_it_again_and_again() {
    let journey = journey();
    let tape = tape(&[request(&journey)]);
    for (messages, turn) in [(2, 3), (5, 4), (7, 6), (5, 4), (2, 3)] {
        assert_eq!(strict(&tape, &request(&journey[..messages])), Ok(turn));
    }
}

#[test]
fn a_changed_prompt_is_refused_with_the_words_that_differ() {
    let mut journey = journey();
    let tape = tape(&[request(&journey)]);
    journey[1] = user("Fly me to London on Monday, please.");
    let why = strict(&tape, &request(&journey[..2])).unwrap_err();
    assert_eq!(
        why,
        "the request differs from every recorded history; the nearest is that of turn 3, where\n\
         item 2, user: … me to [-Paris-]{+London+} on Monday …"
    );
    journey[0] = system("You help people to stay.");
    let why = strict(&tape, &request(&journey[..5])).unwrap_err();
    assert!(
        why.contains("turn 4, where\ninstructions: … people to [-travel-]{+stay+}.\nitem 2, user:"),
        "{why}"
    );
}

#[test]
fn what_providers_and_sdks_spell_each_in_their_way_is_not_compared() {
    let journey = journey();
    let tape = tape(&[request(&journey)]);
    let mut other = journey.clone();
    other[1] = json!({"role": "user", "content": [{"type": "text", "text": "Fly me to Paris on Monday, please."}], "name": "ann"});
    other[2] = json!({"role": "assistant", "content": "", "reasoning_content": "hm", "tool_calls": [
        {"id": "x1", "type": "function", "function": {"name": "flights", "arguments": "{ \"day\": 1.0, \"to\": \"CDG\" }"}},
        {"id": "x2", "type": "function", "function": {"name": "weather", "arguments": "{\"city\": \"Paris\"}"}},
    ]});
    // Outputs of parallel calls come in any order.
    other[3] = output("x2", "18 degrees");
    other[4] = output("x1", "AF 7, 490 EUR");
    let mut request = request(&other[..5]);
    request["temperature"] = 0.3.into();
    request["metadata"] = json!({"run": "7"});
    request["model"] = "another".into();
    request["tools"].as_array_mut().unwrap().reverse();
    assert_eq!(strict(&tape, &request), Ok(4));
}

#[test]
fn an_output_under_the_wrong_call_is_told() {
    let mut journey = journey();
    let tape = tape(&[request(&journey)]);
    journey[3] = output("b", "AF 7, 490 EUR");
    journey[4] = output("a", "18 degrees");
    let why = strict(&tape, &request(&journey[..5])).unwrap_err();
    assert!(why.contains("item 5, output: [-AF 7, 490-]{+18+}"), "{why}");
}

#[test]
fn other_arguments_and_another_tool_are_told_as_calls() {
    let mut journey = journey();
    let tape = tape(&[request(&journey)]);
    journey[2] = calls(&[
        ("a", "flights", r#"{"to":"ORY","day":1}"#),
        ("b", "climate", r#"{"city":"Paris"}"#),
    ]);
    let why = strict(&tape, &request(&journey[..5])).unwrap_err();
    assert!(why.contains(r#"[-CDG-]{+ORY+}"#), "{why}");
    assert!(why.contains("[-weather-]{+climate+}"), "{why}");
}

#[test]
fn arguments_that_are_no_json_are_compared_by_their_text_where_a_request_can_hold_them() {
    let broken = |text: &str| {
        vec![
            user("go"),
            calls(&[("a", "f", text)]),
            output("a", "no JSON"),
        ]
    };
    let mut recorded = broken("{\"x\":");
    recorded.push(assistant("sorry"));
    let tape = tape(&[json!(recorded)]);
    assert_eq!(
        strict(&tape, &json!({"messages": broken("{\"x\":")})),
        Ok(3)
    );
    assert!(strict(&tape, &json!({"messages": broken("{\"y\":")})).is_err());
    let anthropic = json!({"model": "m", "max_tokens": 9, "messages": [
        user("go"),
        {"role": "assistant", "content": [{"type": "tool_use", "id": "t", "name": "f", "input": {"x": null}}]},
        {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t", "content": "no JSON"}]},
    ]});
    let asked = ReplayRequest::read(Dialect::Anthropic, anthropic.to_string().as_bytes()).unwrap();
    assert_eq!(
        tape.find(&asked, Matching::default()).unwrap().differences,
        None
    );
}

#[test]
fn tools_are_compared_where_the_recording_knows_them() {
    let journey = journey();
    let asked = |tools: Value| {
        let mut request = request(&journey[..2]);
        request["tools"] = tools;
        request
    };
    let known = tape(&[request(&journey)]);
    let flights = tool("flights", "Finds flights.");
    let why = strict(&known, &asked(json!([flights]))).unwrap_err();
    assert!(why.contains("tool weather, missing: "), "{why}");
    let three = json!([
        flights,
        tool("weather", "Tells the weather."),
        tool("hotels", "")
    ]);
    let why = strict(&known, &asked(three)).unwrap_err();
    assert!(why.contains("tool hotels, added: "), "{why}");
    let changed = json!([flights, tool("weather", "Tells the climate.")]);
    let why = strict(&known, &asked(changed)).unwrap_err();
    assert!(why.contains("[-weather-]{+climate+}"), "{why}");
    let unknown = tape(&[json!(journey)]);
    assert_eq!(strict(&unknown, &asked(json!([flights]))), Ok(3));
}

#[test]
fn a_reply_that_says_it_had_no_tools_does_not_take_those_of_its_request_away() {
    let item = |role: &str, text: &str| json!({"type": "message", "role": role, "content": text});
    let weather = json!({"type": "function", "name": "weather", "parameters": {"type": "object"}});
    let first = json!({"model": "m", "tools": [weather], "input": [item("user", "one")]});
    let mut second = first.clone();
    second["input"] = json!([
        item("user", "one"),
        item("assistant", "1"),
        item("user", "two")
    ]);
    let exchange = |request: &Value, text: &str| {
        let output = [item("assistant", text)];
        let reply = json!({"object": "response", "tools": [], "output": output});
        json!({"request": request, "response": reply}).to_string()
    };
    let lines = [exchange(&first, "1"), exchange(&second, "2")].join("\n");
    let tape = Tape::of(sessions("openai-responses", &lines)).unwrap();
    for request in [first, second] {
        let asked =
            ReplayRequest::read(Dialect::Responses, request.to_string().as_bytes()).unwrap();
        let found = tape.find(&asked, Matching::default());
        assert_eq!(found.map(|found| found.differences), Ok(None), "{request}");
    }
}

#[test]
fn another_output_schema_is_told() {
    let journey = journey();
    let schema = |kind: &str| {
        let schema = json!({"type": "object", "properties": {"price": {"type": kind}}});
        json!({"type": "json_schema", "json_schema": {"name": "offer", "schema": schema}})
    };
    let mut recorded = request(&journey);
    recorded["response_format"] = schema("number");
    let tape = tape(&[recorded]);
    let mut asked = request(&journey[..2]);
    asked["response_format"] = schema("number");
    assert_eq!(strict(&tape, &asked), Ok(3));
    asked["response_format"] = schema("string");
    let why = strict(&tape, &asked).unwrap_err();
    assert!(
        why.contains("output schema: ") && why.contains("[-number-]{+string+}"),
        "{why}"
    );
}

#[test]
fn where_instructions_change_on_the_way_a_request_may_hold_those_of_one_agent() {
    let messages = [
        system("You are the desk."),
        user("a refund, please"),
        calls(&[("a", "hand_over", "{}")]),
        output("a", "done"),
        system("You are the cashier."),
        assistant("Here it is."),
    ];
    let tape = tape(&[json!(messages)]);
    let asked = |first: &str| {
        let mut asked = vec![system(first)];
        asked.extend(messages[1..4].to_vec());
        json!({"messages": asked})
    };
    assert_eq!(strict(&tape, &asked("You are the cashier.")), Ok(5));
    assert_eq!(strict(&tape, &json!({"messages": messages[..5]})), Ok(5));
    let why = strict(&tape, &asked("You are the thief.")).unwrap_err();
    assert!(why.contains("the [-cashier-]{+thief+}."), "{why}");
}

#[test]
fn leniently_the_turn_with_as_many_replies_before_it_answers() {
    let mut journey = journey();
    let tape = tape(&[request(&journey)]);
    journey[1] = user("To Rome.");
    journey[3] = output("a", "AZ 1, 90 EUR");
    let (turn, words) = lenient(&tape, &request(&journey[..5])).unwrap();
    assert_eq!(turn, 4);
    assert!(
        words.contains("item 2, user") && words.contains("item 5, output"),
        "{words}"
    );
    let same = self::journey();
    assert_eq!(
        lenient(&tape, &request(&same[..5])),
        Ok((4, "same".to_owned()))
    );
}

#[test]
fn of_several_turns_with_as_many_replies_the_one_that_ends_alike_answers() {
    let recorded = json!([
        user("one"),
        assistant(""),
        user("two"),
        assistant("x"),
        assistant("y"),
        user("three"),
        assistant("z"),
    ]);
    let tape = tape(&[recorded]);
    let asked = json!({"messages": [user("other"), assistant("x\ny"), user("three")]});
    let (turn, words) = lenient(&tape, &asked).unwrap();
    assert_eq!(turn, 7, "{words}");
}

#[test]
fn behind_the_last_turn_nothing_answers_strict_or_lenient() {
    let mut journey = journey();
    let tape = tape(&[request(&journey)]);
    journey.push(user("And back?"));
    let words = "the recording ends with turn 6: nothing was recorded after it";
    assert_eq!(strict(&tape, &request(&journey)), Err(words.to_owned()));
    assert_eq!(lenient(&tape, &request(&journey)), Err(words.to_owned()));
}

#[test]
fn of_several_sessions_the_one_that_begins_alike_answers_unless_one_is_chosen() {
    let session = |city: &str| {
        json!([
            user(&format!("to {city}")),
            assistant(&format!("{city}!")),
            user("now"),
            assistant("gone")
        ])
    };
    let tape = tape(&[session("Oslo"), session("Bern")]);
    let asked = chat(&json!({"messages": [user("to Bern")]}));
    let found = tape.find(&asked, Matching::default()).unwrap();
    assert_eq!(tape.words(found.place), "turn 2 of session 2");
    let only = Matching {
        session: Some(0),
        ..Matching::default()
    };
    let why = tape.find(&asked, only).unwrap_err().words(&tape);
    assert!(
        why.contains("turn 2 of session 1") && why.contains("[-Oslo-]{+Bern+}"),
        "{why}"
    );
    let (turn, _) = lenient(
        &tape,
        &json!({"messages": [user("to Bern"), assistant("Bern!"), user("later")]}),
    )
    .unwrap();
    assert_eq!(turn, 4);
}

#[test]
fn behind_a_compaction_the_history_is_what_it_left() {
    let item = |role: &str, text: &str| json!({"type": "message", "role": role, "content": text});
    let exchange = |input: Value, output: Value| {
        json!({"request": {"model": "m", "input": input}, "response": {"object": "response", "output": output}}).to_string()
    };
    let lines = [
        exchange(
            json!([item("user", "one")]),
            json!([item("assistant", "1")]),
        ),
        exchange(
            json!([item("user", "in short: one"), item("user", "two")]),
            json!([item("assistant", "2")]),
        ),
    ];
    let tape = Tape::of(sessions("openai-responses", &lines.join("\n"))).unwrap();
    let asked =
        json!({"model": "m", "input": [item("user", "in short: one"), item("user", "two")]});
    let asked = ReplayRequest::read(Dialect::Responses, asked.to_string().as_bytes()).unwrap();
    let found = tape.find(&asked, Matching::default()).unwrap();
    let reply = tape.reply(found.place, Dialect::Responses, "m").unwrap();
    assert_eq!(reply.new_reply.texts, ["2"]);
}

#[test]
fn a_long_difference_is_told_in_a_few_words_and_many_are_counted() {
    let text = |word: &str| {
        format!(
            "{} {word} {}",
            "before ".repeat(5000),
            "after ".repeat(5000)
        )
    };
    let long = tape(&[json!([user(&text("this")), assistant("ok")])]);
    let why = strict(&long, &json!({"messages": [user(&text("that"))]})).unwrap_err();
    assert!(why.contains("[-this-]{+that+}") && why.len() < 400, "{why}");
    let other = (0..9000)
        .map(|number| format!("w{number} "))
        .collect::<String>();
    let why = strict(&long, &json!({"messages": [user(&other)]})).unwrap_err();
    assert!(why.len() < 2000, "{}", why.len());
    let many = |word: &str| {
        let said = |number| [user(&format!("{word} {number}")), assistant("ok")];
        (0..30).flat_map(said).collect::<Vec<_>>()
    };
    let tape = tape(&[json!(many("question"))]);
    let why = strict(&tape, &json!({"messages": many("request")[..59]})).unwrap_err();
    assert!(why.ends_with("\n… and 18 more"), "{why}");
}

#[test]
fn a_request_with_a_secret_is_the_recorded_one_that_has_lost_it() {
    let messages = |secret: &str| {
        vec![
            user(&format!("my key is {secret}")),
            calls(&[("a", "store", &format!(r#"{{"value":"{secret}"}}"#))]),
            output("a", "stored"),
        ]
    };
    let mut recorded = messages("[redacted openai key 1234abcd]");
    recorded.push(assistant("done"));
    let tape = tape(&[json!(recorded)]);
    // Put together, so that no scanner takes it for one.
    let key = format!("sk-{}", "proj-Abc123".repeat(4));
    let find = |messages: Vec<Value>| {
        let body = json!({"messages": messages}).to_string();
        let asked = tape.read(Dialect::Chat, body.as_bytes()).unwrap();
        tape.find(&asked, Matching::default())
    };
    let found = find(messages(&key));
    assert_eq!(
        found.map(|found| found.differences),
        Ok(None),
        "{:?}",
        messages(&key)
    );
    assert!(find(messages("none")).is_err());
}

#[test]
fn a_request_that_cannot_be_read_says_why() {
    let read = |text: &str| ReplayRequest::read(Dialect::Responses, text.as_bytes()).unwrap_err();
    assert!(matches!(read("{"), RequestError::NotJson(_)));
    assert!(matches!(read("[]"), RequestError::NotJson(_)));
    assert_eq!(
        read(r#"{"input":"x","previous_response_id":"resp_1"}"#),
        RequestError::ServerState
    );
    let nothing = Tape::default();
    let asked = chat(&json!({"messages": [user("hi")]}));
    assert_eq!(
        nothing.find(&asked, Matching::default()),
        Err(NotFound::Nothing)
    );
}
