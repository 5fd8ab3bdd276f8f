//! The operator's own editor on the bytes of an item. What is changed there is not taken over yet, so the file is read-only.

use std::ffi::OsString;
use std::fs::OpenOptions;
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

/// Why nothing could be shown.
#[derive(Debug, thiserror::Error)]
pub(super) enum EditorError {
    /// The command of `$VISUAL` or `$EDITOR` cannot be read.
    #[error("$VISUAL or $EDITOR is not a command: {0}")]
    Command(String),
    /// The editor does not start.
    #[error("{0} does not start: {1}")]
    Start(String, io::Error),
    /// The file for it cannot be written.
    #[error("no temporary file: {0}")]
    File(#[from] io::Error),
}

/// Opens the editor on a copy of the bytes and waits until it is closed.
pub(super) fn show(bytes: &[u8]) -> Result<(), EditorError> {
    static NUMBER: AtomicU32 = AtomicU32::new(0);
    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
    let name = format!("retake-{}-{number}.json", std::process::id());
    let path = std::env::temp_dir().join(name);
    let mut file = OpenOptions::new()
        .write(true)
        .create_new(true)
        .mode(0o400)
        .open(&path)?;
    let written = file.write_all(bytes);
    let shown = written.map_err(EditorError::File).and_then(|()| {
        let (program, arguments) = command()?;
        Command::new(&program)
            .args(arguments)
            .arg(&path)
            .status()
            .map_err(|error| EditorError::Start(program, error))
    });
    std::fs::remove_file(&path)?;
    shown.map(|_| ())
}

fn command() -> Result<(String, Vec<String>), EditorError> {
    let named = |name: &str| std::env::var_os(name).filter(|value| !value.is_empty());
    let wanted = named("VISUAL")
        .or_else(|| named("EDITOR"))
        .unwrap_or_else(|| OsString::from("vi"));
    let wanted = wanted.to_string_lossy();
    let mut words = shell_words::split(&wanted)
        .map_err(|_| EditorError::Command(wanted.to_string()))?
        .into_iter();
    let program = words
        .next()
        .ok_or_else(|| EditorError::Command(wanted.to_string()))?;
    Ok((program, words.collect()))
}
