//! What is wrong with an agent file, each thing with its line.

use super::keys::{Place, Wanted, keys_of};
use crate::suggest;
use std::fmt;

/// Most faults that are told.
const MOST: usize = 50;
/// Most faults whose lines are looked up.
const NOTED: usize = 1000;

/// Everything that is wrong with an agent file, in the order of its lines; never empty.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFaults {
    /// The faults, 50 at most.
    pub faults: Vec<AgentFault>,
    /// How many more there are.
    pub more: usize,
}

/// Something that is wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AgentFault {
    pub line: usize,
    pub wrong: Wrong,
}

impl std::error::Error for AgentFaults {}

impl AgentFaults {
    /// A file that gives no agent without any reason of its own.
    pub(super) fn unreadable() -> Self {
        let wrong = Wrong::Syntax("this is no agent file".to_owned());
        let faults = vec![AgentFault { line: 1, wrong }];
        Self { faults, more: 0 }
    }
}

impl fmt::Display for AgentFaults {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, fault) in self.faults.iter().enumerate() {
            let end = if number == 0 { "" } else { "\n" };
            write!(f, "{end}{fault}")?;
        }
        match self.more {
            0 => Ok(()),
            more => write!(f, "\nand {more} more"),
        }
    }
}

impl fmt::Display for AgentFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.told())
    }
}

impl AgentFault {
    /// What is wrong and what to do about it, without the line.
    pub fn told(&self) -> String {
        match self.wrong.hint() {
            Some(hint) => format!("{}; {hint}", self.wrong),
            None => self.wrong.to_string(),
        }
    }
}

/// What is wrong. A text that may be a secret stands in none of them.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Wrong {
    /// The file is no TOML.
    #[error("{0}")]
    Syntax(String),
    /// A key that is in no table.
    #[error("`{key}` is not known in {place}{}; there are {}", meant(.key, *.place), known(*.place))]
    UnknownKey { key: String, place: Place },
    /// Another type of value.
    #[error("`{key}` wants {wanted}, and this is {got}")]
    Type {
        key: &'static str,
        wanted: Wanted,
        got: &'static str,
    },
    /// A key that is needed.
    #[error("{of} has no `{key}`")]
    Missing { of: String, key: &'static str },
    /// Nothing that says what a thing is.
    #[error("{of} wants one of {}", ticked(.keys))]
    NoneOf {
        of: String,
        keys: &'static [&'static str],
    },
    /// Two keys that exclude each other.
    #[error("`{one}` and `{other}` exclude each other")]
    Both {
        /// The one that stands first in the table of keys.
        one: &'static str,
        other: &'static str,
    },
    /// A key that means nothing without another.
    #[error("`{key}` means nothing without {}", ticked(.keys))]
    Without {
        key: &'static str,
        /// One of them is needed.
        keys: &'static [&'static str],
    },
    /// A name that was given before.
    #[error("{what} `{name}` was defined already on line {line}")]
    Twice {
        what: &'static str,
        name: String,
        line: usize,
    },
    /// A name that providers refuse.
    #[error("the tool name `{name}` {why}")]
    ToolName {
        name: String,
        /// What is wrong with it.
        why: String,
    },
    /// A name that cannot be shown on a line.
    #[error("`{0}` has 1 to 100 characters and stands on one line")]
    Name(&'static str),
    /// A schema that cannot be used.
    #[error("the schema in `{key}` cannot be used: {why}")]
    Schema { key: &'static str, why: String },
    /// A file that cannot be read.
    #[error("`{key}`: {file}: {why}")]
    File {
        key: &'static str,
        file: String,
        why: String,
    },
    /// A file that cannot be used.
    #[error("`{key}`: {file}: {why}")]
    InFile {
        key: &'static str,
        file: String,
        /// Why, with the line of that file.
        why: String,
    },
    /// Something in the policy.
    #[error("{0}")]
    Policy(String),
    /// A value that JSON does not know.
    #[error("`{key}` holds {what}, which JSON does not know")]
    NotJson {
        key: &'static str,
        what: &'static str,
    },
    /// A text that is no name of a variable.
    #[error("`{0}` wants the name of an environment variable")]
    NoVariable(&'static str),
    /// A text that looks like a key.
    #[error("`{0}` holds what looks like a key itself")]
    Secret(&'static str),
    /// An address that cannot be used.
    #[error("`{key}` is no address: {why}")]
    Address {
        key: &'static str,
        why: &'static str,
    },
    /// A header that cannot be sent.
    #[error("`headers`: {0}")]
    Header(&'static str),
    /// An empty text or list.
    #[error("`{0}` is empty")]
    Empty(&'static str),
    /// A control character where none may be.
    #[error("`{0}` holds a control character")]
    Control(&'static str),
    /// A setting that is not the agent's to make.
    #[error("`settings` cannot set `{0}`")]
    OwnMember(String),
    /// An answer that is never given.
    #[error("this answer is never given: one before it fits every call")]
    Unreachable,
    /// More of something than is read.
    #[error("more than {most} {what}")]
    TooMany { what: &'static str, most: usize },
}

impl Wrong {
    /// What to do about it, where that needs a word.
    pub fn hint(&self) -> Option<&'static str> {
        Some(match self {
            Self::NoVariable(_) | Self::Secret(_) => {
                "put the key into an environment variable and write the name of that"
            }
            Self::Header(_) => "write \"env:NAME\" for the value of a variable",
            Self::OwnMember(_) => "it comes from the run, or from another key of [model]",
            Self::Schema { .. } => "a schema of arguments begins with type = \"object\"",
            Self::File { .. } => "files are looked for beside the agent file",
            _ => return None,
        })
    }
}

fn known(place: Place) -> String {
    let names = keys_of(place).map(|key| key.name);
    names.collect::<Vec<_>>().join(", ")
}

fn meant(key: &str, place: Place) -> String {
    let names = keys_of(place).map(|key| key.name).collect::<Vec<_>>();
    let nearest = suggest::nearest(key, &names);
    nearest.first().map_or(String::new(), |nearest| {
        format!("; did you mean `{}`?", nearest.name)
    })
}

fn ticked(keys: &[&str]) -> String {
    let keys = keys.iter().map(|key| format!("`{key}`"));
    keys.collect::<Vec<_>>().join(", ")
}

/// The faults that were found so far.
#[derive(Debug)]
pub(super) struct Notes<'t> {
    text: &'t str,
    found: Vec<AgentFault>,
    /// How many more there are.
    more: usize,
}

impl<'t> Notes<'t> {
    pub(super) fn of(text: &'t str) -> Self {
        Self {
            text,
            found: Vec::new(),
            more: 0,
        }
    }

    pub(super) fn text(&self) -> &'t str {
        self.text
    }

    /// Notes what is wrong at a byte of the text.
    pub(super) fn note(&mut self, at: usize, wrong: Wrong) {
        if self.found.len() == NOTED {
            self.more += 1;
            return;
        }
        let line = self.line(at);
        self.note_on(line, wrong);
    }

    /// Notes what is wrong on a line.
    pub(super) fn note_on(&mut self, line: usize, wrong: Wrong) {
        if self.found.len() < NOTED {
            self.found.push(AgentFault { line, wrong });
        } else {
            self.more += 1;
        }
    }

    /// The line of a byte, from 1.
    pub(super) fn line(&self, at: usize) -> usize {
        let before = self.text.as_bytes().get(..at).unwrap_or_default();
        memchr::memchr_iter(b'\n', before).count() + 1
    }

    /// What was found; `None` where nothing is wrong.
    pub(super) fn told(&self) -> Option<AgentFaults> {
        let mut faults = self.found.clone();
        faults.sort_by_key(|fault| fault.line);
        let more = faults.len().saturating_sub(MOST) + self.more;
        faults.truncate(MOST);
        (!faults.is_empty()).then_some(AgentFaults { faults, more })
    }
}
