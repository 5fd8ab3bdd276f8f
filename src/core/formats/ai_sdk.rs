//! Messages of Vercel's AI SDK: `UIMessage` lists, which applications store, and `ModelMessage` lists, which they
//! send. A part may be a call with its result, by a state.

use super::foreign::{any_message, any_part};
use super::messages::{Message, each_value, list, placed};
use super::transcript::Transcript;
use super::{Contents, Format, Reading, Sample};
use crate::session::{Source, SourceResult};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "ai-sdk",
    title: "AI SDK (Vercel): UIMessage and ModelMessage lists",
    sniff,
    reading: Reading::Whole(read),
};

fn sniff(sample: &Sample<'_>) -> u8 {
    let has_calls = sample.mentions("toolCallId")
        && (any_message(sample, |message| {
            let mut calls = message.array("toolInvocations").into_iter();
            calls.any(|call| call.has("toolCallId"))
        }) || any_part(sample, |part| {
            let kind = part.text("type").unwrap_or_default();
            kind.starts_with("tool-") && part.has("toolCallId")
        }));
    // Parts of OpenTelemetry have a `content`.
    let is_ui = any_message(sample, |message| {
        let mut parts = message.array("parts").into_iter();
        message.has("role") && parts.any(|part| part.has("type") && !part.has("content"))
    });
    match (has_calls, is_ui) {
        (true, _) => 97,
        (false, true) => 90,
        (false, false) => 0,
    }
}

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    each_value(bytes, |value, place| match value {
        Ok(value) if list(&value, "messages").is_empty() => {
            Message::add(&mut out, place.line, &value);
        }
        Ok(value) => {
            out.begin_session(&format!("chat {}", place.number), true);
            for (message, place) in placed(&value, place, "messages") {
                Message::add(&mut out, place.line, message);
            }
        }
        Err(kind) => out.report(place.at, kind),
    });
    out.finish()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::outlines;
    use serde_json::json;

    #[test]
    fn messages_of_an_interface_hold_calls_by_their_states() {
        let call = |state: &str, more: serde_json::Value| {
            let mut part = json!({"type": "tool-tide_table", "toolCallId": state, "state": state, "input": {"port": "Cork"}});
            part.as_object_mut()
                .unwrap()
                .extend(more.as_object().unwrap().clone());
            part
        };
        let text = json!([
            {"id": "1", "role": "user", "parts": [{"type": "text", "text": "When is high tide?"}]},
            {"id": "2", "role": "assistant", "parts": [
                {"type": "step-start"},
                {"type": "reasoning", "text": "Look it up."},
                call("output-available", json!({"output": {"at": "09:10"}})),
                call("output-error", json!({"rawInput": "{\"port\":", "errorText": "no such port"})),
                call("output-denied", json!({"approval": {"id": "a", "approved": false, "reason": "no"}})),
                {"type": "step-start"},
                {"type": "text", "text": "Let me ask."},
                {"type": "dynamic-tool", "toolName": "ask", "toolCallId": "d", "state": "approval-requested", "input": {}},
                call("input-available", json!({})),
            ]},
        ]);
        let expected = "u r c c c o o! o!x a cw? c?";
        assert_eq!(outlines("ai-sdk", &text.to_string()), [expected]);
    }

    #[test]
    fn messages_for_a_model_hold_calls_and_results_apart() {
        let text = json!({"messages": [
            {"role": "system", "content": "Be brief."},
            {"role": "user", "content": [{"type": "text", "text": "When is high tide?"}]},
            {"role": "assistant", "content": [
                {"type": "text", "text": "One moment."},
                {"type": "tool-call", "toolCallId": "c1", "toolName": "tide_table", "input": {}},
                {"type": "tool-call", "toolCallId": "c2", "toolName": "tide_table", "input": {}}]},
            {"role": "tool", "content": [
                {"type": "tool-result", "toolCallId": "c1", "toolName": "tide_table", "output": {"type": "json", "value": {"at": 9}}},
                {"type": "tool-result", "toolCallId": "c2", "toolName": "tide_table", "output": {"type": "error-text", "value": "no"}}]},
        ]});
        assert_eq!(outlines("ai-sdk", &text.to_string()), ["s u a c c o o!"]);
        let old = json!([{"id": "1", "role": "assistant", "content": "Found.", "toolInvocations": [
            {"state": "result", "toolCallId": "c1", "toolName": "tide_table", "args": {}, "result": 9},
            {"state": "call", "toolCallId": "c2", "toolName": "tide_table", "args": {}}]}]);
        assert_eq!(outlines("ai-sdk", &old.to_string()), ["a c c? o"]);
    }
}
