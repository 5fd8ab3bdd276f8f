//! A tool that is a program, and what is known of one that ran.

use super::capture::CapturedText;
use retake_core::engine::{Outcome, agent};
use std::io;
use std::path::PathBuf;
use std::time::Duration;

/// Grace period of a tool between SIGTERM and the kill.
pub const GRACE: Duration = Duration::from_secs(5);

/// Variables that every tool gets, where they are set; beside them those whose name begins
/// with `LC_`, and `TERM=dumb`.
pub(crate) const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CommandTool {
    /// The program and its arguments. A program with a slash is looked for in the folder,
    /// another one in `PATH`.
    pub argv: Vec<String>,
    pub folder: PathBuf,
    /// The variables that it gets beside the usual ones, by their names; what they hold is read
    /// when it is started.
    pub variables: Vec<String>,
    /// How long it may take.
    pub timeout: Duration,
    /// Grace period before the kill: [`GRACE`], except in tests.
    pub grace: Duration,
}

impl CommandTool {
    /// The program that an agent file names, in its folder.
    pub fn of(command: &agent::Command, folder: PathBuf) -> Self {
        Self {
            argv: command.argv.clone(),
            folder,
            variables: command.env.clone(),
            timeout: Duration::from_millis(command.timeout_ms),
            grace: GRACE,
        }
    }
}

/// The program that keeps tools: a `retake`.
#[derive(Debug, Clone)]
pub struct Supervisor(pub(crate) PathBuf);

impl Supervisor {
    /// This program itself, whatever became of its file since it was started.
    pub fn this_program() -> io::Result<Self> {
        if cfg!(target_os = "linux") {
            return Ok(Self("/proc/self/exe".into()));
        }
        std::env::current_exe().map(Self)
    }

    /// The `retake` at this path: for programs that are none themselves, such as tests.
    pub fn at(path: impl Into<PathBuf>) -> Self {
        Self(path.into())
    }
}

#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Facts {
    /// Its exit code, where it ended by itself.
    pub exit: Option<i32>,
    pub signal: Option<i32>,
    pub stdout: CapturedText,
    /// What it wrote to standard error; the model reads it only where the tool failed.
    pub stderr: CapturedText,
    /// Processes that it left running, by name and number; they were ended.
    pub left: String,
    /// Processes that could not be ended.
    pub remain: String,
}

/// How much of a standard error a note quotes, in characters.
const QUOTED: usize = 500;

impl Facts {
    /// What the operator should know beside the output that the model reads.
    pub fn notes(&self, outcome: &Outcome) -> Vec<String> {
        let mut notes = Vec::new();
        let unread = self.stderr.text.trim();
        if !outcome.is_error && !unread.is_empty() {
            let quoted = unread.chars().take(QUOTED).collect::<String>();
            notes.push(format!(
                "on standard error, which the model does not read: {quoted}"
            ));
        }
        for (name, stream) in [("output", &self.stdout), ("error", &self.stderr)] {
            if stream.dropped > 0 {
                let dropped = stream.dropped;
                notes.push(format!(
                    "{dropped} bytes of its standard {name} were dropped"
                ));
            }
        }
        if !self.left.is_empty() {
            notes.push(format!(
                "it left processes running, which were ended: {}",
                self.left
            ));
        }
        if !self.remain.is_empty() {
            notes.push(format!(
                "processes of it could not be ended: {}",
                self.remain
            ));
        }
        notes
    }
}
