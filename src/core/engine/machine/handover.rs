//! An agent's exchange with its model: a sound history is handed over, and the run ends.

use super::EventHandler;
use super::state::{Mode, PendingRequest, StepKind};
use crate::engine::{Reason, RunStatus, Tail, ToolOwner};
use crate::session::ledger::{Ask, Ending, LedgerEvent};
use crate::session::takes::TakeId;

impl EventHandler<'_> {
    /// Whether the tools are an agent's.
    pub(super) fn is_of_agent(&self) -> bool {
        matches!(self.config.tools_are, ToolOwner::Agents { .. })
    }

    /// The agent's own request, which is under way.
    pub(super) fn agent_requested(&mut self, take: TakeId) {
        self.state.last_ask = self.state.last_ask.saturating_add(1);
        self.state.newest = self.state.newest.max(take);
        let (ask, attempt) = (Ask(self.state.last_ask), 1);
        self.state.asking = Some(PendingRequest {
            ask,
            take,
            attempt,
            tries: 1,
            until: None,
        });
        self.record(LedgerEvent::Asked { ask, take, attempt });
    }

    /// Nothing is wrong, or it may pass: hands the history back to the agent and its provider, unless a
    /// request to the model is due first.
    pub(super) fn hand_over(&mut self, standing: &RunStatus) -> Vec<Reason> {
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
        self.state.mode = Mode::Ending(match standing.tail {
            Tail::Final { .. } => Ending::Final,
            _ => Ending::HandedOver,
        });
        Vec::new()
    }

    /// The operator stops waiting: everything passes unchanged, whatever holds or is under way.
    pub(super) fn hand_over_as_it_is(&mut self) {
        if self.state.mode != Mode::Going {
            return self.note("the run has ended");
        }
        self.state.mode = Mode::Ending(Ending::HandedOver);
    }
}
