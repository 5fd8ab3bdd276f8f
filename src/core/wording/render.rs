//! Rendering: strict about names, bounded in time and in size.

use super::context::{Context, VARIABLES};
use super::grammar::{self, TemplatePart};
use minijinja::syntax::SyntaxConfig;
use minijinja::value::{Value, ValueKind};
use minijinja::{Environment, Error, ErrorKind, Output, UndefinedBehavior};
use std::sync::atomic::{AtomicUsize, Ordering};

/// Longest template, in bytes.
pub const TEMPLATE: usize = 256 * 1024;
/// Longest text that a template may give, in bytes.
pub const OUTPUT: usize = 256 * 1024;

/// Most instructions of a template with loops: a thousand tools take about ten thousand.
const FUEL: usize = 30_000;
/// Most bytes that a loop can write when each instruction writes the longest text of the template.
const LITERAL: usize = 64 * 1024 * 1024;

/// The text that the model will read.
pub fn render(template: &str, context: &Context) -> Result<String, TemplateError> {
    let pieces = readable(template)?;
    let environment = environment(fuel(&pieces)).map_err(fault)?;
    let compiled = environment.template_from_str(template).map_err(fault)?;
    let text = compiled.render(context.values()).map_err(fault)?;
    if text.len() > OUTPUT {
        return Err(TemplateError::TooMuch);
    }
    Ok(text)
}

/// Whether a template can be read at all, and uses only names that stand ready. It can still fail for a failure
/// that lacks what it asks for (`nearest[0]` where nothing is near).
pub fn check(template: &str) -> Result<(), TemplateError> {
    readable(template).map(|_| ())
}

/// Checks a template and takes it apart.
fn readable(template: &str) -> Result<Vec<TemplatePart<'_>>, TemplateError> {
    if template.len() > TEMPLATE {
        return Err(TemplateError::TooLong);
    }
    let pieces = grammar::pieces(template)?;
    let environment = environment(None).map_err(fault)?;
    let compiled = environment.template_from_str(template).map_err(fault)?;
    let mut unknown = compiled
        .undeclared_variables(false)
        .into_iter()
        .filter(|name| VARIABLES.iter().all(|variable| variable.name != name))
        .map(|name| (grammar::line_of(&pieces, &name), name))
        .collect::<Vec<_>>();
    unknown.sort();
    match unknown.into_iter().next() {
        Some((line, name)) => Err(TemplateError::UnknownName { name, line }),
        None => Ok(pieces),
    }
}

/// How many instructions a template may take: without loops as many as it has.
fn fuel(pieces: &[TemplatePart<'_>]) -> Option<u64> {
    let longest = pieces.iter().map(|piece| match piece {
        TemplatePart::Text(text) => text.len(),
        TemplatePart::Value(_) | TemplatePart::Statement(_) => 1,
    });
    let most = FUEL.min(LITERAL / longest.max().unwrap_or(1));
    grammar::names(pieces, "for").then_some(most as u64)
}

/// The template language of wordings. It begins empty: what is here cannot make more
/// than [`OUTPUT`] of anything.
fn environment(fuel: Option<u64>) -> Result<Environment<'static>, Error> {
    let mut environment = Environment::empty();
    environment.set_undefined_behavior(UndefinedBehavior::Strict);
    let mut syntax = SyntaxConfig::builder();
    environment.set_syntax(syntax.keep_trailing_newline(true).build()?);
    environment.set_fuel(fuel);
    let written = AtomicUsize::new(0);
    environment.set_formatter(move |out, _, value| write(out, value, &written));
    environment.add_filter("join", join);
    environment.add_filter("length", minijinja::filters::length);
    environment.add_filter("first", minijinja::filters::first);
    environment.add_filter("last", minijinja::filters::last);
    environment.add_filter("trim", minijinja::filters::trim);
    environment.add_filter("lower", minijinja::filters::lower);
    environment.add_filter("upper", minijinja::filters::upper);
    environment.add_filter("default", minijinja::filters::default);
    environment.add_filter("tojson", |value: &Value| as_json(value));
    Ok(environment)
}

/// Writes a value: a text as it is, nothing for none, a list of texts with commas, all else as JSON.
fn write(out: &mut Output<'_>, value: &Value, written: &AtomicUsize) -> Result<(), Error> {
    let text = match value.kind() {
        ValueKind::Undefined => return Err(Error::from(ErrorKind::UndefinedError)),
        ValueKind::None => return Ok(()),
        ValueKind::Seq | ValueKind::Iterable => listed(value)?,
        ValueKind::Map => as_json(value)?,
        _ => value.to_string(),
    };
    if written.fetch_add(text.len(), Ordering::Relaxed) + text.len() > OUTPUT {
        return Err(too_much());
    }
    out.write_str(&text).map_err(Error::from)
}

fn listed(value: &Value) -> Result<String, Error> {
    if value.try_iter()?.all(|item| item.as_str().is_some()) {
        join(value, Some(", "))
    } else {
        as_json(value)
    }
}

fn join(values: &Value, separator: Option<&str>) -> Result<String, Error> {
    let mut text = String::new();
    for (index, value) in values.try_iter()?.enumerate() {
        if index > 0 {
            text.push_str(separator.unwrap_or_default());
        }
        match value.as_str() {
            Some(value) => text.push_str(value),
            None => text.push_str(&as_json(&value)?),
        }
        if text.len() > OUTPUT {
            return Err(too_much());
        }
    }
    Ok(text)
}

fn as_json(value: &Value) -> Result<String, Error> {
    serde_json::to_string(value)
        .map_err(|error| Error::new(ErrorKind::BadSerialization, error.to_string()))
}

fn too_much() -> Error {
    Error::from(ErrorKind::WriteFailure)
}

/// The engine's error in our words.
fn fault(error: Error) -> TemplateError {
    let line = error.line().unwrap_or(1);
    let reason = match error.kind() {
        ErrorKind::OutOfFuel => return TemplateError::Endless,
        ErrorKind::WriteFailure => return TemplateError::TooMuch,
        ErrorKind::UndefinedError => "this has no value here".to_owned(),
        kind => error
            .detail()
            .map_or_else(|| kind.to_string(), str::to_owned),
    };
    TemplateError::Failed { reason, line }
}

// Why a template cannot be used, with the line and what would help.

/// Why a template cannot be used. Lines count from 1.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum TemplateError {
    /// The template is too long.
    #[error("the template is too long: {} KB at most", TEMPLATE / 1024)]
    TooLong,
    /// It uses an unknown name.
    #[error("line {line}: unknown name `{name}`; available: {}", names())]
    UnknownName { name: String, line: usize },
    /// It uses a part of the template language that wordings leave out.
    #[error("line {line}: `{what}` is not for wordings; {hint}")]
    NotForWordings {
        /// The statement or operator.
        what: String,
        /// What to use instead.
        hint: &'static str,
        line: usize,
    },
    /// It cannot be read, or fails for this failure.
    #[error("line {line}: {reason}")]
    Failed { reason: String, line: usize },
    /// It runs on and on.
    #[error("the template does not come to an end; loop over fewer things")]
    Endless,
    /// What it says is too long.
    #[error("the text is too long: {} KB at most", OUTPUT / 1024)]
    TooMuch,
}

impl TemplateError {
    /// The line of the template, where one is to blame.
    pub fn line(&self) -> Option<usize> {
        match self {
            Self::UnknownName { line, .. }
            | Self::NotForWordings { line, .. }
            | Self::Failed { line, .. } => Some(*line),
            Self::TooLong | Self::Endless | Self::TooMuch => None,
        }
    }
}

impl TemplateError {
    /// Its line in a TOML file whose template starts, quotes included, at byte `at`. A multi-line text usually
    /// starts on the line after its quotes.
    pub fn line_in_toml(&self, file: &str, at: usize) -> usize {
        let (before, text) = file.split_at_checked(at).unwrap_or((file, ""));
        let quotes = text.starts_with("\"\"\"") || text.starts_with("'''");
        let skipped = usize::from(quotes && text[3..].trim_start_matches('\r').starts_with('\n'));
        let inside = match quotes {
            true => self.line().unwrap_or(1) - 1 + skipped,
            false => 0,
        };
        before.matches('\n').count() + 1 + inside
    }
}

fn names() -> String {
    let names = VARIABLES.iter().map(|variable| variable.name);
    names.collect::<Vec<_>>().join(", ")
}
