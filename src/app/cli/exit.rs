//! How a command ends: its exit code, and the one line that says why it failed.

use super::output::{safe_line, shell_word};
use super::style;
use retake_core::config::ConfigErrors;
use serde::Serialize;
use std::io::{self, Write};
use std::os::unix::process::ExitStatusExt;
use std::path::Path;
use std::process::{ExitCode, ExitStatus};
use std::time::Duration;

/// How often a command that goes on looks for a signal.
pub(super) const LOOK: Duration = Duration::from_millis(100);

/// How a command ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// Done, nothing to complain about.
    Clean,
    /// Findings at or above `--fail-on`.
    Findings,
    /// The command line is wrong, or nothing could be read.
    Usage,
    /// Some input could not be read; the rest was.
    Unreadable,
    /// The model or another server failed.
    Upstream,
    /// A signal of this number ended the debugger, or the command that was started with it.
    Signal(i32),
    /// The command that was started with it ended with this code.
    Command(u8),
    /// A panic ended it; its message is on stderr already.
    Panicked,
}

/// Why what serves an agent ended: a proxy, a replay.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(tag = "why", rename_all = "kebab-case")]
pub(super) enum Why {
    Signal {
        signal: i32,
    },
    /// The agent that was started with it ended: by itself with a code, or by a signal.
    Agent {
        code: Option<i32>,
        /// The signal that ended it.
        signal: Option<i32>,
    },
}

impl From<ExitStatus> for Why {
    fn from(status: ExitStatus) -> Self {
        Self::Agent {
            code: status.code(),
            signal: status.signal(),
        }
    }
}

/// The exit code of a program that Rust's own handler of panics ends.
const PANICKED: u8 = 101;

impl Exit {
    /// The exit code of the process. An interrupt is 130 and ends the process where it happens.
    pub fn code(self) -> u8 {
        match self {
            Self::Clean => 0,
            Self::Findings => 1,
            Self::Usage => 2,
            Self::Unreadable => 3,
            Self::Upstream => 4,
            Self::Signal(number) => u8::try_from(128 + number).unwrap_or(u8::MAX),
            Self::Command(code) => code,
            Self::Panicked => PANICKED,
        }
    }
}

impl Exit {
    /// The end of a command whose last output was written like this.
    pub(super) fn after(self, written: io::Result<()>) -> Result<Self, Failure> {
        match written {
            Ok(()) => Ok(self),
            Err(error) => Err(Failure::Output {
                error,
                so_far: self,
            }),
        }
    }
}

impl From<Exit> for ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}

/// Why a command could not go on.
#[derive(Debug)]
pub(super) enum Failure {
    /// The request of the operator cannot be carried out.
    Refused {
        /// What is wrong, with its place.
        message: String,
        /// What to do instead.
        hint: Option<String>,
    },
    /// stdout could not be written; what was known until then decides the exit code.
    Output {
        error: io::Error,
        /// How the command stood.
        so_far: Exit,
    },
}

impl Failure {
    /// A refusal; `message` is made of safe text.
    pub(super) fn refused(message: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            hint: None,
        }
    }

    /// A refusal that says what to do instead.
    pub(super) fn with_hint(message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self::Refused {
            message: message.into(),
            hint: Some(hint.into()),
        }
    }

    /// The same refusal with what to do instead.
    pub(super) fn hinting(self, hint: &str) -> Self {
        match self {
            Self::Refused { message, .. } => Self::with_hint(message, hint),
            Self::Output { .. } => self,
        }
    }

    /// What is wrong with a file, each error on a line that begins with its place; `topic` is the help about it.
    pub(super) fn invalid_file(path: &Path, errors: &ConfigErrors, topic: &str) -> Self {
        let errors = errors.in_file(&safe_line(&path.to_string_lossy()));
        let lines: Vec<String> = errors.lines().map(safe_line).collect();
        let hint = format!("`retake help {topic}` lists what the file can say");
        Self::with_hint(lines.join("\n"), hint)
    }

    /// Says on stderr what went wrong; nothing for a closed pipe.
    pub(super) fn report(&self) -> ExitCode {
        match self {
            Self::Refused { message, hint } => {
                print_error(message, hint.as_deref());
                Exit::Usage.into()
            }
            Self::Output { error, so_far } if error.kind() == io::ErrorKind::BrokenPipe => {
                (*so_far).into()
            }
            Self::Output { error, .. } => {
                print_error(&format!("cannot write: {error}"), None);
                Exit::Usage.into()
            }
        }
    }
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Output {
            error,
            so_far: Exit::Clean,
        }
    }
}

/// A refusal that says why, line by line; it may hold text from outside.
pub(super) fn refused(error: impl ToString) -> Failure {
    let lines = error.to_string();
    let lines = lines.lines().map(safe_line).collect::<Vec<_>>();
    Failure::refused(lines.join("\n"))
}

/// Says on stderr where something was written that can be opened again.
pub(super) fn report_where(what: &str, path: &std::path::Path, hint: &str) {
    let name = path.to_string_lossy();
    let named = safe_line(&name);
    let quoted = shell_word(&name);
    // Without stderr there is nobody to tell.
    let _ = writeln!(
        io::stderr(),
        "{what} {named}: reopen with `retake {quoted}`{hint}"
    );
}

/// One line on stderr, and a hint under it.
pub(super) fn print_error(message: &str, hint: Option<&str>) {
    let palette = style::Palette::of_stderr();
    let mut stderr = io::stderr().lock();
    // Without stderr there is nobody to tell.
    let _ = writeln!(stderr, "{} {message}", palette.error("retake:"));
    if let Some(hint) = hint {
        let _ = writeln!(stderr, "  {} {hint}", palette.dim("hint:"));
    }
}
