//! OpenAI Responses in files: item lists (`to_input_list`), request and reply bodies, JSONL of
//! items, bodies or exchanges.

use super::{Contents, Document, Format, Layout, Reading, Records, Sample, assemble_plain, body};
use crate::json::{Cursor, Result};
use crate::session::{Fragment, ProblemKind, Source, SourceError};
use crate::wire::{Fields, anthropic, responses};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "openai-responses",
    title: "OpenAI Responses: items, bodies, exchanges",
    sniff,
    reading: Reading::Records(Records {
        spells: false,
        line: read_line,
        element: read_line,
        member: body::read_member,
        arrays: &["input", "items", "output"],
        assemble,
    }),
};

/// Item types that no other format uses at this place.
const TYPES: &[&str] = &[
    "function_call",
    "function_call_output",
    "custom_tool_call",
    "custom_tool_call_output",
    "reasoning",
    "computer_call",
    "computer_call_output",
    "web_search_call",
    "mcp_call",
    "mcp_approval_request",
    "mcp_approval_response",
    "local_shell_call",
    "shell_call",
    "apply_patch_call",
    "tool_search_call",
    "item_reference",
];

fn sniff(sample: &Sample<'_>) -> u8 {
    if sample.any(|document| is_exchange(document)) {
        return 85;
    }
    if sample.any(|document| is_body(document)) {
        return 90;
    }
    if sample.any(is_item) {
        return if matches!(sample.layout, Layout::Array(_)) {
            90
        } else {
            80
        };
    }
    0
}

fn is_item(document: &Document<'_>) -> bool {
    let kind = document.text("type");
    kind.is_some_and(|kind| {
        let is_family = kind.ends_with("_call") || kind.ends_with("_output");
        TYPES.contains(&&*kind)
            || (is_family && document.has("call_id"))
            || (kind == "message" && !document.has("stop_reason") && document.has("role"))
    }) || document
        .array("content")
        .iter()
        .any(|part| part.says("type", "input_text") || part.says("type", "output_text"))
}

fn is_body(document: &Document<'_>) -> bool {
    document.says("object", "response")
        || (document.has("input") && document.has("model") && !document.has("messages"))
        || document.has("previous_response_id")
        || ["input", "items", "output"]
            .iter()
            .any(|list| document.array(list).iter().any(is_item))
}

fn is_exchange(document: &Document<'_>) -> bool {
    let request = document.object("request");
    is_body(&request) || is_body(&request.object("body")) || is_body(&document.object("response"))
}

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    let fields = Fields::read(cursor)?;
    let place = base + start as u64;
    if let Some(key) = fields.twice {
        out.report(place, ProblemKind::DuplicateKey(key.to_owned()));
    }
    if fields.role.is_none()
        && fields.kind.is_none()
        && body::read_body(FORMAT.dialect(), bytes, start, base, out)?
    {
        return Ok(());
    }
    if fields.tool_calls.is_some() || matches!(fields.role, Some(b"tool" | b"function")) {
        out.report(place, ProblemKind::MixedFormats("openai-chat"));
        return crate::wire::chat::push_message(bytes, base, &fields, out);
    }
    if fields.kind.is_none() && body::has_blocks(bytes, &fields) {
        out.report(place, ProblemKind::MixedFormats("anthropic-messages"));
        return anthropic::read_message(&mut Cursor::at(bytes, start), base, out).map(|_| ());
    }
    responses::push_item(bytes, base, &fields, out);
    Ok(())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> Result<Contents, SourceError> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}
