//! Words for the same thing, and the tools of well-known agents: `known.toml` holds them.

use crate::bundled;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::sync::LazyLock;

#[derive(Default, Deserialize)]
struct Known {
    synonyms: Vec<Vec<String>>,
    verbs: Vec<Vec<String>>,
    asking: Vec<String>,
    homes: BTreeMap<String, Vec<String>>,
}

static KNOWN: LazyLock<Known> = LazyLock::new(|| bundled::table(include_str!("known.toml")));

/// The row of the verbs that take something away.
const REMOVING: usize = 3;
/// Shorter words are no typo of a verb: too many are near.
const SHORTEST_TYPO: usize = 4;

/// The kind of a verb, a typo in it allowed where that leads to one kind only.
pub(crate) fn verb_kind(word: &str) -> Option<usize> {
    let exact = KNOWN
        .verbs
        .iter()
        .position(|verbs| verbs.iter().any(|verb| verb == word));
    if exact.is_some() || word.len() < SHORTEST_TYPO || word.len() > 16 {
        return exact;
    }
    let is_near =
        |verb: &String| verb.len() >= SHORTEST_TYPO && strsim::osa_distance(verb, word) == 1;
    let mut near = KNOWN
        .verbs
        .iter()
        .enumerate()
        .filter(|(_, verbs)| verbs.iter().any(is_near));
    let found = near.next().map(|(kind, _)| kind);
    found.filter(|_| near.next().is_none())
}

/// Whether verbs of this kind take something away.
pub(crate) fn takes_away(kind: Option<usize>) -> bool {
    kind == Some(REMOVING)
}

/// Bit set of the synonym groups of a name without separators.
pub(crate) fn groups_of(name: &str) -> u32 {
    let member = |group: &Vec<String>| group.iter().any(|known| known == name);
    KNOWN
        .synonyms
        .iter()
        .take(32)
        .enumerate()
        .filter(|(_, group)| member(group))
        .fold(0, |bits, (index, _)| bits | 1 << index)
}

/// The agent or provider whose tool this is, for "this is a tool of Claude Code; your agent does not
/// offer it". The name must be written as that agent writes it (`Bash`, not `BASH`); a `functions.`
/// before it is no matter.
#[must_use]
pub fn home_of(name: &str) -> Option<&'static str> {
    let bare = name.trim().trim_start_matches("functions.");
    let mut homes = KNOWN.homes.iter();
    homes
        .find(|(_, tools)| tools.iter().any(|tool| tool == bare))
        .map(|(home, _)| home.as_str())
}

/// Whether a person answers the calls of this tool.
#[must_use]
pub fn asks_person(name: &str) -> bool {
    KNOWN.asking.iter().any(|tool| tool == name)
}
