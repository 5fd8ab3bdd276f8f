//! What `codex exec --json` prints: JSONL of events. An item is a call and its output in one; one that was started
//! and never completed is a call without an output.

use super::transcript::{self, Head, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Sample};
use crate::session::{Flags, Kind, Source, SourceResult};
use crate::wire::write::Object;
use crate::wire::{Part, Role};
use std::collections::HashSet;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "codex-exec",
    title: "streams of codex exec --json",
    sniff: |sample: &Sample<'_>| {
        let is_event = |document: &Document<'_>| {
            let kind = document.text("type").unwrap_or_default();
            kind == "thread.started" && document.has("thread_id")
                || kind.starts_with("item.") && document.object("item").has("type")
        };
        if sample.any(is_event) { 97 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(FORMAT.id, FORMAT.dialect());
    let mut turn: Vec<(u64, String)> = Vec::new();
    out.read_objects(bytes, |out, event, lines| {
        turn.push((lines.first(), event.json()));
        // The tokens of a turn are only known at its end.
        if matches!(&*event.text("type"), "turn.completed" | "turn.failed") {
            write_turn(out, &turn);
            turn.clear();
        }
    });
    write_turn(&mut out, &turn);
    out.finish()
}

fn write_turn(out: &mut Transcript, events: &[(u64, String)]) {
    let last = events.last().map(|(_, json)| Object::read(json));
    let usage = last.as_ref().map(|last| last.object("usage"));
    let count = |key| {
        usage
            .as_ref()
            .and_then(|usage| usage.number(key))
            .unwrap_or_default()
    };
    let cache_read = count("cached_input_tokens");
    let spent = Spent {
        input: count("input_tokens").saturating_sub(cache_read),
        cache_read,
        cache_write: 0,
        output: count("output_tokens"),
        ..Spent::default()
    };
    let last_reply = last_reply(events);
    let mut open = HashSet::new();
    for (index, (line, json)) in events.iter().enumerate() {
        let event = Object::read(json);
        let head = match last_reply == Some(index) {
            true => Head::new(*line).spent(spent),
            false => Head::new(*line),
        };
        match &*event.text("type") {
            "turn.started" => out.begin_reply(),
            "item.started" => write_item(out, &head, &event.object("item"), false, &mut open),
            "item.completed" => write_item(out, &head, &event.object("item"), true, &mut open),
            "turn.failed" => notice(out, &head, &event.object("error").text("message")),
            "error" => notice(out, &head, &event.text("message")),
            _ => {}
        }
    }
}

/// The last event of a turn in which the model says or calls something. The turn has one count for all of its
/// replies, so one of them carries it.
fn last_reply(events: &[(u64, String)]) -> Option<usize> {
    let mut started = HashSet::new();
    let mut last = None;
    for (index, (_, json)) in events.iter().enumerate() {
        let event = Object::read(json);
        let item = event.object("item");
        let is_call = match &*item.text("type") {
            "reasoning" | "agent_message" => false,
            "command_execution" | "file_change" | "mcp_tool_call" | "web_search" => true,
            _ => continue,
        };
        let is_of_model = match &*event.text("type") {
            "item.started" => started.insert(item.text("id")),
            "item.completed" => !is_call || !started.contains(&item.text("id")),
            _ => false,
        };
        if is_of_model {
            last = Some(index);
        }
    }
    last
}

fn notice(out: &mut Transcript, head: &Head, words: &str) {
    out.mark(head, Kind::Notice, words).flags = Flags::ERROR;
}

fn write_item(
    out: &mut Transcript,
    head: &Head,
    item: &Object<'_>,
    is_over: bool,
    open: &mut HashSet<String>,
) {
    let id = item.text("id");
    let status = item.text("status");
    let (name, arguments, answer) = match &*item.text("type") {
        "reasoning" => return out.think(head, &item.text("text")),
        "agent_message" => {
            // The model goes on without the outputs of earlier calls.
            if !open.is_empty() {
                out.begin_reply();
            }
            out.add(head, Role::Model, vec![Part::Text(item.text("text"))]);
            return;
        }
        "error" => return notice(out, head, &item.text("message")),
        "command_execution" => (
            "command_execution".to_owned(),
            "command",
            "aggregated_output",
        ),
        "file_change" => ("file_change".to_owned(), "changes", "status"),
        "mcp_tool_call" => {
            let name = format!("{}.{}", item.text("server"), item.text("tool"));
            (name, "arguments", "result")
        }
        "web_search" => ("web_search".to_owned(), "query", "status"),
        _ => return,
    };
    if !open.remove(&id) {
        let value = item.get(arguments).unwrap_or("{}");
        let input = match arguments {
            "arguments" => value.to_owned(),
            key => format!(r#"{{"{key}":{value}}}"#),
        };
        let call = transcript::call(&id, &name, Some(&input));
        out.add(head, Role::Model, vec![call]);
    }
    if !is_over {
        open.insert(id);
    } else {
        let code = item.decimal("exit_code").filter(|code| *code != 0.0);
        let failed = status == "failed" || code.is_some();
        let answer = item.get("error").or(item.get(answer));
        let mut content = transcript::content(answer);
        // The model reads the code before what was printed.
        if let (Some(code), Some(Part::Text(text))) = (code, content.first_mut()) {
            text.insert_str(0, &format!("Exit code: {code}\nOutput:\n"));
        }
        let result = transcript::result(&id, &name, content, failed);
        out.add(head, Role::Tool, vec![result]);
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::PairStatus;
    use crate::usage::{Prices, UsageReader};

    #[test]
    fn a_command_is_a_call_with_its_output_and_one_that_never_ended_has_none() {
        let text = r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"","status":"in_progress"}}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"no","exit_code":2,"status":"failed"}}
{"type":"item.started","item":{"id":"i2","type":"mcp_tool_call","server":"files","tool":"read","arguments":{"p":1},"status":"in_progress"}}
{"type":"item.completed","item":{"id":"i3","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":7}}
"#;
        let contents = read("codex-exec", text);
        assert_eq!(contents.problems, []);
        let session = &contents.sessions[0];
        assert_eq!(session.pairing.standing(0), PairStatus::Paired(1));
        assert!(session.items[1].flags.has(Flags::ERROR));
        assert_eq!(session.pairing.standing(2), PairStatus::Orphan);
        assert_eq!(session.name(&session.items[2]), "files.read");
    }

    #[test]
    fn a_turn_of_the_agent_begins_a_reply_also_where_no_message_of_the_user_is_recorded() {
        let turn = |text: &str| {
            format!(
                r#"{{"type":"turn.started"}}
{{"type":"item.completed","item":{{"id":"i","type":"agent_message","text":"{text}"}}}}
{{"type":"turn.completed","usage":{{"input_tokens":10,"output_tokens":2}}}}
"#
            )
        };
        let head = "{\"type\":\"thread.started\",\"thread_id\":\"t\"}\n";
        let contents = read("codex-exec", &[head, &turn("One."), &turn("Two.")].concat());
        assert_eq!(contents.sessions[0].turns.len(), 2);
    }

    #[test]
    fn the_tokens_of_a_turn_are_counted_once() {
        let called = r#"{"type":"thread.started","thread_id":"t"}
{"type":"item.started","item":{"id":"i1","type":"command_execution","command":"ls","status":"in_progress"}}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":0,"status":"completed"}}
"#;
        let answered = r#"{"type":"item.completed","item":{"id":"i2","type":"agent_message","text":"Done."}}
"#;
        let completed = r#"{"type":"turn.completed","usage":{"input_tokens":100,"cached_input_tokens":40,"output_tokens":7}}
"#;
        for text in [
            [called, answered, completed].concat(),
            [called, completed].concat(),
        ] {
            let contents = read("codex-exec", &text);
            let session = &contents.sessions[0];
            let prices = Prices::default();
            let mut usage = UsageReader::new(session, &prices);
            let turns =
                (0..session.turns.len()).filter_map(|turn| usage.turn(turn).unwrap().tokens);
            let spent = turns.map(|tokens| (tokens.input, tokens.output));
            assert_eq!(spent.collect::<Vec<_>>(), [(100, 7)]);
        }
    }
}
