//! `usage`: where tokens and time went.

use super::{folder, told};
use serde_json::{Value, json};

const LOG: &str = r#"{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00Z","message":{"role":"user","content":"hi"}}
{"type":"assistant","uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:03Z","message":{"id":"m","model":"claude-sonnet-4-5","role":"assistant","content":[{"type":"tool_use","id":"t","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":5}}}
{"type":"user","uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:04Z","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t","content":"no","is_error":true}]}}
"#;

#[test]
fn people_programs_and_spreadsheets_read_the_same_figures() {
    let here = folder(&[("log,1.jsonl", LOG)]);
    let (code, text, _) = told(here.path(), &["usage", "log,1.jsonl"]);
    assert_eq!(code, 0);
    for words in [
        "<$0.001 for 100 tokens in, 90% of them cached; 5 out",
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
    assert_eq!(
        kinds,
        ["session", "tool", "kind", "kind", "kind", "turn", "result"]
    );
    assert_eq!(
        (&lines[0]["cached_tokens"], &lines[1]["errors"]),
        (&90.into(), &1.into())
    );
    let (_, csv, _) = told(here.path(), &["usage", "log,1.jsonl", "--format", "csv"]);
    let rows: Vec<&str> = csv.lines().collect();
    assert_eq!(rows.len(), 2);
    assert!(
        rows[1].starts_with("\"log,1.jsonl\",")
            && rows[1]
                .ends_with(",2,1767225603000,3000,100,90,5,0,claude-sonnet-4-5,0.000132,prices,"),
        "{}",
        rows[1]
    );
}

#[test]
fn reasoning_is_counted_apart_in_every_spelling() {
    for (name, usage) in [
        ("anthropic.json", r#"{"input_tokens":9,"output_tokens":70}"#),
        (
            "responses.json",
            r#"{"input_tokens":9,"output_tokens":70,"output_tokens_details":{"reasoning_tokens":64}}"#,
        ),
        (
            "codex.json",
            r#"{"input_tokens":9,"output_tokens":70,"reasoning_output_tokens":64}"#,
        ),
    ] {
        let log = LOG.replace(
            r#"{"input_tokens":10,"cache_read_input_tokens":90,"output_tokens":5}"#,
            usage,
        );
        let here = folder(&[(name, log.as_str())]);
        let (_, text, _) = told(here.path(), &["usage", name]);
        let (_, json, _) = told(here.path(), &["usage", name, "--format", "json"]);
        let session: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
        let is_counted = name != "anthropic.json";
        assert_eq!(
            text.contains("70 out, 64 of them reasoning"),
            is_counted,
            "{text}"
        );
        assert_eq!(
            session["reasoning_tokens"].as_u64(),
            is_counted.then_some(64)
        );
    }
}

#[test]
fn what_is_not_recorded_is_not_guessed() {
    let chat = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"ok"}]"#;
    let here = folder(&[("chat.json", chat)]);
    let (code, text, _) = told(here.path(), &["usage", "chat.json"]);
    assert_eq!(code, 0);
    assert!(text.contains("has no token counts"), "{text}");
    let (code, _, _) = told(here.path(), &["usage", "nothing.json"]);
    assert_eq!(code, 2);
}

#[test]
fn prices_are_those_of_the_program_and_of_a_file_and_unknown_models_have_none() {
    let unknown = LOG.replace("claude-sonnet-4-5", "house-model-7b");
    let prices =
        "[models]\nhouse-model-7b = { window = 1000, input = 1000, cached = 10, output = 2000 }\n";
    let here = folder(&[
        ("log.jsonl", LOG),
        ("unknown.jsonl", &unknown),
        ("prices.toml", prices),
        ("faulty.toml", "[models]\nx = { inptu = 1 }\n"),
        ("settings/config.toml", "prices = \"../prices.toml\"\n"),
        ("settings/faulty.toml", "prices = \"../faulty.toml\"\n"),
    ]);
    let cost = |arguments: &[&str]| {
        let arguments = [&["usage", "--format", "json"], arguments].concat();
        let (code, json, _) = told(here.path(), &arguments);
        assert_eq!(code, 0);
        let line: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
        (line["cost_usd"].clone(), line["without_price"].clone())
    };
    // 10 at $3, 90 at $0.30, 5 at $15 a million.
    assert_eq!(cost(&["log.jsonl"]), (0.000132.into(), 0.into()));
    assert_eq!(cost(&["unknown.jsonl"]), (Value::Null, 1.into()));
    let own = ["unknown.jsonl", "--prices", "prices.toml"];
    assert_eq!(cost(&own), (0.0209.into(), 0.into()));
    let (_, text, _) = told(here.path(), &["usage", "unknown.jsonl"]);
    assert!(
        text.contains("no price is known for 1 reply of house-model-7b"),
        "{text}"
    );
    let set = ["unknown.jsonl", "--config", "settings/config.toml"];
    assert_eq!(cost(&set), (0.0209.into(), 0.into()));
    let named = [
        "--config",
        "settings/faulty.toml",
        "--prices",
        "prices.toml",
    ];
    assert_eq!(
        cost(&[&["unknown.jsonl"][..], &named].concat()),
        (0.0209.into(), 0.into())
    );
    for faulty in [
        ["--prices", "faulty.toml"],
        ["--config", "settings/faulty.toml"],
    ] {
        let (code, _, error) = told(
            here.path(),
            &[&["usage", "log.jsonl"][..], &faulty].concat(),
        );
        assert_eq!(code, 2);
        assert!(
            error.contains("faulty.toml: line 2: unknown field `inptu`"),
            "{error}"
        );
    }
}

#[test]
fn a_recorded_cost_is_used_before_any_price() {
    let paid = LOG.replace(r#""output_tokens":5"#, r#""output_tokens":5,"cost":0.5"#);
    let more = paid
        .replace("\"id\":\"m\"", "\"id\":\"n\"")
        .replace(",\"cost\":0.5", "");
    let here = folder(&[("paid.jsonl", &paid), ("more.jsonl", &more)]);
    let (_, text, _) = told(here.path(), &["usage", "paid.jsonl"]);
    assert!(
        text.contains("$0.50 (recorded) for 100 tokens in"),
        "{text}"
    );
    let (_, text, _) = told(here.path(), &["usage", "paid.jsonl", "more.jsonl"]);
    assert!(
        text.contains("$0.50 (recorded for 1 of 2 replies) for 200"),
        "{text}"
    );
    let (_, json, _) = told(here.path(), &["usage", "paid.jsonl", "--format", "json"]);
    let lines = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let lines: Vec<Value> = lines.collect();
    assert_eq!(lines[0]["recorded_costs"], 1);
    let turn = lines.iter().find(|line| line["type"] == "turn").unwrap();
    assert_eq!(
        (&turn["cost_usd"], &turn["cost_source"]),
        (&0.5.into(), &"recorded".into())
    );
}

#[test]
fn sub_agents_of_the_same_file_count_with_their_session() {
    let own = LOG.replace("\"uuid\":\"", "\"isSidechain\":true,\"uuid\":\"s");
    let own = own.replace("\"parentUuid\":\"", "\"parentUuid\":\"s");
    let own = own
        .replace("\"id\":\"m\"", "\"id\":\"n\"")
        .replace("\"hi\"", "\"Find it\"");
    let here = folder(&[("log.jsonl", &format!("{LOG}{own}"))]);
    let (code, text, _) = told(here.path(), &["usage", "log.jsonl"]);
    assert_eq!(code, 0);
    for words in [
        "1 sub-agent, 105 tok, <$0.001; <$0.001 in all",
        "total of 2 sessions",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    let (_, json, _) = told(here.path(), &["usage", "log.jsonl", "--format", "json"]);
    let lines = json
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    let sessions: Vec<Value> = lines.filter(|line| line["type"] == "session").collect();
    let all = &sessions[0]["with_sub_agents"];
    assert_eq!(
        (&all["sub_agents"], &all["input_tokens"]),
        (&1.into(), &200.into())
    );
    assert_eq!(all["tools_ms"], 2_000);
    assert_eq!(sessions[1]["input_tokens"], 100);
    assert_eq!(sessions[1]["with_sub_agents"], Value::Null);
    // The name that is shown is the name by which it is asked for.
    assert!(text.contains("sub-agent 1"), "{text}");
    let of = |name: &str| told(here.path(), &["usage", "--session", name, "log.jsonl"]);
    let (code, second, err) = of("2");
    assert!(code == 0 && second.contains("sub-agent 1"), "{second}{err}");
    for name in ["sub-agent 1", "side chain 1"] {
        assert_eq!(of(name).1, second);
    }
}

#[test]
fn a_sub_agent_is_named_by_its_call() {
    let call = json!({"type": "assistant", "uuid": "t", "parentUuid": null, "sessionId": "s", "message": {
        "id": "t", "role": "assistant", "model": "m", "content": [{"type": "tool_use", "id": "toolu_t",
            "name": "Task", "input": {"description": "find callers", "prompt": "Find callers of pay"}}]}});
    let agent = LOG.replace("\"content\":\"hi\"", "\"content\":\"Find callers of pay\"");
    let other = LOG.replace("\"sessionId\":\"s\"", "\"sessionId\":\"other\"");
    let here = folder(&[
        ("s.jsonl", &format!("{call}\n")),
        ("agent-1.jsonl", &agent),
        ("other.jsonl", &other),
    ]);
    for files in [&["s.jsonl"][..], &["s.jsonl", "other.jsonl"]] {
        let (_, text, _) = told(here.path(), &[&["usage"], files].concat());
        let is_named = |line: &str| line.trim_end().ends_with("  Task(find callers)");
        assert!(text.lines().any(is_named), "{text}");
    }
}

#[test]
fn several_sessions_are_added_up_with_the_sub_agents_beside_them() {
    let agent = LOG.replace("\"content\":\"hi\"", "\"content\":\"Find callers of pay\"");
    let other = LOG.replace("\"sessionId\":\"s\"", "\"sessionId\":\"other\"");
    let here = folder(&[
        ("s.jsonl", LOG),
        ("agent-1.jsonl", &agent),
        ("other.jsonl", &other),
    ]);
    let both = ["usage", "s.jsonl", "other.jsonl"];
    let (code, text, _) = told(here.path(), &[&both[..], &["--details"]].concat());
    assert_eq!(code, 0);
    for words in [
        "1 sub-agent, 105 tok",
        "Find callers of pay",
        "total of 3 sessions",
        "300 tokens in, 90% of them cached; 15 out; token counts for 3 of 6 turns",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Without it, a row each: the dearest first, with the sub-agents below.
    let (_, text, _) = told(here.path(), &both);
    let starts: Vec<&str> = text
        .lines()
        .map(|line| line.get(36..).unwrap_or(line))
        .collect();
    assert_eq!(
        starts[..4],
        [
            "session",
            "s.jsonl  hi",
            "  Find callers of pay",
            "other.jsonl  hi"
        ],
        "{text}"
    );
    assert!(text.contains("total of 3 sessions"), "{text}");
    assert!(text.contains("--details"), "{text}");
    let (code, text, _) = told(here.path(), &["usage", "s.jsonl", "--session", "1"]);
    assert_eq!(code, 0);
    assert!(
        text.starts_with("s.jsonl  1  claude-sonnet-4-5\n"),
        "{text}"
    );
    let (code, _, error) = told(here.path(), &["usage", "s.jsonl", "--session", "9"]);
    assert_eq!(code, 2);
    assert!(error.contains("s.jsonl: no session 9"), "{error}");
    // A file that is named itself is counted once.
    let (_, text, _) = told(here.path(), &["usage", "."]);
    assert!(
        text.contains("total of 3 sessions") && text.contains("300 tokens in"),
        "{text}"
    );
    let (_, json, _) = told(here.path(), &["usage", "s.jsonl", "--format", "json"]);
    let sessions = json
        .lines()
        .filter(|line| line.contains("\"type\":\"session\""));
    assert_eq!(sessions.count(), 2, "{json}");
    let (_, text, _) = told(here.path(), &["usage", "other.jsonl"]);
    assert!(!text.contains("total of"), "{text}");
}

#[test]
fn what_was_sent_is_unknown_where_only_the_answer_is_counted() {
    let event = |kind: &str, data: Value| {
        let at = "2026-01-01T00:00:00.000Z";
        json!({"type": kind, "data": data, "id": "e", "timestamp": at, "parentId": null})
            .to_string()
    };
    let log = [
        event(
            "session.start",
            json!({"sessionId": "s", "selectedModel": "gpt-5.1"}),
        ),
        event("user.message", json!({"content": "Count."})),
        event(
            "assistant.message",
            json!({"content": "Two.", "model": "gpt-5.1", "outputTokens": 9}),
        ),
    ];
    let here = folder(&[("events.jsonl", &log.join("\n"))]);
    let (_, text, _) = told(here.path(), &["usage", "events.jsonl"]);
    let sentence = "what was sent is not counted; 9 out; token counts for 1 of 2 turns";
    assert!(text.contains(sentence), "{text}");
    assert!(!text.contains('$') && !text.contains("no price"), "{text}");
    let (_, json, _) = told(here.path(), &["usage", "events.jsonl", "--format", "json"]);
    let session: Value = serde_json::from_str(json.lines().next().unwrap()).unwrap();
    assert_eq!(
        (&session["input_tokens"], &session["output_tokens"]),
        (&Value::Null, &9.into())
    );
    assert_eq!(session["cost_usd"], Value::Null);
    let (_, shown, _) = told(here.path(), &["show", "events.jsonl"]);
    assert!(
        shown.contains("9 out") && !shown.contains(" in ") && !shown.contains("ctx"),
        "{shown}"
    );
}
