//! The beginning of what items say, for list rows: read by span when a row is first shown, and
//! kept for a while.

use super::document::Place;
use super::pretty::compact;
use retake_core::content::{summarize_call, without_colours};
use retake_core::json::complete;
use retake_core::session::{Item, Kind, Session};
use retake_core::usage::working_folder;
use retake_core::wire::body_of;
use std::borrow::Cow;
use std::collections::HashMap;

/// How much of an item is read for its row.
const HEAD: u64 = 2048;
const KEPT: usize = 320;
/// How many rows are kept before all are forgotten.
const ROWS: usize = 4096;
/// How many items of a turn are looked at for the one that speaks for it.
const LOOKED_AT: usize = 8;

/// Texts of rows that were shown lately.
#[derive(Debug, Default)]
pub struct Previews {
    texts: HashMap<Place, String>,
    /// The folder in which the agent of each session worked, with a slash at its end.
    folders: HashMap<usize, String>,
    buffer: Vec<u8>,
}

impl Previews {
    /// Forgets everything: the document is another one.
    pub fn clear(&mut self) {
        self.texts.clear();
        self.folders.clear();
    }

    /// The beginning of what an item says. It is text from outside.
    pub fn of(&mut self, session: &Session, place: Place) -> &str {
        if self.texts.len() >= ROWS {
            self.texts.clear();
        }
        let (buffer, folders) = (&mut self.buffer, &mut self.folders);
        self.texts.entry(place).or_insert_with(|| {
            let folder = folders.entry(place.session);
            let folder = folder.or_insert_with(|| working_folder(session).unwrap_or_default());
            let item = session.items.get(place.item);
            item.map_or_else(String::new, |item| read(session, item, folder, buffer))
        })
    }
}

fn read(session: &Session, item: &Item, folder: &str, buffer: &mut Vec<u8>) -> String {
    let head = item.span.head(HEAD);
    if let Err(error) = session.source.read_into(head, buffer) {
        return error.to_string();
    }
    let body = if head.len() < item.span.len() {
        body_of(item, &complete(buffer))
    } else {
        body_of(item, buffer)
    };
    let text = match &body {
        Ok(body) if is_call(item) => {
            let summary = summarize_call(session.name(item), body.arguments.as_written());
            Cow::Owned(summary.seen_from(folder).argument)
        }
        Ok(body) if is_prose(item.kind) => Cow::Owned(in_one_line(&body.text)),
        Ok(body) => {
            let shown = without_colours(&body.text).into_owned();
            Cow::Owned(compact(shown.trim_start()).into_owned())
        }
        Err(_) => Cow::Borrowed(""),
    };
    let text = text.trim_start();
    if text.is_empty() && shows_raw(item.kind) {
        return String::from_utf8_lossy(&buffer[..buffer.len().min(KEPT)]).into_owned();
    }
    text[..text.floor_char_boundary(KEPT)].to_owned()
}

/// Whether somebody says it: its line breaks mean nothing in a row.
fn is_prose(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::System | Kind::User | Kind::Assistant | Kind::Reasoning
    )
}

/// The beginning of a text with spaces for its line breaks.
fn in_one_line(text: &str) -> String {
    let text = text.trim_start();
    let lines = text[..text.floor_char_boundary(KEPT)]
        .lines()
        .map(str::trim);
    let lines: Vec<_> = lines.filter(|line| !line.is_empty()).collect();
    lines.join(" ")
}

/// Whether its row says what is called, and with what.
pub fn is_call(item: &Item) -> bool {
    matches!(item.kind, Kind::Call | Kind::HostedCall)
}

/// Whether the bytes are shown where there is no text.
fn shows_raw(kind: Kind) -> bool {
    matches!(
        kind,
        Kind::Other
            | Kind::Unreadable
            | Kind::Notice
            | Kind::ToolDefinitions
            | Kind::Compaction
            | Kind::ApprovalRequest
            | Kind::ApprovalResponse
    )
}

/// The item that speaks for a turn in its row: the first message, else the first call, else the first item.
pub fn speaks_for(session: &Session, turn: usize) -> Option<usize> {
    let items = session.turns.get(turn)?.items();
    let looked_at = items.start..items.end.min(items.start + LOOKED_AT);
    let of_kind = |kinds: &[Kind]| {
        looked_at
            .clone()
            .find(|index| kinds.contains(&session.items[*index].kind))
    };
    of_kind(&[Kind::System, Kind::User, Kind::Assistant])
        .or_else(|| of_kind(&[Kind::Call, Kind::HostedCall]))
        .or(Some(items.start))
}

/// The tool's name of an item: its own, or that of the call which it answers.
pub fn tool_of(session: &Session, index: usize) -> &str {
    let Some(item) = session.items.get(index) else {
        return "";
    };
    let name = session.name(item);
    if !name.is_empty() || !matches!(item.kind, Kind::Output | Kind::HostedOutput) {
        return name;
    }
    let call = session.pairing.partner(index);
    call.and_then(|call| session.items.get(call))
        .map_or("", |call| session.name(call))
}
