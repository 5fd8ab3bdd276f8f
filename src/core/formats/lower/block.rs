//! Outputs that come into a message of the user, whatever its content looks like.

use super::place::Seat;
use super::unit::members_of;
use super::{CannotWrite, Lowering, is_within};
use crate::session::{Kind, Span, Splice};
use std::ops::Range;

/// A message of outputs that was put behind a reply.
#[derive(Debug)]
pub(super) struct Begun {
    blocks: Vec<String>,
    /// Which it is among what was put there.
    number: usize,
}

impl Lowering<'_> {
    /// Puts a `tool_result` block into a message of its own behind a reply, or into the one that was
    /// put there for another.
    pub(super) fn put_first_block(
        &mut self,
        seat: Seat,
        last: u32,
        block: &str,
    ) -> Result<(), CannotWrite> {
        let facts = self.ground.item(last)?.facts();
        let facts = facts.ok_or(CannotWrite::NoPlace(last))?;
        let message_of = |blocks: &str| facts.message_of("user", blocks);
        let Some(begun) = self.begun.get_mut(&last) else {
            let edits = self.lists.get(&seat.list);
            let there = edits.and_then(|edits| edits.at.get(&seat.index));
            let begun = Begun {
                blocks: vec![block.to_owned()],
                number: there.map_or(0, |there| there.after.len()),
            };
            self.begun.insert(last, begun);
            return self.put_unit(last, None, message_of(block));
        };
        begun.blocks.push(block.to_owned());
        let (number, message) = (begun.number, message_of(&begun.blocks.join(",")));
        let place = self.ground.place(last)?;
        let message = self.wrapped(place, message)?;
        let edits = self.lists.entry(seat.list).or_default();
        let after = &mut edits.at.entry(seat.index).or_default().after;
        if let Some(there) = after.get_mut(number) {
            *there = message;
        }
        Ok(())
    }

    /// Puts a `tool_result` block among those at the head of a message: behind those of earlier calls.
    pub(super) fn put_block(
        &mut self,
        first: u32,
        call: u32,
        block: &str,
    ) -> Result<(), CannotWrite> {
        let place = self.ground.place(first)?;
        let Some(seat) = place.part else {
            return self.put_into_text(first, block);
        };
        let session = self.ground.session;
        let is_earlier = |index: &u32| {
            let answered = session.pairing.partner(*index as usize);
            let item = &session.items[*index as usize];
            item.kind == Kind::Output
                && is_within(item, place.unit)
                && answered.is_none_or(|answered| answered < call as usize)
        };
        let leading = (first..crate::session::index_number(session.items.len()))
            .take_while(is_earlier)
            .count();
        let edits = self.lists.entry(seat.list).or_default();
        match leading {
            0 => edits.front.push(block.to_owned()),
            count => {
                let at = edits.at.entry(seat.index + count - 1).or_default();
                at.after.push(block.to_owned());
            }
        }
        Ok(())
    }

    /// A message whose content is a string becomes one of blocks, and one without content gets some.
    fn put_into_text(&mut self, index: u32, block: &str) -> Result<(), CannotWrite> {
        let item = self.ground.item(index)?;
        if self.dropped.contains(&index) {
            return Err(CannotWrite::Conflict(index));
        }
        let text = self.ground.bytes(item)?;
        if let Some(content) = empty_content(&text)? {
            let content = Span::within(item.span.start, content);
            let blocks = self.filled.entry((content.start, content.end)).or_default();
            blocks.push(block.to_owned());
            return Ok(());
        }
        if text.first() != Some(&b'"') {
            return Err(CannotWrite::NoPlace(index));
        }
        let opening = Span {
            start: item.span.start,
            end: item.span.start,
        };
        let closing = Span {
            start: item.span.end,
            end: item.span.end,
        };
        let is_open = self.splices.iter().any(|splice| splice.at == closing);
        let open = if is_open {
            format!("{block},")
        } else {
            self.splices.push(Splice {
                at: closing,
                with: b"}]".to_vec(),
            });
            format!("[{block},")
        };
        // Each further block goes in front of the text block, which is opened by the last splice at this place.
        self.splices
            .retain(|splice| splice.at != opening || splice.with != TEXT_OPENS);
        self.splices.push(Splice {
            at: opening,
            with: open.into_bytes(),
        });
        self.splices.push(Splice {
            at: opening,
            with: TEXT_OPENS.to_vec(),
        });
        Ok(())
    }
}

/// Where the content of a message stands that says nothing: `[]`, `null` or `""`. An item without content is
/// its whole message, one whose content is a string is that string.
fn empty_content(item: &[u8]) -> Result<Option<Range<usize>>, CannotWrite> {
    let is_empty = |value: &[u8]| {
        let inside = value
            .strip_prefix(b"[")
            .and_then(|rest| rest.strip_suffix(b"]"));
        matches!(value, b"null" | b"\"\"")
            || inside.is_some_and(|rest| rest.trim_ascii().is_empty())
    };
    if item.first() != Some(&b'{') {
        return Ok(is_empty(item).then_some(0..item.len()));
    }
    let members = members_of(item, 0)?;
    let mut members = members.into_iter();
    let content = members.find(|member| matches!(&member.key[..], b"content" | b"parts"));
    let content = content.map(|member| member.value);
    Ok(content.filter(|content| is_empty(&item[content.clone()])))
}

/// What opens the block that a string of a message becomes.
const TEXT_OPENS: &[u8] = br#"{"type":"text","text":"#;
