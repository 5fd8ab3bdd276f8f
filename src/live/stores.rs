//! The agents whose sessions are known on this machine: where each keeps them, which variables move them, and
//! what it repairs by itself when it loads one.

use retake_core::bundled;
use serde::Deserialize;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};
use std::sync::LazyLock;

/// A program that keeps sessions on this machine. `stores.toml` holds them, and says what each member is.
#[derive(Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Agent {
    pub id: String,
    pub title: String,
    pub stores: Vec<Store>,
    pub names: Vec<(String, String)>,
    pub formats: Vec<String>,
    #[serde(default)]
    pub repairs: Vec<(String, String)>,
}

/// A folder or a file in which an agent keeps sessions.
#[derive(Debug, PartialEq, Eq, Hash, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Store {
    #[serde(default)]
    pub moved_by: Vec<(String, String)>,
    pub usual: String,
}

/// Every agent that is known.
pub static AGENTS: LazyLock<Vec<Agent>> =
    LazyLock::new(|| bundled::rows(include_str!("stores.toml")));

impl Agent {
    /// The agent that writes files of a format.
    pub fn of_format(format: &str) -> Option<&'static Self> {
        AGENTS
            .iter()
            .find(|agent| agent.formats.iter().any(|known| known == format))
    }

    /// Whether a file of this name in its store is a session. Agents keep other files beside theirs.
    pub fn is_session(&self, name: &OsStr) -> bool {
        let name = name.as_bytes();
        let mut names = self.names.iter();
        !name.starts_with(b".")
            && names.any(|(start, end)| {
                name.starts_with(start.as_bytes()) && name.ends_with(end.as_bytes())
            })
    }

    /// Whether files of any program may lie beside its own, and folders below are none of its business.
    pub fn is_among_others(&self) -> bool {
        self.stores.iter().all(|store| store.usual.is_empty())
    }

    /// What it does by itself about the findings of a rule when it loads a session.
    pub fn repair(&self, rule: &str) -> Option<&str> {
        let mut repairs = self.repairs.iter();
        repairs
            .find(|(known, _)| known == rule)
            .map(|(_, what)| what.as_str())
    }
}

impl Store {
    /// Where it is; `variable` looks a variable up, `here` is the folder that agents are started in. `None`
    /// where the home folder is not known.
    pub fn path(
        &self,
        variable: &dyn Fn(&str) -> Option<OsString>,
        here: &Path,
    ) -> Option<PathBuf> {
        let moved = self.moved_by.iter().find_map(|(name, below)| {
            let path = PathBuf::from(variable(name).filter(|value| !value.is_empty())?);
            // The XDG specification ignores a relative path, and so do programs that are given a whole file.
            let needs_root = name.starts_with("XDG_") || below.is_empty();
            match (below.as_str(), needs_root && !path.is_absolute()) {
                (_, true) => None,
                ("", false) => Some(path),
                (below, false) => Some(path.join(below)),
            }
        });
        match (moved, self.usual.as_str()) {
            (Some(path), _) => Some(path),
            (None, "") => Some(here.to_owned()),
            (None, usual) => Some(Path::new(&variable("HOME")?).join(usual)),
        }
    }
}
