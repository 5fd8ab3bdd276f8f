//! A session as the blocks of the transcript without edges, for a page outside of the terminal.

use super::block::{self, BlockContext, BlockRow};
use super::nested::NestedFacts;
use super::order::Order;
use crate::tui::state::detail::{Mode, is_container};
use crate::tui::state::document::Checked;
use crate::tui::state::tree::Folds;
use crate::usage::call_line;
use crate::words::one_line;
use jiff::tz::TimeZone;
use retake_core::content::{Look, markdown_lines};
use retake_core::safe_text::SafeText;
use retake_core::session::{Flags, Kind, Session, SourceError, Speaker};
use retake_core::usage::{Prices, UsageReader, working_folder};
use retake_core::wire::body_within;
use std::iter;

/// Columns of what is shown folded: calls and results are cut there. A page is wider, so that no row of it breaks again.
const FOLDED: usize = 120;
/// Columns of what is unfolded: the page wraps by itself.
const UNFOLDED: usize = 1_000_000;

/// Cells of the first words of a turn.
const WORDS: usize = 100;
/// Bytes of a text in which they are looked for.
const HEAD: usize = 4 * 1024;

/// A session that is written to a page.
pub(crate) struct Page<'a> {
    /// The sessions of the file.
    sessions: &'a [Session],
    /// The index of the one that is written.
    number: usize,
    checked: &'a Checked,
    prices: &'a Prices,
    folder: String,
    has_times: bool,
    unfolded: Folds,
}

/// An item on a page; a call with its result.
pub(crate) struct PageBlock {
    /// The index of the turn that it begins.
    pub(crate) begins_turn: Option<u32>,
    pub(crate) own: PageItem,
    /// The result of the call.
    pub(crate) output: Option<PageItem>,
}

/// The rows of an item.
pub(crate) struct PageItem {
    pub(crate) index: usize,
    pub(crate) folded: Vec<BlockRow>,
    pub(crate) unfolded: Vec<BlockRow>,
}

/// The beginning of a Markdown text in one line, without its marks.
fn first_line(text: &str) -> String {
    let text = &text[..text.floor_char_boundary(HEAD)];
    let lines = markdown_lines(text, UNFOLDED).into_iter();
    let pieces = lines.flat_map(|line| line.pieces.into_iter().chain([(Look::Plain, "\n".into())]));
    let words: String = pieces.map(|(_, words)| words).collect();
    one_line(&words, WORDS)
}

impl<'a> Page<'a> {
    pub(crate) fn new(
        sessions: &'a [Session],
        number: usize,
        checked: &'a Checked,
        prices: &'a Prices,
    ) -> Result<Self, SourceError> {
        let mut unfolded = Folds::default();
        unfolded.set_all(true);
        let session = &sessions[number];
        let first = UsageReader::new(session, prices).item_time(0)?;
        Ok(Self {
            sessions,
            number,
            checked,
            folder: working_folder(session).unwrap_or_default(),
            has_times: first.is_some(),
            prices,
            unfolded,
        })
    }

    pub(crate) fn session(&self) -> &'a Session {
        &self.sessions[self.number]
    }

    /// What a message says, as it is written: what the model thought, and its text. `None` for other items, for
    /// messages that are shown otherwise and for those that are read in part only.
    pub(crate) fn message(&self, item: usize) -> Option<[SafeText; 2]> {
        let session = self.session();
        let item = session.items.get(item)?;
        let is_said = matches!(item.kind, Kind::User | Kind::Assistant | Kind::Reasoning);
        if !is_said || item.flags.has(Flags::INTERRUPT) || item.span.len() > block::UNFOLDED {
            return None;
        }
        let body = body_within(session, item, block::UNFOLDED)?;
        let text = body.text.trim();
        let is_data = item.kind != Kind::User && is_container(text);
        let parts = match item.kind {
            Kind::Reasoning => (text, ""),
            _ => body.text.split_at(body.thought),
        };
        let parts = <[&str; 2]>::from(parts).map(|part| SafeText::from_str(part.trim()));
        (!text.is_empty() && !is_data).then_some(parts)
    }

    /// The turns in the order of the transcript: the index of each, who speaks, and its first words or its calls as in
    /// the transcript, in one line.
    pub(crate) fn turns(&self) -> impl Iterator<Item = (u32, String)> {
        let session = self.session();
        let order = Order {
            session,
            shown: None,
        };
        let items = iter::successors(order.first(), move |item| order.next(*item));
        let items = items.filter(move |item| order.call_of(*item).is_none());
        let items = items.filter(move |item| order.begins_turn(*item));
        items.filter_map(move |item| {
            let index = session.items.get(item)?.turn;
            let turn = session.turns.get(index as usize)?;
            let who = match turn.speaker {
                Speaker::User => "you",
                Speaker::Model => "assistant",
                Speaker::System => "system",
                // Nobody speaks: it has no heading to go to.
                Speaker::File => return None,
            };
            let said = turn.items().find_map(|item| {
                let [thought, text] = self.message(item)?;
                let lines = |text: &SafeText| first_line(text.as_plain());
                Some(lines(&text))
                    .filter(|line| !line.is_empty())
                    .or(Some(lines(&thought)))
            });
            let words = said.unwrap_or_else(|| {
                let is_call = |item: &usize| {
                    let item = session.items.get(*item);
                    item.is_some_and(|item| item.kind == Kind::Call)
                };
                let calls = turn.items().filter(is_call);
                let calls = calls.map(|call| call_line(session, call, &self.folder));
                one_line(&calls.collect::<Vec<_>>().join(", "), WORDS)
            });
            let line = match &*words {
                "" => who.to_owned(),
                words => format!("{who}: {words}"),
            };
            Some((index, line))
        })
    }

    /// The items in the order of the transcript.
    pub(crate) fn blocks(&self) -> impl Iterator<Item = PageBlock> {
        let order = Order {
            session: self.session(),
            shown: None,
        };
        let items = iter::successors(order.first(), move |item| order.next(*item));
        let items = items.filter(move |item| order.call_of(*item).is_none());
        items.map(move |item| {
            let turn = order.session.items.get(item).map(|item| item.turn);
            let item_of = |index| PageItem {
                index,
                folded: self.rows(order, index, &Folds::default(), FOLDED),
                unfolded: self.rows(order, index, &self.unfolded, UNFOLDED),
            };
            PageBlock {
                begins_turn: turn.filter(|_| order.begins_turn(item)),
                own: item_of(item),
                output: order.output_of(item).map(item_of),
            }
        })
    }

    /// The rows of all items in the order of the transcript, for so many columns; in full or folded.
    pub(crate) fn printed(
        &self,
        width: usize,
        is_full: bool,
    ) -> impl Iterator<Item = (usize, Vec<BlockRow>)> {
        let order = Order {
            session: self.session(),
            shown: None,
        };
        let folded = Folds::default();
        let items = iter::successors(order.first(), move |item| order.next(*item));
        items.map(move |item| {
            let folds = if is_full { &self.unfolded } else { &folded };
            (item, self.rows(order, item, folds, width))
        })
    }

    fn rows(&self, order: Order<'_>, item: usize, unfolded: &Folds, width: usize) -> Vec<BlockRow> {
        let context = BlockContext {
            order,
            checked: Some(self.checked),
            prices: self.prices,
            zone: &TimeZone::UTC,
            nested: NestedFacts::default(),
            takes: None,
            unfolded,
            mode: Mode::Pretty,
            width,
            turns_before: Some(0),
            picture_key: None,
            has_times: self.has_times,
            folder: &self.folder,
            sessions: self.sessions,
            number: self.number,
            result_rows: block::RESULT,
        };
        block::rows(&context, item, false)
    }
}
