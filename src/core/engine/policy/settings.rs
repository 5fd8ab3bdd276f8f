//! The limits of a policy: approvals, attempts, breakers.

use crate::config::{Shape, millis};
use crate::engine::Millis;
use serde::Deserialize;

/// Whether calls of a tool need the operator's approval.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Approval {
    Never,
    /// The operator is asked, until they say that the tool may always run.
    Ask,
    /// The operator is asked each time.
    Always,
}

impl Approval {
    /// Each with the word that files use for it, and what it means.
    pub const ALL: [(Self, &'static str, &'static str); 3] = [
        (Self::Never, "never", "calls run without asking"),
        (
            Self::Ask,
            "ask",
            "the operator is asked, until they say that the tool may always run",
        ),
        (Self::Always, "always", "the operator is asked each time"),
    ];

    /// How files say it.
    pub(in crate::engine) const SHAPE: Shape =
        Shape::Word(None, || Self::ALL.map(|(_, word, _)| word).to_vec());
}

/// How often a call is tried, where its tool failed in a way that may pass: it took too long, or
/// could not be reached.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetrySettings {
    /// How often in all, from 1.
    pub attempts: u32,
    /// How long after the first attempt the second comes; it doubles from then on.
    pub backoff_ms: Millis,
}

/// A call that took too long may have done its work all the same: only a policy tries it again.
impl Default for RetrySettings {
    fn default() -> Self {
        Self {
            attempts: 1,
            backoff_ms: 1000,
        }
    }
}

impl RetrySettings {
    /// Where a policy says that calls are tried again and not how often.
    pub(super) const ASKED_FOR: Self = Self {
        attempts: 3,
        backoff_ms: 1000,
    };

    pub(super) fn with(self, said: &PartialRetry) -> Self {
        Self {
            attempts: said.attempts.unwrap_or(self.attempts),
            backoff_ms: said.backoff_ms.unwrap_or(self.backoff_ms),
        }
    }
}

/// When a tool is switched off, and for how long.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BreakerSettings {
    /// After how many errors in a row; 0: never.
    pub threshold: u32,
    /// How long nothing is tried.
    pub cooldown_ms: Millis,
    /// Who wants to hear of it: an http or https URL.
    pub webhook: Option<String>,
    /// What the model reads of a call while the tool is switched off, as a template; `None` for
    /// the breaker's own words.
    pub wording: Option<String>,
}

impl Default for BreakerSettings {
    fn default() -> Self {
        Self {
            threshold: 3,
            cooldown_ms: 30_000,
            webhook: None,
            wording: None,
        }
    }
}

impl BreakerSettings {
    pub(super) fn with(self, said: &PartialBreaker) -> Self {
        Self {
            threshold: said.threshold.unwrap_or(self.threshold),
            cooldown_ms: said.cooldown_ms.unwrap_or(self.cooldown_ms),
            webhook: said.webhook.clone().or(self.webhook),
            wording: said.wording.clone().or(self.wording),
        }
    }
}

/// What a policy says about attempts in one place.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(super) struct PartialRetry {
    pub(super) attempts: Option<u32>,
    #[serde(rename = "backoff", deserialize_with = "millis")]
    pub(super) backoff_ms: Option<Millis>,
}

/// What a policy says about breakers in one place.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(default)]
pub(super) struct PartialBreaker {
    pub(super) threshold: Option<u32>,
    #[serde(rename = "cooldown", deserialize_with = "millis")]
    pub(super) cooldown_ms: Option<Millis>,
    pub(super) webhook: Option<String>,
    pub(super) wording: Option<String>,
}
