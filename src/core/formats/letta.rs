//! Messages of Letta, by `message_type`: what an agent of it was given, thought, called and got.

use super::foreign::any_message;
use super::messages::{list, member, read_messages, text, text_of};
use super::transcript::{Head, Transcript, call, content, result};
use super::{Contents, Document, Format, Reading};
use crate::session::{Flags, Kind, Source, SourceResult};
use crate::wire::{Part, Role};
use serde_json::Value;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "letta",
    title: "Letta messages",
    sniff: |sample| {
        let is_message = |message: &Document<'_>| {
            let kind = message.text("message_type").unwrap_or_default();
            kind.ends_with("_message") && !message.has("role")
        };
        if any_message(sample, is_message) {
            97
        } else {
            0
        }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    read_messages(&FORMAT, bytes, add)
}

fn add(out: &mut Transcript, number: u64, message: &Value) {
    let time = member(message, &["date"]).map(Value::to_string);
    let head = Head::new(number).at(time.as_deref());
    let parts = content(
        member(message, &["content"])
            .map(Value::to_string)
            .as_deref(),
    );
    match text(message, &["message_type"]) {
        "system_message" => drop(out.add(&head, Role::System, parts)),
        "user_message" => drop(out.add(&head, Role::User, parts)),
        "assistant_message" => drop(out.add(&head, Role::Model, parts)),
        "reasoning_message" => {
            out.begin_reply();
            out.think(&head, text(message, &["reasoning"]));
        }
        "tool_call_message" | "approval_request_message" => {
            let one = std::slice::from_ref(&message["tool_call"]);
            let calls = match list(message, "tool_calls") {
                [] => one,
                calls => calls,
            };
            let calls = calls.iter().map(|value| {
                let input = member(value, &["arguments"]).map(Value::to_string);
                call(
                    text(value, &["tool_call_id"]),
                    text(value, &["name"]),
                    input.as_deref(),
                )
            });
            let waits = text(message, &["message_type"]) == "approval_request_message";
            for item in out.add(&head, Role::Model, calls.collect()) {
                item.flags
                    .set_if(Flags::AWAITS_APPROVAL, waits && item.kind == Kind::Call);
            }
        }
        "tool_return_message" => {
            let parts = vec![Part::Text(text_of(&message["tool_return"]))];
            let (id, name) = (text(message, &["tool_call_id"]), text(message, &["name"]));
            let is_error = text(message, &["status"]) == "error";
            out.add(&head, Role::Tool, vec![result(id, name, parts, is_error)]);
        }
        _ => {}
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::outlines;
    use serde_json::json;

    #[test]
    fn messages_have_their_types() {
        let text = json!([
            {"id": "1", "message_type": "user_message", "date": "2026-03-02T09:00:00+00:00", "content": "Remember me."},
            {"id": "2", "message_type": "reasoning_message", "reasoning": "A name is needed."},
            {"id": "2", "message_type": "tool_call_message", "tool_call": {"name": "core_memory_append", "arguments": "{}", "tool_call_id": "c1"}},
            {"id": "3", "message_type": "tool_return_message", "tool_return": "no", "status": "error", "tool_call_id": "c1"},
            {"id": "4", "message_type": "approval_request_message", "tool_call": {"name": "erase", "arguments": "{}", "tool_call_id": "c2"}},
        ]);
        assert_eq!(outlines("letta", &text.to_string()), ["u r c o! cw?"]);
    }
}
