//! Claude Code session logs: JSONL whose entries form a graph by `uuid` and `parentUuid`.
//!
//! One message of the model is spread over many lines with the same `message.id`; a result may stand before its
//! call; sub-agents and abandoned branches lie between the lines of the conversation. `graph` finds the active
//! chain and the others. Lines of sub-agents that are nested in `progress` entries (2.0 and 2.1) belong to
//! another conversation and are jumped over.

mod assemble;
mod graph;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

use super::{Document, Format, Reading, Records, Sample};
use crate::json::{Cursor, Result};
use crate::session::{Flags, Fragment, Kind, LinkFlags, RecordLink, Span};
use crate::wire::anthropic;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "claude-code",
    title: "Claude Code session logs",
    sniff,
    reading: Reading::Records(Records {
        spells: false,
        line: read_line,
        element: read_line,
        member: |_, _, _, _| Ok(()),
        arrays: &[],
        assemble: assemble::assemble,
    }),
};

fn sniff(sample: &Sample<'_>) -> u8 {
    let entries = sample
        .documents
        .iter()
        .filter(|document| document.has("uuid") && document.has("parentUuid"));
    let marks = sample
        .documents
        .iter()
        .filter(|document| document.has("sessionId") && document.has("type"));
    match (entries.count(), marks.count()) {
        (1.., _) => 97,
        (0, 1..) if sample.any(|document| document.has("leafUuid")) => 90,
        _ if sample.any(is_preamble) => 90,
        _ => 0,
    }
}

/// A line that is before the entries: a log may begin with more of them than are looked at.
fn is_preamble(document: &Document<'_>) -> bool {
    let is_summary = document.says("type", "summary") && document.has("leafUuid");
    is_summary || document.says("type", "file-history-snapshot") && document.has("snapshot")
}

/// The members of an entry around its message.
#[derive(Default)]
struct Entry<'a> {
    kind: Option<&'a [u8]>,
    subtype: Option<&'a [u8]>,
    link: RecordLink,
    logical_parent: u64,
    is_compact_summary: bool,
    is_api_error: bool,
    is_synthetic: bool,
    denied: bool,
}

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let first = out.items.len();
    let start = cursor.position();
    let mut entry = Entry::default();
    cursor.object(|cursor, key| read_member(key, cursor, base, &mut entry, out))?;
    let span = Span::within(base, start..cursor.position());
    settle(&mut entry, span, first, out);
    for item in &mut out.items[first..] {
        if item.kind == Kind::User {
            let text = &cursor.bytes()[(item.span.start - base) as usize..];
            let head = &text[..text
                .len()
                .min(INTERRUPT_WITHIN)
                .min(item.span.len() as usize)];
            item.flags.set_if(Flags::INTERRUPT, is_interrupt(head));
        }
    }
    // A line that could not be read left a record without a link.
    out.links
        .resize(out.record() as usize, RecordLink::default());
    out.links.push(entry.link);
    Ok(())
}

fn read_member<'a>(
    key: &[u8],
    cursor: &mut Cursor<'a>,
    base: u64,
    entry: &mut Entry<'a>,
    out: &mut Fragment,
) -> Result<()> {
    let flags = &mut entry.link.flags;
    match key {
        b"type" => entry.kind = cursor.string()?,
        b"subtype" => entry.subtype = cursor.string()?,
        b"uuid" => entry.link.id = RecordLink::key(cursor.string()?.unwrap_or_default()),
        b"parentUuid" => entry.link.parent = RecordLink::key(cursor.string()?.unwrap_or_default()),
        b"logicalParentUuid" => {
            entry.logical_parent = RecordLink::key(cursor.string()?.unwrap_or_default())
        }
        b"sourceToolAssistantUUID" => {
            entry.link.answers = RecordLink::key(cursor.string()?.unwrap_or_default())
        }
        b"isSidechain" => flags.set_if(LinkFlags::SIDE, cursor.is_true()?),
        b"isMeta" => flags.set_if(LinkFlags::META, cursor.is_true()?),
        b"isCompactSummary" => entry.is_compact_summary = cursor.is_true()?,
        b"isApiErrorMessage" => entry.is_api_error = cursor.is_true()?,
        b"toolDenialKind" => entry.denied = cursor.peek() == Some(b'"'),
        b"message" if cursor.peek() == Some(b'{') => {
            let message = anthropic::read_message(cursor, base, out)?;
            entry.link.message = RecordLink::key(message.id.unwrap_or_default());
            entry.is_synthetic = message.model == Some(b"<synthetic>");
            if let (Some(model), false) = (message.model, entry.is_synthetic) {
                out.note_model(model);
            }
        }
        _ => {}
    }
    Ok(())
}

/// Gives the entry its flags, and an item where its message gave none but it belongs to the story.
fn settle(entry: &mut Entry<'_>, span: Span, first: usize, out: &mut Fragment) {
    let kind = entry.kind.unwrap_or_default();
    entry
        .link
        .flags
        .set_if(LinkFlags::ASSISTANT, kind == b"assistant");
    entry.link.flags.set_if(LinkFlags::USER, kind == b"user");
    let boundary = kind == b"system" && entry.subtype == Some(b"compact_boundary");
    entry.link.flags.set_if(LinkFlags::BOUNDARY, boundary);
    if boundary && entry.link.parent == 0 && entry.logical_parent != 0 {
        entry.link.parent = entry.logical_parent;
        entry.link.flags.set_if(LinkFlags::LOGICAL_PARENT, true);
    }
    if !matches!(kind, b"assistant" | b"user") {
        out.items.truncate(first);
        let notice = matches!(entry.subtype, Some(b"api_error" | b"microcompact_boundary"));
        if boundary || notice {
            let kind = if boundary {
                Kind::Compaction
            } else {
                Kind::Notice
            };
            let is_error = entry.subtype == Some(b"api_error");
            out.push(kind, None, span)
                .flags
                .set_if(Flags::ERROR, is_error);
        }
        return;
    }
    for item in &mut out.items[first..] {
        item.flags.set_if(
            Flags::SYNTHETIC,
            entry.is_synthetic || entry.is_compact_summary || entry.link.flags.has(LinkFlags::META),
        );
        item.flags
            .set_if(Flags::REJECTED, entry.denied && item.kind == Kind::Output);
        if entry.is_api_error {
            item.kind = Kind::Notice;
            item.flags = item.flags.with(Flags::ERROR);
        }
    }
}

/// How far into an item the mark of an interrupt can begin: after `{"type":"text","text":"` in any spacing.
const INTERRUPT_WITHIN: usize = 128;

/// Whether a text of the user is the mark that Claude Code leaves for an interrupt.
fn is_interrupt(head: &[u8]) -> bool {
    memchr::memmem::find(head, b"\"[Request interrupted by user").is_some()
}
