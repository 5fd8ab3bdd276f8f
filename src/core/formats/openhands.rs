//! Events of OpenHands: a list of actions and observations (until 1.0), or of events by `kind` (the SDK since).

use super::transcript::{self, Entries, Head, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Records, Sample};
use crate::json::{Cursor, Result};
use crate::session::{Flags, Fragment, Item, Kind, LinkFlags, RecordLink, Source, SourceResult};
use crate::wire::write::Object;
use crate::wire::{Part, Role};
use std::collections::HashSet;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "openhands",
    title: "events of OpenHands",
    sniff: |sample: &Sample<'_>| {
        let is_event = |document: &Document<'_>| {
            let kind = document.text("kind").unwrap_or_default();
            let is_old = document.has("action") || document.has("observation");
            document.has("source")
                && document.has("timestamp")
                && document.has("id")
                && (is_old || kind.ends_with("Event"))
        };
        if sample.any(is_event) { 93 } else { 0 }
    },
    reading: Reading::Spelled(Records::spelled(read_event, assemble)),
};

/// An event of a version before 1.0: what stands before its call was thought.
const OLD: LinkFlags = LinkFlags::META;

fn read_event(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    transcript::read_entry(cursor, base, out, FORMAT.dialect(), |out, event, lines| {
        let head = Head::new(lines.first()).at(event.get("timestamp"));
        let metrics = event.object("llm_metrics");
        let head = head.accumulated_cost(metrics.get("accumulated_cost"));
        let reply = match event.has("kind") {
            true => event.text("llm_response_id"),
            false => {
                let metadata = event.object("tool_call_metadata");
                metadata.object("model_response").text("id")
            }
        };
        let mut link = RecordLink {
            message: RecordLink::key(reply.as_bytes()),
            ..RecordLink::default()
        };
        link.flags.set_if(OLD, !event.has("kind"));
        out.begin_entry(link, "");
        match event.has("kind") {
            true => write_event(out, &head, event),
            false => write_old_event(out, head, event),
        }
    })
}

/// Several calls of one reply are events of their own: only the first one begins it and says what the model thought.
fn assemble(read: Fragment, file: &Arc<dyn Source>) -> SourceResult<Contents> {
    let entries = Entries::new(read, file);
    let mut out = entries.transcript(&FORMAT);
    let mut replies = HashSet::new();
    for entry in &entries.all {
        let (items, reply) = (entries.items(entry), entry.link.message);
        let has_call = items.iter().any(|item| item.kind == Kind::Call);
        let is_first = !has_call || reply == 0 || replies.insert(reply);
        let is_thought = |item: &&Item| match entry.link.flags.has(OLD) {
            true => item.kind != Kind::Call,
            false => item.kind == Kind::Reasoning,
        };
        let thoughts = match is_first {
            true => 0,
            false => items.iter().take_while(is_thought).count(),
        };
        for item in entries.add(entry, thoughts, &mut out) {
            if !is_first {
                item.flags = item.flags.without(Flags::STARTS_REPLY);
            }
        }
    }
    entries.finish(out)
}

fn write_event(out: &mut Transcript, head: &Head, event: &Object<'_>) {
    let id = event.text("tool_call_id");
    let name = event.text("tool_name");
    match &*event.text("kind") {
        "SystemPromptEvent" => {
            if let Some(tools) = event.get("tools") {
                out.offer(tools);
            }
            let prompt = event.object("system_prompt").text("text");
            out.add(head, Role::System, vec![Part::Text(prompt)]);
        }
        "MessageEvent" => {
            let message = event.object("llm_message");
            let content = transcript::content(message.get("content"));
            let role = match &*message.text("role") {
                "assistant" => Role::Model,
                "system" => Role::System,
                _ => Role::User,
            };
            if role == Role::Model {
                out.begin_reply();
                out.think(head, &message.text("reasoning_content"));
            }
            out.add(head, role, content);
        }
        "ActionEvent" => {
            out.begin_reply();
            out.think(head, &event.text("reasoning_content"));
            let mut parts = transcript::content(event.get("thought"));
            let call = event.object("tool_call");
            parts.push(transcript::call(&id, &name, call.get("arguments")));
            mark_end(&name, out.add(head, Role::Model, parts));
        }
        "ObservationEvent" => {
            let observation = event.object("observation");
            let content = observation.get("content").or(event.get("observation"));
            let failed = observation.is_true("is_error");
            answer(out, head, &id, &name, content, failed);
        }
        "AgentErrorEvent" => answer(out, head, &id, &name, event.get("error"), true),
        "UserRejectObservation" => {
            answer(out, head, &id, &name, event.get("rejection_reason"), true);
        }
        "Condensation" | "CondensationEvent" => {
            out.mark(head, Kind::Compaction, &event.text("summary"));
        }
        "ConversationErrorEvent" => {
            out.mark(head, Kind::Notice, &event.text("detail")).flags = Flags::ERROR;
        }
        _ => {}
    }
}

fn answer(
    out: &mut Transcript,
    head: &Head,
    id: &str,
    name: &str,
    content: Option<&str>,
    failed: bool,
) {
    let result = transcript::result(id, name, transcript::content(content), failed);
    out.add(head, Role::Tool, vec![result]);
}

fn write_old_event(out: &mut Transcript, head: Head, event: &Object<'_>) {
    let metadata = event.object("tool_call_metadata");
    let args = event.object("args");
    let (id, name) = (
        metadata.text("tool_call_id"),
        metadata.text("function_name"),
    );
    let is_of_agent = event.text("source") == "agent";
    let action = event.text("action");
    if event.has("observation") {
        let failed = event.text("observation") == "error";
        match id.is_empty() {
            false => answer(out, &head, &id, &name, event.get("content"), failed),
            true if failed => {
                out.mark(&head, Kind::Notice, &event.text("content")).flags = Flags::ERROR;
            }
            true => {}
        }
    } else if !id.is_empty() {
        write_old_call(out, head, &metadata, &args);
    } else if action == "system" {
        if let Some(tools) = args.get("tools") {
            out.offer(tools);
        }
        out.add(
            &head,
            Role::System,
            transcript::content(args.get("content")),
        );
    } else if action == "condensation" {
        out.mark(&head, Kind::Compaction, &args.text("summary"));
    } else if action == "message" {
        let role = if is_of_agent { Role::Model } else { Role::User };
        if is_of_agent {
            out.begin_reply();
        }
        out.add(&head, role, transcript::content(args.get("content")));
    }
}

/// The arguments of a call are in the reply that it came with; those of the action are what the program made of them.
fn write_old_call(out: &mut Transcript, head: Head, metadata: &Object<'_>, args: &Object<'_>) {
    let (id, name) = (
        metadata.text("tool_call_id"),
        metadata.text("function_name"),
    );
    let reply = metadata.object("model_response");
    let usage = reply.object("usage");
    let count = |key| usage.number(key).unwrap_or_default();
    let (read, written) = (
        count("cache_read_input_tokens"),
        count("cache_creation_input_tokens"),
    );
    let head = head.of_model(&reply.text("model")).spent(Spent {
        input: count("prompt_tokens").saturating_sub(read + written),
        cache_read: read,
        cache_write: written,
        output: count("completion_tokens"),
        ..Spent::default()
    });
    out.begin_reply();
    out.say(&head, Role::Model, vec![Part::Text(args.text("thought"))]);
    let choices = reply.list("choices");
    let message = choices.first().map(|choice| Object::read(choice));
    let message = message.as_ref().map(|choice| choice.object("message"));
    let calls = message.as_ref().map(|message| message.list("tool_calls"));
    let calls = calls.unwrap_or_default();
    let mut calls = calls.into_iter().map(Object::read);
    let own = calls.find(|call| call.text("id") == id);
    let function = own.as_ref().map(|call| call.object("function"));
    let arguments = function.as_ref().and_then(|it| it.get("arguments"));
    let made = args.json();
    let call = transcript::call(&id, &name, arguments.or(Some(&made)));
    mark_end(&name, out.add(&head, Role::Model, vec![call]));
}

/// Marks a call of `finish`, which has no output whatever follows.
fn mark_end(tool: &str, items: &mut [Item]) {
    let calls = items.iter_mut().filter(|item| item.kind == Kind::Call);
    calls.for_each(|call| call.flags.set_if(Flags::ENDS_RUN, tool == "finish"));
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::{PairStatus, Session};

    fn session(events: &[&str]) -> Session {
        let mut contents = read("openhands", &format!("[{}]", events.join(",\n")));
        assert_eq!(contents.problems, []);
        contents.sessions.remove(0)
    }

    #[test]
    fn an_action_is_a_call_as_the_model_made_it() {
        let metadata = r#""tool_call_metadata":{"function_name":"execute_bash","tool_call_id":"c1","model_response":{"id":"r1","model":"m","choices":[{"message":{"tool_calls":[{"id":"c1","function":{"name":"execute_bash","arguments":"{\"command\": \"ls\"}"}}]}}],"usage":{"prompt_tokens":10,"completion_tokens":2}}}"#;
        let call = format!(
            r#"{{"id":1,"timestamp":"2025-01-27T22:44:56.900854","source":"agent","action":"run","args":{{"command":"ls","thought":"I look."}},{metadata}}}"#
        );
        let result = format!(
            r#"{{"id":2,"timestamp":"2025-01-27T22:44:58.900854","source":"agent","cause":1,"observation":"error","content":"no",{metadata}}}"#
        );
        let session = session(&[&call, &result]);
        assert_eq!(session.pairing.standing(1), PairStatus::Paired(2));
        assert!(session.items[2].flags.has(Flags::ERROR));
        assert_eq!(session.records[session.items[2].record as usize].number, 2);
        let prices = crate::usage::Prices::built_in();
        let mut usage = crate::usage::UsageReader::new(&session, &prices);
        assert_eq!(usage.call_duration(1).unwrap(), Some(2_000));
    }

    #[test]
    fn the_costs_of_a_run_so_far_are_told_apart_by_reply() {
        let call = |number: u32, cost: f64| {
            format!(
                r#"{{"id":{number},"timestamp":"2025-01-27T22:44:56","source":"agent","action":"run","args":{{"command":"ls"}},"llm_metrics":{{"accumulated_cost":{cost}}},"tool_call_metadata":{{"function_name":"execute_bash","tool_call_id":"c{number}","model_response":{{"id":"r{number}","model":"m","usage":{{"prompt_tokens":10,"completion_tokens":2}}}}}}}}"#
            )
        };
        let said = r#"{"id":9,"timestamp":"2025-01-27T22:45:56","source":"agent","action":"message","args":{"content":"Done."},"llm_metrics":{"accumulated_cost":1.0}}"#;
        let session = session(&[&call(1, 0.25), &call(2, 0.75), said]);
        let prices = crate::usage::Prices::built_in();
        let mut usage = crate::usage::UsageReader::new(&session, &prices);
        let turns = (0..session.turns.len()).map(|turn| usage.turn(turn).unwrap());
        let costs: Vec<f64> = turns
            .filter_map(|turn| Some(turn.cost?.all.dollars()))
            .collect();
        assert_eq!(costs, [0.25, 0.5, 0.25]);
    }

    #[test]
    fn events_of_the_sdk_name_the_tools() {
        let session = session(&[
            r#"{"kind":"SystemPromptEvent","id":"0","timestamp":"2026-01-01T00:00:00","source":"agent","system_prompt":{"type":"text","text":"Be kind."},"tools":[{"type":"function","function":{"name":"terminal","parameters":{"type":"object"}}}]}"#,
            r#"{"kind":"ActionEvent","id":"1","timestamp":"2026-01-01T00:00:01","source":"agent","thought":[{"type":"text","text":"I look."}],"tool_name":"terminal","tool_call_id":"c1","tool_call":{"id":"c1","name":"terminal","arguments":"{}"},"llm_response_id":"r1"}"#,
            r#"{"kind":"ObservationEvent","id":"2","timestamp":"2026-01-01T00:00:02","source":"environment","tool_name":"terminal","tool_call_id":"c1","observation":{"kind":"X","content":[{"type":"text","text":"a"}]}}"#,
        ]);
        assert!(session.contract.tools_known());
        assert_eq!(session.pairing.standing(2), PairStatus::Paired(3));
    }
}
