//! retake's own journal: what was live or decided, line after line, appended as it happens.
//!
//! The first line says what it is: `{"retake":"journal","version":1,...}`. Each further line is
//! `{"seq":1,"crc":"89abcdef","entry":{"type":...}}`: `seq` counts from 1 without gaps, `crc` is the CRC-32
//! (IEEE) of the decimal `seq`, a space and the bytes of `entry` as they stand. So a torn tail, a damaged line
//! and a lost one are distinguished, and every line is JSON.
//!
//! Entries: `session` (`{"path","format","label"}`, what was opened), `item` (`{"dialect","item"}`, one item as
//! it was on the wire), and those of a proxy's journal: `exchange`, `began` and `held` (see `exchange.rs`).
//! Types that this version does not know are kept and left alone.

use super::assemble::take_dialect_of_items;
use super::{Contents, Format, Reading, Records, Sample, assemble_plain};
use crate::json::{Cursor, Result, display_text};
use crate::session::{
    Dialect, Fact, Flags, Fragment, Item, Kind, Problem, ProblemKind, Source, SourceResult, Span,
};
pub(super) use conversations::assemble_conversations;
pub(super) use exchange::read as read_exchange;
use std::ops::Range;
use std::sync::Arc;

mod conversations;
mod exchange;

/// The version that is written of takes and runs.
pub const VERSION: u64 = 1;
/// The version that is written of what passes through a proxy, where a request may be recorded as what is new of
/// it; the newest that is read.
pub const PROXY_VERSION: u64 = 2;

/// The row of this format.
pub(super) const FORMAT: Format = Format {
    id: "retake-journal",
    title: "retake's journal",
    sniff: |sample: &Sample<'_>| {
        let is_header = sample
            .first()
            .is_some_and(|document| document.says("retake", "journal") && document.has("version"));
        if is_header { 100 } else { 0 }
    },
    reading: Reading::Records(Records {
        spells: false,
        line: read_line,
        element: read_line,
        member: |_, _, _, _| Ok(()),
        arrays: &[],
        assemble,
    }),
};

fn read_line(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    let line = Line::walk(cursor)?;
    if line.is_header {
        return Ok(());
    }
    let range = start..cursor.position();
    let (Some(seq), Some(entry)) = (line.seq, line.entry.clone()) else {
        keep_damaged(base, range, out);
        return Ok(());
    };
    out.note(Fact::Sequence {
        number: seq,
        at: base + start as u64,
    });
    if !line.is_sound(seq, &bytes[entry.clone()]) {
        keep_damaged(base, range, out);
        return Ok(());
    }
    read_entry(&mut Cursor::at(&bytes[..entry.end], entry.start), base, out)
}

/// Keeps a line that cannot be trusted. What is said about it waits until the version is known.
fn keep_damaged(base: u64, range: Range<usize>, out: &mut Fragment) {
    let span = Span::within(base, range);
    out.push(Kind::Unreadable, None, span).flags = Flags::ERROR;
}

fn read_entry(cursor: &mut Cursor<'_>, base: u64, out: &mut Fragment) -> Result<()> {
    let (bytes, start) = (cursor.bytes(), cursor.position());
    let (mut kind, mut dialect, mut label, mut item) = (None, None, None, None);
    cursor.object(|cursor, key| {
        match key {
            b"type" => kind = cursor.string()?,
            b"dialect" => dialect = cursor.string()?,
            b"label" => label = cursor.string()?,
            b"item" if cursor.peek() == Some(b'{') => item = Some(cursor.skip()?),
            _ => {}
        }
        Ok(())
    })?;
    let dialect = dialect.and_then(|word| Dialect::named(std::str::from_utf8(word).ok()?));
    match (kind, dialect, item) {
        (Some(b"exchange" | b"began" | b"held" | b"ended"), ..) => read_exchange(
            &mut Cursor::at(bytes, start),
            dialect.unwrap_or(FORMAT.dialect()),
            base,
            out,
        ),
        (Some(b"session"), ..) => {
            out.note(Fact::NextSession);
            let label = label.map(|label| display_text(label).into_owned());
            out.note(Fact::Label(label.unwrap_or_default()));
            Ok(())
        }
        (Some(b"item"), Some(dialect), Some(item)) => {
            dialect
                .codec()
                .read_element(&mut Cursor::at(&bytes[..item.end], item.start), base, out)
        }
        _ => Ok(()),
    }
}

fn assemble(fragment: Fragment, source: &Arc<dyn Source>) -> SourceResult<Contents> {
    if let Some(problem) = newer_version(&fragment, source)? {
        return Ok(Contents {
            sessions: Vec::new(),
            problems: vec![problem],
        });
    }
    let mut problems = damages(&fragment);
    problems.append(&mut gaps(&fragment));
    let is_of_proxy = |(_, fact): &(u32, Fact)| matches!(fact, Fact::Exchange(_));
    if fragment.facts.iter().any(is_of_proxy) {
        return Ok(assemble_conversations(FORMAT.id, fragment, source)?.after(problems));
    }
    let mut contents = assemble_plain(FORMAT.id, FORMAT.dialect(), fragment, source)?;
    contents.sessions.iter_mut().for_each(take_dialect_of_items);
    Ok(contents.after(problems))
}

/// A journal of a newer retake may mean something else by the same words, so nothing of it is read.
fn newer_version(fragment: &Fragment, source: &Arc<dyn Source>) -> SourceResult<Option<Problem>> {
    let Some(first) = fragment.records.first() else {
        return Ok(None);
    };
    let header = source.read(first.span)?;
    let mut version = None;
    let walked = Cursor::new(&header).object(|cursor, key| {
        if key == b"version" {
            version = String::from_utf8_lossy(cursor.raw()?).parse::<u64>().ok();
        }
        Ok(())
    });
    let reason = match (walked, version) {
        (Ok(_), Some(1..=PROXY_VERSION)) => return Ok(None),
        (Ok(_), Some(version)) => format!(
            "a journal of version {version}, and this retake reads up to version {PROXY_VERSION}: open it with a newer one"
        ),
        _ => "a journal whose first line does not say its version".to_owned(),
    };
    Ok(Some(Problem::new(
        first.span.start,
        ProblemKind::Undecodable(reason),
    )))
}

/// Lines that were kept but cannot be trusted.
fn damages(fragment: &Fragment) -> Vec<Problem> {
    let is_damaged = |item: &&Item| item.kind == Kind::Unreadable && item.flags.has(Flags::ERROR);
    let problem = |item: &Item| Problem {
        at: item.span.start,
        kind: ProblemKind::Undecodable(
            "a damaged or changed line of the journal: its checksum does not fit".to_owned(),
        ),
    };
    let damaged = fragment.items.iter().filter(is_damaged);
    damaged.map(problem).collect()
}

/// Lines that are lost or stand twice: `seq` goes up by one.
fn gaps(fragment: &Fragment) -> Vec<Problem> {
    let numbered = fragment.facts.iter().filter_map(|(_, fact)| match fact {
        Fact::Sequence { number, at } => Some((*number, *at)),
        _ => None,
    });
    let mut expected = 1;
    let mut problems = Vec::new();
    for (number, at) in numbered {
        if number != expected {
            problems.push(Problem {
                at,
                kind: ProblemKind::Undecodable(format!(
                    "line {number} of the journal is where line {expected} was expected"
                )),
            });
        }
        expected = number.saturating_add(1);
    }
    problems
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

// The lines of a journal: numbered, and each with a checksum of its own.

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
    let checksum = line[end + CHECKSUM.len()..].strip_suffix("\"}");
    let expected = format!("{:08x}", crc32fast::hash(&line.as_bytes()[..end]));
    Some(checksum == Some(expected.as_str()))
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
struct Line<'a> {
    seq: Option<u64>,
    crc: Option<&'a [u8]>,
    entry: Option<Range<usize>>,
    is_header: bool,
}

impl<'a> Line<'a> {
    fn walk(cursor: &mut Cursor<'a>) -> Result<Self> {
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

    fn is_sound(&self, seq: u64, entry: &[u8]) -> bool {
        let expected = format!("{:08x}", checksum(seq, entry));
        self.crc == Some(expected.as_bytes())
    }
}

/// A line whose checksum fits.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Sound {
    pub seq: u64,
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
