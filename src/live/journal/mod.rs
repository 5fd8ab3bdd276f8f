//! Journals: append-only files of numbered lines, each with a checksum of its own. Takes, runs and proxies
//! keep theirs here.
//!
//! A [`Location`] says where a journal is and what its first line says, a [`JournalFile`] appends to it, and a
//! [`Scan`] reads what may be damaged anywhere. What to do with a file that can no longer be trusted is up to its
//! owner: takes are written again from memory, a proxy goes on in another file.

mod file;
mod folder;
mod header;
mod scan;

#[cfg(test)]
pub(crate) use file::Storage;
pub(crate) use file::{AppendError, JournalFile, Location, OpenFile};
pub(crate) use folder::{Folder, Presence, Subfolder, lock, unlock};
pub use header::About;
pub(crate) use header::{HEAD, Identity, JournalHeader, JournalSubject, plain_name};
pub use scan::Damage;
pub(crate) use scan::{JournalLine, Scan};

use std::fmt;
use std::io;
use std::path::PathBuf;
use std::time::{SystemTime, UNIX_EPOCH};

/// The time in milliseconds since 1970. It is only told; the order of events is that of their lines.
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
        write!(
            f,
            "NOT RECORDING since {hours:02}:{minutes:02}:{:02} UTC: {why}",
            seconds % 60
        )
    }
}

#[derive(Debug, thiserror::Error)]
pub enum JournalError {
    #[error("takes of what is no file are not kept")]
    NoFile,
    #[error("there is no home folder to keep takes in")]
    NoHome,
    #[error("another retake has the takes of this file open ({})", journal.display())]
    OpenElsewhere { journal: PathBuf },
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
