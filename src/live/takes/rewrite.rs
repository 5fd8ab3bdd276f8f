//! Writes a journal from memory: the first time, and when what is there cannot be written to any more.

use super::Old;
use crate::journal::{Folder, JournalError, JournalFile, Location, Presence};
use std::fs::File;
use std::io;

/// Writes all entries into a new file, which takes the place of an old one. Where that fails everything is as it
/// was; only the name may not be on the disk, which gives the new file as it stands.
pub(super) fn rewrite(
    location: &Location,
    old: Option<&Old>,
    entries: &[String],
) -> Result<Result<JournalFile, (io::Error, File)>, JournalError> {
    let failed = |error| location.failed(error);
    let folder = location.make_folder().map_err(failed)?;
    let name = &location.name;
    let replaces = match old {
        Some(old) => is_in_place(location, &folder, old)?.then_some(old),
        None => None,
    };
    let (made_as, file) = match replaces {
        // While there is no journal the name is free, and the first process that takes it has it.
        None => match folder.create_file(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(taken(location));
            }
            created => (name.clone(), created.map_err(failed)?),
        },
        Some(_) => {
            let suffix = format!("{}.new", std::process::id());
            let made = folder.create_spare(&location.stem, &suffix);
            made.map_err(failed)?
        }
    };
    let filled = file.try_clone().and_then(|file| {
        let filled = location.fill(file, entries)?;
        if let Some(old) = replaces {
            if let Some(ending) = &old.kept_as {
                folder.keep(name, &location.stem, ending)?;
            }
            folder.rename(&made_as, name)?;
        }
        Ok(filled)
    });
    match filled {
        Ok(filled) => Ok(match folder.sync() {
            Ok(()) => Ok(filled),
            Err(error) => Err((error, file)),
        }),
        Err(error) => {
            folder.remove(&made_as).map_err(failed)?;
            Err(failed(error))
        }
    }
}

/// Another process made a journal of this name.
fn taken(location: &Location) -> JournalError {
    let journal = location.path();
    JournalError::OpenElsewhere { journal }
}

/// Whether the old file still has the name of the journal; one that was found under another name is given it.
fn is_in_place(location: &Location, folder: &Folder, old: &Old) -> Result<bool, JournalError> {
    let failed = |error| location.failed(error);
    let presence = |name: &str| folder.presence(name, &old.file).map_err(failed);
    let name = &location.name;
    match presence(&old.name)? {
        Presence::Gone => Ok(false),
        Presence::Other => {
            let journal = location.path();
            Err(JournalError::Replaced { journal })
        }
        Presence::Here if old.name == *name => Ok(true),
        Presence::Here => match presence(name)? {
            Presence::Gone => folder
                .rename(&old.name, name)
                .map_err(failed)
                .map(|()| true),
            Presence::Here | Presence::Other => Err(taken(location)),
        },
    }
}
