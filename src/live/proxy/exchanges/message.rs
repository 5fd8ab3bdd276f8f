//! What reaches an exchange from outside of its wire.

use crate::proxy::client_side::ClientSide;
use crate::proxy::contact::ClientPresence;
use crate::proxy::holds::{HoldOutcome, HoldUpdate};

pub(super) enum Message {
    /// Its hold has ended.
    Decided(HoldOutcome),
    /// What its hold has found, or waits for.
    Hold(HoldUpdate),
    /// A retry of its request takes the place of its client.
    Joined(ClientSide, ClientPresence),
    /// The operator ends the hold from the list.
    Release(String),
    /// The operator cuts the connection.
    Cut,
}
