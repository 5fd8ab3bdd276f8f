//! Session logs of pi, oh-my-pi and OpenClaw: JSONL entries that form a tree by `id` and `parentId` (pi, session
//! format, versions 1 to 3).
//!
//! The last entry is the leaf; the chain from it to the root is the history, other leaves are abandoned branches.
//! Version 1 has no ids and is linear. What a reply that failed or was aborted says is not sent again, so its calls
//! need no result. OpenClaw keeps the same entries in the rows of a database since September 2026.

use super::tables::{Query, Rows, json_in};
use super::transcript::{self, Entries, Entry, Head, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Records, Sample, Tables, agents_sqlite};
use crate::json::{Cursor, Result};
use crate::session::{Flags, Fragment, Kind, LinkFlags, RecordLink, Source, SourceResult};
use crate::wire::write::Object;
use crate::wire::{Part, Role};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "pi",
    title: "session logs of pi, oh-my-pi and OpenClaw",
    sniff,
    reading: Reading::Spelled(Records::spelled(read_entry, assemble)),
};

/// The row of databases of OpenClaw.
pub(super) const DATABASE: Format = Format {
    id: "openclaw-sqlite",
    title: "session database of OpenClaw",
    sniff: |sample: &Sample<'_>| {
        let is_own =
            agents_sqlite::declares(sample, "transcript_events") && sample.mentions("event_json");
        if is_own { 100 } else { 0 }
    },
    reading: Reading::Tables(Tables {
        queries: &[Query {
            sql: "SELECT rowid AS number, session_id, seq, event_json FROM transcript_events",
            order: &["session_id", "seq"],
            json: &["event_json"],
        }],
        read: read_tables,
    }),
};

fn read_tables(rows: &Arc<Rows>) -> SourceResult<Contents> {
    let mut read = Transcript::new(DATABASE.id, DATABASE.dialect());
    let mut sessions: Vec<(String, usize)> = Vec::new();
    for row in rows.of(0) {
        let row = read.shorten(row, rows.place_of(row));
        let row = Object::read(&row);
        let (session, event) = (row.text("session_id"), json_in(&row, "event_json"));
        let number = row.number("number").unwrap_or_default();
        if sessions.last().is_none_or(|(last, _)| *last != session) {
            sessions.push((session, 0));
        }
        if let Some((_, entries)) = sessions.last_mut() {
            *entries += 1;
        }
        write_entry(&mut read, &Object::read(&event), number);
        read.forget();
    }
    let entries = read.into_entries(rows.clone());
    let mut out = entries.transcript(&DATABASE);
    let mut rest = &entries.all[..];
    for (session, count) in &sessions {
        let (own, others) = rest.split_at(*count);
        write(&entries, own, session, &mut out);
        rest = others;
    }
    entries.finish(out)
}

fn sniff(sample: &Sample<'_>) -> u8 {
    let is_header = |document: &Document<'_>| {
        document.says("type", "session") && document.has("cwd") && document.has("timestamp")
    };
    let is_message = |document: &Document<'_>| {
        let message = document.object("message");
        document.says("type", "message")
            && (message.says("role", "toolResult") && message.has("toolCallId")
                || message.has("api") && message.has("stopReason"))
    };
    match sample.any(is_header) || sample.any(is_message) {
        true => 95,
        false => 0,
    }
}

fn read_entry(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    transcript::read_entry(cursor, base, out, FORMAT.dialect(), |out, entry, lines| {
        write_entry(out, entry, lines.first());
    })
}

fn assemble(read: Fragment, file: &Arc<dyn Source>) -> SourceResult<Contents> {
    let entries = Entries::new(read, file);
    let mut out = entries.transcript(&FORMAT);
    write(&entries, &entries.all, "", &mut out);
    entries.finish(out)
}

/// A chain of entries, from its first on.
struct Branch {
    entries: Vec<usize>,
    /// Whether the first one names a parent that is not there.
    is_broken: bool,
}

/// Adds the active history of a log and then its abandoned branches; `session` names the log where there are several.
fn write(entries: &Entries, own: &[Entry], session: &str, out: &mut Transcript) {
    for (number, branch) in branches(own).iter().enumerate() {
        let label = match (number, session) {
            (0, session) => session.to_owned(),
            (number, "") => format!("branch {number}"),
            (number, session) => format!("{session}, branch {number}"),
        };
        if number > 0 || !session.is_empty() {
            out.begin_session(&label, number == 0);
        }
        write_branch(entries, own, branch, out);
    }
}

/// The history first, then what of each other branch is not part of an earlier one.
fn branches(entries: &[Entry]) -> Vec<Branch> {
    let linked = |place: &usize| entries[*place].link.id != 0;
    let all = 0..entries.len();
    if !all.clone().any(|place| linked(&place)) {
        return vec![Branch {
            entries: all.collect(),
            is_broken: false,
        }];
    }
    let mut places: HashMap<u64, usize> = HashMap::new();
    let mut parents: HashSet<u64> = HashSet::new();
    for place in all.clone().filter(linked) {
        places.insert(entries[place].link.id, place);
        parents.insert(entries[place].link.parent);
    }
    let is_leaf = |place: &usize| linked(place) && !parents.contains(&entries[*place].link.id);
    let last = all.clone().rfind(linked);
    let leaves = last.into_iter().chain(all.clone().filter(is_leaf));
    let mut taken = HashSet::new();
    let mut branches = Vec::new();
    for leaf in leaves {
        let (mut chain, mut next, mut is_broken) = (Vec::new(), Some(leaf), false);
        while let Some(place) = next.filter(|place| taken.insert(*place)) {
            chain.push(place);
            let parent = entries[place].link.parent;
            next = places.get(&parent).copied();
            is_broken = next.is_none() && parent != 0;
        }
        chain.reverse();
        if branches.is_empty() {
            // The header and other lines without an id belong to the history.
            chain.extend(all.clone().filter(|place| !linked(place)));
            chain.sort_unstable();
        }
        if !chain.is_empty() {
            branches.push(Branch {
                entries: chain,
                is_broken,
            });
        }
    }
    branches
}

fn write_branch(entries: &Entries, own: &[Entry], branch: &Branch, out: &mut Transcript) {
    let first = out.items().len();
    // For each entry the number of items before it, and the calls of replies that are not sent again.
    let (mut places, mut dropped) = (HashMap::new(), HashSet::new());
    for entry in branch.entries.iter().map(|place| &own[*place]) {
        let link = entry.link;
        let place = out.items().len();
        places.insert(link.id, place);
        if link.flags.has(LinkFlags::BOUNDARY) {
            // Everything before the first entry that is kept is no longer sent.
            let kept = places.get(&link.answers).filter(|_| link.answers != 0);
            let end = kept.copied().unwrap_or(place);
            for item in &mut out.items()[first..end] {
                item.flags = item.flags.with(Flags::COMPACTED);
            }
        }
        for item in entries.add(entry, 0, out) {
            match item.kind {
                Kind::Call if item.flags.has(Flags::COMPACTED) => {
                    dropped.insert(item.call_id.hash);
                }
                Kind::Output => {
                    let is_dropped = dropped.contains(&item.call_id.hash);
                    item.flags.set_if(Flags::COMPACTED, is_dropped);
                }
                _ => {}
            }
        }
    }
    if let (true, Some(item)) = (branch.is_broken, out.items().get_mut(first)) {
        item.flags = item.flags.with(Flags::BROKEN_CHAIN);
    }
}

fn write_entry(out: &mut Transcript, object: &Object<'_>, number: u64) {
    let (kind, key) = (object.text("type"), |name| {
        RecordLink::key(object.text(name).as_bytes())
    });
    let mut link = RecordLink {
        parent: key("parentId"),
        answers: key("firstKeptEntryId"),
        ..RecordLink::default()
    };
    if kind != "session" {
        link.id = key("id");
    }
    link.flags.set_if(LinkFlags::BOUNDARY, kind == "compaction");
    out.begin_entry(link, "");
    let head = Head::new(number).at(object.get("timestamp"));
    let content = |key| transcript::content(object.get(key));
    match &*kind {
        "session" | "model_change" => out.note_model(&object.text("modelId")),
        "message" => write_message(out, &head, &object.object("message")),
        "compaction" => {
            out.mark(&head, Kind::Compaction, &object.text("summary"));
            // A retained tail says again what is still sent.
            for message in object.list("retainedTail") {
                write_message(out, &head, &Object::read(message));
            }
        }
        "branch_summary" => out.say(&head, Role::User, content("summary")),
        "custom_message" => out.say(&head, Role::User, content("content")),
        _ => {}
    }
}

fn write_message(out: &mut Transcript, head: &Head, message: &Object<'_>) {
    match &*message.text("role") {
        "assistant" => write_reply(out, head.clone(), message),
        "toolResult" => {
            let id = call_id(&message.text("toolCallId"));
            let content = transcript::content(message.get("content"));
            let (name, is_error) = (message.text("toolName"), message.is_true("isError"));
            let result = transcript::result(&id, &name, content, is_error);
            out.add(head, Role::Tool, vec![result]);
        }
        "user" | "custom" => out.say(
            head,
            Role::User,
            transcript::content(message.get("content")),
        ),
        "bashExecution" if !message.is_true("excludeFromContext") => {
            let (command, output) = (message.text("command"), message.text("output"));
            let text = format!("Ran `{command}`\n{output}");
            out.say(head, Role::User, vec![Part::Text(text)]);
        }
        "branchSummary" => out.say(
            head,
            Role::User,
            transcript::content(message.get("summary")),
        ),
        "compactionSummary" => {
            out.mark(head, Kind::Compaction, &message.text("summary"));
        }
        _ => {}
    }
}

fn write_reply(out: &mut Transcript, head: Head, message: &Object<'_>) {
    let usage = message.object("usage");
    let count = |key| usage.number(key).unwrap_or_default();
    let head = head.of_model(&message.text("model")).spent(Spent {
        input: count("input"),
        cache_read: count("cacheRead"),
        cache_write: count("cacheWrite"),
        output: count("output"),
        cost: usage.object("cost").decimal("total").unwrap_or_default(),
    });
    let reason = message.text("stopReason");
    let is_dropped = matches!(&*reason, "error" | "aborted");
    let first = out.items().len();
    out.begin_reply();
    for block in message.list("content") {
        let block = Object::read(block);
        let part = match &*block.text("type") {
            "text" => Part::Text(block.text("text")),
            "toolCall" => {
                let id = call_id(&block.text("id"));
                transcript::call(&id, &block.text("name"), block.get("arguments"))
            }
            "thinking" => {
                out.think(&head, &block.text("thinking"));
                continue;
            }
            _ => continue,
        };
        out.say(&head, Role::Model, vec![part]);
    }
    if reason == "length" {
        out.stop("length");
    }
    if is_dropped {
        for item in &mut out.items()[first..] {
            item.flags = item.flags.with(Flags::COMPACTED);
        }
        let words = match message.text("errorMessage") {
            words if words.is_empty() => reason.clone(),
            words => words,
        };
        let flag = match &*reason {
            "aborted" => Flags::INTERRUPT,
            _ => Flags::ERROR,
        };
        out.mark(&head, Kind::Notice, &words).flags = flag;
    }
}

/// The id that the provider gave to a call: `call|item` has that of the item of Responses after it.
fn call_id(id: &str) -> String {
    id.split('|').next().unwrap_or_default().to_owned()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::{PairStatus, Session};

    const HEADER: &str = r#"{"type":"session","version":3,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}"#;
    const USER: &str = r#"{"type":"message","id":"a1","parentId":null,"timestamp":"2026-01-01T00:00:01.000Z","message":{"role":"user","content":"Count the boats."}}"#;
    const CALL: &str = r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","api":"x","provider":"p","model":"m-1","content":[{"type":"thinking","thinking":"Look."},{"type":"text","text":"I look."},{"type":"toolCall","id":"c1|fc_1","name":"ls","arguments":{"path": "."}}],"usage":{"input":10,"output":5,"cacheRead":90,"cacheWrite":0,"cost":{"input":0.1,"output":0.15,"total":0.25}},"stopReason":"toolUse"}}"#;
    const RESULT: &str = r#"{"type":"message","id":"a3","parentId":"a2","timestamp":"2026-01-01T00:00:04.000Z","message":{"role":"toolResult","toolCallId":"c1|fc_1","toolName":"ls","content":[{"type":"text","text":"no"}],"isError":true}}"#;

    fn sessions(lines: &[&str]) -> Vec<Session> {
        let contents = read("pi", &lines.join("\n"));
        assert_eq!(contents.problems, []);
        contents.sessions
    }

    fn kinds(session: &Session) -> Vec<Kind> {
        session.items.iter().map(|item| item.kind).collect()
    }

    #[test]
    fn a_call_has_its_result_its_time_and_its_usage() {
        let session = &sessions(&[HEADER, USER, CALL, RESULT])[0];
        let expected = [
            Kind::User,
            Kind::Reasoning,
            Kind::Assistant,
            Kind::Call,
            Kind::Output,
        ];
        assert_eq!(kinds(session), expected);
        assert_eq!(session.pairing.standing(3), PairStatus::Paired(4));
        assert!(session.items[4].flags.has(Flags::ERROR));
        assert_eq!(session.model.as_deref(), Some("m-1"));
        assert_eq!(session.records[session.items[4].record as usize].number, 4);
        let prices = crate::usage::Prices::built_in();
        let mut usage = crate::usage::UsageReader::new(session, &prices);
        let reply = usage.turn(1).unwrap();
        let tokens = reply.tokens.unwrap();
        assert_eq!((tokens.input, tokens.cached, tokens.output), (100, 90, 5));
        assert_eq!(reply.took, Some(2_000));
        assert_eq!(reply.cost.map(|cost| cost.all.dollars()), Some(0.25));
        assert_eq!(usage.call_duration(3).unwrap(), Some(1_000));
    }

    #[test]
    fn an_abandoned_branch_is_a_session_of_its_own() {
        let other = r#"{"type":"message","id":"b1","parentId":"a1","message":{"role":"user","content":"No: the ships."}}"#;
        let sessions = sessions(&[HEADER, USER, CALL, RESULT, other]);
        let found = sessions
            .iter()
            .map(|session| (kinds(session).len(), session.active, &*session.label));
        let expected = [(2, true, ""), (4, false, "branch 1")];
        assert_eq!(found.collect::<Vec<_>>(), expected);
    }

    #[test]
    fn a_reply_that_was_aborted_is_not_sent_again() {
        let aborted = CALL.replace("toolUse", "aborted");
        let next = r#"{"type":"message","id":"a4","parentId":"a2","message":{"role":"user","content":"Go on."}}"#;
        let session = &sessions(&[HEADER, USER, &aborted, next])[0];
        assert!(session.items[3].flags.has(Flags::COMPACTED));
        assert!(session.items[4].flags.has(Flags::INTERRUPT));
        assert_eq!(session.items[5].kind, Kind::User);
    }

    #[test]
    fn a_compaction_keeps_what_it_names() {
        let mark = r#"{"type":"compaction","id":"a4","parentId":"a3","summary":"Boats.","tokensBefore":9,"firstKeptEntryId":"a2"}"#;
        let session = &sessions(&[HEADER, USER, CALL, RESULT, mark])[0];
        let gone = session
            .items
            .iter()
            .map(|item| item.flags.has(Flags::COMPACTED));
        assert_eq!(
            gone.collect::<Vec<_>>(),
            [true, false, false, false, false, false]
        );
        assert_eq!(session.items[5].kind, Kind::Compaction);
    }

    #[test]
    fn a_parent_that_is_not_there_breaks_the_chain() {
        let torn = RESULT.replace("\"parentId\":\"a2\"", "\"parentId\":\"zz\"");
        let sessions = sessions(&[HEADER, USER, CALL, &torn]);
        assert!(sessions[0].items[0].flags.has(Flags::BROKEN_CHAIN));
        assert_eq!(sessions.len(), 2);
    }

    #[test]
    fn rows_of_a_database_are_the_same_entries() {
        let row = |session: &str, number: u64, event: &str| {
            format!(r#"{{"number":{number},"session_id":"{session}","event_json":{event}}}"#)
        };
        let rows = [USER, CALL, RESULT].iter().zip(1..);
        let rows: Vec<String> = rows
            .map(|(event, number)| row("s1", number, event))
            .collect();
        let contents = read_tables(&Arc::new(
            vec![[rows, vec![row("s2", 9, USER)]].concat()].into(),
        ))
        .unwrap();
        let found = contents
            .sessions
            .iter()
            .map(|one| (&*one.label, one.items.len()));
        assert_eq!(found.collect::<Vec<_>>(), [("s1", 5), ("s2", 1)]);
        assert_eq!(contents.sessions[1].records.last().unwrap().number, 9);
    }
}
