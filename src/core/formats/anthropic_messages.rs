//! Anthropic Messages in files: message lists, request and reply bodies, JSONL of
//! messages, bodies or exchanges.

use super::{Contents, Document, Format, Layout, Reading, Records, Sample, assemble_plain, body};
use crate::json::{Cursor, Result};
use crate::session::{Fragment, ProblemKind, Source, SourceResult};
use crate::wire::{Fields, anthropic, chat, responses};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "anthropic-messages",
    title: "Anthropic Messages: messages, bodies, exchanges",
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
    let message = |document: &Document<'_>| {
        (document.says("type", "message") && document.has("stop_reason"))
            || document.array("content").iter().any(|block| {
                let kind = block.text("type").unwrap_or_default();
                let is_media = matches!(&*kind, "image" | "document") && block.has("source");
                is_media
                    || kind.ends_with("_tool_result")
                    || [
                        "tool_use",
                        "tool_result",
                        "thinking",
                        "redacted_thinking",
                        "server_tool_use",
                        "mcp_tool_use",
                    ]
                    .contains(&&*kind)
            })
    };
    let body = |document: &Document<'_>| {
        message(document)
            || document.array("messages").iter().any(message)
            || document
                .array("tools")
                .iter()
                .any(|tool| tool.has("input_schema"))
            || (document.has("messages") && document.has("system") && document.has("max_tokens"))
    };
    let wrapped = |document: &Document<'_>| {
        body(&document.object("request")) || body(&document.object("response"))
    };
    if sample.any(|document| {
        document.has("role") && message(document) || body(document) || wrapped(document)
    }) {
        if matches!(sample.layout, Layout::Lines) {
            82
        } else {
            92
        }
    } else {
        0
    }
}

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    let mark = out.mark();
    let message = anthropic::read_message(cursor, base, out)?;
    let is_chat = message.has_tool_calls || matches!(message.role, Some(b"tool" | b"function"));
    if message.role.is_none() || is_chat {
        out.rewind(mark);
        return read_other(bytes, start, base, is_chat, out);
    }
    if let Some(model) = message.model {
        out.note_model(model);
    }
    Ok(())
}

/// A record that is not a message of this dialect: a body, or a record of another format.
fn read_other(
    bytes: &[u8],
    start: usize,
    base: u64,
    is_chat: bool,
    out: &mut Fragment,
) -> Result<()> {
    let mut cursor = Cursor::at(bytes, start);
    let place = base + start as u64;
    if is_chat {
        out.report(place, ProblemKind::MixedFormats("openai-chat"));
        return chat::read_message(&mut cursor, base, out);
    }
    if body::read_body(FORMAT.dialect(), bytes, start, base, out)? {
        return Ok(());
    }
    let fields = Fields::read(&mut cursor)?;
    if fields.call_id.is_some() {
        out.report(place, ProblemKind::MixedFormats("openai-responses"));
    }
    responses::push_item(bytes, base, &fields, out);
    Ok(())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}
