//! invalid-tool-definition: an offered tool that the provider refuses, and with it every request.

use super::{Finding, Rule, RulePage, Run, Scope, Severity};
use crate::json::pointer::readable;
use crate::schema::{SchemaError, Validator};
use crate::session::{Dialect, Tool, ToolKind};
use crate::wire::Schemas;
use crate::wire::tools::{name_fault, type_word};
use serde_json::{Map, Value};
use std::collections::HashSet;
use std::sync::Arc;

pub(crate) static RULE: Rule = Rule {
    id: "invalid-tool-definition",
    severity: Severity::Error,
    summary: "an offered tool whose name or schema the provider refuses",
    message: "the tool[ {tool}] {reason}: {provider} refuses every request that offers it",
    page: RulePage {
        what: "A request offers a tool whose arguments are no object, whose schema has an array without items \
            or a type that does not exist, or whose name does not fit the provider's pattern or occurs twice.",
        why: "The definitions go out with every request, so one bad tool, often of a server among many, makes \
            each request fail: \"Invalid schema for function 'a': schema must be a JSON Schema of 'type: \
            \"object\"'\".",
        example: r#"{"type": "function", "name": "list", "parameters": {"type": "object", "properties": {"ids": {"type": "array"}}}}"#,
        what_to_do: "Correct the definition where the tools are made, or leave the tool out until its server \
            does. Nothing in the history can mend it.",
        limits: "Judged for the target in a request; a list from elsewhere may be changed on its way. Arrays \
            without items are refused by OpenAI and Gemini, choices at the top of a schema by OpenAI and \
            Anthropic; of two tools with one name OpenAI calls one, which is a warning. The further demands of \
            strict mode are not judged, and compatible servers may accept more.",
    },
    offers: &[],
    scope: Scope::Session(check),
};

fn check(run: &Run<'_>, findings: &mut Vec<Finding>) {
    let contract = &run.session.contract;
    if !contract.is_request {
        return;
    }
    for set in &contract.tool_sets {
        let mut names = HashSet::new();
        let tools = set
            .tools
            .iter()
            .filter(|tool| tool.kind != ToolKind::Hosted);
        for tool in tools {
            if let Some(reason) = fault_of(run, tool) {
                findings.push(finding(run.target, &tool.name, &reason));
            } else if !names.insert(&tool.name) {
                findings.push(duplicate(run.target, &tool.name));
            }
        }
    }
}

fn fault_of(run: &Run<'_>, tool: &Tool) -> Option<String> {
    let facts = run.target.facts();
    if let Some(reason) = name_fault(run.target, &tool.name, facts.namespaces) {
        return Some(format!("has a name that {reason}"));
    }
    if tool.kind != ToolKind::Function {
        return None;
    }
    match &tool.parameters {
        Some(schema) => schema_fault(run.target, schema, || run.validator(schema)),
        None => {
            let is_needed = facts.schemas.is_needed && run.session.dialect == run.target;
            is_needed.then(|| "has no input_schema".to_owned())
        }
    }
}

fn duplicate(target: Dialect, name: &str) -> Finding {
    finding(target, name, "is offered twice").warning_if(!target.facts().refuses_repeated_tools)
}

fn finding(target: Dialect, name: &str, reason: &str) -> Finding {
    let mut finding = Finding::new(&RULE, 0)
        .fact("tool", name)
        .fact("reason", reason)
        .fact("provider", target.facts().vendor);
    finding.item = None;
    finding
}

// What providers refuse in the definition of a tool: its schema, as far as their own sentences tell.
//
// Sources: OpenAI "schema must be a JSON Schema of 'type: "object"'", "array schema missing
// items" (aichat#1049), "and not have 'oneOf'/'anyOf'/'allOf'/'enum'/'not' at the top level";
// Anthropic "input_schema.type: Field required", "does not support oneOf, allOf, or anyOf at the
// top level", "Property keys should match pattern '^[a-zA-Z0-9_.-]{1,64}$'", "JSON schema is
// invalid"; Gemini "items: missing field".

/// Schemas nest no deeper in any request that can be sent; serde_json reads no deeper either.
const DEPTH: usize = 128;

/// Why a provider refuses the schema of a tool's arguments, as words to put after the tool's name; `None` if it
/// accepts it. `compile` gives its validator.
fn schema_fault(
    target: Dialect,
    schema: &Value,
    compile: impl FnOnce() -> Arc<Result<Validator, SchemaError>>,
) -> Option<String> {
    let Some(members) = schema.as_object() else {
        return Some(format!("has {} as its schema", type_word(schema)));
    };
    let rule = &target.facts().schemas;
    top_fault(rule, members)
        .or_else(|| {
            let array = missing_items(schema, String::new(), 0).filter(|_| rule.needs_items)?;
            Some(format!(
                "has an array without items in its schema, at {array}"
            ))
        })
        .or_else(|| match compile().as_ref() {
            Err(SchemaError::NotASchema { pointer, reason }) if rule.is_checked => {
                let place = match readable(pointer) {
                    place if place.is_empty() => "the top".into(),
                    place => place,
                };
                Some(format!("has an invalid schema, at {place}: {reason}"))
            }
            _ => None,
        })
}

/// What is wrong at the top of a schema, where providers are strictest.
fn top_fault(rule: &Schemas, schema: &Map<String, Value>) -> Option<String> {
    match schema.get("type") {
        Some(Value::String(kind)) if kind.eq_ignore_ascii_case("object") => {}
        Some(Value::String(kind)) => {
            return Some(format!("has a schema of type {kind}, not object"));
        }
        Some(other) => {
            return Some(format!(
                "has {} as the type of its schema",
                type_word(other)
            ));
        }
        None if rule.needs_type && !(rule.takes_empty && schema.is_empty()) => {
            return Some("has a schema without a type".to_owned());
        }
        None => {}
    }
    if let Some(word) = rule.barred.iter().find(|word| schema.contains_key(**word)) {
        return Some(format!("has {word} at the top of its schema"));
    }
    let properties = schema.get("properties").and_then(Value::as_object);
    let is_odd = |key: &&String| {
        let is_known =
            |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b'-');
        key.is_empty() || key.len() > 64 || !key.bytes().all(is_known)
    };
    let odd = properties.and_then(|properties| properties.keys().find(is_odd));
    odd.filter(|_| rule.limits_keys)
        .map(|key| format!("has a property whose name is not accepted: {key}"))
}

/// The JSON pointer of the first array that does not say what is in it.
fn missing_items(schema: &Value, at: String, depth: usize) -> Option<String> {
    let members = schema.as_object().filter(|_| depth < DEPTH)?;
    let is_array = |kind: &Value| {
        kind.as_str()
            .is_some_and(|kind| kind.eq_ignore_ascii_case("array"))
    };
    let says_array = members.get("type").is_some_and(|kind| {
        is_array(kind)
            || kind
                .as_array()
                .is_some_and(|kinds| kinds.iter().any(is_array))
    });
    if says_array && !members.contains_key("items") {
        return Some(at);
    }
    members.iter().find_map(|(key, value)| {
        let at = format!("{at}/{key}");
        match (key.as_str(), value) {
            ("properties" | "$defs" | "definitions", Value::Object(schemas)) => schemas
                .iter()
                .find_map(|(key, schema)| missing_items(schema, format!("{at}/{key}"), depth + 1)),
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(schemas)) => {
                schemas.iter().enumerate().find_map(|(index, schema)| {
                    missing_items(schema, format!("{at}/{index}"), depth + 1)
                })
            }
            ("items" | "additionalProperties", schema) => missing_items(schema, at, depth + 1),
            _ => None,
        }
    })
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::Severity;
    use crate::rules::fixture::{Fixture, fixture};
    use crate::session::Dialect;
    use serde_json::{Value, json};

    fn offering(tools: Value) -> Fixture {
        let request =
            json!({"model": "m", "input": [{"role": "user", "content": "hi"}], "tools": tools});
        fixture(&request.to_string())
    }

    fn function(name: &str, parameters: Value) -> Value {
        json!({"type": "function", "name": name, "parameters": parameters})
    }

    #[test]
    fn each_bad_definition_is_reported_with_its_tool() {
        let story = offering(json!([
            function("a", json!({"type": "string"})),
            function(
                "b",
                json!({"type": "object", "properties": {"x": {"type": "array"}}})
            ),
            function("get weather", json!({"type": "object"})),
            function(
                "sound",
                json!({"type": "object", "properties": {"x": {"type": "string"}}})
            )
        ]));
        let findings = story.findings(&RULE);
        let told: Vec<String> = findings.iter().map(|finding| finding.message()).collect();
        let refused = ": OpenAI refuses every request that offers it";
        assert_eq!(
            told,
            [
                format!("the tool a has a schema of type string, not object{refused}"),
                format!(
                    "the tool b has an array without items in its schema, at /properties/x{refused}"
                ),
                format!("the tool get weather has a name that has a space in it{refused}"),
            ]
        );
        assert!(
            findings
                .iter()
                .all(|finding| finding.severity == Severity::Error)
        );
    }

    #[test]
    fn providers_differ() {
        let array = json!({"type": "object", "properties": {"x": {"type": "array"}}});
        let story = offering(json!([function("b", array)]));
        story.expect(&RULE, &["session"]);
        story.target(Dialect::Anthropic).expect(&RULE, &[]);
        let twice = offering(json!([
            function("a", json!({"type": "object"})),
            function("a", json!({"type": "object"}))
        ]));
        assert_eq!(twice.finding(&RULE).severity, Severity::Warning);
        let refused = twice.target(Dialect::Anthropic).finding(&RULE);
        assert_eq!(refused.severity, Severity::Error);
    }

    #[test]
    fn tools_without_parameters_and_other_kinds_are_sound() {
        offering(json!([{"type": "function", "name": "now"}, function("none", json!({})),
            {"type": "web_search"}, {"type": "mcp", "server_label": "a"}, {"type": "mcp", "server_label": "b"},
            {"type": "custom", "name": "patch", "format": {"type": "text"}},
            {"type": "namespace", "name": "crm", "tools": [function("find", json!({"type": "object"}))]}]))
        .expect(&RULE, &[]);
        let anthropic = |tool: Value| {
            let body = json!({"model": "m", "max_tokens": 1, "system": "s",
                "messages": [{"role": "user", "content": "hi"}], "tools": [tool]});
            fixture(&body.to_string())
        };
        anthropic(json!({"type": "bash_20250124", "name": "bash"})).expect(&RULE, &[]);
        anthropic(json!({"name": "read", "input_schema": {"type": "object"}})).expect(&RULE, &[]);
        anthropic(json!({"name": "read", "description": "x"})).expect(&RULE, &["session"]);
    }

    #[test]
    fn hosted_lists_and_answered_calls_are_not_judged() {
        fixture(r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"x"}]"#)
            .tools(json!([{"name": "a b", "parameters": {"type": "string"}}]))
            .expect(&RULE, &[]);
    }
}

#[cfg(test)]
mod definitions_tests {
    use super::*;
    use serde_json::json;

    const OPENAI: [Dialect; 2] = [Dialect::Responses, Dialect::Chat];

    fn schema_fault(target: Dialect, schema: &Value) -> Option<String> {
        super::schema_fault(target, schema, || {
            Arc::new(Validator::compile_either(schema))
        })
    }

    #[test]
    fn a_sound_schema_is_taken_everywhere() {
        let sound = json!({"type": "object", "properties": {"paths": {"type": "array", "items": {"type": "string"}},
            "type": {"type": "string"}, "n": {"type": ["integer", "null"]}}, "required": ["paths"], "additionalProperties": false});
        for target in Dialect::ALL {
            assert_eq!(schema_fault(target, &sound), None, "{target:?}");
            assert_eq!(schema_fault(target, &json!({"type": "object"})), None);
        }
    }

    #[test]
    fn arguments_are_an_object() {
        for target in Dialect::ALL {
            let fault = schema_fault(target, &json!({"type": "string"}));
            assert_eq!(
                fault.as_deref(),
                Some("has a schema of type string, not object")
            );
        }
        for target in OPENAI {
            assert_eq!(schema_fault(target, &json!({})), None);
            assert!(schema_fault(target, &json!({"properties": {}})).is_some());
        }
        assert!(schema_fault(Dialect::Anthropic, &json!({})).is_some());
    }

    #[test]
    fn an_array_says_what_is_in_it_except_for_anthropic() {
        let schema = json!({"type": "object", "properties": {"x": {"anyOf": [{"type": "array"}, {"type": "null"}]}}});
        for target in OPENAI {
            let fault = schema_fault(target, &schema);
            let expected = "has an array without items in its schema, at /properties/x/anyOf/0";
            assert_eq!(fault.as_deref(), Some(expected));
        }
        assert_eq!(schema_fault(Dialect::Anthropic, &schema), None);
    }

    #[test]
    fn the_top_holds_no_choices_and_words_must_be_known() {
        let choice = json!({"type": "object", "anyOf": [{"required": ["a"]}]});
        assert!(schema_fault(Dialect::Chat, &choice).is_some());
        assert!(schema_fault(Dialect::Anthropic, &choice).is_some());
        let word = json!({"type": "object", "properties": {"a": {"type": "str"}}});
        for target in [Dialect::Chat, Dialect::Anthropic] {
            assert!(
                schema_fault(target, &word)
                    .is_some_and(|fault| fault.contains("/properties/a/type"))
            );
        }
        let spaced = json!({"type": "object", "properties": {"first name": {"type": "string"}}});
        assert!(schema_fault(Dialect::Anthropic, &spaced).is_some());
        assert_eq!(schema_fault(Dialect::Chat, &spaced), None);
    }
}
