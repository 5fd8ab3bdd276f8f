//! Recipes: the Python compiles and says what the wording says, a policy entry reads back, a fixture is checked as a recording.
#![allow(clippy::print_stderr)]

use retake_core::rules::RULES;
use retake_core::session::{Dialect, OutputSchema, Tool, ToolKind};
use retake_core::wording::recipe::{
    History, RecipeError, RecoveryCase, fixture, openai_agents, policy,
};
use retake_core::wording::{
    FailureContext, FailureKind, ViolationText, default_of, library, recorded, render,
};
use retake_live::{ReadOptions, check_recording, read_path};
use serde_json::{Value, json};
use std::process::Command;

/// A rule whose findings are of this kind.
fn rule_of(kind: FailureKind) -> &'static str {
    let rule = RULES
        .iter()
        .find(|rule| FailureKind::of_rule(rule.id) == Some(kind));
    rule.unwrap().id
}

fn inject(kind: FailureKind, template: &str) -> RecoveryCase<'_> {
    RecoveryCase {
        rule: rule_of(kind),
        action: "inject-error",
        template,
        tool: "serch_flights",
        ..RecoveryCase::default()
    }
}

fn fallback<'a>(rule: &'a str, value: &'a Value) -> RecoveryCase<'a> {
    RecoveryCase {
        rule,
        action: "fallback",
        value: Some(value),
        ..RecoveryCase::default()
    }
}

fn contexts() -> Vec<FailureContext> {
    let usual = FailureContext {
        tool: "serch_\"flights\"\n".to_owned(),
        tools: (1..40).map(|number| format!("tool_{number}")).collect(),
        nearest: vec!["a".to_owned(), "b".to_owned()],
        arguments: "{\"é\": 1, ".to_owned() + &"x".repeat(1_500),
        error: "no \\ such {{ day }}".to_owned(),
        violations: vec![
            ViolationText {
                pointer: "/a".to_owned(),
                message: "is ☂".to_owned(),
            },
            ViolationText::default(),
        ],
        call_id: "call_1".to_owned(),
        schema: Some(json!({"type": "object", "é": [null, true, 1.5]})),
        agent: "Desk".to_owned(),
        error_class: "timeout".to_owned(),
        suggestion: "Ask for less at once.".to_owned(),
        recoverable: true,
    };
    let short = FailureContext {
        tools: vec!["one".to_owned()],
        arguments: "{}".to_owned(),
        schema: None,
        ..usual.clone()
    };
    vec![usual, short, FailureContext::default()]
}

fn as_json(context: &FailureContext) -> Value {
    let violations = context.violations.iter();
    let violations = violations
        .map(|violation| json!({"pointer": violation.pointer, "message": violation.message}));
    json!({
        "tool": context.tool, "tools": context.tools, "nearest": context.nearest,
        "arguments": context.arguments, "error": context.error,
        "violations": violations.collect::<Vec<_>>(), "call_id": context.call_id,
        "schema": context.schema, "agent": context.agent,
    })
}

/// Runs Python over cases in a file; `None` without Python.
fn python(script: &str, cases: &Value) -> Option<String> {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("cases.json");
    std::fs::write(&path, cases.to_string()).unwrap();
    let Ok(output) = Command::new("python3")
        .args(["-c", script])
        .arg(&path)
        .output()
    else {
        eprintln!("skipped: there is no python3");
        return None;
    };
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(output.status.success(), "{said}");
    Some(String::from_utf8(output.stdout).unwrap())
}

/// The functions in front of the first one that needs the SDK, without the imports of the SDK.
const SAY: &str = r#"
import inspect, json, sys
said = []
for case in json.load(open(sys.argv[1])):
    compile(case["recipe"], "recipe.py", "exec")
    lines = [line for line in case["recipe"].splitlines() if not line.startswith("from agents") and not line.startswith("import jsonschema")]
    source = "from __future__ import annotations\n" + "\n".join(lines)
    if "import jinja2" in source:
        try:
            import jinja2
        except ImportError:
            said.append(None)
            continue
    module = {}
    exec(source, module)
    names = inspect.signature(module["wording"]).parameters
    said.append([module["wording"](**{name: context[name] for name in names}) for context in case["contexts"]])
print(json.dumps(said))
"#;

/// What the recipe says in each context, beside what the wording says.
fn assert_same_words(templates: &[(FailureKind, String)]) {
    let contexts = contexts();
    let recipes = templates
        .iter()
        .map(|(kind, template)| openai_agents(&inject(*kind, template)).unwrap())
        .collect::<Vec<_>>();
    let given = contexts.iter().map(as_json).collect::<Vec<_>>();
    let cases = recipes
        .iter()
        .map(|recipe| json!({"recipe": recipe, "contexts": given}));
    let Some(said) = python(SAY, &cases.collect()) else {
        return;
    };
    let said: Vec<Option<Vec<String>>> = serde_json::from_str(&said).unwrap();
    for (((_, template), recipe), said) in templates.iter().zip(&recipes).zip(said) {
        let Some(said) = said else {
            eprintln!("skipped: jinja2 is not installed, {template}");
            continue;
        };
        for (context, said) in contexts.iter().zip(said) {
            assert_eq!(said, render(template, context).unwrap(), "{recipe}");
        }
    }
}

const CARRIED: [FailureKind; 4] = [
    FailureKind::UnknownTool,
    FailureKind::MalformedArguments,
    FailureKind::InvalidArguments,
    FailureKind::ToolError,
];

#[test]
fn the_library_says_the_same_in_python() {
    let mut templates = Vec::new();
    for kind in CARRIED {
        for wording in library(kind) {
            templates.push((kind, wording.template.to_owned()));
        }
    }
    // Words for other kinds are words, too.
    for kind in FailureKind::all() {
        let words =
            library(kind).map(|wording| (FailureKind::ToolError, wording.template.to_owned()));
        templates.extend(words);
    }
    assert_same_words(&templates);
}

#[test]
fn templates_of_ones_own_say_the_same_in_python() {
    let own = [
        "{{ tools }} {{ nearest }} {{ schema }} {{ violations }}",
        "{% if not tools and (error or tool) %}a{% elif tool == 'x' %}{% else %}b{% endif %}\n",
        "{%- if tool -%}  x  {%- endif %} y {{- tool -}} z\n\n",
        "{% raw %}{{ tool }}{% endraw %}{# no #}{{ tool|upper|trim }}",
        "{% for tool in tools[1:-1] %}{{ tool }},{% endfor %}{{ tool }}{{ tools|length - 1 }}",
        "{{ error or tool }}{{ tool[0:2] }}{{ tool|tojson }}{{ schema|tojson }}{{ tools|join }}",
        "{% for name in tools %}{{ loop.index }}{% if not loop.last %}, {% endif %}{% endfor %}",
        "{{ tool|default('none') }}{{ schema }}{{ nearest }}{{ violations|length }}{{ 'a\\'b' }}",
    ];
    let mut templates = own
        .map(|own| (FailureKind::ToolError, own.to_owned()))
        .to_vec();
    let found = "Tool '{{ x }}' {% endraw %} \"\"\" \\n {#\n\u{2028}\u{0}";
    templates.push((FailureKind::UnknownTool, recorded(found)));
    assert_same_words(&templates);
}

#[test]
fn what_stands_in_a_recipe_cannot_leave_its_literal() {
    let hostile = "x\"\nimport os\n#'''\\";
    let value = json!({hostile: [hostile, null, true, 1e300, -3]});
    let recovery = RecoveryCase {
        wording: hostile,
        tool: hostile,
        ..inject(FailureKind::ToolError, hostile)
    };
    let recipes = [
        openai_agents(&recovery).unwrap(),
        openai_agents(&fallback("refused", &value)).unwrap(),
    ];
    for recipe in &recipes {
        assert!(
            !recipe.lines().any(|line| line.trim() == "import os"),
            "{recipe}"
        );
    }
    let cases = recipes.map(|recipe| json!({"recipe": recipe}));
    let compiles = "import json, sys\nfor case in json.load(open(sys.argv[1])): compile(case['recipe'], 'r', 'exec')";
    python(compiles, &json!(cases));
}

#[test]
fn recipes_for_people_to_read() {
    let unknown = default_of(FailureKind::UnknownTool);
    let recovery = RecoveryCase {
        wording: &unknown.name,
        ..inject(FailureKind::UnknownTool, &unknown.template)
    };
    insta::assert_snapshot!("unknown-tool.py", openai_agents(&recovery).unwrap());
    let invalid =
        library(FailureKind::InvalidArguments).find(|wording| wording.name == "with-schema");
    let recovery = inject(FailureKind::InvalidArguments, &invalid.unwrap().template);
    insta::assert_snapshot!("invalid-arguments.py", openai_agents(&recovery).unwrap());
    let value = json!({"answer": "unknown", "sure": false});
    let recovery = fallback("invalid-final-output", &value);
    insta::assert_snapshot!("invalid-final-output.py", openai_agents(&recovery).unwrap());
}

#[test]
fn what_the_framework_cannot_do_is_refused_with_the_reason() {
    let refused = |rule, action, is_custom| {
        let value = json!(1);
        let recovery = RecoveryCase {
            rule,
            action,
            is_custom,
            template: "x",
            value: Some(&value),
            ..RecoveryCase::default()
        };
        openai_agents(&recovery).unwrap_err().to_string()
    };
    let told = [
        refused("unknown-tool", "inject-error", true),
        refused("unknown-tool", "take-suggestion", false),
        refused("unknown-tool", "fallback", false),
        refused("invalid-arguments", "retry", false),
        refused("invalid-arguments", "inject-error", true),
        refused("duplicate-argument-key", "inject-error", false),
        refused("orphan-call", "supply-output", false),
        refused("repeated-call", "inject-error", false),
        refused("truncated-response", "raise-limit", false),
        refused("orphan-output", "drop-item", false),
    ];
    insta::assert_snapshot!("refusals", told.join("\n"));
    let recovery = inject(FailureKind::UnknownTool, "{{ tol }}");
    assert!(matches!(
        openai_agents(&recovery),
        Err(RecipeError::Template(_))
    ));
    assert!(matches!(
        openai_agents(&inject(FailureKind::UnknownTool, "")),
        Err(RecipeError::Unfit(_))
    ));
}

#[test]
fn a_policy_entry_reads_back() {
    let entry = |recovery: &RecoveryCase<'_>| {
        let text = policy(recovery).unwrap();
        let read: toml::Table = toml::from_str(&text).unwrap();
        read["on"][recovery.rule].clone()
    };
    let nearest = library(FailureKind::UnknownTool)
        .find(|wording| wording.name == "nearest")
        .unwrap();
    let recovery = RecoveryCase {
        wording: &nearest.name,
        ..inject(FailureKind::UnknownTool, &nearest.template)
    };
    insta::assert_snapshot!(policy(&recovery).unwrap(), @r#"
    [on.unknown-tool]
    do = "inject"
    wording = "nearest"
    times = 2
    otherwise = "raise"
    "#);
    let own = "There is no \"{{ tool }}\".\nTry '''another'''. \\ \u{7f}";
    let changed = RecoveryCase {
        template: own,
        ..recovery
    };
    assert_eq!(entry(&changed)["wording"].as_str(), Some(own));
    let named = RecoveryCase {
        template: "bare",
        ..recovery
    };
    assert_eq!(entry(&named)["wording"].as_str(), Some("{{ 'bare' }}"));
    let value = json!({"answer": "unknown", "parts": [1, 2.5, true, {"a": "b"}]});
    let given = RecoveryCase {
        include_in_history: true,
        ..fallback("invalid-final-output", &value)
    };
    let read = entry(&given);
    assert_eq!(serde_json::to_value(&read["value"]).unwrap(), value);
    assert_eq!(read["include_in_history"].as_bool(), Some(true));
    let nothing = json!({"answer": null});
    for (refused, reason) in [
        (fallback("refused", &nothing), "no null"),
        (
            RecoveryCase {
                value: None,
                ..given
            },
            "choose the value",
        ),
        (
            RecoveryCase {
                action: "edit",
                ..recovery
            },
            "cannot do this by itself",
        ),
    ] {
        let told = policy(&refused).unwrap_err().to_string();
        assert!(told.contains(reason), "{told}");
    }
}

fn tool(name: &str, kind: ToolKind) -> Tool {
    Tool {
        name: name.to_owned(),
        kind,
        description: "Finds flights.".to_owned(),
        parameters: Some(
            json!({"type": "object", "properties": {"to": {"type": "string"}}, "required": ["to"]}),
        ),
        output_schema: None,
    }
}

/// Histories in which the arguments of the call c1 break the schema, or not.
fn elements(dialect: Dialect, arguments: &str) -> Vec<String> {
    let text = json!(arguments);
    let user = r#"{"role":"user","content":"To Rome."}"#.to_owned();
    let rest = match dialect {
        Dialect::Responses => vec![
            format!(r#"{{"type":"function_call","call_id":"c1","name":"find","arguments":{text}}}"#),
            r#"{"type":"function_call_output","call_id":"c1","output":"[]"}"#.to_owned(),
        ],
        Dialect::Chat => vec![
            format!(r#"{{"role":"assistant","content":null,"tool_calls":[{{"id":"c1","type":"function","function":{{"name":"find","arguments":{text}}}}}]}}"#),
            r#"{"role":"tool","tool_call_id":"c1","content":"[]"}"#.to_owned(),
        ],
        _ => vec![
            format!(r#"{{"role":"assistant","content":[{{"type":"tool_use","id":"c1","name":"find","input":{arguments}}}]}}"#),
            r#"{"role":"user","content":[{"type":"tool_result","tool_use_id":"c1","content":"[]"}]}"#.to_owned(),
        ],
    };
    [user].into_iter().chain(rest).collect()
}

/// The rules that fire for the call of a fixture, read from a file as any recording.
fn fired(dialect: Dialect, arguments: &str) -> Vec<&'static str> {
    let recovery = RecoveryCase {
        rule: "invalid-arguments",
        action: "edit",
        tool: "find",
        ..RecoveryCase::default()
    };
    let elements = elements(dialect, arguments);
    let elements = elements.iter().map(String::as_bytes).collect::<Vec<_>>();
    let (find, free) = (
        tool("find", ToolKind::Function),
        tool("patch", ToolKind::Custom),
    );
    let spaced = tool("air.find", ToolKind::Function);
    let tools = match dialect {
        Dialect::Responses => vec![&find, &free, &spaced],
        Dialect::Chat => vec![&find, &free],
        _ => vec![&find],
    };
    let schema = OutputSchema {
        name: "answer".to_owned(),
        schema: json!({"type": "object"}),
    };
    let instructions = json!("Be brief.");
    let text = fixture(
        &recovery,
        &History {
            dialect,
            model: "some-model",
            instructions: (dialect != Dialect::Chat).then_some(&instructions),
            elements: &elements,
            tools: Some(&tools),
            output_schema: Some(&schema),
            call_id: "c1",
            findings: 0,
        },
    )
    .unwrap();
    let written: Value = serde_json::from_str(&text).unwrap();
    assert_eq!(written["expect"]["rule"], "invalid-arguments");
    assert!(
        elements
            .iter()
            .all(|element| text.contains(std::str::from_utf8(element).unwrap()))
    );
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("fixture.json");
    std::fs::write(&path, &text).unwrap();
    let recording = read_path(&path, &ReadOptions::default()).unwrap();
    assert_eq!(recording.problems.len(), 0, "{:?}", recording.problems);
    let [session] = &recording.sessions[..] else {
        panic!("{} sessions", recording.sessions.len());
    };
    assert_eq!(session.dialect, dialect);
    assert!(session.contract.tools_known() && session.contract.output_schema.is_some());
    let names = session.contract.tool_sets[0]
        .tools
        .iter()
        .map(|tool| tool.name.as_str());
    assert_eq!(
        names.collect::<Vec<_>>(),
        tools.iter().map(|tool| &tool.name).collect::<Vec<_>>()
    );
    let findings = check_recording(&recording, None).unwrap();
    findings[0].iter().map(|finding| finding.rule.id).collect()
}

#[test]
fn a_fixture_is_a_recording_that_check_can_judge() {
    for dialect in [Dialect::Responses, Dialect::Chat, Dialect::Anthropic] {
        assert_eq!(
            fired(dialect, r#"{"to":"FCO"}"#),
            Vec::<&str>::new(),
            "{dialect:?}"
        );
        assert_eq!(
            fired(dialect, r#"{"to":7}"#),
            ["invalid-arguments"],
            "{dialect:?}"
        );
    }
}
