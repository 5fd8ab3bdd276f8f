//! The transcript: the whole conversation in one flowing view.
//!
//! Only what is seen is laid out: [`window`] knows the place of the window as an item and a row of it, [`block`]
//! makes the rows of one item, [`order`] says which item comes next. The cursor is that of the columns, an
//! item, so that every command means the same in both.

pub(crate) mod block;
pub(super) mod draw;
pub(super) mod keys;
pub(crate) mod nested;
mod order;
pub(crate) mod page;
pub(crate) mod print;
mod window;

use super::filter::{Filter, FilterBar};
use super::state::detail::Mode;
use super::state::document::Checked;
use super::state::takes::TakesView;
use super::state::tree::{Folds, Shown};
use crate::tui::render::PICTURE_KEY;
use crate::tui::text::{plain_of, row_matches};
use block::{BlockContext, BlockRow, RowKind};
use jiff::tz::TimeZone;
use nested::NestedFacts;
use order::Order;
use retake_core::rules::Severity;
use retake_core::session::Session;
use retake_core::usage::{Prices, UsageReader, working_folder};
use retake_live::search::Needle;
use std::collections::HashMap;
use std::ops::Range;
use std::sync::Arc;
use window::{Blocks, RowPlace};

/// How many blocks are kept before all are forgotten.
const KEPT: usize = 2048;

/// Where the transcript is, and what of it is seen.
#[derive(Debug, Default)]
pub struct Transcript {
    /// Whether it is shown; else the columns are.
    pub is_on: bool,
    /// Items that are shown in full, results with their calls.
    pub unfolded: Folds,
    /// The calls from which the operator went into the session of a sub-agent.
    parents: Vec<Parent>,
    /// Where the operator read before the list of findings was opened.
    pub read_at: Option<Box<keys::ReadingPlace>>,
    top: RowPlace,
    /// The item that the window was moved for.
    shown_for: Option<usize>,
    /// The last item, where its end is to be seen.
    end_of: Option<usize>,
    /// What was jumped to and is to be seen, not just the item with the cursor.
    jumped_to: Option<Jump>,
    /// Whether what the cursor is on was unfolded since.
    has_unfolded: bool,
    /// The rows of the window: the item, the row.
    rows: Vec<(usize, BlockRow)>,
    /// Whether there are rows above or below the window.
    is_cut: bool,
    /// What the blocks were made for.
    made_for: Option<BlocksKey>,
    /// What a filter let through then: it decides where the heads of turns stand.
    made_with: Option<Arc<Shown>>,
    /// Whether the place that is searched for is to be seen.
    seeks: bool,
    /// What was unfolded to show such a place.
    opened_by_search: Option<usize>,
    highlights: Vec<Highlight>,
    /// Whether what the cursor is on can be folded or unfolded.
    is_foldable: bool,
    blocks: HashMap<(usize, bool), Arc<[BlockRow]>>,
    recording: RecordingFacts,
}

/// What a command led to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Jump {
    Turn,
    /// An item, with its call or its result.
    Item,
}

/// A part of a row of the window with the text that is searched for.
#[derive(Debug)]
struct Highlight {
    /// The row, counted from the top of the window.
    row: usize,
    /// Bytes of its letters.
    range: Range<usize>,
    /// Whether `n` went there.
    is_current: bool,
}

/// A call that began a sub-agent.
#[derive(Debug, Clone)]
struct Parent {
    session: usize,
    item: usize,
    top: RowPlace,
    unfolded: Folds,
    filter_bar: FilterBar,
    filter: Option<Filter>,
    only_marked: bool,
    /// The session of the sub-agent.
    nested: usize,
}

/// What the beginning of a recording says of all of it.
#[derive(Debug, Default)]
struct RecordingFacts {
    /// The session, and how long its source is: what they were read for.
    read_for: Option<(usize, u64)>,
    has_times: bool,
    folder: String,
}

impl RecordingFacts {
    fn read(&mut self, subject: &ShownSession<'_>) {
        let read_for = Some((subject.number, subject.session.source.len()));
        if self.read_for == read_for {
            return;
        }
        let mut reader = UsageReader::new(subject.session, subject.prices);
        let mut has_time = |item| reader.item_time(item).is_ok_and(|at| at.is_some());
        *self = Self {
            read_for,
            has_times: [0, 1, subject.cursor].into_iter().any(&mut has_time),
            folder: working_folder(subject.session).unwrap_or_default(),
        };
    }
}

/// Blocks that were made for another one are made anew.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct BlocksKey {
    width: usize,
    session: usize,
    revision: u64,
    mode: Mode,
}

/// Most rows of a folded result, where the operator sets nothing else.
pub const RESULT_ROWS: usize = block::RESULT;

/// What the transcript shows of.
#[derive(Debug, Clone, Copy)]
pub struct ShownSession<'a> {
    pub session: &'a Session,
    /// Those of its file.
    pub sessions: &'a [Session],
    pub number: usize,
    pub shown: Option<&'a Arc<Shown>>,
    pub checked: Option<&'a Checked>,
    pub prices: &'a Prices,
    pub zone: &'a TimeZone,
    pub nested: NestedFacts<'a>,
    pub takes: &'a TakesView,
    /// How many turns come before the first one, where that is known.
    pub turns_before: Option<usize>,
    /// How items are shown.
    pub mode: Mode,
    /// Counts up whenever something else is known.
    pub revision: u64,
    /// The item with the cursor.
    pub cursor: usize,
    /// The text whose places are set apart.
    pub needle: Option<&'a Arc<Needle>>,
    /// Most rows of a folded result.
    pub result_rows: usize,
    /// Which of them in the item with the cursor is the current one.
    pub occurrence: usize,
    /// Columns and rows that there are for it.
    pub size: (usize, usize),
}

/// A cell of the scrollbar.
struct ScrollCell {
    is_seen: bool,
    worst: Option<Severity>,
    is_compaction: bool,
}

/// How many findings of a cell are looked at for the worst.
const LOOKED_AT: usize = 64;

/// The blocks of a page, each made when it is asked for.
struct Made<'a> {
    page: BlockContext<'a>,
    cursor: usize,
    blocks: &'a mut HashMap<(usize, bool), Arc<[BlockRow]>>,
}

impl Made<'_> {
    fn block(&mut self, item: usize) -> Arc<[BlockRow]> {
        let key = (item, item == self.cursor);
        if let Some(block) = self.blocks.get(&key) {
            return block.clone();
        }
        if self.blocks.len() >= KEPT {
            self.blocks.clear();
        }
        let block: Arc<[BlockRow]> = block::rows(&self.page, item, key.1).into();
        self.blocks.insert(key, block.clone());
        block
    }
}

impl Blocks for Made<'_> {
    fn next(&self, item: usize) -> Option<usize> {
        self.page.order.next(item)
    }

    fn previous(&self, item: usize) -> Option<usize> {
        self.page.order.previous(item)
    }

    fn rows(&mut self, item: usize) -> usize {
        self.block(item).len()
    }
}

impl Transcript {
    /// Folds or unfolds an item with what belongs to it.
    pub fn set_unfolded(&mut self, item: usize, unfolded: bool) {
        self.unfolded.set(item, unfolded);
        self.has_unfolded = unfolded;
        self.opened_by_search = None;
        self.blocks.clear();
    }

    pub fn set_all_unfolded(&mut self, unfolded: bool) {
        match unfolded {
            true => self.unfolded.set_all(true),
            false => self.unfolded.fold_further(),
        }
        self.blocks.clear();
    }

    /// Whether what the cursor is on can be folded or unfolded.
    pub fn can_fold(&self) -> bool {
        self.is_on && self.is_foldable
    }

    /// Keeps the window where it is when an item has another number in a new document.
    pub fn renumber(&mut self, old: usize, new: usize) {
        if old == new {
            return;
        }
        match (self.top.item + new).checked_sub(old) {
            Some(item) => self.top.item = item,
            None => self.top = RowPlace::default(),
        }
        self.shown_for = self.shown_for.filter(|item| *item == old).map(|_| new);
        self.unfolded.renumber(old, new);
        // The window is not that of another session.
        self.made_for = None;
    }

    /// How many items are laid out.
    #[cfg(test)]
    pub fn laid_out(&self) -> usize {
        self.blocks.len()
    }

    /// Does something with the blocks of a subject and the top of the window.
    fn with<T>(
        &mut self,
        subject: &ShownSession<'_>,
        act: impl FnOnce(&mut Made<'_>, &mut RowPlace) -> T,
    ) -> T {
        // One column for the cursor, two for the scrollbar.
        let width = subject.size.0.saturating_sub(3).max(1);
        let key = BlocksKey {
            width,
            session: subject.number,
            revision: subject.revision,
            mode: subject.mode,
        };
        let is_same_filter = match (&self.made_with, subject.shown) {
            (Some(made), Some(shown)) => Arc::ptr_eq(made, shown),
            (None, None) => true,
            (Some(_), None) | (None, Some(_)) => false,
        };
        if self.made_for != Some(key) || !is_same_filter {
            self.made_with = subject.shown.cloned();
            self.blocks.clear();
            self.recording.read(subject);
            if self
                .made_for
                .is_some_and(|made| made.session != key.session)
            {
                (self.top, self.unfolded) = (RowPlace::default(), Folds::default());
            }
            self.made_for = Some(key);
        }
        let order = Order {
            session: subject.session,
            shown: subject.shown.map(|shown| &**shown),
        };
        let mut made = Made {
            page: BlockContext {
                order,
                checked: subject.checked,
                prices: subject.prices,
                zone: subject.zone,
                nested: subject.nested,
                takes: Some(subject.takes),
                unfolded: &self.unfolded,
                mode: subject.mode,
                width,
                turns_before: subject.turns_before,
                picture_key: Some(PICTURE_KEY),
                has_times: self.recording.has_times,
                folder: &self.recording.folder,
                sessions: subject.sessions,
                number: subject.number,
                result_rows: subject.result_rows,
            },
            cursor: subject.cursor,
            blocks: &mut self.blocks,
        };
        act(&mut made, &mut self.top)
    }

    /// Whether folding or unfolding an item, with what belongs to it, changes what is seen.
    pub fn is_foldable(&mut self, subject: &ShownSession<'_>) -> bool {
        self.with(subject, |made, _| {
            let order = made.page.order;
            let own = order.call_of(subject.cursor).unwrap_or(subject.cursor);
            if made.page.unfolded.is_unfolded(own) {
                return true;
            }
            let mut unfolded = Folds::default();
            unfolded.set(own, true);
            let page = BlockContext {
                unfolded: &unfolded,
                ..made.page
            };
            let mut parts = [Some(own), order.output_of(own)].into_iter().flatten();
            parts.any(|item| {
                let is_current = item == subject.cursor;
                let folded = made.block(item);
                folded.iter().any(BlockRow::leaves_out)
                    || block::rows(&page, item, is_current)[..] != folded[..]
            })
        })
    }

    /// Has more shown than the first row of the item with the cursor.
    pub fn jump_to(&mut self, jump: Jump) {
        self.jumped_to = Some(jump);
    }

    /// Has the place of the text that is searched for shown in the item with the cursor.
    pub fn seek(&mut self) {
        self.seeks = true;
    }

    /// The row with the place that is searched for; what is folded is unfolded where that shows it, and folded again
    /// once the search goes on elsewhere.
    fn found_row(&mut self, subject: &ShownSession<'_>, needle: &Needle) -> Option<usize> {
        let own = self.with(subject, |made, _| made.page.order.call_of(subject.cursor));
        let own = own.unwrap_or(subject.cursor);
        if let Some(opened) = self.opened_by_search.filter(|opened| *opened != own) {
            self.set_unfolded(opened, false);
        }
        let mut places = row_matches(&self.texts(subject, subject.cursor), needle);
        if places.len() <= subject.occurrence && !self.unfolded.is_unfolded(own) {
            self.set_unfolded(own, true);
            let all = row_matches(&self.texts(subject, subject.cursor), needle);
            match all.len() > places.len() {
                true => self.opened_by_search = Some(own),
                false => self.set_unfolded(own, false),
            }
            places = all;
        }
        let place = places.get(subject.occurrence).or(places.last());
        place.map(|place| place.row)
    }

    /// The letters of the rows of an item.
    fn texts(&mut self, subject: &ShownSession<'_>, item: usize) -> Vec<String> {
        let block = self.with(subject, |made, _| made.block(item));
        block
            .iter()
            .map(|row| searched_text(row, subject.mode))
            .collect()
    }

    /// Where the text that is searched for is in the window.
    fn find_highlights(&mut self, subject: &ShownSession<'_>, needle: &Needle) -> Vec<Highlight> {
        let mut highlights = Vec::new();
        let mut first = 0;
        while let Some((item, _)) = self.rows.get(first) {
            let item = *item;
            let rows = self.rows[first..].iter();
            let own = rows.take_while(|(other, _)| *other == item);
            let mut texts: Vec<String> = own
                .map(|(_, row)| searched_text(row, subject.mode))
                .collect();
            let end = first + texts.len();
            // Which place it is counts from the first row of the item.
            let mut above = 0;
            if item == subject.cursor {
                above = if first == 0 { self.top.row } else { 0 };
                texts = self.texts(subject, item);
                texts.truncate(above + end - first);
            }
            let places = row_matches(&texts, needle);
            let current = subject.occurrence.min(places.len().saturating_sub(1));
            for (number, place) in places.iter().enumerate() {
                let parts = place.parts();
                let seen = parts.filter_map(|(row, range)| {
                    let row = (first + row).checked_sub(above)?;
                    Some((row, range.clone())).filter(|(row, _)| (first..end).contains(row))
                });
                highlights.extend(seen.map(|(row, range)| Highlight {
                    row,
                    range,
                    is_current: item == subject.cursor && number == current,
                }));
            }
            first = end;
        }
        highlights
    }

    /// Moves the window to the cursor and makes the rows that are seen; false where the place that is searched for is
    /// in none of the rows of its item.
    pub fn prepare(&mut self, subject: &ShownSession<'_>) -> bool {
        let sought = subject.needle.filter(|_| std::mem::take(&mut self.seeks));
        let found = sought.and_then(|needle| self.found_row(subject, needle));
        let height = subject.size.1;
        let has_moved = self.shown_for != Some(subject.cursor);
        self.shown_for = Some(subject.cursor);
        let has_unfolded = std::mem::take(&mut self.has_unfolded);
        let jump = self.jumped_to.take();
        let end = self.end_of.take().filter(|item| *item == subject.cursor);
        (self.rows, self.is_cut) = self.with(subject, |made, top| {
            if Shown::hides_all(subject.shown) {
                return (Vec::new(), false);
            }
            if !made.page.order.is_shown(top.item) {
                *top = RowPlace {
                    item: subject.cursor,
                    row: 0,
                };
            }
            top.row = top.row.min(made.rows(top.item).saturating_sub(1));
            if let Some(item) = end {
                *top = window::down(made, RowPlace { item, row: 0 }, usize::MAX / 4);
            }
            let first = match (found, jump) {
                (Some(row), _) => Some(RowPlace {
                    item: subject.cursor,
                    row,
                }),
                (None, Some(Jump::Turn)) => Some(RowPlace {
                    item: subject.cursor,
                    row: 0,
                }),
                (None, Some(Jump::Item)) => {
                    let call = made.page.order.call_of(subject.cursor);
                    let item = call.unwrap_or(subject.cursor);
                    Some(RowPlace { item, row: 0 })
                }
                (None, None) => None,
            };
            if let Some(first) = first {
                let end = match jump {
                    Some(Jump::Turn) => end_of_turn(made, first.item, height),
                    Some(Jump::Item) | None => end_of_pair(made, first.item),
                };
                *top = window::jump(made, *top, (first, end), height);
            }
            let is_settled = first.is_some_and(|first| first.item == subject.cursor);
            if has_moved && !is_settled || !is_seen(made, *top, subject.cursor, height) {
                *top = window::reveal(made, *top, subject.cursor, height);
            }
            if has_unfolded && first.is_none() {
                // The result as far as it has room, but the call in any case.
                let order = made.page.order;
                let call = order.call_of(subject.cursor).unwrap_or(subject.cursor);
                for item in order.output_of(call).into_iter().chain([call]) {
                    *top = window::reveal(made, *top, item, height);
                }
                // Its first row, then: a call may itself be taller than the window.
                let first = RowPlace { item: call, row: 0 };
                let above = window::distance(made, *top, first, height);
                if call == subject.cursor && above.is_none_or(|above| above >= height) {
                    *top = first;
                }
            }
            *top = window::stop_at_end(made, *top, height);
            let is_cut = window::is_cut(made, *top, height);
            (rows_from(made, *top, height), is_cut)
        });
        self.is_foldable = self.is_foldable(subject);
        self.highlights = match subject.needle {
            Some(needle) => self.find_highlights(subject, needle),
            None => Vec::new(),
        };
        sought.is_none() || found.is_some()
    }

    /// What of the whole is seen, and what lies in which part of it, from top to bottom in so many cells; nothing
    /// where everything is seen.
    fn overview(
        &self,
        items: usize,
        checked: Option<&Checked>,
        compactions: &[usize],
        height: usize,
    ) -> Vec<ScrollCell> {
        let ends = (self.rows.first(), self.rows.last());
        let (Some((first, _)), Some((last, _))) = ends else {
            return Vec::new();
        };
        if !self.is_cut || height == 0 {
            return Vec::new();
        }
        let begin = |cell: usize| cell * items / height;
        (0..height)
            .map(|cell| {
                let range = begin(cell)..begin(cell + 1).max(begin(cell) + 1);
                let found = checked.map_or(&[][..], |checked| {
                    let numbers = checked.range(range.clone());
                    &checked.findings()[numbers.start..numbers.end.min(numbers.start + LOOKED_AT)]
                });
                let next = compactions.partition_point(|item| *item < range.start);
                let compaction = compactions.get(next);
                ScrollCell {
                    is_seen: *first < range.end && range.start <= *last,
                    worst: found
                        .iter()
                        .filter(|finding| !finding.is_settled)
                        .map(|finding| finding.severity)
                        .max(),
                    is_compaction: compaction.is_some_and(|item| range.contains(item)),
                }
            })
            .collect()
    }

    /// The item in a row of the window.
    pub fn item_at(&self, row: usize) -> Option<usize> {
        self.rows.get(row).map(|(item, _)| *item)
    }

    /// Whether a row of the window says that something is left out.
    pub fn leaves_out_at(&self, row: usize) -> bool {
        self.rows.get(row).is_some_and(|(_, row)| row.leaves_out())
    }

    pub fn has_scrollbar(&self) -> bool {
        self.is_cut
    }

    /// Moves the window to a cell of the scrollbar; gives the item for the cursor.
    fn scroll_to(&mut self, subject: &ShownSession<'_>, cell: usize, cells: usize) -> usize {
        let place = cell * subject.session.items.len();
        let (item, part) = (place / cells, place % cells);
        let cursor = self.with(subject, |made, top| {
            let item = made.page.order.nearest(item).unwrap_or(subject.cursor);
            let row = made.rows(item) * part / cells;
            let to = window::down(made, RowPlace { item, row }, 0);
            *top = window::stop_at_end(made, to, subject.size.1);
            to.item
        });
        self.shown_for = Some(cursor);
        cursor
    }

    /// Moves the window; gives the item for the cursor: where it is if that is still seen, else the nearest
    /// that is.
    fn scroll(&mut self, subject: &ShownSession<'_>, count: usize, is_forward: bool) -> usize {
        let height = subject.size.1;
        let cursor = self.with(subject, |made, top| {
            let to = match is_forward {
                true => window::down(made, *top, count),
                false => window::up(made, *top, count),
            };
            *top = window::stop_at_end(made, to, height);
            if is_seen(made, *top, subject.cursor, height) {
                return subject.cursor;
            }
            match is_forward {
                true => top.item,
                false => window::down(made, *top, height.saturating_sub(1)).item,
            }
        });
        self.shown_for = Some(cursor);
        cursor
    }

    /// Moves the window; whether it came to the end of the history, or to its beginning.
    fn scroll_to_edge(
        &mut self,
        subject: &ShownSession<'_>,
        count: usize,
        is_forward: bool,
    ) -> (usize, bool) {
        let before = self.top;
        let cursor = self.scroll(subject, count, is_forward);
        let moved = self.with(subject, |made, top| match is_forward {
            true => window::distance(made, before, *top, count),
            false => window::distance(made, *top, before, count),
        });
        (cursor, moved.is_some_and(|moved| moved < count))
    }

    /// The next item below or above the cursor that has rows; `None` where the cursor stays and the window moved
    /// within a tall item, or where there is none.
    fn step(&mut self, subject: &ShownSession<'_>, is_forward: bool) -> Step {
        let height = subject.size.1;
        self.with(subject, |made, top| {
            let here = RowPlace {
                item: subject.cursor,
                row: 0,
            };
            let rows = made.rows(subject.cursor);
            let hidden = match is_forward {
                true => {
                    let end = RowPlace { row: rows, ..here };
                    let below = window::distance(made, *top, end, usize::MAX / 4);
                    below.is_some_and(|below| below > height)
                }
                false => top.item == subject.cursor && top.row > 0,
            };
            if hidden && rows > height {
                *top = match is_forward {
                    true => window::down(made, *top, STRIDE),
                    false => window::up(made, *top, STRIDE.min(top.row)),
                };
                return Step::Scrolled;
            }
            let mut item = subject.cursor;
            loop {
                let next = match is_forward {
                    true => made.next(item),
                    false => made.previous(item),
                };
                match next {
                    Some(next) if made.rows(next) == 0 => item = next,
                    Some(next) => return Step::To(next),
                    None => return Step::Nowhere,
                }
            }
        })
    }
}

/// Rows that a key scrolls within an item that has no room.
const STRIDE: usize = 3;

/// What a step leads to.
enum Step {
    To(usize),
    /// The item is taller than the window, which moved on in it.
    Scrolled,
    Nowhere,
}

/// The letters of a row in which a text is searched for: those of the item.
fn searched_text(row: &BlockRow, mode: Mode) -> String {
    match row.kind {
        // Raw JSON has all that its title says.
        RowKind::Title if mode == Mode::Raw => String::new(),
        RowKind::Gap | RowKind::Head => String::new(),
        RowKind::Title | RowKind::Body => plain_of(&row.left),
    }
}

/// Whether a row of an item is in the window.
fn is_seen(made: &mut Made<'_>, top: RowPlace, item: usize, height: usize) -> bool {
    if top.item == item {
        return true;
    }
    let first = RowPlace { item, row: 0 };
    let above = window::distance(made, top, first, height);
    above.is_some_and(|above| above < height) && made.rows(item) > 0
}

/// The place after the last row of the turn that an item begins, or after as many rows as a window has.
fn end_of_turn(made: &mut Made<'_>, first: usize, height: usize) -> RowPlace {
    let items = &made.page.order.session.items;
    let turn = |item: usize| items.get(item).map(|item| item.turn);
    let (mut item, mut rows) = (first, made.rows(first));
    while let Some(next) = made.next(item).filter(|next| turn(*next) == turn(first)) {
        if rows > height {
            break;
        }
        item = next;
        rows += made.rows(item);
    }
    let row = made.rows(item);
    RowPlace { item, row }
}

/// The place after the last row of an item, and of its result.
fn end_of_pair(made: &mut Made<'_>, item: usize) -> RowPlace {
    let item = made.page.order.output_of(item).unwrap_or(item);
    let row = made.rows(item);
    RowPlace { item, row }
}

fn rows_from(made: &mut Made<'_>, top: RowPlace, height: usize) -> Vec<(usize, BlockRow)> {
    let (mut rows, mut item, mut from) = (Vec::with_capacity(height), top.item, top.row);
    loop {
        let block = made.block(item);
        let seen = block.iter().skip(from).take(height - rows.len());
        rows.extend(seen.map(|row| (item, row.clone())));
        match made.next(item) {
            Some(next) if rows.len() < height => (item, from) = (next, 0),
            _ => return rows,
        }
    }
}
