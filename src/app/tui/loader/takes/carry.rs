//! What cannot be changed in place (a log of exchanges, a stream) is changed as one request: the
//! same change, carried over.

use super::checking::Check;
use crate::tui::keymap::{Command, with_ways};
use crate::tui::loader::work::Work;
use crate::tui::state::document::{Document, Place};
use crate::tui::update::fix_all::{FIX_ALL, title_of};
use retake_core::actions;
use retake_core::session::takes::{Take, TakeId};
use retake_core::session::{Edit, Session, index_number};
use retake_live::{TakeError, TakeStore, check_session, safe_fixes};
use std::sync::Arc;

impl Work {
    /// Writes the history as one request and makes the take there. Where the request has other items, it is
    /// shown with the cursor on the item that was meant, and the operator says again what is to be done.
    pub(super) fn take_as_request(
        &self,
        bench: &mut TakeStore,
        (document, session): (&Arc<Document>, usize),
        edits: &[Edit],
        about: Take,
        error: &TakeError,
    ) -> Result<Option<Check>, TakeError> {
        let missing = || TakeError::NoSession(index_number(session));
        let history = document.recording.sessions.get(session);
        let history = history.ok_or_else(missing)?;
        let before = bench.takes().current();
        let rebuilt = bench.as_request(index_number(session), history.dialect, &[])?;
        let request = bench.read(rebuilt, &|_, _| ())?;
        let found = self.tally_of(&request.sessions)?;
        self.judge(bench, rebuilt, found)?;
        let request = request.sessions.first().ok_or_else(missing)?;
        let meant = about.cause.item.map_or(0, |item| item as usize);
        let carried = match can_carry(history, request, edits) {
            true => Some((edits.to_vec(), about)),
            false => self.all_fixes_of(request, about)?,
        };
        if let Some((edits, about)) = carried {
            let id = bench.take(index_number(session), request, &edits, about.clone())?;
            let action = about.cause.action.as_deref().and_then(actions::find);
            let action = match (action, &*about.title) {
                (Some(action), _) => action.title,
                (None, "") => "fork",
                (None, title) => title,
            };
            let message = format!(
                "{id}: {action}; needs {rebuilt}, the history as one request without times, tokens and costs; "
            );
            let message = with_ways(&message, &[(Command::Undo, "undoes both")]);
            return self.show(bench, before, None, carried_to(bench, id, meant), message);
        }
        let at = Some(Place {
            session: 0,
            item: counterpart(history, request, meant),
        });
        let message = format!("{error}: history rebuilt as one request; repeat the action");
        self.show(bench, before, None, at, message)
    }

    /// All safe fixes of the request, where those of the history were accepted.
    fn all_fixes_of(
        &self,
        request: &Session,
        about: Take,
    ) -> Result<Option<(Vec<Edit>, Take)>, TakeError> {
        if about.cause.action.as_deref() != Some(FIX_ALL) {
            return Ok(None);
        }
        let target = self.knowledge.target;
        let fixes = safe_fixes(request, &check_session(request, target)?, target);
        let about = Take {
            title: title_of(&fixes),
            ..about
        };
        Ok((!fixes.edits.is_empty()).then_some((fixes.edits, about)))
    }
}

/// After the item, where the take wrote something.
fn carried_to(bench: &TakeStore, id: TakeId, meant: usize) -> Option<Place> {
    let asks = bench.takes().get(id)?.outcome.asks_model;
    (!asks).then_some(Place {
        session: 0,
        item: meant,
    })
}

/// Whether edits mean the same in the request: its items correspond to those of the history, and what is rewritten
/// is spelled the same.
fn can_carry(history: &Session, request: &Session, edits: &[Edit]) -> bool {
    let same_bytes = |item: u32| {
        let bytes = |session: &Session| session.bytes(session.items.get(item as usize)?).ok();
        bytes(history).is_some_and(|old| bytes(request) == Some(old))
    };
    is_parallel(history, request)
        && edits.iter().all(|edit| match edit {
            Edit::Rewrite { item, .. } => same_bytes(*item),
            _ => true,
        })
}

/// The item of the request that corresponds to one of the history: the same half of the same call, else the
/// one of this number.
fn counterpart(history: &Session, request: &Session, meant: usize) -> usize {
    let last = request.items.len().saturating_sub(1);
    let number = meant.min(last);
    let Some(item) = history.items.get(meant) else {
        return number;
    };
    let Ok(id) = history.call_id(item) else {
        return number;
    };
    let same = request.items.iter().rposition(|other| {
        other.kind == item.kind
            && !id.is_empty()
            && request.call_id(other).is_ok_and(|other| other == id)
    });
    same.unwrap_or(number)
}

/// The items of two sessions that correspond to each other, if all do.
fn is_parallel(one: &Session, other: &Session) -> bool {
    one.items.len() == other.items.len()
        && one
            .items
            .iter()
            .zip(&other.items)
            .all(|(one, other)| one.kind == other.kind)
}
