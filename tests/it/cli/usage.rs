//! `usage`: where tokens and time went.

use super::{folder, told};
use serde_json::Value;

const LOG: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hi"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:03Z","message":{"id":"m","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":5}}}
{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:04Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]}}
"#;

#[test]
fn people_programs_and_spreadsheets_read_the_same_figures() {
    let here = folder(&[("log,1.jsonl", LOG)]);
    let (code, text, _) = told(here.path(), &["usage", "log,1.jsonl"]);
    assert_eq!(code, 0);
    for words in [
        "100 tokens in, 90% of them cached; 5 out",
        "model 3.0s, tools 1.0s",
        "Bash(ls)",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (_, json, _) = told(here.path(), &["usage", ".", "--format", "json"]);
    let lines: Vec<Value> = json
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    let kinds: Vec<_> = lines
        .iter()
        .map(|line| line["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["session", "tool", "turn", "result"]);
    assert_eq!(
        (&lines[0]["cached_tokens"], &lines[1]["errors"]),
        (&90.into(), &1.into())
    );
    let (_, csv, _) = told(here.path(), &["usage", "log,1.jsonl", "--format", "csv"]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 2);
    assert!(
        rows[1].starts_with("\"log,1.jsonl\",")
            && rows[1].ends_with(",2,1767225603000,3000,100,90,5"),
        "{}",
        rows[1]
    );
}

#[test]
fn what_is_not_recorded_is_not_guessed() {
    let chat = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"ok"}]"#;
    let here = folder(&[("chat.json", chat)]);
    let (code, text, _) = told(here.path(), &["usage", "chat.json"]);
    assert_eq!(code, 0);
    assert!(text.contains("does not say how many tokens"), "{text}");
    let (code, _, _) = told(here.path(), &["usage", "nothing.json"]);
    assert_eq!(code, 2);
}
