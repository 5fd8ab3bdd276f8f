//! One intercepted exchange between an agent and its model, without sockets and without a clock.
//!
//! Bytes pass as they come; from the first event of a call on they are kept back until the call is whole and
//! was checked. What is sound flows on in order, anything else holds. While it is held, heartbeats keep the
//! client alive that its SDK ignores. What the operator decides reaches the agent as a reply that its provider
//! could have given, and the provider's own view of the history is put back into the agent's next requests.
//!
//! What is wrong and what can be done about it is not this room's: a held exchange is a run whose tools are the
//! agent's ([`crate::engine`]), judged by the same rules, fixed by the same actions.

pub mod client;
pub mod entry;
pub mod gate;
pub mod machine;
pub mod rewrite;
mod seen;
pub mod views;

pub use seen::{
    AgentHas, ExchangeEnding, ExchangeFinding, ExchangeId, ExchangePhase, ExchangeSummary, Holding,
    Rewritten,
};
