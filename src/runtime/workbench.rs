//! A recording with its takes: plans become takes, takes become texts and sessions, and each change goes to the journal.

mod places;

use super::takes::{Clock, Damage, Journal, NotRecording, Opened};
use super::{Base, Input, InputError, NoBase, Progress, ReadOptions, Recording, read_input};
use crate::formats::convert::{Options, To, convert};
use crate::formats::{CannotWrite, lower};
use crate::repair::likely;
use crate::session::takes::{
    Cause, ItemMark, Lost, Misfit, Outcome, Take, TakeEvent, TakeId, Takes, anchor, settle,
};
use crate::session::{Dialect, Edit, Rope, Session, SourceError};
use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The action of a take that is the history of a session as one request: what a log of exchanges, a stream or a journal is turned into
/// before it can be changed.
pub const AS_REQUEST: &str = "as-request";

/// Why there is no take.
#[derive(Debug, thiserror::Error)]
pub enum NoTake {
    /// Nothing can be laid over the recording.
    #[error(transparent)]
    NoBase(#[from] NoBase),
    /// The edits cannot be written where the session stands.
    #[error(transparent)]
    CannotWrite(#[from] CannotWrite),
    /// The file has changed under the take.
    #[error("{0}")]
    Lost(#[from] Lost),
    /// The take is not in the tree.
    #[error(transparent)]
    Misfit(#[from] Misfit),
    /// The text cannot be read.
    #[error(transparent)]
    Input(#[from] InputError),
    /// There is no such session.
    #[error("there is no session {}", .0 + 1)]
    NoSession(u32),
}

impl From<SourceError> for NoTake {
    fn from(error: SourceError) -> Self {
        Self::Input(error.into())
    }
}

impl NoTake {
    /// Whether the history can be changed once it is written as one request ([`Workbench::as_request`]).
    pub fn wants_request(&self) -> bool {
        matches!(
            self,
            Self::CannotWrite(CannotWrite::Exchanges | CannotWrite::Journal)
                | Self::NoBase(NoBase::Stream)
        )
    }
}

/// A recording with its takes.
#[derive(Debug)]
pub struct Workbench {
    recording: Arc<Recording>,
    path: Option<PathBuf>,
    takes: Takes,
    journal: Journal,
    in_place: Option<Base>,
    /// The histories of sessions as requests, by session.
    requests: HashMap<u32, Base>,
    ropes: HashMap<TakeId, Arc<Rope>>,
    /// How many takes are not in the journal.
    in_memory: usize,
}

impl Workbench {
    /// Looks for the takes that were made of a recording before. `root` is where journals are kept, usually
    /// [`super::takes::usual_root`].
    pub fn open(
        recording: Arc<Recording>,
        path: Option<&Path>,
        root: Option<&Path>,
        clock: Clock,
    ) -> (Self, Vec<Damage>) {
        let Opened {
            journal,
            takes,
            damages,
        } = Journal::open(root, path, &*recording.source, clock);
        let workbench = Self {
            recording,
            path: path.map(Path::to_owned),
            takes,
            journal,
            in_place: None,
            requests: HashMap::new(),
            ropes: HashMap::new(),
            in_memory: 0,
        };
        (workbench, damages)
    }

    /// The tree of takes.
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
        self.in_memory
    }

    /// Tries again to write what could not be written; [`Self::not_recording`] says what came of it.
    pub fn catch_up(&mut self) {
        // The journal remembers its trouble.
        if self.journal.catch_up().is_ok() {
            self.in_memory = 0;
        }
    }

    /// Where the journal is, or would be.
    pub fn journal_path(&self) -> Option<PathBuf> {
        self.journal.path()
    }

    /// What a take is laid over.
    pub fn base(&mut self, id: TakeId) -> Result<&Base, NoTake> {
        let request = self.request_below(id);
        let request = request.and_then(|request| self.takes.get(request));
        match request.map(|request| request.session) {
            Some(session) => self.request(session),
            None => {
                if self.in_place.is_none() {
                    self.in_place = Some(Base::new(self.recording.clone(), self.path.as_deref())?);
                }
                self.in_place.as_ref().ok_or(NoTake::NoBase(NoBase::Stream))
            }
        }
    }

    fn request(&mut self, session: u32) -> Result<&Base, NoTake> {
        if let Entry::Vacant(entry) = self.requests.entry(session) {
            let history = self.recording.sessions.get(session as usize);
            let history = history.ok_or(NoTake::NoSession(session))?;
            entry.insert(request_of(&self.recording, history)?);
        }
        self.requests
            .get(&session)
            .ok_or(NoTake::NoSession(session))
    }

    /// The text of a take.
    pub fn rope(&mut self, id: TakeId) -> Result<Arc<Rope>, NoTake> {
        let mut rope = self.base(id)?.rope().clone();
        for id in self.takes.line(id) {
            if let Some(known) = self.ropes.get(&id) {
                rope = known.clone();
                continue;
            }
            let Some(take) = self.takes.get(id) else {
                continue;
            };
            let splices = settle(&*rope, &take.splices)?;
            rope = Arc::new(rope.spliced(&splices));
            self.ropes.insert(id, rope.clone());
        }
        Ok(rope)
    }

    /// Reads a take; what is known from outside of the file is not in it.
    pub fn read(&mut self, id: TakeId, progress: Progress<'_>) -> Result<Recording, NoTake> {
        if id == TakeId::MAIN {
            return Ok(Recording::clone(&self.recording));
        }
        let rope = self.rope(id)?;
        Ok(self.base(id)?.read(&rope, progress)?)
    }

    /// Makes a take of edits to a session of the current one. `about` tells why; its parent, session and splices are filled in.
    pub fn take(
        &mut self,
        number: u32,
        session: &Session,
        edits: &[Edit],
        about: Take,
    ) -> Result<TakeId, NoTake> {
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

    /// Makes a take of a session's history as one request, to be changed from there.
    pub fn as_request(&mut self, number: u32) -> Result<TakeId, NoTake> {
        self.request(number)?;
        self.fork(Take {
            parent: TakeId::MAIN,
            session: number,
            title: "the history as one request".to_owned(),
            cause: Cause {
                action: Some(AS_REQUEST.to_owned()),
                ..Cause::default()
            },
            ..Take::default()
        })
    }

    fn fork(&mut self, take: Take) -> Result<TakeId, NoTake> {
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

    /// Goes to any take.
    pub fn go_to(&mut self, id: TakeId) -> Result<(), NoTake> {
        let event = self.takes.go_to(id)?;
        self.keep(&event);
        Ok(())
    }

    /// Gives a take another title.
    pub fn rename(&mut self, id: TakeId, title: String) -> Result<(), NoTake> {
        let event = self.takes.rename(id, title)?;
        self.keep(&event);
        Ok(())
    }

    /// Writes a note on an item of a take; an empty one takes it away.
    pub fn note(&mut self, id: TakeId, item: ItemMark, text: String) -> Result<(), NoTake> {
        let event = self.takes.note(id, item, text)?;
        self.keep(&event);
        Ok(())
    }

    /// Sets a bookmark on an item of a take, or takes it away.
    pub fn bookmark(&mut self, id: TakeId, item: ItemMark, set: bool) -> Result<(), NoTake> {
        let event = self.takes.bookmark(id, item, set)?;
        self.keep(&event);
        Ok(())
    }

    /// Says what a take came to.
    pub fn judge(&mut self, id: TakeId, outcome: Outcome) -> Result<(), NoTake> {
        let event = self.takes.judge(id, outcome)?;
        self.keep(&event);
        Ok(())
    }

    /// Appends to the journal. What cannot be written stays in memory, and [`Self::not_recording`] says why.
    fn keep(&mut self, event: &TakeEvent) {
        let is_take = matches!(event, TakeEvent::Taken { .. });
        match self.journal.append(event) {
            Ok(()) => self.in_memory = 0,
            // The journal remembers its trouble.
            Err(_) => self.in_memory += usize::from(is_take),
        }
    }
}

/// The history of a session as one request, with its tools.
fn request_of(recording: &Recording, session: &Session) -> Result<Base, NoTake> {
    let mut text: Vec<u8> = Vec::new();
    let options = Options {
        as_request: true,
        repair: likely,
    };
    let mut write = |piece: &[u8]| {
        text.extend_from_slice(piece);
        Ok::<(), SourceError>(())
    };
    convert(session, target_of(session.dialect), options, &mut write)?;
    let input = Input {
        name: recording.name.clone(),
        path: None,
        source: Arc::new(text),
        buffer: None,
        notices: Vec::new(),
    };
    let options = ReadOptions {
        format: Some(target_of(session.dialect).format().to_owned()),
        ..ReadOptions::default()
    };
    let request = read_input(input, &options)?;
    Ok(Base::new(Arc::new(request), None)?)
}

/// The request in which a history of this dialect is written.
pub(super) fn target_of(dialect: Dialect) -> To {
    match dialect {
        Dialect::Responses => To::Responses,
        Dialect::Chat | Dialect::Gemini => To::Chat,
        Dialect::Anthropic => To::Anthropic,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::runtime::read_path;
    use crate::session::{Kind, Voice};
    use std::fs;

    const LINES: &str = concat!(
        "{\"role\":\"user\",\"content\":\"hi\"}\n",
        "{\"type\":\"function_call\",\"call_id\":\"a\",\"name\":\"f\",\"arguments\":\"{}\"}\n",
    );

    struct Desk {
        folder: tempfile::TempDir,
    }

    impl Desk {
        fn new(text: &str) -> Self {
            let folder = tempfile::tempdir().unwrap();
            fs::write(folder.path().join("run.jsonl"), text).unwrap();
            Self { folder }
        }

        fn open(&self) -> Workbench {
            let path = self.folder.path().join("run.jsonl");
            let recording = Arc::new(read_path(&path, &ReadOptions::default()).unwrap());
            let root = self.folder.path().join("state");
            let (workbench, damages) = Workbench::open(recording, Some(&path), Some(&root), || 0);
            assert!(damages.is_empty(), "{damages:?}");
            workbench
        }
    }

    fn kinds(workbench: &mut Workbench, id: TakeId) -> Vec<Kind> {
        let recording = workbench.read(id, &|_, _| ()).unwrap();
        recording.sessions[0]
            .items
            .iter()
            .map(|item| item.kind)
            .collect()
    }

    fn take(workbench: &mut Workbench, edits: &[Edit]) -> TakeId {
        let current = workbench.takes().current();
        let recording = workbench.read(current, &|_, _| ()).unwrap();
        workbench
            .take(0, &recording.sessions[0], edits, Take::default())
            .unwrap()
    }

    fn answer() -> Edit {
        Edit::Answer {
            call: 1,
            text: "no".to_owned(),
            is_error: true,
        }
    }

    fn say(after: u32) -> Edit {
        Edit::Say {
            after,
            voice: Voice::User,
            text: "and?".to_owned(),
        }
    }

    #[test]
    fn takes_are_there_again_when_the_file_is_opened_again_and_when_it_has_grown() {
        let desk = Desk::new(LINES);
        let mut workbench = desk.open();
        let first = take(&mut workbench, &[answer()]);
        let second = take(&mut workbench, &[say(2)]);
        let answered = vec![Kind::User, Kind::Call, Kind::Output];
        let gone_on = vec![Kind::User, Kind::Call, Kind::Output, Kind::User];
        assert_eq!(kinds(&mut workbench, second), gone_on);
        assert_eq!(workbench.undo(), Some(first));
        assert_eq!(workbench.redo(), Some(second));
        drop(workbench);
        let mut again = desk.open();
        assert_eq!(again.takes().current(), second);
        assert_eq!(kinds(&mut again, first), answered);
        assert_eq!(kinds(&mut again, second), gone_on);
        drop(again);
        let path = desk.folder.path().join("run.jsonl");
        fs::write(
            &path,
            format!("{LINES}{{\"role\":\"user\",\"content\":\"hello?\"}}\n"),
        )
        .unwrap();
        let mut grown = desk.open();
        assert_eq!(kinds(&mut grown, first), gone_on);
        assert_eq!(fs::read_to_string(&path).unwrap().lines().count(), 3);
    }

    #[test]
    fn a_log_of_exchanges_is_changed_as_one_request() {
        let text = concat!(
            r#"{"request":{"model":"m","messages":[{"role":"user","content":"hi"}],"tools":[{"type":"function","function":{"name":"f"}}]},"response":{"choices":[{"message":{"role":"assistant","content":null,"tool_calls":[{"id":"a","type":"function","function":{"name":"g","arguments":"{}"}}]}}]}}"#,
            "\n"
        );
        let desk = Desk::new(text);
        let mut workbench = desk.open();
        let recording = workbench.read(TakeId::MAIN, &|_, _| ()).unwrap();
        let refused = workbench.take(0, &recording.sessions[0], &[answer()], Take::default());
        assert!(refused.is_err_and(|error| error.wants_request()));
        let request = workbench.as_request(0).unwrap();
        assert_eq!(kinds(&mut workbench, request), [Kind::User, Kind::Call]);
        let known = workbench.read(request, &|_, _| ()).unwrap();
        assert!(known.sessions[0].contract.tools_known());
        let answered = take(&mut workbench, &[answer()]);
        assert_eq!(
            kinds(&mut workbench, answered),
            [Kind::User, Kind::Call, Kind::Output]
        );
    }
}
