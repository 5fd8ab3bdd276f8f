//! Which items of two takes belong beside each other.

use super::super::difference::compare;
use super::{Heading, Pair};
use retake_core::safe_text::SafeText;
use retake_core::session::{Kind, operations, operations_of};
use similar::DiffOp;
use std::ops::Range;

/// Most items of one side that are read in a stretch of differences.
const READ: usize = 100;

/// One of the two takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    Left,
    Right,
}

/// An item, as it is compared.
#[derive(Debug, Clone)]
pub struct ItemText {
    pub kind: Kind,
    /// The tool; empty where there is none.
    pub tool: String,
    pub text: String,
    /// Its JSON with the arguments of a call as an object, where the dialect holds them as a text.
    pub open: Option<String>,
}

/// A part of the comparison.
#[derive(Debug, Clone)]
pub(super) enum Stretch {
    /// Items that are the same in both.
    Same {
        count: usize,
        /// The first one's number on both sides, counted from 1.
        first: (usize, usize),
    },
    /// An item that differs, or that one side has alone.
    Pair(Pair),
    /// So many further items of each side that differ.
    Unread(usize, usize),
}

pub(super) fn align(
    [left, right]: [&[u64]; 2],
    read: &dyn Fn(Which, usize) -> ItemText,
) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let mut differing: Option<(Range<usize>, Range<usize>)> = None;
    for operation in operations(left, right) {
        let (old, new) = (operation.old_range(), operation.new_range());
        if !matches!(operation, DiffOp::Equal { .. }) {
            let (first, second) =
                differing.get_or_insert((old.start..old.start, new.start..new.start));
            (first.end, second.end) = (old.end, new.end);
            continue;
        }
        if let Some((old, new)) = differing.take() {
            pair_up(old, new, read, &mut stretches);
        }
        stretches.push(Stretch::Same {
            count: old.len(),
            first: (old.start + 1, new.start + 1),
        });
    }
    if let Some((old, new)) = differing {
        pair_up(old, new, read, &mut stretches);
    }
    stretches
}

/// Puts the items of a stretch beside each other: those of one kind and tool, in order; what
/// is left stands alone.
fn pair_up(
    old: Range<usize>,
    new: Range<usize>,
    read: &dyn Fn(Which, usize) -> ItemText,
    stretches: &mut Vec<Stretch>,
) {
    let seen = |which, range: &Range<usize>| -> Vec<ItemText> {
        let range = range.clone().take(READ);
        range.map(|number| read(which, number)).collect()
    };
    let (lefts, rights) = (seen(Which::Left, &old), seen(Which::Right, &new));
    let kinds = |items: &[ItemText]| -> Vec<&'static str> {
        items.iter().map(|item| item.kind.word()).collect()
    };
    let heading = |start: usize, at: usize, item: &ItemText| Heading {
        number: start + at + 1,
        kind: item.kind.word(),
        tool: SafeText::single_line(&item.tool, 80),
    };
    let mut push = |left: Option<usize>, right: Option<usize>| {
        let [one, other] =
            [(&lefts, left), (&rights, right)].map(|(items, at)| at.and_then(|at| items.get(at)));
        // What one side alone holds as an object differs in just that.
        let is_open = one.into_iter().chain(other).all(|item| item.open.is_some());
        let text = |item: Option<&ItemText>| {
            item.map_or(String::new(), |item| match &item.open {
                Some(open) if is_open => open.clone(),
                _ => item.text.clone(),
            })
        };
        stretches.push(Stretch::Pair(Pair {
            left: left.map(|at| heading(old.start, at, &lefts[at])),
            right: right.map(|at| heading(new.start, at, &rights[at])),
            rows: compare(&text(one), &text(other)),
        }));
    };
    for operation in operations_of(&kinds(&lefts), &kinds(&rights)) {
        let (old, new) = (operation.old_range(), operation.new_range());
        if let DiffOp::Equal { .. } = operation {
            old.zip(new)
                .for_each(|(left, right)| push(Some(left), Some(right)));
        } else {
            old.for_each(|left| push(Some(left), None));
            new.for_each(|right| push(None, Some(right)));
        }
    }
    let unread = (
        old.len().saturating_sub(READ),
        new.len().saturating_sub(READ),
    );
    if unread != (0, 0) {
        stretches.push(Stretch::Unread(unread.0, unread.1));
    }
}
