//! What the tests of this room share.

pub(in crate::tui) mod fixture;
mod hostile;
