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
mod handle;
mod hold;
mod holder;
mod order;
mod run;
mod shared;
#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::expect_used, clippy::panic)]
mod tests;

pub use handle::HoldHandle;
pub use holder::Holder;
pub use order::{ASKS, EditedExchange, HoldOrder, HoldOutcome, HoldUpdate, WaitReason};
pub use shared::HoldSettings;
