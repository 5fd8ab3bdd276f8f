//! Which turn of a recording answers a request: the same history strictly, or the nearest one. No
//! socket here; `runtime::replay` serves.
//!
//! A [`Tape`] is made from sessions, whatever their format and dialect. A request is read as [`ReplayRequest`],
//! [`Tape::find`] finds the turn that answers it or tells why none does, and [`Tape::reply`] writes that turn
//! in the words of whoever asks.
//!
//! Histories are compared as [`HistoryEntry`]: what the dialects and the SDKs spell differently is not distinguished;
//! [`COMPARED`] is the whole list.

mod find;
mod history;
mod reply;
mod tape;
mod terms;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use find::{Differences, Found, Matching, NotFound};
pub use reply::ServedReply;
pub use tape::{ReplayRequest, Tape, TapePlace};
pub use terms::{Differing, TermChange, TermPart};

/// What of a request is compared with a recording.
#[derive(Debug, Clone, Copy)]
pub struct Compared {
    /// The part of a request.
    pub part: &'static str,
    /// How it is compared; empty where it is not.
    pub how: &'static str,
}

const fn compared(part: &'static str, how: &'static str) -> Compared {
    Compared { part, how }
}

/// Every part of a request, and whether it is compared.
pub const COMPARED: &[Compared] = &[
    compared(
        "instructions, messages of the system",
        "their text, wherever they stand; where they changed in the recording, a request may hold those of one \
        agent only. Where the recording has no request, they are not known",
    ),
    compared(
        "messages of the user",
        "their order, their text letter by letter; several in a row count as one, those without words as none",
    ),
    compared(
        "messages of the model",
        "the same, but for white space: a reply is divided into messages and parts by each provider in its own way",
    ),
    compared("pictures", "what they hold, or where they are"),
    compared(
        "other parts (files, audio)",
        "that there is one of this type",
    ),
    compared(
        "calls",
        "their order, the tool, the arguments as JSON values; arguments that are not JSON objects only \
        where a request can hold them",
    ),
    compared(
        "outputs",
        "their text, and which call they answer, whatever its id is",
    ),
    compared(
        "tools",
        "names, descriptions, schemas as JSON values, in any order; only where the recording knows them",
    ),
    compared(
        "output schema",
        "as a JSON value; a recording keeps the last one only, so that a request may have none",
    ),
    compared("reasoning, encrypted content, signatures", ""),
    compared("what the provider ran itself, and tools that it runs", ""),
    compared("ids", ""),
    compared("the model, sampling settings, limits, metadata", ""),
    compared("the mark that an output is an error", ""),
];

/// The table as `retake help` shows it.
pub fn markdown_table() -> String {
    let mut table = "| of a request | is compared |\n|---|---|\n".to_owned();
    for Compared { part, how } in COMPARED {
        let how = if how.is_empty() { "no" } else { how };
        table.push_str(&format!("| {part} | {how} |\n"));
    }
    table
}
