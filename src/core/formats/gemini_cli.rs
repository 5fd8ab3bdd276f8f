//! Chats of Gemini CLI: JSONL of a header, messages and corrections, or one document that holds the messages.
//!
//! A message with the id of an earlier one replaces it, `$set.messages` replaces all, `$rewindTo` drops a message and
//! all after it. A message of the model holds its calls with their results.

use super::transcript::{self, Entries, Entry, Head, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Records, Sample};
use crate::json::{Cursor, Result};
use crate::session::{Flags, Fragment, Kind, LinkFlags, RecordLink, Source, SourceResult};
use crate::wire::write::{Object, quoted};
use std::collections::HashMap;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "gemini-cli",
    title: "chats of Gemini CLI",
    sniff,
    reading: Reading::Spelled(Records::spelled(read_line, assemble)),
};

fn sniff(sample: &Sample<'_>) -> u8 {
    let is_header = |document: &Document<'_>| {
        document.has("sessionId") && document.has("projectHash") && document.has("startTime")
    };
    let is_message = |document: &Document<'_>| {
        document.says("type", "gemini") && document.has("id") && document.has("content")
    };
    match sample.any(is_header) || sample.any(is_message) {
        true => 98,
        false => 0,
    }
}

/// What an entry does to the messages before it, where it is none itself.
const REPLACES_ALL: LinkFlags = LinkFlags::BOUNDARY;
const REWINDS: LinkFlags = LinkFlags::SIDE;
/// One of a list of all messages, in which none replaces another.
const LISTED: LinkFlags = LinkFlags::META;

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    transcript::read_entry(cursor, base, out, FORMAT.dialect(), |out, line, lines| {
        let key = |object: &Object<'_>, key| RecordLink::key(object.text(key).as_bytes());
        let changes = line.object("$set");
        let holder = if changes.has("messages") {
            &changes
        } else {
            line
        };
        let mut link = RecordLink::default();
        if holder.has("messages") {
            link.flags.set_if(REPLACES_ALL, true);
            out.begin_entry(link, "");
            for json in holder.list("messages") {
                let message = Object::read(json);
                let mut link = RecordLink {
                    id: key(&message, "id"),
                    ..RecordLink::default()
                };
                link.flags.set_if(LISTED, true);
                out.begin_entry(link, "");
                write(&message, lines.of(json), out);
            }
        } else if line.has("$rewindTo") {
            link.flags.set_if(REWINDS, true);
            link.parent = key(line, "$rewindTo");
            out.begin_entry(link, "");
        } else if line.has("type") {
            link.id = key(line, "id");
            out.begin_entry(link, "");
            write(line, lines.first(), out);
        }
    })
}

fn assemble(read: Fragment, file: &Arc<dyn Source>) -> SourceResult<Contents> {
    let entries = Entries::new(read, file);
    let mut messages: Vec<&Entry> = Vec::new();
    // Where a message is, by its id.
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut abandoned: Vec<Vec<&Entry>> = Vec::new();
    for entry in &entries.all {
        let link = entry.link;
        if link.flags.has(REPLACES_ALL) {
            messages.clear();
            places.clear();
        } else if link.flags.has(REWINDS) {
            let from = places.get(&link.parent).copied().unwrap_or(0);
            abandoned.push(messages.split_off(from));
            places.retain(|_, place| *place < from);
        } else {
            let replaces = link.id != 0 && !link.flags.has(LISTED);
            match places.get(&link.id).filter(|_| replaces) {
                Some(place) => messages[*place] = entry,
                None => {
                    places.entry(link.id).or_insert(messages.len());
                    messages.push(entry);
                }
            }
        }
    }
    let mut out = entries.transcript(&FORMAT);
    let add = |messages: &[&Entry], out: &mut Transcript| {
        for message in messages {
            entries.add(message, 0, out);
        }
    };
    add(&messages, &mut out);
    for (number, branch) in (1..).zip(&abandoned) {
        out.begin_session(&format!("abandoned {number}"), false);
        add(branch, &mut out);
    }
    entries.finish(out)
}

fn write(message: &Object<'_>, line: u64, out: &mut Transcript) {
    let head = Head::new(line).at(message.get("timestamp"));
    let parts = parts(message.get("content"));
    match &*message.text("type") {
        "gemini" => write_reply(out, head, message, parts, line),
        "user" => match text_of(message) {
            // Commands and what the program says of itself are not sent to the model.
            text if is_not_sent(&text) => {
                out.mark(&head, Kind::Notice, &text);
            }
            _ => write_content(out, &head, "user", &parts),
        },
        kind => {
            let item = out.mark(&head, Kind::Notice, &text_of(message));
            item.flags.set_if(Flags::ERROR, kind == "error");
        }
    }
}

fn is_not_sent(text: &str) -> bool {
    let marks = ["/", "?", "<session_context>", "<hook_context>"];
    marks.iter().any(|mark| text.starts_with(mark))
}

fn text_of(message: &Object<'_>) -> String {
    let parts = parts(message.get("content"));
    let texts = parts.iter().map(|part| Object::read(part).text("text"));
    texts.collect::<Vec<_>>().join("\n")
}

/// A content as parts: it may be a text, one part, or a list of both.
fn parts(content: Option<&str>) -> Vec<String> {
    let content = content.unwrap_or("\"\"");
    let parts = match content.starts_with('[') {
        true => crate::wire::write::elements(content),
        false => vec![content],
    };
    let part = |part: &&str| match part.starts_with('"') {
        true => format!(r#"{{"text":{part}}}"#),
        false => (*part).to_owned(),
    };
    let is_empty = |part: &&str| matches!(*part, "\"\"" | "null");
    parts
        .iter()
        .filter(|part| !is_empty(part))
        .map(part)
        .collect()
}

fn write_content(out: &mut Transcript, head: &Head, role: &str, parts: &[String]) {
    if !parts.is_empty() {
        let parts = parts.join(",");
        out.add_element(head, &format!(r#"{{"role":"{role}","parts":[{parts}]}}"#));
    }
}

fn write_reply(
    out: &mut Transcript,
    head: Head,
    message: &Object<'_>,
    mut parts: Vec<String>,
    line: u64,
) {
    let tokens = message.object("tokens");
    let count = |key| tokens.number(key).unwrap_or_default();
    let cached = count("cached");
    let model = message.text("model");
    out.note_model(&model);
    let head = head.of_model(&model).spent(Spent {
        input: count("input").saturating_sub(cached) + count("tool"),
        cache_read: cached,
        cache_write: 0,
        output: count("output") + count("thoughts"),
        ..Spent::default()
    });
    out.begin_reply();
    let has = |key: &str| parts.iter().any(|part| Object::read(part).has(key));
    if !has("thought") {
        for thought in message.list("thoughts") {
            let thought = Object::read(thought);
            let (subject, words) = (thought.text("subject"), thought.text("description"));
            out.think(&head, format!("{subject}\n{words}").trim());
        }
    }
    let calls = message.list("toolCalls");
    let calls: Vec<Object<'_>> = calls.into_iter().map(Object::read).collect();
    if !has("functionCall") {
        parts.extend(calls.iter().map(|call| {
            let (id, name) = (quoted(&call.text("id")), quoted(&call.text("name")));
            let args = call.get("args").unwrap_or("{}");
            format!(r#"{{"functionCall":{{"id":{id},"name":{name},"args":{args}}}}}"#)
        }));
    }
    if !parts.is_empty() {
        let parts = parts.join(",");
        let json = format!(r#"{{"role":"model","parts":[{parts}]}}"#);
        let items = out.add_element(&head, &json).iter_mut();
        let waits = |call: &Object<'_>| call.text("status") == "awaiting_approval";
        for (item, call) in items.filter(|item| item.kind == Kind::Call).zip(&calls) {
            item.flags.set_if(Flags::AWAITS_APPROVAL, waits(call));
        }
    }
    for call in &calls {
        write_result(out, call, line);
    }
}

fn write_result(out: &mut Transcript, call: &Object<'_>, line: u64) {
    let Some(result) = call.get("result") else {
        return;
    };
    let head = Head::new(line).at(call.get("timestamp"));
    let status = call.text("status");
    let answer = match result.starts_with('"') {
        true => {
            let (id, name) = (quoted(&call.text("id")), quoted(&call.text("name")));
            vec![format!(
                r#"{{"functionResponse":{{"id":{id},"name":{name},"response":{{"output":{result}}}}}}}"#
            )]
        }
        false => parts(Some(result)),
    };
    let answer = answer.join(",");
    let json = format!(r#"{{"role":"user","parts":[{answer}]}}"#);
    for item in out.add_element(&head, &json) {
        let is_output = item.kind == Kind::Output;
        item.flags
            .set_if(Flags::ERROR, is_output && status == "error");
        item.flags
            .set_if(Flags::REJECTED, is_output && status == "cancelled");
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::PairStatus;

    const HEADER: &str =
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z"}"#;
    const USER: &str =
        r#"{"id":"m1","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":"Count."}"#;

    fn reply(status: &str) -> String {
        format!(
            r#"{{"id":"m2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"I look.","model":"gemini-2.5-pro","tokens":{{"input":9,"output":1,"cached":4,"thoughts":2,"tool":0,"total":12}},"thoughts":[{{"subject":"Look","description":"Boats."}}],"toolCalls":[{{"id":"c1","name":"ls","args":{{}},"status":"{status}","timestamp":"2026-01-01T00:00:05.000Z","result":"no"}}]}}"#
        )
    }

    fn sessions(lines: &[&str]) -> Vec<crate::session::Session> {
        let contents = read("gemini-cli", &lines.join("\n"));
        assert_eq!(contents.problems, []);
        contents.sessions
    }

    #[test]
    fn a_message_replaces_the_one_with_its_id() {
        let (early, late) = (reply("executing"), reply("error"));
        let session = &sessions(&[HEADER, USER, &early, &late])[0];
        assert_eq!(session.count(Kind::Call), 1);
        assert_eq!(session.pairing.standing(3), PairStatus::Paired(4));
        assert!(session.items[4].flags.has(Flags::ERROR));
        assert_eq!(session.records[session.items[3].record as usize].number, 4);
        let prices = crate::usage::Prices::built_in();
        let mut usage = crate::usage::UsageReader::new(session, &prices);
        let tokens = usage.turn(1).unwrap().tokens.unwrap();
        assert_eq!((tokens.input, tokens.cached, tokens.output), (9, 4, 3));
        assert_eq!(usage.call_duration(3).unwrap(), Some(3_000));
    }

    #[test]
    fn what_was_rewound_is_a_session_of_its_own() {
        let (reply, rewind) = (reply("success"), r#"{"$rewindTo":"m2"}"#);
        let sessions = sessions(&[HEADER, USER, &reply, rewind]);
        let found = sessions.iter().map(|one| (one.items.len(), one.active));
        assert_eq!(found.collect::<Vec<_>>(), [(1, true), (4, false)]);
    }

    #[test]
    fn a_checkpoint_replaces_all_and_commands_are_not_sent() {
        let command = r#"{"id":"m9","type":"user","content":"/help"}"#;
        let set = format!(r#"{{"$set":{{"messages":[{command},{USER}]}}}}"#);
        let session = &sessions(&[HEADER, USER, &reply("success"), &set])[0];
        let kinds = session.items.iter().map(|item| item.kind);
        assert_eq!(kinds.collect::<Vec<_>>(), [Kind::Notice, Kind::User]);
    }
}
