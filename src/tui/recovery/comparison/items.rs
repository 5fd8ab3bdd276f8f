//! The parts of a comparison: what is the same, and the items that are not, beside each other.

use super::super::difference::compare;
use super::{Heading, Pair};
use crate::safe_text::SafeText;
use crate::session::{Change, Kind};

/// Most items that are read in a row of differences.
const READ: usize = 200;

/// One of the two takes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Which {
    /// The one on the left.
    Left,
    /// The one on the right.
    Right,
}

/// An item, as it is compared.
#[derive(Debug, Clone)]
pub struct ItemText {
    /// What it is.
    pub kind: Kind,
    /// The tool; empty where there is none.
    pub tool: String,
    /// Its JSON.
    pub text: String,
}

/// A part of the comparison.
#[derive(Debug, Clone)]
pub(super) enum Stretch {
    /// Items that are the same in both.
    Same {
        /// How many.
        count: usize,
        /// The first one's number on both sides, counted from 1.
        first: (usize, usize),
    },
    /// An item that differs, or that one side has alone.
    Pair(Box<Pair>),
    /// So many further differences.
    Unread(usize),
}

/// The parts of a comparison, with the items read that differ.
pub(super) fn stretches(
    changes: &[Change],
    read: &dyn Fn(Which, usize) -> ItemText,
) -> Vec<Stretch> {
    let mut stretches = Vec::new();
    let mut in_a_row = 0;
    for change in changes {
        let (left, right) = match change {
            Change::Same { before, after } => {
                in_a_row = 0;
                stretches.push(Stretch::Same {
                    count: before.len(),
                    first: (before.start + 1, after.start + 1),
                });
                continue;
            }
            Change::Changed { before, after } => (Some(*before), Some(*after)),
            Change::Removed { before } => (Some(*before), None),
            Change::Added { after } => (None, Some(*after)),
        };
        in_a_row += 1;
        if in_a_row <= READ {
            stretches.push(Stretch::Pair(Box::new(pair(left, right, read))));
        } else if let Some(Stretch::Unread(count)) = stretches.last_mut() {
            *count += 1;
        } else {
            stretches.push(Stretch::Unread(1));
        }
    }
    stretches
}

fn pair(
    left: Option<usize>,
    right: Option<usize>,
    read: &dyn Fn(Which, usize) -> ItemText,
) -> Pair {
    let item = |which, at: Option<usize>| at.map(|at| (at, read(which, at)));
    let (left, right) = (item(Which::Left, left), item(Which::Right, right));
    let heading = |side: &Option<(usize, ItemText)>| {
        let (at, item) = side.as_ref()?;
        Some(Heading {
            number: at + 1,
            kind: item.kind.word(),
            tool: SafeText::single_line(&item.tool, 80),
        })
    };
    let text = |side: &Option<(usize, ItemText)>| {
        let text = side.as_ref().map(|(_, item)| item.text.clone());
        text.unwrap_or_default()
    };
    Pair {
        left: heading(&left),
        right: heading(&right),
        rows: compare(&text(&left), &text(&right)),
    }
}
