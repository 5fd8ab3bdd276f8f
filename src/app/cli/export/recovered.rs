//! A recovery that is to be exported, and the forms that it can take.

use crate::cli::arguments::RecoveryForm;
use retake_core::actions::ActionError;
use retake_core::formats::CannotWrite;
use retake_core::session::{Dialect, Family, Rope, Session};
use retake_core::wording::recipe::{RecipeError, RecoveryCase, openai_agents, policy};
use retake_live::{Base, BaseError, Fixture, FixtureError, Recording, TakeError};
use serde_json::Value;
use std::sync::Arc;

pub(super) struct Exported {
    pub(super) text: String,
    /// What it was made of, in one line; text from the recording is in it.
    pub(super) what: String,
    /// What the action has to say.
    pub(super) notes: Vec<String>,
}

/// Why there is nothing to export.
#[derive(Debug, thiserror::Error)]
pub(super) enum ExportError {
    #[error(transparent)]
    Refused(#[from] ActionError),
    #[error(transparent)]
    Recipe(#[from] RecipeError),
    #[error(transparent)]
    Fixture(#[from] FixtureError),
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error(transparent)]
    Take(#[from] TakeError),
    #[error(transparent)]
    CannotWrite(#[from] CannotWrite),
    #[error("{0}")]
    Words(String),
}

impl ExportError {
    /// Whether the words that were given are at fault.
    pub(super) fn is_in_words(&self) -> bool {
        matches!(
            self,
            Self::Refused(ActionError::BadWords(_)) | Self::Recipe(RecipeError::Template(_))
        )
    }

    /// Whether the history can be changed once it is written as one request.
    pub(super) fn wants_request(&self) -> bool {
        match self {
            Self::CannotWrite(reason) | Self::Fixture(FixtureError::CannotWrite(reason)) => {
                matches!(reason, CannotWrite::Exchanges | CannotWrite::Journal)
            }
            Self::Base(BaseError::Stream) => true,
            Self::Take(reason) => reason.wants_request(),
            _ => false,
        }
    }
}

/// A recovery with everything that recipes ask for.
#[derive(Debug, Default)]
pub(super) struct Recovered {
    pub(super) rule: String,
    pub(super) action: String,
    /// Index of the item.
    pub(super) item: u32,
    pub(super) wording: String,
    pub(super) template: String,
    pub(super) value: Option<Value>,
    pub(super) include_in_history: bool,
    pub(super) tool: String,
    pub(super) is_custom: bool,
}

/// The history that a recovery changed.
pub(super) struct Change<'a> {
    pub(super) base: &'a Base,
    pub(super) number: usize,
    pub(super) before: (&'a Session, &'a Rope),
    pub(super) rope: &'a Arc<Rope>,
    pub(super) target: Option<Dialect>,
    pub(super) complete: &'a dyn Fn(&mut Recording),
    /// Whether a fixture keeps the secrets of the history.
    pub(super) keeps_secrets: bool,
}

impl Recovered {
    /// Adds the tool of the call that the item is, or that it answers.
    pub(super) fn with_tool(mut self, session: &Session) -> Self {
        let index = self.item as usize;
        let places = [Some(index), session.pairing.partner(index)];
        let items = places.into_iter().flatten();
        let mut items = items.filter_map(|place| session.items.get(place));
        if let Some(item) = items.find(|item| !session.name(item).is_empty()) {
            session.name(item).clone_into(&mut self.tool);
            self.is_custom = item.family == Family::Custom;
        }
        self
    }

    /// The line that says what was exported.
    pub(super) fn what(&self) -> String {
        let wording = match &self.wording[..] {
            "" => String::new(),
            name => format!(", wording {name}"),
        };
        let number = u64::from(self.item) + 1;
        format!("{} at item {number}: {}{wording}", self.rule, self.action)
    }

    /// The recovery in a form; `change` is called if the form holds the history.
    pub(super) fn form<'c>(
        &self,
        form: RecoveryForm,
        change: impl FnOnce() -> Result<Change<'c>, ExportError>,
    ) -> Result<String, ExportError> {
        let recovery = RecoveryCase {
            rule: &self.rule,
            action: &self.action,
            wording: &self.wording,
            template: &self.template,
            tool: &self.tool,
            is_custom: self.is_custom,
            value: self.value.as_ref(),
            include_in_history: self.include_in_history,
        };
        match form {
            RecoveryForm::OpenaiAgents => Ok(openai_agents(&recovery)?),
            RecoveryForm::Policy => Ok(policy(&recovery)?),
            RecoveryForm::Fixture => {
                let change = change()?;
                let fixture = Fixture {
                    recovery,
                    base: change.base,
                    number: change.number,
                    before: change.before,
                    rope: change.rope,
                    item: self.item,
                    keeps_secrets: change.keeps_secrets,
                    target: change.target,
                    complete: change.complete,
                };
                Ok(fixture.text()?)
            }
        }
    }
}
