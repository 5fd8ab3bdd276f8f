//! What a run is doing, for whoever watches it.

use super::state::{MachineState, Mode};
use crate::engine::{Millis, Reason};
use crate::session::ledger::{Ask, CallKey, Ending};

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
    pub(super) fn phase(&self, now: Millis) -> Phase {
        if let Mode::Ended(ending) = &self.mode {
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
