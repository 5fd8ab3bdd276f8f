//! Whole replies around a mended turn.

use super::*;
use crate::wire::write::{Object, calls_of, history_of};
use serde_json::json;

const SUM: Usage = Usage {
    input: 1000,
    output: 50,
};

#[test]
fn a_turn_comes_back_as_it_was_given() {
    for dialect in DIALECTS {
        let turn = history_of(dialect, rich(dialect)).unwrap();
        let template = seen().spell(dialect);
        let reply = dialect.codec().reply_with(&template, &turn, SUM);
        assert_eq!(history_of(dialect, &reply).unwrap(), turn, "{dialect:?}");
        assert_eq!(crate::wire::usage_of(&reply), SUM);
        let (reply, template) = (Object::read(&reply), Object::read(&template));
        assert_eq!(reply.get("id"), template.get("id"));
        assert_eq!(reply.get("model"), template.get("model"));
    }
}

#[test]
fn why_a_reply_ends_fits_its_turn() {
    let call = r#"{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"f","arguments":"{}"}}]}"#;
    let legacy = r#"{"role":"assistant","function_call":{"name":"f","arguments":"{}"}}"#;
    let text = r#"{"role":"assistant","content":"hi"}"#;
    for (said, turn, reason) in [
        ("length", call, "tool_calls"),
        ("tool_calls", text, "stop"),
        ("length", text, "length"),
        ("stop", legacy, "function_call"),
    ] {
        let template =
            format!(r#"{{"choices":[{{"index":0,"message":{{}},"finish_reason":"{said}"}}]}}"#);
        let reply = Dialect::Chat
            .codec()
            .reply_with(&template, &[turn.to_owned()], SUM);
        assert_eq!(value(&reply)["choices"][0]["finish_reason"], reason);
    }
    let call =
        r#"{"role":"assistant","content":[{"type":"tool_use","id":"t","name":"f","input":{}}]}"#;
    for (said, turn, reason) in [
        ("max_tokens", call, "tool_use"),
        ("tool_use", text, "end_turn"),
        ("refusal", text, "refusal"),
    ] {
        let template = format!(r#"{{"type":"message","content":[],"stop_reason":"{said}"}}"#);
        let reply = Dialect::Anthropic
            .codec()
            .reply_with(&template, &[turn.to_owned()], SUM);
        assert_eq!(value(&reply)["stop_reason"], reason);
    }
    let call = r#"{"type":"function_call","id":"fc","status":"completed","call_id":"c","name":"f","arguments":"{}"}"#;
    let cut = r#"{"id":"resp_1","status":"incomplete","incomplete_details":{"reason":"max_output_tokens"},"output":[]}"#;
    let reply = value(
        &Dialect::Responses
            .codec()
            .reply_with(cut, &[call.to_owned()], SUM),
    );
    assert_eq!(
        (&reply["status"], &reply["incomplete_details"]),
        (&json!("completed"), &Value::Null)
    );
    let message =
        r#"{"type":"message","id":"m","status":"incomplete","role":"assistant","content":[]}"#;
    let reply = value(
        &Dialect::Responses
            .codec()
            .reply_with(cut, &[message.to_owned()], SUM),
    );
    assert_eq!(reply["status"], "incomplete");
}

#[test]
fn what_a_history_leaves_out_is_filled_in() {
    let turn = [
        r#"{"type":"message","role":"assistant","content":"ten \u00e9"}"#.to_owned(),
        r#"{"type":"function_call","call_id":"c","name":"f","arguments":"{ }"}"#.to_owned(),
    ];
    let reply =
        Dialect::Responses
            .codec()
            .reply_with(r#"{"id":"resp_a1"}"#, &turn, Usage::default());
    let expected = r#"{"id":"resp_a1","status":"completed","object":"response","output":[{"type":"message","role":"assistant","content":[{"type":"output_text","text":"ten \u00e9","annotations":[]}],"id":"msg_a1_0","status":"completed"},{"type":"function_call","call_id":"c","name":"f","arguments":"{ }","id":"fc_a1_1","status":"completed"}]}"#;
    assert_eq!(reply, expected);
    let text = [r#"{"role":"assistant","content":"hi"}"#.to_owned()];
    let reply = Dialect::Anthropic
        .codec()
        .reply_with("{}", &text, Usage::default());
    let expected = r#"{"type":"message","role":"assistant","content":[{"type":"text","text":"hi"}],"stop_reason":"end_turn"}"#;
    assert_eq!(value(&reply), value(expected));
    let reply = Dialect::Chat
        .codec()
        .reply_with("not JSON", &text, Usage::default());
    assert_eq!(value(&reply)["choices"][0]["message"]["content"], "hi");
}

#[test]
fn other_choices_and_other_members_stay() {
    let template = r#"{"id":"c","choices":[{"index":1,"message":{"content":"b"}},{"index":0,"logprobs":{"x":1.0},"message":{"content":"a","tool_calls":[{"id":"x"}]},"finish_reason":"tool_calls"}],"usage":null}"#;
    let turn = [r#"{"role":"assistant","content":"mended"}"#.to_owned()];
    let reply = Dialect::Chat
        .codec()
        .reply_with(template, &turn, Usage::default());
    let expected = r#"{"id":"c","choices":[{"index":1,"message":{"content":"b"}},{"index":0,"logprobs":{"x":1.0},"message":{"role":"assistant","content":"mended"},"finish_reason":"stop"}],"usage":null,"object":"chat.completion"}"#;
    assert_eq!(reply, expected);
    assert!(calls_of(Dialect::Chat, &reply).unwrap().is_empty());
}
