//! `scripted`: a script as a model that any client can talk to.

use super::arguments::ScriptedArguments;
use super::exit::{Exit, Failure, LOOK};
use super::mistaken::{FileKind, mistaken_file};
use retake_core::script::Script;
use retake_live::note_ends;
use retake_live::scripted::{ScriptError, ScriptedServer, read_script, served_paths};
use std::io::Write;
use std::path::Path;

/// Serves until a signal ends it: an interrupt, SIGTERM, the end of its terminal. Its first
/// line is the address.
pub(super) fn run(arguments: &ScriptedArguments) -> Result<Exit, Failure> {
    let script = script(&arguments.path)?;
    let signal = note_ends();
    let model = script.model();
    let listen = arguments.listen;
    let endpoint = ScriptedServer::start(script, listen).map_err(|error| {
        let message = format!("cannot listen on {listen}: {error}");
        Failure::with_hint(message, "--listen 127.0.0.1:0 takes any free port")
    })?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "http://{}", endpoint.address())?;
    writeln!(stdout, "model {model}: {}", served_paths())?;
    stdout.flush()?;
    drop(stdout);
    loop {
        if let Some(number) = signal() {
            return Ok(Exit::Signal(number));
        }
        std::thread::sleep(LOOK);
    }
}

/// Reads the script; the error lists every fault of it.
fn script(path: &Path) -> Result<Script, Failure> {
    read_script(path).map_err(|why| match why {
        ScriptError::File { error, .. } => Failure::of_file(path, &error),
        ScriptError::Invalid { errors, .. } => mistaken_file(path, &[FileKind::Script])
            .unwrap_or_else(|| Failure::invalid_file(path, &errors, "scripted")),
    })
}
