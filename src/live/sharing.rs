//! Recordings that are read as if they held no secrets, so that nothing that is made of them holds any.

use super::{Input, InputError};
use retake_core::formats::retake_journal::{decode_line, encode_line};
use retake_core::redact::shareable_json;
use retake_core::session::Span;
use std::sync::Arc;

/// How files of SQLite begin.
const DATABASE: &[u8] = b"SQLite format 3\0";

/// An input without what looks like a secret. Fails for databases, which are read in their place, and where the
/// bytes cannot be read.
pub fn without_secrets(input: Input) -> Result<Input, InputError> {
    let (start, end) = (0, input.source.len());
    let bytes = input.source.read(Span { start, end })?;
    if bytes.starts_with(DATABASE) {
        let message = "a database is not read without its secrets: `retake convert FILE --to DIALECT | retake \
            convert - --to DIALECT --redact`";
        return Err(InputError::Refused(message.to_owned()));
    }
    let bytes = Arc::new(match is_journal(&bytes) {
        true => journal(&bytes),
        false => shareable_json(&bytes),
    });
    Ok(Input {
        source: bytes.clone(),
        buffer: Some(bytes),
        ..input
    })
}

/// Whether lines have checksums.
fn is_journal(bytes: &[u8]) -> bool {
    let mut lines = bytes.split(|byte| *byte == b'\n').skip(1);
    lines.next().is_some_and(|line| decode_line(line).is_some())
}

/// A journal whose lines have other checksums where they have lost a secret.
fn journal(bytes: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(bytes.len());
    for line in bytes.split_inclusive(|byte| *byte == b'\n') {
        let Some(sound) = decode_line(line) else {
            out.extend(shareable_json(line));
            continue;
        };
        let entry = &line[sound.entry];
        let clean = shareable_json(entry);
        match clean == entry {
            true => out.extend_from_slice(line),
            false => out.extend(encode_line(sound.seq, &String::from_utf8_lossy(&clean)).bytes()),
        }
    }
    out
}
