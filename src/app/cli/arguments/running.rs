//! Arguments of `run`.

use super::LookArguments;
use clap::Args;
use std::path::PathBuf;

/// Arguments of `run`.
#[derive(Debug, Args)]
pub struct RunArguments {
    /// The agent file, such as sessions/agents/flights.toml
    #[arg(value_name = "AGENT.toml")]
    pub agent: PathBuf,
    /// The user's first message; overrides the file
    #[arg(long, value_name = "TEXT")]
    pub input: Option<String>,
    /// The policy; overrides the file
    #[arg(long, value_name = "FILE")]
    pub policy: Option<PathBuf>,
    /// The file of the run's journal; without it a new one among the operator's own data
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Run without a screen: the policy decides, and events are printed as one JSON object a line
    #[arg(long)]
    pub headless: bool,
    /// Also stop here, even if nothing is wrong: `tool pay`, `turn 3`, `rule tool-error`, `arg .amount > 100`
    #[arg(long = "break", value_name = "PLACE", conflicts_with = "headless")]
    pub breakpoints: Vec<String>,
    /// Stop before each question to the model and before the tools of each reply
    #[arg(long, conflicts_with = "headless")]
    pub step: bool,
    /// Trust the agent file without asking
    #[arg(long)]
    pub trust: bool,
    /// How it looks.
    #[command(flatten)]
    pub look: LookArguments,
}
