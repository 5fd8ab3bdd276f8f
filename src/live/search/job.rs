//! A background search that reports from its thread.

use super::{Needle, Search, SearchError, SearchFrom, cores};
use retake_core::session::Source;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

/// A background search. Dropping it cancels the search.
#[derive(Debug)]
pub struct Job {
    cancel: Arc<AtomicBool>,
}

/// How far a count is.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SearchCount {
    pub hits: u64,
    /// How many bytes are searched.
    pub searched: u64,
    pub complete: bool,
}

impl Job {
    /// Looks for one hit; `on_found` is called once, in another thread, unless the job is dropped before.
    pub fn find(
        source: Arc<dyn Source>,
        needle: Arc<Needle>,
        place: SearchFrom,
        on_found: impl FnOnce(Result<Option<u64>, SearchError>) + Send + 'static,
    ) -> Self {
        Self::start(move |cancel| {
            let search = Search {
                source: &*source,
                needle: &needle,
                cancel,
            };
            match search.find(place) {
                Err(SearchError::Cancelled) => {}
                found if !cancel.load(Ordering::Relaxed) => on_found(found),
                _ => {}
            }
        })
    }

    /// Counts all hits; `on_tally` is called now and then, and at the end. Leaves one core to others.
    pub fn count(
        source: Arc<dyn Source>,
        needle: Arc<Needle>,
        mut on_tally: impl FnMut(Result<SearchCount, SearchError>) + Send + 'static,
    ) -> Self {
        /// How many bytes lie between two reports.
        const STEP: u64 = 64 << 20;
        Self::start(move |cancel| {
            let search = Search {
                source: &*source,
                needle: &needle,
                cancel,
            };
            let (mut tally, mut reported) = (SearchCount::default(), 0);
            let result = search.each(cores().saturating_sub(1).max(1), &mut |hits, searched| {
                tally.hits += hits.len() as u64;
                tally.searched = searched;
                if searched >= reported + STEP {
                    reported = searched;
                    on_tally(Ok(tally.clone()));
                }
            });
            match result {
                Err(SearchError::Cancelled) => {}
                Err(error) => on_tally(Err(error)),
                Ok(()) => {
                    tally.complete = true;
                    on_tally(Ok(tally));
                }
            }
        })
    }

    fn start(work: impl FnOnce(&AtomicBool) + Send + 'static) -> Self {
        let cancel = Arc::new(AtomicBool::new(false));
        let watched = cancel.clone();
        thread::spawn(move || work(&watched));
        Self { cancel }
    }
}

impl Drop for Job {
    fn drop(&mut self) {
        self.cancel.store(true, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use super::super::tests::source_with;
    use super::*;
    use std::sync::mpsc;

    #[test]
    fn jobs_answer_behind_and_a_dropped_one_is_silent() {
        let source: Arc<dyn Source> = Arc::new(source_with("HERE", &[3 << 20], 4 << 20));
        let needle = Arc::new(Needle::new("HERE").unwrap());
        let (send, receive) = mpsc::channel();
        let _job = Job::find(
            source.clone(),
            needle.clone(),
            SearchFrom::AtOrAfter(0),
            move |found| {
                send.send(found).unwrap();
            },
        );
        assert_eq!(receive.recv().unwrap(), Ok(Some(3 << 20)));
        let (send, receive) = mpsc::channel();
        let _job = Job::count(source, needle, move |tally| send.send(tally).unwrap());
        let last = receive.iter().last().unwrap().unwrap();
        assert_eq!(
            (last.hits, last.searched, last.complete),
            (1, 4 << 20, true)
        );
    }
}
