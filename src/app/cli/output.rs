//! Buffered stdout, or a pager if a person looks at it.

pub(super) use crate::words::counted;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};
use retake_core::safe_text::SafeText;
use retake_live::leave_interrupts;
use std::io::{self, BufWriter, IsTerminal, StdoutLock, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::time::{Duration, Instant};

/// Most cells of a foreign text in one printed line.
const LINE_CELLS: usize = 2000;

/// Foreign text for one line of a report.
pub(super) fn safe_line(text: &str) -> String {
    SafeText::single_line(text, LINE_CELLS).to_string()
}

/// A path for a message.
pub(super) fn name_of(path: &Path) -> String {
    if path == Path::new("-") {
        "standard input".to_owned()
    } else {
        safe_line(&path.to_string_lossy())
    }
}

/// A path or a name in a command that is suggested for copying: one word of the shell, and no option.
pub(super) fn shell_word(text: &str) -> String {
    let text = match text.strip_prefix('-') {
        Some(rest) if !rest.is_empty() => format!("./{text}"),
        _ => text.to_owned(),
    };
    safe_line(&shell_words::quote(&text))
}

/// JSON on its way to stdout. A terminal gets the characters that would command it as JSON escapes; whoever
/// reads a pipe gets the bytes.
pub(super) struct JsonOutput {
    output: Output,
    is_terminal: bool,
    /// The beginning of a character whose end is still to come.
    rest: Vec<u8>,
}

impl JsonOutput {
    pub(super) fn stdout() -> Self {
        Self {
            output: Output::stdout(),
            is_terminal: io::stdout().is_terminal(),
            rest: Vec::new(),
        }
    }

    /// Hands over what is left.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let rest = std::mem::take(&mut self.rest);
        let rest = String::from_utf8_lossy(&rest).into_owned();
        self.output.write_all(rest.as_bytes())?;
        self.output.finish()
    }
}

impl Write for JsonOutput {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if !self.is_terminal {
            return self.output.write(bytes);
        }
        self.rest.extend_from_slice(bytes);
        let text = std::mem::take(&mut self.rest);
        let mut chunks = text.utf8_chunks().peekable();
        while let Some(chunk) = chunks.next() {
            for character in chunk.valid().chars() {
                if commands_terminals(character) {
                    write!(self.output, "\\u{:04x}", u32::from(character))?;
                } else {
                    write!(self.output, "{character}")?;
                }
            }
            let broken = chunk.invalid();
            if chunks.peek().is_none() && is_beginning(broken) {
                self.rest = broken.to_vec();
            } else if !broken.is_empty() {
                write!(self.output, "{}", char::REPLACEMENT_CHARACTER)?;
            }
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.output.flush()
    }
}

/// Whether a character is an instruction to a terminal, or turns the direction of a text: all of them have at
/// most four hexadecimal digits.
fn commands_terminals(character: char) -> bool {
    let turns = matches!(character, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{202a}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || character.is_control() && !matches!(character, '\n' | '\t')
}

/// Whether bytes are the beginning of a character.
fn is_beginning(bytes: &[u8]) -> bool {
    let error = std::str::from_utf8(bytes).err();
    error.is_some_and(|error| error.error_len().is_none())
}

/// Where a report goes.
pub(super) enum Output {
    Stdout(BufWriter<StdoutLock<'static>>),
    /// A pager that shows it.
    Pager(Pager),
}

pub(super) struct Pager {
    process: Child,
    /// `None` once everything is handed over.
    pipe: Option<BufWriter<ChildStdin>>,
}

impl Output {
    pub(super) fn stdout() -> Self {
        Self::Stdout(BufWriter::with_capacity(64 * 1024, io::stdout().lock()))
    }

    /// `$PAGER` where stdout is a terminal and a pager can be started, else stdout.
    pub(super) fn paged() -> Self {
        match io::stdout().is_terminal().then(Pager::start) {
            Some(Some(pager)) => {
                leave_interrupts();
                Self::Pager(pager)
            }
            _ => Self::stdout(),
        }
    }

    /// Hands over what is left and waits until the pager is closed.
    pub(super) fn finish(mut self) -> io::Result<()> {
        let flushed = self.flush();
        if let Self::Pager(pager) = &mut self {
            pager.pipe = None;
            pager.process.wait()?;
        }
        flushed
    }
}

impl Pager {
    /// Starts `$PAGER` (`less` if unset); `None` for an empty `$PAGER`, `cat`, or one that is not there.
    fn start() -> Option<Self> {
        let words = std::env::var("PAGER").unwrap_or_else(|_| "less".to_owned());
        let words = shell_words::split(&words).ok()?;
        let (program, arguments) = words
            .split_first()
            .filter(|(program, _)| *program != "cat")?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::piped());
        // F: quit if it fits one screen, R: keep colours, X: leave the text on the screen. As git does.
        if std::env::var_os("LESS").is_none() {
            command.env("LESS", "FRX");
        }
        let mut process = command.spawn().ok()?;
        let pipe = process.stdin.take().map(BufWriter::new);
        Some(Self { process, pipe })
    }
}

impl Drop for Pager {
    fn drop(&mut self) {
        self.pipe = None;
        // Nobody is left to tell; the wait only keeps the shell's prompt from appearing under the pager.
        let _ = self.process.wait();
    }
}

impl Write for Output {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Stdout(stdout) => stdout.write(bytes),
            Self::Pager(Pager {
                pipe: Some(pipe), ..
            }) => pipe.write(bytes),
            Self::Pager(_) => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    fn flush(&mut self) -> io::Result<()> {
        match self {
            Self::Stdout(stdout) => stdout.flush(),
            Self::Pager(Pager {
                pipe: Some(pipe), ..
            }) => pipe.flush(),
            Self::Pager(_) => Ok(()),
        }
    }
}

// A bar on stderr for work that takes over a second; hidden where stderr is not a terminal.

/// Shorter work shows no bar.
const PATIENCE: Duration = Duration::from_secs(1);

/// Progress over a number of files.
pub(super) struct Progress {
    bar: ProgressBar,
    since: Instant,
    shown: bool,
}

impl Progress {
    /// Starts to count time; nothing is drawn yet.
    pub(super) fn new(files: usize) -> Self {
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::hidden());
        let template = if files == 1 {
            "{spinner} checking {elapsed}"
        } else {
            "{spinner} checked {pos} of {len} files {wide_bar} {eta}"
        };
        if let Ok(style) = ProgressStyle::with_template(template) {
            bar.set_style(style);
        }
        Self {
            bar,
            since: Instant::now(),
            shown: false,
        }
    }

    /// The same over the bytes of files.
    #[cfg(feature = "tables")]
    pub(super) fn of_bytes(bytes: u64, files: usize) -> Self {
        let progress = Self::new(files);
        let template = format!(
            "{{spinner}} {{msg}} of {files} files, {{bytes}} of {{total_bytes}} {{wide_bar}} {{bytes_per_sec}}, {{eta}} left"
        );
        if let Ok(style) = ProgressStyle::with_template(&template) {
            progress.bar.set_style(style);
        }
        progress.bar.set_length(bytes);
        progress
    }

    /// Says how many bytes and files are done.
    #[cfg(feature = "tables")]
    pub(super) fn at_byte(&mut self, bytes: u64, files: u64) {
        self.bar.set_message(files.to_string());
        let bytes = usize::try_from(bytes).unwrap_or(usize::MAX);
        self.at(bytes);
    }

    /// Says how many files are done.
    pub(super) fn at(&mut self, done: usize) {
        if !self.shown && self.since.elapsed() >= PATIENCE {
            self.bar.set_draw_target(ProgressDrawTarget::stderr());
            self.shown = true;
        }
        self.bar.set_position(done as u64);
        if self.shown {
            self.bar.tick();
        }
    }

    /// Writes while the bar is out of the way.
    pub(super) fn aside<R>(&self, write: impl FnOnce() -> R) -> R {
        if self.shown {
            self.bar.suspend(write)
        } else {
            write()
        }
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        self.bar.finish_and_clear();
    }
}

/// A cell of CSV (RFC 4180) from outside: a spreadsheet takes it for no formula, and no program for two cells.
pub(super) fn csv_cell(text: &str) -> String {
    // Looked at before anything is made drawable: a tab leads, too.
    let leads = text
        .trim_start_matches(' ')
        .starts_with(['=', '+', '-', '@', '\t', '\r', '\n']);
    let defused = if leads { "'" } else { "" };
    let text = format!("{defused}{}", safe_line(text));
    match text.contains(['"', ',', '\n', '\r']) {
        true => format!("\"{}\"", text.replace('"', "\"\"")),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::shell_word;

    #[test]
    fn a_suggested_command_has_each_path_as_one_word() {
        for (path, word) in [
            ("run.json", "run.json"),
            ("my runs/a.json", "'my runs/a.json'"),
            ("it's.json", "'it'\\''s.json'"),
            ("a;b$c.json", "'a;b$c.json'"),
            ("-x.json", "./-x.json"),
            ("-", "-"),
        ] {
            assert_eq!(shell_word(path), word);
        }
    }
}
