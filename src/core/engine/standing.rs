//! The status of a run's history: its last turn, the open calls, and what is wrong with them.

use crate::rules::{Finding, REFUSAL, RULES, Severity};
use crate::session::ledger::{CallKey, ExecutionStatus, Ledger, LedgerEvent};
use crate::session::takes::TakeId;
use crate::session::{Item, Kind, Session, SourceError, Speaker, Turn, index_number};
use crate::wire::body_of;
use serde::{Deserialize, Deserializer, Serialize, de};
use std::collections::HashMap;

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

// Derives the status of a session: its last turn, the open calls with their ledger entries, and the faults
// that are not resolved.

/// Rules about the contents of a call: once it has an output, the model got the report.
const REPORTED_BY_AN_OUTPUT: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "invalid-arguments",
    "duplicate-argument-key",
    "truncated-response",
];

/// Rules about calls that wait for their output, as those of the last reply do in a live run.
const OF_OPEN_CALLS: &[&str] = &["pending-call", "orphan-call"];

/// Rules about what providers refuse a request for, where they find an error in it; what else is wrong with
/// a history, they take.
pub const REFUSED_BY_PROVIDERS: &[&str] = &[
    "orphan-call",
    "orphan-output",
    "misplaced-output",
    "duplicate-call-id",
    "duplicate-output",
    "missing-call-id",
    "invalid-tool-name",
    "malformed-message",
    "missing-signature",
    "orphan-hosted-result",
    "assistant-prefill",
    "image-limits",
    "orphan-reasoning",
];

/// Rules about outputs that a request brings: nothing can be done about them at a reply, only where
/// a policy says what.
pub const ABOUT_RESULTS: &[&str] = &["tool-error", "failing-tool"];

/// What the engine itself decides: how many turns there are, and how the run ends.
const OF_THE_ENGINE: &[&str] = &["turn-limit", "run-failed"];

/// Rules about a reply that holds no final output: where one of a certain shape is required, a run
/// cannot end on it.
const WITHOUT_AN_OUTPUT: &[&str] = &["truncated-response", "refused", "missing-final-output"];

/// The status of a take. `findings` are those of the session, `line` is the takes that lead to it
/// ([`crate::session::takes::Takes::line`]). Fails where the source cannot be read.
pub fn run_status(
    session: &Session,
    findings: &[Finding],
    ledger: &Ledger,
    take: TakeId,
    line: &[TakeId],
) -> Result<RunStatus, SourceError> {
    let speaks = |turn: &&Turn| turn.speaker == Speaker::Model;
    let turns = session.turns.iter().filter(speaks).count();
    let spoken = session.last_spoken_turn();
    let last = spoken.map(|last| session.turns[last]);
    let calls = match last {
        Some(turn) if turn.speaker == Speaker::Model => calls_of(session, turn, ledger, line)?,
        _ => Vec::new(),
    };
    let mut standing = RunStatus {
        take,
        turn: spoken.map_or(0, |last| index_number(last + 1)),
        turns: index_number(turns),
        tail: tail_of(session, last, &calls),
        items: Vec::new(),
        calls,
        faults: Vec::new(),
    };
    if let Some(turn) = last {
        let numbered = turn.items().zip(&session.items[turn.items()]);
        standing.items = numbered
            .map(|(index, item)| (index_number(index), item.kind))
            .collect();
        standing.faults = faults_of(session, findings, turn, &standing.calls);
    }
    Ok(standing)
}

/// The status of a request that is about to be sent: as of a take, but its faults are everything in it that the
/// provider would refuse, or did, and what is wrong with its new outputs.
///
/// A finding about no item, such as one about a tool definition, cannot be fixed in a history and holds
/// nothing.
pub fn request_status(
    session: &Session,
    findings: &[Finding],
    ledger: &Ledger,
    take: TakeId,
    line: &[TakeId],
) -> Result<RunStatus, SourceError> {
    let mut standing = run_status(session, findings, ledger, take, line)?;
    standing.faults.clear();
    let spoken = session
        .items
        .iter()
        .rposition(|item| item.kind.is_from_model());
    let is_new = |item: u32| spoken.is_none_or(|last| item as usize > last);
    for finding in findings {
        let is_result =
            ABOUT_RESULTS.contains(&finding.rule.id) && finding.item.is_some_and(is_new);
        let would_be = REFUSED_BY_PROVIDERS.contains(&finding.rule.id);
        let is_refused = finding.severity == Severity::Error
            && (would_be || finding.get(REFUSAL).is_some())
            && !finding.is_settled;
        let holds = is_refused || (is_result && !finding.is_settled);
        let Some(index) = finding.item.filter(|_| holds) else {
            continue;
        };
        let item = session.items.get(index as usize);
        let id = item.map(|item| session.call_id(item)).transpose()?;
        let id = id.filter(|id| !id.is_empty());
        standing.faults.push(RunFault {
            rule: finding.rule.id,
            severity: finding.severity,
            item: finding.item,
            call: id.map(|id| ledger.key(&id, line)),
            tool: finding.tool(session).map(str::to_owned),
            message: finding.message(),
        });
    }
    Ok(standing)
}

fn calls_of(
    session: &Session,
    turn: Turn,
    ledger: &Ledger,
    line: &[TakeId],
) -> Result<Vec<RunCall>, SourceError> {
    let mut calls = Vec::new();
    for index in turn.items() {
        let item = &session.items[index];
        if item.kind == Kind::Call {
            calls.push(call_of(session, index, item, ledger, line)?);
        }
    }
    Ok(calls)
}

fn call_of(
    session: &Session,
    index: usize,
    item: &Item,
    ledger: &Ledger,
    line: &[TakeId],
) -> Result<RunCall, SourceError> {
    let key = ledger.key(&session.call_id(item)?, line);
    let tool = session.name(item).to_owned();
    // A call that cannot be read has no arguments; the rules say what is wrong with it.
    let body = body_of(item, &session.bytes(item)?).unwrap_or_default();
    let written = body.arguments.as_written();
    let arguments = body.arguments.json().unwrap_or(written).to_owned();
    let ran = ledger.ran(&key, LedgerEvent::digest(&tool, &arguments));
    let is_open = session.pairing.partner(index).is_none();
    Ok(RunCall {
        item: index_number(index),
        key,
        tool,
        arguments,
        is_open,
        ran,
    })
}

fn tail_of(session: &Session, last: Option<Turn>, calls: &[RunCall]) -> Tail {
    let Some(turn) = last else {
        return Tail::Empty;
    };
    if turn.speaker == Speaker::User {
        return Tail::AsksModel;
    }
    if calls.iter().any(|call| call.is_open) {
        return Tail::OpenCalls;
    }
    // A reply that ends on the operator's decision about a hosted call goes back to the provider, as one that
    // ends on outputs does.
    let mut items = turn.items().rev();
    let is_spoken = |index: &usize| session.items[*index].kind.is_from_model();
    let unspoken = items.clone().take_while(|index| !is_spoken(index));
    let mut answers = unspoken.map(|index| session.items[index].kind);
    if answers.any(|kind| matches!(kind, Kind::Output | Kind::ApprovalResponse)) {
        return Tail::AsksModel;
    }
    let is_message = |index: &usize| session.items[*index].kind == Kind::Assistant;
    let item = items.find(is_message);
    if item.is_none() && !calls.is_empty() {
        return Tail::AsksModel;
    }
    Tail::Final {
        item: item.map(index_number),
    }
}

fn faults_of(
    session: &Session,
    findings: &[Finding],
    turn: Turn,
    calls: &[RunCall],
) -> Vec<RunFault> {
    let is_of_turn = |finding: &&Finding| match finding.item {
        Some(item) => turn.items().contains(&(item as usize)),
        None => true,
    };
    let calls_at: HashMap<_, _> = calls.iter().map(|call| (call.item, call)).collect();
    let mut faults = findings
        .iter()
        .filter(is_of_turn)
        .filter(|finding| !finding.is_settled && !OF_THE_ENGINE.contains(&finding.rule.id))
        .filter_map(|finding| fault_of(session, finding, &calls_at))
        .collect::<Vec<_>>();
    let is_final = calls.iter().all(|call| !call.is_open);
    if is_final && session.contract.output_schema.is_some() {
        let lacking = faults.iter_mut();
        lacking
            .filter(|fault| WITHOUT_AN_OUTPUT.contains(&fault.rule))
            .for_each(|fault| fault.severity = Severity::Error);
    }
    faults.sort_by_key(|fault| std::cmp::Reverse(fault.severity));
    faults
}

/// The fault of a finding; `None` where it is only about an open call, or an output
/// has reported it to the model.
fn fault_of(
    session: &Session,
    finding: &Finding,
    calls: &HashMap<u32, &RunCall>,
) -> Option<RunFault> {
    let rule = finding.rule.id;
    let half = finding.item.and_then(|item| {
        let partner = || session.pairing.partner(item as usize).map(index_number);
        let own = calls.get(&item);
        own.or_else(|| calls.get(&partner()?)).copied()
    });
    let own = half.filter(|call| finding.item == Some(call.item));
    let waits = own.is_some_and(|call| call.is_open) && OF_OPEN_CALLS.contains(&rule);
    let is_reported =
        own.is_some_and(|call| !call.is_open) && REPORTED_BY_AN_OUTPUT.contains(&rule);
    if waits || is_reported {
        return None;
    }
    Some(RunFault {
        rule,
        severity: finding.severity,
        item: finding.item,
        call: half.map(|call| call.key.clone()),
        tool: finding.tool(session).map(str::to_owned),
        message: finding.message(),
    })
}
