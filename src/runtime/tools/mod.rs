//! The tools of a live run, each by its name: programs, answers of the agent file, recordings, the operator.

mod canned;
pub mod command;
mod equal;
pub mod mcp;
mod recorded;

pub use canned::Answer;
pub use command::{Facts, Keeper, Text, keep_if_asked};
pub use recorded::Recorded;

use crate::engine::Outcome;
use crate::session::ledger::Failure;
use command::CommandTool;
use std::collections::HashMap;
use std::sync::Arc;
use tokio_util::sync::CancellationToken;

/// What carries out a tool.
#[derive(Debug, Clone)]
pub enum Means {
    /// A program.
    Command(CommandTool),
    /// Answers that stand in the agent file.
    Canned(Vec<Answer>),
    /// A recording.
    Recorded(Recorded),
    /// A server.
    Mcp(Arc<mcp::Server>),
    /// The operator types the output.
    Operator,
}

/// The tools of a run.
#[derive(Debug)]
pub struct Toolbox {
    keeper: Keeper,
    tools: HashMap<String, Means>,
}

/// A call that is to be carried out.
#[derive(Debug, Clone, Copy)]
pub struct Call<'a> {
    /// The tool.
    pub tool: &'a str,
    /// Its arguments: JSON text, or free text of a custom tool.
    pub arguments: &'a str,
    /// The arguments of the calls of this tool that the history shows as carried out before, in its order: a recording answers only while
    /// they are its own.
    pub earlier: &'a [&'a str],
}

/// What came of a call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Called {
    /// It ended.
    Ended {
        /// What came of it.
        outcome: Outcome,
        /// What the operator should know beside it; it holds text from outside.
        notes: Vec<String>,
    },
    /// The operator has to answer: why, where that needs a word.
    NeedsOperator(String),
}

impl Toolbox {
    /// An empty one.
    pub fn new(keeper: Keeper) -> Self {
        Self {
            keeper,
            tools: HashMap::new(),
        }
    }

    /// Puts a tool in; one of the same name goes.
    pub fn put(&mut self, name: impl Into<String>, means: Means) {
        self.tools.insert(name.into(), means);
    }

    /// What carries out a tool; `None` where there is no such tool.
    pub fn means(&self, tool: &str) -> Option<&Means> {
        self.tools.get(tool)
    }

    /// Ends the servers. Programs end with the calls that run them.
    pub async fn stop(&self) {
        for means in self.tools.values() {
            if let Means::Mcp(server) = means {
                server.stop().await;
            }
        }
    }

    /// Carries out a call. `cancel` stops what runs; it ends soon afterwards, and says so. When the future is dropped, what runs is ended
    /// as well.
    pub async fn call(&self, call: Call<'_>, cancel: &CancellationToken) -> Called {
        match self.tools.get(call.tool) {
            Some(Means::Command(tool)) => {
                let ran = command::run(tool, &self.keeper, call.arguments, cancel).await;
                Called::Ended {
                    notes: ran.facts.notes(&ran.outcome),
                    outcome: ran.outcome,
                }
            }
            Some(Means::Canned(answers)) => {
                ended(canned::answer(call.tool, answers, call.arguments))
            }
            Some(Means::Recorded(recorded)) => {
                match recorded.answer(call.tool, call.earlier, call.arguments) {
                    Ok(outcome) => ended(outcome),
                    Err(note) => Called::NeedsOperator(note),
                }
            }
            Some(Means::Mcp(server)) => ended(server.call(call.tool, call.arguments, cancel).await),
            Some(Means::Operator) => Called::NeedsOperator(String::new()),
            None => ended(Outcome {
                output: format!("There is no tool named \"{}\" in this run.", call.tool),
                is_error: true,
                failure: Some(Failure::Unknown),
                ms: 0,
            }),
        }
    }
}

fn ended(outcome: Outcome) -> Called {
    Called::Ended {
        outcome,
        notes: Vec::new(),
    }
}
