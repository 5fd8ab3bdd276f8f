//! Makes, reads, compares and saves takes, one after the other. Sends reports; the screen never waits for it.

mod carry;
mod commands;
mod comparing;
mod saving;
mod view;

use super::Work;
use crate::actions;
use crate::rules::{Finding, Severity};
use crate::runtime::takes::{Clock, usual_root, wall_clock};
use crate::runtime::{NoTake, Workbench, check_session, in_background, settle};
use crate::session::takes::{Outcome, TakeId, Tally};
use crate::session::{Rope, Session};
use crate::tui::state::document::{Checked, Document, Extent, Place};
use crate::tui::update::{Order, Report, TakesReport};
use comparing::first_change;
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;
use view::view_of;

/// What a note on a take as a whole is written on: no item begins before the first byte with these digests.
const WHOLE: &[u8] = b"";
/// How often it is tried again to write what could not be written.
const RETRY: Duration = Duration::from_secs(2);

/// The takes of the recording that is open.
pub(super) struct Bench {
    /// With the document that it was opened for: a recording that has grown is another one.
    open: Mutex<Option<(Arc<Document>, Workbench)>>,
    /// The recording itself as it was shown last.
    main: Mutex<Option<Arc<Document>>>,
    /// The number of the take that is on the screen. After a restart that is the recording, wherever the operator was before.
    shown: AtomicU32,
    /// What that take was read as.
    taken: Mutex<Option<Arc<Document>>>,
    /// Whether it is tried from time to time to write what could not be written.
    is_retrying: AtomicBool,
    /// Where journals are kept.
    root: Option<PathBuf>,
    clock: Clock,
}

impl Default for Bench {
    fn default() -> Self {
        Self::new(usual_root(), wall_clock)
    }
}

impl Bench {
    pub(super) fn new(root: Option<PathBuf>, clock: Clock) -> Self {
        Self {
            open: Mutex::default(),
            main: Mutex::default(),
            shown: AtomicU32::new(TakeId::MAIN.0),
            taken: Mutex::default(),
            is_retrying: AtomicBool::new(false),
            root,
            clock,
        }
    }

    /// Notes what the recording reads like now.
    pub(super) fn set_main(&self, document: &Arc<Document>) {
        let mut main = self.main.lock().unwrap_or_else(PoisonError::into_inner);
        *main = Some(document.clone());
    }

    fn main(&self) -> Option<Arc<Document>> {
        let main = self.main.lock().unwrap_or_else(PoisonError::into_inner);
        main.clone()
    }

    /// Notes what the recording reads like; it is shown from now on, whatever was shown before.
    pub(super) fn begin(&self, document: &Arc<Document>) {
        self.set_main(document);
        self.set_shown(TakeId::MAIN, document);
    }

    fn set_shown(&self, id: TakeId, document: &Arc<Document>) {
        let mut taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
        *taken = Some(document.clone());
        self.shown.store(id.0, Ordering::Relaxed);
    }

    /// Whether what was planned for this document can be done: the operator sees it, or it is on its way to the screen.
    fn shows(&self, document: &Arc<Document>) -> bool {
        let taken = || {
            let taken = self.taken.lock().unwrap_or_else(PoisonError::into_inner);
            taken.clone()
        };
        let shown = match self.shown() {
            TakeId::MAIN => self.main(),
            _ => taken(),
        };
        shown.is_some_and(|shown| Arc::ptr_eq(&shown, document))
    }

    fn shown(&self) -> TakeId {
        TakeId(self.shown.load(Ordering::Relaxed))
    }

    fn open(&self) -> MutexGuard<'_, Option<(Arc<Document>, Workbench)>> {
        self.open.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Work {
    /// Looks for takes that were made before, and says so.
    pub(super) fn find_takes(&self) {
        let told = self.with_bench(|work, bench| {
            let view = view_of(bench, work.bench.shown());
            if view.has_news() {
                work.tell(Report::Takes(TakesReport::Found(view)));
            }
            Ok(())
        });
        self.report(told);
    }

    /// Does something to the takes where the screen shows them.
    fn on_takes(&self, work: impl FnOnce(&Self, &mut Workbench) -> Result<(), NoTake> + Send) {
        let done = in_background(|| {
            self.with_bench(|this, bench| {
                if bench.takes().current() != this.bench.shown() {
                    bench.go_to(this.bench.shown())?;
                }
                work(this, bench)
            })
        });
        self.report(done);
    }

    fn report(&self, done: Result<(), NoTake>) {
        if let Err(error) = done {
            self.tell(Report::Takes(TakesReport::Refused(error.to_string())));
        }
    }

    fn with_bench(
        &self,
        work: impl FnOnce(&Self, &mut Workbench) -> Result<(), NoTake>,
    ) -> Result<(), NoTake> {
        let mut open = self.bench.open();
        let Some(main) = self.bench.main() else {
            return Ok(());
        };
        let fits = open.as_ref().is_some_and(|(document, _)| {
            Arc::ptr_eq(document, &main) || self.bench.shown() != TakeId::MAIN
        });
        if !fits {
            // The lock of the journal goes before it is opened again.
            *open = None;
            let path = self.opening.input().path.clone();
            let (bench, damages) = Workbench::open(
                main.recording.clone(),
                path.as_deref(),
                self.bench.root.as_deref(),
                self.bench.clock,
            );
            if let Some(first) = damages.first() {
                self.tell(Report::Notice(format!("the journal of takes: {first}")));
            }
            *open = Some((main, bench));
        }
        let Some((_, bench)) = open.as_mut() else {
            return Ok(());
        };
        let done = work(self, bench);
        if bench.is_behind() {
            self.retry_journal();
        }
        done
    }

    /// Writes what could not be written as soon as that works again.
    fn retry_journal(&self) {
        if self.bench.is_retrying.swap(true, Ordering::Relaxed) {
            return;
        }
        let (bench, reports) = (Arc::downgrade(&self.bench), self.reports.clone());
        std::thread::spawn(move || {
            loop {
                std::thread::sleep(RETRY);
                let Some(bench) = bench.upgrade() else { return };
                let mut open = bench.open();
                let Some((_, workbench)) = open.as_mut() else {
                    continue;
                };
                workbench.catch_up();
                if !workbench.is_behind() {
                    bench.is_retrying.store(false, Ordering::Relaxed);
                    let view = view_of(workbench, bench.shown());
                    reports(Report::Takes(TakesReport::Tree(view)));
                    return;
                }
            }
        });
    }

    /// Makes a take.
    pub(super) fn make_take(&self, order: Order) {
        self.on_takes(|work, bench| work.take(bench, order));
        self.tell(Report::Takes(TakesReport::Done));
    }

    fn take(&self, bench: &mut Workbench, order: Order) -> Result<(), NoTake> {
        let Order {
            document,
            session,
            edits,
            about,
        } = order;
        if !self.bench.shows(&document) {
            self.refuse("the history has changed since this was planned: nothing is done");
            return Ok(());
        }
        let history = document.recording.sessions.get(session);
        let history = history.ok_or(NoTake::NoSession(number(session)))?;
        let before = bench.takes().current();
        let what = about.cause.action.as_deref();
        let what = what.map_or("fork", |id| actions::find(id).map_or(id, |it| it.title));
        match bench.take(number(session), history, &edits, about.clone()) {
            Err(error) if error.wants_request() => {
                self.take_as_request(bench, (&document, session), &edits, about, &error)
            }
            other => {
                let said = format!("take {}: {what}; u takes it back", other?);
                self.show(bench, before, Some(&document), None, said)
            }
        }
    }

    /// Reads the current take, shows and checks it. The cursor goes to `at`, else to where it differs from the one before.
    fn show(
        &self,
        bench: &mut Workbench,
        before: TakeId,
        shown: Option<&Arc<Document>>,
        at: Option<Place>,
        said: String,
    ) -> Result<(), NoTake> {
        let id = bench.takes().current();
        let document = match (id, self.bench.main()) {
            (TakeId::MAIN, Some(main)) => main,
            _ => {
                let mut recording = bench.read(id, &|_, _| ())?;
                self.knowledge.apply(&mut recording);
                Arc::new(Document {
                    recording: Arc::new(recording),
                    extent: Extent::Whole,
                })
            }
        };
        let ropes = (bench.rope(before).ok(), bench.rope(id).ok());
        let at = at.or_else(|| match (shown, &ropes) {
            (Some(shown), (Some(old), Some(new))) if bench.share_text(before, id) => {
                first_change((shown, old), (&document, new))
            }
            _ => None,
        });
        self.bench.set_shown(id, &document);
        self.tell(Report::Takes(TakesReport::Shown {
            document: document.clone(),
            at,
            view: view_of(bench, id),
            said,
        }));
        let tally = self.check_take(&document, ropes.1.as_deref())?;
        self.judge(bench, id, tally)
    }

    /// Notes what a take came to, where that is not known yet.
    fn judge(&self, bench: &mut Workbench, id: TakeId, after: Tally) -> Result<(), NoTake> {
        let Some(take) = bench.takes().get(id) else {
            return Ok(());
        };
        let (outcome, parent) = (take.outcome.clone(), take.parent);
        if outcome.after == after && outcome.before != Tally::default() {
            return Ok(());
        }
        let before = match bench.takes().get(parent) {
            Some(parent) => parent.outcome.after,
            None => match self.bench.main() {
                Some(main) => self.tally_of(&main.recording.sessions)?,
                None => Tally::default(),
            },
        };
        let outcome = Outcome {
            before,
            after,
            ..outcome
        };
        bench.judge(id, outcome)?;
        self.tell(Report::Takes(TakesReport::Tree(view_of(bench, id))));
        Ok(())
    }

    fn check_take(&self, document: &Arc<Document>, rope: Option<&Rope>) -> Result<Tally, NoTake> {
        let mut tally = Tally::default();
        for (number, session) in document.recording.sessions.iter().enumerate() {
            let mut findings = check_session(session, self.knowledge.target)?;
            if let Some(rope) = rope {
                settle(session, rope, &mut findings);
            }
            add(&mut tally, &findings);
            self.tell(Report::Checked {
                document: document.clone(),
                session: number,
                checked: Arc::new(Checked::new(findings)),
            });
        }
        self.tell(Report::Finished(document.clone()));
        Ok(tally)
    }

    fn tally_of(&self, sessions: &[Session]) -> Result<Tally, NoTake> {
        let mut tally = Tally::default();
        for session in sessions {
            add(&mut tally, &check_session(session, self.knowledge.target)?);
        }
        Ok(tally)
    }
}

fn add(tally: &mut Tally, findings: &[Finding]) {
    for finding in findings {
        match finding.severity {
            Severity::Error => tally.errors += 1,
            Severity::Warning => tally.warnings += 1,
            Severity::Info => tally.infos += 1,
        }
    }
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}

/// The items of two sessions that stand for each other, if all do.
fn is_parallel(one: &Session, other: &Session) -> bool {
    one.items.len() == other.items.len()
        && one
            .items
            .iter()
            .zip(&other.items)
            .all(|(one, other)| one.kind == other.kind)
}
