//! Finds the journal of a recording: by the path of the recording, else by what it holds, when it was moved.

use super::folder::{Folder, Presence, lock, unlock};
use super::identity::Identity;
use super::scan::{Damage, Scan};
use super::segment::{Mount, Segment};
use super::shelf::Shelf;
use super::{Old, OnDisk, Why};
use memchr::memchr;
use retake_core::formats::retake_journal::VERSION;
use retake_core::session::Source;
use std::fs::File;
use std::io::{self, Read};
use std::os::unix::fs::FileExt;

/// How much of a journal is read to see whose it is, in bytes.
const FIRST_LINE: usize = 64 * 1024;
/// How often a journal is opened that is being replaced at the same time.
const ATTEMPTS: usize = 5;

/// A journal that was found.
#[derive(Debug)]
pub(super) struct Found {
    pub(super) scan: Scan,
    pub(super) on_disk: OnDisk,
    /// Why nothing may be written to it.
    pub(super) barred: Option<Why>,
}

/// Looks for the journal of a recording in the folder.
pub(super) fn find(
    shelf: &Shelf,
    folder: Folder,
    source: &dyn Source,
    mount: Mount,
) -> Result<Option<Found>, Why> {
    let failed = |error| shelf.failed(error);
    let Some(read) = ReadJournal::open(&folder, shelf.name.clone()).map_err(failed)? else {
        let name = moved(shelf, source, &folder).map_err(failed)?;
        let read = name.map(|name| ReadJournal::open(&folder, name));
        let read = read.transpose().map_err(failed)?.flatten();
        return Ok(read.map(|read| read.adopted(shelf)));
    };
    if !read.is_of_another(source) {
        return Ok(Some(read.found(shelf, folder, mount)));
    }
    // The file was replaced, perhaps by one that was here before.
    let name = moved(shelf, source, &folder).map_err(failed)?;
    let earlier = name.map(|name| ReadJournal::open(&folder, name));
    let earlier = earlier.transpose().map_err(failed)?.flatten();
    Ok(Some(read.put_aside(shelf, earlier)))
}

/// The journal of a run, which stands where the operator named it; `None` where it is gone.
pub(super) fn find_run(shelf: &Shelf, folder: Folder, mount: Mount) -> Result<Option<Found>, Why> {
    let read = ReadJournal::open(&folder, shelf.name.clone());
    let read = read.map_err(|error| shelf.failed(error))?;
    Ok(read.map(|read| read.found(shelf, folder, mount)))
}

/// Looks for a journal that is not named after this path: its recording is not where it was, but holds the
/// same. Of several the one that was written last.
fn moved(shelf: &Shelf, source: &dyn Source, folder: &Folder) -> io::Result<Option<String>> {
    let mut newest = None;
    let own = shelf.identity().map(Identity::path);
    for name in folder.journals()? {
        if name == shelf.name {
            continue;
        }
        // What cannot be opened is no journal of ours.
        let Ok(Some((file, _))) = folder.file(&name) else {
            continue;
        };
        let Some(identity) = identity_of(&file) else {
            continue;
        };
        let path = identity.path();
        let is_free = Some(path) == own || !path.exists();
        if is_free && identity.is_of(source) {
            let written = file.metadata()?.modified()?;
            if newest.as_ref().is_none_or(|(latest, _)| written > *latest) {
                newest = Some((written, name));
            }
        }
    }
    Ok(newest.map(|(_, name)| name))
}

fn identity_of(file: &File) -> Option<Identity> {
    let mut head = vec![0; FIRST_LINE];
    let length = file.read_at(&mut head, 0).ok()?;
    let end = memchr(b'\n', &head[..length])?;
    super::identity::Header::decode(&head[..end])?.of
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
    fn open(folder: &Folder, name: String) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            let Some((mut file, writable)) = folder.file(&name)? else {
                return Ok(None);
            };
            let locked = lock(&file)?;
            if folder.presence(&name, &file)? != Presence::Here {
                continue;
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let scan = Scan::of(&bytes);
            return Ok(Some(Self {
                name,
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
        let header = self.scan.header.as_ref();
        let identity = header.and_then(|header| header.of.as_ref());
        identity.is_some_and(|identity| !identity.begins(source))
    }

    /// Why nothing may be written in its place.
    fn bar(&self, shelf: &Shelf) -> Option<Why> {
        let journal = shelf.below.path(&shelf.root).join(&self.name);
        if let Some(version) = self.scan.newer_version() {
            return Some(Why::Newer { version, journal });
        }
        if !self.locked {
            return Some(Why::OpenElsewhere { journal });
        }
        (!self.writable).then_some(Why::ReadOnly { journal })
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

    /// The journal of this recording.
    fn found(mut self, shelf: &Shelf, folder: Folder, mount: Mount) -> Found {
        let (barred, renewal) = (self.bar(shelf), self.renewal());
        let mut scan = std::mem::take(&mut self.scan);
        let on_disk = match renewal {
            Some(kept_as) => OnDisk::Old(self.old(kept_as)),
            None => {
                let medium = mount(self.file);
                let segment = Segment::read(folder, shelf.names(), medium, &self.bytes, &scan);
                OnDisk::Open(Box::new(segment))
            }
        };
        forget_newer(&mut scan);
        Found {
            scan,
            on_disk,
            barred,
        }
    }

    /// A journal that was written when the recording was elsewhere: it goes on under another name,
    /// with another first line.
    fn adopted(mut self, shelf: &Shelf) -> Found {
        let (barred, kept_as) = (self.bar(shelf), self.renewal().flatten());
        let mut scan = std::mem::take(&mut self.scan);
        forget_newer(&mut scan);
        Found {
            scan,
            on_disk: OnDisk::Old(self.old(kept_as)),
            barred,
        }
    }

    /// A journal of what the file held before: it stays in the folder, and one of what it holds
    /// now takes its name.
    fn put_aside(self, shelf: &Shelf, earlier: Option<Self>) -> Found {
        let barred = self.bar(shelf);
        let mut scan = match earlier {
            Some(earlier) => {
                unlock(&earlier.file);
                earlier.scan
            }
            None => Scan::default(),
        };
        forget_newer(&mut scan);
        scan.damages.push(Damage::OtherRecording);
        let kept_as = Some("jsonl".to_owned());
        Found {
            scan,
            on_disk: OnDisk::Old(self.old(kept_as)),
            barred,
        }
    }

    fn old(self, kept_as: Option<String>) -> Old {
        Old {
            name: self.name,
            file: self.file,
            kept_as,
        }
    }
}

/// A newer version may mean something else by the same words, so nothing of it is read.
fn forget_newer(scan: &mut Scan) {
    if scan.newer_version().is_some() {
        scan.lines.clear();
        scan.damages.clear();
    }
}
