//! The rows of the turns pane as arithmetic: turns, and below the unfolded ones their items. A session of
//! 400,000 items is never walked for a key.

use retake_core::session::Session;
use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

/// Which turns are unfolded: all or none, but for some.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Folds {
    unfolded: bool,
    except: BTreeSet<usize>,
    /// Whether what is folded takes one line.
    is_brief: bool,
}

impl Folds {
    pub fn set_all(&mut self, unfolded: bool) {
        self.unfolded = unfolded;
        self.except.clear();
        self.is_brief = false;
    }

    /// Folds all; what is folded already to one line each, and from there to a few again.
    pub fn fold_further(&mut self) {
        let is_brief = !self.unfolded && self.except.is_empty() && !self.is_brief;
        self.set_all(false);
        self.is_brief = is_brief;
    }

    pub fn is_brief(&self) -> bool {
        self.is_brief
    }

    /// Keeps what is unfolded when all have other numbers: one of `old` has `new`.
    pub fn renumber(&mut self, old: usize, new: usize) {
        let numbers = self.except.iter();
        let numbers = numbers.filter_map(|number| (number + new).checked_sub(old));
        self.except = numbers.collect();
    }

    pub fn is_unfolded(&self, turn: usize) -> bool {
        self.unfolded != self.except.contains(&turn)
    }

    pub fn set(&mut self, turn: usize, unfolded: bool) {
        if unfolded == self.unfolded {
            self.except.remove(&turn);
        } else {
            self.except.insert(turn);
        }
    }
}

/// The items that a filter lets through, and the turns that hold them; both in order.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Shown {
    pub items: Vec<u32>,
    pub turns: Vec<u32>,
}

impl Shown {
    /// The items with their turns.
    pub fn new(session: &Session, items: Vec<u32>) -> Self {
        let mut turns: Vec<u32> = items
            .iter()
            .filter_map(|item| session.items.get(*item as usize))
            .map(|item| item.turn)
            .collect();
        turns.dedup();
        Self { items, turns }
    }

    /// The same items after a change at an item, which made the session longer or shorter by so many.
    pub fn shifted(&self, session: &Session, at: usize, by: isize) -> Self {
        let moved = |item: &u32| {
            let item = *item as usize;
            let item = if item < at {
                Some(item)
            } else {
                item.checked_add_signed(by)
            };
            item.filter(|item| *item < session.items.len())
        };
        let items = self.items.iter().filter_map(moved);
        let mut items: Vec<u32> = items.filter_map(|item| u32::try_from(item).ok()).collect();
        items.sort_unstable();
        items.dedup();
        Self::new(session, items)
    }

    /// Whether a filter is on that leaves nothing.
    pub fn hides_all(shown: Option<&Arc<Self>>) -> bool {
        shown.is_some_and(|shown| shown.items.is_empty())
    }
}

/// A row of the tree.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TreeRow {
    /// A turn, by index.
    Turn(usize),
    /// An item below its turn, by index.
    Item(usize),
}

/// Turns and items in their order on the screen.
#[derive(Debug, Clone, Copy)]
pub struct Tree<'a> {
    pub session: &'a Session,
    /// What a filter lets through.
    pub shown: Option<&'a Shown>,
    pub folds: &'a Folds,
}

impl Tree<'_> {
    /// How many turns are shown.
    pub fn turns(&self) -> usize {
        self.shown
            .map_or(self.session.turns.len(), |shown| shown.turns.len())
    }

    pub fn turn(&self, place: usize) -> usize {
        match self.shown {
            Some(shown) => shown.turns.get(place).map_or(0, |turn| *turn as usize),
            None => place,
        }
    }

    /// The place of a turn; of one that is not shown the place after it.
    pub fn place_of_turn(&self, turn: usize) -> usize {
        match self.shown {
            Some(shown) => shown
                .turns
                .partition_point(|other| (*other as usize) < turn),
            None => turn,
        }
    }

    /// How many items are shown.
    pub fn items(&self) -> usize {
        self.shown
            .map_or(self.session.items.len(), |shown| shown.items.len())
    }

    pub fn item(&self, place: usize) -> usize {
        match self.shown {
            Some(shown) => shown.items.get(place).map_or(0, |item| *item as usize),
            None => place,
        }
    }

    /// The place of an item among those that are shown; of one that is not the place after it.
    pub fn place_of_item(&self, item: usize) -> usize {
        match self.shown {
            Some(shown) => shown
                .items
                .partition_point(|other| (*other as usize) < item),
            None => item,
        }
    }

    pub fn places_in(&self, turn: usize) -> Range<usize> {
        let range = self
            .session
            .turns
            .get(turn)
            .map_or(0..0, |turn| turn.items());
        self.place_of_item(range.start)..self.place_of_item(range.end)
    }

    pub fn rows(&self) -> usize {
        self.row_of_place(self.turns())
    }

    /// The row of the turn in this place.
    fn row_of_place(&self, place: usize) -> usize {
        let exceptions: usize = self
            .folds
            .except
            .iter()
            .take_while(|turn| self.place_of_turn(**turn) < place)
            .map(|turn| self.places_in(*turn).len())
            .sum();
        if !self.folds.unfolded {
            return place + exceptions;
        }
        let before = if place < self.turns() {
            self.places_in(self.turn(place)).start
        } else {
            self.items()
        };
        place + before - exceptions
    }

    /// The content of a row.
    pub fn row(&self, row: usize) -> TreeRow {
        let (mut low, mut high) = (0, self.turns());
        while high - low > 1 {
            let middle = low.midpoint(high);
            if self.row_of_place(middle) <= row {
                low = middle;
            } else {
                high = middle;
            }
        }
        let turn = self.turn(low);
        match row.checked_sub(self.row_of_place(low) + 1) {
            Some(below) if self.folds.is_unfolded(turn) => {
                TreeRow::Item(self.item(self.places_in(turn).start + below))
            }
            _ => TreeRow::Turn(turn),
        }
    }

    /// The row of a turn, or of an item where its turn is unfolded.
    pub fn row_of(&self, row: TreeRow) -> usize {
        match row {
            TreeRow::Turn(turn) => self.row_of_place(self.place_of_turn(turn)),
            TreeRow::Item(item) => {
                let turn = self.session.items.get(item).map_or(0, |item| item.turn) as usize;
                let head = self.row_of_place(self.place_of_turn(turn));
                if !self.folds.is_unfolded(turn) {
                    return head;
                }
                let first = self.places_in(turn).start;
                head + 1 + self.place_of_item(item).saturating_sub(first)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use retake_core::session::{Dialect, Speaker, Turn};

    /// Turns of 3, 1 and 2 items.
    fn session() -> Session {
        let mut session = Session::empty(Arc::new(Vec::new()), "test", Dialect::Chat);
        let text = r#"[{"role":"user","content":"a"}]"#;
        let item = crate::tui::state::tests::session(text).items[0];
        for (turn, (first, end)) in [(0_u32, 3), (3, 4), (4, 6)].into_iter().enumerate() {
            session.turns.push(Turn {
                speaker: Speaker::Model,
                first,
                end,
            });
            for _ in first..end {
                session.items.push(retake_core::session::Item {
                    turn: turn as u32,
                    ..item
                });
            }
        }
        session
    }

    fn rows(tree: Tree<'_>) -> Vec<TreeRow> {
        let rows: Vec<_> = (0..tree.rows()).map(|row| tree.row(row)).collect();
        for (at, row) in rows.iter().enumerate() {
            assert_eq!(tree.row_of(*row), at, "{rows:?}");
        }
        rows
    }

    #[test]
    fn folded_turns_are_one_row_each() {
        let session = session();
        let mut folds = Folds::default();
        fn tree<'a>(session: &'a Session, folds: &'a Folds) -> Tree<'a> {
            Tree {
                session,
                shown: None,
                folds,
            }
        }
        assert_eq!(rows(tree(&session, &folds)), [0, 1, 2].map(TreeRow::Turn));
        folds.set(1, true);
        assert_eq!(
            rows(tree(&session, &folds)),
            [
                TreeRow::Turn(0),
                TreeRow::Turn(1),
                TreeRow::Item(3),
                TreeRow::Turn(2)
            ]
        );
        folds.set_all(true);
        folds.set(0, false);
        assert_eq!(
            rows(tree(&session, &folds)),
            [
                TreeRow::Turn(0),
                TreeRow::Turn(1),
                TreeRow::Item(3),
                TreeRow::Turn(2),
                TreeRow::Item(4),
                TreeRow::Item(5)
            ]
        );
    }

    #[test]
    fn a_filter_leaves_its_items_and_their_turns() {
        let session = session();
        let shown = Shown::new(&session, vec![1, 2, 5]);
        let mut folds = Folds::default();
        folds.set_all(true);
        let tree = Tree {
            session: &session,
            shown: Some(&shown),
            folds: &folds,
        };
        assert_eq!(
            rows(tree),
            [
                TreeRow::Turn(0),
                TreeRow::Item(1),
                TreeRow::Item(2),
                TreeRow::Turn(2),
                TreeRow::Item(5)
            ]
        );
    }
}
