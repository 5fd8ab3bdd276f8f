//! Reads a large file in parts on all cores.
//!
//! Each part guesses where its first record begins and reads from there; joining them, each must begin exactly
//! where the one before it ended, and one that guessed wrong is read again from the right place. So a one-line
//! array of a gigabyte is read as fast as lines, and what comes out never depends on the guesses.

use rayon::prelude::*;
use retake_core::formats::split::{self, Members, Part, Step, Within, read_members};
use retake_core::formats::{Layout, Records, Sample};
use retake_core::json::skip_whitespace;
use retake_core::session::{
    Checkpoint, Fragment, Kind, MovedText, ProblemKind, Rope, Source, SourceError, Span, Splice,
};
use std::cell::RefCell;
use std::ops::Range;

/// Told how many bytes of how many are read.
pub type Progress<'a> = &'a (dyn Fn(u64, u64) + Sync);

/// The size of a part.
const PART: u64 = 4 << 20;
/// How much of a part is at hand at a time: what is copied in is still in the cache when it is walked.
const STEP: u64 = 256 * 1024;
/// How much is read beyond a part at first, so that its last record is whole.
const BEYOND: u64 = 16 * 1024;
/// How far beyond its part a guess is followed: a wrong one could lead every part to the end of the file.
const PATIENCE: u64 = 8 << 20;
/// How far before its part a reader looks for the boundary at the very start of it.
const OVERLAP: u64 = 16;
/// How many parts are read before they are joined: bounds the memory of parts that wait.
const WAVE: usize = 32;
/// A larger buffer, which a large record needed, is given back.
const KEPT_BUFFER: usize = 8 << 20;

thread_local! {
    /// One buffer for all parts that a thread reads: fresh pages cost as much as the reading.
    static BUFFER: RefCell<Vec<u8>> = const { RefCell::new(Vec::new()) };
}

/// A file that is too large to be held.
pub(crate) struct File<'a> {
    records: &'a Records,
    source: &'a dyn Source,
    length: u64,
    progress: Progress<'a>,
    part: u64,
    beyond: u64,
    step: u64,
    patience: u64,
}

/// Where the first record of a part begins.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum First {
    Guessed,
    Here,
    /// At its start or after a run of NUL bytes, the beginning of which was reported.
    BehindNuls,
}

/// What one part gave.
struct Piece {
    range: Range<u64>,
    /// Where its first record begins; `None` where no record begins in it.
    start: Option<u64>,
    next: u64,
    /// Whether a NUL byte comes before that place.
    behind_nul: bool,
    closed: bool,
    fragment: Fragment,
}

impl<'a> File<'a> {
    /// A file whose bytes up to `length` count.
    pub(crate) fn new(records: &'a Records, source: &'a dyn Source, length: u64) -> Self {
        Self {
            records,
            source,
            length,
            progress: &|_, _| (),
            part: PART,
            beyond: BEYOND,
            step: STEP,
            patience: PATIENCE,
        }
    }

    /// Tells `progress` how far reading is.
    pub(crate) fn telling(self, progress: Progress<'a>) -> Self {
        Self { progress, ..self }
    }

    pub(crate) fn read(
        &self,
        sample: &Sample<'_>,
        layout: Layout,
    ) -> Result<ReadPart, SourceError> {
        let mut out = Fragment::default();
        let mut stretches = Vec::new();
        let start = sample.skipped as u64;
        split::report_leading(sample, &mut out);
        match layout {
            Layout::Lines | Layout::Text => {
                self.read_stretch(Within::Stream, start, &mut out, &mut stretches)?;
            }
            Layout::Array(inside) => {
                let first = start + inside as u64;
                let closed = self.read_stretch(Within::Array, first, &mut out, &mut stretches)?;
                self.report_rest(closed, &mut out)?;
            }
            Layout::Object(inside) => {
                let closed = self.read_document(start + inside as u64, &mut out, &mut stretches)?;
                if self.is_followed_by_object(closed)? {
                    // It may be the first of a stream of documents, as which it can be read
                    // unless it is broken.
                    let mut stream = Fragment::default();
                    split::report_leading(sample, &mut stream);
                    self.read_stream(start, &mut stream)?;
                    let first = stream.items.first().map(|item| item.kind);
                    if first != Some(Kind::Unreadable) {
                        return Ok(ReadPart::new(
                            stream,
                            Vec::new(),
                            sample,
                            layout,
                            self.length,
                        ));
                    }
                }
                self.report_rest(closed, &mut out)?;
            }
        }
        Ok(ReadPart::new(out, stretches, sample, layout, self.length))
    }

    /// Reads the records of a stretch and notes their positions; returns the position after the
    /// bracket of an array.
    fn read_stretch(
        &self,
        within: Within,
        start: u64,
        out: &mut Fragment,
        stretches: &mut Vec<Stretch>,
    ) -> Result<Option<u64>, SourceError> {
        let closed = self.read_parts(within, start, out)?;
        let end = match within {
            Within::Stream => Some(self.length),
            Within::Array => closed,
        };
        stretches.extend(end.map(|end| Stretch {
            within,
            span: Span { start, end },
            end: out.mark(),
        }));
        Ok(closed)
    }

    /// Reads a stream of values from `start`.
    pub(crate) fn read_stream(&self, start: u64, out: &mut Fragment) -> Result<(), SourceError> {
        self.read_parts(Within::Stream, start, out).map(|_| ())
    }

    /// The position after the last line end at or after `from`.
    pub(crate) fn last_line_end(&self, from: u64) -> Result<Option<u64>, SourceError> {
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

    /// Reads records from `start` to the end of the file or of the array; gives the position
    /// after the array's bracket.
    fn read_parts(
        &self,
        within: Within,
        start: u64,
        out: &mut Fragment,
    ) -> Result<Option<u64>, SourceError> {
        // If nothing is left, the unclosed array is still to be reported.
        let ranges = (start..self.length.max(start + 1))
            .step_by(self.part as usize)
            .map(|from| from..(from + self.part).min(self.length))
            .collect::<Vec<_>>();
        let mut joint = Joint {
            file: self,
            within,
            start,
            expected: start,
            first: First::Here,
            out,
        };
        let mut waves = ranges.chunks(WAVE);
        let mut pieces = waves.next().map_or_else(
            || Ok(Vec::new()),
            |wave| self.read_wave(within, start, wave),
        )?;
        for wave in waves {
            // One wave is joined while the next is read.
            let (joined, next) = rayon::join(
                || joint.join(pieces),
                || self.read_wave(within, start, wave),
            );
            if joined? {
                return Ok(Some(joint.expected));
            }
            pieces = next?;
        }
        Ok(joint.join(pieces)?.then_some(joint.expected))
    }

    /// Reads parts side by side.
    fn read_wave(
        &self,
        within: Within,
        start: u64,
        wave: &[Range<u64>],
    ) -> Result<Vec<Piece>, SourceError> {
        let read = |range: &Range<u64>| {
            let first = if range.start == start {
                First::Here
            } else {
                First::Guessed
            };
            BUFFER.with_borrow_mut(|buffer| {
                let piece = self.read_part(within, Piece::empty(range.clone()), first, buffer);
                if buffer.capacity() > KEPT_BUFFER {
                    *buffer = Vec::new();
                }
                piece
            })
        };
        wave.par_iter().map(read).collect()
    }

    /// Reads the records that begin in the range of a piece.
    fn read_part(
        &self,
        within: Within,
        mut piece: Piece,
        first: First,
        bytes: &mut Vec<u8>,
    ) -> Result<Piece, SourceError> {
        let range = piece.range.clone();
        let guessed = first == First::Guessed;
        let start = range.start - if guessed { OVERLAP } else { 0 };
        let mut window = Window {
            file: self,
            base: start,
            end: start,
            until: range.end,
            memory: bytes,
        };
        window.grow()?;
        let mut from = match first {
            First::Here => 0,
            First::BehindNuls => nuls(window.bytes()),
            First::Guessed => match window.guess(within)? {
                Some(first) if start + (first as u64) < range.end => first,
                Some(_) | None => return Ok(piece),
            },
        };
        piece.start = Some(start + from as u64);
        piece.fragment.count_lines_from(start + from as u64, 0);
        loop {
            let limit = usize::try_from(range.end - window.base).unwrap_or(usize::MAX);
            let (part, out) = (window.part(), &mut piece.fragment);
            let step = within.read(self.records, part, from, limit, out);
            let (Step::Reached(at) | Step::Closed(at) | Step::Starved(at)) = step;
            piece.next = window.base + at as u64;
            piece.behind_nul = at > 0 && window.bytes()[at - 1] == 0;
            piece.closed = matches!(step, Step::Closed(_));
            if !matches!(step, Step::Starved(_)) || piece.next >= range.end {
                return Ok(piece);
            }
            if guessed && window.end > range.end + self.patience {
                return Ok(Piece::empty(range));
            }
            window.forget(at);
            window.grow()?;
            from = if piece.behind_nul {
                nuls(window.bytes())
            } else {
                0
            };
        }
    }

    /// Reads a document: its members, and in one of them the array of records; gives the
    /// position after its bracket.
    fn read_document(
        &self,
        inside: u64,
        out: &mut Fragment,
        stretches: &mut Vec<Stretch>,
    ) -> Result<Option<u64>, SourceError> {
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
                    out.pass_lines(&bytes, at, first);
                    let first = at + first as u64;
                    match self.read_stretch(Within::Array, first, out, stretches)? {
                        Some(closed) => (at, window) = (closed, self.beyond),
                        None => return Ok(None),
                    }
                }
                Members::Closed(closed) => return Ok(Some(at + closed as u64)),
                Members::Starved(0) => window *= 2,
                Members::Starved(member) => {
                    out.pass_lines(&bytes, at, member);
                    at += member as u64;
                }
                Members::Broken(_) => return Ok(None),
            }
        }
    }

    /// Whether another object begins after the end of a document.
    fn is_followed_by_object(&self, closed: Option<u64>) -> Result<bool, SourceError> {
        let Some(start) = closed else {
            return Ok(false);
        };
        let rest = self.rest(start)?;
        let first = rest.iter().find(|byte| !is_between(**byte));
        Ok(first == Some(&b'{'))
    }

    /// The bytes after the end of the records, as far as the first that says something.
    fn rest(&self, start: u64) -> Result<Vec<u8>, SourceError> {
        let mut window = self.beyond;
        loop {
            let end = (start + window).min(self.length);
            let bytes = self.source.read(Span { start, end })?;
            if end == self.length || !bytes.iter().copied().all(is_between) {
                return Ok(bytes);
            }
            window *= 2;
        }
    }

    fn report_rest(&self, closed: Option<u64>, out: &mut Fragment) -> Result<(), SourceError> {
        let Some(base) = closed else { return Ok(()) };
        let bytes = self.rest(base)?;
        let part = Part {
            bytes: &bytes,
            base,
            is_last: base + bytes.len() as u64 == self.length,
        };
        split::report_rest(Step::Closed(0), part, out);
        Ok(())
    }
}

/// Whether a byte may stand between two records.
fn is_between(byte: u8) -> bool {
    b" \t\r\n,\x1e".contains(&byte)
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

/// Where the parts are joined: each has to begin where the one before it ended.
struct Joint<'a> {
    file: &'a File<'a>,
    within: Within,
    start: u64,
    expected: u64,
    first: First,
    out: &'a mut Fragment,
}

impl Joint<'_> {
    /// Joins the pieces of a wave; says whether the array was closed in one of them.
    fn join(&mut self, pieces: Vec<Piece>) -> Result<bool, SourceError> {
        if self.expected > self.start {
            self.out
                .expect(self.expected - self.start, self.file.length - self.start);
        }
        for piece in pieces {
            if piece.range.end <= self.expected && self.start < self.expected {
                continue;
            }
            let fits =
                piece.start == Some(self.expected) && self.out.one_line_until <= self.expected;
            let piece = if fits {
                piece
            } else {
                self.read_again(piece.range.end)?
            };
            self.expected = piece.next;
            self.first = if piece.behind_nul {
                First::BehindNuls
            } else {
                First::Here
            };
            self.out.append(piece.fragment);
            (self.file.progress)(self.expected.min(self.file.length), self.file.length);
            if piece.closed {
                return Ok(true);
            }
        }
        Ok(false)
    }

    /// Reads a part from the right place whose guess was wrong.
    fn read_again(&self, end: u64) -> Result<Piece, SourceError> {
        let mut again = Piece::empty(self.expected..end);
        again.fragment.one_line_until = self.out.one_line_until;
        self.file
            .read_part(self.within, again, self.first, &mut Vec::new())
    }
}

/// The bytes of a part that are at hand: a piece that fits the processor's cache moves through the part.
struct Window<'a> {
    file: &'a File<'a>,
    base: u64,
    end: u64,
    /// Where the part ends; beyond it only the rest of its last record is wanted.
    until: u64,
    /// The memory of the window; its first `end - base` bytes count. It is kept from part to part, so that it
    /// is cleared once only.
    memory: &'a mut Vec<u8>,
}

impl Window<'_> {
    /// Reads on: a step inside the part, as much again as is at hand beyond it or when one
    /// record fills the window.
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
        let (held, needed) = (held as usize, (end - self.base) as usize);
        if self.memory.len() < needed {
            self.memory.resize(needed, 0);
        }
        self.file
            .source
            .fill(self.end, &mut self.memory[held..needed])?;
        self.end = end;
        Ok(())
    }

    /// Lets go of the first `count` bytes.
    fn forget(&mut self, count: usize) {
        let held = self.bytes().len();
        self.memory.copy_within(count..held, 0);
        self.base += count as u64;
    }

    fn bytes(&self) -> &[u8] {
        &self.memory[..(self.end - self.base) as usize]
    }

    fn part(&self) -> Part<'_> {
        Part {
            bytes: self.bytes(),
            base: self.base,
            is_last: self.end == self.file.length,
        }
    }

    /// The first guess at or after the start of the part; the bytes before it are there to see the boundary.
    fn guess(&mut self, within: Within) -> Result<Option<usize>, SourceError> {
        let mut from = 0;
        loop {
            match within.guess(self.bytes(), from) {
                Some(guess) if guess >= OVERLAP as usize => return Ok(Some(guess)),
                Some(guess) => from = guess,
                None if self.end >= self.until => return Ok(None),
                None => {
                    // A boundary may lie across the end of the window.
                    from = from.max(self.bytes().len().saturating_sub(OVERLAP as usize));
                    self.grow()?;
                }
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;

// Reads a text again in which splices changed a few places: only the records that they touch.
//
// Reading a record needs no other record, so the records between the touched ones read as before, at another
// place. Where that is not certain (the text is laid out anew, a broken value may hide what follows, a splice
// leaves the list of records) nothing is given, and the text is to be read as a whole.

/// A stretch of a text in which one record follows another.
#[derive(Debug, Clone, Copy)]
struct Stretch {
    within: Within,
    /// From the first record to the end of the text, or to the position after the bracket.
    span: Span,
    /// What was read when it ended.
    end: Checkpoint,
}

/// What was read of a text.
#[derive(Debug, Clone)]
pub struct ReadPart {
    pub(crate) fragment: Fragment,
    stretches: Vec<Stretch>,
    layout: Layout,
    /// Where the layout begins.
    skipped: usize,
    /// The length of the text.
    length: u64,
}

/// Records that splices touch, with those beside them.
struct Region {
    span: Span,
    from: Checkpoint,
    to: Checkpoint,
    /// Whether they are the last ones of an array.
    closes: bool,
    /// How much longer the text became in it, modulo 2^64.
    growth: u64,
}

impl ReadPart {
    fn new(
        fragment: Fragment,
        stretches: Vec<Stretch>,
        sample: &Sample<'_>,
        layout: Layout,
        length: u64,
    ) -> Self {
        Self {
            fragment,
            stretches,
            layout,
            skipped: sample.skipped,
            length,
        }
    }

    /// Reads a document that is at hand and known to be one JSON object. `None` where its records do not all
    /// stand in one array, or where anything about them is odd.
    pub(crate) fn of_document(records: &Records, bytes: &[u8]) -> Option<Self> {
        let inside = skip_whitespace(bytes, 0) + 1;
        let part = Part {
            bytes,
            base: 0,
            is_last: true,
        };
        let mut fragment = Fragment::default();
        let Members::Array(first) = read_members(records, part, inside, &mut fragment) else {
            return None;
        };
        let read = Within::Array.read(records, part, first, bytes.len(), &mut fragment);
        let Step::Closed(closed) = read else {
            return None;
        };
        let stretch = Stretch {
            within: Within::Array,
            span: Span::within(0, first..closed),
            end: fragment.mark(),
        };
        let Members::Closed(_) = read_members(records, part, closed, &mut fragment) else {
            return None;
        };
        fragment.problems.is_empty().then(|| Self {
            fragment,
            stretches: vec![stretch],
            layout: Layout::Object(inside),
            skipped: 0,
            length: bytes.len() as u64,
        })
    }

    /// Where the list of a document begins in which all its records stand, its bracket left out;
    /// `None` for other texts.
    pub(crate) fn list(&self) -> Option<Span> {
        match (self.layout, &self.stretches[..]) {
            (Layout::Object(_), [only]) => Some(only.span),
            _ => None,
        }
    }

    /// Where the last record begins that begins before a place.
    pub(crate) fn record_before(&self, place: u64) -> Option<u64> {
        let records = &self.fragment.records;
        let after = records.partition_point(|record| record.span.start < place);
        Some(records.get(after.checked_sub(1)?)?.span.start)
    }

    /// Whether a text of this head and layout begins as the one that was read.
    pub(crate) fn begins_as(&self, sample: &Sample<'_>, layout: Layout) -> bool {
        (self.skipped, self.layout) == (sample.skipped, layout)
    }

    /// Reads `rope`, which is the text that was read with splices, in order. `None` where only a full reading
    /// can tell what is in it.
    pub(crate) fn read_again(
        &self,
        records: &Records,
        rope: &Rope,
        splices: &[Splice],
    ) -> Result<Option<Self>, SourceError> {
        let Some(regions) = self.regions(splices) else {
            return Ok(None);
        };
        let mut out = Fragment::with_names_of(&self.fragment);
        let mut stretches = Vec::with_capacity(self.stretches.len());
        let mut from = out.mark();
        let mut place = MovedText { was: 0, is: 0 };
        let mut model = None;
        for (stretch, regions) in self.stretches.iter().zip(regions) {
            let start = place.of(stretch.span.start);
            for region in regions {
                out.take_over(&self.fragment, from, region.from, place);
                model = self.fragment.model_within(from, region.from).or(model);
                let now = Span {
                    start: place.of(region.span.start),
                    end: place.of(region.span.end).wrapping_add(region.growth),
                };
                let empty = Fragment::default().behind_model(model);
                let read = read_region(records, stretch.within, rope, now, &empty)?;
                let Some((read, _)) = read.filter(|(_, closed)| *closed == region.closes) else {
                    return Ok(None);
                };
                let own = read.model_within(empty.mark(), read.mark()).or(model);
                model = self.fragment.model_within(region.from, region.to).or(model);
                if own != model {
                    // A model is noted where it changes: what follows would have to be noted anew.
                    return Ok(None);
                }
                out.append(read);
                from = region.to;
                place = MovedText {
                    was: region.span.end,
                    is: now.end,
                };
            }
            out.take_over(&self.fragment, from, stretch.end, place);
            model = self.fragment.model_within(from, stretch.end).or(model);
            from = stretch.end;
            stretches.push(Stretch {
                span: Span {
                    start,
                    end: place.of(stretch.span.end),
                },
                end: out.mark(),
                ..*stretch
            });
        }
        out.take_over(&self.fragment, from, self.fragment.mark(), place);
        Ok(Some(Self {
            fragment: out,
            stretches,
            length: place.of(self.length),
            ..*self
        })
        .filter(|read| read.length == rope.len()))
    }

    /// The records to be read anew, by stretch.
    fn regions(&self, splices: &[Splice]) -> Option<Vec<Vec<Region>>> {
        let Fragment {
            records, problems, ..
        } = &self.fragment;
        // A broken element of an array ends where the next one seems to begin: it hangs on
        // what comes after it.
        let is_whole = problems.is_empty()
            || self
                .stretches
                .iter()
                .all(|stretch| stretch.within == Within::Stream)
                && problems.is_sorted_by_key(|problem| problem.at)
                && problems
                    .iter()
                    .all(|problem| problem.kind != ProblemKind::SharedLine);
        let is_plain = is_whole
            && self.fragment.one_line_until == 0
            && records.is_sorted_by_key(|record| record.span.start)
            && splices.is_sorted_by(|one, next| one.at.end <= next.at.start);
        if !is_plain {
            return None;
        }
        let mut rest = splices;
        let regions = self.stretches.iter().map(|stretch| {
            let inside = rest.partition_point(|splice| {
                splice.at.end < stretch.span.end + u64::from(stretch.within == Within::Stream)
            });
            let (own, tail) = rest.split_at(inside);
            rest = tail;
            self.regions_of(stretch, own)
        });
        let regions = regions.collect::<Option<Vec<_>>>()?;
        rest.is_empty().then_some(regions)
    }

    fn regions_of(&self, stretch: &Stretch, splices: &[Splice]) -> Option<Vec<Region>> {
        let records = &self.fragment.records;
        let mut regions: Vec<Region> = Vec::new();
        for splice in splices {
            let growth = (splice.with.len() as u64).wrapping_sub(splice.at.len());
            let first = records.partition_point(|record| record.span.start < splice.at.start);
            let first = first.checked_sub(1)?;
            let start = records[first].span.start;
            let after = records.partition_point(|record| record.span.start <= splice.at.end);
            let next = records.get(after);
            let next = next.filter(|next| next.span.start < stretch.span.end);
            let (end, to) = match next {
                Some(next) => (next.span.start, self.fragment.mark_before(after)),
                None => (stretch.span.end, stretch.end),
            };
            let closes = next.is_none() && stretch.within == Within::Array;
            match regions.last_mut() {
                Some(last) if start < last.span.end => {
                    last.span.end = end;
                    last.to = to;
                    last.closes = closes;
                    last.growth = last.growth.wrapping_add(growth);
                }
                _ if start < stretch.span.start => return None,
                _ => regions.push(Region {
                    span: Span { start, end },
                    from: self.fragment.mark_before(first),
                    to,
                    closes,
                    growth,
                }),
            }
        }
        Some(regions)
    }
}

/// Reads the records of a span, and says whether the array ends with it; `None` where they do not end where
/// the next one begins.
fn read_region(
    records: &Records,
    within: Within,
    rope: &Rope,
    span: Span,
    empty: &Fragment,
) -> Result<Option<(Fragment, bool)>, SourceError> {
    let mut beyond = BEYOND;
    loop {
        let end = (span.end + beyond).min(rope.len());
        let is_last = end == rope.len();
        let bytes = rope.read(Span {
            start: span.start,
            end,
        })?;
        let part = Part {
            bytes: &bytes,
            base: span.start,
            is_last,
        };
        let mut out = empty.clone();
        out.count_lines_from(span.start, 0);
        let limit = usize::try_from(span.len()).unwrap_or(usize::MAX);
        let step = within.read(records, part, 0, limit, &mut out);
        match step {
            Step::Starved(_) if !is_last && beyond < PATIENCE => beyond *= 2,
            Step::Reached(at) | Step::Closed(at) => {
                let is_certain = at == limit
                    && out.one_line_until == 0
                    && out.problems.iter().all(|problem| problem.at < span.end);
                let closed = matches!(step, Step::Closed(_));
                return Ok(is_certain.then_some((out, closed)));
            }
            Step::Starved(_) => return Ok(None),
        }
    }
}
