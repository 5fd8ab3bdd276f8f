//! Faults hold a run until a policy or the operator has decided about them.

use super::state::{EventHandler, FaultId, PendingAction, RunMode};
use crate::engine::event::{Reason, RunEffect};
use crate::engine::policy::{Also, Decision, Policy, PolicyCounts, PolicyVerdict, TURN_LIMIT};
use crate::engine::standing::{RunFault, RunStatus};
use crate::rules::Severity;
use crate::session::ledger::{Ending, LedgerEvent};
use crate::session::takes::Author;
use std::collections::{HashMap, HashSet};

/// Rules that hold a run for its operator although they are no errors: what they are about would run half,
/// or end the run.
const HOLD_AS_WARNINGS: &[&str] = &[
    "truncated-response",
    "refused",
    "missing-final-output",
    "leaked-tool-call",
];

/// Rules about how a run ends, whatever their faults point at: a fallback is the run's result there, and not
/// the output of a tool.
const OF_THE_END: &[&str] = &[
    "invalid-final-output",
    "missing-final-output",
    "refused",
    "truncated-response",
    TURN_LIMIT,
];

/// What faults make of a run.
pub(crate) enum FaultsOutcome {
    Clear,
    /// The policy handled it: an action, or the end of the run.
    Taken,
    Holds(Vec<Reason>),
}

/// Whether a fault holds a run, or an exchange, until it was decided.
pub fn holds(policy: &Policy, has_operator: bool, fault: &RunFault) -> bool {
    let can_hold = has_operator || fault.call.is_some();
    fault.severity == Severity::Error
        || (can_hold && HOLD_AS_WARNINGS.contains(&fault.rule))
        || policy.has_entry(fault)
}

/// What a policy makes of one fault.
pub(crate) enum FaultOutcome {
    Passes,
    Taken,
    Holds,
}

impl EventHandler<'_> {
    /// Consults the policy about every fault that holds.
    pub(crate) fn faults(&mut self, standing: &RunStatus) -> FaultsOutcome {
        let mut reasons = Vec::new();
        for (place, fault) in standing.faults.iter().enumerate() {
            if !self.holds(fault) {
                continue;
            }
            match self.judge(fault, &standing.faults, standing.turns) {
                FaultOutcome::Passes => {}
                FaultOutcome::Taken => {
                    self.join(&standing.faults, place);
                    return FaultsOutcome::Taken;
                }
                FaultOutcome::Holds => reasons.push(Reason::Fault {
                    rule: fault.rule.to_owned(),
                    item: fault.item,
                    message: fault.message.clone(),
                }),
            }
        }
        if reasons.is_empty() {
            FaultsOutcome::Clear
        } else {
            FaultsOutcome::Holds(reasons)
        }
    }

    /// Injects an error into every call for which the policy says the same, in one take: a reply may hold
    /// thousands of them. Other decisions about these faults come after that.
    fn join(&mut self, faults: &[RunFault], place: usize) {
        let first = &faults[place];
        let (Some(RunEffect::Act(decision)), Some(acting)) =
            (self.effects.last_mut(), &mut self.state.acting)
        else {
            return;
        };
        if decision.action != "inject-error" || first.call.is_none() {
            return;
        }
        let (config, decided) = (self.config, &mut self.state.decided);
        acting.counted = decided.counts.clone();
        let lists = [
            &decided.released,
            &decided.left,
            &decided.acted,
            &decided.otherwise,
        ];
        let mut alike: HashMap<_, HashSet<_>> = HashMap::new();
        for fault in faults {
            let items = alike.entry((fault.rule, &fault.call)).or_default();
            items.insert(fault.item);
        }
        // Calls of an id that is used again are decided about one after the other.
        let is_alone = |fault: &RunFault| alike[&(fault.rule, &fault.call)].len() == 1;
        let mut known: HashSet<FaultId> = lists.into_iter().flatten().cloned().collect();
        let mut items = HashSet::from([first.item]);
        for fault in &faults[place + 1..] {
            let can_join = fault.call.is_some() && !items.contains(&fault.item) && is_alone(fault);
            if !can_join || !holds(&config.policy, config.has_operator, fault) {
                continue;
            }
            let id = FaultId::of(fault, &[], 0);
            if !known.insert(id.clone()) {
                continue;
            }
            match config.policy.would_decide(&decided.counts, fault) {
                PolicyVerdict::Act(other)
                    if other.action == decision.action && other.wording == decision.wording => {}
                PolicyVerdict::Ask => continue,
                _ => break,
            }
            // It counts.
            config.policy.decide(&mut decided.counts, fault);
            items.insert(fault.item);
            decided.acted.push(id.clone());
            acting.also.push(id);
            decision.also.push(Also {
                rule: fault.rule.to_owned(),
                item: fault.item,
            });
        }
    }

    /// Whether a fault is one that holds a run. Without an operator, a warning without an entry passes;
    /// what is wrong with a call that was cut off holds all the same, since the call cannot be carried out.
    fn holds(&self, fault: &RunFault) -> bool {
        holds(&self.config.policy, self.config.has_operator, fault)
    }

    /// What the policy makes of a fault, one `among` all that were found. It acts about each fault once, and
    /// once as it says with `otherwise`: an action that leaves it as it was would be repeated for ever.
    pub(crate) fn judge(
        &mut self,
        fault: &RunFault,
        among: &[RunFault],
        turns: u32,
    ) -> FaultOutcome {
        let id = FaultId::of(fault, among, turns);
        let decided = &mut self.state.decided;
        if decided.released.contains(&id) {
            return FaultOutcome::Passes;
        }
        if decided.left.contains(&id) {
            return FaultOutcome::Holds;
        }
        let mut is_otherwise = decided.otherwise.contains(&id);
        if decided.acted.contains(&id) {
            let note = format!(
                "the policy's action about {} did not resolve it",
                fault.rule
            );
            decided.acted.retain(|acted| *acted != id);
            if is_otherwise {
                decided.left.push(id);
                self.note(note);
                return FaultOutcome::Holds;
            }
            decided.otherwise.push(id.clone());
            is_otherwise = true;
            self.note(note);
        }
        let decided = &mut self.state.decided;
        let verdict = match is_otherwise {
            true => self.config.policy.otherwise(fault),
            false => self.config.policy.decide(&mut decided.counts, fault),
        };
        match verdict {
            PolicyVerdict::Ask => {
                decided.left.push(id);
                FaultOutcome::Holds
            }
            PolicyVerdict::Release => {
                decided.released.push(id);
                self.record_about(fault, "release", Author::Policy, None);
                FaultOutcome::Passes
            }
            PolicyVerdict::Raise => {
                self.record_about(fault, "raise", Author::Policy, None);
                let rule = fault.rule.to_owned();
                self.state.mode = RunMode::Ending(Ending::Raised { rule });
                FaultOutcome::Taken
            }
            PolicyVerdict::Act(decision) => self.act(fault, id, decision),
        }
    }

    /// Starts an action of the policy. Another turn at the limit needs no action, unless it sends the model a
    /// text.
    fn act(&mut self, fault: &RunFault, id: FaultId, decision: Decision) -> FaultOutcome {
        let grants_turn = fault.rule == TURN_LIMIT && decision.action == "retry";
        if grants_turn && decision.wording.is_none() {
            self.grant_turns(1);
            self.record_about(fault, decision.action, Author::Policy, None);
            return FaultOutcome::Passes;
        }
        let is_of_the_end = fault.call.is_none() || OF_THE_END.contains(&fault.rule);
        self.state.decided.acted.push(id.clone());
        self.state.acting = Some(PendingAction {
            fault: id,
            is_fallback: decision.action == "fallback" && is_of_the_end,
            grants_turn,
            action: decision.action.to_owned(),
            wording: decision.words(),
            also: Vec::new(),
            counted: PolicyCounts::default(),
        });
        self.effects.push(RunEffect::Act(decision));
        FaultOutcome::Taken
    }

    /// What the policy decided was done.
    pub(crate) fn acted(&mut self, acting: &PendingAction) {
        if acting.grants_turn {
            self.grant_turns(1);
        }
        let take = self.take_id();
        for fault in std::iter::once(&acting.fault).chain(&acting.also) {
            self.record(LedgerEvent::Decided {
                take,
                call: fault.call.clone(),
                rule: Some(fault.rule.clone()),
                action: acting.action.clone(),
                by: Author::Policy,
                wording: acting.wording.clone(),
                proposed: None,
                effective: None,
            });
        }
    }

    pub(crate) fn grant_turns(&mut self, turns: u32) {
        let more = &mut self.state.decided.more_turns;
        *more = more.saturating_add(turns);
        // Whoever grants turns is no longer only looking.
        self.state.pace.is_looking = false;
    }

    fn record_about(
        &mut self,
        fault: &RunFault,
        action: &str,
        by: Author,
        wording: Option<String>,
    ) {
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

    /// What a policy had decided could not be done: what it says with `otherwise` is due, and
    /// after that the operator.
    pub(crate) fn refused(&mut self, rule: &str, why: &str) {
        self.state.act_alone();
        let Some(acting) = self.state.acting.take() else {
            return self.note(format!(
                "an action about {rule}, which nobody awaits, was refused: {why}"
            ));
        };
        let take = self.take_id();
        self.record(LedgerEvent::Refused {
            take,
            call: acting.fault.call.clone(),
            rule: acting.fault.rule.clone(),
            action: acting.action,
            why: why.to_owned(),
        });
        let decided = &mut self.state.decided;
        decided.acted.retain(|acted| *acted != acting.fault);
        match decided.otherwise.contains(&acting.fault) {
            true => decided.left.push(acting.fault),
            false => decided.otherwise.push(acting.fault),
        }
    }

    /// Lets every fault pass that holds; says whether there was one.
    pub(crate) fn release_faults(&mut self) -> bool {
        let Some(standing) = self.state.standing.clone() else {
            return false;
        };
        let used = self.used_up(&standing);
        let limit = used.map(super::model::limit_fault);
        let mut any = false;
        for fault in standing.faults.iter().chain(&limit) {
            let is_limit = Some(fault) == limit.as_ref();
            let turns = used.filter(|_| is_limit).unwrap_or(standing.turns);
            let id = FaultId::of(fault, &standing.faults, turns);
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
