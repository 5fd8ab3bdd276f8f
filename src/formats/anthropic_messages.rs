//! Anthropic Messages in files: message lists, request and reply bodies, JSONL of messages, bodies or exchanges.

use super::{Contents, Document, Format, Layout, Reading, Records, Sample, assemble_plain, body};
use crate::dialects::anthropic;
use crate::json::{Cursor, Fault, display_text};
use crate::session::{Dialect, Fact, Fragment, Source, SourceError};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "anthropic-messages",
    title: "Anthropic Messages: messages, bodies, exchanges",
    dialect: Dialect::Anthropic,
    sniff,
    reading: Reading::Records(Records {
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
                [
                    "tool_use",
                    "tool_result",
                    "thinking",
                    "redacted_thinking",
                    "server_tool_use",
                ]
                .iter()
                .any(|kind| block.says("type", kind))
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

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<(), Fault> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    if !has_role(cursor.clone())? && body::read_body(Dialect::Anthropic, bytes, start, base, out)? {
        cursor.skip()?;
        return Ok(());
    }
    let message = anthropic::read_message(cursor, base, out)?;
    if let Some(model) = message.model {
        out.note(Fact::Model(display_text(model).into_owned()));
    }
    Ok(())
}

fn has_role(mut cursor: Cursor<'_>) -> Result<bool, Fault> {
    let mut found = false;
    cursor.object(|_, key| {
        found |= key == b"role";
        Ok(())
    })?;
    Ok(found)
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> Result<Contents, SourceError> {
    assemble_plain(FORMAT.id, FORMAT.dialect, fragment, source)
}
