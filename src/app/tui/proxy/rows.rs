//! The exchanges that are listed: the newest ones, a bounded number; the journal has them all.

use crate::tui::filter::{FilterTerm, Filtered, Terms, Values};
use crate::tui::proxy::words;
use retake_core::content::any_name_of;
use retake_core::exchange::{ExchangeId, ExchangePhase, ExchangeSummary};
use retake_core::rules::Severity;
use retake_live::search::Needle;
use std::borrow::Cow;
use std::collections::VecDeque;
use std::sync::Arc;

/// How many exchanges are listed at most.
pub const KEPT: usize = 10_000;
/// How many findings and notes of one are kept, and how many bytes of each.
const FOUND: usize = 32;
const WORDS: usize = 400;

/// An exchange in the list.
#[derive(Debug, Clone)]
pub struct ExchangeRow {
    /// What is known of it.
    pub seen: Arc<ExchangeSummary>,
    /// Whether the filter lets it through.
    is_shown: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ExchangeTotals {
    /// Exchanges since the proxy began.
    pub all: usize,
    /// Of them, those that are held now.
    pub held: usize,
    /// Exchanges in the list in which something was found.
    pub found: usize,
    /// Exchanges in the list that are under way.
    pub open: usize,
    /// Whether a decision was awaited about any in the list.
    pub has_holds: bool,
}

/// The exchanges, by their numbers.
#[derive(Debug, Default)]
pub struct Rows {
    rows: VecDeque<ExchangeRow>,
    /// The numbers of the rows that the filter lets through, from the front.
    shown: Vec<usize>,
    terms: Terms,
    totals: ExchangeTotals,
    /// The newest exchange that fell out of the list.
    lost: ExchangeId,
}

impl Rows {
    /// Takes what is known of exchanges now.
    pub fn learn(&mut self, news: impl IntoIterator<Item = Arc<ExchangeSummary>>) {
        for seen in news {
            self.put(bounded(seen));
        }
        self.shrink();
        self.arrange();
    }

    fn put(&mut self, seen: Arc<ExchangeSummary>) {
        let is_shown = self.terms.match_all(&*seen);
        match self.find(seen.id) {
            Ok(index) => {
                if let Some(row) = self.rows.get_mut(index) {
                    *row = ExchangeRow { seen, is_shown };
                }
            }
            // What fell out of the list stays out of it.
            Err(_) if seen.id <= self.lost => {}
            Err(index) => {
                self.totals.all += 1;
                self.rows.insert(index, ExchangeRow { seen, is_shown });
            }
        }
    }

    fn find(&self, id: ExchangeId) -> Result<usize, usize> {
        // News come in the order of the numbers, nearly.
        match self.rows.back() {
            Some(last) if last.seen.id < id => Err(self.rows.len()),
            _ => self.rows.binary_search_by_key(&id, |row| row.seen.id),
        }
    }

    /// Lets go of the oldest ones that are over; one that is under way stays.
    fn shrink(&mut self) {
        let mut surplus = self.rows.len().saturating_sub(KEPT);
        while surplus > 0 && self.rows.front().is_some_and(|row| is_over(&row.seen)) {
            let gone = self.rows.pop_front();
            self.lost = self.lost.max(gone.map_or(self.lost, |row| row.seen.id));
            surplus -= 1;
        }
        if surplus > 0 {
            self.rows.retain(|row| {
                let goes = surplus > 0 && is_over(&row.seen);
                if goes {
                    surplus -= 1;
                    self.lost = self.lost.max(row.seen.id);
                }
                !goes
            });
        }
        // More than that are not under way at once, unless somebody means it ill.
        let surplus = self.rows.len().saturating_sub(2 * KEPT);
        self.rows.drain(..surplus);
    }

    fn arrange(&mut self) {
        self.shown.clear();
        let (mut held, mut found, mut open) = (0, 0, 0);
        let mut has_holds = false;
        for (index, row) in self.rows.iter().enumerate() {
            held += usize::from(is_held(&row.seen));
            found += usize::from(!row.seen.found.is_empty());
            open += usize::from(!is_over(&row.seen));
            has_holds |= row.seen.held_since_ms.is_some() || row.seen.held_ms != [0, 0];
            if row.is_shown {
                self.shown.push(index);
            }
        }
        self.totals = ExchangeTotals {
            held,
            found,
            open,
            has_holds,
            ..self.totals
        };
    }

    /// Shows what this lets through.
    pub fn filter(&mut self, terms: Terms) {
        self.terms = terms;
        for row in &mut self.rows {
            row.is_shown = self.terms.match_all(&*row.seen);
        }
        self.arrange();
    }

    pub fn totals(&self) -> ExchangeTotals {
        self.totals
    }

    /// How many are shown.
    pub fn len(&self) -> usize {
        self.shown.len()
    }

    /// Whether none is shown.
    pub fn is_empty(&self) -> bool {
        self.shown.is_empty()
    }

    /// How many are listed, shown or not.
    pub fn listed(&self) -> usize {
        self.rows.len()
    }

    /// The exchange in a row of what is shown.
    pub fn get(&self, row: usize) -> Option<&Arc<ExchangeSummary>> {
        Some(&self.rows.get(*self.shown.get(row)?)?.seen)
    }

    /// The exchange of this number.
    pub fn of(&self, id: ExchangeId) -> Option<&Arc<ExchangeSummary>> {
        let index = self
            .rows
            .binary_search_by_key(&id, |row| row.seen.id)
            .ok()?;
        Some(&self.rows.get(index)?.seen)
    }

    /// The row in which an exchange is shown, or the one in its place.
    pub fn row_of(&self, id: ExchangeId) -> usize {
        let number = |row: usize| self.get(row).map(|seen| seen.id);
        let before = self
            .shown
            .partition_point(|index| self.rows.get(*index).is_some_and(|row| row.seen.id < id));
        match number(before) {
            Some(_) => before,
            None => before.saturating_sub(1),
        }
    }

    /// All that are held, in the order of their numbers, shown or not.
    pub fn held(&self) -> impl Iterator<Item = &Arc<ExchangeSummary>> {
        let seen = self.rows.iter().map(|row| &row.seen);
        seen.filter(|seen| is_held(seen))
    }
}

/// Whether it waits for a decision.
pub fn is_held(seen: &ExchangeSummary) -> bool {
    matches!(&seen.phase, ExchangePhase::Held(holding) if !holding.is_gone)
}

pub fn is_over(seen: &ExchangeSummary) -> bool {
    matches!(seen.phase, ExchangePhase::Ended(_))
}

/// An exchange whose texts are no longer than a list has use for.
fn bounded(seen: Arc<ExchangeSummary>) -> Arc<ExchangeSummary> {
    let is_long = |text: &str| text.len() > WORDS;
    let is_large = seen.found.len() > FOUND
        || seen.notes.len() > FOUND
        || seen.found.iter().any(|found| is_long(&found.message))
        || seen.notes.iter().any(|note| is_long(note))
        || [&seen.client, &seen.path, &seen.model, &seen.method]
            .iter()
            .any(|text| is_long(text));
    if !is_large {
        return seen;
    }
    let cut = |text: &mut String| {
        text.truncate(text.floor_char_boundary(WORDS));
        text.shrink_to_fit();
    };
    let mut seen = (*seen).clone();
    seen.found.truncate(FOUND);
    seen.notes.truncate(FOUND);
    for found in &mut seen.found {
        cut(&mut found.message);
        found.tool.iter_mut().for_each(cut);
    }
    seen.notes.iter_mut().for_each(cut);
    for text in [
        &mut seen.client,
        &mut seen.path,
        &mut seen.model,
        &mut seen.method,
    ] {
        cut(text);
    }
    Arc::new(seen)
}

/// The states in the words of the list, and those of `proxy --headless`.
const STATES: &[&str] = &[
    "asking",
    "waiting",
    "streaming",
    "replying",
    "held",
    "retrying",
    "passed",
    "error",
    "released",
    "fixed",
    "fixed-again",
    "mended",
    "refused",
    "cut",
    "no-reply",
    "truncated",
    "client-left",
    "interrupted",
];

/// Exchanges are filtered by their columns and their findings.
impl Filtered for ExchangeSummary {
    const TERMS: &'static [FilterTerm] = &[
        FilterTerm::word("held", "waits for your decision"),
        FilterTerm::word("open", "has not ended"),
        FilterTerm::word("error", "has a finding of severity error"),
        FilterTerm::word("warning", "has a finding of severity warning"),
        FilterTerm::word("finding", "has any finding"),
        FilterTerm::field(
            "rule:unknown",
            Values::Rules,
            "has a finding of this rule; a part of the name is enough",
        ),
        FilterTerm::field(
            "tool:pay",
            Values::PartNames,
            "has a finding about this tool; a part of the name is enough",
        ),
        FilterTerm::field("model:gpt*", Values::Names, "asks this model"),
        FilterTerm::field("client:python*", Values::Names, "comes from this client"),
        FilterTerm::field("path:*/messages", Values::Names, "goes to this path"),
        FilterTerm::field("status:4*", Values::Names, "was answered with this status"),
        FilterTerm::field(
            "state:streaming",
            Values::OneOf(STATES),
            "is in this state: asking, waiting, streaming, replying, held, retrying, passed, error, \
            released, fixed or mended (also again), fixed-again, refused, cut, no-reply, truncated, client-left, \
            interrupted",
        ),
    ];

    fn is(&self, word: &str) -> bool {
        let mut severities = self.found.iter().map(|found| found.severity);
        match word {
            "held" => is_held(self),
            "open" => !is_over(self),
            "error" => severities.any(|severity| severity == Severity::Error),
            "warning" => severities.any(|severity| severity == Severity::Warning),
            _ => !self.found.is_empty(),
        }
    }

    fn any_name(&self, field: &str, fits: &dyn Fn(&str) -> bool) -> bool {
        let mut found = self.found.iter();
        match field {
            "rule" => found.any(|found| fits(found.rule)),
            "tool" => {
                let mut tools = found.filter_map(|found| found.tool.as_deref());
                tools.any(|tool| any_name_of(tool, fits))
            }
            "state" => {
                let state = column_of(self, "state");
                let is_fixed = state == "fixed";
                let whole = words::phase(self, 0).replace(' ', "-");
                fits(&state) || fits(&whole) || is_fixed && fits("mended")
            }
            column => fits(&column_of(self, column)),
        }
    }

    fn text(&self) -> Option<Cow<'_, [u8]>> {
        Some(Cow::Owned(line(self).into_bytes()))
    }

    fn row(&self) -> Cow<'_, str> {
        Cow::Owned(line(self))
    }
}

fn column_of(seen: &ExchangeSummary, column: &str) -> String {
    match column {
        "model" => seen.model.clone(),
        "client" => seen.client.clone(),
        "path" => seen.path.clone(),
        "status" => seen.status.map_or_else(String::new, |it| it.to_string()),
        // The time that is left is not part of it.
        _ => words::phase(seen, 0)
            .split(' ')
            .next()
            .unwrap_or_default()
            .to_owned(),
    }
}

/// Whether an exchange holds a text.
pub fn holds(needle: &Needle, seen: &ExchangeSummary) -> bool {
    !needle.ranges_in(&line(seen)).is_empty()
}

/// What an exchange says, in one line.
fn line(seen: &ExchangeSummary) -> String {
    let dialect = seen.dialect.map_or("", |dialect| dialect.word());
    let status = column_of(seen, "status");
    let state = column_of(seen, "state");
    let mut line = [
        &seen.id.to_string(),
        &seen.client,
        dialect,
        &seen.method,
        &seen.model,
        &seen.path,
        &status,
        &state,
    ]
    .join(" ");
    for found in &seen.found {
        for part in [
            found.rule,
            found.tool.as_deref().unwrap_or_default(),
            &found.message,
        ] {
            line.push(' ');
            line.push_str(part);
        }
    }
    for note in &seen.notes {
        line.push(' ');
        line.push_str(note);
    }
    line
}
