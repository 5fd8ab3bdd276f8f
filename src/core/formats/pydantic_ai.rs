//! Messages of pydantic-ai (`all_messages_json`): requests and responses of parts by `part_kind`.

use super::messages::{list, member, read_messages, spent, text, text_of};
use super::transcript::{Head, Transcript, call, content, result};
use super::{Contents, Format, Reading};
use crate::session::{Flags, Kind, Source, SourceResult};
use crate::wire::{Part, Role};
use serde_json::Value;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "pydantic-ai",
    title: "pydantic-ai messages",
    sniff: |sample| {
        let is_history = sample.any(|document| {
            let messages = document.array("messages");
            let mut all = messages.iter().chain([document]);
            all.any(|message| {
                let parts = message.array("parts");
                message.has("kind") && parts.iter().any(|part| part.has("part_kind"))
            })
        });
        if is_history { 98 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut instructions = String::new();
    read_messages(&FORMAT, bytes, |out, line, message| {
        add(out, line, message, &mut instructions);
    })
}

fn add(out: &mut Transcript, number: u64, message: &Value, instructions: &mut String) {
    let time = message.get("timestamp").map(Value::to_string);
    let head = Head::new(number).at(time.as_deref());
    let parts = list(message, "parts");
    if text(message, &["kind"]) == "response" {
        return add_response(out, head, message);
    }
    let own = text(message, &["instructions"]);
    if !own.is_empty() && own != instructions {
        own.clone_into(instructions);
        out.add(&head, Role::System, vec![Part::Text(own.to_owned())]);
    }
    for part in parts {
        let message_parts = content(member(part, &["content"]).map(Value::to_string).as_deref());
        match text(part, &["part_kind"]) {
            "system-prompt" | "instruction" => drop(out.add(&head, Role::System, message_parts)),
            "tool-return" => {
                let outcome = text(part, &["outcome"]);
                add_result(
                    out,
                    &head,
                    part,
                    message_parts,
                    !matches!(outcome, "" | "success"),
                );
            }
            "retry-prompt" if member(part, &["tool_name"]).is_some() => {
                let message_parts = vec![Part::Text(text_of(&part["content"]))];
                add_result(out, &head, part, message_parts, true);
            }
            _ => drop(out.add(&head, Role::User, message_parts)),
        }
    }
}

fn add_result(
    out: &mut Transcript,
    head: &Head,
    part: &Value,
    message_parts: Vec<Part>,
    is_error: bool,
) {
    let (id, name) = (text(part, &["tool_call_id"]), text(part, &["tool_name"]));
    let is_denied = text(part, &["outcome"]) == "denied";
    for item in out.add(
        head,
        Role::Tool,
        vec![result(id, name, message_parts, is_error)],
    ) {
        item.flags
            .set_if(Flags::REJECTED, is_denied && item.kind == Kind::Output);
    }
}

fn add_response(out: &mut Transcript, head: Head, message: &Value) {
    let head = head
        .of_model(text(message, &["model_name"]))
        .spent(spent(&message["usage"]));
    out.begin_reply();
    let mut message_parts = Vec::new();
    // What the provider ran itself has its results in the response.
    let mut results = Vec::new();
    for part in list(message, "parts") {
        let (id, name) = (text(part, &["tool_call_id"]), text(part, &["tool_name"]));
        match text(part, &["part_kind"]) {
            "text" => message_parts.push(Part::Text(text(part, &["content"]).to_owned())),
            "thinking" => out.think(&head, text(part, &["content"])),
            "tool-call" | "builtin-tool-call" => {
                let input = member(part, &["args"]).map(Value::to_string);
                message_parts.push(call(id, name, input.as_deref()));
            }
            "builtin-tool-return" => {
                let found = content(member(part, &["content"]).map(Value::to_string).as_deref());
                results.push(result(id, name, found, false));
            }
            _ => {}
        }
    }
    let is_cut = !matches!(text(message, &["state"]), "" | "complete");
    if let Some(last) = out.add(&head, Role::Model, message_parts).last_mut() {
        last.flags.set_if(Flags::INCOMPLETE, is_cut);
    }
    out.add(&head, Role::Tool, results);
    let stop = text(message, &["finish_reason"]);
    if !stop.is_empty() {
        out.stop(stop);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::{outline, read};
    use serde_json::json;

    #[test]
    fn parts_are_messages_calls_and_results() {
        let text = json!([
            {"kind": "request", "instructions": "Be brief.", "timestamp": "2026-03-02T09:00:00Z", "parts": [
                {"part_kind": "user-prompt", "content": ["Weigh it.", "Now."]}]},
            {"kind": "response", "model_name": "m-1", "usage": {"input_tokens": 9, "output_tokens": 2}, "finish_reason": "tool_call",
             "parts": [
                {"part_kind": "thinking", "content": "Use the scale."},
                {"part_kind": "tool-call", "tool_name": "scale", "args": "{\"on\": tr", "tool_call_id": "c1"},
                {"part_kind": "tool-call", "tool_name": "scale", "args": {"on": true}, "tool_call_id": "c2"},
                {"part_kind": "tool-call", "tool_name": "scale", "args": null, "tool_call_id": "c3"},
                {"part_kind": "builtin-tool-call", "tool_name": "web_search", "args": {}, "tool_call_id": "h1"},
                {"part_kind": "builtin-tool-return", "tool_name": "web_search", "content": [], "tool_call_id": "h1"}]},
            {"kind": "request", "instructions": "Be brief.", "parts": [
                {"part_kind": "retry-prompt", "tool_name": "scale", "content": [{"type": "json_invalid"}], "tool_call_id": "c1"},
                {"part_kind": "tool-return", "tool_name": "scale", "content": {"kg": 3}, "tool_call_id": "c2", "outcome": "success"},
                {"part_kind": "tool-return", "tool_name": "scale", "content": "no", "tool_call_id": "c3", "outcome": "denied"},
                {"part_kind": "retry-prompt", "content": "Answer in kilograms."}]},
        ]);
        let contents = read("pydantic-ai", &text.to_string());
        assert_eq!(outline(&contents.sessions[0]), "s u r c c c c o o! o o!x u");
        assert_eq!(contents.sessions[0].model.as_deref(), Some("m-1"));
    }
}
