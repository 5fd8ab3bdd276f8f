//! Sessions of Copilot CLI: `events.jsonl`, one event a line. What carries a `parentToolCallId` belongs to the
//! sub-agent that this call started.

use super::transcript::{self, Entries, Entry, Head, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Records, Sample};
use crate::json::{Cursor, Result};
use crate::session::{Flags, Fragment, Kind, RecordLink, Source, SourceResult};
use crate::wire::Role;
use crate::wire::write::Object;
use std::collections::HashMap;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "copilot-cli",
    title: "sessions of Copilot CLI (events.jsonl)",
    sniff: |sample: &Sample<'_>| {
        let is_event = |document: &Document<'_>| {
            let kind = document.text("type").unwrap_or_default();
            let area = kind.split('.').next().unwrap_or_default();
            let is_known = matches!(area, "session" | "user" | "assistant" | "tool" | "system");
            is_known && kind.contains('.') && document.has("data") && document.has("parentId")
        };
        if sample.any(is_event) { 95 } else { 0 }
    },
    reading: Reading::Spelled(Records::spelled(read_event, assemble)),
};

fn read_event(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    transcript::read_entry(cursor, base, out, FORMAT.dialect(), |out, event, lines| {
        let parent = event.object("data").text("parentToolCallId");
        let link = RecordLink {
            parent: RecordLink::key(parent.as_bytes()),
            ..RecordLink::default()
        };
        out.begin_entry(link, &parent);
        write(event, lines.first(), out);
    })
}

fn assemble(read: Fragment, file: &Arc<dyn Source>) -> SourceResult<Contents> {
    let entries = Entries::new(read, file);
    let mut out = entries.transcript(&FORMAT);
    let mut sub_agents: Vec<Vec<&Entry>> = Vec::new();
    let mut places = HashMap::new();
    for entry in &entries.all {
        if entry.link.parent == 0 {
            entries.add(entry, 0, &mut out);
            continue;
        }
        let place = *places.entry(entry.link.parent).or_insert(sub_agents.len());
        if place == sub_agents.len() {
            sub_agents.push(Vec::new());
        }
        sub_agents[place].push(entry);
    }
    for events in sub_agents {
        let call = entries.label(events[0])?;
        out.begin_session(&format!("sub-agent {call}"), false);
        for event in events {
            entries.add(event, 0, &mut out);
        }
    }
    entries.finish(out)
}

fn write(event: &Object<'_>, line: u64, out: &mut Transcript) {
    let data = event.object("data");
    let head = Head::new(line).at(event.get("timestamp"));
    match &*event.text("type") {
        "session.start" => out.note_model(&data.text("selectedModel")),
        "session.model_change" => out.note_model(&data.text("newModel")),
        "system.message" => out.say(
            &head,
            Role::System,
            transcript::content(data.get("content")),
        ),
        "user.message" => out.say(&head, Role::User, transcript::content(data.get("content"))),
        "assistant.message" => write_reply(head, &data, out),
        "tool.execution_complete" => write_result(&head, &data, out),
        "session.compaction_complete" => {
            out.note(crate::session::Fact::HistoryReplaced);
            out.mark(&head, Kind::Compaction, &data.text("summaryContent"));
        }
        "session.error" => {
            out.mark(&head, Kind::Notice, &data.text("message")).flags = Flags::ERROR;
        }
        "abort" => {
            out.mark(&head, Kind::Notice, &data.text("reason")).flags = Flags::INTERRUPT;
        }
        _ => {}
    }
}

fn write_reply(head: Head, data: &Object<'_>, out: &mut Transcript) {
    let head = head.of_model(&data.text("model")).spent(Spent {
        output: data.number("outputTokens").unwrap_or_default(),
        ..Spent::default()
    });
    out.begin_reply();
    out.think(&head, &data.text("reasoningText"));
    let mut parts = transcript::content(data.get("content"));
    parts.extend(data.list("toolRequests").into_iter().map(|json| {
        let call = Object::read(json);
        let (id, name) = (call.text("toolCallId"), call.text("name"));
        transcript::call(&id, &name, call.get("arguments"))
    }));
    out.add(&head, Role::Model, parts);
}

fn write_result(head: &Head, data: &Object<'_>, out: &mut Transcript) {
    let succeeded = data.is_true("success");
    let result = data.object("result");
    let error = data.object("error");
    let answer = match (data.get("result"), data.get("error")) {
        (Some(text), _) if text.starts_with('"') => Some(text),
        (Some(_), _) => result.get("content").or(data.get("result")),
        (None, Some(text)) if text.starts_with('"') => Some(text),
        (None, _) => error.get("message"),
    };
    let id = data.text("toolCallId");
    let content = transcript::content(answer);
    let answer = transcript::result(&id, &data.text("toolName"), content, !succeeded);
    out.add(head, Role::Tool, vec![answer]);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::PairStatus;

    fn event(kind: &str, data: &str) -> String {
        format!(
            r#"{{"type":"{kind}","data":{data},"id":"e","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}}"#
        )
    }

    #[test]
    fn requests_are_calls_and_completions_their_results() {
        let lines = [
            event(
                "session.start",
                r#"{"sessionId":"s","context":{"cwd":"/p"}}"#,
            ),
            event("user.message", r#"{"content":"Count."}"#),
            event(
                "assistant.message",
                r#"{"content":"","toolRequests":[{"toolCallId":"c1","name":"bash","arguments":{"command":"ls"}},{"toolCallId":"c2","name":"view","arguments":"{\"path\":"}],"outputTokens":9}"#,
            ),
            event(
                "tool.execution_complete",
                r#"{"toolCallId":"c1","success":false,"error":{"message":"denied"}}"#,
            ),
            event(
                "user.message",
                r#"{"content":"Sub.","parentToolCallId":"c1"}"#,
            ),
            event("user.message", r#"{"content":"Go on."}"#),
        ];
        let contents = read("copilot-cli", &lines.join("\n"));
        let session = &contents.sessions[0];
        assert_eq!(session.pairing.standing(1), PairStatus::Paired(3));
        assert_eq!(session.pairing.standing(2), PairStatus::Orphan);
        assert!(session.items[3].flags.has(Flags::ERROR));
        let body = crate::wire::body_of(
            &session.items[2],
            &session.bytes(&session.items[2]).unwrap(),
        );
        assert_eq!(body.unwrap().arguments.as_written(), "{\"path\":");
        assert_eq!(contents.sessions[1].label, "sub-agent c1");
    }
}
