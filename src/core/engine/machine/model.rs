//! Requests to the model: sent, retried, cancelled.

use super::faults::FaultOutcome;
use super::state::{EventHandler, PendingRequest, StepKind};
use crate::engine::backoff::{ModelDelay, model_delay};
use crate::engine::event::{ModelFault, Reason, RunEffect, Timer, ToolOwner};
use crate::engine::policy::TURN_LIMIT;
use crate::engine::standing::{RunFault, RunStatus};
use crate::rules::Severity;
use crate::session::ledger::{Ask, Ending, LedgerEvent, ReplySummary};

/// The most replies of a run that has no limit of its own, so that no run is endless.
pub(crate) const MOST_TURNS: u32 = 100;

/// The fault to consult the policy about when the turns are used up.
pub(crate) fn limit_fault(turns: u32) -> RunFault {
    RunFault {
        rule: TURN_LIMIT,
        severity: Severity::Info,
        item: None,
        call: None,
        tool: None,
        message: format!("the run has used up its {turns} turns"),
    }
}

impl EventHandler<'_> {
    pub(crate) fn question(&mut self, standing: &RunStatus) -> Vec<Reason> {
        if self.state.asking.is_some() {
            return Vec::new();
        }
        if let Some(reasons) = self.model_fault() {
            return reasons;
        }
        let turns = standing.turns;
        if let Some(turns) = self.used_up(standing) {
            match self.judge(&limit_fault(turns), &[], turns) {
                FaultOutcome::Passes => {}
                FaultOutcome::Taken => return Vec::new(),
                FaultOutcome::Holds if self.config.has_operator => {
                    return vec![Reason::TurnLimit { turns }];
                }
                FaultOutcome::Holds => {
                    self.state.mode = super::RunMode::Ending(Ending::TurnLimit { turns });
                    return Vec::new();
                }
            }
        }
        if self.stops_before(StepKind::Question(turns)) {
            return vec![Reason::Stepped];
        }
        let request = self.next_request(standing.take);
        self.ask(request);
        Vec::new()
    }

    /// What holds because the model failed; nothing where that ends the run.
    pub(crate) fn model_fault(&mut self) -> Option<Vec<Reason>> {
        let why = self.state.model_fault.clone()?;
        if self.config.has_operator {
            return Some(vec![Reason::Model { why }]);
        }
        self.state.mode = super::RunMode::Ending(Ending::ModelFailed { why });
        Some(Vec::new())
    }

    /// How many turns the run has taken, where it has used up those that it may take. Every reply
    /// counts, also one that a policy dropped or requested again. In an agent's exchange these are the retries.
    pub(crate) fn used_up(&self, standing: &RunStatus) -> Option<u32> {
        let (used, limit) = match self.config.tools_are {
            ToolOwner::Own => match self.config.max_turns {
                Some(limit) => (standing.turns.max(self.state.spent), Some(limit)),
                None => (self.state.replies, Some(MOST_TURNS)),
            },
            // The first request was the agent's.
            ToolOwner::Agents { .. } if self.state.replies == 0 => return None,
            ToolOwner::Agents { asks } => (self.state.last_ask.saturating_sub(1), Some(asks)),
        };
        let more = self.state.decided.more_turns;
        let limit = limit?.saturating_add(more);
        (standing.tail == super::Tail::AsksModel && used >= limit).then_some(used)
    }

    fn ask(&mut self, asking: PendingRequest) {
        let (ask, take, attempt) = (asking.ask, asking.take, asking.attempt);
        self.state.asking = Some(asking);
        self.record(LedgerEvent::Asked { ask, take, attempt });
        self.effects.push(RunEffect::Ask { ask, attempt });
    }

    pub(crate) fn replied(&mut self, ask: Ask, reply: ReplySummary) {
        if let Some(asking) = self.state.asking.take_if(|asking| asking.ask == ask) {
            let take = asking.take;
            self.record(LedgerEvent::Replied { ask, take, reply });
            self.state.is_growing = true;
            self.state.replies = self.state.replies.saturating_add(1);
            self.state.spent = self.state.spent.saturating_add(1);
            self.state.pace.may_take = None;
            let standing = self.state.standing.as_ref();
            let next = standing.map_or(0, |standing| standing.turns) + 1;
            self.state.decided.forget_turn(next);
            self.state.hits.retain(|(_, turn)| *turn < next);
            return;
        }
        let called_off = &mut self.state.called_off;
        match called_off.iter().position(|(off, _)| *off == ask) {
            Some(place) => {
                let (_, take) = called_off.remove(place);
                self.record(LedgerEvent::Replied { ask, take, reply });
                self.note(format!(
                    "request {} was answered after it was cancelled",
                    ask.0
                ));
            }
            None => self.note(format!(
                "a reply to request {}, which was not awaited",
                ask.0
            )),
        }
    }

    /// An attempt brought no reply.
    pub(crate) fn not_replied(&mut self, ask: Ask, fault: &ModelFault) {
        let awaited = |asking: &mut PendingRequest| asking.ask == ask && asking.until.is_none();
        let Some(asking) = self.state.asking.take_if(awaited) else {
            // That it was cancelled is recorded.
            let called_off = &mut self.state.called_off;
            if let Some(place) = called_off.iter().position(|(off, _)| *off == ask) {
                called_off.remove(place);
                return;
            }
            let why = &fault.why;
            self.note(format!(
                "request {} failed after it was settled: {why}",
                ask.0
            ));
            return;
        };
        let seed = self.config.seed ^ u64::from(ask.0);
        let delay = model_delay(fault, asking.tries, seed);
        let again_in_ms = match &delay {
            ModelDelay::After(for_ms) => Some(*for_ms),
            ModelDelay::Ask(_) => None,
        };
        self.record(LedgerEvent::NotReplied {
            ask,
            attempt: asking.attempt,
            status: fault.status,
            why: fault.why.clone(),
            again_in_ms,
        });
        match delay {
            ModelDelay::After(for_ms) => {
                let until = Some(self.now.saturating_add(for_ms));
                self.state.asking = Some(PendingRequest { until, ..asking });
                let timer = Timer::AskAgain(ask);
                self.effects.push(RunEffect::Wait { timer, for_ms });
            }
            ModelDelay::Ask(why) => self.state.model_fault = Some(why),
        }
    }

    pub(crate) fn retry_timer_fired(&mut self, ask: Ask) {
        let waits = |asking: &mut PendingRequest| asking.ask == ask && asking.until.is_some();
        // Timers are not cancelled: one may fire after the request was retried early.
        if let Some(asking) = self.state.asking.take_if(waits) {
            self.ask_again(asking);
        }
    }

    pub(crate) fn ask_again(&mut self, asking: PendingRequest) {
        self.ask(PendingRequest {
            attempt: asking.attempt.saturating_add(1),
            tries: asking.tries.saturating_add(1),
            until: None,
            ..asking
        });
    }

    /// Cancels the current request.
    pub(crate) fn cancel_request(&mut self, why: &str) {
        let Some(asking) = self.state.asking.take() else {
            return;
        };
        if asking.until.is_some() {
            return;
        }
        self.state.called_off.push((asking.ask, asking.take));
        self.effects.push(RunEffect::CancelAsk(asking.ask));
        self.record(LedgerEvent::NotReplied {
            ask: asking.ask,
            attempt: asking.attempt,
            status: None,
            why: format!("called off: {why}"),
            again_in_ms: None,
        });
    }
}
