//! Chats of Qwen Code: JSONL whose entries hold contents of Gemini as they were sent, one after the other.

use super::{Contents, Document, Format, Reading, Records, Sample, assemble_plain};
use crate::json::{Cursor, Result};
use crate::session::{Fact, Fragment, Kind, Source, SourceResult, Span};
use crate::wire::gemini;
use std::sync::Arc;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "qwen-code",
    title: "chats of Qwen Code",
    sniff: |sample: &Sample<'_>| {
        let is_entry = |document: &Document<'_>| {
            let message = document.object("message");
            document.has("uuid") && message.has("role") && message.has("parts")
        };
        if sample.any(is_entry) { 99 } else { 0 }
    },
    reading: Reading::Records(Records {
        spells: false,
        line: read_line,
        element: read_line,
        member: |_, _, _, _| Ok(()),
        arrays: &[],
        assemble,
    }),
};

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (start, mut subtype) = (cursor.position(), None);
    cursor.object(|cursor, key| {
        match key {
            b"subtype" => subtype = cursor.string()?,
            b"model" => {
                if let Some(model) = cursor.string()? {
                    out.note_model(model);
                }
            }
            b"message" if cursor.peek() == Some(b'{') => {
                gemini::read_content(cursor, base, out)?;
            }
            _ => {}
        }
        Ok(())
    })?;
    if subtype == Some(b"chat_compression") {
        out.note(Fact::HistoryReplaced);
        let span = Span::within(base, start..cursor.position());
        out.push(Kind::Compaction, None, span);
    }
    Ok(())
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)
}
