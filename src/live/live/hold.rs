//! A run that is about an exchange of an agent elsewhere: it begins with what came, and its last take says what
//! is to go on.

use super::news::RunNews;
use super::run::LiveRun;
use super::snapshot;
use crate::model::Answer;
use crate::{TakeError, TakeStore};
use retake_core::engine::{ModelFault, RunEvent};
use retake_core::session::ledger::{Ask, LedgerEvent};
use retake_core::session::takes::{ContentDigest, TakeId};
use retake_core::wire::write::{NoReply, history_of};
use std::borrow::Cow;

/// What came of the agent's own request.
#[derive(Debug)]
pub enum UpstreamResult {
    /// Nothing: it was not sent yet.
    Nothing,
    Reply(Answer),
    /// The provider refused it.
    Refusal(ModelFault),
}

#[derive(Debug, thiserror::Error)]
pub enum HoldError {
    /// Its request is none that a take can be made of.
    #[error(transparent)]
    Take(#[from] TakeError),
    #[error(transparent)]
    NoReply(#[from] NoReply),
    #[error("the reply holds nothing")]
    Empty,
}

impl LiveRun {
    /// Begins with an exchange: the request that the journal began with, and what came of it.
    pub fn start_held(
        &mut self,
        store: &mut TakeStore,
        came: UpstreamResult,
    ) -> Result<Vec<RunNews>, HoldError> {
        if let UpstreamResult::Reply(answer) = &came
            && history_of(self.model.dialect(), &answer.json)?.is_empty()
        {
            return Err(HoldError::Empty);
        }
        self.session = 0;
        let from = TakeId::MAIN;
        self.take = snapshot::drivable(store, 0, from, &self.model, &self.tools)?;
        self.news.push(RunNews::Grown(self.take));
        let take = self.take;
        match came {
            UpstreamResult::Nothing => self.start_with_request(store)?,
            UpstreamResult::Refusal(fault) => {
                let fault = ModelFault {
                    why: self.clean(&fault.why),
                    // The agent's own client tries again where that may help.
                    is_recoverable: false,
                    ..fault
                };
                self.drive(store, RunEvent::AgentRequested { take });
                self.drive(store, RunEvent::NotReplied { ask: Ask(1), fault });
                self.start_with_request(store)?;
            }
            UpstreamResult::Reply(answer) => {
                // Calls at the end of a request are orphans; those of a reply wait.
                self.record(
                    store,
                    LedgerEvent::Began {
                        take,
                        agent: self.name.clone(),
                        file: String::new(),
                        model: self.model.name().to_owned(),
                        scripted: false,
                    },
                );
                self.drive(store, RunEvent::AgentRequested { take });
                self.answered(store, Ask(1), answer);
                if self.entered.replies.is_empty() {
                    return Err(HoldError::Empty);
                }
            }
        }
        Ok(std::mem::take(&mut self.news))
    }

    fn start_with_request(&mut self, store: &mut TakeStore) -> Result<(), TakeError> {
        let standing = self.stand(store)?;
        self.entered.first = Some(ContentDigest::of(&snapshot::text(store, self.take)?));
        self.drive(store, standing);
        Ok(())
    }

    /// Tells everything again: another one watches now, with a store of takes of its own.
    pub fn start_again(&mut self, store: &mut TakeStore) -> Result<Vec<RunNews>, TakeError> {
        self.reported = None;
        self.news.push(RunNews::Grown(self.take));
        let standing = self.stand(store)?;
        self.drive(store, standing);
        Ok(std::mem::take(&mut self.news))
    }

    /// Whether the run is about a request to which nobody has replied yet.
    pub(crate) fn is_before_reply(&self, store: &TakeStore) -> bool {
        let mut asks = store.ledger().asks();
        self.model.is_of_client() && !asks.any(|(_, request)| request.reply.is_some())
    }

    /// Remembers a reply that has entered the history.
    pub(crate) fn note_reply(&mut self, store: &mut TakeStore, answer: Answer) {
        if !self.model.is_of_client() {
            return;
        }
        self.entered.replies.push((self.take, answer.json));
        if self.entered.first.is_none() {
            // A take that cannot be read has changed, as far as anybody can say.
            let text = snapshot::text(store, self.take).ok();
            self.entered.first = text.map(|text| ContentDigest::of(&text));
        }
    }

    /// The history of the take that is driven, with its secrets in their places; `None` where it is what came.
    pub fn changed(&self, store: &mut TakeStore) -> Result<Option<Vec<u8>>, TakeError> {
        let text = snapshot::text(store, self.take)?;
        if self.entered.first == Some(ContentDigest::of(&text)) {
            return Ok(None);
        }
        let restored = match self.vault.restored(&text) {
            Cow::Owned(restored) => Some(restored),
            Cow::Borrowed(_) => None,
        };
        Ok(Some(restored.unwrap_or(text)))
    }

    /// The last reply that leads to the take that is driven, as its provider sent it.
    pub fn last_reply(&self, store: &TakeStore) -> Option<&str> {
        let line = store.line(self.take);
        let mut replies = self.entered.replies.iter().rev();
        let found = replies.find(|(take, _)| line.contains(take));
        found.map(|(_, json)| json.as_str())
    }

    /// Whether a reply entered the history, in whatever take.
    pub fn has_replies(&self) -> bool {
        !self.entered.replies.is_empty()
    }

    /// The sentence of a fault of this rule, where the take has one.
    pub fn fault_of(&self, rule: &str) -> Option<&str> {
        let mut faults = self
            .snapshot
            .iter()
            .flat_map(|snapshot| &snapshot.standing.faults);
        let found = faults.find(|fault| fault.rule == rule);
        found.map(|fault| fault.message.as_str())
    }

    /// Whether the history waits for a reply of the model.
    pub fn awaits_reply(&self) -> bool {
        let snapshot = self.snapshot.as_ref();
        snapshot
            .is_some_and(|snapshot| snapshot.standing.tail == retake_core::engine::Tail::AsksModel)
    }
}
