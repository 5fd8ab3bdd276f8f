//! retake as a Python module: the functions that the package `retake` is built on. Options come as plain values and
//! reports go as JSON, so that Python's side has its own types and this one none.

use pyo3::create_exception;
use pyo3::exceptions::{PyFileNotFoundError, PyPermissionError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyBytes;
use retake_core::actions::Safety;
use retake_core::session::{Dialect, OutputSchema, Tool};
use retake_core::wire::provider_errors::refusal_of;
use retake_core::wire::tools::read_tools;
use retake_live::report::{FileReport, FindingReport, ProblemReport, SessionReport};
use retake_live::{FixHistoryError, InputError, Inputs, ReadOptions};
use serde::Serialize;
use serde_json::Value;
use std::path::PathBuf;

create_exception!(
    _retake,
    RetakeError,
    PyValueError,
    "What was given cannot be read, checked or fixed."
);

/// How a history is read and judged, as Python gives it.
#[derive(FromPyObject)]
#[pyo3(from_item_all)]
struct Options {
    format: Option<String>,
    dialect: Option<String>,
    /// JSON.
    tools: Option<String>,
    /// JSON.
    output_schema: Option<String>,
}

impl Options {
    fn inputs(self) -> PyResult<Inputs> {
        Ok(Inputs {
            options: ReadOptions {
                format: self.format,
                ..ReadOptions::default()
            },
            tools: self.tools.as_deref().map(tools).transpose()?,
            output_schema: self.output_schema.as_deref().map(schema).transpose()?,
            target: self.dialect.as_deref().map(dialect).transpose()?,
            redacts: false,
        })
    }
}

fn refused(message: impl ToString) -> PyErr {
    RetakeError::new_err(message.to_string())
}

fn json(what: &str, text: &str) -> PyResult<Value> {
    serde_json::from_str(text).map_err(|error| refused(format_args!("{what}: {error}")))
}

fn tools(text: &str) -> PyResult<Vec<Tool>> {
    let (tools, complaints) = read_tools(&json("tools", text)?);
    match complaints.into_iter().next() {
        Some(complaint) => Err(refused(format_args!("tools: {complaint}"))),
        None => Ok(tools),
    }
}

/// A schema by itself, or as requests carry it.
fn schema(text: &str) -> PyResult<OutputSchema> {
    let schema = json("output_schema", text)?;
    Ok(
        OutputSchema::carried_by(&schema).unwrap_or_else(|| OutputSchema {
            name: String::new(),
            schema,
        }),
    )
}

fn dialect(word: &str) -> PyResult<Dialect> {
    Dialect::named(word).ok_or_else(|| {
        let known = Dialect::ALL.map(Dialect::word).join(", ");
        refused(format_args!(
            "no dialect is called {word:?}; there are {known}"
        ))
    })
}

/// The error of an input: that of the system where it is one.
fn input_error(error: &InputError) -> PyErr {
    match error {
        InputError::Missing => PyFileNotFoundError::new_err(error.to_string()),
        InputError::Permission => PyPermissionError::new_err(error.to_string()),
        _ => refused(error),
    }
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

fn text_of(value: &impl Serialize) -> PyResult<String> {
    serde_json::to_string(value).map_err(refused)
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

#[pymodule]
mod _retake {
    use super::*;

    #[pymodule_export]
    use super::RetakeError;

    #[pymodule_export]
    const VERSION: &str = env!("CARGO_PKG_VERSION");

    /// Checks a file, or a database, with the files of tools beside it; the report as JSON.
    #[pyfunction]
    fn check_path(py: Python<'_>, path: PathBuf, options: Options) -> PyResult<String> {
        let inputs = options.inputs()?;
        py.detach(|| {
            let report = inputs.check(&path).map_err(|error| input_error(&error))?;
            text_of(&Report::of(&report))
        })
    }

    /// Checks the text of a recording, or, where `is_request`, what the provider would refuse a request for; the report as JSON.
    #[pyfunction]
    fn check_bytes(
        py: Python<'_>,
        data: Vec<u8>,
        name: &str,
        options: Options,
        is_request: bool,
    ) -> PyResult<String> {
        let inputs = options.inputs()?;
        py.detach(|| {
            let report = match is_request {
                true => inputs.check_request(name, data),
                false => inputs.check_bytes(name, data),
            };
            text_of(&Report::of(&report.map_err(|error| input_error(&error))?))
        })
    }

    /// Fixes the text of a recording, or of a request that is about to be sent; the text, and what was done as JSON.
    #[pyfunction]
    fn fix_bytes<'py>(
        py: Python<'py>,
        data: Vec<u8>,
        name: &str,
        options: Options,
        is_request: bool,
        allow_unsafe: bool,
    ) -> PyResult<(Bound<'py, PyBytes>, String)> {
        let inputs = options.inputs()?;
        let up_to = match allow_unsafe {
            true => Safety::Unsafe,
            false => Safety::Safe,
        };
        let (text, done) = py.detach(|| {
            let fixed = inputs.fix_bytes(name, data, up_to, is_request);
            let fixed = fixed.map_err(|error| match error {
                FixHistoryError::Input(error) => input_error(&error),
                error => refused(error),
            })?;
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
            });
            done.map(|done| (fixed.text, done))
        })?;
        Ok((PyBytes::new(py, &text), done))
    }
}
