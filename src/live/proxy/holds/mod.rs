//! Exchanges that are held: each is a live run of its own whose tools belong to the agent.
//!
//! A run's journal is made of the request and what came of it; the policy, the operator and the model then do
//! with it what they do with any run, until what is left is sound or is to pass as it is. What the agent and
//! its provider are to see then is a [`HoldOutcome`], given once: whoever decides first, the operator, the policy,
//! a deadline or the client that leaves, has decided.
//!
//! Nobody who forwards bytes waits here: each hold has a thread of its own until the screen takes its run over,
//! and the model is called again on another one.

mod drive;
mod run;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

pub use drive::HoldHandle;
pub use drive::Holder;
pub use run::HoldSettings;
pub use run::{ASKS, EditedExchange, HoldOrder, HoldOutcome, HoldUpdate};
