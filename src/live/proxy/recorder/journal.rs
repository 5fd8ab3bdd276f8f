//! The file of a proxy's journal: lines at its end, another file when this one can no longer be written to.
//!
//! What is not known to be on the disk is kept in memory, up to a bound, and written as soon as that works
//! again. A file is never trusted after a failed sync: the next one begins with what that may have lost.

use crate::journal::{
    AppendError, Clock, JournalError, JournalFile, Location, NotRecording, unlock,
};
use retake_core::exchange::entry::Entry;
use std::collections::VecDeque;
use std::path::PathBuf;
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a plain exchange may be in the memory of the system only.
pub(crate) const SYNC: Duration = Duration::from_millis(100);
/// Most bytes that are in the memory of the system only: they are kept in ours until then.
const UNSYNCED: usize = 4 << 20;
/// How long until it is tried again when the system said no.
const RETRY: Duration = Duration::from_secs(1);
/// How much is kept in memory while nothing can be written.
const BACKLOG: usize = 64 << 20;

/// An entry that is not known to be on the disk.
#[derive(Debug)]
struct Waiting {
    entry: String,
    /// Whether it is in the file that is open.
    is_written: bool,
    acknowledge: Option<oneshot::Sender<bool>>,
}

#[derive(Debug)]
pub(crate) struct ProxyJournal {
    location: Location,
    clock: Clock,
    file: Option<JournalFile>,
    waiting: VecDeque<Waiting>,
    bytes: usize,
    lost: u64,
    synced: Instant,
    trouble: Option<(NotRecording, Instant)>,
}

impl ProxyJournal {
    /// Makes the file; its first line is on the disk.
    pub(crate) fn begin(location: Location, clock: Clock) -> Result<Self, NotRecording> {
        let mut journal = Self {
            location,
            clock,
            file: None,
            waiting: VecDeque::new(),
            bytes: 0,
            lost: 0,
            synced: Instant::now(),
            trouble: None,
        };
        match journal.start() {
            Ok(()) => Ok(journal),
            Err(why) => Err(NotRecording {
                since: clock(),
                why,
            }),
        }
    }

    pub(crate) fn path(&self) -> PathBuf {
        self.location.path()
    }

    pub(crate) fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Why nothing is recorded, while that is so.
    pub(crate) fn trouble(&self) -> Option<&NotRecording> {
        self.trouble.as_ref().map(|(trouble, _)| trouble)
    }

    /// Takes an entry; it is written by the next [`Self::flush`].
    pub(crate) fn add(&mut self, entry: String, acknowledge: Option<oneshot::Sender<bool>>) {
        self.bytes += entry.len();
        self.waiting.push_back(Waiting {
            entry,
            is_written: false,
            acknowledge,
        });
        // Unwritten entries are given up only where nothing can be written.
        let may_go = |oldest: &Waiting| oldest.is_written || self.trouble.is_some();
        while self.bytes > BACKLOG
            && self.waiting.len() > 1
            && self.waiting.front().is_some_and(may_go)
        {
            if let Some(oldest) = self.waiting.pop_front() {
                self.bytes -= oldest.entry.len();
                self.lost += u64::from(!oldest.is_written);
            }
        }
    }

    /// Whether so much is not on the disk yet that it should be brought there.
    pub(crate) fn is_full(&self) -> bool {
        self.bytes >= UNSYNCED
    }

    /// Notes that exchanges were not even handed over.
    pub(crate) fn lose(&mut self, count: u64) {
        self.lost += count;
    }

    /// How long it may be left alone; `None` while there is nothing to do.
    pub(crate) fn rests(&self) -> Option<Duration> {
        let until = match &self.trouble {
            Some((_, tried)) => *tried + RETRY,
            None => self.synced + SYNC,
        };
        let has_work = !self.waiting.is_empty() || self.lost > 0;
        has_work.then(|| until.saturating_duration_since(Instant::now()))
    }

    /// Writes what was taken, and brings it to the disk where somebody waits for that or it was not
    /// done for a while.
    pub(crate) fn flush(&mut self, is_last: bool) {
        let rests = self
            .trouble
            .as_ref()
            .is_some_and(|(_, tried)| tried.elapsed() < RETRY);
        if rests && !is_last {
            self.refuse();
            return;
        }
        let is_urgent = self.waiting.iter().any(|one| one.acknowledge.is_some());
        let is_due = is_last || is_urgent || self.is_full() || self.synced.elapsed() >= SYNC;
        match self
            .write()
            .and_then(|()| if is_due { self.sync() } else { Ok(()) })
        {
            Ok(()) => self.trouble = None,
            Err(why) => {
                let since = self.trouble.as_ref().map(|(trouble, _)| trouble.since);
                let since = since.unwrap_or_else(|| self.now());
                self.trouble = Some((NotRecording { since, why }, Instant::now()));
                self.refuse();
            }
        }
    }

    /// Tells everybody who waits that it will take longer.
    fn refuse(&mut self) {
        for acknowledge in self
            .waiting
            .iter_mut()
            .filter_map(|one| one.acknowledge.take())
        {
            // Who no longer waits need not know.
            let _ = acknowledge.send(false);
        }
    }

    fn write(&mut self) -> Result<(), JournalError> {
        if self.lost > 0 {
            let lost = Entry::Lost {
                at: self.now(),
                count: self.lost,
            };
            if let Ok(entry) = serde_json::to_string(&lost) {
                self.lost = 0;
                self.add(entry, None);
            }
        }
        let Some(file) = &mut self.file else {
            return self.start();
        };
        let unwritten = self.waiting.iter().filter(|one| !one.is_written);
        let unwritten: Vec<&str> = unwritten.map(|one| one.entry.as_str()).collect();
        if unwritten.is_empty() {
            return Ok(());
        }
        match file.write_lines(&unwritten) {
            Ok(()) => self.mark_written(),
            Err(error) => return self.fail(error),
        }
        Ok(())
    }

    fn sync(&mut self) -> Result<(), JournalError> {
        if self.waiting.is_empty() {
            return Ok(());
        }
        if let Some(Err(error)) = self.file.as_mut().map(JournalFile::sync) {
            self.fail(error)?;
        }
        self.settle();
        Ok(())
    }

    /// Everything is on the disk.
    fn settle(&mut self) {
        self.synced = Instant::now();
        self.bytes = 0;
        for acknowledge in self.waiting.drain(..).filter_map(|one| one.acknowledge) {
            // Who no longer waits need not know.
            let _ = acknowledge.send(true);
        }
    }

    fn mark_written(&mut self) {
        self.waiting
            .iter_mut()
            .for_each(|one| one.is_written = true);
    }

    /// A file that refused a line is tried again later; one that cannot be trusted is left,
    /// and another one begins.
    fn fail(&mut self, error: AppendError) -> Result<(), JournalError> {
        if let AppendError::Undone(error) = error {
            return Err(self.location.failed(error));
        }
        if let Some(file) = self.file.take() {
            unlock(file.file());
        }
        self.waiting
            .iter_mut()
            .for_each(|one| one.is_written = false);
        self.start()
    }

    /// Begins a file with everything that waits, of the name that was asked for, or of one with a number.
    fn start(&mut self) -> Result<(), JournalError> {
        let failed = |error| self.location.failed(error);
        let folder = self.location.make_folder().map_err(failed)?;
        let (name, file) = folder.create_journal(&self.location.stem).map_err(failed)?;
        let entries: Vec<&str> = self.waiting.iter().map(|one| one.entry.as_str()).collect();
        let location = Location {
            name,
            ..self.location.clone()
        };
        let filled = location.fill(file, &entries).and_then(|file| {
            folder.sync()?;
            Ok(file)
        });
        if filled.is_err() {
            // The next try makes it anew; that this one could not be removed either does no harm.
            let _ = folder.remove(&location.name);
        }
        self.file = Some(filled.map_err(failed)?);
        self.location = location;
        self.settle();
        Ok(())
    }
}

impl Drop for ProxyJournal {
    fn drop(&mut self) {
        if let Some(file) = &self.file {
            unlock(file.file());
        }
    }
}
