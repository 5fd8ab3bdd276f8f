//! From a file to its sessions, on all cores.
//!
//! The file is cut into parts. Each part guesses where its first record begins and reads from there; joining them, each must
//! begin exactly where the one before it ended, and one that guessed wrong is read again from the right place. So a one-line array
//! of a gigabyte is read as fast as lines, and what comes out never depends on the guesses.

use super::{Input, InputError, open, read_database};
use crate::formats::split::{self, Members, Part, Step, Within};
use crate::formats::{self, Contents, Format, Layout, Reading, Records, Sample};
use crate::session::{Fragment, Problem, Session, Source, SourceError, Span};
use rayon::prelude::*;
use std::cell::RefCell;
use std::ops::Range;
use std::path::Path;
use std::sync::Arc;

/// How many bytes of a file formats are recognised by.
pub(super) const SAMPLE_BYTES: u64 = 256 * 1024;
/// Smaller files are read in one piece.
const SMALL: u64 = 4 << 20;
/// The size of a part.
const PART: u64 = 2 << 20;
/// How much is read beyond a part at first, so that its last record is whole.
const BEYOND: u64 = 64 * 1024;
/// How far before its part a reader looks for the boundary at the very start of it.
const OVERLAP: u64 = 16;
/// How many parts are read before they are joined: bounds the memory of parts that wait.
const WAVE: usize = 64;

/// How a file is to be read.
#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Id of the format; recognised by content if `None`.
    pub format: Option<String>,
}

/// A file with its sessions.
#[derive(Debug, Clone)]
pub struct Recording {
    /// What the operator named it.
    pub name: String,
    /// Its bytes.
    pub source: Arc<dyn Source>,
    /// The format it was read in.
    pub format: &'static Format,
    /// Its sessions.
    pub sessions: Vec<Session>,
    /// What could not be read.
    pub problems: Vec<Problem>,
}

/// Opens and reads a file.
pub fn read_path(path: &Path, options: &ReadOptions) -> Result<Recording, InputError> {
    read_input(open(path)?, options)
}

/// Told how many bytes of how many are read.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// Reads an input that is open.
pub fn read_input(input: Input, options: &ReadOptions) -> Result<Recording, InputError> {
    let head = head_of(&input)?;
    let sample = Sample::new(&head, head.len() as u64 == input.source.len());
    let format = choose_format(&sample, options)?;
    read_as(format, input, &head, &|_, _| ())
}

/// Reads an input whose format and head are known.
pub(super) fn read_as(
    format: &'static Format,
    input: Input,
    head: &[u8],
    progress: Progress<'_>,
) -> Result<Recording, InputError> {
    let length = input.source.len();
    let mut contents = match (format.reading, &input.buffer) {
        (Reading::Database, _) => {
            read_database(input.path.as_deref().ok_or(InputError::DatabaseInPipe)?)?
        }
        (_, Some(buffer)) => formats::read_buffer(format, &input.source, buffer)?,
        (Reading::Records(records), None) if length > SMALL => {
            let sample = Sample::new(head, false);
            let file = File {
                records: &records,
                source: &*input.source,
                length,
                progress,
                part: PART,
                beyond: BEYOND,
            };
            let mut fragment = file.read(&sample)?;
            let problems = std::mem::take(&mut fragment.problems);
            let mut contents = (records.assemble)(fragment, &input.source)?;
            contents.problems.splice(0..0, problems);
            contents
        }
        (_, None) => {
            let bytes = input.source.read(Span {
                start: 0,
                end: length,
            })?;
            formats::read_buffer(format, &input.source, &bytes)?
        }
    };
    contents.problems.splice(0..0, input.notices);
    let Contents { sessions, problems } = contents;
    Ok(Recording {
        name: input.name,
        source: input.source,
        format,
        sessions,
        problems,
    })
}

/// Reads the records that are whole in the head of a file.
pub(super) fn read_head(
    records: &Records,
    sample: &Sample<'_>,
    part: Part<'_>,
    out: &mut Fragment,
) {
    let (start, end) = (sample.skipped, part.bytes.len());
    split::report_leading(sample, out);
    match split::layout(records, sample) {
        Layout::Lines | Layout::Text => {
            Within::Stream.read(records, part, start, end, out);
        }
        Layout::Array(inside) => {
            Within::Array.read(records, part, start + inside, end, out);
        }
        Layout::Object(inside) => {
            let mut at = start + inside;
            while let Members::Array(first) = split::read_members(records, part, at, out) {
                match Within::Array.read(records, part, first, end, out) {
                    Step::Closed(closed) => at = closed,
                    Step::Reached(_) | Step::Starved(_) => break,
                }
            }
        }
    }
}

pub(super) fn head_of(input: &Input) -> Result<Vec<u8>, SourceError> {
    input.source.read(Span {
        start: 0,
        end: input.source.len().min(SAMPLE_BYTES),
    })
}

/// The format that was asked for, or the one that claims the text.
pub(super) fn choose_format(
    sample: &Sample<'_>,
    options: &ReadOptions,
) -> Result<&'static Format, InputError> {
    if let Some(id) = &options.format {
        return formats::find(id).ok_or_else(|| InputError::UnknownFormat(id.clone()));
    }
    if sample.complete && sample.bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(InputError::Empty);
    }
    formats::recognise(sample).ok_or_else(|| match formats::recognise_foreign(sample) {
        Some(foreign) => InputError::Foreign {
            title: foreign.title,
            hint: foreign.hint,
        },
        None if looks_binary(sample.bytes) => InputError::Binary,
        None => InputError::Unrecognised,
    })
}

fn looks_binary(head: &[u8]) -> bool {
    let head = &head[..head.len().min(8192)];
    let odd = head
        .iter()
        .filter(|byte| **byte < 9 || (14..32).contains(*byte))
        .count();
    odd * 20 > head.len()
}

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
        }
    }

    /// Reads all records.
    fn read(&self, sample: &Sample<'_>) -> Result<Fragment, SourceError> {
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
        let mut base = if exact {
            range.start
        } else {
            range.start - OVERLAP
        };
        let mut end = (range.end + self.beyond).min(self.length);
        self.source.read_into(Span { start: base, end }, bytes)?;
        let mut piece = Piece {
            range: range.clone(),
            start: None,
            next: range.end,
            closed: false,
            fragment: Fragment::default(),
        };
        let first = if exact {
            Some(0)
        } else {
            guess_from(within, bytes, OVERLAP as usize)
        };
        let Some(mut from) = first.filter(|first| base + (*first as u64) < range.end) else {
            return Ok(piece);
        };
        piece.start = Some(base + from as u64);
        loop {
            let part = Part {
                bytes,
                base,
                is_last: end == self.length,
            };
            let limit = usize::try_from(range.end - base).unwrap_or(usize::MAX);
            match within.read(self.records, part, from, limit, &mut piece.fragment) {
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
                    base += at as u64;
                    from = 0;
                    end = (end + self.beyond.max(2 * (end - base))).min(self.length);
                    self.source.read_into(Span { start: base, end }, bytes)?;
                    if base >= range.end {
                        piece.next = base;
                        return Ok(piece);
                    }
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
            (file.part, file.beyond) = (part, part / 2);
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
