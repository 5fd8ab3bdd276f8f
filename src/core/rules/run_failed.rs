//! run-failed: the journal of a run says that the run ended without what it was for.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::session::Session;
use crate::session::ledger::Ending;

pub(crate) static RULE: Rule = Rule {
    id: "run-failed",
    severity: Severity::Error,
    summary: "a run of retake ended without a result",
    message: "the run ended without a result: {how}",
    page: RulePage {
        what: "A run of retake ended because its policy raised, because somebody had to decide and nobody was \
            there, or because a request to the model failed.",
        why: "The history may look whole: what ended the run is only in its journal, and the run itself \
            ended with an exit code other than 0.",
        example: "unattended: pay needs an approval, in a run without a screen.",
        what_to_do: "Open the journal, decide what was to be decided, and go on from there; or say it in the policy.",
        limits: "Only the journals of retake's own runs tell how they ended. The end at the turn limit is \
            turn-limit; a run that somebody ended is not a failure. Silent where an error of the last turn tells \
            the same.",
    },
    offers: &[],
    scope: Scope::Findings(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let session = run.session;
    let state = session.run.as_ref();
    let how = match state.and_then(|state| state.ending.as_ref()) {
        Some(Ending::Raised { rule }) => format!("the policy raised at {rule}"),
        Some(Ending::Unattended { why }) => format!("nobody was there to decide: {why}"),
        Some(Ending::ModelFailed { why }) => format!("a request to the model failed: {why}"),
        Some(
            Ending::Final
            | Ending::Fallback
            | Ending::HandedOver
            | Ending::TurnLimit { .. }
            | Ending::Aborted,
        )
        | None => return,
    };
    let Some(last) = session.items.len().checked_sub(1) else {
        return;
    };
    if !findings.iter().any(|finding| is_told(session, finding)) {
        findings.push(Finding::new(&RULE, last).fact("how", how));
    }
}

/// Whether a finding tells already what the run ended on: an error of its last turn that nobody has answered.
fn is_told(session: &Session, finding: &Finding) -> bool {
    let turn = session.last_spoken_turn().map(|last| session.turns[last]);
    let item = finding.item.map(|item| item as usize);
    let is_last = turn
        .zip(item)
        .is_some_and(|(turn, item)| turn.items().contains(&item));
    is_last
        && finding.severity == Severity::Error
        && item.is_some_and(|item| session.pairing.partner(item).is_none())
}
