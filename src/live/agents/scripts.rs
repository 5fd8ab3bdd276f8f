//! The scripts that an agent's commands name: part of what the operator confirms, because whoever changes
//! one changes what runs.

use crate::files::FileSource;
use crate::trust::AgentContent;
use retake_core::engine::agent::{Agent, By, ToolProgram, Via};
use retake_core::session::{Source, Span};
use std::collections::BTreeSet;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Longest script that is read as a whole, in bytes. Of a longer one only length and time
/// of change are confirmed.
const LONGEST: u64 = 16 * 1024 * 1024;
/// How the names of files end that an interpreter runs.
const ENDINGS: &[&str] = &[
    "bash", "cjs", "jar", "js", "lua", "mjs", "mts", "php", "pl", "ps1", "py", "pyz", "r", "rb",
    "sh", "ts", "wasm", "zsh",
];

/// Adds every script that a command of the agent names to what is confirmed, and returns their names.
pub(crate) fn add_scripts(content: &mut AgentContent, agent: &Agent, folder: &Path) -> Vec<String> {
    let tools = agent.tools.iter().filter_map(|tool| match &tool.by {
        By::Command(command) => Some(command),
        _ => None,
    });
    let servers = agent.servers.iter().filter_map(|server| match &server.via {
        Via::Command(command) => Some(command),
        Via::Http { .. } => None,
    });
    let mut seen = BTreeSet::new();
    let mut names = Vec::new();
    for command in tools.chain(servers) {
        for (name, path) in named_by(command, folder) {
            if seen.insert(path.clone()) {
                add(content, &name, &path);
                names.push(name);
            }
        }
    }
    names
}

/// The scripts that a command names, also as the value of an option: `--script=tool.py`.
fn named_by(command: &ToolProgram, folder: &Path) -> Vec<(String, PathBuf)> {
    let home = match &command.cwd {
        Some(cwd) => folder.join(cwd),
        None => folder.to_owned(),
    };
    let words = command.argv.iter().enumerate();
    let words = words.flat_map(|(index, word)| {
        let value = word.split_once('=').map(|(_, value)| value);
        [Some(word.as_str()), value].map(|name| (index == 0, name))
    });
    let scripts = words.filter_map(|(is_program, name)| {
        let name = name.filter(|name| !name.is_empty())?;
        // Without a slash the system looks for a program on the search path only.
        if is_program && !name.contains('/') {
            return None;
        }
        // What is not there cannot run, and changes what is confirmed as soon as it is.
        let path = home.join(name).canonicalize().ok()?;
        is_script(&path, is_program, folder).then(|| (name.to_owned(), path))
    });
    scripts.collect()
}

/// Whether a file is run as a command names it: a script anywhere, or a program in the agent's own folder. Data
/// are not, which may change with every run.
fn is_script(path: &Path, is_program: bool, folder: &Path) -> bool {
    let Ok(about) = path.metadata() else {
        return false;
    };
    if !about.is_file() {
        return false;
    }
    let is_own = path.starts_with(folder);
    let is_executable = about.permissions().mode() & 0o111 != 0;
    let ending = path.extension().and_then(|ending| ending.to_str());
    let ending = ending.map(str::to_ascii_lowercase);
    is_own && (is_program || is_executable)
        || ending.is_some_and(|ending| ENDINGS.contains(&&*ending))
        || begins_as_script(path)
}

fn begins_as_script(path: &Path) -> bool {
    let mut first = [0; 2];
    let read = FileSource::open(path).map(|source| source.fill(0, &mut first).is_ok());
    read.is_ok_and(|is_read| is_read && &first == b"#!")
}

fn add(content: &mut AgentContent, name: &str, path: &Path) {
    let whole = FileSource::open(path).ok().and_then(|source| {
        let end = source.len();
        let span = Span { start: 0, end };
        (end <= LONGEST).then(|| source.read(span).ok()).flatten()
    });
    match whole {
        Some(bytes) => content.add(name, &bytes),
        None => {
            let about = path.metadata().ok();
            let changed = about.as_ref().and_then(|about| about.modified().ok());
            let length = about.map(|about| about.len());
            content.add(name, format!("{length:?} {changed:?}").as_bytes());
        }
    }
}
