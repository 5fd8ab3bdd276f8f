//! The command line as clap reads it. Only what works stands here.

use super::style::Color;
use crate::formats::FORMATS;
use crate::formats::convert::To;
use crate::rules::Severity;
use crate::session::Dialect;
use crate::tui::theme::Variant;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};
use clap::{Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum};
use clap_complete::Shell;
use std::ffi::OsString;
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes: 0 clean, 1 findings at or above --fail-on, 2 usage or nothing readable, 3 some input unreadable, 130 interrupted.
A file that has the name of a command is opened as ./NAME.";

/// A terminal debugger for tool-calling agents: opens a recorded run, shows each turn, and marks what is broken.
#[derive(Debug, Parser)]
#[command(
    name = "retake",
    version,
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = AFTER_HELP
)]
pub struct Arguments {
    /// What to do; without a command the debugger opens.
    #[command(subcommand)]
    pub command: Option<Task>,
    /// What to open.
    #[command(flatten)]
    pub open: OpenArguments,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Task {
    /// Report what is broken in recordings
    Check(CheckArguments),
    /// Print the transcript of a recording with its findings
    Show(ShowArguments),
    /// Apply what is safe of that which the rules offer, to a copy
    Fix(FixArguments),
    /// Find where a recording can be cut without splitting what belongs together
    Split(SplitArguments),
    /// Tell how each tool fares: calls, errors, rates, and whether a circuit breaker would be open
    Health(HealthArguments),
    /// Write a recording as the items or messages of a provider; what that loses is listed
    Convert(ConvertArguments),
    /// Tell what a rule finds, or decode a provider's error to the item that caused it
    Explain(ExplainArguments),
    /// Print the completions of a shell
    Completions(CompletionsArguments),
    /// Print the manual page
    Man,
}

/// How recordings are read and judged.
#[derive(Debug, Args, Default, Clone)]
pub struct ReadingArguments {
    /// Read input in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    pub read_as: Option<String>,
    /// The tools that the agent was offered: a request, an MCP tools/list, or a bare list [default: FILE.tools.json beside FILE, where the recording has none]
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// The JSON Schema that the final output has to satisfy
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Judge for this provider's dialect; auto is that of the recording
    #[arg(long, value_name = "DIALECT", default_value = "auto", value_parser = dialects())]
    pub target: Target,
}

/// The dialect that recordings are judged for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Target(pub Option<Dialect>);

/// Arguments of the debugger.
#[derive(Debug, Args, Default)]
pub struct OpenArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Colours that fit the terminal; chosen from the environment if not given
    #[arg(long, value_name = "THEME", value_parser = themes())]
    pub theme: Option<Variant>,
    /// Only ASCII characters on the screen
    #[arg(long)]
    pub ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// How to read and judge them.
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// Arguments of `check`.
#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Form of the report (to force the format of the input use --as)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: ReportFormat,
    /// The mildest finding that makes the exit code 1
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
    /// Nothing: the exit code tells whether everything could be read
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
    /// Whole texts, however long they are
    #[arg(long)]
    pub full: bool,
    /// How to read and judge it.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// Arguments of `fix`.
#[derive(Debug, Args)]
pub struct FixArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Write the fixed recording here [default: standard output]
    #[arg(short, long, value_name = "FILE", conflicts_with_all = ["in_place", "diff"])]
    pub output: Option<PathBuf>,
    /// Replace a file that is there
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Fix the recording itself, and keep it as it was in FILE.bak
    #[arg(long, conflicts_with = "diff")]
    pub in_place: bool,
    /// Write nothing, show what would change
    #[arg(long)]
    pub diff: bool,
    /// Apply unsafe offers, too: those that change what the model saw or did
    #[arg(long = "unsafe")]
    pub unsafe_too: bool,
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
    /// What is asked.
    #[command(flatten)]
    pub wish: SplitWish,
    /// Form of the answer (to force the format of the input use --as)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// Read input in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    pub read_as: Option<String>,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// What `split` is asked: one of these.
#[derive(Debug, Args)]
#[group(required = true, multiple = false)]
pub struct SplitWish {
    /// Keep at least the last N items
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep: Option<u32>,
    /// Keep at least the last N turns
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub keep_turns: Option<u32>,
    /// Judge the cut before this item, counted from 1, which would be the first that is kept
    #[arg(long, value_name = "ITEM", value_parser = clap::value_parser!(u32).range(1..))]
    pub at: Option<u32>,
    /// Judge the cut that made this recording out of PATH
    #[arg(long, value_name = "AFTER")]
    pub against: Option<PathBuf>,
}

/// Arguments of `health`.
#[derive(Debug, Args)]
pub struct HealthArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Form of the table (to force the format of the input use --as)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// How to read and judge them.
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// Arguments of `explain`.
#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// A rule; without one the rules are listed. With --error: the recording that was refused, - for standard input
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

/// Arguments of `convert`.
#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// The dialect to write
    #[arg(long, value_name = "DIALECT", value_parser = conversions())]
    pub to: To,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Replace the output file if it is there
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
    /// Form of the losses on standard error (to force the format of the input use --as)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LossFormat,
    /// Read input in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    pub read_as: Option<String>,
    /// The tools that the agent was offered, for --request [default: FILE.tools.json beside FILE, where the recording has none]
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
}

impl ConvertArguments {
    /// How the recording is read.
    pub(super) fn reading(&self) -> ReadingArguments {
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

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// The command line. Where no report has a format, `--format` forces that of the input, as `--as` does everywhere.
pub(super) fn command() -> Command {
    let alias = |command: Command| command.mut_arg("read_as", |arg| arg.visible_alias("format"));
    alias(Arguments::command())
        .mut_subcommand("show", alias)
        .mut_subcommand("fix", alias)
        .mut_subcommand("explain", alias)
}

/// Reads the arguments of the process.
pub(super) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Arguments, clap::Error> {
    Arguments::from_arg_matches(&command().try_get_matches_from(arguments)?)
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        FORMATS
            .iter()
            .map(|format| PossibleValue::new(format.id).help(format.title)),
    )
}

fn themes() -> impl TypedValueParser<Value = Variant> {
    let words = Variant::ALL.iter().map(|(_, word)| *word);
    PossibleValuesParser::new(words).map(|word| {
        let chosen = Variant::ALL.iter().find(|(_, known)| *known == word);
        chosen.map_or(Variant::Ansi16, |(variant, _)| *variant)
    })
}

fn conversions() -> impl TypedValueParser<Value = To> {
    let words = To::ALL.iter().map(|to| to.dialect().word());
    PossibleValuesParser::new(words).try_map(|word| {
        let mut all = To::ALL.into_iter();
        all.find(|to| to.dialect().word() == word)
            .ok_or("no such dialect")
    })
}

fn dialects() -> impl TypedValueParser<Value = Target> {
    let words = std::iter::once("auto").chain(Dialect::ALL.iter().map(|(_, word)| *word));
    PossibleValuesParser::new(words).map(|word| {
        let chosen = Dialect::ALL.iter().find(|(_, known)| *known == word);
        Target(chosen.map(|(dialect, _)| *dialect))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_consistent() {
        command().debug_assert();
    }

    #[test]
    fn a_path_opens_and_a_command_commands() {
        let parse = |words: &[&str]| super::parse(words.iter().map(OsString::from)).unwrap();
        let open = parse(&[
            "retake",
            "a.json",
            "--target",
            "chat",
            "--format",
            "openai-chat",
        ]);
        assert!(open.command.is_none());
        assert_eq!(open.open.paths, [PathBuf::from("a.json")]);
        assert_eq!(open.open.reading.target.0, Some(Dialect::Chat));
        assert_eq!(open.open.reading.read_as.as_deref(), Some("openai-chat"));
        assert!(matches!(
            parse(&["retake", "check", "-"]).command,
            Some(Task::Check(_))
        ));
    }
}
