//! Opens a text in the operator's editor: `$VISUAL`, else `$EDITOR`, else `vi`.
//!
//! The caller gives the terminal back before and takes it again afterwards. The text lies in a folder that only
//! the operator can enter, since a transcript may hold secrets, and editors put their swap files beside it; the
//! folder is removed afterwards.

use std::fs::{self, DirBuilder, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, id};
use std::sync::atomic::{AtomicU32, Ordering};

/// Why a text could not be edited.
#[derive(Debug, thiserror::Error)]
pub enum EditorError {
    /// The variable cannot be taken apart into a program and its arguments.
    #[error("cannot read the editor's command `{0}`: a quote is open")]
    Unreadable(String),
    #[error("cannot run the editor `{program}`: {error}; set $VISUAL or $EDITOR")]
    NotStarted { program: String, error: io::Error },
    /// It ended with an error; the text is as it was.
    #[error("the editor failed ({0}); nothing was taken over")]
    Failed(ExitStatus),
    #[error("what the editor saved is not UTF-8; nothing was taken over")]
    NotText,
    #[error("cannot use a temporary file: {0}")]
    File(#[from] io::Error),
}

/// The editor's command line from the environment; `variable` looks a variable up.
pub fn editor_command(variable: &dyn Fn(&str) -> Option<String>) -> String {
    ["VISUAL", "EDITOR"]
        .iter()
        .find_map(|name| variable(name).filter(|value| !value.trim().is_empty()))
        .unwrap_or_else(|| "vi".to_owned())
}

/// Lets the operator edit a text. `suffix` (`.json`, `.txt`) tells the editor what it is. Gives the new text,
/// or `None` where it was left as it was or emptied, which is how one says no in an editor.
///
/// A line feed at the end that an editor adds by itself is taken off again.
pub fn edit(text: &str, suffix: &str, command: &str) -> Result<Option<String>, EditorError> {
    let words =
        shell_words::split(command).map_err(|_| EditorError::Unreadable(command.to_owned()))?;
    let Some((program, arguments)) = words.split_first() else {
        return Err(EditorError::Unreadable(command.to_owned()));
    };
    let folder = PrivateFolder::create()?;
    let path = folder.write(&format!("retake{suffix}"), text)?;
    let status = Command::new(program)
        .args(arguments)
        .arg(&path)
        .status()
        .map_err(|error| EditorError::NotStarted {
            program: program.clone(),
            error,
        })?;
    if !status.success() {
        return Err(EditorError::Failed(status));
    }
    let mut edited = String::from_utf8(fs::read(&path)?).map_err(|_| EditorError::NotText)?;
    if !text.ends_with('\n') && edited.ends_with('\n') {
        edited.pop();
    }
    Ok((edited != text && !edited.trim().is_empty()).then_some(edited))
}

/// A folder for one file; removed when it is dropped.
struct PrivateFolder(PathBuf);

impl PrivateFolder {
    fn create() -> io::Result<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let base = std::env::temp_dir();
        // Creating fails where the name exists, so nobody can have put a folder or link of his own there.
        for _ in 0..1000 {
            let count = COUNT.fetch_add(1, Ordering::Relaxed);
            let path = base.join(format!("retake-{}-{count}", id()));
            match DirBuilder::new().mode(0o700).create(&path) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(error) => return Err(error),
                Ok(()) => return Ok(Self(path)),
            }
        }
        Err(io::ErrorKind::AlreadyExists.into())
    }

    fn write(&self, name: &str, text: &str) -> io::Result<PathBuf> {
        let path = self.0.join(Path::new(name));
        let mut file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&path)?;
        file.write_all(text.as_bytes())?;
        Ok(path)
    }
}

impl Drop for PrivateFolder {
    fn drop(&mut self) {
        // Nothing can be done about a folder that cannot be removed, and nobody but the operator can read it.
        let _ignored = fs::remove_dir_all(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> String {
        format!("sh -c {} editor", shell_words::quote(script))
    }

    #[test]
    fn the_variables_are_asked_in_turn() {
        let command = |set: &[(&str, &str)]| {
            editor_command(&|name| {
                let found = set.iter().find(|(known, _)| *known == name);
                found.map(|(_, value)| (*value).to_owned())
            })
        };
        assert_eq!(
            command(&[("VISUAL", "code -w"), ("EDITOR", "nano")]),
            "code -w"
        );
        assert_eq!(command(&[("VISUAL", " "), ("EDITOR", "nano")]), "nano");
        assert_eq!(command(&[]), "vi");
    }

    #[test]
    fn the_changed_text_comes_back_without_a_line_feed_that_the_editor_added() {
        let edited = edit("{\"a\":1}", ".json", &shell("echo '{\"a\":2}' > \"$1\"")).unwrap();
        assert_eq!(edited.as_deref(), Some("{\"a\":2}"));
        let edited = edit("a\n", ".txt", &shell("echo b >> \"$1\"")).unwrap();
        assert_eq!(edited.as_deref(), Some("a\nb\n"));
    }

    #[test]
    fn a_text_that_was_left_alone_or_emptied_is_none() {
        assert_eq!(edit("same", ".txt", "true").unwrap(), None);
        assert_eq!(
            edit("same", ".txt", &shell("echo same > \"$1\"")).unwrap(),
            None
        );
        assert_eq!(edit("same", ".txt", &shell(": > \"$1\"")).unwrap(), None);
    }

    #[test]
    fn failures_say_what_to_do() {
        let said = |command: &str| edit("x", ".txt", command).unwrap_err().to_string();
        assert!(said("/no/such/editor").contains("set $VISUAL or $EDITOR"));
        assert!(said("false").contains("nothing was taken over"));
        assert!(said("vi 'x").contains("a quote is open"));
        assert!(said(&shell("printf '\\377' > \"$1\"")).contains("not UTF-8"));
    }

    #[test]
    fn the_file_is_private_has_its_suffix_and_is_removed() {
        let script =
            "stat -c %a \"$1\" > \"$1.new\"; echo \"$1\" >> \"$1.new\"; mv \"$1.new\" \"$1\"";
        let edited = edit("x", ".json", &shell(script)).unwrap().unwrap();
        let (mode, path) = edited.split_once('\n').unwrap();
        assert_eq!(mode, "600");
        assert!(path.ends_with(".json"));
        assert!(!Path::new(path).parent().unwrap().exists());
    }
}
