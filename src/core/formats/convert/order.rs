//! The order in which all but Responses want a history: each reply whole, the outputs of its
//! calls right behind it.

use super::ids::visible_partner;
use super::{Conversion, LossKind};
use crate::session::{Kind, PairStatus, Session};
use crate::wire::IdsNeeded;
use std::collections::HashMap;

/// What stands together in the target.
pub(super) enum Step {
    /// What the model said and called in one reply; the calls come last where the recording's own
    /// dialect has no order.
    Reply(Vec<usize>),
    /// An output, or a message.
    One(usize),
}

/// The outputs that answer a call beside the one that it is paired with.
type Followers = HashMap<usize, Vec<usize>>;

/// The steps of a history.
pub(super) struct Order {
    followers: Followers,
}

impl Order {
    /// All that the target's history holds; notes which outputs move.
    pub(super) fn steps(conversion: &mut Conversion<'_>) -> Vec<Step> {
        let session = conversion.session;
        if conversion.to.facts().calls_key.is_none() {
            let visible = (0..session.items.len()).filter(|index| conversion.is_visible(*index));
            return visible.map(Step::One).collect();
        }
        let order = Self::of(session);
        let turns = 0..session.turns.len();
        turns
            .flat_map(|turn| order.steps_of_turn(conversion, turn))
            .collect()
    }

    fn of(session: &Session) -> Self {
        let mut followers = Followers::new();
        for (index, item) in session.items.iter().enumerate() {
            let standing = session.pairing.standing(index);
            if let (Kind::Output, PairStatus::Duplicate(call) | PairStatus::Severed(call)) =
                (item.kind, standing)
            {
                followers.entry(call as usize).or_default().push(index);
            }
        }
        Self { followers }
    }

    /// What stands together in a turn, in order.
    fn steps_of_turn(&self, conversion: &mut Conversion<'_>, turn: usize) -> Vec<Step> {
        let session = conversion.session;
        let items = session.turns[turn].items();
        let visible = items.filter(|index| conversion.is_visible(*index));
        let (mut reply, rest): (Vec<usize>, Vec<usize>) =
            visible.partition(|index| is_of_reply(session, *index));
        let is_call = |index: &usize| session.items[*index].kind == Kind::Call;
        let calls: Vec<usize> = reply.iter().copied().filter(is_call).collect();
        if !session.dialect.facts().has_blocks {
            reply.sort_by_key(is_call);
        }
        let by_order = conversion.to.facts().call_ids.needed == IdsNeeded::Neither;
        let mut outputs: Vec<usize> = Vec::new();
        for call in calls {
            let answers = self.answers(conversion, call);
            for output in answers {
                let is_behind = output > call && session.items[output].turn as usize == turn;
                if !is_behind {
                    conversion.lose(output, LossKind::Moved);
                }
                outputs.push(output);
            }
        }
        // Without ids the outputs of one tool are told apart by the order of its calls.
        if !by_order {
            outputs.sort_unstable();
        }
        let rest = rest
            .into_iter()
            .filter(|index| !goes_with_its_call(session, *index));
        let reply = Some(Step::Reply(reply)).filter(|step| !step.is_empty());
        let others = outputs.into_iter().chain(rest).map(Step::One);
        reply.into_iter().chain(others).collect()
    }

    fn answers(&self, conversion: &Conversion<'_>, call: usize) -> Vec<usize> {
        let paired = match conversion.session.pairing.standing(call) {
            PairStatus::Paired(output) => Some(output as usize),
            _ => None,
        };
        let more = self.followers.get(&call).into_iter().flatten().copied();
        let all = paired.into_iter().chain(more);
        all.filter(|output| conversion.is_visible(*output))
            .collect()
    }
}

impl Step {
    fn is_empty(&self) -> bool {
        matches!(self, Self::Reply(items) if items.is_empty())
    }
}

/// Whether the output is written behind its call, wherever it stands.
fn goes_with_its_call(session: &Session, index: usize) -> bool {
    session.items[index].kind == Kind::Output && visible_partner(session, index).is_some()
}

/// Whether an item is a part of the model's message. A block of a type that nobody knows belongs to whom
/// its neighbours belong to.
pub(super) fn is_of_reply(session: &Session, index: usize) -> bool {
    let item = &session.items[index];
    if item.kind.is_from_model() {
        return true;
    }
    if item.kind != Kind::Other || !item.is_block() {
        return false;
    }
    let is_same_message = |other: &usize| session.items[*other].record == item.record;
    let neighbour = index
        .checked_sub(1)
        .filter(is_same_message)
        .or(Some(index + 1))
        .filter(|other| *other < session.items.len())
        .filter(is_same_message);
    neighbour.is_some_and(|other| session.items[other].kind.is_from_model())
}
