//! The exchange of a proxy that is open in the debugger: what it is doing, who sees what of it,
//! how many others wait.

use retake_core::exchange::{
    AgentHas, ExchangeEnding, ExchangeId, ExchangePhase, ExchangeSummary, Holding,
};
use retake_core::session::{Kind, Session, Speaker};
use std::sync::Arc;

/// From how many seconds on the time that is left is warned of.
const HURRY: u64 = 30;

/// An exchange that is open.
#[derive(Debug, Clone)]
pub struct Intercepted {
    /// What is known of it.
    pub seen: Arc<ExchangeSummary>,
    /// Whether it is decided about here; else it is only read.
    pub is_seat: bool,
    /// Since when the hold that is decided about here holds it: no other hold of it has the same moment.
    pub hold: Option<u64>,
    /// Whether it was decided elsewhere while words for it were being written: they are left first.
    pub is_over: bool,
    /// How many items its request has, once that is known.
    pub sent: Option<usize>,
    /// Who did what about it last, in words.
    pub decided: Option<String>,
    /// How many other exchanges are held.
    pub others: usize,
    /// Whether only what the agent is to see is shown, and not what the provider sees.
    pub is_agents_view: bool,
    /// Where the cursor was before, and where that view put it.
    pub moved: Option<(usize, usize)>,
    /// Whether the proxy holds anything at all.
    pub is_intercepting: bool,
    /// What time it is, in milliseconds since 1970.
    pub wall_ms: u64,
}

impl Intercepted {
    /// An exchange that has just been opened.
    pub fn new(seen: Arc<ExchangeSummary>, is_seat: bool) -> Self {
        Self {
            hold: seen.phase.hold().map(|holding| holding.since_ms),
            seen,
            is_seat,
            is_over: false,
            sent: None,
            decided: None,
            others: 0,
            is_agents_view: false,
            moved: None,
            is_intercepting: true,
            wall_ms: 0,
        }
    }

    pub fn id(&self) -> ExchangeId {
        self.seen.id
    }

    /// How it waits for a decision, where it does.
    pub fn holding(&self) -> Option<&Holding> {
        match &self.seen.phase {
            ExchangePhase::Held(holding) => Some(holding),
            _ => None,
        }
    }

    /// Whether nothing can be decided here any more.
    pub fn is_settled(&self) -> bool {
        self.is_over || self.is_gone()
    }

    /// How many seconds are left for a decision, where they are few.
    pub fn hurry(&self) -> Option<u64> {
        let holding = self.seen.phase.hold().filter(|_| self.is_seat)?;
        let left = holding
            .until_ms?
            .saturating_sub(self.wall_ms)
            .div_ceil(1000);
        (left <= HURRY).then_some(left)
    }

    /// Whether the client left while it was decided about: nobody waits for a decision any more.
    pub fn is_gone(&self) -> bool {
        let phase = &self.seen.phase;
        let has_left = match phase.hold() {
            // A retry of it may still come.
            Some(holding) => holding.is_gone,
            None => *phase == ExchangePhase::Ended(ExchangeEnding::ClientLeft),
        };
        self.is_seat && has_left
    }

    /// The items of a session that the agent sees: those of its request, and of the last reply all but the
    /// calls that were answered here. While nothing is decided, it has of the held reply what went out before.
    pub fn agents_items(&self, session: &Session, is_decided: bool) -> Vec<u32> {
        let sent = self.sent.unwrap_or(0);
        if let Some(holding) = self.seen.phase.hold().filter(|_| !is_decided) {
            return so_far(session, sent, &holding.has);
        }
        let after = session.items.iter().enumerate().skip(sent);
        let replies = after.filter(|(_, item)| {
            let turn = session.turns.get(item.turn as usize);
            turn.is_some_and(|turn| turn.speaker == Speaker::Model)
        });
        let last = replies.map(|(_, item)| item.turn).next_back();
        let is_seen = |index: usize| {
            let item = &session.items[index];
            let is_answered = item.kind == Kind::Call && session.pairing.partner(index).is_some();
            index < sent || (Some(item.turn) == last && !is_output(item.kind) && !is_answered)
        };
        let seen = (0..session.items.len()).filter(|index| is_seen(*index));
        seen.filter_map(|index| u32::try_from(index).ok()).collect()
    }
}

/// The items of a request, and what an agent has of the reply to it.
fn so_far(session: &Session, sent: usize, has: &AgentHas) -> Vec<u32> {
    let turn = session.items.get(sent).map(|item| item.turn);
    let reply = session.items.iter().skip(sent);
    let reply = reply.take_while(|item| match item.kind {
        _ if !has.is_begun || Some(item.turn) != turn => false,
        Kind::Call => {
            let id = session.call_id(item).unwrap_or_default();
            has.calls.contains(&id)
        }
        Kind::Assistant => has.text,
        kind => !is_output(kind),
    });
    let end = sent + reply.count();
    (0..end)
        .filter_map(|index| u32::try_from(index).ok())
        .collect()
}

fn is_output(kind: Kind) -> bool {
    matches!(kind, Kind::Output | Kind::HostedOutput)
}
