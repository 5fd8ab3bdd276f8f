//! What a policy does about a held reply, with nobody there.

use super::*;
use serde_json::Value;

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";

#[test]
fn the_model_is_asked_again_as_its_client_would_ask_and_only_the_corrected_turn_comes_out() {
    let corrected = calls(&[good("b")]);
    let upstream = Upstream::start(vec![corrected.clone()]);
    let theatre = Theatre::new(alone(INJECT));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    let outcome = held.outcome();
    let HoldOutcome::Reply(edited) = &outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(edited.base, REQUEST.as_bytes());
    assert_eq!(edited.last_reply, corrected);
    assert_eq!((edited.usage.input, edited.usage.output), (14, 6));
    let requests = upstream.requests();
    let (head, body) = requests[0].split_once("\r\n\r\n").unwrap();
    assert_eq!(requests.len(), 1);
    assert!(head.starts_with("POST /v1/chat/completions?beta=1 HTTP/1.1"));
    assert!(
        head.contains(&format!("authorization: Bearer {KEY}")),
        "{head}"
    );
    assert!(head.contains("x-beta: tools"));
    assert!(head.contains("accept-encoding: identity"));
    assert!(!head.contains("retake.invalid"));
    let body: Value = serde_json::from_str(body).unwrap();
    assert_eq!(body["temperature"], 0.5);
    assert_eq!(body.get("stream"), None);
    assert_eq!(body["messages"][2]["tool_call_id"], "a");
    let take: Value = serde_json::from_str(&take_of(&outcome)).unwrap();
    assert_eq!(take["messages"][3]["tool_calls"][0]["id"], "b");
    assert_eq!(
        theatre.decided(),
        [(Some("unknown-tool".to_owned()), "inject-error".to_owned())]
    );
    assert_eq!(theatre.found(), ["unknown-tool"]);
    assert!(held.is_decided_once());
    assert!(theatre.holder.held().is_empty());
}

#[test]
fn a_streamed_question_is_asked_again_as_a_stream() {
    let stream = "data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"sorry\"}}]}\n\n\
                  data: {\"id\":\"c\",\"choices\":[{\"index\":0,\"delta\":{},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";
    let upstream = Upstream::start(vec![stream.to_owned()]);
    let theatre = Theatre::new(alone(INJECT));
    let request = REQUEST.replacen("{", "{\"stream\":true,", 1);
    let came = replied(&calls(&[unknown("a")]));
    let held = theatre.start(theatre.order(1, &upstream.url, &request, came));
    let take = take_of(&held.outcome());
    assert!(take.contains("sorry"), "{take}");
    assert!(upstream.requests()[0].contains("\"stream\":true"));
}

#[test]
fn good_calls_beside_a_bad_one_go_on_without_a_question() {
    let upstream = Upstream::start(Vec::new());
    let theatre = Theatre::new(alone(INJECT));
    let reply = calls(&[good("a"), unknown("b")]);
    let held = theatre.hold(&upstream, &reply);
    let outcome = held.outcome();
    let take: Value = serde_json::from_str(&take_of(&outcome)).unwrap();
    assert_eq!(take["messages"].as_array().unwrap().len(), 3);
    assert_eq!(take["messages"][2]["tool_call_id"], "b");
    let HoldOutcome::Reply(edited) = outcome else {
        panic!("a reply");
    };
    assert_eq!(edited.last_reply, reply);
    assert!(upstream.requests().is_empty());
}

#[test]
fn every_deed_of_a_policy_has_its_outcome() {
    let last = says("done");
    for (deed, rule, reply, asks, expected) in [
        (
            "suggest",
            "unknown-tool",
            calls(&[unknown("a")]),
            0,
            "\"name\":\"search\",\"arguments\"",
        ),
        (
            "repair",
            "malformed-arguments",
            calls(&[call("a", "search", "{\"q\":\"x\"")]),
            0,
            r#"{\"q\":\"x\"}"#,
        ),
        ("retry", "unknown-tool", calls(&[unknown("a")]), 1, "done"),
        (
            "drop",
            "unknown-tool",
            calls(&[good("a"), unknown("b")]),
            0,
            "\"a\"",
        ),
    ] {
        let upstream = Upstream::start(vec![last.clone()]);
        let theatre = Theatre::new(alone(&format!("[on.{rule}]\ndo = \"{deed}\"\n")));
        let held = theatre.hold(&upstream, &reply);
        let take = take_of(&held.outcome());
        assert!(take.contains(expected), "{deed}: {take}");
        assert_eq!(upstream.requests().len(), asks, "{deed}");
    }
}

#[test]
fn a_policy_that_has_acted_often_enough_refuses() {
    let upstream = Upstream::start(vec![calls(&[unknown("b")]), calls(&[unknown("c")])]);
    let policy = format!("{INJECT}times = 2\notherwise = \"raise\"\n");
    let theatre = Theatre::new(alone(&policy));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    let HoldOutcome::Refused { why } = held.outcome() else {
        panic!("refused");
    };
    assert!(
        why.starts_with("unknown-tool: ") && why.contains("serch"),
        "{why}"
    );
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn a_model_that_never_learns_is_asked_only_so_often() {
    let upstream = Upstream::start(vec![calls(&[unknown("again")])]);
    let settings = HoldSettings {
        asks: 3,
        ..alone(INJECT)
    };
    let theatre = Theatre::new(settings);
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    let outcome = held.outcome();
    let HoldOutcome::Release { by } = &outcome else {
        panic!("{outcome:?}");
    };
    assert!(by.contains("3 times"), "{by}");
    assert_eq!(upstream.requests().len(), 3);
}

#[test]
fn what_no_policy_settles_passes() {
    let upstream = Upstream::start(vec!["{\"error\":{\"message\":\"no key\"}}".to_owned()]);
    let theatre = Theatre::new(alone(""));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    assert_eq!(held.outcome(), released("nobody is there to decide"));
    // And so it does where the request to the model failed.
    let theatre = Theatre::new(alone(INJECT));
    let held = theatre.hold(&upstream, &calls(&[unknown("a")]));
    let outcome = held.outcome();
    let HoldOutcome::Release { by } = &outcome else {
        panic!("{outcome:?}");
    };
    assert!(
        by.starts_with("the request to the model failed") && by.contains("no key"),
        "{by}"
    );
}

#[test]
fn a_fallback_is_the_answer() {
    let upstream = Upstream::start(Vec::new());
    let policy = "[on.invalid-final-output]\ndo = \"fallback\"\nvalue = { answer = 1 }\n";
    let theatre = Theatre::new(alone(policy));
    let request = REQUEST.replacen(
        "{",
        r#"{"response_format":{"type":"json_schema","json_schema":{"name":"a","schema":{"type":"object","properties":{"answer":{"type":"number"}},"required":["answer"]}}},"#,
        1,
    );
    let held = theatre.start(theatre.order(1, &upstream.url, &request, replied(&says("one"))));
    let outcome = held.outcome();
    let HoldOutcome::Value { text, .. } = &outcome else {
        panic!("{outcome:?}");
    };
    assert_eq!(text.replace(' ', ""), "{\"answer\":1}");
}

#[test]
fn what_is_no_reply_is_not_held() {
    let upstream = Upstream::start(Vec::new());
    let theatre = Theatre::new(attended(""));
    for (id, request, reply) in [
        (1, REQUEST, "{\"choices\":[]}"),
        (2, "[1,2", &calls(&[unknown("a")])),
        (3, "{\"messages\":\"?\"}", &calls(&[unknown("a")])),
    ] {
        let held = theatre.start(theatre.order(id, &upstream.url, request, replied(reply)));
        let outcome = held.outcome();
        let HoldOutcome::Release { by } = &outcome else {
            panic!("{outcome:?}");
        };
        assert!(by.starts_with("it cannot be held: "), "{id}: {by}");
    }
    assert!(theatre.holder.held().is_empty());
}

#[test]
fn fifty_exchanges_are_held_at_once() {
    let upstream = Upstream::start(vec![calls(&[good("b")])]);
    let theatre = Theatre::new(attended(INJECT));
    let orders = (1..=50).map(|id| {
        let reply = match id % 2 {
            0 => calls(&[unknown("a")]),
            _ => calls(&[call("a", "pay", "{\"eur\":\"much\"}")]),
        };
        theatre.order(id, &upstream.url, REQUEST, replied(&reply))
    });
    let held: Vec<Held> = orders.map(|order| theatre.start(order)).collect();
    for held in &held {
        match held.id.0 % 2 {
            0 => assert!(take_of(&held.outcome()).contains("\"b\"")),
            _ => assert!(held.paused().starts_with("invalid-arguments")),
        }
    }
    assert_eq!(theatre.holder.held().len(), 25);
    for held in held.iter().filter(|held| held.id.0 % 2 == 1) {
        assert!(theatre.holder.release(held.id, "operator"));
        assert_eq!(held.outcome(), released("operator"));
    }
    until("all are over", || theatre.holder.held().is_empty());
    assert_eq!(upstream.requests().len(), 25);
}

#[test]
fn the_other_dialects_are_held_as_well() {
    let replies = [
        (
            Dialect::Responses,
            r#"{"model":"m","input":"go","tools":[{"type":"function","name":"search","parameters":{"type":"object"}}]}"#,
            r#"{"id":"resp_1","object":"response","status":"completed","output":[{"id":"fc_1","type":"function_call","status":"completed","call_id":"a","name":"serch","arguments":"{}"}]}"#,
            r#"{"id":"resp_2","object":"response","status":"completed","output":[{"id":"msg_1","type":"message","role":"assistant","status":"completed","content":[{"type":"output_text","text":"sorry","annotations":[]}]}]}"#,
        ),
        (
            Dialect::Anthropic,
            r#"{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"go"}],"tools":[{"name":"search","input_schema":{"type":"object"}}]}"#,
            r#"{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"a","name":"serch","input":{}}],"stop_reason":"tool_use"}"#,
            r#"{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"sorry"}],"stop_reason":"end_turn"}"#,
        ),
    ];
    for (dialect, request, reply, corrected) in replies {
        let upstream = Upstream::start(vec![corrected.to_owned()]);
        let theatre = Theatre::new(alone(INJECT));
        let order = HoldOrder {
            dialect,
            ..theatre.order(1, &upstream.url, request, replied(reply))
        };
        let held = theatre.start(order);
        let outcome = held.outcome();
        assert!(take_of(&outcome).contains("sorry"), "{dialect:?}");
        assert!(upstream.requests()[0].contains("serch"), "{dialect:?}");
    }
}
