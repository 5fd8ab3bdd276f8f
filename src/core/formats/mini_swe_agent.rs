//! Trajectories of mini-swe-agent: a document whose `messages` are those of Chat, with what the agent knows beside the
//! model in `extra`. An agent that takes commands from text writes each in a fenced block, and the next message
//! says what came of it: the messages of such a run, in their document or alone, are a format of their own.

use super::foreign::any_message;
use super::transcript::{Head, Lines, Spent, Transcript};
use super::{Contents, Document, Format, Reading, Records, Sample, assemble_plain};
use crate::json::{Cursor, Result};
use crate::session::{Fragment, Source, SourceResult};
use crate::wire::chat;
use crate::wire::write::{Object, quoted};
use crate::wire::{Part, Role};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "mini-swe-agent",
    title: "trajectories of mini-swe-agent",
    sniff: |sample: &Sample<'_>| if is_run(sample) { 98 } else { 0 },
    reading: Reading::Records(Records {
        spells: false,
        line: chat::read_message,
        element: chat::read_message,
        member: |key, cursor, _, out| note_model(key, cursor, out),
        arrays: &["messages"],
        assemble,
    }),
};

/// The row of runs whose commands are in text. Their calls have no ids.
pub(super) const TEXT: Format = Format {
    id: "mini-swe-agent-text",
    title: "trajectories of mini-swe-agent with commands in text",
    sniff: |sample: &Sample<'_>| {
        let observes = |message: &Document<'_>| {
            let content = message.text("content");
            message.says("role", "user")
                && content.is_some_and(|content| content.starts_with(OBSERVED))
        };
        let has_fences = FENCES.iter().any(|fence| sample.mentions(fence));
        let is_text = has_fences && !sample.mentions("\"tool_calls\"");
        let is_known = || is_run(sample) || any_message(sample, observes);
        if is_text && is_known() { 99 } else { 0 }
    },
    reading: Reading::Whole(read),
};

fn is_run(sample: &Sample<'_>) -> bool {
    let is_named = |document: &Document<'_>| {
        let format = document.text("trajectory_format");
        format.is_some_and(|format| format.starts_with("mini-swe-agent"))
    };
    // Large files name their format after what is looked at.
    let is_begun = |document: &Document<'_>| {
        let info = document.object("info");
        info.has("mini_version") && info.has("model_stats")
    };
    sample.any(is_named) || sample.any(is_begun)
}

/// What the blocks with commands begin with, in newer versions and in older ones.
const FENCES: [&str; 2] = ["```mswea_bash_command", "```bash"];
/// How the result of a command begins.
const OBSERVED: &str = "<returncode>";
/// The name of the only tool.
const TOOL: &str = "bash";

fn read(_: &Arc<dyn Source>, bytes: &[u8]) -> SourceResult<Contents> {
    let mut out = Transcript::new(TEXT.id, TEXT.dialect());
    let mut is_called = false;
    out.read_objects(bytes, |out, document, lines: &mut Lines<'_>| {
        if !document.has("messages") {
            write(out, document, lines.first(), &mut is_called);
        }
        let config = document
            .object("info")
            .object("config")
            .object("model")
            .text("model_name");
        out.note_model(&config);
        for json in document.list("messages") {
            let line = lines.of(json);
            write(out, &Object::read(json), line, &mut is_called);
        }
    });
    out.finish()
}

/// Writes a message; `is_called` says whether the one before ends on a command.
fn write(out: &mut Transcript, message: &Object<'_>, line: u64, is_called: &mut bool) {
    let extra = message.object("extra");
    let head = Head::new(line).at(extra.get("timestamp"));
    let content = message.text("content");
    let answers = std::mem::take(is_called);
    match &*message.text("role") {
        "assistant" => *is_called = write_reply(out, head, &content, &extra),
        "system" => out.say(&head, Role::System, vec![Part::Text(content)]),
        _ if answers => {
            let (name, content) = (quoted(TOOL), quoted(&content));
            let result = format!(r#"{{"role":"function","name":{name},"content":{content}}}"#);
            out.add_element(&head, &result);
        }
        _ => out.say(&head, Role::User, vec![Part::Text(content)]),
    }
}

/// Writes what the model said; whether it ends on a command. The agent takes none from a reply with several.
fn write_reply(out: &mut Transcript, head: Head, content: &str, extra: &Object<'_>) -> bool {
    let response = extra.object("response");
    let usage = response.object("usage");
    let count = |of: &Object<'_>, key| of.number(key).unwrap_or_default();
    let cache_read = count(&usage.object("prompt_tokens_details"), "cached_tokens");
    let head = head.of_model(&response.text("model")).spent(Spent {
        input: count(&usage, "prompt_tokens").saturating_sub(cache_read),
        cache_read,
        cache_write: 0,
        output: count(&usage, "completion_tokens"),
        cost: extra.decimal("cost").unwrap_or_default(),
    });
    out.begin_reply();
    let part = |text: &str| vec![Part::Text(text.trim().to_owned())];
    let Some((before, command, after)) = command_in(content) else {
        out.say(&head, Role::Model, part(content));
        return false;
    };
    out.say(&head, Role::Model, part(before));
    let arguments = quoted(&format!(r#"{{"command":{}}}"#, quoted(command)));
    let call = format!(
        r#"{{"role":"assistant","content":null,"function_call":{{"name":{},"arguments":{arguments}}}}}"#,
        quoted(TOOL)
    );
    out.add_element(&head, &call);
    out.say(&head, Role::Model, part(after));
    true
}

/// The only command of a reply, with what is before and after its block.
fn command_in(content: &str) -> Option<(&str, &str, &str)> {
    FENCES.iter().find_map(|fence| {
        let (before, block) = content.split_once(fence)?;
        let (_, block) = block.split_once('\n')?;
        let (command, after) = block.split_once("\n```")?;
        (!after.contains(fence)).then_some((before, command, after))
    })
}

/// The name of the model is in `info.config.model.model_name`.
fn note_model(key: &[u8], cursor: &mut Cursor<'_>, out: &mut Fragment) -> Result<()> {
    match key {
        b"info" | b"config" | b"model" if cursor.peek() == Some(b'{') => {
            cursor.object(|cursor, key| note_model(key, cursor, out))?;
        }
        b"model_name" => {
            if let Some(model) = cursor.string()? {
                out.note_model(model);
            }
        }
        _ => {}
    }
    Ok(())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::messages::testing::outline;
    use super::super::messages::testing::read;
    use super::*;
    use crate::session::{Kind, PairStatus};
    use serde_json::{Value, json};

    #[test]
    fn messages_and_the_model_are_read() {
        let text = br#"{"info":{"mini_version":"2.2.8","model_stats":{"api_calls":1},"config":{"model":{"model_name":"gpt-5-mini"}}},
"messages":[{"role":"system","content":"You can run commands."},{"role":"user","content":"Count the boats."},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{\"command\":\"ls\"}"}}],"extra":{"actions":[{"command":"ls"}]}},
{"role":"tool","tool_call_id":"c1","content":"a","extra":{"returncode":0}},
{"role":"exit","content":"three","extra":{"exit_status":"Submitted"}}],"trajectory_format":"mini-swe-agent-1.1"}"#;
        let contents = read(FORMAT.id, text);
        assert_eq!(contents.problems, []);
        let session = &contents.sessions[0];
        assert_eq!(session.model.as_deref(), Some("gpt-5-mini"));
        assert_eq!(session.count(Kind::Call), 1);
        assert_eq!(session.pairing.standing(2), PairStatus::Paired(3));
    }
    #[test]
    fn commands_in_text_are_calls_and_the_next_message_is_their_result() {
        let message = |role: &str, content: &str| json!({"role": role, "content": content});
        let usage = json!({"model": "m-1", "usage": {"prompt_tokens": 10, "completion_tokens": 3}});
        let mut listed = message("assistant", "I look.\n\n```mswea_bash_command\nls\n```");
        listed["extra"] = json!({"response": usage, "cost": 0.25});
        let messages = json!([
            message(
                "system",
                "Write ONE block:\n```mswea_bash_command\nyour_command_here\n```"
            ),
            message("user", "Count the boats."),
            listed,
            message("user", "<returncode>0</returncode>\n<output>\na\n</output>"),
            message(
                "assistant",
                "```mswea_bash_command\na\n```\n```mswea_bash_command\nb\n```"
            ),
            message("user", "Please always provide EXACTLY ONE action."),
            message("assistant", "```mswea_bash_command\nb\n```\nDone?"),
            message("user", "<returncode>1</returncode>\n<output>\n</output>"),
        ]);
        let in_document =
            json!({"info": {"mini_version": "1.9", "model_stats": {}}, "messages": messages});
        for text in [&messages, &in_document] {
            let contents = read(TEXT.id, &serde_json::to_string_pretty(text).unwrap());
            assert_eq!(contents.problems, []);
            let session = &contents.sessions[0];
            assert_eq!(outline(session), "s u a c o a u c a o");
            assert_eq!(session.pairing.standing(3), PairStatus::Paired(4));
            assert!(session.items[3].call_id.is_none());
            let bytes = session.bytes(&session.items[3]).unwrap();
            let call: Value = serde_json::from_slice(&bytes).unwrap();
            assert_eq!(
                (&call["name"], &call["arguments"]),
                (&"bash".into(), &r#"{"command":"ls"}"#.into())
            );
            let prices = crate::usage::Prices::default();
            let reply = crate::usage::UsageReader::new(session, &prices)
                .turn(2)
                .unwrap();
            assert_eq!(reply.tokens.map(|it| (it.input, it.output)), Some((10, 3)));
            assert_eq!(reply.cost.map(|cost| cost.all.dollars()), Some(0.25));
            assert_eq!(reply.model.as_deref(), Some("m-1"));
        }
    }
}
