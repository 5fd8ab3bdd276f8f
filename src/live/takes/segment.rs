//! The open file of a journal: whole lines at its end, on the disk before anybody is told.

use super::folder::{Folder, Presence};
use super::scan::Scan;
use retake_core::formats::retake_journal::encode_line;
use std::fmt::Debug;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::fs::FileExt;

/// A file as a journal uses it; tests put one in between that fails.
pub(crate) trait Medium: Write + Debug + Send {
    fn file(&self) -> &File;
    fn cut(&mut self, length: u64) -> io::Result<()>;
    /// Brings it to the disk.
    fn sync(&mut self) -> io::Result<()>;
}

impl Medium for File {
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

/// How a file becomes a medium.
pub(crate) type Mount = fn(File) -> Box<dyn Medium>;

/// The name of a journal, and what the names of files begin with that are kept beside it.
#[derive(Debug, Clone)]
pub(crate) struct Names {
    pub(crate) name: String,
    pub(crate) stem: String,
}

/// An open journal, locked for this process.
#[derive(Debug)]
pub(crate) struct Segment {
    folder: Folder,
    names: Names,
    medium: Box<dyn Medium>,
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

/// Why nothing was written.
#[derive(Debug)]
pub(crate) enum Unwritten {
    /// The file is as it was.
    Undone(io::Error),
    /// The file can no longer be trusted.
    Untrusted(io::Error),
    /// The file is gone.
    Gone,
    /// Another file has its name, or somebody else wrote to it.
    Replaced,
}

impl Segment {
    /// A journal that was read.
    pub(super) fn read(
        folder: Folder,
        names: Names,
        medium: Box<dyn Medium>,
        bytes: &[u8],
        scan: &Scan,
    ) -> Self {
        let found = bytes.len() as u64;
        let clean = scan.clean;
        let is_closed = clean == found && bytes.ends_with(b"\n");
        Self {
            folder,
            names,
            medium,
            length: found,
            next: scan.next,
            mend: (!is_closed).then_some(Mend { clean, found }),
        }
    }

    /// Writes a journal from the start into an empty file.
    pub(crate) fn write(
        folder: Folder,
        names: Names,
        mut medium: Box<dyn Medium>,
        first_line: &str,
        entries: &[impl AsRef<str>],
    ) -> io::Result<Self> {
        let (lines, next) = lines(1, entries);
        medium.write_all(first_line.as_bytes())?;
        medium.write_all(lines.as_bytes())?;
        medium.sync()?;
        Ok(Self {
            folder,
            names,
            length: (first_line.len() + lines.len()) as u64,
            medium,
            next,
            mend: None,
        })
    }

    /// The file, which is locked.
    pub(crate) fn file(&self) -> &File {
        self.medium.file()
    }

    /// The file, which stays locked as long as it is open.
    pub(crate) fn into_file(self) -> io::Result<File> {
        // A second handle of the same open file: the lock goes with it.
        self.medium.file().try_clone()
    }

    /// Appends entries. They are on the disk when this gives `Ok`.
    pub(crate) fn append(&mut self, entries: &[String]) -> Result<(), Unwritten> {
        self.write_lines(entries)?;
        self.sync()
    }

    /// Brings everything that was written to the disk.
    pub(crate) fn sync(&mut self) -> Result<(), Unwritten> {
        // What the system could not bring to the disk it may have forgotten; a second try would say nothing.
        self.medium.sync().map_err(Unwritten::Untrusted)
    }

    /// Appends entries. They survive the end of this process, and that of the system
    /// once [`Self::sync`] gives `Ok`.
    pub(crate) fn write_lines(&mut self, entries: &[impl AsRef<str>]) -> Result<(), Unwritten> {
        self.check()?;
        if let Some(mend) = self.mend.take()
            && let Err(error) = self.mend(&mend)
        {
            self.mend = Some(mend);
            return Err(error);
        }
        let (lines, next) = lines(self.next, entries);
        if let Err(error) = self.medium.write_all(lines.as_bytes()) {
            // No half line may stay, also not in the memory of the system.
            let undone = self.medium.cut(self.length);
            return Err(match undone.and_then(|()| self.medium.sync()) {
                Ok(()) => Unwritten::Undone(error),
                Err(_) => Unwritten::Untrusted(error),
            });
        }
        self.length += lines.len() as u64;
        self.next = next;
        Ok(())
    }

    /// Whether the file still has its name and its length.
    fn check(&self) -> Result<(), Unwritten> {
        let in_place = self.folder.is_in_place().map_err(Unwritten::Undone)?;
        if !in_place {
            return Err(Unwritten::Gone);
        }
        let file = self.medium.file();
        match self
            .folder
            .presence(&self.names.name, file)
            .map_err(Unwritten::Undone)?
        {
            Presence::Gone => return Err(Unwritten::Gone),
            Presence::Other => return Err(Unwritten::Replaced),
            Presence::Here => {}
        }
        let length = file.metadata().map_err(Unwritten::Undone)?.len();
        let is_ours = length == self.length;
        is_ours.then_some(()).ok_or(Unwritten::Replaced)
    }

    /// Puts a torn tail aside, so that the next line starts clean.
    fn mend(&mut self, mend: &Mend) -> Result<(), Unwritten> {
        self.set_aside(mend).map_err(Unwritten::Undone)?;
        self.medium.cut(mend.clean).map_err(Unwritten::Undone)?;
        self.length = mend.clean;
        let mut last = [0];
        let file = self.medium.file();
        let is_closed = mend.clean == 0
            || file
                .read_exact_at(&mut last, mend.clean - 1)
                .map(|()| last == *b"\n")
                .map_err(Unwritten::Untrusted)?;
        if !is_closed {
            self.medium.write_all(b"\n").map_err(Unwritten::Untrusted)?;
            self.length += 1;
        }
        self.medium.sync().map_err(Unwritten::Untrusted)
    }

    fn set_aside(&self, mend: &Mend) -> io::Result<()> {
        let length = usize::try_from(mend.found - mend.clean).map_err(io::Error::other)?;
        if length == 0 {
            return Ok(());
        }
        let mut tail = vec![0; length];
        self.medium.file().read_exact_at(&mut tail, mend.clean)?;
        let (_, mut torn) = self.folder.create_spare(&self.names.stem, "torn")?;
        torn.write_all(&tail)?;
        torn.sync_all()?;
        self.folder.sync()
    }
}

/// The lines of entries, and the number of the one behind them.
fn lines(first: u64, entries: &[impl AsRef<str>]) -> (String, u64) {
    let numbered = (first..).zip(entries);
    let lines = numbered
        .map(|(seq, entry)| encode_line(seq, entry.as_ref()))
        .collect();
    (lines, first + entries.len() as u64)
}
