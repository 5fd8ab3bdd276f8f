//! What the ledger of a run knows of its replies and the history does not say: that one was cut off, or why it ended.

use crate::session::ledger::GrownBy;
use crate::session::{Flags, Growth, Origin, Rope, Session, Stop, index_number};
use std::any::Any;

/// Marks the replies in the history of a run as a recording of them would be read. A reply that a take has changed counts as it
/// stands.
pub(super) fn mark_replies(session: &mut Session) {
    let source = session.source.clone();
    let Some(rope) = (&*source as &dyn Any).downcast_ref::<Rope>() else {
        return;
    };
    for growth in rope.growths() {
        let Some(GrownBy::Reply { ended, stop }) = &growth.by else {
            continue;
        };
        let Some(last) = last_of(session, rope, growth) else {
            continue;
        };
        let flags = &mut session.items[last].flags;
        flags.set_if(Flags::INCOMPLETE, !ended);
        let Some(reason) = stop else {
            continue;
        };
        let stop = Stop {
            item: index_number(last),
            reason: reason.clone().into(),
        };
        flags.set_if(Flags::INCOMPLETE, stop.is_token_limit());
        if !session.stops.contains(&stop) {
            session.stops.push(stop);
        }
    }
    session.stops.sort_by_key(|stop| stop.item);
}

/// Marks the last reply of a history with why it ended, which only the reply itself has said.
pub(super) fn mark_last_reply(session: &mut Session, reason: &str) {
    let mut items = session.items.iter();
    let Some(last) = items.rposition(|item| item.kind.is_from_model()) else {
        return;
    };
    let stop = Stop {
        item: index_number(last),
        reason: reason.to_owned().into(),
    };
    let flags = &mut session.items[last].flags;
    flags.set_if(Flags::INCOMPLETE, stop.is_token_limit());
    if !session.stops.contains(&stop) {
        session.stops.push(stop);
        session.stops.sort_by_key(|stop| stop.item);
    }
}

/// The last item of a reply, where it stands as it came.
fn last_of(session: &Session, rope: &Rope, growth: &Growth) -> Option<usize> {
    let is_of_growth = |from: Origin| match from {
        Origin::Grown(span) => growth.span.start <= span.start && span.end <= growth.span.end,
        Origin::Recorded(_) | Origin::Written(_) => false,
    };
    let is_of_reply = |index: &usize| {
        let item = &session.items[*index];
        let mut pieces = rope.pieces_of(item.span).peekable();
        item.kind.is_from_model()
            && pieces.peek().is_some()
            && pieces.all(|piece| is_of_growth(piece.from))
    };
    (0..session.items.len()).rev().find(is_of_reply)
}
