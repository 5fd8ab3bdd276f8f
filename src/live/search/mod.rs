//! Finds a text in a source of any size, on all cores, without an index.
//!
//! The bytes are read in blocks, which two or more threads take one after the other, and scanned as they stand;
//! what a hit belongs to is the caller's to say.

use crate::lock::lock;
pub use expression::RegexError;
use needle::BEFORE;
pub use needle::{Needle, NeedleError};
use retake_core::session::{Source, SourceError, Span};
use std::collections::BTreeMap;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::thread;

mod expression;
mod needle;
mod spelling;

/// The size of a block: it stays in the cache of a core from reading to scanning.
const BLOCK: u64 = 256 * 1024;
/// How many blocks the asking thread scans itself before it starts others: most hits are near.
const NEAR: u64 = 4;

#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    #[error("the search was called off")]
    Cancelled,
    #[error(transparent)]
    Source(#[from] SourceError),
}

/// Where to look for one hit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SearchFrom {
    /// The first hit that begins at this offset or after it.
    AtOrAfter(u64),
    /// The last hit that begins before this offset.
    Before(u64),
}

/// A search through one source.
#[derive(Debug, Clone, Copy)]
pub struct Search<'a> {
    /// Where to search; what is appended to it meanwhile is not searched.
    pub source: &'a dyn Source,
    pub needle: &'a Needle,
    /// Ends the search when it becomes true.
    pub cancel: &'a AtomicBool,
}

impl Search<'_> {
    /// The nearest hit from a place: its offset.
    pub fn find(&self, place: SearchFrom) -> Result<Option<u64>, SearchError> {
        let length = self.source.len();
        let blocks = match place {
            SearchFrom::AtOrAfter(offset) => Blocks::forward(offset, length),
            SearchFrom::Before(offset) => Blocks::backward(offset.min(length)),
        };
        let mut buffer = Vec::new();
        for index in 0..NEAR.min(blocks.count()) {
            if let Some(hit) = self.nearest_in(&blocks, index, length, &mut buffer)? {
                return Ok(Some(hit));
            }
        }
        self.find_far(&blocks, length)
    }

    /// Scans the blocks after the near ones on all cores. Blocks are taken in order, so the first block with a
    /// hit is known once all blocks before it are done.
    fn find_far(&self, blocks: &Blocks, length: u64) -> Result<Option<u64>, SearchError> {
        let next = AtomicU64::new(NEAR);
        let nearest = AtomicU64::new(u64::MAX);
        let results = Mutex::new(BTreeMap::new());
        let scan = || {
            let mut buffer = Vec::new();
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= blocks.count().min(nearest.load(Ordering::Relaxed)) {
                    return;
                }
                let result = self.nearest_in(blocks, index, length, &mut buffer);
                if !matches!(result, Ok(None)) {
                    nearest.fetch_min(index, Ordering::Relaxed);
                    lock(&results).insert(index, result);
                    return;
                }
            }
        };
        on_cores(blocks.count().saturating_sub(NEAR), cores(), &scan);
        let results = results.into_inner().unwrap_or_else(PoisonError::into_inner);
        results
            .into_iter()
            .next()
            .map_or(Ok(None), |(_, result)| result)
    }

    /// Hands all hits to `sink`, block by block in the order of the source, with the offset up to which the
    /// source is searched. `threads` bounds how many cores it takes.
    pub fn each(
        &self,
        threads: usize,
        sink: &mut (dyn FnMut(&[u64], u64) + Send),
    ) -> Result<(), SearchError> {
        let length = self.source.len();
        let blocks = Blocks::forward(0, length);
        let next = AtomicU64::new(0);
        let failed = AtomicBool::new(false);
        let delivery = Mutex::new(Delivery {
            next: 0,
            waiting: BTreeMap::new(),
            sink,
            result: Ok(()),
        });
        let scan = || {
            let (mut buffer, mut hits) = (Vec::new(), Vec::new());
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                if index >= blocks.count() || failed.load(Ordering::Relaxed) {
                    return;
                }
                hits.clear();
                let result = self.scan(&blocks.range(index), length, &mut buffer, |hit| {
                    hits.push(hit);
                    true
                });
                let mut delivery = lock(&delivery);
                match result {
                    Ok(()) => delivery.take(index, &mut hits, &blocks),
                    Err(error) => {
                        failed.store(true, Ordering::Relaxed);
                        delivery.result = Err(error);
                        return;
                    }
                }
            }
        };
        on_cores(blocks.count(), threads, &scan);
        delivery
            .into_inner()
            .unwrap_or_else(PoisonError::into_inner)
            .result
    }

    /// The hit of a block that is nearest to where the search began.
    fn nearest_in(
        &self,
        blocks: &Blocks,
        index: u64,
        length: u64,
        buffer: &mut Vec<u8>,
    ) -> Result<Option<u64>, SearchError> {
        let mut found = None;
        self.scan(&blocks.range(index), length, buffer, |hit| {
            found = Some(hit);
            blocks.is_backward
        })?;
        Ok(found)
    }

    /// Hands the hits that begin in `range` to `on_hit`, until it gives false. Reads beyond the range as far as
    /// a hit can reach.
    fn scan(
        &self,
        range: &Range<u64>,
        length: u64,
        buffer: &mut Vec<u8>,
        mut on_hit: impl FnMut(u64) -> bool,
    ) -> Result<(), SearchError> {
        if self.cancel.load(Ordering::Relaxed) {
            return Err(SearchError::Cancelled);
        }
        let start = range.start.saturating_sub(BEFORE);
        let end = (range.end + self.needle.longest() as u64 - 1).min(length);
        self.source.read_into(Span { start, end }, buffer)?;
        let from = usize::try_from(range.start - start).unwrap_or(usize::MAX);
        for hit in self.needle.find_all(buffer, from) {
            let hit = start + hit as u64;
            if hit >= range.end || !on_hit(hit) {
                break;
            }
        }
        Ok(())
    }
}

/// Hits that come in any order of blocks, handed on in the order of the source.
struct Delivery<'a> {
    next: u64,
    waiting: BTreeMap<u64, Vec<u64>>,
    sink: &'a mut (dyn FnMut(&[u64], u64) + Send),
    result: Result<(), SearchError>,
}

impl Delivery<'_> {
    fn take(&mut self, index: u64, hits: &mut Vec<u64>, blocks: &Blocks) {
        if index != self.next {
            self.waiting.insert(index, std::mem::take(hits));
            return;
        }
        (self.sink)(hits, blocks.range(index).end);
        self.next += 1;
        while let Some(waiting) = self.waiting.remove(&self.next) {
            (self.sink)(&waiting, blocks.range(self.next).end);
            self.next += 1;
        }
    }
}

/// A stretch of the source as blocks, numbered from where the search begins.
struct Blocks {
    range: Range<u64>,
    is_backward: bool,
}

impl Blocks {
    fn forward(offset: u64, length: u64) -> Self {
        Self {
            range: offset.min(length)..length,
            is_backward: false,
        }
    }

    fn backward(offset: u64) -> Self {
        Self {
            range: 0..offset,
            is_backward: true,
        }
    }

    fn count(&self) -> u64 {
        (self.range.end - self.range.start).div_ceil(BLOCK)
    }

    fn range(&self, index: u64) -> Range<u64> {
        if self.is_backward {
            let end = self.range.end - index * BLOCK;
            end.saturating_sub(BLOCK)..end
        } else {
            let start = self.range.start + index * BLOCK;
            start..(start + BLOCK).min(self.range.end)
        }
    }
}

/// Runs `work` on as many threads as there are cores and tasks, this one among them.
fn on_cores(tasks: u64, threads: usize, work: &(dyn Fn() + Sync)) {
    let others = usize::try_from(tasks)
        .unwrap_or(usize::MAX)
        .min(threads)
        .saturating_sub(1);
    thread::scope(|scope| {
        for _ in 0..others {
            scope.spawn(work);
        }
        work();
    });
}

pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn search<'a>(source: &'a Vec<u8>, needle: &'a Needle, cancel: &'a AtomicBool) -> Search<'a> {
        Search {
            source,
            needle,
            cancel,
        }
    }

    /// Filler with the needle at the given offsets.
    fn source_with(needle: &str, offsets: &[usize], length: usize) -> Vec<u8> {
        let mut source = b"{\"filler\":\"text\"}\n".repeat(length / 18 + 1);
        source.truncate(length);
        for offset in offsets {
            source[*offset..*offset + needle.len()].copy_from_slice(needle.as_bytes());
        }
        source
    }

    #[test]
    fn hits_are_found_from_any_place_in_both_directions_also_across_blocks() {
        let block = BLOCK as usize;
        let offsets = [0, 700, block - 3, 5 * block - 1, 9 * block, 12 * block - 6];
        for text in ["SEARCH", "found!", "aéb"] {
            let offsets = &offsets.map(|offset| offset.min(12 * block - text.len()));
            let source = source_with(text, offsets, 12 * block);
            let needle = Needle::new(text).unwrap();
            let cancel = AtomicBool::new(false);
            let search = search(&source, &needle, &cancel);
            for from in (0..source.len()).step_by(block / 3).chain(*offsets) {
                let after = offsets.iter().find(|offset| **offset >= from);
                let before = offsets.iter().rev().find(|offset| **offset < from);
                let place = SearchFrom::AtOrAfter(from as u64);
                assert_eq!(search.find(place), Ok(after.map(|offset| *offset as u64)));
                let place = SearchFrom::Before(from as u64);
                assert_eq!(search.find(place), Ok(before.map(|offset| *offset as u64)));
            }
            let (mut all, mut last) = (Vec::new(), 0);
            search
                .each(3, &mut |hits, searched| {
                    all.extend_from_slice(hits);
                    assert!(searched > last);
                    last = searched;
                })
                .unwrap();
            assert_eq!(all, offsets.map(|offset| offset as u64));
            assert_eq!(last, source.len() as u64);
        }
    }

    #[test]
    fn an_empty_source_and_places_beyond_the_end_have_no_hit() {
        let needle = Needle::new("x").unwrap();
        let cancel = AtomicBool::new(false);
        for source in [Vec::new(), b"abc".to_vec()] {
            let search = search(&source, &needle, &cancel);
            for place in [
                SearchFrom::AtOrAfter(0),
                SearchFrom::AtOrAfter(99),
                SearchFrom::Before(99),
            ] {
                assert_eq!(search.find(place), Ok(None));
            }
        }
    }

    #[test]
    fn a_search_can_be_called_off() {
        let source = source_with("x", &[], 4 << 20);
        let needle = Needle::new("absent").unwrap();
        let cancel = AtomicBool::new(true);
        let search = search(&source, &needle, &cancel);
        assert_eq!(
            search.find(SearchFrom::AtOrAfter(0)),
            Err(SearchError::Cancelled)
        );
        assert_eq!(search.each(2, &mut |_, _| ()), Err(SearchError::Cancelled));
    }

    #[test]
    fn a_file_that_was_cut_is_an_error_and_not_the_end() {
        #[derive(Debug)]
        struct Cut;
        impl Source for Cut {
            fn len(&self) -> u64 {
                8 << 20
            }
            fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
                Err(SourceError::Gone { span })
            }
        }
        let needle = Needle::new("x").unwrap();
        let cancel = AtomicBool::new(false);
        let search = Search {
            source: &Cut,
            needle: &needle,
            cancel: &cancel,
        };
        assert!(matches!(
            search.find(SearchFrom::Before(8 << 20)),
            Err(SearchError::Source(_))
        ));
        assert!(matches!(
            search.each(2, &mut |_, _| ()),
            Err(SearchError::Source(_))
        ));
    }
}
