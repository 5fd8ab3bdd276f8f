//! Finds the journal of a recording: by the path of the recording, else by what it holds, when it was moved.

use super::{Old, OnDisk};
use crate::journal::{
    Damage, Folder, JournalError, JournalFile, JournalHeader, Location, Presence, Scan, lock,
    unlock,
};
use memchr::memchr;
use retake_core::formats::retake_journal::VERSION;
use retake_core::session::Source;
use std::fs::File;
use std::io::{self, Read};

/// How often a journal is opened that is being replaced at the same time.
const ATTEMPTS: usize = 5;

#[derive(Debug)]
pub(super) struct FoundJournal {
    pub(super) scan: Scan,
    pub(super) on_disk: OnDisk,
    /// Why nothing may be written to it.
    pub(super) barred: Option<JournalError>,
}

/// Looks for the journal of a recording in the folder.
pub(super) fn find(
    location: &Location,
    folder: Folder,
    source: &dyn Source,
) -> io::Result<Option<FoundJournal>> {
    let Some(read) = ReadJournal::open(&folder, &location.name)? else {
        let read = moved(location, source, &folder)?;
        return Ok(read.map(|read| read.adopted(location)));
    };
    if !read.is_of_another(source) {
        return Ok(Some(read.found(location, folder)));
    }
    // The file was replaced, perhaps by one that was here before.
    let earlier = moved(location, source, &folder)?;
    Ok(Some(read.put_aside(location, earlier)))
}

/// The journal of a run, which stands where the operator named it; `None` where it is gone.
pub(super) fn find_run(location: &Location, folder: Folder) -> io::Result<Option<FoundJournal>> {
    let read = ReadJournal::open(&folder, &location.name)?;
    Ok(read.map(|read| read.found(location, folder)))
}

/// Looks for a journal that is not named after this path: its recording is not where it was, but holds the
/// same. Of several the one that was written last.
fn moved(
    location: &Location,
    source: &dyn Source,
    folder: &Folder,
) -> io::Result<Option<ReadJournal>> {
    let mut newest = None;
    let own = location.header.identity();
    for name in folder.journals()? {
        if name == location.name {
            continue;
        }
        // What cannot be opened is no journal of ours.
        let Ok(Some((file, _))) = folder.file(&name) else {
            continue;
        };
        let header = JournalHeader::of(&file);
        let Some(identity) = header.as_ref().and_then(JournalHeader::identity) else {
            continue;
        };
        let path = identity.path();
        let is_free = own.is_some_and(|own| own.path() == path) || !path.exists();
        if is_free && identity.is_of(source) {
            let written = file.metadata()?.modified()?;
            if newest.as_ref().is_none_or(|(latest, _)| written > *latest) {
                newest = Some((written, name));
            }
        }
    }
    match newest {
        Some((_, name)) => ReadJournal::open(folder, &name),
        None => Ok(None),
    }
}

/// A journal as it stands in the folder.
struct ReadJournal {
    name: String,
    file: File,
    bytes: Vec<u8>,
    scan: Scan,
    writable: bool,
    /// Whether this process has it for itself.
    locked: bool,
}

impl ReadJournal {
    fn open(folder: &Folder, name: &str) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            let Some((mut file, writable)) = folder.file(name)? else {
                return Ok(None);
            };
            let locked = lock(&file)?;
            if folder.presence(name, &file)? != Presence::Here {
                continue;
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let mut scan = Scan::of(&bytes);
            // A newer version may mean something else by the same words, so nothing of it is read.
            if scan.newer_version().is_some() {
                scan.lines.clear();
                scan.damages.clear();
            }
            return Ok(Some(Self {
                name: name.to_owned(),
                file,
                bytes,
                scan,
                writable,
                locked,
            }));
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Whether it was written for a recording that begins in another way.
    fn is_of_another(&self, source: &dyn Source) -> bool {
        let identity = self.scan.header.as_ref().and_then(JournalHeader::identity);
        identity.is_some_and(|identity| !identity.begins(source))
    }

    /// Why nothing may be written in its place.
    fn bar(&self, location: &Location) -> Option<JournalError> {
        let journal = location.path().with_file_name(&self.name);
        if let Some(version) = self.scan.newer_version() {
            return Some(JournalError::Newer { version, journal });
        }
        if !self.locked {
            return Some(JournalError::OpenElsewhere { journal });
        }
        (!self.writable).then_some(JournalError::ReadOnly { journal })
    }

    /// As what it is put aside when a new one is written; `None` where it can be written to.
    fn renewal(&self) -> Option<Option<String>> {
        match &self.scan.header {
            Some(header) if header.version < VERSION => Some(Some(format!("v{}", header.version))),
            Some(_) => None,
            None if self.bytes.is_empty() => Some(None),
            None if memchr(b'\n', &self.bytes).is_none() => Some(Some("torn".to_owned())),
            None => Some(Some("damaged".to_owned())),
        }
    }

    fn found(self, location: &Location, folder: Folder) -> FoundJournal {
        if let Some(kept_as) = self.renewal() {
            return self.replaced(location, kept_as);
        }
        let barred = self.bar(location);
        let file = JournalFile::resume(folder, location, self.file, &self.bytes, &self.scan);
        FoundJournal {
            scan: self.scan,
            on_disk: OnDisk::Open(Box::new(file)),
            barred,
        }
    }

    /// A journal that was written when the recording was elsewhere: it goes on under another name,
    /// with another first line.
    fn adopted(self, location: &Location) -> FoundJournal {
        let kept_as = self.renewal().flatten();
        self.replaced(location, kept_as)
    }

    /// A journal of what the file held before: it stays in the folder, and one of what it holds
    /// now takes its name.
    fn put_aside(self, location: &Location, earlier: Option<Self>) -> FoundJournal {
        let mut found = self.replaced(location, Some("jsonl".to_owned()));
        found.scan = earlier.map_or_else(Scan::default, |earlier| {
            unlock(&earlier.file);
            earlier.scan
        });
        found.scan.damages.push(Damage::OtherRecording);
        found
    }

    /// A new journal takes the place of this one.
    fn replaced(self, location: &Location, kept_as: Option<String>) -> FoundJournal {
        let barred = self.bar(location);
        FoundJournal {
            scan: self.scan,
            on_disk: OnDisk::Old(Old {
                name: self.name,
                file: self.file,
                kept_as,
            }),
            barred,
        }
    }
}
