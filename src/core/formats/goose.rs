//! Sessions of Goose: the tables of `sessions.db`, or JSONL of messages after a first line about the session, as
//! earlier versions wrote it.

use super::tables::{Query, Rows, json_in};
use super::transcript::{self, Entries, Head, Transcript};
use super::{Contents, Document, Format, Reading, Records, Sample, Tables, agents_sqlite};
use crate::json::{Cursor, Result};
use crate::session::{Flags, Fragment, Kind, RecordLink, Source, SourceResult};
use crate::wire::write::{Object, elements};
use crate::wire::{Part, Role};
use std::sync::Arc;

/// The row of JSONL.
pub(super) const FORMAT: Format = Format {
    id: "goose",
    title: "session logs of Goose",
    sniff: |sample: &Sample<'_>| {
        let is_message = |document: &Document<'_>| {
            let is_call = |part: &Document<'_>| part.has("toolCall") || part.has("toolResult");
            document.has("role")
                && document.has("created")
                && (document.array("content").iter().any(is_call) || document.has("metadata"))
        };
        if sample.any(is_message) { 94 } else { 0 }
    },
    reading: Reading::Spelled(Records::spelled(read_message, assemble)),
};

/// The row of databases.
pub(super) const DATABASE: Format = Format {
    id: "goose-sqlite",
    title: "session database of Goose",
    sniff: |sample: &Sample<'_>| {
        let is_own = agents_sqlite::declares(sample, "messages")
            && sample.mentions("content_json")
            && sample.mentions("created_timestamp");
        if is_own { 100 } else { 0 }
    },
    reading: Reading::Tables(Tables {
        queries: &[
            Query {
                sql: "SELECT * FROM sessions",
                order: &["created_at", "id"],
                json: &["model_config_json"],
            },
            Query {
                sql: "SELECT * FROM messages",
                order: &["timestamp", "id"],
                json: &["content_json", "metadata_json"],
            },
        ],
        read: read_tables,
    }),
};

fn read_message(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    transcript::read_entry(
        cursor,
        base,
        out,
        FORMAT.dialect(),
        |out, message, lines| {
            let head = Head::new(lines.first()).at(message.get("created"));
            let content = message.get("content").unwrap_or_default();
            out.begin_entry(RecordLink::default(), "");
            write(out, &head, message, content, &message.object("metadata"));
        },
    )
}

fn assemble(read: Fragment, file: &Arc<dyn Source>) -> SourceResult<Contents> {
    let entries = Entries::new(read, file);
    let mut out = entries.transcript(&FORMAT);
    for entry in &entries.all {
        entries.add(entry, 0, &mut out);
    }
    entries.finish(out)
}

fn read_tables(rows: &Arc<Rows>) -> SourceResult<Contents> {
    let mut out = Transcript::new(DATABASE.id, DATABASE.dialect());
    let mut messages = rows.by(1, "session_id");
    for session in rows.of(0).map(Object::read) {
        let id = session.text("id");
        let names = [session.text("name"), session.text("description")];
        let name = names.into_iter().find(|name| !name.is_empty());
        let label = name.map_or_else(|| id.clone(), |name| format!("{name} ({id})"));
        out.begin_session(&label, session.text("session_type") != "sub_agent");
        let model = json_in(&session, "model_config_json");
        out.note_model(&Object::read(&model).text("model_name"));
        for row in messages.remove(&id).unwrap_or_default() {
            let row = out.shorten(row, rows.place_of(row));
            let row = Object::read(&row);
            let number = row.number("id").unwrap_or_default();
            let head = Head::new(number).at(row.get("created_timestamp"));
            let metadata = json_in(&row, "metadata_json");
            let content = json_in(&row, "content_json");
            write(&mut out, &head, &row, &content, &Object::read(&metadata));
            out.forget();
        }
    }
    out.finish_from(rows.clone())
}

/// Writes a message whose parts name their type. One that the agent does not see any more was summarised.
fn write(
    out: &mut Transcript,
    head: &Head,
    message: &Object<'_>,
    content: &str,
    metadata: &Object<'_>,
) {
    let first = out.items().len();
    let role = match &*message.text("role") {
        "assistant" => Role::Model,
        "user" => Role::User,
        // The first line of a log.
        _ => return,
    };
    if role == Role::Model {
        out.begin_reply();
    }
    for json in elements(content) {
        let part = Object::read(json);
        match &*part.text("type") {
            "text" => out.say(head, role, vec![Part::Text(part.text("text"))]),
            "image" => out.say(head, role, transcript::content(Some(&format!("[{json}]")))),
            "thinking" => out.think(head, &part.text("thinking")),
            "toolRequest" | "frontendToolRequest" => write_call(out, head, &part),
            "toolResponse" => write_result(out, head, &part),
            "contextLengthExceeded" | "summarizationRequested" => {
                out.mark(head, Kind::Compaction, &part.text("msg"));
            }
            "systemNotification" => {
                out.mark(head, Kind::Notice, &part.text("msg"));
            }
            _ => {}
        }
    }
    if metadata.get("agentVisible") == Some("false") {
        for item in &mut out.items()[first..] {
            item.flags = item.flags.with(Flags::COMPACTED);
        }
    }
}

/// A call is `{status, value}`, or what was wrong with it: then its name is not kept.
fn write_call(out: &mut Transcript, head: &Head, part: &Object<'_>) {
    let request = part.object("toolCall");
    let call = request.object("value");
    let arguments = call.get("arguments").or(request.get("error"));
    let call = transcript::call(&part.text("id"), &call.text("name"), arguments);
    out.add(head, Role::Model, vec![call]);
}

/// A result is `{status, value}` or `{status, error}`; the value is a content, or holds it since MCP 2025.
fn write_result(out: &mut Transcript, head: &Head, part: &Object<'_>) {
    let answer = part.object("toolResult");
    let value = answer.object("value");
    let failed = answer.text("status") == "error" || value.is_true("isError");
    let content = answer
        .get("error")
        .or(value.get("content"))
        .or(answer.get("value"));
    let content = transcript::content(content);
    let result = transcript::result(&part.text("id"), "", content, failed);
    out.add(head, Role::Tool, vec![result]);
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::PairStatus;
    use serde_json::json;

    const CALL: &str = r#"[{"type":"text","text":"I look."},{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"developer__shell","arguments":{"command":"ls"}}}}]"#;
    const RESULT: &str = r#"[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":{"content":[{"type":"text","text":"no"}],"isError":true}}}]"#;

    #[test]
    fn rows_and_lines_say_the_same() {
        let rows = [
            vec![json!({"id":"s","name":"Boats","session_type":"user"}).to_string()],
            vec![
                json!({"id":1,"session_id":"s","role":"assistant","content_json":CALL,"created_timestamp":1760000000}).to_string(),
                json!({"id":2,"session_id":"s","role":"user","content_json":RESULT,"created_timestamp":1760000002,"metadata_json":"{\"agentVisible\":true}"}).to_string(),
            ],
        ];
        let lines = format!(
            "{{\"description\":\"Boats\",\"working_dir\":\"/p\"}}\n{{\"role\":\"assistant\",\"created\":1760000000,\"content\":{CALL}}}\n{{\"role\":\"user\",\"created\":1760000002,\"content\":{RESULT}}}\n"
        );
        let rows = Arc::new(rows.to_vec().into());
        for contents in [read_tables(&rows).unwrap(), read("goose", &lines)] {
            let session = &contents.sessions[0];
            assert_eq!(session.pairing.standing(1), PairStatus::Paired(2));
            assert!(session.items[2].flags.has(Flags::ERROR));
            let prices = crate::usage::Prices::built_in();
            let mut usage = crate::usage::UsageReader::new(session, &prices);
            assert_eq!(usage.call_duration(1).unwrap(), Some(2_000));
        }
    }
}
