//! What the checks say, told as small stories.
#![allow(clippy::unwrap_used, clippy::panic)]

use serde_json::{Map, json};

use super::*;

fn told(schema: &Value, instance: &Value) -> Vec<(String, String)> {
    let violations = Validator::compile(schema)
        .unwrap()
        .violations(instance)
        .unwrap();
    violations
        .into_iter()
        .map(|violation| (violation.pointer, violation.message))
        .collect()
}

fn pairs(expected: &[(&str, &str)]) -> Vec<(String, String)> {
    expected
        .iter()
        .map(|(pointer, message)| ((*pointer).to_owned(), (*message).to_owned()))
        .collect()
}

#[test]
fn every_violation_is_told_in_the_order_of_the_text() {
    let schema = json!({
        "type": "object", "required": ["city", "date"], "additionalProperties": false,
        "properties": {"city": {"type": "string"}, "date": {"type": "string"}, "unit": {"enum": ["C", "F"]},
                       "days": {"type": "integer", "minimum": 1}}
    });
    let instance = json!({"unit": "K", "date": 20_240_511, "max_results": 3, "days": 0});
    let expected = pairs(&[
        ("/city", "missing required \"city\""),
        ("/unit", "expected one of \"C\", \"F\", got \"K\" (string)"),
        ("/date", "expected string, got 20240511 (integer)"),
        ("/max_results", "unknown property \"max_results\""),
        ("/days", "expected at least 1, got 0 (integer)"),
    ]);
    assert_eq!(told(&schema, &instance), expected);
}

#[test]
fn a_missing_property_points_at_itself_and_its_holder_exists() {
    let schema = json!({"properties": {"a/b": {"required": ["c~d"]}}});
    let violations = Validator::compile(&schema)
        .unwrap()
        .violations(&json!({"a/b": {}}))
        .unwrap();
    assert_eq!(
        (violations[0].pointer.as_str(), violations[0].holder()),
        ("/a~1b/c~0d", "/a~1b")
    );
    assert_eq!(violations[0].property.as_deref(), Some("c~d"));
    assert_eq!(violations[0].schema_pointer, "/properties/a~1b/required");
}

#[test]
fn an_optional_value_names_its_types_or_tells_what_is_wrong_inside() {
    let optional = json!({"anyOf": [{"type": "string"}, {"type": "null"}]});
    assert_eq!(
        told(&optional, &json!(5)),
        pairs(&[("", "expected string or null, got 5 (integer)")])
    );
    let model = json!({"anyOf": [{"type": "object", "required": ["x"]}, {"type": "null"}]});
    assert_eq!(
        told(&model, &json!({})),
        pairs(&[("/x", "missing required \"x\"")])
    );
    let two = json!({"oneOf": [{"required": ["x"]}, {"required": ["y", "z"]}]});
    assert_eq!(
        told(&two, &json!({})),
        pairs(&[(
            "",
            "fits none of the 2 alternatives; nearest: missing required \"x\""
        )])
    );
}

#[test]
fn words_of_other_languages_are_no_json_schema() {
    for word in [
        "dict", "float", "any", "tuple", "String", "STRING", "HashMap",
    ] {
        let refused =
            Validator::compile(&json!({"type": "object", "properties": {"a": {"type": word}}}))
                .unwrap_err();
        assert_eq!(
            refused,
            SchemaError::not_a_schema("/properties/a/type", format!("unknown type {word:?}"))
        );
    }
    let named_type =
        json!({"properties": {"type": {"type": "string"}}, "default": {"type": "dict"}});
    assert!(Validator::compile(&named_type).is_ok());
}

#[test]
fn a_schema_of_gemini_can_be_normalised_on_request() {
    let gemini = json!({"type": "OBJECT", "properties": {
        "type": {"type": "STRING", "nullable": true}, "tags": {"type": "ARRAY", "minItems": "1", "items": {"type": "STRING"}}}});
    assert!(Validator::compile(&gemini).is_err());
    let validator = Validator::compile(&normalise_gemini(&gemini)).unwrap();
    assert_eq!(
        validator.is_valid(&json!({"type": null, "tags": ["a"]})),
        Ok(true)
    );
    assert_eq!(validator.is_valid(&json!({"tags": []})), Ok(false));
    let standard = json!({"type": "object", "properties": {"STRING": {"const": "STRING"}}});
    assert_eq!(normalise_gemini(&standard), standard);
}

#[test]
fn older_drafts_are_recognised_by_what_only_they_know() {
    let tuple = json!({"items": [{"type": "string"}], "additionalItems": false});
    assert_eq!(
        Validator::compile(&tuple)
            .unwrap()
            .is_valid(&json!(["a", 1])),
        Ok(false)
    );
    let exclusive = json!({"minimum": 3, "exclusiveMinimum": true});
    assert_eq!(
        Validator::compile(&exclusive).unwrap().is_valid(&json!(3)),
        Ok(false)
    );
}

#[test]
fn messages_never_repeat_a_large_value() {
    let violations = Validator::compile(&json!({"type": "integer"}))
        .unwrap()
        .violations(&json!("x".repeat(100_000)))
        .unwrap();
    assert!(
        violations[0].message.chars().count() < 120,
        "{}",
        violations[0].message
    );
    let names: Vec<String> = (0..500)
        .map(|number| format!("a rather long option {number}"))
        .collect();
    let violations = Validator::compile(&json!({"enum": names}))
        .unwrap()
        .violations(&json!(1))
        .unwrap();
    assert!(violations[0].message.chars().count() <= 500);
}

#[test]
fn costs_are_refused_before_they_arise() {
    let mut pure = json!({"type": "string"});
    let mut items = json!({"type": "string"});
    for _ in 0..10 {
        pure = json!({"anyOf": [pure, pure]});
        items = json!({"anyOf": [{"items": items}, {"items": items}]});
    }
    assert!(matches!(
        Validator::compile(&pure),
        Ok(_) | Err(SchemaError::TooLarge)
    ));
    assert!(matches!(
        Validator::compile(&items),
        Ok(_) | Err(SchemaError::TooLarge)
    ));
    let definitions: Map<String, Value> = (0..24)
        .map(|level| {
            let next = json!({"items": {"$ref": format!("#/$defs/d{}", level + 1)}});
            (format!("d{level}"), json!({"anyOf": [next, next]}))
        })
        .chain([("d24".to_owned(), json!({"type": "string"}))])
        .collect();
    let doubling = json!({"$ref": "#/$defs/d0", "$defs": definitions});
    assert_eq!(
        Validator::compile(&doubling).unwrap_err(),
        SchemaError::TooCostly
    );
}

#[test]
fn a_deep_value_under_a_recursive_schema_stays_within_the_stack() {
    let tree = json!({"properties": {"c": {"$ref": "#"}}});
    let validator = Validator::compile(&tree).unwrap();
    let nested = |depth: usize| (0..depth).fold(json!({}), |inner, _| json!({"c": inner}));
    assert_eq!(validator.is_valid(&nested(100)), Ok(true));
    assert_eq!(
        validator.is_valid(&nested(200)),
        Err(ValidationLimit::TooDeep)
    );
}

/// `count` definitions, each made from a reference to the next one.
fn chain(count: usize, link: fn(Value) -> Value) -> Value {
    let reference = |level: usize| json!({"$ref": format!("#/$defs/d{level}")});
    let mut definitions: Map<String, Value> = (0..count)
        .map(|level| (format!("d{level}"), link(reference(level + 1))))
        .collect();
    definitions.insert(format!("d{count}"), json!({"type": "string"}));
    json!({"$ref": "#/$defs/d0", "$defs": definitions})
}

#[test]
fn long_chains_of_references_stay_within_a_small_stack() {
    let judge = |schema: &Value| {
        Validator::compile(schema)
            .unwrap()
            .violations(&json!({"a": 1}))
            .map(|found| found.len())
    };
    assert_eq!(judge(&chain(290, |next| json!({"allOf": [next]}))), Ok(1));
    assert_eq!(judge(&chain(290, |next| json!({"anyOf": [next]}))), Ok(1));
    assert_eq!(
        judge(&chain(1600, |next| json!({"allOf": [next]}))),
        Err(ValidationLimit::TooDeep)
    );
    assert_eq!(
        judge(&chain(1600, |next| json!({"properties": {"a": next}}))),
        Ok(0)
    );
    let tree = json!({"allOf": [{"allOf": [{"allOf": [{"properties": {"c": {"$ref": "#"}}}]}]}]});
    let nested = (0..100).fold(json!({}), |inner, _| json!({"c": inner}));
    assert_eq!(
        Validator::compile(&tree).unwrap().violations(&nested),
        Ok(Vec::new())
    );
}
