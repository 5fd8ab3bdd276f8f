//! invalid-tool-definition: an offered tool that the provider refuses, and with it every request.

mod definitions;

use super::{Digests, Finding, Rule, RulePage, Run, Scope, Severity};
use crate::dialects::tools::name_fault;
use crate::session::{Dialect, Tool, ToolKind};
use definitions::schema_fault;
use std::collections::HashSet;

pub(super) static RULE: Rule = Rule {
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

fn check(run: &Run<'_>, _: &Digests, findings: &mut Vec<Finding>) {
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
        Some(schema) => schema_fault(run.target, schema),
        None => {
            let is_needed = facts.schemas.is_needed && run.session.dialect == run.target;
            is_needed.then(|| "has no input_schema".to_owned())
        }
    }
}

fn duplicate(target: Dialect, name: &str) -> Finding {
    let finding = finding(target, name, "is offered twice");
    match target.facts().refuses_repeated_tools {
        true => finding,
        false => finding.as_bad_as(Severity::Warning),
    }
}

fn finding(target: Dialect, name: &str, reason: &str) -> Finding {
    let mut finding = Finding::new(&RULE, 0)
        .fact("tool", name)
        .fact("reason", reason)
        .fact("provider", target.facts().vendor);
    finding.item = None;
    finding
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
