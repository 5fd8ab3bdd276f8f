//! The operator at the terminal of a server: sees each call, and refuses what would be written.

use super::super::exit::Failure;
use super::super::output::safe_line;
use retake_core::safe_text::SafeText;
use retake_live::lock::lock;
use serde_json::{Map, Value};
use std::ffi::OsString;
use std::io::{self, BufRead, IsTerminal, Write};
use std::path::PathBuf;
use std::process::{Command, Stdio};
use std::sync::Mutex;

/// Cells of the arguments of a call.
const WIDTH: usize = 160;

/// The terminal, one question at a time.
pub(super) struct Operator {
    /// The program itself, which shows what a fix would change.
    program: PathBuf,
    terminal: Mutex<()>,
}

impl Operator {
    /// Fails where there is no terminal to ask on.
    pub(super) fn new(program: PathBuf) -> Result<Self, Failure> {
        match io::stdin().is_terminal() && io::stderr().is_terminal() {
            true => Ok(Self {
                program,
                terminal: Mutex::new(()),
            }),
            false => Err(Failure::with_hint(
                "--watch asks the operator at a terminal, and there is none",
                "start `retake mcp-serve --http 127.0.0.1:0 --watch` in a terminal, and give the client its address",
            )),
        }
    }

    pub(super) fn show(&self, tool: &str, arguments: &Map<String, Value>) {
        let _terminal = lock(&self.terminal);
        // A terminal that is gone sees nothing; the call needs no answer of it.
        let _ = writeln!(io::stderr(), "{}", line(tool, arguments));
    }

    /// Asks whether a command may do what it does; `preview` shows what it would change.
    pub(super) fn allows(
        &self,
        tool: &str,
        arguments: &Map<String, Value>,
        preview: Option<Vec<OsString>>,
        question: &str,
    ) -> io::Result<bool> {
        let _terminal = lock(&self.terminal);
        if let Some(words) = preview {
            // The exit code says what is left in the recording; a fix that fails has said so.
            Command::new(&self.program)
                .args(words)
                .stdin(Stdio::null())
                .stdout(io::stderr())
                .status()?;
        }
        let mut stderr = io::stderr();
        write!(stderr, "{}\n{question} [y/N] ", line(tool, arguments))?;
        stderr.flush()?;
        let mut answer = String::new();
        io::stdin().lock().read_line(&mut answer)?;
        Ok(matches!(answer.trim(), "y" | "Y" | "yes"))
    }
}

/// A call in one line.
fn line(tool: &str, arguments: &Map<String, Value>) -> String {
    let arguments = Value::Object(arguments.clone()).to_string();
    let text = SafeText::single_line(&arguments, WIDTH);
    format!("{} {text}", safe_line(tool))
}
