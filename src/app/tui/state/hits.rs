//! The items that hold the text that is searched for, as far as they are counted.

use super::document::Place;
use crate::tui::effect::Counting;
use retake_live::search::Needle;
use std::collections::HashMap;
use std::sync::Arc;

/// The items with a text, in the order of their bytes.
#[derive(Debug)]
pub struct Hits {
    counting: Counting,
    ranks: HashMap<Place, usize>,
    is_done: bool,
}

impl Hits {
    /// None is known yet.
    pub fn new(counting: Counting) -> Self {
        Self {
            counting,
            ranks: HashMap::new(),
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
        Arc::ptr_eq(&self.counting.document, &counting.document)
            && same_text(&self.counting.needle, &counting.needle)
            && match (
                source(counting.session),
                sessions.get(self.counting.session),
            ) {
                (Some(source), Some(counted)) => counted.stands_in(source),
                _ => false,
            }
    }

    /// Takes more of them; `is_done` says that there are no others.
    pub fn take(&mut self, places: Vec<Place>, is_done: bool) {
        for place in places {
            let rank = self.ranks.len() + 1;
            self.ranks.entry(place).or_insert(rank);
        }
        self.is_done = is_done;
    }

    /// Which of how many an item is: `3/12`, or `3/12+` while they are being counted; `None` for an
    /// item without the text.
    pub fn label(&self, place: Place) -> Option<String> {
        let all = self.ranks.len();
        match (self.ranks.get(&place), self.is_done) {
            (Some(rank), true) => Some(format!("{rank}/{all}")),
            (Some(rank), false) => Some(format!("{rank}/{all}+")),
            (None, _) => None,
        }
    }
}
