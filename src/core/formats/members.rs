//! The members of a document that holds an array of records: what stands beside the array, and
//! where the array begins.

use super::Records;
use super::split::Part;
use crate::json::{Cursor, JsonError, JsonErrorKind, skip_value, skip_whitespace, string_end};
use crate::session::{Fragment, ProblemKind};

/// What the walk over the members of a document came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// An array of records begins; the number is the position behind its bracket.
    Array(usize),
    /// The document is closed; the number is the position behind its bracket.
    Closed(usize),
    /// The member that begins here goes on beyond the bytes at hand.
    Starved(usize),
    /// The document is broken here.
    Broken(usize),
}

/// Reads the members of a document from `from` (behind its bracket, or behind an array of records) to the
/// next array of records.
pub fn read_members(records: &Records, part: Part<'_>, from: usize, out: &mut Fragment) -> Members {
    let mut at = from;
    loop {
        at = skip_whitespace(part.bytes, at);
        match part.bytes.get(at) {
            Some(b'}') => return Members::Closed(at + 1),
            Some(b',') => at += 1,
            Some(b'"') => match read_member(records, part, at, out) {
                Ok(Members::Closed(end)) => at = end,
                Ok(step) => return step,
                Err(fault) if fault.kind == JsonErrorKind::End && !part.is_last => {
                    return Members::Starved(at);
                }
                Err(fault) => {
                    out.report(part.base + fault.at as u64, broken(fault));
                    return Members::Broken(at);
                }
            },
            None if !part.is_last => return Members::Starved(at),
            None => {
                out.report(part.base + at as u64, ProblemKind::Unclosed);
                return Members::Broken(at);
            }
            Some(byte) => {
                out.report(
                    part.base + at as u64,
                    ProblemKind::NotJson(JsonErrorKind::Byte(*byte)),
                );
                return Members::Broken(at);
            }
        }
    }
}

fn broken(fault: JsonError) -> ProblemKind {
    if fault.kind == JsonErrorKind::End {
        ProblemKind::Unclosed
    } else {
        ProblemKind::NotJson(fault.kind)
    }
}

/// Reads one member; [`Members::Closed`] stands for its end here.
fn read_member(
    records: &Records,
    part: Part<'_>,
    at: usize,
    out: &mut Fragment,
) -> Result<Members, JsonError> {
    let key_end = string_end(part.bytes, at)?;
    let key = &part.bytes[at + 1..key_end - 1];
    let colon = skip_whitespace(part.bytes, key_end);
    let value = skip_whitespace(part.bytes, colon + 1);
    match (part.bytes.get(colon), part.bytes.get(value)) {
        (Some(b':'), Some(b'[')) if records.arrays.iter().any(|name| name.as_bytes() == key) => {
            return Ok(Members::Array(value + 1));
        }
        (Some(b':'), Some(_)) => {}
        (Some(byte), _) if *byte != b':' => {
            return Err(JsonError {
                at: colon,
                kind: JsonErrorKind::Byte(*byte),
            });
        }
        _ => {
            return Err(JsonError {
                at: part.bytes.len(),
                kind: JsonErrorKind::End,
            });
        }
    }
    let end = skip_value(part.bytes, value)?;
    let mut cursor = Cursor::at(part.bytes, value);
    (records.member)(key, &mut cursor, part.base, out)?;
    out.report_bad_strings(part.bytes, at..end, part.base);
    Ok(Members::Closed(end))
}
