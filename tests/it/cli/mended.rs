//! What `check` says of single faults, what `fix` makes of them, and what `explain --error` knows of the provider's words.

use super::{folder, told};
use serde_json::{Value, json};
use std::path::Path;

/// The rules of the findings of a file with their severities.
fn found(folder: &Path, name: &str) -> (i32, Vec<String>) {
    let (code, out, err) = told(folder, &["check", name, "--format", "json"]);
    assert_eq!(err, "");
    let lines = out
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let findings = lines.filter(|line| line["type"] == "finding");
    let told = findings.map(|line| {
        let [severity, rule] =
            ["severity", "rule"].map(|key| line[key].as_str().unwrap_or_default().to_owned());
        format!("{severity} {rule}")
    });
    (code, told.collect())
}

fn bundled(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("sessions")
        .join(name);
    std::fs::read_to_string(path).unwrap()
}

#[test]
fn a_broken_chain_is_an_error_and_whole_after_a_fix_that_is_not_safe() {
    let log = bundled("broken-chain.jsonl");
    let here = folder(&[("log.jsonl", &log)]);
    let path = here.path();
    assert_eq!(
        found(path, "log.jsonl"),
        (1, vec!["error broken-chain".to_owned()])
    );
    let (_, safe, err) = told(path, &["fix", "log.jsonl"]);
    assert_eq!(safe, log);
    let hint = "--unsafe applies fixes that change what the model saw or did: broken-chain 1";
    assert!(err.contains(hint), "{err}");
    let (code, _, err) = told(path, &["fix", "log.jsonl", "--unsafe", "-o", "whole.jsonl"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(found(path, "whole.jsonl"), (0, Vec::new()));
    let whole = std::fs::read_to_string(path.join("whole.jsonl")).unwrap();
    let changed: Vec<(&str, &str)> = log
        .lines()
        .zip(whole.lines())
        .filter(|(before, after)| before != after)
        .collect();
    let [(before, after)] = changed[..] else {
        panic!("{changed:?}");
    };
    let [old, new, above] = [before, after, log.lines().nth(3).unwrap_or_default()]
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    assert_eq!(new["parentUuid"], above["uuid"]);
    assert_eq!(
        (&old["uuid"], &old["message"]),
        (&new["uuid"], &new["message"])
    );
}

#[test]
fn thinking_without_its_signature_is_dropped_as_safe_and_the_chain_closes_over_it() {
    let here = folder(&[("log.jsonl", &bundled("unsigned-thinking.jsonl"))]);
    let path = here.path();
    let (code, _, err) = told(path, &["fix", "log.jsonl", "-o", "fixed.jsonl"]);
    assert_eq!(code, 0, "{err}");
    assert_eq!(found(path, "fixed.jsonl"), (0, Vec::new()));
}

/// A request whose tool stands in a namespace, and one call of it.
fn namespaced(call: Value) -> String {
    json!({"model": "gpt-5",
        "tools": [{"type": "namespace", "name": "finance", "description": "money", "tools": [
            {"type": "function", "name": "search", "parameters": {"type": "object"}}]}],
        "input": [{"role": "user", "content": "hi"}, call]})
    .to_string()
}

#[test]
fn a_suggestion_in_a_namespace_is_taken_and_no_pair_is_dropped() {
    for call in [
        json!({"type": "function_call", "call_id": "call_1", "name": "search", "arguments": "{}"}),
        json!({"type": "function_call", "call_id": "call_1", "name": "finance_search", "arguments": "{}"}),
        json!({"type": "function_call", "call_id": "call_1", "name": "finance__search", "arguments": "{}"}),
        json!({"type": "function_call", "call_id": "call_1", "name": "finance.search", "arguments": "{}"}),
        json!({"type": "function_call", "call_id": "call_1", "name": "serch", "namespace": "finance", "arguments": "{}"}),
        json!({"type": "function_call", "call_id": "call_1", "name": "search", "namespace": "money", "arguments": "{}"}),
    ] {
        let here = folder(&[("run.json", &namespaced(call.clone()))]);
        let path = here.path();
        let (code, out, err) = told(path, &["fix", "run.json", "--unsafe"]);
        assert_eq!(code, 0, "{err}");
        assert!(!err.contains("drop-pair"), "{call}: {err}");
        let fixed: Value = serde_json::from_str(&out).unwrap();
        let named = (&fixed["input"][1]["name"], &fixed["input"][1]["namespace"]);
        assert_eq!(named, (&json!("search"), &json!("finance")), "{call}");
        assert_eq!(fixed["input"].as_array().map(Vec::len), Some(3), "{call}");
        std::fs::write(path.join("fixed.json"), &out).unwrap();
        let (code, left) = found(path, "fixed.json");
        assert_eq!((code, left), (0, Vec::<String>::new()), "{call}");
    }
}

#[test]
fn what_providers_say_of_these_faults_leads_to_their_rules() {
    for (name, text, rule) in [
        (
            "assistant-prefill.json",
            "This model does not support assistant message prefill. The conversation must end with a user message.",
            "assistant-prefill",
        ),
        (
            "too-many-pictures.json",
            "messages.4.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed size for many-image requests: 2000 pixels",
            "image-limits",
        ),
        (
            "refused-definition.json",
            "Invalid schema for function 'book_seats': In context=('properties', 'seats'), array schema missing items.",
            "invalid-tool-definition",
        ),
        (
            "lost-hosted-call.json",
            "messages.1.content.0: unexpected `tool_use_id` found in `web_search_tool_result` blocks: srvtoolu_01Hq7. Each `web_search_tool_result` block must have a corresponding `server_tool_use` block before it.",
            "orphan-hosted-result",
        ),
        (
            "unsigned-thinking.jsonl",
            "messages.1.content.0: Invalid `signature` in `thinking` block",
            "missing-signature",
        ),
    ] {
        let here = folder(&[(name, &bundled(name))]);
        let (_, out, err) = told(here.path(), &["explain", "--error", text, name]);
        assert!(out.contains(rule), "{name}: {out}{err}");
    }
    let too_large = r#"413 {"error":{"type":"request_too_large","message":"Request exceeds the maximum size"}}"#;
    let here = folder(&[]);
    let (_, out, err) = told(here.path(), &["explain", "--error", too_large]);
    assert!(
        out.contains("more bytes than the provider takes"),
        "{out}{err}"
    );
}

#[test]
fn a_fix_that_is_not_safe_leaves_nothing_for_a_second_one_and_tells_the_same() {
    let call = |name: &str, arguments: &str| {
        json!({"role": "assistant", "content": null, "tool_calls": [
            {"id": "c", "type": "function", "function": {"name": name, "arguments": arguments}}]})
    };
    let item = |name: &str, arguments: &str| json!({"type": "function_call", "call_id": "c", "name": name, "arguments": arguments});
    let user = |text: &str| json!({"role": "user", "content": text});
    let told_after = |err: &str| {
        err.split(" applied, ")
            .nth(1)
            .unwrap()
            .lines()
            .next()
            .unwrap()
            .to_owned()
    };
    let schema =
        json!({"type": "object", "required": ["city"], "properties": {"city": {"type": "string"}}});
    for (name, arguments) in [
        ("zzzzzz", r#"{"city":"Rome",}"#),
        ("zzzzzz", r#"{"city":"Rome"}"#),
        ("serch", r#"{"city":"Rome",}"#),
        ("search", r#"{"city":9,}"#),
        ("search", r#"{"city":9}"#),
        ("zzzzzz", r#"{"city":"Rome","city":"Oslo"}"#),
    ] {
        for is_answered in [false, true] {
            let mut chat = vec![user("hi"), call(name, arguments)];
            let mut items = vec![user("hi"), item(name, arguments)];
            if is_answered {
                chat.push(json!({"role": "tool", "tool_call_id": "c", "content": "Error: no"}));
                items.push(
                    json!({"type": "function_call_output", "call_id": "c", "output": "Error: no"}),
                );
            }
            chat.push(user("so?"));
            items.push(user("so?"));
            let bodies = [
                json!({"model": "m", "messages": chat, "tools": [{"type": "function", "function": {"name": "search", "parameters": schema}}]}),
                json!({"model": "m", "input": items, "tools": [{"type": "function", "name": "search", "parameters": schema}]}),
            ];
            for body in bodies {
                let here = folder(&[("run.json", &body.to_string())]);
                let path = here.path();
                let fix = |from: &str, to: &str| told(path, &["fix", "--unsafe", from, "-o", to]);
                let (first, _, err) = fix("run.json", "one.json");
                let (second, _, again) = fix("one.json", "two.json");
                let [one, two] = ["one.json", "two.json"]
                    .map(|name| std::fs::read_to_string(path.join(name)).unwrap());
                assert_eq!(one, two, "{body}: {err}{again}");
                assert_eq!(
                    (first, told_after(&err)),
                    (second, told_after(&again)),
                    "{body}"
                );
                assert!(again.contains("0 actions applied"), "{again}");
            }
        }
    }
}
