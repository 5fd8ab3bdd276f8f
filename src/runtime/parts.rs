//! Reads a file that is too large to be held, in parts, on all cores.
//!
//! Each part guesses where its first record begins and reads from there; joining them, each must begin exactly where the one before
//! it ended, and one that guessed wrong is read again from the right place. So a one-line array of a gigabyte is read as fast as
//! lines, and what comes out never depends on the guesses.

use super::reading::Progress;
use crate::formats::split::{self, Members, Part, Step, Within};
use crate::formats::{Layout, Records, Sample};
use crate::session::{Fragment, Source, SourceError, Span};
use rayon::prelude::*;
use std::cell::RefCell;
use std::ops::Range;

/// Smaller files are read in one piece.
pub(super) const SMALL: u64 = 4 << 20;
/// The size of a part.
const PART: u64 = 2 << 20;
/// How much is read beyond a part at first, so that its last record is whole.
const BEYOND: u64 = 64 * 1024;
/// How far beyond its part a guess is followed: a wrong one could lead every part to the end of the file.
const PATIENCE: u64 = 16 << 20;
/// How far before its part a reader looks for the boundary at the very start of it.
const OVERLAP: u64 = 16;
/// How many parts are read before they are joined: bounds the memory of parts that wait.
const WAVE: usize = 64;
/// A larger buffer, which a giant record needed, is given back.
const KEPT_BUFFER: usize = 8 << 20;

thread_local! {
    /// One buffer for all parts that a thread reads: fresh pages cost as much as the reading.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A file that is too large to be held.
pub(super) struct File<'a> {
    records: &'a Records,
    source: &'a dyn Source,
    length: u64,
    progress: Progress<'a>,
    part: u64,
    beyond: u64,
    patience: u64,
}

/// Where the first record of a part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    /// Somewhere in it.
    Guessed,
    /// At its start.
    Here,
    /// At its start or behind a run of NUL bytes, the beginning of which was reported.
    BehindNuls,
}

/// What one part gave.
struct Piece {
    range: Range<u64>,
    /// Where its first record begins; `None` where no record begins in it.
    start: Option<u64>,
    /// Where reading stopped.
    next: u64,
    /// Whether a NUL byte stands before that place.
    behind_nul: bool,
    closed: bool,
    fragment: Fragment,
}

impl<'a> File<'a> {
    /// A file whose bytes up to `length` count.
    pub(super) fn new(records: &'a Records, source: &'a dyn Source, length: u64) -> Self {
        Self {
            records,
            source,
            length,
            progress: &|_, _| (),
            part: PART,
            beyond: BEYOND,
            patience: PATIENCE,
        }
    }

    /// Tells how many bytes are done.
    pub(super) fn with_progress(self, progress: Progress<'a>) -> Self {
        Self { progress, ..self }
    }

    /// Reads all records.
    pub(super) fn read(
        &self,
        sample: &Sample<'_>,
        layout: Layout,
    ) -> Result<Fragment, SourceError> {
        let mut out = Fragment::default();
        let start = sample.skipped as u64;
        split::report_leading(sample, &mut out);
        match layout {
            Layout::Lines | Layout::Text => {
                self.read_stream(start, &mut out)?;
            }
            Layout::Array(inside) => {
                let closed = self.read_parts(Within::Array, start + inside as u64, &mut out)?;
                self.report_rest(closed, &mut out)?;
            }
            Layout::Object(inside) => {
                let closed = self.read_document(start + inside as u64, &mut out)?;
                if self.is_followed_by_object(closed)? {
                    // It was the first of a stream of documents; it is read again as one of them.
                    out = Fragment::default();
                    self.read_stream(start, &mut out)?;
                } else {
                    self.report_rest(closed, &mut out)?;
                }
            }
        }
        Ok(out)
    }

    /// Reads a stream of values from `start`.
    pub(super) fn read_stream(&self, start: u64, out: &mut Fragment) -> Result<(), SourceError> {
        self.read_parts(Within::Stream, start, out).map(|_| ())
    }

    /// The position behind the last line end at or behind `from`.
    pub(super) fn last_line_end(&self, from: u64) -> Result<Option<u64>, SourceError> {
        let mut end = self.length;
        while end > from {
            let start = end.saturating_sub(BEYOND).max(from);
            let bytes = self.source.read(Span { start, end })?;
            if let Some(last) = memchr::memrchr(b'\n', &bytes) {
                return Ok(Some(start + last as u64 + 1));
            }
            end = start;
        }
        Ok(None)
    }

    /// Reads records from `start` to the end of the file or of the array; gives the position behind the array's bracket.
    fn read_parts(
        &self,
        within: Within,
        start: u64,
        out: &mut Fragment,
    ) -> Result<Option<u64>, SourceError> {
        let ranges = (start..self.length)
            .step_by(self.part as usize)
            .map(|from| from..(from + self.part).min(self.length))
            .collect::<Vec<_>>();
        let (mut expected, mut first) = (start, First::Here);
        for wave in ranges.chunks(WAVE) {
            let read = |range: &Range<u64>| {
                let first = if range.start == start {
                    First::Here
                } else {
                    First::Guessed
                };
                BUFFER.with_borrow_mut(|buffer| {
                    let piece = self.read_part(within, range, first, buffer);
                    if buffer.capacity() > KEPT_BUFFER {
                        *buffer = Vec::new();
                    }
                    piece
                })
            };
            let pieces = wave.par_iter().map(read).collect::<Result<Vec<_>, _>>()?;
            for piece in pieces {
                if piece.range.end <= expected && piece.range.end < self.length {
                    continue;
                }
                let piece = if piece.start == Some(expected) {
                    piece
                } else {
                    let range = expected..piece.range.end;
                    self.read_part(within, &range, first, &mut Vec::new())?
                };
                expected = piece.next;
                first = if piece.behind_nul {
                    First::BehindNuls
                } else {
                    First::Here
                };
                out.append(piece.fragment);
                (self.progress)(expected.min(self.length), self.length);
                if piece.closed {
                    return Ok(Some(expected));
                }
            }
        }
        Ok(None)
    }

    /// Reads the records that begin in `range`.
    fn read_part(
        &self,
        within: Within,
        range: &Range<u64>,
        first: First,
        bytes: &mut Vec<u8>,
    ) -> Result<Piece, SourceError> {
        let guessed = first == First::Guessed;
        let before = if guessed { OVERLAP } else { 0 };
        let mut base = range.start - before.min(range.start);
        let mut end = (range.end + self.beyond).min(self.length);
        self.source.read_into(Span { start: base, end }, bytes)?;
        let mut piece = Piece::empty(range.clone());
        let from = match first {
            First::Guessed => guess_from(within, bytes, (range.start - base) as usize),
            First::Here => Some(0),
            First::BehindNuls => Some(nuls(bytes)),
        };
        let Some(mut from) = from.filter(|from| !guessed || base + (*from as u64) < range.end)
        else {
            return Ok(piece);
        };
        piece.start = Some(base + from as u64);
        loop {
            let part = Part {
                bytes,
                base,
                is_last: end == self.length,
            };
            let limit = usize::try_from(range.end.saturating_sub(base)).unwrap_or(usize::MAX);
            let step = within.read(self.records, part, from, limit, &mut piece.fragment);
            let (Step::Reached(at) | Step::Closed(at) | Step::Starved(at)) = step;
            piece.next = base + at as u64;
            piece.behind_nul = at > 0 && bytes.get(at - 1) == Some(&0);
            piece.closed = matches!(step, Step::Closed(_));
            if !matches!(step, Step::Starved(_)) || piece.next >= range.end {
                return Ok(piece);
            }
            if guessed && end > range.end + self.patience {
                return Ok(Piece::empty(range.clone()));
            }
            base = piece.next;
            end = (end + self.beyond.max(2 * (end - base))).min(self.length);
            self.source.read_into(Span { start: base, end }, bytes)?;
            from = if piece.behind_nul { nuls(bytes) } else { 0 };
        }
    }

    /// Reads a document: its members, and in one of them the array of records; gives the position behind its bracket.
    fn read_document(&self, inside: u64, out: &mut Fragment) -> Result<Option<u64>, SourceError> {
        let (mut at, mut window) = (inside, self.beyond);
        loop {
            let end = (at + window).min(self.length);
            let bytes = self.source.read(Span { start: at, end })?;
            let part = Part {
                bytes: &bytes,
                base: at,
                is_last: end == self.length,
            };
            match split::read_members(self.records, part, 0, out) {
                Members::Array(first) => {
                    match self.read_parts(Within::Array, at + first as u64, out)? {
                        Some(closed) => (at, window) = (closed, self.beyond),
                        None => return Ok(None),
                    }
                }
                Members::Closed(closed) => return Ok(Some(at + closed as u64)),
                Members::Starved(0) => window *= 2,
                Members::Starved(member) => at += member as u64,
                Members::Broken(_) => return Ok(None),
            }
        }
    }

    /// Whether another object begins behind the end of a document.
    fn is_followed_by_object(&self, closed: Option<u64>) -> Result<bool, SourceError> {
        let Some(start) = closed else {
            return Ok(false);
        };
        let end = (start + self.beyond).min(self.length);
        let rest = self.source.read(Span { start, end })?;
        let first = rest.iter().find(|byte| !b" \t\r\n,\x1e".contains(byte));
        Ok(first == Some(&b'{'))
    }

    fn report_rest(&self, closed: Option<u64>, out: &mut Fragment) -> Result<(), SourceError> {
        let Some(base) = closed else { return Ok(()) };
        let end = (base + self.beyond).min(self.length);
        let bytes = self.source.read(Span { start: base, end })?;
        split::report_rest(
            Step::Closed(0),
            Part {
                bytes: &bytes,
                base,
                is_last: end == self.length,
            },
            out,
        );
        Ok(())
    }
}

impl Piece {
    /// A part in which no record is known to begin.
    fn empty(range: Range<u64>) -> Self {
        Self {
            next: range.end,
            range,
            start: None,
            behind_nul: false,
            closed: false,
            fragment: Fragment::default(),
        }
    }
}

/// How many NUL bytes a text begins with.
fn nuls(bytes: &[u8]) -> usize {
    bytes.iter().take_while(|byte| **byte == 0).count()
}

/// The first guess at or behind `least`; the bytes before it are there to see the boundary.
fn guess_from(within: Within, bytes: &[u8], least: usize) -> Option<usize> {
    let mut from = 0;
    loop {
        let guess = within.guess(bytes, from)?;
        if guess >= least {
            return Some(guess);
        }
        from = guess;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::formats::{self, Reading};

    /// Reads a text in parts of every small size and compares with reading it in one piece.
    fn parts_change_nothing(text: &str) {
        let bytes = text.as_bytes().to_vec();
        let sample = Sample::new(&bytes, true);
        let format = formats::recognise(&sample).unwrap();
        let Reading::Records(records) = format.reading else {
            panic!("{}", format.id)
        };
        let whole = split::read_all(&records, &sample, &bytes);
        let told = |fragment: &Fragment| {
            let items = fragment
                .items
                .iter()
                .map(|item| (item.span, item.kind, item.record))
                .collect::<Vec<_>>();
            (
                items,
                fragment.records.clone(),
                fragment.problems.clone(),
                fragment.facts.clone(),
            )
        };
        for part in [17, 40, 64, 100, 333, 1000] {
            let mut file = File::new(&records, &bytes, bytes.len() as u64);
            (file.part, file.beyond, file.patience) = (part, part / 2, 2 * part);
            let read = file
                .read(&sample, split::layout(&records, &sample))
                .unwrap();
            assert_eq!(told(&read), told(&whole), "parts of {part} bytes");
        }
    }

    #[test]
    fn lines_read_in_parts_are_the_lines() {
        let line = |index: usize| {
            format!(
                "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
                "x".repeat(index * 7 % 90)
            )
        };
        parts_change_nothing(&(0..60).map(line).collect::<String>());
    }

    #[test]
    fn broken_lines_and_shared_lines_stay_where_they_are() {
        let good = "{\"role\":\"user\",\"content\":\"a\"}";
        let text = format!(
            "{good}\n{{oops}}\n{good}{good}\n\n[1,\n{good}\n\"x\"\n{{\"role\":\"us\n{good}\n{{\"role\":\"user\",\"con"
        );
        parts_change_nothing(&text.repeat(3));
    }

    #[test]
    fn an_array_on_one_line_is_read_like_lines() {
        // Contents hold arrays of objects and text that looks like a boundary: both invite wrong guesses.
        let message = |index: usize| {
            format!(
                r#"{{"role":"assistant","content":[{{"type":"text","text":"a}},{{"}},{{"type":"text","text":"\"}},{{\"role\":{index}"}}],"tool_calls":[{{"id":"c{index}","function":{{"name":"f","arguments":"{{}}"}}}},{{"id":"d{index}","function":{{"name":"g"}}}}]}}"#
            )
        };
        let messages = (0..40).map(message).collect::<Vec<_>>().join(",");
        parts_change_nothing(&format!("[{messages}]"));
        parts_change_nothing(&format!(
            r#"{{"model":"m","messages":[{messages}],"tools":[{{"type":"function","function":{{"name":"f"}}}}]}}"#
        ));
    }

    #[test]
    fn runs_of_nul_bytes_are_told_once() {
        let line = "{\"role\":\"user\",\"content\":\"a\"}\n";
        let hole = "\0".repeat(300);
        parts_change_nothing(&[line, &hole, line, &hole, "\n", &hole, line, "\0"].concat());
    }

    #[test]
    fn a_document_that_others_follow_is_one_of_them() {
        let body = format!(
            r#"{{"model":"m","messages":[{}],"tools":[]}}"#,
            [r#"{"role":"user","content":"a"}"#; 9].join(",")
        );
        let text = format!("{body}\n{body}\n").into_bytes();
        let head = &text[..100];
        let sample = Sample::new(head, false);
        let format = formats::recognise(&Sample::new(&text, true)).unwrap();
        let Reading::Records(records) = format.reading else {
            panic!("{}", format.id)
        };
        let layout = split::layout(&records, &sample);
        assert!(matches!(layout, Layout::Object(_)));
        let file = File::new(&records, &text, text.len() as u64);
        let read = file.read(&sample, layout).unwrap();
        assert_eq!((read.records.len(), read.problems.len()), (2, 0));
    }

    #[test]
    fn a_record_larger_than_a_part_is_one_record() {
        let long = format!(
            "{{\"role\":\"user\",\"content\":\"{}\"}}\n",
            "},{\\\"a\\\":".repeat(300)
        );
        let short = "{\"role\":\"tool\",\"tool_call_id\":\"c\",\"content\":\"y\"}\n";
        parts_change_nothing(&[short, &long, short, &long, &long, short].concat());
    }

    #[test]
    fn pretty_documents_are_read_across_their_lines() {
        let document = "{\n  \"role\": \"user\",\n  \"content\": \"hello\"\n}\n";
        parts_change_nothing(&document.repeat(40));
    }
}
