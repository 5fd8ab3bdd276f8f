//! Reads a text again in which splices changed a few places: only the records that they touch.
//!
//! Reading a record needs no other record, so the records between the touched ones read as before, at another
//! place. Where that is not certain (the text is laid out anew, a broken value may hide what follows, a splice
//! leaves the list of records) nothing is given, and the text is to be read as a whole.

use super::{BEYOND, PATIENCE};
use retake_core::formats::split::{Members, Part, Step, Within, read_members};
use retake_core::formats::{Layout, Records, Sample};
use retake_core::json::skip_whitespace;
use retake_core::session::{
    Checkpoint, Fragment, MovedText, ProblemKind, Rope, Source, SourceError, Span, Splice,
};

/// A stretch of a text in which one record follows another.
#[derive(Debug, Clone, Copy)]
pub(super) struct Stretch {
    pub(super) within: Within,
    /// From the first record to the end of the text, or to the position after the bracket.
    pub(super) span: Span,
    /// What was read when it ended.
    pub(super) end: Checkpoint,
}

/// What was read of a text.
#[derive(Debug, Clone)]
pub struct Kept {
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

impl Kept {
    pub(super) fn new(
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
