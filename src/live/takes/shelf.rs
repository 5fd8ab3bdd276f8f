//! Where a journal has its place, and what its first line says.

use super::folder::{Below, Folder};
use super::identity::{Identity, first_line_of_run, first_line_of_takes};
use super::segment::Names;
use super::{About, Why};
use retake_core::session::Source;
use std::io;
use std::path::{Path, PathBuf};

/// Where the journal has its place.
#[derive(Debug)]
pub(super) struct Shelf {
    /// The folder that is there before retake makes any.
    pub(super) root: PathBuf,
    pub(super) below: Below,
    pub(super) name: String,
    /// What the names of files begin with that are kept beside it.
    pub(super) stem: String,
    pub(super) of: Of,
}

/// What a journal is about.
#[derive(Debug)]
pub(super) enum Of {
    /// The takes of a recording, which is a file of its own.
    Recording(Identity),
    /// A run, which is recorded in the journal itself.
    Run(About),
}

impl Shelf {
    /// The place of the takes of a recording.
    pub(super) fn of_recording(root: &Path, path: &Path, source: &dyn Source) -> Result<Self, Why> {
        let failed = |error| Why::Failed {
            journal: path.to_owned(),
            error,
        };
        let path = std::fs::canonicalize(path).map_err(failed)?;
        let identity = Identity::of(&path, source);
        let identity = identity.map_err(|error| failed(io::Error::other(error)))?;
        let stem = identity.stem();
        Ok(Self {
            root: root.to_owned(),
            below: Below::Takes,
            name: format!("{stem}.jsonl"),
            stem,
            of: Of::Recording(identity),
        })
    }

    /// The place of a run; its folder is there.
    pub(super) fn of_run(path: &Path, about: About) -> io::Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
        let folder = match path.parent() {
            Some(folder) if !folder.as_os_str().is_empty() => folder,
            _ => Path::new("."),
        };
        Ok(Self {
            root: std::fs::canonicalize(folder)?,
            below: Below::Nothing,
            name: name.to_owned(),
            stem: name.strip_suffix(".jsonl").unwrap_or(name).to_owned(),
            of: Of::Run(about),
        })
    }

    pub(super) fn names(&self) -> Names {
        Names {
            name: self.name.clone(),
            stem: self.stem.clone(),
        }
    }

    pub(super) fn path(&self) -> PathBuf {
        self.below.path(&self.root).join(&self.name)
    }

    pub(super) fn failed(&self, error: io::Error) -> Why {
        let journal = self.path();
        Why::Failed { journal, error }
    }

    /// The recording that it is about; `None` where that is in it.
    pub(super) fn identity(&self) -> Option<&Identity> {
        match &self.of {
            Of::Recording(identity) => Some(identity),
            Of::Run(_) => None,
        }
    }

    /// Opens the folder; `None` where there is none yet.
    pub(super) fn folder(&self) -> io::Result<Option<Folder>> {
        Folder::open(&self.root, self.below)
    }

    /// Opens the folder, and makes it where there is none.
    pub(super) fn make_folder(&self) -> io::Result<Folder> {
        Folder::create(&self.root, self.below)
    }

    /// The first line, with its line feed.
    pub(super) fn first_line(&self) -> serde_json::Result<String> {
        match &self.of {
            Of::Recording(identity) => first_line_of_takes(identity),
            Of::Run(about) => first_line_of_run(about),
        }
    }
}
