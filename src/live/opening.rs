//! A recording while it is being opened: its head at once, its tail on request, the whole in the background,
//! and what is appended later. A face paints the head before anything else is read.

use super::follower::Follower;
use super::reading::{self, Progress, ReadOptions, Recording};
use super::{Input, InputError, open};
use retake_core::formats::split::{self, Members, Part, Step, Within};
use retake_core::formats::{Contents, Format, Layout, Reading, Records, Sample};
use retake_core::session::{Fragment, Kind, ProblemKind, Span};
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// How many bytes at the end of a file are read to show its end.
const TAIL: u64 = 256 * 1024;
/// How many bytes are read at most where the last records are giants.
const LONGEST_TAIL: u64 = 64 * TAIL;

/// An input whose format is known.
#[derive(Debug)]
pub struct OpenedInput {
    input: Input,
    options: ReadOptions,
    head: Vec<u8>,
    format: &'static Format,
    layout: Layout,
    /// The file that its name leads to.
    identity: Option<Identity>,
}

impl OpenedInput {
    /// Recognises the format of an input from its head.
    pub fn begin(input: Input, options: &ReadOptions) -> Result<Self, InputError> {
        let head = reading::head_of(&input)?;
        let sample = Sample::new(&head, head.len() as u64 == input.source.len());
        let format = reading::choose_format(&input, &sample, options)?;
        let layout = match format.reading {
            Reading::Records(records) => reading::layout_of(&records, &sample, &*input.source)?,
            Reading::Spelled(_) | Reading::Whole(_) | Reading::Database | Reading::Tables(_) => {
                sample.layout
            }
        };
        let is_certain = options.format.is_some() || input.run.is_some();
        let opening = Self {
            identity: input.path.as_deref().and_then(identity_of),
            input,
            options: options.clone(),
            head,
            format,
            layout,
        };
        if let (false, true, Some(first)) = (is_certain, opening.is_small(), opening.head()?) {
            reading::refuse_another_format(&first, &opening.head)?;
        }
        Ok(opening)
    }

    /// Opens the file of this name again: another one may have taken its place ([`super::FileGrowth::Shrunk`]).
    pub fn anew(&self) -> Result<Self, InputError> {
        let input = match &self.input.path {
            Some(path) => open(path)?,
            None => self.input.clone(),
        };
        Self::begin(input, &self.options)
    }

    pub fn format(&self) -> &'static Format {
        self.format
    }

    /// Whether the head is all there is.
    pub fn is_small(&self) -> bool {
        self.head.len() as u64 == self.input.source.len()
    }

    /// The sessions as far as the head of the file tells; `None` where the format cannot be read in part.
    pub fn head(&self) -> Result<Option<Recording>, InputError> {
        let Some(records) = self.records() else {
            return Ok(None);
        };
        let sample = Sample::new(&self.head, self.is_small());
        let mut out = Fragment::default();
        let part = Part {
            bytes: &self.head,
            base: 0,
            is_last: self.is_small(),
        };
        reading::read_head(&records, &sample, self.layout, part, &mut out);
        self.recording(&records, out).map(Some)
    }

    /// The sessions as far as the tail of the file tells; item numbers count from the start of the tail. `None`
    /// where the format cannot be read in part, or no record begins near the end.
    pub fn tail(&self) -> Result<Option<Recording>, InputError> {
        let Some(records) = self.records() else {
            return Ok(None);
        };
        let length = self.input.source.len();
        let mut size = TAIL;
        loop {
            let start = length.saturating_sub(size);
            let bytes = self.input.source.read(Span { start, end: length })?;
            let part = Part {
                bytes: &bytes,
                base: start,
                is_last: true,
            };
            let out = self.read_tail(&records, part);
            if start == 0 || !out.items.is_empty() {
                return self.recording(&records, out).map(Some);
            }
            if size >= LONGEST_TAIL {
                return Ok(None);
            }
            size *= 8;
        }
    }

    fn read_tail(&self, records: &Records, part: Part<'_>) -> Fragment {
        let mut out = Fragment::default();
        if part.base == 0 {
            let sample = Sample::new(part.bytes, true);
            let layout = split::layout(records, &sample);
            reading::read_head(records, &sample, layout, part, &mut out);
            return out;
        }
        let (within, end) = (within(self.layout), part.bytes.len());
        let mut from = 0;
        while let Some(first) = within.guess(part.bytes, from) {
            if let Some(end) = end_of_broken_element(within, records, part, first) {
                from = end;
                continue;
            }
            match within.read(records, part, first, end, &mut out) {
                Step::Closed(closed) if !self.ends_with(records, part, closed, &mut out) => {
                    // The guess was inside of a record: what was closed is an array of its own.
                    out = Fragment::default();
                    from = closed;
                }
                _ => break,
            }
        }
        out
    }

    /// Whether the text ends as it must after the array of records that was closed at `at`, and
    /// it was that array.
    fn ends_with(&self, records: &Records, part: Part<'_>, at: usize, out: &mut Fragment) -> bool {
        let mut end = at;
        if matches!(self.layout, Layout::Object(_)) {
            loop {
                match split::read_members(records, part, end, out) {
                    Members::Closed(closed) => {
                        end = closed;
                        break;
                    }
                    Members::Array(first) => {
                        let limit = part.bytes.len();
                        match Within::Array.read(records, part, first, limit, out) {
                            Step::Closed(closed) => end = closed,
                            Step::Reached(_) | Step::Starved(_) => return true,
                        }
                    }
                    Members::Starved(_) | Members::Broken(_) => {
                        let last = out.problems.last();
                        return last.is_some_and(|last| last.kind == ProblemKind::Unclosed);
                    }
                }
            }
            // A long list of tools after the messages looks like records of a type that nobody knows.
            let is_known = |kind| !matches!(kind, Kind::Other | Kind::Unreadable);
            if !out.items.iter().any(|item| is_known(item.kind)) {
                return false;
            }
        }
        let known = out.problems.len();
        split::report_rest(Step::Closed(end), part, out);
        out.problems.len() == known
    }

    /// Reads everything; `progress` gets the number of bytes done.
    pub fn read(&self, progress: Progress<'_>) -> Result<Recording, InputError> {
        let head = reading::head_of(&self.input)?;
        reading::read_as(self.format, self.input.clone(), &head, false, progress)
    }

    /// How long the source is now, in bytes: a file may grow.
    pub fn length(&self) -> u64 {
        self.input.source.len()
    }

    /// Whether the last line has its end; a writer may be in the middle of it.
    pub fn ends_with_line(&self) -> Result<bool, InputError> {
        let end = self.length();
        let start = end.saturating_sub(1);
        Ok(self.input.source.read(Span { start, end })?.as_slice() == b"\n")
    }

    /// Starts to follow a file: what is appended to it is read from where reading stopped. `None` where the
    /// records do not simply follow each other to the end of a file.
    pub fn follow(&self) -> Result<Option<Follower<'_>>, InputError> {
        let Some(records) = self.followed_records() else {
            return Ok(None);
        };
        let start = Sample::new(&self.head, self.is_small()).skipped;
        Ok(Some(Follower::begin(self, records, start as u64)?))
    }

    /// How the records of a file are read that follow each other to its end.
    fn followed_records(&self) -> Option<Records> {
        let is_stream = self.input.buffer.is_none() && within(self.layout) == Within::Stream;
        self.records().filter(|_| is_stream)
    }

    /// Whether the name leads to another file now. A name that leads nowhere may be that of a file which is
    /// just being replaced: the open one still counts.
    pub fn is_replaced(&self) -> bool {
        let now = self.input.path.as_deref().and_then(identity_of);
        now.is_some() && now != self.identity
    }

    pub fn input(&self) -> &Input {
        &self.input
    }

    /// Whether what is appended to the file can be read on its own.
    pub fn can_follow(&self) -> bool {
        self.followed_records().is_some()
    }

    fn records(&self) -> Option<Records> {
        match self.format.reading {
            Reading::Records(records) => Some(records),
            Reading::Spelled(_) | Reading::Whole(_) | Reading::Database | Reading::Tables(_) => {
                None
            }
        }
    }

    pub(crate) fn recording(
        &self,
        records: &Records,
        mut fragment: Fragment,
    ) -> Result<Recording, InputError> {
        let problems = std::mem::take(&mut fragment.problems);
        let contents = (records.assemble)(fragment, &self.input.source)?;
        let Contents {
            mut sessions,
            problems,
        } = contents.after(problems);
        if self.input.run.is_some() {
            reading::going_on(&mut sessions);
        }
        let (name, source) = (self.input.name.clone(), self.input.source.clone());
        Ok(Recording {
            name,
            source,
            has_lines: self.input.has_lines,
            format: self.format,
            sessions,
            problems,
            kept: None,
        })
    }
}

/// The end of what is not an element, because the guess was the end of a string; what is left out of a
/// tail does no harm.
fn end_of_broken_element(
    within: Within,
    records: &Records,
    part: Part<'_>,
    first: usize,
) -> Option<usize> {
    if within == Within::Stream {
        return None;
    }
    let mut out = Fragment::default();
    let step = within.read(records, part, first, first + 1, &mut out);
    let (Step::Reached(end) | Step::Closed(end) | Step::Starved(end)) = step;
    let is_broken = out.items.first()?.kind == Kind::Unreadable;
    is_broken.then_some(end)
}

fn within(layout: Layout) -> Within {
    match layout {
        Layout::Lines | Layout::Text => Within::Stream,
        Layout::Array(_) | Layout::Object(_) => Within::Array,
    }
}

/// Device and inode of a file.
type Identity = (u64, u64);

fn identity_of(path: &Path) -> Option<Identity> {
    let metadata = std::fs::metadata(path).ok()?;
    Some((metadata.dev(), metadata.ino()))
}
