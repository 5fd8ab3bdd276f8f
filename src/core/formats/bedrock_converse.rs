//! Bedrock's `Converse` in files: lists of messages, request and reply bodies, JSONL of messages, bodies or
//! exchanges.

use super::{Contents, Document, Format, Layout, Reading, Records, Sample, assemble_plain, body};
use crate::json::{Cursor, Result};
use crate::session::{Fragment, ProblemKind, Source, SourceResult};
use crate::wire::{Fields, converse, responses};
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "bedrock-converse",
    title: "Bedrock Converse: messages, bodies, exchanges",
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

/// The members by which a block is known (Amazon Bedrock API reference, `ContentBlock`).
const BLOCKS: [&str; 6] = [
    "text",
    "toolUse",
    "toolResult",
    "reasoningContent",
    "image",
    "document",
];

/// Whether it is a message. Blocks that name their type belong to others.
fn is_message(document: &Document<'_>) -> bool {
    let is_block =
        |block: &Document<'_>| !block.has("type") && BLOCKS.iter().any(|member| block.has(member));
    let role = document.text("role");
    role.is_some_and(|role| matches!(&*role, "user" | "assistant"))
        && document.array("content").first().is_some_and(is_block)
}

fn is_body(document: &Document<'_>) -> bool {
    document.array("messages").iter().any(is_message)
        || is_message(&document.object("output").object("message"))
        || (document.has("modelId") && document.has("messages"))
}

fn sniff(sample: &Sample<'_>) -> u8 {
    let wrapped = |document: &Document<'_>| {
        is_body(&document.object("request")) || is_body(&document.object("response"))
    };
    if !sample.any(|document| is_message(document) || is_body(document) || wrapped(document)) {
        return 0;
    }
    match sample.layout {
        Layout::Lines => 85,
        _ => 95,
    }
}

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    let mark = out.mark();
    let message = converse::read_message(cursor, base, out)?;
    if message.has_list {
        return Ok(());
    }
    out.rewind(mark);
    if body::read_body(FORMAT.dialect(), bytes, start, base, out)? {
        return Ok(());
    }
    let mut cursor = Cursor::at(bytes, start);
    let fields = Fields::read(&mut cursor.clone())?;
    if fields.kind.is_some() && fields.role.is_none() {
        out.report(
            base + start as u64,
            ProblemKind::MixedFormats("openai-responses"),
        );
        responses::push_item(bytes, base, &fields, out);
        return Ok(());
    }
    converse::read_message(&mut cursor, base, out).map(|_| ())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}
