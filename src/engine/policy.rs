//! What is done about faults without asking.

use crate::session::ledger::CallKey;

/// What a policy decided about a fault.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Decision {
    /// Id of the rule.
    pub rule: String,
    /// The item of the take that it is about.
    pub item: Option<u32>,
    /// The call that it is about.
    pub call: Option<CallKey>,
    /// Id of the action that is to be carried out.
    pub action: &'static str,
    /// The wording: a name of the library, or a template of the policy's own.
    pub wording: Option<String>,
    /// The value of a fallback, as JSON.
    pub value: Option<String>,
    /// Whether a fallback enters the history.
    pub include_in_history: bool,
}
