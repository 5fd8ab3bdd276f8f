//! Open calls: decided about first, all at once; then run, each once; then answered, each once.

use super::state::{EventHandler, Execution, RunMode, StepKind};
use crate::actions::quote;
use crate::engine::backoff::delay;
use crate::engine::breaker::{BreakerAdmission, BreakerState};
use crate::engine::event::{Nature, Reason, RunEffect, Timer};
use crate::engine::policy::Approval;
use crate::engine::standing::{RunCall, RunStatus};
use crate::rules::ErrorClass;
use crate::session::ledger::{
    CallFailure, CallKey, CallOutcome, Ending, ExecutionStatus, LedgerEvent,
};
use crate::wording;

/// The longest wait before a call is tried again, in milliseconds.
const LONGEST_WAIT: u64 = 60_000;

impl EventHandler<'_> {
    /// The calls of the last reply are open.
    pub(crate) fn calls(&mut self, standing: &RunStatus) -> Vec<Reason> {
        let mut idle = self.state.open_calls();
        idle.retain(|call| !self.state.is_under_way(&call.key));
        let stops = !idle.is_empty() && self.stops_before(StepKind::Tools(standing.turns));
        if stops && !self.state.pace.is_looking {
            return self.with_asked(vec![Reason::Stepped]);
        }
        let mut holds = Vec::new();
        let mut ready = Vec::new();
        for call in idle {
            match &call.ran {
                ExecutionStatus::Yes(_) if stops => ready.push(call),
                ExecutionStatus::Yes(outcome) => self.give((&call.key, &call.tool), outcome),
                ExecutionStatus::MayHave if !self.runs_again(&call) => {
                    holds.push(Reason::MayHaveRun {
                        call: call.key,
                        tool: call.tool,
                    })
                }
                _ if self.needs_approval(&call) => holds.push(Reason::Approval {
                    is_each_time: self.approval_of(&call.tool) == Approval::Always,
                    call: call.key,
                    tool: call.tool,
                    arguments: call.arguments,
                }),
                _ => ready.push(call),
            }
        }
        if !self.config.has_operator || self.state.pace.is_looking {
            // Nothing runs beside a call that will end the run, or while the operator only looks at it.
            let mut operators = ready.clone();
            operators.retain(|call| self.nature(&call.tool) == Nature::Operator);
            holds.extend(
                operators
                    .iter()
                    .map(|call| ask_operator(call, String::new())),
            );
        }
        // What is only looked at says what it waits for, and does nothing.
        if holds.is_empty() && stops {
            holds.push(Reason::Stepped);
        } else if holds.is_empty() {
            for call in ready {
                self.start(&call);
            }
        }
        self.with_asked(holds)
    }

    /// Reasons to wait, with the outputs that the operator has to give.
    pub(crate) fn with_asked(&self, mut reasons: Vec<Reason>) -> Vec<Reason> {
        for (key, note) in &self.state.awaited {
            let call = self.state.open_call(key);
            reasons.extend(call.map(|call| ask_operator(call, note.clone())));
        }
        reasons
    }

    fn nature(&self, tool: &str) -> Nature {
        let known = self.config.tools.get(tool);
        known.map_or(Nature::Operator, |known| known.nature)
    }

    fn runs_again(&self, call: &RunCall) -> bool {
        is_listed(&self.state.decided.again, call)
    }

    pub(crate) fn needs_approval(&self, call: &RunCall) -> bool {
        let decided = &self.state.decided;
        let is_approved = is_listed(&decided.approved, call) || self.runs_again(call);
        match self.approval_of(&call.tool) {
            Approval::Never => false,
            Approval::Ask => !is_approved && !decided.approved_tools.contains(&call.tool),
            Approval::Always => !is_approved,
        }
    }

    fn approval_of(&self, tool: &str) -> Approval {
        let known = self.config.tools.get(tool);
        let approval = self.config.policy.approval(tool);
        let approval = approval.or(known.map(|known| known.approval));
        approval.unwrap_or(Approval::Never)
    }

    fn start(&mut self, call: &RunCall) {
        let nature = self.nature(&call.tool);
        if nature == Nature::Operator {
            self.state.awaited.push((call.key.clone(), String::new()));
            return;
        }
        let once = (call.key.clone(), call.arguments.clone());
        self.state.decided.again.retain(|again| *again != once);
        self.run(self.first_attempt(call));
    }

    fn first_attempt(&self, call: &RunCall) -> Execution {
        Execution {
            call: call.key.clone(),
            take: self.take_id(),
            tool: call.tool.clone(),
            arguments: call.arguments.clone(),
            attempt: 1,
            until: None,
        }
    }

    /// Runs a call, or answers it where its tool is switched off.
    fn run(&mut self, run: Execution) {
        match self.state.breakers.admit(&run.tool, &run.call, self.now) {
            BreakerAdmission::Refused { text } => return self.switched_off(&run, text),
            BreakerAdmission::Trial => self.record_breaker(&run.tool, BreakerState::HalfOpen, 0),
            BreakerAdmission::Run => {}
        }
        if self.nature(&run.tool) == Nature::Acts {
            self.record(LedgerEvent::Started {
                call: run.call.clone(),
                take: run.take,
                tool: run.tool.clone(),
                arguments: LedgerEvent::digest(&run.tool, &run.arguments),
                attempt: run.attempt,
            });
        }
        self.effects.push(RunEffect::Run {
            call: run.call.clone(),
            tool: run.tool.clone(),
            arguments: run.arguments.clone(),
            attempt: run.attempt,
        });
        self.state.executions.push(run);
    }

    /// Gives a call the output that the world has for it. That it is an error is recorded: not every dialect
    /// has a mark for that.
    fn give(&mut self, (call, tool): (&CallKey, &str), outcome: &CallOutcome) {
        if outcome.is_error {
            self.record(LedgerEvent::Failed {
                take: self.take_id(),
                call: call.clone(),
                tool: tool.to_owned(),
                failure: outcome.failure,
                text: quote(&outcome.output),
            });
        }
        self.answer(call, outcome.output.clone(), outcome.is_error);
    }

    pub(crate) fn answer(&mut self, call: &CallKey, output: String, is_error: bool) {
        self.state.awaited.retain(|(key, _)| key != call);
        let open = self.state.count_open(call);
        self.state.answered.push((call.clone(), open));
        self.effects.push(RunEffect::Answer {
            call: call.clone(),
            output,
            is_error,
        });
    }

    /// An attempt to carry out a call ended.
    pub(crate) fn finished(&mut self, call: &CallKey, outcome: CallOutcome) {
        let is_it = |run: &Execution| run.call == *call && run.is_running();
        let Some(place) = self.state.executions.iter().position(is_it) else {
            return self.finished_late(call, &outcome);
        };
        let run = self.state.executions.remove(place);
        self.record_end(&run, &outcome);
        let is_stopped = outcome.failure == Some(CallFailure::Stopped);
        let open = self.state.open_call(call);
        let is_wanted = open.is_some_and(|open| run.is_of(open));
        let retry = self.config.policy.retry(&run.tool);
        let may_recover = outcome.failure.is_some_and(CallFailure::is_recoverable);
        let is_retried = is_wanted
            && may_recover
            && run.attempt < retry.attempts
            && self.state.mode == RunMode::Going;
        if is_retried {
            return self.run_later(run, retry.backoff_ms);
        }
        if outcome.is_error && !is_stopped {
            self.state.breakers.failed(&run.tool, &outcome.output);
        }
        self.judge_tool(&run, is_stopped, outcome.is_error);
        // What the operator stopped is closed by the runtime, in words that say so.
        let is_cut_short = is_stopped && self.state.mode == RunMode::Ending(Ending::Aborted);
        if is_wanted && !is_cut_short {
            self.give((call, &run.tool), &outcome);
        }
    }

    /// Tells the breaker of a tool what came of a call, its retries included.
    fn judge_tool(&mut self, run: &Execution, is_stopped: bool, is_error: bool) {
        let breakers = &mut self.state.breakers;
        if is_stopped {
            return breakers.called_off(&run.tool, &run.call, self.now);
        }
        let settings = self.config.policy.breaker(&run.tool);
        let change = breakers.ended(&settings, &run.tool, &run.call, is_error, self.now);
        let Some(change) = change else { return };
        self.record_breaker(&change.tool, change.state, change.consecutive);
        if let (Some(url), BreakerState::Open) = (settings.webhook, change.state) {
            self.effects.push(RunEffect::Webhook { url, change });
        }
    }

    /// Answers a call whose tool is switched off: in the policy's words, or in those of the breaker.
    fn switched_off(&mut self, run: &Execution, text: String) {
        let words = self.config.policy.breaker(&run.tool).wording;
        let context = wording::FailureContext {
            tool: run.tool.clone(),
            arguments: run.arguments.clone(),
            call_id: run.call.call_id.clone(),
            error: self.state.breakers.last_error(&run.tool).to_owned(),
            agent: self.config.agent.clone(),
            error_class: ErrorClass::SwitchedOff.words().to_owned(),
            suggestion: ErrorClass::SwitchedOff.advice().to_owned(),
            tools: self.config.tools.keys().cloned().collect(),
            ..wording::FailureContext::default()
        };
        let own = words.map(|template| wording::render(&template, &context));
        let output = match own {
            Some(Ok(own)) if !own.trim().is_empty() => own,
            Some(Err(fault)) => {
                self.note(format!("the wording of the breaker: {fault}"));
                text
            }
            _ => text,
        };
        let outcome = CallOutcome::failed(CallFailure::SwitchedOff, output);
        self.give((&run.call, &run.tool), &outcome);
    }

    /// Forgets calls that were to be tried again.
    pub(crate) fn drop_waiting(&mut self, is_dropped: impl Fn(&Execution) -> bool) {
        let (breakers, now) = (&mut self.state.breakers, self.now);
        self.state.executions.retain(|run| {
            let goes = !run.is_running() && is_dropped(run);
            if goes {
                breakers.called_off(&run.tool, &run.call, now);
            }
            !goes
        });
    }

    fn run_later(&mut self, run: Execution, backoff_ms: u64) {
        let seed = self.config.seed ^ u64::from(run.call.ask.0);
        let for_ms = delay(backoff_ms, run.attempt, LONGEST_WAIT, seed);
        let timer = Timer::RunAgain(run.call.clone());
        self.effects.push(RunEffect::Wait { timer, for_ms });
        let until = Some(self.now.saturating_add(for_ms));
        self.state.executions.push(Execution { until, ..run });
    }

    fn record_end(&mut self, run: &Execution, outcome: &CallOutcome) {
        self.record(LedgerEvent::Finished {
            call: run.call.clone(),
            take: run.take,
            tool: run.tool.clone(),
            arguments: LedgerEvent::digest(&run.tool, &run.arguments),
            attempt: run.attempt,
            outcome: outcome.clone(),
        });
    }

    /// The end of something that this machine does not know to run: it settles a call that may have run.
    fn finished_late(&mut self, key: &CallKey, outcome: &CallOutcome) {
        let open = self.state.open_call(key).cloned();
        match open.filter(|call| call.ran == ExecutionStatus::MayHave) {
            Some(call) => self.supply_recorded(&call, outcome),
            None => self.note(format!("{key} ended, which was not known to run")),
        }
    }

    /// Records what came of a call that nothing here carried out, and gives it to the model.
    pub(crate) fn supply_recorded(&mut self, call: &RunCall, outcome: &CallOutcome) {
        self.record_end(&self.first_attempt(call), outcome);
        self.give((&call.key, &call.tool), outcome);
    }

    /// A call cannot be answered without the operator.
    pub(crate) fn needs_operator(&mut self, call: CallKey, note: String) {
        let is_it = |run: &Execution| run.call == call && run.is_running();
        let Some(place) = self.state.executions.iter().position(is_it) else {
            return self.note(format!(
                "{call} needs the operator, but was not known to run: {note}"
            ));
        };
        let run = self.state.executions.remove(place);
        self.judge_tool(&run, true, false);
        match self.state.open_call(&call) {
            Some(open) if run.is_of(open) => self.state.awaited.push((call, note)),
            _ => self.note(format!(
                "{call} needs the operator, but is not open here: {note}"
            )),
        }
    }

    pub(crate) fn call_timer_fired(&mut self, call: &CallKey) {
        let waits = |run: &Execution| run.call == *call && !run.is_running();
        // Nobody stops a timer: it rings also where the call was tried before its time.
        if let Some(place) = self.state.executions.iter().position(waits) {
            let run = self.state.executions.remove(place);
            self.run_again(run);
        }
    }

    pub(crate) fn run_again(&mut self, run: Execution) {
        self.run(Execution {
            take: self.take_id(),
            attempt: run.attempt.saturating_add(1),
            until: None,
            ..run
        });
    }

    /// Forgets what waits for calls that are no longer open.
    pub(crate) fn keep_what_is_open(&mut self) {
        let standing = self.state.standing.iter();
        let open = standing.flat_map(|standing| &standing.calls);
        let open = open.filter(|call| call.is_open).cloned();
        let open = open.collect::<Vec<_>>();
        let is_open = |key: &CallKey| open.iter().any(|call| call.key == *key);
        let counts = |key: &CallKey| open.iter().filter(|call| call.key == *key).count();
        self.state
            .answered
            .retain(|(key, before)| counts(key) >= *before);
        self.state.awaited.retain(|(key, _)| is_open(key));
        self.drop_waiting(|run| !open.iter().any(|call| run.is_of(call)));
    }

    /// Remembers what the model proposed for calls that need an approval, before the operator changes it.
    pub(crate) fn note_proposals(&mut self) {
        for call in self.state.open_calls() {
            let proposed = &self.state.decided.proposed;
            let is_known = proposed.iter().any(|(key, _)| *key == call.key);
            if !is_known && self.needs_approval(&call) {
                self.state.decided.proposed.push((call.key, call.arguments));
            }
        }
    }
}

fn is_listed(list: &[(CallKey, String)], call: &RunCall) -> bool {
    let mut listed = list.iter();
    listed.any(|(key, arguments)| *key == call.key && *arguments == call.arguments)
}

fn ask_operator(call: &RunCall, note: String) -> Reason {
    Reason::AskOperator {
        call: call.key.clone(),
        tool: call.tool.clone(),
        arguments: call.arguments.clone(),
        note,
    }
}
