//! Which exchange gets which fault, and what came after it.

use super::faults::{FaultKind, NotHere};
use super::request::{ChaosRequest, HistoryElement, HistoryPlace};
use super::spec::{ChaosTrial, TurnChoice};
use crate::dice::Dice;
use crate::session::Kind;
use serde::Serialize;
use std::collections::HashMap;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// What is to be injected.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum InjectionPlan {
    Nothing,
    /// One trial, in the first conversation that comes to its turn, of one agent that asks
    /// this without a fault.
    One(ChaosTrial, Usual),
    /// One trial in each conversation, in this order, and then from the beginning.
    InTurn(Vec<ChaosTrial>),
}

/// What is to be done to one exchange.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InjectionOrder {
    pub trial: ChaosTrial,
    /// What is drawn for it.
    pub dice: Dice,
    conversation: usize,
    /// The reply of the conversation, from 1.
    turn: u32,
}

/// A request that was taken.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestPlan {
    pub conversation: usize,
    /// What its reply is to get, if anything.
    pub order: Option<InjectionOrder>,
    /// Whether it is the first after a reply that was changed, so that the change may stand in it.
    pub follows_change: bool,
}

/// A fault that an agent has received, and what it did then.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Injection {
    pub trial: ChaosTrial,
    pub conversation: usize,
    /// The reply that had it first, from 1.
    pub turn: u32,
    /// How many replies in a row had it.
    pub times: u32,
    /// When the last of these had it, by the clock of the requests, in milliseconds.
    pub at_ms: u64,
    /// How many requests of the conversation came after it, and of those that began anew.
    pub requests_after: u32,
    /// How the first of these after the last fault went on.
    pub how: Option<Reaction>,
    /// Whether the agent sends a request with the same news without a fault, too.
    pub was_usual: bool,
    /// The rule by which a provider would refuse that request.
    pub refused_by: Option<&'static str>,
    /// Whether the client has read the reply to its end.
    pub was_read: bool,
}

const NO_REQUEST: &str = "the agent sent no request";

/// The course of a proxy that injects faults.
#[derive(Debug)]
pub struct Course {
    seed: u64,
    plan: InjectionPlan,
    conversations: ChaosConversations,
    /// The trial of each conversation, by its place in the plan.
    trials: Vec<Option<usize>>,
    /// The exchange that is to get a fault, while that is not certain yet.
    pending: Vec<usize>,
    injections: Vec<Injection>,
    requested: Usual,
    /// How many replies were requested in each conversation.
    turns: Vec<u32>,
    /// The replies that a fault did not fit, each with its conversation, its turn and the reason.
    misfits: Vec<(usize, u32, NotHere)>,
}

impl Course {
    /// A course by a plan.
    pub fn new(seed: u64, mut plan: InjectionPlan) -> Self {
        if let InjectionPlan::InTurn(trials) = &mut plan {
            Dice::new(seed, "order", &[]).shuffle(trials);
        }
        let is_one_agent = matches!(plan, InjectionPlan::One(..));
        Self {
            seed,
            plan,
            conversations: ChaosConversations::new(is_one_agent),
            trials: Vec::new(),
            pending: Vec::new(),
            injections: Vec::new(),
            requested: Usual::default(),
            turns: Vec::new(),
            misfits: Vec::new(),
        }
    }

    /// What was sent so far.
    pub fn requests(&self) -> &Usual {
        &self.requested
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
    pub fn requested(&mut self, request: &ChaosRequest, sent: RequestTiming) -> RequestPlan {
        let heard = self.conversations.hear(request, sent);
        let number = heard.conversation;
        while self.trials.len() <= number {
            let next = self.trials.len();
            self.trials.push(match &self.plan {
                InjectionPlan::Nothing => None,
                InjectionPlan::One(..) => Some(0),
                InjectionPlan::InTurn(trials) => Some(next).filter(|_| !trials.is_empty()),
            });
            self.turns.push(0);
        }
        self.turns[number] = self.turns[number].max(heard.turn);
        let count = self.requested.take(heard.newest);
        let is_usual = match &self.plan {
            InjectionPlan::One(_, usual) => usual.has(heard.newest, count),
            InjectionPlan::Nothing | InjectionPlan::InTurn(_) => false,
        };
        RequestPlan {
            conversation: number,
            follows_change: self.goes_on(&heard, is_usual),
            order: self.order(&heard),
        }
    }

    /// A request shows how an agent went on after its fault; whether it is the first after a
    /// reply that was changed.
    fn goes_on(&mut self, heard: &RequestPlace, is_usual: bool) -> bool {
        let is_one = matches!(self.plan, InjectionPlan::One(..));
        let mut follows_change = false;
        for one in &mut self.injections {
            let own = one.conversation - 1;
            let how = if own == heard.conversation {
                heard.how
            } else if is_one && self.conversations.repeats(heard.conversation, own) {
                let begins = heard.how.is_none();
                begins.then_some(Reaction::BeganAnew)
            } else {
                continue;
            };
            one.requests_after += 1;
            if one.how.is_none() && how.is_some() {
                (one.how, one.was_usual) = (how, is_usual);
                let is_change = matches!(one.trial.fault.kind, FaultKind::Change(_));
                follows_change |= is_change && own == heard.conversation;
            }
        }
        follows_change
    }

    fn order(&mut self, heard: &RequestPlace) -> Option<InjectionOrder> {
        let (number, turn) = (heard.conversation, heard.turn);
        let trial = self.trials.get(number).copied().flatten()?;
        let wanted = match &self.plan {
            InjectionPlan::Nothing => return None,
            InjectionPlan::One(trial, _) => trial,
            InjectionPlan::InTurn(trials) => trials.get(trial % trials.len().max(1))?,
        };
        let is_one = matches!(self.plan, InjectionPlan::One(..));
        let is_busy = self.pending.iter().any(|one| is_one || *one == number);
        let mut earlier = self.injections.iter();
        let earlier = earlier.find(|one| is_one || one.conversation == number + 1);
        let is_due = match (earlier, wanted.turn) {
            (Some(earlier), _) => {
                earlier.conversation == number + 1
                    && earlier.times < wanted.times
                    && heard.follows_fault
            }
            (None, TurnChoice::Any) => true,
            (None, TurnChoice::Nth(nth)) => turn == nth,
        };
        if is_busy || !is_due {
            return None;
        }
        self.pending.push(number);
        let time = earlier.map_or(0, |earlier| u64::from(earlier.times));
        let round = trial as u64;
        let numbers = [u64::from(wanted.number), u64::from(turn), time, round];
        Some(InjectionOrder {
            trial: *wanted,
            dice: Dice::new(self.seed, wanted.fault.id, &numbers),
            conversation: number,
            turn,
        })
    }

    /// The agent gets the fault from now on; `at_ms` is now, by the clock of the requests.
    pub fn injected(&mut self, order: &InjectionOrder, at_ms: u64) {
        let number = order.conversation;
        self.pending.retain(|pending| *pending != number);
        let kind = order.trial.fault.kind;
        self.conversations.get_fault(number, kind, at_ms);
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
    pub fn missed(&mut self, order: &InjectionOrder, why: Option<NotHere>) {
        let number = order.conversation;
        self.pending.retain(|pending| *pending != number);
        self.misfits
            .extend(why.map(|why| (number, order.turn, why)));
    }

    /// Why the one fault of an agent was not injected.
    pub fn why_missed(&self) -> String {
        let longest = (0..self.turns.len()).max_by_key(|number| self.turns[*number]);
        match (longest, &self.plan) {
            (Some(number), InjectionPlan::One(trial, _)) => self.why_missed_in(number, trial),
            _ => NO_REQUEST.to_owned(),
        }
    }

    fn why_missed_in(&self, number: usize, trial: &ChaosTrial) -> String {
        let mut misfits = self.misfits.iter().rev();
        let misfit = misfits.find(|(of, ..)| *of == number);
        let turns = self.turns.get(number).copied().unwrap_or_default();
        match (misfit, trial.turn) {
            (Some((_, turn, why)), TurnChoice::Any) if *turn > 1 => {
                format!("it fits none of {turn} replies; of the last: {why}")
            }
            (Some((_, turn, why)), _) => format!("it does not fit turn {turn}: {why}"),
            (None, TurnChoice::Nth(nth)) if nth > turns => {
                format!("the conversation ended at turn {turns}")
            }
            (None, _) => "the reply did not come whole".to_owned(),
        }
    }

    /// The client has read the reply to its end.
    pub fn read(&mut self, order: &InjectionOrder) {
        if matches!(order.trial.fault.kind, FaultKind::Slow) {
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

    /// A provider would refuse the first request after the fault of a conversation, by this rule.
    pub fn refused(&mut self, conversation: usize, rule: &'static str) {
        if let Some(injection) = self.of(conversation) {
            injection.refused_by = Some(rule);
        }
    }

    /// The trials that conversations had which never got a fault, and why not.
    pub fn not_reached(&self) -> Vec<(&ChaosTrial, String)> {
        let InjectionPlan::InTurn(trials) = &self.plan else {
            return Vec::new();
        };
        let has_none = |number: &usize| {
            let mut injections = self.injections.iter();
            !injections.any(|one| one.conversation == number + 1)
        };
        let numbers = (0..self.trials.len()).filter(has_none);
        let missed = numbers.filter_map(|number| {
            let trial = trials.get(self.trials[number]? % trials.len().max(1))?;
            Some((trial, self.why_missed_in(number, trial)))
        });
        missed.collect()
    }
}

// Which requests belong to one conversation: each repeats what came before it, or names the reply that
// it continues.

/// How long the same request is taken for a retry by a client that does not say what it is, in milliseconds:
/// longer than clients wait before they ask again.
const RETRIES_WITHIN: u64 = 60_000;

/// How an agent went on after a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
pub enum Reaction {
    /// It sent the same again.
    Retried,
    /// It answered the call with what may be an error: the model hears what was wrong.
    Answered,
    /// It answered the call as one that is sound.
    AnsweredWithoutError,
    /// It sent the model a message as a user.
    Told,
    /// It went on as if nothing had happened.
    WentOn,
    /// It changed what came before.
    Rewrote,
    /// It began another conversation with the same words.
    BeganAnew,
}

impl Reaction {
    pub fn words(self) -> &'static str {
        match self {
            Self::Retried => "retried",
            Self::Answered => "sent an output back",
            Self::AnsweredWithoutError => "sent an output without an error back",
            Self::Told => "told the model",
            Self::WentOn => "went on",
            Self::Rewrote => "rewrote the history",
            Self::BeganAnew => "began anew",
        }
    }
}

/// How a request was sent.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RequestTiming {
    /// Whether its client says that it is a retry.
    pub is_retry: bool,
    /// When, in milliseconds from any beginning.
    pub at_ms: u64,
}

#[derive(Debug)]
struct Conversation {
    /// The elements of its first request, each by its hash.
    opening: Vec<u64>,
    /// Those of its latest request.
    elements: Vec<u64>,
    /// Where the provider keeps what is before these.
    kept: Option<HistoryPlace>,
    /// The ids of the replies that it got.
    replies: Vec<String>,
    /// How many replies it has requested; a request that is sent again counts once.
    turn: u32,
    /// The place of its latest request among all.
    heard: u64,
    /// The fault that its latest request got.
    fault: Option<Got>,
}

/// A fault that a request got.
#[derive(Debug, Clone, Copy)]
struct Got {
    at_ms: u64,
    /// Whether it came as a whole reply, which no client asks for again by itself.
    is_reply: bool,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct RequestPlace {
    pub(super) conversation: usize,
    /// Which reply of it is requested, from 1.
    pub(super) turn: u32,
    /// How it goes on; `None` where the conversation begins.
    pub(super) how: Option<Reaction>,
    /// Whether the request of the conversation before it got a fault.
    pub(super) follows_fault: bool,
    /// The hash of its newest element.
    pub(super) newest: u64,
}

/// The conversations so far.
#[derive(Debug, Default)]
pub(super) struct ChaosConversations {
    all: Vec<Conversation>,
    requests: u64,
    /// Whether one agent alone asks, once: the same again after a fault is then always a retry.
    is_one_agent: bool,
}

impl ChaosConversations {
    pub(super) fn new(is_one_agent: bool) -> Self {
        Self {
            is_one_agent,
            ..Self::default()
        }
    }

    /// Takes the next request.
    pub(super) fn hear(&mut self, request: &ChaosRequest, sent: RequestTiming) -> RequestPlace {
        let elements: Vec<u64> = request
            .elements
            .iter()
            .map(|element| element.hash)
            .collect();
        self.requests += 1;
        let found = self.all.iter().enumerate();
        let found = found.filter_map(|(number, one)| {
            let is_retry = || one.would_retry(sent, self.is_one_agent);
            let how = one.goes_on(request, &elements, is_retry)?;
            Some((rank(how), one.heard, number, how))
        });
        let found = found.max_by_key(|(rank, heard, ..)| (*rank, *heard));
        let (number, how) = match found {
            Some((_, _, number, how)) => (number, Some(how)),
            None => {
                self.all.push(Conversation::new(&elements));
                (self.all.len() - 1, None)
            }
        };
        let newest = elements.last().copied().unwrap_or_default();
        let one = &mut self.all[number];
        if how != Some(Reaction::Retried) {
            one.turn += 1;
        }
        one.heard = self.requests;
        one.elements = elements;
        one.kept.clone_from(&request.kept);
        RequestPlace {
            conversation: number,
            turn: one.turn,
            how,
            follows_fault: one.fault.take().is_some(),
            newest,
        }
    }

    /// The latest request of a conversation gets a fault.
    pub(super) fn get_fault(&mut self, conversation: usize, kind: FaultKind, at_ms: u64) {
        if let Some(one) = self.all.get_mut(conversation) {
            let is_reply = matches!(kind, FaultKind::Change(_));
            one.fault = Some(Got { at_ms, is_reply });
        }
    }

    /// What was slow has come to its end all the same.
    pub(super) fn came_whole(&mut self, conversation: usize) {
        let one = self.all.get_mut(conversation);
        if let Some(fault) = one.and_then(|one| one.fault.as_mut()) {
            fault.is_reply = true;
        }
    }

    /// A conversation gets a reply of this id.
    pub(super) fn reply(&mut self, conversation: usize, id: String) {
        if let Some(one) = self.all.get_mut(conversation) {
            one.replies.push(id);
        }
    }

    /// Whether one conversation begins with what another one began with.
    pub(super) fn repeats(&self, one: usize, other: usize) -> bool {
        let opening = |number: usize| self.all.get(number).map(|one| &one.opening);
        let openings = opening(one).zip(opening(other));
        openings.is_some_and(|(one, other)| one.starts_with(other))
    }
}

fn rank(how: Reaction) -> u8 {
    match how {
        Reaction::Answered | Reaction::AnsweredWithoutError | Reaction::Told | Reaction::WentOn => {
            2
        }
        Reaction::Retried => 1,
        Reaction::Rewrote | Reaction::BeganAnew => 0,
    }
}

impl Conversation {
    fn new(opening: &[u64]) -> Self {
        Self {
            opening: opening.to_vec(),
            elements: Vec::new(),
            kept: None,
            replies: Vec::new(),
            turn: 0,
            heard: 0,
            fault: None,
        }
    }

    /// Whether the same request once more is a retry, and no other run of the agent that asks
    /// what this one did.
    fn would_retry(&self, sent: RequestTiming, is_one_agent: bool) -> bool {
        let Some(fault) = self.fault else {
            return sent.is_retry;
        };
        let is_soon = sent.at_ms.saturating_sub(fault.at_ms) <= RETRIES_WITHIN;
        // Another run begins with the first request.
        let is_expected = match fault.is_reply {
            true => self.turn > 1,
            false => is_soon,
        };
        sent.is_retry || is_one_agent || is_expected
    }

    /// How a request goes on with this conversation; `None` where it does not.
    fn goes_on(
        &self,
        request: &ChaosRequest,
        elements: &[u64],
        is_retry: impl Fn() -> bool,
    ) -> Option<Reaction> {
        let is_same = request.kept == self.kept && elements == self.elements;
        if is_same && is_retry() {
            return Some(Reaction::Retried);
        }
        let may_rewrite = self.fault.is_some();
        match &request.kept {
            Some(HistoryPlace::In(_)) => {
                (request.kept == self.kept).then(|| how_with(&request.elements))
            }
            Some(HistoryPlace::After(id)) if self.replies.last() == Some(id) => {
                Some(how_with(&request.elements))
            }
            Some(HistoryPlace::After(id)) => {
                (may_rewrite && self.replies.contains(id)).then_some(Reaction::Rewrote)
            }
            None if is_same || self.kept.is_some() => None,
            None if elements.starts_with(&self.elements) => {
                Some(how_with(&request.elements[self.elements.len()..]))
            }
            None => {
                // The opening alone is another beginning.
                let is_longer = elements.len() > self.opening.len() && !self.opening.is_empty();
                let has_opening = elements.starts_with(&self.opening);
                (may_rewrite && is_longer && has_opening).then_some(Reaction::Rewrote)
            }
        }
    }
}

/// How a conversation goes on that these elements are new in.
fn how_with(new: &[HistoryElement]) -> Reaction {
    if new.iter().any(|element| element.has_error) {
        Reaction::Answered
    } else if new.iter().any(|element| element.kind == Kind::Output) {
        Reaction::AnsweredWithoutError
    } else if new.iter().any(|element| element.kind == Kind::User) {
        Reaction::Told
    } else {
        Reaction::WentOn
    }
}

// What an agent asks without a fault: what it asks after one all the same is no reaction to it.

/// The requests of one run of an agent, distinguished by what is newest in them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Usual {
    requests: u32,
    /// How many had this as their newest element.
    newest: HashMap<u64, u32>,
}

impl Usual {
    /// How many requests there were.
    pub fn requests(&self) -> u32 {
        self.requests
    }

    /// Takes a request by the hash of its newest element; gives how many had the same one by now.
    pub(super) fn take(&mut self, newest: u64) -> u32 {
        self.requests += 1;
        let count = self.newest.entry(newest).or_default();
        *count += 1;
        *count
    }

    /// Whether this element was the newest of so many requests.
    pub(super) fn has(&self, newest: u64, count: u32) -> bool {
        self.newest.get(&newest).is_some_and(|had| *had >= count)
    }
}
