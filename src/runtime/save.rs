//! Writes takes in the format of their recording: what was not changed goes over byte for byte.

use super::replace::{Backup, ReplaceError, Replaced, replace};
use super::sqlite_save::{SaveDatabaseError, database_of};
use super::{Base, is_same_file};
use crate::session::{Origin, Rope, SourceError, Span};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How much is copied at once.
const BLOCK: u64 = 1 << 20;

/// Why a take could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The bytes on the disk are not the text that was read: it was unpacked or decoded, or the file has changed since.
    #[error("{} has changed since it was read, or is packed or in another encoding: save under another name", .0.display())]
    NotAsRead(PathBuf),
    /// Somebody has the database open.
    #[error("{} is in use: its log {} would no longer fit; save under another name", .0.display(), .1.display())]
    InUse(PathBuf, PathBuf),
    /// The file could not be replaced.
    #[error(transparent)]
    Replace(#[from] ReplaceError),
    /// The database could not be written.
    #[error(transparent)]
    Database(#[from] SaveDatabaseError),
}

/// Saves a take as a file; one that is there is replaced in one step.
pub fn save_take(
    base: &Base,
    rope: &Rope,
    to: &Path,
    backup: Backup,
) -> Result<Replaced, SaveError> {
    if let Some(from) = base.path().filter(|from| is_same_file(from, to)) {
        check_in_place(base, from)?;
    }
    if base.is_database() {
        let bytes = database_of(base, rope)?;
        return Ok(replace(to, backup, |out| out.write_all(&bytes))?);
    }
    Ok(replace(to, backup, |out| write_text(rope, out))?)
}

/// Writes a take to a stream.
pub fn write_take(base: &Base, rope: &Rope, out: &mut dyn Write) -> Result<(), WriteError> {
    if base.is_database() {
        return Ok(out.write_all(&database_of(base, rope)?)?);
    }
    Ok(write_text(rope, out)?)
}

/// Why a take could not be written to a stream.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// The stream, or the recording behind the take.
    #[error(transparent)]
    Stream(#[from] io::Error),
    /// The database could not be made.
    #[error(transparent)]
    Database(#[from] SaveDatabaseError),
}

/// What lies on the disk under the name of the recording must be what was read.
fn check_in_place(base: &Base, path: &Path) -> Result<(), SaveError> {
    if base.is_database() {
        // The next one who opens the database applies what lies in them.
        for ending in ["-wal", "-journal"] {
            let mut log = path.as_os_str().to_owned();
            log.push(ending);
            let log = PathBuf::from(log);
            if log.metadata().is_ok_and(|log| log.len() > 0) {
                return Err(SaveError::InUse(path.to_owned(), log));
            }
        }
        return Ok(());
    }
    let is_as_read = path
        .metadata()
        .is_ok_and(|file| file.len() == base.rope().recorded().len());
    if is_as_read {
        Ok(())
    } else {
        Err(SaveError::NotAsRead(path.to_owned()))
    }
}

fn write_text(rope: &Rope, out: &mut dyn Write) -> io::Result<()> {
    let unreadable = |error: SourceError| io::Error::other(error.to_string());
    let mut buffer = Vec::new();
    for piece in rope.pieces() {
        match piece.from {
            Origin::Written(span) => {
                let range = usize::try_from(span.start)
                    .ok()
                    .zip(usize::try_from(span.end).ok());
                let bytes = range.and_then(|(start, end)| rope.written().get(start..end));
                out.write_all(
                    bytes
                        .ok_or(SourceError::Gone { span })
                        .map_err(unreadable)?,
                )?;
            }
            Origin::Recorded(span) => {
                let mut start = span.start;
                while start < span.end {
                    let end = span.end.min(start + BLOCK);
                    let block = Span { start, end };
                    rope.recorded()
                        .read_into(block, &mut buffer)
                        .map_err(unreadable)?;
                    out.write_all(&buffer)?;
                    start = end;
                }
            }
        }
    }
    Ok(())
}
