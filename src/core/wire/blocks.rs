//! Messages whose content is a list of blocks, in which texts, calls and outputs stand side by side.

use crate::json::{Cursor, Result};
use crate::session::{Dialect, Flags, Fragment, Kind, Span};
use std::ops::Range;

/// What a message says of itself beside its blocks.
#[derive(Debug, Clone, Default)]
pub struct BlockMessage<'a> {
    /// Where it is in the walked text.
    pub range: Range<usize>,
    pub role: Option<&'a [u8]>,
    pub id: Option<&'a [u8]>,
    pub model: Option<&'a [u8]>,
    pub stop_reason: Option<&'a [u8]>,
    /// Whether there is a list `tool_calls`, which only Chat messages have.
    pub has_tool_calls: bool,
    /// Whether its blocks are a list.
    pub has_list: bool,
}

/// Reads the message at the cursor: `read_list` adds the items of the member `list`, all of a text as the user's,
/// and gives whether it is a list; `kind_of` is what a message of a role is.
pub(crate) fn read_message<'a>(
    cursor: &mut Cursor<'a>,
    base: u64,
    out: &mut Fragment,
    (dialect, list): (Dialect, &[u8]),
    read_list: impl Fn(&mut Cursor<'a>, u64, &mut Fragment) -> Result<bool>,
    kind_of: impl Fn(Option<&[u8]>) -> Kind,
) -> Result<BlockMessage<'a>> {
    let first = out.items.len();
    let mut message = BlockMessage::default();
    cursor.peek();
    let start = cursor.position();
    cursor.object(|cursor, key| {
        match key {
            b"role" => message.role = cursor.string()?,
            b"id" => message.id = cursor.string()?,
            b"model" => message.model = cursor.string()?,
            b"stop_reason" => message.stop_reason = cursor.string()?,
            b"tool_calls" => message.has_tool_calls = cursor.peek() == Some(b'['),
            _ if key == list => message.has_list = read_list(cursor, base, out)?,
            _ => {}
        }
        Ok(())
    })?;
    message.range = start..cursor.position();
    let kind = kind_of(message.role);
    if out.items.len() == first {
        let span = Span::within(base, message.range.clone());
        out.push(kind, Some(dialect), span).flags = Flags::MALFORMED;
    }
    for item in &mut out.items[first..] {
        if item.kind == Kind::User {
            item.kind = kind;
            item.flags.set_if(Flags::MALFORMED, kind == Kind::Other);
        }
        item.flags.set_if(Flags::UNKNOWN, item.kind == Kind::Other);
    }
    if kind == Kind::Assistant
        && let Some(item) = out.items.get_mut(first)
    {
        item.flags = item.flags.with(Flags::STARTS_REPLY);
        item.flags
            .set_if(Flags::REFUSAL, message.stop_reason == Some(b"refusal"));
    }
    if let Some(reason) = message.stop_reason {
        out.note_stop(reason);
    }
    Ok(message)
}

/// Adds a prompt or an input that is a member of a request and no message. In a document it is a record of its own.
pub(crate) fn push_member(kind: Kind, dialect: Dialect, span: Span, out: &mut Fragment) {
    // The record at hand, a line, gets its end only when it was read; one that has its end
    // was the element before.
    let is_member_of_line = out
        .records
        .last()
        .is_some_and(|record| record.span.is_empty());
    if !is_member_of_line {
        out.begin_record(span);
    }
    out.push(kind, Some(dialect), span);
}
