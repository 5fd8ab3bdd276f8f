//! Writes a file so that there is always a whole one: the new content goes to a file beside it, reaches the
//! disk where it replaces another, and takes the name. Whatever fails before that leaves the old file as it is.

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

use super::FileSource;
use crate::lock::lock;
use retake_core::session::{Source, SourceError, Span};
use std::any::Any;
use std::ffi::{OsStr, OsString};
use std::fs::{self, File, Metadata};
use std::io::{self, BufWriter, Write};
use std::os::unix::fs::{MetadataExt, OpenOptionsExt, PermissionsExt, fchown};
use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicU32, Ordering};

/// How many bytes are gathered before they are written.
const BLOCK: usize = 256 * 1024;
/// How much is copied at once.
const COPIED: u64 = 1 << 20;
/// Shorter spans are copied through the memory of this program: a call for each would cost more.
const SHORT: u64 = 64 * 1024;
/// How many names are tried for a backup.
const BACKUPS: u32 = 10_000;

/// Whether the old content is kept.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Backup {
    None,
    /// It is kept as `NAME.bak`, or `NAME.bak.2` and so on where there is one already.
    Numbered,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Replaced {
    /// The file that was written: for a link the one that it leads to.
    pub path: PathBuf,
    pub backup: Option<PathBuf>,
}

/// Why a file could not be replaced. Except for [`Step::SyncFolder`] the old one is as it was.
#[derive(Debug, thiserror::Error)]
#[error("cannot {step} {}: {error}{}", path.display(), step.consequence())]
pub struct ReplaceError {
    pub step: ReplaceStep,
    pub path: PathBuf,
    pub error: io::Error,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ReplaceStep {
    Look,
    Create,
    /// Making the file that will take the place of another.
    Beside,
    /// Giving it the owner and the mode of that other.
    Resemble,
    Write,
    Backup,
    Rename,
    SyncFolder,
}

impl ReplaceStep {
    fn consequence(self) -> &'static str {
        match self {
            Self::SyncFolder => "; the new content is in place but may not survive a power loss",
            _ => "; nothing was changed",
        }
    }
}

impl std::fmt::Display for ReplaceStep {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str(match self {
            Self::Look | Self::Rename => "replace",
            Self::Create => "create",
            Self::Beside => "make a new file beside",
            Self::Resemble => "give a new file the owner and the mode of",
            Self::Write => "write",
            Self::Backup => "keep a backup as",
            Self::SyncFolder => "sync the folder",
        })
    }
}

impl ReplaceStep {
    pub(crate) fn at(self, path: &Path) -> impl Fn(io::Error) -> ReplaceError {
        move |error| ReplaceError {
            step: self,
            path: path.to_owned(),
            error,
        }
    }
}

/// Replaces the file at `path`, or makes it where there is none; `write` is given the new file
/// and streams its content.
///
/// The new file has the mode and the owner of the old one.
pub fn replace(
    path: &Path,
    backup: Backup,
    write: impl FnOnce(&mut NewFile<'_>) -> io::Result<()>,
) -> Result<Replaced, ReplaceError> {
    Draft::write(path, None, write)?.take_place(backup)
}

/// New content of a file, whole and beside the old one. What does not take its place is removed.
#[derive(Debug)]
pub struct Draft {
    path: PathBuf,
    old: Option<Metadata>,
    new: Beside,
}

impl Draft {
    /// Writes the content that the file at `path` is to have; see [`replace`]. Where there is none yet, it gets
    /// at most `mode`: that of the file which it was made from.
    pub fn write(
        path: &Path,
        mode: Option<u32>,
        write: impl FnOnce(&mut NewFile<'_>) -> io::Result<()>,
    ) -> Result<Self, ReplaceError> {
        let (path, old) = target(path).map_err(ReplaceStep::Look.at(path))?;
        let new = Beside::create(&path, old.as_ref(), mode)?;
        // A new file that is lost with the power costs nothing that was there.
        let is_durable = old.is_some();
        new.fill(write, is_durable)
            .map_err(ReplaceStep::Write.at(&path))?;
        Ok(Self { path, old, new })
    }

    pub fn take_place(self, backup: Backup) -> Result<Replaced, ReplaceError> {
        let Self { path, old, new } = self;
        let kept = match (&old, backup) {
            (Some(_), Backup::Numbered) => Some(back_up(&path)?),
            _ => None,
        };
        let folder = folder_of(&path);
        if let Err(error) = fs::rename(&new.path, &path) {
            // It was made a moment ago and holds what is still in place.
            if let Some(kept) = &kept {
                fs::remove_file(kept).map_err(ReplaceStep::Backup.at(kept))?;
            }
            return Err(ReplaceStep::Rename.at(&path)(error));
        }
        new.keep();
        if old.is_some() {
            let synced = File::open(folder).and_then(|folder| folder.sync_all());
            synced.map_err(ReplaceStep::SyncFolder.at(folder))?;
        }
        let backup = kept;
        Ok(Replaced { path, backup })
    }
}

/// The file that is to be replaced, all links resolved, and what it is like; no link may lead nowhere.
fn target(path: &Path) -> io::Result<(PathBuf, Option<Metadata>)> {
    match fs::symlink_metadata(path) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => {
            return match path.file_name() {
                Some(_) => Ok((path.to_owned(), None)),
                None => Err(io::ErrorKind::IsADirectory.into()),
            };
        }
        Err(error) => return Err(error),
        Ok(_) => {}
    }
    let path = fs::canonicalize(path)?;
    let metadata = fs::metadata(&path)?;
    if metadata.is_dir() {
        return Err(io::ErrorKind::IsADirectory.into());
    }
    if !metadata.is_file() {
        return Err(io::Error::new(
            io::ErrorKind::InvalidInput,
            "it is not a regular file",
        ));
    }
    Ok((path, Some(metadata)))
}

/// The folder that a file is in; the current one for a bare name.
pub(crate) fn folder_of(path: &Path) -> &Path {
    match path.parent() {
        Some(folder) if folder != Path::new("") => folder,
        _ => Path::new("."),
    }
}

/// The new file while it is written.
#[derive(Debug)]
pub struct NewFile<'a> {
    buffered: BufWriter<&'a File>,
}

impl NewFile<'_> {
    /// Appends a span of a source; of a file as the system copies files.
    pub fn copy(&mut self, source: &dyn Source, span: Span) -> io::Result<()> {
        let file = (source as &dyn Any).downcast_ref::<FileSource>();
        let copied = match file.filter(|_| span.len() > SHORT) {
            Some(file) => {
                self.buffered.flush()?;
                file.copy_beginning(span, self.buffered.get_ref())
            }
            None => 0,
        };
        let start = span.start + copied;
        read_and_write(self, source, Span { start, ..span })
    }
}

/// Copies a span of a source block by block.
pub(crate) fn read_and_write<W: Write + ?Sized>(
    out: &mut W,
    source: &dyn Source,
    span: Span,
) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut start = span.start;
    while start < span.end {
        let end = span.end.min(start + COPIED);
        let block = Span { start, end };
        source.read_into(block, &mut buffer).map_err(unreadable)?;
        out.write_all(&buffer)?;
        start = end;
    }
    Ok(())
}

pub(crate) fn unreadable(error: SourceError) -> io::Error {
    io::Error::other(error.to_string())
}

impl Write for NewFile<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffered.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.buffered.flush()
    }
}

/// A file beside the one that it will replace; removed when it did not come to that.
#[derive(Debug)]
struct Beside {
    path: PathBuf,
    file: File,
}

impl Beside {
    fn create(
        target: &Path,
        old: Option<&Metadata>,
        most: Option<u32>,
    ) -> Result<Self, ReplaceError> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = target.file_name().unwrap_or_else(|| OsStr::new("file"));
        let making = old.map_or(ReplaceStep::Create, |_| ReplaceStep::Beside);
        remove_stale(target);
        loop {
            let number = NUMBER.fetch_add(1, Ordering::Relaxed);
            let mut hidden = OsString::from(".");
            hidden.push(name);
            hidden.push(format!(".{}-{number}.tmp", std::process::id()));
            let path = folder_of(target).join(hidden);
            // What replaces a private file must not be open to others for a moment either.
            let mode = match old {
                Some(_) => 0o600,
                None => 0o666 & most.unwrap_or(0o666) | 0o200,
            };
            // Known before it is there: whoever ends the process removes it.
            note_draft(&path);
            let created = File::options()
                .write(true)
                .create_new(true)
                .mode(mode)
                .open(&path);
            let file = match created {
                Ok(file) => file,
                Err(error) => {
                    forget_draft(&path);
                    // A killed process of this number left it.
                    if error.kind() == io::ErrorKind::AlreadyExists {
                        continue;
                    }
                    return Err(making.at(target)(error));
                }
            };
            mark_draft(&file);
            let beside = Self { path, file };
            if let Some(old) = old {
                beside
                    .resemble(old)
                    .map_err(ReplaceStep::Resemble.at(target))?;
            }
            return Ok(beside);
        }
    }

    fn resemble(&self, old: &Metadata) -> io::Result<()> {
        let new = self.file.metadata()?;
        let other = |new: u32, old: u32| (new != old).then_some(old);
        let (owner, group) = (other(new.uid(), old.uid()), other(new.gid(), old.gid()));
        if owner.or(group).is_some() {
            fchown(&self.file, owner, group)?;
        }
        let mode = fs::Permissions::from_mode(old.mode() & 0o7777);
        self.file.set_permissions(mode)
    }

    fn fill(
        &self,
        write: impl FnOnce(&mut NewFile<'_>) -> io::Result<()>,
        is_durable: bool,
    ) -> io::Result<()> {
        let buffered = BufWriter::with_capacity(BLOCK, &self.file);
        let mut new = NewFile { buffered };
        write(&mut new)?;
        new.flush()?;
        drop(new);
        if is_durable {
            self.file.sync_all()?;
        }
        Ok(())
    }

    fn keep(mut self) {
        forget_draft(&self.path);
        self.path = PathBuf::new();
    }
}

impl Drop for Beside {
    fn drop(&mut self) {
        if self.path != Path::new("") {
            // What cannot be removed does no harm: its name is taken by nobody else.
            let _ = fs::remove_file(&self.path);
            forget_draft(&self.path);
        }
    }
}

/// Keeps the old content under a name that is free. A second name for it costs nothing; where the file system
/// knows none, a copy is made.
fn back_up(path: &Path) -> Result<PathBuf, ReplaceError> {
    for number in 1..BACKUPS {
        let mut name = path.as_os_str().to_owned();
        name.push(".bak");
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let backup = PathBuf::from(name);
        let kept = fs::hard_link(path, &backup);
        let kept = match kept {
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => copy(path, &backup),
            kept => kept,
        };
        match kept {
            Ok(()) => return Ok(backup),
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            Err(error) => return Err(ReplaceStep::Backup.at(&backup)(error)),
        }
    }
    Err(ReplaceStep::Backup.at(path)(io::Error::new(
        io::ErrorKind::AlreadyExists,
        "there are too many backups",
    )))
}

fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut old = File::open(from)?;
    let metadata = old.metadata()?;
    let mut new = File::options()
        .write(true)
        .create_new(true)
        .mode(metadata.mode() & 0o777)
        .open(to)?;
    let copied = io::copy(&mut old, &mut new).and_then(|_| new.sync_all());
    if copied.is_err() {
        fs::remove_file(to)?;
    }
    copied
}

/// The files that this process is writing.
static DRAFTS: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Remembers a file that is about to be made.
fn note_draft(path: &Path) {
    lock(&DRAFTS).push(path.to_owned());
}

/// Forgets a file that is gone or has its final name.
fn forget_draft(path: &Path) {
    lock(&DRAFTS).retain(|draft| draft != path);
}

/// Marks a file as being written. Where the file system knows no locks, the number of the process in its
/// name has to do.
fn mark_draft(file: &File) {
    let _ = rustix::fs::flock(file, rustix::fs::FlockOperation::NonBlockingLockExclusive);
}

/// Ends the process, without the files that it has not finished.
pub(crate) fn exit_without_drafts(code: i32) -> ! {
    // No further file is begun while this one waits for the end.
    let drafts = lock(&DRAFTS);
    for draft in drafts.iter() {
        // What cannot be removed is removed by the next run.
        let _ = fs::remove_file(draft);
    }
    std::process::exit(code)
}

/// Removes what killed processes left beside a file. Whatever cannot be looked at is left alone:
/// it does no harm.
fn remove_stale(target: &Path) {
    let Some(name) = target.file_name() else {
        return;
    };
    let start = format!(".{}.", name.to_string_lossy());
    let Ok(entries) = fs::read_dir(folder_of(target)) else {
        return;
    };
    for entry in entries.flatten() {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        let middle = name
            .strip_prefix(&start)
            .and_then(|rest| rest.strip_suffix(".tmp"));
        let process = middle.and_then(|middle| {
            let (process, number) = middle.split_once('-')?;
            number.parse::<u32>().ok()?;
            rustix::process::Pid::from_raw(process.parse().ok()?)
        });
        if process.is_some_and(is_gone) && entry.file_type().is_ok_and(|kind| kind.is_file()) {
            let path = entry.path();
            // A process of another container has its own numbers; it holds the lock.
            let locked = File::open(&path).is_ok_and(|file| {
                let lock = rustix::fs::FlockOperation::NonBlockingLockExclusive;
                rustix::fs::flock(&file, lock).is_ok()
            });
            if locked {
                let _ = fs::remove_file(&path);
            }
        }
    }
}

/// Whether there is no process of this number.
fn is_gone(process: rustix::process::Pid) -> bool {
    rustix::process::test_kill_process(process) == Err(rustix::io::Errno::SRCH)
}
