//! What a file may run or send is shown and confirmed before anything of it happens, once for each
//! content of the file.

use super::exit::{Failure, print_error};
use super::output::{name_of, safe_line};
use retake_live::agents::AgentFile;
use retake_live::takes::usual_root;
use retake_live::trust::{AgentContent, Trust};
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::{Path, PathBuf};

/// A question that the operator has to confirm.
#[derive(Debug)]
pub(super) struct Confirmation {
    path: PathBuf,
    /// What it is known by when it asks again.
    content: AgentContent,
    /// What it would do, a sentence each; they hold text of the file.
    powers: Vec<String>,
}

impl Confirmation {
    /// What this file asks for; `None` where there is nothing to confirm.
    pub(super) fn new(path: &Path, content: AgentContent, powers: Vec<String>) -> Option<Self> {
        (!powers.is_empty()).then(|| Self {
            path: path.to_owned(),
            content,
            powers,
        })
    }

    pub(super) fn of_agent(file: &AgentFile) -> Option<Self> {
        Self::new(&file.path, file.content.clone(), file.powers())
    }

    /// Asks the operator, unless the file was confirmed before as it is now, or the
    /// command line says `--trust`.
    ///
    /// # Errors
    ///
    /// If the operator does not confirm it, or there is no terminal to confirm on.
    pub(super) fn ask(&self, is_trusted: bool) -> Result<(), Failure> {
        let trust = Trust::open(usual_root().as_deref());
        if trust.is_confirmed(&self.path, &self.content) {
            return Ok(());
        }
        let powers = self.powers.iter().map(|power| safe_line(power));
        let powers = powers.collect::<Vec<_>>().join("\n  ");
        let name = name_of(&self.path);
        if !is_trusted && !is_confirmed_on_terminal(&name, &powers)? {
            let message = format!("{name} was not confirmed; it would:\n  {powers}");
            return Err(Failure::with_hint(
                message,
                "--trust confirms it without asking",
            ));
        }
        if let Err(error) = trust.confirm(&self.path, &self.content) {
            let error = safe_line(&error.to_string());
            print_error(
                &format!("the confirmation is not remembered: {error}"),
                None,
            );
        }
        Ok(())
    }
}

/// Whether the operator says yes; without a terminal to ask on, nobody does.
fn is_confirmed_on_terminal(name: &str, powers: &str) -> Result<bool, Failure> {
    let (stdin, mut stderr) = (io::stdin(), io::stderr());
    if !stdin.is_terminal() || !stderr.is_terminal() {
        return Ok(false);
    }
    let ask = format!("{name} needs your consent. It:\n  {powers}\nGo ahead? [y/N] ");
    let mut answer = String::new();
    let read = stderr
        .write_all(ask.as_bytes())
        .and_then(|()| stderr.flush())
        .and_then(|()| stdin.lock().read_line(&mut answer));
    read.map_err(|error| Failure::refused(error.to_string()))?;
    Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
}
