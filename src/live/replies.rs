//! What the ledger of a run knows and the history does not say: that a reply was cut off, why it ended, or what it
//! took; that an output is an error, how the run ended.

use retake_core::session::ledger::{CallFailure, GrowthSource};
use retake_core::session::{
    Flags, Growth, Item, Kind, Rope, Session, TextOrigin, TurnStop, index_number,
};
use std::any::Any;

/// Marks the replies in the history of a run as a recording of them would be read. A reply that a take has
/// changed counts as it is.
pub(crate) fn mark_replies(session: &mut Session) {
    let source = session.source.clone();
    let Some(rope) = (&*source as &dyn Any).downcast_ref::<Rope>() else {
        return;
    };
    session.run = rope.run().cloned();
    mark_answered(session, rope);
    mark_tool_runs(session);
    for growth in rope.growths() {
        let (ended, stop, cost) = match &growth.by {
            Some(GrowthSource::Reply { ended, stop, cost }) => (ended, stop, *cost),
            Some(GrowthSource::Error { call_id, failure }) => {
                mark_error(session, rope, growth, call_id, *failure);
                continue;
            }
            Some(GrowthSource::Operator) | None => continue,
        };
        let Some(last) = last_of(session, rope, growth) else {
            continue;
        };
        if let Some(run) = &mut session.run {
            run.replies.insert(index_number(last), cost);
        }
        let flags = &mut session.items[last].flags;
        flags.set_if(Flags::INCOMPLETE, !ended);
        let Some(reason) = stop else {
            continue;
        };
        let stop = TurnStop {
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

/// Notes the calls whose outputs were written by takes.
fn mark_answered(session: &mut Session, rope: &Rope) {
    if session.run.is_none() {
        return;
    }
    let is_written = |item: &&Item| {
        let mut pieces = rope.pieces_of(item.span).peekable();
        item.kind == Kind::Output
            && pieces.peek().is_some()
            && pieces.all(|piece| matches!(piece.from, TextOrigin::Written(_)))
    };
    let written = session.items.iter().filter(is_written);
    let written = written.filter_map(|item| session.call_id(item).ok());
    let written: Vec<String> = written.collect();
    if let Some(run) = &mut session.run {
        run.answered.extend(written);
    }
}

/// Notes when the tools of the calls ran.
fn mark_tool_runs(session: &mut Session) {
    let runs = session.run.as_ref().map(|run| &run.tool_runs);
    let Some(runs) = runs.filter(|runs| !runs.is_empty()) else {
        return;
    };
    let calls = session.items.iter().enumerate();
    let calls = calls.filter(|(_, item)| item.kind == Kind::Call);
    let found = calls.filter_map(|(index, call)| {
        let run = runs.get(&session.call_id(call).ok()?)?;
        Some((index_number(index), *run))
    });
    session.tool_runs = found.collect();
}

/// Marks the last reply of a history with why it ended, which only the reply itself states.
pub(crate) fn mark_last_reply(session: &mut Session, reason: &str) {
    let mut items = session.items.iter();
    let Some(last) = items.rposition(|item| item.kind.is_from_model()) else {
        return;
    };
    let stop = TurnStop {
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

/// Marks the output by which a run grew as an error. One that a take has changed since is what the take says.
fn mark_error(
    session: &mut Session,
    rope: &Rope,
    growth: &Growth,
    call_id: &str,
    failure: Option<CallFailure>,
) {
    let is_it = |index: &usize| {
        let item = &session.items[*index];
        item.kind == Kind::Output
            && is_of(rope, growth, item)
            && session.call_id(item).is_ok_and(|id| id == call_id)
    };
    let Some(output) = (0..session.items.len()).rev().find(is_it) else {
        return;
    };
    session.items[output].flags.set_if(Flags::ERROR, true);
    if let Some(failure) = failure {
        session.failures.insert(index_number(output), failure);
    }
}

/// The last item of a reply, if it is unchanged.
fn last_of(session: &Session, rope: &Rope, growth: &Growth) -> Option<usize> {
    let is_of_reply = |index: &usize| {
        let item = &session.items[*index];
        item.kind.is_from_model() && is_of(rope, growth, item)
    };
    (0..session.items.len()).rev().find(is_of_reply)
}

/// Whether an item is unchanged since it was added.
fn is_of(rope: &Rope, growth: &Growth, item: &Item) -> bool {
    let is_of_growth = |from: TextOrigin| match from {
        TextOrigin::Grown(span) => growth.span.start <= span.start && span.end <= growth.span.end,
        TextOrigin::Recorded(_) | TextOrigin::Written(_) => false,
    };
    let mut pieces = rope.pieces_of(item.span).peekable();
    pieces.peek().is_some() && pieces.all(|piece| is_of_growth(piece.from))
}
