//! JSON Schema checks of call arguments and final outputs, safe on hostile schemas.
//!
//! The library validates; this room decides beforehand whether it may. A schema is refused ([`SchemaError`])
//! when it is not JSON Schema, reaches outside itself, or could cost without bound; a check is refused
//! ([`ValidationLimit`]) when this schema on this value could take too long. Both bounds are static (see
//! `bound`), so no clock and no thread is needed. A refusal means "cannot check", never a finding.
//!
//! `format` is an annotation here, as the drafts say by default: a wrong e-mail address is no violation.

mod bound;
mod cache;
mod gemini;
mod survey;
mod violation;

use std::fmt;

use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ReferencingError, ValidationError};
use serde_json::Value;

use bound::{Bound, ReasonsCost};
pub use cache::SchemaCache;
pub use gemini::normalise_gemini;
pub use violation::Violation;

/// Upper bound of one compiled pattern, in bytes of its program.
const PATTERN_PROGRAM: usize = 256 * 1024;

/// Why a schema cannot be used for checks, whatever the value.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum SchemaError {
    /// Nested deeper than [`SchemaError::MAX_DEPTH`] levels.
    TooDeep,
    /// More than [`SchemaError::MAX_NODES`] values, or more patterns than can be compiled quickly.
    TooLarge,
    /// A reference leads outside the schema (the URI, or the reference as written); nothing is ever fetched.
    RemoteReference(String),
    /// A reference leads to no place in the schema.
    BrokenReference(String),
    /// Not JSON Schema: the JSON pointer of the place in the schema, and the word or reason.
    NotASchema {
        /// JSON pointer into the schema.
        pointer: String,
        /// The value, or what is wrong with it.
        reason: String,
    },
    /// JSON Schema, but a part of it is not supported (the part).
    Unsupported(String),
    /// A reference that leads back to itself without going into the value.
    Loop,
    /// Combinators that multiply beyond any useful cost.
    TooCostly,
}

impl SchemaError {
    /// Deepest nesting of a schema's JSON that is checked.
    pub const MAX_DEPTH: usize = 64;
    /// Most JSON values in a schema (sixteen plain values of an `enum` count as one).
    pub const MAX_NODES: usize = 20_000;

    fn not_a_schema(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::NotASchema {
            pointer: pointer.into(),
            reason: violation::cut(reason.into()),
        }
    }
}

impl fmt::Display for SchemaError {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::TooDeep => write!(
                out,
                "the schema is nested deeper than {} levels",
                Self::MAX_DEPTH
            ),
            Self::TooLarge => write!(
                out,
                "the schema is too large (more than {} values, or too many patterns)",
                Self::MAX_NODES
            ),
            Self::RemoteReference(uri) => write!(
                out,
                "the schema refers to {uri}, which is not part of it and is never fetched"
            ),
            Self::BrokenReference(reference) => write!(
                out,
                "the schema refers to {reference}, which does not exist in it"
            ),
            Self::NotASchema { pointer, reason } if pointer.is_empty() => {
                write!(out, "not a JSON Schema: {reason}")
            }
            Self::NotASchema { pointer, reason } => {
                write!(out, "not a JSON Schema: {reason} at {pointer}")
            }
            Self::Unsupported(part) => {
                write!(out, "the schema uses {part}, which cannot be checked")
            }
            Self::Loop => out.write_str("the schema refers to itself without end"),
            Self::TooCostly => {
                out.write_str("the schema's alternatives multiply beyond what can be checked")
            }
        }
    }
}

impl std::error::Error for SchemaError {}

/// Why one value was not judged although its schema is usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValidationLimit {
    /// The value is nested deeper than [`ValidationLimit::MAX_DEPTH`] levels, or too deep for this schema.
    TooDeep,
    /// This schema on this value could take too long.
    TooCostly,
}

impl ValidationLimit {
    /// Deepest value that is checked; serde_json reads no deeper either.
    pub const MAX_DEPTH: usize = 128;
}

impl fmt::Display for ValidationLimit {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(match self {
            Self::TooDeep => "the value is nested too deeply to be checked",
            Self::TooCostly => "the value is too large for this schema to be checked",
        })
    }
}

impl std::error::Error for ValidationLimit {}

/// A schema that is compiled once and then judges any number of values.
#[derive(Debug)]
pub struct Validator {
    inner: jsonschema::Validator,
    bound: Bound,
}

impl Validator {
    /// Compiles a schema. Without `$schema` it is read as draft 2020-12, or as draft 7 or 4 where only those
    /// know a form it uses (a list of schemas under `items`, `dependencies`; a boolean `exclusiveMinimum`).
    ///
    /// # Errors
    /// [`SchemaError`] when the schema cannot be used; nothing is fetched, whatever it refers to.
    pub fn compile(schema: &Value) -> Result<Self, SchemaError> {
        let bound = Bound::of(schema)?;
        let draft = draft_of(schema, bound.draft())?;
        let pattern = PatternOptions::regex()
            .size_limit(PATTERN_PROGRAM)
            .dfa_size_limit(PATTERN_PROGRAM);
        let inner = jsonschema::options()
            .with_draft(draft)
            .with_pattern_options(pattern)
            .should_validate_formats(false)
            .offline()
            .build(schema)
            .map_err(|error| refusal(&error))?;
        Ok(Self { inner, bound })
    }

    /// Compiles a schema in either spelling: JSON Schema, or Gemini's with its upper-case types.
    ///
    /// # Errors
    /// As [`Validator::compile`].
    pub fn compile_either(schema: &Value) -> Result<Self, SchemaError> {
        Self::compile(schema).or_else(|refusal| match refusal {
            SchemaError::NotASchema { .. } => Self::compile(&normalise_gemini(schema)),
            other => Err(other),
        })
    }

    /// Whether a value satisfies the schema: the fast path, without reasons.
    ///
    /// # Errors
    /// [`ValidationLimit`] when the check could take too long.
    pub fn is_valid(&self, instance: &Value) -> Result<bool, ValidationLimit> {
        self.bound.admit(instance)?;
        Ok(self.inner.is_valid(instance))
    }

    /// Every violation, in the order of the value's text; empty when the value is valid. A value whose verdict
    /// is affordable but whose reasons are not gives one violation at the root that says so.
    ///
    /// # Errors
    /// [`ValidationLimit`] when the check could take too long.
    pub fn violations(&self, instance: &Value) -> Result<Vec<Violation>, ValidationLimit> {
        if self.is_valid(instance)? {
            return Ok(Vec::new());
        }
        match self.bound.reasons(instance) {
            ReasonsCost::Affordable => Ok(violation::collect(
                self.inner.iter_errors(instance),
                instance,
            )),
            ReasonsCost::TooCostly => Ok(vec![Violation::without_reason(instance)]),
        }
    }
}

/// The draft a schema declares, or `inferred` when it declares none.
fn draft_of(schema: &Value, inferred: Draft) -> Result<Draft, SchemaError> {
    let Some(declared) = schema.get("$schema").and_then(Value::as_str) else {
        return Ok(inferred);
    };
    let known = match declared.trim_end_matches('#') {
        "http://json-schema.org/draft-04/schema" => Draft::Draft4,
        "http://json-schema.org/draft-06/schema" => Draft::Draft6,
        "http://json-schema.org/draft-07/schema" | "https://json-schema.org/draft-07/schema" => {
            Draft::Draft7
        }
        "https://json-schema.org/draft/2019-09/schema" => Draft::Draft201909,
        "https://json-schema.org/draft/2020-12/schema" => Draft::Draft202012,
        _ => {
            return Err(SchemaError::RemoteReference(violation::cut(
                declared.to_owned(),
            )));
        }
    };
    Ok(known)
}

/// Says why the library did not accept a schema.
fn refusal(error: &ValidationError<'_>) -> SchemaError {
    let pointer = error.instance_path().as_str();
    match error.kind() {
        ValidationErrorKind::Referencing(reference) => broken_reference(reference),
        ValidationErrorKind::Format { format } if format == "regex" => {
            let pattern = error.instance().as_str().unwrap_or_default();
            SchemaError::Unsupported(violation::cut(format!("the pattern {pattern:?}")))
        }
        _ => SchemaError::not_a_schema(pointer, violation::one_line(error)),
    }
}

fn broken_reference(error: &ReferencingError) -> SchemaError {
    match error {
        ReferencingError::Unretrievable { uri, .. } => {
            SchemaError::RemoteReference(violation::cut(uri.clone()))
        }
        ReferencingError::PointerToNowhere { pointer } => {
            SchemaError::BrokenReference(violation::cut(pointer.clone()))
        }
        ReferencingError::NoSuchAnchor { anchor } | ReferencingError::InvalidAnchor { anchor } => {
            SchemaError::BrokenReference(violation::cut(anchor.clone()))
        }
        other => SchemaError::Unsupported(violation::cut(other.to_string())),
    }
}

#[cfg(test)]
mod tests;
