//! A file that grows while it is open: what is appended to it is read once, and a file that was cut
//! or replaced is noticed.

use super::parallel_read::File;
use super::reading::Recording;
use super::{InputError, OpenedInput};
use retake_core::formats::Records;
use retake_core::json::skip_value;
use retake_core::session::{Fragment, ProblemKind, Source, SourceError, Span};

/// How many bytes before the place where reading stopped are compared, to notice that other text is there now.
const SEAM: u64 = 64;

/// A growing file: what was read of it, and where the next record begins.
///
/// Records are lines here: a value that is appended in several lines is read as one when the
/// whole file is read.
#[derive(Debug)]
pub struct Follower<'a> {
    opening: &'a OpenedInput,
    records: Records,
    fragment: Fragment,
    /// Where reading goes on.
    next: u64,
    /// Up to here there is no line end after `next`.
    searched: u64,
    /// The length that was seen last.
    length: u64,
    /// Whether a last line without its end was looked at since the file has this length.
    rested: bool,
    /// Whether the last record that was read has no line end yet.
    in_line: bool,
    /// The bytes before `next`.
    seam: Vec<u8>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FileGrowth {
    None,
    Grown,
    /// It was cut, overwritten or replaced, and is to be opened anew ([`OpenedInput::anew`]).
    Shrunk,
}

impl<'a> Follower<'a> {
    /// Reads what is there, from `start` on.
    pub(crate) fn begin(
        opening: &'a OpenedInput,
        records: Records,
        start: u64,
    ) -> Result<Self, SourceError> {
        let mut follower = Self {
            opening,
            records,
            fragment: Fragment::default(),
            next: start,
            searched: start,
            length: start,
            rested: false,
            in_line: false,
            seam: Vec::new(),
        };
        follower.seam = follower.source().read(seam_span(start))?;
        follower.advance()?;
        // A file that rests, as most do when they are opened, may end without a line end.
        follower.advance()?;
        Ok(follower)
    }

    /// Reads what was appended since the last time. A last line without its end is left until the file rests
    /// (it did not grow between two calls), and read then if it is a whole object.
    pub fn advance(&mut self) -> Result<FileGrowth, SourceError> {
        match self.try_advance() {
            Err(SourceError::Gone { .. }) => Ok(FileGrowth::Shrunk),
            other => other,
        }
    }

    pub fn recording(&self) -> Result<Recording, InputError> {
        self.opening.recording(&self.records, self.fragment.clone())
    }

    fn try_advance(&mut self) -> Result<FileGrowth, SourceError> {
        let length = self.source().len();
        if length < self.length || self.opening.is_replaced() {
            return Ok(FileGrowth::Shrunk);
        }
        if length == self.length {
            return self.rest();
        }
        if self.source().read(seam_span(self.next))? != self.seam {
            return Ok(FileGrowth::Shrunk);
        }
        (self.length, self.rested) = (length, false);
        let line_end = self.file(length).last_line_end(self.searched)?;
        self.searched = length;
        match line_end {
            Some(end) => self.read_to(end),
            None => Ok(FileGrowth::None),
        }
    }

    /// Reads the last line though it has no end, if it is a whole object: nothing that is appended could become
    /// a part of it.
    fn rest(&mut self) -> Result<FileGrowth, SourceError> {
        if self.rested || self.next == self.length {
            return Ok(FileGrowth::None);
        }
        self.rested = true;
        let line = self.source().read(Span {
            start: self.next,
            end: self.length,
        })?;
        let line = line.trim_ascii();
        if line.starts_with(b"{") && skip_value(line, 0) == Ok(line.len()) {
            let growth = self.read_to(self.length)?;
            self.in_line = true;
            return Ok(growth);
        }
        Ok(FileGrowth::None)
    }

    /// Reads the records up to `end`; on an error everything stays as it was.
    fn read_to(&mut self, end: u64) -> Result<FileGrowth, SourceError> {
        let (mark, before) = (self.fragment.mark(), self.fragment.records.len());
        let mut fragment = std::mem::take(&mut self.fragment);
        let step = self.read_records(end, &mut fragment);
        if step.is_err() {
            fragment.rewind(mark);
        }
        self.fragment = fragment;
        self.seam = step?;
        (self.next, self.in_line) = (end, false);
        Ok(if self.fragment.records.len() > before {
            FileGrowth::Grown
        } else {
            FileGrowth::None
        })
    }

    /// Reads the records up to `end` into `out`; gives the bytes before `end`.
    fn read_records(&self, end: u64, out: &mut Fragment) -> Result<Vec<u8>, SourceError> {
        let seam = self.source().read(seam_span(end))?;
        if self.in_line {
            self.report_shared_line(end, out)?;
        }
        self.file(end).read_stream(self.next, out)?;
        Ok(seam)
    }

    /// Says that a record was appended to a line that holds one already.
    fn report_shared_line(&self, end: u64, out: &mut Fragment) -> Result<(), SourceError> {
        let span = Span {
            start: self.next,
            end,
        };
        let appended = self.source().read(span.head(SEAM))?;
        let first = appended
            .iter()
            .position(|byte| !b" \t,\x1e".contains(byte))
            .filter(|first| appended[*first] == b'{');
        if let Some(first) = first {
            out.report(self.next + first as u64, ProblemKind::SharedLine);
        }
        Ok(())
    }

    fn file(&self, length: u64) -> File<'_> {
        File::new(&self.records, self.source(), length)
    }

    fn source(&self) -> &'a dyn Source {
        &*self.opening.input().source
    }
}

fn seam_span(end: u64) -> Span {
    Span {
        start: end.saturating_sub(SEAM),
        end,
    }
}
