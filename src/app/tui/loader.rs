//! Reads and checks the file on a thread of its own, and watches it while it grows. Sends reports; the screen
//! never waits for it.

pub(super) mod contents;
mod hits;
pub(super) mod paths;
mod searching;
mod sieve;
pub mod takes;
#[cfg(test)]
pub(super) mod tests;
mod work;

use super::effect::{LiveCommand, TakeOrder, TakesCommand};
use super::report::Report;
use super::state::document::{Checked, Document, Extent};
use retake_core::formats::Reading;
use retake_core::session::takes::FindingCounts;
use retake_live::{
    FileGrowth, InputError, OpenedInput, Recording, check_session, file_places, in_background,
};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};
use takes::bench::{Bench, Job};
use takes::checking::add;
use takes::conductor::Staged;
use takes::worker;
pub use work::Knowledge;
use work::{Hear, Work};

/// Least time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(50);
/// How often a followed file is looked at.
const LOOK: Duration = Duration::from_millis(4);
/// How many problems get the number of their line: it takes a pass over the file.
const NUMBERED: usize = 1000;
/// How long a large file that grew is left in peace before it is put together.
const QUIET: Duration = Duration::from_millis(500);
/// Followed files of up to so many bytes are put together at once.
const SMALL: u64 = 1 << 20;

/// The loader from outside.
pub struct Loader {
    /// Documents that nobody needs any more: to free a large one takes a while.
    discarded: Sender<Arc<Document>>,
    watching: Arc<AtomicBool>,
    /// Calls the last search off.
    searching: Arc<AtomicBool>,
    /// Calls the last count off.
    counting: Arc<AtomicBool>,
    totalling: Arc<AtomicBool>,
    closing: Arc<AtomicBool>,
    /// Calls the last filter off.
    sifting: Arc<AtomicBool>,
    opening: Arc<OpenedInput>,
    read_to: Arc<AtomicU64>,
    knowledge: Arc<Knowledge>,
    bench: Arc<Bench>,
    /// What is to be done to the takes.
    jobs: Sender<Job>,
    staged: Staged,
    reports: Hear,
}

/// How long the end of a live run is waited for when its file is closed.
const END: Duration = Duration::from_secs(8);

impl Drop for Loader {
    fn drop(&mut self) {
        self.counting.store(true, Ordering::Relaxed);
        self.totalling.store(true, Ordering::Relaxed);
        self.closing.store(true, Ordering::Relaxed);
        self.bench.set_jobs(None);
        let (closed, ends) = channel();
        if self.jobs.send(Job::Close(closed)).is_ok() && self.bench.is_live() {
            // What does not end in time ends with the process.
            let _ = ends.recv_timeout(END);
        }
    }
}

impl Loader {
    /// Starts to read; `reports` hears of it.
    pub fn start(
        opening: Arc<OpenedInput>,
        knowledge: Arc<Knowledge>,
        staged: Staged,
        reports: Hear,
    ) -> Self {
        let (discarded, received) = channel::<Arc<Document>>();
        let read_to = Arc::new(AtomicU64::new(opening.length()));
        let bench = Arc::new(Bench::default());
        let work = Work {
            opening: opening.clone(),
            read_to: read_to.clone(),
            knowledge: knowledge.clone(),
            bench: bench.clone(),
            staged: staged.clone(),
            reports: reports.clone(),
        };
        let jobs = worker::start(work.clone());
        bench.set_jobs(Some(jobs.clone()));
        let begin = staged.is_there().then(|| jobs.clone());
        std::thread::spawn(move || {
            if let Err(error) = in_background(|| work.read()) {
                work.tell(Report::Failed(error.to_string()));
            } else if let Some(jobs) = begin {
                let agent = String::new();
                // Nobody is there to begin it when the file is closed already.
                let _ = jobs.send(Job::Live(LiveCommand::Begin { agent }));
            }
            received.iter().for_each(drop);
        });
        Self {
            discarded,
            watching: Arc::new(AtomicBool::new(false)),
            searching: Arc::new(AtomicBool::new(false)),
            counting: Arc::new(AtomicBool::new(false)),
            totalling: Arc::default(),
            closing: Arc::default(),
            sifting: Arc::new(AtomicBool::new(false)),
            opening,
            read_to,
            knowledge,
            bench,
            jobs,
            staged,
            reports,
        }
    }

    fn work(&self) -> Work {
        Work {
            opening: self.opening.clone(),
            read_to: self.read_to.clone(),
            knowledge: self.knowledge.clone(),
            bench: self.bench.clone(),
            staged: self.staged.clone(),
            reports: self.reports.clone(),
        }
    }

    pub fn make_take(&self, order: TakeOrder) {
        self.ask(Job::Make(Box::new(order)));
    }

    /// Does something to the live run.
    pub fn command_live(&self, command: LiveCommand) {
        self.ask(Job::Live(command));
    }

    /// Does something to the takes; `shown` is what the screen shows.
    pub fn command_takes(&self, command: TakesCommand, shown: Option<Arc<Document>>) {
        self.ask(Job::Obey(command, shown));
    }

    fn ask(&self, job: Job) {
        if self.jobs.send(job).is_err() {
            let words = "the takes can no longer be changed: reopen the file";
            (self.reports)(Report::Notice(words.to_owned()));
        }
    }

    /// Drops a document where nobody waits for it.
    pub fn discard(&self, document: Arc<Document>) {
        // Without a thread to do it, it is dropped here.
        let _ = self.discarded.send(document);
    }

    /// The end of the file, read on its own.
    pub fn tail(&self) -> Result<Option<Report>, InputError> {
        let Some(recording) = self.opening.tail()? else {
            return Ok(None);
        };
        Ok(Some(Report::Tail(Arc::new(Document {
            recording: Arc::new(recording),
            extent: Extent::Tail,
        }))))
    }

    /// Starts or stops to watch the file.
    pub fn watch(&self, on: bool) {
        let was_on = self.watching.swap(on, Ordering::Relaxed);
        if !on || was_on {
            return;
        }
        let mut work = self.work();
        let watching = self.watching.clone();
        std::thread::spawn(move || {
            if let Err(error) = work.watch(&watching) {
                work.tell(Report::Failed(error.to_string()));
            }
        });
    }
}

/// Why a file is no longer watched.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Watched {
    /// Nobody wants it, or it cannot be followed.
    Enough,
    /// It was cut, or another file has its name.
    Replaced,
}

impl Work {
    fn read(&self) -> Result<(), InputError> {
        self.read_to.store(self.opening.length(), Ordering::Relaxed);
        let last = std::sync::Mutex::new(Instant::now());
        let recording = self.opening.read(&|done, total| {
            if let Ok(mut last) = last.lock()
                && last.elapsed() >= PROGRESS
            {
                *last = Instant::now();
                self.tell(Report::Progress { done, total });
            }
        })?;
        let document = self.whole(recording);
        self.bench.begin(&document);
        self.tell(Report::Whole(document.clone()));
        self.check(&document)?;
        self.find_takes();
        self.number_lines(&document)
    }

    /// Tells the lines of the first problems.
    fn number_lines(&self, document: &Document) -> Result<(), InputError> {
        let recording = &document.recording;
        if matches!(
            recording.format.reading,
            Reading::Database | Reading::Tables(_)
        ) {
            return Ok(());
        }
        let places: Vec<u64> = recording
            .problems
            .iter()
            .take(NUMBERED)
            .map(|problem| problem.at)
            .collect();
        if !places.is_empty() {
            let places = file_places(&*recording.source, &[], places)?.into_iter();
            self.tell(Report::Lines(places.collect()));
        }
        Ok(())
    }

    fn whole(&self, mut recording: Recording) -> Arc<Document> {
        self.knowledge.apply(&mut recording);
        Arc::new(Document {
            recording: Arc::new(recording),
            extent: Extent::Whole,
        })
    }

    fn check(&self, document: &Arc<Document>) -> Result<(), InputError> {
        let mut tally = FindingCounts::default();
        for (number, session) in document.recording.sessions.iter().enumerate() {
            let findings = check_session(session, self.knowledge.target)?;
            add(&mut tally, &findings);
            self.tell(Report::Checked {
                document: document.clone(),
                session: number,
                checked: Arc::new(Checked::new(findings)),
            });
        }
        self.bench.set_tally(document, tally);
        self.tell(Report::Finished(document.clone()));
        Ok(())
    }

    /// Looks for growth until it is stopped. What is appended to a large file is shown from its end at once; the
    /// rest is put together beside that, whenever the file is quiet.
    fn watch(&mut self, watching: &AtomicBool) -> Result<(), InputError> {
        while self.watch_file(watching)? == Watched::Replaced {
            self.tell(Report::Notice(
                "the file was truncated or replaced: reading it again".to_owned(),
            ));
            match self.opening.anew() {
                Ok(opening) => {
                    self.opening = Arc::new(opening);
                    self.read()?;
                }
                // Nobody has written to it yet.
                Err(InputError::Empty | InputError::Missing) => std::thread::sleep(LOOK),
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    fn watch_file(&self, watching: &AtomicBool) -> Result<Watched, InputError> {
        if !self.opening.can_follow() {
            self.tell(Report::NotFollowed);
            return Ok(Watched::Enough);
        }
        std::thread::scope(|scope| {
            let (quiet, requests) = channel();
            scope.spawn(move || {
                if let Err(error) = in_background(move || self.follow(&requests)) {
                    self.tell(Report::Failed(error.to_string()));
                }
            });
            self.look(watching, &quiet)
        })
    }

    fn look(&self, watching: &AtomicBool, quiet: &Sender<()>) -> Result<Watched, InputError> {
        let mut length = self.read_to.load(Ordering::Relaxed);
        let mut grown_at = None;
        while watching.load(Ordering::Relaxed) {
            let now = self.opening.length();
            if now < length || self.opening.is_replaced() {
                return Ok(Watched::Replaced);
            }
            if now > length && self.opening.ends_with_line()? {
                length = now;
                grown_at = Some(Instant::now());
                if length > SMALL {
                    self.show_end()?;
                }
            }
            let wait = if length > SMALL {
                QUIET
            } else {
                Duration::ZERO
            };
            if grown_at.is_some_and(|at: Instant| at.elapsed() >= wait) {
                grown_at = None;
                // The other thread ends when this loop does, or has reported why it failed.
                let _ = quiet.send(());
            }
            std::thread::sleep(LOOK);
        }
        if grown_at.is_some() {
            // Its end alone is on the screen.
            let _ = quiet.send(());
        }
        Ok(Watched::Enough)
    }

    fn show_end(&self) -> Result<(), InputError> {
        if let Some(recording) = self.opening.tail()? {
            self.tell(Report::Tail(Arc::new(Document {
                recording: Arc::new(recording),
                extent: Extent::Tail,
            })));
        }
        Ok(())
    }

    /// Reads what was appended at each request.
    fn follow(&self, requests: &Receiver<()>) -> Result<(), InputError> {
        let mut follower = None;
        while requests.recv().is_ok() {
            let follower = match &mut follower {
                Some(follower) => follower,
                None => match self.opening.follow()? {
                    Some(new) => follower.insert(new),
                    None => return Ok(()),
                },
            };
            if follower.advance()? == FileGrowth::Shrunk {
                return Ok(());
            }
            let length = self.opening.length();
            let document = self.whole(follower.recording()?);
            // What was appended meanwhile is on the screen already; it is put together the next time.
            if self.opening.length() == length {
                self.bench.set_main(&document);
                self.tell(Report::Grown(document.clone()));
                self.check(&document)?;
            }
        }
        Ok(())
    }
}
