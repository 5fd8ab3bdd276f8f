//! A recording while it is being opened: its head at once, its tail when asked, the whole in the background, and what is appended
//! later. A face paints the head before anything else is read.

use super::parts::File;
use super::reading::{self, Progress, ReadOptions, Recording};
use super::{Input, InputError};
use crate::formats::split::{self, Part, Within};
use crate::formats::{Contents, Format, Layout, Reading, Records, Sample};
use crate::session::{Fragment, SourceError, Span};

/// How many bytes at the end of a file are read to show its end.
const TAIL: u64 = 256 * 1024;

/// An input whose format is known.
#[derive(Debug)]
pub struct Opening {
    input: Input,
    head: Vec<u8>,
    format: &'static Format,
}

impl Opening {
    /// Recognises the format of an input from its head.
    pub fn begin(input: Input, options: &ReadOptions) -> Result<Self, InputError> {
        let head = reading::head_of(&input)?;
        let sample = Sample::new(&head, head.len() as u64 == input.source.len());
        let format = reading::choose_format(&sample, options)?;
        Ok(Self {
            input,
            head,
            format,
        })
    }

    /// The format.
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
        reading::read_head(&records, &sample, part, &mut out);
        self.recording(&records, out).map(Some)
    }

    /// The sessions as far as the tail of the file tells; item numbers count from the start of the tail.
    pub fn tail(&self) -> Result<Option<Recording>, InputError> {
        let Some(records) = self.records() else {
            return Ok(None);
        };
        let length = self.input.source.len();
        let start = length.saturating_sub(TAIL);
        let bytes = self.input.source.read(Span { start, end: length })?;
        let sample = Sample::new(&self.head, self.is_small());
        let within = match split::layout(&records, &sample) {
            Layout::Lines | Layout::Text => Within::Stream,
            Layout::Array(_) | Layout::Object(_) => Within::Array,
        };
        let Some(first) = within.guess(&bytes, 0) else {
            return Ok(None);
        };
        let mut out = Fragment::default();
        let part = Part {
            bytes: &bytes,
            base: start,
            is_last: true,
        };
        within.read(&records, part, first, bytes.len(), &mut out);
        self.recording(&records, out).map(Some)
    }

    /// Reads everything; `progress` is told how many bytes are done.
    pub fn read(&self, progress: Progress<'_>) -> Result<Recording, InputError> {
        reading::read_as(self.format, self.input.clone(), &self.head, progress)
    }

    /// How long the source is now, in bytes: a file may grow.
    pub fn length(&self) -> u64 {
        self.input.source.len()
    }

    /// Whether the last line has its end; a writer may be in the middle of it.
    pub fn ends_with_line(&self) -> Result<bool, SourceError> {
        let end = self.length();
        let start = end.saturating_sub(1);
        Ok(self.input.source.read(Span { start, end })?.as_slice() == b"\n")
    }

    /// Starts to follow a file: what is appended to it is read from where reading stopped.
    pub fn follow(&self) -> Result<Option<Follower<'_>>, InputError> {
        let sample = Sample::new(&self.head, self.is_small());
        let Some(records) = self.lines() else {
            return Ok(None);
        };
        let mut follower = Follower {
            opening: self,
            records,
            fragment: Fragment::default(),
            next: sample.skipped as u64,
            length: 0,
        };
        follower.advance()?;
        Ok(Some(follower))
    }

    /// Whether what is appended to the file can be read on its own.
    pub fn can_follow(&self) -> bool {
        self.lines().is_some()
    }

    /// How the lines of a file are read that can be followed.
    fn lines(&self) -> Option<Records> {
        let sample = Sample::new(&self.head, self.is_small());
        self.records().filter(|records| {
            self.input.buffer.is_none() && split::layout(records, &sample) == Layout::Lines
        })
    }

    fn records(&self) -> Option<Records> {
        match self.format.reading {
            Reading::Records(records) => Some(records),
            Reading::Whole(_) | Reading::Database => None,
        }
    }

    fn recording(
        &self,
        records: &Records,
        mut fragment: Fragment,
    ) -> Result<Recording, InputError> {
        let mut problems = std::mem::take(&mut fragment.problems);
        let contents = (records.assemble)(fragment, &self.input.source)?;
        let Contents {
            sessions,
            problems: more,
        } = contents;
        problems.extend(more);
        let (name, source) = (self.input.name.clone(), self.input.source.clone());
        Ok(Recording {
            name,
            source,
            format: self.format,
            sessions,
            problems,
        })
    }
}

/// A growing file: what was read of it, and where the next record begins.
#[derive(Debug)]
pub struct Follower<'a> {
    opening: &'a Opening,
    records: Records,
    fragment: Fragment,
    next: u64,
    length: u64,
}

/// What happened to a followed file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Growth {
    /// Nothing.
    None,
    /// Records were appended.
    Grown,
    /// It became shorter: it was replaced or cut, and is to be read anew.
    Shrunk,
}

impl Follower<'_> {
    /// Reads what was appended since the last time. A last line without its end is left for the next time.
    pub fn advance(&mut self) -> Result<Growth, SourceError> {
        let length = self.opening.input.source.len();
        if length < self.length {
            return Ok(Growth::Shrunk);
        }
        if length == self.length {
            return Ok(Growth::None);
        }
        self.length = length;
        let before = self.fragment.records.len();
        let file = File::new(&self.records, &*self.opening.input.source, length);
        self.next = file.read_lines_from(self.next, &mut self.fragment)?;
        Ok(if self.fragment.records.len() > before {
            Growth::Grown
        } else {
            Growth::None
        })
    }

    /// How many items were read.
    pub fn items(&self) -> usize {
        self.fragment.items.len()
    }

    /// The recording as it stands now.
    pub fn recording(&self) -> Result<Recording, InputError> {
        self.opening.recording(&self.records, self.fragment.clone())
    }
}
