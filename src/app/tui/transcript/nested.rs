//! Sub-agents: a call that gives a prompt to another agent, and the session of the same file that begins with
//! this prompt.

use retake_core::json::complete;
use retake_core::session::{Kind, Session};
use retake_core::wire::body_within;
use serde_json::Value;

/// How much of a call and of a first message is read.
const HEAD: u64 = 16 * 1024;
/// How many letters of a prompt are compared.
const COMPARED: usize = 1000;
/// How many sessions of a file are looked at.
const MOST: usize = 500;
/// How many items of a session are looked at for its first message.
const FIRST: usize = 8;

/// The session that a call began, by index.
pub(super) fn session_of(sessions: &[Session], session: usize, call: usize) -> Option<usize> {
    let caller = sessions.get(session)?;
    let item = caller
        .items
        .get(call)
        .filter(|item| item.kind == Kind::Call)?;
    if sessions.len() < 2 {
        return None;
    }
    let arguments = body_within(caller, item, HEAD)?.arguments;
    let arguments: Value = serde_json::from_str(arguments.json()?)
        .or_else(|_| serde_json::from_slice(&complete(arguments.as_written().as_bytes())))
        .ok()?;
    let prompt = beginning(arguments.get("prompt")?.as_str()?);
    if prompt.is_empty() {
        return None;
    }
    let others = sessions.iter().enumerate().take(MOST);
    let mut others = others.filter(|(index, other)| *index != session && !other.active);
    let found = others.find(|(_, other)| {
        let mut items = other.items.iter().take(FIRST);
        let first = items.find(|item| item.kind == Kind::User);
        first
            .and_then(|item| body_within(other, item, HEAD))
            .is_some_and(|body| beginning(&body.text) == prompt)
    });
    found.map(|(index, _)| index)
}

fn beginning(text: &str) -> String {
    text.trim().chars().take(COMPARED).collect()
}
