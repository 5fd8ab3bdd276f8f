//! JSON Schema checks of call arguments and final outputs, safe on hostile schemas.
//!
//! The library validates; this room decides beforehand whether it may. A schema is refused ([`SchemaError`])
//! when it is not JSON Schema, reaches outside itself, or could cost without bound; a check is refused
//! ([`ValidationLimit`]) when this schema on this value could take too long. Both bounds are static (see
//! `bound`), so no clock and no thread is needed. A refusal means "cannot check", never a finding.
//!
//! `format` is an annotation here, as the drafts say by default: a wrong e-mail address is not a violation.

use bound::{Bound, ReasonsCost};
use jsonschema::error::ValidationErrorKind;
use jsonschema::{Draft, PatternOptions, ReferencingError, ValidationError};
use serde_json::{Map, Value, json};
use std::collections::HashMap;
use std::sync::{Arc, Mutex, PoisonError};
pub use violation::{SchemaError, ValidationLimit, Violation};

mod bound;
mod survey;
mod violation;

/// Upper bound of one compiled pattern, in bytes of its program.
const PATTERN_PROGRAM: usize = 256 * 1024;

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

// Schemas that stay compiled from one session to the next: an agent offers the same tools again and again.

/// Most bytes of schemas that stay compiled.
const MOST: usize = 256 * 1024;
/// Most bytes of one of them.
const LONGEST: usize = 16 * 1024;

/// Validators by the texts of their schemas.
#[derive(Debug, Default)]
pub struct SchemaCache(Mutex<CacheEntries>);

#[derive(Debug, Default)]
struct CacheEntries {
    validators: HashMap<String, Arc<Result<Validator, SchemaError>>>,
    bytes: usize,
}

impl SchemaCache {
    /// The validator of a schema in either spelling, as [`Validator::compile_either`] compiles it.
    pub fn validator(&self, schema: &Value) -> Arc<Result<Validator, SchemaError>> {
        let text = schema.to_string();
        // A pattern of a few bytes may take a megabyte.
        if text.len() > LONGEST || text.contains("\"pattern") {
            return Arc::new(Validator::compile_either(schema));
        }
        if let Some(known) = self.lock().validators.get(&text) {
            return known.clone();
        }
        let validator = Arc::new(Validator::compile_either(schema));
        self.lock().keep(text, &validator);
        validator
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, CacheEntries> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl CacheEntries {
    fn keep(&mut self, text: String, validator: &Arc<Result<Validator, SchemaError>>) {
        if self.bytes + text.len() > MOST {
            self.validators.clear();
            self.bytes = 0;
        }
        let length = text.len();
        // Another thread may have compiled it as well.
        if self.validators.insert(text, validator.clone()).is_none() {
            self.bytes += length;
        }
    }
}

// Gemini's spelling of a schema as JSON Schema.

/// Rewrites a schema in Gemini's spelling as JSON Schema: upper-case type words (`STRING`), `nullable`,
/// and counts written as text (`"minItems": "1"`: int64 in protocol-buffer JSON). Source: Gemini API
/// reference, `Schema`. Use it only for tools that came in Gemini's `parameters`; a schema that is JSON
/// Schema already is not changed.
#[must_use]
pub fn normalise_gemini(schema: &Value) -> Value {
    normalise(schema, 0)
}

fn normalise(schema: &Value, depth: usize) -> Value {
    let Some(object) = schema
        .as_object()
        .filter(|_| depth < SchemaError::MAX_DEPTH)
    else {
        return schema.clone();
    };
    let mut out: Map<String, Value> = object
        .iter()
        .map(|(key, value)| (key.clone(), keyword(key, value, depth)))
        .collect();
    if out.get("type") == Some(&json!("TYPE_UNSPECIFIED")) {
        out.remove("type");
    }
    if out.get("nullable") == Some(&Value::Bool(true)) {
        allow_null(&mut out);
    }
    Value::Object(out)
}

fn keyword(key: &str, value: &Value, depth: usize) -> Value {
    match (key, value) {
        ("type", Value::String(word)) => json!(lower(word)),
        ("items" | "additionalProperties" | "not", Value::Object(_)) => normalise(value, depth + 1),
        ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => list
            .iter()
            .map(|schema| normalise(schema, depth + 1))
            .collect(),
        ("properties" | "$defs" | "defs" | "definitions", Value::Object(map)) => Value::Object(
            map.iter()
                .map(|(name, schema)| (name.clone(), normalise(schema, depth + 1)))
                .collect(),
        ),
        (
            "minItems" | "maxItems" | "minLength" | "maxLength" | "minProperties" | "maxProperties",
            Value::String(digits),
        ) => digits
            .parse::<u64>()
            .map_or_else(|_| value.clone(), Value::from),
        _ => value.clone(),
    }
}

/// Lower case for the words of Gemini's `Type` enumeration only.
fn lower(word: &str) -> String {
    match word {
        "STRING" | "NUMBER" | "INTEGER" | "BOOLEAN" | "ARRAY" | "OBJECT" | "NULL" => {
            word.to_ascii_lowercase()
        }
        _ => word.to_owned(),
    }
}

fn allow_null(schema: &mut Map<String, Value>) {
    if let Some(Value::String(word)) = schema.get("type") {
        let both = json!([word, "null"]);
        schema.insert("type".to_owned(), both);
    }
    if let Some(Value::Array(options)) = schema.get_mut("enum")
        && !options.contains(&Value::Null)
    {
        options.push(Value::Null);
    }
    if let Some(Value::Array(alternatives)) = schema.get_mut("anyOf") {
        alternatives.push(json!({"type": "null"}));
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod cache_tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn the_same_schema_is_compiled_once_and_another_one_anew() {
        let compiled = SchemaCache::default();
        let schema = json!({"type": "object", "required": ["date"]});
        let first = compiled.validator(&schema);
        assert!(Arc::ptr_eq(&first, &compiled.validator(&schema)));
        let other = compiled.validator(&json!({"type": "object", "required": ["seats"]}));
        let value = json!({"date": 1});
        assert!(first.as_ref().as_ref().unwrap().is_valid(&value).unwrap());
        assert!(!other.as_ref().as_ref().unwrap().is_valid(&value).unwrap());
        let unusable = json!({"type": "nothing"});
        assert!(compiled.validator(&unusable).is_err());
        assert!(compiled.validator(&unusable).is_err());
    }

    #[test]
    fn what_stays_compiled_is_bounded() {
        let compiled = SchemaCache::default();
        for number in 0..200 {
            let long = "x".repeat(10_000);
            compiled.validator(&json!({"description": long, "minimum": number}));
            let kept = compiled.lock();
            let bytes: usize = kept.validators.keys().map(String::len).sum();
            assert!(bytes == kept.bytes && bytes <= MOST);
        }
        let before = compiled.lock().bytes;
        compiled.validator(&json!({"pattern": "a{500}"}));
        compiled.validator(&json!({"description": "x".repeat(LONGEST)}));
        assert_eq!(compiled.lock().bytes, before);
    }
}
