//! Tokens that are not counted beside the items. Codex: in events between them, `token_count`, after a reply or
//! right before its items are written. A state of the openai-agents SDK: in its list of replies.

use super::tokens::Tokens;
use crate::json::Cursor;
use crate::session::{Session, SourceError, Span};
use crate::wire::write::edit::member;

/// What the events of a turn say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Counted {
    pub(super) tokens: Option<Tokens>,
    /// How many tokens the model takes at most.
    pub(super) window: Option<u64>,
}

/// Most bytes between two records that are searched.
const FAR: u64 = 256 * 1024;
const EVENT: &[u8] = b"\"token_count\"";

/// The last count in a stretch of the file.
pub(super) fn counted(session: &Session, span: Span) -> Result<Counted, SourceError> {
    if span.is_empty() {
        return Ok(Counted::default());
    }
    let bytes = session.source.read(span.head(FAR))?;
    let lines = bytes.split(|byte| *byte == b'\n');
    let events = lines.filter(|line| memchr::memmem::find(line, EVENT).is_some());
    let read = events.filter_map(read).next_back();
    Ok(read.unwrap_or_default())
}

fn read(line: &[u8]) -> Option<Counted> {
    let line = std::str::from_utf8(line).ok()?;
    let value = |object, name| Some(&object[member(object, name)?]);
    let info = value(value(line, "payload")?, "info")?;
    Some(Counted {
        tokens: Tokens::of_value(value(info, "last_token_usage")?),
        window: value(info, "model_context_window").and_then(|raw| raw.parse().ok()),
    })
}

/// Larger states are not searched for tokens.
const STATE: u64 = 4 * 1024 * 1024;

/// What each reply of a stopped run took, in order.
pub(super) fn replies_of_state(session: &Session) -> Result<Vec<Tokens>, SourceError> {
    let whole = Span::new(0, session.source.len());
    let mut replies = Vec::new();
    if whole.len() > STATE {
        return Ok(replies);
    }
    let bytes = session.source.read(whole)?;
    // What precedes a fault counts.
    let _ = Cursor::new(&bytes).object(|cursor, key| {
        if key != b"model_responses" || cursor.peek() != Some(b'[') {
            return Ok(());
        }
        cursor.array(|cursor| {
            let reply = String::from_utf8_lossy(cursor.raw()?);
            let usage = member(&reply, "usage").and_then(|it| Tokens::of_value(&reply[it]));
            replies.push(usage.unwrap_or_default());
            Ok(())
        })?;
        Ok(())
    });
    Ok(replies)
}
