//! A text with other bytes in some places of it: how a take reads. The bytes that were recorded
//! stay where they are.

use super::ledger::{GrowthSource, RunState};
use super::source::{Source, SourceError, Span, Splice};
use std::sync::Arc;

/// A source with splices: long stretches of another source, and bytes of its own between them.
#[derive(Debug, Clone)]
pub struct Rope {
    recorded: Arc<dyn Source>,
    /// What the takes wrote and what they grew by, step by step. Takes that go on from each other share it.
    written: Vec<Step>,
    growths: Vec<Growth>,
    /// The state of the run, where this is its history.
    run: Option<RunState>,
    pieces: Vec<RopePiece>,
    length: u64,
}

/// What one step wrote.
#[derive(Debug, Clone)]
struct Step {
    /// How many bytes the steps before it wrote.
    start: u64,
    bytes: Arc<Vec<u8>>,
}

/// A stretch of a rope.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RopePiece {
    /// Where it begins in the rope.
    pub start: u64,
    /// Where its bytes are.
    pub from: TextOrigin,
}

/// Where the bytes of a stretch are, and whose they are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TextOrigin {
    /// In the recorded source.
    Recorded(Span),
    /// In what a take wrote: somebody decided on it.
    Written(Span),
    /// In what a take grew by: replies of the model and outputs of tools. The bytes are kept with what was
    /// written.
    Grown(Span),
}

/// What a take grew by in one step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Growth {
    /// What brought it, where that is known.
    pub by: Option<GrowthSource>,
    /// Its bytes; [`TextOrigin::Grown`] points into them.
    pub span: Span,
}

impl TextOrigin {
    /// Where they are in it.
    pub fn span(self) -> Span {
        match self {
            Self::Recorded(span) | Self::Written(span) | Self::Grown(span) => span,
        }
    }

    /// The part of it from `offset` on that is `length` long.
    fn part(self, offset: u64, length: u64) -> Self {
        let cut = |span: Span| Span::new(span.start + offset, span.start + offset + length);
        match self {
            Self::Recorded(span) => Self::Recorded(cut(span)),
            Self::Written(span) => Self::Written(cut(span)),
            Self::Grown(span) => Self::Grown(cut(span)),
        }
    }
}

impl Rope {
    pub fn new(recorded: Arc<dyn Source>) -> Self {
        let length = recorded.len();
        let mut rope = Self {
            recorded,
            written: Vec::new(),
            growths: Vec::new(),
            run: None,
            pieces: Vec::new(),
            length: 0,
        };
        rope.push(TextOrigin::Recorded(Span::new(0, length)));
        rope
    }

    /// This text with splices. They are taken in the order of their places; of two insertions at one place the
    /// first stays first. What overlaps a splice before it is left out.
    pub fn spliced(&self, splices: &[Splice]) -> Self {
        self.with(&owned(splices), TextOrigin::Written)
    }

    /// The same where the splices are what a take grew by in one step. The operator's own words are a
    /// decision, as in any take.
    pub fn grown(&self, splices: &[Splice], by: Option<GrowthSource>) -> Self {
        self.grown_by(&owned(splices), by)
    }

    /// The same with bytes that others hold, too.
    pub fn grown_by(&self, splices: &[(Span, Arc<Vec<u8>>)], by: Option<GrowthSource>) -> Self {
        if by == Some(GrowthSource::Operator) {
            return self.with(splices, TextOrigin::Written);
        }
        let mut rope = self.with(splices, TextOrigin::Grown);
        let span = Span::new(self.written_len(), rope.written_len());
        rope.growths.push(Growth { by, span });
        rope
    }

    /// The same as the history of a run in this state.
    pub fn of_run(self, state: RunState) -> Self {
        let run = Some(state);
        Self { run, ..self }
    }

    /// How the run stood whose journal it was read from.
    pub fn run(&self) -> Option<&RunState> {
        self.run.as_ref()
    }

    fn with(&self, splices: &[(Span, Arc<Vec<u8>>)], origin: impl Fn(Span) -> TextOrigin) -> Self {
        let mut order: Vec<_> = splices.iter().collect();
        order.sort_by_key(|(at, _)| (at.start, at.end));
        let mut rope = Self {
            recorded: self.recorded.clone(),
            written: self.written.clone(),
            growths: self.growths.clone(),
            run: None,
            pieces: Vec::with_capacity(self.pieces.len() + 2 * order.len()),
            length: 0,
        };
        let first = self.written_len();
        // One splice alone is not copied.
        let alone = match splices {
            [(_, with)] => Some(with.clone()),
            _ => None,
        };
        let mut bytes: Vec<u8> = Vec::new();
        let mut length = 0;
        let (mut at, mut piece) = (0, 0);
        for (place, with) in order {
            if place.start < at {
                continue;
            }
            piece = rope.copy(self, at..place.start, piece);
            if alone.is_none() {
                bytes.extend_from_slice(with);
            }
            let start = first + length;
            length += with.len() as u64;
            rope.push(origin(Span::new(start, first + length)));
            at = place.end;
        }
        if length > 0 {
            rope.written.push(Step {
                start: first,
                bytes: alone.unwrap_or_else(|| Arc::new(bytes)),
            });
        }
        rope.copy(self, at..self.length, piece);
        rope
    }

    /// Copies the pieces of a range of another rope, which are searched for from piece `from` on; gives the
    /// last piece it touched.
    fn copy(&mut self, other: &Self, range: std::ops::Range<u64>, from: usize) -> usize {
        let mut last = from;
        for (number, piece) in other.pieces.iter().enumerate().skip(from) {
            let end = piece.start + piece.from.span().len();
            if end <= range.start {
                continue;
            }
            if piece.start >= range.end {
                break;
            }
            last = number;
            let start = range.start.max(piece.start);
            let length = range.end.min(end) - start;
            self.push(piece.from.part(start - piece.start, length));
        }
        last
    }

    fn push(&mut self, from: TextOrigin) {
        let length = from.span().len();
        if length > 0 {
            self.pieces.push(RopePiece {
                start: self.length,
                from,
            });
            self.length += length;
        }
    }

    /// Its stretches, in order.
    pub fn pieces(&self) -> &[RopePiece] {
        &self.pieces
    }

    /// What the takes wrote and what they grew by; [`TextOrigin::Written`] and [`TextOrigin::Grown`] point
    /// into it.
    /// `None` for a span that does not lie within one step.
    pub fn written(&self, span: Span) -> Option<&[u8]> {
        let next = self
            .written
            .partition_point(|step| step.start <= span.start);
        let step = self.written.get(next.checked_sub(1)?)?;
        let start = usize::try_from(span.start - step.start).ok()?;
        let length = usize::try_from(span.len()).ok()?;
        step.bytes.get(start..start.checked_add(length)?)
    }

    fn written_len(&self) -> u64 {
        let last = self.written.last();
        last.map_or(0, |step| step.start + step.bytes.len() as u64)
    }

    /// What the takes grew by, in order.
    pub fn growths(&self) -> &[Growth] {
        &self.growths
    }

    /// The pieces that a span touches.
    pub fn pieces_of(&self, span: Span) -> impl Iterator<Item = &RopePiece> {
        let before = |piece: &RopePiece| piece.start + piece.from.span().len() <= span.start;
        let first = self.pieces.partition_point(before);
        let own = self.pieces[first..].iter();
        own.take_while(move |piece| piece.start < span.end)
    }

    pub fn recorded(&self) -> &Arc<dyn Source> {
        &self.recorded
    }
}

/// Splices whose bytes can be shared.
fn owned(splices: &[Splice]) -> Vec<(Span, Arc<Vec<u8>>)> {
    let owned = splices.iter();
    owned
        .map(|splice| (splice.at, Arc::new(splice.with.clone())))
        .collect()
}

impl Source for Rope {
    fn len(&self) -> u64 {
        self.length
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
        let mut buffer = Vec::new();
        self.read_into(span, &mut buffer)?;
        Ok(buffer)
    }

    fn read_into(&self, span: Span, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        let length = usize::try_from(span.len()).ok();
        let length = length.filter(|_| span.end <= self.length);
        buffer.resize(length.ok_or(SourceError::Gone { span })?, 0);
        self.fill(span.start, buffer)
    }

    fn fill(&self, start: u64, place: &mut [u8]) -> Result<(), SourceError> {
        let end = start + place.len() as u64;
        if end > self.length {
            return Err(SourceError::Gone {
                span: Span { start, end },
            });
        }
        let first = self
            .pieces
            .partition_point(|piece| piece.start + piece.from.span().len() <= start);
        let mut filled = 0;
        for piece in &self.pieces[first..] {
            let rest = &mut place[filled..];
            if rest.is_empty() {
                break;
            }
            let at = start + filled as u64;
            let left = piece.start + piece.from.span().len() - at;
            let length = rest.len().min(usize::try_from(left).unwrap_or(usize::MAX));
            match piece.from.part(at - piece.start, length as u64) {
                TextOrigin::Recorded(span) => {
                    self.recorded.fill(span.start, &mut rest[..length])?
                }
                TextOrigin::Written(span) | TextOrigin::Grown(span) => {
                    let bytes = self.written(span).ok_or(SourceError::Gone { span })?;
                    rest[..length].copy_from_slice(bytes);
                }
            }
            filled += length;
        }
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn splice(start: u64, end: u64, with: &str) -> Splice {
        Splice::new(Span { start, end }, with.as_bytes().to_vec())
    }

    fn text(rope: &Rope) -> String {
        let all = Span::new(0, rope.len());
        String::from_utf8(rope.read(all).unwrap()).unwrap()
    }

    #[test]
    fn takes_are_laid_over_takes() {
        let recorded = Rope::new(Arc::new(b"one two three".to_vec()));
        let first = recorded.spliced(&[splice(4, 7, "2"), splice(0, 0, "zero ")]);
        assert_eq!(text(&first), "zero one 2 three");
        let second = first.spliced(&[splice(3, 6, ""), splice(16, 16, "!")]);
        assert_eq!(text(&second), "zerne 2 three!");
        assert_eq!(text(&recorded), "one two three");
        let beyond = Span { start: 10, end: 15 };
        assert_eq!(second.read(beyond), Err(SourceError::Gone { span: beyond }));
    }

    #[test]
    fn insertions_at_one_place_keep_their_order_and_overlaps_are_left_out() {
        let rope = Rope::new(Arc::new(b"abcdef".to_vec()));
        let spliced = rope.spliced(&[
            splice(2, 2, "1"),
            splice(2, 2, "2"),
            splice(3, 5, "-"),
            splice(4, 6, "x"),
        ]);
        assert_eq!(text(&spliced), "ab12c-f");
    }

    #[test]
    fn growth_is_distinct_from_written_text() {
        let recorded = Rope::new(Arc::new(b"[1]".to_vec()));
        let written = recorded.spliced(&[splice(1, 2, "one")]);
        let grown = written.grown(&[splice(4, 4, ",two")], None);
        let after = grown.spliced(&[splice(5, 8, "2")]);
        assert_eq!(
            (text(&grown), text(&after)),
            ("[one,two]".to_owned(), "[one,2]".to_owned())
        );
        let span = Span { start: 3, end: 7 };
        let growths = [Growth { by: None, span }];
        assert_eq!(
            (grown.growths(), after.growths()),
            (&growths[..], &growths[..])
        );
        let whole = Span { start: 4, end: 8 };
        let own: Vec<TextOrigin> = grown.pieces_of(whole).map(|piece| piece.from).collect();
        assert_eq!(own, [TextOrigin::Grown(span)]);
        let of_two = after.pieces_of(Span { start: 5, end: 6 });
        let of_two: Vec<TextOrigin> = of_two.map(|piece| piece.from).collect();
        assert_eq!(of_two, [TextOrigin::Written(Span { start: 7, end: 8 })]);
    }

    proptest! {
        #[test]
        fn a_rope_reads_like_its_text(
            recorded in "[a-z]{0,40}",
            rounds in proptest::collection::vec(proptest::collection::vec((0u64..60, 0u64..9, "[0-9]{0,5}"), 0..4), 0..4),
            window in (0u64..60, 0u64..20),
        ) {
            let mut rope = Rope::new(Arc::new(recorded.clone().into_bytes()));
            let mut plain = recorded;
            for round in rounds {
                let mut at = 0;
                let mut splices = Vec::new();
                for (gap, length, with) in round {
                    let start = (at + gap).min(plain.len() as u64);
                    let end = (start + length).min(plain.len() as u64);
                    splices.push(splice(start, end, &with));
                    at = end;
                }
                rope = rope.spliced(&splices);
                for splice in splices.iter().rev() {
                    let range = splice.at.start as usize..splice.at.end as usize;
                    plain.replace_range(range, std::str::from_utf8(&splice.with).unwrap());
                }
            }
            prop_assert_eq!(&text(&rope), &plain);
            let start = window.0.min(plain.len() as u64);
            let end = (start + window.1).min(plain.len() as u64);
            let read = rope.read(Span { start, end }).unwrap();
            prop_assert_eq!(&read[..], &plain.as_bytes()[start as usize..end as usize]);
        }
    }
}
