//! Writes takes in the format of their recording: what was not changed goes over byte for byte.

use super::files::Stamp;
use super::replace::{
    Backup, Draft, NewFile, ReplaceError, ReplaceStep, Replaced, read_and_write, unreadable,
};
use super::sqlite::log_of;
use super::sqlite_save::{DatabaseLock, SaveDatabaseError, database_of};
use super::{Base, is_same_file};
use super::{session_tree, session_tree_save};
use retake_core::formats::is_fixed;
use retake_core::session::{ProblemKind, Rope, Source, SourceError, Span, TextOrigin};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The bytes on the disk are not the text that was read: packed, or in this encoding.
    #[error("{} is {}: write it to another file, as plain UTF-8", .0.display(), .1)]
    Packed(PathBuf, &'static str),
    #[error("{}: a value of it is in no file of its session; save under another name", .0.display())]
    NoFile(PathBuf),
    /// Somebody wrote to the file since it was read; what they wrote would be lost.
    #[error("{} has changed since it was read: do it again once nobody writes to it; nothing was changed", .0.display())]
    Changed(PathBuf),
    #[error("{} is in use: its log {} would no longer fit; save under another name", .0.display(), .1.display())]
    InUse(PathBuf, PathBuf),
    #[error(transparent)]
    NotWritten(#[from] FormatError),
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    #[error(transparent)]
    Database(#[from] SaveDatabaseError),
}

/// A take whose format holds no changed session.
#[derive(Debug, thiserror::Error)]
#[error("{0}: a changed session cannot be written in this format; convert it to items or messages")]
pub struct FormatError(&'static str);

fn check_format(base: &Base, rope: &Rope) -> Result<(), FormatError> {
    let format = base.recording().format;
    let is_changed = rope.pieces() != base.rope().pieces();
    if is_changed && !is_fixed(format) {
        return Err(FormatError(format.title));
    }
    Ok(())
}

/// Saves a take as a file; one that is there is replaced in one step.
pub fn save_take(
    base: &Base,
    rope: &Rope,
    to: &Path,
    backup: Backup,
) -> Result<Replaced, SaveError> {
    check_format(base, rope)?;
    let own = base.path().filter(|from| is_same_file(from, to));
    // Nobody else writes to a database until its place is taken.
    let _lock = match own.filter(|_| base.is_database()) {
        Some(from) => Some(DatabaseLock::new(base, from)?),
        None => None,
    };
    if let Some(from) = own {
        let exported = session_tree::export(from).map_err(ReplaceStep::Look.at(from))?;
        if let Some(exported) = exported {
            return save_tree(base, rope, from, &exported.json, backup);
        }
        check_in_place(base, from)?;
    }
    let draft = if base.is_database() {
        let bytes = database_of(base, rope)?;
        Draft::write(to, base.mode(), |out| out.write_all(&bytes))?
    } else {
        Draft::write(to, base.mode(), |out| write_text(rope, out, NewFile::copy))?
    };
    // Writing a large file takes its time.
    if let Some(from) = own {
        check_in_place(base, from)?;
    }
    Ok(draft.take_place(backup)?)
}

/// Saves a take of a session whose parts are files of their own.
fn save_tree(
    base: &Base,
    rope: &Rope,
    path: &Path,
    on_disk: &[u8],
    backup: Backup,
) -> Result<Replaced, SaveError> {
    let read = |rope: &Rope| {
        let (start, end) = (0, rope.len());
        let bytes = rope.read(Span { start, end }).map_err(unreadable);
        bytes.map_err(ReplaceStep::Look.at(path))
    };
    let (before, after) = (read(base.rope())?, read(rope)?);
    if before != on_disk {
        return Err(SaveError::Changed(path.to_owned()));
    }
    let [before, after] = [before, after].map(|text| String::from_utf8_lossy(&text).into_owned());
    let saved = session_tree_save::save(path, [&before, &after], backup)?;
    saved.ok_or_else(|| SaveError::NoFile(path.to_owned()))
}

pub fn write_take(base: &Base, rope: &Rope, out: &mut dyn Write) -> Result<(), WriteError> {
    check_format(base, rope)?;
    if base.is_database() {
        return Ok(out.write_all(&database_of(base, rope)?)?);
    }
    Ok(write_text(rope, out, read_and_write)?)
}

/// Why a take could not be written to a stream.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    #[error(transparent)]
    Stream(#[from] io::Error),
    #[error(transparent)]
    NotWritten(#[from] FormatError),
    #[error(transparent)]
    Database(#[from] SaveDatabaseError),
}

/// What lies on the disk under the name of the recording must be what was read.
fn check_in_place(base: &Base, path: &Path) -> Result<(), SaveError> {
    if base.is_database() {
        // The next one who opens the database applies what lies in them.
        for ending in ["-wal", "-journal"] {
            let log = log_of(path, ending);
            if log.metadata().is_ok_and(|log| log.len() > 0) {
                return Err(SaveError::InUse(path.to_owned(), log));
            }
        }
        return Ok(());
    }
    let changed = || SaveError::Changed(path.to_owned());
    let on_disk = path.metadata().map_err(|_| changed())?;
    let opened = base.opened();
    let is_same = opened.is_some_and(|opened| opened.is_same_content(&Stamp::of(&on_disk)));
    if on_disk.len() == base.rope().len() && is_same {
        Ok(())
    } else if is_same {
        let problems = base.recording().problems.iter();
        let mut encodings = problems.filter_map(|problem| match problem.kind {
            ProblemKind::Transcoded(encoding) => Some(encoding),
            _ => None,
        });
        let how = encodings.next().unwrap_or("packed");
        Err(SaveError::Packed(path.to_owned(), how))
    } else {
        Err(changed())
    }
}

/// Writes a text; `copy` takes over what was recorded.
pub(crate) fn write_text<W: Write + ?Sized>(
    rope: &Rope,
    out: &mut W,
    copy: impl Fn(&mut W, &dyn Source, Span) -> io::Result<()>,
) -> io::Result<()> {
    for piece in rope.pieces() {
        match piece.from {
            TextOrigin::Written(span) | TextOrigin::Grown(span) => {
                let gone = SourceError::Gone { span };
                out.write_all(rope.written(span).ok_or(gone).map_err(unreadable)?)?;
            }
            TextOrigin::Recorded(span) => copy(out, &**rope.recorded(), span)?,
        }
    }
    Ok(())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_path};
    use std::fs::{File, read_dir, read_to_string, write};
    use std::os::unix::fs::{MetadataExt, PermissionsExt};
    use std::sync::Arc;

    #[test]
    fn what_somebody_appends_meanwhile_is_never_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        let line = "{\"role\":\"user\",\"content\":\"hi\"}\n";
        write(&path, line).unwrap();
        let recording = Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
        let base = Base::new(recording, Some(&path)).unwrap();
        let mut log = File::options().append(true).open(&path).unwrap();
        log.write_all(line.as_bytes()).unwrap();
        let saved = save_take(&base, base.rope(), &path, Backup::Numbered);
        assert!(matches!(saved, Err(SaveError::Changed(_))), "{saved:?}");
        assert_eq!(read_to_string(&path).unwrap(), line.repeat(2));
        assert_eq!(read_dir(folder.path()).unwrap().count(), 1);
        let copy = folder.path().join("copy.jsonl");
        save_take(&base, base.rope(), &copy, Backup::None).unwrap();
        assert_eq!(read_to_string(&copy).unwrap(), line);
    }

    #[test]
    fn another_text_of_the_same_length_is_not_replaced_either() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        let [line, other] =
            ["hi", "ho"].map(|text| format!("{{\"role\":\"user\",\"content\":\"{text}\"}}\n"));
        let refuses = |change: &dyn Fn()| {
            write(&path, &line).unwrap();
            let recording = Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
            let base = Base::new(recording, Some(&path)).unwrap();
            change();
            let saved = save_take(&base, base.rope(), &path, Backup::None);
            assert!(matches!(saved, Err(SaveError::Changed(_))), "{saved:?}");
            assert_eq!(read_to_string(&path).unwrap(), other);
        };
        refuses(&|| {
            write(&path, &other).unwrap();
            // Clocks of file systems are coarse.
            let file = File::options().append(true).open(&path).unwrap();
            let later = std::time::SystemTime::now() + std::time::Duration::from_secs(5);
            file.set_modified(later).unwrap();
        });
        refuses(&|| {
            let beside = folder.path().join("beside");
            write(&beside, &other).unwrap();
            std::fs::rename(&beside, &path).unwrap();
        });
    }

    #[test]
    fn a_copy_of_a_private_recording_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("run.jsonl");
        write(&path, "{\"role\":\"user\",\"content\":\"hi\"}\n").unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        let recording = Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
        let base = Base::new(recording, Some(&path)).unwrap();
        let copy = folder.path().join("copy.jsonl");
        save_take(&base, base.rope(), &copy, Backup::None).unwrap();
        assert_eq!(copy.metadata().unwrap().mode() & 0o777, 0o600);
    }
}
