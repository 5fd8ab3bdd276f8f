//! The thread that writes: it takes what was handed over, spells it, and never makes anybody wait who
//! did not ask to.

use super::journal::ProxyJournal;
use super::recorded::Recorded;
use super::secrets::{Secrets, Spread};
use super::spell::{self, RecordStage};
use crate::lock::lock;
use retake_core::exchange::ExchangeId;
use retake_core::exchange::entry::{Entry, Side};
use retake_core::redact::HeaderSecret;
use serde_json::Value;
use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::sync::{Arc, Mutex};
use std::time::Duration;
use tokio::sync::oneshot;

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
#[derive(Debug)]
pub(crate) struct WriteJob {
    pub(crate) what: WriteItem,
    /// What it keeps in memory.
    pub(crate) cost: usize,
    pub(crate) acknowledge: Option<oneshot::Sender<bool>>,
}

#[derive(Debug)]
pub(crate) enum WriteItem {
    Exchange(Box<Recorded>, RecordStage),
    Observed(ExchangeId, u64, Side, String),
    Entry(Entry),
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
    /// Why nothing is recorded, as it was told.
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
            self.add(&Entry::Closed { at });
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
            WriteItem::Exchange(recorded, stage) => {
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
                let entry = Entry::Observed {
                    id,
                    at,
                    from,
                    message,
                };
                serde_json::to_string(&entry).map(|entry| self.secrets.redact(entry))
            }
            WriteItem::Entry(entry) => {
                serde_json::to_string(&entry).map(|entry| self.secrets.redact(entry))
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

    fn add(&mut self, entry: &Entry) {
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
