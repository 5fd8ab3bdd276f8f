//! Session logs of pi, oh-my-pi and OpenClaw: JSONL entries that form a tree by `id` and `parentId` (pi, session
//! format, versions 1 to 3).
//!
//! The last entry is the leaf; the chain from it to the root is the history, other leaves are abandoned branches.
//! Version 1 has no ids and is linear. What a reply that failed or was aborted says is not sent again, so its calls
//! need no result. OpenClaw keeps the same entries in the rows of a database since September 2026.

use super::transcript::{self, Head, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Sample, Tables, agents_sqlite};
use crate::session::{Dialect, Flags, Kind, Source, SourceError};
use crate::wire::write::Object;
use crate::wire::{Part, Role};
use std::collections::{HashMap, HashSet};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "pi",
    title: "session logs of pi, oh-my-pi and OpenClaw",
    dialect: Dialect::Responses,
    sniff,
    reading: Reading::Whole(read),
};

/// The row of databases of OpenClaw.
pub(super) const DATABASE: Format = Format {
    id: "openclaw-sqlite",
    title: "session database of OpenClaw",
    dialect: FORMAT.dialect,
    sniff: |sample: &Sample<'_>| {
        let is_own =
            agents_sqlite::declares(sample, "transcript_events") && sample.mentions("event_json");
        if is_own { 100 } else { 0 }
    },
    reading: Reading::Tables(Tables {
        queries: &[
            "SELECT rowid AS number, session_id, event_json FROM transcript_events ORDER BY session_id, seq",
        ],
        read: read_tables,
    }),
};

fn read_tables(rows: &[Vec<String>]) -> Result<Contents, SourceError> {
    let mut out = Transcript::new(DATABASE.id, DATABASE.dialect);
    let mut sessions: Vec<(String, Vec<Entry>)> = Vec::new();
    for row in rows.iter().flatten().map(|row| Object::read(row)) {
        let (session, event) = (row.text("session_id"), row.text("event_json"));
        let number = row.number("number").unwrap_or_default();
        if sessions.last().is_none_or(|(last, _)| *last != session) {
            sessions.push((session, Vec::new()));
        }
        if let Some((_, entries)) = sessions.last_mut() {
            entries.push(Entry::new(&Object::read(&event), number));
        }
    }
    for (session, entries) in &sessions {
        write(entries, session, &mut out);
    }
    out.finish()
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

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> Result<Contents, SourceError> {
    let mut entries = Vec::new();
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect);
    out.read_objects(bytes, |_, entry, lines| {
        entries.push(Entry::new(entry, lines.first()));
    });
    write(&entries, "", &mut out);
    out.finish()
}

/// One line of a log.
struct Entry {
    /// Its line, or the number of its row.
    number: u64,
    json: String,
    id: String,
    parent: String,
}

impl Entry {
    fn new(object: &Object<'_>, number: u64) -> Self {
        Self {
            number,
            json: object.json(),
            id: object.text("id"),
            parent: object.text("parentId"),
        }
    }
}

/// A chain of entries, from its first on.
struct Branch {
    entries: Vec<usize>,
    /// Whether the first one names a parent that is not there.
    is_broken: bool,
}

/// Writes the active history of a log and then its abandoned branches; `session` names the log where there are several.
fn write(entries: &[Entry], session: &str, out: &mut Transcript) {
    for (number, branch) in branches(entries).iter().enumerate() {
        let label = match (number, session) {
            (0, session) => session.to_owned(),
            (number, "") => format!("branch {number}"),
            (number, session) => format!("{session}, branch {number}"),
        };
        if number > 0 || !session.is_empty() {
            out.begin_session(&label, number == 0);
        }
        write_branch(entries, branch, out);
    }
}

/// The history first, then what of each other branch is not part of an earlier one.
fn branches(entries: &[Entry]) -> Vec<Branch> {
    let is_header = |entry: &Entry| Object::read(&entry.json).text("type") == "session";
    let linked = |entry: &&Entry| !entry.id.is_empty() && !is_header(entry);
    if entries.iter().filter(linked).count() == 0 {
        return vec![Branch {
            entries: (0..entries.len()).collect(),
            is_broken: false,
        }];
    }
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut parents: HashSet<&str> = HashSet::new();
    for (place, entry) in entries.iter().enumerate().filter(|(_, it)| linked(it)) {
        places.insert(&entry.id, place);
        parents.insert(&entry.parent);
    }
    let is_leaf =
        |place: &usize| linked(&&entries[*place]) && !parents.contains(&*entries[*place].id);
    let last = (0..entries.len()).rfind(|place| linked(&&entries[*place]));
    let leaves = last.into_iter().chain((0..entries.len()).filter(is_leaf));
    let mut taken = HashSet::new();
    let mut branches = Vec::new();
    for leaf in leaves {
        let (mut chain, mut next, mut is_broken) = (Vec::new(), Some(leaf), false);
        while let Some(place) = next.filter(|place| taken.insert(*place)) {
            chain.push(place);
            let parent = &*entries[place].parent;
            next = places.get(parent).copied();
            is_broken = next.is_none() && !parent.is_empty();
        }
        chain.reverse();
        if branches.is_empty() {
            // The header and other lines without an id belong to the history.
            let unlinked = (0..entries.len()).filter(|place| !linked(&&entries[*place]));
            chain.extend(unlinked);
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

fn write_branch(entries: &[Entry], branch: &Branch, out: &mut Transcript) {
    let mut writer = Writer {
        first: out.items().len(),
        places: HashMap::new(),
        dropped: HashSet::new(),
        out,
    };
    let first = writer.first;
    for place in &branch.entries {
        writer.entry(&entries[*place]);
    }
    if let (true, Some(item)) = (branch.is_broken, out.items().get_mut(first)) {
        item.flags = item.flags.with(Flags::BROKEN_CHAIN);
    }
}

struct Writer<'a> {
    out: &'a mut Transcript,
    /// How many items come before the branch.
    first: usize,
    /// For each entry that was written the number of items before it.
    places: HashMap<String, usize>,
    /// The calls of replies that are not sent again.
    dropped: HashSet<String>,
}

impl Writer<'_> {
    fn entry(&mut self, entry: &Entry) {
        let object = Object::read(&entry.json);
        let head = Head::new(entry.number).at(object.get("timestamp"));
        self.places.insert(entry.id.clone(), self.out.items().len());
        match &*object.text("type") {
            "session" | "model_change" => self.out.note_model(&object.text("modelId")),
            "message" => self.message(&head, &object.object("message")),
            "compaction" => self.compaction(&head, &object),
            "branch_summary" => self.out.say(
                &head,
                Role::User,
                transcript::content(object.get("summary")),
            ),
            "custom_message" => self.out.say(
                &head,
                Role::User,
                transcript::content(object.get("content")),
            ),
            _ => {}
        }
    }

    fn message(&mut self, head: &Head, message: &Object<'_>) {
        match &*message.text("role") {
            "assistant" => self.reply(head.clone(), message),
            "toolResult" => {
                let id = call_id(&message.text("toolCallId"));
                let content = transcript::content(message.get("content"));
                let is_dropped = self.dropped.contains(&id);
                let (name, is_error) = (message.text("toolName"), message.is_true("isError"));
                let result = transcript::result(&id, &name, content, is_error);
                for item in self.out.add(head, Role::Tool, vec![result]) {
                    item.flags.set_if(Flags::COMPACTED, is_dropped);
                }
            }
            "user" | "custom" => self.out.say(
                head,
                Role::User,
                transcript::content(message.get("content")),
            ),
            "bashExecution" if !message.is_true("excludeFromContext") => {
                let (command, output) = (message.text("command"), message.text("output"));
                let text = format!("Ran `{command}`\n{output}");
                self.out.say(head, Role::User, vec![Part::Text(text)]);
            }
            "branchSummary" => self.out.say(
                head,
                Role::User,
                transcript::content(message.get("summary")),
            ),
            "compactionSummary" => {
                self.out
                    .mark(head, Kind::Compaction, &message.text("summary"));
            }
            _ => {}
        }
    }

    fn reply(&mut self, head: Head, message: &Object<'_>) {
        let usage = message.object("usage");
        let count = |key| usage.number(key).unwrap_or_default();
        let head = head.of_model(&message.text("model")).spent(Spent {
            input: count("input"),
            cache_read: count("cacheRead"),
            cache_write: count("cacheWrite"),
            output: count("output"),
        });
        let reason = message.text("stopReason");
        let is_dropped = matches!(&*reason, "error" | "aborted");
        let first = self.out.items().len();
        self.out.begin_reply();
        for block in message.list("content") {
            let block = Object::read(block);
            let part = match &*block.text("type") {
                "text" => Part::Text(block.text("text")),
                "toolCall" => {
                    let id = call_id(&block.text("id"));
                    if is_dropped {
                        self.dropped.insert(id.clone());
                    }
                    transcript::call(&id, &block.text("name"), block.get("arguments"))
                }
                "thinking" => {
                    self.out.think(&head, &block.text("thinking"));
                    continue;
                }
                _ => continue,
            };
            self.out.say(&head, Role::Model, vec![part]);
        }
        if reason == "length" {
            self.out.stop("length");
        }
        if is_dropped {
            for item in &mut self.out.items()[first..] {
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
            self.out.mark(&head, Kind::Notice, &words).flags = flag;
        }
    }

    /// Everything before the first entry that is kept is no longer sent; a retained tail says again what is.
    fn compaction(&mut self, head: &Head, entry: &Object<'_>) {
        let kept = entry.text("firstKeptEntryId");
        let end = self.places.get(&kept).copied();
        let end = end.unwrap_or_else(|| self.out.items().len());
        for item in &mut self.out.items()[self.first..end] {
            item.flags = item.flags.with(Flags::COMPACTED);
        }
        self.out
            .mark(head, Kind::Compaction, &entry.text("summary"));
        for message in entry.list("retainedTail") {
            self.message(head, &Object::read(message));
        }
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
    const CALL: &str = r#"{"type":"message","id":"a2","parentId":"a1","timestamp":"2026-01-01T00:00:03.000Z","message":{"role":"assistant","api":"x","provider":"p","model":"m-1","content":[{"type":"thinking","thinking":"Look."},{"type":"text","text":"I look."},{"type":"toolCall","id":"c1|fc_1","name":"ls","arguments":{"path": "."}}],"usage":{"input":10,"output":5,"cacheRead":90,"cacheWrite":0},"stopReason":"toolUse"}}"#;
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
            let row =
                serde_json::json!({"number": number, "session_id": session, "event_json": event});
            row.to_string()
        };
        let rows = [USER, CALL, RESULT].iter().zip(1..);
        let rows: Vec<String> = rows
            .map(|(event, number)| row("s1", number, event))
            .collect();
        let contents = read_tables(&[[rows, vec![row("s2", 9, USER)]].concat()]).unwrap();
        let found = contents
            .sessions
            .iter()
            .map(|one| (&*one.label, one.items.len()));
        assert_eq!(found.collect::<Vec<_>>(), [("s1", 5), ("s2", 1)]);
        assert_eq!(contents.sessions[1].records.last().unwrap().number, 9);
    }
}
