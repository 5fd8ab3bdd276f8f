//! What a client was given so far: for a retry that takes its place, and for the journal where it
//! differs from what came.

use crate::proxy::recorder::{REPLY_CAP, RecordedBody};
use bytes::Bytes;

/// What a client was given: the beginning of the reply as it came, which is kept elsewhere, and what followed.
#[derive(Debug, Default)]
pub(crate) struct Given {
    /// So many bytes of the reply.
    as_it_came: u64,
    rest: RecordedBody,
}

impl Given {
    /// The next bytes of the reply pass.
    pub(crate) fn pass(&mut self, bytes: &[u8]) {
        if self.rest.total() == 0 {
            self.as_it_came += bytes.len() as u64;
        } else {
            self.rest.push_reply(bytes);
        }
    }

    /// Something else is sent.
    pub(crate) fn send(&mut self, bytes: &[u8]) {
        self.rest.push_reply(bytes);
    }

    /// Whether more was given than is kept.
    pub(crate) fn is_cut(&self) -> bool {
        self.as_it_came > REPLY_CAP || self.rest.is_cut()
    }

    /// All of it, piece by piece; `reply` is what has come.
    pub(crate) fn pieces(&self, reply: &RecordedBody) -> Vec<Bytes> {
        let mut left = usize::try_from(self.as_it_came).unwrap_or(usize::MAX);
        let as_it_came = reply.pieces().map(|mut piece| {
            piece.truncate(left);
            left -= piece.len();
            piece
        });
        let pieces = as_it_came.chain(self.rest.pieces());
        pieces.filter(|piece| !piece.is_empty()).collect()
    }

    /// The same as one body.
    pub(crate) fn whole(&self, reply: &RecordedBody) -> RecordedBody {
        let mut whole = RecordedBody::default();
        for piece in self.pieces(reply) {
            whole.push_reply(&piece);
        }
        whole
    }

    /// Another reply begins; `reply` is the one before.
    pub(crate) fn start_again(&mut self, reply: &RecordedBody) {
        if self.as_it_came > 0 {
            self.rest = self.whole(reply);
            self.as_it_came = 0;
        }
    }
}
