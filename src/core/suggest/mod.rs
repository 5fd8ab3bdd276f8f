//! Did you mean: the offered tool that a wrong name was meant for, and whose tool it would be elsewhere.
//!
//! Names are compared word by word after taking off what models and providers put around them
//! (`functions.`, `default_api:`, `mcp__server__`, namespaces, camel case). In this order a name is the
//! same tool, an agent whose handoff is offered, the same words, a typo, another word for the same thing,
//! or a word of its name. A name whose verb does something else (`delete_user`, `get_user`) is never near.
//! Nothing near means nothing offered.

pub use known::{asks_person, home_of};
use known::{groups_of, takes_away, verb_kind};
use std::cmp::Ordering;

mod known;

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

/// ` (did you mean `NAME`?)` for the nearest of the names that are known; nothing where none is near.
pub fn did_you_mean(name: &str, known: &[&str]) -> String {
    let nearest = nearest(name, known).into_iter().next();
    nearest.map_or(String::new(), |nearest| {
        format!(" (did you mean `{}`?)", nearest.name)
    })
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
        because: of(wanted, offered, why),
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

// How a wrong name differs from the tool's that it was meant for, for people. The reason is true of the two
// names as they are written, whichever way they were found to be near.

/// Most letters that a typo gets wrong: more of them are another word.
const MOST_WRONG: usize = 2;
/// Names of fewer letters have one wrong letter at most.
const SHORT: usize = 6;

/// How the two names differ.
fn of(wanted: &Name, offered: &Name, why: SuggestionReason) -> &'static str {
    match why {
        SuggestionReason::SameTool => of_the_same_tool(wanted, offered),
        SuggestionReason::Handoff => "name of the agent",
        SuggestionReason::SameWords => of_the_same_words(wanted, offered),
        SuggestionReason::Spelling if is_typo(wanted, offered) => "typo",
        SuggestionReason::Spelling => of_like_names(wanted, offered),
        SuggestionReason::Synonym => "another word for it",
        SuggestionReason::CommonWord if has_common_word(wanted, offered) => "word in common",
        SuggestionReason::CommonWord => "beginning of a word",
    }
}

fn of_the_same_tool(wanted: &Name, offered: &Name) -> &'static str {
    let (written, meant) = (letters(&wanted.given), letters(&offered.given));
    if wanted
        .given
        .trim()
        .eq_ignore_ascii_case(offered.given.trim())
    {
        "letter case"
    } else if written == meant {
        match offered.qualified && !wanted.qualified {
            true => "flattened namespace",
            false => "separators",
        }
    } else if written.ends_with(&meant) {
        "prefix"
    } else if offered.qualified && wanted.whole == offered.bare {
        "namespace left out"
    } else if offered.qualified && !wanted.qualified {
        "flattened namespace"
    } else {
        "namespace"
    }
}

fn of_the_same_words(wanted: &Name, offered: &Name) -> &'static str {
    if wanted.bare == offered.bare {
        "another namespace"
    } else if wanted.bare_words != offered.bare_words {
        "words in common"
    } else if wanted.bare.len() == offered.bare.len() {
        "same words in another order"
    } else {
        "a word twice"
    }
}

/// Names that are spelled alike although no slip of a finger leads from one to the other.
fn of_like_names(wanted: &Name, offered: &Name) -> &'static str {
    let lacks_a_verb = |one: &Name, other: &Name| {
        let words = one.bare_words.iter();
        let mut lacking = words.filter(|word| !other.bare_words.contains(word));
        let first = lacking.next().filter(|_| lacking.next().is_none());
        first.is_some_and(|only| verb_kind(only).is_some())
    };
    match has_common_word(wanted, offered) {
        true if lacks_a_verb(wanted, offered) && lacks_a_verb(offered, wanted) => "another verb",
        true => "word in common",
        false => "similar name",
    }
}

fn has_common_word(wanted: &Name, offered: &Name) -> bool {
    let mut words = wanted.bare_words.iter();
    words.any(|word| offered.bare_words.contains(word))
}

fn is_typo(wanted: &Name, offered: &Name) -> bool {
    let wrong = |one: &str, other: &str| {
        let most = match one.chars().count().max(other.chars().count()) {
            0..SHORT => 1,
            _ => MOST_WRONG,
        };
        strsim::osa_distance(one, other) <= most
    };
    wrong(&wanted.bare, &offered.bare) || wrong(&wanted.whole, &offered.whole)
}

/// What a name is made of besides separators, in lower case.
fn letters(name: &str) -> String {
    let letters = name.chars().filter(|letter| letter.is_alphanumeric());
    letters.flat_map(char::to_lowercase).collect()
}

// A tool name taken apart into namespace and words.

/// What providers and models put before a name that is not a namespace of the operator's tools.
const PREFIXES: [&str; 6] = [
    "functions.",
    "functions:",
    "default_api:",
    "default_api.",
    "tools.",
    "mcp__",
];
/// What a handoff tool's name starts with, as words (the Agents SDK makes `transfer_to_`
/// plus the agent's name).
const HANDOFFS: [&str; 4] = ["transferto", "handoffto", "delegateto", "transferbackto"];
/// Longest part of a name that is compared: a name is a word, not a text.
const LONGEST: usize = 128;

/// One name in the forms that are compared.
#[derive(Debug, Clone)]
struct Name {
    given: String,
    /// All words, lower case, nothing between them.
    whole: String,
    /// The words after the namespace, nothing between them.
    bare: String,
    /// The words after the namespace, sorted, each once.
    bare_words: Vec<String>,
    /// The agent that this handoff tool leads to.
    agent: Option<String>,
    /// The whole name without the word `agent`.
    without_agent: String,
    /// Bit set of the synonym groups.
    groups: u32,
    /// What the tool does, by the verb that its bare name begins or ends with.
    verb: Option<usize>,
    /// Whether the bare name has a namespace.
    qualified: bool,
}

impl Name {
    fn new(given: &str) -> Self {
        let text: String = strip(given.trim()).chars().take(LONGEST).collect();
        let segments: Vec<&str> = segments(&text);
        let mut all: Vec<String> = Vec::new();
        let mut last = Vec::new();
        for segment in &segments {
            last = words(segment);
            all.extend(last.iter().cloned());
        }
        let (whole, bare) = (all.concat(), last.concat());
        let groups = groups_of(&bare) | groups_of(&whole);
        let ends = [last.first(), last.last()].into_iter().flatten();
        let verb = ends.map(String::as_str).find_map(verb_kind);
        last.sort_unstable();
        last.dedup();
        Self {
            given: given.to_owned(),
            agent: agent(&bare, &all),
            without_agent: all
                .iter()
                .filter(|word| *word != "agent")
                .map(String::as_str)
                .collect(),
            verb,
            qualified: segments.len() > 1,
            bare_words: last,
            whole,
            bare,
            groups,
        }
    }

    /// Whether this flat name (`server_tool`) ends in the qualified name `other` (`a.server.tool`), or
    /// that in this one.
    fn flattens(&self, other: &Self) -> bool {
        let (long, short) = if self.whole.len() > other.whole.len() {
            (self, other)
        } else {
            (other, self)
        };
        short.qualified && short.bare == long.bare && long.whole.ends_with(&short.whole)
    }
}

/// Takes off a provider's prefix; the rest of `mcp__server__tool` keeps its namespace.
fn strip(name: &str) -> &str {
    PREFIXES
        .iter()
        .find_map(|prefix| name.strip_prefix(prefix))
        .filter(|rest| !rest.is_empty())
        .unwrap_or(name)
}

/// Namespaces and the bare name.
fn segments(name: &str) -> Vec<&str> {
    name.split(['.', ':', '/'])
        .flat_map(|part| part.split("__"))
        .filter(|part| part.chars().any(char::is_alphanumeric))
        .collect()
}

/// `getWeather_v2` is `get`, `weather`, `v2`; `HTTPServer` is `http`, `server`.
fn words(segment: &str) -> Vec<String> {
    let mut words: Vec<String> = Vec::new();
    let mut word = String::new();
    let mut characters = segment.chars().peekable();
    let mut before: Option<char> = None;
    while let Some(character) = characters.next() {
        let next_is_lower = characters.peek().is_some_and(|next| next.is_lowercase());
        let starts = character.is_uppercase()
            && before.is_some_and(|before| !before.is_uppercase() || next_is_lower);
        if (starts || !character.is_alphanumeric()) && !word.is_empty() {
            words.push(std::mem::take(&mut word));
        }
        if character.is_alphanumeric() {
            word.extend(character.to_lowercase());
        }
        before = Some(character);
    }
    if !word.is_empty() {
        words.push(word);
    }
    words
}

fn agent(bare: &str, all: &[String]) -> Option<String> {
    let start = HANDOFFS.iter().find(|start| bare.starts_with(**start))?;
    let words = all.concat();
    let rest = &words[words.find(start)? + start.len()..];
    Some(rest.strip_suffix("agent").unwrap_or(rest).to_owned())
}
