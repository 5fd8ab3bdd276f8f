//! The status of a run's history: its last turn, the open calls, and what is wrong with them.

mod reading;

pub use reading::{ABOUT_RESULTS, REFUSED_BY_PROVIDERS, request_status, run_status};

use crate::rules::{RULES, Severity};
use crate::session::Kind;
use crate::session::ledger::{CallKey, ExecutionStatus};
use crate::session::takes::TakeId;
use serde::{Deserialize, Deserializer, Serialize, de};

/// The status of a take's history, as far as the next step depends on it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunStatus {
    pub take: TakeId,
    /// The number of its last spoken turn, from 1, among all turns; 0 for an empty history.
    #[serde(default)]
    pub turn: u32,
    /// How many replies of the model it holds.
    pub turns: u32,
    /// What it ends on.
    pub tail: Tail,
    /// The items of the last turn with their kinds.
    pub items: Vec<(u32, Kind)>,
    /// The calls of the last reply, in its order, answered or not.
    pub calls: Vec<RunCall>,
    /// Unresolved faults of the last turn, the worst first, including warnings and infos. For a request that is
    /// about to be sent: everything in it that its provider would refuse.
    pub faults: Vec<RunFault>,
}

/// What a history ends on.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum Tail {
    /// The history is empty: the operator starts.
    Empty,
    /// It is the model's turn: a message of the user, or a reply whose calls are all answered.
    AsksModel,
    /// Calls of the last reply are open.
    OpenCalls,
    /// A reply without calls.
    Final {
        /// Its last message, as an item of the take; `None` where it says nothing.
        item: Option<u32>,
    },
}

/// A call of the last reply.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunCall {
    /// Its place in the take.
    pub item: u32,
    /// Its key in the ledger.
    pub key: CallKey,
    /// The tool, qualified as `namespace.name` where it has a namespace.
    pub tool: String,
    /// Its arguments as they would run: JSON text, or free text of a custom tool.
    pub arguments: String,
    /// Whether it has no output.
    pub is_open: bool,
    /// Whether it was carried out with these arguments.
    pub ran: ExecutionStatus,
}

/// Id of a rule, as its table has it.
type RuleId = &'static str;

/// Something wrong with the last turn, or with a request.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct RunFault {
    #[serde(deserialize_with = "known_rule")]
    pub rule: RuleId,
    pub severity: Severity,
    /// The item of the take that it is about.
    pub item: Option<u32>,
    /// The call that it is about.
    pub call: Option<CallKey>,
    /// The tool of that call.
    pub tool: Option<String>,
    /// The rule's sentence; it holds text of the run.
    pub message: String,
}

fn known_rule<'de, D: Deserializer<'de>>(deserializer: D) -> Result<&'static str, D::Error> {
    let id = String::deserialize(deserializer)?;
    let known = RULES.iter().find(|rule| rule.id == id);
    known
        .map(|rule| rule.id)
        .ok_or_else(|| de::Error::custom(format_args!("there is no rule {id}")))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used)]
mod tests;
