//! Sub-agents of Claude Code whose logs are files of their own: `agent-ID.jsonl` beside the log of the agent that
//! began them, or `SESSION/subagents/agent-ID.jsonl` below its folder.

use super::replace::folder_of;
use super::{ReadOptions, check_session, read_path};
use retake_core::rules::Severity;
use retake_core::session::{Kind, Session};
use retake_core::usage::{Prices, SessionUsage};
use retake_core::wire::body_within;
use std::collections::BTreeSet;
use std::fs::File;
use std::io::Read;
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

/// A sub-agent with a log of its own.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SubAgent {
    pub path: PathBuf,
    /// As the result of the call that began it names it: `agentId`.
    pub id: String,
    /// What it was asked for: the text of its first message.
    pub prompt: String,
    pub usage: SessionUsage,
    pub errors: usize,
    pub warnings: usize,
}

/// How many logs are read at most.
const MOST: usize = 200;
/// Larger ones are left out: they would keep the cores from the rest.
const LIMIT: u64 = 64 << 20;
/// How much of a log is searched for its session.
const HEAD: u64 = 16 * 1024;
/// How much of a first message is read.
const PROMPT: u64 = 64 * 1024;

/// Whether a file is named as the logs of sub-agents are.
pub fn is_sub_agent_log(path: &Path) -> bool {
    path.file_name()
        .is_some_and(|name| name.as_bytes().starts_with(b"agent-"))
}

/// The sub-agents of the session that a log is of, in the order of their files' names. Files that cannot be read
/// are left out; `is_cancelled` ends it early.
pub fn sub_agents(log: &Path, prices: &Prices, is_cancelled: &dyn Fn() -> bool) -> Vec<SubAgent> {
    let logs = sub_agent_logs(log)
        .into_iter()
        .take_while(|_| !is_cancelled());
    logs.filter_map(|path| read(path, prices)).collect()
}

/// The logs of the sub-agents of the session that a log is of, in the order of their names.
pub fn sub_agent_logs(log: &Path) -> Vec<PathBuf> {
    let Some(stem) = log.file_stem() else {
        return Vec::new();
    };
    let folder = folder_of(log);
    let mut own: BTreeSet<String> = session_of(log).into_iter().collect();
    own.insert(stem.to_string_lossy().into_owned());
    let below = own
        .iter()
        .flat_map(|session| logs_in(&folder.join(session).join("subagents")));
    let beside = logs_in(folder).into_iter();
    let beside =
        beside.filter(|path| session_of(path).is_some_and(|session| own.contains(&session)));
    let all: BTreeSet<PathBuf> = beside.chain(below).filter(|path| path != log).collect();
    all.into_iter().take(MOST).collect()
}

/// The files of a folder that are called as the logs of sub-agents are.
fn logs_in(folder: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(folder).into_iter().flatten().flatten();
    let paths = entries.map(|entry| entry.path());
    let is_log = |path: &PathBuf| {
        is_sub_agent_log(path)
            && path.extension().is_some_and(|ending| ending == "jsonl")
            && std::fs::metadata(path).is_ok_and(|file| file.is_file() && file.len() <= LIMIT)
    };
    paths.filter(is_log).collect()
}

/// The session that a log says it is of.
fn session_of(log: &Path) -> Option<String> {
    const KEY: &str = "\"sessionId\":\"";
    let mut head = Vec::new();
    File::open(log)
        .ok()?
        .take(HEAD)
        .read_to_end(&mut head)
        .ok()?;
    let head = String::from_utf8_lossy(&head);
    let start = head.find(KEY)? + KEY.len();
    head[start..].split('"').next().map(str::to_owned)
}

fn read(path: PathBuf, prices: &Prices) -> Option<SubAgent> {
    let recording = read_path(&path, &ReadOptions::default()).ok()?;
    let session = recording.sessions.iter().max_by_key(|it| it.items.len())?;
    let usage = SessionUsage::of(session, prices, &|| false, &mut |_, _| ());
    let findings = check_session(session, None).ok()?;
    let count = |severity| findings.iter().filter(|it| it.severity == severity).count();
    let name = path.file_stem()?.to_string_lossy().into_owned();
    Some(SubAgent {
        id: name.trim_start_matches("agent-").to_owned(),
        prompt: prompt_of(session)?,
        usage: usage.ok()??,
        errors: count(Severity::Error),
        warnings: count(Severity::Warning),
        path,
    })
}

fn prompt_of(session: &Session) -> Option<String> {
    let first = session.items.iter().find(|item| item.kind == Kind::User)?;
    Some(body_within(session, first, PROMPT)?.text)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn log(session: &str, prompt: &str) -> String {
        let user = format!(
            r#"{{"type":"user","uuid":"1","parentUuid":null,"isSidechain":true,"sessionId":"{session}","message":{{"role":"user","content":"{prompt}"}}}}"#
        );
        let reply = format!(
            r#"{{"type":"assistant","uuid":"2","parentUuid":"1","isSidechain":true,"sessionId":"{session}","message":{{"id":"m","model":"claude-sonnet-4-5","role":"assistant","content":[{{"type":"text","text":"two"}}],"usage":{{"input_tokens":1000,"output_tokens":10}}}}}}"#
        );
        format!("{user}\n{reply}\n")
    }

    #[test]
    fn logs_beside_and_below_are_found_and_those_of_other_sessions_are_not() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: String| {
            let path = folder.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, text).unwrap();
        };
        write("s1.jsonl", log("s1", "Count the callers."));
        write("agent-a.jsonl", log("s1", "Find callers."));
        write("agent-b.jsonl", log("s2", "Something else."));
        write("s1/subagents/agent-c.jsonl", log("s1", "Find tests."));
        write("s1/subagents/notes.txt", String::new());
        let found = sub_agents(
            &folder.path().join("s1.jsonl"),
            &Prices::built_in(),
            &|| false,
        );
        let facts: Vec<_> = found
            .iter()
            .map(|agent| (&*agent.id, &*agent.prompt, agent.usage.turns))
            .collect();
        assert_eq!(facts, [("a", "Find callers.", 2), ("c", "Find tests.", 2)]);
        assert_eq!(found[0].usage.cost.unwrap().to_string(), "$0.003");
        let cancelled = sub_agents(&folder.path().join("s1.jsonl"), &Prices::default(), &|| {
            true
        });
        assert_eq!(cancelled, []);
    }
}
