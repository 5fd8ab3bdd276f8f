//! Tool schemas that loop, explode, fetch or overflow: each ends in time, with a verdict or a refusal, and never aborts.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stderr)]

use std::time::{Duration, Instant};

use retake_core::schema::Validator;
use serde_json::{Map, Value, json};

/// Most time for compiling, judging and explaining one case. The bound of the room is static: this only tells a check that ends
/// from one that does not, also in an unoptimised build on a busy machine; the slowest case takes 140 ms on an idle one.
const LIMIT: Duration = Duration::from_secs(4);

const CASES: &str = include_str!("hostile/schema_hostile.json");

#[test]
fn hostile_schemas_end_in_time_with_a_verdict_or_a_refusal() {
    let file: Value = serde_json::from_str(CASES).unwrap();
    let mut bad = Vec::new();
    for case in file["cases"].as_array().unwrap() {
        let (id, expect) = (
            case["id"].as_str().unwrap(),
            case["expect"].as_str().unwrap(),
        );
        let schema = schema_of(case);
        let instance = instance_of(case);
        let started = Instant::now();
        let verdict = verdict(&schema, &instance);
        let took = started.elapsed();
        eprintln!(
            "{id} {took:>9.1?} {verdict:<70} {}",
            case["name"].as_str().unwrap()
        );
        if took > LIMIT {
            bad.push(format!("{id}: took {took:?}"));
        }
        if !allowed(expect, &verdict) {
            bad.push(format!("{id}: expected {expect}, got {verdict}"));
        }
        dismantle(schema);
    }
    assert!(bad.is_empty(), "{bad:#?}");
}

fn verdict(schema: &Value, instance: &Value) -> String {
    let validator = match Validator::compile(schema) {
        Ok(validator) => validator,
        Err(refused) => return format!("refused: {refused}"),
    };
    match validator.violations(instance) {
        Ok(violations) if violations.is_empty() => "valid".to_owned(),
        Ok(violations) => {
            assert!(
                violations
                    .iter()
                    .all(|violation| violation.message.chars().count() <= 500)
            );
            assert!(
                violations
                    .iter()
                    .all(|violation| !violation.message.contains(char::is_control))
            );
            format!("invalid: {}", violations[0].message)
        }
        Err(undecided) => format!("undecided: {undecided}"),
    }
}

/// A refusal is never wrong about a hostile schema; a verdict must be one of those named.
fn allowed(expect: &str, verdict: &str) -> bool {
    let (kind, _) = verdict.split_once(':').unwrap_or((verdict, ""));
    match kind {
        "refused" | "undecided" => !matches!(expect, "valid" | "invalid"),
        "valid" => {
            expect.starts_with("any")
                || expect.contains("_valid")
                || expect.starts_with("valid")
                || expect.contains("default_draft")
                || expect.contains("or_any")
        }
        _ => {
            expect.contains("invalid")
                || expect.starts_with("any")
                || expect.contains("default_draft")
                || expect.contains("or_any")
        }
    }
}

/// Takes a deep value apart without recursion, which its own drop would use.
fn dismantle(value: Value) {
    let mut rest = vec![value];
    while let Some(value) = rest.pop() {
        match value {
            Value::Array(items) => rest.extend(items),
            Value::Object(map) => rest.extend(map.into_iter().map(|(_, value)| value)),
            _ => {}
        }
    }
}

fn schema_of(case: &Value) -> Value {
    let generator = &case["gen"];
    let count = |name: &str| {
        generator[name]
            .as_u64()
            .map(|count| usize::try_from(count).unwrap())
    };
    if let Some(raw) = case["raw_schema"].as_str() {
        // A schema that is not even JSON arrives as a text that is not a schema.
        return serde_json::from_str(raw).unwrap_or_else(|_| Value::from(raw));
    }
    if let Some(pattern) = generator["pattern"].as_str() {
        return json!({"pattern": pattern.repeat(count("n").unwrap())});
    }
    if let Some(options) = count("enum") {
        return json!({"enum": (0..options).map(|number| format!("v{number}")).collect::<Vec<_>>()});
    }
    if let Some(alternatives) = count("anyOf") {
        return json!({"anyOf": (0..alternatives).map(|number| json!({"const": number})).collect::<Vec<_>>()});
    }
    if let Some(levels) = count("exp_anyof") {
        return doubling(levels);
    }
    if let Some(levels) = count("deep_allof") {
        return (0..levels).fold(json!({}), |inner, _| {
            wrap("allOf", Value::Array(vec![inner]))
        });
    }
    if let Some(levels) = count("deep_props") {
        return (0..levels).fold(json!({}), |inner, _| wrap("properties", wrap("a", inner)));
    }
    case["schema"].clone()
}

/// Each level offers the next one twice: two to the power of `levels` ways.
fn doubling(levels: usize) -> Value {
    let mut definitions: Map<String, Value> = (0..levels)
        .map(|level| {
            let next = json!({"items": {"$ref": format!("#/$defs/d{}", level + 1)}});
            (format!("d{level}"), json!({"anyOf": [next, next]}))
        })
        .collect();
    definitions.insert(format!("d{levels}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

fn wrap(key: &str, value: Value) -> Value {
    Value::Object(Map::from_iter([(key.to_owned(), value)]))
}

fn instance_of(case: &Value) -> Value {
    let generator = &case["gen"];
    let count = || usize::try_from(generator["n"].as_u64().unwrap()).unwrap();
    match generator["instance"].as_str() {
        Some("nest_obj") => (0..count()).fold(json!({}), |inner, _| {
            wrap(generator["key"].as_str().unwrap(), inner)
        }),
        Some("uniq_obj") => (0..count()).map(|number| json!({"id": number})).collect(),
        Some("bigstr") => Value::from("x".repeat(count())),
        Some(other) => panic!("unknown generator {other}"),
        None => case["instance"].clone(),
    }
}
