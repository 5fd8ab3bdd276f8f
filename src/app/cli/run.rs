//! `run`: an agent under the debugger, on the screen or without one.

mod headless;

use super::arguments::RunArguments;
use super::confirm::Confirmation;
use super::exit::{Exit, Failure};
use super::output::safe_line;
use crate::tui::loader::takes::conductor::StagedRun;
use retake_core::engine::Breakpoint;
use retake_live::agents::{AgentError, AgentFile};
use retake_live::live::{IoEvent, RunOptions, prepare};
use retake_live::takes::{runs_folder, usual_root, wall_clock};
use retake_live::wordings::{Wordings, usual_files};
use retake_live::{TakeStore, read_policy};
use std::io::{self, IsTerminal};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::mpsc::channel;

pub(super) fn run(arguments: &RunArguments) -> Result<Exit, Failure> {
    if !arguments.headless && !io::stdout().is_terminal() {
        let message = "a run under the debugger needs a terminal";
        return Err(Failure::with_hint(
            message,
            "--headless runs without one, by a policy",
        ));
    }
    let wordings = Wordings::read(&usual_files(Path::new(".")));
    let file = agent_file(&arguments.agent, &wordings)?;
    let options = options(arguments, &wordings)?;
    if let Some(confirmation) = Confirmation::of_agent(&file) {
        confirmation.ask(arguments.trust)?;
    }
    let (sender, events) = channel();
    let report = Arc::new(move |event: IoEvent| {
        // Nobody hears it when the run is over.
        let _ = sender.send(event);
    });
    let prepared = prepare(&file, options, report).map_err(refused)?;
    let journal = journal_of(arguments, &file)?;
    let about = prepared.about.clone();
    let bench = TakeStore::begin_run(&journal, about, &prepared.first, wall_clock);
    let bench = bench.map_err(refused)?;
    if arguments.headless {
        return headless::run(prepared, bench, &events, &journal);
    }
    // The screen opens the journal by itself.
    drop(bench);
    let staged = StagedRun {
        agent: file,
        prepared,
        events,
    };
    super::open::open_run(&arguments.look, staged, &journal)
}

/// A refusal that says why, line by line; it may hold text from outside.
pub(super) fn refused(error: impl ToString) -> Failure {
    let lines = error.to_string();
    let lines = lines.lines().map(safe_line).collect::<Vec<_>>();
    Failure::refused(lines.join("\n"))
}

/// Reads the agent file; everything that is wrong with it stands in the refusal.
fn agent_file(path: &Path, wordings: &Wordings) -> Result<AgentFile, Failure> {
    AgentFile::read(path, wordings).map_err(|error| match error {
        AgentError::Invalid { .. } => {
            let lines = error.to_string();
            let lines = lines.lines().map(safe_line).collect::<Vec<_>>();
            Failure::with_hint(
                lines.join("\n"),
                "`retake help agent-file` lists what an agent file can say",
            )
        }
        AgentError::Unreadable { .. } => refused(error),
    })
}

fn options(arguments: &RunArguments, wordings: &Wordings) -> Result<RunOptions, Failure> {
    let policy = arguments.policy.as_deref();
    let policy = policy.map(|path| read_policy(path, wordings)).transpose();
    Ok(RunOptions {
        has_operator: !arguments.headless,
        input: arguments.input.clone(),
        policy: policy.map_err(refused)?,
        breakpoints: breakpoints(&arguments.breakpoints)?,
        is_stepping: arguments.step,
        at_hand: None,
        supervisor: None,
    })
}

/// Places to stop at, as `--break` names them.
pub(super) fn breakpoints(places: &[String]) -> Result<Vec<Breakpoint>, Failure> {
    let breakpoints = places.iter().zip(1..);
    let breakpoints = breakpoints.map(|(text, number)| {
        Breakpoint::parse(number, text).map_err(|error| {
            let message = format!(
                "--break {}: {}",
                safe_line(text),
                safe_line(&error.to_string())
            );
            Failure::with_hint(
                message,
                "as `tool pay`, `turn 3`, `rule tool-error`, `arg .amount > 100`",
            )
        })
    });
    breakpoints.collect()
}

/// Where the run's journal goes: where the operator says, or among the operator's own data.
fn journal_of(arguments: &RunArguments, file: &AgentFile) -> Result<PathBuf, Failure> {
    if let Some(path) = &arguments.journal {
        return Ok(path.clone());
    }
    let root = usual_root().ok_or_else(|| {
        Failure::with_hint(
            "there is no home folder to keep the run in",
            "--journal FILE names a file",
        )
    })?;
    let plain = |letter: char| match letter {
        letter if letter.is_ascii_alphanumeric() || letter == '-' => letter,
        _ => '-',
    };
    let name: String = file.agent.name.chars().take(40).map(plain).collect();
    Ok(runs_folder(&root).join(format!("{name}-{}.jsonl", wall_clock())))
}
