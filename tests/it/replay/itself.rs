//! Every recording replays against itself: the history before each turn, written as a request of each dialect, gets that turn, and the
//! reply read back says what was recorded.
#![allow(clippy::print_stderr)]

use retake_core::formats::convert::{ConvertOptions, Loss, LossKind, convert};
use retake_core::formats::{find, read_buffer};
use retake_core::repair::likely;
use retake_core::replay::{Found, Matching, ReplayRequest, Tape, TapePlace};
use retake_core::session::{Dialect, Flags, Kind, Session, Source, SourceError};
use retake_core::wire::write::NewReply;
use retake_core::wire::{ToolCall, body_of};
use retake_live::{ReadOptions, read_path};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How many turns of a session are tried one by one, and of the others one of so many.
const ALL_OF_THE_FIRST: usize = 8;
const ONE_OF: usize = 32;

/// What was tried.
#[derive(Debug, Default)]
struct Count {
    same: usize,
    /// What a dialect cannot hold, by the id of the loss.
    not_asked: BTreeMap<&'static str, usize>,
    wrong: Vec<String>,
}

/// The session as it stood before its turn.
fn before(session: &Session, turn: usize) -> Session {
    let mut session = session.clone();
    let first = session.turns[turn].first as usize;
    let is_compacted = session.items[first].flags.has(Flags::COMPACTED);
    session.items.truncate(first);
    if is_compacted {
        let mark = session
            .items
            .iter()
            .rposition(|item| item.kind == Kind::Compaction);
        session.items.drain(..mark.unwrap_or(0));
        for item in &mut session.items {
            item.flags = item.flags.without(Flags::COMPACTED);
        }
    }
    session.stops.clear();
    let sets = &mut session.contract.tool_sets;
    sets.retain(|set| set.from as usize <= first);
    for set in sets {
        set.from = 0;
    }
    session.link();
    session
}

/// What is lost where a history goes over that a replay compares.
fn is_compared(loss: &Loss) -> bool {
    !matches!(
        loss.kind,
        LossKind::Reasoning
            | LossKind::Hosted { .. }
            | LossKind::HostedTool { .. }
            | LossKind::Approval
            | LossKind::ToolDefinitions
            | LossKind::Compaction
            | LossKind::Notice
            | LossKind::Unknown { .. }
            | LossKind::Reference
            | LossKind::Unreadable
            | LossKind::Earlier { .. }
            | LossKind::Empty
            | LossKind::Annotations
            | LossKind::ErrorMark
            | LossKind::RefusalMark
            | LossKind::Renamed { .. }
            | LossKind::NewId { .. }
            | LossKind::ArgumentsRepaired
            | LossKind::ArgumentsWrapped
            | LossKind::AsFunction { .. }
            | LossKind::Moved
            | LossKind::MovedToSystem
            | LossKind::ToolFormat { .. }
            | LossKind::ToolsUnknown
            | LossKind::ModelUnknown
    )
}

fn request(session: &Session, to: Dialect) -> (Vec<u8>, Vec<Loss>) {
    let mut text = Vec::new();
    let options = ConvertOptions {
        as_request: true,
        repair: likely,
    };
    let mut write = |piece: &[u8]| {
        text.extend_from_slice(piece);
        Ok::<(), SourceError>(())
    };
    let converted = convert(session, to, options, &mut write).unwrap();
    (text, converted.losses)
}

/// What a reply says: its text and refusal, and its calls by id, name and arguments.
fn heard(session: &Session) -> (String, Vec<(String, String, String)>) {
    let (mut texts, mut calls) = (Vec::new(), Vec::new());
    for item in &session.items {
        let body = body_of(item, &session.bytes(item).unwrap()).unwrap();
        match item.kind {
            Kind::Assistant if !body.text.trim().is_empty() => texts.push(body.text),
            Kind::Call => {
                let name = session.name(item).to_owned();
                let arguments = body.arguments.as_written().to_owned();
                calls.push((session.call_id(item).unwrap(), name, arguments));
            }
            _ => {}
        }
    }
    (texts.join("\n"), calls)
}

fn said(reply: &NewReply, dialect: Dialect) -> (String, Vec<(String, String, String)>) {
    let texts = reply.texts.iter().chain(&reply.refusal);
    let texts = texts.filter(|text| !text.trim().is_empty());
    let texts = texts.cloned().collect::<Vec<_>>().join("\n");
    let calls = reply.calls.iter();
    let input = |call: &ToolCall| match dialect {
        Dialect::Responses => call.input.as_written().to_owned(),
        _ => call.input.as_object(),
    };
    let calls = calls.map(|call| {
        let id = call.id.clone().unwrap_or_default();
        (id, call.name.clone(), input(call))
    });
    (texts, calls.collect())
}

fn read(format: &str, bytes: &[u8]) -> Session {
    let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
    let contents = read_buffer(find(format).unwrap(), &source, bytes).unwrap();
    let text = String::from_utf8_lossy(bytes);
    contents.sessions.into_iter().next().expect(&text)
}

type Heard = (String, Vec<(String, String, String)>);

/// The same with arguments as values, where a stream holds them as objects: their white space is not part of them.
fn in_values((text, calls): &Heard, dialect: Dialect) -> Heard {
    let value = |arguments: &String| match serde_json::from_str::<serde_json::Value>(arguments) {
        Ok(value) if dialect == Dialect::Gemini || dialect == Dialect::Converse => {
            value.to_string()
        }
        _ => arguments.clone(),
    };
    let calls = calls.iter();
    let calls = calls.map(|(id, name, arguments)| (id.clone(), name.clone(), value(arguments)));
    // The chunks of a stream divide a text anywhere in Gemini, so that two texts are one.
    let text = match dialect {
        Dialect::Gemini => text.replace('\n', ""),
        _ => text.clone(),
    };
    (text, calls.collect())
}

/// The reply in its dialect, whole and streamed, says what it was made of.
fn is_spelled(reply: &NewReply, to: Dialect) -> Result<(), String> {
    let dialect = to;
    let plain = NewReply {
        reasoning: None,
        ..reply.clone()
    };
    let whole = plain.spell(dialect);
    let events = plain.events(dialect, 24, true);
    let stream = events
        .iter()
        .map(|event| event.to_wire())
        .collect::<String>();
    let wanted = said(&plain, dialect);
    for (how, format, text) in [
        ("whole", to.facts().format, whole),
        ("streamed", "sse", stream),
    ] {
        let found = heard(&read(format, text.as_bytes()));
        if in_values(&found, dialect) != in_values(&wanted, dialect) {
            return Err(format!("{how}: {found:?} instead of {wanted:?}"));
        }
    }
    Ok(())
}

fn replay(path: &Path, count: &mut Count) {
    let Ok(recording) = read_path(path, &ReadOptions::default()) else {
        return;
    };
    let sessions = recording.sessions;
    let tape = Tape::of(sessions.clone()).unwrap();
    let mut tried = BTreeMap::new();
    for place in tape.places() {
        let tried: &mut usize = tried.entry(place.session).or_default();
        *tried += 1;
        // Long sessions say the same kind of thing again and again, and every request holds all that was said before.
        if *tried > ALL_OF_THE_FIRST && !(*tried).is_multiple_of(ONE_OF) {
            continue;
        }
        let session = &sessions[place.session];
        if session.contract.server_state {
            *count.not_asked.entry("server-state").or_default() += 1;
            continue;
        }
        let before = before(session, tape.turn(place) - 1);
        for to in Dialect::ALL {
            try_turn(path, (&tape, place), (&before, to), count);
        }
    }
}

fn try_turn(
    path: &Path,
    (tape, place): (&Tape, TapePlace),
    (before, to): (&Session, Dialect),
    count: &mut Count,
) {
    let place_of =
        |why: String| format!("{}, {}, {to:?}: {why}", path.display(), tape.words(place));
    let (text, losses) = request(before, to);
    if let Some(loss) = losses.iter().find(|loss| is_compared(loss)) {
        *count.not_asked.entry(loss.kind.id()).or_default() += 1;
        return;
    }
    let asked = ReplayRequest::read(to, &text).unwrap();
    let matching = Matching {
        session: Some(place.session),
        ..Matching::default()
    };
    let found = match tape.find(&asked, matching) {
        Ok(found) => found,
        Err(why) => return count.wrong.push(place_of(why.words(tape))),
    };
    let Found {
        place: other,
        differences,
    } = found;
    let reply = |place| tape.reply(place, to, "any").unwrap().new_reply;
    // A turn after which nothing is said that is compared, and a run that begins anew, have the same history twice.
    if differences.is_some() || said(&reply(other), to) != said(&reply(place), to) && other > place
    {
        return count.wrong.push(place_of(format!("{other:?}")));
    }
    if let Err(why) = is_spelled(&reply(place), to) {
        return count.wrong.push(place_of(why));
    }
    count.same += 1;
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files(&path, found);
        } else {
            found.push(path);
        }
    }
    found.sort();
}

fn replay_all(folder: &str) -> Option<Count> {
    if !Path::new(folder).exists() {
        eprintln!("skipped: {folder} is absent");
        return None;
    }
    let (mut found, mut count) = (Vec::new(), Count::default());
    files(Path::new(folder), &mut found);
    for path in found {
        replay(&path, &mut count);
    }
    let wrong = count.wrong.iter().take(20).cloned().collect::<Vec<_>>();
    assert!(
        wrong.is_empty(),
        "{} of {}:\n{}",
        count.wrong.len(),
        count.wrong.len() + count.same,
        wrong.join("\n")
    );
    eprintln!(
        "{folder}: {} requests, not asked: {:?}",
        count.same, count.not_asked
    );
    Some(count)
}

#[test]
fn every_bundled_session_replays_against_itself_in_every_dialect() {
    let count = replay_all("sessions").unwrap();
    assert!(count.same > 150, "{count:?}");
}

#[test]
fn every_real_recording_replays_against_itself_in_every_dialect() {
    let Some(count) = replay_all("../shared/corpus") else {
        return;
    };
    assert!(count.same > 400, "{count:?}");
}
