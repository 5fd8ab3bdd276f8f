//! The exchange of a proxy that is open in the debugger: what it is doing, who sees what of it, how many others wait.

use crate::exchange::{Ending, ExchangeId, Holding, Phase, Seen};
use crate::session::{Kind, Session, Speaker};
use std::sync::Arc;

/// An exchange that is open.
#[derive(Debug, Clone)]
pub struct Intercepted {
    /// What is known of it.
    pub seen: Arc<Seen>,
    /// Whether it is decided about here; else it is only read.
    pub is_seat: bool,
    /// How many items its request has, once that is known.
    pub asked: Option<usize>,
    /// How many other exchanges are held.
    pub others: usize,
    /// Whether only what the agent is to see is shown, and not what the provider sees.
    pub is_agents_view: bool,
    /// Whether the proxy holds anything at all.
    pub is_intercepting: bool,
    /// What time it is, in milliseconds since 1970.
    pub wall_ms: u64,
}

impl Intercepted {
    /// An exchange that has just been opened.
    pub fn new(seen: Arc<Seen>, is_seat: bool) -> Self {
        Self {
            seen,
            is_seat,
            asked: None,
            others: 0,
            is_agents_view: false,
            is_intercepting: true,
            wall_ms: 0,
        }
    }

    /// Its number.
    pub fn id(&self) -> ExchangeId {
        self.seen.id
    }

    /// How it waits for a decision, where it does.
    pub fn holding(&self) -> Option<&Holding> {
        match &self.seen.phase {
            Phase::Held(holding) => Some(holding),
            _ => None,
        }
    }

    /// Whether the client left while it was decided about: nobody waits for a decision any more.
    pub fn is_gone(&self) -> bool {
        let has_left = match &self.seen.phase {
            // A retry of it may still come.
            Phase::Held(holding) => holding.is_gone,
            phase => *phase == Phase::Ended(Ending::ClientLeft),
        };
        self.is_seat && has_left
    }

    /// The items of a session that the agent sees: those of its request, and of the last reply all but the calls that were answered
    /// here.
    pub fn agents_items(&self, session: &Session) -> Vec<u32> {
        let asked = self.asked.unwrap_or(0);
        let behind = session.items.iter().enumerate().skip(asked);
        let replies = behind.filter(|(_, item)| {
            let turn = session.turns.get(item.turn as usize);
            turn.is_some_and(|turn| turn.speaker == Speaker::Model)
        });
        let last = replies.map(|(_, item)| item.turn).next_back();
        let is_seen = |index: usize| {
            let item = &session.items[index];
            let is_answered = item.kind == Kind::Call && session.pairing.partner(index).is_some();
            index < asked || (Some(item.turn) == last && !is_output(item.kind) && !is_answered)
        };
        let seen = (0..session.items.len()).filter(|index| is_seen(*index));
        seen.filter_map(|index| u32::try_from(index).ok()).collect()
    }
}

fn is_output(kind: Kind) -> bool {
    matches!(kind, Kind::Output | Kind::HostedOutput)
}
