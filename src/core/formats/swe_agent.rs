//! Trajectories of SWE-agent and its demonstrations: a document whose `history` holds messages of Chat. An output
//! names its calls in `tool_call_ids`.

use super::{Contents, Document, Format, Reading, Records, Sample, assemble_plain};
use crate::json::{Cursor, Result};
use crate::session::{CallId, Fragment, Kind, Source, SourceResult};
use crate::wire::chat;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "swe-agent",
    title: "trajectories of SWE-agent",
    sniff: |sample: &Sample<'_>| {
        let is_message = |message: &Document<'_>| {
            message.has("role") && (message.has("message_type") || message.has("agent"))
        };
        let is_run = |document: &Document<'_>| {
            document.array("history").iter().any(is_message)
                || document.has("trajectory") && document.has("environment")
        };
        if sample.any(is_run) { 96 } else { 0 }
    },
    reading: Reading::Records(Records {
        spells: false,
        line: read_message,
        element: read_message,
        member: |_, _, _, _| Ok(()),
        arrays: &["history"],
        assemble,
    }),
};

fn read_message(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start, first) = (cursor.bytes(), cursor.position(), out.items.len());
    chat::read_message(cursor, base, out)?;
    let output = out.items[first..].iter_mut();
    let Some(output) = output.into_iter().find(|item| item.kind == Kind::Output) else {
        return Ok(());
    };
    Cursor::at(bytes, start).object(|cursor, key| {
        if key == b"tool_call_ids" {
            cursor.array(|cursor| {
                cursor.peek();
                let at = cursor.position() + 1;
                let id = cursor.string()?.unwrap_or_default();
                let offset = (base + at as u64).saturating_sub(output.span.start);
                output.call_id = CallId::new(id, usize::try_from(offset).unwrap_or_default());
                Ok(())
            })?;
        }
        Ok(())
    })?;
    Ok(())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}
