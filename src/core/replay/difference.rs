//! What differs between a request and a recorded history, in words.

use super::said::Said;
use crate::session::operations_of;
use serde::Serialize;
use similar::{DiffOp, DiffTag, group_diff_ops};
use std::fmt;

/// Most differences that are told one by one.
const TOLD: usize = 12;
/// Unchanged words around changed ones.
const AROUND: usize = 4;
/// Longest text of one difference, in characters.
const LONGEST: usize = 600;

/// Something of a request that is not as it was recorded.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Differing {
    #[serde(flatten)]
    pub part: Part,
    pub how: Change,
    /// The words around the change: those that only the recording has as `[-words-]`, those that only the
    /// request has as `{+words+}`.
    pub words: String,
}

/// What of a request differs.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub struct Part {
    /// `instructions`, `output-schema` (that of the final output), `item` or `tool` (one on offer).
    #[serde(rename = "part")]
    pub what: &'static str,
    /// The number of the recorded item, from 1; of what only the request has, that of the item of the request.
    pub item: Option<usize>,
    /// What the item is, as `user`.
    pub kind: Option<&'static str>,
    pub tool: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Change {
    Changed,
    /// The request does not have it.
    Missing,
    /// The recording does not have it.
    Added,
}

impl Change {
    pub fn word(self) -> &'static str {
        match self {
            Self::Changed => "changed",
            Self::Missing => "missing",
            Self::Added => "added",
        }
    }
}

impl Part {
    pub(super) fn of(what: &'static str) -> Self {
        Self {
            what,
            ..Self::default()
        }
    }
}

impl fmt::Display for Part {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.what.replace('-', " "))?;
        let Self {
            item, kind, tool, ..
        } = self;
        item.map_or(Ok(()), |item| write!(f, " {item}"))?;
        kind.map_or(Ok(()), |kind| write!(f, ", {kind}"))?;
        tool.as_ref().map_or(Ok(()), |tool| write!(f, " {tool}"))
    }
}

impl fmt::Display for Differing {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { part, how, words } = self;
        match how {
            Change::Changed => write!(f, "{part}: {words}"),
            Change::Missing | Change::Added => write!(f, "{part}, {}: {words}", how.word()),
        }
    }
}

impl Differing {
    /// Two texts of one part; where one is empty, it is missing or added.
    pub(super) fn words(part: Part, recorded: &str, asked: &str) -> Self {
        let how = match (recorded.is_empty(), asked.is_empty()) {
            (true, false) => Change::Added,
            (false, true) => Change::Missing,
            _ => Change::Changed,
        };
        let words = changed_words(recorded, asked);
        Self { part, how, words }
    }
}

/// The differences of two histories, and how many more there are than are told.
pub(super) fn differing(recorded: &[Said], asked: &[Said]) -> Vec<Differing> {
    let [before, after] =
        [recorded, asked].map(|said| said.iter().map(Said::key).collect::<Vec<_>>());
    let operations = operations_of(&before, &after);
    let mut all = Vec::new();
    for operation in operations {
        if operation.tag() == DiffTag::Equal {
            continue;
        }
        let (old, new) = (
            &recorded[operation.old_range()],
            &asked[operation.new_range()],
        );
        for place in 0..old.len().max(new.len()) {
            all.extend(pair(old.get(place), new.get(place)));
        }
    }
    all
}

fn pair(recorded: Option<&Said>, asked: Option<&Said>) -> Vec<Differing> {
    let part = |said: &Said| Part {
        item: Some(said.item + 1),
        kind: Some(said.who.word()),
        ..Part::of("item")
    };
    match (recorded, asked) {
        (Some(one), Some(other)) if one.who == other.who => {
            let (was, is) = (one.words(), other.words());
            if was != is {
                return vec![Differing::words(part(one), &was, &is)];
            }
            // The same words: an output of another call.
            let call = |said: &Said| match said.answers {
                Some(call) => format!("answers call {}", call + 1),
                None => "answers no call".to_owned(),
            };
            vec![Differing::words(part(one), &call(one), &call(other))]
        }
        _ => {
            let gone = recorded.map(|one| Differing::words(part(one), &one.words(), ""));
            let new = asked.map(|one| Differing::words(part(one), "", &one.words()));
            gone.into_iter().chain(new).collect()
        }
    }
}

/// Keeps what is told one by one, and says how many more there are.
pub(super) fn told(mut all: Vec<Differing>) -> (Vec<Differing>, usize) {
    let more = all.len().saturating_sub(TOLD);
    all.truncate(TOLD);
    (all, more)
}

/// The changed words of a text with a few unchanged ones around them.
fn changed_words(recorded: &str, asked: &str) -> String {
    let [old, new] = [recorded, asked].map(words_of);
    let groups = group_diff_ops(operations_of(&old, &new), AROUND);
    let mut out = String::new();
    for (number, group) in groups.iter().enumerate() {
        let starts = group.first().map_or(0, |first| first.old_range().start);
        if number > 0 || starts > 0 {
            out.push_str("… ");
        }
        for operation in group {
            show(operation, &old, &new, &mut out);
        }
        let ends = group.last().map_or(0, |last| last.old_range().end);
        if number + 1 == groups.len() && ends < old.len() {
            out.push_str(" …");
        }
        if out.len() > LONGEST {
            break;
        }
    }
    shortened(out.trim())
}

fn show(operation: &DiffOp, old: &[&str], new: &[&str], out: &mut String) {
    let text = |words: &[&str]| shortened(&words.concat());
    let (gone, come) = (&old[operation.old_range()], &new[operation.new_range()]);
    if operation.tag() == DiffTag::Equal {
        out.push_str(&gone.concat());
        return;
    }
    if !gone.is_empty() {
        out.push_str(&format!("[-{}-]", text(gone)));
    }
    if !come.is_empty() {
        out.push_str(&format!("{{+{}+}}", text(come)));
    }
}

/// A text in words; the space between two is a piece of its own, so that nothing gets lost.
fn words_of(text: &str) -> Vec<&str> {
    let is_word = |character: char| character.is_alphanumeric() || character == '_';
    let mut words = Vec::new();
    let mut start = 0;
    let mut last = None;
    for (at, character) in text.char_indices() {
        let kind = (is_word(character), character.is_whitespace());
        // Signs stand by themselves.
        if at > start && (last != Some(kind) || kind == (false, false)) {
            words.push(&text[start..at]);
            start = at;
        }
        last = Some(kind);
    }
    words.extend((start < text.len()).then(|| &text[start..]));
    words
}

/// The beginning and the end of a long text.
fn shortened(text: &str) -> String {
    let count = text.chars().count();
    if count <= LONGEST {
        return text.to_owned();
    }
    let half = LONGEST / 2;
    let begin: String = text.chars().take(half).collect();
    let end: String = text.chars().skip(count - half).collect();
    format!("{begin} … {end}")
}
