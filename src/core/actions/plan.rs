//! What an action takes, and what it returns: a context and the operator's input in, edits or an error out.

use super::session_index::SessionIndex;
use crate::session::{
    Dialect, Edit, Flags, Item, Kind, PairStatus, Session, SourceError, Speaker, Turn,
};
use crate::wire::{Body, body_of};
use crate::{json, wording};

/// A finding as actions see it.
#[derive(Debug, Clone, Copy, Default)]
pub struct Defect<'a> {
    /// Id of the rule; empty where the operator acts without a finding.
    pub rule: &'a str,
    /// The item that it is about.
    pub item: Option<u32>,
    /// Evidence by name: `tool`, `nearest`, ...
    pub facts: &'a [(&'static str, String)],
}

impl<'a> Defect<'a> {
    /// The evidence of this name.
    pub fn fact(&self, name: &str) -> Option<&'a str> {
        let mut facts = self.facts.iter();
        facts
            .find(|(known, _)| *known == name)
            .map(|(_, value)| value.as_str())
    }
}

/// What an action works on.
#[derive(Debug, Clone, Copy)]
pub struct ActionContext<'a> {
    /// The session with its shared lookups.
    pub around: &'a SessionIndex<'a>,
    /// The dialect that the result must satisfy.
    pub target: Dialect,
    /// The item at hand.
    pub item: u32,
    pub defect: Defect<'a>,
    /// The other findings of the same turn, for actions that resolve all of its calls at once.
    pub beside: &'a [Defect<'a>],
}

impl<'a> ActionContext<'a> {
    pub fn session(&self) -> &'a Session {
        self.around.session
    }

    /// The item at hand.
    pub fn item(&self) -> Result<&'a Item> {
        self.at(self.item)
    }

    pub(crate) fn at(&self, index: u32) -> Result<&'a Item> {
        let item = self.session().items.get(index as usize);
        item.ok_or(ActionError::NoItem)
    }

    pub(crate) fn standing(&self, index: u32) -> PairStatus {
        self.session().pairing.standing(index as usize)
    }

    /// The bytes of an item.
    pub(crate) fn bytes(&self, index: u32) -> Result<Vec<u8>> {
        Ok(self.session().bytes(self.at(index)?)?)
    }

    /// What an item says.
    pub(crate) fn body(&self, index: u32) -> Result<Body> {
        Ok(body_of(self.at(index)?, &self.bytes(index)?)?)
    }

    /// The tool of a call, or of the call that an output answers; what the item is where it has no name.
    pub(crate) fn tool(&self, index: u32) -> &'a str {
        let session = self.session();
        let partner = session.pairing.partner(index as usize);
        let places = [Some(index as usize), partner];
        let items = places.into_iter().flatten();
        let mut named = items.filter_map(|place| session.items.get(place));
        let found = named.find(|item| !session.name(item).is_empty());
        let kind = || self.at(index).map_or("", |item| item.kind.word());
        found.map_or_else(kind, |item| session.name(item))
    }

    /// The turn of an item.
    pub(crate) fn turn(&self, index: u32) -> Result<Turn> {
        let turn = self.at(index)?.turn as usize;
        let turn = self.session().turns.get(turn).copied();
        turn.ok_or(ActionError::NoItem)
    }

    /// The reply of the model that holds the item at hand, with what was done about it.
    pub(crate) fn reply(&self) -> Result<Turn> {
        let turn = self.turn(self.item)?;
        let speaks = turn.speaker == Speaker::Model;
        speaks
            .then_some(turn)
            .ok_or(ActionError::WrongKind("a reply of the model"))
    }

    /// The call at hand, or the one that the output at hand answers.
    pub(crate) fn call(&self) -> Result<u32> {
        match (self.item()?.kind, self.standing(self.item)) {
            (Kind::Call, _) => Ok(self.item),
            (Kind::Output, PairStatus::Paired(call)) => Ok(call),
            _ => Err(ActionError::WrongKind("a call or its result")),
        }
    }

    /// Whether an item may be changed: not what somebody else decides, and what the provider no longer sees
    /// only to mend a finding.
    pub(crate) fn may_touch(&self, index: u32) -> Result<()> {
        let item = self.at(index)?;
        if self.awaits_approval(index) {
            return Err(ActionError::AwaitsApproval);
        }
        if item.flags.has(Flags::COMPACTED) && self.defect.rule.is_empty() {
            let reason = "the provider no longer sees this: it comes before a compaction";
            return Err(ActionError::WouldBreak(reason.to_owned()));
        }
        Ok(())
    }

    /// Whether somebody is still to decide about an item.
    pub(crate) fn awaits_approval(&self, index: u32) -> bool {
        self.around.awaits_approval(index as usize)
    }

    /// Whether the item is a call that has no output.
    pub(crate) fn is_unanswered(&self, index: u32) -> bool {
        let is_call = self.at(index).is_ok_and(|item| item.kind == Kind::Call);
        is_call
            && matches!(
                self.standing(index),
                PairStatus::Orphan | PairStatus::Pending
            )
    }

    /// The defects at hand that are about an item, that of the scene first.
    pub(crate) fn defects_of(&self, index: u32) -> impl Iterator<Item = &Defect<'a>> {
        let all = std::iter::once(&self.defect).chain(self.beside);
        all.filter(move |defect| defect.item == Some(index))
    }
}

/// What the operator (or a policy) chose.
#[derive(Debug, Clone, Copy, Default)]
pub struct ActionInput<'a> {
    /// The words: an error text, feedback, an output, a final message, new arguments, a name, the bytes
    /// of an item. Texts that report a failure to the model (an error text, feedback, why a turn was
    /// closed) are templates.
    pub words: Option<&'a str>,
    /// Whether all faulty calls of the turn are resolved, or only the current one.
    pub whole_turn: bool,
    /// Whether a fallback enters the history that the model sees later.
    pub include_in_history: bool,
    /// Whether the operator confirmed what was warned of: tools that ran and may run again, two
    /// readings of broken arguments.
    pub confirmed: bool,
    /// Whether arguments that break the schema of their tool are no repair: nobody is there to look at them.
    pub keeps_schema: bool,
    /// The ids of calls that are known not to have run, although they have no output: nobody has them yet.
    pub never_ran: &'a [String],
}

impl<'a> ActionInput<'a> {
    /// These words and nothing else.
    pub fn words(words: &'a str) -> Self {
        Self {
            words: Some(words),
            ..Self::default()
        }
    }

    /// The words, which `what` needs; blank ones are none.
    pub(crate) fn needed(&self, what: &'static str) -> Result<&'a str> {
        let words = self.words.filter(|words| !words.trim().is_empty());
        words.ok_or(ActionError::NeedsWords(what))
    }
}

/// What an action comes to.
pub(crate) type Result<T, E = ActionError> = std::result::Result<T, E>;

/// What an action would do.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Plan {
    pub edits: Vec<Edit>,
    /// The texts that the model reads of it, made from a template.
    pub texts: Vec<String>,
    /// What the operator should know before accepting: one sentence each, without a full stop. They hold text
    /// from the recording: draw them through [`crate::safe_text::SafeText`].
    pub notes: Vec<String>,
    /// The value that was accepted as the result of the run. It belongs to the take, and may be all that there
    /// is: a value that does not enter the history comes without edits.
    pub result: Option<String>,
    /// Whether the take ends where it is the model's turn: it continues with the next request.
    pub asks_model: bool,
}

impl Plan {
    /// Changes that need no word.
    pub fn of(edits: Vec<Edit>) -> Self {
        Self {
            edits,
            ..Self::default()
        }
    }

    pub(crate) fn note(&mut self, note: impl Into<String>) {
        self.notes.push(note.into());
    }
}

/// Why an action does not apply.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum ActionError {
    /// There is no such item.
    #[error("there is no item here")]
    NoItem,
    /// The item is of another kind.
    #[error("this item is not {0}")]
    WrongKind(&'static str),
    /// A call that awaits an approval is left to whoever decides.
    #[error("the call awaits an approval: decide it in the program that requested it")]
    AwaitsApproval,
    /// There is nothing to do.
    #[error("there is nothing to change")]
    NothingToDo,
    /// It is not done in a recording.
    #[error("{0}")]
    Elsewhere(&'static str),
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
    /// The bytes of the item are not JSON.
    #[error("invalid JSON in the item at byte {0}")]
    NotJson(usize),
}

impl ActionError {
    /// Whether the action applies once the operator adds words or a confirmation.
    pub fn is_question(&self) -> bool {
        matches!(self, Self::NeedsWords(_) | Self::NeedsConfirmation(_))
    }
}

impl From<json::JsonError> for ActionError {
    fn from(fault: json::JsonError) -> Self {
        Self::NotJson(fault.at)
    }
}

impl From<wording::TemplateError> for ActionError {
    fn from(fault: wording::TemplateError) -> Self {
        Self::BadWords(fault.to_string())
    }
}
