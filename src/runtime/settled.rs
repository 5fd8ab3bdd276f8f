//! What an operator decided is settled: a fault of a call whose output a take wrote is still told, but no longer counts.

use crate::rules::{Finding, Severity};
use crate::session::{Rope, Session, recorded};

/// Rules about what a call or its output says, whatever the provider makes of it: an answer settles them.
const ANSWERED: &[&str] = &[
    "unknown-tool",
    "malformed-arguments",
    "invalid-arguments",
    "duplicate-argument-key",
    "repeated-call",
    "tool-error",
];

/// Marks the findings that a take has settled, and gives the rest as they are.
pub fn settle(session: &Session, rope: &Rope, findings: &mut [Finding]) {
    for finding in findings
        .iter_mut()
        .filter(|finding| ANSWERED.contains(&finding.rule.id))
    {
        let Some(index) = finding.item.map(|item| item as usize) else {
            continue;
        };
        let own = session.items.get(index);
        let output = match finding.rule.id {
            "tool-error" => own,
            _ => session
                .pairing
                .partner(index)
                .and_then(|output| session.items.get(output)),
        };
        if output.is_some_and(|output| recorded(rope, output.span).is_none()) {
            finding.severity = Severity::Info;
            finding.is_settled = true;
            finding
                .offers
                .retain(|offer| offer.safety != crate::actions::Safety::Safe);
        }
    }
}
