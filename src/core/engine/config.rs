//! What a run is told before it begins.

use super::breakpoint::Breakpoint;
use super::policy::{Approval, Policy};
use std::collections::BTreeMap;

/// How a run is to be led.
#[derive(Debug, Clone, Default)]
pub struct Config {
    /// The name of the agent, for templates.
    pub agent: String,
    /// Whether somebody is there to decide. Where nobody is, breakpoints and steps hold nothing, and what has
    /// to be decided ends the run.
    pub has_operator: bool,
    /// The most replies that the history may hold.
    pub max_turns: Option<u32>,
    /// Who carries out the calls.
    pub tools_are: ToolOwner,
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

/// Who carries out the calls of a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum ToolOwner {
    #[default]
    Own,
    /// An agent elsewhere, whose exchange with its model is held: sound calls are handed over to it,
    /// and the run ends.
    Agents {
        /// How often the model is asked again at most, before the operator is asked.
        asks: u32,
    },
}

/// How calls of a tool are carried out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ToolConfig {
    /// Whether the operator is asked first, unless the policy says otherwise.
    pub approval: Approval,
    /// What carrying out a call means.
    pub nature: Nature,
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
