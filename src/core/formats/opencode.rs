//! Sessions of opencode, Kilo and MiMo Code: `opencode export` (one document, also made of the tree of files that
//! older versions keep), or the tables of their database.
//!
//! A part of a reply is a call with its output in one, so that a call that was started and never completed is the
//! only orphan. A call of the tool `invalid` replaces one whose name or arguments the program refused.

use super::transcript::{self, Head, Lines, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Sample, Tables, agents_sqlite};
use crate::session::{Dialect, Flags, Kind, Source, SourceError};
use crate::wire::write::Object;
use crate::wire::{Part, Role};
use std::collections::HashMap;
use std::sync::Arc;

/// The row of exported sessions.
pub(super) const FORMAT: Format = Format {
    id: "opencode",
    title: "sessions of opencode and Kilo: exported, or a tree of files",
    dialect: Dialect::Responses,
    sniff: |sample: &Sample<'_>| {
        let is_message = |message: &Document<'_>| {
            let info = message.object("info");
            info.has("role") && info.has("sessionID") && message.has("parts")
        };
        let is_export = |document: &Document<'_>| {
            is_message(document) || document.array("messages").iter().any(is_message)
        };
        if sample.any(is_export) { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

/// The row of databases.
pub(super) const DATABASE: Format = Format {
    id: "opencode-sqlite",
    title: "session database of opencode and Kilo",
    dialect: FORMAT.dialect,
    sniff: |sample: &Sample<'_>| {
        let names = ["message_id", "time_created", "parent_id"];
        let is_own = agents_sqlite::declares(sample, "part")
            && agents_sqlite::declares(sample, "message")
            && names.iter().all(|name| sample.mentions(name));
        if is_own { 100 } else { 0 }
    },
    reading: Reading::Tables(Tables {
        queries: &[
            "SELECT * FROM session ORDER BY time_created, id",
            "SELECT * FROM message ORDER BY time_created, id",
            "SELECT rowid AS number, message_id, data FROM part ORDER BY message_id, id",
        ],
        read: read_tables,
    }),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> Result<Contents, SourceError> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect);
    let mut messages = Vec::new();
    let mut reverted = String::new();
    out.read_objects(bytes, |_, document, lines: &mut Lines<'_>| {
        if document.has("messages") {
            reverted = document.object("info").object("revert").text("messageID");
            for json in document.list("messages") {
                let line = lines.of(json);
                messages.push(Message::exported(&Object::read(json), line));
            }
        } else {
            messages.push(Message::exported(document, lines.first()));
        }
    });
    write(&messages, &reverted, &mut out);
    out.finish()
}

fn read_tables(rows: &[Vec<String>]) -> Result<Contents, SourceError> {
    let mut out = Transcript::new(DATABASE.id, DATABASE.dialect);
    let [sessions, messages, parts] = rows else {
        return out.finish();
    };
    let mut parts = agents_sqlite::group_rows(parts, "message_id");
    let mut messages = agents_sqlite::group_rows(messages, "session_id");
    for row in sessions.iter().map(|row| Object::read(row)) {
        let id = row.text("id");
        let label = match row.text("title") {
            title if title.is_empty() => id.clone(),
            title => format!("{title} ({id})"),
        };
        out.begin_session(&label, row.text("parent_id").is_empty());
        let revert = row.text("revert");
        let reverted = Object::read(&revert).text("messageID");
        let own = messages.remove(&id).unwrap_or_default();
        let own = own.iter().map(|row| {
            let id = row.text("id");
            let parts = parts.remove(&id).unwrap_or_default().into_iter();
            let part = |row: Object<'_>| (row.number("number").unwrap_or(0), row.text("data"));
            Message {
                info: row.text("data"),
                parts: parts.map(part).collect(),
                id,
            }
        });
        write(&own.collect::<Vec<_>>(), &reverted, &mut out);
    }
    out.finish()
}

/// Longer parts, in bytes, are neither the beginning nor the end of a step.
const LONGEST_MARK: usize = 4096;

struct Message {
    id: String,
    info: String,
    /// Each with its line or the number of its row.
    parts: Vec<(u64, String)>,
}

impl Message {
    fn exported(message: &Object<'_>, line: u64) -> Self {
        let parts = message.list("parts").into_iter();
        Self {
            id: message.object("info").text("id"),
            info: message.get("info").unwrap_or_default().to_owned(),
            parts: parts.map(|part| (line, part.to_owned())).collect(),
        }
    }
}

/// Writes the messages of a session. Those from `reverted` on were taken back: they are no longer sent.
fn write(messages: &[Message], reverted: &str, out: &mut Transcript) {
    let first = out.items().len();
    let mut places = HashMap::new();
    let mut last_mark = first;
    let mut taken_back = None;
    for message in messages {
        let place = out.items().len();
        places.insert(&*message.id, place);
        if !reverted.is_empty() && message.id == reverted {
            taken_back = Some(place);
        }
        let info = Object::read(&message.info);
        let is_reply = info.text("role") == "assistant";
        let mut mark = message
            .parts
            .iter()
            .map(|(_, part)| Object::read(part))
            .rev();
        let mark = mark.find(|part| part.text("type") == "compaction");
        if let Some(mark) = mark {
            last_mark = places
                .get(&*mark.text("tail_start_id"))
                .copied()
                .unwrap_or(place);
        }
        match is_reply {
            true => write_reply(&info, &message.parts, out),
            false => write_message(&info, &message.parts, out),
        }
        out.forget();
        let is_summary = info.is_true("summary") && info.has("finish") && !info.has("error");
        if is_reply && is_summary {
            set(
                &mut out.items()[first..last_mark.max(first)],
                Flags::COMPACTED,
            );
        }
    }
    if let Some(place) = taken_back {
        set(&mut out.items()[place..], Flags::COMPACTED);
    }
}

fn set(items: &mut [crate::session::Item], flag: Flags) {
    for item in items {
        item.flags = item.flags.with(flag);
    }
}

fn write_message(info: &Object<'_>, parts: &[(u64, String)], out: &mut Transcript) {
    for (number, json) in parts {
        let time = info.object("time");
        let head = Head::new(*number).at(time.get("created"));
        let json = out.shorten(json);
        let part = Object::read(&json);
        let content = match &*part.text("type") {
            "text" if !part.is_true("ignored") => Part::Text(part.text("text")),
            "file" => match part.text("url") {
                url if url.starts_with("data:image/") => Part::Image(url),
                url => Part::Text(format!("[file {url}]")),
            },
            "compaction" => {
                out.mark(&head, Kind::Compaction, "");
                continue;
            }
            _ => continue,
        };
        out.add(&head, Role::User, vec![content]);
    }
}

fn write_reply(info: &Object<'_>, parts: &[(u64, String)], out: &mut Transcript) {
    let first = out.items().len();
    let model = info.text("modelID");
    let time = info.object("time");
    let mut number = parts.first().map_or(0, |(number, _)| *number);
    let mut results = Vec::new();
    for (step, mut spent) in steps_of(info, parts) {
        flush(&mut results, out);
        out.begin_reply();
        for (place, json) in step {
            number = *place;
            let json = out.shorten(json);
            let part = Object::read(&json);
            let head = Head::new(number).at(time.get("created"));
            let head = head.of_model(&model).spent(spent);
            let before = out.items().len();
            match &*part.text("type") {
                "reasoning" => out.think(&head, &part.text("text")),
                "text" => {
                    let text = Part::Text(part.text("text"));
                    out.add(&head, Role::Model, vec![text]);
                }
                "tool" => results.extend(write_call(&head, number, &part, out)),
                _ => {}
            }
            // The first item of a step has what the step took.
            if out.items().len() > before {
                spent = Spent::default();
            }
        }
    }
    flush(&mut results, out);
    if info.text("finish") == "length" {
        out.stop("length");
    }
    let error = info.object("error");
    let name = error.text("name");
    if name.is_empty() {
        return;
    }
    let is_aborted = name == "MessageAbortedError";
    if !is_aborted {
        set(&mut out.items()[first..], Flags::COMPACTED);
    }
    let data = error.object("data");
    let words = format!("{name}: {}", data.text("message"));
    let item = out.mark(
        &Head::new(number),
        Kind::Notice,
        words.trim_end_matches(": "),
    );
    item.flags = if is_aborted {
        Flags::INTERRUPT
    } else {
        Flags::ERROR
    };
}

/// A request and what came of it: parts of a message.
type Step<'a> = &'a [(u64, String)];

/// The steps of a reply, each with what it took. The message has the tokens of its last step and the costs of all,
/// which count where no step has its own.
fn steps_of<'a>(info: &Object<'_>, parts: Step<'a>) -> Vec<(Step<'a>, Spent)> {
    let is_of_type = |json: &str, kind: &str| {
        json.len() < LONGEST_MARK && Object::read(json).text("type") == kind
    };
    let steps = parts.chunk_by(|_, (_, next)| !is_of_type(next, "step-start"));
    let spent = |step: Step<'a>| {
        let mut parts = step.iter().rev();
        let (_, end) = parts.find(|(_, json)| is_of_type(json, "step-finish"))?;
        Some(spent_in(&Object::read(end)))
    };
    let mut steps: Vec<_> = steps.map(|step| (step, spent(step))).collect();
    if steps.iter().all(|(_, spent)| spent.is_none())
        && let Some((_, first)) = steps.first_mut()
    {
        *first = Some(spent_in(info));
    }
    let steps = steps.into_iter();
    steps
        .map(|(step, spent)| (step, spent.unwrap_or_default()))
        .collect()
}

/// What a message or a step took.
fn spent_in(of: &Object<'_>) -> Spent {
    let tokens = of.object("tokens");
    let cache = tokens.object("cache");
    let count = |of: &Object<'_>, key| of.number(key).unwrap_or_default();
    Spent {
        input: count(&tokens, "input"),
        cache_read: count(&cache, "read"),
        cache_write: count(&cache, "write"),
        output: count(&tokens, "output") + count(&tokens, "reasoning"),
        cost: of.decimal("cost").unwrap_or_default(),
    }
}

/// The results of the calls of one step come after the step.
fn flush(results: &mut Vec<(Head, Part)>, out: &mut Transcript) {
    for (head, result) in results.drain(..) {
        out.add(&head, Role::Tool, vec![result]);
    }
}

fn write_call(
    head: &Head,
    number: u64,
    part: &Object<'_>,
    out: &mut Transcript,
) -> Option<(Head, Part)> {
    let state = part.object("state");
    let input = state.object("input");
    let (id, tool) = (part.text("callID"), part.text("tool"));
    let is_invalid = tool == "invalid" && input.has("tool");
    let name = if is_invalid { input.text("tool") } else { tool };
    // Arguments that were never parsed are kept as they came.
    let raw = state.get("raw").filter(|raw| raw.len() > 2);
    let call = transcript::call(&id, &name, raw.or(state.get("input")));
    out.add(head, Role::Model, vec![call]);
    let status = state.text("status");
    let answer = match &*status {
        "completed" => state.get("output"),
        "error" => state.get("error"),
        _ => return None,
    };
    let failed = status == "error" || is_invalid;
    let result = transcript::result(&id, &name, transcript::content(answer), failed);
    let time = state.object("time");
    Some((Head::new(number).at(time.get("end")), result))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::PairStatus;

    const USER: &str = r#"{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1760000000000}},"parts":[{"type":"text","text":"Count."}]}"#;

    fn reply(parts: &str, more: &str) -> String {
        format!(
            r#"{{"info":{{"id":"msg_2","sessionID":"ses_1","role":"assistant","modelID":"m","time":{{"created":1760000001000}},"tokens":{{"input":5,"output":2,"reasoning":1,"cache":{{"read":90,"write":0}}}}{more}}},"parts":[{parts}]}}"#
        )
    }

    fn export(messages: &[&str]) -> String {
        format!(
            r#"{{"info":{{"id":"ses_1"}},"messages":[{}]}}"#,
            messages.join(",")
        )
    }

    const CALLS: &str = r#"{"type":"step-start"},{"type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{"command":"ls"},"output":"a","time":{"start":1760000001000,"end":1760000003000}}},{"type":"tool","callID":"c2","tool":"invalid","state":{"status":"completed","input":{"tool":"bashh","error":"no such tool"},"output":"The arguments provided to the tool are invalid"}},{"type":"tool","callID":"c3","tool":"read","state":{"status":"running","input":{}}}"#;

    fn read_text(text: &str) -> Contents {
        let contents = read("opencode", text);
        assert_eq!(contents.problems, []);
        contents
    }

    #[test]
    fn a_part_is_a_call_with_its_result() {
        let contents = read_text(&export(&[USER, &reply(CALLS, ""), USER]));
        let session = &contents.sessions[0];
        let standing = |index| session.pairing.standing(index);
        assert_eq!(standing(1), PairStatus::Paired(4));
        assert_eq!(standing(2), PairStatus::Paired(5));
        assert_eq!(standing(3), PairStatus::Orphan);
        assert_eq!(session.name(&session.items[2]), "bashh");
        assert!(session.items[5].flags.has(Flags::ERROR));
        let prices = crate::usage::Prices::built_in();
        let mut usage = crate::usage::UsageReader::new(session, &prices);
        assert_eq!(usage.call_duration(1).unwrap(), Some(2_000));
        assert_eq!(usage.turn(1).unwrap().tokens.unwrap().input, 95);
    }

    #[test]
    fn each_step_of_a_reply_counts_once() {
        let step = |input: u64, cost: f64, name: &str| {
            format!(
                r#"{{"type":"step-start"}},{{"type":"reasoning","text":"Hm."}},{{"type":"text","text":"Now."}},{{"type":"tool","callID":"{name}","tool":"bash","state":{{"status":"completed","input":{{}},"output":"a"}}}},{{"type":"step-finish","cost":{cost},"tokens":{{"input":{input},"output":2,"reasoning":1,"cache":{{"read":0,"write":0}}}}}}"#
            )
        };
        let parts = [step(10, 0.25, "a"), step(20, 0.5, "b")].join(",");
        let contents = read_text(&export(&[USER, &reply(&parts, r#","cost":0.75"#)]));
        let session = &contents.sessions[0];
        let prices = crate::usage::Prices::built_in();
        let mut usage = crate::usage::UsageReader::new(session, &prices);
        let turns = (0..session.turns.len()).map(|turn| usage.turn(turn).unwrap());
        let turns: Vec<_> = turns
            .filter_map(|turn| turn.tokens.zip(turn.cost))
            .collect();
        let input: Vec<u64> = turns.iter().map(|(tokens, _)| tokens.input).collect();
        let costs: Vec<f64> = turns.iter().map(|(_, cost)| cost.all.dollars()).collect();
        assert_eq!((input, costs), (vec![10, 20], vec![0.25, 0.5]));
        let whole = session.source.read(crate::session::Span {
            start: 0,
            end: session.source.len(),
        });
        let whole = String::from_utf8(whole.unwrap().to_vec()).unwrap();
        assert_eq!(whole.matches("\"cost\"").count(), 2, "once a step: {whole}");
    }

    #[test]
    fn a_long_call_has_the_time_and_the_tokens_of_its_reply() {
        let long = "x".repeat(200_000);
        let call = format!(
            r#"{{"type":"tool","callID":"c1","tool":"write","state":{{"status":"completed","input":{{"content":"{long}"}},"output":"ok","time":{{"start":1760000001000,"end":1760000003000}}}}}}"#
        );
        let contents = read_text(&export(&[USER, &reply(&call, r#","cost":0.75"#)]));
        let session = &contents.sessions[0];
        let prices = crate::usage::Prices::built_in();
        let mut usage = crate::usage::UsageReader::new(session, &prices);
        let turn = usage.turn(1).unwrap();
        assert_eq!(turn.at, Some(1_760_000_001_000));
        assert_eq!(turn.tokens.unwrap().input, 95);
        assert_eq!(turn.cost.unwrap().all.dollars(), 0.75);
    }

    #[test]
    fn a_reply_that_failed_is_not_sent_again() {
        let error = r#","error":{"name":"APIError","data":{"message":"overloaded"}}"#;
        let contents = read_text(&export(&[USER, &reply(CALLS, error), USER]));
        let session = &contents.sessions[0];
        assert!(session.items[3].flags.has(Flags::COMPACTED));
        assert!(session.items[6].flags.has(Flags::ERROR));
    }

    #[test]
    fn a_database_holds_sessions_and_those_of_sub_agents() {
        let row = |columns: serde_json::Value| columns.to_string();
        let (data, part) = (
            r#"{"role":"user","time":{"created":1}}"#,
            r#"{"type":"text","text":"hi"}"#,
        );
        let rows = [
            vec![
                row(serde_json::json!({"id":"a","title":"One"})),
                row(serde_json::json!({"id":"b","parent_id":"a","title":""})),
            ],
            vec![
                row(serde_json::json!({"id":"m1","session_id":"a","data":data})),
                row(serde_json::json!({"id":"m2","session_id":"b","data":data})),
            ],
            vec![
                row(serde_json::json!({"number":7,"message_id":"m1","data":part})),
                row(serde_json::json!({"number":8,"message_id":"m2","data":part})),
            ],
        ];
        let sessions = read_tables(&rows).unwrap().sessions;
        let found = sessions.iter().map(|one| (&*one.label, one.active));
        assert_eq!(found.collect::<Vec<_>>(), [("One (a)", true), ("b", false)]);
        assert_eq!(sessions[0].records[0].number, 7);
    }
}
