//! Reads and checks the file on a thread of its own, and watches it while it grows. Sends reports; the screen never waits for it.

mod hits;

use super::state::document::{Checked, Document, Extent};
use super::update::{Report, Search};
use crate::formats::with_tools;
use crate::runtime::search::SearchError;
use crate::runtime::{Follower, Growth, InputError, Opening, Recording, check_session};
use crate::session::{Dialect, OutputSchema, Tool};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, Sender, channel};
use std::time::{Duration, Instant};

/// Least time between two reports of progress.
const PROGRESS: Duration = Duration::from_millis(50);
/// How often a followed file is looked at.
const LOOK: Duration = Duration::from_millis(4);
/// Above this many items, a followed file is shown by its end first.
const LARGE: usize = 20_000;

/// What is known about the runs besides the files.
#[derive(Debug, Clone, Default)]
pub struct Knowledge {
    tools: Option<Vec<Tool>>,
    tools_beside: Option<fn(&Path) -> Option<Vec<Tool>>>,
    output_schema: Option<OutputSchema>,
    target: Option<Dialect>,
    /// The file that this is about.
    path: PathBuf,
}

impl Knowledge {
    /// What the command line says: the tools that were offered, whatever the file says; how the tools of a file are found that does not
    /// tell; the schema of the final output; the dialect to judge for, if not that of the recording.
    pub fn new(
        tools: Option<Vec<Tool>>,
        tools_beside: fn(&Path) -> Option<Vec<Tool>>,
        output_schema: Option<OutputSchema>,
        target: Option<Dialect>,
    ) -> Self {
        Self {
            tools,
            tools_beside: Some(tools_beside),
            output_schema,
            target,
            path: PathBuf::new(),
        }
    }

    /// What is known about the runs of a file.
    pub fn of_file(&self, path: &Path) -> Self {
        Self {
            path: path.to_owned(),
            ..self.clone()
        }
    }

    /// Adds what is known to the sessions of a recording.
    fn apply(&self, recording: &mut Recording) {
        let beside = match (&self.tools, self.tools_beside) {
            (None, Some(find)) => find(&self.path),
            _ => None,
        };
        for session in &mut recording.sessions {
            match (&self.tools, &beside) {
                (Some(tools), _) => with_tools(session, tools.clone()),
                (None, Some(tools)) if !session.contract.tools_known() => {
                    with_tools(session, tools.clone());
                }
                _ => {}
            }
            if let Some(schema) = &self.output_schema {
                session.contract.output_schema = Some(schema.clone());
            }
        }
    }
}

/// Hears reports, in any thread.
type Hear = Arc<dyn Fn(Report) + Send + Sync>;

/// An order to the loader.
enum Order {
    Drop(Arc<Document>),
}

/// The loader from outside.
pub struct Loader {
    orders: Sender<Order>,
    watching: Arc<AtomicBool>,
    /// Calls the last search off.
    searching: Arc<AtomicBool>,
    opening: Arc<Opening>,
    knowledge: Arc<Knowledge>,
    reports: Hear,
}

impl Loader {
    /// Starts to read; `reports` hears of it.
    pub fn start(opening: Arc<Opening>, knowledge: Arc<Knowledge>, reports: Hear) -> Self {
        let (orders, received) = channel();
        let work = Work {
            opening: opening.clone(),
            knowledge: knowledge.clone(),
            reports: reports.clone(),
        };
        std::thread::spawn(move || {
            if let Err(error) = work.read() {
                work.tell(Report::Failed(error.to_string()));
            }
            drop_all(&received);
        });
        Self {
            orders,
            watching: Arc::new(AtomicBool::new(false)),
            searching: Arc::new(AtomicBool::new(false)),
            opening,
            knowledge,
            reports,
        }
    }

    /// Drops a document where nobody waits for it.
    pub fn discard(&self, document: Arc<Document>) {
        // Without a thread to do it, it is dropped here.
        let _ = self.orders.send(Order::Drop(document));
    }

    /// The end of the file, read on its own.
    pub fn tail(&self) -> Result<Option<Report>, InputError> {
        let Some(recording) = self.opening.tail()? else {
            return Ok(None);
        };
        Ok(Some(Report::Tail(Arc::new(Document {
            recording,
            extent: Extent::Tail,
        }))))
    }

    /// Looks for the item that a search asks for; a new search calls the one before off.
    pub fn search(&mut self, search: Search) {
        self.searching.store(true, Ordering::Relaxed);
        let cancel = Arc::new(AtomicBool::new(false));
        self.searching = cancel.clone();
        let reports = self.reports.clone();
        std::thread::spawn(move || {
            let report = match hits::find(&search, &cancel) {
                Ok(found) => Report::Found(found),
                Err(SearchError::Cancelled) => return,
                Err(SearchError::Source(error)) => Report::Failed(error.to_string()),
            };
            reports(report);
        });
    }

    /// Starts or stops to watch the file.
    pub fn watch(&self, on: bool) {
        let was_on = self.watching.swap(on, Ordering::Relaxed);
        if !on || was_on {
            return;
        }
        let mut work = Work {
            opening: self.opening.clone(),
            knowledge: self.knowledge.clone(),
            reports: self.reports.clone(),
        };
        let watching = self.watching.clone();
        std::thread::spawn(move || {
            if let Err(error) = work.watch(&watching) {
                work.tell(Report::Failed(error.to_string()));
            }
        });
    }
}

fn drop_all(orders: &Receiver<Order>) {
    while let Ok(Order::Drop(document)) = orders.recv() {
        drop(document);
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

struct Work {
    opening: Arc<Opening>,
    knowledge: Arc<Knowledge>,
    reports: Hear,
}

impl Work {
    fn tell(&self, report: Report) {
        (self.reports)(report);
    }

    fn read(&self) -> Result<(), InputError> {
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
        self.tell(Report::Whole(document.clone()));
        self.check(&document)
    }

    fn whole(&self, mut recording: Recording) -> Arc<Document> {
        self.knowledge.apply(&mut recording);
        Arc::new(Document {
            recording,
            extent: Extent::Whole,
        })
    }

    fn check(&self, document: &Document) -> Result<(), InputError> {
        for (number, session) in document.recording.sessions.iter().enumerate() {
            let findings = check_session(session, self.knowledge.target)?;
            self.tell(Report::Checked {
                session: number,
                checked: Arc::new(Checked::new(findings)),
            });
        }
        self.tell(Report::Finished);
        Ok(())
    }

    /// Looks for growth until told to stop. A file that was cut or replaced is opened anew.
    fn watch(&mut self, watching: &AtomicBool) -> Result<(), InputError> {
        while self.watch_file(watching)? == Watched::Replaced {
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
        let Some(mut follower) = self.opening.follow()? else {
            self.tell(Report::Failed("this file cannot be followed".to_owned()));
            return Ok(Watched::Enough);
        };
        let mut unshown = false;
        let mut shown_at = Instant::now();
        while watching.load(Ordering::Relaxed) {
            match follower.advance()? {
                Growth::Grown => {
                    unshown = self.show_end(&follower)?;
                    shown_at = Instant::now();
                }
                Growth::Shrunk => return Ok(Watched::Replaced),
                Growth::None => {}
            }
            if unshown && shown_at.elapsed() > Duration::from_millis(500) {
                unshown = false;
                let document = self.whole(follower.recording()?);
                self.tell(Report::Grown(document.clone()));
                self.check(&document)?;
            }
            std::thread::sleep(LOOK);
        }
        Ok(Watched::Enough)
    }

    /// Shows what was appended; of a large file its end only. Says whether the rest is still to be shown.
    fn show_end(&self, follower: &Follower<'_>) -> Result<bool, InputError> {
        if follower.items() > LARGE
            && let Some(recording) = self.opening.tail()?
        {
            self.tell(Report::Tail(Arc::new(Document {
                recording,
                extent: Extent::Tail,
            })));
            return Ok(true);
        }
        let document = self.whole(follower.recording()?);
        self.tell(Report::Grown(document.clone()));
        self.check(&document)?;
        Ok(false)
    }
}
