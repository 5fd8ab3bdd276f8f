//! A request as a recording is asked: read by the readers of its dialect.

use super::history::{self, Replies};
use super::said::Said;
use super::terms::Terms;
use crate::formats::{RequestError, read_request};
use crate::session::Dialect;
use crate::wire::RequestHead;
use serde_json::Value;

#[derive(Debug, Clone)]
pub struct Asked {
    /// How it is spelled.
    pub dialect: Dialect,
    pub head: RequestHead,
    /// The tools on offer, as a request of Responses spells them; its reply repeats them.
    pub tools: Vec<Value>,
    /// Its history, in its forms.
    pub(super) history: Vec<Vec<Said>>,
    /// The words of its history, whatever their order.
    pub(super) words: u64,
    /// How many replies its history holds.
    pub(super) replies: usize,
    /// What it holds beside.
    pub(super) terms: Terms,
}

impl Asked {
    /// Reads the body of a request.
    pub fn read(dialect: Dialect, body: &[u8]) -> Result<Self, RequestError> {
        let (head, session) = read_request(dialect, body)?;
        let (mut pieces, mut words, mut replies) = (Vec::new(), 0_u64, Replies::default());
        for index in 0..session.items.len() {
            if let Some(piece) = history::piece(&session, index)? {
                words = words.wrapping_add(piece.fingerprint());
                replies.push(&piece);
                pieces.push(piece);
            }
        }
        Ok(Self {
            dialect,
            tools: head.repeated_tools(dialect, body),
            head,
            history: history::forms(&session, pieces),
            words,
            replies: replies.count,
            terms: Terms::of_request(&session)?,
        })
    }
}
