//! One violation in our words, the order in which violations are reported, and why there is no check.

use std::collections::HashMap;
use std::fmt::Write as _;

use crate::json::pointer::{push_key, readable};
use jsonschema::ValidationError;
use jsonschema::error::{TypeKind, ValidationErrorKind as Kind};
use serde_json::Value;

/// Longest message, in characters.
const MESSAGE: usize = 500;
/// Longest excerpt of a value inside a message, in characters.
const EXCERPT: usize = 60;
/// Most options of an `enum` that are named.
const OPTIONS: usize = 20;

/// Why a schema cannot be used for checks, whatever the value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SchemaError {
    #[error("the schema is nested deeper than {} levels", Self::MAX_DEPTH)]
    TooDeep,
    /// Too large, or with more patterns than can be compiled quickly.
    #[error(
        "the schema is too large (more than {} values, or too many patterns)",
        Self::MAX_NODES
    )]
    TooLarge,
    /// The URI, or the reference as written.
    #[error("the schema refers to {0}, which is not part of it and is never fetched")]
    RemoteReference(String),
    #[error("the schema refers to {0}, which does not exist in it")]
    BrokenReference(String),
    #[error("not a JSON Schema: {reason}{}", if pointer.is_empty() { String::new() } else { format!(" at {}", readable(pointer)) })]
    NotASchema {
        /// JSON pointer into the schema.
        pointer: String,
        /// The value, or what is wrong with it.
        reason: String,
    },
    #[error("the schema uses {0}, which cannot be checked")]
    Unsupported(String),
    /// A reference leads back to itself without going into the value.
    #[error("the schema refers to itself without end")]
    Loop,
    #[error("the schema's alternatives multiply beyond what can be checked")]
    TooCostly,
}

impl SchemaError {
    /// Deepest nesting of a schema's JSON that is checked.
    pub const MAX_DEPTH: usize = 64;
    /// Most JSON values in a schema (sixteen plain values of an `enum` count as one).
    pub const MAX_NODES: usize = 20_000;

    pub(crate) fn not_a_schema(pointer: impl Into<String>, reason: impl Into<String>) -> Self {
        Self::NotASchema {
            pointer: pointer.into(),
            reason: cut(reason.into()),
        }
    }
}

/// Why one value was not judged although its schema is usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ValidationLimit {
    /// Deeper than [`ValidationLimit::MAX_DEPTH`] levels, or too deep for this schema.
    #[error("the value is nested too deeply to be checked")]
    TooDeep,
    #[error("the value is too large for this schema to be checked")]
    TooCostly,
}

impl ValidationLimit {
    /// Deepest value that is checked; serde_json reads no deeper either.
    pub const MAX_DEPTH: usize = 128;
}

/// One place where a value breaks its schema.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Violation {
    /// JSON pointer (RFC 6901) into the value. It points at the property itself also when that is missing (the
    /// place where it belongs) or unknown; [`Violation::holder`] is the object around it.
    pub pointer: String,
    /// The property that is missing or unknown.
    pub property: Option<String>,
    /// The JSON Schema keyword that is broken.
    pub keyword: String,
    /// What the schema wants, in a few words; empty where the keyword says it all.
    pub expected: String,
    /// A short excerpt of the value with its type; empty for a missing property.
    pub found: String,
    /// One sentence for the operator and the model, at most 500 characters.
    pub message: String,
    /// JSON pointer of the broken keyword in the schema.
    pub schema_pointer: String,
}

impl Violation {
    /// JSON pointer of a value that exists: the object that lacks or should not have the property,
    /// else the value itself.
    #[must_use]
    pub fn holder(&self) -> &str {
        match (&self.property, self.pointer.rfind('/')) {
            (Some(_), Some(slash)) => &self.pointer[..slash],
            _ => &self.pointer,
        }
    }

    pub(crate) fn without_reason(instance: &Value) -> Self {
        Self {
            pointer: String::new(),
            property: None,
            keyword: String::new(),
            expected: String::new(),
            found: describe(instance),
            message: "does not satisfy the schema; too large to say where".to_owned(),
            schema_pointer: String::new(),
        }
    }
}

/// All violations, in the order of the value's text.
pub(crate) fn collect<'a>(
    errors: impl Iterator<Item = ValidationError<'a>>,
    instance: &Value,
) -> Vec<Violation> {
    let mut found = Vec::new();
    for error in errors {
        translate(&error, &mut found);
    }
    in_document_order(&mut found, instance);
    found.dedup();
    found
}

fn in_document_order(violations: &mut [Violation], instance: &Value) {
    let mut places: HashMap<String, usize> = violations
        .iter()
        .flat_map(|violation| [violation.pointer.clone(), violation.holder().to_owned()])
        .map(|pointer| (pointer, usize::MAX))
        .collect();
    number(instance, &mut String::new(), &mut 0, &mut places);
    let place = |pointer: &str| {
        places
            .get(pointer)
            .copied()
            .filter(|&place| place != usize::MAX)
    };
    violations.sort_by_cached_key(|violation| {
        place(&violation.pointer).or_else(|| place(violation.holder()))
    });
}

/// Numbers the wanted pointers by a walk through the value.
fn number(value: &Value, path: &mut String, next: &mut usize, places: &mut HashMap<String, usize>) {
    if let Some(place) = places.get_mut(path.as_str()) {
        *place = *next;
    }
    *next += 1;
    let length = path.len();
    match value {
        Value::Array(items) => {
            for (index, item) in items.iter().enumerate() {
                let _ = write!(path, "/{index}");
                number(item, path, next, places);
                path.truncate(length);
            }
        }
        Value::Object(map) => {
            for (key, item) in map {
                push_key(path, key);
                number(item, path, next, places);
                path.truncate(length);
            }
        }
        _ => {}
    }
}

fn translate(error: &ValidationError<'_>, out: &mut Vec<Violation>) {
    match error.kind() {
        Kind::Required { property } => {
            out.push(missing(error, property.as_str().unwrap_or_default()))
        }
        Kind::AdditionalProperties { unexpected } | Kind::UnevaluatedProperties { unexpected } => {
            out.extend(unexpected.iter().map(|property| unknown(error, property)));
        }
        Kind::AnyOf { context } | Kind::OneOfNotValid { context } => {
            alternatives(error, context, out)
        }
        kind => {
            let (expected, message) = wording(kind, error.instance());
            out.push(violation(error, expected, message));
        }
    }
}

/// A value that fits no alternative. When only one alternative has the right type, its
/// violations are the answer.
fn alternatives(
    error: &ValidationError<'_>,
    context: &[Vec<ValidationError<'static>>],
    out: &mut Vec<Violation>,
) {
    let wrong_type = |branch: &[ValidationError<'static>]| {
        branch.iter().any(|inner| {
            inner.instance_path() == error.instance_path()
                && matches!(inner.kind(), Kind::Type { .. } | Kind::Constant { .. })
        })
    };
    let near: Vec<_> = context
        .iter()
        .filter(|branch| !branch.is_empty() && !wrong_type(branch))
        .collect();
    if let [only] = near[..] {
        return only.iter().for_each(|inner| translate(inner, out));
    }
    if near.is_empty()
        && let Some(types) = all_types(context)
    {
        let message = expected_got(&types, error.instance());
        return out.push(violation(error, types, message));
    }
    let mut message = format!("fits none of the {} alternatives", context.len());
    if let Some(nearest) = near.iter().min_by_key(|branch| branch.len()) {
        let mut inner = Vec::new();
        nearest
            .iter()
            .take(1)
            .for_each(|first| translate(first, &mut inner));
        if let Some(first) = inner.first() {
            let _ = write!(message, "; nearest: {}", first.message);
        }
    }
    out.push(violation(
        error,
        "one of the alternatives".to_owned(),
        message,
    ));
}

/// "string or null", when every alternative only asks for a type.
fn all_types(context: &[Vec<ValidationError<'static>>]) -> Option<String> {
    let mut words: Vec<String> = Vec::new();
    for branch in context {
        let [only] = branch.as_slice() else {
            return None;
        };
        let Kind::Type { kind } = only.kind() else {
            return None;
        };
        for word in type_words(kind) {
            if !words.contains(&word) {
                words.push(word);
            }
        }
    }
    Some(words.join(" or "))
}

fn type_words(kind: &TypeKind) -> Vec<String> {
    match kind {
        TypeKind::Single(word) => vec![word.to_string()],
        TypeKind::Multiple(words) => words.iter().map(|word| word.to_string()).collect(),
    }
}

fn missing(error: &ValidationError<'_>, property: &str) -> Violation {
    let mut violation = violation(
        error,
        String::new(),
        format!("missing required {}", quoted(property)),
    );
    push_key(&mut violation.pointer, property);
    violation.found = String::new();
    violation.property = Some(property.to_owned());
    violation
}

fn unknown(error: &ValidationError<'_>, property: &str) -> Violation {
    let mut violation = violation(
        error,
        String::new(),
        format!("unknown property {}", quoted(property)),
    );
    push_key(&mut violation.pointer, property);
    violation.found = error
        .instance()
        .get(property)
        .map(describe)
        .unwrap_or_default();
    violation.property = Some(property.to_owned());
    violation
}

fn violation(error: &ValidationError<'_>, expected: String, message: String) -> Violation {
    Violation {
        pointer: error.instance_path().as_str().to_owned(),
        property: None,
        keyword: keyword(error),
        expected: cut(expected),
        found: describe(error.instance()),
        message: cut(message),
        schema_pointer: error.schema_path().as_str().to_owned(),
    }
}

fn keyword(error: &ValidationError<'_>) -> String {
    match error.kind() {
        Kind::FalseSchema => "false".to_owned(),
        kind => kind.keyword().to_owned(),
    }
}

/// What is expected, and the sentence about it.
fn wording(kind: &Kind, found: &Value) -> (String, String) {
    let expected = match kind {
        Kind::Type { kind } => type_words(kind).join(" or "),
        Kind::Enum { options } => format!("one of {}", list(options)),
        Kind::Constant { expected_value } => excerpt(expected_value),
        Kind::Minimum { limit } => format!("at least {limit}"),
        Kind::Maximum { limit } => format!("at most {limit}"),
        Kind::ExclusiveMinimum { limit } => format!("more than {limit}"),
        Kind::ExclusiveMaximum { limit } => format!("less than {limit}"),
        Kind::MultipleOf { multiple_of } => format!("a multiple of {multiple_of}"),
        Kind::MinLength { limit } => format!("at least {limit} characters"),
        Kind::MaxLength { limit } => format!("at most {limit} characters"),
        Kind::MinItems { limit } => format!("at least {limit} items"),
        Kind::MaxItems { limit } => format!("at most {limit} items"),
        Kind::AdditionalItems { limit } => format!("at most {limit} items"),
        Kind::MinProperties { limit } => format!("at least {limit} properties"),
        Kind::MaxProperties { limit } => format!("at most {limit} properties"),
        Kind::Pattern { pattern } => format!("text matching {}", shorten(pattern, 200)),
        Kind::UniqueItems => "items that differ from each other".to_owned(),
        Kind::Contains => "an item of the required form".to_owned(),
        Kind::Format { format } => format!("the format {format}"),
        Kind::UnevaluatedItems { .. } => "no further items".to_owned(),
        Kind::ContentEncoding { content_encoding } => format!("text encoded as {content_encoding}"),
        Kind::ContentMediaType { content_media_type } => {
            format!("text of type {content_media_type}")
        }
        Kind::FalseSchema => return (String::new(), "no value is allowed here".to_owned()),
        Kind::Not { .. } => {
            return (
                String::new(),
                format!("{} is a value that the schema excludes", describe(found)),
            );
        }
        Kind::OneOfMultipleValid { .. } => {
            return (
                "exactly one alternative".to_owned(),
                "fits more than one alternative where exactly one is allowed".to_owned(),
            );
        }
        Kind::PropertyNames { error } => {
            let (expected, message) = wording(error.kind(), error.instance());
            return (expected, format!("bad property name: {message}"));
        }
        other => return (String::new(), format!("breaks {}", other.keyword())),
    };
    let message = expected_got(&expected, found);
    (expected, message)
}

fn expected_got(expected: &str, found: &Value) -> String {
    format!("expected {expected}, got {}", describe(found))
}

fn list(options: &Value) -> String {
    let all = options.as_array().map(Vec::as_slice).unwrap_or_default();
    let mut text = all
        .iter()
        .take(OPTIONS)
        .map(excerpt)
        .collect::<Vec<_>>()
        .join(", ");
    if all.len() > OPTIONS {
        let _ = write!(text, " and {} more", all.len() - OPTIONS);
    }
    shorten(&text, MESSAGE - 3 * EXCERPT)
}

/// A value in a few words: an excerpt and its type, never the whole of a large one.
pub(crate) fn describe(value: &Value) -> String {
    match value {
        Value::Null => "null".to_owned(),
        Value::Bool(_) => format!("{value} (boolean)"),
        Value::Number(number) if number.is_f64() => format!("{number} (number)"),
        Value::Number(number) => format!("{number} (integer)"),
        Value::String(text) => format!("{} (string)", quoted(text)),
        Value::Array(items) => counted("an array of", items.len(), "item", "items"),
        Value::Object(map) => counted("an object of", map.len(), "property", "properties"),
    }
}

fn counted(what: &str, count: usize, one: &str, many: &str) -> String {
    format!("{what} {count} {}", if count == 1 { one } else { many })
}

fn excerpt(value: &Value) -> String {
    match value {
        Value::String(text) => quoted(text),
        Value::Array(_) | Value::Object(_) => describe(value),
        other => other.to_string(),
    }
}

/// Text in quotes, as JSON would write it (control characters escaped), cut to an excerpt.
fn quoted(text: &str) -> String {
    Value::String(shorten(text, EXCERPT)).to_string()
}

pub(crate) fn cut(text: String) -> String {
    if text.len() <= MESSAGE {
        text
    } else {
        shorten(&text, MESSAGE)
    }
}

/// At most `limit` characters; the last is an ellipsis when something was cut.
fn shorten(text: &str, limit: usize) -> String {
    if text.chars().nth(limit).is_none() {
        return text.to_owned();
    }
    text.chars()
        .take(limit - 1)
        .chain(std::iter::once('…'))
        .collect()
}

/// What is wrong with a schema itself, from the check against its own meta-schema.
pub(crate) fn one_line(error: &ValidationError<'_>) -> String {
    let mut found = Vec::new();
    translate(error, &mut found);
    found
        .into_iter()
        .next()
        .map(|first| first.message)
        .unwrap_or_default()
}
