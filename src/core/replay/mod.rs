//! Which turn of a recording answers a request: the same history strictly, or the nearest one. No
//! socket here; `runtime::replay` serves.
//!
//! A [`Tape`] is made from sessions, whatever their format and dialect. A request is read as [`ReplayRequest`],
//! [`Tape::find`] finds the turn that answers it or tells why none does, and [`Tape::reply`] writes that turn
//! in the words of whoever asks.
//!
//! Histories are compared as [`HistoryEntry`]: what the dialects and the SDKs spell differently is not distinguished;
//! `help/replay.md` has the whole list.

mod find;
mod history;
mod reply;
mod tape;
mod terms;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use find::{Differences, Found, Matching, NotFound};
pub use reply::ServedReply;
pub use tape::{ReplayRequest, Tape, TapePlace};
pub use terms::{Differing, TermChange, TermPart};
