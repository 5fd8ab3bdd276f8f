//! Every wording in every situation, and what templates may not do.

use super::*;
use std::fmt::Write as _;

/// Situations: nothing known at all, the usual, and very much of everything.
fn situations() -> Vec<(&'static str, FailureContext)> {
    let violation = |pointer: &str, message: &str| ViolationText {
        pointer: pointer.to_owned(),
        message: message.to_owned(),
    };
    let usual = FailureContext {
        tool: "serch_flights".to_owned(),
        tools: ["search_flights", "book_flight", "get_user"]
            .map(str::to_owned)
            .to_vec(),
        nearest: vec!["search_flights".to_owned()],
        arguments: r#"{"origin": "JFK", "date": 20240511}"#.to_owned(),
        error: "the date is in the past".to_owned(),
        violations: vec![
            violation("/date", "20240511 is not a string"),
            violation("", "\"to\" is missing"),
        ],
        call_id: "call_1".to_owned(),
        schema: Some(serde_json::json!({
            "type": "object",
            "properties": {"origin": {"type": "string"}, "date": {"type": "string"}},
            "required": ["origin", "to"],
        })),
        agent: "Desk".to_owned(),
        error_class: "timeout".to_owned(),
        suggestion: "Ask for less at once.".to_owned(),
        recoverable: true,
    };
    let strange = FailureContext {
        tool: "{{ tool }}\"\n<b>".to_owned(),
        arguments: "{% endraw %}".to_owned(),
        nearest: vec!["a".to_owned(), "b".to_owned(), "c".to_owned()],
        ..usual.clone()
    };
    let much = FailureContext {
        tools: (1..=500).map(|number| format!("tool_{number}")).collect(),
        arguments: "x".repeat(5_000),
        error: "y".repeat(5_000),
        violations: vec![violation("/a", "is wrong"); 100],
        ..usual.clone()
    };
    vec![
        ("nothing is known", FailureContext::default()),
        ("the usual", usual),
        ("braces and quotes", strange),
        ("very much of everything", much),
    ]
}

/// A text for people to read: long runs of one letter are cut.
fn shown(text: &str) -> String {
    let text = text.replace(&"x".repeat(1_000), "<1000 x>");
    text.replace(&"y".repeat(2_000), "<2000 y>")
        .replace('\n', "\n    ")
}

#[test]
fn every_wording_renders_in_every_situation() {
    for kind in FailureKind::all() {
        let mut book = String::new();
        for wording in library(kind) {
            writeln!(
                book,
                "# {} ({})\n{}\n",
                wording.name, wording.title, wording.template
            )
            .unwrap();
            for (situation, context) in situations() {
                let text = render(&wording.template, &context).unwrap_or_else(|fault| {
                    panic!("{} {}, {situation}: {fault}", kind.name(), wording.name)
                });
                assert!(!text.trim().is_empty() && text.len() < 5_000, "{text}");
                writeln!(book, "  {situation}:\n    {}", shown(&text)).unwrap();
            }
            book.push('\n');
        }
        insta::assert_snapshot!(kind.name(), book);
    }
}

#[test]
fn the_library_is_complete_and_its_names_are_unique() {
    for kind in FailureKind::all() {
        let names = library(kind)
            .map(|wording| &*wording.name)
            .collect::<Vec<_>>();
        assert!(names.contains(&"bare"), "{}", kind.name());
        for (index, name) in names.iter().enumerate() {
            assert!(!names[..index].contains(name), "{} {name}", kind.name());
        }
        assert_eq!(default_of(kind).name, names[0]);
        assert_eq!(FailureKind::named(kind.name()), Some(kind));
    }
    let unknown = [
        "bare",
        "list-all",
        "nearest",
        "nearest-and-list",
        "no-repeat",
    ];
    assert!(
        unknown
            .iter()
            .all(|name| find(FailureKind::UnknownTool, name).is_some())
    );
    let invalid = ["violations", "with-schema"];
    assert!(
        invalid
            .iter()
            .all(|name| find(FailureKind::InvalidArguments, name).is_some())
    );
}

/// The axes say what the template does.
#[test]
fn the_axes_of_a_wording_are_those_of_its_template() {
    for kind in FailureKind::all() {
        for wording in library(kind) {
            let says = |text: &str| wording.template.contains(text);
            let Axes {
                names_tool,
                listing,
                echoes,
                shows_schema,
                channel,
                ..
            } = wording.axes;
            let place = format!("{} {}", kind.name(), wording.name);
            let is_message = channel == Channel::UserMessage;
            assert!(is_message || says("{{ tool }}") == names_tool, "{place}");
            assert_eq!(
                says("arguments }}") || says("arguments["),
                echoes,
                "{place}"
            );
            assert_eq!(says("{{ schema }}"), shows_schema, "{place}");
            let lists = (says("nearest|join"), says("tools["));
            let wanted = match listing {
                ToolListing::Nothing => (false, false),
                ToolListing::Nearest => (true, false),
                ToolListing::All => (false, true),
                ToolListing::NearestAndAll => (true, true),
            };
            assert_eq!(lists, wanted, "{place}");
        }
    }
}

#[test]
fn rules_have_their_kind() {
    assert_eq!(
        FailureKind::of_rule("unknown-tool"),
        Some(FailureKind::UnknownTool)
    );
    assert_eq!(
        FailureKind::of_rule("orphan-call"),
        Some(FailureKind::MissingOutput)
    );
    assert_eq!(FailureKind::of_rule("pending-call"), None);
}

fn said(template: &str) -> String {
    let (_, usual) = situations().swap_remove(1);
    render(template, &usual).unwrap_or_else(|fault| fault.to_string())
}

#[test]
fn values_are_shown_as_people_write_them() {
    insta::assert_snapshot!(
        said("{{ tools }}\n{{ nearest }}\n{{ schema.required }}\n{{ schema }}\n{{ violations }}\n{{ tools|length > 2 }}\n"),
        @r#"
    search_flights, book_flight, get_user
    search_flights
    origin, to
    {"type":"object","properties":{"origin":{"type":"string"},"date":{"type":"string"}},"required":["origin","to"]}
    [{"pointer":"/date","message":"20240511 is not a string"},{"pointer":"","message":"\"to\" is missing"}]
    True
    "#
    );
}

#[test]
fn faults_name_the_line_and_what_would_help() {
    let cases = [
        "one\n{{ tol }}",
        "{% if false %}{{ toool }}{% endif %}",
        "{{ 'tol' }}\n{% if tool\n and tol %}x{% endif %}",
        "{{ violations[7].message }}",
        "\n{{ nearest[3] }}",
        "{{ tool",
        "{% if tool %}",
        "{{ tool|shout }}",
        "{{ tool.upper() }}",
        "a\n{% set x = tool %}",
        "{% include 'x' %}",
        "{% macro f() %}{% endmacro %}",
        "{{ tool ~ tool }}",
        "{{ 'a' * 1000000 }}",
        "{% for x in [1, 2] %}{% endfor %}",
        "{{ {'a': 1} }}",
        "{{ range(10) }}",
    ];
    let mut told = String::new();
    for template in cases {
        writeln!(told, "{template:?}\n  {}", said(template)).unwrap();
    }
    insta::assert_snapshot!("faults", told);
}

#[test]
fn a_template_that_would_not_end_is_ended() {
    let context = FailureContext {
        tools: vec!["tool".to_owned(); 5_000],
        ..FailureContext::default()
    };
    let loops = "{% for a in tools %}{% for b in tools %}{% endfor %}{% endfor %}";
    assert_eq!(render(loops, &context), Err(TemplateError::Endless));
    let joins = "{{ tools|join(tools|join(tools|join)) }}";
    assert_eq!(render(joins, &context), Err(TemplateError::TooMuch));
    let text = "x".repeat(100_000);
    let heavy = format!("{{% for a in tools %}}{text}{{% endfor %}}");
    assert_eq!(render(&heavy, &context), Err(TemplateError::Endless));
    let long = "x".repeat(TEMPLATE + 1);
    assert_eq!(render(&long, &context), Err(TemplateError::TooLong));
    let written = "{% for a in tools %}{{ tools|join }}{% endfor %}";
    assert_eq!(render(written, &context), Err(TemplateError::TooMuch));
    for deep in [
        "{% if tool %}".repeat(2_000),
        format!("{{{{ tools{} }}}}", "[:1]".repeat(20_000)),
        format!("{{{{ {}tool }}}}", "(".repeat(20_000)),
        format!("{{{{ {}tool }}}}", "not ".repeat(20_000)),
        format!("{{{{ tool{} }}}}", "|trim".repeat(20_000)),
    ] {
        assert!(
            matches!(render(&deep, &context), Err(TemplateError::Failed { .. })),
            "{}",
            &deep[..40]
        );
    }
}

proptest::proptest! {
    /// Fragments in any order: an answer, and never one that is too long.
    #[test]
    fn any_template_gets_an_answer(
        parts in proptest::collection::vec(proptest::sample::select(FRAGMENTS), 0..12)
    ) {
        let (_, usual) = situations().swap_remove(1);
        if let Ok(text) = render(&parts.concat(), &usual) {
            proptest::prop_assert!(text.len() <= OUTPUT);
        }
    }
}

const FRAGMENTS: &[&str] = &[
    "{{",
    "}}",
    "{%",
    "%}",
    "{#",
    "#}",
    "-",
    " ",
    "\n",
    "é",
    "'",
    "\"",
    "\\",
    "raw",
    "endraw",
    "if",
    "else",
    "endif",
    "for tool in tools",
    "for x in arguments",
    "endfor",
    "tool",
    "tools",
    "nearest",
    "violations",
    "schema",
    "|join",
    "|length",
    "|upper",
    "|tojson",
    "[",
    "]",
    ":",
    "(",
    ")",
    "1",
    "0",
    ".",
    "message",
    "{{ tool }}",
    "{% for t in tools %}",
    "{% endfor %}",
    "{% if tool %}",
    "{% endif %}",
    "{{ t }}",
    "{% raw %}",
    "{% endraw %}",
];

#[test]
fn many_literal_braces_are_no_loop() {
    let text = "{{ ".repeat(20_000);
    assert_eq!(
        render(&recorded(&text), &FailureContext::default()).unwrap(),
        text
    );
}
