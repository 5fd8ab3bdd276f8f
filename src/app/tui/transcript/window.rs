//! Which rows of a long history are seen: the place of the window is an item and a row of it, never a row of
//! the whole, so that only the items that are seen are ever laid out.

/// A row of an item.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct RowPlace {
    pub(super) item: usize,
    pub(super) row: usize,
}

/// Items in their order with the rows that each takes.
pub(super) trait Blocks {
    fn next(&self, item: usize) -> Option<usize>;
    fn previous(&self, item: usize) -> Option<usize>;
    /// How many rows an item takes; it may be none.
    fn rows(&mut self, item: usize) -> usize;
}

/// The place so many rows below; the last row where there are fewer.
pub(super) fn down(blocks: &mut impl Blocks, from: RowPlace, mut count: usize) -> RowPlace {
    let (mut at, mut last) = (from, from);
    loop {
        let rows = blocks.rows(at.item);
        if at.row + count < rows {
            at.row += count;
            return at;
        }
        if let Some(row) = rows.checked_sub(1) {
            last = RowPlace { row, ..at };
        }
        let Some(next) = blocks.next(at.item) else {
            return last;
        };
        count -= rows.saturating_sub(at.row).min(count);
        at = RowPlace { item: next, row: 0 };
    }
}

/// The place so many rows above; the first row where there are fewer.
pub(super) fn up(blocks: &mut impl Blocks, from: RowPlace, mut count: usize) -> RowPlace {
    let mut at = from;
    loop {
        if count <= at.row {
            at.row -= count;
            return at;
        }
        let Some(before) = blocks.previous(at.item) else {
            return RowPlace { row: 0, ..at };
        };
        count -= at.row;
        at = RowPlace {
            item: before,
            row: blocks.rows(before),
        };
    }
}

/// How many rows there are from one place to a later one; `None` where it is further away than `most`.
pub(super) fn distance(
    blocks: &mut impl Blocks,
    from: RowPlace,
    to: RowPlace,
    most: usize,
) -> Option<usize> {
    let (mut item, mut passed) = (from.item, 0_usize);
    // Items without rows are passed without an end in sight.
    let mut steps = 0;
    while item != to.item {
        passed += blocks.rows(item);
        steps += 1;
        if passed > most + from.row || steps > FARTHEST {
            return None;
        }
        item = blocks.next(item)?;
    }
    (passed + to.row).checked_sub(from.row)
}

/// Most items between two places that are compared.
const FARTHEST: usize = 4096;

/// Moves the window as little as needed to show an item: whole where it has room, else as much of it as there
/// are rows. What is far away comes to the upper third.
pub(super) fn reveal(
    blocks: &mut impl Blocks,
    top: RowPlace,
    item: usize,
    height: usize,
) -> RowPlace {
    let first = RowPlace { item, row: 0 };
    let rows = blocks.rows(item);
    if let Some(above) = distance(blocks, top, first, 2 * height) {
        if above + rows <= height {
            return top;
        }
        // Its last row comes to the bottom, as long as its first one stays in sight.
        let hidden = above + rows - height;
        return down(blocks, top, hidden.min(above));
    }
    match distance(blocks, first, top, 2 * height + rows) {
        Some(_) if rows <= height => first,
        // It is seen from the row where it was read last, or comes from above: its end.
        Some(hidden) if hidden < rows => top,
        Some(_) => RowPlace {
            item,
            row: rows - height,
        },
        None => up(blocks, first, height / 3),
    }
}

/// Moves the window to what was jumped to, from `first` to `end`: not at all where all of it is seen, or where it
/// begins in the upper third; else it comes there.
pub(super) fn jump(
    blocks: &mut impl Blocks,
    top: RowPlace,
    (first, end): (RowPlace, RowPlace),
    height: usize,
) -> RowPlace {
    let third = (height / 3).saturating_sub(1);
    let above = distance(blocks, top, first, height);
    let to_end = distance(blocks, top, end, height);
    let is_seen = above.is_some() && to_end.is_some_and(|rows| rows <= height);
    match is_seen || above.is_some_and(|above| above <= third) {
        true => top,
        false => up(blocks, first, third),
    }
}

/// Moves the window up where the history ends above its last row.
pub(super) fn stop_at_end(blocks: &mut impl Blocks, top: RowPlace, height: usize) -> RowPlace {
    let (mut item, mut rows) = (top.item, blocks.rows(top.item).saturating_sub(top.row));
    while rows < height {
        match blocks.next(item) {
            Some(next) => item = next,
            None => return up(blocks, top, height - rows),
        }
        rows += blocks.rows(item);
    }
    top
}

/// Whether there are rows above or below a window.
pub(super) fn is_cut(blocks: &mut impl Blocks, top: RowPlace, height: usize) -> bool {
    let above = up(blocks, top, 1);
    let last = down(blocks, top, height.saturating_sub(1));
    distance(blocks, above, top, 1) != Some(0) || down(blocks, last, 1) != last
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    struct Heights(Vec<usize>);

    impl Blocks for Heights {
        fn next(&self, item: usize) -> Option<usize> {
            (item + 1 < self.0.len()).then_some(item + 1)
        }

        fn previous(&self, item: usize) -> Option<usize> {
            item.checked_sub(1)
        }

        fn rows(&mut self, item: usize) -> usize {
            self.0[item]
        }
    }

    #[test]
    fn a_window_moves_as_little_as_it_can() {
        let mut blocks = Heights(vec![3, 0, 2, 20, 1, 1, 1, 1, 1, 1, 1, 1, 1, 1, 4]);
        let at = |item, row| RowPlace { item, row };
        // Window of six rows: from, item, where it comes to be.
        let table = [
            (at(0, 0), 2, at(0, 0)),
            (at(0, 0), 3, at(3, 0)),
            (at(3, 9), 3, at(3, 9)),
            (at(5, 0), 3, at(3, 14)),
            (at(3, 14), 4, at(3, 15)),
            (at(8, 0), 7, at(7, 0)),
            (at(14, 0), 0, at(0, 0)),
            (at(0, 0), 14, at(12, 0)),
        ];
        for (top, item, expected) in table {
            assert_eq!(
                reveal(&mut blocks, top, item, 6),
                expected,
                "{top:?} {item}"
            );
        }
        assert_eq!(stop_at_end(&mut blocks, at(14, 1), 6), at(12, 0));
        assert_eq!(stop_at_end(&mut Heights(vec![1, 1]), at(1, 0), 6), at(0, 0));
    }

    #[test]
    fn what_was_jumped_to_is_seen_whole_or_begins_in_the_upper_third() {
        let mut blocks = Heights(vec![1; 40]);
        let at = |item| RowPlace { item, row: 0 };
        // Window of nine rows: from, the first row, the row after the last one, where it comes to be.
        let table = [
            (0, 4, 9, 0),
            (0, 4, 10, 2),
            (0, 2, 30, 0),
            (0, 8, 12, 6),
            (0, 30, 31, 28),
            (20, 4, 9, 2),
        ];
        for (top, first, end, expected) in table {
            let moved = jump(&mut blocks, at(top), (at(first), at(end)), 9);
            assert_eq!(moved, at(expected), "{top} {first} {end}");
        }
    }

    proptest! {
        #[test]
        fn down_and_up_lead_back(heights in prop::collection::vec(0_usize..6, 1..20), count in 0_usize..40) {
            let mut blocks = Heights(heights);
            let first = (0..blocks.0.len()).find(|item| blocks.0[*item] > 0);
            let from = RowPlace { item: first.unwrap_or(0), row: 0 };
            let to = down(&mut blocks, from, count);
            if let Some(passed) = distance(&mut blocks, from, to, 1000) {
                prop_assert!(passed <= count);
                prop_assert_eq!(up(&mut blocks, to, passed), from);
            }
        }
    }
}
