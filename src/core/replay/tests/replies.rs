//! Stories of a turn that is written as a reply.

use super::{assistant, sessions, user};
use crate::formats::convert::LossKind;
use crate::replay::Tape;
use crate::session::Dialect;
use crate::wire::write::End;
use crate::wire::{Input, ToolCall};
use serde_json::json;

#[test]
fn a_reply_keeps_its_ids_its_end_and_its_cost() {
    let line = json!({
        "request": {"model": "m", "messages": [user("go")]},
        "response": {
            "object": "chat.completion", "model": "gpt-x",
            "choices": [{"index": 0, "finish_reason": "length", "message": {
                "role": "assistant", "content": "so", "reasoning_content": "hm",
                "tool_calls": [{"id": "call_9", "type": "function", "function": {"name": "f", "arguments": "{\"a\": "}}],
            }}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 5},
        },
    });
    let tape = Tape::of(sessions("openai-chat", &line.to_string())).unwrap();
    let place = tape.places().next().unwrap();
    let reply = tape.reply(place, Dialect::Chat, "other").unwrap();
    let said = &reply.new_reply;
    assert_eq!((said.model.as_str(), said.end), ("gpt-x", End::Length));
    assert_eq!((said.input_tokens, said.output_tokens), (12, 5));
    assert_eq!(said.texts, ["so"]);
    assert_eq!(said.reasoning.as_deref(), Some("hm"));
    assert_eq!(
        said.calls,
        [ToolCall::new("call_9", &said.calls[0].name, "{\"a\": ")]
    );
    assert_eq!(reply.left_out, []);
    let reply = tape.reply(place, Dialect::Anthropic, "other").unwrap();
    assert_eq!(
        (reply.new_reply.reasoning, reply.left_out),
        (None, vec![LossKind::Reasoning])
    );
}

#[test]
fn a_turn_that_only_a_later_request_tells_of_does_not_cost_what_the_reply_to_that_request_cost() {
    let line = json!({
        "request": {"model": "m", "messages": [user("go"), assistant("so"), user("on")]},
        "response": {
            "object": "chat.completion",
            "choices": [{"index": 0, "finish_reason": "stop", "message": assistant("done")}],
            "usage": {"prompt_tokens": 12, "completion_tokens": 5},
        },
    });
    let tape = Tape::of(sessions("openai-chat", &line.to_string())).unwrap();
    let said = |place| tape.reply(place, Dialect::Chat, "m").unwrap().new_reply;
    let costs = tape.places().map(said);
    let costs = costs.map(|said| (said.input_tokens, said.output_tokens));
    assert_eq!(costs.collect::<Vec<_>>(), [(0, 0), (12, 5)]);
}

#[test]
fn what_a_dialect_cannot_carry_is_left_out_of_a_reply_and_named() {
    let items = json!([
        {"type": "message", "role": "user", "content": "go"},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "gAAA"},
        {"type": "web_search_call", "id": "ws_1", "status": "completed"},
        {"type": "custom_tool_call", "call_id": "c1", "name": "patch", "input": "*** Begin"},
        {"type": "message", "role": "assistant", "content": [{"type": "refusal", "refusal": "no"}]},
    ]);
    let tape = Tape::of(sessions("openai-responses", &items.to_string())).unwrap();
    let place = tape.places().next().unwrap();
    let reply = tape.reply(place, Dialect::Responses, "asked").unwrap();
    assert_eq!(reply.new_reply.model, "asked");
    assert_eq!(reply.new_reply.refusal.as_deref(), Some("no"));
    assert!(reply.new_reply.texts.is_empty());
    assert_eq!(
        reply.new_reply.calls[0].input,
        Input::Free("*** Begin".to_owned())
    );
    let tool = |name: &str| name.to_owned();
    assert_eq!(
        reply.left_out,
        [
            LossKind::Reasoning,
            LossKind::Hosted {
                tool: tool("web_search")
            },
        ]
    );
    let reply = tape.reply(place, Dialect::Chat, "asked").unwrap();
    assert_eq!(
        reply.new_reply.calls[0].input,
        Input::Json(r#"{"input":"*** Begin"}"#.to_owned())
    );
    let as_function = LossKind::AsFunction { was: "custom" };
    assert!(reply.left_out.contains(&as_function));
}
