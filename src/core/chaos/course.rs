//! Which exchange gets which fault, and what came behind it.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::conversations::{Conversations, Heard, How, Sent};
use super::faults::Deed;
use super::request::Request;
use super::spec::{Trial, Turn};
use super::usual::Usual;
use crate::dice::Dice;

/// What is to be injected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    Nothing,
    /// One trial, in the first conversation that comes to its turn, of one agent that asks
    /// this without a fault.
    One(Trial, Usual),
    /// One trial in each conversation, in this order, and then from the beginning.
    InTurn(Vec<Trial>),
}

/// What is to be done to one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    pub trial: Trial,
    /// What is drawn for it.
    pub dice: Dice,
    conversation: usize,
    /// The reply of the conversation, from 1.
    turn: u32,
}

/// A request that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Asked {
    pub conversation: usize,
    /// What its reply is to get, if anything.
    pub order: Option<Order>,
    /// Whether it is the first behind a reply that was changed, so that the change may stand in it.
    pub follows_change: bool,
}

/// A fault that an agent has received, and what it did then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    pub trial: Trial,
    pub conversation: usize,
    /// The reply that had it first, from 1.
    pub turn: u32,
    /// How many replies in a row had it.
    pub times: u32,
    /// When the last of these had it, by the clock of the requests, in milliseconds.
    pub at_ms: u64,
    /// How many requests of the conversation came behind it, and of those that began anew.
    pub requests_after: u32,
    /// How the first of these behind the last fault went on.
    pub how: Option<How>,
    /// Whether the agent sends a request with the same news without a fault, too.
    pub was_usual: bool,
    /// The rule by which a provider would refuse that request.
    pub refused_by: Option<&'static str>,
    /// Whether the client has read what it was told to its end.
    pub was_read: bool,
}

/// The course of a proxy that injects faults.
#[derive(Debug)]
pub struct Course {
    seed: u64,
    plan: Plan,
    conversations: Conversations,
    /// The trial of each conversation, by its place in the plan.
    trials: Vec<Option<usize>>,
    /// The exchange that is to get a fault, while that is not certain yet.
    pending: Vec<usize>,
    injections: Vec<Injection>,
    asked: Usual,
}

impl Course {
    /// A course by a plan.
    pub fn new(seed: u64, mut plan: Plan) -> Self {
        if let Plan::InTurn(trials) = &mut plan {
            Dice::new(seed, "order", &[]).shuffle(trials);
        }
        let is_one_agent = matches!(plan, Plan::One(..));
        Self {
            seed,
            plan,
            conversations: Conversations::new(is_one_agent),
            trials: Vec::new(),
            pending: Vec::new(),
            injections: Vec::new(),
            asked: Usual::default(),
        }
    }

    /// What was asked so far.
    pub fn requests(&self) -> &Usual {
        &self.asked
    }

    /// What was injected so far, in its order.
    pub fn injections(&self) -> &[Injection] {
        &self.injections
    }

    /// How many conversations there were.
    pub fn conversations(&self) -> usize {
        self.trials.len()
    }

    /// Takes a request, and says what its reply is to get, if anything. [`Course::injected`] or
    /// [`Course::missed`] follows an order.
    pub fn asked(&mut self, request: &Request, sent: Sent) -> Asked {
        let heard = self.conversations.hear(request, sent);
        let number = heard.conversation;
        while self.trials.len() <= number {
            let next = self.trials.len();
            self.trials.push(match &self.plan {
                Plan::Nothing => None,
                Plan::One(..) => Some(0),
                Plan::InTurn(trials) => Some(next).filter(|_| !trials.is_empty()),
            });
        }
        let count = self.asked.take(heard.newest);
        let is_usual = match &self.plan {
            Plan::One(_, usual) => usual.has(heard.newest, count),
            Plan::Nothing | Plan::InTurn(_) => false,
        };
        Asked {
            conversation: number,
            follows_change: self.goes_on(&heard, is_usual),
            order: self.order(&heard),
        }
    }

    /// A request shows how an agent went on behind its fault; whether it is the first behind a
    /// reply that was changed.
    fn goes_on(&mut self, heard: &Heard, is_usual: bool) -> bool {
        let is_one = matches!(self.plan, Plan::One(..));
        let mut follows_change = false;
        for one in &mut self.injections {
            let own = one.conversation - 1;
            let how = if own == heard.conversation {
                heard.how
            } else if is_one && self.conversations.repeats(heard.conversation, own) {
                let begins = heard.how.is_none();
                begins.then_some(How::BeganAnew)
            } else {
                continue;
            };
            one.requests_after += 1;
            if one.how.is_none() && how.is_some() {
                (one.how, one.was_usual) = (how, is_usual);
                let is_change = matches!(one.trial.fault.deed, Deed::Change(_));
                follows_change |= is_change && own == heard.conversation;
            }
        }
        follows_change
    }

    fn order(&mut self, heard: &Heard) -> Option<Order> {
        let (number, turn) = (heard.conversation, heard.turn);
        let trial = self.trials.get(number).copied().flatten()?;
        let wanted = match &self.plan {
            Plan::Nothing => return None,
            Plan::One(trial, _) => trial,
            Plan::InTurn(trials) => trials.get(trial % trials.len().max(1))?,
        };
        let is_one = matches!(self.plan, Plan::One(..));
        let is_busy = self.pending.iter().any(|one| is_one || *one == number);
        let mut earlier = self.injections.iter();
        let earlier = earlier.find(|one| is_one || one.conversation == number + 1);
        let is_due = match (earlier, wanted.turn) {
            (Some(earlier), _) => {
                earlier.conversation == number + 1
                    && earlier.times < wanted.times
                    && heard.follows_fault
            }
            (None, Turn::Any) => true,
            (None, Turn::Nth(nth)) => turn == nth,
        };
        if is_busy || !is_due {
            return None;
        }
        self.pending.push(number);
        let time = earlier.map_or(0, |earlier| u64::from(earlier.times));
        let round = trial as u64;
        let numbers = [u64::from(wanted.number), u64::from(turn), time, round];
        Some(Order {
            trial: *wanted,
            dice: Dice::new(self.seed, wanted.fault.id, &numbers),
            conversation: number,
            turn,
        })
    }

    /// The agent gets the fault from now on; `at_ms` is now, by the clock of the requests.
    pub fn injected(&mut self, order: &Order, at_ms: u64) {
        let number = order.conversation;
        self.pending.retain(|pending| *pending != number);
        let deed = order.trial.fault.deed;
        self.conversations.get_fault(number, deed, at_ms);
        match self.of(number) {
            Some(known) => {
                known.times += 1;
                known.at_ms = at_ms;
                (known.how, known.was_usual, known.refused_by) = (None, false, None);
                known.was_read = false;
            }
            None => self.injections.push(Injection {
                trial: order.trial,
                conversation: number + 1,
                turn: order.turn,
                times: 1,
                at_ms,
                requests_after: 0,
                how: None,
                was_usual: false,
                refused_by: None,
                was_read: false,
            }),
        }
    }

    fn of(&mut self, conversation: usize) -> Option<&mut Injection> {
        let mut injections = self.injections.iter_mut();
        injections.find(|one| one.conversation == conversation + 1)
    }

    /// The fault does not fit this exchange; a later one may get it.
    pub fn missed(&mut self, order: &Order) {
        self.pending.retain(|number| *number != order.conversation);
    }

    /// The client has read what it was told to its end.
    pub fn read(&mut self, order: &Order) {
        if matches!(order.trial.fault.deed, Deed::Slow) {
            self.conversations.came_whole(order.conversation);
        }
        if let Some(injection) = self.of(order.conversation) {
            injection.was_read = true;
        }
    }

    /// A conversation gets a reply of this id.
    pub fn replied(&mut self, conversation: usize, id: String) {
        self.conversations.reply(conversation, id);
    }

    /// A provider would refuse the first request behind the fault of a conversation, by this rule.
    pub fn refused(&mut self, conversation: usize, rule: &'static str) {
        if let Some(injection) = self.of(conversation) {
            injection.refused_by = Some(rule);
        }
    }

    /// The trials that conversations had which never got a fault: fault and turn.
    pub fn not_reached(&self) -> Vec<&Trial> {
        let Plan::InTurn(trials) = &self.plan else {
            return Vec::new();
        };
        let has_none = |number: &usize| {
            let mut injections = self.injections.iter();
            !injections.any(|one| one.conversation == number + 1)
        };
        let numbers = (0..self.trials.len()).filter(has_none);
        let places = numbers.filter_map(|number| self.trials[number]);
        places
            .filter_map(|place| trials.get(place % trials.len().max(1)))
            .collect()
    }
}
