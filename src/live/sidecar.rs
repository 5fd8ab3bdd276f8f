//! What lies beside a recording: its tools, and the file of an agent that it may go on with.

use super::discover::TOOLS_SUFFIX;
use super::files::{read_bytes, read_definitions};
use super::reading::recognised;
use super::replace::folder_of;
use retake_core::session::{Tool, ToolKind};
use retake_core::wire::tools::read_tools;
use serde_json::{Value, json};
use std::ffi::OsStr;
use std::fs;
use std::path::{Path, PathBuf};

/// How many files are looked into.
const LOOKED_INTO: usize = 32;
/// A file of an agent, or one that is recognised for what it is, is no longer than this.
const LONGEST: u64 = 256 * 1024;

/// The file of an agent in the folder of a recording; the first one by its name. What cannot be read is none:
/// this is a proposal.
pub fn agent_beside(recording: &Path) -> Option<PathBuf> {
    let entries = fs::read_dir(folder_of(recording)).ok()?.flatten();
    let files = entries.filter(|entry| {
        entry.file_name().to_string_lossy().ends_with(".toml")
            && entry
                .metadata()
                .is_ok_and(|about| about.is_file() && about.len() <= LONGEST)
    });
    let mut files: Vec<PathBuf> = files.map(|entry| entry.path()).collect();
    files.sort();
    files.into_iter().take(LOOKED_INTO).find(|path| {
        let text = fs::read_to_string(path);
        text.is_ok_and(|text| text.lines().any(|line| line.trim() == "[model]"))
    })
}

/// `run.tools.json` or `run.jsonl.tools.json` beside `run.jsonl` and beside its saved takes (`run.take-2.jsonl`); one
/// that cannot be used is passed over.
pub fn tools_beside(recording: &Path) -> Option<(PathBuf, Vec<Tool>)> {
    let mut found = definitions_beside(recording);
    found.find_map(|(path, tools)| Some((path, tools.ok()?)))
}

/// Such files that are there and cannot be used, each with the reason, which may hold text of the file.
pub fn unusable_tools_beside(recording: &Path) -> Vec<(PathBuf, String)> {
    let found = definitions_beside(recording);
    found
        .filter_map(|(path, tools)| Some((path, tools.err()?)))
        .collect()
}

fn definitions_beside(
    recording: &Path,
) -> impl Iterator<Item = (PathBuf, Result<Vec<Tool>, String>)> {
    let (name, stem) = (recording.file_name(), recording.file_stem());
    let source = stem
        .and_then(|stem| source_of_take(stem.to_str()?))
        .map(OsStr::new);
    let names = [name, stem, source];
    names.into_iter().flatten().filter_map(|name| {
        let mut name = name.to_owned();
        name.push(TOOLS_SUFFIX);
        let beside = recording.with_file_name(name);
        beside.symlink_metadata().ok()?;
        let tools = read_tools_file(&beside);
        Some((beside, tools))
    })
}

/// `run` for `run.take-2` and `run.copy`, the names that saved takes are given.
pub(crate) fn source_of_take(stem: &str) -> Option<&str> {
    let (source, ending) = stem.rsplit_once('.')?;
    let number = ending.strip_prefix("take-");
    let is_take = number.is_some_and(|number| number.parse::<u32>().is_ok());
    (is_take || ending == "copy").then_some(source)
}

/// The tools that a file defines, or what is wrong with it, without its name; it may hold text from the file.
pub fn read_tools_file(path: &Path) -> Result<Vec<Tool>, String> {
    let read = read_definitions(path).and_then(|value| {
        let (tools, complaints) = read_tools(&value);
        complaints.into_iter().next().map_or(Ok(tools), Err)
    });
    let bytes = || read_bytes(path, LONGEST).ok();
    match read {
        Err(_) if bytes().is_some_and(|bytes| recognised(&bytes).is_some()) => {
            Err("this is a recording, not a list of tools".to_owned())
        }
        read => read,
    }
}

/// Where the tools of a recording are looked for first: `run.tools.json` of `run.jsonl`.
pub fn tools_path(recording: &Path) -> PathBuf {
    let mut name = recording.file_stem().unwrap_or_default().to_owned();
    name.push(TOOLS_SUFFIX);
    recording.with_file_name(name)
}

/// Tools as a file defines them.
pub fn tools_text(tools: &[&Tool]) -> String {
    let tools = tools.iter().map(|tool| match tool.kind {
        ToolKind::Hosted => json!({ "type": tool.name }),
        ToolKind::Custom => json!({
            "type": "custom",
            "name": tool.name,
            "description": tool.description,
        }),
        ToolKind::Function => json!({
            "type": "function",
            "name": tool.name,
            "description": tool.description,
            "parameters": tool.parameters,
        }),
    });
    Value::Array(tools.collect()).to_string()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_saved_take_is_judged_by_the_tools_of_its_recording() {
        let folder = tempfile::TempDir::new().unwrap();
        let tools = folder.path().join("run.v2.tools.json");
        fs::write(&tools, r#"[{"name": "find", "parameters": {}}]"#).unwrap();
        let found = |name: &str| tools_beside(&folder.path().join(name)).map(|(path, _)| path);
        for name in ["run.v2.jsonl", "run.v2.take-12.jsonl", "run.v2.copy.json"] {
            assert_eq!(found(name).as_ref(), Some(&tools), "{name}");
        }
        for name in ["run.jsonl", "run.v2.take-two.jsonl", "run.v2.v3.jsonl"] {
            assert_eq!(found(name), None, "{name}");
        }
    }

    #[test]
    fn the_first_file_that_names_a_model_is_proposed() {
        let folder = tempfile::TempDir::new().unwrap();
        let write = |name: &str, text: &str| fs::write(folder.path().join(name), text).unwrap();
        let found = || agent_beside(&folder.path().join("run.json"));
        assert_eq!(found(), None);
        write("a.toml", "[package]\nname = \"x\"\n");
        write("c.toml", "[model]\n");
        write("b.toml", "name = \"desk\"\n[model]\nname = \"m\"\n");
        write("a.txt", "[model]\n");
        assert_eq!(found(), Some(folder.path().join("b.toml")));
        assert_eq!(agent_beside(Path::new("/nowhere/run.json")), None);
    }
}
