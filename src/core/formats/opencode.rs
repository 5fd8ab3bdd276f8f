//! Sessions of opencode, Kilo and MiMo Code: `opencode export` (one document, also made of the tree of files that
//! older versions keep), or the tables of their database.
//!
//! A part of a reply is a call with its output in one, so that a call that was started and never completed is the
//! only orphan. A call of the tool `invalid` replaces one whose name or arguments the program refused.

use super::tables::{Query, Rows, json_in};
use super::transcript::{self, Head, Lines, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Sample, Tables, agents_sqlite};
use crate::session::{Flags, Kind, Source, SourceResult};
use crate::wire::write::Object;
use crate::wire::{Part, Role};
use std::collections::HashMap;
use std::sync::Arc;

/// The row of exported sessions.
pub(super) const FORMAT: Format = Format {
    id: "opencode",
    title: "sessions of opencode and Kilo: exported, or a tree of files",
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
    sniff: |sample: &Sample<'_>| {
        let names = ["message_id", "time_created", "parent_id"];
        let is_own = agents_sqlite::declares(sample, "part")
            && agents_sqlite::declares(sample, "message")
            && names.iter().all(|name| sample.mentions(name));
        if is_own { 100 } else { 0 }
    },
    reading: Reading::Tables(Tables {
        queries: &[
            Query {
                sql: "SELECT * FROM session",
                order: &["time_created", "id"],
                json: &["revert"],
            },
            Query {
                sql: "SELECT * FROM message",
                order: &["time_created", "id"],
                json: &["data"],
            },
            Query {
                sql: "SELECT rowid AS number, id, message_id, data FROM part",
                order: &["message_id", "id"],
                json: &["data"],
            },
        ],
        read: read_tables,
    }),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    let mut session = Written::default();
    let write = |out: &mut Transcript, session: &mut Written, json: &str, line: u64| {
        let json = out.shorten(json, None);
        let message = Object::read(&json);
        let parts = message.list("parts").into_iter();
        let parts: Vec<Row<'_>> = parts.map(|part| (line, part)).collect();
        let id = message.object("info").text("id");
        session.add(id, &message.object("info"), &parts, out);
    };
    out.read_objects(bytes, |out, document, lines: &mut Lines<'_>| {
        if document.has("messages") {
            session.reverted = document.object("info").object("revert").text("messageID");
            for json in document.list("messages") {
                write(out, &mut session, json, lines.of(json));
            }
        } else {
            write(out, &mut session, &document.json(), lines.first());
        }
    });
    session.finish(&mut out);
    out.finish()
}

fn read_tables(rows: &Arc<Rows>) -> SourceResult<Contents> {
    let mut out = Transcript::new(DATABASE.id, DATABASE.dialect());
    let mut parts = rows.by(2, "message_id");
    let mut messages = rows.by(1, "session_id");
    for row in rows.of(0).map(Object::read) {
        let id = row.text("id");
        let label = match row.text("title") {
            title if title.is_empty() => id.clone(),
            title => format!("{title} ({id})"),
        };
        out.begin_session(&label, row.text("parent_id").is_empty());
        let revert = json_in(&row, "revert");
        let mut session = Written {
            first: out.items().len(),
            reverted: Object::read(&revert).text("messageID"),
            ..Written::default()
        };
        for row in messages
            .remove(&id)
            .unwrap_or_default()
            .into_iter()
            .map(Object::read)
        {
            let id = row.text("id");
            let parts = parts.remove(&id).unwrap_or_default();
            let parts = parts
                .into_iter()
                .map(|row| out.shorten(row, rows.place_of(row)));
            let parts: Vec<_> = parts.collect();
            let parts: Vec<_> = parts.iter().map(|row| Object::read(row)).collect();
            let parts = parts
                .iter()
                .map(|row| (row.number("number").unwrap_or(0), json_in(row, "data")));
            let parts: Vec<_> = parts.collect();
            let parts: Vec<Row<'_>> = parts
                .iter()
                .map(|(number, part)| (*number, &**part))
                .collect();
            session.add(id, &Object::read(&json_in(&row, "data")), &parts, &mut out);
        }
        session.finish(&mut out);
    }
    out.finish_from(rows.clone())
}

/// A part of a message, with its line or the number of its row.
type Row<'a> = (u64, &'a str);

/// What was written of a session.
#[derive(Default)]
struct Written {
    /// Where its items begin.
    first: usize,
    /// Where those of each message begin.
    places: HashMap<String, usize>,
    /// Where those begin that the next summary leaves.
    last_mark: usize,
    /// The message from which on all were taken back: they are no longer sent.
    reverted: String,
    taken_back: Option<usize>,
}

impl Written {
    fn add(&mut self, id: String, info: &Object<'_>, parts: &[Row<'_>], out: &mut Transcript) {
        let place = out.items().len();
        if !self.reverted.is_empty() && id == self.reverted {
            self.taken_back = Some(place);
        }
        self.places.insert(id, place);
        let is_reply = info.text("role") == "assistant";
        let mark = parts
            .iter()
            .rfind(|(_, part)| kind_of(part) == "compaction");
        if let Some((_, mark)) = mark {
            let tail = Object::read(mark).text("tail_start_id");
            self.last_mark = self.places.get(&tail).copied().unwrap_or(place);
        }
        match is_reply {
            true => write_reply(info, parts, out),
            false => write_message(info, parts, out),
        }
        out.forget();
        let is_summary = info.is_true("summary") && info.has("finish") && !info.has("error");
        if is_reply && is_summary {
            let until = self.last_mark.max(self.first);
            set(&mut out.items()[self.first..until], Flags::COMPACTED);
        }
    }

    fn finish(self, out: &mut Transcript) {
        if let Some(place) = self.taken_back {
            set(&mut out.items()[place..], Flags::COMPACTED);
        }
    }
}

/// The type of a part.
fn kind_of(part: &str) -> String {
    Object::read(part).text("type")
}

fn set(items: &mut [crate::session::Item], flag: Flags) {
    for item in items {
        item.flags = item.flags.with(flag);
    }
}

fn write_message(info: &Object<'_>, parts: &[Row<'_>], out: &mut Transcript) {
    for (number, json) in parts {
        let time = info.object("time");
        let head = Head::new(*number).at(time.get("created"));
        let part = Object::read(json);
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

fn write_reply(info: &Object<'_>, parts: &[Row<'_>], out: &mut Transcript) {
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
            let part = Object::read(json);
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
type Step<'a> = &'a [Row<'a>];

/// The steps of a reply, each with what it took. The message has the tokens of its last step and the costs of all,
/// which count where no step has its own.
fn steps_of<'a>(info: &Object<'_>, parts: Step<'a>) -> Vec<(Step<'a>, Spent)> {
    let steps = parts.chunk_by(|_, (_, next)| kind_of(next) != "step-start");
    let spent = |step: Step<'a>| {
        let mut parts = step.iter().rev();
        let (_, end) = parts.find(|(_, json)| kind_of(json) == "step-finish")?;
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
        let sessions = read_tables(&Arc::new(rows.to_vec().into()))
            .unwrap()
            .sessions;
        let found = sessions.iter().map(|one| (&*one.label, one.active));
        assert_eq!(found.collect::<Vec<_>>(), [("One (a)", true), ("b", false)]);
        assert_eq!(sessions[0].records[0].number, 7);
    }

    #[test]
    fn long_texts_of_a_database_are_taken_from_its_rows() {
        let long = "a\"b\\\n".repeat(400);
        let data = r#"{"role":"assistant","time":{"created":1}}"#;
        let state = serde_json::json!({"status":"completed","input":{"text":long},"output":long});
        let part = serde_json::json!({"type":"tool","callID":"c1","tool":"write","state":state});
        let rows = vec![
            vec![r#"{"id":"a","title":""}"#.to_owned()],
            vec![format!(r#"{{"id":"m1","session_id":"a","data":{data}}}"#)],
            vec![format!(r#"{{"number":7,"message_id":"m1","data":{part}}}"#)],
        ];
        let session = &read_tables(&Arc::new(rows.into())).unwrap().sessions[0];
        let item = |place: usize| -> serde_json::Value {
            let bytes = session.bytes(&session.items[place]).unwrap();
            serde_json::from_slice(&bytes).unwrap()
        };
        let arguments = item(0)["arguments"].as_str().unwrap().to_owned();
        let arguments: serde_json::Value = serde_json::from_str(&arguments).unwrap();
        assert_eq!(arguments["text"], long);
        assert_eq!(item(1)["output"], long);
    }
}
