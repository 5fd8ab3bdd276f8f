//! What the operator is about to do about a finding, and the takes that there are.

use crate::tui::effect::TakesCommand;
use crate::tui::lab::memory::LabMemory;
use crate::tui::state::document::{Document, Place};
use crate::tui::state::takes::TakesView;
use crossterm::event::KeyEvent;
use retake_core::actions::{Action, ActionError, ActionInput, Defect, Plan, Safety};
use retake_core::rules::{Finding, Run, beside as beside_of};
use retake_core::session::Dialect;
use retake_live::wordings::Wordings;
use std::collections::HashMap;
use std::sync::Arc;

/// The part of the state that recoveries are made in.
#[derive(Debug, Default)]
pub struct Recovery {
    /// The dialect to judge for, if not that of the recording.
    pub target: Option<Dialect>,
    /// The wordings to choose from.
    pub wordings: Arc<Wordings>,
    /// Words that were begun and left.
    pub drafts: Drafts,
    /// What is being decided.
    pub attempt: Option<Attempt>,
    pub takes: Arc<TakesView>,
    /// Whether something is being done to the takes.
    pub is_busy: bool,
    /// What is to be done to the takes as soon as that is done.
    pub queued: Option<TakesCommand>,
    /// The keys since the save dialog was requested, while it is not there: they are its own.
    pub typed: Option<Vec<KeyEvent>>,
    /// The take whose end is to be shown as soon as the file is read and checked.
    pub wanted: Option<u32>,
    /// What was written and measured in the lab before.
    pub lab: LabMemory,
    /// The latest take that the file was opened with, until one is shown: the way forward from the recording.
    pub latest: Option<u32>,
    /// What was requested before the rules had seen the session.
    pub awaited: Option<Awaited>,
}

/// What can wait until the rules have seen the session.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaited {
    /// The action of this id.
    Action(&'static str),
    FixAll,
    Lab,
}

/// An action on its way to a take.
#[derive(Debug, Clone)]
pub struct Attempt {
    /// What it is planned for: its numbers mean nothing in another document.
    pub document: Arc<Document>,
    pub action: &'static Action,
    pub safety: Safety,
    /// The item that it is applied to.
    pub place: Place,
    /// The finding that it mends, if any.
    pub finding: Option<Finding>,
    pub words: Option<String>,
    /// Whether all faulty calls of the turn are settled.
    pub whole_turn: bool,
    /// Whether a fallback enters the history.
    pub in_history: bool,
    /// Whether the operator confirmed what was warned of.
    pub confirmed: bool,
    /// The ids of calls that nobody has yet: they are held.
    pub never_ran: Vec<String>,
    /// The names of the values that the operator edited one by one.
    pub edited: Vec<String>,
}

/// What tells drafts apart, also after the file was read again: the first byte of the item, and what is written
/// there.
pub type DraftKey = (u64, String);

impl Attempt {
    /// On what a finding is about, else on this item, with nothing chosen yet.
    pub fn new(
        document: Arc<Document>,
        action: &'static Action,
        place: Place,
        finding: Option<Finding>,
    ) -> Self {
        let item = finding.as_ref().and_then(|finding| finding.item);
        Self {
            document,
            action,
            safety: Safety::Manual,
            place: Place {
                item: item.map_or(place.item, |item| item as usize),
                ..place
            },
            finding,
            words: None,
            whole_turn: false,
            in_history: true,
            confirmed: false,
            never_ran: Vec::new(),
            edited: Vec::new(),
        }
    }

    /// What is wrong: the finding, else the item itself.
    pub fn defect(&self) -> Defect<'_> {
        match &self.finding {
            Some(finding) => finding.defect(),
            None => Defect {
                item: u32::try_from(self.place.item).ok(),
                ..Defect::default()
            },
        }
    }

    /// What drafts are kept for: the item, the action, and the text that is edited, if any.
    pub fn draft_key(&self, old: &str) -> Option<DraftKey> {
        let session = self.document.session(self.place.session)?;
        let item = session.items.get(self.place.item)?;
        Some((item.span.start, format!("{} {old}", self.action.id)))
    }

    /// Plans it among the findings of its session; `target` is the dialect to judge for.
    pub fn plan(&self, findings: &[Finding], target: Option<Dialect>) -> Result<Plan, ActionError> {
        let session = self.document.session(self.place.session);
        let session = session.ok_or(ActionError::NoItem)?;
        let beside = self.finding.as_ref();
        let beside = beside.map_or_else(Vec::new, |finding| beside_of(session, findings, finding));
        let run = Run::new(session, target);
        let context = run.scene(self.defect(), &beside);
        let input = ActionInput {
            words: self.words.as_deref(),
            whole_turn: self.whole_turn,
            include_in_history: self.in_history,
            confirmed: self.confirmed,
            keeps_schema: false,
            never_ran: &self.never_ran,
        };
        (self.action.plan)(&context.ok_or(ActionError::NoItem)?, &input)
    }
}

/// Words that were begun and left: the next time the editor opens for the same finding they stand there again.
#[derive(Debug, Clone, Default)]
pub struct Drafts {
    texts: HashMap<DraftKey, String>,
}

impl Drafts {
    /// Keeps words; empty ones are forgotten.
    pub fn keep(&mut self, subject: DraftKey, text: String) {
        if text.is_empty() {
            self.texts.remove(&subject);
        } else {
            self.texts.insert(subject, text);
        }
    }

    /// The words that were kept.
    pub fn find(&self, subject: &DraftKey) -> Option<&str> {
        self.texts.get(subject).map(String::as_str)
    }
}
