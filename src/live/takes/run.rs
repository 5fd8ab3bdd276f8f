//! The journal of a run: one file that holds the first request, the takes and what happened. It
//! opens like any recording.

use super::find::find_run;
use super::state::{FirstRequest, JournalState};
use super::{Journal, Opened};
use crate::journal::{
    About, Clock, Damage, Folder, HEAD, JournalError, JournalHeader, JournalSubject, Location,
    NotRecording, Scan, Subfolder,
};
use memchr::memmem;
use retake_core::formats::{self, Format};
use retake_core::session::ledger::Ledger;
use retake_core::session::takes::{AnchorError, TakeId, Takes, resolve};
use retake_core::session::{Problem, ProblemKind, Rope};
use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// How each journal begins.
const HEADER: &[u8] = b"{\"retake\":\"journal\"";
/// What its first line says of a run: quotes in what somebody wrote are escaped there, but not in the bodies
/// that a proxy's journal holds.
const OF_RUN: &[u8] = b",\"kind\":\"run\",";
/// What the first line of a proxy's journal says.
const OF_PROXY: &[u8] = b",\"kind\":\"proxy\",";
/// How the entry with the first request begins: a run is known by it, too, should its first line be damaged.
const FIRST_ENTRY: &[u8] = b",\"entry\":{\"type\":\"base\",";

/// The folder of the journals of runs, below the operator's own one ([`super::usual_root`]).
pub fn runs_folder(root: &Path) -> PathBuf {
    root.join("retake").join("runs")
}

/// Whether a file that begins like this is the journal of a run.
pub(crate) fn is_run(head: &[u8]) -> bool {
    let head = &head[..head.len().min(HEAD)];
    let first = head.split(|byte| *byte == b'\n').next().unwrap_or(head);
    let has = |text: &[u8], mark: &[u8]| memmem::find(text, mark).is_some();
    if head.starts_with(HEADER) && has(first, OF_PROXY) {
        return false;
    }
    (head.starts_with(HEADER) && has(first, OF_RUN))
        || (head.starts_with(b"{") && has(head, FIRST_ENTRY))
}

/// Whether there is the journal of a run under this name; what cannot be read is none.
pub(crate) fn is_run_file(path: &Path) -> bool {
    use std::io::Read;
    let mut head = Vec::new();
    let file = File::open(path).and_then(|file| file.take(HEAD as u64).read_to_end(&mut head));
    file.is_ok() && is_run(&head)
}

/// A run as its journal tells it.
#[derive(Debug)]
pub(crate) struct Run {
    /// The format of its requests.
    pub(crate) format: &'static Format,
    pub(crate) rope: Rope,
    /// What is damaged, to be shown with the recording.
    pub(crate) problems: Vec<Problem>,
}

/// The current take of a run; `None` where its journal no longer tells what it began with, or a
/// newer retake wrote it.
pub(crate) fn read_run(bytes: &[u8]) -> Option<Run> {
    let scan = Scan::of(bytes);
    if scan.newer_version().is_some() {
        return None;
    }
    let mut state = JournalState::default();
    let mut damages = scan.damages;
    for line in &scan.lines {
        damages.extend(state.apply(line));
    }
    let base = state.base?;
    let format = formats::find(&base.format)?;
    let (rope, lost) = current_rope((&state.takes, &state.ledger), base);
    let mut problems: Vec<Problem> = damages.iter().map(problem).collect();
    problems.extend(lost.map(|lost| Problem {
        at: 0,
        kind: ProblemKind::Undecodable(lost),
    }));
    Some(Run {
        format,
        rope,
        problems,
    })
}

/// The current take, or the nearest one above it that can be read, and what is said about that.
fn current_rope((takes, ledger): (&Takes, &Ledger), base: FirstRequest) -> (Rope, Option<String>) {
    let mut rope = Rope::new(Arc::new(base.text));
    let mut lost = None;
    let line = takes.line(takes.current());
    for (number, id) in line.iter().enumerate() {
        let own = takes.get(*id).and_then(|take| take.own.as_ref());
        let ground = match own {
            Some(own) => Rope::new(Arc::new(own.text.clone())),
            None => rope.clone(),
        };
        match lay((takes, ledger), *id, &ground) {
            Ok(laid) => rope = laid,
            Err(error) => {
                let shown = number
                    .checked_sub(1)
                    .map_or(TakeId::MAIN, |above| line[above]);
                lost = Some(format!("take {shown} is shown, and not take {id}: {error}"));
                break;
            }
        }
    }
    (rope.of_run(ledger.state(&line)), lost)
}

/// The text of a take, made of that of its parent: what it wrote itself, then what it grew by.
pub(crate) fn lay(
    (takes, ledger): (&Takes, &Ledger),
    id: TakeId,
    parent: &Rope,
) -> Result<Rope, AnchorError> {
    let mut steps = takes.steps(id);
    let mut rope = match steps.next() {
        Some(own) => parent.spliced(&resolve(parent, own)?),
        None => parent.clone(),
    };
    for (number, step) in (0..).zip(steps) {
        let splices = resolve(&rope, step)?;
        rope = rope.grown(&splices, ledger.grown_by(id, number).cloned());
    }
    Ok(rope)
}

/// What is wrong with a journal, as it is said of a recording.
fn problem(damage: &Damage) -> Problem {
    let kind = match damage {
        Damage::Torn { .. } => ProblemKind::Torn,
        damage => ProblemKind::Undecodable(damage.to_string()),
    };
    Problem { at: 0, kind }
}

impl Journal {
    /// Begins the journal of a run. The file must not be there yet; folders above it are made. With `Ok` it
    /// is on the disk.
    pub fn begin_run(
        path: &Path,
        about: About,
        base: &[u8],
        clock: Clock,
    ) -> Result<(), NotRecording> {
        let mut opened = Opened::nothing(clock);
        let journal = &mut opened.journal;
        let trouble = |why| NotRecording {
            since: clock(),
            why,
        };
        let failed = |error| {
            trouble(JournalError::Failed {
                journal: path.to_owned(),
                error,
            })
        };
        let first = FirstRequest::new(&about.format, base);
        let entry = journal
            .entry(&first)
            .map_err(|error| failed(error.into()))?;
        journal.entries.push(entry);
        let location =
            Location::named(path, JournalHeader::new(JournalSubject::Run { run: about }));
        let location = location.and_then(|location| {
            Folder::create(&location.root, Subfolder::None)?;
            let root = std::fs::canonicalize(&location.root)?;
            Ok(Location { root, ..location })
        });
        journal.location = Some(location.map_err(failed)?);
        // A file that is there is somebody's.
        if std::fs::symlink_metadata(path).is_ok() {
            let journal = path.to_owned();
            return Err(trouble(JournalError::Exists { journal }));
        }
        if journal.catch_up().is_err()
            && let Some(trouble) = journal.trouble.take()
        {
            return Err(trouble);
        }
        Ok(())
    }

    /// Opens the journal of a run: its takes, what happened, and the request that it began with.
    pub fn open_run(path: &Path, clock: Clock) -> Opened {
        let mut opened = Opened::nothing(clock);
        let location = std::fs::canonicalize(path).and_then(|path| {
            let header = match JournalHeader::of(&File::open(&path)?) {
                Some(JournalHeader {
                    subject: subject @ JournalSubject::Run { .. },
                    ..
                }) => subject,
                _ => JournalSubject::Run {
                    run: About::default(),
                },
            };
            Location::named(&path, JournalHeader::new(header))
        });
        match location {
            Ok(location) => opened.look(location, find_run),
            Err(error) => opened.journal.bar(JournalError::Failed {
                journal: path.to_owned(),
                error,
            }),
        }
        opened
    }
}
