//! The histories of the small world, its tools and its rules.

use crate::engine::{Approval, Nature, RunCall, RunFault};
use crate::rules::Severity;
use crate::session::ledger::CallKey;

#[derive(Debug, Clone)]
pub(crate) struct Slot {
    pub(crate) key: CallKey,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) output: Option<(String, bool)>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct Reply {
    pub(crate) calls: Vec<Slot>,
    pub(crate) text: Option<String>,
}

#[derive(Debug, Clone, Default)]
pub(crate) struct History {
    pub(crate) parent: u32,
    pub(crate) replies: Vec<Reply>,
    /// Whether the last reply was taken back, or nothing was replied: the user's message is last.
    pub(crate) asks: bool,
    pub(crate) has_children: bool,
}

pub(crate) const TOOLS: &[(&str, Approval, Nature)] = &[
    ("search", Approval::Never, Nature::Acts),
    ("pay", Approval::Ask, Nature::Acts),
    ("wire", Approval::Always, Nature::Acts),
    ("canned", Approval::Never, Nature::Answers),
    ("human", Approval::Never, Nature::Operator),
];

/// The rules of this world: tools that are not offered, arguments that say so, last messages that say so.
pub(crate) fn faults(calls: &[RunCall], last: Option<&Reply>) -> Vec<RunFault> {
    let fault = |rule, severity, call: Option<&RunCall>| RunFault {
        rule,
        severity,
        item: call.map(|call| call.item),
        call: call.map(|call| call.key.clone()),
        tool: call.map(|call| call.tool.clone()),
        message: format!("{rule} here"),
    };
    let mut faults = Vec::new();
    for call in calls.iter().filter(|call| call.is_open) {
        if !TOOLS.iter().any(|(name, ..)| *name == call.tool) {
            faults.push(fault("unknown-tool", Severity::Error, Some(call)));
        } else if call.arguments == "bad" {
            faults.push(fault("invalid-arguments", Severity::Error, Some(call)));
        }
    }
    match last.and_then(|reply| reply.text.as_deref()) {
        Some("refused") => faults.push(fault("refused", Severity::Warning, None)),
        Some("wrong") => faults.push(fault("invalid-final-output", Severity::Error, None)),
        Some("cut") => faults.push(fault("truncated-response", Severity::Warning, None)),
        _ => {}
    }
    faults
}
