//! Holds that were broken off with the proxy: found when the next one starts, told, and never taken up by themselves.

use super::driven::{NAME, number};
use crate::exchange::ExchangeId;
use crate::runtime::takes::unfinished;
use std::io;
use std::path::{Path, PathBuf};

/// A hold that nobody decided about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Interrupted {
    /// The exchange.
    pub id: ExchangeId,
    /// Its journal, which opens like any recording.
    pub path: PathBuf,
    /// Why it was held; it holds text of the exchange.
    pub why: String,
    /// When something was last written about it, in milliseconds since 1970; 0 where that is not known.
    pub at_ms: u64,
}

/// The holds in this folder that were broken off, by their numbers. What another process holds is not among them, and neither is a file
/// that cannot be read. Fails where the folder cannot be read; one that is not there holds nothing.
pub fn interrupted(folder: &Path) -> io::Result<Vec<Interrupted>> {
    let entries = match std::fs::read_dir(folder) {
        Ok(entries) => entries,
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
        Err(error) => return Err(error),
    };
    let mut found = Vec::new();
    for entry in entries {
        let path = entry?.path();
        if path.extension().is_none_or(|ending| ending != "jsonl") {
            continue;
        }
        // What cannot be read is no journal of ours.
        let Ok(Some(run)) = unfinished(&path) else {
            continue;
        };
        let Some(id) = number(&run.about.agent) else {
            continue;
        };
        let why = run.why.unwrap_or_else(|| format!("{NAME} was looked at"));
        found.push(Interrupted {
            id,
            path,
            why,
            at_ms: run.at_ms,
        });
    }
    found.sort_by_key(|one| one.id);
    Ok(found)
}
