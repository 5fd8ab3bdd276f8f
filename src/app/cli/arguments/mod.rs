//! The command line as clap reads it.

mod changing;
mod intercepting;
mod looking;
mod measuring;
mod running;
mod serving;

pub(super) use changing::{
    ConvertArguments, ExportArguments, ExportForm, FixArguments, LossFormat,
};
pub use intercepting::ProxyArguments;
pub(super) use looking::{
    CheckArguments, ExplainArguments, FailOn, LookArguments, OpenArguments, ReportFormat,
    ShowArguments,
};
pub(super) use measuring::{
    HealthArguments, LabArguments, LabFormat, LabLimits, LineFormat, SplitArguments, SplitWish,
    StopWish, TrialWish, WinnerForm,
};
pub(super) use running::RunArguments;
pub(super) use serving::{Delay, ReplayArguments, ScriptedArguments};

use super::help::TOPICS;
use super::style::Color;
use crate::tui::theme::Variant;
use clap::builder::{PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser};
use clap::{Arg, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand};
use clap_complete::Shell;
use retake_core::actions::ACTIONS;
use retake_core::formats::FORMATS;
use retake_core::rules::RULES;
use retake_core::session::Dialect;
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::path::PathBuf;

const AFTER_HELP: &str = "\
Exit codes: 0 clean, 1 findings at or above --fail-on or errors left by fix, 2 usage or nothing readable, 3 some input unreadable, 4 the model failed, 130 interrupted.
`retake help` lists the topics of the reference: keys, formats, proxy, policy and more.
A file that has the name of a command is opened as ./NAME.";

/// A terminal debugger for tool-calling agents: opens a recorded run, shows each turn, marks what is
/// broken, and fixes it.
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
#[allow(clippy::large_enum_variant)] // there is one of them in a run
pub enum Task {
    /// Report what is broken in recordings
    Check(CheckArguments),
    /// Print the transcript of a recording with its findings
    Show(ShowArguments),
    /// Apply all safe fixes to a copy of a recording
    Fix(FixArguments),
    /// Explain a rule, or decode a provider's error to the item that caused it
    Explain(ExplainArguments),
    /// Convert a recording to a provider's items or messages, and list what that loses
    Convert(ConvertArguments),
    /// Find where a history can be cut without separating what belongs together
    Split(SplitArguments),
    /// Report calls and error rates of each tool, and whether a circuit breaker would be open
    Health(HealthArguments),
    /// Export a recovery as framework code, as a policy entry or as a test fixture
    Export(ExportArguments),
    /// Run an agent under the debugger, which checks calls before they are executed
    Run(RunArguments),
    /// Sit between any agent and its model: check and record what passes, hold what would break the run
    Proxy(ProxyArguments),
    /// Compare wordings of an error message, by what the model does next
    Lab(LabArguments),
    /// Serve a scripted model on the loopback, in the dialects of OpenAI and Anthropic
    Scripted(ScriptedArguments),
    /// Serve the model turns of a recording, so that an agent runs again offline
    Replay(ReplayArguments),
    /// Print shell completions
    Completions(CompletionsArguments),
    /// Print the manual page
    Man,
    /// Show a topic of the reference, or the help of a command
    Help(HelpArguments),
}

/// How recordings are read and judged.
#[derive(Debug, Args, Default, Clone)]
pub struct ReadingArguments {
    /// Read input in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    pub read_as: Option<String>,
    /// The tools that the agent was offered: a request, an MCP tools/list, or a bare list [default:
    /// FILE.tools.json beside FILE, where the recording has none]
    #[arg(long, value_name = "FILE")]
    pub tools: Option<PathBuf>,
    /// The JSON Schema of the final output
    #[arg(long, value_name = "FILE")]
    pub output_schema: Option<PathBuf>,
    /// Judge for this provider's dialect; auto is that of the recording
    #[arg(long, value_name = "DIALECT", default_value = "auto", value_parser = dialects())]
    pub target: Target,
}

/// The dialect that recordings are judged for.
#[derive(Debug, Clone, Copy, Default)]
pub struct Target(pub Option<Dialect>);

/// Arguments of `completions`.
#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

/// Arguments of `help`.
#[derive(Debug, Args)]
pub struct HelpArguments {
    /// A topic or a command; without one, both are listed
    #[arg(value_parser = Pages, hide_possible_values = true)]
    pub topic: Option<String>,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// The command line. Where no report has a format, `--format` forces that of the input,
/// as `--as` does everywhere.
pub(in crate::cli) fn command() -> Command {
    let alias = |command: Command| command.mut_arg("read_as", |arg| arg.visible_alias("format"));
    alias(Arguments::command())
        .mut_subcommand("show", alias)
        .mut_subcommand("fix", alias)
        .mut_subcommand("explain", alias)
        .mut_subcommand("export", alias)
}

/// Reads the arguments of the process.
pub(in crate::cli) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Arguments, clap::Error> {
    Arguments::from_arg_matches(&command().try_get_matches_from(arguments)?)
}

/// Reads any word and completes topics: words of commands are known once the command line is built.
#[derive(Clone)]
struct Pages;

impl TypedValueParser for Pages {
    type Value = String;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<String, clap::Error> {
        StringValueParser::new().parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let topics = TOPICS.iter();
        Some(Box::new(topics.map(|topic| {
            PossibleValue::new(topic.name).help(topic.title)
        })))
    }
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

fn conversions() -> impl TypedValueParser<Value = Dialect> {
    let words = Dialect::ALL.map(Dialect::word);
    PossibleValuesParser::new(words).try_map(|word| Dialect::named(&word).ok_or("no such dialect"))
}

fn dialects() -> impl TypedValueParser<Value = Target> {
    let words = std::iter::once("auto").chain(Dialect::ALL.map(Dialect::word));
    PossibleValuesParser::new(words).map(|word| Target(Dialect::named(&word)))
}
fn rules() -> PossibleValuesParser {
    PossibleValuesParser::new(RULES.iter().map(|rule| rule.id))
}

fn actions() -> PossibleValuesParser {
    let actions = ACTIONS.iter();
    PossibleValuesParser::new(actions.map(|action| PossibleValue::new(action.id).help(action.what)))
}

fn json(text: &str) -> Result<Value, String> {
    serde_json::from_str(text).map_err(|error| format!("not JSON: {error}; a text needs quotes"))
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
