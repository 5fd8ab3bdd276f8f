//! The state of a machine, as data.

use crate::engine::breaker::Breakers;
use crate::engine::breakpoint::{Breakpoint, BreakpointCache};
use crate::engine::event::{Config, Reason, RunEffect};
use crate::engine::policy::{Millis, PolicyCounts};
use crate::engine::standing::{RunCall, RunFault, RunStatus};
use crate::session::ledger::{Ask, CallKey, Ending};
use crate::session::takes::TakeId;
use serde::{Deserialize, Serialize};
use std::collections::HashSet;
use std::sync::Arc;

/// One event being handled.
pub(crate) struct EventHandler<'m> {
    pub(crate) config: &'m Config,
    pub(crate) state: &'m mut MachineState,
    pub(crate) ready: &'m mut BreakpointCache,
    pub(crate) now: Millis,
    /// Whether to report the reasons to wait again, after a command of the operator.
    pub(crate) reports_again: bool,
    pub(crate) effects: Vec<RunEffect>,
}

/// The state of a machine. What holds the run and what to do next is not in it: both follow from the status of
/// the history, the ledger and this.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct MachineState {
    pub(crate) mode: RunMode,
    /// The last status of the history that was reported.
    pub(crate) standing: Option<Arc<RunStatus>>,
    /// The history has grown by a reply; its new status is not reported yet.
    pub(crate) is_growing: bool,
    /// The action of the policy that is being carried out.
    pub(crate) acting: Option<PendingAction>,
    /// The largest number of a take that this run was in: a smaller one is a take from before.
    pub(crate) newest: TakeId,
    /// The number of the last request.
    pub(crate) last_ask: u32,
    /// How many replies its requests got.
    #[serde(default)]
    pub(crate) replies: u32,
    /// How many turns count as used: the replies of the history, and those that a policy has taken out of it
    /// since the operator last chose where the run goes on.
    #[serde(default)]
    pub(crate) spent: u32,
    pub(crate) asking: Option<PendingRequest>,
    /// Cancelled requests with the takes that sent them: their replies may still arrive.
    pub(crate) called_off: Vec<(Ask, TakeId)>,
    /// Why no request can go to the model.
    pub(crate) model_fault: Option<String>,
    /// Calls that run or are to be tried again, of whatever take.
    pub(crate) executions: Vec<Execution>,
    /// Calls whose output was given and is not seen in the history yet, with how many open calls had that id: a
    /// model may use an id twice in one reply.
    pub(crate) answered: Vec<(CallKey, usize)>,
    /// Calls whose output the operator has to give, with the reason.
    #[serde(rename = "asked")]
    pub(crate) awaited: Vec<(CallKey, String)>,
    pub(crate) decided: Decisions,
    pub(crate) pace: Pace,
    pub(crate) breakpoints: Vec<Breakpoint>,
    /// Which breakpoint stopped the run at which turn.
    pub(crate) hits: Vec<(u32, u32)>,
    /// The breakpoints that hold.
    pub(crate) stopped_at: Vec<Reason>,
    pub(crate) breakers: Breakers,
    /// The reasons to wait that were last reported to the operator.
    #[serde(rename = "told")]
    pub(crate) reported: Vec<Reason>,
}

/// Whether a run goes on.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum RunMode {
    /// It goes on as soon as nothing holds.
    #[default]
    Going,
    /// It ends so as soon as nothing is under way.
    Ending(Ending),
    Ended(Ending),
}

/// A request to the model.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingRequest {
    pub(crate) ask: Ask,
    /// The take whose history was sent.
    pub(crate) take: TakeId,
    pub(crate) attempt: u32,
    /// Attempts since the operator or the run last started it.
    pub(crate) tries: u32,
    /// When it is sent again; `None` while an attempt is under way.
    pub(crate) until: Option<Millis>,
}

/// An execution of a call.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct Execution {
    pub(crate) call: CallKey,
    /// The take that runs it.
    pub(crate) take: TakeId,
    pub(crate) tool: String,
    pub(crate) arguments: String,
    pub(crate) attempt: u32,
    /// When it is tried again; `None` while an attempt runs.
    pub(crate) until: Option<Millis>,
}

impl Execution {
    pub(crate) fn is_running(&self) -> bool {
        self.until.is_none()
    }

    /// Whether it carries out this call unchanged; the operator may have changed the arguments meanwhile.
    pub(crate) fn is_of(&self, call: &RunCall) -> bool {
        self.call == call.key && self.tool == call.tool && self.arguments == call.arguments
    }
}

/// A fault as decisions remember it: by its rule and its call, or its turn where it is about no call.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct FaultId {
    pub(crate) rule: String,
    pub(crate) call: Option<CallKey>,
    /// The number of replies, for a fault about no call.
    pub(crate) turn: u32,
    /// How many other items have the same fault and the same call id, as calls of an id that is used again do:
    /// each time an action resolves one, those that are left are another fault.
    #[serde(default)]
    pub(crate) others: usize,
}

impl FaultId {
    /// The id of a fault among all that were found with it.
    pub(crate) fn of(fault: &RunFault, among: &[RunFault], turns: u32) -> Self {
        let is_alike = |other: &&RunFault| {
            fault.call.is_some()
                && other.item != fault.item
                && other.rule == fault.rule
                && other.call == fault.call
        };
        let others = among.iter().filter(is_alike).map(|other| other.item);
        let others: HashSet<_> = others.collect();
        Self {
            rule: fault.rule.to_owned(),
            call: fault.call.clone(),
            turn: if fault.call.is_some() { 0 } else { turns },
            others: others.len(),
        }
    }
}

/// An action of a policy that is being carried out.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct PendingAction {
    pub(crate) fault: FaultId,
    /// Whether it accepts a result of the run.
    pub(crate) is_fallback: bool,
    /// Whether it grants a turn beyond the limit.
    #[serde(default)]
    pub(crate) grants_turn: bool,
    /// The id of the action.
    #[serde(default)]
    pub(crate) action: String,
    /// What the model is to read: the name of the wording, or the template itself.
    #[serde(default)]
    pub(crate) wording: Option<String>,
    /// Faults of other calls that the same action settles.
    #[serde(default)]
    pub(crate) also: Vec<FaultId>,
    /// What was counted before those.
    #[serde(default)]
    pub(crate) counted: PolicyCounts,
}

#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Decisions {
    /// How often the policy was consulted about each rule.
    pub(crate) counts: PolicyCounts,
    /// Faults that may pass.
    pub(crate) released: Vec<FaultId>,
    /// Faults that the policy leaves to the operator.
    pub(crate) left: Vec<FaultId>,
    /// Faults that the policy acted about, once each.
    pub(crate) acted: Vec<FaultId>,
    /// Faults whose first policy action was refused or resolved nothing: `otherwise` is due.
    #[serde(default)]
    pub(crate) otherwise: Vec<FaultId>,
    /// Calls that may run, with the arguments that they may run with.
    pub(crate) approved: Vec<(CallKey, String)>,
    /// Tools whose calls may run.
    pub(crate) approved_tools: Vec<String>,
    /// Calls that may have run and are to run again, with their arguments.
    pub(crate) again: Vec<(CallKey, String)>,
    /// The arguments that the model proposed for calls that need an approval.
    pub(crate) proposed: Vec<(CallKey, String)>,
    /// Turns that were granted beyond the limit.
    pub(crate) more_turns: u32,
}

impl Decisions {
    /// Forgets decisions about the reply that a new reply of this number replaces.
    pub(crate) fn forget_turn(&mut self, turn: u32) {
        for faults in [
            &mut self.released,
            &mut self.left,
            &mut self.acted,
            &mut self.otherwise,
        ] {
            faults.retain(|fault| fault.call.is_some() || fault.turn < turn);
        }
    }
}

/// What lets the run continue by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(crate) struct Pace {
    /// Whether it stops before each step.
    pub(crate) is_stepping: bool,
    /// Whether the operator went to a take that was there before: nothing goes on by itself.
    #[serde(default)]
    pub(crate) is_looking: bool,
    /// Whether it continues by itself in the take that the operator opens next, if that was decided.
    #[serde(default)]
    pub(crate) leads: Option<bool>,
    /// The step that may be taken.
    pub(crate) may_take: Option<StepKind>,
}

/// A step: what is done at once between two stops.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub(crate) enum StepKind {
    /// The tools of the reply of this number.
    Tools(u32),
    /// The request to the model after so many replies.
    Question(u32),
}

impl MachineState {
    /// The place of a call that is open and not being answered: the first of its id, which
    /// the next output answers.
    pub(crate) fn open_call(&self, key: &CallKey) -> Option<&RunCall> {
        let calls = self.standing.iter().flat_map(|standing| &standing.calls);
        let mut open = calls.filter(|call| call.is_open && call.key == *key);
        open.next().filter(|call| !self.is_answered(&call.key))
    }

    /// How many calls of this id are open.
    pub(crate) fn count_open(&self, key: &CallKey) -> usize {
        let calls = self.standing.iter().flat_map(|standing| &standing.calls);
        calls
            .filter(|call| call.is_open && call.key == *key)
            .count()
    }

    fn is_answered(&self, key: &CallKey) -> bool {
        self.answered.iter().any(|(answered, _)| answered == key)
    }

    /// Limits the current action to its own fault: nothing is decided about the others yet.
    pub(crate) fn act_alone(&mut self) {
        let Some(acting) = self
            .acting
            .as_mut()
            .filter(|acting| !acting.also.is_empty())
        else {
            return;
        };
        let also: HashSet<FaultId> = acting.also.drain(..).collect();
        self.decided.acted.retain(|acted| !also.contains(acted));
        self.decided.counts = std::mem::take(&mut acting.counted);
    }

    /// Every such call, in the order of the reply.
    pub(crate) fn open_calls(&self) -> Vec<RunCall> {
        let calls = self.standing.iter().flat_map(|standing| &standing.calls);
        let mut known = HashSet::new();
        let open = calls.filter(|call| call.is_open && known.insert(&call.key));
        open.filter(|call| !self.is_answered(&call.key))
            .cloned()
            .collect()
    }

    /// Whether a call is being carried out, in whatever take and with whatever arguments, or its
    /// output is awaited from the operator.
    pub(crate) fn is_under_way(&self, key: &CallKey) -> bool {
        let runs = self.executions.iter().any(|run| run.call == *key);
        runs || self.awaited.iter().any(|(call, _)| call == key)
    }
}
