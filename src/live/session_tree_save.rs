//! Writes a take of a session of opencode into the files of its parts.

use super::replace::{Backup, Draft, ReplaceError, ReplaceStep, Replaced};
use retake_core::wire::write::Object;
use std::collections::BTreeMap;
use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::{Path, PathBuf};

/// Writes what differs between two exports of a session into its files. As it was, it is kept as an export beside the
/// folder of all sessions: opencode takes every file in there for its own. `None` where a file is not known.
pub(crate) fn save(
    path: &Path,
    [before, after]: [&str; 2],
    backup: Backup,
) -> Result<Option<Replaced>, ReplaceError> {
    let path = std::path::absolute(path).map_err(ReplaceStep::Look.at(path))?;
    let (old, mut new) = (files_of(&path, before), files_of(&path, after));
    let (mut drafts, mut gone) = (Vec::new(), Vec::new());
    for (file, value) in &old {
        let is_known = file.is_file();
        match new.remove(file) {
            Some(same) if same == *value => {}
            _ if !is_known => return Ok(None),
            None => gone.push(file),
            Some(other) => drafts.push(Draft::write(file, None, |out| {
                out.write_all(other.as_bytes())
            })?),
        }
    }
    if !new.is_empty() {
        return Ok(None);
    }
    let backup = match backup {
        Backup::None => None,
        Backup::Numbered => Some(keep(&path, before)?),
    };
    for draft in drafts {
        draft.take_place(Backup::None)?;
    }
    for file in gone {
        fs::remove_file(file).map_err(ReplaceStep::Write.at(file))?;
    }
    Ok(Some(Replaced { path, backup }))
}

/// Writes an export under a name that is free.
fn keep(path: &Path, export: &str) -> Result<PathBuf, ReplaceError> {
    let name = path.file_name().unwrap_or_default();
    let folder = path.ancestors().nth(4).unwrap_or(path);
    for number in 1_u32.. {
        let mut name = name.to_owned();
        name.push(".bak");
        if number > 1 {
            name.push(format!(".{number}"));
        }
        let kept = folder.join(name);
        let file = OpenOptions::new()
            .write(true)
            .create_new(true)
            .mode(0o600)
            .open(&kept);
        match file {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            file => {
                let written = file.and_then(|mut file| {
                    file.write_all(export.as_bytes())?;
                    file.sync_all()
                });
                written.map_err(ReplaceStep::Backup.at(&kept))?;
                return Ok(kept);
            }
        }
    }
    Err(ReplaceStep::Backup.at(folder)(
        io::ErrorKind::AlreadyExists.into(),
    ))
}

/// The files of the session in an export, with their values.
fn files_of(path: &Path, export: &str) -> BTreeMap<PathBuf, String> {
    let root = path.ancestors().nth(3).unwrap_or(path);
    let session = path.file_stem().unwrap_or_default();
    let export = Object::read(export);
    let value = |object: &Object<'_>, key| object.get(key).unwrap_or("null").to_owned();
    let mut files = BTreeMap::from([(path.to_owned(), value(&export, "info"))]);
    for message in export.list("messages").into_iter().map(Object::read) {
        let id = message.object("info").text("id");
        let of_message = root
            .join("message")
            .join(session)
            .join(format!("{id}.json"));
        files.insert(of_message, value(&message, "info"));
        for part in message.list("parts") {
            let name = format!("{}.json", Object::read(part).text("id"));
            files.insert(root.join("part").join(&id).join(name), part.to_owned());
        }
    }
    files
}
