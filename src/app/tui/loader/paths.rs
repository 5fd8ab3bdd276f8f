//! What a path can be completed to while it is typed: folders and files of agents; and which agent's file
//! lies beside a recording.

use crate::tui::report::Paths;
use std::fs::{self, File};
use std::io::Read;
use std::path::Path;

/// Most entries of a folder that are looked at.
const ENTRIES: usize = 10_000;
/// How much of a file is searched for what makes it an agent's, in bytes.
const HEAD: u64 = 64 * 1024;
/// What files of agents end with.
const ENDING: &str = ".toml";

/// What a text can be completed to; an empty one, to the file of an agent beside the recording.
pub(super) fn complete(typed: String, recording: Option<&Path>) -> Paths {
    let found = match typed.is_empty() {
        true => proposed(recording).into_iter().collect(),
        false => completed(&typed),
    };
    Paths { typed, found }
}

/// Folders and files of agents whose paths begin so.
pub(in crate::tui) fn completed(typed: &str) -> Vec<String> {
    let (folder, begun) = match typed.rfind('/') {
        Some(slash) => typed.split_at(slash + 1),
        None => ("", typed),
    };
    let place = if folder.is_empty() { "./" } else { folder };
    let mut found: Vec<String> = names(Path::new(place))
        .into_iter()
        .filter(|(name, _)| name.starts_with(begun))
        .filter(|(name, _)| !name.starts_with('.') || begun.starts_with('.'))
        .filter_map(|(name, is_folder)| match is_folder {
            true => Some(format!("{folder}{name}/")),
            false => name.ends_with(ENDING).then(|| format!("{folder}{name}")),
        })
        .collect();
    found.sort();
    found
}

/// The file of the agent that a recording is probably of: one with its name, else the only one beside it.
fn proposed(recording: Option<&Path>) -> Option<String> {
    let folder = recording.and_then(Path::parent).unwrap_or(Path::new(""));
    let places = [folder.to_owned(), folder.join("agents")];
    let name = recording.and_then(Path::file_name);
    let name = name.and_then(|name| name.to_str()).unwrap_or_default();
    // `trip.take-2.json` is a take of `trip.json`.
    let ends = name.match_indices('.').map(|(at, _)| at);
    let stems = ends.rev().map(|end| &name[..end]);
    let named = stems.flat_map(|stem| {
        let file = format!("{stem}{ENDING}");
        places.each_ref().map(|place| place.join(&file))
    });
    if let Some(found) = named.into_iter().find(|path| is_agent(path)) {
        return found.to_str().map(str::to_owned);
    }
    places.iter().find_map(|place| {
        let here = if place.as_os_str().is_empty() {
            Path::new(".")
        } else {
            place
        };
        let files = names(here)
            .into_iter()
            .filter(|(name, _)| name.ends_with(ENDING));
        let mut agents = files
            .map(|(name, _)| place.join(name))
            .filter(|path| is_agent(path));
        let only = agents.next()?;
        let is_only = agents.next().is_none();
        only.to_str().filter(|_| is_only).map(str::to_owned)
    })
}

/// The names in a folder, and whether they are folders; none where it cannot be read.
fn names(folder: &Path) -> Vec<(String, bool)> {
    let Ok(entries) = fs::read_dir(folder) else {
        return Vec::new();
    };
    let entries = entries.take(ENTRIES).filter_map(Result::ok);
    entries
        .filter_map(|entry| {
            let name = entry.file_name().into_string().ok()?;
            Some((name, entry.path().is_dir()))
        })
        .collect()
}

/// Whether a file says which model an agent asks.
fn is_agent(path: &Path) -> bool {
    let is_file = fs::metadata(path).is_ok_and(|metadata| metadata.is_file());
    let mut head = Vec::new();
    let read = is_file.then(|| File::open(path)?.take(HEAD).read_to_end(&mut head));
    let head = String::from_utf8_lossy(&head);
    matches!(read, Some(Ok(_))) && head.lines().any(|line| line.trim() == "[model]")
}

#[cfg(test)]
mod tests {
    use super::*;
    use tempfile::TempDir;

    #[test]
    fn a_path_is_completed_to_folders_and_files_of_agents() {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name).to_str().unwrap().to_owned();
        for name in ["trip.toml", "trap.toml", "trip.json", ".hidden.toml"] {
            fs::write(at(name), "[model]\n").unwrap();
        }
        fs::create_dir(at("tree")).unwrap();
        let found = |typed: &str| complete(at(typed), None).found;
        assert_eq!(found("tri"), [at("trip.toml")]);
        assert_eq!(found("tr"), [at("trap.toml"), at("tree/"), at("trip.toml")]);
        assert_eq!(found(".h"), [at(".hidden.toml")]);
        assert_eq!(found("x"), [""; 0]);
        assert_eq!(found("no/such/folder/x"), [""; 0]);
    }

    #[test]
    fn the_agent_of_a_recording_has_its_name_or_is_the_only_one() {
        let folder = TempDir::new().unwrap();
        let at = |name: &str| folder.path().join(name);
        let proposed = |name: &str| complete(String::new(), Some(&at(name))).found;
        let path = |name: &str| vec![at(name).to_str().unwrap().to_owned()];
        fs::write(at("policy.toml"), "[rules]\n").unwrap();
        assert_eq!(proposed("trip.take-2.json"), [""; 0]);
        fs::write(at("one.toml"), "name = \"one\"\n\n[model]\n").unwrap();
        assert_eq!(proposed("trip.take-2.json"), path("one.toml"));
        fs::create_dir(at("agents")).unwrap();
        fs::write(at("agents/trip.toml"), "[model]\n").unwrap();
        assert_eq!(proposed("trip.take-2.json"), path("agents/trip.toml"));
        fs::write(at("two.toml"), "[model]\n").unwrap();
        assert_eq!(proposed("other.json"), path("agents/trip.toml"));
        fs::write(at("agents/more.toml"), "[model]\n").unwrap();
        assert_eq!(proposed("other.json"), [""; 0]);
    }
}
