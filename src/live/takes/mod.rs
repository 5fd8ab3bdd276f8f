//! The journal of takes: one append-only file for each recording, among the operator's own data.
//!
//! What [`Journal::append`] acknowledged is on the disk. What could not be written is kept in memory, reported
//! on the screen ([`NotRecording`]) and written as soon as that works again. A journal is never trusted
//! after a failed sync: it is written anew from memory, and what was there is put aside. The recording
//! itself is never touched.

use crate::FileSource;
pub use crate::journal::{About, Clock, Damage, JournalError, NotRecording, wall_clock};
use crate::journal::{
    AppendError, Folder, HEAD, Identity, JournalFile, JournalHeader, JournalLine, JournalSubject,
    Location, OpenFile, Presence, Scan, Subfolder, holder, lock, unlock,
};
use etcetera::BaseStrategy;
use memchr::{memchr, memmem};
use retake_core::formats::retake_journal::VERSION;
use retake_core::formats::{self, Format};
use retake_core::session::ledger::{Ledger, LedgerEvent};
use retake_core::session::takes::{AnchorError, TakeEvent, TakeId, Takes, resolve, spelling};
use retake_core::session::{Problem, ProblemKind, Rope, Source};
use serde::{Deserialize, Serialize};
use std::borrow::Cow;
use std::fs::File;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(test)]
mod tests;

/// The operator's folder for what programs remember; `None` where there is no home.
pub fn usual_root() -> Option<PathBuf> {
    let folders = etcetera::choose_base_strategy().ok()?;
    Some(folders.state_dir().unwrap_or_else(|| folders.data_dir()))
}

/// What opening gives: the takes that were made before, and what is wrong with their journal.
#[derive(Debug)]
pub struct OpenedTakes {
    pub journal: Journal,
    pub takes: Takes,
    /// What was done in the world because of runs.
    pub ledger: Ledger,
    /// The same, entry by entry.
    pub happened: Vec<Happened>,
    /// The request that a run began with, where this is its journal.
    pub base: Option<FirstRequest>,
    /// What could not be read.
    pub damages: Vec<Damage>,
}

/// The journal of one recording. The file is made when there is something to write.
#[derive(Debug)]
pub struct Journal {
    clock: Clock,
    location: Option<Location>,
    /// Every entry, the oldest first: what a new file is written from.
    entries: Vec<String>,
    /// How many of them are on the disk.
    written: usize,
    /// Whether entries wait for others, to be written with them.
    is_gathering: bool,
    on_disk: OnDisk,
    trouble: Option<NotRecording>,
}

#[derive(Debug)]
enum OnDisk {
    Nothing,
    /// A file that is not written to: a new one takes its place.
    Old(Old),
    Open(Box<JournalFile>),
    /// A file that is somebody else's: nothing will be written.
    Barred,
}

/// An entry with its time.
#[derive(Serialize)]
struct Timed<'a, E> {
    #[serde(flatten)]
    event: &'a E,
    time: u64,
}

/// A journal that a new one takes the place of.
#[derive(Debug)]
struct Old {
    name: String,
    /// Open, so that it stays locked.
    file: File,
    /// The ending under which it is put aside; without one it goes, since everything in it is in the new one.
    kept_as: Option<String>,
}

impl Journal {
    /// Looks for the takes of the recording at `path`. `source` is the bytes that takes are laid over, which may be
    /// unpacked or otherwise made from the file, `root` usually [`usual_root`]. Nothing is written before something
    /// changes.
    pub fn open(
        root: Option<&Path>,
        path: Option<&Path>,
        source: &dyn Source,
        clock: Clock,
    ) -> OpenedTakes {
        Self::open_on(|file| Box::new(file), root, path, source, clock)
    }

    fn open_on(
        open: OpenFile,
        root: Option<&Path>,
        path: Option<&Path>,
        source: &dyn Source,
        clock: Clock,
    ) -> OpenedTakes {
        let mut opened = OpenedTakes::nothing(clock);
        // What is made from a file may differ after an upgrade; the file does not.
        let file = path.and_then(|path| FileSource::open(path).ok());
        let own = file.as_ref().map_or(source, |file| file as &dyn Source);
        let location = match (root, path) {
            (_, None) => Err(JournalError::NoFile),
            (None, _) => Err(JournalError::NoHome),
            (Some(root), Some(path)) => location_of(root, path, own),
        };
        match location {
            Ok(location) => opened.look(Location { open, ..location }, |location, folder| {
                find(location, folder, [own, source])
            }),
            Err(why) => opened.journal.bar(why),
        }
        opened
    }

    /// Keeps what changed. With `Ok` it is on the disk; otherwise it is in memory, and will be written
    /// when that works again.
    pub fn append<'a>(&mut self, entry: impl Into<JournalEntry<'a>>) -> Result<(), &NotRecording> {
        self.append_all([entry])
    }

    /// The same for several, with one write.
    pub fn append_all<'a>(
        &mut self,
        entries: impl IntoIterator<Item = impl Into<JournalEntry<'a>>>,
    ) -> Result<(), &NotRecording> {
        for entry in entries {
            match self.entry(&entry.into()) {
                Ok(entry) => self.entries.push(entry),
                Err(error) => {
                    let why = self.failed(error.into());
                    self.trouble(why);
                }
            }
        }
        match self.is_gathering {
            true => Ok(()),
            false => self.catch_up(),
        }
    }

    /// Keeps entries in memory from now on, until [`Self::write_gathered`]: they are written at once
    /// for all of them.
    pub fn gather(&mut self) {
        self.is_gathering = true;
    }

    /// Writes what was gathered. With `Ok` it is on the disk.
    pub fn write_gathered(&mut self) -> Result<(), &NotRecording> {
        self.is_gathering = false;
        self.catch_up()
    }

    /// Writes what could not be written before; a screen may call it from time to time.
    pub fn catch_up(&mut self) -> Result<(), &NotRecording> {
        if !matches!(self.on_disk, OnDisk::Barred) && self.written < self.entries.len() {
            match self.write() {
                Ok(()) => {
                    self.written = self.entries.len();
                    self.trouble = None;
                }
                Err(why) if matches!(why, JournalError::Failed { .. }) => self.trouble(why),
                Err(why) => self.bar(why),
            }
        }
        self.trouble.as_ref().map_or(Ok(()), Err)
    }

    /// The time, by the clock that entries are stamped with.
    pub fn now(&self) -> u64 {
        (self.clock)()
    }

    /// Why takes are only in memory, while that is so.
    pub fn not_recording(&self) -> Option<&NotRecording> {
        self.trouble.as_ref()
    }

    pub fn path(&self) -> Option<PathBuf> {
        self.location.as_ref().map(Location::path)
    }

    fn entry(&self, event: &impl Serialize) -> serde_json::Result<String> {
        let time = (self.clock)();
        let mut entry = serde_json::to_string(&Timed { event, time })?;
        // Entries stay in memory, and what a text grew by while it was written need not.
        entry.shrink_to_fit();
        Ok(entry)
    }

    fn bar(&mut self, why: JournalError) {
        self.release();
        self.on_disk = OnDisk::Barred;
        self.trouble(why);
    }

    /// Lets others have the file.
    fn release(&self) {
        match &self.on_disk {
            OnDisk::Open(file) => unlock(file.file()),
            OnDisk::Old(old) => unlock(&old.file),
            OnDisk::Nothing | OnDisk::Barred => {}
        }
    }

    fn trouble(&mut self, why: JournalError) {
        let since = self.trouble.as_ref().map(|trouble| trouble.since);
        let since = since.unwrap_or_else(self.clock);
        self.trouble = Some(NotRecording { since, why });
    }

    fn failed(&self, error: io::Error) -> JournalError {
        let journal = self.path().unwrap_or_default();
        JournalError::Failed { journal, error }
    }

    fn write(&mut self) -> Result<(), JournalError> {
        if let OnDisk::Open(file) = &mut self.on_disk {
            match file.append(&self.entries[self.written..]) {
                Ok(()) => return Ok(()),
                Err(AppendError::Undone(error)) => return Err(self.failed(error)),
                Err(AppendError::Replaced) => {
                    let journal = self.path().unwrap_or_default();
                    return Err(JournalError::Replaced { journal });
                }
                Err(AppendError::Gone) => self.on_disk = OnDisk::Nothing,
                Err(AppendError::Untrusted) => {
                    let file = file.handle();
                    let file = file.map_err(|error| self.failed(error))?;
                    self.give_up(file, Some("failed".to_owned()));
                }
            }
        }
        self.rewrite()
    }

    /// A file that cannot be trusted is replaced once a new one has its place.
    fn give_up(&mut self, file: File, kept_as: Option<String>) {
        let name = self.location.as_ref().map(|location| location.name.clone());
        self.on_disk = OnDisk::Old(Old {
            name: name.unwrap_or_default(),
            file,
            kept_as,
        });
    }

    /// Writes everything into a new file, which takes the place of an old one.
    fn rewrite(&mut self) -> Result<(), JournalError> {
        let location = self.location.as_ref().ok_or(JournalError::NoFile)?;
        let old = match &self.on_disk {
            OnDisk::Old(old) => Some(old),
            _ => None,
        };
        match rewrite(location, old, &self.entries)? {
            Ok(file) => {
                self.on_disk = OnDisk::Open(Box::new(file));
                Ok(())
            }
            Err((error, file)) => {
                self.give_up(file, None);
                Err(self.failed(error))
            }
        }
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        self.release();
    }
}

impl OpenedTakes {
    fn nothing(clock: Clock) -> Self {
        Self {
            journal: Journal {
                clock,
                location: None,
                entries: Vec::new(),
                written: 0,
                is_gathering: false,
                on_disk: OnDisk::Nothing,
                trouble: None,
            },
            takes: Takes::default(),
            ledger: Ledger::default(),
            happened: Vec::new(),
            base: None,
            damages: Vec::new(),
        }
    }

    fn look(
        &mut self,
        location: Location,
        find: impl FnOnce(&Location, Folder) -> io::Result<Option<FoundJournal>>,
    ) {
        match location.folder() {
            Ok(None) => {}
            Ok(Some(folder)) => match find(&location, folder) {
                Ok(Some(found)) => self.take(found),
                Ok(None) => {}
                Err(error) => self.journal.bar(location.failed(error)),
            },
            // The folder may be there when there is something to write.
            Err(error) => self.journal.trouble(location.failed(error)),
        }
        self.journal.location = Some(location);
    }

    /// Takes over what was found.
    fn take(&mut self, found: FoundJournal) {
        self.damages = found.scan.damages;
        let mut state = JournalState::default();
        for line in found.scan.lines {
            self.damages.extend(state.apply(&line));
            self.journal.entries.push(line.entry);
        }
        self.takes = state.takes;
        self.ledger = state.ledger;
        self.happened = state.happened;
        self.base = state.base;
        self.journal.written = self.journal.entries.len();
        self.journal.on_disk = found.on_disk;
        if let Some(why) = found.barred {
            self.journal.bar(why);
        }
    }
}

/// Where the takes of a recording are kept.
fn location_of(root: &Path, path: &Path, source: &dyn Source) -> Result<Location, JournalError> {
    let identity = std::fs::canonicalize(path)
        .and_then(|path| Identity::of(&path, source).map_err(io::Error::other));
    let identity = identity.map_err(|error| JournalError::Failed {
        journal: path.to_owned(),
        error,
    })?;
    let stem = identity.stem();
    let header = JournalHeader::new(JournalSubject::Takes { of: Some(identity) });
    Ok(Location::own(root, Subfolder::Takes, stem, header))
}

// Finds the journal of a recording: by the path of the recording, else by what it holds, when it was moved.

/// How often a journal is opened that is being replaced at the same time.
const ATTEMPTS: usize = 5;

#[derive(Debug)]
struct FoundJournal {
    scan: Scan,
    on_disk: OnDisk,
    /// Why nothing may be written to it.
    barred: Option<JournalError>,
}

/// Looks for the journal of a recording in the folder; `own` is the bytes of its file, `made` the text that was read
/// from it.
fn find(
    location: &Location,
    folder: Folder,
    [own, made]: [&dyn Source; 2],
) -> io::Result<Option<FoundJournal>> {
    let Some(read) = ReadJournal::open(&folder, &location.name)? else {
        let read = moved(location, [own, made], &folder)?;
        return Ok(read.map(|read| read.adopted(location)));
    };
    if !read.is_of_another(own) {
        return Ok(Some(read.found(location, folder)));
    }
    // An older retake identified a recording by the text that it made; the next write says it by the file.
    if !read.is_of_another(made) {
        return Ok(Some(read.adopted(location)));
    }
    // The file was replaced, perhaps by one that was here before.
    let earlier = moved(location, [own, made], &folder)?;
    Ok(Some(read.put_aside(location, earlier)))
}

/// The journal of a run, at the path that the operator gave; `None` where it is gone.
fn find_run(location: &Location, folder: Folder) -> io::Result<Option<FoundJournal>> {
    let read = ReadJournal::open(&folder, &location.name)?;
    Ok(read.map(|read| read.found(location, folder)))
}

/// Looks for a journal that is not named after this path: its recording is not where it was, but holds the
/// same. Of several the one that was written last.
fn moved(
    location: &Location,
    sources: [&dyn Source; 2],
    folder: &Folder,
) -> io::Result<Option<ReadJournal>> {
    let mut newest = None;
    let own = location.header.identity();
    for name in folder.journals()? {
        if name == location.name {
            continue;
        }
        // What cannot be opened is not a journal of ours.
        let Ok(Some((file, _))) = folder.file(&name) else {
            continue;
        };
        let header = JournalHeader::of(&file);
        let Some(identity) = header.as_ref().and_then(JournalHeader::identity) else {
            continue;
        };
        let path = identity.path();
        let is_free = own.is_some_and(|own| own.path() == path) || !path.exists();
        if is_free && sources.iter().any(|source| identity.is_of(*source)) {
            let written = file.metadata()?.modified()?;
            if newest.as_ref().is_none_or(|(latest, _)| written > *latest) {
                newest = Some((written, name));
            }
        }
    }
    match newest {
        Some((_, name)) => ReadJournal::open(folder, &name),
        None => Ok(None),
    }
}

/// A journal in the folder.
struct ReadJournal {
    name: String,
    file: File,
    bytes: Vec<u8>,
    scan: Scan,
    writable: bool,
    /// Whether this process has it for itself.
    locked: bool,
}

impl ReadJournal {
    fn open(folder: &Folder, name: &str) -> io::Result<Option<Self>> {
        for _ in 0..ATTEMPTS {
            let Some((mut file, writable)) = folder.file(name)? else {
                return Ok(None);
            };
            let locked = lock(&file)?;
            if folder.presence(name, &file)? != Presence::Here {
                continue;
            }
            let mut bytes = Vec::new();
            file.read_to_end(&mut bytes)?;
            let mut scan = Scan::of(&bytes);
            // A newer version may mean something else by the same words, so nothing of it is read.
            if scan.newer_version().is_some() {
                scan.lines.clear();
                scan.damages.clear();
            }
            return Ok(Some(Self {
                name: name.to_owned(),
                file,
                bytes,
                scan,
                writable,
                locked,
            }));
        }
        Err(io::ErrorKind::ResourceBusy.into())
    }

    /// Whether it was written for a recording that begins in another way.
    fn is_of_another(&self, source: &dyn Source) -> bool {
        let identity = self.scan.header.as_ref().and_then(JournalHeader::identity);
        identity.is_some_and(|identity| !identity.begins(source))
    }

    /// Why nothing may be written in its place.
    fn bar(&self, location: &Location) -> Option<JournalError> {
        let journal = location.path().with_file_name(&self.name);
        if let Some(version) = self.scan.newer_version() {
            return Some(JournalError::Newer { version, journal });
        }
        if !self.locked {
            return Some(JournalError::OpenElsewhere {
                journal,
                holder: holder(&self.file),
            });
        }
        (!self.writable).then_some(JournalError::ReadOnly { journal })
    }

    /// As what it is put aside when a new one is written; `None` where it can be written to.
    fn renewal(&self) -> Option<Option<String>> {
        match &self.scan.header {
            Some(header) if header.version < VERSION => Some(Some(format!("v{}", header.version))),
            Some(_) => None,
            None if self.bytes.is_empty() => Some(None),
            None if memchr(b'\n', &self.bytes).is_none() => Some(Some("torn".to_owned())),
            None => Some(Some("damaged".to_owned())),
        }
    }

    fn found(self, location: &Location, folder: Folder) -> FoundJournal {
        if let Some(kept_as) = self.renewal() {
            return self.replaced(location, kept_as);
        }
        let barred = self.bar(location);
        let file = JournalFile::resume(folder, location, self.file, &self.bytes, &self.scan);
        FoundJournal {
            scan: self.scan,
            on_disk: OnDisk::Open(Box::new(file)),
            barred,
        }
    }

    /// A journal that was written when the recording was elsewhere: it goes on under another name,
    /// with another first line.
    fn adopted(self, location: &Location) -> FoundJournal {
        let kept_as = self.renewal().flatten();
        self.replaced(location, kept_as)
    }

    /// A journal of what the file held before: it stays in the folder, and one of what it holds
    /// now takes its name.
    fn put_aside(self, location: &Location, earlier: Option<Self>) -> FoundJournal {
        let mut found = self.replaced(location, Some("jsonl".to_owned()));
        found.scan = earlier.map_or_else(Scan::default, |earlier| {
            unlock(&earlier.file);
            earlier.scan
        });
        found.scan.damages.push(Damage::OtherRecording);
        found
    }

    /// A new journal takes the place of this one.
    fn replaced(self, location: &Location, kept_as: Option<String>) -> FoundJournal {
        let barred = self.bar(location);
        FoundJournal {
            scan: self.scan,
            on_disk: OnDisk::Old(Old {
                name: self.name,
                file: self.file,
                kept_as,
            }),
            barred,
        }
    }
}

// Writes a journal from memory: the first time, and when what is there cannot be written to any more.

/// Writes all entries into a new file, which takes the place of an old one. Where that fails everything is as it
/// was; only the name may not be on the disk, which gives the new file as it is.
fn rewrite(
    location: &Location,
    old: Option<&Old>,
    entries: &[String],
) -> Result<Result<JournalFile, (io::Error, File)>, JournalError> {
    let failed = |error| location.failed(error);
    let folder = location.make_folder().map_err(failed)?;
    let name = &location.name;
    let replaces = match old {
        Some(old) => is_in_place(location, &folder, old)?.then_some(old),
        None => None,
    };
    let (made_as, file) = match replaces {
        // While there is no journal the name is free, and the first process that takes it has it.
        None => match folder.create_file(name) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {
                return Err(taken(location));
            }
            created => (name.clone(), created.map_err(failed)?),
        },
        Some(_) => {
            let suffix = format!("{}.new", std::process::id());
            let made = folder.create_spare(&location.stem, &suffix);
            made.map_err(failed)?
        }
    };
    let filled = file.try_clone().and_then(|file| {
        let filled = location.fill(file, entries)?;
        if let Some(old) = replaces {
            if let Some(ending) = &old.kept_as {
                folder.keep(name, &location.stem, ending)?;
            }
            folder.rename(&made_as, name)?;
        }
        Ok(filled)
    });
    match filled {
        Ok(filled) => Ok(match folder.sync() {
            Ok(()) => Ok(filled),
            Err(error) => Err((error, file)),
        }),
        Err(error) => {
            folder.remove(&made_as).map_err(failed)?;
            Err(failed(error))
        }
    }
}

/// Another process made a journal of this name.
fn taken(location: &Location) -> JournalError {
    let journal = location.path();
    let holder = File::open(&journal).ok().as_ref().and_then(holder);
    JournalError::OpenElsewhere { journal, holder }
}

/// Whether the old file still has the name of the journal; one that was found under another name is given it.
fn is_in_place(location: &Location, folder: &Folder, old: &Old) -> Result<bool, JournalError> {
    let failed = |error| location.failed(error);
    let presence = |name: &str| folder.presence(name, &old.file).map_err(failed);
    let name = &location.name;
    match presence(&old.name)? {
        Presence::Gone => Ok(false),
        Presence::Other => {
            let journal = location.path();
            Err(JournalError::Replaced { journal })
        }
        Presence::Here if old.name == *name => Ok(true),
        Presence::Here => match presence(name)? {
            Presence::Gone => folder
                .rename(&old.name, name)
                .map_err(failed)
                .map(|()| true),
            Presence::Here | Presence::Other => Err(taken(location)),
        },
    }
}

// The journal of a run: one file that holds the first request, the takes and what happened. It
// opens like any recording.

/// How each journal begins.
const HEADER: &[u8] = b"{\"retake\":\"journal\"";
/// What its first line says of a run: quotes in what somebody wrote are escaped there, but not in the bodies
/// that a proxy's journal holds.
const OF_RUN: &[u8] = b",\"kind\":\"run\",";
/// What the first line of a proxy's journal says.
const OF_PROXY: &[u8] = b",\"kind\":\"proxy\",";
/// How the entry with the first request begins: a run is known by it, too, should its first line be damaged.
const FIRST_ENTRY: &[u8] = b",\"entry\":{\"type\":\"base\",";

/// The folder of the journals of runs, below the operator's own one ([`usual_root`]).
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
pub(crate) struct JournalRun {
    /// The format of its requests.
    pub(crate) format: &'static Format,
    pub(crate) rope: Rope,
    /// What is damaged, to be shown with the recording.
    pub(crate) problems: Vec<Problem>,
}

/// The current take of a run; `None` where its journal no longer tells what it began with, or a
/// newer retake wrote it.
pub(crate) fn read_run(bytes: &[u8]) -> Option<JournalRun> {
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
    Some(JournalRun {
        format,
        rope,
        problems,
    })
}

/// The current take, or the nearest one above it that can be read, and the notice about that.
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
                lost = Some(format!("{shown} is shown, and not {id}: {error}"));
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

/// What is wrong with a journal, as a problem of a recording.
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
        let mut opened = OpenedTakes::nothing(clock);
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
    pub fn open_run(path: &Path, clock: Clock) -> OpenedTakes {
        let mut opened = OpenedTakes::nothing(clock);
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

// What the lines of a journal tell: takes, what was done in the world, and of a run the request
// that it began with.

/// What can be entered in a journal. Takes and the ledger tell their entries apart by `type`; no word
/// is used by both.
#[derive(Debug, Clone, Copy, Serialize)]
#[serde(untagged)]
pub enum JournalEntry<'a> {
    /// The tree of takes has changed.
    Take(&'a TakeEvent),
    /// Something happened in the world.
    Ledger(&'a LedgerEvent),
}

impl<'a> From<&'a TakeEvent> for JournalEntry<'a> {
    fn from(event: &'a TakeEvent) -> Self {
        Self::Take(event)
    }
}

impl<'a> From<&'a LedgerEvent> for JournalEntry<'a> {
    fn from(event: &'a LedgerEvent) -> Self {
        Self::Ledger(event)
    }
}

/// The word of the entry that holds the request that a run began with.
const BASE: &str = "base";

/// The request that a run began with.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FirstRequest {
    #[serde(rename = "type")]
    kind: String,
    /// Id of the format that reads it.
    pub format: String,
    #[serde(with = "spelling::bytes")]
    pub text: Vec<u8>,
}

impl FirstRequest {
    /// A request in a format.
    pub(crate) fn new(format: &str, text: &[u8]) -> Self {
        Self {
            kind: BASE.to_owned(),
            format: format.to_owned(),
            text: text.to_owned(),
        }
    }
}

/// An entry of the ledger, and when it was made.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Happened {
    pub event: LedgerEvent,
    pub current: TakeId,
    /// Its time, in milliseconds since 1970; 0 where none was.
    pub time: u64,
}

/// Everything that a journal tells.
#[derive(Debug, Clone, Default)]
pub(crate) struct JournalState {
    pub(crate) takes: Takes,
    pub(crate) ledger: Ledger,
    pub(crate) happened: Vec<Happened>,
    pub(crate) base: Option<FirstRequest>,
}

/// What every entry says besides.
#[derive(Deserialize)]
struct Common<'a> {
    #[serde(rename = "type", borrow, default)]
    kind: Cow<'a, str>,
    #[serde(default)]
    time: u64,
}

impl JournalState {
    /// Takes over what a line says; gives what is wrong with it.
    pub(crate) fn apply(&mut self, line: &JournalLine) -> Option<Damage> {
        let (seq, at) = (line.seq, line.at);
        let entry = self.entry(&line.entry);
        let unknown = |error: serde_json::Error| Damage::Unknown {
            seq,
            at,
            why: error.to_string(),
        };
        match entry {
            Ok(None) => None,
            Ok(Some(event)) => {
                let why = self.takes.apply(event).err()?;
                Some(Damage::Misfit { seq, at, why })
            }
            Err(error) => Some(unknown(error)),
        }
    }

    /// Reads an entry. A change of the tree is given back; the rest is taken over.
    fn entry(&mut self, entry: &str) -> serde_json::Result<Option<TakeEvent>> {
        let Common { kind, time } = serde_json::from_str(entry)?;
        if kind == BASE {
            let base = serde_json::from_str(entry)?;
            self.base.get_or_insert(base);
        } else if LedgerEvent::TYPES.contains(&&*kind) {
            let event = serde_json::from_str(entry)?;
            self.ledger.apply_beside(&event, &self.takes, time);
            self.happened.push(Happened {
                event,
                current: self.takes.current(),
                time,
            });
        } else {
            return serde_json::from_str(entry).map(Some);
        }
        Ok(None)
    }
}
