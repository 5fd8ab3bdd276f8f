//! Finds an item of one take in another: what is written on an item stays with it.

use super::{AS_REQUEST, TakeStore};
use retake_core::session::takes::{Take, TakeId};
use retake_core::session::{Rope, TextOrigin};

impl TakeStore {
    /// The takes with bytes that the take may still hold, the recording first.
    pub fn homes(&self, id: TakeId) -> Vec<TakeId> {
        let mut homes = vec![TakeId::MAIN];
        homes.extend(self.takes.line(id));
        homes
    }

    /// Where a byte of a take was seen first: the take that wrote it, or the recording, and its place there.
    pub fn home_of(&mut self, id: TakeId, at: u64) -> (TakeId, u64) {
        let homes = self.homes(id).into_iter();
        let mut found = homes.filter_map(|home| Some((home, self.carried((id, at), home)?)));
        found.next().unwrap_or((id, at))
    }

    /// The position of a byte of a take in another one; `None` if it is not there.
    pub fn carried(&mut self, (from, at): (TakeId, u64), to: TakeId) -> Option<u64> {
        if from == to {
            return Some(at);
        }
        if !self.share_text(from, to) {
            return None;
        }
        let origin = origin(&*self.rope(from).ok()?, at)?;
        place(&*self.rope(to).ok()?, origin)
    }

    /// Whether two takes are laid over the same text: the recording and its history as a request are two.
    pub fn share_text(&self, one: TakeId, other: TakeId) -> bool {
        self.request_below(one) == self.request_below(other)
    }

    /// The take whose text is the history as one request, of which this one was made; the nearest one.
    pub fn request_below(&self, id: TakeId) -> Option<TakeId> {
        let mut line = self.takes.line(id).into_iter().rev();
        line.find(|id| {
            let take = self.takes.get(*id);
            let is_request = |take: &Take| {
                take.own.is_some() || take.cause.action.as_deref() == Some(AS_REQUEST)
            };
            take.is_some_and(is_request)
        })
    }
}

/// Where a byte of a rope comes from: the place, and whether it was recorded.
fn origin(rope: &Rope, at: u64) -> Option<(bool, u64)> {
    let pieces = rope.pieces();
    let index = pieces.partition_point(|piece| piece.start <= at);
    let piece = pieces[index.checked_sub(1)?];
    let (is_recorded, span) = match piece.from {
        TextOrigin::Recorded(span) => (true, span),
        TextOrigin::Written(span) | TextOrigin::Grown(span) => (false, span),
    };
    let place = span.start + (at - piece.start);
    (place < span.end).then_some((is_recorded, place))
}

/// The position of a byte of this origin in a rope. What is written in a take stays where it is in those that
/// are made of it.
fn place(rope: &Rope, (is_recorded, at): (bool, u64)) -> Option<u64> {
    rope.pieces().iter().find_map(|piece| {
        let span = match piece.from {
            TextOrigin::Recorded(span) if is_recorded => span,
            TextOrigin::Written(span) | TextOrigin::Grown(span) if !is_recorded => span,
            _ => return None,
        };
        (span.start <= at && at < span.end).then(|| piece.start + (at - span.start))
    })
}
