//! Restores a run in another process from its ledger.

use super::Machine;
use super::state::FaultId;
use crate::session::ledger::{Ask, LedgerEvent};
use crate::session::takes::Author;

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
            | LedgerEvent::Paused { .. }
            | LedgerEvent::Ended { .. } => {}
        }
    }
}
