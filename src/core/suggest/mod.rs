//! Did you mean: the offered tool that a wrong name was meant for, and whose tool it would be elsewhere.
//!
//! Names are compared word by word after taking off what models and providers put around them
//! (`functions.`, `default_api:`, `mcp__server__`, namespaces, camel case). In this order a name is the
//! same tool, an agent whose handoff is offered, the same words, a typo, another word for the same thing,
//! or a word of its name. A name whose verb does something else (`delete_user`, `get_user`) is never near.
//! Nothing near means nothing offered.

mod known;
mod reason;
mod words;

use std::cmp::Ordering;

pub use known::home_of;
use known::takes_away;
use words::Name;

/// Most suggestions for one name.
const MOST: usize = 3;
/// Least score of a typo.
const CUT_OFF: f64 = 0.6;
/// Least edit similarity (optimal string alignment, by length) of a typo: Jaro-Winkler alone
/// finds `search` in `bash`.
const LEAST_EDIT: f64 = 0.5;

/// Shortest word that leads to a tool by itself.
const SHORTEST_WORD: usize = 3;
/// Shortest beginning of a word that does.
const SHORTEST_BEGINNING: usize = 4;

/// How a suggestion was found, the surest first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum SuggestionReason {
    /// The same name, written with another prefix, namespace, case or separator.
    SameTool,
    /// The name of an agent (or a near miss of it) whose handoff tool is offered.
    Handoff,
    /// The same words in another order, or most of them.
    SameWords,
    Spelling,
    /// Another word for the same thing (`shell`, `terminal`).
    Synonym,
    /// The name is a word of the tool's, or the beginning of one.
    CommonWord,
}

/// An offered tool that may have been meant.
#[derive(Debug, Clone, PartialEq)]
pub struct Suggestion {
    /// The name exactly as it is offered, with its namespace.
    pub name: String,
    /// From the cut-off 0.6 to 1.0, which is the same tool.
    pub score: f64,
    /// How it was found.
    pub why: SuggestionReason,
    /// The same for people: how the wrong name differs, as `typo`.
    pub because: &'static str,
}

/// Offered tool names, prepared once to be compared with many wrong ones.
#[derive(Debug, Clone)]
pub struct Catalogue {
    offered: Vec<Name>,
}

impl Catalogue {
    /// Prepares the offered names; they are suggested as given here.
    #[must_use]
    pub fn new<S: AsRef<str>>(offered: &[S]) -> Self {
        Self {
            offered: offered
                .iter()
                .map(|name| Name::new(name.as_ref()))
                .collect(),
        }
    }

    /// The offered tools nearest to a name: at most three, best first, none when nothing is near.
    #[must_use]
    pub fn nearest(&self, name: &str) -> Vec<Suggestion> {
        let wanted = Name::new(name);
        let mut found: Vec<Suggestion> = self
            .offered
            .iter()
            .filter_map(|offered| compare(&wanted, offered))
            .collect();
        found.sort_by(|a, b| {
            b.score
                .partial_cmp(&a.score)
                .unwrap_or(Ordering::Equal)
                .then(a.why.cmp(&b.why))
        });
        // The same tool is an answer; what merely looks like it would only distract.
        if found
            .first()
            .is_some_and(|best| best.why == SuggestionReason::SameTool)
        {
            found.retain(|suggestion| suggestion.why == SuggestionReason::SameTool);
        }
        found.dedup_by(|a, b| a.name == b.name);
        found.truncate(MOST);
        found
    }
}

/// The offered tools nearest to a name; [`Catalogue`] is the same for many names.
#[must_use]
pub fn nearest(name: &str, offered: &[&str]) -> Vec<Suggestion> {
    Catalogue::new(offered).nearest(name)
}

fn compare(wanted: &Name, offered: &Name) -> Option<Suggestion> {
    let ways = [
        same_tool,
        handoff,
        same_words,
        spelling,
        synonym,
        common_word,
    ];
    let (score, why) = ways.iter().find_map(|way| way(wanted, offered))?;
    let is_other = matches!((wanted.verb, offered.verb), (Some(one), Some(other)) if one != other);
    let is_kept = match why {
        SuggestionReason::SameTool | SuggestionReason::Handoff | SuggestionReason::Synonym => true,
        SuggestionReason::SameWords => wanted.bare_words == offered.bare_words,
        SuggestionReason::Spelling | SuggestionReason::CommonWord => false,
    };
    if is_other && !is_kept {
        return None;
    }
    Some(Suggestion {
        name: offered.given.clone(),
        score,
        why,
        because: reason::of(wanted, offered, why),
    })
}

fn same_tool(wanted: &Name, offered: &Name) -> Option<(f64, SuggestionReason)> {
    let whole = !wanted.whole.is_empty() && wanted.whole == offered.whole;
    // A bare name may mean a qualified one; two different namespaces are two different tools.
    let bare = !wanted.bare.is_empty()
        && (wanted.whole == offered.bare
            || wanted.bare == offered.whole
            || wanted.flattens(offered)
            || offered.flattens(wanted));
    (whole || bare).then_some((1.0, SuggestionReason::SameTool))
}

fn same_words(wanted: &Name, offered: &Name) -> Option<(f64, SuggestionReason)> {
    let (a, b) = (&wanted.bare_words, &offered.bare_words);
    let common = a.iter().filter(|word| b.contains(word)).count();
    let all = a.len() + b.len() - common;
    if common == 0 {
        return None;
    }
    if common == all {
        return Some((0.95, SuggestionReason::SameWords));
    }
    // One name holds the other: `get_weather`, `get_current_weather`.
    (common >= 2 && common == a.len().min(b.len()))
        .then(|| (0.6 + 0.3 * ratio(common, all), SuggestionReason::SameWords))
}

fn spelling(wanted: &Name, offered: &Name) -> Option<(f64, SuggestionReason)> {
    let bare = similarity(&wanted.bare, &offered.bare);
    let qualified = wanted.whole != wanted.bare || offered.whole != offered.bare;
    let whole = if qualified {
        similarity(&wanted.whole, &offered.whole)
    } else {
        None
    };
    let best = bare.unwrap_or(0.0).max(whole.unwrap_or(0.0));
    (best >= CUT_OFF).then_some((best, SuggestionReason::Spelling))
}

/// The larger of the edit similarity and 0.95 of Jaro-Winkler; `None` when too many letters differ.
fn similarity(a: &str, b: &str) -> Option<f64> {
    if a.is_empty() || b.is_empty() || !may_be_near(a, b) {
        return None;
    }
    let longer = a.chars().count().max(b.chars().count());
    let edit = 1.0 - ratio(strsim::osa_distance(a, b), longer);
    (edit >= LEAST_EDIT).then(|| edit.max(0.95 * strsim::jaro_winkler(a, b)).min(0.99))
}

/// Whether the edit similarity may reach [`LEAST_EDIT`]: every letter that one name has more often than the
/// other needs an edit of its own. Cheap, and true for nearly no pair of unrelated names.
fn may_be_near(a: &str, b: &str) -> bool {
    if !a.is_ascii() || !b.is_ascii() {
        return true;
    }
    let mut more = [0_i16; 32];
    a.bytes()
        .for_each(|letter| more[usize::from(letter & 31)] += 1);
    b.bytes()
        .for_each(|letter| more[usize::from(letter & 31)] -= 1);
    let surplus: i16 = more.iter().filter(|count| **count > 0).sum();
    let lacking: i16 = more.iter().filter(|count| **count < 0).sum();
    let edits = usize::from(surplus.max(-lacking).unsigned_abs());
    1.0 - ratio(edits, a.len().max(b.len())) >= LEAST_EDIT
}

fn synonym(wanted: &Name, offered: &Name) -> Option<(f64, SuggestionReason)> {
    let shared = wanted.groups & offered.groups;
    (shared != 0).then_some((0.7, SuggestionReason::Synonym))
}

/// A single word that is one of the tool's words, or the beginning of one. Where it says nothing of what is to
/// be done, no tool that takes something away is meant.
fn common_word(wanted: &Name, offered: &Name) -> Option<(f64, SuggestionReason)> {
    let [word] = wanted.bare_words.as_slice() else {
        return None;
    };
    if word.len() < SHORTEST_WORD || (wanted.verb.is_none() && takes_away(offered.verb)) {
        return None;
    }
    let words = &offered.bare_words;
    let begins =
        |other: &String| word.len() >= SHORTEST_BEGINNING && other.starts_with(word.as_str());
    if words.contains(word) {
        Some((
            0.6 + 0.09 * ratio(1, words.len()),
            SuggestionReason::CommonWord,
        ))
    } else {
        words
            .iter()
            .any(begins)
            .then_some((0.6, SuggestionReason::CommonWord))
    }
}

fn handoff(wanted: &Name, offered: &Name) -> Option<(f64, SuggestionReason)> {
    let agent = offered.agent.as_deref()?;
    let called = wanted.agent.as_deref().unwrap_or(&wanted.without_agent);
    if called.is_empty() || agent.is_empty() {
        return None;
    }
    if called == agent {
        return Some((0.95, SuggestionReason::Handoff));
    }
    similarity(called, agent)
        .filter(|&score| score >= 0.8)
        .map(|score| (0.9 * score, SuggestionReason::Handoff))
}

#[allow(clippy::cast_precision_loss)] // Lengths of names.
fn ratio(part: usize, whole: usize) -> f64 {
    part as f64 / whole as f64
}

#[cfg(test)]
mod tests;
