//! invalid-arguments: the arguments of a call break the schema of its tool.

use super::{CheckedItem, Finding, Rule, RulePage, Run, Scope, Severity};
use crate::actions::{Offer, lines};
use crate::redact::holds_placeholder;
use crate::schema::{Validator, Violation};
use crate::session::{Family, Flags, Kind};
use serde_json::Value;

pub(crate) static RULE: Rule = Rule {
    id: "invalid-arguments",
    severity: Severity::Error,
    summary: "the arguments of a call break the schema of its tool",
    message: "the arguments of {tool} break its schema: {told}",
    page: RulePage {
        what: "The arguments are JSON, but not what the tool's schema asks for: a type, a missing or unknown \
            property, a value that is not allowed.",
        why: "A strict tool refuses the call, a lenient one runs with values it was not made for.",
        example: r#"The schema says {"date": {"type": "string"}}, the call says {"date": 20240511}."#,
        what_to_do: "Inject an error that lists every violation with its place; models correct most of them at once.",
        limits: "Silent where the tools are not recorded (give them with --tools) and where a schema cannot be \
            used: not JSON Schema, remote references, too costly. A wrong format, such as a bad e-mail address, \
            is not a violation. Missing and unknown properties are reported at their own place. A call that was \
            answered with an error is only a warning.",
    },
    offers: &[
        Offer::safe("inject-error"),
        Offer::unsafe_("retry"),
        Offer::manual("edit"),
        Offer::unsafe_("drop-pair"),
    ],
    scope: Scope::Item {
        kinds: &[Kind::Call],
        glance: |_| true,
        check,
    },
};

fn check(run: &Run<'_>, subject: &CheckedItem<'_>, findings: &mut Vec<Finding>) {
    let item = subject.item;
    let is_judged = matches!(item.family, Family::Function | Family::Legacy)
        && !item.flags.has(Flags::FOREIGN_CALLER)
        && !run.is_cut(subject.index);
    let arguments = subject.arguments.filter(|value| value.is_object());
    let (true, Some(arguments)) = (is_judged, arguments) else {
        return;
    };
    let offered = run.offered(subject.index);
    let of_tool = offered
        .as_ref()
        .and_then(|offered| offered.validator(item.name));
    let output = run.session.contract.json_output(run.session.name(item));
    let of_output = output.map(|output| Validator::compile_either(&output.schema));
    let Some(Ok(validator)) = of_tool.or(of_output.as_ref().map(Result::as_ref)) else {
        return;
    };
    let violations = violations_of(validator, arguments);
    if !violations.is_empty() {
        let finding = Finding::new(&RULE, subject.index).fact("tool", run.session.name(item));
        let finding = with_violations(finding, &violations).of_call(run.session);
        findings.push(finding.answered_in(run));
    }
}

/// What breaks the schema. A check that was refused because it could take too long says nothing about the value.
pub(crate) fn violations_of(validator: &Validator, value: &Value) -> Vec<Violation> {
    let mut violations = validator.violations(value).unwrap_or_default();
    violations.retain(|violation| !is_of_placeholder(value, violation));
    violations
}

/// Whether the schema is broken only by the length or the characters of a redaction placeholder: the secret
/// itself may satisfy it.
fn is_of_placeholder(value: &Value, violation: &Violation) -> bool {
    let by_letters = [
        "pattern",
        "minLength",
        "maxLength",
        "enum",
        "const",
        "format",
    ];
    let text = value.pointer(&violation.pointer).and_then(Value::as_str);
    by_letters.contains(&&*violation.keyword) && text.is_some_and(holds_placeholder)
}

/// Adds violations as evidence: `violations`, one `pointer: message` a line; the same on one line;
/// `count`; and the pointer of the first.
pub(crate) fn with_violations(mut finding: Finding, violations: &[Violation]) -> Finding {
    finding.pointer = violations
        .first()
        .map(|violation| violation.pointer.clone());
    let lines = lines(violations);
    finding
        .fact("violations", lines.join("\n"))
        .fact("told", lines.join("; "))
        .fact("count", lines.len().to_string())
}

#[cfg(test)]
mod tests {
    use super::RULE;
    use crate::rules::Severity;
    use crate::rules::fixture::{Fixture, fixture};
    use serde_json::{Value, json};

    fn call(parameters: &Value, arguments: &str) -> Fixture {
        let call = json!([{"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
            "function": {"name": "book", "arguments": arguments}}]}]);
        fixture(&call.to_string()).tools(json!([{"name": "book", "parameters": parameters}]))
    }

    fn flight() -> Value {
        json!({"type": "object", "required": ["date", "seats"], "additionalProperties": false,
            "properties": {"date": {"type": "string"}, "seats": {"type": "integer"}}})
    }

    #[test]
    fn every_violation_is_reported_with_its_place() {
        let finding = call(&flight(), r#"{"date": 20240511, "seat": 2}"#).finding(&RULE);
        assert_eq!(finding.get("count"), Some("3"));
        assert_eq!(finding.pointer.as_deref(), Some("/seats"));
        for place in ["/date: ", "/seat: ", "/seats: "] {
            assert!(finding.message().contains(place), "{}", finding.message());
        }
    }

    #[test]
    fn empty_arguments_lack_what_is_required() {
        call(&flight(), "").expect(&RULE, &["call_1"]);
        call(&json!({"type": "object"}), "").expect(&RULE, &[]);
    }

    #[test]
    fn valid_arguments_and_unusable_schemas_give_nothing() {
        call(&flight(), r#"{"date":"2024-05-11","seats":2}"#).expect(&RULE, &[]);
        // BFCL function docs: `dict` and `float` are no JSON Schema.
        let foreign = json!({"type": "dict", "properties": {"x": {"type": "float"}}});
        call(&foreign, r#"{"x":"1"}"#).expect(&RULE, &[]);
        let remote = json!({"$ref": "https://example.com/flight.json"});
        call(&remote, r#"{"x":"1"}"#).expect(&RULE, &[]);
    }

    #[test]
    fn a_placeholder_breaks_no_schema_by_its_characters() {
        let schema = json!({"type": "object", "additionalProperties": false,
            "properties": {"pin": {"type": "string", "pattern": "^[0-9]{4}$", "maxLength": 4}}});
        call(&schema, r#"{"pin":"[redacted pin 0badcafe]"}"#).expect(&RULE, &[]);
        call(&schema, r#"{"pin":"12"}"#).expect(&RULE, &["call_1"]);
        call(&schema, r#"{"code":"[redacted pin 0badcafe]"}"#).expect(&RULE, &["call_1"]);
    }

    #[test]
    fn upper_case_types_of_gemini_are_understood() {
        let schema = json!({"type": "OBJECT", "properties": {"seats": {"type": "INTEGER"}}});
        call(&schema, r#"{"seats":"two"}"#).expect(&RULE, &["call_1"]);
        call(&schema, r#"{"seats":2}"#).expect(&RULE, &[]);
    }

    #[test]
    fn a_call_that_was_answered_with_an_error_is_a_warning() {
        let answered = |output: &str| {
            let messages = json!([{"role": "assistant", "tool_calls": [{"id": "call_1", "type": "function",
                "function": {"name": "book", "arguments": "{\"seats\":\"two\"}"}}]},
                {"role": "tool", "tool_call_id": "call_1", "content": output}]);
            let tools = json!([{"name": "book", "parameters": flight()}]);
            fixture(&messages.to_string()).tools(tools).finding(&RULE)
        };
        let refused = answered("The arguments of \"book\" break its schema: /seats");
        assert_eq!(refused.severity, Severity::Warning);
        assert!(refused.message().ends_with(" (answered by item 2)"));
        assert_eq!(answered("booked").severity, Severity::Error);
    }

    #[test]
    fn without_tools_and_for_broken_json_it_is_silent() {
        fixture(
            r#"[{"role":"assistant","tool_calls":[{"id":"call_1","type":"function",
                "function":{"name":"book","arguments":"{\"seats\":\"two\"}"}}]}]"#,
        )
        .expect(&RULE, &[]);
        call(&flight(), "{seats").expect(&RULE, &[]);
    }

    #[test]
    fn arguments_that_a_limit_cut_are_not_judged() {
        fixture(
            r#"{"request":{"model":"m","max_tokens":9,"messages":[{"role":"user","content":"book"}],
                    "tools":[{"name":"book","input_schema":{"type":"object","required":["date"]}}]},
                "response":{"type":"message","role":"assistant","stop_reason":"max_tokens","content":[
                    {"type":"tool_use","id":"toolu_1","name":"book","input":{}}]}}"#,
        )
        .expect(&RULE, &[]);
    }

    #[test]
    fn a_structured_output_that_is_written_as_a_call_is_held_to_its_schema() {
        let schema =
            json!({"type": "object", "required": ["a"], "properties": {"a": {"type": "number"}}});
        let request = |setting: &str, input: Value| {
            let format = json!({"type": "json_schema", "schema": schema});
            let mut request = json!({"model": "claude-sonnet-4-5", "max_tokens": 100,
                "tools": [{"name": "look", "input_schema": {"type": "object"}}],
                "messages": [{"role": "user", "content": "hi"},
                    {"role": "assistant", "content": [{"type": "tool_use", "id": "toolu_1", "name": "json_tool_call", "input": input}]}]});
            request[setting] = match setting {
                "output_config" => json!({"format": format}),
                _ => format,
            };
            fixture(&request.to_string())
        };
        for setting in ["output_format", "output_config"] {
            request(setting, json!({"a": 1})).expect(&RULE, &[]);
            request(setting, json!({"a": "one"})).expect(&RULE, &["toolu_1"]);
        }
        let unknown = request("metadata", json!({"a": 1}));
        unknown.expect(crate::rules::find("unknown-tool").unwrap(), &["toolu_1"]);
    }
}
