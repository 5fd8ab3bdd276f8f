//! From a file to its sessions: recognised by its head, read in one piece or in parts, put in the
//! order of the history.

use super::parallel_read::{File, ReadPart};
use super::replies::mark_replies;
use super::sqlite::read_tables;
use super::{Input, InputError, open, read_database};
use retake_core::formats::split::{self, Members, Part, Step, Within};
use retake_core::formats::{self, Contents, Format, Layout, Reading, Records, Sample};
use retake_core::session::{
    Fragment, Kind, Problem, ProblemKind, Rope, Session, Source, SourceError, Span, Splice, pairing,
};
use std::path::Path;
use std::sync::Arc;

/// How many bytes of a file formats are recognised by.
pub(crate) const SAMPLE_BYTES: u64 = 256 * 1024;
/// Smaller files are read in one piece.
const SMALL: u64 = 4 << 20;

#[derive(Debug, Clone, Default)]
pub struct ReadOptions {
    /// Id of the format; recognised by content if `None`.
    pub format: Option<String>,
    /// Whether the history of a run is read as the file that it would be, of which nobody knows
    /// that it goes on.
    pub as_file: bool,
    /// Whether what was read of a file is kept, so that a text with changes in a few places
    /// needs no full reading.
    pub keeps: bool,
}

/// A file with its sessions.
#[derive(Debug, Clone)]
pub struct Recording {
    /// What the operator named it.
    pub name: String,
    pub source: Arc<dyn Source>,
    /// Whether the lines of `source` are those of the file.
    pub has_lines: bool,
    pub format: &'static Format,
    pub sessions: Vec<Session>,
    pub problems: Vec<Problem>,
    /// What was read, before it was put in order, where it is kept.
    pub kept: Option<Arc<ReadPart>>,
}

pub fn read_path(path: &Path, options: &ReadOptions) -> Result<Recording, InputError> {
    read_input(open(path)?, options)
}

/// A run goes on from the end of these histories: a call there waits for its output, although they are
/// requests. What the run knows of its replies is marked.
pub(crate) fn going_on(sessions: &mut [Session]) {
    // A take of a run's journal is known to go on before the ledger is queried.
    for session in sessions.iter_mut().filter(|one| !one.contract.goes_on) {
        session.contract.goes_on = true;
        mark_replies(session);
        pairing::wait_at_end(session);
    }
}

/// These histories are requests that are about to be sent: a call at their end is one that nobody answered.
pub(crate) fn as_sent(sessions: &mut [Session]) {
    for session in sessions.iter_mut().filter(|one| one.contract.may_go_on()) {
        session.contract.is_request = true;
        session.contract.goes_on = false;
        session.pairing = pairing::pair(session);
    }
}

pub use super::parallel_read::Progress;

/// Reads a text that was written in a format.
pub(crate) fn read_written(input: Input, format: &str) -> Result<Recording, InputError> {
    let options = ReadOptions {
        format: Some(format.to_owned()),
        ..ReadOptions::default()
    };
    read_input(input, &options)
}

/// Reads an input that is open.
pub fn read_input(mut input: Input, options: &ReadOptions) -> Result<Recording, InputError> {
    if let (true, Some(_), Some(text)) = (options.as_file, input.run, &input.buffer) {
        input.source = text.clone();
        input.run = None;
    }
    let head = head_of(&input)?;
    let sample = Sample::new(&head, head.len() as u64 == input.source.len());
    let format = choose_format(&input, &sample, options)?;
    let is_certain = options.format.is_some() || input.run.is_some();
    let recording = read_as(format, input, &head, options.keeps, &|_, _| ())?;
    if !is_certain {
        refuse_another_format(&recording, &head)?;
    }
    Ok(recording)
}

/// Refuses a text that only looked like its format; it begins with `head`.
pub(crate) fn refuse_another_format(recording: &Recording, head: &[u8]) -> Result<(), InputError> {
    let format = recording.format;
    let has_problems = !recording.problems.is_empty();
    match formats::another_format(format, &recording.sessions, has_problems)? {
        // A long list of tools is known by its head only once no message came after it.
        Some(reason) => Err(match formats::recognise_foreign(&Sample::new(head, true)) {
            Some(foreign) => InputError::Foreign {
                title: foreign.title,
                hint: foreign.hint,
            },
            None => InputError::Alike {
                format: format.id,
                reason,
            },
        }),
        None => Ok(()),
    }
}

/// What a text holds: its sessions, and the problems of the way it was opened, of reading it, and of what
/// is unknown in it.
fn settled(
    contents: Contents,
    notices: Vec<Problem>,
    goes_on: bool,
) -> Result<(Vec<Session>, Vec<Problem>), InputError> {
    let Contents {
        mut sessions,
        mut problems,
    } = contents.after(notices);
    if goes_on {
        going_on(&mut sessions);
    }
    report_cut(&sessions, &mut problems);
    problems.extend(formats::unknown_types(&sessions)?);
    Ok((sessions, problems))
}

/// Says once that a document ends in the middle, whatever is open or cut at its end.
fn report_cut(sessions: &[Session], problems: &mut Vec<Problem>) {
    let is_end = |problem: &Problem| problem.kind == ProblemKind::Unclosed;
    let Some(at) = problems
        .iter()
        .find(|problem| is_end(problem))
        .map(|end| end.at)
    else {
        return;
    };
    problems.retain(|problem| !is_end(problem) && problem.kind != ProblemKind::Torn);
    let items = sessions.iter().flat_map(|session| &session.items);
    let items = items.filter(|item| item.kind != Kind::Unreadable).count();
    problems.push(Problem {
        at,
        kind: ProblemKind::Cut { items },
    });
}

/// Reads an input whose format and head are known.
pub(crate) fn read_as(
    format: &'static Format,
    input: Input,
    head: &[u8],
    keeps: bool,
    progress: Progress<'_>,
) -> Result<Recording, InputError> {
    let length = input.source.len();
    let mut kept = None;
    let contents = match (format.reading, &input.buffer) {
        (Reading::Database, _) => {
            read_database(input.path.as_deref().ok_or(InputError::DatabaseInPipe)?)?
        }
        (Reading::Tables(tables), _) => {
            let path = input.path.as_deref().ok_or(InputError::DatabaseInPipe)?;
            read_tables(tables, path)?
        }
        (_, Some(buffer)) => formats::read_buffer(format, &input.source, buffer)?,
        (Reading::Records(records) | Reading::Spelled(records), None)
            if length > SMALL || (keeps && !records.spells) =>
        {
            let sample = Sample::new(head, head.len() as u64 == length);
            let layout = layout_of(&records, &sample, &*input.source)?;
            let file = File::new(&records, &*input.source, length).telling(progress);
            let read = file.read(&sample, layout)?;
            kept = (keeps && !records.spells).then(|| Arc::new(read.clone()));
            let mut fragment = read.fragment;
            let problems = std::mem::take(&mut fragment.problems);
            (records.assemble)(fragment, &input.source)?.after(problems)
        }
        (_, None) => {
            let bytes = input.source.read(Span {
                start: 0,
                end: length,
            })?;
            formats::read_buffer(format, &input.source, &bytes)?
        }
    };
    let (sessions, problems) = settled(contents, input.notices, input.run.is_some())?;
    Ok(Recording {
        name: input.name,
        source: input.source,
        has_lines: input.has_lines,
        format,
        sessions,
        problems,
        kept,
    })
}

/// Reads a text that was made of one that was read with splices, in order: where that can be,
/// only what they touch.
pub(crate) fn read_again(
    before: &Recording,
    input: Input,
    rope: &Rope,
    splices: &[Splice],
    progress: Progress<'_>,
) -> Result<Recording, InputError> {
    let head = head_of(&input)?;
    if let (Some(kept), Reading::Records(records)) = (&before.kept, before.format.reading) {
        let sample = Sample::new(&head, head.len() as u64 == rope.len());
        let layout = layout_of(&records, &sample, rope)?;
        let read = match kept.begins_as(&sample, layout) {
            true => kept.read_again(&records, rope, splices)?,
            false => None,
        };
        if let Some(read) = read {
            let mut fragment = read.fragment.clone();
            let problems = std::mem::take(&mut fragment.problems);
            let contents = (records.assemble)(fragment, &input.source)?;
            let contents = contents.after(problems);
            let (sessions, problems) = settled(contents, input.notices, input.run.is_some())?;
            return Ok(Recording {
                name: input.name,
                source: input.source,
                has_lines: input.has_lines,
                format: before.format,
                sessions,
                problems,
                kept: Some(Arc::new(read)),
            });
        }
    }
    let keeps = before.kept.is_some();
    read_as(before.format, input, &head, keeps, progress)
}

/// Reads a document that is at hand and known to be one JSON object, and keeps what was read. `None`
/// where its records do not all stand in one array, or where anything about them is odd: then it is to be
/// read like any text.
pub(crate) fn read_document(
    format: &'static Format,
    source: Arc<dyn Source>,
    bytes: &[u8],
) -> Option<Recording> {
    let Reading::Records(records) = format.reading else {
        return None;
    };
    let kept = Arc::new(ReadPart::of_document(&records, bytes)?);
    let contents = (records.assemble)(kept.fragment.clone(), &source).ok()?;
    Some(recording(format, source, contents, Some(kept)))
}

/// Reads `source`, whose text is that of `rope`: such a document with splices in its list. `None` where it has
/// to be read as a whole: also where a name that nothing bears any more would be left of what was read before.
pub(crate) fn read_document_again(
    before: &Recording,
    source: Arc<dyn Source>,
    (rope, splices): (&Rope, &[Splice]),
    goes_on: bool,
) -> Option<Recording> {
    let (Some(kept), Reading::Records(records)) = (&before.kept, before.format.reading) else {
        return None;
    };
    kept.list()?;
    let read = kept.read_again(&records, rope, splices).ok()??;
    if !read.fragment.problems.is_empty() || !bears_all_names(&read.fragment) {
        return None;
    }
    let (fragment, kept) = match goes_on {
        true => (read.fragment, None),
        false => (read.fragment.clone(), Some(Arc::new(read))),
    };
    let mut contents = (records.assemble)(fragment, &source).ok()?;
    if goes_on {
        going_on(&mut contents.sessions);
    }
    Some(recording(before.format, source, contents, kept))
}

fn recording(
    format: &'static Format,
    source: Arc<dyn Source>,
    contents: Contents,
    kept: Option<Arc<ReadPart>>,
) -> Recording {
    Recording {
        name: String::new(),
        source,
        has_lines: true,
        format,
        sessions: contents.sessions,
        problems: contents.problems,
        kept,
    }
}

/// Whether each name that is known is that of an item.
fn bears_all_names(fragment: &Fragment) -> bool {
    let mut names: Vec<u32> = fragment.items.iter().map(|item| item.name.0).collect();
    names.sort_unstable();
    names.dedup();
    let borne = names.iter().filter(|name| **name != 0).count();
    borne == fragment.names.iter().count()
}

/// How the records of a file are laid out. A first line that is longer than the sample looks like a document;
/// where lines follow it, the end of the file shows them.
pub(crate) fn layout_of(
    records: &Records,
    sample: &Sample<'_>,
    source: &dyn Source,
) -> Result<Layout, SourceError> {
    let layout = split::layout(records, sample);
    if sample.complete || !matches!(layout, Layout::Object(_)) {
        return Ok(layout);
    }
    let end = source.len();
    let tail = source.read(Span {
        start: end.saturating_sub(SAMPLE_BYTES),
        end,
    })?;
    let has_lines = [&b"}\n{\""[..], b"}\r\n{\""]
        .iter()
        .any(|seam| memchr::memmem::find(&tail, seam).is_some());
    Ok(if has_lines { Layout::Lines } else { layout })
}

/// Reads the records that are whole in the head of a file.
pub(crate) fn read_head(
    records: &Records,
    sample: &Sample<'_>,
    layout: Layout,
    part: Part<'_>,
    out: &mut Fragment,
) {
    let (start, end) = (sample.skipped, part.bytes.len());
    split::report_leading(sample, out);
    match layout {
        Layout::Lines | Layout::Text => {
            Within::Stream.read(records, part, start, end, out);
        }
        Layout::Array(inside) => {
            Within::Array.read(records, part, start + inside, end, out);
        }
        Layout::Object(inside) => {
            let mut at = start + inside;
            while let Members::Array(first) = split::read_members(records, part, at, out) {
                match Within::Array.read(records, part, first, end, out) {
                    Step::Closed(closed) => at = closed,
                    Step::Reached(_) | Step::Starved(_) => break,
                }
            }
        }
    }
}

pub(crate) fn head_of(input: &Input) -> Result<Vec<u8>, SourceError> {
    input.source.read(Span {
        start: 0,
        end: input.source.len().min(SAMPLE_BYTES),
    })
}

/// The requested format, or the one that claims the text.
pub(crate) fn choose_format(
    input: &Input,
    sample: &Sample<'_>,
    options: &ReadOptions,
) -> Result<&'static Format, InputError> {
    if let Some(id) = &options.format {
        return formats::find(id).ok_or_else(|| InputError::UnknownFormat(id.clone()));
    }
    if let Some(format) = input.run {
        return Ok(format);
    }
    if sample.complete && sample.bytes.iter().all(u8::is_ascii_whitespace) {
        return Err(InputError::Empty);
    }
    formats::recognise(sample).ok_or_else(|| match formats::recognise_foreign(sample) {
        Some(foreign) => InputError::Foreign {
            title: foreign.title,
            hint: foreign.hint,
        },
        None if looks_binary(sample.bytes) => InputError::Binary,
        None => InputError::Unrecognised,
    })
}

/// The format of a text that begins so.
pub fn recognised(head: &[u8]) -> Option<&'static Format> {
    formats::recognise(&Sample::new(head, true))
}

fn looks_binary(head: &[u8]) -> bool {
    let head = &head[..head.len().min(8192)];
    let odd = head
        .iter()
        .filter(|byte| **byte < 9 || (14..32).contains(*byte))
        .count();
    odd * 20 > head.len()
}
