//! OpenAI Chat Completions in files: message lists, request and reply bodies, JSONL of these,
//! tau-bench lists of trajectories.

use super::{Contents, Document, Format, Layout, Reading, Records, Sample, assemble_plain, body};
use crate::json::{Cursor, Result, display_text};
use crate::session::{Fact, Fragment, ProblemKind, Source, SourceResult};
use crate::wire::{Fields, anthropic, chat, responses};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "openai-chat",
    title: "OpenAI Chat Completions: messages, bodies, exchanges, tau-bench lists",
    sniff,
    reading: Reading::Records(Records {
        spells: false,
        line: read_line,
        element: read_line,
        member: body::read_member,
        arrays: &["messages"],
        assemble,
    }),
};

fn sniff(sample: &Sample<'_>) -> u8 {
    let telling = |document: &Document<'_>| {
        document.has("tool_calls")
            || document.has("tool_call_id")
            || document.has("function_call")
            || document.says("role", "tool")
    };
    let body = |document: &Document<'_>| {
        document
            .array("choices")
            .iter()
            .any(|choice| choice.has("message"))
            || document.array("messages").iter().any(telling)
            || (document.has("messages")
                && document
                    .array("tools")
                    .iter()
                    .any(|tool| tool.has("function")))
    };
    let wrapped = |document: &Document<'_>| {
        body(&document.object("request")) || body(&document.object("response"))
    };
    let trajectory = |document: &Document<'_>| {
        document
            .array("traj")
            .iter()
            .any(|message| message.has("role"))
    };
    if sample.any(trajectory) {
        return 95;
    }
    if sample.any(|document| telling(document) || body(document) || wrapped(document)) {
        return if matches!(sample.layout, Layout::Lines) {
            80
        } else {
            88
        };
    }
    // Messages without any call look alike in every dialect; this is the plainest one.
    let message = |document: &Document<'_>| {
        document.has("role") && document.has("content") && !document.has("type")
    };
    let plain_body = |document: &Document<'_>| document.array("messages").iter().any(message);
    if sample.any(|document| {
        message(document) || plain_body(document) || plain_body(&document.object("request"))
    }) {
        40
    } else {
        0
    }
}

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    let fields = Fields::read(cursor)?;
    let place = base + start as u64;
    if let Some(key) = fields.twice {
        out.report(place, ProblemKind::DuplicateKey(key.to_owned()));
    }
    if fields.role.is_none() && body::read_body(FORMAT.dialect(), bytes, start, base, out)? {
        return name_trajectory(bytes, start, out);
    }
    if fields.role.is_none() && fields.kind.is_some() {
        out.report(place, ProblemKind::MixedFormats("openai-responses"));
        responses::push_item(bytes, base, &fields, out);
        return Ok(());
    }
    if body::has_blocks(bytes, &fields) {
        out.report(place, ProblemKind::MixedFormats("anthropic-messages"));
        return anthropic::read_message(&mut Cursor::at(bytes, start), base, out).map(|_| ());
    }
    chat::push_message(bytes, base, &fields, out)
}

/// tau-bench: `{task_id, trial, reward, traj}`; the label tells its sessions apart.
fn name_trajectory(bytes: &[u8], at: usize, out: &mut Fragment) -> Result<()> {
    let (mut task, mut trial) = (None, None);
    Cursor::at(bytes, at).object(|cursor, key| {
        match key {
            b"task_id" => task = Some(cursor.raw()?),
            b"trial" => trial = Some(cursor.raw()?),
            _ => {}
        }
        Ok(())
    })?;
    if let Some(task) = task {
        let word = |raw: &[u8]| display_text(raw).trim_matches('"').to_owned();
        let trial = trial
            .map(|trial| format!(", trial {}", word(trial)))
            .unwrap_or_default();
        out.note(Fact::Label(format!("task {}{trial}", word(task))));
    }
    Ok(())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}
