//! Which agent files the operator has confirmed. A file that runs programs, starts servers or sends keys
//! somewhere does so only after it was shown and confirmed once; whatever changes in it, or in a file that
//! it names, asks again.
//!
//! A confirmation is a small file of its own in the operator's state folder, so that two programs that write at
//! once do not lose one. What the programs of an agent hold is not looked at: they are the operator's own, or
//! were installed by them.

use super::replace::{Backup, Draft, ReplaceError};
use sha2::{Digest, Sha256};
use std::fmt;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::os::unix::fs::{DirBuilderExt, MetadataExt};
use std::path::{Path, PathBuf};

/// Where confirmations are, below the operator's own folder.
const BELOW: &str = "retake/confirmed";
/// Who may read a confirmation.
const PRIVATE: u32 = 0o600;

/// The content of an agent file and of the files that it names, by which it is known again.
#[derive(Clone)]
pub struct AgentContent(Sha256);

impl AgentContent {
    /// The content of a file that names no other.
    pub fn of(text: &str) -> Self {
        let mut content = Self(Sha256::new());
        content.add("", text.as_bytes());
        content
    }

    /// Adds a file that it names.
    pub fn add(&mut self, name: &str, bytes: &[u8]) {
        for part in [name.as_bytes(), bytes] {
            // With its length before it, no part can pass for the end of another.
            self.0.update((part.len() as u64).to_le_bytes());
            self.0.update(part);
        }
    }

    fn digest(&self) -> [u8; 32] {
        self.0.clone().finalize().into()
    }
}

impl PartialEq for AgentContent {
    fn eq(&self, other: &Self) -> bool {
        self.digest() == other.digest()
    }
}

impl Eq for AgentContent {}

impl fmt::Debug for AgentContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Content({self})")
    }
}

impl fmt::Display for AgentContent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut digits = self.digest().into_iter();
        digits.try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

#[derive(Debug, thiserror::Error)]
pub enum TrustError {
    #[error("there is no folder for what programs remember: set HOME or XDG_STATE_HOME")]
    NoFolder,
    #[error("{} belongs to somebody else, or others may write to it", .0.display())]
    NotOwn(PathBuf),
    #[error("{}: {error}", path.display())]
    Folder { path: PathBuf, error: io::Error },
    #[error(transparent)]
    Write(#[from] ReplaceError),
}

/// What the operator has confirmed.
#[derive(Debug, Clone)]
pub struct Trust {
    folder: Option<PathBuf>,
}

impl Trust {
    /// What was confirmed below the operator's folder for what programs remember; nothing where there is none.
    pub fn open(root: Option<&Path>) -> Self {
        let folder = root.map(|root| root.join(BELOW));
        Self { folder }
    }

    /// Whether the file at this path was confirmed with this content. What cannot be looked at was not.
    pub fn is_confirmed(&self, path: &Path, content: &AgentContent) -> bool {
        let Some(folder) = &self.folder else {
            return false;
        };
        let record = folder.join(name_of(path, content));
        let is_file = record.symlink_metadata().is_ok_and(|found| found.is_file());
        is_file && is_own(folder).unwrap_or(false) && is_own(&record).unwrap_or(false)
    }

    /// Remembers that the operator has confirmed the file at this path with this content.
    pub fn confirm(&self, path: &Path, content: &AgentContent) -> Result<(), TrustError> {
        let folder = self.folder.as_ref().ok_or(TrustError::NoFolder)?;
        let failed = |error| TrustError::Folder {
            path: folder.clone(),
            error,
        };
        let mut builder = std::fs::DirBuilder::new();
        let made = builder.recursive(true).mode(0o700).create(folder);
        made.map_err(failed)?;
        if !is_own(folder).map_err(failed)? {
            return Err(TrustError::NotOwn(folder.clone()));
        }
        // The path is for whoever looks through the folder.
        let record = folder.join(name_of(path, content));
        let written = Draft::write(&record, Some(PRIVATE), |out| {
            out.write_all(path.as_os_str().as_bytes())?;
            out.write_all(b"\n")
        });
        written?.take_place(Backup::None)?;
        Ok(())
    }
}

/// The name of a confirmation: a digest of path and content.
fn name_of(path: &Path, content: &AgentContent) -> String {
    let mut both = AgentContent(Sha256::new());
    both.0.update(content.digest());
    both.0.update(path.as_os_str().as_bytes());
    both.to_string()
}

fn is_own(path: &Path) -> io::Result<bool> {
    let found = path.symlink_metadata()?;
    let is_operators = found.uid() == rustix::process::geteuid().as_raw();
    Ok(is_operators && found.mode() & 0o022 == 0 && !found.is_symlink())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn mode(path: &Path) -> u32 {
        path.symlink_metadata().unwrap().mode() & 0o777
    }

    #[test]
    fn a_file_is_confirmed_once_and_any_change_asks_again() {
        let home = tempfile::tempdir().unwrap();
        let path = Path::new("/project/agent.toml");
        let content = AgentContent::of("name = \"a\"");
        let trust = Trust::open(Some(home.path()));
        assert!(!trust.is_confirmed(path, &content));
        trust.confirm(path, &content).unwrap();
        trust.confirm(path, &content).unwrap();
        assert!(Trust::open(Some(home.path())).is_confirmed(path, &content));
        assert!(!trust.is_confirmed(path, &AgentContent::of("name = \"b\"")));
        assert!(!trust.is_confirmed(Path::new("/elsewhere/agent.toml"), &content));
        let mut with_policy = content.clone();
        with_policy.add("policy.toml", b"");
        assert!(!trust.is_confirmed(path, &with_policy));
    }

    #[test]
    fn confirmations_are_for_the_operators_eyes_and_hands() {
        let home = tempfile::tempdir().unwrap();
        let (path, content) = (Path::new("/project/agent.toml"), AgentContent::of(""));
        let trust = Trust::open(Some(home.path()));
        trust.confirm(path, &content).unwrap();
        let folder = home.path().join(BELOW);
        let record = folder.join(name_of(path, &content));
        assert_eq!((mode(&folder), mode(&record)), (0o700, 0o600));
        assert_eq!(std::fs::read(&record).unwrap(), b"/project/agent.toml\n");
        assert_eq!(std::fs::read_dir(&folder).unwrap().count(), 1);
        // Where others may write, anybody could have confirmed.
        std::fs::set_permissions(&folder, std::fs::Permissions::from_mode(0o777)).unwrap();
        assert!(!trust.is_confirmed(path, &content));
        let refused = trust.confirm(path, &content);
        assert!(matches!(refused, Err(TrustError::NotOwn(_))));
    }

    #[test]
    fn without_a_home_nothing_is_confirmed_and_the_reason_is_told() {
        let trust = Trust::open(None);
        let (path, content) = (Path::new("/a"), AgentContent::of(""));
        assert!(!trust.is_confirmed(path, &content));
        let refused = trust.confirm(path, &content).unwrap_err();
        assert!(refused.to_string().contains("XDG_STATE_HOME"));
    }

    #[test]
    fn no_part_passes_for_the_end_of_another() {
        let mut one = AgentContent::of("a");
        one.add("bc", b"d");
        let mut other = AgentContent::of("a");
        other.add("b", b"cd");
        assert_ne!(one, other);
    }
}
