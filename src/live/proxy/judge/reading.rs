//! A request as it is judged: read once, and where it goes on from one that was read before only what
//! is new of it.

use crate::Recording;
use crate::lock::lock;
use crate::reading::{going_on, read_document, read_document_again};
use bytes::Bytes;
use retake_core::formats::{Format, read_buffer};
use retake_core::rules::{CleanCache, CleanItem, Finding, Run};
use retake_core::session::{Dialect, Kind, Rope, Source, SourceError, Span, Splice, recorded};
use retake_core::wire::RequestHead;
use std::collections::VecDeque;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, OnceLock};

/// A body is compared with another one in pieces of so many bytes.
const PIECE: usize = 4096;
/// About what is kept of an item beside its bytes: what it is, its position, whose half it is, what was
/// found out about it.
const ITEM: usize = 200;

/// A request so small, or so little longer than one read before, is judged in place, without another
/// thread; what is larger is judged beside what passes.
const SMALL: usize = 32 * 1024;
/// Where so much is repeated, looking for what is new of it takes a while, too. A request that is longer is
/// read on another thread: the one that forwards has others to serve.
pub(crate) const REPEATED: usize = 1024 * 1024;

/// A request, with what is found out about it as soon as somebody wants to know.
#[derive(Debug)]
pub(crate) struct RequestReading {
    dialect: Dialect,
    body: Bytes,
    head: OnceLock<Option<RequestHead>>,
    /// What it goes on from; let go of once it is read.
    basis: Mutex<Option<Basis>>,
    continuation: Continuation,
    /// Whether it repeats all of the request that it continues, but for the last element at most.
    repeats_all: bool,
    /// How much of it was not read before, in bytes.
    fresh: usize,
    read: OnceLock<Option<Recording>>,
    known: Mutex<Knowledge>,
    /// It was judged, and nothing of it would be refused.
    is_sound: AtomicBool,
}

/// Which request this one continues.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Continuation {
    /// The number of its own reading.
    pub(crate) reading: u64,
    /// The reading that it continues, and what is new of this one: whole elements of its list. The rest of both
    /// is the same, byte for byte.
    pub(crate) of: Option<(u64, Range<usize>)>,
}

/// A request that was read before, and the part that differs in this one.
#[derive(Debug, Clone)]
pub(crate) struct Basis {
    earlier: Arc<RequestReading>,
    splice: Splice,
    /// How many bytes both begin with.
    before: usize,
    /// The elements of this one that are not those of the earlier one.
    new: Range<usize>,
}

/// How many bytes two requests begin and end with.
#[derive(Debug, Clone, Copy)]
pub(crate) struct CommonEnds {
    pub(crate) before: usize,
    suffix: usize,
}

/// The items in which nothing was found: they stand in the first bytes of the text.
#[derive(Debug, Clone, Default)]
struct Knowledge {
    faultless: Arc<CleanCache>,
    until: u64,
}

/// The bytes of a body, shared with whoever sends them.
#[derive(Debug, Clone)]
struct Text(Bytes);

impl RequestReading {
    /// A request of which nothing is known yet.
    pub(crate) fn new(dialect: Dialect, body: Bytes) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        Self {
            dialect,
            fresh: body.len(),
            body,
            head: OnceLock::new(),
            basis: Mutex::new(None),
            continuation: Continuation {
                reading: NEXT.fetch_add(1, Ordering::Relaxed),
                of: None,
            },
            repeats_all: false,
            read: OnceLock::new(),
            known: Mutex::default(),
            is_sound: AtomicBool::new(false),
        }
    }

    /// A request that goes on from an earlier one.
    pub(crate) fn on(body: Bytes, (basis, head): (Basis, RequestHead)) -> Self {
        let knowledge = basis.earlier.knowledge();
        let new = Self::new(basis.earlier.dialect, body);
        Self {
            continuation: Continuation {
                of: Some((basis.earlier.continuation.reading, basis.new.clone())),
                ..new.continuation
            },
            repeats_all: basis.earlier.is_whole_before(basis.before),
            fresh: basis.splice.with.len(),
            head: OnceLock::from(Some(head)),
            known: Mutex::new(Knowledge {
                until: knowledge.until.min(basis.before as u64),
                ..knowledge
            }),
            basis: Mutex::new(Some(basis)),
            ..new
        }
    }

    /// Which request it continues.
    pub(crate) fn continuation(&self) -> &Continuation {
        &self.continuation
    }

    pub(crate) fn dialect(&self) -> Dialect {
        self.dialect
    }

    pub(crate) fn body(&self) -> &Bytes {
        &self.body
    }

    /// What it asks for; `None` where it is not one JSON object.
    pub(crate) fn request_head(&self) -> Option<&RequestHead> {
        let read = || RequestHead::read(self.dialect, &self.body);
        self.head.get_or_init(read).as_ref()
    }

    /// How much of it has to be read that was not read before, in bytes.
    #[cfg(test)]
    pub(crate) fn fresh(&self) -> usize {
        self.fresh
    }

    /// Whether it, with so many bytes of a reply, is judged where it is.
    pub(crate) fn is_small(&self, reply: usize) -> bool {
        self.fresh + reply <= SMALL && self.body.len() <= REPEATED
    }

    /// The request as it is sent.
    pub(crate) fn read(&self) -> Option<&Recording> {
        self.read.get_or_init(|| self.read_now()).as_ref()
    }

    /// Whether others may go on from it.
    pub(crate) fn is_ground(&self) -> bool {
        let read = self.read.get().and_then(Option::as_ref);
        read.is_some_and(|recording| recording.kept.is_some())
    }

    /// About what it takes in memory, in bytes, once it is read.
    pub(crate) fn cost(&self) -> usize {
        let read = self.read.get().and_then(Option::as_ref);
        let items = read.map_or(0, |read| {
            let items = read.sessions.iter().map(|session| session.items.len());
            items.sum::<usize>() + read.problems.len()
        });
        self.body.len() + items * ITEM
    }

    fn read_now(&self) -> Option<Recording> {
        let basis = lock(&self.basis).take();
        let again = basis.and_then(|basis| self.read_again(&basis));
        again.or_else(|| {
            let has_one_list = self.request_head().is_some_and(RequestHead::has_one_list);
            let format = has_one_list.then(|| format_of(self.dialect)).flatten();
            let document =
                format.and_then(|format| read_document(format, Arc::new(self.text()), &self.body));
            document.or_else(|| read_anew(self.dialect, Arc::new(self.text()), &self.body, false))
        })
    }

    fn read_again(&self, basis: &Basis) -> Option<Recording> {
        let splices = [basis.splice.clone()];
        let rope = Rope::new(Arc::new(basis.earlier.text())).spliced(&splices);
        let earlier = basis.earlier.read()?;
        read_document_again(earlier, Arc::new(self.text()), (&rope, &splices), false)
    }

    /// The history that goes on with what splices append to the request, where only that has to be read.
    /// `rope` is its text.
    pub(crate) fn with_reply(&self, rope: &Arc<Rope>, splices: &[Splice]) -> Option<Recording> {
        read_document_again(self.read()?, rope.clone(), (rope, splices), true)
    }

    /// The text, to be read in by place.
    pub(crate) fn source(&self) -> Arc<dyn Source> {
        Arc::new(self.text())
    }

    fn text(&self) -> Text {
        Text(self.body.clone())
    }

    fn knowledge(&self) -> Knowledge {
        lock(&self.known).clone()
    }

    /// The items of a history that goes on from this request in which nothing was found before. `rope` is the
    /// text of the history.
    pub(crate) fn known(&self, run: &Run<'_>, rope: &Rope) -> Vec<CleanItem> {
        let Knowledge { faultless, until } = self.knowledge();
        faultless.among(run, |span| {
            recorded(rope, span).filter(|recorded| recorded.end <= until)
        })
    }

    /// The same of the request alone.
    pub(crate) fn known_of_itself(&self, run: &Run<'_>) -> Vec<CleanItem> {
        let Knowledge { faultless, until } = self.knowledge();
        faultless.among(run, |span| Some(span).filter(|span| span.end <= until))
    }

    /// Whether it was judged, and nothing of it would be refused. The same request comes again where its client
    /// tries again.
    pub(crate) fn is_sound(&self) -> bool {
        self.is_sound.load(Ordering::Relaxed)
    }

    pub(crate) fn was_found_sound(&self) {
        self.is_sound.store(true, Ordering::Relaxed);
    }

    /// Remembers in which items of such a history nothing was found, where it is worth it: so many were `known`.
    pub(crate) fn learn(&self, run: &Run<'_>, (rope, known): (&Rope, usize), findings: &[Finding]) {
        let is_judged = |kind| matches!(kind, Kind::Call | Kind::Output);
        let items = run.session.items.iter();
        let judged = items.filter(|item| is_judged(item.kind)).count();
        // Who learnt each item as it comes would look at all of them each time.
        if judged <= known + known / 8 + 4 {
            return;
        }
        let faultless = CleanCache::of(run, |span| recorded(rope, span), findings);
        let learnt = Knowledge {
            faultless: Arc::new(faultless),
            until: self.body.len() as u64,
        };
        *lock(&self.known) = learnt;
    }

    /// What a body shares with this one, where it may go on from it: the end of the request, and
    /// the most of all.
    pub(crate) fn shared(&self, body: &[u8]) -> Option<CommonEnds> {
        let bracket = self.bracket()?;
        let before = common(&self.body, body);
        let most = self.body.len().min(body.len()) - before;
        let suffix = common_end(&self.body, body, most);
        // One that repeats little of it is read as fast anew.
        let is_mostly_known = before + suffix >= body.len() / 2;
        (is_mostly_known && suffix >= self.body.len() - bracket)
            .then_some(CommonEnds { before, suffix })
    }

    /// The position of the bracket that closes its list.
    fn bracket(&self) -> Option<usize> {
        let list = self.read.get()?.as_ref()?.kept.as_ref()?.list()?;
        usize::try_from(list.end).ok()?.checked_sub(1)
    }

    /// How a body goes on from this one, if it does: in its list, and otherwise byte for byte the same.
    pub(crate) fn basis_of(
        self: &Arc<Self>,
        body: &[u8],
        CommonEnds { before, suffix }: CommonEnds,
    ) -> Option<(Basis, RequestHead)> {
        let list = self.read.get()?.as_ref()?.kept.as_ref()?.list()?;
        let bracket = self.bracket()?;
        let from = self.element_before(before, list)?;
        let head = self.request_head()?;
        let after = self.body.len() - bracket;
        let head = head.going_on(body, from, after)?;
        let splice = Splice {
            at: Span::within(0, before..self.body.len() - suffix),
            with: body[before..body.len() - suffix].to_vec(),
        };
        let earlier = self.clone();
        Some((
            Basis {
                earlier,
                splice,
                before,
                new: from..body.len() - after,
            },
            head,
        ))
    }

    /// Where the last element begins that begins before a place.
    fn element_before(&self, place: usize, list: Span) -> Option<usize> {
        let kept = self.read.get()?.as_ref()?.kept.as_ref()?;
        let start = kept.record_before(place as u64)?;
        (start >= list.start).then(|| usize::try_from(start).ok())?
    }

    /// Whether a request that begins with so many bytes of this one has all of its elements, but
    /// for the last one.
    pub(crate) fn is_whole_before(&self, before: usize) -> bool {
        let kept = || self.read.get()?.as_ref()?.kept.as_ref();
        let last = kept().and_then(|kept| kept.record_before(kept.list()?.end));
        last.is_some_and(|last| last <= before as u64)
    }

    /// Whether it is the earlier request that another one repeats.
    pub(crate) fn is_repeated_by(&self, other: &Self) -> bool {
        let continued = other.continuation.of.as_ref();
        other.repeats_all && continued.is_some_and(|(id, _)| *id == self.continuation.reading)
    }
}

/// Reads a request: as what is sent, or as a history that goes on, in which calls at the end wait.
pub(crate) fn read_anew(
    dialect: Dialect,
    source: Arc<dyn Source>,
    bytes: &[u8],
    goes_on: bool,
) -> Option<Recording> {
    let format = format_of(dialect)?;
    let mut contents = read_buffer(format, &source, bytes).ok()?;
    if goes_on {
        going_on(&mut contents.sessions);
    }
    Some(Recording {
        name: String::new(),
        source,
        has_lines: true,
        format,
        sessions: contents.sessions,
        problems: contents.problems,
        kept: None,
    })
}

/// The format in which requests of a dialect are read.
pub(crate) fn format_of(dialect: Dialect) -> Option<&'static Format> {
    retake_core::formats::find(dialect.facts().format)
}

/// How many bytes two texts begin with.
fn common(one: &[u8], other: &[u8]) -> usize {
    let pieces = one.chunks(PIECE).zip(other.chunks(PIECE));
    let same = pieces.take_while(|(one, other)| one == other).count() * PIECE;
    let same = same.min(one.len()).min(other.len());
    let rest = one[same..].iter().zip(&other[same..]);
    same + rest.take_while(|(one, other)| one == other).count()
}

/// How many bytes two texts end with, at most `most`.
fn common_end(one: &[u8], other: &[u8], most: usize) -> usize {
    let (one, other) = (&one[one.len() - most..], &other[other.len() - most..]);
    let pieces = one.rchunks(PIECE).zip(other.rchunks(PIECE));
    let same = pieces.take_while(|(one, other)| one == other).count() * PIECE;
    let same = same.min(most);
    let rest = one[..most - same].iter().rev();
    let rest = rest.zip(other[..most - same].iter().rev());
    same + rest.take_while(|(one, other)| one == other).count()
}

impl Source for Text {
    fn len(&self) -> u64 {
        self.0.len() as u64
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
        let mut bytes = Vec::new();
        self.read_into(span, &mut bytes)?;
        Ok(bytes)
    }

    fn read_into(&self, span: Span, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        buffer.clear();
        let place = |at| usize::try_from(at).unwrap_or(usize::MAX);
        let bytes = self.0.get(place(span.start)..place(span.end));
        buffer.extend_from_slice(bytes.ok_or(SourceError::Gone { span })?);
        Ok(())
    }

    fn fill(&self, start: u64, place: &mut [u8]) -> Result<(), SourceError> {
        let span = Span::new(start, start + place.len() as u64);
        let from = usize::try_from(start).unwrap_or(usize::MAX);
        let bytes = self.0.get(from..from.saturating_add(place.len()));
        place.copy_from_slice(bytes.ok_or(SourceError::Gone { span })?);
        Ok(())
    }
}

/// How many requests are remembered: of so many conversations at a time.
const COUNT: usize = 8;
/// Most bytes that they take.
const MOST: usize = 8 << 20;
/// Shorter ones are read as fast as they are compared.
const LEAST: usize = 2048;

/// The requests that were read last, the latest first.
#[derive(Debug, Default)]
pub(crate) struct Memory(Mutex<VecDeque<Arc<RequestReading>>>);

impl Memory {
    /// A request, by what is remembered of those before it.
    pub(crate) fn recall(&self, dialect: Dialect, body: Bytes) -> Arc<RequestReading> {
        let known = match body.len() < LEAST {
            true => Vec::new(),
            false => lock(&self.0).iter().cloned().collect::<Vec<_>>(),
        };
        let of_dialect = |reading: &&Arc<RequestReading>| reading.dialect() == dialect;
        let mut best: Option<(&Arc<RequestReading>, CommonEnds)> = None;
        for reading in known.iter().filter(of_dialect) {
            if *reading.body() == body {
                return reading.clone();
            }
            let Some(shared) = reading.shared(&body) else {
                continue;
            };
            let is_whole = reading.is_whole_before(shared.before);
            let most = best.map(|(_, best)| best.before);
            if most.is_none_or(|most| most < shared.before) {
                best = Some((reading, shared));
            }
            if is_whole {
                break;
            }
        }
        let best = best.and_then(|(reading, shared)| reading.basis_of(&body, shared));
        Arc::new(match best {
            Some(found) => RequestReading::on(body, found),
            None => RequestReading::new(dialect, body),
        })
    }

    /// Remembers a request that was read, in the place of one that it repeats.
    pub(crate) fn keep(&self, reading: &Arc<RequestReading>) {
        if reading.body().len() < LEAST || !reading.is_ground() || reading.cost() > MOST {
            return;
        }
        let mut kept = lock(&self.0);
        kept.retain(|other| !Arc::ptr_eq(other, reading) && !other.is_repeated_by(reading));
        kept.push_front(reading.clone());
        let mut bytes = 0;
        let fits = |reading: &Arc<RequestReading>| {
            bytes += reading.cost();
            bytes <= MOST
        };
        let count = kept.iter().map(fits).take_while(|fits| *fits).count();
        kept.truncate(count.min(COUNT));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn requests_are_remembered_by_what_they_take_and_not_by_their_bytes_alone() {
        let memory = Memory::default();
        let kept = |elements: usize| {
            let list = vec!["{}"; elements].join(",");
            let body = format!(r#"{{"model":"m{elements}","messages":[{list}]}}"#);
            let reading = memory.recall(Dialect::Chat, Bytes::from(body));
            assert!(reading.read().is_some() && reading.is_ground());
            memory.keep(&reading);
            lock(&memory.0).len()
        };
        // Each has 90 KB; what was read of it takes some 6 MB.
        assert_eq!(kept(30_000), 1);
        assert_eq!(kept(30_001), 1);
        // One that takes too much alone is in nobody's way.
        assert_eq!(kept(60_000), 1);
        assert_eq!(kept(10), 1);
        assert_eq!(kept(1_000), 2);
    }
}
