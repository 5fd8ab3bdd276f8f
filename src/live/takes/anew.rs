//! Writes a journal from memory: the first time, and when what is there cannot be written to any more.

use super::Old;
use super::folder::{Folder, Presence, lock};
use super::segment::{Mount, Segment};
use super::shelf::Shelf;
use std::fs::File;
use std::io;

/// Why there is no new journal.
#[derive(Debug)]
pub(super) enum Failure {
    /// The system says no; everything is as it was.
    Failed(io::Error),
    /// Another process made a journal of this name.
    Taken,
    /// Somebody else put another file in the place of the old one.
    Replaced,
    /// It has its place, but the system could not bring its name to the disk.
    Unsynced(io::Error, File),
}

impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        Self::Failed(error)
    }
}

/// Writes all entries into a new file, which takes the place of an old one.
pub(super) fn write_anew(
    shelf: &Shelf,
    old: Option<&Old>,
    mount: Mount,
    entries: &[String],
) -> Result<Segment, Failure> {
    let folder = shelf.make_folder()?;
    let name = shelf.name.clone();
    let replaces = match old {
        Some(old) => stands_there(&folder, old, &name)?.then_some(old),
        None => None,
    };
    let (made_as, file) = match replaces {
        // While there is no journal the name is free, and the first process that takes it has it.
        None => match folder.create_file(&name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(Failure::Taken);
            }
            created => (name.clone(), created?),
        },
        Some(_) => folder.create_spare(&shelf.stem, &format!("{}.new", std::process::id()))?,
    };
    let filled = fill(shelf, mount, entries, &file).and_then(|segment| {
        if let Some(old) = replaces {
            if let Some(ending) = &old.kept_as {
                folder.keep(&name, &shelf.stem, ending)?;
            }
            folder.rename(&made_as, &name)?;
        }
        Ok(segment)
    });
    match filled {
        Ok(segment) => match folder.sync() {
            Ok(()) => Ok(segment),
            Err(error) => Err(Failure::Unsynced(error, file)),
        },
        Err(error) => {
            folder.remove(&made_as)?;
            Err(Failure::Failed(error))
        }
    }
}

/// Whether the old file still has the name of the journal; one that was found under another name is given it.
fn stands_there(folder: &Folder, old: &Old, name: &str) -> Result<bool, Failure> {
    match folder.presence(&old.name, &old.file)? {
        Presence::Gone => Ok(false),
        Presence::Other => Err(Failure::Replaced),
        Presence::Here if old.name == name => Ok(true),
        Presence::Here => match folder.presence(name, &old.file)? {
            Presence::Gone => {
                folder.rename(&old.name, name)?;
                Ok(true)
            }
            Presence::Here | Presence::Other => Err(Failure::Taken),
        },
    }
}

fn fill(shelf: &Shelf, mount: Mount, entries: &[String], file: &File) -> io::Result<Segment> {
    if !lock(file)? {
        return Err(io::ErrorKind::WouldBlock.into());
    }
    let first = shelf.first_line()?;
    let folder = shelf.make_folder()?;
    let medium = mount(file.try_clone()?);
    Segment::write(folder, shelf.names(), medium, &first, entries)
}
