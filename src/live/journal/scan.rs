//! Reads a journal that may be damaged anywhere: each line is checked by itself, and what cannot be trusted is
//! reported with its place.

use super::header::JournalHeader;
use memchr::{memchr, memmem};
use retake_core::formats::retake_journal::{PROXY_VERSION, decode_line};
use retake_core::session::takes::TakeEventError;
use std::ops::Range;

/// How each line but the first one begins.
const LINE: &[u8] = b"{\"seq\":";

/// What is wrong with a journal; `at` is a byte position in it.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Damage {
    #[error("the first line of the journal is damaged; the takes that can be read are shown")]
    Header,
    #[error("the journal breaks off at byte {at}; the takes before it are whole")]
    Torn { at: u64 },
    #[error("a damaged line at byte {at} of the journal was left out")]
    Line { at: u64 },
    #[error("lines {from} to {to} are missing before byte {at} of the journal")]
    Missing {
        from: u64,
        /// Number of the last one.
        to: u64,
        at: u64,
    },
    #[error("line {seq} is repeated at byte {at} of the journal and was left out")]
    Repeated { seq: u64, at: u64 },
    #[error("line {seq} at byte {at} of the journal says what this version does not know: {why}")]
    Unknown {
        /// Number of the line.
        seq: u64,
        at: u64,
        why: String,
    },
    #[error("line {seq} at byte {at} of the journal was left out: {why}")]
    Misfit {
        /// Number of the line.
        seq: u64,
        at: u64,
        why: TakeEventError,
    },
    #[error(
        "the takes that were made of this file belong to what it held before; they are kept in the journal"
    )]
    OtherRecording,
}

/// A line that can be trusted.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct JournalLine {
    pub(crate) seq: u64,
    pub(crate) at: u64,
    pub(crate) entry: String,
}

/// What a journal holds.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Scan {
    pub(crate) header: Option<JournalHeader>,
    pub(crate) lines: Vec<JournalLine>,
    pub(crate) damages: Vec<Damage>,
    /// How many bytes stay when the next line is written: all but a torn tail.
    pub(crate) clean: u64,
    /// The number of the next line.
    pub(crate) next: u64,
}

impl Scan {
    pub(crate) fn of(bytes: &[u8]) -> Self {
        let mut scan = Self {
            clean: bytes.len() as u64,
            next: 1,
            ..Self::default()
        };
        let mut at = scan.header(bytes);
        // Whether something was left out since the last good line: a gap is then explained.
        let mut lost = scan.header.is_none();
        while at < bytes.len() {
            let end = memchr(b'\n', &bytes[at..]).map(|length| at + length);
            scan.stretch(
                bytes,
                at..end.unwrap_or(bytes.len()),
                end.is_none(),
                &mut lost,
            );
            at = end.map_or(bytes.len(), |end| end + 1);
        }
        scan
    }

    /// Whether a newer version wrote it.
    pub(crate) fn newer_version(&self) -> Option<u64> {
        let version = self.header.as_ref()?.version;
        (version > PROXY_VERSION).then_some(version)
    }

    /// Reads the first line and gives the place after it; without one everything is left to be read.
    fn header(&mut self, bytes: &[u8]) -> usize {
        let line = memchr(b'\n', bytes).unwrap_or(bytes.len());
        // A damaged line feed joins the first two lines.
        let glued = memmem::find(&bytes[..line], LINE).and_then(|end| end.checked_sub(1));
        let ends = [Some(line), glued];
        let decoded = ends.into_iter().flatten().find_map(|end| {
            let header = JournalHeader::decode(&bytes[..end])?;
            Some((header, end))
        });
        match decoded {
            Some((header, end)) => {
                self.header = Some(header);
                end + usize::from(bytes.get(end) == Some(&b'\n'))
            }
            None => {
                if !bytes.is_empty() {
                    self.damages.push(Damage::Header);
                }
                match memmem::find(&bytes[..line], LINE) {
                    Some(glued) => glued,
                    None => (line + 1).min(bytes.len()),
                }
            }
        }
    }

    /// Reads what is between two line feeds: one line, or the remains of several.
    fn stretch(&mut self, bytes: &[u8], range: Range<usize>, is_last: bool, lost: &mut bool) {
        let mut at = range.start;
        while at < range.end {
            let found = memmem::find(&bytes[at..range.end], LINE).map(|skipped| at + skipped);
            let start = found.unwrap_or(range.end);
            let after = (start + 1).min(range.end);
            let next = memmem::find(&bytes[after..range.end], LINE);
            let piece = start..next.map_or(range.end, |next| after + next);
            if start > at {
                self.damaged(at..start, is_last && start == range.end, lost);
            }
            at = piece.end;
            if piece.is_empty() {
                continue;
            }
            match decode_line(&bytes[piece.clone()]) {
                Some(line) => {
                    let entry = piece.start + line.entry.start..piece.start + line.entry.end;
                    let entry = String::from_utf8_lossy(&bytes[entry]).into_owned();
                    self.sound(line.seq, piece.start as u64, entry, lost);
                    // A damaged line feed is left over.
                    let end = piece.start + line.end;
                    if end < piece.end {
                        let is_last = is_last && piece.end == range.end;
                        self.left_over(end..piece.end, is_last);
                    }
                }
                None => self.damaged(piece.clone(), is_last && piece.end == range.end, lost),
            }
        }
    }

    fn sound(&mut self, seq: u64, at: u64, entry: String, lost: &mut bool) {
        let last = self.lines.last().map_or(0, |line| line.seq);
        if seq <= last {
            self.damages.push(Damage::Repeated { seq, at });
            return;
        }
        if seq > last + 1 && !*lost {
            self.damages.push(Damage::Missing {
                from: last + 1,
                to: seq - 1,
                at,
            });
        }
        *lost = false;
        self.next = seq.saturating_add(1);
        self.lines.push(JournalLine { seq, at, entry });
    }

    fn damaged(&mut self, range: Range<usize>, is_torn: bool, lost: &mut bool) {
        *lost = true;
        if !is_torn {
            // It had a number.
            self.next = self.next.saturating_add(1);
        }
        self.left_over(range, is_torn);
    }

    fn left_over(&mut self, range: Range<usize>, is_torn: bool) {
        let at = range.start as u64;
        if is_torn {
            self.clean = at;
            self.damages.push(Damage::Torn { at });
        } else {
            self.damages.push(Damage::Line { at });
        }
    }
}
