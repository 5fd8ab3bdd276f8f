//! Makes, reads, compares and saves takes, one after the other, and checks them beside that. Sends reports; the
//! screen never waits for it.

pub(super) mod bench;
mod carry;
pub(super) mod checking;
mod commands;
pub(in crate::tui) mod comparing;
pub mod conductor;
mod live;
pub(in crate::tui) mod saving;
pub mod view;
pub(super) mod worker;

use super::work::Work;
use crate::tui::effect::TakeOrder;
use crate::tui::keymap::{Command, with_ways};
use crate::tui::report::Report;
use crate::tui::state::document::{Document, Extent, Place};
use checking::Check;
use comparing::first_change;
use retake_core::actions;
use retake_core::session::Edit;
use retake_core::session::index_number;
use retake_core::session::takes::{FindingCounts, Take, TakeId};
use retake_live::{TakeError, TakeStore, in_background};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use view::view_of;

/// How often it is tried again to write what could not be written.
const RETRY: Duration = Duration::from_secs(2);

impl Work {
    /// Looks for takes that were made before, and says so.
    pub(super) fn find_takes(&self) {
        let result = self.with_bench(|work, bench| {
            let view = view_of(bench, work.bench.shown());
            if view.has_news() {
                work.tell(Report::TakesFound(view));
            }
            work.tell_past(bench);
            Ok(())
        });
        self.report(result);
    }

    /// Does something to the takes where the screen shows them.
    fn on_takes(
        &self,
        work: impl FnOnce(&Self, &mut TakeStore) -> Result<Option<Check>, TakeError> + Send,
    ) -> Option<Check> {
        let done = in_background(|| {
            self.with_bench(|this, bench| {
                if bench.takes().current() != this.bench.shown() {
                    bench.go_to(this.bench.shown())?;
                }
                work(this, bench)
            })
        });
        done.unwrap_or_else(|error| {
            self.refuse(&error.to_string());
            None
        })
    }

    fn report(&self, done: Result<(), TakeError>) {
        if let Err(error) = done {
            self.refuse(&error.to_string());
        }
    }

    fn with_bench<T: Default>(
        &self,
        work: impl FnOnce(&Self, &mut TakeStore) -> Result<T, TakeError>,
    ) -> Result<T, TakeError> {
        let mut open = self.bench.open();
        let Some(main) = self.bench.main().filter(|_| !self.bench.is_closed()) else {
            return Ok(T::default());
        };
        let fits = open.as_ref().is_some_and(|(document, _)| {
            Arc::ptr_eq(document, &main) || self.bench.shown() != TakeId::MAIN
        });
        if !fits {
            let is_first = open.is_none();
            // The lock of the journal goes before it is opened again.
            *open = None;
            self.bench.reopen();
            let path = self.opening.input().path.clone();
            let (mut bench, damages) = TakeStore::open(
                main.recording.clone(),
                path.as_deref(),
                self.bench.root.as_deref(),
                self.bench.clock,
            );
            if let Some(first) = damages.first() {
                self.tell(Report::Notice(format!("the journal of takes: {first}")));
            }
            if let Some(moved) = bench.moved_marks().filter(|_| is_first) {
                self.tell(Report::Notice(moved));
            }
            let main = match bench.is_run() {
                true => self.bench.adopt(&bench, &main),
                false => main,
            };
            *open = Some((main, bench));
        }
        let Some((_, bench)) = open.as_mut() else {
            return Ok(T::default());
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
                    reports(Report::TakeTree(view));
                    return;
                }
            }
        });
    }

    fn make_take(&self, order: TakeOrder) -> Option<Check> {
        let check = self.on_takes(|work, bench| work.take(bench, order));
        self.tell(Report::TakesDone);
        check
    }

    fn take(&self, bench: &mut TakeStore, order: TakeOrder) -> Result<Option<Check>, TakeError> {
        let TakeOrder {
            document,
            session,
            edits,
            about,
        } = order;
        if !self.bench.shows(&document) {
            self.refuse("the history has changed since this was planned: nothing was changed");
            return Ok(None);
        }
        let history = document.recording.sessions.get(session);
        let history = history.ok_or(TakeError::NoSession(index_number(session)))?;
        let before = bench.takes().current();
        let what = about.cause.action.as_deref();
        let what = what.map_or("fork", |id| actions::find(id).map_or(id, |it| it.title));
        // It is called the same wherever it is named.
        let what = match &*about.title {
            "" => what.to_owned(),
            title => title.to_owned(),
        };
        match bench.take(index_number(session), history, &edits, about.clone()) {
            Err(error) if error.wants_request() => {
                self.take_as_request(bench, (&document, session), &edits, about, &error)
            }
            other => {
                let ways = [(Command::Undo, "undoes it"), (Command::SaveAs, "saves it")];
                let notice = with_ways(&format!("{}: {what}; ", other?), &ways);
                let at = edits.iter().find_map(|edit| match edit {
                    Edit::Move { output, call } => Some(Place {
                        session,
                        item: (call + u32::from(output > call)) as usize,
                    }),
                    _ => None,
                });
                self.show(bench, before, Some(&document), at, notice)
            }
        }
    }

    /// What a take reads like; of the recording itself there is one document, by which it is known.
    fn document_of(&self, bench: &mut TakeStore, id: TakeId) -> Result<Arc<Document>, TakeError> {
        if let (TakeId::MAIN, Some(main)) = (id, self.bench.main()) {
            return Ok(main);
        }
        let mut recording = bench.read(id, &|_, _| ())?;
        self.knowledge.apply(&mut recording);
        Ok(Arc::new(Document {
            recording: Arc::new(recording),
            extent: Extent::Whole,
        }))
    }

    /// Reads the current take and shows it; it is to be checked then. The cursor goes to `at`, else to where it
    /// differs from the one before.
    fn show(
        &self,
        bench: &mut TakeStore,
        before: TakeId,
        shown: Option<&Arc<Document>>,
        at: Option<Place>,
        notice: String,
    ) -> Result<Option<Check>, TakeError> {
        let id = bench.takes().current();
        let document = self.document_of(bench, id)?;
        let ropes = (bench.rope(before).ok(), bench.rope(id).ok());
        let at = at.or_else(|| match (shown, &ropes) {
            (Some(shown), (Some(old), Some(new))) if bench.share_text(before, id) => {
                first_change((shown, old), (&document, new))
            }
            _ => None,
        });
        let showing = self.bench.set_shown(id, &document);
        self.tell(Report::TakeShown {
            document: document.clone(),
            at,
            view: view_of(bench, id),
            notice,
        });
        let take = bench.takes().get(id);
        let is_new = |take: &Take| {
            [take.outcome.before, take.outcome.after] == [FindingCounts::default(); 2]
        };
        if take.is_some_and(is_new) {
            self.bench.set_unchecked(id, true);
        }
        Ok(Some(Check {
            showing,
            opened: self.bench.opened(),
            id,
            parent: take.map(|take| take.parent),
            document,
            rope: ropes.1,
            refusal: bench.ledger().refusal(id).map(str::to_owned),
        }))
    }
}
