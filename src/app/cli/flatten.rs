//! A recording with its findings as plain values: what every report format prints,
//! without the recording itself. They are serialized as the lines of the JSON report.

use super::arguments::FailOn;
use super::inputs::Inputs;
use retake_core::actions::Offer;
use retake_core::formats::{Reading, record_word};
use retake_core::rules::{ErrorClass, Finding, OrphanCause, Rule, Severity};
use retake_core::session::{Dialect, Kind, Record, Session, SourceError};
use retake_live::{FilePlace, InputError, Recording, check_with_hints, file_places, through_take};
use serde::{Serialize, Serializer};
use std::collections::HashMap;
use std::path::Path;

/// One file with what was found in it.
#[derive(Debug)]
pub(super) struct FileReport {
    /// Its path as it was named.
    pub(super) path: String,
    pub(super) format: &'static str,
    /// The file that its tools were taken from, where they were not recorded and not given.
    pub(super) tools_from: Option<String>,
    pub(super) sessions: Vec<SessionReport>,
    /// What could not be read where there is no session at all, and files beside it that cannot be used.
    pub(super) problems: Vec<ProblemReport>,
}

/// One session with what was found in it.
#[derive(Debug, Serialize)]
pub(super) struct SessionReport {
    /// Its label where that tells it from the others, else its number in the file, counted from 1.
    #[serde(skip)]
    pub(super) name: String,
    /// The dialect that it was judged for.
    pub(super) target: Dialect,
    pub(super) turns: usize,
    pub(super) items: usize,
    /// Number of calls that the client answers.
    pub(super) calls: usize,
    /// Number of their outputs.
    pub(super) outputs: usize,
    /// Whether the offered tools are known.
    pub(super) tools_known: bool,
    /// The findings, in the order of the history.
    #[serde(skip)]
    pub(super) findings: Vec<FindingReport>,
    /// What could not be read within its part of the file.
    #[serde(skip)]
    pub(super) problems: Vec<ProblemReport>,
}

#[derive(Debug, Serialize)]
pub(super) struct FindingReport {
    /// Where its item is, if the file has lines and they were requested.
    #[serde(flatten)]
    pub(super) place: FilePlace,
    /// Its record in a file without lines: `exchange 3`.
    #[serde(skip)]
    pub(super) record: Option<String>,
    /// The turn, counted from 1.
    pub(super) turn: Option<u32>,
    /// The item, counted from 1.
    pub(super) item: Option<u32>,
    #[serde(serialize_with = "id")]
    pub(super) rule: &'static Rule,
    pub(super) severity: Severity,
    pub(super) tool: Option<String>,
    pub(super) call_id: Option<String>,
    /// The sentence; text from the recording is in it.
    pub(super) message: String,
    /// JSON pointer into the arguments or the output.
    pub(super) pointer: Option<String>,
    pub(super) cause: Option<&'static str>,
    /// What kind of error an output is that reports one.
    #[serde(skip)]
    pub(super) class: Option<ErrorClass>,
    pub(super) offers: Vec<Offer>,
}

fn id<S: Serializer>(rule: &Rule, to: S) -> Result<S::Ok, S::Error> {
    to.serialize_str(rule.id)
}

/// One thing that could not be read.
#[derive(Debug, Serialize)]
pub(super) struct ProblemReport {
    /// Where it is, if the file has lines.
    #[serde(flatten)]
    pub(super) place: FilePlace,
    /// The byte, counted from 0.
    pub(super) byte: u64,
    pub(super) message: String,
    /// Whether something was not read for it.
    #[serde(skip)]
    pub(super) is_unread: bool,
}

#[derive(Debug, Default)]
pub(super) struct Totals {
    pub(super) files: usize,
    pub(super) sessions: usize,
    /// Sessions with calls whose tools are not known.
    pub(super) without_tools: usize,
    /// Findings by severity: info, warning, error.
    pub(super) findings: [usize; 3],
    /// Findings that the baseline holds; they are not in any report.
    pub(super) known: usize,
    /// Things that could not be read as they stand.
    pub(super) problems: usize,
    /// Whether some of them were not read at all.
    pub(super) is_unread: bool,
    /// The first rule of the worst severity.
    pub(super) worst: Option<(Severity, &'static str)>,
    /// Whether a finding is at or above `--fail-on`.
    pub(super) failed: bool,
}

impl Totals {
    pub(super) fn add(&mut self, file: &FileReport, fail_on: FailOn) {
        self.files += 1;
        self.sessions += file.sessions.len();
        self.problems += file.problems.len();
        let of_sessions = file.sessions.iter().flat_map(|session| &session.problems);
        self.is_unread |= file
            .problems
            .iter()
            .chain(of_sessions)
            .any(|problem| problem.is_unread);
        for session in &file.sessions {
            self.problems += session.problems.len();
            self.without_tools += usize::from(!session.tools_known && session.calls > 0);
            for finding in &session.findings {
                self.findings[finding.severity as usize] += 1;
                self.failed |= fail_on.includes(finding.severity);
                if self.worst.is_none_or(|(worst, _)| finding.severity > worst) {
                    self.worst = Some((finding.severity, finding.rule.id));
                }
            }
        }
    }
}

impl FileReport {
    /// Reads and checks a file.
    pub(super) fn read(inputs: &Inputs, path: &Path) -> Result<Self, InputError> {
        let mut opened = inputs.read_quietly(path)?;
        let sources = opened.recording.sessions.iter();
        let sources: Vec<_> = sources.map(|session| session.source.clone()).collect();
        through_take(path, &mut opened.recording);
        let findings = check_with_hints(&opened.recording, inputs.target)?;
        // The text is the same, and lines are counted in the file.
        let sessions = opened.recording.sessions.iter_mut();
        for (session, source) in sessions.zip(sources) {
            session.source = source;
        }
        let mut report = Self::of(&opened.recording, &findings, inputs.target, true)?;
        let tools_from = opened.tools_from;
        report.tools_from = tools_from.map(|tools| tools.to_string_lossy().into_owned());
        let unusable = opened.unusable.into_iter();
        report
            .problems
            .extend(unusable.map(|message| ProblemReport {
                place: FilePlace::default(),
                byte: 0,
                message,
                is_unread: true,
            }));
        Ok(report)
    }

    /// A recording and what was found in each of its sessions.
    pub(super) fn of(
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
        let lines = Lines::new(recording, items)?;
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
pub(super) fn session_names(sessions: &[Session]) -> Vec<String> {
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
pub(super) struct Lines(HashMap<u64, FilePlace>);

impl Lines {
    /// Counts the lines of the problems and of these items of sessions.
    pub(super) fn new(
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
    pub(super) fn words(&self, recording: &Recording, session: &Session, item: u32) -> String {
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
pub(super) fn position_of(recording: &Recording, session: &Session, item: usize) -> Option<u64> {
    let item = session
        .items
        .get(item)
        .filter(|_| session.stands_in(&recording.source))?;
    Some(item.span.start)
}

/// The records of a file that know their lines: those of formats that are read record by record.
pub(super) fn lined_records(recording: &Recording) -> &[Record] {
    match (recording.format.reading, recording.sessions.first()) {
        (Reading::Records(_), Some(session)) => &session.records,
        _ => &[],
    }
}

/// The problems of each session: of those that the run would go on from, the last one that begins before the
/// problem. The list after the last session is for files without any.
fn problems_by_session(recording: &Recording, lines: &Lines) -> Vec<Vec<ProblemReport>> {
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
    lines: &Lines,
) -> Result<FindingReport, SourceError> {
    let item = finding.item;
    let place = item.map(|item| lines.of(recording, session, item));
    let mut report = FindingReport::new(session, finding, place.unwrap_or_default())?;
    report.record = item.and_then(|item| record_of(recording, session, item));
    Ok(report)
}

impl FindingReport {
    pub(super) fn new(
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
    use retake_live::{ReadOptions, read_path};
    use std::io::Write;

    #[test]
    fn a_problem_belongs_to_the_session_it_stands_in() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let session = r#"{"task_id": 1, "traj": [{"role": "user", "content": "hi"}, {"role": "assistant", "content": "yes"}]}"#;
        writeln!(file, "{session}\n{session}\n{{\"broken").unwrap();
        let recording = read_path(file.path(), &ReadOptions::default()).unwrap();
        let lines = Lines::new(&recording, []).unwrap();
        let problems = problems_by_session(&recording, &lines);
        let counts = problems.iter().map(Vec::len).collect::<Vec<_>>();
        assert_eq!(counts, [0, 1, 0], "{problems:?}");
        assert_eq!(problems[1][0].place.line, Some(3));
    }
}
