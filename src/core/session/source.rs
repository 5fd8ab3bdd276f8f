//! Where the bytes of a session are: a buffer here, a file read by position in `runtime`.

use std::any::Any;
use std::fmt;

/// A range of bytes in a source.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Hash, PartialOrd, Ord)]
pub struct Span {
    pub start: u64,
    /// Byte after the last one.
    pub end: u64,
}

impl Span {
    pub const fn new(start: u64, end: u64) -> Self {
        Self { start, end }
    }

    /// The range `start..end` of a slice that begins at `base` in the source.
    pub fn within(base: u64, range: std::ops::Range<usize>) -> Self {
        Self::new(base + range.start as u64, base + range.end as u64)
    }

    pub fn len(self) -> u64 {
        self.end.saturating_sub(self.start)
    }

    /// Whether it holds no byte.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }

    /// Whether the byte at `position` is in it.
    pub fn contains(self, position: u64) -> bool {
        (self.start..self.end).contains(&position)
    }

    /// At most the first `limit` bytes of it.
    pub fn head(self, limit: u64) -> Self {
        Self::new(self.start, self.end.min(self.start.saturating_add(limit)))
    }
}

/// What reading a source comes to.
pub type SourceResult<T> = Result<T, SourceError>;

/// Bytes that can be read at any position, by several readers at once. Who knows a faster way for one kind of
/// source can ask for it by its type.
pub trait Source: Any + Send + Sync + fmt::Debug {
    /// Length in bytes, now.
    fn len(&self) -> u64;

    /// The bytes of a span.
    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError>;

    /// Reads a span into `buffer`, which is emptied first; lets a caller that reads many spans keep one buffer.
    fn read_into(&self, span: Span, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        buffer.clear();
        buffer.append(&mut self.read(span)?);
        Ok(())
    }

    /// Fills `place` with the bytes from `start` on; for readers that keep their memory and
    /// move through a file.
    fn fill(&self, start: u64, place: &mut [u8]) -> Result<(), SourceError> {
        let span = Span::new(start, start + place.len() as u64);
        place.copy_from_slice(&self.read(span)?);
        Ok(())
    }

    /// Whether there is nothing to read.
    fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// Reads spans that lie close together at once: asking the system costs as much as copying a few kilobytes.
#[derive(Debug, Default)]
pub(crate) struct ReadAhead {
    start: u64,
    bytes: Vec<u8>,
}

impl ReadAhead {
    /// How many bytes that nobody asks for may lie between two spans.
    const GAP: u64 = 2048;
    /// How many bytes are read at once, unless one span is longer.
    const MOST: u64 = 64 * 1024;

    /// The bytes of a span; `next` are those that will be asked for after it.
    pub(crate) fn read(
        &mut self,
        source: &dyn Source,
        span: Span,
        next: impl Iterator<Item = Span>,
    ) -> Result<&[u8], SourceError> {
        if self.place_of(span).is_none() {
            let mut end = span.end;
            for next in next {
                let is_near = (end..=end + Self::GAP).contains(&next.start);
                if !is_near || next.end > span.start + Self::MOST {
                    break;
                }
                end = next.end;
            }
            self.start = span.start;
            let ahead = Span { end, ..span };
            let read = source.read_into(ahead, &mut self.bytes);
            // What follows may be gone.
            if read.is_err() {
                self.bytes.clear();
                source.read_into(span, &mut self.bytes)?;
            }
        }
        let place = self.place_of(span);
        place.map_or(Err(SourceError::Gone { span }), |place| {
            Ok(&self.bytes[place])
        })
    }

    fn place_of(&self, span: Span) -> Option<std::ops::Range<usize>> {
        let from = usize::try_from(span.start.checked_sub(self.start)?).ok()?;
        let to = from.checked_add(usize::try_from(span.len()).ok()?)?;
        (to <= self.bytes.len()).then_some(from..to)
    }
}

/// Why bytes could not be read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SourceError {
    /// The file is shorter than it was when it was indexed.
    #[error("the file became shorter while it was open: bytes {0} to {1} are gone", span.start, span.end)]
    Gone { span: Span },
    #[error("cannot read bytes {0} to {1}: {reason}", span.start, span.end)]
    Refused { span: Span, reason: String },
}

/// A buffer is a source: standard input, a decompressed file, an assembled stream.
impl Source for Vec<u8> {
    fn len(&self) -> u64 {
        self.len() as u64
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
        let range = usize::try_from(span.start)
            .ok()
            .zip(usize::try_from(span.end).ok());
        range
            .and_then(|(start, end)| self.get(start..end))
            .map(<[u8]>::to_vec)
            .ok_or(SourceError::Gone { span })
    }

    fn read_into(&self, span: Span, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        buffer.clear();
        let range = usize::try_from(span.start)
            .ok()
            .zip(usize::try_from(span.end).ok());
        let bytes = range
            .and_then(|(start, end)| self.get(start..end))
            .ok_or(SourceError::Gone { span })?;
        buffer.extend_from_slice(bytes);
        Ok(())
    }
}

/// Other bytes for a place of a source.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Splice {
    /// The place; an empty span inserts.
    pub at: Span,
    pub with: Vec<u8>,
}

impl Splice {
    pub fn new(at: Span, with: Vec<u8>) -> Self {
        Self { at, with }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_are_read_ahead_as_far_as_they_are_there() {
        let source: Vec<u8> = (0..100).collect();
        let spans = [
            (0, 3),
            (3, 8),
            (40, 41),
            (20, 30),
            (90, 100),
            (95, 101),
            (0, 2),
        ];
        let spans = spans.map(|(start, end)| Span { start, end });
        let mut ahead = ReadAhead::default();
        for (place, span) in spans.iter().enumerate() {
            let next = spans[place + 1..].iter().copied();
            let read = ahead.read(&source, *span, next).map(<[u8]>::to_vec);
            assert_eq!(read, source.read(*span), "{span:?}");
        }
    }

    #[test]
    fn a_buffer_gives_its_bytes_and_says_when_they_are_gone() {
        let source: Box<dyn Source> = Box::new(b"0123456789".to_vec());
        assert_eq!(source.read(Span { start: 2, end: 5 }), Ok(b"234".to_vec()));
        let beyond = Span { start: 8, end: 11 };
        assert_eq!(source.read(beyond), Err(SourceError::Gone { span: beyond }));
    }
}
