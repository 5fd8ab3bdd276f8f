//! The journal of takes: one append-only file for each recording, among the operator's own data.
//!
//! What [`Journal::append`] acknowledged is on the disk. What could not be written is kept in memory, said
//! on the screen ([`NotRecording`]) and written as soon as that works again. A journal is never trusted
//! after a failed sync: it is written anew from memory, and what was there is put aside. The recording
//! itself is never touched.

mod find;
mod rewrite;
mod run;
mod state;
#[cfg(test)]
mod tests;

pub use crate::journal::{About, Clock, Damage, JournalError, NotRecording, wall_clock};
pub use run::runs_folder;
pub(super) use run::{is_run, is_run_file, lay, read_run};
pub use state::{FirstRequest, Happened, JournalEntry};

use crate::journal::{
    AppendError, Folder, Identity, JournalFile, JournalHeader, JournalSubject, Location, OpenFile,
    Subfolder, unlock,
};
use etcetera::BaseStrategy;
use find::FoundJournal;
use retake_core::session::Source;
use retake_core::session::ledger::Ledger;
use retake_core::session::takes::Takes;
use rewrite::rewrite;
use serde::Serialize;
use state::JournalState;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

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
    location: Option<Location>,
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
    Open(Box<JournalFile>),
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
        open: OpenFile,
        root: Option<&Path>,
        path: Option<&Path>,
        source: &dyn Source,
        clock: Clock,
    ) -> Opened {
        let mut opened = Opened::nothing(clock);
        let location = match (root, path) {
            (_, None) => Err(JournalError::NoFile),
            (None, _) => Err(JournalError::NoHome),
            (Some(root), Some(path)) => location_of(root, path, source),
        };
        match location {
            Ok(location) => opened.look(Location { open, ..location }, |location, folder| {
                find::find(location, folder, source)
            }),
            Err(why) => opened.journal.bar(why),
        }
        opened
    }

    /// Keeps what changed. With `Ok` it is on the disk; otherwise it is in memory, and will be written
    /// when that works again.
    pub fn append<'a>(&mut self, entry: impl Into<JournalEntry<'a>>) -> Result<(), &NotRecording> {
        self.append_all([entry])
    }

    /// The same for several: the disk is asked once for all of them.
    pub fn append_all<'a>(
        &mut self,
        entries: impl IntoIterator<Item = impl Into<JournalEntry<'a>>>,
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
                Err(why) if matches!(why, JournalError::Failed { .. }) => self.trouble(why),
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

    pub fn path(&self) -> Option<PathBuf> {
        self.location.as_ref().map(Location::path)
    }

    fn entry(&self, event: &impl Serialize) -> serde_json::Result<String> {
        let time = (self.clock)();
        let mut entry = serde_json::to_string(&Timed { event, time })?;
        // Entries stay in memory, and what a text grew by while it was written need not.
        entry.shrink_to_fit();
        Ok(entry)
    }

    fn bar(&mut self, why: JournalError) {
        self.release();
        self.on_disk = OnDisk::Barred;
        self.trouble(why);
    }

    /// Lets others have the file.
    fn release(&self) {
        match &self.on_disk {
            OnDisk::Open(file) => unlock(file.file()),
            OnDisk::Old(old) => unlock(&old.file),
            OnDisk::Nothing | OnDisk::Barred => {}
        }
    }

    fn trouble(&mut self, why: JournalError) {
        let since = self.trouble.as_ref().map(|trouble| trouble.since);
        let since = since.unwrap_or_else(self.clock);
        self.trouble = Some(NotRecording { since, why });
    }

    fn failed(&self, error: io::Error) -> JournalError {
        let journal = self.path().unwrap_or_default();
        JournalError::Failed { journal, error }
    }

    fn write(&mut self) -> Result<(), JournalError> {
        if let OnDisk::Open(file) = &mut self.on_disk {
            match file.append(&self.entries[self.written..]) {
                Ok(()) => return Ok(()),
                Err(AppendError::Undone(error)) => return Err(self.failed(error)),
                Err(AppendError::Replaced) => {
                    let journal = self.path().unwrap_or_default();
                    return Err(JournalError::Replaced { journal });
                }
                Err(AppendError::Gone) => self.on_disk = OnDisk::Nothing,
                Err(AppendError::Untrusted) => {
                    let file = file.handle();
                    let file = file.map_err(|error| self.failed(error))?;
                    self.give_up(file, Some("failed".to_owned()));
                }
            }
        }
        self.rewrite()
    }

    /// A file that cannot be trusted is replaced once a new one has its place.
    fn give_up(&mut self, file: File, kept_as: Option<String>) {
        let name = self.location.as_ref().map(|location| location.name.clone());
        self.on_disk = OnDisk::Old(Old {
            name: name.unwrap_or_default(),
            file,
            kept_as,
        });
    }

    /// Writes everything into a new file, which takes the place of an old one.
    fn rewrite(&mut self) -> Result<(), JournalError> {
        let location = self.location.as_ref().ok_or(JournalError::NoFile)?;
        let old = match &self.on_disk {
            OnDisk::Old(old) => Some(old),
            _ => None,
        };
        match rewrite(location, old, &self.entries)? {
            Ok(file) => {
                self.on_disk = OnDisk::Open(Box::new(file));
                Ok(())
            }
            Err((error, file)) => {
                self.give_up(file, None);
                Err(self.failed(error))
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
    fn nothing(clock: Clock) -> Self {
        Self {
            journal: Journal {
                clock,
                location: None,
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

    fn look(
        &mut self,
        location: Location,
        find: impl FnOnce(&Location, Folder) -> io::Result<Option<FoundJournal>>,
    ) {
        match location.folder() {
            Ok(None) => {}
            Ok(Some(folder)) => match find(&location, folder) {
                Ok(Some(found)) => self.take(found),
                Ok(None) => {}
                Err(error) => self.journal.bar(location.failed(error)),
            },
            // The folder may be there when there is something to write.
            Err(error) => self.journal.trouble(location.failed(error)),
        }
        self.journal.location = Some(location);
    }

    /// Takes over what was found.
    fn take(&mut self, found: FoundJournal) {
        self.damages = found.scan.damages;
        let mut state = JournalState::default();
        for line in found.scan.lines {
            self.damages.extend(state.apply(&line));
            self.journal.entries.push(line.entry);
        }
        self.takes = state.takes;
        self.ledger = state.ledger;
        self.happened = state.happened;
        self.base = state.base;
        self.journal.written = self.journal.entries.len();
        self.journal.on_disk = found.on_disk;
        if let Some(why) = found.barred {
            self.journal.bar(why);
        }
    }
}

/// Where the takes of a recording are kept.
fn location_of(root: &Path, path: &Path, source: &dyn Source) -> Result<Location, JournalError> {
    let identity = std::fs::canonicalize(path)
        .and_then(|path| Identity::of(&path, source).map_err(io::Error::other));
    let identity = identity.map_err(|error| JournalError::Failed {
        journal: path.to_owned(),
        error,
    })?;
    let stem = identity.stem();
    let header = JournalHeader::new(JournalSubject::Takes { of: Some(identity) });
    Ok(Location::own(root, Subfolder::Takes, stem, header))
}
