//! Breakpoints: where a run stops although nothing is wrong.
//!
//! | written | stops the run |
//! |---|---|
//! | `tool search_*` | at a call of the tool that has not run; `*` and `?` match any letters |
//! | `kind reasoning` | at an item of the kind |
//! | `rule tool-error` | at a finding of the rule, however bad |
//! | `arg .amount > 100` | at a call that has not run, where the jq expression gives something true for its arguments |
//! | `turn 5` | at the reply that is the turn of this number, as the list of turns and `check` count |
//! | `once tool pay` | the same, and only once |

use super::standing::{RunCall, RunStatus};
use crate::jq::{Expression, ExpressionError};
use crate::pattern::Pattern;
use crate::rules::RULES;
use crate::session::Kind;
use crate::suggest::did_you_mean;
use std::collections::HashMap;
use std::fmt;

/// Longest breakpoint, in bytes.
const LONGEST: usize = 2100;
/// The word before a breakpoint that stops the run only once.
const ONCE: &str = "once";

#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Breakpoint {
    /// Its number, from 1; it keeps it.
    pub number: u32,
    /// What it looks for.
    pub on: BreakpointTarget,
    /// Whether it goes once it has stopped the run.
    pub is_one_shot: bool,
    /// Whether it stops anything at present.
    pub is_enabled: bool,
}

/// What a breakpoint looks for.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum BreakpointTarget {
    /// A call of this tool; `*` and `?` match any letters.
    Tool(String),
    /// An item of this kind, by its word.
    Kind(String),
    /// A finding of this rule.
    Rule(String),
    /// A call whose arguments satisfy this jq expression.
    Argument(String),
    /// The reply that is the turn of this number, from 1: every turn counts, whoever speaks.
    Turn(u32),
}

/// How a target is written: its word, an example of its argument, and what it stops at.
pub const PLACES: [(&str, &str, &str); 5] = [
    ("tool", "search_*", "a call of this tool, before it runs"),
    ("kind", "reasoning", "an item of this kind"),
    (
        "rule",
        "tool-error",
        "a finding of this rule, of any severity",
    ),
    (
        "arg",
        ".amount > 100",
        "a call whose arguments satisfy this jq expression, before it runs",
    ),
    (
        "turn",
        "5",
        "the turn of this number, as the list of turns and `check` count",
    ),
];

/// Why a text is no breakpoint.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BreakpointError {
    #[error("write where to stop: {all}", all = all_places())]
    Empty,
    #[error("this is too long: {LONGEST} bytes at most")]
    TooLong,
    /// It begins with another word.
    #[error("`{0}` is not a place to stop at: {all}", all = all_places())]
    UnknownPlace(String),
    /// The argument is missing.
    #[error("the argument of `{0}` is missing: write, for example, `{0} {1}`")]
    Incomplete(&'static str, &'static str),
    /// No kind has this name.
    #[error("no kind is called `{name}`{meant}; there are {all}", all = kinds())]
    UnknownKind {
        name: String,
        /// The nearest name as a part of the sentence; empty where none is near.
        meant: String,
    },
    /// No rule has this id.
    #[error("no rule is called `{name}`{meant}")]
    UnknownRule {
        name: String,
        /// The nearest id as a part of the sentence, or all.
        meant: String,
    },
    /// It is not a number of a reply.
    #[error("`{0}` is not a number of a reply: they count from 1")]
    NoNumber(String),
    /// The jq expression is none.
    #[error(transparent)]
    Expression(#[from] ExpressionError),
}

fn all_places() -> String {
    let written = PLACES.map(|(word, example, _)| format!("`{word} {example}`"));
    written.join(", ")
}

fn kinds() -> String {
    written_kinds().join(", ")
}

fn written_kinds() -> Vec<String> {
    Kind::ALL.iter().map(|kind| written(kind.word())).collect()
}

/// A kind as it is typed: in one word.
fn written(kind: &str) -> String {
    kind.replace(' ', "-")
}

impl Breakpoint {
    /// Reads a breakpoint as the operator writes it; it gets a number.
    pub fn parse(number: u32, text: &str) -> Result<Self, BreakpointError> {
        if text.len() > LONGEST {
            return Err(BreakpointError::TooLong);
        }
        let (first, rest) = word_of(text);
        let (is_one_shot, place) = match first {
            ONCE => (true, rest),
            _ => (false, text),
        };
        Ok(Self {
            number,
            on: BreakpointTarget::parse(place)?,
            is_one_shot,
            is_enabled: true,
        })
    }
}

/// As the operator writes it.
impl fmt::Display for Breakpoint {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_one_shot {
            write!(f, "{ONCE} ")?;
        }
        self.on.fmt(f)
    }
}

impl BreakpointTarget {
    /// Reads what a breakpoint looks for.
    pub fn parse(text: &str) -> Result<Self, BreakpointError> {
        let (word, rest) = word_of(text);
        if word.is_empty() {
            return Err(BreakpointError::Empty);
        }
        let places = PLACES.iter();
        let place = places.copied().find(|(known, ..)| *known == word);
        let Some((known, example, _)) = place else {
            return Err(BreakpointError::UnknownPlace(word.to_owned()));
        };
        if rest.is_empty() {
            return Err(BreakpointError::Incomplete(known, example));
        }
        match known {
            "tool" => Ok(Self::Tool(rest.to_owned())),
            "kind" => kind(rest),
            "rule" => rule(rest),
            "arg" => {
                Expression::parse(rest)?;
                Ok(Self::Argument(rest.to_owned()))
            }
            _ => {
                let number = rest.parse().ok().filter(|number| *number > 0);
                let number = number.ok_or_else(|| BreakpointError::NoNumber(rest.to_owned()))?;
                Ok(Self::Turn(number))
            }
        }
    }

    /// Its first word, and the argument.
    fn parts(&self) -> (&'static str, String) {
        match self {
            Self::Tool(pattern) => ("tool", pattern.clone()),
            Self::Kind(kind) => ("kind", kind.clone()),
            Self::Rule(rule) => ("rule", rule.clone()),
            Self::Argument(expression) => ("arg", expression.clone()),
            Self::Turn(number) => ("turn", number.to_string()),
        }
    }
}

impl fmt::Display for BreakpointTarget {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (word, rest) = self.parts();
        write!(f, "{word} {rest}")
    }
}

fn word_of(text: &str) -> (&str, &str) {
    let text = text.trim();
    let (word, rest) = text.split_once(char::is_whitespace).unwrap_or((text, ""));
    (word, rest.trim_start())
}

fn kind(name: &str) -> Result<BreakpointTarget, BreakpointError> {
    let name = written(&name.to_lowercase());
    let known = written_kinds();
    if known.contains(&name) {
        return Ok(BreakpointTarget::Kind(name));
    }
    let known = known.iter().map(String::as_str).collect::<Vec<_>>();
    let meant = did_you_mean(&name, &known);
    Err(BreakpointError::UnknownKind { name, meant })
}

fn rule(name: &str) -> Result<BreakpointTarget, BreakpointError> {
    if RULES.iter().any(|rule| rule.id == name) {
        return Ok(BreakpointTarget::Rule(name.to_owned()));
    }
    let known = RULES.iter().map(|rule| rule.id).collect::<Vec<_>>();
    let meant = match did_you_mean(name, &known) {
        nothing if nothing.is_empty() => format!("; there are {}", known.join(", ")),
        meant => meant,
    };
    Err(BreakpointError::UnknownRule {
        name: name.to_owned(),
        meant,
    })
}

/// Patterns and expressions of breakpoints, ready to run; they are made when they are needed first.
#[derive(Debug, Clone, Default)]
pub struct BreakpointCache {
    patterns: HashMap<String, Pattern>,
    /// Nothing for a text from a journal that is no expression: it stops nothing.
    expressions: HashMap<String, Option<Expression>>,
}

impl BreakpointCache {
    fn is_of(&mut self, tool: &str, pattern: &str) -> bool {
        let known = self.patterns.entry(pattern.to_owned());
        let pattern = known.or_insert_with(|| Pattern::new(pattern));
        let bare = tool.rsplit_once('.').map(|(_, bare)| bare);
        pattern.matches(tool) || bare.is_some_and(|bare| pattern.matches(bare))
    }

    fn is_true_of(&mut self, expression: &str, json: &str) -> bool {
        let known = self.expressions.entry(expression.to_owned());
        let expression = known.or_insert_with(|| Expression::parse(expression).ok());
        let expression = expression.as_ref();
        expression.is_some_and(|expression| expression.is_true_of(json.as_bytes()))
    }
}

/// A breakpoint found what it looks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub struct BreakpointHit {
    /// The number of the breakpoint.
    pub number: u32,
    /// The item of the take; `None` for a reply as a whole.
    pub item: Option<u32>,
}

/// What the breakpoints find in the last turn, each item once for each breakpoint. The item
/// distinguishes a hit that the run has continued from and a new one.
pub fn hits(
    breakpoints: &[Breakpoint],
    standing: &RunStatus,
    ready: &mut BreakpointCache,
) -> Vec<BreakpointHit> {
    let mut found = Vec::new();
    for breakpoint in breakpoints
        .iter()
        .filter(|breakpoint| breakpoint.is_enabled)
    {
        let mut items = places(&breakpoint.on, standing, ready);
        items.sort_unstable();
        items.dedup();
        let number = breakpoint.number;
        found.extend(items.into_iter().map(|item| BreakpointHit { number, item }));
    }
    found
}

fn places(
    place: &BreakpointTarget,
    standing: &RunStatus,
    ready: &mut BreakpointCache,
) -> Vec<Option<u32>> {
    // A call that was answered cannot be stopped any more.
    let open = standing.calls.iter().filter(|call| call.is_open);
    let item = |call: &RunCall| Some(call.item);
    match place {
        BreakpointTarget::Tool(pattern) => {
            let of_tool = open.filter(|call| ready.is_of(&call.tool, pattern));
            of_tool.map(item).collect()
        }
        BreakpointTarget::Argument(expression) => {
            let fitting = open.filter(|call| ready.is_true_of(expression, &call.arguments));
            fitting.map(item).collect()
        }
        BreakpointTarget::Kind(name) => {
            let items = standing.items.iter();
            let of_kind = items.filter(|(_, kind)| written(kind.word()) == *name);
            of_kind.map(|(item, _)| Some(*item)).collect()
        }
        BreakpointTarget::Rule(rule) => {
            let faults = standing.faults.iter();
            let of_rule = faults.filter(|fault| fault.rule == rule);
            of_rule.map(|fault| fault.item).collect()
        }
        BreakpointTarget::Turn(number) if standing.turn == *number => vec![None],
        BreakpointTarget::Turn(_) => Vec::new(),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
