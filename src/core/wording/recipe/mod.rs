//! A recovery, carried out of the debugger: as code for the agent's framework, as an entry of a policy, as a
//! fixture for a test.

mod agents;
mod fixture;
mod policy;
mod python;

pub use agents::openai_agents;
pub use fixture::{History, fixture};
pub use policy::policy;

use super::TemplateError;

/// A recovery that helped.
#[derive(Debug, Clone, Copy, Default)]
pub struct RecoveryCase<'a> {
    /// Id of the rule whose finding it resolved.
    pub rule: &'a str,
    /// Id of the action.
    pub action: &'a str,
    /// The name of the wording in the library; empty for words of one's own.
    pub wording: &'a str,
    /// The template of what the model reads; empty where the action has none.
    pub template: &'a str,
    /// The tool of the call; empty where there is none.
    pub tool: &'a str,
    /// Whether the tool takes free-form input.
    pub is_custom: bool,
    /// The value of a fallback.
    pub value: Option<&'a serde_json::Value>,
    /// Whether the fallback enters the history that the model sees later.
    pub include_in_history: bool,
}

/// Why a recovery cannot be exported.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecipeError {
    /// The target has no counterpart.
    #[error("{0}")]
    NoCounterpart(&'static str),
    /// Something is missing or does not fit.
    #[error("{0}")]
    Unfit(String),
    /// The template cannot be used.
    #[error("the template, {0}")]
    Template(#[from] TemplateError),
}
