//! What a proxy records: one journal for each process, written by a thread of its own. It
//! opens like any recording.
//!
//! Whoever forwards only hands over ([`Recorder::exchange`]) and never waits; bodies are shared and not copied.
//! What was handed over is bounded: beyond [`QUEUE`] bytes an exchange is recorded without its bodies, and says
//! so. Secrets are taken out on that thread, before anything is written. A plain exchange is on the disk after
//! a tenth of a second; what a decision depends on ([`Recorder::held`], [`Recorder::write`]) is acknowledged
//! once it is there.

mod interrupted;
mod journal;
mod past;
mod recorded;
mod secrets;
mod spell;
#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

pub use interrupted::{Interrupted, close_interrupted};
pub use past::past_news;
pub(crate) use recorded::{assemble, looks_streamed};

pub use recorded::{REPLY_CAP, REQUEST_CAP, RecordedBody, RecordedExchange, RecordedHead};

use crate::journal::{
    Clock, JournalError, JournalHeader, JournalSubject, Location, NotRecording, OpenFile,
    Subfolder, plain_name,
};
use crate::lock::lock;
use journal::ProxyJournal;
use journal::{DeferredExchange, Load, Tell, WriteItem, WriteJob, Writer};
use retake_core::exchange::ExchangeId;
use retake_core::exchange::entry::{ExchangeNote, SocketSide};
use retake_core::formats::retake_journal::{encode_header, encode_line};
use secrets::{Secrets, Spread};
pub(crate) use spell::RecordStage;
use spell::WrittenRequests;
use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::atomic::Ordering;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::thread::JoinHandle;
use tokio::sync::oneshot;

/// Most bytes of bodies that wait to be written.
pub const QUEUE: usize = 64 << 20;
/// Most entries that wait to be written.
const ENTRIES: usize = 100_000;

/// What a recorder is made of.
pub struct RecorderOptions {
    /// Where the journal is to be, or beside it with a number where there is a file already; `None` for
    /// [`proxies_folder`] of the operator's own folder.
    pub path: Option<PathBuf>,
    /// The operator's own folder, usually [`crate::takes::usual_root`].
    pub root: Option<PathBuf>,
    /// Host and port of each upstream.
    pub upstreams: Vec<String>,
    /// Secrets that must not be in any file, each with what its placeholder calls it.
    pub secrets: Vec<(String, String)>,
    pub clock: Clock,
    /// Is called when nothing can be recorded any more, and when it works again; from another thread.
    pub tell: Tell,
}

/// The folder of the journals of proxies, below the operator's own one.
pub fn proxies_folder(root: &Path) -> PathBuf {
    Subfolder::Proxies.path(root)
}

/// A journal that holds nothing but this exchange, without its secrets and these.
pub(crate) fn as_journal(
    recorded: &RecordedExchange,
    upstreams: &[String],
    secrets: &[(String, String)],
) -> serde_json::Result<Vec<u8>> {
    let mut secrets = Secrets::new(secrets.to_vec());
    let entry = spell::exchange(recorded, upstreams, &RecordStage::Over, &mut secrets)?;
    let mut text = encode_header();
    text.push_str(&encode_line(
        1,
        &entry.in_file(&mut WrittenRequests::default()),
    ));
    Ok(text.into_bytes())
}

/// Records what passes through a proxy. When it is dropped, everything that was handed over is written.
#[derive(Debug)]
pub struct Recorder {
    jobs: Mutex<Option<Sender<WriteJob>>>,
    load: Arc<Load>,
    clock: Clock,
    warning: Option<String>,
    /// Most bytes of bodies that wait.
    most: usize,
    thread: Mutex<Option<JoinHandle<()>>>,
}

/// Comes true when an entry is on the disk, and false when it cannot be written for now: it will be, as soon
/// as that works again.
pub type OnDisk = oneshot::Receiver<bool>;

impl Recorder {
    /// Begins the journal of a proxy: with `Ok` the file is there.
    pub fn begin(options: RecorderOptions) -> Result<Self, NotRecording> {
        Self::begin_on(|file| Box::new(file), QUEUE, options)
    }

    fn begin_on(
        open: OpenFile,
        most: usize,
        options: RecorderOptions,
    ) -> Result<Self, NotRecording> {
        let clock = options.clock;
        let trouble = |why| NotRecording {
            since: clock(),
            why,
        };
        let location = location(&options).map_err(trouble)?;
        let warning = warning(&location);
        let journal = ProxyJournal::begin(Location { open, ..location }, clock)?;
        let load = Arc::new(Load::default());
        *lock(&load.path) = journal.path();
        let failed = journal.path();
        let writer = Writer {
            journal,
            upstreams: options.upstreams,
            secrets: Secrets::new(options.secrets),
            spread: Spread::default(),
            load: load.clone(),
            tell: options.tell,
            trouble: None,
            held: BTreeSet::new(),
        };
        let (jobs, received) = channel();
        let thread = std::thread::Builder::new().name("recorder".to_owned());
        let thread = thread
            .spawn(move || writer.run(&received))
            .map_err(|error| {
                trouble(JournalError::Failed {
                    journal: failed,
                    error,
                })
            })?;
        Ok(Self {
            jobs: Mutex::new(Some(jobs)),
            load,
            clock,
            warning,
            most,
            thread: Mutex::new(Some(thread)),
        })
    }

    pub fn path(&self) -> PathBuf {
        lock(&self.load.path).clone()
    }

    /// What the operator should know of the place of the journal: that others could look into its folder.
    pub fn warning(&self) -> Option<&str> {
        self.warning.as_deref()
    }

    /// How much waits to be written: bytes of bodies, and entries.
    pub fn queued(&self) -> (usize, usize) {
        let bytes = self.load.bytes.load(Ordering::Relaxed);
        (bytes, self.load.entries.load(Ordering::Relaxed))
    }

    /// Records an exchange that is over.
    pub fn exchange(&self, recorded: impl Into<Arc<RecordedExchange>>) {
        self.hand_over_whole(recorded.into(), RecordStage::Over, None);
    }

    /// Records an exchange whose reply takes a while, as far as it is known: should the proxy be killed,
    /// its request is there.
    pub fn began(&self, recorded: impl Into<Arc<RecordedExchange>>) {
        self.hand_over_whole(recorded.into(), RecordStage::Began, None);
    }

    /// Records an exchange that the thread that writes puts together. `cost` is what it keeps in memory.
    pub(crate) fn put_together(&self, cost: usize, stage: RecordStage, exchange: DeferredExchange) {
        self.hand_over(cost, exchange, stage, None);
    }

    /// Records what nobody waits for.
    pub fn note(&self, entry: ExchangeNote) {
        self.send(WriteItem::Entry(entry), 0, None);
    }

    /// Records an exchange that waits for a decision, as far as it is known; `run` is the file of the run that
    /// the hold is. Nothing of it is to be answered before this is on the disk, or cannot be.
    pub fn held(&self, recorded: RecordedExchange, run: Option<PathBuf>) -> OnDisk {
        let (acknowledge, on_disk) = oneshot::channel();
        self.hand_over_whole(recorded.into(), RecordStage::Held(run), Some(acknowledge));
        on_disk
    }

    /// Records what is to be on the disk before it takes effect: a decision about a held exchange.
    pub fn write(&self, entry: ExchangeNote) -> OnDisk {
        let (acknowledge, on_disk) = oneshot::channel();
        self.send(WriteItem::Entry(entry), 0, Some(acknowledge));
        on_disk
    }

    /// Knows the secrets of a head, before anything else of its exchange is recorded.
    pub fn learn(&self, head: RecordedHead) {
        self.send(WriteItem::Shown(head.secrets), 0, None);
    }

    /// Records a message of a WebSocket that passed. One that is longer than `REPLY_CAP` is
    /// named by its length.
    pub fn observed(&self, id: ExchangeId, from: SocketSide, message: &str) {
        let cost = message.len();
        let is_too_much =
            cost as u64 > REPLY_CAP || self.queued().0.saturating_add(cost) > self.most;
        let (message, cost) = match is_too_much {
            true => (format!("[{cost} bytes]"), 0),
            false => (message.to_owned(), cost),
        };
        let at = (self.clock)();
        self.send(WriteItem::Observed(id, at, from, message), cost, None);
    }

    fn hand_over_whole(
        &self,
        recorded: Arc<RecordedExchange>,
        stage: RecordStage,
        acknowledge: Option<oneshot::Sender<bool>>,
    ) {
        let cost = recorded.cost();
        self.hand_over(cost, Box::new(move || recorded), stage, acknowledge);
    }

    fn hand_over(
        &self,
        cost: usize,
        exchange: DeferredExchange,
        stage: RecordStage,
        acknowledge: Option<oneshot::Sender<bool>>,
    ) {
        let (waiting, entries) = self.queued();
        if entries >= ENTRIES && acknowledge.is_none() {
            self.load.lost.fetch_add(1, Ordering::Relaxed);
            exchange();
        } else if waiting > 0 && waiting.saturating_add(cost) > self.most {
            // What comes alone is taken, whatever its length: a request may have as much as the queue.
            let recorded = Arc::unwrap_or_clone(exchange()).without_bodies();
            let exchange = Box::new(move || Arc::new(recorded));
            self.send(WriteItem::Exchange(exchange, stage), 0, acknowledge);
        } else {
            self.send(WriteItem::Exchange(exchange, stage), cost, acknowledge);
        }
    }

    fn send(&self, what: WriteItem, cost: usize, acknowledge: Option<oneshot::Sender<bool>>) {
        self.load.bytes.fetch_add(cost, Ordering::Relaxed);
        self.load.entries.fetch_add(1, Ordering::Relaxed);
        let job = WriteJob {
            what,
            cost,
            acknowledge,
        };
        if let Some(jobs) = &*lock(&self.jobs) {
            // The thread ends after this sender is gone. Should it have failed, the receiver of the
            // acknowledgement is its end.
            let _ = jobs.send(job);
        }
    }

    /// Ends the journal once everything is written that was handed over; what comes later is not recorded.
    pub fn close(&self) {
        drop(lock(&self.jobs).take());
        if let Some(thread) = lock(&self.thread).take() {
            // A thread that failed has nothing more to write.
            let _ = thread.join();
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        self.close();
    }
}

/// Where the journal has its place.
fn location(options: &RecorderOptions) -> Result<Location, JournalError> {
    let began = (options.clock)();
    let header = JournalHeader::new(JournalSubject::Proxy {
        upstreams: options.upstreams.clone(),
        began,
    });
    let Some(path) = &options.path else {
        let root = options.root.clone().ok_or(JournalError::NoHome)?;
        let upstream = options.upstreams.first().map_or("proxy", String::as_str);
        let name = plain_name(upstream.as_bytes());
        let stem = format!("{name}-{began}");
        return Ok(Location::own(&root, Subfolder::Proxies, stem, header));
    };
    let location = match fs::symlink_metadata(path).is_ok_and(|known| !known.is_file()) {
        true => {
            let why =
                "a journal is a file of its own; without a name it goes to retake's own folder";
            Err(io::Error::new(io::ErrorKind::InvalidInput, why))
        }
        false => Location::named(path, header),
    };
    location.map_err(|error| JournalError::Failed {
        journal: path.clone(),
        error,
    })
}

/// That retake's own folder was open to others and is closed to them. In a folder that the operator named the
/// journal itself is for them alone, and there is nothing to do.
fn warning(location: &Location) -> Option<String> {
    if location.below == Subfolder::None {
        return None;
    }
    let path = location.below.path(&location.root);
    let folder = location.folder().ok()??;
    let mode = folder.mode().ok().filter(|mode| mode & 0o077 != 0)?;
    let path = path.display();
    Some(format!(
        "others could look into {path} (mode {mode:04o}); it is closed to them now"
    ))
}
