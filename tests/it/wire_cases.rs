//! Requests that providers take or refuse, as their real answers tell: a request that is refused has an error, one that is taken has none.
#![allow(clippy::unwrap_used, clippy::panic)]

use retake_core::formats::{self, read_buffer};
use retake_core::rules::{Finding, Run, Severity, check};
use retake_core::session::{Dialect, Source};
use retake_core::wire::provider_errors::decode;
use serde_json::Value;
use std::collections::BTreeSet;
use std::sync::Arc;

/// Refused for the shape of one item; each with the rule that says so.
const OF_SHAPE: &[(&str, &str)] = &[
    ("chat-14", "malformed-message"),
    ("chat-15", "malformed-message"),
    ("chat-16", "malformed-message"),
    ("chat-18", "malformed-message"),
    ("chat-21", "malformed-message"),
    ("responses-11", "malformed-message"),
    ("responses-12", "malformed-message"),
    ("responses-14", "malformed-message"),
    ("responses-18", "malformed-message"),
    ("anthropic-13", "malformed-message"),
    ("anthropic-16", "malformed-message"),
    ("anthropic-18", "malformed-message"),
    ("anthropic-19", "malformed-message"),
    ("anthropic-20", "missing-signature"),
    ("anthropic-23", "malformed-message"),
    ("responses-13", "invalid-tool-name"),
    ("anthropic-15", "malformed-arguments"),
    ("anthropic-17", "invalid-tool-definition"),
];

/// Taken by the provider, and yet the model made a mistake that breaks the run; each with the rule that says so.
const MISTAKES_OF_THE_MODEL: &[(&str, &str)] = &[
    ("chat-17", "malformed-arguments"),
    ("chat-20", "unknown-tool"),
];

#[test]
fn a_refused_request_has_an_error_and_an_accepted_one_has_none() {
    let cases: Value = serde_json::from_str(include_str!("hostile/wire_cases.json")).unwrap();
    let cases = cases["cases"].as_array().unwrap();
    assert_eq!(cases.len(), 71);
    let mut wrong = Vec::new();
    for case in cases {
        let id = case["id"].as_str().unwrap();
        let findings = judge(case);
        let errors = findings
            .iter()
            .filter(|finding| finding.severity == Severity::Error)
            .map(|finding| finding.rule.id)
            .collect::<BTreeSet<_>>();
        let as_expected = match case["verdict"].as_str().unwrap() {
            "ok" => match excused(MISTAKES_OF_THE_MODEL, id) {
                Some(rule) => errors.iter().all(|error| *error == rule),
                None => errors.is_empty(),
            },
            "reject" => match excused(OF_SHAPE, id) {
                Some(rule) => errors.contains(rule),
                None => !errors.is_empty(),
            },
            _ => true,
        };
        if !as_expected {
            wrong.push(format!("{id} ({}): {findings:?}", case["rule"]));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

#[test]
fn the_text_of_a_refusal_leads_to_the_rule_that_finds_it() {
    let cases: Value = serde_json::from_str(include_str!("hostile/wire_cases.json")).unwrap();
    let mut seen = 0;
    for case in cases["cases"].as_array().unwrap() {
        let id = case["id"].as_str().unwrap();
        let Some(rule) = excused(OF_SHAPE, id) else {
            continue;
        };
        let decoded = decode(case["provider_error"].as_str().unwrap());
        assert_eq!(decoded[0].rule, Some(rule), "{id}");
        seen += 1;
    }
    assert_eq!(seen, OF_SHAPE.len());
}

fn excused(list: &[(&'static str, &'static str)], id: &str) -> Option<&'static str> {
    let found = list.iter().find(|(known, _)| *known == id);
    found.map(|(_, reason)| *reason)
}

/// The findings of a request, judged for the provider that it was sent to; the same whether it stands in a file of its own or on a line.
fn judge(case: &Value) -> Vec<Finding> {
    let dialect = case["dialect"].as_str().unwrap();
    let (format, target) = match dialect {
        "chat" => ("openai-chat", Dialect::Chat),
        "responses" => ("openai-responses", Dialect::Responses),
        "anthropic" => ("anthropic-messages", Dialect::Anthropic),
        other => panic!("{other}"),
    };
    let document = serde_json::to_vec_pretty(&case["body"]).unwrap();
    let line = [serde_json::to_vec(&case["body"]).unwrap(), b"\n".to_vec()].concat();
    let [document, line] = [document, line].map(|bytes| find(format, target, &bytes, &case["id"]));
    let told = |findings: &[Finding]| format!("{findings:?}");
    assert_eq!(told(&document), told(&line), "{}", case["id"]);
    document
}

fn find(format: &str, target: Dialect, bytes: &[u8], id: &Value) -> Vec<Finding> {
    let format = formats::find(format).unwrap();
    let source: Arc<dyn Source> = Arc::new(bytes.to_vec());
    let contents = read_buffer(format, &source, bytes).unwrap();
    let session = contents.sessions.first().unwrap();
    assert!(session.contract.is_request, "{id}");
    check(&mut Run::new(session, Some(target))).unwrap()
}
