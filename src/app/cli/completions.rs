//! `completions`: prints the completions of a shell.

use super::arguments::CompletionsArguments;
use super::exit::{Exit, Failure};
use super::output::Output;
use std::io::Write;

/// Prints the completions of a shell.
pub(super) fn run(arguments: &CompletionsArguments) -> Result<Exit, Failure> {
    let mut script = Vec::new();
    clap_complete::generate(
        arguments.shell,
        &mut super::arguments::command(),
        "retake",
        &mut script,
    );
    let mut output = Output::stdout();
    output.write_all(&script)?;
    output.finish()?;
    Ok(Exit::Clean)
}
