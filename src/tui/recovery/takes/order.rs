//! The order of the tree: every take below the one that it came from, and what stands left of it.

use super::TakeRow;
use std::collections::{BTreeMap, BTreeSet};

/// Levels that are drawn; what lies deeper stands in one column.
const DEEPEST: usize = 12;

/// Where a take hangs: for each level above whether it goes on below, and whether the take is the last of its parent.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub(super) struct Branch {
    /// Of each level from the root: whether another take follows there.
    pub(super) goes_on: Vec<bool>,
    /// How many levels further it hangs, where it hangs too deep to be drawn there.
    pub(super) deeper: usize,
}

/// Puts takes in order. What has no parent among them hangs at the root, and so does the first of takes that lead in a circle.
pub(super) fn ordered(rows: Vec<TakeRow>) -> (Vec<TakeRow>, Vec<Branch>) {
    let ids: BTreeSet<u32> = rows.iter().map(|row| row.id).collect();
    let mut left: BTreeMap<u32, TakeRow> = BTreeMap::new();
    let mut children: BTreeMap<Option<u32>, Vec<u32>> = BTreeMap::new();
    for row in rows {
        let parent = row.parent.filter(|id| ids.contains(id) && *id != row.id);
        if left.insert(row.id, row.clone()).is_none() {
            children.entry(parent).or_default().push(row.id);
        }
    }
    for below in children.values_mut() {
        below.sort_unstable();
    }
    let mut placed = (Vec::new(), Vec::new());
    let roots = children.get(&None).cloned().unwrap_or_default();
    for root in roots {
        place(root, &mut left, &children, &mut placed);
    }
    while let Some(first) = left.keys().next().copied() {
        place(first, &mut left, &children, &mut placed);
    }
    placed
}

/// Places a take and all below it. Takes can be a thousand deep, so there is a stack and no recursion.
fn place(
    root: u32,
    left: &mut BTreeMap<u32, TakeRow>,
    children: &BTreeMap<Option<u32>, Vec<u32>>,
    placed: &mut (Vec<TakeRow>, Vec<Branch>),
) {
    let mut open = vec![(root, Branch::default())];
    while let Some((id, branch)) = open.pop() {
        let Some(row) = left.remove(&id) else {
            continue;
        };
        let below = children.get(&Some(id)).map_or(&[][..], Vec::as_slice);
        let below: Vec<u32> = below
            .iter()
            .copied()
            .filter(|id| left.contains_key(id))
            .collect();
        let last = below.last().copied();
        for child in below.iter().rev() {
            let mut branch = branch.clone();
            if branch.goes_on.len() < DEEPEST {
                branch.goes_on.push(Some(*child) != last);
            } else {
                branch.deeper += 1;
            }
            open.push((*child, branch));
        }
        placed.0.push(row);
        placed.1.push(branch);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(id: u32, parent: Option<u32>) -> TakeRow {
        TakeRow {
            id,
            parent,
            ..TakeRow::default()
        }
    }

    #[test]
    fn takes_in_a_circle_and_without_parents_are_still_shown() {
        let rows = vec![
            row(5, Some(6)),
            row(6, Some(5)),
            row(9, Some(77)),
            row(1, Some(0)),
            row(0, None),
            row(1, Some(0)),
            row(3, Some(3)),
        ];
        let (rows, branches) = ordered(rows);
        let ids: Vec<u32> = rows.iter().map(|row| row.id).collect();
        assert_eq!(ids, [0, 1, 3, 9, 5, 6]);
        assert_eq!(rows.len(), branches.len());
    }

    #[test]
    fn a_thousand_takes_deep_is_no_wider_than_twelve() {
        let rows = (0..1000).map(|id: u32| row(id, id.checked_sub(1)));
        let (rows, branches) = ordered(rows.collect());
        assert_eq!(rows.len(), 1000);
        assert_eq!(
            (branches[999].goes_on.len(), branches[999].deeper),
            (DEEPEST, 987)
        );
    }
}
