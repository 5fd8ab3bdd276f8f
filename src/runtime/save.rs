//! Writes takes in the format of their recording: what was not changed goes over byte for byte.

use super::replace::{Backup, NewFile, ReplaceError, Replaced, replace};
use super::sqlite_save::{SaveDatabaseError, database_of};
use super::{Base, is_same_file};
use crate::session::{Origin, Rope, Source, SourceError, Span};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

/// How much is copied at once.
const BLOCK: u64 = 1 << 20;

/// Why a take could not be saved.
#[derive(Debug, thiserror::Error)]
pub enum SaveError {
    /// The bytes on the disk are not the text that was read.
    #[error("{} is packed or in another encoding: save under another name", .0.display())]
    Packed(PathBuf),
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
    Ok(replace(to, backup, |out| {
        write_text(rope, out, NewFile::copy)
    })?)
}

/// Writes a take to a stream.
pub fn write_take(base: &Base, rope: &Rope, out: &mut dyn Write) -> Result<(), WriteError> {
    if base.is_database() {
        return Ok(out.write_all(&database_of(base, rope)?)?);
    }
    Ok(write_text(rope, out, read_and_write)?)
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
        let mut log = path.as_os_str().to_owned();
        log.push("-wal");
        let log = PathBuf::from(log);
        if log.metadata().is_ok_and(|log| log.len() > 0) {
            return Err(SaveError::InUse(path.to_owned(), log));
        }
        return Ok(());
    }
    let is_as_read = path
        .metadata()
        .is_ok_and(|file| file.len() == base.rope().recorded().len());
    if is_as_read {
        Ok(())
    } else {
        Err(SaveError::Packed(path.to_owned()))
    }
}

/// Writes a text; `copy` takes over what was recorded.
pub(super) fn write_text<W: Write + ?Sized>(
    rope: &Rope,
    out: &mut W,
    copy: impl Fn(&mut W, &dyn Source, Span) -> io::Result<()>,
) -> io::Result<()> {
    for piece in rope.pieces() {
        match piece.from {
            Origin::Written(span) => {
                let range = usize::try_from(span.start)
                    .ok()
                    .zip(usize::try_from(span.end).ok());
                let bytes = range.and_then(|(start, end)| rope.written().get(start..end));
                let gone = SourceError::Gone { span };
                out.write_all(bytes.ok_or(gone).map_err(unreadable)?)?;
            }
            Origin::Recorded(span) => copy(out, &**rope.recorded(), span)?,
        }
    }
    Ok(())
}

/// Copies a span of a source block by block.
pub(super) fn read_and_write<W: Write + ?Sized>(
    out: &mut W,
    source: &dyn Source,
    span: Span,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut start = span.start;
    while start < span.end {
        let end = span.end.min(start + BLOCK);
        let block = Span { start, end };
        source.read_into(block, &mut buffer).map_err(unreadable)?;
        out.write_all(&buffer)?;
        start = end;
    }
    Ok(())
}

fn unreadable(error: SourceError) -> io::Error {
    io::Error::other(error.to_string())
}
