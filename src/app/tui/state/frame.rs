//! The rows that are seen, as words: all foreign text is made drawable here, and nothing is fetched for
//! rows out of sight.

use super::State;
use super::document::{Checked, Counts, Document, Extent, Place, count_turn};
use super::layout::Pane;
use super::preview::{speaks_for, tool_of};
use super::tree::{Row, Tree};
use crate::tui::live::reply::{self, Part};
use crate::tui::state::Follow;
use crate::tui::text::Line;
use retake_core::rules::Severity;
use retake_core::safe_text::SafeText;
use retake_core::session::{Flags, Kind, PairStatus, Session, Speaker};
use retake_live::inspect::first_words;

/// What the panes show.
#[derive(Debug, Default)]
pub struct Frame {
    pub turns: Vec<TreeRow>,
    /// How many rows the turns pane would have.
    pub turns_total: usize,
    pub items: Vec<ItemRow>,
    /// How many items the turn has.
    pub items_total: usize,
    pub findings: Vec<FindingRow>,
    pub sessions: Vec<SessionRow>,
    pub reply: Vec<Part>,
    /// The reply in full, where it stands in the place of the item.
    pub reply_lines: Vec<Line>,
    /// The finding under the cursor: its severity, rule and sentence.
    pub finding: Option<(Severity, &'static str, SafeText)>,
}

/// A row of the turns pane.
#[derive(Debug)]
pub enum TreeRow {
    Turn(TurnRow),
    /// An item below its turn.
    Item(ItemRow),
}

#[derive(Debug)]
pub struct TurnRow {
    /// Its number, counted from 1; `None` where it is not known yet.
    pub number: Option<usize>,
    pub speaker: Speaker,
    /// What it is called.
    pub word: &'static str,
    /// Whether its items are shown below it.
    pub is_unfolded: bool,
    /// What stands beside it.
    pub counts: Counts,
    /// The beginning of what it says.
    pub preview: SafeText,
    pub has_cursor: bool,
    /// Whether a policy did something about one of its items.
    pub is_decided: bool,
    /// Whether it holds the item with the cursor.
    pub is_current: bool,
}

#[derive(Debug)]
pub struct ItemRow {
    /// Its number, counted from 1; `None` where it is not known yet.
    pub number: Option<usize>,
    pub kind: Kind,
    /// The worst finding about it: severity and rule.
    pub finding: Option<(Severity, &'static str)>,
    /// Whether a take has answered what was found.
    pub is_settled: bool,
    /// Whether it is a call or output that is as it should be.
    pub is_fine: bool,
    pub tool: SafeText,
    /// The number of its output, of a call.
    pub partner: Option<usize>,
    /// The beginning of what it says.
    pub preview: SafeText,
    pub is_marked: bool,
    /// Whether a policy did something about it.
    pub is_decided: bool,
    /// Whether the operator wrote a note on it.
    pub has_note: bool,
    pub has_cursor: bool,
}

/// A finding in the list of all.
#[derive(Debug)]
pub struct FindingRow {
    /// How bad it is.
    pub severity: Severity,
    pub rule: &'static str,
    /// The turn, counted from 1.
    pub turn: Option<usize>,
    pub message: SafeText,
    /// Whether a take has answered it.
    pub is_settled: bool,
    pub has_cursor: bool,
}

/// A session in the list of all.
#[derive(Debug)]
pub struct SessionRow {
    /// Its number, counted from 1.
    pub number: usize,
    /// What tells it from the others.
    pub label: SafeText,
    /// The first words of its user.
    pub words: SafeText,
    pub turns: usize,
    /// What was found in it; `None` while that is not known.
    pub counts: Option<Counts>,
    /// Whether the run would go on from it.
    pub is_active: bool,
    /// Whether it is the one that is shown.
    pub is_open: bool,
    pub has_cursor: bool,
}

/// Most cells of a text in a row.
const WIDEST: usize = 240;

/// Makes the rows of all panes that are shown, and moves their windows to the cursor.
pub(super) fn prepare(state: &mut State) {
    let mut frame = Frame::default();
    if let Some(streaming) = &state.live.streaming {
        frame.reply = reply::parts(streaming);
        if state.follow == Follow::On {
            frame.reply_lines = reply::lines(streaming);
        }
    }
    if let Some(document) = state.document.clone()
        && let Some(session) = document.session(state.session)
    {
        let checked = state.checked.get(state.session).cloned().flatten();
        let mut painter = Painter {
            document: &document,
            session,
            checked: checked.as_deref(),
            state,
        };
        painter.turns(&mut frame);
        painter.items(&mut frame);
        painter.findings(&mut frame);
        painter.sessions(&mut frame);
        let worst = checked
            .as_deref()
            .and_then(|checked| checked.worst(state.item));
        frame.finding = worst.map(|finding| {
            let message = SafeText::single_line(&finding.message(), WIDEST);
            (finding.severity, finding.rule.id, message)
        });
    }
    state.frame = frame;
}

/// The first row of a window of `height` rows that shows `row`: it moves as little as it can.
pub fn window(top: usize, row: usize, height: usize, total: usize) -> usize {
    let height = height.max(1);
    let top = if row < top {
        row
    } else if row >= top + height {
        row + 1 - height
    } else {
        top
    };
    top.min(total.saturating_sub(height))
}

struct Painter<'a> {
    document: &'a Document,
    session: &'a Session,
    checked: Option<&'a Checked>,
    state: &'a mut State,
}

impl Painter<'_> {
    fn turns(&mut self, frame: &mut Frame) {
        // The last row is for the reply that is on its way.
        let height = self.state.layout.height(Pane::Turns);
        let height = height.saturating_sub(usize::from(!frame.reply.is_empty()));
        if height == 0 || self.state.transcript.is_on {
            return;
        }
        let shown = self.state.shown.clone();
        let folds = self.state.folds.clone();
        let tree = Tree {
            session: self.session,
            shown: shown.as_deref(),
            folds: &folds,
        };
        let cursor = self.state.tree_row();
        let total = tree.rows();
        let top = window(self.state.tops.turns, tree.row_of(cursor), height, total);
        self.state.tops.turns = top;
        frame.turns_total = total;
        let rows = (top..total.min(top + height)).map(|row| tree.row(row));
        frame.turns = rows
            .map(|row| match row {
                Row::Turn(turn) => TreeRow::Turn(self.turn(turn, &tree, cursor == row)),
                Row::Item(item) => TreeRow::Item(self.item(item, cursor == row)),
            })
            .collect();
    }

    fn turn(&mut self, turn: usize, tree: &Tree<'_>, has_cursor: bool) -> TurnRow {
        let counts = count_turn(self.session, self.checked, turn);
        let speaks = speaks_for(self.session, turn).unwrap_or_default();
        TurnRow {
            number: self.number(turn),
            speaker: self.session.turns[turn].speaker,
            word: self.session.turns[turn].word(&self.session.items),
            is_unfolded: tree.folds.is_unfolded(turn),
            counts,
            preview: self.preview(speaks, true),
            has_cursor,
            is_decided: {
                let mut items = self.session.turns[turn].items();
                items.any(|item| self.is_decided(item))
            },
            is_current: self.state.turn() == turn,
        }
    }

    /// Whether a policy did something about an item.
    fn is_decided(&self, item: usize) -> bool {
        let place = Place {
            session: self.state.session,
            item,
        };
        let mut decided = self.state.recovery.takes.decided(place);
        decided.next().is_some()
    }

    fn items(&mut self, frame: &mut Frame) {
        let height = self.state.layout.height(Pane::Items);
        // A reply that is on its way is a part of the last turn.
        let is_last = self.state.turn() + 1 >= self.session.turns.len();
        let coming = frame.reply.len().min(height / 2);
        let height = height.saturating_sub(if is_last { coming } else { 0 });
        if height == 0 {
            return;
        }
        let shown = self.state.shown.clone();
        let folds = self.state.folds.clone();
        let tree = Tree {
            session: self.session,
            shown: shown.as_deref(),
            folds: &folds,
        };
        let places = tree.places_in(self.state.turn());
        let row = tree
            .place_of_item(self.state.item)
            .saturating_sub(places.start);
        let top = window(self.state.tops.items, row, height, places.len());
        self.state.tops.items = top;
        frame.items_total = places.len();
        let seen = places.start + top..places.end.min(places.start + top + height);
        let cursor = self.state.item;
        frame.items = seen
            .map(|place| tree.item(place))
            .map(|item| self.item(item, item == cursor))
            .collect();
    }

    fn item(&mut self, index: usize, has_cursor: bool) -> ItemRow {
        let item = self.session.items[index];
        let worst = self.checked.and_then(|checked| checked.worst(index));
        let pairs = matches!(item.kind, Kind::Call | Kind::Output);
        let partner = match self.session.pairing.standing(index) {
            PairStatus::Paired(partner) => Some(partner as usize),
            _ => None,
        };
        let is_fine = pairs && partner.is_some() && !item.flags.has(Flags::ERROR);
        ItemRow {
            number: self.number(index),
            kind: item.kind,
            finding: worst.map(|finding| (finding.severity, finding.rule.id)),
            is_settled: worst.is_some_and(|finding| finding.is_settled),
            is_fine: is_fine && worst.is_none(),
            tool: SafeText::single_line(tool_of(self.session, index), 60),
            partner: partner
                .filter(|_| item.kind == Kind::Call)
                .and_then(|partner| self.number(partner)),
            preview: self.preview(index, false),
            is_marked: self.state.marks.contains(&item.span.start),
            is_decided: self.is_decided(index),
            has_note: self.state.recovery.takes.note(item.span.start).is_some(),
            has_cursor,
        }
    }

    /// The beginning of what an item says; with the tool where nothing else names it.
    fn preview(&mut self, index: usize, with_tool: bool) -> SafeText {
        let place = Place {
            session: self.state.session,
            item: index,
        };
        let text = self.state.previews.of(self.session, place);
        let text = SafeText::single_line(text, WIDEST);
        let tool = tool_of(self.session, index);
        if !with_tool || tool.is_empty() {
            return text;
        }
        let mut named = SafeText::single_line(tool, 60);
        named.push(&SafeText::from_static(" "));
        named.push(&text);
        named
    }

    fn number(&self, index: usize) -> Option<usize> {
        (self.document.extent != Extent::Tail).then_some(index + 1)
    }

    fn findings(&mut self, frame: &mut Frame) {
        let height = self.state.layout.height(Pane::Findings);
        let Some(checked) = self.checked.filter(|_| height > 0) else {
            return;
        };
        let total = checked.findings().len();
        let cursor = self.state.finding.min(total.saturating_sub(1));
        let top = window(self.state.tops.findings, cursor, height, total);
        self.state.tops.findings = top;
        let seen = checked.findings().iter().enumerate().skip(top).take(height);
        let turn_of = |item: u32| {
            let item = self.session.items.get(item as usize)?;
            self.number(item.turn as usize)
        };
        frame.findings = seen
            .map(|(number, finding)| FindingRow {
                severity: finding.severity,
                rule: finding.rule.id,
                turn: finding.item.and_then(turn_of),
                message: SafeText::single_line(&finding.message(), WIDEST),
                is_settled: finding.is_settled,
                has_cursor: number == cursor,
            })
            .collect();
    }

    fn sessions(&mut self, frame: &mut Frame) {
        let height = self.state.layout.height(Pane::Sessions);
        if height == 0 {
            return;
        }
        let sessions = &self.document.recording.sessions;
        let cursor = self
            .state
            .listed_session
            .min(sessions.len().saturating_sub(1));
        let top = window(self.state.tops.sessions, cursor, height, sessions.len());
        self.state.tops.sessions = top;
        let seen = sessions.iter().enumerate().skip(top).take(height);
        frame.sessions = seen
            .map(|(index, session)| SessionRow {
                number: index + 1,
                label: match session.label.as_str() {
                    "" => SafeText::from_static("main history"),
                    label => SafeText::single_line(label, WIDEST),
                },
                words: {
                    let words = first_words(session).unwrap_or_default();
                    SafeText::single_line(&words, WIDEST)
                },
                turns: session.turns.len(),
                counts: self
                    .state
                    .checked
                    .get(index)
                    .and_then(Option::as_ref)
                    .map(|checked| checked.counts()),
                is_active: session.active,
                is_open: index == self.state.session,
                has_cursor: index == cursor,
            })
            .collect();
    }
}
