//! How a request was repaired before it left, and the same repair in later requests that
//! repeat what was broken.

use super::element::{ListElement, MARKS};
use super::list::RequestList;
use crate::session::{Dialect, Meaning, hash, operations_of};
use crate::wire::write::edit::{elements, member, with_elements, without_member};
use similar::DiffTag;
use std::collections::{BTreeMap, HashMap, HashSet};

/// What a repair made of some elements of a list.
#[derive(Debug)]
pub(crate) struct ListRepair {
    changes: Vec<Change>,
}

/// What replaces one element.
#[derive(Debug)]
struct Change {
    /// The element and everything before it, as a number.
    key: Meaning,
    was: ListElement,
    /// The replacement: nothing, another element, itself and others after it.
    now: Vec<ListElement>,
}

impl ListRepair {
    /// `None` where nothing was changed, or the change cannot be assigned to single elements.
    pub(crate) fn of(dialect: Dialect, original: &[u8], repaired: &[u8]) -> Option<Self> {
        let (was, now) = (
            RequestList::read(dialect, original)?,
            RequestList::read(dialect, repaired)?,
        );
        let keys = was.keys();
        let hashes = |list: &RequestList<'_>| {
            list.iter()
                .map(|element| hash(element.text.as_bytes()))
                .collect::<Vec<_>>()
        };
        let (old, new) = (hashes(&was), hashes(&now));
        let same = operations_of(&old, &new);
        let same = same.iter().filter(|same| same.tag() == DiffTag::Equal);
        let same = same.flat_map(|same| same.old_range().zip(same.new_range()));
        let mut changes = Vec::new();
        let (mut i, mut j) = (0, 0);
        for (next_old, next_new) in same.chain([(old.len(), new.len())]) {
            let added = (j..next_new)
                .filter_map(|index| now.get(index).cloned())
                .collect::<Vec<_>>();
            let gone = (i..next_old).collect::<Vec<_>>();
            changes.extend(changes_of(&was, keys, i, &gone, added)?);
            (i, j) = (next_old + 1, next_new + 1);
        }
        (!changes.is_empty()).then_some(Self { changes })
    }

    /// Bytes that it takes in memory, roughly.
    pub(crate) fn size(&self) -> usize {
        let all = self
            .changes
            .iter()
            .flat_map(|change| change.now.iter().chain([&change.was]));
        all.map(|element| element.text.len() + size_of::<ListElement>())
            .sum()
    }

    /// Repeats the repair and says so; `None` where the list does not hold what was repaired, or goes on so
    /// that it does not fit any more.
    pub(crate) fn apply(&self, list: &mut RequestList<'_>) -> Option<String> {
        let mut at = HashMap::new();
        for (place, key) in list.keys().iter().enumerate() {
            at.entry(*key).or_insert(place);
        }
        let places = self
            .changes
            .iter()
            .map(|change| at.get(&change.key).copied());
        let places = places.collect::<Option<Vec<_>>>()?;
        let changed: HashSet<usize> = places.iter().copied().collect();
        let others = (0..list.len()).filter(|index| !changed.contains(index));
        let answered = others.filter_map(|index| list.get(index));
        let answered = answered.flat_map(|other| other.answers.iter().copied());
        let answered = answered.filter(|id| *id != 0).collect();
        if !self.changes.iter().all(|change| change.fits(&answered)) {
            return None;
        }
        let mut now = BTreeMap::new();
        for (change, place) in self.changes.iter().zip(&places) {
            let Some(current) = list.get(*place).map(|element| &element.text) else {
                continue;
            };
            let texts = change.now.iter();
            let texts = texts.map(|element| change.respelled(list.dialect, element, current));
            now.insert(*place, texts.collect::<Vec<_>>());
        }
        list.replace_all(now);
        Some("the same repair as in an earlier request was made".to_owned())
    }
}

/// What became of the elements of a gap between two that stayed; `next` is the place of the first of them.
fn changes_of(
    was: &RequestList<'_>,
    keys: &[Meaning],
    next: usize,
    gone: &[usize],
    mut added: Vec<ListElement>,
) -> Option<Vec<Change>> {
    if gone.is_empty() && added.is_empty() {
        return Some(Vec::new());
    }
    let change = |place: usize, now: Vec<ListElement>| {
        let was = was.get(place)?.clone();
        let key = *keys.get(place)?;
        Some(Change { key, was, now })
    };
    if gone.is_empty() {
        // After the one that stayed; what opens a history has no such element.
        let before = next.checked_sub(1)?;
        added.insert(0, was.get(before)?.clone());
        return Some(vec![change(before, added)?]);
    }
    let mut changes = Vec::new();
    for (count, place) in gone.iter().enumerate() {
        let is_last = count + 1 == gone.len();
        let taken = if is_last {
            added.len()
        } else {
            added.len().min(1)
        };
        changes.push(change(*place, added.drain(..taken).collect())?);
    }
    Some(changes)
}

impl Change {
    /// Whether the other elements still fit its replacement: no call that is taken out
    /// has got an output, no output that is put in has come by itself. `answered` are the ids of the
    /// calls that they answer.
    fn fits(&self, answered: &HashSet<u64>) -> bool {
        let stays = |id: u64| {
            self.now
                .iter()
                .any(|now| now.calls.iter().any(|call| call.id == id))
        };
        let calls = self.was.calls.iter().map(|call| call.id);
        let lost = calls.filter(|id| !stays(*id));
        let put = self.now.iter().flat_map(|now| now.answers.iter().copied());
        let put = put.filter(|id| !self.was.answers.contains(id));
        !lost.chain(put).any(|id| answered.contains(&id))
    }

    /// An element of the repair, in the spelling that the agent has now for what did not change.
    fn respelled(&self, dialect: Dialect, now: &ListElement, current: &str) -> String {
        if self.was.text == current {
            return now.text.clone();
        }
        if now.text == self.was.text {
            return current.to_owned();
        }
        let (Some(new), Some(old)) = (member(&now.text, "content"), member(current, "content"))
        else {
            return now.text.clone();
        };
        if !dialect.facts().has_blocks || !now.text[new.start..].starts_with('[') {
            return now.text.clone();
        }
        // Marks for the cache have moved on: there may be four of them in a request.
        let known = elements(current, &old)
            .into_iter()
            .map(|at| &current[at])
            .collect::<Vec<_>>();
        let blocks = elements(&now.text, &new)
            .into_iter()
            .map(|at| &now.text[at]);
        let blocks = blocks.map(|block| {
            let meaning = Meaning::of_json(block, &MARKS);
            let same = known
                .iter()
                .find(|known| Meaning::of_json(known, &MARKS) == meaning);
            same.map_or_else(|| without_mark(block), |known| (*known).to_owned())
        });
        let blocks = blocks.collect::<Vec<_>>();
        let blocks = blocks.iter().map(String::as_str).collect::<Vec<_>>();
        with_elements(&now.text, &new, &blocks)
    }
}

fn without_mark(block: &str) -> String {
    match member(block, MARKS.members[0]) {
        Some(_) => without_member(block, MARKS.members[0]),
        None => block.to_owned(),
    }
}
