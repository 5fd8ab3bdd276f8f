//! Without a command: the debugger, on a terminal.

use super::arguments::{LookArguments, OpenArguments};
use super::exit::{Exit, Failure, print_error, report_where};
use super::inputs::{self, inputs_of};
use super::output::{safe_line, shell_word};
use crate::tui::loader::takes::conductor::{Staged, StagedRun};
use crate::tui::{self, Left, OpenError, OpenRequest};
use retake_core::suggest;
use retake_live::lock::lock;
use std::io::{self, IsTerminal, Write};
use std::path::Path;

/// Opens the debugger; without a terminal it says which commands do not need one.
pub(super) fn run(arguments: &OpenArguments) -> Result<Exit, Failure> {
    if let Some(missing) = arguments.paths.iter().find(|path| is_missing(path)) {
        return Err(no_such_path(missing));
    }
    if arguments.paths.len() > 1 && arguments.paths.iter().any(|path| path == Path::new("-")) {
        let message = "-: standard input cannot be combined with other files";
        return Err(Failure::refused(message));
    }
    if !io::stdout().is_terminal() {
        if let Some(path) = arguments.paths.first().filter(|path| is_small(path)) {
            // Another command would only say then that it is no recording.
            inputs::read(&inputs_of(&arguments.reading)?, path)
                .map_err(|error| Failure::unreadable(path, &error))?;
        }
        let hint = match arguments.paths.first() {
            Some(path) => {
                let path = shell_word(&path.to_string_lossy());
                format!("`retake show {path}` prints it, `retake check {path}` lists its findings")
            }
            None => {
                let help = super::arguments::command().render_help();
                // Help is no data: it must not end up in the file that stdout is directed to.
                let _ = writeln!(io::stderr(), "{help}");
                "`retake check` and `retake show` do not need one".to_owned()
            }
        };
        print_error("the debugger needs a terminal", Some(&hint));
        return Ok(Exit::Usage);
    }
    open(arguments, Staged::default())
}

/// The one place where the screen is entered.
fn open(arguments: &OpenArguments, staged: Staged) -> Result<Exit, Failure> {
    let request = OpenRequest {
        staged,
        ..inputs::open_request(inputs_of(&arguments.reading)?, arguments)?
    };
    let left = tui::run(&request);
    for (path, (count, is_in_take)) in &*lock(&request.kept) {
        let takes = match count {
            1 => "1 take is kept with".to_owned(),
            _ => format!("{count} takes are kept with"),
        };
        let hint = match is_in_take {
            true => " in the take that you left",
            false => "; ^r opens the latest take",
        };
        report_where(&takes, path, hint);
    }
    match left {
        Ok(Left::Quit) => Ok(Exit::Clean),
        Ok(Left::Signal(signal)) => Ok(Exit::Signal(signal)),
        Ok(Left::Panicked) => Ok(Exit::Panicked),
        Err(OpenError::Input { path, error }) => Err(Failure::unreadable(&path, &error)),
        Err(error @ OpenError::Terminal(_)) => Err(Failure::refused(error.to_string())),
    }
}

/// Opens the debugger on the journal of a run, which begins then.
pub(super) fn open_run(
    look: &LookArguments,
    run: StagedRun,
    journal: &Path,
) -> Result<Exit, Failure> {
    let arguments = OpenArguments {
        paths: vec![journal.to_owned()],
        look: look.clone(),
        ..OpenArguments::default()
    };
    let exit = open(&arguments, Staged::new(run))?;
    let hint = "; c continues a run that has not ended";
    report_where("the run is in", journal, hint);
    Ok(exit)
}

/// Largest file that is read to say that it is no recording.
const SMALL: u64 = 16 << 20;

fn is_small(path: &Path) -> bool {
    let file = path.metadata();
    file.is_ok_and(|file| file.is_file() && file.len() <= SMALL)
}

fn is_missing(path: &Path) -> bool {
    path != Path::new("-") && !path.exists() && path.symlink_metadata().is_err()
}

/// A path that is not there may be a command that was mistyped.
fn no_such_path(path: &Path) -> Failure {
    let name = path.to_string_lossy();
    let command = super::arguments::command();
    let names = command
        .get_subcommands()
        .map(|subcommand| subcommand.get_name().to_owned())
        .collect::<Vec<_>>();
    let names = names.iter().map(String::as_str).collect::<Vec<_>>();
    let message = format!("{}: no such file, folder or command", safe_line(&name));
    match suggest::nearest(&name, &names).first() {
        Some(near) => Failure::with_hint(message, format!("did you mean `retake {}`?", near.name)),
        None => Failure::with_hint(message, "`retake --help` lists the commands"),
    }
}
