//! Replies that a provider could have given, around a turn that was edited: whole, or as the rest of a stream
//! whose beginning the client has seen.
//!
//! What a turn holds is spelled as it was given: numbers, escapes, signatures and encrypted content stay byte
//! for byte. What the client has seen at the beginning of the turn is not repeated.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::gate::Sent;
use crate::session::Dialect;
use crate::session::ledger::Usage;
use crate::wire::write::{NewEvent, StreamRest};

/// The rest of a stream of which `sent` was sent: with it the client has what it has seen already, and after
/// that the turn of `reply`, a whole reply of the dialect.
///
/// The Response keeps the id that the client knows, indexes and sequence numbers go on, what was begun is
/// ended, and the stream ends once. `usage` is the reported tokens, where it is not zero; Chat reports it
/// only where `reports_usage` says that the client wants it (`stream_options.include_usage`). A stream
/// that has ended already gets nothing more.
pub fn continuation(
    dialect: Dialect,
    sent: &Sent,
    reply: &str,
    usage: Usage,
    reports_usage: bool,
) -> Vec<u8> {
    if sent.is_over(dialect) {
        return Vec::new();
    }
    let rest = StreamRest {
        sent: &sent.begun(dialect),
        reply,
        usage,
        reports_usage,
        piece: usize::MAX,
    };
    let events = dialect.codec().encode_stream(&rest);
    let wire = events.iter().map(NewEvent::to_wire);
    wire.collect::<String>().into_bytes()
}
