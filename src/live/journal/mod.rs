//! Journals: append-only files of numbered lines, each with a checksum of its own. Takes, runs and proxies
//! keep theirs here.
//!
//! A [`Location`] says where a journal is and what its first line says, a [`JournalFile`] appends to it, and a
//! [`Scan`] reads what may be damaged anywhere. What to do with a file that can no longer be trusted is up to its
//! owner: takes are written again from memory, a proxy goes on in another file.

pub(crate) use folder::{Folder, Presence, Subfolder, holder, lock, unlock};
pub use header::About;
pub(crate) use header::{HEAD, Identity, JournalHeader, JournalSubject, plain_name};
use retake_core::formats::retake_journal::encode_line;
pub use scan::Damage;
pub(crate) use scan::{JournalLine, Scan};
use std::fmt;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

mod folder;
mod header;
mod scan;

/// The time in milliseconds since 1970. It is informative; the order of events is that of their lines.
pub type Clock = fn() -> u64;

pub fn wall_clock() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0, |passed| {
        u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
    })
}

/// Why nothing is written: what the screen shows as long as it lasts.
#[derive(Debug, thiserror::Error)]
pub struct NotRecording {
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    #[source]
    pub why: JournalError,
}

impl NotRecording {
    /// Whether it may work later without anybody opening the file again.
    pub fn may_pass(&self) -> bool {
        matches!(self.why, JournalError::Failed { .. })
    }

    /// Whether there is a place for the journal, which cannot be used.
    pub fn is_of_the_journal(&self) -> bool {
        !matches!(self.why, JournalError::NoFile | JournalError::NoHome)
    }
}

impl fmt::Display for NotRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.since / 1000;
        let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
        let why = &self.why;
        if matches!(why, JournalError::OpenElsewhere { .. }) {
            return write!(f, "read-only (open in another retake): {why}");
        }
        write!(
            f,
            "NOT RECORDING since {hours:02}:{minutes:02}:{:02} UTC: {why}",
            seconds % 60
        )
    }
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("takes are kept for files only")]
    NoFile,
    #[error("there is no home folder to keep takes in")]
    NoHome,
    #[error(
        "another retake{} has this file open: close it and open the file again, or save a take with w ({})",
        holder.map_or_else(String::new, |pid| format!(" (process {pid})")), journal.display()
    )]
    OpenElsewhere {
        journal: PathBuf,
        /// The id of its process, where the system knows it.
        holder: Option<u32>,
    },
    #[error("the takes of this file are in a journal of version {version}: open it with a newer retake ({})", journal.display())]
    Newer { version: u64, journal: PathBuf },
    /// There is a file where a new run should have its journal.
    #[error("there is a file already ({})", journal.display())]
    Exists { journal: PathBuf },
    #[error("the journal is read-only ({})", journal.display())]
    ReadOnly { journal: PathBuf },
    /// Somebody else put another journal in its place, or wrote to it.
    #[error("the journal was changed by another program; open the file again ({})", journal.display())]
    Replaced { journal: PathBuf },
    /// The system says no; it is tried again with each change.
    #[error("{error} ({})", journal.display())]
    Failed {
        journal: PathBuf,
        #[source]
        error: io::Error,
    },
}

// The open file of a journal: whole lines at its end, on the disk before they are acknowledged.

/// A file as a journal uses it; tests put one in between that fails.
pub(crate) trait Storage: Write + Debug + Send {
    fn file(&self) -> &File;
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Brings it to the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Storage for File {
    fn file(&self) -> &File {
        self
    }

    fn cut(&mut self, length: u64) -> io::Result<()> {
        self.set_len(length)
    }

    fn sync(&mut self) -> io::Result<()> {
        self.sync_all()
    }
}

/// How a file becomes the storage of a journal.
pub(crate) type OpenFile = fn(File) -> Box<dyn Storage>;

/// An open journal, locked for this process.
#[derive(Debug)]
pub(crate) struct JournalFile {
    folder: Folder,
    name: String,
    /// What the name of a torn tail begins with.
    stem: String,
    storage: Box<dyn Storage>,
    /// Up to where it holds whole lines.
    length: u64,
    /// The number of the next line.
    next: u64,
    /// What is to be done before the first line is written.
    mend: Option<Mend>,
}

/// The end of a journal that was not closed.
#[derive(Debug)]
struct Mend {
    /// How many bytes stay.
    clean: u64,
    /// How many bytes there are.
    found: u64,
}

#[derive(Debug)]
pub(crate) enum AppendError {
    /// The file is as it was.
    Undone(io::Error),
    /// The file can no longer be trusted.
    Untrusted,
    /// The file is gone.
    Gone,
    /// Another file has its name, or somebody else wrote to it.
    Replaced,
}

impl JournalFile {
    /// A journal that was read.
    pub(crate) fn resume(
        folder: Folder,
        location: &Location,
        file: File,
        bytes: &[u8],
        scan: &Scan,
    ) -> Self {
        let found = bytes.len() as u64;
        let clean = scan.clean;
        let is_closed = clean == found && bytes.ends_with(b"\n");
        Self {
            folder,
            name: location.name.clone(),
            stem: location.stem.clone(),
            storage: (location.open)(file),
            length: found,
            next: scan.next,
            mend: (!is_closed).then_some(Mend { clean, found }),
        }
    }

    /// Writes a journal from the start into an empty file.
    fn create(
        folder: Folder,
        location: &Location,
        file: File,
        entries: &[impl AsRef<str>],
    ) -> io::Result<Self> {
        let (lines, next) = lines(1, entries);
        let text = location.header.line()? + &lines;
        let mut storage = (location.open)(file);
        storage.write_all(text.as_bytes())?;
        storage.sync()?;
        Ok(Self {
            folder,
            name: location.name.clone(),
            stem: location.stem.clone(),
            storage,
            length: text.len() as u64,
            next,
            mend: None,
        })
    }

    /// The file, which is locked.
    pub(crate) fn file(&self) -> &File {
        self.storage.file()
    }

    /// A second handle of the open file, which goes on to hold its lock.
    pub(crate) fn handle(&self) -> io::Result<File> {
        self.storage.file().try_clone()
    }

    /// Appends entries. They are on the disk when this gives `Ok`.
    pub(crate) fn append(&mut self, entries: &[String]) -> Result<(), AppendError> {
        self.write_lines(entries)?;
        self.sync()
    }

    /// Brings everything that was written to the disk.
    pub(crate) fn sync(&mut self) -> Result<(), AppendError> {
        // What the system could not bring to the disk it may have forgotten; a second try would say nothing.
        self.storage.sync().map_err(|_| AppendError::Untrusted)
    }

    /// Appends entries. They survive the end of this process, and that of the system
    /// once [`Self::sync`] gives `Ok`.
    pub(crate) fn write_lines(&mut self, entries: &[impl AsRef<str>]) -> Result<(), AppendError> {
        self.check()?;
        if let Some(mend) = self.mend.take()
            && let Err(error) = self.mend(&mend)
        {
            self.mend = Some(mend);
            return Err(error);
        }
        let (lines, next) = lines(self.next, entries);
        if let Err(error) = self.storage.write_all(lines.as_bytes()) {
            // No half line may stay, also not in the memory of the system.
            let undone = self.storage.cut(self.length);
            return Err(match undone.and_then(|()| self.storage.sync()) {
                Ok(()) => AppendError::Undone(error),
                Err(_) => AppendError::Untrusted,
            });
        }
        self.length += lines.len() as u64;
        self.next = next;
        Ok(())
    }

    /// Whether the file still has its name and its length.
    fn check(&self) -> Result<(), AppendError> {
        let in_place = self.folder.is_in_place().map_err(AppendError::Undone)?;
        if !in_place {
            return Err(AppendError::Gone);
        }
        let file = self.storage.file();
        match self
            .folder
            .presence(&self.name, file)
            .map_err(AppendError::Undone)?
        {
            Presence::Gone => return Err(AppendError::Gone),
            Presence::Other => return Err(AppendError::Replaced),
            Presence::Here => {}
        }
        let length = file.metadata().map_err(AppendError::Undone)?.len();
        let is_ours = length == self.length;
        is_ours.then_some(()).ok_or(AppendError::Replaced)
    }

    /// Puts a torn tail aside, so that the next line starts clean.
    fn mend(&mut self, mend: &Mend) -> Result<(), AppendError> {
        self.set_aside(mend).map_err(AppendError::Undone)?;
        self.storage.cut(mend.clean).map_err(AppendError::Undone)?;
        self.length = mend.clean;
        let mut last = [0];
        let file = self.storage.file();
        let is_closed = mend.clean == 0
            || file
                .read_exact_at(&mut last, mend.clean - 1)
                .map(|()| last == *b"\n")
                .map_err(|_| AppendError::Untrusted)?;
        if !is_closed {
            self.storage
                .write_all(b"\n")
                .map_err(|_| AppendError::Untrusted)?;
            self.length += 1;
        }
        self.storage.sync().map_err(|_| AppendError::Untrusted)
    }

    fn set_aside(&self, mend: &Mend) -> io::Result<()> {
        let length = usize::try_from(mend.found - mend.clean).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(());
        }
        let mut tail = vec![0; length];
        self.storage.file().read_exact_at(&mut tail, mend.clean)?;
        let (_, mut torn) = self.folder.create_spare(&self.stem, "torn")?;
        torn.write_all(&tail)?;
        torn.sync_all()?;
        self.folder.sync()
    }
}

/// The lines of entries, and the number of the next one.
fn lines(first: u64, entries: &[impl AsRef<str>]) -> (String, u64) {
    let numbered = (first..).zip(entries);
    let lines = numbered
        .map(|(seq, entry)| encode_line(seq, entry.as_ref()))
        .collect();
    (lines, first + entries.len() as u64)
}

#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// The folder that is there before retake makes any.
    pub(crate) root: PathBuf,
    pub(crate) below: Subfolder,
    pub(crate) name: String,
    /// What the names of files begin with that are kept beside it.
    pub(crate) stem: String,
    pub(crate) header: JournalHeader,
    pub(crate) open: OpenFile,
}

impl Location {
    /// The place of a journal among the operator's own data.
    pub(crate) fn own(root: &Path, below: Subfolder, stem: String, header: JournalHeader) -> Self {
        Self {
            root: root.to_owned(),
            below,
            name: format!("{stem}.jsonl"),
            stem,
            header,
            open: |file| Box::new(file),
        }
    }

    /// The place that the operator named.
    pub(crate) fn named(path: &Path, header: JournalHeader) -> io::Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let stem = name.strip_suffix(".jsonl").unwrap_or(name).to_owned();
        Ok(Self {
            name: name.to_owned(),
            ..Self::own(
                folder.unwrap_or(Path::new(".")),
                Subfolder::None,
                stem,
                header,
            )
        })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.below.path(&self.root).join(&self.name)
    }

    pub(crate) fn failed(&self, error: io::Error) -> JournalError {
        let journal = self.path();
        JournalError::Failed { journal, error }
    }

    /// Opens the folder; `None` where there is none yet.
    pub(crate) fn folder(&self) -> io::Result<Option<Folder>> {
        Folder::open(&self.root, self.below)
    }

    /// Opens the folder, and makes it where there is none.
    pub(crate) fn make_folder(&self) -> io::Result<Folder> {
        Folder::create(&self.root, self.below)
    }

    /// Begins the journal in an empty file: what is written is on the disk, but for the file's name.
    pub(crate) fn fill(&self, file: File, entries: &[impl AsRef<str>]) -> io::Result<JournalFile> {
        if !lock(&file)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        JournalFile::create(self.make_folder()?, self, file, entries)
    }
}
