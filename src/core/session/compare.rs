//! What differs between two takes of one recording, item by item.

use super::item::{Item, hash};
use super::pairing::Session;
use super::rope::{Rope, TextOrigin};
use super::source::{SourceError, Span};
use similar::{Algorithm, DiffOp, capture_diff_slices};
use std::collections::HashMap;
use std::hash::Hash;
use std::ops::Range;

/// The most that a search for the shortest difference may cost: the lengths of what is compared, multiplied.
const COSTS: usize = 16 << 20;

/// A stretch of two histories.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum HistoryChange {
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
    Removed { before: usize },
    /// An item that only the second history has.
    Added { after: usize },
}

/// Compares the same session in two takes; each comes with its text.
pub fn compare(
    before: (&Session, &Rope),
    after: (&Session, &Rope),
) -> Result<Vec<HistoryChange>, SourceError> {
    let [old, new] = [keys(before.0, before.1)?, keys(after.0, after.1)?];
    let mut changes = Vec::new();
    for operation in operations(&old, &new) {
        match operation {
            DiffOp::Equal {
                old_index,
                new_index,
                len,
            } => changes.push(HistoryChange::Same {
                before: old_index..old_index + len,
                after: new_index..new_index + len,
            }),
            DiffOp::Delete {
                old_index, old_len, ..
            } => {
                changes.extend(
                    (old_index..old_index + old_len)
                        .map(|before| HistoryChange::Removed { before }),
                );
            }
            DiffOp::Insert {
                new_index, new_len, ..
            } => {
                changes.extend(
                    (new_index..new_index + new_len).map(|after| HistoryChange::Added { after }),
                );
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

/// What two lists share and what they do not, in order. Where the shortest difference would take long to find,
/// what occurs once in both lists holds them together.
pub fn operations(old: &[u64], new: &[u64]) -> Vec<DiffOp> {
    let head = common(old.iter(), new.iter());
    let (rest_old, rest_new) = (&old[head..], &new[head..]);
    let tail = common(rest_old.iter().rev(), rest_new.iter().rev());
    let (old_end, new_end) = (old.len() - tail, new.len() - tail);
    if (old_end - head).saturating_mul(new_end - head) <= COSTS {
        return capture_diff_slices(Algorithm::Myers, old, new);
    }
    let mut shared: Vec<(usize, usize)> = (0..head).map(|index| (index, index)).collect();
    let anchors = anchors(&old[head..old_end], &new[head..new_end]);
    shared.extend(
        anchors
            .into_iter()
            .map(|(one, other)| (head + one, head + other)),
    );
    shared.extend((0..tail).map(|index| (old_end + index, new_end + index)));
    between(&shared, old.len(), new.len())
}

/// The same of lists of anything. Equal entries get equal numbers first, so that the search is
/// in the program once.
pub fn operations_of<T: Eq + Hash>(old: &[T], new: &[T]) -> Vec<DiffOp> {
    let mut numbers = HashMap::new();
    let all: Vec<u64> = old
        .iter()
        .chain(new)
        .map(|entry| {
            let next = numbers.len() as u64;
            *numbers.entry(entry).or_insert(next)
        })
        .collect();
    let (old, new) = all.split_at(old.len());
    operations(old, new)
}

/// How many entries two lists have in common before they differ.
fn common<'a>(old: impl Iterator<Item = &'a u64>, new: impl Iterator<Item = &'a u64>) -> usize {
    old.zip(new).take_while(|(one, other)| one == other).count()
}

/// The longest way through both lists along entries that occur once in each.
fn anchors(old: &[u64], new: &[u64]) -> Vec<(usize, usize)> {
    let (places, others) = (once(old), once(new));
    let both = (0..old.len()).filter_map(|index| {
        let key = &old[index];
        (places.get(key)?.is_some()).then_some((index, (*others.get(key)?)?))
    });
    let both: Vec<(usize, usize)> = both.collect();
    // Of the ways of each length, the one that ends first in the second list; and the entry before each.
    let mut ends: Vec<usize> = Vec::new();
    let mut before: Vec<Option<usize>> = Vec::with_capacity(both.len());
    for (number, (_, place)) in both.iter().enumerate() {
        let length = ends.partition_point(|end| both[*end].1 < *place);
        before.push(length.checked_sub(1).map(|shorter| ends[shorter]));
        match ends.get_mut(length) {
            Some(end) => *end = number,
            None => ends.push(number),
        }
    }
    let last = ends.last().copied();
    let mut way: Vec<_> = std::iter::successors(last, |number| before[*number])
        .map(|number| both[number])
        .collect();
    way.reverse();
    way
}

/// Where entries stand; `None` for those that occur more than once.
fn once(list: &[u64]) -> HashMap<u64, Option<usize>> {
    let mut places = HashMap::with_capacity(list.len());
    for (index, key) in list.iter().enumerate() {
        let place = places.entry(*key).or_insert(Some(index));
        *place = place.filter(|first| *first == index);
    }
    places
}

/// What is shared as stretches, and what lies between them.
fn between(shared: &[(usize, usize)], old_len: usize, new_len: usize) -> Vec<DiffOp> {
    let mut operations = Vec::new();
    let (mut old_index, mut new_index) = (0, 0);
    for (one, other) in shared.iter().copied().chain([(old_len, new_len)]) {
        if (one, other) != (old_index, new_index) {
            operations.push(DiffOp::Replace {
                old_index,
                old_len: one - old_index,
                new_index,
                new_len: other - new_index,
            });
        }
        match operations.last_mut() {
            _ if one == old_len && other == new_len => {}
            Some(DiffOp::Equal { len, .. }) => *len += 1,
            _ => operations.push(DiffOp::Equal {
                old_index: one,
                new_index: other,
                len: 1,
            }),
        }
        (old_index, new_index) = (one + 1, other + 1);
    }
    operations
}

/// Of what went and what came, items of one kind are taken as the same item that changed, in their order.
fn pair_up(
    old: &[Item],
    new: &[Item],
    (first_old, first_new): (usize, usize),
    out: &mut Vec<HistoryChange>,
) {
    let mut next = 0;
    for (offset, item) in old.iter().enumerate() {
        let partner = new[next..].iter().position(|other| other.kind == item.kind);
        let Some(partner) = partner else {
            out.push(HistoryChange::Removed {
                before: first_old + offset,
            });
            continue;
        };
        out.extend((next..next + partner).map(|after| HistoryChange::Added {
            after: first_new + after,
        }));
        next += partner;
        out.push(HistoryChange::Changed {
            before: first_old + offset,
            after: first_new + next,
        });
        next += 1;
    }
    out.extend((next..new.len()).map(|after| HistoryChange::Added {
        after: first_new + after,
    }));
}

/// What tells items apart: where recorded bytes stand, or what was written.
fn keys(session: &Session, rope: &Rope) -> Result<Vec<u64>, SourceError> {
    let mut bytes = Vec::new();
    let keys = session.items.iter().map(|item| {
        let place = recorded(rope, item.span).filter(|_| session.file.is_none());
        if let Some(Span { start, end }) = place {
            let place = [start.to_le_bytes(), end.to_le_bytes()].concat();
            return Ok(hash(&place));
        }
        session.source.read_into(item.span, &mut bytes)?;
        Ok(hash(&bytes))
    });
    keys.collect()
}

/// The span of the recording that a span of a take comes from, if no byte of it was written later.
pub fn recorded(rope: &Rope, span: Span) -> Option<Span> {
    let pieces = rope.pieces();
    let index = pieces
        .partition_point(|piece| piece.start <= span.start)
        .checked_sub(1)?;
    let piece = pieces[index];
    match piece.from {
        TextOrigin::Recorded(recorded) => {
            let start = recorded.start + (span.start - piece.start);
            let end = start + span.len();
            (end <= recorded.end).then_some(Span { start, end })
        }
        TextOrigin::Written(_) | TextOrigin::Grown(_) => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What both lists hold at the places that are told to be the same, and how many entries that are.
    fn shared(old: &[u64], new: &[u64]) -> usize {
        let (mut left, mut right, mut count) = (0, 0, 0);
        for operation in operations(old, new) {
            assert_eq!(
                (operation.old_range().start, operation.new_range().start),
                (left, right)
            );
            (left, right) = (operation.old_range().end, operation.new_range().end);
            if matches!(operation, DiffOp::Equal { .. }) {
                assert_eq!(old[operation.old_range()], new[operation.new_range()]);
                count += operation.old_range().len();
            }
        }
        assert_eq!((left, right), (old.len(), new.len()));
        count
    }

    #[test]
    fn lists_of_anything_are_compared_by_what_is_equal() {
        let told = operations_of(&["one", "two", "three"], &["zero", "one", "three"]);
        let same: usize = told
            .iter()
            .filter(|operation| matches!(operation, DiffOp::Equal { .. }))
            .map(|operation| operation.old_range().len())
            .sum();
        assert_eq!(same, 2);
        assert!(operations_of::<String>(&[], &[]).is_empty());
    }

    #[test]
    fn two_long_histories_are_compared_in_no_time_whatever_they_share() {
        let old: Vec<u64> = (0..200_000).collect();
        let mut new = old.clone();
        new.remove(199_000);
        new.insert(100_000, 7_000_000);
        new.remove(5);
        assert_eq!(shared(&old, &new), 199_998);
        let other: Vec<u64> = (1_000_000..1_200_000).collect();
        assert_eq!(shared(&old, &other), 0);
        let reversed: Vec<u64> = old.iter().rev().copied().collect();
        assert_eq!(shared(&old, &reversed), 1);
        let same = vec![1; 10_000];
        assert_eq!(shared(&same, &[&[2][..], &same, &[3]].concat()), 0);
        assert_eq!(shared(&[1, 2, 3], &[2, 3, 4]), 2);
    }
}
