//! A walk over a schema before anything is compiled: its size, its words, and which subschema applies where.

use std::collections::HashMap;

use crate::json::pointer::child;
use jsonschema::Draft;
use percent_encoding::percent_decode_str;
use regex::bytes::RegexBuilder;
use serde_json::{Map, Value};

use super::violation::SchemaError;

/// Most patterns of one schema, and the bytes of all their texts.
const PATTERNS: usize = 500;
const PATTERN_TEXT: usize = 64 * 1024;
/// A pattern whose program is larger counts as heavy; only a few of these are compiled.
const LIGHT_PROGRAM: usize = 16 * 1024;
const HEAVY_PATTERNS: usize = 16;
const LIGHT_WEIGHT: u64 = 4;
const HEAVY_WEIGHT: u64 = 1024;
/// The words of JSON Schema for a type.
const TYPES: [&str; 7] = [
    "null", "boolean", "object", "array", "number", "string", "integer",
];

/// One subschema: its own cost on a value, and the subschemas it applies to the same value or
/// to that value's children.
#[derive(Debug, Default)]
pub(crate) struct Subschema {
    /// Cost on a value itself, where 1 is a simple keyword.
    pub(crate) weight: u64,
    /// Extra cost on each child (patterns that are tried on every key).
    pub(crate) child_weight: u64,
    /// Applied to the same value.
    pub(crate) same: Vec<usize>,
    /// Applied to every child.
    pub(crate) each_child: Vec<usize>,
    /// At most one of these is applied to a child.
    pub(crate) one_per_child: Vec<usize>,
    /// `unevaluated*` judges the subschemas of the same value once more.
    pub(crate) again: bool,
}

/// A list of places within a place.
type Applied = fn(&mut Subschema) -> &mut Vec<usize>;

/// What a walk found.
pub(crate) struct Survey<'a> {
    root: &'a Value,
    /// The subschemas; the first is the root.
    pub(crate) places: Vec<Subschema>,
    /// The draft to assume where none is declared.
    pub(crate) draft: Draft,
    index: HashMap<usize, usize>,
    pending: Vec<(&'a Value, String)>,
    /// Subschemas with an identifier, and those with an anchor: where a reference that is no
    /// local pointer may lead.
    resources: Vec<(&'a str, &'a Value)>,
    anchors: HashMap<&'a str, Vec<&'a Value>>,
    references: Vec<(usize, &'a str)>,
    patterns: usize,
    heavy: usize,
    pattern_text: usize,
}

impl<'a> Survey<'a> {
    pub(crate) fn of(root: &'a Value) -> Result<Self, SchemaError> {
        measure(root, 0, &mut 0)?;
        let mut survey = Self {
            root,
            places: Vec::new(),
            draft: Draft::Draft202012,
            index: HashMap::new(),
            pending: Vec::new(),
            resources: Vec::new(),
            anchors: HashMap::new(),
            references: Vec::new(),
            patterns: 0,
            heavy: 0,
            pattern_text: 0,
        };
        survey.place(root, String::new());
        survey.walk()?;
        // Targets that are no subschema by position become places while references are followed.
        while let Some((from, reference)) = survey.references.pop() {
            survey.follow(from, reference)?;
            survey.walk()?;
        }
        Ok(survey)
    }

    /// The place of a subschema, new or known.
    fn place(&mut self, schema: &'a Value, pointer: String) -> usize {
        let address = std::ptr::from_ref(schema) as usize;
        let next = self.places.len();
        let place = *self.index.entry(address).or_insert(next);
        if place == next {
            self.places.push(Subschema {
                weight: 1,
                ..Subschema::default()
            });
            self.pending.push((schema, pointer));
        }
        place
    }

    fn walk(&mut self) -> Result<(), SchemaError> {
        while let Some((schema, pointer)) = self.pending.pop() {
            let at = self.index[&(std::ptr::from_ref(schema) as usize)];
            match schema {
                Value::Object(object) => self.object(at, object, schema, &pointer)?,
                Value::Bool(_) => {}
                other => {
                    let reason = format!(
                        "{} where a schema belongs",
                        super::violation::describe(other)
                    );
                    return Err(SchemaError::not_a_schema(pointer, reason));
                }
            }
        }
        Ok(())
    }

    fn object(
        &mut self,
        at: usize,
        object: &'a Map<String, Value>,
        schema: &'a Value,
        pointer: &str,
    ) -> Result<(), SchemaError> {
        for (key, value) in object {
            let here = || child(pointer, key);
            match (key.as_str(), value) {
                ("type", value) => type_words(value, &here())?,
                ("$id" | "id", Value::String(id)) if !id.starts_with('#') => {
                    self.resources.push((id, schema))
                }
                ("$id" | "id", Value::String(id)) => {
                    self.anchors.entry(&id[1..]).or_default().push(schema)
                }
                ("$anchor" | "$dynamicAnchor", Value::String(name)) => {
                    self.anchors.entry(name).or_default().push(schema)
                }
                ("$ref" | "$dynamicRef" | "$recursiveRef", Value::String(reference)) => {
                    self.references.push((at, reference))
                }
                ("pattern", Value::String(pattern)) => {
                    let weight = self.pattern(pattern)?;
                    self.places[at].weight += weight;
                }
                ("required" | "enum" | "const" | "dependentRequired", value) => {
                    self.places[at].weight += count(value) / 8;
                }
                ("exclusiveMinimum" | "exclusiveMaximum", Value::Bool(_)) => {
                    self.draft = Draft::Draft4
                }
                _ => self.applicator(at, key, value, &here())?,
            }
        }
        Ok(())
    }

    fn applicator(
        &mut self,
        at: usize,
        key: &str,
        value: &'a Value,
        pointer: &str,
    ) -> Result<(), SchemaError> {
        match (key, value) {
            ("allOf" | "anyOf" | "oneOf", Value::Array(list)) => {
                self.listed(at, list, pointer, |place| &mut place.same);
            }
            ("not" | "if" | "then" | "else", Value::Object(_) | Value::Bool(_)) => {
                self.single(at, value, pointer, |place| &mut place.same);
            }
            ("items" | "prefixItems", Value::Array(list)) => {
                if key == "items" {
                    self.assume_draft_7();
                }
                self.listed(at, list, pointer, |place| &mut place.one_per_child);
            }
            ("properties", Value::Object(map)) => {
                self.places[at].weight += map.len() as u64 / 8;
                self.named(at, map, pointer, |place| &mut place.one_per_child);
            }
            ("patternProperties", Value::Object(map)) => {
                for pattern in map.keys() {
                    let weight = self.pattern(pattern)?;
                    self.places[at].child_weight += weight;
                }
                self.named(at, map, pointer, |place| &mut place.each_child);
            }
            ("items" | "additionalProperties" | "additionalItems", _) => {
                self.single(at, value, pointer, |place| &mut place.one_per_child);
            }
            ("contains" | "propertyNames" | "unevaluatedItems" | "unevaluatedProperties", _) => {
                self.places[at].again |= key.starts_with("unevaluated");
                self.single(at, value, pointer, |place| &mut place.each_child);
            }
            ("dependentSchemas" | "dependencies", Value::Object(map)) => {
                if key == "dependencies" {
                    self.assume_draft_7();
                }
                self.named(at, map, pointer, |place| &mut place.same);
            }
            // Judged where a reference leads here, but a wrong word in them is a wrong schema all the same.
            ("$defs" | "definitions", Value::Object(map)) => {
                for (name, schema) in map {
                    self.place(schema, child(pointer, name));
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn single(&mut self, at: usize, schema: &'a Value, pointer: &str, list: Applied) {
        let place = self.place(schema, pointer.to_owned());
        list(&mut self.places[at]).push(place);
    }

    fn listed(&mut self, at: usize, schemas: &'a [Value], pointer: &str, list: Applied) {
        for (index, schema) in schemas.iter().enumerate() {
            self.single(at, schema, &format!("{pointer}/{index}"), list);
        }
    }

    /// Subschemas by name; a list of names (in `dependencies`) is none.
    fn named(&mut self, at: usize, map: &'a Map<String, Value>, pointer: &str, list: Applied) {
        for (name, schema) in map.iter().filter(|(_, schema)| !schema.is_array()) {
            self.single(at, schema, &child(pointer, name), list);
        }
    }

    fn assume_draft_7(&mut self) {
        if self.draft == Draft::Draft202012 {
            self.draft = Draft::Draft7;
        }
    }

    /// The cost of trying a pattern; its program is compiled within a small limit to learn its size.
    fn pattern(&mut self, pattern: &str) -> Result<u64, SchemaError> {
        self.patterns += 1;
        self.pattern_text += pattern.len();
        if self.patterns > PATTERNS || self.pattern_text > PATTERN_TEXT {
            return Err(SchemaError::TooLarge);
        }
        // Bytes and no Unicode classes: that is the size which ECMAScript's `\w` and `\d` have.
        if RegexBuilder::new(pattern)
            .unicode(false)
            .size_limit(LIGHT_PROGRAM)
            .build()
            .is_ok()
        {
            return Ok(LIGHT_WEIGHT);
        }
        self.heavy += 1;
        if self.heavy > HEAVY_PATTERNS {
            Err(SchemaError::TooLarge)
        } else {
            Ok(HEAVY_WEIGHT)
        }
    }

    /// Adds an edge to every subschema that a reference may mean: exactly one for a local
    /// pointer, all candidates otherwise.
    fn follow(&mut self, from: usize, reference: &'a str) -> Result<(), SchemaError> {
        let (base, fragment) = reference.split_once('#').unwrap_or((reference, ""));
        if is_meta_schema(base) {
            self.places[from].weight += META_SCHEMA_WEIGHT;
            return Ok(());
        }
        let bases = self.bases(base);
        if bases.is_empty() {
            return Err(SchemaError::RemoteReference(super::violation::cut(
                reference.to_owned(),
            )));
        }
        let mut targets: Vec<&'a Value> = if fragment.is_empty() {
            bases
        } else if fragment.starts_with('/') {
            let pointer = percent_decode_str(fragment).decode_utf8_lossy();
            bases
                .iter()
                .filter_map(|base| base.pointer(&pointer))
                .collect()
        } else {
            self.anchors.get(fragment).cloned().unwrap_or_default()
        };
        targets.dedup_by_key(|target| std::ptr::from_ref(*target) as usize);
        if targets.is_empty() {
            return Err(SchemaError::BrokenReference(super::violation::cut(
                reference.to_owned(),
            )));
        }
        for target in targets {
            let place = self.place(target, fragment.to_owned());
            self.places[from].same.push(place);
        }
        Ok(())
    }

    /// The subschemas that the base of a reference may mean. Equal URIs have equal last segments,
    /// which needs no resolution.
    fn bases(&self, base: &str) -> Vec<&'a Value> {
        let nested = self
            .resources
            .iter()
            .filter(|(_, schema)| !std::ptr::eq(*schema, self.root));
        if base.is_empty() {
            return std::iter::once(self.root)
                .chain(nested.map(|(_, schema)| *schema))
                .collect();
        }
        let last = last_segment(base);
        self.resources
            .iter()
            .filter(|(id, _)| last_segment(id) == last)
            .map(|(_, schema)| *schema)
            .collect()
    }
}

/// Cost of judging one value by a meta-schema, which is compiled into the library.
const META_SCHEMA_WEIGHT: u64 = 4096;

fn is_meta_schema(base: &str) -> bool {
    base.starts_with("http://json-schema.org/draft-")
        || base.starts_with("https://json-schema.org/draft/")
}

fn last_segment(uri: &str) -> &str {
    let path = uri.split('#').next().unwrap_or_default();
    path.rsplit(['/', ':']).next().unwrap_or_default()
}

/// Counts and measures the JSON itself, so that nothing later recurses too deep.
fn measure(value: &Value, depth: usize, sixteenths: &mut usize) -> Result<(), SchemaError> {
    if depth > SchemaError::MAX_DEPTH {
        return Err(SchemaError::TooDeep);
    }
    *sixteenths += 16;
    if *sixteenths > SchemaError::MAX_NODES * 16 {
        return Err(SchemaError::TooLarge);
    }
    match value {
        Value::Array(items) => {
            for item in items {
                match item {
                    Value::Array(_) | Value::Object(_) => measure(item, depth + 1, sixteenths)?,
                    _ => *sixteenths += 1,
                }
            }
            Ok(())
        }
        Value::Object(map) => map
            .values()
            .try_for_each(|item| measure(item, depth + 1, sixteenths)),
        _ => Ok(()),
    }
}

/// How many values there are in a keyword's value.
fn count(value: &Value) -> u64 {
    match value {
        Value::Array(items) => 1 + items.iter().map(count).sum::<u64>(),
        Value::Object(map) => 1 + map.values().map(count).sum::<u64>(),
        _ => 1,
    }
}

fn type_words(value: &Value, pointer: &str) -> Result<(), SchemaError> {
    let words = match value {
        Value::Array(words) if !words.is_empty() => words.as_slice(),
        other => std::slice::from_ref(other),
    };
    for word in words {
        match word.as_str() {
            Some(word) if TYPES.contains(&word) => {}
            Some(word) => {
                return Err(SchemaError::not_a_schema(
                    pointer,
                    format!("unknown type {word:?}"),
                ));
            }
            None => {
                return Err(SchemaError::not_a_schema(
                    pointer,
                    "a type that is not a word",
                ));
            }
        }
    }
    Ok(())
}
