//! A recording with its takes: plans become takes, takes become texts and sessions, and each change
//! goes to the journal.

use crate::item_marks::ItemIndex;
use crate::takes::{
    About, Clock, Damage, Happened, Journal, NotRecording, OpenedTakes, is_run_file, lay,
};
use crate::{Base, BaseError, Input, InputError, Progress, Recording, going_on, read_written};
use retake_core::formats::convert::{ConvertOptions, convert};
use retake_core::formats::{self, CannotWrite, lower};
use retake_core::repair::likely;
use retake_core::session::ledger::{Ledger, LedgerEvent};
use retake_core::session::takes::{
    AnchorError, AnchoredSplice, ItemMark, OwnText, Take, TakeCause, TakeEvent, TakeEventError,
    TakeId, TakeOutcome, Takes, anchor,
};
use retake_core::session::{Dialect, Edit, Rope, Session, SourceError, TextOrigin, Tool};
use std::collections::{BTreeSet, HashMap};
use std::path::{Path, PathBuf};
use std::sync::Arc;

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests;

/// The action of a take that is the history of a session as one request: what a log of exchanges, a stream or a
/// journal is turned into before it can be changed.
pub const AS_REQUEST: &str = "as-request";

#[derive(Debug, thiserror::Error)]
pub enum TakeError {
    #[error(transparent)]
    Base(#[from] BaseError),
    #[error(transparent)]
    CannotWrite(#[from] CannotWrite),
    #[error("{0}")]
    Lost(#[from] AnchorError),
    #[error(transparent)]
    Misfit(#[from] TakeEventError),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("there is no session {}", .0 + 1)]
    NoSession(u32),
}

impl From<SourceError> for TakeError {
    fn from(error: SourceError) -> Self {
        Self::Input(error.into())
    }
}

impl TakeError {
    /// Whether the history can be changed once it is written as one request ([`TakeStore::as_request`]).
    pub fn wants_request(&self) -> bool {
        matches!(
            self,
            Self::CannotWrite(CannotWrite::Exchanges | CannotWrite::Journal)
                | Self::Base(BaseError::Stream)
        )
    }
}

#[derive(Debug)]
pub struct TakeStore {
    recording: Arc<Recording>,
    path: Option<PathBuf>,
    takes: Takes,
    ledger: Ledger,
    happened: Vec<Happened>,
    is_run: bool,
    journal: Journal,
    in_place: Option<Base>,
    /// What takes are laid over that have a text of their own, by the first such take.
    requests: HashMap<TakeId, Base>,
    ropes: HashMap<TakeId, Arc<Rope>>,
    items: Option<ItemIndex>,
    /// The takes that are neither in the journal nor saved.
    in_memory: BTreeSet<TakeId>,
}

impl TakeStore {
    /// Looks for the takes that were made of a recording before. `root` is where journals are kept, usually
    /// [`super::takes::usual_root`]. The journal of a run is its own journal: its recording is the request
    /// that it began with.
    pub fn open(
        recording: Arc<Recording>,
        path: Option<&Path>,
        root: Option<&Path>,
        clock: Clock,
    ) -> (Self, Vec<Damage>) {
        if let Some(path) = path.filter(|path| is_run_file(path))
            && let Ok(opened) = Self::open_run(path, clock)
        {
            return opened;
        }
        let opened = Journal::open(root, path, &*recording.source, clock);
        Self::of(recording, path, opened)
    }

    fn of(
        recording: Arc<Recording>,
        path: Option<&Path>,
        opened: OpenedTakes,
    ) -> (Self, Vec<Damage>) {
        let workbench = Self {
            recording,
            path: path.map(Path::to_owned),
            takes: opened.takes,
            ledger: opened.ledger,
            happened: opened.happened,
            is_run: opened.base.is_some(),
            journal: opened.journal,
            in_place: None,
            requests: HashMap::new(),
            ropes: HashMap::new(),
            items: None,
            in_memory: BTreeSet::new(),
        };
        (workbench, opened.damages)
    }

    /// What takes branch off: the recording, of a run the request that it began with.
    pub fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    /// The file that was opened; of a run its journal.
    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// Whether it is a run: its journal holds everything, and its recording is the request that it began with.
    pub fn is_run(&self) -> bool {
        self.is_run
    }

    pub fn takes(&self) -> &Takes {
        &self.takes
    }

    /// Why takes are only in memory, while that is so.
    pub fn not_recording(&self) -> Option<&NotRecording> {
        self.journal.not_recording()
    }

    /// Whether something is not in the journal that could be, later.
    pub fn is_behind(&self) -> bool {
        self.not_recording().is_some_and(NotRecording::may_pass)
    }

    /// How many takes were made that are in memory only.
    pub fn takes_in_memory(&self) -> usize {
        self.in_memory.len()
    }

    /// A take was saved as a file of its own, and with it what it came from.
    pub fn note_saved(&mut self, id: TakeId) {
        for id in self.takes.line(id) {
            self.in_memory.remove(&id);
        }
    }

    /// Tries again to write what could not be written; [`Self::not_recording`] says what came of it.
    pub fn catch_up(&mut self) {
        // The journal remembers its trouble.
        if self.journal.catch_up().is_ok() {
            self.in_memory.clear();
        }
    }

    pub fn journal_path(&self) -> Option<PathBuf> {
        self.journal.path()
    }

    /// What a take is laid over.
    pub fn base(&mut self, id: TakeId) -> Result<&Base, TakeError> {
        let Some(request) = self.request_below(id) else {
            return self.ground();
        };
        if !self.requests.contains_key(&request) {
            let base = self.request(request)?;
            self.requests.insert(request, base);
        }
        let base = self.requests.get(&request);
        base.ok_or(TakeError::Misfit(TakeEventError::NoTake(request)))
    }

    fn ground(&mut self) -> Result<&Base, TakeError> {
        if self.in_place.is_none() {
            self.in_place = Some(Base::new(self.recording.clone(), self.path.as_deref())?);
        }
        self.in_place
            .as_ref()
            .ok_or(TakeError::Base(BaseError::Stream))
    }

    /// The text of a take that has one of its own; what an older retake made is written again.
    fn request(&self, id: TakeId) -> Result<Base, TakeError> {
        let take = self.takes.get(id).ok_or(TakeEventError::NoTake(id))?;
        if let Some(own) = &take.own {
            return base_of(&self.recording.name, own);
        }
        let history = self.recording.sessions.get(take.session as usize);
        let history = history.ok_or(TakeError::NoSession(take.session))?;
        base_of(&self.recording.name, &own_text(history, history.dialect)?)
    }

    pub fn rope(&mut self, id: TakeId) -> Result<Arc<Rope>, TakeError> {
        let mut rope = self.base(id)?.rope().clone();
        let mut line = self.takes.line(id);
        if let Some(request) = self.request_below(id) {
            line.drain(..line.iter().position(|id| *id == request).unwrap_or(0));
        }
        for id in line {
            if let Some(known) = self.ropes.get(&id) {
                rope = known.clone();
                continue;
            }
            rope = Arc::new(lay((&self.takes, &self.ledger), id, &rope)?);
            self.ropes.insert(id, rope.clone());
        }
        Ok(rope)
    }

    /// Reads a take; what is known from outside of the file is not in it. A take of a run has what its replies and
    /// tools took so far. A run goes on from the end of its takes: a call there waits.
    pub fn read(&mut self, id: TakeId, progress: Progress<'_>) -> Result<Recording, TakeError> {
        if id == TakeId::MAIN {
            return Ok(Recording::clone(&self.recording));
        }
        let rope = self.rope(id)?;
        let line = self.takes.line(id);
        if !self.ledger.is_driven(&line) {
            return Ok(self.base(id)?.read(&rope, progress)?);
        }
        let rope = Arc::new(Rope::clone(&rope).of_run(self.ledger.state(&line)));
        let mut recording = self.base(id)?.read(&rope, progress)?;
        going_on(&mut recording.sessions);
        Ok(recording)
    }

    /// Makes a take of edits to a session of the current one. `about` tells why; its parent, session and
    /// splices are filled in.
    pub fn take(
        &mut self,
        number: u32,
        session: &Session,
        edits: &[Edit],
        about: Take,
    ) -> Result<TakeId, TakeError> {
        let parent = self.takes.current();
        let rope = self.rope(parent)?;
        let splices = lower(session, edits)?;
        let cuts = edits.iter().any(|edit| matches!(edit, Edit::Cut { .. }));
        self.fork(Take {
            parent,
            session: number,
            splices: anchor(&*rope, splices, cuts)?,
            ..about
        })
    }

    /// Makes a take of the history of a session of the current take as one request, to be changed from there.
    /// Its text is kept with it.
    ///
    /// Where the history does not tell which tools were offered, it is offered `tools`.
    pub fn as_request(
        &mut self,
        number: u32,
        to: Dialect,
        tools: &[Tool],
    ) -> Result<TakeId, TakeError> {
        let parent = self.takes.current();
        let recording = self.read(parent, &|_, _| ())?;
        let history = recording.sessions.get(number as usize);
        let mut history = history.ok_or(TakeError::NoSession(number))?.clone();
        if !tools.is_empty() {
            history.contract.supplement(None, Some(tools), None);
        }
        let own = own_text(&history, to)?;
        // It must be readable before it is kept.
        base_of(&self.recording.name, &own)?;
        self.fork(Take {
            parent,
            session: number,
            title: "history rebuilt as one request".to_owned(),
            cause: TakeCause {
                action: Some(AS_REQUEST.to_owned()),
                ..TakeCause::default()
            },
            own: Some(own),
            ..Take::default()
        })
    }

    /// Makes a take of the current one that has a text of its own in the place of its parent's.
    pub fn take_text(&mut self, about: Take) -> Result<TakeId, TakeError> {
        let parent = self.takes.current();
        // It must be readable before it is kept.
        if let Some(own) = &about.own {
            base_of(&self.recording.name, own)?;
        }
        self.fork(Take { parent, ..about })
    }

    fn fork(&mut self, take: Take) -> Result<TakeId, TakeError> {
        let event = self.takes.fork(take)?;
        self.keep(&event);
        Ok(self.takes.current())
    }

    /// Goes back to the take that the current one branches off.
    pub fn undo(&mut self) -> Option<TakeId> {
        let event = self.takes.undo()?;
        self.keep(&event);
        Some(self.takes.current())
    }

    /// Goes down again to where undo came from.
    pub fn redo(&mut self) -> Option<TakeId> {
        let event = self.takes.redo()?;
        self.keep(&event);
        Some(self.takes.current())
    }

    pub fn go_to(&mut self, id: TakeId) -> Result<(), TakeError> {
        let event = self.takes.go_to(id)?;
        self.keep(&event);
        Ok(())
    }

    /// Drops a take from the list with all that branches off it; nothing of it is lost.
    pub fn drop_take(&mut self, id: TakeId) -> Result<(), TakeError> {
        let event = self.takes.drop_take(id)?;
        self.keep(&event);
        Ok(())
    }

    /// Lists the take again that was dropped last.
    pub fn restore(&mut self) -> Option<TakeId> {
        let event = self.takes.restore()?;
        self.keep(&event);
        match event {
            TakeEvent::Dropped { take, .. } => Some(take),
            _ => None,
        }
    }

    pub fn rename(&mut self, id: TakeId, title: String) -> Result<(), TakeError> {
        let event = self.takes.rename(id, title)?;
        self.keep(&event);
        Ok(())
    }

    /// The items of the recording, by which notes and bookmarks find theirs.
    pub(crate) fn items(&mut self) -> &mut ItemIndex {
        let recording = &self.recording;
        self.items
            .get_or_insert_with(|| ItemIndex::of(recording.clone()))
    }

    /// Writes a note on an item of a take; an empty one takes it away.
    pub fn note(&mut self, id: TakeId, item: ItemMark, text: String) -> Result<(), TakeError> {
        let event = self.takes.note(id, item, text)?;
        self.keep(&event);
        Ok(())
    }

    /// Sets a bookmark on an item of a take, or takes it away.
    pub fn bookmark(&mut self, id: TakeId, item: ItemMark, set: bool) -> Result<(), TakeError> {
        let event = self.takes.bookmark(id, item, set)?;
        self.keep(&event);
        Ok(())
    }

    /// Says what a take came to.
    pub fn judge(&mut self, id: TakeId, outcome: TakeOutcome) -> Result<(), TakeError> {
        let event = self.takes.judge(id, outcome)?;
        self.keep(&event);
        Ok(())
    }

    /// Appends to the journal. What cannot be written stays in memory, and [`Self::not_recording`] says why.
    fn keep(&mut self, event: &TakeEvent) {
        let taken = match event {
            TakeEvent::Taken { id, .. } => Some(*id),
            TakeEvent::Grown { take, .. } => Some(*take),
            _ => None,
        };
        match self.journal.append(event) {
            Ok(()) => self.in_memory.clear(),
            // The journal remembers its trouble.
            Err(_) => self.in_memory.extend(taken),
        }
    }
}

/// The history of a session as one request, with its tools.
fn own_text(session: &Session, to: Dialect) -> Result<OwnText, TakeError> {
    let mut text: Vec<u8> = Vec::new();
    let options = ConvertOptions {
        as_request: true,
        repair: likely,
    };
    let mut write = |piece: &[u8]| {
        text.extend_from_slice(piece);
        Ok::<(), SourceError>(())
    };
    convert(session, to, options, &mut write)?;
    let format = to.facts().format.to_owned();
    Ok(OwnText { format, text })
}

/// A request as the ground of takes.
fn base_of(name: &str, own: &OwnText) -> Result<Base, TakeError> {
    let recording = read_text(name, &own.format, &own.text, false)?;
    Ok(Base::new(Arc::new(recording), None)?)
}

/// Reads a text in a format; the request that a run begins with is its own.
fn read_text(name: &str, format: &str, text: &[u8], is_run: bool) -> Result<Recording, InputError> {
    let input = Input {
        run: is_run.then(|| formats::find(format)).flatten(),
        ..Input::of(name, Arc::new(text.to_owned()))
    };
    read_written(input, format)
}

// Takes that grow, and what is done in the world meanwhile: what a live run writes.

#[derive(Debug, thiserror::Error)]
pub enum RunError {
    #[error("{0}")]
    NotRecording(#[from] NotRecording),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error("the journal does not tell the request that the run began with")]
    NoBase,
}

impl TakeStore {
    /// Begins a run: makes its journal, with the first request in it. The file must not be there yet.
    pub fn begin_run(
        path: &Path,
        about: About,
        base: &[u8],
        clock: Clock,
    ) -> Result<Self, RunError> {
        // What cannot be read is not begun.
        read_text(&path.to_string_lossy(), &about.format, base, true)?;
        Journal::begin_run(path, about, base, clock)?;
        let (workbench, _) = Self::open_run(path, clock)?;
        Ok(workbench)
    }

    /// Opens a run. [`Self::not_recording`] has the error if it cannot be written: another process may have it.
    pub fn open_run(path: &Path, clock: Clock) -> Result<(Self, Vec<Damage>), RunError> {
        let opened = Journal::open_run(path, clock);
        let Some(base) = &opened.base else {
            return Err(RunError::NoBase);
        };
        let recording = read_text(&path.to_string_lossy(), &base.format, &base.text, true)?;
        Ok(Self::of(Arc::new(recording), Some(path), opened))
    }

    /// Appends to a take: edits to a session of it, which was read since it grew last. With `Ok` it has
    /// grown; [`Self::not_recording`] has the error if it is not on the disk. A take that others branch
    /// off does not grow.
    pub fn grow(&mut self, id: TakeId, session: &Session, edits: &[Edit]) -> Result<(), TakeError> {
        let rope = self.rope(id)?;
        let splices = lower(session, edits)?;
        let anchored = anchor(&*rope, splices, false)?;
        let shared: Vec<_> = anchored.iter().map(AnchoredSplice::shared).collect();
        let step = self.takes.growth(id);
        let event = self.takes.grow(id, anchored)?;
        let by = self.ledger.grown_by(id, step).cloned();
        self.ropes.insert(id, Arc::new(rope.grown_by(&shared, by)));
        self.keep(&event);
        Ok(())
    }

    /// Enters what happened. With `Ok` it is on the disk. Otherwise it is in memory and is written when that
    /// works again ([`Self::catch_up`]): nothing must be started before.
    pub fn record(&mut self, event: &LedgerEvent) -> Result<(), &NotRecording> {
        self.record_all(std::slice::from_ref(event))
    }

    /// The same for events that happened at once: in one write to the disk.
    pub fn record_all(&mut self, events: &[LedgerEvent]) -> Result<(), &NotRecording> {
        for event in events {
            let time = self.journal.now();
            self.ledger.apply_beside(event, &self.takes, time);
            self.happened.push(Happened {
                event: event.clone(),
                current: self.takes.current(),
                time,
            });
        }
        match self.journal.append_all(events) {
            Ok(()) => {
                self.in_memory.clear();
                Ok(())
            }
            Err(trouble) => Err(trouble),
        }
    }

    /// From now on what happens to the takes and the ledger is in memory only, until [`Self::write_gathered`]:
    /// in one write to the disk.
    pub fn gather(&mut self) {
        self.journal.gather();
    }

    /// Writes what was gathered; [`Self::not_recording`] says what came of it.
    pub fn write_gathered(&mut self) {
        if self.journal.write_gathered().is_ok() {
            self.in_memory.clear();
        }
    }

    /// What was done in the world.
    pub fn ledger(&self) -> &Ledger {
        &self.ledger
    }

    /// The same, entry by entry.
    pub fn happened(&self) -> &[Happened] {
        &self.happened
    }

    /// The takes that lead to this one, which is the last.
    pub fn line(&self, id: TakeId) -> Vec<TakeId> {
        self.takes.line(id)
    }
}

// Finds an item of one take in another: what is written on an item stays with it.

impl TakeStore {
    /// The takes with bytes that the take may still hold, the recording first.
    pub fn homes(&self, id: TakeId) -> Vec<TakeId> {
        let mut homes = vec![TakeId::MAIN];
        homes.extend(self.takes.line(id));
        homes
    }

    /// Where a byte of a take was seen first: the take that wrote it, or the recording, and its place there.
    pub fn home_of(&mut self, id: TakeId, at: u64) -> (TakeId, u64) {
        let homes = self.homes(id).into_iter();
        let mut found = homes.filter_map(|home| Some((home, self.carried((id, at), home)?)));
        found.next().unwrap_or((id, at))
    }

    /// The position of a byte of a take in another one; `None` if it is not there.
    pub fn carried(&mut self, (from, at): (TakeId, u64), to: TakeId) -> Option<u64> {
        if from == to {
            return Some(at);
        }
        if !self.share_text(from, to) {
            return None;
        }
        let origin = origin(&*self.rope(from).ok()?, at)?;
        place(&*self.rope(to).ok()?, origin)
    }

    /// Whether two takes are laid over the same text: the recording and its history as a request are two.
    pub fn share_text(&self, one: TakeId, other: TakeId) -> bool {
        self.request_below(one) == self.request_below(other)
    }

    /// The take whose text is the history as one request, of which this one was made; the nearest one.
    pub fn request_below(&self, id: TakeId) -> Option<TakeId> {
        let mut line = self.takes.line(id).into_iter().rev();
        line.find(|id| {
            let take = self.takes.get(*id);
            let is_request = |take: &Take| {
                take.own.is_some() || take.cause.action.as_deref() == Some(AS_REQUEST)
            };
            take.is_some_and(is_request)
        })
    }
}

/// Where a byte of a rope comes from: the place, and whether it was recorded.
fn origin(rope: &Rope, at: u64) -> Option<(bool, u64)> {
    let pieces = rope.pieces();
    let index = pieces.partition_point(|piece| piece.start <= at);
    let piece = pieces[index.checked_sub(1)?];
    let (is_recorded, span) = match piece.from {
        TextOrigin::Recorded(span) => (true, span),
        TextOrigin::Written(span) | TextOrigin::Grown(span) => (false, span),
    };
    let place = span.start + (at - piece.start);
    (place < span.end).then_some((is_recorded, place))
}

/// The position of a byte of this origin in a rope. What is written in a take stays where it is in those that
/// are made of it.
fn place(rope: &Rope, (is_recorded, at): (bool, u64)) -> Option<u64> {
    rope.pieces().iter().find_map(|piece| {
        let span = match piece.from {
            TextOrigin::Recorded(span) if is_recorded => span,
            TextOrigin::Written(span) | TextOrigin::Grown(span) if !is_recorded => span,
            _ => return None,
        };
        (span.start <= at && at < span.end).then(|| piece.start + (at - span.start))
    })
}
