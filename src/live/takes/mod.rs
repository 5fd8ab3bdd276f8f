//! The journal of takes: one append-only file for each recording, among the operator's own data.
//!
//! What [`Journal::append`] acknowledged is on the disk. What could not be written is kept in memory, said
//! on the screen ([`NotRecording`]) and written as soon as that works again. A journal is never trusted
//! after a failed sync: it is written anew from memory, and what was there is put aside. The recording
//! itself is never touched.

mod anew;
mod find;
mod folder;
mod identity;
mod run;
mod scan;
mod segment;
mod shelf;
#[cfg(test)]
mod tests;
mod told;

pub(crate) use folder::{Below, Folder, lock, unlock};
pub use identity::About;
pub use run::runs_folder;
pub(super) use run::{is_run, is_run_file, lay, read_run};
pub use scan::Damage;
#[cfg(test)]
pub(crate) use segment::Medium;
pub(crate) use segment::{Mount, Names, Segment, Unwritten};
pub use told::{Entry, FirstRequest, Happened};

use anew::{Failure, write_anew};
use etcetera::BaseStrategy;
use find::Found;
use retake_core::session::Source;
use retake_core::session::ledger::Ledger;
use retake_core::session::takes::Takes;
use serde::Serialize;
use shelf::Shelf;
use std::fmt;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};
use told::Told;

/// The time in milliseconds since 1970. It is only told; the order of events is that of their lines.
pub type Clock = fn() -> u64;

pub fn wall_clock() -> u64 {
    let passed = SystemTime::now().duration_since(UNIX_EPOCH);
    passed.map_or(0, |passed| {
        u64::try_from(passed.as_millis()).unwrap_or(u64::MAX)
    })
}

/// The operator's folder for what programs remember; `None` where there is no home.
pub fn usual_root() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.state_dir().unwrap_or_else(|| folders.data_dir()))
}

/// What opening gives: the takes that were made before, and what is wrong with their journal.
#[derive(Debug)]
pub struct Opened {
    pub journal: Journal,
    pub takes: Takes,
    /// What was done in the world because of runs.
    pub ledger: Ledger,
    /// The same, entry by entry.
    pub happened: Vec<Happened>,
    /// The request that a run began with, where this is its journal.
    pub base: Option<FirstRequest>,
    /// What could not be read.
    pub damages: Vec<Damage>,
}

/// The journal of one recording. The file is made when there is something to write.
#[derive(Debug)]
pub struct Journal {
    clock: Clock,
    mount: Mount,
    shelf: Option<Shelf>,
    /// Every entry, the oldest first: what a new file is written from.
    entries: Vec<String>,
    /// How many of them are on the disk.
    written: usize,
    /// Whether entries wait for others, to be written with them.
    is_gathering: bool,
    on_disk: OnDisk,
    trouble: Option<NotRecording>,
}

#[derive(Debug)]
enum OnDisk {
    Nothing,
    /// A file that is not written to: a new one takes its place.
    Old(Old),
    Open(Box<Segment>),
    /// A file that is somebody else's: nothing will be written.
    Barred,
}

/// An entry with its time.
#[derive(Serialize)]
struct Timed<'a, E> {
    #[serde(flatten)]
    event: &'a E,
    time: u64,
}

/// A journal that a new one takes the place of.
#[derive(Debug)]
struct Old {
    name: String,
    /// Open, so that it stays locked.
    file: File,
    /// The ending under which it is put aside; without one it goes, since everything in it is in the new one.
    kept_as: Option<String>,
}

/// Why takes are only in memory: what the screen shows as long as it lasts.
#[derive(Debug, thiserror::Error)]
pub struct NotRecording {
    /// Since when, in milliseconds since 1970.
    pub since: u64,
    #[source]
    pub why: Why,
}

impl NotRecording {
    /// Whether it may work later without anybody opening the file again.
    pub fn may_pass(&self) -> bool {
        matches!(self.why, Why::Failed { .. })
    }

    /// Whether there is a place for the journal, which cannot be used.
    pub fn is_of_the_journal(&self) -> bool {
        !matches!(self.why, Why::NoFile | Why::NoHome)
    }
}

impl fmt::Display for NotRecording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let seconds = self.since / 1000;
        let (hours, minutes) = (seconds / 3600 % 24, seconds / 60 % 60);
        let why = &self.why;
        write!(
            f,
            "NOT RECORDING since {hours:02}:{minutes:02}:{:02} UTC: {why}",
            seconds % 60
        )
    }
}

/// Why takes are only in memory.
#[derive(Debug, thiserror::Error)]
pub enum Why {
    /// The recording is no file.
    #[error("takes of what is no file are not kept")]
    NoFile,
    /// There is no home folder.
    #[error("there is no home folder to keep takes in")]
    NoHome,
    /// Another process writes to the journal.
    #[error("another retake has the takes of this file open ({})", journal.display())]
    OpenElsewhere { journal: PathBuf },
    /// A newer retake wrote the journal.
    #[error("the takes of this file are in a journal of version {version}: open it with a newer retake ({})", journal.display())]
    Newer { version: u64, journal: PathBuf },
    /// There is a file where a new run should have its journal.
    #[error("there is a file already ({})", journal.display())]
    Exists { journal: PathBuf },
    /// The journal may not be written to.
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

impl Journal {
    /// Looks for the takes of the recording at `path`. `source` is the bytes that takes are laid over, `root`
    /// usually [`usual_root`]. Nothing is written before something changes.
    pub fn open(
        root: Option<&Path>,
        path: Option<&Path>,
        source: &dyn Source,
        clock: Clock,
    ) -> Opened {
        Self::open_on(|file| Box::new(file), root, path, source, clock)
    }

    fn open_on(
        mount: Mount,
        root: Option<&Path>,
        path: Option<&Path>,
        source: &dyn Source,
        clock: Clock,
    ) -> Opened {
        let mut opened = Opened::nothing(clock, mount);
        let shelf = match (root, path) {
            (_, None) => Err(Why::NoFile),
            (None, _) => Err(Why::NoHome),
            (Some(root), Some(path)) => Shelf::of_recording(root, path, source),
        };
        match shelf {
            Ok(shelf) => opened.look(shelf, |shelf, folder, mount| {
                find::find(shelf, folder, source, mount)
            }),
            Err(why) => opened.journal.bar(why),
        }
        opened
    }

    /// Keeps what changed. With `Ok` it is on the disk; otherwise it is in memory, and will be written
    /// when that works again.
    pub fn append<'a>(&mut self, entry: impl Into<Entry<'a>>) -> Result<(), &NotRecording> {
        self.append_all([entry])
    }

    /// The same for several: the disk is asked once for all of them.
    pub fn append_all<'a>(
        &mut self,
        entries: impl IntoIterator<Item = impl Into<Entry<'a>>>,
    ) -> Result<(), &NotRecording> {
        for entry in entries {
            match self.entry(&entry.into()) {
                Ok(entry) => self.entries.push(entry),
                Err(error) => {
                    let why = self.failed(error.into());
                    self.trouble(why);
                }
            }
        }
        match self.is_gathering {
            true => Ok(()),
            false => self.catch_up(),
        }
    }

    /// Keeps entries in memory from now on, until [`Self::write_gathered`]: the disk is asked once
    /// for all of them.
    pub fn gather(&mut self) {
        self.is_gathering = true;
    }

    /// Writes what was gathered. With `Ok` it is on the disk.
    pub fn write_gathered(&mut self) -> Result<(), &NotRecording> {
        self.is_gathering = false;
        self.catch_up()
    }

    /// Writes what could not be written before; a screen may call it from time to time.
    pub fn catch_up(&mut self) -> Result<(), &NotRecording> {
        if !matches!(self.on_disk, OnDisk::Barred) && self.written < self.entries.len() {
            match self.write() {
                Ok(()) => {
                    self.written = self.entries.len();
                    self.trouble = None;
                }
                Err(why) if matches!(why, Why::Failed { .. }) => self.trouble(why),
                Err(why) => self.bar(why),
            }
        }
        self.trouble.as_ref().map_or(Ok(()), Err)
    }

    /// The time, by the clock that entries are stamped with.
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Why takes are only in memory, while that is so.
    pub fn not_recording(&self) -> Option<&NotRecording> {
        self.trouble.as_ref()
    }

    /// Where the journal is, or would be.
    pub fn path(&self) -> Option<PathBuf> {
        self.shelf.as_ref().map(Shelf::path)
    }

    fn entry(&self, event: &impl Serialize) -> serde_json::Result<String> {
        let time = (self.clock)();
        let mut entry = serde_json::to_string(&Timed { event, time })?;
        // Entries stay in memory, and what a text grew by while it was written need not.
        entry.shrink_to_fit();
        Ok(entry)
    }

    fn bar(&mut self, why: Why) {
        self.release();
        self.on_disk = OnDisk::Barred;
        self.trouble(why);
    }

    /// Lets others have the file.
    fn release(&self) {
        match &self.on_disk {
            OnDisk::Open(segment) => unlock(segment.file()),
            OnDisk::Old(old) => unlock(&old.file),
            OnDisk::Nothing | OnDisk::Barred => {}
        }
    }

    fn trouble(&mut self, why: Why) {
        let since = self.trouble.as_ref().map(|trouble| trouble.since);
        let since = since.unwrap_or_else(self.clock);
        self.trouble = Some(NotRecording { since, why });
    }

    fn failed(&self, error: io::Error) -> Why {
        let journal = self.path().unwrap_or_default();
        Why::Failed { journal, error }
    }

    fn write(&mut self) -> Result<(), Why> {
        let Some(shelf) = &self.shelf else {
            return Err(Why::NoFile);
        };
        if let OnDisk::Open(segment) = &mut self.on_disk {
            match segment.append(&self.entries[self.written..]) {
                Ok(()) => return Ok(()),
                Err(Unwritten::Undone(error)) => return Err(self.failed(error)),
                Err(Unwritten::Replaced) => {
                    let journal = shelf.path();
                    return Err(Why::Replaced { journal });
                }
                Err(Unwritten::Gone) => self.on_disk = OnDisk::Nothing,
                Err(Unwritten::Untrusted(error)) => self.abandon(error)?,
            }
        }
        self.write_anew()
    }

    /// Gives up a file that cannot be trusted; it is put aside once a new one has its place.
    fn abandon(&mut self, error: io::Error) -> Result<(), Why> {
        let name = self
            .shelf
            .as_ref()
            .map(|shelf| shelf.name.clone())
            .unwrap_or_default();
        let OnDisk::Open(segment) = std::mem::replace(&mut self.on_disk, OnDisk::Nothing) else {
            return Err(self.failed(error));
        };
        let file = segment.into_file().map_err(|error| self.failed(error))?;
        self.on_disk = OnDisk::Old(Old {
            name,
            file,
            kept_as: Some("failed".to_owned()),
        });
        Ok(())
    }

    /// Writes everything into a new file, which takes the place of an old one.
    fn write_anew(&mut self) -> Result<(), Why> {
        let Some(shelf) = &self.shelf else {
            return Err(Why::NoFile);
        };
        let (name, journal) = (shelf.name.clone(), shelf.path());
        let old = match &self.on_disk {
            OnDisk::Old(old) => Some(old),
            _ => None,
        };
        match write_anew(shelf, old, self.mount, &self.entries) {
            Ok(segment) => {
                self.on_disk = OnDisk::Open(Box::new(segment));
                Ok(())
            }
            Err(Failure::Taken) => Err(Why::OpenElsewhere { journal }),
            Err(Failure::Replaced) => Err(Why::Replaced { journal }),
            Err(Failure::Failed(error)) => Err(Why::Failed { journal, error }),
            Err(Failure::Unsynced(error, file)) => {
                self.on_disk = OnDisk::Old(Old {
                    name,
                    file,
                    kept_as: None,
                });
                Err(Why::Failed { journal, error })
            }
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.release();
    }
}

impl Opened {
    fn nothing(clock: Clock, mount: Mount) -> Self {
        Self {
            journal: Journal {
                clock,
                mount,
                shelf: None,
                entries: Vec::new(),
                written: 0,
                is_gathering: false,
                on_disk: OnDisk::Nothing,
                trouble: None,
            },
            takes: Takes::default(),
            ledger: Ledger::default(),
            happened: Vec::new(),
            base: None,
            damages: Vec::new(),
        }
    }

    /// Looks for the journal in its folder.
    fn look(
        &mut self,
        shelf: Shelf,
        find: impl FnOnce(&Shelf, Folder, Mount) -> Result<Option<Found>, Why>,
    ) {
        match shelf.folder() {
            Ok(None) => {}
            Ok(Some(folder)) => match find(&shelf, folder, self.journal.mount) {
                Ok(Some(found)) => self.take(found),
                Ok(None) => {}
                Err(why) => self.journal.bar(why),
            },
            // The folder may be there when there is something to write.
            Err(error) => self.journal.trouble(shelf.failed(error)),
        }
        self.journal.shelf = Some(shelf);
    }

    /// Takes over what was found.
    fn take(&mut self, found: Found) {
        self.damages = found.scan.damages;
        let mut told = Told::default();
        for line in found.scan.lines {
            self.damages.extend(told.tell(&line));
            self.journal.entries.push(line.entry);
        }
        self.takes = told.takes;
        self.ledger = told.ledger;
        self.happened = told.happened;
        self.base = told.base;
        self.journal.written = self.journal.entries.len();
        self.journal.on_disk = found.on_disk;
        if let Some(why) = found.barred {
            self.journal.bar(why);
        }
    }
}
