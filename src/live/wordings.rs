//! The operator's own wordings: `retake/wordings.toml` in the config folder, and
//! `.retake/wordings.toml` in the project.
//!
//! ```toml
//! [polite]
//! title = "a polite one"                # optional: what menus call it
//! kinds = ["unknown-tool"]              # optional: every kind without it
//! template = "Sorry, there is no {{ tool }}."
//! ```
//!
//! The project's win over those of the config folder, and these over the library. A file or an entry that
//! cannot be used is left out alone, and reported with its line.

use super::files::{InputError, read_text};
use etcetera::BaseStrategy;
use retake_core::config::{OwnWording, read_wordings};
use retake_core::wording::{self, FailureKind};
use std::fmt;
use std::path::{Path, PathBuf};

/// Longest file, in bytes.
const FILE: u64 = 1024 * 1024;

/// Where a wording comes from, the strongest last.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum WordingOrigin {
    /// retake brings it along.
    Library,
    /// The operator's config folder.
    Config,
    Project,
}

/// A file that may hold wordings.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordingFile {
    pub path: PathBuf,
    pub origin: WordingOrigin,
}

/// A wording that can be chosen.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct WordingChoice<'a> {
    pub name: &'a str,
    pub title: &'a str,
    pub template: &'a str,
    pub origin: WordingOrigin,
}

/// A file, or an entry of one, that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WordingFault {
    pub path: PathBuf,
    /// The line, from 1; `None` where the file as a whole is to blame.
    pub line: Option<usize>,
    pub message: String,
}

impl fmt::Display for WordingFault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}", self.path.display())?;
        if let Some(line) = self.line {
            write!(f, ":{line}")?;
        }
        write!(f, ": {}", self.message)
    }
}

/// The operator's own wordings, laid over the library.
#[derive(Debug, Clone, Default)]
pub struct Wordings {
    own: Vec<Own>,
    /// What could not be used.
    pub faults: Vec<WordingFault>,
}

#[derive(Debug, Clone)]
struct Own {
    wording: OwnWording,
    origin: WordingOrigin,
}

impl Own {
    fn is_for(&self, kind: FailureKind) -> bool {
        let kinds = &self.wording.kinds;
        kinds.is_empty() || kinds.contains(&kind)
    }
}

/// Where retake's own files of settings lie: on Linux and macOS below `$XDG_CONFIG_HOME` or `~/.config`.
pub fn config_folder() -> Option<PathBuf> {
    let strategy = etcetera::choose_base_strategy().ok()?;
    Some(strategy.config_dir().join("retake"))
}

/// The files to look for: in the config folder (on Linux and macOS `$XDG_CONFIG_HOME` or `~/.config`; left out
/// where no home is known) and in the project.
pub fn usual_files(project: &Path) -> Vec<WordingFile> {
    let config = config_folder().map(|folder| WordingFile {
        path: folder.join("wordings.toml"),
        origin: WordingOrigin::Config,
    });
    let project = WordingFile {
        path: project.join(".retake/wordings.toml"),
        origin: WordingOrigin::Project,
    };
    config.into_iter().chain([project]).collect()
}

impl Wordings {
    /// Reads the files; those that are not there are left out.
    pub fn read(files: &[WordingFile]) -> Self {
        let mut wordings = Self::default();
        for file in files {
            wordings.add(file);
        }
        wordings
            .own
            .sort_by_key(|own| std::cmp::Reverse(own.origin));
        wordings
    }

    fn add(&mut self, file: &WordingFile) {
        let mut tell = |line, message| {
            let path = file.path.clone();
            self.faults.push(WordingFault {
                path,
                line,
                message,
            });
        };
        let text = match read_text(&file.path, FILE) {
            Ok(text) => text,
            Err(InputError::Missing) => return,
            Err(InputError::EmptyFolder | InputError::NotAFile(_)) => {
                return tell(None, "not a file".to_owned());
            }
            Err(error) => return tell(None, error.to_string()),
        };
        let (found, errors) = read_wordings(&text);
        if let Some(errors) = errors {
            for error in errors.errors {
                tell(Some(error.line), error.text);
            }
            if errors.more > 0 {
                tell(None, format!("and {} more", errors.more));
            }
        }
        let origin = file.origin;
        let found = found.into_iter().map(|wording| Own { wording, origin });
        self.own.extend(found);
    }

    /// The wordings for a kind of failure: the operator's own, then those of the library whose names they leave
    /// free. The default of the library keeps its place before the others of the library.
    pub fn of(&self, kind: FailureKind) -> Vec<WordingChoice<'_>> {
        let own = self.own.iter().filter(|own| own.is_for(kind));
        let own = own.map(|own| WordingChoice {
            name: &own.wording.name,
            title: &own.wording.title,
            template: &own.wording.template,
            origin: own.origin,
        });
        let library = wording::library(kind).map(|wording| WordingChoice {
            name: &wording.name,
            title: &wording.title,
            template: &wording.template,
            origin: WordingOrigin::Library,
        });
        let mut choices: Vec<WordingChoice<'_>> = Vec::new();
        for choice in own.chain(library) {
            if choices.iter().all(|known| known.name != choice.name) {
                choices.push(choice);
            }
        }
        choices
    }

    /// The wording of this name for a kind of failure.
    pub fn find(&self, kind: FailureKind, name: &str) -> Option<WordingChoice<'_>> {
        let mut choices = self.of(kind).into_iter();
        choices.find(|choice| choice.name == name)
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;
