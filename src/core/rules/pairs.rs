//! Shared by the rules about pairs: why a call has no output, as far as the history shows it, and the name of
//! either half.

use super::{OrphanCause, Run};
use crate::actions;
use crate::session::{Family, Flags, Kind, Session, TurnStop, index_number};

/// What interrupted each turn, read once for a session.
#[derive(Debug)]
pub(crate) struct OrphanCauses {
    of_turn: Vec<Option<OrphanCause>>,
}

impl OrphanCauses {
    /// Reads the notices and the stop reasons of the turns.
    pub(crate) fn of(session: &Session) -> Self {
        let mut of_turn = vec![None; session.turns.len()];
        for item in &session.items {
            let Some(place) = of_turn.get_mut(item.turn as usize) else {
                continue;
            };
            let is_notice = item.kind == Kind::Notice;
            if is_notice && item.flags.has(Flags::INTERRUPT) {
                *place = Some(OrphanCause::Interrupt);
            } else if (is_notice && item.flags.has(Flags::ERROR))
                || item.flags.has(Flags::INCOMPLETE)
            {
                *place = place.or(Some(OrphanCause::FailedReply));
            }
        }
        for stop in &session.stops {
            let turn = session.items.get(stop.item as usize).map(|item| item.turn);
            let place = turn.and_then(|turn| of_turn.get_mut(turn as usize));
            if let (Some(place), Some(cause)) = (place, cause_of_stop(stop)) {
                *place = Some(cause);
            }
        }
        Self { of_turn }
    }

    /// Why the call at `index` has no output.
    pub(crate) fn cause(&self, run: &Run<'_>, index: usize) -> OrphanCause {
        let session = run.session;
        let turn = session.items[index].turn as usize;
        let next = session
            .turns
            .get(turn)
            .and_then(|turn| session.items.get(turn.end as usize));
        let boundary = match next {
            None => OrphanCause::EndOfFile,
            Some(next) if next.kind == Kind::Compaction => return OrphanCause::Compaction,
            Some(next) if next.flags.has(Flags::INTERRUPT) => return OrphanCause::Interrupt,
            Some(next) if next.kind == Kind::User && !next.flags.has(Flags::SYNTHETIC) => {
                OrphanCause::UserMessage
            }
            Some(_) => OrphanCause::LostWrite,
        };
        match self.of_turn.get(turn) {
            Some(Some(cause)) => *cause,
            _ if is_faulty(run, index) => OrphanCause::FaultyCall,
            _ => boundary,
        }
    }
}

/// What the provider's stop reason says about the calls of the reply.
fn cause_of_stop(stop: &TurnStop) -> Option<OrphanCause> {
    match &*stop.reason {
        _ if stop.is_token_limit() => Some(OrphanCause::TokenLimit),
        "error" | "aborted" | "failed" | "cancelled" => Some(OrphanCause::FailedReply),
        _ => None,
    }
}

/// Whether the call names a tool that is not offered, on which many runtimes end the run.
fn is_faulty(run: &Run<'_>, index: usize) -> bool {
    let item = &run.session.items[index];
    let is_named = matches!(
        item.family,
        Family::Function | Family::Custom | Family::Legacy
    );
    is_named
        && run
            .offered(index)
            .is_some_and(|offered| offered.tool(item.name).is_none())
}

/// The tool of a call, or of the call that an output answers; the kind of item where no name is known.
pub(crate) fn tool(session: &Session, index: usize) -> &str {
    let item = &session.items[index];
    let own = session.name(item);
    let partner = session
        .pairing
        .partner(index)
        .map(|partner| session.name(&session.items[partner]));
    match partner.filter(|name| own.is_empty() && !name.is_empty()) {
        Some(name) => name,
        None if own.is_empty() => item.kind.word(),
        None => own,
    }
}

/// The number of an item on the screen and in reports.
pub(crate) fn ordinal(index: usize) -> String {
    actions::ordinal(index_number(index))
}
