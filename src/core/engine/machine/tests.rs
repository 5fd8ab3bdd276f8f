//! A machine against a small world that keeps the runtime's promises: event conversations, recoveries, and seeded random runs.

mod conversations;
mod handover;
mod history;
mod recoveries;
mod simulated;
mod transcript;
mod world;
