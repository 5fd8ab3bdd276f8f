//! Lines of requests with their replies, as evaluations and gateways write them: which of them are one conversation.

use super::{folder, told};
use serde_json::{Value, json};

fn question(number: usize) -> Value {
    json!({"role": "user", "content": format!("question {number}")})
}

fn call(id: &str, arguments: &str) -> Value {
    json!({"role": "assistant", "content": null, "tool_calls": [
        {"id": id, "type": "function", "function": {"name": "find", "arguments": arguments}}]})
}

fn output(id: &str, text: &str) -> Value {
    json!({"role": "tool", "tool_call_id": id, "content": text})
}

fn says(text: &str) -> Value {
    json!({"role": "assistant", "content": text})
}

/// One line: what was asked, and what came back.
fn exchange(messages: &[Value], reply: &Value) -> String {
    let reason = if reply["tool_calls"].is_array() {
        "tool_calls"
    } else {
        "stop"
    };
    let tools = json!([{"type": "function", "function": {"name": "find", "parameters": {"type": "object"}}}]);
    let line = json!({
        "request": {"model": "m", "messages": messages, "tools": tools},
        "response": {"object": "chat.completion", "model": "m", "choices": [{"index": 0, "message": reply, "finish_reason": reason}]},
    });
    format!("{line}\n")
}

/// Exit code of `check`, the sessions as items, calls and outputs, and the rules that found something.
fn checked(text: &str) -> (i32, Vec<[u64; 3]>, Vec<String>) {
    let here = folder(&[("run.jsonl", text)]);
    let (code, out, err) = told(here.path(), &["check", "--format", "json", "run.jsonl"]);
    let lines = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines = lines.collect::<Vec<_>>();
    let of = |kind: &'static str| lines.iter().filter(move |line| line["type"] == kind);
    assert_eq!(of("problem").count(), 0, "{out}{err}");
    let sessions = of("session")
        .map(|line| ["items", "calls", "outputs"].map(|key| line[key].as_u64().unwrap()));
    let rules = of("finding").map(|line| line["rule"].as_str().unwrap().to_owned());
    (code, sessions.collect(), rules.collect())
}

#[test]
fn equal_requests_are_siblings() {
    for is_interleaved in [true, false] {
        let order = (0..99).map(|n| if is_interleaved { n % 3 } else { n / 33 });
        let lines = order
            .enumerate()
            .map(|(n, q)| exchange(&[question(q)], &says(&format!("answer {n}"))));
        let (code, sessions, rules) = checked(&lines.collect::<String>());
        assert_eq!((code, rules.len()), (0, 0), "{rules:?}");
        assert_eq!(sessions, vec![[2, 0, 0]; 99]);
    }
}

/// Each sample is asked with a call id that is its own, or that all of them share.
#[test]
fn a_conversation_that_ends_on_a_call_waits_for_its_output() {
    for is_shared in [true, false] {
        let id = |n: usize| {
            if is_shared {
                "call_1".to_owned()
            } else {
                format!("call_{n}")
            }
        };
        let lines = (0..99).map(|n| exchange(&[question(n % 3)], &call(&id(n), "{}")));
        let (code, sessions, rules) = checked(&lines.collect::<String>());
        assert_eq!(code, 0);
        assert_eq!(sessions, vec![[2, 1, 0]; 99]);
        assert_eq!(rules, vec!["pending-call"; 99]);
    }
}

#[test]
fn a_request_goes_on_from_the_conversation_whose_reply_it_repeats() {
    // Both samples of one question call with one id; what they were called with tells them apart.
    let ask = |n: usize| exchange(&[question(0)], &call("call_1", &format!(r#"{{"n":{n}}}"#)));
    let go_on = |n: usize| {
        let call = call("call_1", &format!(r#"{{"n":{n}}}"#));
        exchange(
            &[question(0), call, output("call_1", &format!("found {n}"))],
            &says(&format!("answer {n}")),
        )
    };
    let (code, sessions, rules) = checked(&[ask(1), ask(2), go_on(1), go_on(2), ask(3)].concat());
    assert_eq!(code, 0);
    assert_eq!(sessions, [[4, 1, 1], [4, 1, 1], [2, 1, 0]]);
    assert_eq!(rules, ["pending-call"]);
    let here = folder(&[("run.jsonl", &[ask(1), ask(2), go_on(1), go_on(2)].concat())]);
    for (session, own, other) in [("1", "answer 1", "found 2"), ("2", "answer 2", "found 1")] {
        let (_, text, _) = told(
            here.path(),
            &["convert", "--to", "chat", "--session", session, "run.jsonl"],
        );
        assert!(text.contains(own) && !text.contains(other), "{text}");
    }
}

#[test]
fn a_hand_off_speaks_behind_the_outputs() {
    let system = |text: &str| json!({"role": "system", "content": text});
    let lines = [
        exchange(&[system("A"), question(0)], &call("call_1", "{}")),
        exchange(
            &[
                system("B"),
                question(0),
                call("call_1", "{}"),
                output("call_1", "b"),
            ],
            &says("ok"),
        ),
    ];
    let (code, sessions, rules) = checked(&lines.concat());
    assert_eq!((code, rules.len()), (0, 0), "{rules:?}");
    assert_eq!(sessions, [[6, 1, 1]]);
}

/// Responses whose history the provider keeps: the same asked twice is two conversations with one beginning.
#[test]
fn equal_requests_to_a_kept_history_are_siblings() {
    let line = |input: Value, previous: Value, output: Value| {
        let request = json!({"model": "m", "input": input, "previous_response_id": previous});
        let response =
            json!({"object": "response", "model": "m", "status": "completed", "output": [output]});
        format!("{}\n", json!({"request": request, "response": response}))
    };
    let call = json!({"type": "function_call", "id": "fc_1", "call_id": "c1", "name": "find", "arguments": "{}"});
    let out = json!([{"type": "function_call_output", "call_id": "c1", "output": "x"}]);
    let says = |text: &str| json!({"type": "message", "id": format!("msg_{text}"), "role": "assistant", "content": [{"type": "output_text", "text": text}]});
    let lines = [
        line(
            json!([{"role": "user", "content": "hi"}]),
            Value::Null,
            call,
        ),
        line(out.clone(), json!("resp_1"), says("one")),
        line(out, json!("resp_1"), says("two")),
    ];
    let (code, sessions, rules) = checked(&lines.concat());
    assert_eq!((code, rules.len()), (0, 0), "{rules:?}");
    assert_eq!(sessions, [[4, 1, 1], [4, 1, 1]]);
}
