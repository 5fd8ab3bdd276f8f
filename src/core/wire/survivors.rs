//! Which items of a history stand in another one that was made from it: a trimmed, compacted or converted copy.
//!
//! Calls and outputs are known by their call id; where an id comes twice, and for everything without an id,
//! by what the item says. Of equal items the last ones are matched first, because it is the end of a history
//! that a trim keeps.

use super::body::body_of;
use crate::session::{IgnoredParts, Item, Kind, Meaning, Session, SourceError};
use std::collections::HashMap;

/// What became of a history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survivors {
    /// For each item of the earlier history whether it is in the later one.
    pub kept: Vec<bool>,
    /// The items of the later history that the earlier one did not hold, by index.
    pub new: Vec<usize>,
}

/// By what an item is known: kind, call id (0 without one) and content.
type Known = (Kind, u64, Meaning);

/// Finds the items of `before` in `after`.
pub fn survivors(before: &Session, after: &Session) -> Result<Survivors, SourceError> {
    let (known, there) = (known_by(before)?, known_by(after)?);
    let mut kept = vec![false; known.len()];
    let mut is_new = vec![true; there.len()];
    // Exact matches first, so that an output that was shortened takes no other one's place.
    let has_id = |(_, id, _): &Known| *id != 0;
    join(&known, &there, &mut kept, &mut is_new, |item| Some(*item));
    join(&known, &there, &mut kept, &mut is_new, |item| {
        has_id(item).then_some((item.0, item.1, Meaning::NOTHING))
    });
    let new = (0..is_new.len()).filter(|index| is_new[*index]).collect();
    Ok(Survivors { kept, new })
}

/// Joins items that have the same key and are not joined yet, the last ones first.
fn join(
    known: &[Known],
    there: &[Known],
    kept: &mut [bool],
    is_new: &mut [bool],
    key: impl Fn(&Known) -> Option<Known>,
) {
    let mut waiting: HashMap<Known, Vec<usize>> = HashMap::new();
    for (index, item) in there.iter().enumerate().filter(|(index, _)| is_new[*index]) {
        if let Some(key) = key(item) {
            waiting.entry(key).or_default().push(index);
        }
    }
    for (index, item) in known.iter().enumerate().rev() {
        if kept[index] {
            continue;
        }
        let found = key(item).and_then(|key| waiting.get_mut(&key)?.pop());
        if let Some(found) = found {
            (kept[index], is_new[found]) = (true, false);
        }
    }
}

fn known_by(session: &Session) -> Result<Vec<Known>, SourceError> {
    let known = |item: &Item| Ok((item.kind, item.call_id.hash, content(session, item)?));
    session.items.iter().map(known).collect()
}

/// What an item says, or its JSON where it says nothing readable (encrypted reasoning).
fn content(session: &Session, item: &Item) -> Result<Meaning, SourceError> {
    let bytes = session.bytes(item)?;
    let body = body_of(item, &bytes).unwrap_or_default();
    let texts = [&body.text, body.arguments.as_written()];
    let texts = match texts {
        ["", ""] => Meaning::of_json(&String::from_utf8_lossy(&bytes), &IgnoredParts::default()),
        [text, arguments] => Meaning::of(text.as_bytes()).and(Meaning::of(arguments.as_bytes())),
    };
    Ok(texts.and(Meaning::of(session.name(item).as_bytes())))
}
