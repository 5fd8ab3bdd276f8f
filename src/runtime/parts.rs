//! Reads a large file in parts on all cores.
//!
//! Each part guesses where its first record begins and reads from there; joining them, each must begin exactly where the one
//! before it ended, and one that guessed wrong is read again from the right place. So a one-line array of a gigabyte is read as
//! fast as lines, and what comes out never depends on the guesses.

use super::reading::Progress;
use crate::formats::split::{self, Members, Part, Step, Within};
use crate::formats::{Layout, Records, Sample};
use crate::session::{Fragment, Source, SourceError, Span};
use rayon::prelude::*;
use std::cell::RefCell;
use std::ops::Range;

/// The size of a part.
const PART: u64 = 4 << 20;
/// How much of a part is at hand at a time: what is copied in is still in the cache when it is walked.
const STEP: u64 = 256 * 1024;
/// How much is read beyond a part at first, so that its last record is whole.
const BEYOND: u64 = 16 * 1024;
/// How far before its part a reader looks for the boundary at the very start of it.
const OVERLAP: u64 = 16;
/// How many parts are read before they are joined: bounds the memory of parts that wait.
const WAVE: usize = 32;

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
    step: u64,
}

/// What one part gave.
struct Piece {
    range: Range<u64>,
    /// Where its first record begins; `None` where no record begins in it.
    start: Option<u64>,
    /// Where reading stopped.
    next: u64,
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
            step: STEP,
        }
    }

    /// Tells `progress` how far reading is.
    pub(super) fn telling(self, progress: Progress<'a>) -> Self {
        Self { progress, ..self }
    }

    /// Reads all records.
    pub(super) fn read(&self, sample: &Sample<'_>) -> Result<Fragment, SourceError> {
        let mut out = Fragment::default();
        let start = sample.skipped as u64;
        split::report_leading(sample, &mut out);
        match split::layout(self.records, sample) {
            Layout::Lines | Layout::Text => {
                self.read_parts(Within::Stream, start, &mut out)?;
            }
            Layout::Array(inside) => {
                let closed = self.read_parts(Within::Array, start + inside as u64, &mut out)?;
                self.report_rest(closed, &mut out)?;
            }
            Layout::Object(inside) => self.read_document(start + inside as u64, &mut out)?,
        }
        Ok(out)
    }

    /// Reads the lines from `start` that have their end; gives the position of the first one that has not.
    pub(super) fn read_lines_from(
        &self,
        start: u64,
        out: &mut Fragment,
    ) -> Result<u64, SourceError> {
        let tail = self.source.read(Span {
            start: start.max(self.length.saturating_sub(BEYOND)),
            end: self.length,
        })?;
        let complete =
            memchr::memrchr(b'\n', &tail).map(|last| self.length - (tail.len() - last - 1) as u64);
        let Some(end) = complete.filter(|end| *end > start) else {
            return Ok(start);
        };
        Self {
            length: end,
            ..*self
        }
        .read_parts(Within::Stream, start, out)?;
        Ok(end)
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
        let mut expected = start;
        for wave in ranges.chunks(WAVE) {
            let read = |range: &Range<u64>| {
                BUFFER.with_borrow_mut(|buffer| {
                    self.read_part(within, range, range.start == start, buffer)
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
                    self.read_part(within, &(expected..piece.range.end), true, &mut Vec::new())?
                };
                expected = piece.next;
                out.append(piece.fragment);
                (self.progress)(expected.min(self.length), self.length);
                if piece.closed {
                    return Ok(Some(expected));
                }
            }
        }
        Ok(None)
    }

    /// Reads the records that begin in `range`; with `exact`, the first one begins at its start.
    fn read_part(
        &self,
        within: Within,
        range: &Range<u64>,
        exact: bool,
        bytes: &mut Vec<u8>,
    ) -> Result<Piece, SourceError> {
        let start = if exact {
            range.start
        } else {
            range.start - OVERLAP
        };
        let mut window = Window {
            file: self,
            base: start,
            end: start,
            until: range.end,
            bytes,
        };
        window.bytes.clear();
        window.grow()?;
        let mut piece = Piece {
            range: range.clone(),
            start: None,
            next: range.end,
            closed: false,
            fragment: Fragment::default(),
        };
        let mut from = 0;
        if !exact {
            match window.guess(within)? {
                Some(first) if start + (first as u64) < range.end => from = first,
                Some(_) | None => return Ok(piece),
            }
        }
        piece.start = Some(start + from as u64);
        piece.fragment.count_lines_from(start + from as u64, 0);
        loop {
            let base = window.base;
            let limit = usize::try_from(range.end - base).unwrap_or(usize::MAX);
            match within.read(
                self.records,
                window.part(),
                from,
                limit,
                &mut piece.fragment,
            ) {
                Step::Reached(at) => {
                    piece.next = base + at as u64;
                    return Ok(piece);
                }
                Step::Closed(at) => {
                    piece.next = base + at as u64;
                    piece.closed = true;
                    return Ok(piece);
                }
                Step::Starved(at) => {
                    window.forget(at);
                    from = 0;
                    if window.base >= range.end {
                        piece.next = window.base;
                        return Ok(piece);
                    }
                    window.grow()?;
                }
            }
        }
    }

    /// Reads a document: its members, and in one of them the array of records.
    fn read_document(&self, inside: u64, out: &mut Fragment) -> Result<(), SourceError> {
        let (mut at, mut window) = (inside, BEYOND);
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
                    out.pass_lines(&bytes, at, first);
                    match self.read_parts(Within::Array, at + first as u64, out)? {
                        Some(closed) => (at, window) = (closed, BEYOND),
                        None => return Ok(()),
                    }
                }
                Members::Closed(closed) => return self.report_rest(Some(at + closed as u64), out),
                Members::Starved(member) => (at, window) = (at + member as u64, window * 2),
                Members::Broken(_) => return Ok(()),
            }
        }
    }

    fn report_rest(&self, closed: Option<u64>, out: &mut Fragment) -> Result<(), SourceError> {
        let Some(base) = closed else { return Ok(()) };
        let end = (base + BEYOND).min(self.length);
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

/// The bytes of a part that are at hand: a piece that fits the processor's cache moves through the part.
struct Window<'a> {
    file: &'a File<'a>,
    base: u64,
    end: u64,
    /// Where the part ends; beyond it only the rest of its last record is wanted.
    until: u64,
    bytes: &'a mut Vec<u8>,
}

impl Window<'_> {
    /// Reads on: a step inside the part, as much again as is at hand beyond it or when one record fills the window.
    fn grow(&mut self) -> Result<(), SourceError> {
        let held = self.end - self.base;
        let step = self
            .file
            .step
            .max(if held >= self.file.step { held } else { 0 });
        let wanted = if self.end < self.until {
            (self.end + step).min(self.until.max(self.end) + self.file.beyond)
        } else {
            self.end + self.file.beyond.max(held)
        };
        let end = wanted.min(self.file.length);
        self.file.source.read_more(
            Span {
                start: self.end,
                end,
            },
            self.bytes,
        )?;
        self.end = end;
        Ok(())
    }

    /// Lets go of the first `count` bytes.
    fn forget(&mut self, count: usize) {
        self.bytes.drain(..count);
        self.base += count as u64;
    }

    fn part(&self) -> Part<'_> {
        Part {
            bytes: self.bytes,
            base: self.base,
            is_last: self.end == self.file.length,
        }
    }

    /// The first guess at or behind the start of the part; the bytes before it are there to see the boundary.
    fn guess(&mut self, within: Within) -> Result<Option<usize>, SourceError> {
        let mut from = 0;
        loop {
            match within.guess(self.bytes, from) {
                Some(guess) if guess >= OVERLAP as usize => return Ok(Some(guess)),
                Some(guess) => from = guess,
                None if self.end >= self.until => return Ok(None),
                None => {
                    // A boundary may lie across the end of the window.
                    from = from.max(self.bytes.len().saturating_sub(OVERLAP as usize));
                    self.grow()?;
                }
            }
        }
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
            (file.part, file.beyond, file.step) = (part, part / 2, 1 + part / 3);
            let read = file.read(&sample).unwrap();
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
