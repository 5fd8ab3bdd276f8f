//! Parts of messages that the agent does not see, put into its messages and taken out of them.

use super::element::{Call, ListElement, PASSING};
use crate::session::{Dialect, Meaning};
use crate::wire::write::edit::{
    blocks, elements, member, with_elements, with_value, without_member,
};
use crate::wire::write::quoted;
use std::collections::HashMap;

/// A message with the calls of `turn` that were answered for the agent, each after the call
/// that stood before it.
pub(crate) fn with_calls(
    dialect: Dialect,
    text: &str,
    turn: &ListElement,
    is_hidden: impl Fn(&Call) -> bool,
) -> String {
    let Some(list) = dialect.facts().calls_key.and_then(|key| member(text, key)) else {
        return text.to_owned();
    };
    let known = ListElement::read(dialect, text);
    let calls = known.calls.iter();
    let ids: HashMap<_, _> = calls.rev().map(|call| (call.at.start, call.id)).collect();
    let of = |at: usize| ids.get(&at).copied();
    let inside = elements(text, &list).into_iter();
    // Each element with the id of its call.
    let mut parts = inside
        .map(|at| (of(at.start), &text[at]))
        .collect::<Vec<_>>();
    let first_call = parts
        .iter()
        .position(|(id, _)| id.is_some())
        .unwrap_or(parts.len());
    let mut place = first_call;
    for call in &turn.calls {
        if is_hidden(call) {
            parts.insert(place, (Some(call.id), &turn.text[call.at.clone()]));
            place += 1;
        } else if let Some(found) = parts.iter().position(|(id, _)| *id == Some(call.id)) {
            place = found + 1;
        }
    }
    let parts = parts.into_iter().map(|(_, part)| part).collect::<Vec<_>>();
    match turn.calls.iter().any(&is_hidden) {
        true => with_elements(text, &list, &parts),
        false => text.to_owned(),
    }
}

/// The user message after a turn, with results at its beginning; `None` where it is nobody's
/// or not the user's.
pub(crate) fn with_results(
    dialect: Dialect,
    next: &ListElement,
    results: &[ListElement],
) -> Option<String> {
    let text = &next.text;
    let content = blocks(text).filter(|_| next.has_role("user"))?;
    let mut all = results.iter().flat_map(blocks_of).collect::<Vec<_>>();
    if all.is_empty() {
        return Some(text.clone());
    }
    let spoken = match text.as_bytes().get(content.start) {
        Some(b'"') => {
            let spoken: String = serde_json::from_str(&text[content.clone()]).ok()?;
            Some(dialect.codec().text_block(&spoken))
        }
        _ => None,
    };
    all.extend(elements(text, &content).into_iter().map(|at| &text[at]));
    all.extend(spoken.as_deref());
    Some(with_elements(text, &content, &all))
}

fn blocks_of(message: &ListElement) -> Vec<&str> {
    let text = &message.text;
    let content = blocks(text);
    let inside = content.map(|content| elements(text, &content));
    inside
        .unwrap_or_default()
        .into_iter()
        .map(|at| &text[at])
        .collect()
}

/// A message without what the agent was sent of the turn before and now repeats at its beginning.
pub(crate) fn without_released(dialect: Dialect, text: &str, released: &[ListElement]) -> String {
    let mut text = text.to_owned();
    for released in released {
        text = match dialect.facts().has_blocks {
            true => without_blocks(&text, &blocks_of(released)),
            false => without_texts(&text, &released.text),
        };
    }
    text
}

fn without_blocks(text: &str, released: &[&str]) -> String {
    let Some(content) = blocks(text) else {
        return text.to_owned();
    };
    let inside = elements(text, &content).into_iter();
    let mut blocks = inside.map(|at| text[at].to_owned()).collect::<Vec<_>>();
    for known in released {
        let Some(first) = blocks.first() else { break };
        if Meaning::of_json(first, &PASSING) == Meaning::of_json(known, &PASSING) {
            blocks.remove(0);
        } else if let Some(rest) = rest_of(first, "text", known) {
            // Clients join texts that stand side by side.
            blocks[0] = rest;
        }
    }
    let blocks = blocks.iter().map(String::as_str).collect::<Vec<_>>();
    with_elements(text, &content, &blocks)
}

/// Members of a message of Chat whose text grows with the deltas of a stream; servers that show reasoning use
/// one of the last two.
const TEXTS: [&str; 3] = ["content", "reasoning_content", "reasoning"];

fn without_texts(text: &str, released: &str) -> String {
    let mut text = text.to_owned();
    for key in TEXTS {
        let Some(at) = member(&text, key) else {
            continue;
        };
        if text[at.start..].starts_with('[') {
            let mut parts = elements(&text, &at).into_iter();
            let first = parts.next().map(|first| &text[first]);
            let spoken = member(released, key).map(|at| format!("{{\"text\":{}}}", &released[at]));
            let rest = first
                .zip(spoken)
                .and_then(|(first, spoken)| rest_of(first, "text", &spoken));
            if let Some(rest) = rest {
                let is_empty = member(&rest, "text").is_some_and(|at| &rest[at] == "null");
                let first = Some(rest.as_str()).filter(|_| !is_empty);
                let parts = first
                    .into_iter()
                    .chain(parts.map(|at| &text[at]))
                    .collect::<Vec<_>>();
                text = match parts.is_empty() {
                    true => with_value(&text, &at, "null"),
                    false => with_elements(&text, &at, &parts),
                };
            }
        } else if let Some(rest) = rest_of(&text, key, released) {
            let is_empty = member(&rest, key).is_some_and(|at| &rest[at] == "null");
            text = match is_empty && key != "content" {
                true => without_member(&rest, key),
                false => rest,
            };
        }
    }
    text
}

/// An object whose text `key` has lost the one of `released` at its beginning; null where nothing remains.
/// `None` where it does not begin so.
fn rest_of(object: &str, key: &str, released: &str) -> Option<String> {
    let at = member(object, key)?;
    let whole: String = serde_json::from_str(&object[at.clone()]).ok()?;
    let begun: String = serde_json::from_str(&released[member(released, key)?]).ok()?;
    let rest = whole.strip_prefix(&begun).filter(|_| !begun.is_empty())?;
    let rest = if rest.is_empty() {
        "null".to_owned()
    } else {
        quoted(rest)
    };
    Some(with_value(object, &at, &rest))
}
