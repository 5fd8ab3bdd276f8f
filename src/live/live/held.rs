//! A run that is about an exchange of an agent elsewhere: it begins with what came, and its last take says what
//! is to go on.

use super::news::News;
use super::run::Run;
use super::stood;
use crate::model::Answer;
use crate::{NoTake, Workbench};
use retake_core::dialects::write::{NoReply, history_of};
use retake_core::engine::{Event, ModelFault};
use retake_core::session::ledger::{Ask, LedgerEvent};
use retake_core::session::takes::{Digest, TakeId};
use std::borrow::Cow;

/// What came of the agent's own request.
#[derive(Debug)]
pub enum Came {
    /// Nothing: it was not sent yet.
    Nothing,
    Reply(Answer),
    /// The provider refused it.
    Refusal(ModelFault),
}

/// Why an exchange cannot be held.
#[derive(Debug, thiserror::Error)]
pub enum NotHeld {
    /// Its request is none that a take can be made of.
    #[error(transparent)]
    NoTake(#[from] NoTake),
    /// Its reply is none.
    #[error(transparent)]
    NoReply(#[from] NoReply),
    /// The reply holds nothing.
    #[error("the reply holds nothing")]
    Empty,
}

/// What came of an exchange, to compare with in the end.
#[derive(Debug, Default)]
pub(super) struct Entered {
    /// The text of the history when it was complete for the first time.
    first: Option<Digest>,
    /// The replies that entered the history, with their takes, as the provider sent them.
    replies: Vec<(TakeId, String)>,
}

impl Run {
    /// Begins with an exchange: the request that the journal began with, and what came of it.
    pub fn begin_held(&mut self, bench: &mut Workbench, came: Came) -> Result<Vec<News>, NotHeld> {
        if let Came::Reply(answer) = &came
            && history_of(self.model.dialect(), &answer.json)?.is_empty()
        {
            return Err(NotHeld::Empty);
        }
        self.session = 0;
        let from = TakeId::MAIN;
        self.take = stood::drivable(bench, 0, from, &self.model, &self.tools)?;
        self.news.push(News::Grown(self.take));
        let take = self.take;
        match came {
            Came::Nothing => self.begin_with_request(bench)?,
            Came::Refusal(fault) => {
                let fault = ModelFault {
                    why: self.clean(&fault.why),
                    // The agent's own client tries again where that may help.
                    is_recoverable: false,
                    ..fault
                };
                self.drive(bench, Event::AgentAsked { take });
                self.drive(bench, Event::NotReplied { ask: Ask(1), fault });
                self.begin_with_request(bench)?;
            }
            Came::Reply(answer) => {
                // Calls at the end of a request are orphans; those of a reply wait.
                self.record(
                    bench,
                    LedgerEvent::Began {
                        take,
                        agent: self.name.clone(),
                        file: String::new(),
                        model: self.model.name().to_owned(),
                        scripted: false,
                    },
                );
                self.drive(bench, Event::AgentAsked { take });
                self.answered(bench, Ask(1), answer);
                if self.entered.replies.is_empty() {
                    return Err(NotHeld::Empty);
                }
            }
        }
        Ok(std::mem::take(&mut self.news))
    }

    fn begin_with_request(&mut self, bench: &mut Workbench) -> Result<(), NoTake> {
        let standing = self.stand(bench)?;
        self.entered.first = Some(Digest::of(&stood::text(bench, self.take)?));
        self.drive(bench, standing);
        Ok(())
    }

    /// Tells everything again: another one watches now, with a workbench of its own.
    pub fn begin_again(&mut self, bench: &mut Workbench) -> Result<Vec<News>, NoTake> {
        self.told = None;
        self.news.push(News::Grown(self.take));
        let standing = self.stand(bench)?;
        self.drive(bench, standing);
        Ok(std::mem::take(&mut self.news))
    }

    /// Whether the run is about a request to which nobody has replied yet.
    pub(super) fn is_before_reply(&self, bench: &Workbench) -> bool {
        let mut asks = bench.ledger().asks();
        self.model.is_of_client() && !asks.any(|(_, asked)| asked.calls.is_some())
    }

    /// Remembers a reply that has entered the history.
    pub(super) fn note_reply(&mut self, bench: &mut Workbench, answer: Answer) {
        if !self.model.is_of_client() {
            return;
        }
        self.entered.replies.push((self.take, answer.json));
        if self.entered.first.is_none() {
            // A take that cannot be read has changed, as far as anybody can say.
            let text = stood::text(bench, self.take).ok();
            self.entered.first = text.map(|text| Digest::of(&text));
        }
    }

    /// The history of the take that is driven, with its secrets in their places; `None` where it is what came.
    pub fn changed(&self, bench: &mut Workbench) -> Result<Option<Vec<u8>>, NoTake> {
        let text = stood::text(bench, self.take)?;
        if self.entered.first == Some(Digest::of(&text)) {
            return Ok(None);
        }
        let restored = match self.vault.restored(&text) {
            Cow::Owned(restored) => Some(restored),
            Cow::Borrowed(_) => None,
        };
        Ok(Some(restored.unwrap_or(text)))
    }

    /// The last reply that leads to the take that is driven, as its provider sent it.
    pub fn last_reply(&self, bench: &Workbench) -> Option<&str> {
        let line = bench.line(self.take);
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
        let mut faults = self.stood.iter().flat_map(|stood| &stood.standing.faults);
        let found = faults.find(|fault| fault.rule == rule);
        found.map(|fault| fault.message.as_str())
    }

    /// Whether the history waits for a reply of the model.
    pub fn awaits_reply(&self) -> bool {
        let stood = self.stood.as_ref();
        stood.is_some_and(|stood| stood.standing.tail == retake_core::engine::Tail::AsksModel)
    }
}
