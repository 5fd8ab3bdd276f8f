//! What can go wrong in what an agent receives: faults that are made on purpose, drawn from a seed, distinguished
//! by name. No socket here; the proxy makes them.
//!
//! | | |
//! |---|---|
//! | [`FAULTS`] | what there is: what each does, what an agent that handles it does |
//! | [`inject`] | one fault, made of a reply |
//! | [`ChaosSpec`] | which faults, at which replies, how often: a TOML file |
//! | [`Course`] | who asks what, which exchange gets the fault, and what came after it |
//! | [`outcome`] | whether the agent survived |

mod course;
mod faults;
mod outcome;
mod reply;
mod request;
mod spec;

pub use course::{
    Course, Injection, InjectionOrder, InjectionPlan, Reaction, RequestPlan, RequestTiming, Usual,
};
pub use faults::{ChaosFault, FAULTS, FaultKind, FaultyReply, NotHere, Silence, find, inject};
pub use outcome::{AgentEnd, ChaosOutcome, outcome, outcome_of_conversation};
pub use request::ChaosRequest;
pub use spec::{ChaosSpec, ChaosTrial, LONGEST_SPEC, SPEC_TABLES, TurnChoice};
