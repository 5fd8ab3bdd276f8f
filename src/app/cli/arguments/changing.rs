//! Arguments of commands that write: `fix`, `convert`, `export`.

use super::{ReadingArguments, actions, conversions, formats, json, rules};
use crate::cli::style::Color;
use clap::{Args, ValueEnum};
use retake_core::session::Dialect;
use serde_json::Value;
use std::path::PathBuf;

/// Arguments of `fix`.
#[derive(Debug, Args)]
pub struct FixArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Write the fixed recording here [default: standard output]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["in_place", "diff"])]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Fix the recording itself and keep the original as FILE.bak (or FILE.bak.2 and so on)
    #[arg(long, conflicts_with = "diff")]
    pub in_place: bool,
    /// Show what would change, and write nothing
    #[arg(long)]
    pub diff: bool,
    /// Also apply unsafe fixes to errors: those that change what the model saw or did
    #[arg(long = "unsafe")]
    pub unsafe_too: bool,
    /// Replace each key and password by a placeholder
    #[arg(long, conflicts_with = "in_place")]
    pub redact: bool,
    /// How to read and judge it.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

impl FixArguments {
    /// Whether the fixed recording goes to standard output.
    pub fn writes_to_stdout(&self) -> bool {
        self.output.is_none() && !self.in_place && !self.diff
    }
}

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// The dialect to write
    #[arg(long, value_name = "DIALECT", value_parser = conversions())]
    pub to: Dialect,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    pub force: bool,
    /// The session to convert: its label, or its number counted from 1 [default: the first active one]
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Write a request body, with model and tools where they are known, instead of the history alone
    #[arg(long)]
    pub request: bool,
    /// List every loss, not only the first of each kind
    #[arg(long)]
    pub losses: bool,
    /// Format of the losses on standard error (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LossFormat,
    /// Replace each key and password by a placeholder
    #[arg(long)]
    pub redact: bool,
    /// Read input in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    pub read_as: Option<String>,
    /// The tools that the agent was offered, for --request [default: FILE.tools.json beside FILE, where
    /// the recording has none]
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
}

impl ConvertArguments {
    /// How the recording is read.
    pub(in crate::cli) fn reading(&self) -> ReadingArguments {
        ReadingArguments {
            read_as: self.read_as.clone(),
            tools: self.tools.clone(),
            ..ReadingArguments::default()
        }
    }
}

/// Form of the losses of a conversion.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum LossFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// Arguments of `export`.
#[derive(Debug, Args)]
pub struct ExportArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// What the recovery becomes
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: ExportForm,
    /// The finding to recover from.
    #[command(flatten)]
    pub finding: FindingWish,
    /// What to do about it.
    #[command(flatten)]
    pub recovery: RecoveryWish,
    /// A take of the debugger instead, by its number: its action, with its words
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..), conflicts_with_all = ["session", "item", "rule", "action", "wording", "words", "value", "include_in_history"])]
    pub take: Option<u32>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Replace each key and password by a placeholder, as fixtures always do
    #[arg(long)]
    pub redact: bool,
    /// Keep secrets in a fixture
    #[arg(long, conflicts_with = "redact")]
    pub keep_secrets: bool,
    /// How to read and judge it.
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// What a recovery becomes outside of the debugger.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ExportForm {
    /// A Python module for openai-agents
    OpenaiAgents,
    /// An entry of a policy, in TOML
    Policy,
    /// A request that holds the recovery, for a regression test
    Fixture,
}

/// Which finding is recovered from: the first one that fits.
#[derive(Debug, Args)]
pub struct FindingWish {
    /// Only this session: its label, or its number counted from 1
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only findings about this item, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub item: Option<u32>,
    /// Only findings of this rule
    #[arg(long, value_name = "RULE", value_parser = rules())]
    pub rule: Option<String>,
}

/// What is done about a finding.
#[derive(Debug, Args)]
pub struct RecoveryWish {
    /// What to do [default: the first offer of the finding that can be exported]
    #[arg(long, value_name = "ACTION", value_parser = actions())]
    pub action: Option<String>,
    /// What the model reads, by the name of a wording
    #[arg(long, value_name = "NAME", conflicts_with = "words")]
    pub wording: Option<String>,
    /// What the model reads, as a template; or the text of an output that is supplied
    #[arg(long, value_name = "TEXT")]
    pub words: Option<String>,
    /// The value of a fallback
    #[arg(long, value_name = "JSON", value_parser = json)]
    pub value: Option<Value>,
    /// Include the fallback in the history that the model sees
    #[arg(long, requires = "value")]
    pub include_in_history: bool,
}
