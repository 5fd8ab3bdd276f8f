//! Sub-agents: a call that gives a prompt to another agent, and the session that begins with this prompt: one of
//! the same file, or a log of its own.

use crate::tui::state::document::Checked;
use retake_core::json::complete;
use retake_core::session::{Kind, Session};
use retake_core::usage::SessionUsage;
use retake_core::wire::body_within;
use retake_live::SubAgent;
use serde_json::Value;
use std::collections::BTreeMap;
use std::sync::Arc;

/// How much of a call and of a first message is read.
const HEAD: u64 = 16 * 1024;
/// How many letters of a prompt are compared.
const COMPARED: usize = 1000;
/// How many sessions of a file are looked at.
const MOST: usize = 500;
/// How many items of a session are looked at for its first message.
const FIRST: usize = 8;

/// What sessions of a file took, by index.
pub(crate) type UsageBySession = BTreeMap<usize, Arc<SessionUsage>>;

/// What is known of sessions that calls began.
#[derive(Debug, Clone, Copy, Default)]
pub struct NestedFacts<'a> {
    /// What the rules found, by session of the file.
    pub checked: &'a [Option<Arc<Checked>>],
    /// What the sessions of the file took.
    pub totals: Option<&'a UsageBySession>,
    /// Those with logs of their own.
    pub files: &'a [SubAgent],
}

/// What a call began.
#[derive(Debug, Clone, Copy)]
pub(super) enum Nested<'a> {
    /// A session of the file, by index.
    Session(usize),
    /// One with a file of its own.
    File(&'a SubAgent),
}

/// A sub-agent by its place: the index of a session of the file, or that of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum NestedPlace {
    Session(usize),
    File(usize),
}

/// How arguments are named that hold a prompt.
const PROMPTS: [&str; 6] = ["prompt", "task", "input", "request", "query", "message"];
/// How many calls are searched for those that began sub-agents.
const CALLS: usize = 5_000;

/// The calls of a session that began sub-agents.
pub(crate) fn nested_calls(
    sessions: &[Session],
    files: &[SubAgent],
    session: usize,
) -> Vec<(usize, NestedPlace)> {
    let items = sessions.get(session).map_or(&[][..], |it| &it.items);
    let calls = items.iter().enumerate();
    let calls = calls
        .filter(|(_, item)| item.kind == Kind::Call)
        .take(CALLS);
    let nested = calls.filter_map(|(call, _)| {
        let place = match nested_of(sessions, files, session, call)? {
            Nested::Session(index) => NestedPlace::Session(index),
            Nested::File(file) => {
                let is_own = |it: &SubAgent| std::ptr::eq(it, file);
                NestedPlace::File(files.iter().position(is_own)?)
            }
        };
        Some((call, place))
    });
    nested.collect()
}

/// What a call began, if it is one that gives a prompt.
pub(super) fn nested_of<'a>(
    sessions: &[Session],
    files: &'a [SubAgent],
    session: usize,
    call: usize,
) -> Option<Nested<'a>> {
    let caller = sessions.get(session)?;
    let item = caller
        .items
        .get(call)
        .filter(|item| item.kind == Kind::Call)?;
    if sessions.len() < 2 && files.is_empty() {
        return None;
    }
    let arguments = body_within(caller, item, HEAD)?.arguments;
    let arguments: Value = serde_json::from_str(arguments.json()?)
        .or_else(|_| serde_json::from_slice(&complete(arguments.as_written().as_bytes())))
        .ok()?;
    let given = PROMPTS
        .iter()
        .find_map(|name| arguments.get(name)?.as_str());
    let prompt = beginning(given?);
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
    if let Some((index, _)) = found {
        return Some(Nested::Session(index));
    }
    let mut alike = files
        .iter()
        .filter(|file| beginning(&file.prompt) == prompt);
    let first = alike.next()?;
    // Several were asked for the same: the result names its own.
    let mut several = std::iter::once(first).chain(alike);
    let named = several.find(|file| names_agent(caller, call, &file.id));
    Some(Nested::File(named.unwrap_or(first)))
}

/// Whether the record of a call's result names a sub-agent.
fn names_agent(session: &Session, call: usize, id: &str) -> bool {
    let output = session.pairing.partner(call);
    let output = output.and_then(|output| session.items.get(output));
    let record = output.and_then(|output| session.records.get(output.record as usize));
    let Some(record) = record.filter(|record| record.span.len() <= 64 * HEAD) else {
        return false;
    };
    let bytes = session.source.read(record.span).unwrap_or_default();
    memchr::memmem::find(&bytes, format!("\"agentId\":\"{id}\"").as_bytes()).is_some()
}

fn beginning(text: &str) -> String {
    text.trim().chars().take(COMPARED).collect()
}
