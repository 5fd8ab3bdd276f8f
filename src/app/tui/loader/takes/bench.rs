//! The takes of the recording that is open, and what is shown of them.

use super::conductor::{Conductor, Stir};
use crate::tui::effect::{LiveCommand, TakeOrder, TakesCommand};
use crate::tui::state::document::{Document, Extent};
use retake_core::engine::Breakpoint;
use retake_core::session::takes::{FindingCounts, TakeId};
use retake_live::TakeStore;
use retake_live::live::Phase;
use retake_live::lock::lock;
use retake_live::takes::{Clock, usual_root, wall_clock};
use std::collections::HashSet;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::Sender;
use std::sync::{Arc, Mutex, MutexGuard};

/// The takes, with the document that they were opened for: a recording that has grown is another one.
pub(super) type Open = Option<(Arc<Document>, TakeStore)>;

/// The takes of the recording that is open.
pub(in super::super) struct Bench {
    open: Mutex<Open>,
    facts: Mutex<Facts>,
    live: Mutex<OpenRun>,
    /// Where more work for the takes goes, while the file is open.
    jobs: Mutex<Option<Sender<Job>>>,
    /// Whether the file is closed: nobody opens its takes any more.
    is_closed: AtomicBool,
    /// Whether it is tried from time to time to write what could not be written.
    pub(super) is_retrying: AtomicBool,
    /// Where journals are kept.
    pub(super) root: Option<PathBuf>,
    pub(super) clock: Clock,
}

/// Something to be done to the takes.
#[derive(Debug)]
pub(in super::super) enum Job {
    /// A take is to be made.
    Make(Box<TakeOrder>),
    /// Something is to be done where the screen shows this.
    Obey(TakesCommand, Option<Arc<Document>>),
    /// Something is to be done to the live run.
    Live(LiveCommand),
    /// Something comes from outside of the screen for whoever drives the take.
    Stir(Stir),
    /// The file is closed: the run ends, and that is reported.
    Close(Sender<()>),
}

/// The run of the recording that is open, if there is one.
#[derive(Default)]
pub(in super::super) struct OpenRun {
    pub(super) run: Option<Box<dyn Conductor>>,
    /// The number of the session that it goes on in.
    pub(super) session: usize,
    /// A command that waits until the agent's file is trusted.
    pub(super) waiting: Option<LiveCommand>,
    pub(super) breakpoints: Vec<Breakpoint>,
}

impl OpenRun {
    pub(super) fn is_there(&self) -> bool {
        self.run.is_some()
    }

    /// Whether a run goes on in this session: its open calls wait for nothing but the run.
    pub(super) fn runs(&self, session: usize) -> bool {
        let run = self.run.as_ref();
        let is_on = run.is_some_and(|run| !matches!(run.phase(), Phase::Idle | Phase::Ended(_)));
        self.session == session && is_on
    }
}

/// What is known besides the takes themselves, held for moments only.
#[derive(Default)]
struct Facts {
    /// The recording itself as it was shown last.
    main: Option<Arc<Document>>,
    /// What there is in a recording.
    tally: Option<(Arc<Document>, FindingCounts)>,
    /// The take that is on the screen. After a restart that is the recording, wherever the operator was before.
    shown: TakeId,
    /// What that take was read as.
    taken: Option<Arc<Document>>,
    /// Counts what was shown.
    showing: u32,
    /// Counts how often the takes were opened.
    opened: u32,
    /// Takes of which it is not known yet what they came to.
    unchecked: HashSet<TakeId>,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new(usual_root(), wall_clock)
    }
}

impl Bench {
    pub(in super::super) fn new(root: Option<PathBuf>, clock: Clock) -> Self {
        Self {
            open: Mutex::default(),
            facts: Mutex::default(),
            live: Mutex::default(),
            jobs: Mutex::default(),
            is_closed: AtomicBool::new(false),
            is_retrying: AtomicBool::new(false),
            root,
            clock,
        }
    }

    pub(super) fn open(&self) -> MutexGuard<'_, Open> {
        lock(&self.open)
    }

    /// Lets go of the takes for good, and of the lock of their journal.
    pub(super) fn close(&self) {
        let mut open = self.open();
        self.is_closed.store(true, Ordering::Relaxed);
        *open = None;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed)
    }

    /// The live run; held for moments, and after the takes where both are.
    pub(super) fn live(&self) -> MutexGuard<'_, OpenRun> {
        lock(&self.live)
    }

    /// Whether there is a live run.
    pub(in super::super) fn is_live(&self) -> bool {
        self.live().is_there()
    }

    pub(in super::super) fn set_jobs(&self, jobs: Option<Sender<Job>>) {
        *lock(&self.jobs) = jobs;
    }

    pub(super) fn jobs(&self) -> Option<Sender<Job>> {
        let jobs = lock(&self.jobs);
        jobs.clone()
    }

    fn facts(&self) -> MutexGuard<'_, Facts> {
        lock(&self.facts)
    }

    /// Notes what the recording reads like now.
    pub(in super::super) fn set_main(&self, document: &Arc<Document>) {
        self.facts().main = Some(document.clone());
    }

    pub(super) fn main(&self) -> Option<Arc<Document>> {
        self.facts().main.clone()
    }

    /// Notes what the recording reads like; it is shown from now on, whatever was shown before.
    pub(in super::super) fn begin(&self, document: &Arc<Document>) {
        self.set_main(document);
        self.set_shown(TakeId::MAIN, document);
    }

    /// Notes that the recording which is shown is a take of a run; gives what the run began with,
    /// the recording in truth.
    pub(super) fn adopt(&self, run: &TakeStore, shown: &Arc<Document>) -> Arc<Document> {
        let first = Arc::new(Document {
            recording: run.recording().clone(),
            extent: Extent::Whole,
        });
        self.set_main(&first);
        self.set_shown(run.takes().current(), shown);
        first
    }

    /// Notes what is shown; gives the number of this showing.
    pub(super) fn set_shown(&self, id: TakeId, document: &Arc<Document>) -> u32 {
        let mut facts = self.facts();
        facts.shown = id;
        facts.taken = Some(document.clone());
        facts.showing = facts.showing.wrapping_add(1);
        facts.showing
    }

    pub(super) fn shown(&self) -> TakeId {
        self.facts().shown
    }

    /// Whether what was planned for this document can be done: the operator sees it, or it is on its
    /// way to the screen.
    pub(super) fn shows(&self, document: &Arc<Document>) -> bool {
        let facts = self.facts();
        let shown = match facts.shown {
            TakeId::MAIN => &facts.main,
            _ => &facts.taken,
        };
        let shown = shown.as_ref();
        shown.is_some_and(|shown| Arc::ptr_eq(shown, document))
    }

    /// Whether nothing else was shown since.
    pub(super) fn is_showing(&self, number: u32) -> bool {
        self.facts().showing == number
    }

    /// Calls off the check of what is shown.
    pub(super) fn call_off(&self) {
        let mut facts = self.facts();
        facts.showing = facts.showing.wrapping_add(1);
    }

    /// Notes that the takes are opened anew: what was known of them counts for nothing.
    pub(super) fn reopen(&self) {
        let mut facts = self.facts();
        facts.opened = facts.opened.wrapping_add(1);
        facts.unchecked.clear();
    }

    /// How often the takes were opened.
    pub(super) fn opened(&self) -> u32 {
        self.facts().opened
    }

    pub(super) fn is_unchecked(&self, id: TakeId) -> bool {
        self.facts().unchecked.contains(&id)
    }

    pub(super) fn set_unchecked(&self, id: TakeId, is_unchecked: bool) {
        let mut facts = self.facts();
        if is_unchecked {
            facts.unchecked.insert(id);
        } else {
            facts.unchecked.remove(&id);
        }
    }

    /// What there is in a recording, where that is known.
    pub(super) fn tally_of(&self, main: &Arc<Document>) -> Option<FindingCounts> {
        let facts = self.facts();
        let (document, tally) = facts.tally.as_ref()?;
        Arc::ptr_eq(document, main).then_some(*tally)
    }

    pub(in super::super) fn set_tally(&self, main: &Arc<Document>, tally: FindingCounts) {
        self.facts().tally = Some((main.clone(), tally));
    }
}
