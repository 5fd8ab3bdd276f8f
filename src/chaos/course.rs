//! Which exchange gets which fault, and what came behind it.

use super::conversations::{Conversations, How};
use super::dice::Dice;
use super::faults::Fault;
use super::request::Request;
use super::spec::{Trial, Turn};

/// What is to be injected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Plan {
    /// Nothing: the control.
    Nothing,
    /// One trial, in the first conversation that comes to its turn.
    One(Trial),
    /// One trial in each conversation, in this order, and then from the beginning.
    InTurn(Vec<Trial>),
}

/// What is to be done to one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Order {
    /// The fault.
    pub fault: &'static Fault,
    /// What is drawn for it.
    pub dice: Dice,
    /// The conversation.
    conversation: usize,
    /// The reply of the conversation, from 1.
    turn: u32,
}

/// A fault that an agent has received, and what it did then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    /// The fault.
    pub fault: &'static Fault,
    /// The conversation, from 1.
    pub conversation: usize,
    /// The reply that had it first, from 1.
    pub turn: u32,
    /// How many replies in a row had it.
    pub times: u32,
    /// How many requests came behind it.
    pub requests_after: u32,
    /// How the first of these went on.
    pub how: Option<How>,
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
    requests: u32,
}

impl Course {
    /// A course by a plan.
    pub fn new(seed: u64, mut plan: Plan) -> Self {
        if let Plan::InTurn(trials) = &mut plan {
            Dice::new(seed, "order", &[]).shuffle(trials);
        }
        Self {
            seed,
            plan,
            conversations: Conversations::default(),
            trials: Vec::new(),
            pending: Vec::new(),
            injections: Vec::new(),
            requests: 0,
        }
    }

    /// How many requests there were.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// What was injected so far, in its order.
    pub fn injections(&self) -> &[Injection] {
        &self.injections
    }

    /// How many conversations there were.
    pub fn conversations(&self) -> usize {
        self.trials.len()
    }

    /// Takes a request, and says what its reply is to get, if anything. [`Course::injected`] or [`Course::missed`] follows then.
    pub fn asked(&mut self, request: &Request, is_retry: bool) -> Option<Order> {
        self.requests += 1;
        let injections = &self.injections;
        let is_open = |number: usize| {
            let mut of = injections.iter().rev();
            of.any(|one| one.conversation == number + 1)
        };
        let heard = self.conversations.hear(request, is_retry, is_open);
        let number = heard.conversation;
        while self.trials.len() <= number {
            let next = self.trials.len();
            self.trials.push(match &self.plan {
                Plan::Nothing => None,
                Plan::One(_) => Some(0),
                Plan::InTurn(trials) => Some(next).filter(|_| !trials.is_empty()),
            });
        }
        let is_one = matches!(self.plan, Plan::One(_));
        for one in &mut self.injections {
            let is_own = one.conversation == number + 1;
            if is_own || is_one {
                one.requests_after += 1;
                let how = if is_own { heard.how } else { None };
                one.how.get_or_insert(how.unwrap_or(How::BeganAnew));
            }
        }
        self.order(number, heard.turn)
    }

    fn order(&mut self, number: usize, turn: u32) -> Option<Order> {
        let trial = self.trials.get(number).copied().flatten()?;
        let wanted = match &self.plan {
            Plan::Nothing => return None,
            Plan::One(trial) => trial,
            Plan::InTurn(trials) => trials.get(trial % trials.len().max(1))?,
        };
        let is_one = matches!(self.plan, Plan::One(_));
        let is_busy = self.pending.iter().any(|one| is_one || *one == number);
        let mut earlier = self.injections.iter();
        let earlier = earlier.find(|one| is_one || one.conversation == number + 1);
        let is_due = match (earlier, wanted.turn) {
            (Some(earlier), _) => {
                earlier.conversation == number + 1
                    && earlier.times < wanted.times
                    && earlier.requests_after == earlier.times
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
            fault: wanted.fault,
            dice: Dice::new(self.seed, wanted.fault.id, &numbers),
            conversation: number,
            turn,
        })
    }

    /// The agent gets the fault from now on.
    pub fn injected(&mut self, order: &Order) {
        self.pending.retain(|number| *number != order.conversation);
        let mut known = self.injections.iter_mut();
        let known = known.find(|one| one.conversation == order.conversation + 1);
        match known {
            Some(known) => {
                known.times += 1;
                known.was_read = false;
            }
            None => self.injections.push(Injection {
                fault: order.fault,
                conversation: order.conversation + 1,
                turn: order.turn,
                times: 1,
                requests_after: 0,
                how: None,
                was_read: false,
            }),
        }
    }

    /// The fault does not fit this exchange; a later one may get it.
    pub fn missed(&mut self, order: &Order) {
        self.pending.retain(|number| *number != order.conversation);
    }

    /// The client has read what it was told to its end.
    pub fn read(&mut self, order: &Order) {
        let mut injections = self.injections.iter_mut();
        let found = injections.find(|one| one.conversation == order.conversation + 1);
        if let Some(injection) = found {
            injection.was_read = true;
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
