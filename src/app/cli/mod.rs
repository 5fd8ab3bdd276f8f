//! The headless face: one file per subcommand, one file per report format.
//!
//! stdout is data, stderr is for progress and complaints. What comes from a recording is printed through
//! [`retake_core::safe_text::SafeText`]; the JSON report keeps every character and spells the dangerous ones as
//! `\uXXXX`. A closed pipe ends a command quietly.

mod arguments;
mod baseline;
mod chaos;
mod check;
mod choice;
mod config;
mod confirm;
mod convert;
mod doctor;
mod exit;
mod explain;
mod export;
mod fix;
mod health;
mod help;
mod inputs;
mod lab;
mod list;
mod mcp_serve;
mod mistaken;
mod open;
mod output;
mod proxy;
#[cfg(feature = "query")]
mod query;
mod recovery;
mod replay;
mod report;
mod run;
mod scripted;
mod show;
mod skill;
mod split;
mod style;
#[cfg(feature = "tables")]
mod tables;
mod takes;
mod transcript;
mod usage;
mod walk;

pub use arguments::{Arguments, ProxyArguments, Task};
pub use exit::Exit;
pub use inputs::read;
pub use mcp_serve::markdown_table as mcp_tools_table;
pub use run::markdown_table as operator_commands_table;

use exit::Failure;
use std::ffi::OsString;
use std::process::ExitCode;

/// Runs the command that the arguments name, and says how it ended.
pub fn run(arguments: impl IntoIterator<Item = OsString>) -> ExitCode {
    let arguments = match arguments::parse(arguments) {
        Ok(arguments) => arguments,
        Err(answer) => return answer_of_clap(&answer),
    };
    match dispatch(&arguments) {
        Ok(exit) => exit.into(),
        Err(failure) => failure.report(),
    }
}

fn dispatch(arguments: &Arguments) -> Result<Exit, Failure> {
    match &arguments.command {
        None => open::run(&arguments.open),
        Some(Task::List(arguments)) => list::run(arguments),
        Some(Task::Check(arguments)) => check::run(arguments),
        Some(Task::Show(arguments)) => show::run(arguments),
        Some(Task::Fix(arguments)) => fix::run(arguments),
        Some(Task::Explain(arguments)) => explain::run(arguments),
        Some(Task::Convert(arguments)) => convert::run(arguments),
        Some(Task::Split(arguments)) => split::run(arguments),
        Some(Task::Takes(arguments)) => takes::run(arguments),
        Some(Task::Health(arguments)) => health::run(arguments),
        Some(Task::Doctor(arguments)) => doctor::run(arguments),
        Some(Task::Usage(arguments)) => usage::run(arguments),
        #[cfg(feature = "query")]
        Some(Task::Query(arguments)) => query::run(arguments),
        #[cfg(not(feature = "query"))]
        Some(Task::Query(_)) => Err(Failure::with_hint(
            "this build of retake runs no queries",
            "`cargo install --path . --features query` builds one that does; `retake help tables` has other engines",
        )),
        Some(Task::Config(arguments)) => config::run(arguments),
        Some(Task::Export(arguments)) => export::run(arguments),
        Some(Task::Run(arguments)) => run::run(arguments),
        Some(Task::Proxy(arguments)) => proxy::run(arguments),
        Some(Task::Lab(arguments)) => lab::run(arguments),
        Some(Task::Scripted(arguments)) => scripted::run(arguments),
        Some(Task::Replay(arguments)) => replay::run(arguments),
        Some(Task::McpServe(arguments)) => mcp_serve::run(arguments),
        Some(Task::Skill(arguments)) => skill::run(arguments),
        Some(Task::Completions(arguments)) => help::print_completions(arguments),
        Some(Task::Man) => help::print_man(),
        Some(Task::Help(arguments)) => help::run(arguments),
    }
}

/// Help, the version, or a usage error; clap chooses the stream.
fn answer_of_clap(answer: &clap::Error) -> ExitCode {
    // The answer is all there is to say; a closed pipe leaves nobody to say more to.
    let _ = answer.print();
    if answer.use_stderr() {
        Exit::Usage.into()
    } else {
        Exit::Clean.into()
    }
}
