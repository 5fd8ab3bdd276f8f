//! A text that a reader spells anew, because the file spells its messages in no dialect. What is long in it stays
//! in the file, so that it takes little memory.

use super::source::{Source, SourceError, Span};
use std::sync::Arc;

/// Bytes of its own, and stretches of the file between them.
#[derive(Debug, Clone, Default)]
pub struct SpelledText {
    own: Vec<u8>,
    /// The stretches of the file, in order.
    taken: Vec<Taken>,
    /// How many bytes these are.
    taken_length: u64,
}

/// A stretch of the file.
#[derive(Debug, Clone, Copy)]
struct Taken {
    /// Where it begins in the text.
    at: u64,
    from: Span,
    /// How many bytes were taken before it.
    before: u64,
}

impl Taken {
    fn end(&self) -> u64 {
        self.at + self.from.len()
    }
}

impl SpelledText {
    pub fn len(&self) -> u64 {
        self.own.len() as u64 + self.taken_length
    }

    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// How many bytes of it are held.
    pub fn held(&self) -> usize {
        self.own.len()
    }

    pub fn push(&mut self, bytes: &[u8]) {
        self.own.extend_from_slice(bytes);
    }

    /// Adds a stretch of the file.
    pub fn take(&mut self, from: Span) {
        self.taken.push(Taken {
            at: self.len(),
            from,
            before: self.taken_length,
        });
        self.taken_length += from.len();
    }

    /// Adds the text of the part of the file that follows.
    pub fn append(&mut self, other: Self) {
        let (length, before) = (self.len(), self.taken_length);
        self.own.extend_from_slice(&other.own);
        self.taken.extend(other.taken.iter().map(|taken| Taken {
            at: taken.at + length,
            from: taken.from,
            before: taken.before + before,
        }));
        self.taken_length += other.taken_length;
    }

    /// The text as a source.
    pub fn into_source(self, file: &Arc<dyn Source>) -> Arc<dyn Source> {
        match self.taken.is_empty() {
            true => Arc::new(self.own),
            false => Arc::new(SpelledSource {
                text: self,
                file: file.clone(),
            }),
        }
    }
}

#[derive(Debug)]
struct SpelledSource {
    text: SpelledText,
    file: Arc<dyn Source>,
}

impl Source for SpelledSource {
    fn len(&self) -> u64 {
        self.text.len()
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
        let mut buffer = Vec::new();
        self.read_into(span, &mut buffer)?;
        Ok(buffer)
    }

    fn read_into(&self, span: Span, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        let SpelledText {
            own,
            taken,
            taken_length,
        } = &self.text;
        buffer.clear();
        let mut at = span.start;
        let mut next = taken.partition_point(|taken| taken.end() <= at);
        while at < span.end {
            let stretch = taken.get(next);
            if let Some(stretch) = stretch.filter(|stretch| stretch.at <= at) {
                let start = stretch.from.start + (at - stretch.at);
                let end = stretch.from.end.min(start + (span.end - at));
                let held = buffer.len();
                buffer.resize(held + (end - start) as usize, 0);
                self.file.fill(start, &mut buffer[held..])?;
                at += end - start;
                next += 1;
            } else {
                let before = stretch.map_or(*taken_length, |stretch| stretch.before);
                let end = stretch.map_or(span.end, |stretch| stretch.at.min(span.end));
                let range = (at - before) as usize..(end - before) as usize;
                let bytes = own.get(range).ok_or(SourceError::Gone { span })?;
                buffer.extend_from_slice(bytes);
                at = end;
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn any_span_of_joined_texts_reads_as_if_it_were_copied() {
        let file: Arc<dyn Source> = Arc::new(b"0123456789".to_vec());
        let part = |first: &[u8], from: Span| {
            let mut text = SpelledText::default();
            text.push(first);
            text.take(from);
            text.take(Span { start: 9, end: 10 });
            text.push(b"</");
            text
        };
        let mut text = part(b"ab", Span { start: 2, end: 6 });
        text.append(part(b"cd", Span { start: 0, end: 3 }));
        let copied = b"ab23459</cd0129</";
        let source = text.into_source(&file);
        assert_eq!(source.len(), copied.len() as u64);
        for start in 0..copied.len() {
            for end in start..=copied.len() {
                let read = source.read(Span::within(0, start..end));
                assert_eq!(read.as_deref(), Ok(&copied[start..end]));
            }
        }
        let beyond = Span::within(0, 15..copied.len() + 1);
        assert_eq!(source.read(beyond), Err(SourceError::Gone { span: beyond }));
    }
}
