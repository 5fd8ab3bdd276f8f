//! Faults hold a run until a policy or the operator has decided about them.

use super::Step;
use super::state::{Acting, FaultId, Mode};
use crate::engine::{Effect, Fault, Policy, Reason, Standing, Verdict};
use crate::rules::Severity;
use crate::session::ledger::{Ending, LedgerEvent};
use crate::session::takes::Author;

/// Rules that hold a run for its operator although they are no errors: what they are about would run half, or end the run.
const HOLD_AS_WARNINGS: &[&str] = &[
    "truncated-response",
    "refused",
    "missing-final-output",
    "leaked-tool-call",
];

/// Rules about how a run ends, whatever their faults point at: a fallback is the run's result there, and not the output of a tool.
const OF_THE_END: &[&str] = &[
    "invalid-final-output",
    "missing-final-output",
    "refused",
    "truncated-response",
    "turn-limit",
];

/// What faults make of a run.
pub(super) enum Course {
    /// None holds.
    Clear,
    /// The policy took it in hand: an action, or the end.
    Taken,
    /// These hold.
    Holds(Vec<Reason>),
}

/// Whether a fault holds a run, or an exchange, until it was decided.
pub fn holds(policy: &Policy, has_operator: bool, fault: &Fault) -> bool {
    let can_hold = has_operator || fault.call.is_some();
    fault.severity == Severity::Error
        || (can_hold && HOLD_AS_WARNINGS.contains(&fault.rule))
        || policy.has_entry(fault)
}

/// What a policy makes of one fault.
pub(super) enum Judged {
    Passes,
    Taken,
    Holds,
}

impl Step<'_> {
    /// Asks the policy about every fault that holds.
    pub(super) fn faults(&mut self, standing: &Standing) -> Course {
        let mut reasons = Vec::new();
        for fault in &standing.faults {
            if !self.holds(fault) {
                continue;
            }
            match self.judge(fault, standing.turns) {
                Judged::Passes => {}
                Judged::Taken => return Course::Taken,
                Judged::Holds => reasons.push(Reason::Fault {
                    rule: fault.rule.to_owned(),
                    item: fault.item,
                    message: fault.message.clone(),
                }),
            }
        }
        if reasons.is_empty() {
            Course::Clear
        } else {
            Course::Holds(reasons)
        }
    }

    /// Whether a fault is one that holds a run. Where nobody can be asked, a warning without an entry passes; what is wrong with a call
    /// that was cut off holds all the same, since the call cannot be carried out.
    fn holds(&self, fault: &Fault) -> bool {
        holds(&self.config.policy, self.config.has_operator, fault)
    }

    /// What the policy makes of a fault. It acts about each fault once: an action that leaves it as it was would be repeated for ever.
    pub(super) fn judge(&mut self, fault: &Fault, turns: u32) -> Judged {
        let id = FaultId::of(fault, turns);
        let decided = &mut self.state.decided;
        if decided.released.contains(&id) {
            return Judged::Passes;
        }
        if decided.left.contains(&id) {
            return Judged::Holds;
        }
        if decided.acted.contains(&id) {
            decided.left.push(id);
            self.note(format!(
                "what the policy did about {} did not settle it",
                fault.rule
            ));
            return Judged::Holds;
        }
        match self.config.policy.decide(&mut decided.counts, fault) {
            Verdict::Ask => {
                decided.left.push(id);
                Judged::Holds
            }
            Verdict::Release => {
                decided.released.push(id);
                self.record_about(fault, "release", Author::Policy, None);
                Judged::Passes
            }
            Verdict::Raise => {
                self.record_about(fault, "raise", Author::Policy, None);
                let rule = fault.rule.to_owned();
                self.state.mode = Mode::Ending(Ending::Raised { rule });
                Judged::Taken
            }
            Verdict::Act(decision) => {
                decided.acted.push(id.clone());
                let is_of_the_end = fault.call.is_none() || OF_THE_END.contains(&fault.rule);
                let is_fallback = decision.action == "fallback" && is_of_the_end;
                self.state.acting = Some(Acting {
                    fault: id,
                    is_fallback,
                });
                let wording = decision.wording_name();
                self.record_about(fault, decision.action, Author::Policy, wording);
                self.effects.push(Effect::Act(decision));
                Judged::Taken
            }
        }
    }

    fn record_about(&mut self, fault: &Fault, action: &str, by: Author, wording: Option<String>) {
        let take = self.take_id();
        self.record(LedgerEvent::Decided {
            take,
            call: fault.call.clone(),
            rule: Some(fault.rule.to_owned()),
            action: action.to_owned(),
            by,
            wording,
            proposed: None,
            effective: None,
        });
    }

    /// What a policy had decided could not be done.
    pub(super) fn refused(&mut self, rule: &str, why: &str) {
        match self.state.acting.take() {
            Some(acting) => {
                self.state.decided.left.push(acting.fault);
                self.note(format!(
                    "the policy's action about {rule} was refused: {why}"
                ));
            }
            None => self.note(format!(
                "an action about {rule}, which nobody awaits, was refused: {why}"
            )),
        }
    }

    /// Lets every fault pass that holds; says whether there was one.
    pub(super) fn release_faults(&mut self) -> bool {
        let Some(standing) = self.state.standing.clone() else {
            return false;
        };
        let used = self.used_up(&standing);
        let limit = used.map(super::model::limit_fault);
        let mut any = false;
        for fault in standing.faults.iter().chain(&limit) {
            let is_limit = Some(fault) == limit.as_ref();
            let turns = used.filter(|_| is_limit).unwrap_or(standing.turns);
            let id = FaultId::of(fault, turns);
            if (!self.holds(fault) && !is_limit) || self.state.decided.released.contains(&id) {
                continue;
            }
            self.state.decided.released.push(id);
            self.record_about(fault, "release", Author::Operator, None);
            any = true;
        }
        any
    }
}
