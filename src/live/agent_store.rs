//! Where agents keep their sessions, and new sessions there.

use crate::journal::wall_clock;
use crate::stores::Agent;
use retake_core::formats::convert::{self, AgentProgram, Converted, NewSession};
use retake_core::json::rfc3339;
use retake_core::repair::likely;
use retake_core::rules::reports_error;
use retake_core::session::{Flags, Kind, Session, SourceError, hash};
use retake_core::usage::{Prices, UsageReader};
use retake_core::wire::body_of;
use std::ffi::OsString;
use std::fs;
use std::hash::{BuildHasher, RandomState};
use std::io;
use std::path::{Path, PathBuf};

/// A session that begins now, for an agent that works in this folder.
pub fn new_session(folder: &Path) -> NewSession {
    let at = wall_clock();
    let random = || RandomState::new().hash_one(at);
    let (time, short, long) = (at & 0xffff_ffff_ffff, random(), random());
    // Version 7: the time, then chance (RFC 9562).
    let id = format!(
        "{:08x}-{:04x}-7{:03x}-8{:03x}-{:012x}",
        time >> 16,
        time & 0xffff,
        short & 0xfff,
        short >> 52,
        long >> 16
    );
    let folder = folder.to_string_lossy().into_owned();
    NewSession { id, folder, at }
}

/// Writes a session as one of an agent. An output that says in words that it is an error is marked as one where the
/// agent's sessions have marks: without one, Claude Code takes it for a result.
pub fn write_session<E: From<SourceError>>(
    session: &Session,
    to: AgentProgram,
    new: &NewSession,
    write: &mut dyn FnMut(&[u8]) -> Result<(), E>,
) -> Result<Converted, E> {
    let mut marked = session.clone();
    for (item, own) in marked.items.iter_mut().zip(&session.items) {
        if own.kind == Kind::Output && to.marks_errors() {
            let body = body_of(own, &session.bytes(own)?);
            let is_error = body.is_ok_and(|body| reports_error(session, own, &body.text));
            item.flags.set_if(Flags::ERROR, is_error);
        }
    }
    let prices = Prices::default();
    let mut reader = UsageReader::new(session, &prices);
    let times = (0..session.items.len()).map(|index| reader.item_time(index));
    let times = times.collect::<Result<Vec<_>, _>>()?;
    convert::write_session(&marked, to, new, &times, likely, write)
}

/// The file in which the agent looks for a new session; `None` where it keeps its sessions in a database or its home
/// is not known. `variable` looks a variable up.
pub fn session_path(
    agent: AgentProgram,
    new: &NewSession,
    variable: &dyn Fn(&str) -> Option<OsString>,
) -> Option<PathBuf> {
    let store = Agent::of_format(agent.word())?.stores.first()?;
    let root = store.path(variable, Path::new(&new.folder))?;
    let dashes = |text: &str| text.replace([':', '.'], "-");
    let (id, time) = (&new.id, rfc3339(new.at));
    Some(match agent {
        AgentProgram::ClaudeCode => {
            let folder = new
                .folder
                .replace(|letter: char| !letter.is_ascii_alphanumeric(), "-");
            root.join(folder).join(format!("{id}.jsonl"))
        }
        AgentProgram::Codex => {
            let name = format!("rollout-{}-{id}.jsonl", dashes(time.trim_end_matches('Z')));
            root.join(time.get(..10)?.replace('-', "/")).join(name)
        }
        AgentProgram::GeminiCli => {
            let name = format!("session-{}-{}.jsonl", dashes(time.get(..16)?), id.get(..8)?);
            gemini_project(&root, new).join("chats").join(name)
        }
        AgentProgram::Pi => {
            let folder = new.folder.trim_start_matches('/').replace(['/', ':'], "-");
            let name = format!("{}_{id}.jsonl", dashes(&time));
            root.join(format!("--{folder}--")).join(name)
        }
        AgentProgram::Opencode => return None,
    })
}

/// The file with which Gemini CLI marks whose folder of sessions one is.
const MARK: &str = ".project_root";

/// The name of the folder in which Gemini CLI keeps the sessions of a folder: it finds it by the mark in it.
fn gemini_project(root: &Path, new: &NewSession) -> PathBuf {
    let folders = fs::read_dir(root).into_iter().flatten().flatten();
    let is_own = |folder: &PathBuf| {
        let owner = fs::read_to_string(folder.join(MARK));
        owner.is_ok_and(|owner| owner.trim() == new.folder)
    };
    let known = folders.map(|entry| entry.path()).find(is_own);
    known.unwrap_or_else(|| root.join(format!("retake-{:016x}", hash(new.folder.as_bytes()))))
}

/// Makes the folders that a new session needs.
pub fn prepare_store(agent: AgentProgram, new: &NewSession, path: &Path) -> io::Result<()> {
    let folder = path.parent().unwrap_or(path);
    fs::create_dir_all(folder)?;
    match folder.parent().map(|project| project.join(MARK)) {
        Some(mark) if agent == AgentProgram::GeminiCli && !mark.exists() => {
            fs::write(mark, &new.folder)
        }
        _ => Ok(()),
    }
}
