//! Arguments of commands that look at recordings: the debugger, `check`, `show`, `explain`.

use super::{ReadingArguments, themes};
use crate::cli::style::Color;
use crate::tui::theme::Variant;
use clap::{Args, ValueEnum};
use retake_core::rules::Severity;
use std::path::PathBuf;

/// Arguments of the debugger.
#[derive(Debug, Args, Default)]
pub struct OpenArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// How the screen looks.
    #[command(flatten)]
    pub look: LookArguments,
    /// How to read and judge them.
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// How the screen looks.
#[derive(Debug, Clone, Args, Default)]
pub struct LookArguments {
    /// Colour theme [default: chosen from the environment]
    #[arg(long, value_name = "THEME", value_parser = themes())]
    pub theme: Option<Variant>,
    /// Only ASCII characters on the screen
    #[arg(long)]
    pub ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Format of the report (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: ReportFormat,
    /// The lowest severity that makes the exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t)]
    pub fail_on: FailOn,
    /// How to read and judge them.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// Form of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum ReportFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// JUnit XML, for test reports
    Junit,
    /// Workflow commands of GitHub Actions
    Github,
}

/// The mildest finding that makes the exit code 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum FailOn {
    /// Errors only
    #[default]
    Error,
    /// Errors and warnings
    Warning,
    /// Nothing: the exit code shows only whether everything could be read
    Never,
}

impl FailOn {
    /// Whether a finding of this severity makes the exit code 1.
    pub fn includes(self, severity: Severity) -> bool {
        match self {
            Self::Error => severity >= Severity::Error,
            Self::Warning => severity >= Severity::Warning,
            Self::Never => false,
        }
    }
}

/// Arguments of `show`.
#[derive(Debug, Args)]
pub struct ShowArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Only this session: its label, or its number counted from 1
    #[arg(long, value_name = "SESSION")]
    pub session: Option<String>,
    /// Only this turn, counted from 1
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub turn: Option<u32>,
    /// Print texts in full
    #[arg(long)]
    pub full: bool,
    /// Replace each key and password by a placeholder
    #[arg(long)]
    pub redact: bool,
    /// How to read and judge it.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// A rule; without one the rules are listed. With --error: the recording that was refused,
    /// - for standard input
    #[arg(value_name = "RULE|PATH")]
    pub subject: Option<PathBuf>,
    /// The text of a provider's refusal, - for standard input: finds the item that caused it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub error: Option<String>,
    /// How to read and judge the recording.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}
