//! Messages of fast-agent (`PromptMessageExtended`): what it saves of a conversation, or one of them.
//!
//! Calls and results are objects by their ids, in the shapes of MCP; what the model thought and what a reply cost stand
//! in channels.

use super::foreign::any_message;
use super::messages::{list, member, read_messages, spent, text, text_of, unquoted};
use super::transcript::{Head, Transcript, call, content, result};
use super::{Contents, Format, Reading};
use crate::session::{Source, SourceResult};
use crate::wire::Role;
use serde_json::Value;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "fast-agent",
    title: "fast-agent histories",
    sniff: |sample| {
        // It is written even where it is false, unlike what else is fast-agent's own.
        match any_message(sample, |message| {
            message.has("role") && message.has("is_template")
        }) {
            true => 97,
            false => 0,
        }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    read_messages(&FORMAT, bytes, add)
}

fn add(out: &mut Transcript, number: u64, message: &Value) {
    let time = member(message, &["timestamp"]).map(Value::to_string);
    let head = Head::new(number).at(time.as_deref());
    let mut message_parts = content(
        member(message, &["content"])
            .map(Value::to_string)
            .as_deref(),
    );
    if text(message, &["role"]) != "assistant" {
        let results = members(&message["tool_results"]);
        let results = results.map(|(id, given)| {
            let is_error = ["isError", "is_error"]
                .iter()
                .any(|key| given[*key] == true);
            let message_parts = content(Some(&given["content"].to_string()));
            result(id, "", message_parts, is_error)
        });
        out.say(&head, Role::Tool, results.collect());
        out.say(&head, Role::User, message_parts);
        return;
    }
    let usage = channel(message, "fast-agent-usage");
    let usage = unquoted(&Value::from(usage));
    let turn = &usage["turn"];
    let mut cost = spent(turn);
    let cached = spent(&turn["cache_usage"]);
    cost.input = cost.input.saturating_sub(cached.cache_read);
    cost.cache_read = cached.cache_read;
    let head = head.of_model(text(turn, &["model"])).spent(cost);
    out.begin_reply();
    out.think(&head, &channel(message, "reasoning"));
    message_parts.extend(members(&message["tool_calls"]).map(|(id, tool_call)| {
        let tool_call = &tool_call["params"];
        let input = member(tool_call, &["arguments"]).map(Value::to_string);
        call(id, text(tool_call, &["name"]), input.as_deref())
    }));
    out.say(&head, Role::Model, message_parts);
    match text(message, &["stop_reason"]) {
        "maxTokens" => out.stop("max_tokens"),
        "safety" => out.stop("content_filter"),
        _ => {}
    }
}

fn members(value: &Value) -> impl Iterator<Item = (&String, &Value)> {
    value.as_object().into_iter().flatten()
}

/// The texts of a channel.
fn channel(message: &Value, name: &str) -> String {
    let blocks = list(&message["channels"], name).iter();
    blocks.map(|block| text_of(&block["text"])).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, read};
    use serde_json::json;

    #[test]
    fn calls_and_results_are_objects_by_their_ids() {
        let words = |text: &str| json!([{"type": "text", "text": text}]);
        let tool_call = |name: &str| json!({"method": "tools/call", "params": {"name": name, "arguments": {"city": "Cork"}}});
        let usage = json!({"turn": {"model": "m-1", "input_tokens": 9, "output_tokens": 4, "cache_usage": {"cache_read_tokens": 5}}});
        let text = json!({"messages": [
            {"role": "user", "content": words("How is it there?"), "is_template": false},
            {"role": "assistant", "content": words("I look."), "is_template": false, "stop_reason": "toolUse",
             "timestamp": "2026-03-02T09:00:00Z",
             "tool_calls": {"c1": tool_call("weather"), "c2": tool_call("tides")},
             "channels": {"reasoning": words("Look it up."), "fast-agent-usage": words(&usage.to_string())}},
            {"role": "user", "content": [], "is_template": false,
             "tool_results": {"c1": {"content": words("rain"), "isError": false}, "c2": {"content": words("no such port"), "isError": true}}},
            {"role": "assistant", "content": words("Rain."), "is_template": false, "stop_reason": "endTurn"},
        ]});
        let contents = read("fast-agent", &text.to_string());
        let session = &contents.sessions[0];
        assert_eq!(outline(session), "u r a c c o o! a");
        assert_eq!(session.model.as_deref(), Some("m-1"));
    }
}
