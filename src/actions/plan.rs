//! What an action is given, and what it gives back: a scene and the operator's choices in, edits or a reason out.

use crate::session::{Dialect, Edit, Item, Session, SourceError};

/// A finding as actions see it.
#[derive(Debug, Clone, Copy)]
pub struct Defect<'a> {
    /// Id of the rule; empty where the operator acts without a finding.
    pub rule: &'a str,
    /// The item that it is about.
    pub item: Option<u32>,
    /// Another item that belongs to the story: the partner, the first use of an id.
    pub related: Option<u32>,
    /// JSON pointer into the arguments or the output.
    pub pointer: Option<&'a str>,
    /// Evidence by name: `tool`, `nearest`, ...
    pub facts: &'a [(&'static str, String)],
}

impl Defect<'_> {
    /// The evidence of this name.
    pub fn fact(&self, name: &str) -> Option<&str> {
        let mut facts = self.facts.iter();
        facts
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// Where an action is to be applied.
#[derive(Debug, Clone, Copy)]
pub struct Scene<'a> {
    /// The session.
    pub session: &'a Session,
    /// The dialect that the result must satisfy.
    pub target: Dialect,
    /// The item at hand.
    pub item: u32,
    /// What is to be mended.
    pub defect: Defect<'a>,
    /// The other findings of the same turn, for actions that settle all of its calls at once.
    pub beside: &'a [Defect<'a>],
}

impl<'a> Scene<'a> {
    /// The item at hand.
    pub fn item(&self) -> Result<&'a Item, Refusal> {
        let session: &'a Session = self.session;
        session.items.get(self.item as usize).ok_or(Refusal::NoItem)
    }
}

/// What the operator (or a policy) chose.
#[derive(Debug, Clone, Copy, Default)]
pub struct Choice<'a> {
    /// The words: an error text, feedback, an output, a final message, new arguments, a name. For an error text it is a template.
    pub words: Option<&'a str>,
    /// Whether all faulty calls of the turn are settled, or the one at hand only.
    pub whole_turn: bool,
    /// Whether a fallback enters the history that the model sees later.
    pub include_in_history: bool,
    /// Whether the operator confirmed what was warned of: tools that ran and may run again, two readings of broken arguments.
    pub confirmed: bool,
}

/// What an action would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Planned {
    /// The changes.
    pub edits: Vec<Edit>,
    /// What the operator should know before accepting: one sentence each, without a full stop.
    pub notes: Vec<String>,
    /// Whether the take ends on a question to the model: it goes on once a model is asked.
    pub asks_model: bool,
}

impl Planned {
    /// Changes that need no word.
    pub fn of(edits: Vec<Edit>) -> Self {
        Self {
            edits,
            ..Self::default()
        }
    }
}

/// Why an action does not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Refusal {
    /// There is no such item.
    #[error("there is no item here")]
    NoItem,
    /// The item is of another kind.
    #[error("this is no {0}")]
    WrongKind(&'static str),
    /// A call that awaits an approval is left to whoever decides.
    #[error("the call awaits an approval: decide it in the program that asked")]
    AwaitsApproval,
    /// The call has its output already.
    #[error("the call has its output")]
    Answered,
    /// There is nothing to do.
    #[error("there is nothing to change")]
    NothingToDo,
    /// It needs the operator's words.
    #[error("write {0} first")]
    NeedsWords(&'static str),
    /// It needs the operator's confirmation.
    #[error("{0}")]
    NeedsConfirmation(String),
    /// It would break something else.
    #[error("{0}")]
    WouldBreak(String),
    /// The words do not fit.
    #[error("{0}")]
    BadWords(String),
    /// The dialect has no way to say it.
    #[error("{0}")]
    NotInDialect(String),
    /// The bytes of the item cannot be read.
    #[error(transparent)]
    Unreadable(#[from] SourceError),
}
