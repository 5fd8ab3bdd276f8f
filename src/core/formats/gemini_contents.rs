//! Gemini `generateContent` in files: lists of contents, request and reply bodies, JSONL of contents, bodies or
//! exchanges.

use super::{Contents, Document, Format, Layout, Reading, Records, Sample, assemble_plain, body};
use crate::json::{Cursor, Result};
use crate::session::{Fragment, ProblemKind, Source, SourceResult};
use crate::wire::{Fields, anthropic, chat, gemini, responses};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "gemini-contents",
    title: "Gemini generateContent: contents, bodies, exchanges",
    sniff,
    reading: Reading::Records(Records {
        spells: false,
        line: read_line,
        element: read_line,
        member: body::read_member,
        arrays: &["contents"],
        assemble,
    }),
};

/// The members by which a part is known (Gemini API reference, `Part`).
const PARTS: [&str; 9] = [
    "text",
    "functionCall",
    "function_call",
    "functionResponse",
    "function_response",
    "inlineData",
    "inline_data",
    "executableCode",
    "executable_code",
];

/// Whether it is a content. Messages of parts that name their type belong to others.
fn is_content(document: &Document<'_>) -> bool {
    let is_part =
        |part: &Document<'_>| !part.has("type") && PARTS.iter().any(|member| part.has(member));
    let speaks = match document.text("role") {
        Some(role) => matches!(&*role, "user" | "model" | "function" | "system"),
        None => !document.has("role"),
    };
    speaks && document.array("parts").iter().any(is_part)
}

fn is_body(document: &Document<'_>) -> bool {
    let is_candidate = |one: &Document<'_>| one.has("content") || one.has("finishReason");
    document.array("contents").iter().any(is_content)
        || document.array("candidates").iter().any(is_candidate)
        || (document.has("promptFeedback") && document.has("usageMetadata"))
}

fn sniff(sample: &Sample<'_>) -> u8 {
    let wrapped = |document: &Document<'_>| {
        is_body(&document.object("request")) || is_body(&document.object("response"))
    };
    if !sample.any(|document| is_content(document) || is_body(document) || wrapped(document)) {
        return 0;
    }
    match sample.layout {
        Layout::Lines => 84,
        _ => 94,
    }
}

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    let mark = out.mark();
    let content = gemini::read_content(cursor, base, out)?;
    if content.has_list {
        return Ok(());
    }
    out.rewind(mark);
    if body::read_body(FORMAT.dialect(), bytes, start, base, out)? {
        return Ok(());
    }
    read_other(bytes, start, base, out)
}

/// A record of another format.
fn read_other(bytes: &[u8], start: usize, base: u64, out: &mut Fragment) -> Result<()> {
    let mut cursor = Cursor::at(bytes, start);
    let fields = Fields::read(&mut cursor.clone())?;
    let place = base + start as u64;
    if fields.kind.is_some() && fields.role.is_none() {
        out.report(place, ProblemKind::MixedFormats("openai-responses"));
        responses::push_item(bytes, base, &fields, out);
        return Ok(());
    }
    if body::has_blocks(bytes, &fields) {
        out.report(place, ProblemKind::MixedFormats("anthropic-messages"));
        return anthropic::read_message(&mut cursor, base, out).map(|_| ());
    }
    if fields.content.is_some() || fields.tool_calls.is_some() {
        out.report(place, ProblemKind::MixedFormats("openai-chat"));
        return chat::push_message(bytes, base, &fields, out);
    }
    gemini::read_content(&mut cursor, base, out).map(|_| ())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}
