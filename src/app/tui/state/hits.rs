//! The places of the text that is searched for, as far as they are counted.

use super::document::Place;
use crate::tui::effect::Counting;
use retake_live::search::Needle;
use std::collections::{BTreeMap, HashMap};
use std::sync::Arc;

/// The places of a text, session by session in the order of their bytes.
#[derive(Debug)]
pub struct Hits {
    counting: Counting,
    /// For each item with the text the number of places before it in its session, and in it.
    ranks: HashMap<Place, (usize, usize)>,
    /// The places of each session.
    by_session: BTreeMap<usize, usize>,
    is_done: bool,
}

impl Hits {
    /// None is known yet.
    pub fn new(counting: Counting) -> Self {
        Self {
            counting,
            ranks: HashMap::new(),
            by_session: BTreeMap::new(),
            is_done: false,
        }
    }

    pub fn counting(&self) -> &Counting {
        &self.counting
    }

    /// Whether a count of the same text in the same bytes is under way or done.
    pub fn is_of(&self, counting: &Counting) -> bool {
        let same_text = |one: &Arc<Needle>, other: &Arc<Needle>| Arc::ptr_eq(one, other);
        let sessions = &counting.document.recording.sessions;
        let source = |session: usize| sessions.get(session).map(|it| &it.source);
        self.counting.is_raw == counting.is_raw
            && self.counting.takes.notes == counting.takes.notes
            && Arc::ptr_eq(&self.counting.document, &counting.document)
            && same_text(&self.counting.needle, &counting.needle)
            && self.counting.tool == counting.tool
            && match (
                source(counting.session),
                sessions.get(self.counting.session),
            ) {
                (Some(source), Some(counted)) => counted.stands_in(source),
                _ => false,
            }
    }

    /// Takes more of them, by item; `is_done` says that there are no others.
    pub fn take(&mut self, places: Vec<(Place, usize)>, is_done: bool) {
        for (place, count) in places {
            let all = self.by_session.entry(place.session).or_default();
            self.ranks.entry(place).or_insert((*all, count));
            *all += count;
        }
        self.is_done = is_done;
    }

    /// Whether an item is known to hold the text.
    pub fn is_in(&self, place: Place) -> bool {
        self.ranks.contains_key(&place)
    }

    /// Which of how many places this is of those in an item: `3/12`, or `3/12+` while they are being counted;
    /// `None` for an item without the text.
    pub fn label(&self, place: Place, occurrence: usize) -> Option<String> {
        let (before, count) = self.ranks.get(&place)?;
        let earlier: usize = self.by_session.range(..place.session).map(|it| it.1).sum();
        let rank = earlier + before + occurrence.min(count - 1) + 1;
        let more = if self.is_done { "" } else { "+" };
        let all: usize = self.by_session.values().sum();
        Some(format!("{rank}/{all}{more}"))
    }
}
