//! The lines of a journal: numbered, and each with a checksum of its own.

use super::VERSION;
use crate::json::{Cursor, JsonError};
use std::ops::Range;

/// The first line of a journal of nothing in particular, with its line feed.
pub fn encode_header() -> String {
    format!("{{\"retake\":\"journal\",\"version\":{VERSION}}}\n")
}

/// Between the members of a first line and its checksum.
const CHECKSUM: &str = ",\"crc\":\"";

/// A first line with a checksum of everything before it as its last member.
pub fn seal_header(header: &str) -> String {
    let body = header.strip_suffix("}\n").unwrap_or(header);
    let crc = crc32fast::hash(body.as_bytes());
    format!("{body}{CHECKSUM}{crc:08x}\"}}\n")
}

/// Whether the checksum of a first line (without its line feed) fits; `None` where it has none.
pub fn unsealed(line: &str) -> Option<bool> {
    let end = line.rfind(CHECKSUM)?;
    let said = line[end + CHECKSUM.len()..].strip_suffix("\"}");
    let expected = format!("{:08x}", crc32fast::hash(&line.as_bytes()[..end]));
    Some(said == Some(expected.as_str()))
}

/// One line with its line feed; `entry` is the JSON of one object without line feeds.
pub fn encode_line(seq: u64, entry: &str) -> String {
    let crc = checksum(seq, entry.as_bytes());
    format!("{{\"seq\":{seq},\"crc\":\"{crc:08x}\",\"entry\":{entry}}}\n")
}

fn checksum(seq: u64, entry: &[u8]) -> u32 {
    let mut hasher = crc32fast::Hasher::new();
    hasher.update(seq.to_string().as_bytes());
    hasher.update(b" ");
    hasher.update(entry);
    hasher.finalize()
}

/// A line's own members.
#[derive(Default)]
pub(super) struct Line<'a> {
    pub(super) seq: Option<u64>,
    crc: Option<&'a [u8]>,
    pub(super) entry: Option<Range<usize>>,
    pub(super) is_header: bool,
}

impl<'a> Line<'a> {
    pub(super) fn walk(cursor: &mut Cursor<'a>) -> Result<Self, JsonError> {
        let mut line = Self::default();
        cursor.object(|cursor, key| {
            match key {
                b"retake" => line.is_header = cursor.string()? == Some(b"journal"),
                b"seq" => line.seq = String::from_utf8_lossy(cursor.raw()?).parse().ok(),
                b"crc" => line.crc = cursor.string()?,
                b"entry" => line.entry = Some(cursor.skip()?),
                _ => {}
            }
            Ok(())
        })?;
        Ok(line)
    }

    pub(super) fn is_sound(&self, seq: u64, entry: &[u8]) -> bool {
        let expected = format!("{:08x}", checksum(seq, entry));
        self.crc == Some(expected.as_bytes())
    }
}

/// A line whose checksum fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    pub seq: u64,
    /// Where its entry stands.
    pub entry: Range<usize>,
    /// Where it ends; a line feed should follow.
    pub end: usize,
}

/// Reads the line at the start of `bytes`; `None` where there is none that can be trusted.
pub fn decode_line(bytes: &[u8]) -> Option<Sound> {
    let mut cursor = Cursor::new(bytes);
    let line = Line::walk(&mut cursor).ok()?;
    let (seq, entry) = (line.seq?, line.entry.clone()?);
    let end = cursor.position();
    let is_sound = line.is_sound(seq, bytes.get(entry.clone())?);
    is_sound.then_some(Sound { seq, entry, end })
}
