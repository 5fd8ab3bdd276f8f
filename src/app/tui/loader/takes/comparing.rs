//! Two takes beside each other, and where they begin to differ.

use super::commands::named;
use crate::tui::loader::work::Work;
use crate::tui::recovery::comparison::{Comparison, ItemText, TakeSide};
use crate::tui::state::document::{Document, Place};
use retake_core::actions::with_open_arguments;
use retake_core::session::takes::TakeId;
use retake_core::session::{
    Dialect, HistoryChange, Rope, Session, SourceError, compare, hash, index_number,
};
use retake_live::{Recording, TakeError, TakeStore};
use std::sync::Arc;

/// How much of an item is read to be compared, in bytes.
const READ: u64 = 256 * 1024;

impl Work {
    pub(super) fn comparison(
        &self,
        bench: &mut TakeStore,
        left: TakeId,
        right: TakeId,
    ) -> Result<Comparison, TakeError> {
        let sessions = [left, right].map(|id| {
            let recording = bench.read(id, &|_, _| ())?;
            let session = bench
                .takes()
                .get(id)
                .map_or(0, |take| take.session as usize);
            Ok::<_, TakeError>((recording, session))
        });
        let [left_read, right_read] = sessions;
        let ((left_recording, left_session), (right_recording, right_session)) =
            (left_read?, right_read?);
        // The recording itself has no session of its own: it is compared by that of the other side.
        let session = if left == TakeId::MAIN {
            right_session
        } else {
            left_session
        };
        let empty = || Session::empty(left_recording.source.clone(), "", Dialect::default());
        let of = |recording: &Recording| {
            let sessions = &recording.sessions;
            sessions
                .get(session)
                .or(sessions.first())
                .cloned()
                .unwrap_or_else(empty)
        };
        let (one, other) = (of(&left_recording), of(&right_recording));
        let names = [left, right].map(|id| named(bench, id));
        let sides = [(&one, &all(&one)[..]), (&other, &all(&other)[..])];
        Ok(compare_items([&names[0], &names[1]], sides)?)
    }
}

/// The numbers of all items of a session.
pub(in crate::tui) fn all(session: &Session) -> Vec<u32> {
    (0..session.items.len()).map(index_number).collect()
}

/// Compares items of two sessions, each by their numbers.
pub(in crate::tui) fn compare_items(
    names: [&str; 2],
    sides: [(&Session, &[u32]); 2],
) -> Result<Comparison, SourceError> {
    let [left, right] = sides.map(digests);
    Ok(Comparison::new(names, [&left?, &right?], |which, index| {
        let (session, items) = sides[match which {
            TakeSide::Left => 0,
            TakeSide::Right => 1,
        }];
        item_text(session, items[index] as usize)
    }))
}

/// Digests of items that are the same wherever an item is.
fn digests((session, items): (&Session, &[u32])) -> Result<Vec<u64>, SourceError> {
    let mut bytes = Vec::new();
    let digests = items.iter().map(|item| {
        let span = session.items[*item as usize].span;
        session.source.read_into(span, &mut bytes)?;
        Ok(hash(&bytes))
    });
    digests.collect()
}

fn item_text(session: &Session, index: usize) -> ItemText {
    let item = session.items[index];
    let head = item.span.head(READ);
    let mut text = session.source.read(head).map_or_else(
        |error| error.to_string(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    );
    if head.len() < item.span.len() {
        let more = item.span.len() - head.len();
        text.push_str(&format!("\n... {more} more bytes"));
    }
    ItemText {
        open: with_open_arguments(&item, &text),
        kind: item.kind,
        tool: session.name(&item).to_owned(),
        text,
    }
}

/// Where two takes begin to differ, in the second.
pub(super) fn first_change(
    before: (&Arc<Document>, &Rope),
    after: (&Arc<Document>, &Rope),
) -> Option<Place> {
    let pairs = before
        .0
        .recording
        .sessions
        .iter()
        .zip(&after.0.recording.sessions);
    for (number, (old, new)) in pairs.enumerate() {
        let changes = compare((old, before.1), (new, after.1)).ok()?;
        let first = changes.into_iter().find_map(|change| match change {
            HistoryChange::Same { .. } => None,
            HistoryChange::Changed { after, .. } | HistoryChange::Added { after } => Some(after),
            HistoryChange::Removed { before } => Some(before),
        });
        if let Some(item) = first {
            let last = new.items.len().saturating_sub(1);
            return Some(Place {
                session: number,
                item: item.min(last),
            });
        }
    }
    None
}
