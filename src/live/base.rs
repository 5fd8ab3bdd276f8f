//! What takes are laid over, and how a take is read: the file itself with other bytes in places of it, or the
//! rows of a database.

use super::files::Stamp;
use super::reading::{self, Progress, Recording};
use super::sqlite::{TableText, rows_of};
use super::{DatabaseError, FileSource, Input, InputError};
use retake_core::formats::agents_sqlite::{MessageRow, sessions_of};
use retake_core::formats::{Contents, Reading, native_edits};
use retake_core::session::{
    Problem, Rope, RopePiece, Session, Source, SourceError, Span, Splice, TextOrigin,
};
use std::any::Any;
use std::path::{Path, PathBuf};
use std::sync::Arc;

/// The ground of a tree of takes: a recording as it was read.
#[derive(Debug, Clone)]
pub struct Base {
    recording: Arc<Recording>,
    path: Option<PathBuf>,
    rope: Arc<Rope>,
    kind: Kind,
    /// What the file was like when it was opened; of a packed one or a database, after it was read.
    opened: Option<Stamp>,
    /// Whether a run goes on from the end of it.
    goes_on: bool,
}

#[derive(Debug, Clone)]
enum Kind {
    /// Items stand in the file as they are, or edits know the records that they were made of.
    File,
    /// Items were made of the rows of these tables, and edits change them.
    Tables(Arc<TableText>),
    /// Items stand in the rows of a database, which are concatenated.
    Rows(Arc<Rows>),
}

/// The rows of a database, and where each begins in the text that was made of them.
#[derive(Debug)]
struct Rows {
    path: PathBuf,
    rows: Vec<MessageRow>,
    starts: Vec<u64>,
}

#[derive(Debug, thiserror::Error)]
pub enum BaseError {
    #[error(
        "its items are not spelled as providers spell them; convert it to a list of items first"
    )]
    Stream,
    #[error("the database has changed since it was read")]
    Changed,
    #[error(transparent)]
    Database(#[from] DatabaseError),
}

impl Base {
    /// The ground of a recording; `path` is where it is, if it is a file.
    pub fn new(recording: Arc<Recording>, path: Option<&Path>) -> Result<Self, BaseError> {
        let own = recording
            .sessions
            .first()
            .map(|session| session.source.clone());
        let stands_in_file = recording
            .sessions
            .iter()
            .all(|session| session.stands_in(&recording.source));
        let (kind, source) = match (recording.format.reading, path, own) {
            (Reading::Database, Some(path), Some(text)) => {
                (Kind::Rows(Arc::new(Rows::read(path, &*text)?)), text)
            }
            _ if stands_in_file => (Kind::File, recording.source.clone()),
            _ => return Err(BaseError::Stream),
        };
        Ok(Self::on(recording, path, kind, source))
    }

    /// The same where edits may change the records of the file that items were made of. The recording is taken over
    /// as one whose edits do.
    pub fn of_records(mut recording: Recording, path: Option<&Path>) -> Result<Self, BaseError> {
        let Some(native) = native_edits(recording.format.id) else {
            return Self::new(Arc::new(recording), path);
        };
        let (kind, text): (Kind, Arc<dyn Source>) =
            match (&native.rows, recording.format.reading, path) {
                (None, _, _) => (Kind::File, recording.source.clone()),
                (Some(rows), Reading::Tables(tables), Some(path)) => {
                    let table = TableText::read(path, tables, rows)?;
                    let text = Arc::new(table.text.clone().into_bytes());
                    (Kind::Tables(Arc::new(table)), text)
                }
                (Some(_), _, _) => return Err(BaseError::Stream),
            };
        edit_in(&mut recording, &text);
        Ok(Self::on(Arc::new(recording), path, kind, text))
    }

    fn on(
        recording: Arc<Recording>,
        path: Option<&Path>,
        kind: Kind,
        source: Arc<dyn Source>,
    ) -> Self {
        let file = (&*source as &dyn Any).downcast_ref::<FileSource>();
        let opened = match file {
            Some(file) => Some(file.opened()),
            None => path
                .and_then(|path| path.metadata().ok())
                .map(|file| Stamp::of(&file)),
        };
        let goes_on = |session: &Session| session.contract.goes_on;
        // What the takes of a run wrote stays apart from what it began with.
        let of_run = (&*source as &dyn Any).downcast_ref::<Rope>().cloned();
        Self {
            goes_on: recording.sessions.iter().any(goes_on),
            opened,
            recording,
            path: path.map(Path::to_owned),
            rope: Arc::new(of_run.unwrap_or_else(|| Rope::new(source))),
            kind,
        }
    }

    pub fn recording(&self) -> &Arc<Recording> {
        &self.recording
    }

    pub fn rope(&self) -> &Arc<Rope> {
        &self.rope
    }

    pub fn path(&self) -> Option<&Path> {
        self.path.as_deref()
    }

    /// What the file was like before anything was written.
    pub(crate) fn opened(&self) -> Option<&Stamp> {
        self.opened.as_ref()
    }

    /// The most that others may do with a file that is made of the recording: what they may
    /// do with that itself.
    pub fn mode(&self) -> Option<u32> {
        self.opened.as_ref().map(Stamp::mode)
    }

    /// Whether a take is written as a database.
    pub fn is_database(&self) -> bool {
        matches!(self.kind, Kind::Rows(_) | Kind::Tables(_))
    }

    /// Reads a take: the sessions that the same format finds in its text. What is known from outside of the
    /// file is not in them.
    pub fn read(&self, rope: &Arc<Rope>, progress: Progress<'_>) -> Result<Recording, InputError> {
        match &self.kind {
            Kind::File => {
                let input = self.input(rope);
                let head = reading::head_of(&input)?;
                let read = reading::read_as(self.recording.format, input, &head, false, progress);
                Ok(self.edited_in(read?, rope))
            }
            Kind::Tables(tables) => {
                let Contents { sessions, problems } = tables.read_take(&text_of(rope)?)?;
                Ok(self.edited_in(self.taken(rope, sessions, problems), rope))
            }
            Kind::Rows(rows) => self.read_rows(rows, rope),
        }
    }

    /// Reads a take that was made of another one with splices, in order. What comes out is what [`Base::read`]
    /// gives; where what was read before is kept, only the records are read that the splices touch.
    pub fn read_again(
        &self,
        before: &Recording,
        splices: &[Splice],
        rope: &Arc<Rope>,
        progress: Progress<'_>,
    ) -> Result<Recording, InputError> {
        match &self.kind {
            Kind::File => {
                let input = self.input(rope);
                let read = reading::read_again(before, input, rope, splices, progress);
                Ok(self.edited_in(read?, rope))
            }
            Kind::Tables(_) | Kind::Rows(_) => self.read(rope, progress),
        }
    }

    fn input(&self, rope: &Arc<Rope>) -> Input {
        Input {
            run: self.goes_on.then_some(self.recording.format),
            ..Input::of(&self.recording.name, rope.clone())
        }
    }

    fn read_rows(&self, rows: &Rows, rope: &Arc<Rope>) -> Result<Recording, InputError> {
        let Contents { sessions, problems } = sessions_of(&rows.rows_of(rope)?)?;
        Ok(self.taken(rope, sessions, problems))
    }

    fn taken(&self, rope: &Arc<Rope>, sessions: Vec<Session>, problems: Vec<Problem>) -> Recording {
        Recording {
            name: self.recording.name.clone(),
            source: rope.clone(),
            has_lines: self.recording.has_lines,
            format: self.recording.format,
            sessions,
            problems,
            kept: None,
        }
    }

    /// A take whose edits change the records of its text, where those of the recording do.
    fn edited_in(&self, mut recording: Recording, rope: &Arc<Rope>) -> Recording {
        let mut sessions = self.recording.sessions.iter();
        if sessions.any(|session| session.file.is_some()) {
            let text: Arc<dyn Source> = rope.clone();
            edit_in(&mut recording, &text);
        }
        recording
    }

    /// The rows of a take with the path of the database that they come from; `None` where it is not a database.
    pub(crate) fn rows(
        &self,
        rope: &Rope,
    ) -> Result<Option<(&Path, Vec<MessageRow>)>, SourceError> {
        match &self.kind {
            Kind::File | Kind::Tables(_) => Ok(None),
            Kind::Rows(rows) => Ok(Some((&rows.path, rows.rows_of(rope)?))),
        }
    }

    /// The tables whose rows edits change, and their text in a take; `None` where there are none.
    pub(crate) fn tables(&self, rope: &Rope) -> Result<Option<(&TableText, String)>, SourceError> {
        match &self.kind {
            Kind::File | Kind::Rows(_) => Ok(None),
            Kind::Tables(tables) => Ok(Some((tables, text_of(rope)?))),
        }
    }
}

fn text_of(rope: &Rope) -> Result<String, SourceError> {
    let (start, end) = (0, rope.len());
    let bytes = rope.read(Span { start, end })?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// Makes edits change the records of a text.
fn edit_in(recording: &mut Recording, text: &Arc<dyn Source>) {
    for session in &mut recording.sessions {
        session.file = Some(text.clone());
    }
}

impl Rows {
    fn read(path: &Path, text: &dyn Source) -> Result<Self, BaseError> {
        let rows = rows_of(path)?;
        let mut at = 0;
        let starts = rows.iter().map(|row| {
            let start = at;
            at += row.data.len() as u64 + 1;
            start
        });
        let starts = starts.collect();
        if at != text.len() {
            return Err(BaseError::Changed);
        }
        Ok(Self {
            path: path.to_owned(),
            rows,
            starts,
        })
    }

    /// The rows of a text that was made of these. A line that begins as a row did is that row; one that stood
    /// further on in a row goes on with it; new text in place of a row takes that row. Other new text belongs to
    /// the session of the line before it, and its id is 0.
    fn rows_of(&self, rope: &Rope) -> Result<Vec<MessageRow>, SourceError> {
        let text = rope.read(Span {
            start: 0,
            end: rope.len(),
        })?;
        let mut rows: Vec<MessageRow> = Vec::with_capacity(self.rows.len());
        // The recorded row that came last, by its number, and where it is among the rows.
        let mut open: Option<(usize, usize)> = None;
        let (mut start, mut piece) = (0, 0);
        // No row before this one can still be taken.
        let mut unused = 0;
        for line in text.split(|byte| *byte == b'\n') {
            let at = start as u64;
            start += line.len() + 1;
            if at == rope.len() {
                break;
            }
            let pieces = rope.pieces();
            while pieces.get(piece + 1).is_some_and(|next| next.start <= at) {
                piece += 1;
            }
            let place = pieces.get(piece).and_then(|piece| match piece.from {
                TextOrigin::Recorded(span) => Some(span.start + (at - piece.start)),
                TextOrigin::Written(_) | TextOrigin::Grown(_) => None,
            });
            let recorded = place.and_then(|place| self.starts.binary_search(&place).ok());
            if let (Some(place), None) = (place, recorded) {
                // The data of a row may hold line ends.
                let number = self.starts.partition_point(|start| *start <= place);
                let going_on = open.filter(|(open, _)| open + 1 == number);
                if let Some(row) = going_on.and_then(|(_, row)| rows.get_mut(row)) {
                    row.data.push(b'\n');
                    row.data.extend_from_slice(line);
                    continue;
                }
            }
            if recorded.is_none() && line.trim_ascii().is_empty() {
                // What is left of a row that went.
                continue;
            }
            let own = recorded.or_else(|| self.replaced(pieces, piece, unused));
            if let Some(number) = own {
                unused = number + 1;
                open = Some((number, rows.len()));
            }
            let like = own
                .map(|number| &self.rows[number])
                .or(rows.last())
                .or(self.rows.first());
            let Some(like) = like else {
                continue;
            };
            rows.push(MessageRow {
                session: like.session.clone(),
                branch: like.branch.clone(),
                id: own.map_or(0, |number| self.rows[number].id),
                data: line.to_vec(),
            });
        }
        Ok(rows)
    }

    /// The first of the recorded rows from `unused` on whose beginning was removed where a piece of new text is.
    fn replaced(&self, pieces: &[RopePiece], new: usize, unused: usize) -> Option<usize> {
        let recorded = |piece: &RopePiece| match piece.from {
            TextOrigin::Recorded(span) => Some(span),
            TextOrigin::Written(_) | TextOrigin::Grown(_) => None,
        };
        let from = pieces[..new].iter().rev().find_map(recorded);
        let to = pieces[new..].iter().find_map(recorded);
        let from = from.map_or(0, |span| span.end);
        let row = self
            .starts
            .partition_point(|start| *start < from)
            .max(unused);
        let start = self.starts.get(row)?;
        to.is_none_or(|to| *start < to.start).then_some(row)
    }
}
