//! What mending does with the text as such: strings that JSON does not allow, and whether it is still taken
//! for what it was.

use crate::reading::{SAMPLE_BYTES, refuse_another_format};
use crate::{Input, InputError, Recording, read_written};
use retake_core::formats::{Reading, Sample, is_fixed, is_written, recognise};
use retake_core::json::{respelled, string_end};
use retake_core::session::{
    Dialect, Kind, Problem, ProblemKind, Rope, Source, SourceError, Span, Splice,
};
use std::sync::Arc;

/// How many bytes are read to find the end of a string, at first.
const SPELLED: u64 = 4096;

/// Spells anew the strings that JSON does not allow.
pub(crate) fn spelling(rope: &Rope, recording: &Recording) -> Result<Vec<Splice>, InputError> {
    if !is_written(recording.format) {
        return Ok(Vec::new());
    }
    let problems = recording.problems.iter();
    let bad = problems.filter(|problem| matches!(problem.kind, ProblemKind::BadString(_)));
    let splices = bad.map(|problem| {
        let end = rope.len();
        let mut length = SPELLED;
        loop {
            let span = Span {
                start: problem.at,
                end: end.min(problem.at.saturating_add(length)),
            };
            let text = rope.read(span)?;
            match string_end(&text, 0) {
                Ok(length) => {
                    let end = problem.at + length as u64;
                    let at = Span {
                        start: problem.at,
                        end,
                    };
                    let with = respelled(&text[..length]).into_owned();
                    return Ok(Splice { at, with });
                }
                Err(fault) if span.end == end => {
                    let reason = fault.kind.to_string();
                    return Err(InputError::Source(SourceError::Refused { span, reason }));
                }
                Err(_) => length *= 8,
            }
        }
    });
    splices.collect()
}

/// The last line of a file of lines, where its writer was stopped in the middle of it; not the only one.
pub(crate) fn torn_line(rope: &Rope, recording: &Recording) -> Result<Option<Span>, SourceError> {
    let is_torn = |problem: &&Problem| problem.kind == ProblemKind::Torn;
    let is_text = !matches!(
        recording.format.reading,
        Reading::Tables(_) | Reading::Database
    );
    let problem = recording.problems.iter().rfind(is_torn);
    let Some(problem) = problem.filter(|_| is_text && is_fixed(recording.format)) else {
        return Ok(None);
    };
    let end = rope.len();
    let mut start = problem.at.min(end);
    // The problem may be in the middle of the line.
    while start > 0 {
        let from = start.saturating_sub(SPELLED);
        let before = rope.read(Span {
            start: from,
            end: start,
        })?;
        if let Some(at) = memchr::memrchr(b'\n', &before) {
            start = from + at as u64 + 1;
            break;
        }
        start = from;
    }
    let line = Span { start, end };
    Ok((start > 0 && !line.is_empty()).then_some(line))
}

/// Whether a text is still taken for what the recording is that it was made of.
pub(crate) fn is_read_alike(
    before: &Rope,
    rope: &Arc<Rope>,
    recording: &Recording,
) -> Result<bool, InputError> {
    let recognised = |rope: &Rope| -> Result<_, InputError> {
        let end = rope.len().min(SAMPLE_BYTES);
        let head = rope.read(Span { start: 0, end })?;
        let sample = Sample::new(&head, end == rope.len());
        Ok(recognise(&sample).map(|format| format.id))
    };
    let own = recording.format.id;
    if recognised(before)? != Some(own) {
        // The file names its format.
        return Ok(true);
    }
    let is_plain = |id: &str| Dialect::ALL.iter().any(|it| it.facts().format == id);
    match recognised(rope)? {
        Some(id) if id == own => Ok(refuse_another_format(recording, &[]).is_ok()),
        // Words without calls and results are spelled alike by several providers.
        Some(other) if is_plain(own) && is_plain(other) => {
            let read = read_written(Input::of(&recording.name, rope.clone()), other)?;
            Ok(is_words(recording) && is_words(&read))
        }
        Some(_) | None => Ok(false),
    }
}

fn is_words(recording: &Recording) -> bool {
    let mut items = recording.sessions.iter().flat_map(|it| it.items.iter());
    let is_words = |kind| matches!(kind, Kind::System | Kind::User | Kind::Assistant);
    recording.problems.is_empty() && items.all(|item| is_words(item.kind))
}
