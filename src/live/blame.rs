//! From a provider's refusal to the items that caused it: by the ids that it names, by its place in the request, by
//! the rule that finds the same fault.

use super::Recording;
use retake_core::json::Cursor;
use retake_core::rules::Finding;
use retake_core::session::{CallId, Flags, Item, Kind, Session, SourceError, Span};
use retake_core::wire::RequestUnit;
use retake_core::wire::provider_errors::{Decoded, ErrorPlace};
use std::ops::Range;

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Suspect {
    pub session: usize,
    pub item: usize,
    pub why: SuspectReason,
}

impl Suspect {
    fn is_same_item(&self, other: &Self) -> bool {
        (self.session, self.item) == (other.session, other.item)
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SuspectReason {
    /// The refusal names its call id.
    CallId,
    /// The refusal names its own id.
    ItemId,
    /// The refusal names its place, and the file is that request.
    ErrorPlace,
    /// The refusal names its place, but the file is not a request: messages may be numbered otherwise.
    EstimatedPlace,
    /// The refusal names its tool.
    Tool,
    /// A rule finds the fault of the refusal in it.
    Rule,
}

impl SuspectReason {
    pub fn words(&self) -> &'static str {
        match self {
            Self::CallId => "named by its call id",
            Self::ItemId => "named by its id",
            Self::ErrorPlace => "at the place that the error names",
            Self::EstimatedPlace => {
                "about at the place that the error names; estimated, since the file is not the request as it was sent"
            }
            Self::Tool => "named by its tool",
            Self::Rule => "not named by the error, but it has this fault",
        }
    }
}

/// The items that caused a refusal, by the surest sign that leads to any. `findings` are those of each session.
/// Fails where the source cannot be read.
pub fn suspects(
    recording: &Recording,
    findings: &[Vec<Finding>],
    decoded: &Decoded,
) -> Result<Vec<Suspect>, SourceError> {
    let mut found = by_call_id(recording, decoded)?;
    if found.is_empty() {
        found = by_item_id(recording, decoded)?;
    }
    if let (true, Some(place)) = (found.is_empty(), &decoded.place) {
        found = by_place(recording, place)?;
    }
    if found.is_empty() {
        found = by_tool(recording, decoded);
    }
    if found.is_empty() {
        found = by_rule(findings, decoded);
    }
    let mut places = found.iter();
    if places.all(|suspect| suspect.why == SuspectReason::EstimatedPlace) {
        let by_rule = by_rule(findings, decoded);
        let is_faulty = |suspect: &Suspect| by_rule.iter().any(|it| it.is_same_item(suspect));
        // An estimate that leads to items without the fault may be wrong.
        if !found.iter().any(is_faulty) {
            found.extend(by_rule);
        }
    }
    Ok(found)
}

/// Every item of the recording with its session's and its own index.
fn items(recording: &Recording) -> impl Iterator<Item = (usize, usize, &Session, &Item)> {
    let sessions = recording.sessions.iter().enumerate();
    sessions.flat_map(|(number, session)| {
        let items = session.items.iter().enumerate();
        items.map(move |(index, item)| (number, index, session, item))
    })
}

fn by_call_id(recording: &Recording, decoded: &Decoded) -> Result<Vec<Suspect>, SourceError> {
    let mut found = Vec::new();
    for id in &decoded.call_ids {
        let wanted = CallId::new(id.as_bytes(), 0);
        for (session, index, owner, item) in items(recording) {
            let is_same = item.call_id.hash == wanted.hash && owner.call_id(item)? == *id;
            if is_same && !wanted.is_none() {
                found.push(Suspect {
                    session,
                    item: index,
                    why: SuspectReason::CallId,
                });
            }
        }
    }
    // Which half of the pair is at fault; both where the recording does not hold that half.
    let half = decoded.fault.half();
    let kind = |suspect: &Suspect| recording.sessions[suspect.session].items[suspect.item].kind;
    if found.iter().any(|suspect| kind(suspect) == half) {
        found.retain(|suspect| kind(suspect) == half);
    }
    Ok(found)
}

/// Looks for the items whose own id (`rs_...`, `fc_...`) is named.
fn by_item_id(recording: &Recording, decoded: &Decoded) -> Result<Vec<Suspect>, SourceError> {
    let mut found = Vec::new();
    if decoded.item_ids.is_empty() {
        return Ok(found);
    }
    let mut bytes = Vec::new();
    for (session, index, owner, item) in items(recording) {
        owner.source.read_into(item.span, &mut bytes)?;
        if own_id(&bytes).is_some_and(|id| decoded.item_ids.contains(&id)) {
            found.push(Suspect {
                session,
                item: index,
                why: SuspectReason::ItemId,
            });
        }
    }
    Ok(found)
}

fn own_id(bytes: &[u8]) -> Option<String> {
    let mut id = None;
    Cursor::new(bytes)
        .object(|cursor, key| {
            if key == b"id" {
                id = cursor.string()?;
            }
            Ok(())
        })
        .ok()?;
    id.map(|id| String::from_utf8_lossy(id).into_owned())
}

fn by_tool(recording: &Recording, decoded: &Decoded) -> Vec<Suspect> {
    let Some(tool) = &decoded.tool else {
        return Vec::new();
    };
    items(recording)
        .filter(|(_, _, owner, item)| item.kind == Kind::Call && owner.name(item) == tool)
        .map(|(session, item, ..)| Suspect {
            session,
            item,
            why: SuspectReason::Tool,
        })
        .collect()
}

fn by_rule(findings: &[Vec<Finding>], decoded: &Decoded) -> Vec<Suspect> {
    let of_session = |(session, findings): (usize, &Vec<Finding>)| {
        findings
            .iter()
            .filter(|finding| Some(finding.rule.id) == decoded.rule)
            .filter_map(|finding| finding.item)
            .map(|item| Suspect {
                session,
                item: item as usize,
                why: SuspectReason::Rule,
            })
            .collect::<Vec<_>>()
    };
    findings.iter().enumerate().flat_map(of_session).collect()
}

/// The items at a place of the request: exactly where the file is that request, else by counting.
fn by_place(recording: &Recording, place: &ErrorPlace) -> Result<Vec<Suspect>, SourceError> {
    let Some(index) = place.indices.first().copied() else {
        return Ok(Vec::new());
    };
    if !matches!(place.path.as_str(), "messages" | "input" | "contents") {
        return Ok(Vec::new());
    }
    let source = &recording.source;
    let bytes = source.read(Span {
        start: 0,
        end: source.len(),
    })?;
    let request = elements_of_request(&bytes, &place.path);
    let (elements, why) = match request {
        Some(elements) => (Some(elements), SuspectReason::ErrorPlace),
        None => (elements_of_list(&bytes), SuspectReason::EstimatedPlace),
    };
    let element = elements.and_then(|elements| elements.into_iter().nth(index));
    let part = element.map(|element| narrow(&bytes, element, place));
    let within = part.map_or_else(Vec::new, |part| within(recording, part, &why));
    if within.is_empty() {
        return Ok(by_counting(recording, index));
    }
    Ok(within)
}

/// The items that overlap a range of the file.
fn within(recording: &Recording, range: Range<usize>, why: &SuspectReason) -> Vec<Suspect> {
    let range = Span::within(0, range);
    items(recording)
        .filter(|(_, _, owner, _)| owner.active && owner.stands_in(&recording.source))
        .filter(|(_, _, _, item)| item.span.start < range.end && range.start < item.span.end)
        .map(|(session, item, ..)| Suspect {
            session,
            item,
            why: why.clone(),
        })
        .collect()
}

/// The elements of the array `path` of the request that the file is, or of the last request in it.
fn elements_of_request(bytes: &[u8], path: &str) -> Option<Vec<Range<usize>>> {
    let mut cursor = Cursor::new(bytes);
    let mut found = None;
    while cursor.peek() == Some(b'{') {
        let Ok(value) = cursor.skip() else { break };
        found = member_elements(bytes, value.start, path, 2).or(found);
    }
    found
}

/// The elements of the member `path` of an object, or of the request or body inside it.
fn member_elements(bytes: &[u8], at: usize, path: &str, depth: usize) -> Option<Vec<Range<usize>>> {
    let (mut found, mut inside) = (None, None);
    Cursor::at(bytes, at)
        .object(|cursor, key| {
            let opens = cursor.peek();
            if key == path.as_bytes() && opens == Some(b'[') {
                found = Some(elements(&mut cursor.clone()));
            } else if matches!(key, b"request" | b"body") && opens == Some(b'{') {
                inside = Some(cursor.skip()?.start);
            }
            Ok(())
        })
        .ok()?;
    let deeper = |at| member_elements(bytes, at, path, depth - 1);
    found.or_else(|| inside.filter(|_| depth > 0).and_then(deeper))
}

/// The elements of the array that the file is.
fn elements_of_list(bytes: &[u8]) -> Option<Vec<Range<usize>>> {
    let mut cursor = Cursor::new(bytes);
    (cursor.peek() == Some(b'[')).then(|| elements(&mut cursor))
}

/// The elements as far as they are JSON.
fn elements(cursor: &mut Cursor<'_>) -> Vec<Range<usize>> {
    let mut ranges = Vec::new();
    // A fault ends the list; what was read of it counts.
    let _ = cursor.array(|cursor| {
        ranges.push(cursor.skip()?);
        Ok(())
    });
    ranges
}

/// The block or call inside a message that the place goes on to, as in `messages.3.content.1`; the message
/// where it does not.
fn narrow(bytes: &[u8], message: Range<usize>, place: &ErrorPlace) -> Range<usize> {
    let Some(index) = place.indices.get(1) else {
        return message;
    };
    let key = ["tool_calls", "content", "parts"]
        .into_iter()
        .find(|key| place.text.to_ascii_lowercase().contains(key));
    let inside = key.and_then(|key| member_elements(bytes, message.start, key, 0));
    inside
        .and_then(|elements| elements.into_iter().nth(*index))
        .unwrap_or(message)
}

/// The items of the message with this number in the history that a request would send, counted in
/// the first active session.
fn by_counting(recording: &Recording, index: usize) -> Vec<Suspect> {
    let active = recording.sessions.iter().position(|session| session.active);
    let Some((number, session)) = active.map(|number| (number, &recording.sessions[number])) else {
        return Vec::new();
    };
    let mut messages: Vec<Vec<usize>> = Vec::new();
    let mut last = None;
    for (index, item) in session.items.iter().enumerate() {
        if !is_sent(session, item) {
            continue;
        }
        let message = message_of(session, index, item);
        if last != Some(message) || messages.is_empty() {
            messages.push(Vec::new());
        }
        last = Some(message);
        if let Some(message) = messages.last_mut() {
            message.push(index);
        }
    }
    let items = messages.into_iter().nth(index).unwrap_or_default();
    items
        .into_iter()
        .map(|item| Suspect {
            session: number,
            item,
            why: SuspectReason::EstimatedPlace,
        })
        .collect()
}

/// Whether an item is part of the messages of a request.
fn is_sent(session: &Session, item: &Item) -> bool {
    let facts = session.dialect.facts();
    let apart = facts.unit == RequestUnit::Role && item.kind == Kind::System;
    let never = matches!(
        item.kind,
        Kind::ToolDefinitions | Kind::Notice | Kind::Unreadable | Kind::Other
    );
    !(apart || never || item.flags.has(Flags::COMPACTED))
}

/// What items of one message have in common: Responses sends each item by itself, Chat each record,
/// Anthropic joins a role.
fn message_of(session: &Session, index: usize, item: &Item) -> (u8, usize) {
    match session.dialect.facts().unit {
        RequestUnit::Item => (0, index),
        RequestUnit::Record => (1, item.record as usize),
        RequestUnit::Role => (2, usize::from(item.kind.is_from_model())),
    }
}
