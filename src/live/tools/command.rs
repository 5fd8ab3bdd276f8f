//! Tools that are programs: the arguments as JSON on standard input, the answer on standard output.
//!
//! A tool runs without a shell, without a terminal, with an environment of named variables, in a folder of its
//! own choice, and for a limited time. [`supervisor`] is the process between the run and the tool and
//! ends whatever the tool started.

mod capture;
mod ipc;
mod running;
mod supervisor;
mod tool_output;
mod tree;

pub use capture::CapturedText;
pub use supervisor::keep_if_asked;

use retake_core::engine::{Outcome, agent};
pub(crate) use running::environment;

use running::begin;
use std::io;
use std::path::PathBuf;
use std::time::Duration;
use tokio::time::Instant;
use tokio_util::sync::CancellationToken;

/// Grace period of a tool between SIGTERM and the kill.
pub const GRACE: Duration = Duration::from_secs(5);

/// Variables that every tool gets, where they are set; beside them those whose name begins
/// with `LC_`, and `TERM=dumb`.
const PASSED_ON: [&str; 4] = ["PATH", "HOME", "LANG", "TMPDIR"];

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
pub struct Supervisor(PathBuf);

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

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ran {
    pub outcome: Outcome,
    /// What the system says of it.
    pub facts: Facts,
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

/// Runs a command until it ends, its time is up, or `cancel` says that nobody wants it any longer. When the
/// future is dropped, the tool is ended as well.
pub async fn run(
    tool: &CommandTool,
    supervisor: &Supervisor,
    arguments: &str,
    cancel: &CancellationToken,
) -> Ran {
    let begun = Instant::now();
    let mut facts = Facts::default();
    let words = if cancel.is_cancelled() {
        tool_output::stopped()
    } else {
        match begin(tool, supervisor) {
            Err(words) => words,
            Ok(running) => running.carry_out(tool, arguments, cancel, &mut facts).await,
        }
    };
    Ran {
        outcome: Outcome {
            output: words.output,
            is_error: words.failure.is_some(),
            failure: words.failure,
            ms: u64::try_from(begun.elapsed().as_millis()).unwrap_or(u64::MAX),
        },
        facts,
    }
}
