//! The takes, as the screen shows them.

use super::document::Place;
use retake_core::session::takes::FindingCounts;

/// A take, for the tree.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakeRow {
    /// Its number; the recording itself is 0.
    pub id: u32,
    /// The take that it came from; `None` of the recording.
    pub parent: Option<u32>,
    /// Of each fork above it, from the recording down, whether further branches of that fork
    /// follow below; see [`retake_core::session::takes::TakeLine`].
    pub rails: Vec<bool>,
    /// The name that the operator gave it; empty where there is none.
    pub name: String,
    /// Whether the operator gave it that name.
    pub is_renamed: bool,
    /// What brought it about: `inject error`; empty of the recording.
    pub action: String,
    /// The rule of the finding that it mends; empty where the operator acted without one.
    pub rule: String,
    /// The words that the model would read; empty where there are none.
    pub wording: String,
    /// What nobody had decided about before and after; `None` while it is not checked.
    pub findings: Option<(FindingCounts, FindingCounts)>,
    /// Whether it is its parent as one request, which the take below it needed.
    pub is_rebuilt: bool,
    /// The item from which on it differs from its parent, counted from 1.
    pub fork: Option<usize>,
    /// What the operator noted.
    pub note: String,
    /// Whether it is the one that is shown.
    pub is_current: bool,
    /// Whether it is not a recording but the request that a run began with.
    pub is_first_request: bool,
}

impl TakeRow {
    /// What it is called by its number: `take 2`.
    pub fn number(&self) -> String {
        match (self.id, self.is_first_request) {
            (0, true) => "first request".to_owned(),
            (0, false) => "recording".to_owned(),
            (id, _) => format!("take {id}"),
        }
    }

    /// What it is called in a sentence: its name, else its number with what brought it about.
    pub fn label(&self) -> String {
        match (&*self.name, &*self.action) {
            ("", "") => self.number(),
            ("", action) => format!("{} ({action})", self.number()),
            (name, _) => format!("\"{name}\""),
        }
    }
}

/// The takes, for the screen.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TakesView {
    /// The takes, the recording first.
    pub rows: Vec<TakeRow>,
    /// The number of the one that is shown; 0 is the recording.
    pub current: u32,
    /// The number of the one that was current when the file was closed, until something is done to the takes.
    pub left_in: u32,
    /// Why takes are only in memory, while that is so.
    pub banner: Option<String>,
    pub in_memory: usize,
    /// How many takes were dropped from the list.
    pub dropped: usize,
    /// First bytes of the items that are marked in the current take.
    pub bookmarks: Vec<u64>,
    /// Notes on items of the current take, by their first byte.
    pub notes: Vec<(u64, String)>,
    /// What a policy did on the way to the current take, in order.
    pub decided: Vec<Decided>,
}

/// What a policy did about an item.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decided {
    /// The item, in the current take.
    pub place: Place,
    /// The action and the rule: `policy: retry the turn (unknown-tool)`.
    pub words: String,
}

impl TakesView {
    /// How many takes there are, with the recording.
    pub fn count(&self) -> usize {
        self.rows.len().max(1)
    }

    /// Whether another retake writes the takes of the recording.
    pub fn is_read_only(&self) -> bool {
        let banner = self.banner.as_deref();
        banner.is_some_and(|words| words.starts_with("read-only"))
    }

    /// Whether it tells more than that a recording is open.
    pub fn has_news(&self) -> bool {
        let is_marked = !self.bookmarks.is_empty() || !self.notes.is_empty();
        self.rows.len() > 1 || self.dropped > 0 || self.banner.is_some() || is_marked
    }

    /// The note on the item that begins here.
    pub fn note(&self, at: u64) -> Option<&str> {
        let mut notes = self.notes.iter();
        let found = notes.find(|(place, _)| *place == at);
        found.map(|(_, text)| text.as_str())
    }

    /// What a policy did about an item, in order.
    pub fn decided(&self, place: Place) -> impl Iterator<Item = &str> {
        let here = self.decided.iter().filter(move |it| it.place == place);
        here.map(|it| it.words.as_str())
    }

    /// The name of the current take, and whether the operator gave it; empty where it has none.
    pub fn name(&self) -> (&str, bool) {
        let row = self.rows.iter().find(|row| row.id == self.current);
        row.map_or(("", false), |row| (&row.name, row.is_renamed))
    }

    /// Whether these are the takes of a run of its own, and not of a recording.
    pub fn are_of_run(&self) -> bool {
        self.rows.first().is_some_and(|row| row.is_first_request)
    }

    /// What the header says: `take 2 of 3`.
    pub fn label(&self) -> String {
        let name = self.named(self.current);
        match (self.current, self.count() - 1) {
            (_, 0) => name,
            (0, 1) => format!("{name}, 1 take"),
            (0, takes) => format!("{name}, {takes} takes"),
            (_, takes) => format!("{name} of {takes}"),
        }
    }

    /// What a take is called by its number: `take 2`.
    pub fn named(&self, id: u32) -> String {
        let row = self.rows.iter().find(|row| row.id == id);
        row.map_or_else(
            || {
                TakeRow {
                    id,
                    ..TakeRow::default()
                }
                .number()
            },
            TakeRow::number,
        )
    }
}
