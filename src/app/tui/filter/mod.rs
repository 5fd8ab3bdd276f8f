//! The filter: which items are shown.
//!
//! | written | keeps items |
//! |---|---|
//! | `flight` `"two words"` | that hold the text; small letters match both cases |
//! | `~srchflt` | whose row matches the letters with gaps |
//! | `kind:call,output` | of these kinds; `kind:hosted` is every kind that begins so |
//! | `tool:search*` | of these tools; `*` and `?` stand for any letters |
//! | `rule:unknown-tool` | with a finding of these rules |
//! | `error` `warning` `finding` | with a finding that bad, or any |
//! | `!tool:search*` | for which the rest is not true |
//! | `.arguments \| test("x")` | for whose JSON the jq expression gives something true |
//!
//! Several words must all be true. [`Filter::matches_head`] decides from what is in memory wherever it
//! can, so that a filter by kind or tool is instant; where it cannot, the bytes are read in chunks
//! behind and [`Filter::matches`] decides.

mod bar;

use super::fuzzy::Fuzzy;
pub use bar::{FilterBar, Filtering};
use retake_core::jq::{Expression, ExpressionError};
use retake_core::pattern::Pattern;
use retake_core::rules::Severity;
use retake_core::session::Kind;
use retake_live::search::{Needle, NeedleError};

/// What of an item is in memory.
#[derive(Debug, Clone, Copy)]
pub struct Head<'a> {
    pub kind: Kind,
    /// Its tool; empty where it has none.
    pub tool: &'a str,
    /// The rule ids of its findings.
    pub findings: &'a [(&'static str, Severity)],
}

/// An item with what it says.
#[derive(Debug, Clone, Copy)]
pub struct ItemView<'a> {
    /// What is in memory.
    pub head: Head<'a>,
    /// What its row in the list says.
    pub row: &'a str,
    pub bytes: &'a [u8],
}

/// What the operator wants to see. Each thread that filters has its own clone.
#[derive(Debug, Clone, Default)]
pub enum Filter {
    #[default]
    Everything,
    /// What every term is true of.
    Terms(Vec<Term>),
    /// What a jq expression gives something true for.
    Jq(Expression),
}

/// One word of a filter.
#[derive(Debug, Clone)]
pub struct Term {
    is_inverse: bool,
    test: Test,
}

#[derive(Debug, Clone)]
enum Test {
    Text(Needle),
    Fuzzy(Box<Fuzzy>),
    Kind(Vec<Kind>),
    Tool(Pattern),
    Rule(Pattern),
    /// A finding at least this bad, and no worse.
    Severity(Severity),
    Finding,
}

/// What an item has to give for a filter.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Need {
    /// What is in memory.
    Head,
    Body,
}

/// Most words of a filter: each is a search of its own, and what was pasted by mistake has a million.
const MOST: usize = 100;

/// Why a text is no filter.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FilterError {
    /// No kind has this name.
    #[error("no kind is called `{0}`; kinds: {all}", all = kinds())]
    UnknownKind(String),
    /// A `!` or `~` or `kind:` with nothing behind it.
    #[error("nothing stands behind `{0}`")]
    Incomplete(String),
    /// More words than are looked for one by one.
    #[error("a filter takes {MOST} words; \"quotes\" look for the text as a whole")]
    TooManyWords,
    /// A word before a colon that no field has.
    #[error("no field is called `{0}`; fields: {1}; \"quotes\" look for the text")]
    UnknownField(String, String),
    /// A text that cannot be searched for.
    #[error(transparent)]
    Text(#[from] NeedleError),
    /// A jq expression that is none.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

fn kinds() -> String {
    Kind::ALL.map(|(_, word)| word.replace(' ', "-")).join(" ")
}

impl Filter {
    /// Reads a filter as the operator writes it.
    pub fn parse(text: &str) -> Result<Self, FilterError> {
        let text = text.trim();
        if text.starts_with('.') {
            return Ok(Self::Jq(Expression::parse(text)?));
        }
        let terms = words(text)?
            .into_iter()
            .map(|word| Term::parse(&word))
            .collect::<Result<Vec<_>, _>>()?;
        Ok(if terms.is_empty() {
            Self::Everything
        } else {
            Self::Terms(terms)
        })
    }

    /// What items have to give.
    pub fn need(&self) -> Need {
        match self {
            Self::Everything => Need::Head,
            Self::Jq(_) => Need::Body,
            Self::Terms(terms) => terms.iter().map(Term::need).max().unwrap_or(Need::Head),
        }
    }

    /// Whether an item is shown, as far as its head tells; `None` where its bytes have to be read.
    pub fn matches_head(&self, head: &Head<'_>) -> Option<bool> {
        match self {
            Self::Everything => Some(true),
            Self::Jq(_) => None,
            Self::Terms(terms) => {
                let mut of_head = terms.iter().filter_map(|term| term.holds_for_head(head));
                let is_true = of_head.all(|holds| holds);
                (!is_true || self.need() == Need::Head).then_some(is_true)
            }
        }
    }

    /// Whether an item is shown.
    pub fn matches(&mut self, item: &ItemView<'_>) -> bool {
        match self {
            Self::Everything => true,
            Self::Jq(expression) => expression.is_true_of(item.bytes),
            Self::Terms(terms) => terms.iter_mut().all(|term| term.holds_for(item)),
        }
    }
}

impl Term {
    fn parse(word: &Word) -> Result<Self, FilterError> {
        let text = word.text.as_str();
        let (is_inverse, text) = match text.strip_prefix('!') {
            Some(rest) if !word.is_quoted => (true, rest),
            _ => (false, text),
        };
        let test = if word.is_quoted {
            Test::Text(Needle::new(text)?)
        } else {
            Test::parse(text)?
        };
        Ok(Self { is_inverse, test })
    }

    fn need(&self) -> Need {
        match self.test {
            Test::Text(_) | Test::Fuzzy(_) => Need::Body,
            _ => Need::Head,
        }
    }

    fn holds_for_head(&self, head: &Head<'_>) -> Option<bool> {
        let mut findings = head.findings.iter();
        let holds = match &self.test {
            Test::Text(_) | Test::Fuzzy(_) => return None,
            Test::Kind(kinds) => kinds.contains(&head.kind),
            Test::Tool(pattern) => !head.tool.is_empty() && pattern.matches(head.tool),
            Test::Rule(pattern) => findings.any(|(rule, _)| pattern.matches(rule)),
            Test::Severity(severity) => findings.any(|(_, found)| found == severity),
            Test::Finding => findings.next().is_some(),
        };
        Some(holds != self.is_inverse)
    }

    fn holds_for(&mut self, item: &ItemView<'_>) -> bool {
        if let Some(holds) = self.holds_for_head(&item.head) {
            return holds;
        }
        let holds = match &mut self.test {
            Test::Text(needle) => needle.find(item.bytes, 0).is_some(),
            Test::Fuzzy(fuzzy) => fuzzy.score(item.row).is_some(),
            _ => false,
        };
        holds != self.is_inverse
    }
}

impl Test {
    fn parse(text: &str) -> Result<Self, FilterError> {
        let given = |value: &str, prefix: &str| match value {
            "" => Err(FilterError::Incomplete(prefix.to_owned())),
            _ => Ok(()),
        };
        if let Some(letters) = text.strip_prefix('~') {
            given(letters, "~")?;
            return Ok(Self::Fuzzy(Box::new(Fuzzy::new(letters))));
        }
        match text.split_once(':') {
            Some((key @ ("kind" | "tool" | "rule"), value)) => {
                given(value, &format!("{key}:"))?;
                Ok(match key {
                    "kind" => Self::Kind(kinds_named(value)?),
                    "tool" => Self::Tool(Pattern::new(value)),
                    _ => Self::Rule(Pattern::new(value)),
                })
            }
            Some((key, value)) if is_field(key, value) => {
                let fields = ["kind", "tool", "rule"].join(" ");
                Err(FilterError::UnknownField(key.to_owned(), fields))
            }
            _ => Ok(match text {
                "" => return Err(FilterError::Incomplete("!".to_owned())),
                "error" => Self::Severity(Severity::Error),
                "warning" => Self::Severity(Severity::Warning),
                "finding" => Self::Finding,
                _ => Self::Text(Needle::new(text)?),
            }),
        }
    }
}

/// Whether a word with a colon is meant as a field: not a time, an address or a path.
pub(in crate::tui) fn is_field(key: &str, value: &str) -> bool {
    let is_word = !key.is_empty() && key.bytes().all(|byte| byte.is_ascii_lowercase());
    is_word && !value.starts_with(['/', ':', '\\'])
}

/// The kinds with these names: each exactly, or else those that begin so.
fn kinds_named(names: &str) -> Result<Vec<Kind>, FilterError> {
    let mut found = Vec::new();
    for name in names.split(',').filter(|name| !name.is_empty()) {
        let wanted = name.to_lowercase().replace('-', " ");
        let exact = Kind::ALL.iter().filter(|(_, word)| *word == wanted);
        let mut kinds: Vec<Kind> = exact.map(|(kind, _)| *kind).collect();
        if kinds.is_empty() {
            let begins = Kind::ALL
                .iter()
                .filter(|(_, word)| word.starts_with(&wanted));
            kinds = begins.map(|(kind, _)| *kind).collect();
        }
        if kinds.is_empty() {
            return Err(FilterError::UnknownKind(name.to_owned()));
        }
        found.extend(kinds);
    }
    Ok(found)
}

/// A word of the filter text; what stood in quotes is a text and nothing else.
#[derive(Debug, PartialEq)]
pub(in crate::tui) struct Word {
    pub(in crate::tui) text: String,
    pub(in crate::tui) is_quoted: bool,
}

/// Takes a text apart at spaces. A quote at the start of a word runs to the next quote or to the end.
pub(in crate::tui) fn words(text: &str) -> Result<Vec<Word>, FilterError> {
    let mut words = Vec::new();
    let mut rest = text.trim_start();
    while !rest.is_empty() {
        let (word, is_quoted, behind) = match rest.strip_prefix('"') {
            Some(quoted) => {
                let (word, behind) = quoted.split_once('"').unwrap_or((quoted, ""));
                (word, true, behind)
            }
            None => {
                let end = rest.find(char::is_whitespace).unwrap_or(rest.len());
                (&rest[..end], false, &rest[end..])
            }
        };
        if words.len() == MOST {
            return Err(FilterError::TooManyWords);
        }
        if !word.is_empty() {
            words.push(Word {
                text: word.to_owned(),
                is_quoted,
            });
        }
        rest = behind.trim_start();
    }
    Ok(words)
}

#[cfg(test)]
mod tests;
