//! Where a journal is, and what its first line says.

use super::JournalError;
use super::file::{JournalFile, OpenFile};
use super::folder::{Folder, Subfolder, lock};
use super::header::JournalHeader;
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};

#[derive(Debug, Clone)]
pub(crate) struct Location {
    /// The folder that is there before retake makes any.
    pub(crate) root: PathBuf,
    pub(crate) below: Subfolder,
    pub(crate) name: String,
    /// What the names of files begin with that are kept beside it.
    pub(crate) stem: String,
    pub(crate) header: JournalHeader,
    pub(crate) open: OpenFile,
}

impl Location {
    /// The place of a journal among the operator's own data.
    pub(crate) fn own(root: &Path, below: Subfolder, stem: String, header: JournalHeader) -> Self {
        Self {
            root: root.to_owned(),
            below,
            name: format!("{stem}.jsonl"),
            stem,
            header,
            open: |file| Box::new(file),
        }
    }

    /// The place that the operator named.
    pub(crate) fn named(path: &Path, header: JournalHeader) -> io::Result<Self> {
        let name = path.file_name().and_then(|name| name.to_str());
        let name = name.ok_or(io::ErrorKind::InvalidFilename)?;
        let folder = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty());
        let stem = name.strip_suffix(".jsonl").unwrap_or(name).to_owned();
        Ok(Self {
            name: name.to_owned(),
            ..Self::own(
                folder.unwrap_or(Path::new(".")),
                Subfolder::None,
                stem,
                header,
            )
        })
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.below.path(&self.root).join(&self.name)
    }

    pub(crate) fn failed(&self, error: io::Error) -> JournalError {
        let journal = self.path();
        JournalError::Failed { journal, error }
    }

    /// Opens the folder; `None` where there is none yet.
    pub(crate) fn folder(&self) -> io::Result<Option<Folder>> {
        Folder::open(&self.root, self.below)
    }

    /// Opens the folder, and makes it where there is none.
    pub(crate) fn make_folder(&self) -> io::Result<Folder> {
        Folder::create(&self.root, self.below)
    }

    /// Begins the journal in an empty file: what is written is on the disk, but for the file's name.
    pub(crate) fn fill(&self, file: File, entries: &[impl AsRef<str>]) -> io::Result<JournalFile> {
        if !lock(&file)? {
            return Err(io::ErrorKind::WouldBlock.into());
        }
        JournalFile::create(self.make_folder()?, self, file, entries)
    }
}
