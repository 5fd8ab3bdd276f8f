//! Makes, reads, compares and saves takes on a thread of its own, one after the other. Sends reports; the screen never waits for it.

use super::Work;
use crate::formats::convert::{Options, To, convert};
use crate::repair::likely;
use crate::rules::Severity;
use crate::runtime::replace::{Backup, replace};
use crate::runtime::takes::{usual_root, wall_clock};
use crate::runtime::{
    AS_REQUEST, NoTake, Workbench, check_session, in_background, is_same_file, save_take, settle,
};
use crate::session::takes::{ItemMark, Outcome, TakeId, Tally};
use crate::session::{Change, Rope, Session, SourceError, compare};
use crate::tui::recovery::comparison::Comparison;
use crate::tui::recovery::comparison::{ItemText, Which};
use crate::tui::recovery::saving::SaveFormat;
use crate::tui::recovery::takes::TakeRow;
use crate::tui::state::document::{Checked, Document, Extent, Place};
use crate::tui::state::recovery::TakesView;
use crate::tui::update::{Order, Report, TakesCommand, TakesReport};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

/// Of larger sessions the losses of a conversion are told when it is made.
const COUNTED: usize = 50_000;
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
            for finding in &findings {
                match finding.severity {
                    Severity::Error => tally.errors += 1,
                    Severity::Warning => tally.warnings += 1,
                    Severity::Info => tally.infos += 1,
                }
            }
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
            for finding in check_session(session, self.knowledge.target)? {
                match finding.severity {
                    Severity::Error => tally.errors += 1,
                    Severity::Warning => tally.warnings += 1,
                    Severity::Info => tally.infos += 1,
                }
            }
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
        let empty = || {
            Session::empty(
                left_recording.source.clone(),
                "",
                crate::session::Dialect::Responses,
            )
        };
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

    fn tell_formats(&self, bench: &mut Workbench, shown: Option<&Arc<Document>>, session: usize) {
        let Some(document) = shown else {
            return self.refuse("nothing is open");
        };
        let id = bench.takes().current();
        let mut formats = Vec::new();
        let own = document.recording.format.id;
        let is_request = bench.takes().line(id).first().is_some_and(|first| {
            let take = bench.takes().get(*first);
            take.is_some_and(|take| take.cause.action.as_deref() == Some(AS_REQUEST))
        });
        let is_writable = own != "sse" && (own != "agents-runstate" || id == TakeId::MAIN);
        if is_writable {
            let title = if is_request {
                format!("the request ({own})")
            } else {
                format!("as recorded ({own})")
            };
            formats.push(SaveFormat {
                id: OWN,
                title,
                ending: self.ending(own),
                losses: Vec::new(),
            });
        }
        let history = document.recording.sessions.get(session);
        for to in To::ALL {
            formats.push(SaveFormat {
                id: id_of(to),
                title: title_of(to).to_owned(),
                ending: ".json".to_owned(),
                losses: history.map_or_else(Vec::new, |history| losses(history, to)),
            });
        }
        let name = self.opening.input().name.clone();
        self.tell(Report::Takes(TakesReport::Formats(name, formats)));
    }

    fn ending(&self, format: &str) -> String {
        let name = &self.opening.input().name;
        let known = [".jsonl", ".json", ".db", ".sqlite"].into_iter();
        let own = known.clone().find(|ending| {
            name.trim_end_matches(".zst")
                .trim_end_matches(".gz")
                .ends_with(ending)
        });
        let usual = if matches!(format, "claude-code" | "codex") {
            ".jsonl"
        } else {
            ".json"
        };
        own.unwrap_or(usual).to_owned()
    }

    fn save(
        &self,
        bench: &mut Workbench,
        shown: Option<&Arc<Document>>,
        session: usize,
        path: &str,
        format: &str,
        force: bool,
    ) -> TakesReport {
        let path = expanded(path);
        let recorded = self.opening.input().path.as_deref();
        if recorded.is_some_and(|recorded| is_same_file(recorded, &path)) {
            return TakesReport::Refused(
                "the recording itself is never written to; choose another name".to_owned(),
            );
        }
        if path.exists() && !force {
            return TakesReport::Exists;
        }
        let id = bench.takes().current();
        let saved = match To::ALL.into_iter().find(|to| id_of(*to) == format) {
            None => save_own(bench, id, &path),
            Some(to) => save_converted(shown, session, to, &path),
        };
        match saved {
            Ok(said) => TakesReport::Saved(said),
            Err(reason) => TakesReport::Refused(reason),
        }
    }
}

/// Id of the recording's own format in the save dialog.
const OWN: &str = "own";

fn id_of(to: To) -> &'static str {
    to.dialect().word()
}

fn title_of(to: To) -> &'static str {
    match to {
        To::Responses => "Responses items",
        To::Chat => "Chat messages",
        To::Anthropic => "Anthropic messages",
    }
}

fn save_own(bench: &mut Workbench, id: TakeId, path: &Path) -> Result<String, String> {
    let rope = bench.rope(id).map_err(|error| error.to_string())?;
    let base = bench.base(id).map_err(|error| error.to_string())?;
    let replaced = save_take(base, &rope, path, Backup::None).map_err(|error| error.to_string())?;
    Ok(format!("take {id} is saved as {}", replaced.path.display()))
}

fn save_converted(
    shown: Option<&Arc<Document>>,
    session: usize,
    to: To,
    path: &Path,
) -> Result<String, String> {
    let document = shown.ok_or_else(|| "nothing is open".to_owned())?;
    let history = document.recording.sessions.get(session);
    let history = history.ok_or_else(|| "there is no such session".to_owned())?;
    let mut losses = 0;
    let replaced = replace(path, Backup::None, |out| {
        let mut write = |piece: &[u8]| out.write_all(piece).map_err(Stopped::Output);
        let converted = convert(history, to, OPTIONS, &mut write).map_err(Stopped::into_io)?;
        losses = converted.losses.len();
        Ok(())
    });
    let replaced = replaced.map_err(|error| error.to_string())?;
    let lost = match losses {
        0 => String::new(),
        1 => "; 1 loss".to_owned(),
        count => format!("; {count} losses"),
    };
    Ok(format!(
        "saved as {} in {}{lost}",
        title_of(to),
        replaced.path.display()
    ))
}

/// Why a conversion stopped.
enum Stopped {
    Source(SourceError),
    Output(std::io::Error),
}

impl From<SourceError> for Stopped {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl Stopped {
    fn into_io(self) -> std::io::Error {
        match self {
            Self::Source(error) => std::io::Error::other(error.to_string()),
            Self::Output(error) => error,
        }
    }
}

const OPTIONS: Options = Options {
    as_request: false,
    repair: likely,
};

/// What a conversion loses, a sentence for each kind of loss.
fn losses(session: &Session, to: To) -> Vec<String> {
    if session.items.len() > COUNTED {
        return vec!["what it loses is counted when it is saved".to_owned()];
    }
    let mut nothing = |_: &[u8]| Ok::<(), SourceError>(());
    let Ok(converted) = convert(session, to, OPTIONS, &mut nothing) else {
        return Vec::new();
    };
    let mut counted: Vec<(String, usize)> = Vec::new();
    for loss in &converted.losses {
        let words = loss.kind.to_string();
        match counted.iter_mut().find(|(known, _)| *known == words) {
            Some((_, count)) => *count += 1,
            None => counted.push((words, 1)),
        }
    }
    let told = counted.into_iter().map(|(words, count)| match count {
        1 => words,
        count => format!("{words} ({count} times)"),
    });
    told.collect()
}

/// `~` for the home folder, as shells read it.
fn expanded(path: &str) -> PathBuf {
    let home = std::env::var_os("HOME").map(PathBuf::from);
    match (path.strip_prefix("~/"), home) {
        (Some(rest), Some(home)) => home.join(rest),
        _ => PathBuf::from(path),
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

/// The takes, for the screen.
fn view_of(bench: &Workbench, current: TakeId) -> Arc<TakesView> {
    let takes = bench.takes();
    let whole = ItemMark::new(0, WHOLE);
    let note = |id: TakeId| {
        let mut notes = takes.notes(id);
        let found = notes.find(|(mark, _)| *mark == whole);
        found.map_or_else(String::new, |(_, text)| text.to_owned())
    };
    let rows = takes.branches().into_iter().map(|branch| {
        let take = takes.get(branch.id);
        let cause = take.map(|take| &take.cause);
        let action = cause.and_then(|cause| cause.action.as_deref());
        let title = |id: &str| {
            crate::actions::find(id).map_or(id.to_owned(), |action| action.title.to_owned())
        };
        TakeRow {
            id: branch.id.0,
            parent: take.map(|take| take.parent.0),
            rails: branch.rails,
            name: take.map_or_else(String::new, |take| take.title.clone()),
            action: match (take, action) {
                (None, _) => String::new(),
                (Some(_), None) => "fork".to_owned(),
                (Some(_), Some(id)) => title(id),
            },
            rule: cause
                .and_then(|cause| cause.rule.clone())
                .unwrap_or_default(),
            wording: take.map_or_else(String::new, |take| match (&take.wording, &take.words) {
                (Some(name), Some(words)) => format!("{name}: {words}"),
                (None, Some(words)) => words.clone(),
                _ => String::new(),
            }),
            findings: take
                .filter(|take| {
                    take.outcome.before != Tally::default()
                        || take.outcome.after != Tally::default()
                })
                .map(|take| {
                    let sum = |tally: Tally| (tally.errors + tally.warnings) as usize;
                    (sum(take.outcome.before), sum(take.outcome.after))
                }),
            fork: take
                .and_then(|take| take.forked_at)
                .map(|item| item as usize + 1),
            note: note(branch.id),
            is_current: branch.id == current,
        }
    });
    let of_items = |(mark, text): (ItemMark, &str)| (mark.at, text.to_owned());
    Arc::new(TakesView {
        rows: rows.collect(),
        current: current.0,
        banner: bench.not_recording().map(ToString::to_string),
        bookmarks: takes.bookmarks(current).map(|mark| mark.at).collect(),
        notes: takes
            .notes(current)
            .filter(|(mark, _)| *mark != whole)
            .map(of_items)
            .collect(),
    })
}
