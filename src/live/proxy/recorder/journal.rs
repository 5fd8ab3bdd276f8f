//! The file of a proxy's journal: lines at its end, another file when this one can no longer be written to.
//!
//! What is not known to be on the disk is kept in memory, up to a bound, and written as soon as that works
//! again. A file is never trusted after a failed sync: the next one begins with what that may have lost.

use super::recorded::RecordedExchange;
use super::secrets::{Secrets, Spread};
use super::spell::{self, EntryText, RecordStage, WrittenRequests};
use crate::journal::{
    AppendError, Clock, JournalError, JournalFile, Location, NotRecording, unlock,
};
use crate::lock::lock;
use retake_core::exchange::ExchangeId;
use retake_core::exchange::entry::{ExchangeNote, SocketSide};
use retake_core::redact::HeaderSecret;
use serde_json::Value;
use std::borrow::Cow;
use std::collections::{BTreeSet, VecDeque};
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tokio::sync::oneshot;

/// How long a plain exchange may be in the memory of the system only.
pub(crate) const SYNC: Duration = Duration::from_millis(100);
/// Most bytes that are in the memory of the system only: they are kept in ours until then.
const UNSYNCED: usize = 4 << 20;
/// How long until the next attempt after an error of the system.
const RETRY: Duration = Duration::from_secs(1);
/// How much is kept in memory while nothing can be written.
const BACKLOG: usize = 64 << 20;

/// An entry that is not known to be on the disk.
#[derive(Debug)]
struct Waiting {
    entry: EntryText,
    /// Whether it is in the file that is open.
    is_written: bool,
    acknowledge: Option<oneshot::Sender<bool>>,
}

#[derive(Debug)]
pub(crate) struct ProxyJournal {
    location: Location,
    clock: Clock,
    file: Option<JournalFile>,
    /// The requests that the file has.
    written: WrittenRequests,
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
            written: WrittenRequests::default(),
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
    pub(crate) fn add(
        &mut self,
        entry: impl Into<EntryText>,
        acknowledge: Option<oneshot::Sender<bool>>,
    ) {
        let entry = entry.into();
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
            let lost = ExchangeNote::Lost {
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
        let unwritten: Vec<Cow<'_, str>> = unwritten
            .map(|one| one.entry.in_file(&mut self.written))
            .collect();
        if unwritten.is_empty() {
            return Ok(());
        }
        match file.write_lines(&unwritten) {
            Ok(()) => self.mark_written(),
            Err(error) => {
                // None of these requests is in the file.
                self.written = WrittenRequests::default();
                return self.fail(error);
            }
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
        self.acknowledge();
        Ok(())
    }

    /// Everything is on the disk.
    fn acknowledge(&mut self) {
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

    /// Begins a file with everything that waits, of the wanted name, or of one with a number.
    fn start(&mut self) -> Result<(), JournalError> {
        let failed = |error| self.location.failed(error);
        let folder = self.location.make_folder().map_err(failed)?;
        let (name, file) = folder.create_journal(&self.location.stem).map_err(failed)?;
        let mut written = WrittenRequests::default();
        let waiting = self.waiting.iter();
        let entries: Vec<Cow<'_, str>> =
            waiting.map(|one| one.entry.in_file(&mut written)).collect();
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
        self.written = written;
        self.location = location;
        self.acknowledge();
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

// The thread that writes: it takes what was handed over, spells it, and never makes anybody wait who
// did not ask to.

/// So long jobs gather once all were taken: nobody who hands over has to wake this thread meanwhile.
const REST: Duration = Duration::from_millis(5);
/// How much is spelled before it is written.
const BATCH: usize = 64;

/// What was handed over and is not written yet; shared with whoever hands over.
#[derive(Debug, Default)]
pub(crate) struct Load {
    pub(crate) bytes: AtomicUsize,
    pub(crate) entries: AtomicUsize,
    /// Exchanges that were not even handed over, since too many were.
    pub(crate) lost: AtomicU64,
    /// Where the journal is.
    pub(crate) path: Mutex<PathBuf>,
}

/// One entry that was handed over.
pub(crate) struct WriteJob {
    pub(crate) what: WriteItem,
    /// What it keeps in memory.
    pub(crate) cost: usize,
    pub(crate) acknowledge: Option<oneshot::Sender<bool>>,
}

/// Gives an exchange that is to be written.
pub(crate) type DeferredExchange = Box<dyn FnOnce() -> Arc<RecordedExchange> + Send>;

pub(crate) enum WriteItem {
    Exchange(DeferredExchange, RecordStage),
    Observed(ExchangeId, u64, SocketSide, String),
    Entry(ExchangeNote),
    /// Secrets of header lines, to be known from now on.
    Shown(Vec<HeaderSecret>),
}

/// Tells the operator something.
pub(crate) type Tell = Box<dyn Fn(String) + Send>;

pub(crate) struct Writer {
    pub(crate) journal: ProxyJournal,
    /// Host and port of each upstream.
    pub(crate) upstreams: Vec<String>,
    pub(crate) secrets: Secrets,
    /// What WebSockets say piece by piece.
    pub(crate) spread: Spread,
    pub(crate) load: Arc<Load>,
    pub(crate) tell: Tell,
    /// Why nothing is recorded, as it was reported.
    pub(crate) trouble: Option<String>,
    /// What is held, as far as it was taken.
    pub(crate) held: BTreeSet<ExchangeId>,
}

impl Writer {
    /// Writes until nobody can hand over any more.
    pub(crate) fn run(mut self, jobs: &Receiver<WriteJob>) {
        let mut rests = false;
        loop {
            let job = match self.journal.rests() {
                Some(wait) => jobs.recv_timeout(wait),
                None => jobs.recv().map_err(|_| RecvTimeoutError::Disconnected),
            };
            match job {
                Ok(job) => {
                    self.take(job);
                    for _ in 0..BATCH {
                        if self.journal.is_full() {
                            break;
                        }
                        let Ok(job) = jobs.try_recv() else {
                            rests = true;
                            break;
                        };
                        self.take(job);
                    }
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => break,
            }
            self.flush(false);
            if std::mem::take(&mut rests) {
                std::thread::sleep(REST);
            }
        }
        if self.held.is_empty() {
            let at = self.journal.now();
            self.add(&ExchangeNote::Closed { at });
        }
        self.flush(true);
    }

    fn take(&mut self, job: WriteJob) {
        let WriteJob {
            what,
            cost,
            acknowledge,
        } = job;
        let spelled = match what {
            WriteItem::Exchange(exchange, stage) => {
                let recorded = exchange();
                let id = recorded.seen.id;
                match &stage {
                    RecordStage::Over => {
                        self.held.remove(&id);
                        self.spread.ends(id);
                    }
                    RecordStage::Began => {}
                    RecordStage::Held(_) => {
                        self.held.insert(id);
                    }
                }
                spell::exchange(&recorded, &self.upstreams, &stage, &mut self.secrets)
            }
            WriteItem::Observed(id, at, from, text) => {
                // It is read here, and not where it passes.
                let message = serde_json::from_str(&text);
                let mut message = message.unwrap_or_else(|_| Value::from(text));
                self.spread.redact(id, &mut message, &self.secrets);
                let entry = ExchangeNote::Observed {
                    id,
                    at,
                    from,
                    message,
                };
                serde_json::to_string(&entry).map(|entry| self.secrets.redact(entry).into())
            }
            WriteItem::Entry(entry) => {
                serde_json::to_string(&entry).map(|entry| self.secrets.redact(entry).into())
            }
            WriteItem::Shown(shown) => {
                self.secrets.learn(&shown);
                self.load.entries.fetch_sub(1, Ordering::Relaxed);
                return;
            }
        };
        self.load.bytes.fetch_sub(cost, Ordering::Relaxed);
        self.load.entries.fetch_sub(1, Ordering::Relaxed);
        match spelled {
            Ok(entry) => self.journal.add(entry, acknowledge),
            Err(error) => {
                self.journal.lose(1);
                (self.tell)(format!("an exchange cannot be recorded: {error}"));
            }
        }
    }

    fn add(&mut self, entry: &ExchangeNote) {
        // An entry without bodies can always be spelled.
        if let Ok(entry) = serde_json::to_string(entry) {
            self.journal.add(entry, None);
        }
    }

    /// Writes, and says once when that fails and once when it works again.
    fn flush(&mut self, is_last: bool) {
        self.journal.lose(self.load.lost.swap(0, Ordering::Relaxed));
        self.journal.flush(is_last);
        let now = self.journal.trouble().map(ToString::to_string);
        match (&self.trouble, &now) {
            (None, Some(trouble)) => (self.tell)(trouble.clone()),
            (Some(_), None) => {
                let path = self.journal.path();
                (self.tell)(format!("recording again, in {}", path.display()));
            }
            _ => {}
        }
        self.trouble = now;
        *lock(&self.load.path) = self.journal.path();
    }
}
