//! Arguments of commands that count and measure: `split`, `health`, `lab`.

use super::{ReadingArguments, formats, rules};
use crate::cli::style::Color;
use clap::{Args, ValueEnum};
use std::path::PathBuf;

/// Form of what `split` and `health` print.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum LineFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

/// Arguments of `split`.
#[derive(Debug, Args)]
pub struct SplitArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// The question.
    #[command(flatten)]
    pub wish: SplitWish,
    /// Format of the answer (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// Read input in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    pub read_as: Option<String>,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// The question to `split`: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct SplitWish {
    /// Keep at least the last N items
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Keep at least the last N turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_turns: Option<u32>,
    /// Check the cut before this item, counted from 1: it would be the first one kept
    #[arg(long, value_name = "ITEM", value_parser = clap::value_parser!(u32).range(1..))]
    pub at: Option<u32>,
    /// Check the cut that made this recording out of PATH
    #[arg(long, value_name = "AFTER")]
    pub against: Option<PathBuf>,
}

/// Arguments of `health`.
#[derive(Debug, Args)]
pub struct HealthArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Format of the table (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// How to read and judge them.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// Arguments of `lab`.
#[derive(Debug, Args)]
pub struct LabArguments {
    /// A spec (its name ends in .toml), or a recording, whose findings are tried with --model
    #[arg(value_name = "SPEC.toml|PATH")]
    pub path: PathBuf,
    /// Format of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LabFormat,
    /// Print the best wording in this form instead of the report
    #[arg(long, value_enum, value_name = "FORM", conflicts_with = "dry_run")]
    pub winner: Option<WinnerForm>,
    /// The trial to take it from, counted from 1
    #[arg(long = "trial", value_name = "N", default_value_t = 1, requires = "winner", value_parser = clap::value_parser!(u32).range(1..))]
    pub trial_number: u32,
    /// List findings, wordings and the number of requests, and send none
    #[arg(long, conflicts_with = "format")]
    pub dry_run: bool,
    /// What is tried on a recording.
    #[command(flatten)]
    pub trial: TrialWish,
    /// What the spec says otherwise.
    #[command(flatten)]
    pub limits: LabLimits,
    /// Exit with 1 if an assertion of the spec fails
    #[arg(long, conflicts_with = "dry_run")]
    pub assert: bool,
    /// Treat undecided assertions as failures
    #[arg(long, requires = "assert")]
    pub strict: bool,
    /// The folder of the journals [default: one of the experiment's name among the operator's own data]
    #[arg(long, value_name = "FOLDER")]
    pub journals: Option<PathBuf>,
    /// Start again instead of continuing an experiment of this name
    #[arg(long)]
    pub fresh: bool,
    /// Do not ask before recordings and keys are sent
    #[arg(long)]
    pub trust: bool,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
    /// Only ASCII characters in bars and marks
    #[arg(long)]
    pub ascii: bool,
}

/// What is tried on a recording; a spec says it by itself.
#[derive(Debug, Args)]
pub struct TrialWish {
    /// An agent file with the model, or a script; each of several is asked
    #[arg(long = "model", value_name = "FILE")]
    pub models: Vec<PathBuf>,
    /// Only this session, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub session: Option<u32>,
    /// Only findings about this item, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub item: Option<u32>,
    /// Only findings of this rule
    #[arg(long, value_name = "RULE", value_parser = rules())]
    pub rule: Option<String>,
    /// The tool that was meant [default: the nearest name on offer]
    #[arg(long, value_name = "TOOL")]
    pub meant: Option<String>,
    /// Only this wording, besides the recorded one [default: all for the kind of the finding]
    #[arg(long = "wording", value_name = "NAME")]
    pub wordings: Vec<String>,
    /// The tools that the agent was offered [default: FILE.tools.json beside FILE, where
    /// the recording has none]
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
}

impl TrialWish {
    /// The first argument that only a recording takes, where there is one.
    pub fn first_given(&self) -> Option<&'static str> {
        let given = [
            ("--model", !self.models.is_empty()),
            ("--session", self.session.is_some()),
            ("--item", self.item.is_some()),
            ("--rule", self.rule.is_some()),
            ("--meant", self.meant.is_some()),
            ("--wording", !self.wordings.is_empty()),
            ("--tools", self.tools.is_some()),
        ];
        let mut given = given.into_iter();
        Some(given.find(|(_, is_given)| *is_given)?.0)
    }
}

/// What wins over the spec.
#[derive(Debug, Args)]
pub struct LabLimits {
    /// The most samples of each wording
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub samples: Option<u32>,
    /// When a trial ends before that
    #[arg(long, value_enum, value_name = "WHEN")]
    pub stop: Option<StopWish>,
    /// The most requests in all
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub max_requests: Option<u32>,
    /// The most tokens in all, input and output
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..))]
    pub max_tokens: Option<u64>,
    /// The most concurrent requests
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub concurrency: Option<u32>,
    /// The seed of the order of the wordings
    #[arg(long, value_name = "N")]
    pub seed: Option<u64>,
}

/// Form of the lab's report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum LabFormat {
    /// For people: bars with their intervals
    #[default]
    Text,
    /// One JSON object a line: every sample, then the totals
    Json,
    /// One row for each trial and wording
    Csv,
    /// A self-contained page without scripts
    Html,
}

/// What the best wording becomes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum WinnerForm {
    /// An entry of a policy, in TOML
    Policy,
    /// A Python module for openai-agents
    OpenaiAgents,
    /// A spec with an assertion, for `retake lab --assert`
    Spec,
}

/// When a trial ends before its last sample.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum StopWish {
    /// When one wording is clearly the best
    Clear,
    /// Not at all
    Never,
}
