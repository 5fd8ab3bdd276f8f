//! Where each provider wants the output of a call: the one place that knows which pairs a provider refuses
//! although both halves exist.
//!
//! Judged on the order of items and turns, not on how a dialect spells them: a session recorded in one dialect
//! can be judged for another, because a conversion keeps the order. Sources: the providers' refusals of real
//! requests (OpenAI Chat "must be followed by tool messages", Anthropic "without `tool_result` blocks
//! immediately after", Gemini "comes immediately after a user turn").

use super::facts::OutputPlacement;
use crate::session::{Dialect, Flags, Item, Kind, PairStatus, Session, Speaker};

/// An item that is where the provider does not take it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Misplaced {
    /// Index of the item.
    pub item: usize,
    /// What is wrong with its place.
    pub fact: Misplacement,
}

/// What is wrong with a place. The numbers are item indices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Misplacement {
    /// The output is before its call.
    BeforeCall(usize),
    /// Between the call's message and the output is something that ends the place for outputs.
    TooLate(usize),
    /// In the message of the outputs, something else is before this one.
    NotFirst(usize),
    /// Text follows the call in the message of the call.
    TextBehindCall(usize),
    /// The history opens with this call; a turn of the user must come first.
    OpensHistory,
}

/// The items that the target refuses for their place, in order.
pub fn misplaced(session: &Session, target: Dialect) -> Vec<Misplaced> {
    let mut found = Vec::new();
    for (index, item) in session.items.iter().enumerate() {
        if item.kind == Kind::Output
            && let PairStatus::Paired(call) = session.pairing.standing(index)
            && index < call as usize
        {
            found.push(Misplaced {
                item: index,
                fact: Misplacement::BeforeCall(call as usize),
            });
        }
    }
    match target.facts().placement {
        OutputPlacement::Behind => {}
        OutputPlacement::BehindMessage => in_chat(session, &mut found),
        OutputPlacement::FirstInNextMessage => {
            let exchanges = Exchanges::of(session);
            exchanges.late_outputs(session, &mut found);
            exchanges.outputs_behind_text(session, &mut found);
            exchanges.texts_behind_calls(&mut found);
        }
        OutputPlacement::NextTurn => {
            Exchanges::of(session).late_outputs(session, &mut found);
            opening_call(session, &mut found);
        }
    }
    found.sort_by_key(|misplaced| misplaced.item);
    found
}

/// The outputs that follow their calls, each with its call.
fn outputs(session: &Session) -> impl Iterator<Item = (usize, usize)> {
    (0..session.items.len()).filter_map(|index| match session.pairing.standing(index) {
        PairStatus::Paired(call) if session.items[index].kind == Kind::Output => {
            Some((index, call as usize)).filter(|(index, call)| call < index)
        }
        _ => None,
    })
}

/// Chat: tool messages follow the message of their calls before any other message.
fn in_chat(session: &Session, found: &mut Vec<Misplaced>) {
    for (index, call) in outputs(session) {
        let asking = session.items[call].turn;
        if session.items[index].turn != asking && !is_handed_on(session, call, index) {
            let end = session
                .turns
                .get(asking as usize)
                .map(|turn| turn.end as usize);
            found.push(Misplaced {
                item: index,
                fact: Misplacement::TooLate(end.unwrap_or(index)),
            });
        }
    }
}

/// Whether nothing but the instructions of the request that brings an output is between it and its call:
/// after a handoff the next agent's own stand at the head of its request, which repeats the call after them.
fn is_handed_on(session: &Session, call: usize, output: usize) -> bool {
    let items = &session.items;
    let record = items[output].record;
    items[call].record < record
        && items[call + 1..output].iter().all(|item| {
            let is_beside = item.turn == items[call].turn || item.kind == Kind::Output;
            let is_system = item.kind == Kind::System;
            if is_system {
                item.record == record
            } else {
                is_beside
            }
        })
}

/// Gemini: a turn with calls follows a turn of the user or of outputs, so it cannot open the history.
fn opening_call(session: &Session, found: &mut Vec<Misplaced>) {
    let speaks =
        |item: &&Item| item.kind.is_from_model() || matches!(item.kind, Kind::User | Kind::Output);
    let Some(first) = session.items.iter().find(speaks) else {
        return;
    };
    let turn = session
        .turns
        .get(first.turn as usize)
        .map(|turn| turn.items());
    let call = turn
        .filter(|_| first.kind.is_from_model())
        .and_then(|mut turn| turn.find(|index| session.items[*index].kind == Kind::Call));
    found.extend(call.map(|item| Misplaced {
        item,
        fact: Misplacement::OpensHistory,
    }));
}

/// One message of the model and the message of the user that answers it. Messages of one side in a row count as
/// one, as the Anthropic API merges them.
#[derive(Debug, Clone, Copy, Default)]
struct Exchange {
    /// Index of the item after it.
    end: usize,
    /// The first thing that the user says in it, apart from outputs.
    first_of_user: Option<usize>,
    last_call: Option<usize>,
    /// A call that has text of the same message after it, and that text.
    interleaved: Option<(usize, usize)>,
}

/// The exchanges of a session.
#[derive(Debug, Default)]
struct Exchanges {
    /// The exchange of each turn.
    of_turn: Vec<usize>,
    list: Vec<Exchange>,
}

impl Exchanges {
    fn of(session: &Session) -> Self {
        let mut exchanges = Self::default();
        let mut answered = false;
        for turn in &session.turns {
            let items = &session.items[turn.items()];
            let cut = items.iter().any(|item| item.kind == Kind::Compaction);
            if exchanges.list.is_empty() || cut || (turn.speaker == Speaker::Model && answered) {
                exchanges.list.push(Exchange::default());
                answered = false;
            }
            let number = exchanges.list.len() - 1;
            exchanges.of_turn.push(number);
            let exchange = &mut exchanges.list[number];
            exchange.end = turn.end as usize;
            for (index, item) in turn.items().zip(items) {
                answered |= matches!(item.kind, Kind::Output | Kind::User);
                exchange.take(index, item);
            }
        }
        exchanges
    }

    fn number(&self, item: &Item) -> Option<usize> {
        self.of_turn.get(item.turn as usize).copied()
    }

    /// Outputs that are not in the message after that of their calls.
    fn late_outputs(&self, session: &Session, found: &mut Vec<Misplaced>) {
        for (index, call) in outputs(session) {
            let asking = self.number(&session.items[call]);
            if self.number(&session.items[index]) != asking {
                let end = asking.map_or(index, |asking| self.list[asking].end);
                found.push(Misplaced {
                    item: index,
                    fact: Misplacement::TooLate(end),
                });
            }
        }
    }

    /// Anthropic: outputs come first in their message.
    fn outputs_behind_text(&self, session: &Session, found: &mut Vec<Misplaced>) {
        for (index, call) in outputs(session) {
            let asking = self.number(&session.items[call]);
            let own = self
                .number(&session.items[index])
                .filter(|own| Some(*own) == asking);
            let before = own.and_then(|own| self.list[own].first_of_user);
            found.extend(
                before
                    .filter(|before| *before < index)
                    .map(|before| Misplaced {
                        item: index,
                        fact: Misplacement::NotFirst(before),
                    }),
            );
        }
    }

    /// Anthropic: after the first call of a message come only calls.
    fn texts_behind_calls(&self, found: &mut Vec<Misplaced>) {
        let interleaved = self.list.iter().filter_map(|exchange| exchange.interleaved);
        found.extend(interleaved.map(|(call, text)| Misplaced {
            item: call,
            fact: Misplacement::TextBehindCall(text),
        }));
    }
}

impl Exchange {
    fn take(&mut self, index: usize, item: &Item) {
        match item.kind {
            Kind::Call => self.last_call = Some(index),
            // What the runtime says in the user's name it puts after the outputs itself.
            Kind::User if !item.flags.has(Flags::SYNTHETIC) => {
                self.first_of_user = self.first_of_user.or(Some(index));
            }
            Kind::Assistant if self.interleaved.is_none() && !item.flags.has(Flags::SYNTHETIC) => {
                self.interleaved = self.last_call.map(|call| (call, index));
            }
            _ => {}
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::json::Cursor;
    use crate::session::{Fragment, Span};
    use crate::wire::chat;
    use std::sync::Arc;

    const CALL: &str = r#"{"role":"assistant","tool_calls":[{"id":"a","function":{"name":"f","arguments":"{}"}}]}"#;
    const OTHER: &str = r#"{"role":"assistant","tool_calls":[{"id":"b","function":{"name":"f","arguments":"{}"}}]}"#;
    const OUT: &str = r#"{"role":"tool","tool_call_id":"a","content":"1"}"#;
    const OTHER_OUT: &str = r#"{"role":"tool","tool_call_id":"b","content":"1"}"#;
    const USER: &str = r#"{"role":"user","content":"hi"}"#;
    const SAY: &str = r#"{"role":"assistant","content":"wait"}"#;

    /// What each dialect says about a history of Chat messages: chat, responses, anthropic, gemini.
    fn judged(messages: &[&str]) -> [Vec<(usize, Misplacement)>; 4] {
        let mut fragment = Fragment::default();
        for message in messages {
            fragment.begin_record(Span::default());
            chat::read_message(&mut Cursor::new(message.as_bytes()), 0, &mut fragment).unwrap();
        }
        let mut session = Session::empty(Arc::new(Vec::new()), "test", Dialect::Chat);
        session.items = fragment.items;
        session.link();
        let all = [
            Dialect::Chat,
            Dialect::Responses,
            Dialect::Anthropic,
            Dialect::Gemini,
        ];
        all.map(|target| {
            let found = misplaced(&session, target).into_iter();
            found
                .map(|misplaced| (misplaced.item, misplaced.fact))
                .collect()
        })
    }

    #[test]
    fn an_output_directly_behind_its_call_is_taken_by_all() {
        assert_eq!(
            judged(&[USER, CALL, OUT, SAY]),
            [vec![], vec![], vec![], vec![]]
        );
    }

    #[test]
    fn an_output_before_its_call_is_refused_by_all() {
        let early = vec![(1, Misplacement::BeforeCall(2))];
        assert_eq!(
            judged(&[USER, OUT, CALL, USER]),
            [early.clone(), early.clone(), early.clone(), early]
        );
    }

    #[test]
    fn a_message_between_call_and_output_is_refused_but_by_responses() {
        let [chat, responses, anthropic, gemini] = judged(&[USER, CALL, USER, OUT]);
        assert_eq!(chat, [(3, Misplacement::TooLate(2))]);
        assert_eq!(responses, []);
        assert_eq!(anthropic, [(3, Misplacement::NotFirst(2))]);
        assert_eq!(gemini, []);
    }

    #[test]
    fn replies_in_a_row_are_one_message_for_anthropic_and_two_for_chat() {
        let [chat, _, anthropic, gemini] = judged(&[USER, CALL, OTHER, OUT, OTHER_OUT]);
        assert_eq!(chat, [(3, Misplacement::TooLate(2))]);
        assert_eq!((anthropic, gemini), (vec![], vec![]));
    }

    #[test]
    fn text_behind_a_call_offends_anthropic_only() {
        let [chat, responses, anthropic, gemini] = judged(&[USER, CALL, SAY, USER]);
        assert_eq!((chat, responses, gemini), (vec![], vec![], vec![]));
        assert_eq!(anthropic, [(1, Misplacement::TextBehindCall(2))]);
    }

    #[test]
    fn an_output_after_the_next_reply_is_too_late() {
        let [chat, responses, anthropic, gemini] =
            judged(&[USER, CALL, OTHER, OTHER_OUT, SAY, OUT]);
        assert_eq!(chat, [(5, Misplacement::TooLate(2))]);
        assert_eq!(responses, []);
        assert_eq!(anthropic, [(5, Misplacement::TooLate(4))]);
        assert_eq!(gemini, [(5, Misplacement::TooLate(4))]);
    }

    #[test]
    fn a_call_cannot_open_a_history_of_gemini() {
        let [_, _, _, gemini] = judged(&[CALL, OUT]);
        assert_eq!(gemini, [(0, Misplacement::OpensHistory)]);
    }
}
