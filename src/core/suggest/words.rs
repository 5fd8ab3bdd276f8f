//! A tool name taken apart into namespace and words.

use super::known::{groups_of, verb_kind};

/// What providers and models put before a name that is no namespace of the operator's tools.
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
pub(super) struct Name {
    pub(super) given: String,
    /// All words, lower case, nothing between them.
    pub(super) whole: String,
    /// The words after the namespace, nothing between them.
    pub(super) bare: String,
    /// The words after the namespace, sorted, each once.
    pub(super) bare_words: Vec<String>,
    /// The agent that this handoff tool leads to.
    pub(super) agent: Option<String>,
    /// The whole name without the word `agent`.
    pub(super) without_agent: String,
    /// Bit set of the synonym groups.
    pub(super) groups: u32,
    /// What the tool does, by the verb that its bare name begins or ends with.
    pub(super) verb: Option<usize>,
    /// Whether the bare name has a namespace.
    pub(super) qualified: bool,
}

impl Name {
    pub(super) fn new(given: &str) -> Self {
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
    pub(super) fn flattens(&self, other: &Self) -> bool {
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
