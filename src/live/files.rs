//! Opens what the operator names: files of any kind that can hold a recording, and refuses the rest
//! in one clear line.

use super::{DatabaseError, archive, inflate, session_tree, takes, transcode};
use retake_core::formats::Format;
use retake_core::session::{Problem, ProblemKind, Source, SourceError, Span};
use retake_core::wire::stream::{FrameReader, is_framed};
use std::fs::{File, FileType, Metadata};
use std::io::Read;
use std::os::unix::fs::{FileExt, FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Stamp {
    file: (u64, u64),
    /// When its content was last changed: seconds and nanoseconds.
    changed: (i64, i64),
    mode: u32,
}

impl Stamp {
    /// From what the system says.
    pub(crate) fn of(metadata: &Metadata) -> Self {
        Self {
            file: (metadata.dev(), metadata.ino()),
            changed: (metadata.mtime(), metadata.mtime_nsec()),
            mode: metadata.mode() & 0o777,
        }
    }

    /// Whether both are of one file that was not written to between them.
    pub(crate) fn is_same_content(&self, other: &Self) -> bool {
        (self.file, self.changed) == (other.file, other.changed)
    }

    /// Who may do what with it.
    pub(crate) fn mode(&self) -> u32 {
        self.mode
    }
}

/// A file that is read by position. It may grow while it is open; what was cut off is [`SourceError::Gone`].
#[derive(Debug)]
pub struct FileSource {
    file: File,
    /// The length at the last query: a file system that no longer answers leaves it as it was,
    /// and reading says why.
    length: AtomicU64,
    opened: Stamp,
}

impl FileSource {
    /// Opens a regular file; anything else is refused, also if it took the place of a file a moment ago.
    pub(crate) fn open(path: &Path) -> Result<Self, InputError> {
        // A named pipe without a writer would hold up a blocking open.
        let flags = rustix::fs::OFlags::NONBLOCK | rustix::fs::OFlags::NOCTTY;
        let file = File::options()
            .read(true)
            .custom_flags(flags.bits().cast_signed())
            .open(path)?;
        let metadata = file.metadata()?;
        refuse_special(metadata.file_type())?;
        Ok(Self {
            file,
            length: AtomicU64::new(metadata.len()),
            opened: Stamp::of(&metadata),
        })
    }

    pub(crate) fn opened(&self) -> Stamp {
        self.opened
    }

    /// Lets the system append the beginning of a span to another file, without a way through this
    /// program; says how many bytes it copied. Where it cannot (other file systems, old kernels) or fails, the
    /// rest is for the caller to read and write, who gets the error of that, too.
    #[cfg(any(target_os = "linux", target_os = "android"))]
    pub(crate) fn copy_beginning(&self, span: Span, to: &File) -> u64 {
        let mut at = span.start;
        while at < span.end {
            let rest = usize::try_from(span.end - at).unwrap_or(usize::MAX);
            match rustix::fs::copy_file_range(&self.file, Some(&mut at), to, None, rest) {
                Ok(0) => break,
                Ok(_) | Err(rustix::io::Errno::INTR) => {}
                Err(_) => break,
            }
        }
        at - span.start
    }

    /// There is no such call here.
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    pub(crate) fn copy_beginning(&self, _: Span, _: &File) -> u64 {
        0
    }
}

impl Source for FileSource {
    fn len(&self) -> u64 {
        match self.file.metadata() {
            Ok(metadata) => {
                self.length.store(metadata.len(), Ordering::Relaxed);
                metadata.len()
            }
            Err(_) => self.length.load(Ordering::Relaxed),
        }
    }

    fn read(&self, span: Span) -> Result<Vec<u8>, SourceError> {
        let mut buffer = Vec::new();
        self.read_into(span, &mut buffer)?;
        Ok(buffer)
    }

    fn read_into(&self, span: Span, buffer: &mut Vec<u8>) -> Result<(), SourceError> {
        let refused = |reason: String| SourceError::Refused { span, reason };
        let length = usize::try_from(span.len()).map_err(|error| refused(error.to_string()))?;
        buffer
            .try_reserve(length.saturating_sub(buffer.len()))
            .map_err(|error| refused(error.to_string()))?;
        // What is in it is overwritten: only what it grows by is cleared.
        buffer.resize(length, 0);
        self.fill(span.start, buffer)
    }

    fn fill(&self, start: u64, place: &mut [u8]) -> Result<(), SourceError> {
        self.file.read_exact_at(place, start).map_err(|error| {
            let span = Span {
                start,
                end: start + place.len() as u64,
            };
            match error.kind() {
                std::io::ErrorKind::UnexpectedEof => SourceError::Gone { span },
                _ => SourceError::Refused {
                    span,
                    reason: error.to_string(),
                },
            }
        })
    }
}

/// The bytes of a file that has at most so many: no pipe, socket or device, not even through a link.
pub(crate) fn read_bytes(path: &Path, most: u64) -> Result<Vec<u8>, InputError> {
    let source = FileSource::open(path)?;
    let end = source.len();
    if end > most {
        let message = format!("more than {} KB", most / 1024);
        return Err(InputError::Refused(message));
    }
    Ok(source.read(Span { start: 0, end })?)
}

/// The most bytes of a file of tool definitions or of a schema.
const DEFINITIONS: u64 = 16 << 20;

/// The JSON value of a file of tool definitions or of a schema, or what is wrong with it, without its name.
pub fn read_definitions(path: &Path) -> Result<serde_json::Value, String> {
    let bytes = read_bytes(path, DEFINITIONS).map_err(|error| error.to_string())?;
    serde_json::from_slice(&bytes).map_err(|error| format!("not JSON: {error}"))
}

/// The text of a settings file, which has at most so many bytes.
pub(crate) fn read_text(path: &Path, most: u64) -> Result<String, InputError> {
    let bytes = read_bytes(path, most)?;
    String::from_utf8(bytes).map_err(|_| InputError::Refused("this is not UTF-8".to_owned()))
}

#[derive(Debug, Clone)]
pub struct Input {
    /// What the operator named it, for people: bytes that are no UTF-8 are replaced.
    pub name: String,
    /// Where it is, if it is a file: databases are opened by their path.
    pub path: Option<PathBuf>,
    /// Its bytes; of a compressed or transcoded file those that came out.
    pub source: Arc<dyn Source>,
    /// The bytes where they are in memory.
    pub buffer: Option<Arc<Vec<u8>>>,
    /// Whether the lines of `source` are those of the file: not where it was put together from several files,
    /// unpacked from an archive, or made of a journal.
    pub has_lines: bool,
    /// Notices about the way it was opened.
    pub notices: Vec<Problem>,
    /// The format, where this is the history of a run that may go on: the current take of its journal.
    pub run: Option<&'static Format>,
}

impl Input {
    /// Bytes that are not a file.
    pub fn of(name: impl Into<String>, source: Arc<dyn Source>) -> Self {
        Self {
            name: name.into(),
            path: None,
            source,
            buffer: None,
            has_lines: true,
            notices: Vec::new(),
            run: None,
        }
    }
}

#[derive(Debug, thiserror::Error)]
pub enum InputError {
    #[error("no such file or folder")]
    Missing,
    #[error("no recorded session in this folder")]
    EmptyFolder,
    #[error("{0}, not a file; pipe it in and name it `-`")]
    NotAFile(&'static str),
    #[error("permission denied")]
    Permission,
    #[error("empty file")]
    Empty,
    #[error("a binary file, not a recording")]
    Binary,
    #[error("format not known: this is {title}")]
    Foreign {
        title: &'static str,
        hint: &'static str,
    },
    #[error("format not recognised")]
    Unrecognised,
    /// It looks like a format, and what was read shows that it is another one.
    #[error("format not known: this looks like {format}, but {reason}")]
    Alike {
        /// Id of the format that it looks like.
        format: &'static str,
        reason: String,
    },
    #[error("no format is called \"{0}\"")]
    UnknownFormat(String),
    #[error("it unpacks to more than {limit_mib} MiB")]
    TooLarge { limit_mib: u64 },
    #[error("cannot be unpacked: {0}")]
    Compressed(String),
    #[error(transparent)]
    Database(#[from] DatabaseError),
    /// A database that does not lie in a file of its own: SQLite reads files only.
    #[error("a database can only be read as a file, not packed and not from a pipe")]
    DatabaseInPipe,
    #[error("{0}")]
    Source(#[from] SourceError),
    #[error("{0}")]
    Refused(String),
}

impl From<std::io::Error> for InputError {
    fn from(error: std::io::Error) -> Self {
        match error.kind() {
            std::io::ErrorKind::NotFound => Self::Missing,
            std::io::ErrorKind::PermissionDenied => Self::Permission,
            _ => Self::Refused(error.to_string()),
        }
    }
}

pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let identity = |path: &Path| {
        let metadata = std::fs::metadata(path).ok()?;
        Some((metadata.dev(), metadata.ino()))
    };
    identity(one).is_some_and(|one| identity(other) == Some(one))
}

/// Whether another process has a file open, as far as the system says: Linux does, of the processes of this user.
pub(crate) fn is_open_elsewhere(path: &Path) -> bool {
    let (Ok(path), Ok(processes)) = (path.canonicalize(), std::fs::read_dir("/proc")) else {
        return false;
    };
    let own = std::process::id().to_string();
    let mut others = processes.flatten().filter(|entry| {
        let name = entry.file_name();
        let name = name.to_string_lossy();
        *name != own && name.bytes().all(|byte| byte.is_ascii_digit())
    });
    others.any(|process| {
        // Processes of other users, and those that ended meanwhile, cannot be looked at.
        let files = std::fs::read_dir(process.path().join("fd"));
        let mut files = files.into_iter().flatten().flatten();
        files.any(|file| std::fs::read_link(file.path()).is_ok_and(|open| open == path))
    })
}

/// Opens a file. Looks before it opens, so that a named pipe without a writer cannot hold it up.
pub fn open(path: &Path) -> Result<Input, InputError> {
    let name = path.to_string_lossy().into_owned();
    let kind = std::fs::metadata(path)?.file_type();
    // What the shell hands over (`<(command)`, /dev/stdin) is open already and has a writer.
    let handed_over = path.starts_with("/dev/fd")
        || path.starts_with("/proc/self/fd")
        || path == Path::new("/dev/stdin");
    if kind.is_fifo() && handed_over {
        return from_reader(&name, File::open(path)?);
    }
    refuse_special(kind)?;
    let source = FileSource::open(path)?;
    let head = source.read(Span {
        start: 0,
        end: source.len().min(4096),
    })?;
    if inflate::is_compressed(&head) {
        inflate::refuse_giant(source.len())?;
    }
    let is_encoded = inflate::is_compressed(&head)
        || is_framed(&head)
        || transcode::encoding_of(&head).is_some();
    if is_encoded {
        return from_bytes(
            &name,
            source.read(Span {
                start: 0,
                end: source.len(),
            })?,
        );
    }
    if source.is_empty() {
        return Err(InputError::Empty);
    }
    if takes::is_run(&head)
        && let Some(input) = from_run(&name, path, &source)?
    {
        return Ok(input);
    }
    if let Some(exported) = session_tree::export(path)? {
        let mut input = from_bytes(&name, exported.json)?;
        input.has_lines = false;
        input.notices.extend(exported.problems);
        return Ok(input);
    }
    Ok(Input {
        path: Some(path.to_owned()),
        ..Input::of(name, Arc::new(source))
    })
}

/// The current take of a run's journal; `None` where the journal does not tell it.
fn from_run(name: &str, path: &Path, journal: &FileSource) -> Result<Option<Input>, InputError> {
    let (start, end) = (0, journal.len());
    let Some(run) = takes::read_run(&journal.read(Span { start, end })?) else {
        return Ok(None);
    };
    let end = run.rope.len();
    let buffer = run.rope.read(Span { start, end })?;
    Ok(Some(Input {
        name: name.to_owned(),
        path: Some(path.to_owned()),
        source: Arc::new(run.rope),
        buffer: Some(Arc::new(buffer)),
        has_lines: false,
        notices: run.problems,
        run: Some(run.format),
    }))
}

fn refuse_special(kind: FileType) -> Result<(), InputError> {
    if kind.is_dir() {
        return Err(InputError::EmptyFolder);
    }
    let special = [
        (kind.is_fifo(), "a named pipe"),
        (kind.is_socket(), "a socket"),
        (kind.is_char_device(), "a device"),
        (kind.is_block_device(), "a device"),
    ];
    match special.into_iter().find(|(is, _)| *is) {
        Some((_, what)) => Err(InputError::NotAFile(what)),
        None => Ok(()),
    }
}

pub fn read_stdin() -> Result<Input, InputError> {
    from_reader("-", std::io::stdin().lock())
}

fn from_reader(name: &str, mut reader: impl Read) -> Result<Input, InputError> {
    let mut bytes = Vec::new();
    reader.read_to_end(&mut bytes)?;
    from_bytes(name, bytes)
}

/// The events of a stream in frames of AWS, as far as it can be read, and what is wrong with the rest.
fn unframed(bytes: &[u8]) -> (Vec<u8>, Option<String>) {
    let (mut frames, mut events) = (FrameReader::default(), Vec::new());
    for piece in bytes.chunks(4096) {
        match frames.push(piece) {
            Ok(found) => events.extend_from_slice(&found),
            Err(fault) => return (events, Some(fault.to_string())),
        }
    }
    let cut = frames.is_cut().then(|| "the last frame is cut".to_owned());
    (events, cut)
}

/// Takes bytes as an input: unpacked and in UTF-8.
pub(super) fn from_bytes(name: &str, bytes: Vec<u8>) -> Result<Input, InputError> {
    let is_archive = archive::is_archive(&bytes);
    let (bytes, broken) = inflate::inflate(bytes)?;
    let has_lines = !is_archive && !is_framed(&bytes);
    let (bytes, transcoded, broken) = match is_framed(&bytes) {
        true => {
            let (events, fault) = unframed(&bytes);
            (events, Vec::new(), broken.or(fault))
        }
        false => {
            let (bytes, transcoded) = transcode::to_utf8(bytes);
            (bytes, transcoded, broken)
        }
    };
    let broken = broken.map(|reason| Problem {
        at: bytes.len() as u64,
        kind: ProblemKind::BrokenPacking(reason),
    });
    let notices = transcoded.into_iter().chain(broken).collect();
    if bytes.is_empty() {
        return Err(InputError::Empty);
    }
    let buffer = Arc::new(bytes);
    Ok(Input {
        buffer: Some(buffer.clone()),
        has_lines,
        notices,
        ..Input::of(name, buffer)
    })
}
