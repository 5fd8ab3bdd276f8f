//! Makes, reads, compares and saves takes on a thread of its own, one after the other. Sends reports; the screen never waits for it.

mod saving;
mod view;

use super::Work;
use crate::rules::{Finding, Severity};
use crate::runtime::takes::{usual_root, wall_clock};
use crate::runtime::{NoTake, Workbench, check_session, in_background, settle};
use crate::session::takes::{ItemMark, Outcome, TakeId, Tally};
use crate::session::{Change, Dialect, Rope, Session, compare};
use crate::tui::recovery::comparison::Comparison;
use crate::tui::recovery::comparison::{ItemText, Which};
use crate::tui::state::document::{Checked, Document, Extent, Place};
use crate::tui::update::{Order, Report, TakesCommand, TakesReport};
use std::sync::{Arc, Mutex, PoisonError};
use view::view_of;

/// What a note on a take as a whole is written on: no item begins before the first byte with these digests.
const WHOLE: &[u8] = b"";

/// The takes of the recording that is open.
#[derive(Default)]
pub(super) struct Bench {
    /// With the document that it was opened for: a recording that has grown is another one.
    open: Mutex<Option<(Arc<Document>, Workbench)>>,
    /// The recording itself as it was shown last.
    main: Mutex<Option<Arc<Document>>>,
}

impl Bench {
    /// Notes what the recording reads like now.
    pub(super) fn set_main(&self, document: &Arc<Document>) {
        let mut main = self.main.lock().unwrap_or_else(PoisonError::into_inner);
        *main = Some(document.clone());
    }

    fn main(&self) -> Option<Arc<Document>> {
        let main = self.main.lock().unwrap_or_else(PoisonError::into_inner);
        main.clone()
    }
}

impl Work {
    /// Looks for takes that were made before.
    pub(super) fn find_takes(&self, document: &Arc<Document>) {
        self.bench.set_main(document);
        let told = self.with_bench(|work, bench| {
            if bench.takes().count() > 1 || bench.not_recording().is_some() {
                work.tell(Report::Takes(TakesReport::Tree(view_of(
                    bench,
                    TakeId::MAIN,
                ))));
            }
            Ok(())
        });
        self.report(told);
    }

    /// Makes a take, on a thread of its own.
    pub(super) fn make_take(self, order: Order) {
        std::thread::spawn(move || {
            let made = in_background(|| self.with_bench(|work, bench| work.take(bench, order)));
            self.report(made);
        });
    }

    /// Does something to the takes, on a thread of its own.
    pub(super) fn command_takes(self, command: TakesCommand, shown: Option<Arc<Document>>) {
        std::thread::spawn(move || {
            let done = in_background(|| {
                self.with_bench(|work, bench| work.obey(bench, command, shown.as_ref()))
            });
            self.report(done);
        });
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
        let mut open = self
            .bench
            .open
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        let Some(main) = self.bench.main() else {
            return Ok(());
        };
        let fits = open.as_ref().is_some_and(|(document, bench)| {
            Arc::ptr_eq(document, &main) || bench.takes().current() != TakeId::MAIN
        });
        if !fits {
            // The lock of the journal goes before it is opened again.
            *open = None;
            let path = self.opening.input().path.clone();
            let root = usual_root();
            let (bench, damages) = Workbench::open(
                main.recording.clone(),
                path.as_deref(),
                root.as_deref(),
                wall_clock,
            );
            if let Some(first) = damages.first() {
                self.tell(Report::Notice(format!("the journal of takes: {first}")));
            }
            *open = Some((main, bench));
        }
        match open.as_mut() {
            Some((_, bench)) => work(self, bench),
            None => Ok(()),
        }
    }

    fn take(&self, bench: &mut Workbench, order: Order) -> Result<(), NoTake> {
        let Order {
            document,
            session,
            edits,
            about,
        } = order;
        let Some(history) = document.recording.sessions.get(session) else {
            return Ok(());
        };
        let (number, before) = (number(session), bench.takes().current());
        let what = about
            .cause
            .action
            .clone()
            .unwrap_or_else(|| "fork".to_owned());
        match bench.take(number, history, &edits, about) {
            Err(error) if error.wants_request() => {
                bench.as_request(number)?;
                let said = format!("{error}: this is its history as one request; now do it again");
                self.show(bench, before, Some(&document), said)
            }
            other => {
                let id = other?;
                self.show(
                    bench,
                    before,
                    Some(&document),
                    format!("take {id}: {what}; u takes it back"),
                )
            }
        }
    }

    /// Reads the current take, shows and checks it.
    fn show(
        &self,
        bench: &mut Workbench,
        before: TakeId,
        shown: Option<&Arc<Document>>,
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
        let at = match (shown, &ropes) {
            (Some(shown), (Some(old), Some(new))) => first_change((shown, old), (&document, new)),
            _ => None,
        };
        self.tell(Report::Takes(TakesReport::Shown {
            document: document.clone(),
            at,
            view: view_of(bench, id),
            said: bench.not_recording().map_or(said, ToString::to_string),
        }));
        let tally = self.check_take(&document, ropes.1.as_deref())?;
        let known = bench
            .takes()
            .get(id)
            .map(|take| (take.outcome.clone(), take.parent));
        if let Some((outcome, parent)) = known
            .filter(|(outcome, _)| outcome.after != tally || outcome.before == Tally::default())
        {
            let before = match bench.takes().get(parent) {
                Some(parent) => parent.outcome.after,
                None => self.tally_of_main()?,
            };
            bench.judge(
                id,
                Outcome {
                    before,
                    after: tally,
                    ..outcome
                },
            )?;
            self.tell(Report::Takes(TakesReport::Tree(view_of(bench, id))));
        }
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

    fn tally_of_main(&self) -> Result<Tally, NoTake> {
        let mut tally = Tally::default();
        let main = self.bench.main();
        for session in main.iter().flat_map(|main| &main.recording.sessions) {
            add(&mut tally, &check_session(session, self.knowledge.target)?);
        }
        Ok(tally)
    }

    fn obey(
        &self,
        bench: &mut Workbench,
        command: TakesCommand,
        shown: Option<&Arc<Document>>,
    ) -> Result<(), NoTake> {
        let before = bench.takes().current();
        match command {
            TakesCommand::Undo => match bench.undo() {
                Some(id) => return self.show(bench, before, shown, format!("back in take {id}")),
                None => self.refuse("nothing to undo: this is the recording"),
            },
            TakesCommand::Redo => match bench.redo() {
                Some(id) => {
                    return self.show(bench, before, shown, format!("forward to take {id}"));
                }
                None => self.refuse("nothing to redo"),
            },
            TakesCommand::GoTo(id) => {
                bench.go_to(TakeId(id))?;
                return self.show(bench, before, shown, format!("take {}", TakeId(id)));
            }
            TakesCommand::Compare(left, right) => {
                let comparison = self.comparison(bench, TakeId(left), TakeId(right))?;
                self.tell(Report::Takes(TakesReport::Compared(Box::new(comparison))));
            }
            TakesCommand::NoteTake(id, text) => {
                bench.note(TakeId(id), ItemMark::new(0, WHOLE), text)?;
                self.tell_tree(bench);
            }
            TakesCommand::Rename(id, name) => {
                bench.rename(TakeId(id), name)?;
                self.tell_tree(bench);
            }
            TakesCommand::NoteItem { at, bytes, text } => {
                bench.note(before, ItemMark::new(at, &bytes), text)?;
                self.tell_tree(bench);
            }
            TakesCommand::Mark { at, bytes, set } => {
                bench.bookmark(before, ItemMark::new(at, &bytes), set)?;
                self.tell_tree(bench);
            }
            TakesCommand::Formats(session) => self.tell_formats(bench, shown, session),
            TakesCommand::Save {
                session,
                path,
                format,
                force,
            } => {
                let report = self.save(bench, shown, session, &path, format, force);
                self.tell(Report::Takes(report));
            }
        }
        Ok(())
    }

    fn refuse(&self, reason: &str) {
        self.tell(Report::Takes(TakesReport::Refused(reason.to_owned())));
    }

    fn tell_tree(&self, bench: &Workbench) {
        let view = view_of(bench, bench.takes().current());
        self.tell(Report::Takes(TakesReport::Tree(view)));
    }

    fn comparison(
        &self,
        bench: &mut Workbench,
        left: TakeId,
        right: TakeId,
    ) -> Result<Comparison, NoTake> {
        let sessions = [left, right].map(|id| {
            let recording = bench.read(id, &|_, _| ())?;
            let session = bench
                .takes()
                .get(id)
                .map_or(0, |take| take.session as usize);
            Ok::<_, NoTake>((recording, session))
        });
        let [left_read, right_read] = sessions;
        let ((left_recording, left_session), (right_recording, right_session)) =
            (left_read?, right_read?);
        // The recording itself has no session of its own: it is compared by that of the other side.
        let session = if left == TakeId::MAIN {
            right_session
        } else {
            left_session
        };
        let empty = || Session::empty(left_recording.source.clone(), "", Dialect::Responses);
        let of = |recording: &crate::runtime::Recording| {
            let sessions = &recording.sessions;
            sessions
                .get(session)
                .or(sessions.first())
                .cloned()
                .unwrap_or_else(empty)
        };
        let (one, other) = (of(&left_recording), of(&right_recording));
        let digests = [digests(&one)?, digests(&other)?];
        let read = |which: Which, index: usize| {
            let session = match which {
                Which::Left => &one,
                Which::Right => &other,
            };
            item_text(session, index)
        };
        let names = [left, right].map(|id| format!("take {id}"));
        Ok(Comparison::new(
            [&names[0], &names[1]],
            [&digests[0], &digests[1]],
            read,
        ))
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

/// Digests of items that are the same wherever an item stands.
fn digests(session: &Session) -> Result<Vec<u64>, NoTake> {
    let mut bytes = Vec::new();
    let digests = session.items.iter().map(|item| {
        session.source.read_into(item.span, &mut bytes)?;
        Ok(bytes.iter().fold(0xcbf2_9ce4_8422_2325_u64, |hash, byte| {
            (hash ^ u64::from(*byte)).wrapping_mul(0x0000_0100_0000_01b3)
        }))
    });
    digests.collect()
}

fn item_text(session: &Session, index: usize) -> ItemText {
    let item = session.items[index];
    let text = session.bytes(&item).map_or_else(
        |error| error.to_string(),
        |bytes| String::from_utf8_lossy(&bytes).into_owned(),
    );
    ItemText {
        kind: item.kind,
        tool: session.name(&item).to_owned(),
        text,
    }
}

/// Where two takes begin to differ, in the second.
fn first_change(before: (&Arc<Document>, &Rope), after: (&Arc<Document>, &Rope)) -> Option<Place> {
    let pairs = before
        .0
        .recording
        .sessions
        .iter()
        .zip(&after.0.recording.sessions);
    for (number, (old, new)) in pairs.enumerate() {
        let changes = compare((old, before.1), (new, after.1)).ok()?;
        let first = changes.into_iter().find_map(|change| match change {
            Change::Same { .. } => None,
            Change::Changed { after, .. } | Change::Added { after } => Some(after),
            Change::Removed { before } => Some(before),
        });
        if let Some(item) = first {
            let last = new.items.len().saturating_sub(1);
            return Some(Place {
                session: number,
                item: item.min(last),
            });
        }
    }
    None
}

fn number(index: usize) -> u32 {
    u32::try_from(index).unwrap_or(u32::MAX)
}
