//! What an agent file may run is shown and confirmed before anything of it runs, once for each content of the file.

use crate::cli::exit::{Failure, complain};
use crate::cli::output::safe_line;
use crate::runtime::agents::AgentFile;
use crate::runtime::takes::usual_root;
use crate::runtime::trust::Trust;
use std::io::{self, BufRead, IsTerminal, Write};

/// Asks the operator, unless the file needs no word or has it already.
pub(super) fn confirm(file: &AgentFile, is_trusted: bool) -> Result<(), Failure> {
    let trust = Trust::open(usual_root().as_deref());
    if !file.agent.needs_confirmation() || trust.is_confirmed(&file.path, &file.content) {
        return Ok(());
    }
    let powers = file.agent.powers();
    let powers = powers.iter().filter(|power| power.needs_confirmation());
    let powers: Vec<String> = powers.map(|power| safe_line(&power.to_string())).collect();
    let name = safe_line(&file.path.to_string_lossy());
    if !is_trusted && !asked(&name, &powers)? {
        let message = format!(
            "{name} was not confirmed; it would:\n  {}",
            powers.join("\n  ")
        );
        return Err(Failure::with_hint(
            message,
            "--trust confirms it without asking",
        ));
    }
    if let Err(error) = trust.confirm(&file.path, &file.content) {
        let what = format!(
            "the confirmation is not remembered: {}",
            safe_line(&error.to_string())
        );
        complain(&what, None);
    }
    Ok(())
}

/// Whether the operator says yes; without a terminal to ask on, nobody does.
fn asked(name: &str, powers: &[String]) -> Result<bool, Failure> {
    let (stdin, mut stderr) = (io::stdin(), io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return Ok(false);
    }
    let ask = format!("{name} asks to:\n  {}\nRun it? [y/N] ", powers.join("\n  "));
    let mut answer = String::new();
    let read = stderr
        .write_all(ask.as_bytes())
        .and_then(|()| stderr.flush())
        .and_then(|()| stdin.lock().read_line(&mut answer));
    read.map_err(|error| Failure::refused(error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
