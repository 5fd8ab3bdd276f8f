//! Items that leave: alone where they are a whole object, as a part of their message, or with the message where
//! nothing of it is left.

use super::place::{Place, Seat};
use super::{CannotWrite, Lowering, is_within};
use crate::json::Cursor;
use crate::session::{Item, Kind, Span, Splice};
use std::ops::Range;

/// Takes out every dropped item.
pub(super) fn drop_items(lowering: &mut Lowering<'_>) -> Result<(), CannotWrite> {
    let dropped: Vec<u32> = lowering.dropped.iter().copied().collect();
    let mut done = Span::default();
    for index in dropped {
        let item = *lowering.ground.item(index)?;
        if item.span.is_empty() || (is_within(&item, done) && !done.is_empty()) {
            continue;
        }
        let place = match lowering.ground.place(index) {
            // What is cut behind the history of a request are its settings, which are no part of the history.
            Err(CannotWrite::NoPlace(_)) if item.kind == Kind::System && lowering.is_cut(index) => {
                continue;
            }
            place => place?,
        };
        done = place.unit;
        drop_from_unit(lowering, index, place)?;
    }
    Ok(())
}

/// The items of the unit that holds `member`, by number: they are neighbours in the history.
fn items_of(lowering: &Lowering<'_>, member: u32, unit: Span) -> Vec<u32> {
    let items = &lowering.ground.session.items;
    let start = items[..member as usize]
        .iter()
        .rposition(|item| !is_within(item, unit))
        .map_or(0, |before| before + 1);
    let count = items[start..]
        .iter()
        .take_while(|item| is_within(item, unit))
        .count();
    (start..start + count)
        .map(crate::session::index_number)
        .collect()
}

fn drop_from_unit(
    lowering: &mut Lowering<'_>,
    member: u32,
    place: Place,
) -> Result<(), CannotWrite> {
    let own = items_of(lowering, member, place.unit);
    let (gone, kept): (Vec<u32>, Vec<u32>) = own
        .into_iter()
        .partition(|index| lowering.dropped.contains(index));
    let first = gone
        .first()
        .map(|index| lowering.ground.item(*index))
        .transpose()?;
    match first.and_then(Item::facts) {
        Some(facts) if facts.has_blocks => drop_blocks(lowering, place, &gone, &kept),
        Some(facts) if facts.calls_key.is_some() => {
            drop_from_message(lowering, place, &gone, &kept)
        }
        _ => {
            drop_seat(lowering, place.seat);
            Ok(())
        }
    }
}

fn drop_seat(lowering: &mut Lowering<'_>, seat: Seat) {
    let edits = lowering.lists.entry(seat.list).or_default();
    edits.at.entry(seat.index).or_default().is_dropped = true;
}

/// Blocks of a message.
fn drop_blocks(
    lowering: &mut Lowering<'_>,
    place: Place,
    gone: &[u32],
    kept: &[u32],
) -> Result<(), CannotWrite> {
    let mut seats = Vec::new();
    for index in gone {
        seats.extend(lowering.ground.place(*index)?.part);
    }
    let list = seats.first().map(|seat| seat.list);
    let gains = list
        .and_then(|list| lowering.lists.get(&list))
        .is_some_and(|edits| {
            !edits.front.is_empty() || edits.at.values().any(|edit| !edit.after.is_empty())
        });
    if (kept.is_empty() && !gains) || list.is_none() {
        drop_seat(lowering, place.seat);
        return Ok(());
    }
    for seat in seats {
        drop_seat(lowering, seat);
    }
    Ok(())
}

/// Chat: the text of a message, or entries of its `tool_calls`.
fn drop_from_message(
    lowering: &mut Lowering<'_>,
    place: Place,
    gone: &[u32],
    kept: &[u32],
) -> Result<(), CannotWrite> {
    if kept.is_empty() {
        drop_seat(lowering, place.seat);
        return Ok(());
    }
    let record = lowering.ground.item(gone[0])?.record;
    let base = lowering
        .ground
        .record_span(record)
        .unwrap_or_default()
        .start;
    let bytes = lowering.ground.record(record)?;
    let unit = usize::try_from(place.unit.start - base).unwrap_or(usize::MAX);
    let items = &lowering.ground.session.items;
    let is_call = |index: &u32| items[*index as usize].kind == Kind::Call;
    let calls_left = kept.iter().any(is_call);
    let (mut text_goes, mut seats) = (false, Vec::new());
    for index in gone {
        if is_call(index) {
            seats.extend(lowering.ground.place(*index)?.part);
        } else {
            text_goes = true;
        }
    }
    let splice = |range: Range<usize>, with: &str| Splice {
        at: Span::within(base, range),
        with: with.as_bytes().to_vec(),
    };
    let members = members_of(&bytes, unit)?;
    if text_goes && let Some(content) = members.iter().find(|member| member.key == b"content") {
        lowering.splices.push(splice(content.value.clone(), "null"));
    }
    if calls_left {
        for seat in seats {
            drop_seat(lowering, seat);
        }
    } else if gone.iter().any(is_call) {
        for key in [&b"tool_calls"[..], b"function_call"] {
            if let Some(range) = without(&members, key) {
                lowering.splices.push(splice(range, ""));
            }
        }
    }
    Ok(())
}

/// A member of an object.
pub(super) struct Member {
    pub(super) key: Vec<u8>,
    /// From the quote of its key to the end of its value.
    whole: Range<usize>,
    pub(super) value: Range<usize>,
}

/// The members of the object at a place.
pub(super) fn members_of(bytes: &[u8], at: usize) -> Result<Vec<Member>, CannotWrite> {
    let mut members = Vec::new();
    Cursor::at(bytes, at).object(|cursor, key| {
        cursor.peek();
        let value = cursor.skip()?;
        let inside = (key.as_ptr() as usize).wrapping_sub(bytes.as_ptr() as usize);
        members.push(Member {
            key: key.to_vec(),
            whole: inside - 1..value.end,
            value,
        });
        Ok(())
    })?;
    Ok(members)
}

/// The range that takes a member out together with one comma.
fn without(members: &[Member], key: &[u8]) -> Option<Range<usize>> {
    let index = members.iter().position(|member| member.key == key)?;
    let whole = members[index].whole.clone();
    Some(match (index.checked_sub(1), members.get(index + 1)) {
        (Some(before), _) => members[before].whole.end..whole.end,
        (None, Some(next)) => whole.start..next.whole.start,
        (None, None) => whole,
    })
}

/// Whether a record leaves its list.
pub(super) fn is_gone(edits: Option<&super::ListEdits>, record: u32) -> bool {
    edits
        .and_then(|edits| edits.at.get(&(record as usize)))
        .is_some_and(|edit| edit.is_dropped)
}
