//! Where records begin and end: in streams of values (JSONL and its relatives), in arrays, in documents
//! that hold an array.
//!
//! A large file is read in parts. Each part starts at a guess (after a line end, after `},`) and reads the
//! records that begin in it; whoever joins the parts checks that each begins exactly where the one before it
//! ended, and reads again where it does not.

use super::format::{ReadRecord, Records};
use super::sample::{Layout, Sample, is_cut_document};
use crate::json::{
    Cursor, JsonError, JsonErrorKind, Result, complete, skip_value, skip_whitespace, string_end,
};
use crate::session::{Flags, Fragment, Kind, ProblemKind, Span};
use crate::wire::images::may_hold_pictures;

/// A part of a text.
#[derive(Debug, Clone, Copy)]
pub struct Part<'a> {
    /// The bytes; they may go on beyond the part, so that its last record is whole.
    pub bytes: &'a [u8],
    /// Where they begin in the source.
    pub base: u64,
    /// Whether the text ends with them.
    pub is_last: bool,
}

/// How far reading came.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Step {
    /// The next record begins here, at or after the limit (or the text ends here).
    Reached(usize),
    /// The record that begins here goes on beyond the bytes at hand.
    Starved(usize),
    /// The array was closed; the number is the position after its bracket.
    Closed(usize),
}

/// Where a stream of values or the elements of an array are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Within {
    Stream,
    /// The elements of an array, up to its closing bracket.
    Array,
}

impl Within {
    /// Reads the records that begin in `from..limit`.
    pub fn read(
        self,
        records: &Records,
        part: Part<'_>,
        from: usize,
        limit: usize,
        out: &mut Fragment,
    ) -> Step {
        let step = match self {
            Self::Stream => read_stream(Reader::new(records, records.line), part, from, limit, out),
            Self::Array => read_array(
                Reader::new(records, records.element),
                part,
                from,
                limit,
                out,
            ),
        };
        let (Step::Reached(at) | Step::Starved(at) | Step::Closed(at)) = step;
        out.pass_lines(part.bytes, part.base, at);
        step
    }

    /// The first place at or after `from` where a record probably begins.
    pub fn guess(self, bytes: &[u8], from: usize) -> Option<usize> {
        match self {
            Self::Stream => {
                let line_end = memchr::memchr(b'\n', &bytes[from..])?;
                Some(skip_filler(bytes, from + line_end + 1)).filter(|at| *at < bytes.len())
            }
            Self::Array => guess_element(bytes, from),
        }
    }
}

/// How the records of a text are laid out: a lone object that does not hold an array of records
/// is itself a record.
pub fn layout(records: &Records, sample: &Sample<'_>) -> Layout {
    let Layout::Object(inside) = sample.layout else {
        return sample.layout;
    };
    if records.spells {
        return Layout::Lines;
    }
    let holds_records = sample.first().is_some_and(|document| {
        let opens = |name: &&str| document.raw(name).is_some_and(|raw| raw.starts_with(b"["));
        let is_cut = !sample.complete && !document.has("role") && !document.has("type");
        is_cut || records.arrays.iter().any(opens)
    });
    if holds_records {
        Layout::Object(inside)
    } else {
        Layout::Lines
    }
}

/// Reads a text that is wholly at hand.
pub fn read_all(records: &Records, sample: &Sample<'_>, bytes: &[u8]) -> Fragment {
    let mut out = Fragment::default();
    let part = Part {
        bytes,
        base: 0,
        is_last: true,
    };
    let start = sample.skipped;
    report_leading(sample, &mut out);
    match layout(records, sample) {
        Layout::Lines | Layout::Text => {
            Within::Stream.read(records, part, start, bytes.len(), &mut out);
        }
        Layout::Array(inside) => {
            let step = Within::Array.read(records, part, start + inside, bytes.len(), &mut out);
            report_rest(step, part, &mut out);
        }
        Layout::Object(inside) => {
            let mut at = start + inside;
            loop {
                match read_members(records, part, at, &mut out) {
                    Members::Array(first) => {
                        match Within::Array.read(records, part, first, bytes.len(), &mut out) {
                            Step::Closed(end) => at = end,
                            Step::Reached(_) | Step::Starved(_) => break,
                        }
                    }
                    Members::Closed(end) => {
                        report_rest(Step::Closed(end), part, &mut out);
                        break;
                    }
                    Members::Starved(_) | Members::Broken(_) => break,
                }
            }
        }
    }
    out
}

/// Says that text before the records was left alone.
pub fn report_leading(sample: &Sample<'_>, out: &mut Fragment) {
    out.count_lines_from(sample.skipped as u64, sample.skipped_lines);
    if sample.has_leading_text {
        out.report(0, ProblemKind::Leading);
    }
}

/// Says what follows the end of the records.
pub fn report_rest(step: Step, part: Part<'_>, out: &mut Fragment) {
    if let Step::Closed(end) = step {
        let rest = skip_filler(part.bytes, end);
        if rest < part.bytes.len() && !part.bytes[rest..].starts_with(b"```") {
            out.report(part.base + rest as u64, ProblemKind::Trailing);
        }
    }
}

#[derive(Clone, Copy)]
struct Reader {
    read: ReadRecord,
    spells: bool,
}

impl Reader {
    fn new(records: &Records, read: ReadRecord) -> Self {
        Self {
            read,
            spells: records.spells,
        }
    }
}

/// How far a value may reach beyond its line before it counts as broken: pretty-printed documents are smaller.
const MULTILINE_LIMIT: usize = 16 << 20;

fn read_stream(
    read: Reader,
    part: Part<'_>,
    from: usize,
    limit: usize,
    out: &mut Fragment,
) -> Step {
    let bytes = part.bytes;
    let mut at = skip_marks(part, from, out);
    while at < limit && at < bytes.len() {
        let line_end = || memchr::memchr(b'\n', &bytes[at..]).map(|length| at + length);
        // Without this memory a file of `[` lines would be quadratic.
        let may_leave_line = part.base + at as u64 >= out.one_line_until;
        let visible = if may_leave_line {
            bytes.len()
        } else {
            line_end().unwrap_or(bytes.len())
        };
        let mark = out.mark();
        match read_record(read, part, &bytes[..visible], at, out) {
            Ok(end) => {
                let next = skip_filler(bytes, end);
                let shares_line = !bytes[end..next].iter().any(|byte| b"\r\n".contains(byte));
                if shares_line && next == bytes.len() && !part.is_last {
                    // What follows the record on its line is still to come.
                    out.rewind(mark);
                    return Step::Starved(at);
                }
                if shares_line && bytes.get(next) == Some(&b'{') && !read.spells {
                    out.report(part.base + next as u64, ProblemKind::SharedLine);
                }
                at = skip_marks(part, end, out);
            }
            Err(fault) => {
                out.rewind(mark);
                let line_end = line_end();
                // A file that is spelled anew may be one document.
                let goes_on = fault.kind == JsonErrorKind::End
                    && may_leave_line
                    && (read.spells || bytes.len() - at < MULTILINE_LIMIT);
                if !part.is_last && (goes_on || line_end.is_none()) {
                    return Step::Starved(at);
                }
                if part.is_last && may_leave_line && is_cut_document(&bytes[at..], fault) {
                    read_cut(read, part, at, out);
                    return Step::Reached(bytes.len());
                }
                out.one_line_until = out.one_line_until.max(part.base + fault.at as u64);
                if may_leave_line && line_end.is_some_and(|end| fault.at > end) {
                    continue;
                }
                let end = line_end.unwrap_or(bytes.len());
                give_up(read, part, at, end, fault, line_end.is_none(), out);
                at = skip_marks(part, end, out);
            }
        }
    }
    if at >= bytes.len() && !part.is_last && at < limit {
        Step::Starved(at)
    } else {
        Step::Reached(at)
    }
}

fn read_array(read: Reader, part: Part<'_>, from: usize, limit: usize, out: &mut Fragment) -> Step {
    let mut at = skip_whitespace(part.bytes, from);
    loop {
        match part.bytes.get(at) {
            Some(b']') => return Step::Closed(at + 1),
            Some(b',') => at = skip_whitespace(part.bytes, at + 1),
            Some(_) if at >= limit => return Step::Reached(at),
            None if !part.is_last => return Step::Starved(at),
            None => {
                out.report(part.base + at as u64, ProblemKind::Unclosed);
                return Step::Reached(at);
            }
            Some(_) => {
                let mark = out.mark();
                let step = if part.bytes[at] == b'{' {
                    read_record(read, part, part.bytes, at, out)
                } else {
                    read_run(read, part, at, out)
                };
                match step {
                    Ok(end) => match end_of_element(part, end) {
                        Some(next) => at = next,
                        None => {
                            out.rewind(mark);
                            return Step::Starved(at);
                        }
                    },
                    Err(fault) => {
                        out.rewind(mark);
                        let next =
                            guess_element(part.bytes, (at + 1).max(fault.at.min(part.bytes.len())));
                        if next.is_none() && !part.is_last {
                            return Step::Starved(at);
                        }
                        let is_cut = next.is_none() && fault.kind == JsonErrorKind::End;
                        if is_cut && part.bytes[at] == b'{' {
                            read_cut(read, part, at, out);
                            return Step::Reached(part.bytes.len());
                        }
                        let end = next.unwrap_or(part.bytes.len());
                        give_up(read, part, at, end, fault, next.is_none(), out);
                        at = end;
                    }
                }
            }
        }
    }
}

/// The position of what follows an element; `None` where the bytes end before it can be seen.
fn end_of_element(part: Part<'_>, end: usize) -> Option<usize> {
    let next = skip_whitespace(part.bytes, end);
    (next < part.bytes.len() || part.is_last).then_some(next)
}

fn read_record(
    read: Reader,
    part: Part<'_>,
    bytes: &[u8],
    at: usize,
    out: &mut Fragment,
) -> Result<usize> {
    out.pass_lines(part.bytes, part.base, at);
    let mut cursor = Cursor::at(bytes, at);
    if cursor.peek() != Some(b'{') {
        let start = cursor.position();
        let end = skip_one_line_value(bytes, start)?;
        out.report(part.base + start as u64, ProblemKind::NotARecord);
        keep_raw(read, (part, start, end), Kind::Other, out);
        return Ok(end);
    }
    if read.spells {
        (read.read)(&mut cursor, part.base, out)?;
        return Ok(cursor.position());
    }
    out.begin_record(Span::within(part.base, at..at));
    let (start, first) = (cursor.position(), out.items.len());
    (read.read)(&mut cursor, part.base, out)?;
    let has_none = !may_hold_pictures(&bytes[start..cursor.position()]);
    for item in out.items.iter_mut().skip(first) {
        item.flags.set_if(Flags::NO_PICTURE, has_none);
    }
    out.end_record(part.base + cursor.position() as u64);
    out.report_bad_strings(bytes, start..cursor.position(), part.base);
    Ok(cursor.position())
}

/// Reads what is whole in the last record, which the end of the text cuts.
fn read_cut(read: Reader, part: Part<'_>, at: usize, out: &mut Fragment) {
    let (bytes, mark) = (part.bytes, out.mark());
    let closed = [&bytes[..at], &complete(&bytes[at..])].concat();
    let same = bytes.iter().zip(&closed);
    let kept = same.take_while(|(own, closed)| own == closed).count();
    let end = part.base + bytes.len() as u64;
    match read_record(read, part, &closed, at, out) {
        Ok(_) if read.spells => {}
        Ok(_) => {
            out.keep_until(mark, part.base + kept as u64);
            out.end_record(end);
        }
        Err(fault) => {
            out.rewind(mark);
            give_up(read, part, at, bytes.len(), fault, true, out);
        }
    }
    out.report(end, ProblemKind::Unclosed);
}

/// Keeps elements that are not objects as one item, as far as they follow each other: an array may
/// hold millions of numbers.
fn read_run(read: Reader, part: Part<'_>, start: usize, out: &mut Fragment) -> Result<usize> {
    let bytes = part.bytes;
    out.pass_lines(bytes, part.base, start);
    let mut end = skip_one_line_value(bytes, start)?;
    loop {
        let comma = skip_whitespace(bytes, end);
        let next = skip_whitespace(bytes, comma + 1);
        match (bytes.get(comma), bytes.get(next)) {
            (Some(b','), None) | (None, _) if !part.is_last => {
                return Err(JsonError::new(bytes.len(), JsonErrorKind::End));
            }
            (Some(b','), Some(first)) if !b"{]}".contains(first) => {
                match skip_one_line_value(bytes, next) {
                    Ok(after) => end = after,
                    Err(fault) if fault.kind == JsonErrorKind::End && !part.is_last => {
                        return Err(fault);
                    }
                    Err(_) => break,
                }
            }
            _ => break,
        }
    }
    out.report(part.base + start as u64, ProblemKind::NotARecord);
    keep_raw(read, (part, start, end), Kind::Other, out);
    Ok(end)
}

/// The end of a value none of whose strings holds a line feed.
fn skip_one_line_value(bytes: &[u8], start: usize) -> Result<usize> {
    let end = skip_value(bytes, start)?;
    match line_feed_in_string(bytes, start, end) {
        Some(at) => Err(JsonError::new(at, JsonErrorKind::Byte(b'\n'))),
        None => Ok(end),
    }
}

/// A line feed inside of a string of the value at `start..end`: a quote that was left open has
/// swallowed the next line.
fn line_feed_in_string(bytes: &[u8], start: usize, end: usize) -> Option<usize> {
    let mut at = start;
    memchr::memchr(b'\n', &bytes[start..end])?;
    while let Some(quote) = memchr::memchr(b'"', &bytes[at..end]) {
        let open = at + quote;
        at = string_end(bytes, open).ok()?;
        if let Some(found) = memchr::memchr(b'\n', &bytes[open..at]) {
            return Some(open + found);
        }
    }
    None
}

/// Keeps what could not be read as an item of its own, and says why it could not.
fn give_up(
    read: Reader,
    part: Part<'_>,
    at: usize,
    end: usize,
    fault: JsonError,
    reaches_end: bool,
    out: &mut Fragment,
) {
    let end = at + part.bytes[at..end].trim_ascii_end().len();
    let text = &part.bytes[at..end];
    let kind = match fault.kind {
        JsonErrorKind::End if reaches_end => ProblemKind::Torn,
        _ if text.starts_with(b"{'") => ProblemKind::PythonLiteral,
        // A string that is open at the end of its line, wherever the next quote is.
        JsonErrorKind::Byte(b'\n') if fault.at >= end => ProblemKind::NotJson(JsonErrorKind::End),
        kind => ProblemKind::NotJson(kind),
    };
    let place = if kind == ProblemKind::Torn {
        at
    } else {
        fault.at.clamp(at, end)
    };
    out.report(part.base + place as u64, kind);
    keep_raw(read, (part, at, end), Kind::Unreadable, out);
}

fn keep_raw(
    read: Reader,
    (part, at, end): (Part<'_>, usize, usize),
    kind: Kind,
    out: &mut Fragment,
) {
    if read.spells {
        return;
    }
    let span = Span::within(part.base, at..end);
    out.begin_record(span);
    out.push(kind, None, span);
}

/// Jumps over what may stand between records: white space, commas, record separators (RFC 7464).
fn skip_filler(bytes: &[u8], mut at: usize) -> usize {
    while let Some(b' ' | b'\n' | b'\r' | b'\t' | b',' | 0x1e) = bytes.get(at) {
        at += 1;
    }
    at
}

/// As [`skip_filler`], and over byte-order marks and runs of NUL bytes, which are reported.
fn skip_marks(part: Part<'_>, from: usize, out: &mut Fragment) -> usize {
    let mut at = skip_filler(part.bytes, from);
    loop {
        let rest = &part.bytes[at..];
        if rest.starts_with(b"\xef\xbb\xbf") {
            if part.base > 0 || at > 0 {
                out.report(part.base + at as u64, ProblemKind::ByteOrderMark);
            }
            at += 3;
        } else if rest.first() == Some(&0) {
            out.report(part.base + at as u64, ProblemKind::Nul);
            at += rest.iter().take_while(|byte| **byte == 0).count();
        } else {
            return at;
        }
        at = skip_filler(part.bytes, at);
    }
}

/// The first place after `},` where an object begins. Inside a JSON string `{"` would be `{\"`, so what is
/// found is outside of strings or at the end of one; whether it is an element of this very array is for
/// the caller to check.
fn guess_element(bytes: &[u8], from: usize) -> Option<usize> {
    let mut at = from;
    loop {
        let brace = at + memchr::memchr(b'}', bytes.get(at..)?)?;
        let comma = skip_whitespace(bytes, brace + 1);
        if bytes.get(comma) == Some(&b',') {
            let open = skip_whitespace(bytes, comma + 1);
            if bytes.get(open) == Some(&b'{')
                && bytes.get(skip_whitespace(bytes, open + 1)) == Some(&b'"')
            {
                return Some(open);
            }
        }
        at = brace + 1;
    }
}

// The members of a document that holds an array of records: what is beside the array, and
// where the array begins.

/// What the walk over the members of a document came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Members {
    /// An array of records begins; the number is the position after its bracket.
    Array(usize),
    /// The document is closed; the number is the position after its bracket.
    Closed(usize),
    /// The member that begins here goes on beyond the bytes at hand.
    Starved(usize),
    /// The document is broken here.
    Broken(usize),
}

/// Reads the members of a document from `from` (after its bracket, or after an array of records) to the
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

/// Reads one member; [`Members::Closed`] is its end here.
fn read_member(
    records: &Records,
    part: Part<'_>,
    at: usize,
    out: &mut Fragment,
) -> Result<Members> {
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
            return Err(JsonError::new(colon, JsonErrorKind::Byte(*byte)));
        }
        _ => {
            return Err(JsonError::new(part.bytes.len(), JsonErrorKind::End));
        }
    }
    let end = skip_value(part.bytes, value)?;
    let mut cursor = Cursor::at(part.bytes, value);
    (records.member)(key, &mut cursor, part.base, out)?;
    out.report_bad_strings(part.bytes, at..end, part.base);
    Ok(Members::Closed(end))
}
