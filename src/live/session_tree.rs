//! A session of opencode as versions before its database kept it, each part in a file of its own:
//! `session/PROJECT/SESSION.json`, `message/SESSION/*.json`, `part/MESSAGE/*.json`.

use retake_core::session::{Problem, ProblemKind};
use serde::de::IgnoredAny;
use std::ffi::OsStr;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

/// A session as `opencode export` writes it, and the files that could not be taken over.
pub(crate) struct Exported {
    pub(crate) json: Vec<u8>,
    pub(crate) problems: Vec<Problem>,
}

/// Collects the session whose own file this is; `None` for any other file.
pub(crate) fn export(path: &Path) -> io::Result<Option<Exported>> {
    let path = std::path::absolute(path)?;
    let parts = (
        path.file_stem(),
        path.ancestors().nth(2),
        path.ancestors().nth(3),
    );
    let (Some(session), Some(sessions), Some(root)) = parts else {
        return Ok(None);
    };
    let messages = root.join("message").join(session);
    let is_json = path.extension() == Some(OsStr::new("json"));
    let is_tree = is_json && sessions.ends_with("session") && messages.is_dir();
    if !is_tree {
        return Ok(None);
    }
    let mut exported = Exported {
        json: b"{\"info\":".to_vec(),
        problems: Vec::new(),
    };
    exported.add(&path)?;
    exported.json.extend(b",\"messages\":[");
    for (index, message) in files_in(&messages)?.iter().enumerate() {
        let before: &[u8] = if index > 0 {
            b",\n{\"info\":"
        } else {
            b"\n{\"info\":"
        };
        exported.json.extend(before);
        exported.add(message)?;
        exported.json.extend(b",\"parts\":[");
        let id = message.file_stem().unwrap_or_default();
        for (index, part) in files_in(&root.join("part").join(id))?.iter().enumerate() {
            exported
                .json
                .extend(if index > 0 { &b","[..] } else { b"" });
            exported.add(part)?;
        }
        exported.json.extend(b"]}");
    }
    exported.json.extend(b"]}");
    Ok(Some(exported))
}

impl Exported {
    /// Adds the value of a file; `null` for one that is not JSON.
    fn add(&mut self, path: &Path) -> io::Result<()> {
        let bytes = fs::read(path)?;
        match serde_json::from_slice::<IgnoredAny>(&bytes) {
            Ok(_) => self.json.extend(bytes.trim_ascii()),
            Err(error) => {
                let kind = ProblemKind::Undecodable(format!("{}: {error}", path.display()));
                let at = self.json.len() as u64;
                self.problems.push(Problem { at, kind });
                self.json.extend(b"null");
            }
        }
        Ok(())
    }
}

/// The JSON files of a folder by their names, whose ids rise with time; none where there is no folder.
fn files_in(folder: &Path) -> io::Result<Vec<PathBuf>> {
    let entries = match fs::read_dir(folder) {
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        entries => entries?,
    };
    let files = entries.map(|entry| entry.map(|entry| entry.path()));
    let mut files = files.collect::<io::Result<Vec<_>>>()?;
    files.retain(|file| file.extension() == Some(OsStr::new("json")));
    files.sort_unstable();
    Ok(files)
}
