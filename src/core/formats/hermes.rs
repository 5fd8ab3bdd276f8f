//! The database of Hermes Agent: messages of Chat in rows.

use super::tables::{Query, Rows, json_in};
use super::transcript::{Head, Spent, Transcript};
use super::{Contents, Format, Reading, Sample, Tables, agents_sqlite};
use crate::session::SourceResult;
use crate::wire::write::{Object, quoted};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "hermes-sqlite",
    title: "session database of Hermes Agent",
    sniff: |sample: &Sample<'_>| {
        let names = ["tool_call_id", "tool_calls", "finish_reason"];
        let is_own = agents_sqlite::declares(sample, "messages")
            && names.iter().all(|name| sample.mentions(name));
        if is_own { 100 } else { 0 }
    },
    reading: Reading::Tables(Tables {
        queries: &[
            Query {
                sql: "SELECT * FROM sessions",
                order: &["started_at", "id"],
                json: &[],
            },
            Query {
                sql: "SELECT * FROM messages",
                order: &["timestamp", "id"],
                json: &["tool_calls"],
            },
        ],
        read,
    }),
};

fn read(rows: &Arc<Rows>) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    let mut messages = rows.by(1, "session_id");
    for session in rows.of(0).map(Object::read) {
        let id = session.text("id");
        let label = match session.text("title") {
            title if title.is_empty() => id.clone(),
            title => format!("{title} ({id})"),
        };
        out.begin_session(&label, true);
        let own = messages.remove(&id).unwrap_or_default();
        // Tokens are counted for a session as a whole: its last reply carries them.
        let is_reply = |row: &&str| Object::read(row).text("role") == "assistant";
        let last = own.iter().rposition(is_reply);
        for (place, row) in own.iter().enumerate() {
            let spent = (last == Some(place)).then(|| spent(&session));
            let row = out.shorten(row, rows.place_of(row));
            write(
                &mut out,
                &Object::read(&row),
                &session.text("model"),
                spent.unwrap_or_default(),
            );
            out.forget();
        }
    }
    out.finish_from(rows.clone())
}

fn spent(session: &Object<'_>) -> Spent {
    let count = |key| session.number(key).unwrap_or_default();
    Spent {
        input: count("input_tokens"),
        cache_read: count("cache_read_tokens"),
        cache_write: count("cache_write_tokens"),
        output: count("output_tokens"),
        ..Spent::default()
    }
}

fn write(out: &mut Transcript, row: &Object<'_>, model: &str, spent: Spent) {
    let number = row.number("id").unwrap_or_default();
    let head = Head::new(number).at(row.get("timestamp"));
    let role = row.text("role");
    let is_reply = role == "assistant";
    let head = match is_reply {
        true => head.of_model(model).spent(spent),
        false => head,
    };
    if is_reply {
        out.note_model(model);
        out.begin_reply();
        let texts = [row.text("reasoning"), row.text("reasoning_content")];
        let reasoning = texts.into_iter().find(|text| !text.is_empty());
        out.think(&head, &reasoning.unwrap_or_default());
    }
    let mut message = format!(r#"{{"role":{}"#, quoted(&role));
    message += &format!(r#","content":{}"#, row.get("content").unwrap_or("null"));
    let calls = json_in(row, "tool_calls");
    if calls.starts_with('[') {
        message += &format!(r#","tool_calls":{calls}"#);
    }
    if let Some(id) = row.get("tool_call_id") {
        message += &format!(r#","tool_call_id":{id}"#);
    }
    out.add_element(&head, &format!("{message}}}"));
    if is_reply && row.text("finish_reason") == "length" {
        out.stop("length");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::session::PairStatus;
    use serde_json::json;

    #[test]
    fn rows_are_messages_with_their_calls() {
        let calls = r#"[{"id":"c1","type":"function","function":{"name":"terminal","arguments":"{\"a\":"}}]"#;
        let rows = [
            vec![json!({"id":"s","model":"m","input_tokens":5,"output_tokens":2}).to_string()],
            vec![
                json!({"id":1,"session_id":"s","role":"user","content":"hi","timestamp":1760000000.5}).to_string(),
                json!({"id":2,"session_id":"s","role":"assistant","content":null,"tool_calls":calls,"timestamp":1760000001.0,"reasoning":"hm"}).to_string(),
                json!({"id":3,"session_id":"s","role":"tool","content":"ok","tool_call_id":"c1","timestamp":1760000002.0}).to_string(),
            ],
        ];
        let session = &read(&Arc::new(rows.to_vec().into())).unwrap().sessions[0];
        assert_eq!(session.pairing.standing(2), PairStatus::Paired(3));
        assert_eq!(session.model.as_deref(), Some("m"));
        let prices = crate::usage::Prices::built_in();
        let mut usage = crate::usage::UsageReader::new(session, &prices);
        assert_eq!(usage.turn(1).unwrap().took, Some(500));
    }
}
