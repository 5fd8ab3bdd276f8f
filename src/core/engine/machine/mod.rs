//! The machine of a live run: events in, effects out.
//!
//! What is left to do is not stored but derived from the status of the history each time, so it makes no
//! difference whether a history came from the run itself, from an action of the operator in another take, or
//! from before a restart. The first line that applies decides:
//!
//! | status | what is done |
//! |---|---|
//! | a reply or a policy's action is on its way into the history | wait for [`RunEvent::StatusChanged`] |
//! | a fault holds | the policy acts, releases or raises; else pause, all faults at once |
//! | a breakpoint hits that did not hit at this turn | pause |
//! | the history is empty | pause |
//! | calls are open | recorded outputs are given; pause for approvals and calls that may have run, all at once; else all others run |
//! | a reply without calls | finish |
//! | the model's turn | send a request, unless the turns are used up or the model failed |
//!
//! Where the tools are an agent's ([`super::ToolOwner::Agents`]), its exchange with the model is what the run
//! is about, and the last three lines are these:
//!
//! | status | what is done |
//! |---|---|
//! | the model's turn, and it replied before | send another request, unless that was done often enough or the model failed |
//! | an unresolved refusal of the model | pause |
//! | anything else | hand over: open calls to the agent, a request to its provider |
//!
//! Without an operator a pause is an end: an error that no policy resolves ends the run, since its call cannot
//! be carried out; a warning without an entry passes; in an agent's exchange everything passes that no policy
//! resolves. Stepping pauses before the tools of a reply and before each request.
//!
//! | event | while it is awaited | otherwise |
//! |---|---|---|
//! | `StatusChanged` | the table above | the same; a request of another take is cancelled; an older take waits for a command |
//! | `AgentRequested` | | recorded; the request is under way |
//! | `Replied` | recorded; wait for `StatusChanged` | recorded if the request was cancelled, and noted |
//! | `NotReplied` | recorded; retried later, or the model's fault holds | noted |
//! | `Finished` | recorded; tried again later, or the output is given if the call is open | noted; recorded if the call may have run |
//! | `NeedsOperator` | the operator has to give the output | noted |
//! | `TimerFired` | tried again | noted |
//! | `Refused` | the fault is left to the operator | noted |
//!
//! The runtime keeps three promises: effects are carried out in their order before the next event is handed in;
//! `StatusChanged` follows each growth and each move to another take, with what the ledger knows by then; each `Run`
//! ends with one `Finished` or `NeedsOperator`. The machine keeps two: an open call is given one output, and
//! what has started is started again only by a retry of a recoverable failure or by a command of the operator.

use super::breaker::{BreakerState, ToolState};
use super::breakpoint::{Breakpoint, BreakpointCache, BreakpointHit, hits};
use super::event::{Config, Reason, RunEffect, RunEvent, Timer, ToolOwner};
use super::policy::Millis;
use super::standing::{RunStatus, Tail};
use crate::session::ledger::{Ask, CallKey, Ending, LedgerEvent};
use crate::session::takes::{Author, TakeId};
pub use faults::holds;
pub use state::MachineState;
use state::{EventHandler, FaultId, PendingRequest, RunMode, StepKind};
use std::sync::Arc;

mod calls;
mod faults;
mod model;
mod operator;
mod state;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

#[derive(Debug, Clone)]
pub struct Machine {
    config: Config,
    state: MachineState,
    ready: BreakpointCache,
}

impl Machine {
    /// A new run, or one that continues from its journal, whose ledger goes through [`Machine::recall`].
    pub fn new(config: Config) -> Self {
        let mut state = MachineState {
            breakpoints: config.breakpoints.clone(),
            ..MachineState::default()
        };
        state.pace.is_stepping = config.is_stepping;
        Self {
            config,
            state,
            ready: BreakpointCache::default(),
        }
    }

    /// The effects of an event, in order.
    pub fn handle(&mut self, now: Millis, event: RunEvent) -> Vec<RunEffect> {
        let mut handler = EventHandler {
            config: &self.config,
            state: &mut self.state,
            ready: &mut self.ready,
            now,
            reports_again: matches!(event, RunEvent::Operator(_)),
            effects: Vec::new(),
        };
        handler.apply(event);
        handler.advance();
        handler.effects
    }

    /// Whether the run goes on by itself in the take that the operator leads it to next.
    pub fn lead(&mut self, goes_on: bool) {
        self.state.pace.leads = Some(goes_on);
    }

    /// The operator only looks at what the run would do: it says what it waits for, and does nothing.
    pub fn look(&mut self) {
        self.state.pace.is_looking = true;
    }

    /// The action that is being carried out cannot be done about all faults at once: it is about
    /// its first one alone.
    pub fn act_alone(&mut self) {
        self.state.act_alone();
    }

    /// What the run is doing.
    pub fn phase(&self, now: Millis) -> Phase {
        self.state.phase(now)
    }

    /// Whether a request to the model or a call is under way.
    pub fn is_busy(&self) -> bool {
        let mut executions = self.state.executions.iter();
        let asking = self.state.asking.as_ref();
        executions.any(|run| run.is_running()) || asking.is_some_and(|it| it.until.is_none())
    }

    /// The state of each tool that was used.
    pub fn tools(&self, now: Millis) -> impl Iterator<Item = ToolState> {
        self.state.breakers.states(now)
    }

    /// The breakpoints that hold, with those that are switched off.
    pub fn breakpoints(&self) -> &[Breakpoint] {
        &self.state.breakpoints
    }

    pub fn state(&self) -> &MachineState {
        &self.state
    }
}

impl EventHandler<'_> {
    fn apply(&mut self, event: RunEvent) {
        match event {
            RunEvent::StatusChanged(standing) => self.status_changed(standing),
            RunEvent::AgentRequested { take } => self.agent_requested(take),
            RunEvent::Replied { ask, reply } => self.replied(ask, reply),
            RunEvent::NotReplied { ask, fault } => self.not_replied(ask, &fault),
            RunEvent::Finished { call, outcome } => self.finished(&call, outcome),
            RunEvent::NeedsOperator { call, note } => self.needs_operator(call, note),
            RunEvent::TimerFired(Timer::AskAgain(ask)) => self.retry_timer_fired(ask),
            RunEvent::TimerFired(Timer::RunAgain(call)) => self.call_timer_fired(&call),
            RunEvent::Operator(command) => self.command(command),
            RunEvent::Refused { rule, why, .. } => self.refused(&rule, &why),
        }
    }

    fn status_changed(&mut self, standing: Arc<RunStatus>) {
        self.state.is_growing = false;
        let before = self.state.standing.as_ref();
        let is_elsewhere = before.is_some_and(|before| before.take != standing.take);
        // What a policy does is a take of its own.
        let acting = self.state.acting.take_if(|_| is_elsewhere);
        self.state.spent = match (is_elsewhere, &acting) {
            (true, None) => standing.turns,
            _ => self.state.spent.max(standing.turns),
        };
        if let Some(acting) = &acting {
            self.acted(acting);
        }
        if is_elsewhere {
            self.state.answered.clear();
            self.state.model_fault = None;
            // Looking at a take that was there before must not set anything off.
            let was_there = standing.take <= self.state.newest;
            let pace = &mut self.state.pace;
            pace.is_looking = match pace.leads.take() {
                Some(goes_on) => !goes_on,
                // What a policy makes of a take that is looked at is looked at as well.
                None if acting.is_some() => pace.is_looking,
                None => was_there,
            };
            pace.may_take = None;
            if let (true, RunMode::Ended(_)) = (self.state.pace.is_looking, &self.state.mode) {
                self.state.mode = RunMode::Going;
            }
        }
        if is_elsewhere || standing.tail != Tail::AsksModel {
            self.cancel_request("the run continued elsewhere");
        }
        self.state.newest = self.state.newest.max(standing.take);
        self.state.standing = Some(standing);
        self.keep_what_is_open();
        self.note_proposals();
        if acting.is_some_and(|acting| acting.is_fallback) && self.state.mode == RunMode::Going {
            self.state.mode = RunMode::Ending(Ending::Fallback);
        }
    }

    /// Takes the next steps, or reports what holds the run.
    fn advance(&mut self) {
        let mut reasons = Vec::new();
        let is_awaited = self.state.is_growing || self.state.acting.is_some();
        let standing = self.state.standing.clone();
        if let (RunMode::Going, false, Some(standing)) = (&self.state.mode, is_awaited, standing) {
            reasons = self.next(&standing);
        }
        if !reasons.is_empty() && !self.config.has_operator {
            let ending = match self.config.tools_are {
                ToolOwner::Agents { .. } => Ending::HandedOver,
                ToolOwner::Own => Ending::Unattended {
                    why: joined(&reasons),
                },
            };
            self.state.mode = RunMode::Ending(ending);
            reasons.clear();
        }
        self.end_when_quiet();
        self.report(reasons);
    }

    /// The table of the module: does the next thing, or gives what holds it.
    fn next(&mut self, standing: &RunStatus) -> Vec<Reason> {
        match self.faults(standing) {
            faults::FaultsOutcome::Clear => {}
            faults::FaultsOutcome::Taken => return Vec::new(),
            faults::FaultsOutcome::Holds(reasons) => return self.with_asked(reasons),
        }
        self.check_breakpoints(standing);
        if !self.state.stopped_at.is_empty() {
            return self.with_asked(self.state.stopped_at.clone());
        }
        if self.is_of_agent() {
            return self.hand_over(standing);
        }
        match standing.tail {
            Tail::Empty => vec![Reason::NothingSaid],
            Tail::OpenCalls => self.calls(standing),
            Tail::AsksModel => self.question(standing),
            Tail::Final { .. } => {
                self.state.mode = RunMode::Ending(Ending::Final);
                Vec::new()
            }
        }
    }

    fn check_breakpoints(&mut self, standing: &RunStatus) {
        if !self.config.has_operator {
            return;
        }
        let found = hits(&self.state.breakpoints, standing, self.ready);
        let known = self.state.hits.clone();
        for BreakpointHit { number, item } in found {
            let hit = (number, standing.turns);
            let breakpoints = &mut self.state.breakpoints;
            let place = breakpoints.iter().position(|one| one.number == number);
            let Some(place) = place.filter(|_| !known.contains(&hit)) else {
                continue;
            };
            let what = breakpoints[place].on.to_string();
            self.state.hits.push(hit);
            self.state
                .stopped_at
                .push(Reason::Breakpoint { number, what, item });
        }
        let hits = &self.state.hits;
        let has_hit = |number: u32| hits.iter().any(|(hit, _)| *hit == number);
        self.state
            .breakpoints
            .retain(|one| !one.is_one_shot || !has_hit(one.number));
    }

    /// Whether the run stops before this step.
    fn stops_before(&self, step: StepKind) -> bool {
        let pace = self.state.pace;
        let is_held = pace.is_stepping || pace.is_looking;
        self.config.has_operator && is_held && pace.may_take != Some(step)
    }

    /// Ends the run that is to end, once nothing is under way.
    fn end_when_quiet(&mut self) {
        let RunMode::Ending(ending) = self.state.mode.clone() else {
            return;
        };
        self.cancel_request("the run ends");
        self.drop_waiting(|_| true);
        if !self.state.executions.is_empty() {
            return;
        }
        let closes = ending == Ending::Aborted && !self.is_of_agent();
        if closes && !self.state.open_calls().is_empty() {
            self.effects.push(RunEffect::Close);
        }
        let take = self.take_id();
        self.record(LedgerEvent::Ended {
            take,
            how: ending.clone(),
        });
        self.state.awaited.clear();
        self.state.stopped_at.clear();
        self.state.mode = RunMode::Ended(ending.clone());
        self.effects.push(RunEffect::Finish(ending));
    }

    /// Reports to the operator what the run waits for, if that is new.
    fn report(&mut self, reasons: Vec<Reason>) {
        let is_new = reasons != self.state.reported;
        if !reasons.is_empty() && is_new {
            let (take, why) = (self.take_id(), joined(&reasons));
            self.record(LedgerEvent::Paused { take, why });
        }
        if !reasons.is_empty() && (is_new || self.reports_again) {
            self.effects.push(RunEffect::Pause(reasons.clone()));
        }
        self.state.reported = reasons;
    }

    fn record(&mut self, event: LedgerEvent) {
        self.effects.push(RunEffect::Record(event));
    }

    fn record_breaker(&mut self, tool: &str, state: BreakerState, errors: u32) {
        let (tool, state) = (tool.to_owned(), state.word().to_owned());
        self.record(LedgerEvent::Breaker {
            tool,
            state,
            errors,
        });
    }

    fn note(&mut self, text: impl Into<String>) {
        self.effects.push(RunEffect::Note(text.into()));
    }

    /// The take that is driven.
    fn take_id(&self) -> crate::session::takes::TakeId {
        let standing = self.state.standing.as_ref();
        standing.map_or(self.state.newest, |standing| standing.take)
    }
}

fn joined(reasons: &[Reason]) -> String {
    let words = reasons.iter().map(Reason::words);
    words.collect::<Vec<_>>().join("; ")
}

// An agent's exchange with its model: a sound history is handed over, and the run ends.

impl EventHandler<'_> {
    /// Whether the tools are an agent's.
    fn is_of_agent(&self) -> bool {
        matches!(self.config.tools_are, ToolOwner::Agents { .. })
    }

    /// The agent's own request, which is under way.
    fn agent_requested(&mut self, take: TakeId) {
        self.state.newest = self.state.newest.max(take);
        let request = self.next_request(take);
        let (ask, attempt) = (request.ask, request.attempt);
        self.state.asking = Some(request);
        self.record(LedgerEvent::Asked { ask, take, attempt });
    }

    fn next_request(&mut self, take: TakeId) -> PendingRequest {
        self.state.last_ask = self.state.last_ask.saturating_add(1);
        PendingRequest {
            ask: Ask(self.state.last_ask),
            take,
            attempt: 1,
            tries: 1,
            until: None,
        }
    }

    /// Nothing is wrong, or it may pass: hands the history back to the agent and its provider, unless a
    /// request to the model is due first.
    fn hand_over(&mut self, standing: &RunStatus) -> Vec<Reason> {
        if standing.tail == Tail::AsksModel && self.state.replies > 0 {
            return self.question(standing);
        }
        if let Some(reasons) = self.model_fault() {
            return reasons;
        }
        let step = match standing.tail {
            Tail::OpenCalls => StepKind::Tools(standing.turns),
            _ => StepKind::Question(standing.turns),
        };
        if self.stops_before(step) {
            return vec![Reason::Stepped];
        }
        self.state.mode = RunMode::Ending(match standing.tail {
            Tail::Final { .. } => Ending::Final,
            _ => Ending::HandedOver,
        });
        Vec::new()
    }

    /// The operator stops waiting: everything passes unchanged, whatever holds or is under way.
    fn hand_over_as_it_is(&mut self) {
        if self.state.mode != RunMode::Going {
            return self.note("the run has ended");
        }
        self.state.mode = RunMode::Ending(Ending::HandedOver);
    }
}

// Restores a run in another process from its ledger.

impl Machine {
    /// Applies an entry of the journal that the run continues from, in the order of the journal. Decisions
    /// about calls and tools are kept. Decisions about a turn as a whole are made again, breakers start
    /// closed, and the run's status says which calls ran.
    pub fn recall(&mut self, event: &LedgerEvent) {
        let state = &mut self.state;
        match event {
            LedgerEvent::Asked {
                ask: Ask(number), ..
            } => {
                state.last_ask = state.last_ask.max(*number);
            }
            LedgerEvent::Replied { .. } => state.replies = state.replies.saturating_add(1),
            LedgerEvent::ApprovedAlways { tool } => state.decided.approved_tools.push(tool.clone()),
            LedgerEvent::Decided {
                call: Some(call),
                rule,
                action,
                by,
                effective,
                ..
            } => match (action.as_str(), rule, effective) {
                ("approve", None, Some(arguments)) => {
                    let approved = (call.clone(), arguments.clone());
                    state.decided.approved.push(approved);
                }
                (_, Some(rule), _) => {
                    let id = FaultId {
                        rule: rule.clone(),
                        call: Some(call.clone()),
                        turn: 0,
                        others: 0,
                    };
                    match (action.as_str(), by) {
                        ("release", _) => state.decided.released.push(id),
                        (_, Author::Policy) => state.decided.acted.push(id),
                        _ => {}
                    }
                }
                _ => {}
            },
            LedgerEvent::Decided { .. }
            | LedgerEvent::Began { .. }
            | LedgerEvent::NotReplied { .. }
            | LedgerEvent::Started { .. }
            | LedgerEvent::Finished { .. }
            | LedgerEvent::Refused { .. }
            | LedgerEvent::Failed { .. }
            | LedgerEvent::Breaker { .. }
            | LedgerEvent::Breakpoints { .. }
            | LedgerEvent::Paused { .. }
            | LedgerEvent::Ended { .. } => {}
        }
    }
}

// What a run is doing, for whoever watches it.

/// What a run is doing.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Phase {
    /// Nothing: it was not begun.
    #[default]
    Idle,
    /// A request to the model is under way.
    Asking {
        ask: Ask,
        attempt: u32,
    },
    Running {
        /// The calls with their tools.
        calls: Vec<(CallKey, String)>,
    },
    /// Something is tried again later.
    Waiting {
        /// What for, in a few words.
        why: String,
        /// How long it takes yet, in milliseconds.
        for_ms: Millis,
    },
    /// The operator is to decide.
    Paused {
        reasons: Vec<Reason>,
    },
    Ended(Ending),
}

impl MachineState {
    /// What the run is doing at this moment.
    fn phase(&self, now: Millis) -> Phase {
        if let RunMode::Ended(ending) = &self.mode {
            return Phase::Ended(ending.clone());
        }
        if !self.reported.is_empty() {
            let reasons = self.reported.clone();
            return Phase::Paused { reasons };
        }
        let running = self.executions.iter().filter(|run| run.is_running());
        let calls = running.map(|run| (run.call.clone(), run.tool.clone()));
        let calls = calls.collect::<Vec<_>>();
        if !calls.is_empty() {
            return Phase::Running { calls };
        }
        match &self.asking {
            Some(asking) if asking.until.is_none() => Phase::Asking {
                ask: asking.ask,
                attempt: asking.attempt,
            },
            _ => self.waiting(now),
        }
    }

    fn waiting(&self, now: Millis) -> Phase {
        let model = self.asking.iter().filter_map(|asking| asking.until);
        let model = model.map(|until| (until, "the model is tried again".to_owned()));
        let tools = self.executions.iter().filter_map(|run| {
            let why = format!("{} is tried again", run.tool);
            run.until.map(|until| (until, why))
        });
        match model.chain(tools).min() {
            Some((until, why)) => Phase::Waiting {
                why,
                for_ms: until.saturating_sub(now),
            },
            None => Phase::Idle,
        }
    }
}
