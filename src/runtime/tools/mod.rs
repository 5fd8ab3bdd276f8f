//! The tools of a run.

pub mod mcp;
