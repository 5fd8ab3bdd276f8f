//! `scripted`: a script as a model that any client can talk to.

use super::arguments::ScriptedArguments;
use super::exit::{Exit, Failure};
use super::output::safe_line;
use crate::runtime::exit_on_interrupt;
use crate::runtime::scripted::{Endpoint, NoScript, read_script};
use crate::script::Script;
use std::io::Write;
use std::path::Path;

/// Serves until it is interrupted. Its first line is the address.
pub(super) fn run(arguments: &ScriptedArguments) -> Result<Exit, Failure> {
    let script = script(&arguments.path)?;
    exit_on_interrupt();
    let model = script.model();
    let listen = arguments.listen;
    let endpoint = Endpoint::start(script, listen).map_err(|error| {
        let message = format!("cannot listen on {listen}: {error}");
        Failure::with_hint(message, "--listen 127.0.0.1:0 takes any free port")
    })?;
    let mut stdout = std::io::stdout().lock();
    writeln!(stdout, "http://{}", endpoint.address())?;
    writeln!(
        stdout,
        "model {model}: /v1/responses, /v1/chat/completions, /v1/messages"
    )?;
    stdout.flush()?;
    drop(stdout);
    loop {
        // Only an interrupt ends it.
        std::thread::park();
    }
}

/// Reads the script; everything that is wrong with it stands in the refusal.
fn script(path: &Path) -> Result<Script, Failure> {
    let name = safe_line(&path.to_string_lossy());
    read_script(path).map_err(|why| match why {
        NoScript::File { error, .. } => {
            Failure::refused(format!("{name}: {}", safe_line(&error.to_string())))
        }
        NoScript::Faults { faults, .. } => {
            let lines = faults.iter();
            let lines = lines.map(|fault| format!("{name}: {}", safe_line(&fault.to_string())));
            let lines = lines.collect::<Vec<_>>().join("\n");
            Failure::with_hint(lines, "the README lists what a script can say")
        }
    })
}
