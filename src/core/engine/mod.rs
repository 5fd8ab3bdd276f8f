//! What happens next in a live run.
//!
//! A live run is a take that grows. The engine never sees bytes: it gets the status of the history
//! ([`RunStatus`]), the results of its effects, and what the operator wants ([`RunEvent`]), and answers what
//! is to be done next ([`RunEffect`]). It has no clock and waits for nothing; its state is data, so that a run
//! can be closed at a pause and taken up after a restart.
//!
//! Recoveries are not the engine's: they are actions on the take, the same as on recordings, and the engine
//! goes on from whatever take it is given then. So what is left to do follows from the history and the ledger
//! alone: faults hold, sound calls run once, a history in which everything is answered goes to the model.

pub mod agent;
pub mod arguments;
mod backoff;
mod breaker;
mod breakpoint;
mod event;
mod machine;
mod policy;
mod standing;

pub use backoff::{ATTEMPTS, ModelDelay, delay, is_recoverable_status, model_delay};
pub use breaker::{
    BreakerAdmission, BreakerChange, BreakerEvent, BreakerState, Breakers, ToolState,
};
pub use breakpoint::{
    Breakpoint, BreakpointCache, BreakpointError, BreakpointHit, BreakpointTarget, PLACES, hits,
};
pub use event::{
    Config, ModelFault, Nature, Reason, RunCommand, RunEffect, RunEvent, Timer, ToolConfig,
    ToolOwner,
};
pub use machine::{Machine, MachineState, Phase, holds};
pub use policy::{
    Also, Approval, BreakerSettings, Decision, LONGEST_POLICY, Millis, POLICY_TABLES, Policy,
    PolicyCounts, PolicyVerdict, RetrySettings, TURN_LIMIT, Words,
};
pub use standing::{
    ABOUT_RESULTS, REFUSED_BY_PROVIDERS, RunCall, RunFault, RunStatus, Tail, request_status,
    run_status,
};
