//! What differs between two takes of one recording, item by item.

use super::item::hash;
use super::{Item, Origin, Rope, Session, SourceError, Span};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::ops::Range;

/// A stretch of two histories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Change {
    /// The same items.
    Same {
        /// Where they stand in the first history.
        before: Range<usize>,
        /// Where they stand in the second.
        after: Range<usize>,
    },
    /// An item says something else.
    Changed {
        /// Its index in the first history.
        before: usize,
        /// Its index in the second.
        after: usize,
    },
    /// An item that only the first history has.
    Removed {
        /// Its index.
        before: usize,
    },
    /// An item that only the second history has.
    Added {
        /// Its index.
        after: usize,
    },
}

/// Compares the same session in two takes; each comes with its text.
pub fn compare(
    before: (&Session, &Rope),
    after: (&Session, &Rope),
) -> Result<Vec<Change>, SourceError> {
    let [old, new] = [keys(before.0, before.1)?, keys(after.0, after.1)?];
    let mut changes = Vec::new();
    for operation in capture_diff_slices(Algorithm::Myers, &old, &new) {
        match operation {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => changes.push(Change::Same {
                before: old_index..old_index + len,
                after: new_index..new_index + len,
            }),
            DiffOp::Delete {
                old_index, old_len, ..
            } => {
                changes.extend(
                    (old_index..old_index + old_len).map(|before| Change::Removed { before }),
                );
            }
            DiffOp::Insert {
                new_index, new_len, ..
            } => {
                changes
                    .extend((new_index..new_index + new_len).map(|after| Change::Added { after }));
            }
            DiffOp::Replace {
                old_index,
                old_len,
                new_index,
                new_len,
            } => pair_up(
                &before.0.items[old_index..old_index + old_len],
                &after.0.items[new_index..new_index + new_len],
                (old_index, new_index),
                &mut changes,
            ),
        }
    }
    Ok(changes)
}

/// Of what went and what came, items of one kind are taken as the same item that changed, in their order.
fn pair_up(
    old: &[Item],
    new: &[Item],
    (first_old, first_new): (usize, usize),
    out: &mut Vec<Change>,
) {
    let mut next = 0;
    for (offset, item) in old.iter().enumerate() {
        let partner = new[next..].iter().position(|other| other.kind == item.kind);
        let Some(partner) = partner else {
            out.push(Change::Removed {
                before: first_old + offset,
            });
            continue;
        };
        out.extend((next..next + partner).map(|after| Change::Added {
            after: first_new + after,
        }));
        next += partner;
        out.push(Change::Changed {
            before: first_old + offset,
            after: first_new + next,
        });
        next += 1;
    }
    out.extend((next..new.len()).map(|after| Change::Added {
        after: first_new + after,
    }));
}

/// What tells items apart: where recorded bytes stand, or what was written.
fn keys(session: &Session, rope: &Rope) -> Result<Vec<u64>, SourceError> {
    let mut bytes = Vec::new();
    let keys = session.items.iter().map(|item| {
        if let Some(Span { start, end }) = recorded(rope, item.span) {
            let place = [start.to_le_bytes(), end.to_le_bytes()].concat();
            return Ok(hash(&place));
        }
        session.source.read_into(item.span, &mut bytes)?;
        Ok(hash(&bytes))
    });
    keys.collect()
}

/// Where a span of a take stands in the recording, if no byte of it was written later.
pub fn recorded(rope: &Rope, span: Span) -> Option<Span> {
    let pieces = rope.pieces();
    let index = pieces
        .partition_point(|piece| piece.start <= span.start)
        .checked_sub(1)?;
    let piece = pieces[index];
    match piece.from {
        Origin::Recorded(recorded) => {
            let start = recorded.start + (span.start - piece.start);
            let end = start + span.len();
            (end <= recorded.end).then_some(Span { start, end })
        }
        Origin::Written(_) => None,
    }
}
