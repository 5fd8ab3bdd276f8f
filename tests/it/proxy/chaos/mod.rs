//! Faults on purpose: what the rules find in each, what an agent receives, and what is reported.

mod campaign;
mod ends;
mod faults;
mod wire;
