//! What the items of an exchange say, so that a request is known by the history that it repeats.

use super::super::assemble::chained;
use crate::dialects::body_without_reasoning;
use crate::session::{Item, Kind, Record, Source, SourceError, hash};
use std::sync::Arc;

/// Reads what items say; the items of one line are read at once.
pub(super) struct Reader<'a> {
    source: &'a Arc<dyn Source>,
    records: &'a [Record],
    /// The line that was read last, by the number of its record.
    line: (u32, Vec<u8>),
}

impl<'a> Reader<'a> {
    pub(super) fn new(source: &'a Arc<dyn Source>, records: &'a [Record]) -> Self {
        Self {
            source,
            records,
            line: (u32::MAX, Vec::new()),
        }
    }

    pub(super) fn bytes(&mut self, item: &Item) -> Result<&[u8], SourceError> {
        let span = self.records.get(item.record as usize).map(|one| one.span);
        let span = span.unwrap_or(item.span);
        if self.line.0 != item.record {
            self.source.read_into(span, &mut self.line.1)?;
            self.line.0 = item.record;
        }
        let place = |at: u64| usize::try_from(at.saturating_sub(span.start)).unwrap_or(usize::MAX);
        let inside = place(item.span.start)..place(item.span.end);
        let gone = SourceError::Gone { span: item.span };
        self.line.1.get(inside).ok_or(gone)
    }

    /// What an item says, apart from how this or that side spells it: a call is its id, a message its text.
    /// `None` for what a request need not repeat.
    pub(super) fn meaning(&mut self, item: &Item) -> Result<Option<u64>, SourceError> {
        let is_compared = matches!(
            item.kind,
            Kind::User | Kind::Assistant | Kind::Call | Kind::Output | Kind::ApprovalResponse
        );
        if !is_compared {
            return Ok(None);
        }
        let kind = u64::from(item.kind as u8);
        if !item.call_id.is_none() {
            return Ok(Some(chained(kind, item.call_id.hash)));
        }
        let name = item.name;
        let bytes = self.bytes(item)?;
        let Ok(body) = body_without_reasoning(item, bytes) else {
            return Ok(Some(chained(kind, hash(bytes))));
        };
        let text = body.text.trim();
        if text.is_empty() && item.kind == Kind::Assistant {
            return Ok(None);
        }
        let said = [text, body.arguments.as_written()];
        let texts = said
            .iter()
            .fold(kind, |digest, text| chained(digest, hash(text.as_bytes())));
        Ok(Some(chained(texts, u64::from(name.0))))
    }
}
