//! What the operator wants.

use super::state::{EventHandler, RunMode, StepKind};
use crate::engine::breaker::BreakerState;
use crate::engine::event::{RunCommand, RunEffect};
use crate::engine::standing::{RunCall, Tail};
use crate::session::ledger::{CallKey, CallOutcome, Ending, ExecutionStatus, LedgerEvent};
use crate::session::takes::Author;

impl EventHandler<'_> {
    pub(crate) fn command(&mut self, command: RunCommand) {
        match command {
            RunCommand::Continue => {
                self.state.pace.is_stepping = false;
                self.state.pace.is_looking = false;
                self.go_on_from_here();
            }
            RunCommand::Step => self.take_a_step(),
            RunCommand::Pause => {
                self.state.pace.is_stepping = true;
                self.state.pace.may_take = None;
            }
            RunCommand::Abort => self.abort(),
            RunCommand::Release => self.release(),
            RunCommand::End(ending) => {
                if !matches!(self.state.mode, RunMode::Ended(_)) {
                    self.state.mode = RunMode::Ending(ending);
                }
            }
            RunCommand::Now => self.now(),
            RunCommand::Approve { call, always } => {
                self.about(&call, |step, call| step.approve(call, always));
            }
            RunCommand::Reject { call, words } => {
                self.about(&call, |step, call| step.reject(call, words));
            }
            RunCommand::Supply {
                call,
                output,
                is_error,
            } => self.about(&call, |step, call| step.supply(call, output, is_error)),
            RunCommand::RunAgain { call } => self.about(&call, Self::grant_another_run),
            RunCommand::Breakpoints(breakpoints) => self.state.breakpoints = breakpoints,
            RunCommand::Enable { tool } => {
                if self.state.breakers.enable(&tool) {
                    self.record_breaker(&tool, BreakerState::Closed, 0);
                } else {
                    self.note(format!("{tool} is not switched off"));
                }
            }
            RunCommand::AcceptFallback => {
                if let RunMode::Going | RunMode::Ended(_) = self.state.mode {
                    self.state.mode = RunMode::Ending(Ending::Fallback);
                }
            }
            RunCommand::MoreTurns(turns) => self.grant_turns(turns),
        }
    }

    /// Nothing but faults and decisions about calls holds any longer; a run that ended begins anew.
    fn go_on_from_here(&mut self) {
        self.state.stopped_at.clear();
        self.state.model_fault = None;
        if let RunMode::Ended(_) = self.state.mode {
            self.state.mode = RunMode::Going;
        }
    }

    fn take_a_step(&mut self) {
        self.state.pace.is_stepping = true;
        self.state.pace.is_looking = false;
        self.state.pace.may_take = match &self.state.standing {
            Some(standing) if standing.tail == Tail::OpenCalls => {
                Some(StepKind::Tools(standing.turns))
            }
            Some(standing) => Some(StepKind::Question(standing.turns)),
            None => None,
        };
        self.go_on_from_here();
    }

    fn abort(&mut self) {
        if let RunMode::Ended(_) = self.state.mode {
            return self.note("the run has ended");
        }
        self.state.mode = RunMode::Ending(Ending::Aborted);
        self.cancel_request("aborted by the operator");
        if self.state.executions.iter().any(|run| run.is_running()) {
            self.effects.push(RunEffect::StopTools);
        }
    }

    fn release(&mut self) {
        let had_stopped = !self.state.stopped_at.is_empty();
        self.state.stopped_at.clear();
        let released = self.release_faults();
        if self.is_of_agent() {
            return self.hand_over_as_it_is();
        }
        if !released && !had_stopped {
            self.note("nothing holds that could be released");
        }
    }

    /// What was to be tried again later is tried now.
    fn now(&mut self) {
        let mut any = self.state.model_fault.take().is_some();
        if let Some(asking) = self.state.asking.take_if(|asking| asking.until.is_some()) {
            self.ask_again(asking);
            any = true;
        }
        let executions = std::mem::take(&mut self.state.executions);
        let (running, waiting) = executions.into_iter().partition(|run| run.is_running());
        self.state.executions = running;
        for run in Vec::from_iter(waiting) {
            self.run_again(run);
            any = true;
        }
        if !any {
            self.note("nothing waits for a time");
        }
    }

    /// Does something about an open call of a run that goes on, or says why not.
    fn about(&mut self, key: &CallKey, then: impl FnOnce(&mut Self, &RunCall)) {
        let call = self.state.open_call(key).cloned();
        match (&self.state.mode, call) {
            (RunMode::Going, Some(call)) => {
                // Whoever answers for a call is no longer only looking.
                self.state.pace.is_looking = false;
                then(self, &call);
            }
            (RunMode::Going, None) => self.note(format!("{key} is not open")),
            _ => self.note("the run has ended; continue takes it up again"),
        }
    }

    fn approve(&mut self, call: &RunCall, always: bool) {
        if !self.needs_approval(call) {
            return self.note(format!("{} does not wait for an approval", call.key));
        }
        let decided = &mut self.state.decided;
        let proposed = decided.proposed.iter().find(|(key, _)| *key == call.key);
        let proposed = proposed.map(|(_, arguments)| arguments.clone());
        let proposed = proposed.filter(|proposed| *proposed != call.arguments);
        decided
            .approved
            .push((call.key.clone(), call.arguments.clone()));
        if always && !decided.approved_tools.contains(&call.tool) {
            decided.approved_tools.push(call.tool.clone());
            self.record(LedgerEvent::ApprovedAlways {
                tool: call.tool.clone(),
            });
        }
        self.record_about_call(call, "approve", proposed);
    }

    fn reject(&mut self, call: &RunCall, words: String) {
        if self.state.is_under_way(&call.key) {
            return self.note(format!("{} has started; it can be aborted", call.key));
        }
        self.record_about_call(call, "reject", None);
        self.answer(&call.key, words, true);
    }

    fn supply(&mut self, call: &RunCall, output: String, is_error: bool) {
        self.record_about_call(call, "supply-output", None);
        let is_asked = self.state.awaited.iter().any(|(key, _)| *key == call.key);
        // What the operator says of a tool that he is, or of a call that may have run, is what
        // happened in the world.
        if is_asked || call.ran == ExecutionStatus::MayHave {
            let outcome = CallOutcome {
                output,
                is_error,
                ..CallOutcome::default()
            };
            return self.supply_recorded(call, &outcome);
        }
        self.drop_waiting(|run| run.call == call.key);
        self.answer(&call.key, output, is_error);
    }

    fn grant_another_run(&mut self, call: &RunCall) {
        if call.ran != ExecutionStatus::MayHave || self.state.is_under_way(&call.key) {
            return self.note(format!("{} is not one that may have run", call.key));
        }
        self.record_about_call(call, "run-again", None);
        let again = (call.key.clone(), call.arguments.clone());
        self.state.decided.again.push(again);
    }

    fn record_about_call(&mut self, call: &RunCall, action: &str, proposed: Option<String>) {
        let take = self.take_id();
        self.record(LedgerEvent::Decided {
            take,
            call: Some(call.key.clone()),
            rule: None,
            action: action.to_owned(),
            by: Author::Operator,
            wording: None,
            proposed,
            effective: Some(call.arguments.clone()),
        });
    }
}
