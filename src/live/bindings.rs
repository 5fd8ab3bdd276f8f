//! What modules of other languages call: options come as plain values and reports go as JSON, so that each language has
//! its own types and this room none.

use super::report::{FileReport, FindingReport, ProblemReport, SessionReport};
use super::{FixHistoryError, InputError, Inputs, ReadOptions};
use retake_core::actions::Safety;
use retake_core::rules::ErrorClass;
use retake_core::session::{Dialect, OutputSchema, Tool};
use retake_core::wire::provider_errors::refusal_of;
use retake_core::wire::tools::read_tools;
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

/// How a history is read and judged.
#[derive(Debug, Clone, Default)]
pub struct BindingOptions {
    /// The id of its format; recognised if `None`.
    pub format: Option<String>,
    /// The dialect to judge for; that of the history if `None`.
    pub dialect: Option<String>,
    /// Definitions of tools, as JSON.
    pub tools: Option<String>,
    /// JSON.
    pub output_schema: Option<String>,
    /// Whether it is a request that is about to be sent.
    pub is_request: bool,
}

#[derive(Debug, thiserror::Error)]
pub enum BindingError {
    #[error("{what}: {error}")]
    NotJson {
        what: &'static str,
        error: serde_json::Error,
    },
    #[error("tools: {0}")]
    Tools(String),
    #[error("no dialect is called \"{0}\"; there are {known}", known = Dialect::ALL.map(Dialect::word).join(", "))]
    UnknownDialect(String),
    #[error(transparent)]
    Input(#[from] InputError),
    #[error(transparent)]
    Fix(#[from] FixHistoryError),
    #[error(transparent)]
    Report(#[from] serde_json::Error),
}

impl BindingOptions {
    pub fn inputs(&self) -> Result<Inputs, BindingError> {
        Ok(Inputs {
            options: ReadOptions {
                format: self.format.clone(),
                ..ReadOptions::default()
            },
            tools: self.tools.as_deref().map(tools).transpose()?,
            output_schema: self.output_schema.as_deref().map(schema).transpose()?,
            target: self.dialect.as_deref().map(dialect).transpose()?,
            redacts: false,
        })
    }

    /// Checks a file, or a database, with the file of tools beside it; the report as JSON.
    pub fn check_path(&self, path: &Path) -> Result<String, BindingError> {
        text_of(&Report::of(&self.inputs()?.check(path)?))
    }

    /// Checks the text of a history; the report as JSON. Of a request it holds what the provider would refuse.
    pub fn check_bytes(&self, bytes: Vec<u8>) -> Result<String, BindingError> {
        let inputs = self.inputs()?;
        let report = match self.is_request {
            true => inputs.check_request(NAME, bytes),
            false => inputs.check_bytes(NAME, bytes),
        };
        text_of(&Report::of(&report?))
    }

    /// Fixes the text of a history: the new text, and what was done as JSON.
    pub fn fix_bytes(
        &self,
        bytes: Vec<u8>,
        allow_unsafe: bool,
    ) -> Result<(Vec<u8>, String), BindingError> {
        let up_to = match allow_unsafe {
            true => Safety::Unsafe,
            false => Safety::Safe,
        };
        let fixed = self
            .inputs()?
            .fix_bytes(NAME, bytes, up_to, self.is_request)?;
        let applied = fixed.report.applied.iter().map(|applied| Step {
            session: applied.session + 1,
            item: applied.item + 1,
            rule: applied.rule,
            action: applied.action,
            notes: applied.notes.clone(),
        });
        let refused = fixed.report.refused.iter().map(|refused| Step {
            session: refused.session + 1,
            item: refused.item + 1,
            rule: refused.rule,
            action: refused.action,
            notes: vec![refused.reason.to_string()],
        });
        let done = text_of(&Fix {
            applied: applied.collect(),
            refused: refused.collect(),
            left: Report::of(&fixed.left),
        })?;
        Ok((fixed.text, done))
    }
}

/// What a history without a file is called.
const NAME: &str = "-";

fn json(what: &'static str, text: &str) -> Result<Value, BindingError> {
    serde_json::from_str(text).map_err(|error| BindingError::NotJson { what, error })
}

fn tools(text: &str) -> Result<Vec<Tool>, BindingError> {
    let (tools, complaints) = read_tools(&json("tools", text)?);
    match complaints.into_iter().next() {
        Some(complaint) => Err(BindingError::Tools(complaint)),
        None => Ok(tools),
    }
}

/// A schema by itself, or as requests carry it.
fn schema(text: &str) -> Result<OutputSchema, BindingError> {
    let schema = json("output_schema", text)?;
    Ok(
        OutputSchema::carried_by(&schema).unwrap_or_else(|| OutputSchema {
            name: String::new(),
            schema,
        }),
    )
}

fn dialect(word: &str) -> Result<Dialect, BindingError> {
    Dialect::named(word).ok_or_else(|| BindingError::UnknownDialect(word.to_owned()))
}

// Reports as JSON.

#[derive(Serialize)]
struct Report<'a> {
    path: &'a str,
    format: &'a str,
    tools_from: Option<&'a str>,
    sessions: Vec<ReportedSession<'a>>,
    problems: Vec<Problem<'a>>,
}

#[derive(Serialize)]
struct ReportedSession<'a> {
    name: &'a str,
    #[serde(flatten)]
    session: &'a SessionReport,
    findings: Vec<ReportedFinding<'a>>,
    problems: Vec<Problem<'a>>,
}

#[derive(Serialize)]
struct ReportedFinding<'a> {
    #[serde(flatten)]
    finding: &'a FindingReport,
    record: Option<&'a str>,
    offset: Option<u64>,
    class: Option<&'static str>,
    /// An example of the words in which the provider refuses it.
    refusal: Option<&'a str>,
}

#[derive(Serialize)]
struct Problem<'a> {
    #[serde(flatten)]
    problem: &'a ProblemReport,
    is_unread: bool,
}

impl<'a> From<&'a ProblemReport> for Problem<'a> {
    fn from(problem: &'a ProblemReport) -> Self {
        Self {
            problem,
            is_unread: problem.is_unread,
        }
    }
}

impl<'a> Report<'a> {
    fn of(report: &'a FileReport) -> Self {
        let sessions = report.sessions.iter().map(|session| ReportedSession {
            name: &session.name,
            session,
            findings: session
                .findings
                .iter()
                .map(|finding| ReportedFinding {
                    finding,
                    record: finding.record.as_deref(),
                    offset: finding.offset,
                    class: finding.class.map(ErrorClass::words),
                    refusal: refusal_of(finding.rule.id, session.target)
                        .map(|sentence| &sentence.example[..]),
                })
                .collect(),
            problems: session.problems.iter().map(Problem::from).collect(),
        });
        Self {
            path: &report.path,
            format: report.format,
            tools_from: report.tools_from.as_deref(),
            sessions: sessions.collect(),
            problems: report.problems.iter().map(Problem::from).collect(),
        }
    }
}

fn text_of(value: &impl Serialize) -> Result<String, BindingError> {
    Ok(serde_json::to_string(value)?)
}

/// What was done by a fix, and what is left.
#[derive(Serialize)]
struct Fix<'a> {
    applied: Vec<Step<'a>>,
    refused: Vec<Step<'a>>,
    left: Report<'a>,
}

#[derive(Serialize)]
struct Step<'a> {
    /// Counted from 1.
    session: usize,
    /// Counted from 1.
    item: u32,
    rule: &'a str,
    action: &'a str,
    notes: Vec<String>,
}
