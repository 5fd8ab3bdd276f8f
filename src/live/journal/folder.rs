//! The folder of the journals: private, never reached through a link, and noticed when it is taken away.
//!
//! Every file in it is named relative to the open folder, so that nothing can be slipped in between.

use rustix::fs::{AtFlags, FlockOperation, Mode, OFlags};
use rustix::io::Errno;
use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// What retake makes below a folder that is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Subfolder {
    /// The folders of the journals of takes, below the operator's own one.
    Takes,
    /// The folders of the journals of proxies, below the operator's own one.
    Proxies,
    /// The operator named the folder itself.
    None,
}

impl Subfolder {
    fn names(self) -> &'static [&'static str] {
        match self {
            Self::Takes => &["retake", "takes"],
            Self::Proxies => &["retake", "proxy"],
            Self::None => &[],
        }
    }

    /// The path of the folder below `root`.
    pub(crate) fn path(self, root: &Path) -> PathBuf {
        let names = self.names().iter();
        names.fold(root.to_owned(), |path, name| path.join(name))
    }
}

/// How many names are tried for a file.
const SPARES: u32 = 10_000;
/// How many times the list of locks is read before a file counts as not listed.
const READS_OF_LOCKS: u32 = 5;

#[derive(Debug)]
pub(crate) struct Folder {
    root: PathBuf,
    below: Subfolder,
    open: OwnedFd,
}

/// What a name in the folder leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Presence {
    /// The file in question.
    Here,
    /// Nothing, or the folder is gone.
    Gone,
    Other,
}

impl Folder {
    /// Opens the folder; `None` where there is none yet.
    pub(crate) fn open(root: &Path, below: Subfolder) -> io::Result<Option<Self>> {
        match Self::walk(root, below, false) {
            Ok(folder) => Ok(Some(folder)),
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
            Err(error) => Err(error),
        }
    }

    /// Opens the folder, and makes it where there is none.
    pub(crate) fn create(root: &Path, below: Subfolder) -> io::Result<Self> {
        match below {
            Subfolder::Takes | Subfolder::Proxies => std::fs::create_dir_all(root)?,
            // What is made for a run is for the operator's eyes.
            Subfolder::None => std::fs::DirBuilder::new()
                .recursive(true)
                .mode(0o700)
                .create(root)?,
        }
        Self::walk(root, below, true)
    }

    fn walk(root: &Path, below: Subfolder, create: bool) -> io::Result<Self> {
        let flags = OFlags::DIRECTORY | OFlags::CLOEXEC | OFlags::RDONLY;
        // The operator may link data folders; what is below belongs to retake alone.
        let mut open = rustix::fs::open(root, flags, Mode::empty())?;
        for name in below.names() {
            if create {
                match rustix::fs::mkdirat(&open, *name, Mode::RWXU) {
                    Ok(()) | Err(Errno::EXIST) => {}
                    Err(error) => return Err(error.into()),
                }
            }
            open = rustix::fs::openat(&open, *name, flags | OFlags::NOFOLLOW, Mode::empty())?;
        }
        let root = root.to_owned();
        if below == Subfolder::None {
            return Ok(Self { root, below, open });
        }
        let found = rustix::fs::fstat(&open)?;
        if found.st_uid != rustix::process::geteuid().as_raw() {
            return Err(io::Error::new(
                io::ErrorKind::PermissionDenied,
                "the folder belongs to somebody else",
            ));
        }
        if create && Mode::from_raw_mode(found.st_mode) != Mode::RWXU {
            rustix::fs::fchmod(&open, Mode::RWXU)?;
        }
        Ok(Self { root, below, open })
    }

    /// Who may do what in it, as the system's bits.
    pub(crate) fn mode(&self) -> io::Result<u32> {
        // Not as rustix gives them: their type is another one on macOS.
        Ok(File::from(self.open.try_clone()?).metadata()?.mode() & 0o777)
    }

    /// Whether its path still leads to this folder.
    pub(crate) fn is_in_place(&self) -> io::Result<bool> {
        let Some(now) = Self::open(&self.root, self.below)? else {
            return Ok(false);
        };
        let (now, then) = (
            rustix::fs::fstat(&now.open)?,
            rustix::fs::fstat(&self.open)?,
        );
        Ok((now.st_dev, now.st_ino) == (then.st_dev, then.st_ino))
    }

    /// Opens a file, for appending where that is allowed; `None` where there is none.
    pub(crate) fn file(&self, name: &str) -> io::Result<Option<(File, bool)>> {
        let open = |access: OFlags| {
            let flags = access | OFlags::NOFOLLOW | OFlags::CLOEXEC | OFlags::NONBLOCK;
            rustix::fs::openat(&self.open, name, flags, Mode::empty())
        };
        let (opened, writable) = match open(OFlags::RDWR | OFlags::APPEND) {
            Err(Errno::ACCESS | Errno::PERM | Errno::ROFS) => (open(OFlags::RDONLY), false),
            opened => (opened, true),
        };
        let file = match opened {
            Err(Errno::NOENT) => return Ok(None),
            opened => File::from(opened?),
        };
        let metadata = file.metadata()?;
        if !metadata.is_file() {
            return Err(io::Error::new(
                io::ErrorKind::InvalidInput,
                "it is not a regular file",
            ));
        }
        Ok(Some((file, writable)))
    }

    /// Makes a file that only the operator can read.
    pub(crate) fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::APPEND | OFlags::CREATE | OFlags::EXCL;
        let flags = flags | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = Mode::RUSR | Mode::WUSR;
        Ok(rustix::fs::openat(&self.open, name, flags, mode)?.into())
    }

    /// Makes a journal `STEM.jsonl`, `STEM-2.jsonl`, ... under a name that is free.
    pub(crate) fn create_journal(&self, stem: &str) -> io::Result<(String, File)> {
        let name = |number| match number {
            1 => format!("{stem}.jsonl"),
            number => format!("{stem}-{number}.jsonl"),
        };
        at_free_name(name, |name| self.create_file(name))
    }

    /// Makes a file `STEM.SUFFIX`, `STEM.2.SUFFIX`, ... under a name that is free.
    pub(crate) fn create_spare(&self, stem: &str, suffix: &str) -> io::Result<(String, File)> {
        at_free_name(spare(stem, suffix), |name| self.create_file(name))
    }

    /// Gives a file a second name of the same kind.
    pub(crate) fn keep(&self, name: &str, stem: &str, suffix: &str) -> io::Result<()> {
        let link = |spare: &str| {
            Ok(rustix::fs::linkat(
                &self.open,
                name,
                &self.open,
                spare,
                AtFlags::empty(),
            )?)
        };
        at_free_name(spare(stem, suffix), link).map(|_| ())
    }

    pub(crate) fn presence(&self, name: &str, file: &File) -> io::Result<Presence> {
        let then = rustix::fs::fstat(file)?;
        match rustix::fs::statat(&self.open, name, AtFlags::SYMLINK_NOFOLLOW) {
            Ok(now) if (now.st_dev, now.st_ino) == (then.st_dev, then.st_ino) => Ok(Presence::Here),
            Ok(_) => Ok(Presence::Other),
            Err(Errno::NOENT) => Ok(Presence::Gone),
            Err(error) => Err(error.into()),
        }
    }

    pub(crate) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        Ok(rustix::fs::renameat(&self.open, from, &self.open, to)?)
    }

    pub(crate) fn remove(&self, name: &str) -> io::Result<()> {
        Ok(rustix::fs::unlinkat(&self.open, name, AtFlags::empty())?)
    }

    /// Brings names to the disk.
    pub(crate) fn sync(&self) -> io::Result<()> {
        Ok(rustix::fs::fsync(&self.open)?)
    }

    pub(crate) fn journals(&self) -> io::Result<Vec<String>> {
        let mut names = Vec::new();
        for entry in rustix::fs::Dir::read_from(&self.open)? {
            let entry = entry?;
            let name = entry.file_name().to_string_lossy();
            if name.ends_with(".jsonl") {
                names.push(name.into_owned());
            }
        }
        names.sort();
        Ok(names)
    }
}

fn spare(stem: &str, suffix: &str) -> impl Fn(u32) -> String {
    move |number| match number {
        1 => format!("{stem}.{suffix}"),
        number => format!("{stem}.{number}.{suffix}"),
    }
}

/// Makes something under the first name that is free.
fn at_free_name<T>(
    name: impl Fn(u32) -> String,
    make: impl Fn(&str) -> io::Result<T>,
) -> io::Result<(String, T)> {
    for name in (1..SPARES).map(name) {
        match make(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            made => return made.map(|made| (name, made)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Locks a file for this process until it is closed; `false` where another one has it.
pub(crate) fn lock(file: &File) -> io::Result<bool> {
    match rustix::fs::flock(file, FlockOperation::NonBlockingLockExclusive) {
        Ok(()) => Ok(true),
        Err(Errno::WOULDBLOCK) => Ok(false),
        Err(error) => Err(error.into()),
    }
}

/// The process that has locked a file, as far as Linux lists it (proc_locks(5)).
pub(crate) fn holder(file: &File) -> Option<u32> {
    // The list is read in several pieces. A lock that another process gives back between two of them moves the rest
    // of the list up, and the next piece leaves one out.
    (0..READS_OF_LOCKS).find_map(|_| listed_holder(file))
}

fn listed_holder(file: &File) -> Option<u32> {
    let inode = file.metadata().ok()?.ino().to_string();
    let locks = std::fs::read_to_string("/proc/locks").ok()?;
    locks.lines().find_map(|line| {
        let mut columns = line.split_whitespace().skip(1);
        let (kind, pid, place) = (columns.next()?, columns.nth(2)?, columns.next()?);
        let is_own = kind == "FLOCK" && place.rsplit(':').next() == Some(&*inode);
        let pid = is_own.then(|| pid.parse().ok())?;
        pid.filter(|pid| *pid > 0)
    })
}

/// Gives a locked file free. To close it is not enough: a child process that is just being started holds a copy
/// of it until its own program runs.
pub(crate) fn unlock(file: &File) {
    // A file that cannot be unlocked is unlocked when its last copy is closed.
    let _ = rustix::fs::flock(file, FlockOperation::Unlock);
}
