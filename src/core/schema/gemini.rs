//! Gemini's spelling of a schema as JSON Schema.

use serde_json::{Map, Value, json};

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
        .filter(|_| depth < super::SchemaError::MAX_DEPTH)
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
