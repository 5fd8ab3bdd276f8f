//! The command line as clap reads it.

use super::style::Color;
use crate::page::PageForm;
use crate::tui::View;
use crate::tui::theme::Variant;
use clap::builder::{
    PathBufValueParser, PossibleValue, PossibleValuesParser, StringValueParser, TypedValueParser,
};
use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{
    Arg, ArgAction, Args, Command, CommandFactory, FromArgMatches, Parser, Subcommand, ValueEnum,
};
use clap_complete::Shell;
use retake_core::actions::ACTIONS;
use retake_core::formats::FORMATS;
use retake_core::formats::convert::AgentProgram;
use retake_core::rules::{RULES, Severity};
use retake_core::session::Dialect;
use retake_live::proxy::{USUAL_ASKS, Upstream};
use serde_json::Value;
use std::ffi::{OsStr, OsString};
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::LazyLock;

const AFTER_HELP: &str = "\
Exit codes: 0 clean, 1 findings at or above --fail-on or errors left by fix, 2 usage or nothing readable, 3 some input unreadable, 4 the model failed, 130 interrupted.
`retake help` lists the topics of the reference: keys, formats, proxy, policy and more.
A file that has the name of a command is opened as ./NAME.";

/// The version with what was built: the commit, where the builder names it in `RETAKE_COMMIT`, and the features.
static VERSION: LazyLock<String> = LazyLock::new(|| {
    let commit = option_env!("RETAKE_COMMIT").unwrap_or("local build");
    let features = [
        (cfg!(feature = "images"), ", images"),
        (cfg!(feature = "tables"), ", tables"),
        (cfg!(feature = "query"), ", query"),
    ];
    let features = features.into_iter().filter(|(is_built, _)| *is_built);
    let features: String = features.map(|(_, name)| name).collect();
    format!("{} ({commit}{features})", env!("CARGO_PKG_VERSION"))
});

/// A terminal debugger for tool-calling agents: opens a recorded run, shows each turn, marks what is
/// broken, and fixes it.
#[derive(Debug, Parser)]
#[command(
    name = "retake",
    version = VERSION.as_str(),
    max_term_width = 100,
    args_conflicts_with_subcommands = true,
    disable_help_subcommand = true,
    after_help = AFTER_HELP
)]
pub struct Arguments {
    #[command(subcommand)]
    pub command: Option<Task>,
    #[command(flatten)]
    pub open: OpenArguments,
}

/// The commands.
#[derive(Debug, Subcommand)]
#[allow(clippy::large_enum_variant)] // there is one of them in a run
pub enum Task {
    /// List recordings, the newest first: of the current folder, of agents and of retake, unless paths are given
    List(ListArguments),
    /// Report what is broken in recordings
    Check(CheckArguments),
    /// Print the transcript of a recording with its findings
    Show(ShowArguments),
    /// List the takes of a recording: what was tried in the debugger, and what came of it
    Takes(TakesArguments),
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
    /// Find the sessions that agents keep on this machine, say which of them cannot go on, and heal them
    Doctor(DoctorArguments),
    /// Report where tokens and time went: by tool, by turn, the largest results
    Usage(UsageArguments),
    /// Run SQL over the sessions, items, calls and findings of recordings
    Query(QueryArguments),
    /// Print the settings of the screen, and where each came from
    Config(ConfigArguments),
    /// Export a recovery as code, as a policy entry or as a test fixture; a transcript as HTML or Markdown
    Export(ExportArguments),
    /// Run an agent under the debugger, which checks calls before they are executed
    Run(RunArguments),
    /// Sit between any agent and its model: check and record what passes, hold what would break the run
    Proxy(ProxyArguments),
    /// Compare wordings of an error message, by what the model does next
    Lab(LabArguments),
    /// Serve a scripted model on the loopback, in the dialects of OpenAI, Anthropic, Gemini and Bedrock Converse
    Scripted(ScriptedArguments),
    /// Serve the model turns of a recording, so that an agent runs again offline
    Replay(ReplayArguments),
    /// Serve these commands as tools of an MCP server, so that an agent can debug recorded runs
    McpServe(McpServeArguments),
    /// Print what a coding agent has to know to debug with retake: a skill, or lines for AGENTS.md
    Skill(SkillArguments),
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

#[derive(Debug, Args)]
pub struct CompletionsArguments {
    /// The shell
    #[arg(value_enum)]
    pub shell: Shell,
}

#[derive(Debug, Args)]
pub struct SkillArguments {
    /// What is printed
    #[arg(value_enum, default_value_t)]
    pub form: SkillForm,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum SkillForm {
    /// A SKILL.md, such as ~/.claude/skills/retake/SKILL.md
    #[default]
    Skill,
    /// Lines for the AGENTS.md of a project
    AgentsMd,
}

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

/// Reads the arguments of the process. Options before a command are its own.
pub(in crate::cli) fn parse(
    arguments: impl IntoIterator<Item = OsString>,
) -> Result<Arguments, clap::Error> {
    let mut arguments: Vec<OsString> = arguments.into_iter().collect();
    let mut command = command();
    let begins_with_option = |word: &OsString| word.to_string_lossy().starts_with('-');
    if arguments.get(1).is_some_and(begins_with_option)
        && let Some(at) = command_after_options(&command, &arguments)
    {
        arguments[1..=at].rotate_right(1);
    }
    let given = arguments.get(1).cloned().unwrap_or_default();
    let matches = command.try_get_matches_from_mut(arguments);
    Arguments::from_arg_matches(&matches.map_err(|error| {
        let subcommand = command.get_subcommands().find(|it| given == *it.get_name());
        with_own_tips(error, subcommand)
    })?)
}

/// Whether a command takes one path and nothing else without an option.
fn takes_one_file(command: &Command) -> bool {
    let mut places = command.get_positionals();
    let only = places.next().filter(|_| places.next().is_none());
    let is_path = |it: &Arg| {
        let names = it.get_value_names().unwrap_or_default();
        matches!(it.get_action(), ArgAction::Set) && names.iter().any(|it| *it == "PATH")
    };
    only.is_some_and(is_path)
}

/// An unknown option is hardly ever meant as a path: instead of `--` the answer names the help of the command. A second
/// file for one that takes one is named as that.
fn with_own_tips(mut error: clap::Error, command: Option<&Command>) -> clap::Error {
    if error.kind() == ErrorKind::ValueValidation {
        return in_plain_words(error);
    }
    if error.kind() != ErrorKind::UnknownArgument {
        return error;
    }
    let mut tips = match error.remove(ContextKind::Suggested) {
        Some(ContextValue::StyledStrs(tips)) => tips,
        _ => Vec::new(),
    };
    tips.retain(|tip| !tip.to_string().starts_with("to pass "));
    let unknown = error.get(ContextKind::InvalidArg).map(ToString::to_string);
    let is_file = unknown.is_some_and(|it| !it.starts_with('-'));
    match command {
        Some(command) if is_file && takes_one_file(command) => {
            tips = vec![format!("`retake {}` takes one file", command.get_name()).into()];
        }
        _ if tips.is_empty() && error.get(ContextKind::SuggestedArg).is_none() => {
            let help = command.map_or_else(
                || "retake --help".to_owned(),
                |command| format!("retake help {}", command.get_name()),
            );
            tips.push(format!("`{help}` lists the options").into());
        }
        _ => {}
    }
    if !tips.is_empty() {
        error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    }
    error
}

/// A value that is no number or no address: the parsers of the standard library say it in words of their own.
fn in_plain_words(error: clap::Error) -> clap::Error {
    let parser = std::error::Error::source(&error).map(ToString::to_string);
    let wanted = match parser.as_deref() {
        Some("invalid digit found in string") => "not a whole number from 0",
        Some("invalid float literal") => "not a number",
        Some("invalid socket address syntax") => "not an address such as 127.0.0.1:8484",
        _ => return error,
    };
    let text = |kind| error.get(kind).map(ToString::to_string);
    let (Some(value), Some(option)) = (
        text(ContextKind::InvalidValue),
        text(ContextKind::InvalidArg),
    ) else {
        return error;
    };
    let message = format!("invalid value '{value}' for '{option}': {wanted}\n");
    clap::Error::raw(ErrorKind::ValueValidation, message)
}

/// Where the command is, if only options with their values come before it.
fn command_after_options(command: &Command, arguments: &[OsString]) -> Option<usize> {
    let is_command = |word: &OsString| command.get_subcommands().any(|it| word == it.get_name());
    let at = arguments.iter().position(is_command)?;
    let before = &arguments[..at];
    let matches = command.clone().try_get_matches_from(before).ok()?;
    let is_path = before.iter().any(|word| word == "--") || matches.contains_id("paths");
    (!is_path).then_some(at)
}

/// A page of the reference.
pub(super) struct Topic {
    pub(super) name: &'static str,
    pub(super) title: &'static str,
    pub(super) text: &'static str,
}

macro_rules! topics {
    ($($name:literal: $title:literal,)*) => {
        &[$(Topic {
            name: $name,
            title: $title,
            text: include_str!(concat!("../../help/", $name, ".md")),
        }),*]
    };
}

/// The topics, in the order in which `retake help` lists them.
pub(in crate::cli) const TOPICS: &[Topic] = topics! {
    "keys": "every key of the debugger",
    "filters": "the words and fields of `/` and `f`",
    "config": "theme, keys and lists: the file of settings",
    "formats": "formats that retake reads and writes",
    "recovery": "fix a run: recoveries, takes, `fix`, `export`",
    "wording": "the templates of error messages, and your own",
    "run": "run an agent under the debugger",
    "agent-file": "the file that describes an agent",
    "policy": "recover without asking: policies, breakers, retries",
    "proxy": "put retake between any agent and its model",
    "lab": "measure which error message helps the model",
    "chaos": "inject faults to test an agent's error handling",
    "scripted": "serve a model scripted in a file",
    "replay": "serve a recording as the model, offline",
    "mcp": "let another agent debug: retake as an MCP server",
    "library": "check and heal histories from Python and Node",
    "split": "find where a history can be cut",
    "health": "error rates of tools",
    "doctor": "heal sessions that agents cannot resume",
    "json": "the JSON that commands print",
    "tables": "tables of sessions, calls and findings for DuckDB, Polars, Spark",
    "query": "SQL over the same tables",
    "exit-codes": "exit codes of every command",
    "privacy": "stored files, and how secrets are kept out of them",
    "limits": "what retake does not do",
};

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

/// Reads any word and completes the names of rules.
#[derive(Clone)]
struct RulesOf<P>(P);

impl<P: TypedValueParser> TypedValueParser for RulesOf<P> {
    type Value = P::Value;

    fn parse_ref(
        &self,
        command: &Command,
        argument: Option<&Arg>,
        value: &OsStr,
    ) -> Result<P::Value, clap::Error> {
        self.0.parse_ref(command, argument, value)
    }

    fn possible_values(&self) -> Option<Box<dyn Iterator<Item = PossibleValue> + '_>> {
        let rules = retake_core::rules::all();
        Some(Box::new(rules.map(|rule| PossibleValue::new(rule.id))))
    }
}

fn formats() -> PossibleValuesParser {
    PossibleValuesParser::new(
        FORMATS
            .iter()
            .map(|format| PossibleValue::new(format.id).help(format.title)),
    )
}

/// A theme; `None` is the one that suits the environment.
#[derive(Debug, Clone, Copy)]
pub struct ThemeChoice(pub Option<Variant>);

fn themes() -> impl TypedValueParser<Value = ThemeChoice> {
    let words = Variant::ALL.iter().map(|(_, word)| *word);
    PossibleValuesParser::new(["auto"].into_iter().chain(words)).map(|word| {
        let chosen = Variant::ALL.iter().find(|(_, known)| *known == word);
        ThemeChoice(chosen.map(|(variant, _)| *variant))
    })
}

fn views() -> impl TypedValueParser<Value = View> {
    let words = View::ALL.iter().map(|(_, word)| *word);
    PossibleValuesParser::new(words).try_map(|word| {
        let chosen = View::ALL.iter().find(|(_, known)| *known == word);
        chosen.map(|(view, _)| *view).ok_or("no such view")
    })
}

/// What a recording can be converted to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConvertTarget {
    Dialect(Dialect),
    Agent(AgentProgram),
}

impl ConvertTarget {
    pub(in crate::cli) fn word(self) -> &'static str {
        match self {
            Self::Dialect(dialect) => dialect.word(),
            Self::Agent(agent) => agent.word(),
        }
    }
}

fn conversions() -> impl TypedValueParser<Value = ConvertTarget> {
    let dialects = Dialect::ALL.map(|dialect| {
        let facts = dialect.facts();
        let value = PossibleValue::new(dialect.word()).help(facts.history_title);
        value.alias(facts.format)
    });
    let agents =
        AgentProgram::ALL.map(|agent| PossibleValue::new(agent.word()).help(agent.title()));
    PossibleValuesParser::new(dialects.into_iter().chain(agents)).try_map(|word| {
        let agent = || AgentProgram::named(&word).map(ConvertTarget::Agent);
        let has_format = |dialect: &Dialect| dialect.facts().format == word;
        let dialect = Dialect::named(&word).or_else(|| Dialect::ALL.into_iter().find(has_format));
        let dialect = dialect.map(ConvertTarget::Dialect);
        dialect.or_else(agent).ok_or("no such target")
    })
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

// Arguments of commands that write: `fix`, `convert`, `export`.

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
    #[arg(long, visible_alias = "dry-run", overrides_with = "diff")]
    pub diff: bool,
    /// Also apply unsafe fixes to errors: those that change what the model saw or did
    #[arg(long = "unsafe", conflicts_with_all = ["action", "wording", "words", "value"])]
    pub unsafe_too: bool,
    #[command(flatten)]
    pub finding: FindingWish,
    #[command(flatten)]
    pub recovery: RecoveryWish,
    /// Replace each key and password by a placeholder
    #[arg(long, conflicts_with = "in_place")]
    pub redact: bool,
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

#[derive(Debug, Args)]
pub struct ConvertArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// What to write: the history in a dialect, or a session that an agent goes on from
    #[arg(long, value_name = "TARGET", value_parser = conversions())]
    pub to: ConvertTarget,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Write the session into the agent's own store
    #[arg(long, conflicts_with = "output")]
    pub install: bool,
    /// The folder in which the agent resumes the session [default: the current one]
    #[arg(long, value_name = "DIR")]
    pub cwd: Option<PathBuf>,
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
    pub format: LineFormat,
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

#[derive(Debug, Args)]
pub struct ExportArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// What the recovery or the transcript becomes
    #[arg(long, value_enum, value_name = "FORM")]
    pub to: ExportForm,
    #[command(flatten)]
    pub finding: FindingWish,
    #[command(flatten)]
    pub recovery: RecoveryWish,
    /// A take of the debugger instead, by its number: its action, with its words
    #[arg(
        long,
        value_name = "N",
        value_parser = clap::value_parser!(u32).range(1..),
        conflicts_with_all = [
            "session", "item", "rule", "action", "wording", "words", "value", "include_in_history"
        ]
    )]
    pub take: Option<u32>,
    /// Write to this file instead of standard output
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<PathBuf>,
    /// Overwrite an existing file
    #[arg(long, requires = "output")]
    pub force: bool,
    /// Replace each key and password by a placeholder, as fixtures and pages always do
    #[arg(long)]
    pub redact: bool,
    /// Keep secrets in a fixture or a page
    #[arg(long, conflicts_with = "redact")]
    pub keep_secrets: bool,
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// What a recovery or a session becomes outside of the debugger.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ExportForm {
    Recovery(RecoveryForm),
    Page(PageForm),
}

impl ValueEnum for ExportForm {
    fn value_variants<'a>() -> &'a [Self] {
        &[
            Self::Recovery(RecoveryForm::OpenaiAgents),
            Self::Recovery(RecoveryForm::Policy),
            Self::Recovery(RecoveryForm::Fixture),
            Self::Page(PageForm::Html),
            Self::Page(PageForm::Markdown),
        ]
    }

    fn to_possible_value(&self) -> Option<PossibleValue> {
        match self {
            Self::Recovery(form) => form.to_possible_value(),
            Self::Page(form) => {
                let value = PossibleValue::new(form.word()).help(form.title());
                // As its files end.
                Some(value.alias(form.ending().trim_start_matches('.')))
            }
        }
    }
}

/// A form of a recovery.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum RecoveryForm {
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
#[derive(Debug, Default, Args)]
pub struct RecoveryWish {
    /// What to do, instead of everything that is safe, or of the first offer that can be exported
    #[arg(long, value_name = "ACTION", value_parser = actions())]
    pub action: Option<String>,
    /// What the model reads, by the name of a wording
    #[arg(long, value_name = "NAME", conflicts_with = "words")]
    pub wording: Option<String>,
    /// What the model reads, as a template; or the text of an output that is supplied
    #[arg(long, value_name = "TEXT")]
    pub words: Option<String>,
    /// The value of a fallback; for edit the new arguments of a call, or the new text of a result
    #[arg(long, value_name = "JSON", value_parser = json)]
    pub value: Option<Value>,
    /// Include the fallback in the history that the model sees
    #[arg(long, requires = "value")]
    pub include_in_history: bool,
}

// Arguments of `proxy`.

#[derive(Debug, Args)]
pub struct ProxyArguments {
    /// Provider: the base URL that the agent used before, such as https://api.openai.com. Each upstream
    /// gets its own listener
    #[arg(long, value_name = "[NAME=]URL", required = true, value_parser = Upstream::parse)]
    pub upstream: Vec<Upstream>,
    /// Where to listen; further upstreams use the following ports; port 0 takes any free one [default:
    /// 127.0.0.1:8484, or the next port that is free]
    #[arg(long, value_name = "ADDR")]
    pub listen: Option<SocketAddr>,
    /// Let other machines connect; every path then begins with a token, which is printed
    #[arg(long)]
    pub allow_remote: bool,
    /// A name, besides localhost, by which agents may address this machine
    #[arg(long = "host-name", value_name = "NAME")]
    pub host_names: Vec<String>,
    /// Do not verify the certificate of this host
    #[arg(long = "insecure-upstream", value_name = "HOST")]
    pub insecure: Vec<String>,
    /// The policy, which decides without asking
    #[arg(long, value_name = "FILE", conflicts_with = "chaos")]
    pub policy: Option<PathBuf>,
    /// Also hold here, even if nothing is wrong: `tool pay`, `turn 3`, `rule tool-error`, `arg .amount > 100`
    #[arg(long = "break", value_name = "PLACE", conflicts_with_all = ["headless", "chaos"])]
    pub breakpoints: Vec<String>,
    /// Run without a screen: the policy decides, and events are printed as one JSON object a line
    #[arg(long)]
    pub headless: bool,
    /// Inject faults to test the agent's error handling; with CMD the agent is started anew for each, and the
    /// exit code shows whether it survived
    #[arg(long, value_name = "SPEC")]
    pub chaos: Option<PathBuf>,
    /// Format of the fault report
    #[arg(
        long,
        value_enum,
        value_name = "FORMAT",
        default_value_t,
        requires = "chaos"
    )]
    pub format: LineFormat,
    /// The file of the proxy's journal, or with --chaos and CMD the folder of its journals; without it a
    /// new one among the operator's own data. A file that is there is left as it is: the journal gets a
    /// number, as in FILE-2.jsonl
    #[arg(long, value_name = "FILE")]
    pub journal: Option<PathBuf>,
    /// Hold nothing: watch and record only
    #[arg(long)]
    pub no_intercept: bool,
    /// Pass requests that the provider would refuse
    #[arg(long)]
    pub pass_requests: bool,
    /// The most retries for one exchange
    #[arg(long, value_name = "N", default_value_t = USUAL_ASKS)]
    pub max_asks: u32,
    /// The file that the command's output goes to as it comes
    #[arg(
        long,
        value_name = "FILE",
        requires = "command",
        conflicts_with = "chaos"
    )]
    pub output: Option<PathBuf>,
    #[command(flatten)]
    pub look: LookArguments,
    /// The agent to start with the proxy, pointed at it; it ends when retake ends
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

// Arguments of commands that look at recordings: the debugger, `check`, `show`, `explain`.

#[derive(Debug, Args, Default)]
pub struct OpenArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    #[command(flatten)]
    pub look: LookArguments,
    #[command(flatten)]
    pub reading: ReadingArguments,
}

/// How the screen looks.
#[derive(Debug, Clone, Args, Default)]
pub struct LookArguments {
    /// Colour theme; auto chooses one from the environment [default: that of config.toml, else auto]
    #[arg(long, value_name = "THEME", value_parser = themes())]
    pub theme: Option<ThemeChoice>,
    /// How a history is shown at first [default: flow; columns for the exchanges of a proxy]
    #[arg(long, value_name = "VIEW", value_parser = views())]
    pub view: Option<View>,
    /// Prices of models that add to the built-in ones or override them: TOML, `[models] NAME = { input, output, .. }`
    /// in US dollars per million tokens
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// Only ASCII characters on the screen
    #[arg(long)]
    pub ascii: bool,
    /// Leave the mouse to the terminal
    #[arg(long)]
    pub no_mouse: bool,
    /// The file of settings (`retake help config`)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct CheckArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Format of the report (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: ReportFormat,
    /// The folder that the tables are written to; those that it holds are gone on with
    #[arg(long, short, value_name = "FOLDER")]
    pub output: Option<PathBuf>,
    /// The lowest severity that makes the exit code 1
    #[arg(long, value_enum, value_name = "SEVERITY", default_value_t)]
    pub fail_on: FailOn,
    /// Report only the findings of these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = RulesOf(StringValueParser::new()), hide_possible_values = true)]
    pub only: Vec<String>,
    /// Report no findings of these rules
    #[arg(long, value_name = "RULE", value_delimiter = ',', value_parser = RulesOf(StringValueParser::new()), hide_possible_values = true)]
    pub ignore: Vec<String>,
    /// Report no findings that this report of `check --format json` holds
    #[arg(long, value_name = "FILE")]
    pub baseline: Option<PathBuf>,
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
    /// Tables for data engines, in the folder of -o (`retake help tables`)
    Parquet,
    /// The same as Arrow IPC files
    Arrow,
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
    /// A take of the debugger or of a run instead, by its number in `retake takes`
    #[arg(long, value_name = "N")]
    pub take: Option<u32>,
    /// Print texts in full
    #[arg(long)]
    pub full: bool,
    /// Print to the terminal itself, not through $PAGER
    #[arg(long)]
    pub no_pager: bool,
    /// Replace each key and password by a placeholder
    #[arg(long)]
    pub redact: bool,
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct ExplainArguments {
    /// A rule, or a recording, whose rules with findings are explained; without either the rules are
    /// listed. With --error: the recording that was refused, - for standard input
    #[arg(value_name = "RULE|PATH", value_parser = RulesOf(PathBufValueParser::new()), hide_possible_values = true)]
    pub subject: Option<PathBuf>,
    /// The text of a provider's refusal, - for standard input: finds the item that caused it
    #[arg(long, value_name = "TEXT", allow_hyphen_values = true)]
    pub error: Option<String>,
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct ListArguments {
    /// Recordings or folders of them
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Only recordings that fit: words and fields as in the picker, such as
    /// `rule:orphan since:7d` (`retake help filters`)
    #[arg(short, long, value_name = "FILTER")]
    pub filter: Option<String>,
    /// List at most N recordings
    #[arg(short, long, value_name = "N")]
    pub limit: Option<usize>,
    /// Format of the list (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

// Arguments of commands that count and measure: `split`, `health`, `lab`.

/// Form of what is printed in lines.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum LineFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
}

#[derive(Debug, Args)]
pub struct SplitArguments {
    /// A recording, - for standard input
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
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
#[group(multiple = false)]
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

#[derive(Debug, Args)]
pub struct TakesArguments {
    /// A recording, or the journal of a run
    #[arg(value_name = "PATH")]
    pub path: PathBuf,
    /// Format of the list (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct HealthArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Format of the table (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct DoctorArguments {
    /// Session files, databases or folders of them [default: the stores of all agents that are known]
    #[arg(value_name = "PATH")]
    pub paths: Vec<PathBuf>,
    /// Look for stores below this home folder, whatever the variables of this one say
    #[arg(long, value_name = "DIR", conflicts_with = "paths")]
    pub home: Option<PathBuf>,
    /// Write healed copies below this folder
    #[arg(long, value_name = "DIR", conflicts_with = "in_place")]
    pub copy_to: Option<PathBuf>,
    /// Heal the sessions themselves and keep each as FILE.bak (or FILE.bak.2 and so on)
    #[arg(long)]
    pub in_place: bool,
    /// Also heal sessions that may be in use, and replace copies that exist
    #[arg(long)]
    pub force: bool,
    /// Also apply unsafe fixes: those that change what the model saw or did
    #[arg(long = "unsafe")]
    pub unsafe_too: bool,
    /// Format of the report
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct ConfigArguments {
    /// The file of settings [default: $RETAKE_CONFIG, else retake/config.toml in the configuration folder]
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
}

#[derive(Debug, Args)]
pub struct UsageArguments {
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Only this session: its label, or its number counted from 1
    #[arg(long, value_name = "N")]
    pub session: Option<String>,
    /// Format of the report (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: UsageFormat,
    /// Print the report of each session, not only a ranking of several
    #[arg(long)]
    pub details: bool,
    /// Sort sessions, tools, turns, calls and sub-agents by this
    #[arg(long, value_enum, value_name = "ORDER")]
    pub sort: Option<UsageSort>,
    /// Prices of models that add to the built-in ones or override them: TOML, `[models] NAME = { input, output, .. }`
    /// in US dollars per million tokens [default: those of config.toml]
    #[arg(long, value_name = "FILE")]
    pub prices: Option<PathBuf>,
    /// The file of settings, which can name prices (`retake help config`)
    #[arg(long, value_name = "FILE")]
    pub config: Option<PathBuf>,
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

#[derive(Debug, Args)]
pub struct QueryArguments {
    /// The query, over the tables sessions, items, calls, findings and problems (`retake help query`)
    #[arg(value_name = "SQL")]
    pub sql: String,
    /// Recordings or folders of them, - for standard input
    #[arg(value_name = "PATH", default_value = ".")]
    pub paths: Vec<PathBuf>,
    /// Format of the rows (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: QueryFormat,
    #[command(flatten)]
    pub reading: ReadingArguments,
    /// When to use colours
    #[arg(long, value_enum, value_name = "WHEN", default_value_t)]
    pub color: Color,
}

/// Form of the rows that a query gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum QueryFormat {
    /// A table for people
    #[default]
    Text,
    /// One JSON object a row
    Json,
    /// A line with the names, then one a row
    Csv,
}

/// What a report about usage is sorted by.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum UsageSort {
    /// US dollars
    Cost,
    /// How long it took
    Time,
    /// Tokens of turns, bytes of results
    Size,
}

/// Form of a report about usage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum, Default)]
pub enum UsageFormat {
    /// For people
    #[default]
    Text,
    /// One JSON object a line
    Json,
    /// One line a turn
    Csv,
}

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
    #[arg(
        long = "trial",
        value_name = "N",
        default_value_t = 1,
        requires = "winner",
        value_parser = clap::value_parser!(u32).range(1..)
    )]
    pub trial_number: u32,
    /// List findings, wordings and the number of requests, and send none
    #[arg(long, conflicts_with = "format")]
    pub dry_run: bool,
    #[command(flatten)]
    pub trial: TrialWish,
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
    pub stop: Option<StopWhen>,
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
pub enum StopWhen {
    /// When one wording is clearly the best
    Clear,
    /// Not at all
    Never,
}

// Arguments of `run`.

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
    /// Without a screen: what the operator does when the run waits, one command for each time: `step`, `continue`,
    /// `inject-error nearest` (`retake help run`). When none is left, the run stays in its journal
    #[arg(long = "do", value_name = "COMMAND", requires = "headless")]
    pub commands: Vec<String>,
    /// Without a screen: go on with the run in --journal, which waits for the first --do
    #[arg(long, requires = "journal")]
    pub resume: bool,
    /// Also stop here, even if nothing is wrong: `tool pay`, `turn 3`, `rule tool-error`, `arg .amount > 100`
    #[arg(long = "break", value_name = "PLACE")]
    pub breakpoints: Vec<String>,
    /// Stop before each question to the model and before the tools of each reply
    #[arg(long)]
    pub step: bool,
    /// Trust the agent file without asking
    #[arg(long)]
    pub trust: bool,
    #[command(flatten)]
    pub look: LookArguments,
}

// Arguments of commands that serve: `scripted`, `replay`.

#[derive(Debug, Args)]
pub struct ScriptedArguments {
    /// The script, such as sessions/agents/flights.script.toml
    #[arg(value_name = "FILE")]
    pub path: PathBuf,
    /// Where to listen, on the loopback; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
}

#[derive(Debug, Args)]
pub struct McpServeArguments {
    /// Let the client read recordings in this folder, or this one; can be repeated [default: the folder it is started
    /// in, and what agents and retake itself keep]
    #[arg(long, value_name = "PATH")]
    pub root: Vec<PathBuf>,
    /// Let the client write new files in this folder; it overwrites none
    #[arg(long, value_name = "DIR")]
    pub allow_write: Option<PathBuf>,
    /// Let the client run the agents and experiments of this folder, or this file: their tools run on this machine, and
    /// their models are asked; can be repeated
    #[arg(long, value_name = "PATH", requires = "allow_write")]
    pub allow_run: Vec<PathBuf>,
    /// Serve streamable HTTP on this address of the loopback instead of standard input and output; port 0 takes any
    /// free one. The first line printed is the address, which holds a token
    #[arg(long, value_name = "ADDR")]
    pub http: Option<SocketAddr>,
    /// Show each call on the terminal, and ask there before a file is written or an agent runs
    #[arg(long, requires = "http")]
    pub watch: bool,
    /// Give the client keys and passwords that are in recordings
    #[arg(long)]
    pub keep_secrets: bool,
}

#[derive(Debug, Args)]
pub struct ReplayArguments {
    /// The recordings, - for standard input; the beginning of a request selects the session
    #[arg(value_name = "PATH", required = true)]
    pub paths: Vec<PathBuf>,
    /// Serve the debugger's current take of the recording
    #[arg(long, conflicts_with = "take")]
    pub takes: bool,
    /// Serve this take
    #[arg(long, value_name = "N")]
    pub take: Option<u32>,
    /// Serve this session only, counted from 1 over all recordings
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    pub session: Option<u32>,
    /// Answer a request that differs with the nearest turn, and report what differs
    #[arg(long)]
    pub lenient: bool,
    /// Where to listen, on the loopback; port 0 takes any free one
    #[arg(long, value_name = "ADDR", default_value = "127.0.0.1:0")]
    pub listen: SocketAddr,
    /// Format of the lines about requests (--as sets the format of the input)
    #[arg(long, value_enum, value_name = "FORMAT", default_value_t)]
    pub format: LineFormat,
    /// Inject faults to test the agent's error handling, as `proxy --chaos` does, with the nearest
    /// turns as its model
    #[arg(long, value_name = "SPEC")]
    pub chaos: Option<PathBuf>,
    /// The journal of the faults, or with CMD the folder of the journals
    #[arg(long, value_name = "FILE", requires = "chaos")]
    pub journal: Option<PathBuf>,
    /// How long replies take
    #[arg(long, value_enum, value_name = "DELAY", default_value_t)]
    pub delay: Delay,
    /// Read the recordings in this format instead of recognising it by content
    #[arg(long = "as", value_name = "FORMAT", value_parser = formats())]
    pub read_as: Option<String>,
    /// The agent to start, pointed at the replay; it ends when retake ends
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// How long replies take.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
pub enum Delay {
    /// No delay
    #[default]
    None,
    /// As recorded, where the recording has times
    Recorded,
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
        let check = parse(&[
            "retake",
            "--as",
            "openai-chat",
            "--tools",
            "t.json",
            "check",
            "-",
        ]);
        let Some(Task::Check(check)) = check.command else {
            panic!("{check:?}");
        };
        assert_eq!(check.reading.read_as.as_deref(), Some("openai-chat"));
        assert_eq!(check.reading.tools.as_deref(), Some("t.json".as_ref()));
        let refused = super::parse(["retake", "--theme", "dark", "check", "-"].map(OsString::from));
        assert!(refused.unwrap_err().to_string().contains("retake check"));
        for words in [
            ["retake", "--theme", "dark", "--", "check"],
            ["retake", "--theme", "dark", "a.json", "check"],
        ] {
            assert!(parse(&words).command.is_none(), "{words:?}");
        }
    }
}
