//! A recording with its findings as plain values: what every report format prints,
//! without the recording itself. They are serialized as the lines of the JSON report.

use super::{FilePlace, Recording, file_places};
use retake_core::actions::Offer;
use retake_core::formats::{Reading, record_word};
use retake_core::rules::{ErrorClass, Finding, OrphanCause, Rule, Severity};
use retake_core::session::{Dialect, Kind, Record, Session, SourceError};
use serde::{Serialize, Serializer};
use std::collections::HashMap;

/// One file with what was found in it.
#[derive(Debug)]
pub struct FileReport {
    /// Its path as it was named.
    pub path: String,
    pub format: &'static str,
    /// The file that its tools were taken from, where they were not recorded and not given.
    pub tools_from: Option<String>,
    pub sessions: Vec<SessionReport>,
    /// What could not be read where there is no session at all, and files beside it that cannot be used.
    pub problems: Vec<ProblemReport>,
}

/// One session with what was found in it.
#[derive(Debug, Serialize)]
pub struct SessionReport {
    /// Its label where that tells it from the others, else its number in the file, counted from 1.
    #[serde(skip)]
    pub name: String,
    /// The dialect that it was judged for.
    pub target: Dialect,
    pub turns: usize,
    pub items: usize,
    /// Number of calls that the client answers.
    pub calls: usize,
    /// Number of their outputs.
    pub outputs: usize,
    /// Whether the offered tools are known.
    pub tools_known: bool,
    /// The findings, in the order of the history.
    #[serde(skip)]
    pub findings: Vec<FindingReport>,
    /// What could not be read within its part of the file.
    #[serde(skip)]
    pub problems: Vec<ProblemReport>,
}

#[derive(Debug, Serialize)]
pub struct FindingReport {
    /// Where its item is, if the file has lines and they were requested.
    #[serde(flatten)]
    pub place: FilePlace,
    /// The byte at which its item begins; `None` where the file does not hold the item as it is.
    #[serde(skip)]
    pub offset: Option<u64>,
    /// Its record in a file without lines: `exchange 3`.
    #[serde(skip)]
    pub record: Option<String>,
    /// The turn, counted from 1.
    pub turn: Option<u32>,
    /// The item, counted from 1.
    pub item: Option<u32>,
    #[serde(serialize_with = "id")]
    pub rule: &'static Rule,
    pub severity: Severity,
    pub tool: Option<String>,
    pub call_id: Option<String>,
    /// The sentence; text from the recording is in it.
    pub message: String,
    /// JSON pointer into the arguments or the output.
    pub pointer: Option<String>,
    pub cause: Option<&'static str>,
    /// What kind of error an output is that reports one.
    #[serde(skip)]
    pub class: Option<ErrorClass>,
    pub offers: Vec<Offer>,
}

fn id<S: Serializer>(rule: &Rule, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(rule.id)
}

/// One thing that could not be read.
#[derive(Debug, Serialize)]
pub struct ProblemReport {
    /// Where it is, if the file has lines.
    #[serde(flatten)]
    pub place: FilePlace,
    /// The byte, counted from 0.
    pub byte: u64,
    pub message: String,
    /// Whether something was not read for it.
    #[serde(skip)]
    pub is_unread: bool,
}

impl FileReport {
    /// A recording and what was found in each of its sessions.
    pub fn of(
        recording: &Recording,
        findings: &[Vec<Finding>],
        target: Option<Dialect>,
        with_lines: bool,
    ) -> Result<Self, SourceError> {
        let items = |(session, findings): (usize, &Vec<Finding>)| {
            let items = findings.iter().filter_map(|finding| finding.item);
            items.map(|item| (session, item)).collect::<Vec<_>>()
        };
        let items = findings
            .iter()
            .enumerate()
            .filter(|_| with_lines)
            .flat_map(items);
        let lines = LinesByPosition::new(recording, items)?;
        let mut problems = problems_by_session(recording, &lines);
        let sessions = recording.sessions.iter().zip(findings);
        let sessions = sessions
            .zip(session_names(&recording.sessions))
            .zip(&mut problems)
            .map(|(((session, findings), name), problems)| {
                let flat = |finding| flatten(recording, session, finding, &lines);
                Ok(SessionReport {
                    name,
                    target: target.unwrap_or(session.dialect),
                    turns: session.turns.len(),
                    items: session.items.len(),
                    calls: session.count(Kind::Call),
                    outputs: session.count(Kind::Output),
                    tools_known: session.contract.tools_known(),
                    findings: findings.iter().map(flat).collect::<Result<_, _>>()?,
                    problems: std::mem::take(problems),
                })
            })
            .collect::<Result<_, SourceError>>()?;
        Ok(Self {
            path: recording.name.clone(),
            format: recording.format.id,
            tools_from: None,
            sessions,
            problems: problems.into_iter().flatten().collect(),
        })
    }
}

/// The sessions of a recording by what people call them; see [`SessionReport::name`].
pub fn session_names(sessions: &[Session]) -> Vec<String> {
    let mut uses: HashMap<&str, usize> = HashMap::new();
    for session in sessions {
        *uses.entry(&session.label).or_default() += 1;
    }
    let name = |(index, session): (usize, &Session)| {
        if session.label.is_empty() || uses[session.label.as_str()] > 1 {
            (index + 1).to_string()
        } else {
            session.label.clone()
        }
    };
    sessions.iter().enumerate().map(name).collect()
}

/// The lines of the positions that a report names.
pub struct LinesByPosition(HashMap<u64, FilePlace>);

impl LinesByPosition {
    /// Counts the lines of the problems and of these items of sessions.
    pub fn new(
        recording: &Recording,
        items: impl IntoIterator<Item = (usize, u32)>,
    ) -> Result<Self, SourceError> {
        if record_word(recording.format).is_some() || !recording.has_lines {
            return Ok(Self(HashMap::new()));
        }
        let problems = recording.problems.iter().map(|problem| problem.at);
        let mut positions = problems.collect::<Vec<_>>();
        let place = |(session, item): (usize, u32)| {
            position_of(recording, recording.sessions.get(session)?, item as usize)
        };
        positions.extend(items.into_iter().filter_map(place));
        file_places(&*recording.source, lined_records(recording), positions).map(Self)
    }

    /// The place of an item.
    fn of(&self, recording: &Recording, session: &Session, item: u32) -> FilePlace {
        match position_of(recording, session, item as usize) {
            Some(place) => self.0.get(&place).copied().unwrap_or_default(),
            None => FilePlace {
                line: line_of_record(recording, session, item),
                column: None,
            },
        }
    }

    /// The place of an item in words: `line 35`, `line 1, column 48213`, `row 7`; nothing where it has none.
    pub fn words(&self, recording: &Recording, session: &Session, item: u32) -> String {
        let record = record_of(recording, session, item);
        let FilePlace { line, column } = self.of(recording, session, item);
        let line = line.map(|line| format!("line {line}"));
        let column = column.map(|column| format!("column {column}"));
        let words = [record, line, column].into_iter().flatten();
        words.collect::<Vec<_>>().join(", ")
    }
}

/// The line of an item that does not stand in the file as it is, where its reader says which one it came from.
fn line_of_record(recording: &Recording, session: &Session, item: u32) -> Option<u64> {
    if record_word(recording.format).is_some() || !recording.has_lines {
        return None;
    }
    let is_anew = matches!(
        recording.format.reading,
        Reading::Spelled(_) | Reading::Whole(_)
    );
    number_of_record(session, item).filter(|_| is_anew)
}

/// The number of the record of an item; `None` where it has none.
fn number_of_record(session: &Session, item: u32) -> Option<u64> {
    let item = session.items.get(item as usize)?;
    let record = session.records.get(item.record as usize)?;
    Some(record.number).filter(|number| *number > 0)
}

/// The record of an item in a file without lines: `exchange 3`.
fn record_of(recording: &Recording, session: &Session, item: u32) -> Option<String> {
    let word = record_word(recording.format)?;
    Some(format!("{word} {}", number_of_record(session, item)?))
}

/// Where in the file an item begins; `None` where the file does not hold the item as it is.
pub fn position_of(recording: &Recording, session: &Session, item: usize) -> Option<u64> {
    let item = session
        .items
        .get(item)
        .filter(|_| session.stands_in(&recording.source))?;
    Some(item.span.start)
}

/// The records of a file that know their lines: those of formats that are read record by record.
pub fn lined_records(recording: &Recording) -> &[Record] {
    match (recording.format.reading, recording.sessions.first()) {
        (Reading::Records(_), Some(session)) => &session.records,
        _ => &[],
    }
}

/// The problems of each session: of those that the run would go on from, the last one that begins before the
/// problem. The list after the last session is for files without any.
fn problems_by_session(recording: &Recording, lines: &LinesByPosition) -> Vec<Vec<ProblemReport>> {
    let sessions = &recording.sessions;
    let begins = |session: &Session| session.items.iter().map(|item| item.span.start).min();
    let mut starts = sessions
        .iter()
        .enumerate()
        .filter(|(_, session)| session.active)
        .filter_map(|(number, session)| Some((begins(session)?, number)))
        .collect::<Vec<_>>();
    starts.sort_unstable();
    let mut problems: Vec<Vec<ProblemReport>> = Vec::new();
    problems.resize_with(sessions.len() + 1, Vec::new);
    for problem in &recording.problems {
        let owners = starts.partition_point(|(start, _)| *start <= problem.at);
        let owner = starts[..owners].last().map_or(0, |(_, number)| *number);
        problems[owner].push(ProblemReport {
            place: lines.0.get(&problem.at).copied().unwrap_or_default(),
            byte: problem.at,
            message: problem.kind.to_string(),
            is_unread: problem.kind.is_unread(),
        });
    }
    problems
}

fn flatten(
    recording: &Recording,
    session: &Session,
    finding: &Finding,
    lines: &LinesByPosition,
) -> Result<FindingReport, SourceError> {
    let item = finding.item;
    let place = item.map(|item| lines.of(recording, session, item));
    let mut report = FindingReport::new(session, finding, place.unwrap_or_default())?;
    report.offset = item.and_then(|item| position_of(recording, session, item as usize));
    report.record = item.and_then(|item| record_of(recording, session, item));
    Ok(report)
}

impl FindingReport {
    pub fn new(
        session: &Session,
        finding: &Finding,
        place: FilePlace,
    ) -> Result<Self, SourceError> {
        let item = finding
            .item
            .and_then(|index| session.items.get(index as usize));
        let call_id = item.map(|item| session.call_id(item)).transpose()?;
        Ok(Self {
            place,
            offset: None,
            record: None,
            turn: item.map(|item| item.turn + 1),
            item: finding.item.map(|index| index + 1),
            rule: finding.rule,
            severity: finding.severity,
            tool: finding.tool(session).map(str::to_owned),
            call_id: call_id.filter(|id| !id.is_empty()),
            message: finding.message(),
            pointer: finding.pointer.clone(),
            cause: finding.cause.map(OrphanCause::words),
            class: finding.get("class").and_then(ErrorClass::of_words),
            offers: finding.offers.clone(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ReadOptions, read_path};
    use std::io::Write;

    #[test]
    fn a_problem_belongs_to_the_session_it_stands_in() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let session = r#"{"task_id": 1, "traj": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]}"#;
        writeln!(file, "{session}\n{session}\n{{\"broken").unwrap();
        let recording = read_path(file.path(), &ReadOptions::default()).unwrap();
        let lines = LinesByPosition::new(&recording, []).unwrap();
        let problems = problems_by_session(&recording, &lines);
        let counts = problems.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(counts, [0, 1, 0], "{problems:?}");
        assert_eq!(problems[1][0].place.line, Some(3));
    }
}
