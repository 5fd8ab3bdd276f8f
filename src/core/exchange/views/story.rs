//! A replaced turn as it is remembered, and how it is put back into a request of the agent.

use super::element::{Call, ElementOwner, ListElement, PASSING};
use super::hold_views::HoldViews;
use super::list::RequestList;
use super::message;
use crate::session::{Dialect, Meaning};
use crate::wire::ServerState;
use std::collections::{HashMap, HashSet};
use std::ops::Range;

/// A turn that the agent knows otherwise than the provider.
#[derive(Debug)]
pub(crate) struct Story {
    dialect: Dialect,
    /// What the provider knows.
    provider: Vec<ListElement>,
    /// For each element of it whether the agent has never seen it (Responses), or not as such (elsewhere).
    hidden: Vec<bool>,
    /// Where the model's last turn begins in it, and where it ends.
    last: (usize, usize),
    /// The ids of the calls that the outputs after it answer.
    answered: HashSet<u64>,
    /// What the agent was sent of the first turn before the hold.
    released: Vec<ListElement>,
    /// What the request before it says.
    context: Meaning,
}

impl Story {
    /// `None` where nothing of it will have to be put back: both know the same, or the agent got a final text,
    /// which is unique.
    pub(crate) fn of(dialect: Dialect, views: &HoldViews, released: &[String]) -> Option<Self> {
        if !views.hides() {
            return None;
        }
        let read = |texts: &[String]| {
            texts
                .iter()
                .map(|text| ListElement::read(dialect, text))
                .collect::<Vec<_>>()
        };
        let (provider, released, agent) =
            (read(&views.provider), read(released), read(&views.agent));
        let seen = Seen::of(released.iter().chain(&agent));
        let is_seen = |element: &ListElement| {
            let mark = element.own_mark().filter(|_| dialect.facts().item_ids);
            seen.holds(element, mark)
        };
        let hidden = provider.iter().map(|element| !is_seen(element)).collect();
        let outputs_after = provider[views.last.end..].iter();
        let answered = outputs_after.flat_map(|element| element.answers.iter().copied());
        let story = Self {
            answered: answered.collect(),
            dialect,
            provider,
            hidden,
            last: (views.last.start, views.last.end),
            released,
            context: views.context,
        };
        let is_found = story.marks().next().is_some();
        is_found.then_some(story)
    }

    /// The numbers by which the turn is found: of the agent's calls, in Responses also of items with
    /// ids of their own.
    pub(crate) fn marks(&self) -> impl Iterator<Item = u64> {
        let elements = self.provider.iter().zip(&self.hidden);
        let seen = elements
            .filter(|(_, hidden)| !**hidden)
            .map(|(element, _)| element);
        let own = seen.filter_map(|element| self.own_mark(element));
        self.seen_calls().map(|(_, call)| call.id).chain(own)
    }

    /// Bytes that it takes in memory, roughly.
    pub(crate) fn size(&self) -> usize {
        let all = self.provider.iter().chain(&self.released);
        all.map(|element| element.text.len() + size_of::<ListElement>())
            .sum()
    }

    fn own_mark(&self, element: &ListElement) -> Option<u64> {
        let is_item = self.dialect.facts().item_ids && element.calls.is_empty();
        element.own_mark().filter(|_| is_item)
    }

    /// The turns before the agent's, each with what was answered.
    fn before(&self) -> &[ListElement] {
        &self.provider[..self.last.0]
    }

    /// The model's last turn.
    fn turn(&self) -> &[ListElement] {
        &self.provider[self.last.0..self.last.1]
    }

    fn outputs_after(&self) -> &[ListElement] {
        &self.provider[self.last.1..]
    }

    /// Calls that were answered for the agent, each with its element.
    fn hidden_calls(&self) -> impl Iterator<Item = (&ListElement, &Call)> {
        let late = calls_of(self.turn()).filter(|(_, call)| self.is_answered(call));
        calls_of(self.before()).chain(late)
    }

    /// The calls that the agent got.
    fn seen_calls(&self) -> impl Iterator<Item = (&ListElement, &Call)> {
        calls_of(self.turn()).filter(|(_, call)| !self.is_answered(call))
    }

    fn is_answered(&self, call: &Call) -> bool {
        self.answered.contains(&call.id)
    }

    /// Puts back what the provider knows and says so; `None` where this list does not hold the turn, or holds
    /// all of it already.
    pub(crate) fn apply(&self, list: &mut RequestList<'_>) -> Option<String> {
        if list.dialect != self.dialect {
            return None;
        }
        if list.has_server_state {
            // A thread whose beginning was not seen goes on as it is.
            if self.dialect.facts().server_state == ServerState::Threads {
                return None;
            }
            return self.answer_kept(list);
        }
        let anchor = self.anchor(list)?;
        let turn = list.turn_around(anchor);
        let near = turn.start.saturating_sub(self.provider.len())..turn.end;
        let near = by_call(list, near);
        let is_there = |of: &ListElement, call: &Call| {
            let places = near.get(&call.id).into_iter().flatten();
            let mut elements = places.filter_map(|index| list.get(*index));
            elements.any(|element| element.holds(call, of))
        };
        if self.hidden_calls().any(|(of, call)| is_there(of, call)) {
            return None;
        }
        match self.dialect.facts().calls_key {
            None => self.put_items(list, anchor),
            Some(_) => self.put_messages(list, anchor),
        }
        Some(self.note())
    }

    /// The first element of the turn, where the list holds the turn after the same context: ids alone say
    /// little, since some servers count them.
    fn anchor(&self, list: &RequestList<'_>) -> Option<usize> {
        let marks = self.marks().collect::<HashSet<_>>();
        let mut seen: HashMap<u64, Vec<_>> = HashMap::new();
        for (of, call) in self.seen_calls() {
            seen.entry(call.id).or_default().push((of, call));
        }
        let is_ours = |element: &ListElement| {
            let own = self.own_mark(element);
            let calls = element.calls.iter();
            let mut like = calls.filter_map(|call| seen.get(&call.id)).flatten();
            own.is_some_and(|own| marks.contains(&own))
                || like.any(|(of, call)| element.holds(call, of))
        };
        let mut found = (0..list.len()).filter(|index| list.get(*index).is_some_and(is_ours));
        found.find(|index| {
            let mut begins = list.turn_around(*index).start..=*index;
            begins.any(|begin| list.context(begin) == Some(self.context))
        })
    }

    /// Items return to their place: after the last earlier one that the agent repeats.
    fn put_items(&self, list: &mut RequestList<'_>, anchor: usize) {
        let turn = list.turn_around(anchor);
        let known = by_call(list, 0..list.len());
        let places = self
            .provider
            .iter()
            .zip(&self.hidden)
            .map(|(item, hidden)| {
                (!hidden)
                    .then(|| self.place_of(item, (list, &known), turn.clone()))
                    .flatten()
            });
        let places = places.collect::<Vec<_>>();
        let mut puts: Vec<(usize, String)> = Vec::new();
        let mut at = places.iter().flatten().min().copied().unwrap_or(anchor);
        for (index, item) in self.provider.iter().enumerate() {
            match places[index] {
                Some(place) => at = place + 1,
                None if self.hidden[index] || self.leads_to_hidden(index) => {
                    puts.push((at, item.text.clone()));
                }
                None => {}
            }
        }
        puts.sort_by_key(|(at, _)| *at);
        let mut put = 0;
        for puts in puts.chunk_by(|(at, _), (next, _)| at == next) {
            let at = puts.first().map_or(0, |(at, _)| *at);
            list.insert(at + put, puts.iter().map(|(_, text)| text.clone()));
            put += puts.len();
        }
    }

    /// Where the list repeats an item.
    fn place_of(
        &self,
        item: &ListElement,
        (list, known): (&RequestList<'_>, &HashMap<u64, Vec<usize>>),
        mut turn: Range<usize>,
    ) -> Option<usize> {
        if let [call, ..] = &item.calls[..] {
            // Where ids are counted, an earlier turn may hold the same call.
            let places = known.get(&call.id).into_iter().flatten().copied();
            let is_here = |index: &usize| {
                list.get(*index)
                    .is_some_and(|known| known.holds(call, item))
            };
            let mut here = places.clone().filter(|index| turn.contains(index));
            return here.find(is_here).or_else(|| places.clone().find(is_here));
        }
        let mark = item.own_mark();
        let by_mark = list
            .iter()
            .position(|known| mark.is_some() && known.own_mark() == mark);
        let meaning = item.meaning(&PASSING);
        by_mark.or_else(|| {
            turn.find(|index| {
                list.get(*index)
                    .is_some_and(|known| known.meaning(&PASSING) == meaning)
            })
        })
    }

    /// Whether an item is reasoning that the API takes only with the hidden item after it.
    fn leads_to_hidden(&self, index: usize) -> bool {
        let led = self.provider.iter().zip(&self.hidden).skip(index);
        let mut led = led.skip_while(|(item, _)| item.is_reasoning);
        self.provider[index].is_reasoning
            && led
                .next()
                .is_some_and(|(item, hidden)| *hidden && item.side == ElementOwner::Model)
    }

    /// Messages: hidden calls into the agent's message, earlier turns before it, outputs after it.
    fn put_messages(&self, list: &mut RequestList<'_>, anchor: usize) {
        let (Some(known), Some(turn)) = (list.get(anchor), self.turn().first()) else {
            return;
        };
        let mut text = known.text.clone();
        if !self.before().is_empty() {
            text = message::without_released(self.dialect, &text, &self.released);
        }
        let is_hidden = |call: &Call| self.is_answered(call);
        text = message::with_calls(self.dialect, &text, turn, is_hidden);
        list.replace(anchor, &text);
        let outputs = self
            .outputs_after()
            .iter()
            .map(|element| element.text.clone());
        let next = list
            .get(anchor + 1)
            .filter(|_| self.dialect.facts().has_blocks);
        match next.and_then(|next| message::with_results(self.dialect, next, self.outputs_after()))
        {
            Some(text) => list.replace(anchor + 1, &text),
            None => list.insert(anchor + 1, outputs),
        }
        list.insert(
            anchor,
            self.before().iter().map(|element| element.text.clone()),
        );
    }

    /// Where the provider keeps the conversation it knows the hidden calls beside the agent's: only
    /// their outputs are missing.
    fn answer_kept(&self, list: &mut RequestList<'_>) -> Option<String> {
        let calls = self
            .seen_calls()
            .map(|(_, call)| call.clone())
            .collect::<Vec<_>>();
        let place = list
            .iter()
            .position(|element| element.answers_any(&calls))?;
        let known: HashSet<_> = list.iter().map(|known| &known.answers).collect();
        let is_known = |element: &ListElement| known.contains(&element.answers);
        let is_alone = self.before().is_empty() && calls.iter().any(|call| call.is_drawn);
        if !is_alone || self.outputs_after().iter().any(is_known) {
            return None;
        }
        let outputs = self
            .outputs_after()
            .iter()
            .map(|element| element.text.clone())
            .collect::<Vec<_>>();
        list.insert(place, outputs);
        Some(self.note())
    }

    fn note(&self) -> String {
        let mut tools = self
            .hidden_calls()
            .map(|(_, call)| call.tool.as_str())
            .collect::<Vec<_>>();
        tools.dedup();
        let tools = tools.join(", ");
        format!("put back what the agent has not seen: the call of {tools} and how it was answered")
    }
}

/// What an agent has, to look an element up.
#[derive(Default)]
struct Seen<'e> {
    /// Elements with calls, by the id of their first one.
    by_call: HashMap<u64, Vec<(&'e ListElement, &'e Call)>>,
    with_calls: Words,
    without_calls: Words,
}

/// What elements say, and what they are marked with.
#[derive(Default)]
struct Words {
    marks: HashSet<u64>,
    /// What those without a mark say.
    unmarked: HashSet<Meaning>,
    meanings: HashSet<Meaning>,
}

impl<'e> Seen<'e> {
    fn of(elements: impl Iterator<Item = &'e ListElement>) -> Self {
        let mut seen = Self::default();
        for element in elements {
            let words = match element.calls.first() {
                Some(call) => {
                    let like = seen.by_call.entry(call.id).or_default();
                    like.push((element, call));
                    &mut seen.with_calls
                }
                None => &mut seen.without_calls,
            };
            let meaning = element.meaning(&PASSING);
            words.meanings.insert(meaning);
            match element.own_mark() {
                Some(mark) => words.marks.insert(mark),
                None => words.unmarked.insert(meaning),
            };
        }
        seen
    }

    /// Whether it holds an element: calls are compared as calls, items with marks of their own by those, all
    /// else by what it says.
    fn holds(&self, element: &ListElement, mark: Option<u64>) -> bool {
        let meaning = element.meaning(&PASSING);
        let is_in = |words: &Words| match mark {
            Some(mark) => words.marks.contains(&mark) || words.unmarked.contains(&meaning),
            None => words.meanings.contains(&meaning),
        };
        let is_like = match element.calls.first() {
            Some(call) => {
                let like = self.by_call.get(&call.id).into_iter().flatten();
                let mut like = like.filter(|(seen, own)| own.is(seen, call, element));
                like.next().is_some()
            }
            None => is_in(&self.with_calls),
        };
        is_like || is_in(&self.without_calls)
    }
}

/// Where a part of a list holds calls, by their ids.
fn by_call(list: &RequestList<'_>, part: Range<usize>) -> HashMap<u64, Vec<usize>> {
    let mut places: HashMap<u64, Vec<usize>> = HashMap::new();
    for index in part {
        for call in list.get(index).iter().flat_map(|element| &element.calls) {
            places.entry(call.id).or_default().push(index);
        }
    }
    places
}

/// The calls of elements, each with its element.
fn calls_of(elements: &[ListElement]) -> impl Iterator<Item = (&ListElement, &Call)> {
    elements
        .iter()
        .flat_map(|element| element.calls.iter().map(move |call| (element, call)))
}
