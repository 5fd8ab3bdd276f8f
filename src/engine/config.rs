//! What a run is told before it begins.

use super::{Breakpoint, Policy};
use std::collections::BTreeMap;

/// How a run is to be led.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// Whether somebody is there to decide. Where nobody is, breakpoints and steps hold nothing, and what has to be decided ends the
    /// run.
    pub has_operator: bool,
    /// The most replies that the history may hold.
    pub max_turns: Option<u32>,
    /// The tools by their qualified names. One that is not among them is the operator's.
    pub tools: BTreeMap<String, ToolConfig>,
    /// What is done without asking.
    pub policy: Policy,
    /// Where the run stops although nothing is wrong, to begin with.
    pub breakpoints: Vec<Breakpoint>,
    /// Whether the run stops before each step, to begin with.
    pub is_stepping: bool,
    /// Spreads waiting times, so that runs that failed together do not come back together.
    pub seed: u64,
}

/// How calls of a tool are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct ToolConfig {
    /// Whether the operator is asked first.
    pub approval: Approval,
    /// What carrying out a call means.
    pub nature: Nature,
}

/// Whether the operator is asked before a call of a tool runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Approval {
    /// Never.
    #[default]
    Never,
    /// Until the operator approves all later calls of the tool.
    Ask,
    /// Each time, whatever was approved before.
    Always,
}

/// What carrying out a call means.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Nature {
    /// Something happens in the world; its start is recorded before.
    #[default]
    Acts,
    /// A canned or recorded output is given; nothing happens.
    Answers,
    /// The operator types the output.
    Operator,
}
