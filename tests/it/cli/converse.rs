//! Bedrock Converse from outside: what `check` says of its requests, what `fix` changes, what captured streams hold,
//! what goes over into the other dialects and back.

use super::{folder, rules, told};
use retake_core::wire::stream::FrameWriter;
use serde_json::Value;

const TOOLS: &str = r#""toolConfig": {"tools": [{"toolSpec": {"name": "ls", "inputSchema": {"json": {"type": "object", "properties": {"path": {"type": "string"}}}}}}, {"cachePoint": {"type": "default"}}]}"#;
const CALL: &str = r#"{"toolUse": {"toolUseId": "t1", "name": "ls", "input": {"path": "a"}}}"#;
const OTHER: &str = r#"{"toolUse": {"toolUseId": "t2", "name": "ls", "input": {"path": "b"}}}"#;
const ANSWER: &str =
    r#"{"toolResult": {"toolUseId": "t1", "content": [{"text": "x"}], "status": "success"}}"#;

/// A request with a turn of the model, and what the message of the user behind it holds.
fn request(model: &str, user: &str) -> String {
    format!(
        r#"{{ "modelId": "m", "system": [{{"text": "Be brief."}}], "messages": [
  {{"role": "user", "content": [{{"text": "hi"}}]}},
  {{"role": "assistant", "content": [{model}]}},
  {{"role": "user", "content": [{user}]}},
  {{"role": "assistant", "content": [{{"text": "so"}}]}},
  {{"role": "user", "content": [{{"text": "go on"}}]}}
 ],
 {TOOLS} }}"#
    )
}

#[test]
fn a_request_is_recognised_and_judged_by_its_pairs_names_and_places() {
    let two = format!("{CALL}, {OTHER}");
    let twice = format!("{ANSWER}, {ANSWER}");
    let text = r#"{"text": "wait"}"#;
    for (model, user, wanted) in [
        (CALL, ANSWER, vec![]),
        (&two, ANSWER, vec!["orphan-call"]),
        (CALL, &twice, vec!["duplicate-output"]),
        (CALL, text, vec!["orphan-call"]),
        (
            &CALL.replace("\"ls\"", "\"lss\""),
            ANSWER,
            vec!["unknown-tool"],
        ),
        (
            &CALL.replace(r#""a"}"#, "7}"),
            ANSWER,
            vec!["invalid-arguments"],
        ),
        (
            &CALL.replace("t1", "t 1"),
            &ANSWER.replace("t1", "t 1"),
            vec!["malformed-message", "malformed-message"],
        ),
        (r#"{"text": " "}"#, text, vec!["malformed-message"]),
    ] {
        assert_eq!(rules(&request(model, user)), wanted, "{model} {user}");
    }
}

#[test]
fn a_fix_changes_what_it_is_about_and_no_other_byte() {
    let two = format!("{CALL}, {OTHER}");
    let text = request(&two, ANSWER);
    let here = folder(&[("request.json", &text)]);
    let (code, out, err) = told(here.path(), &["fix", "request.json"]);
    assert_eq!(code, 0, "{err}");
    let at = text.find(ANSWER).unwrap();
    let behind = &text[at + ANSWER.len()..];
    let made = &out[..out.len() - behind.len()];
    assert!(out.ends_with(behind), "{out}");
    assert!(made.starts_with(&text[..at + ANSWER.len()]), "{out}");
    assert!(made.contains(r#""toolUseId":"t2""#) && made.contains(r#""status":"error""#));
    assert_eq!(rules(&out), Vec::<String>::new());
}

#[test]
fn a_history_goes_over_into_every_dialect_and_back() {
    let text = request(CALL, ANSWER);
    for to in ["responses", "chat", "anthropic", "gemini", "converse"] {
        let here = folder(&[("request.json", &text)]);
        for (from, to, output) in [
            ("request.json", to, "there.json"),
            ("there.json", "converse", "back.json"),
        ] {
            let arguments = ["convert", from, "--to", to, "--request", "-o", output];
            let (code, _, err) = told(here.path(), &arguments);
            assert_eq!(code, 0, "{to}: {err}");
        }
        let back = std::fs::read_to_string(here.path().join("back.json")).unwrap();
        let (wanted, found): (Value, Value) = (
            serde_json::from_str(&text).unwrap(),
            serde_json::from_str(&back).unwrap(),
        );
        assert_eq!(found["system"], wanted["system"], "{to}: {back}");
        assert_eq!(
            found["messages"].as_array().unwrap().len(),
            5,
            "{to}: {back}"
        );
        let call = &found["messages"][1]["content"][0]["toolUse"];
        assert_eq!(
            (&call["name"], &call["input"]["path"]),
            (&"ls".into(), &"a".into())
        );
        let result = &found["messages"][2]["content"][0]["toolResult"];
        assert_eq!(result["toolUseId"], call["toolUseId"]);
        assert_eq!(result["content"][0]["text"], "x", "{to}: {back}");
        let tool = &found["toolConfig"]["tools"][0]["toolSpec"];
        assert_eq!(tool["name"], "ls", "{to}: {back}");
        assert_eq!(tool["inputSchema"]["json"]["type"], "object");
    }
}

/// Events of a stream, as SDKs give them.
const EVENTS: &[&str] = &[
    r#"{"messageStart":{"role":"assistant"}}"#,
    r#"{"contentBlockDelta":{"delta":{"text":"I "},"contentBlockIndex":0}}"#,
    r#"{"contentBlockDelta":{"delta":{"text":"look."},"contentBlockIndex":0}}"#,
    r#"{"contentBlockStop":{"contentBlockIndex":0}}"#,
    r#"{"contentBlockStart":{"start":{"toolUse":{"toolUseId":"t1","name":"ls"}},"contentBlockIndex":1}}"#,
    r#"{"contentBlockDelta":{"delta":{"toolUse":{"input":"{\"path\":"}},"contentBlockIndex":1}}"#,
    r#"{"contentBlockDelta":{"delta":{"toolUse":{"input":"\"a\"}"}},"contentBlockIndex":1}}"#,
    r#"{"contentBlockStop":{"contentBlockIndex":1}}"#,
    r#"{"messageStop":{"stopReason":"tool_use"}}"#,
    r#"{"metadata":{"usage":{"inputTokens":3,"outputTokens":4,"totalTokens":7},"metrics":{"latencyMs":1}}}"#,
];

#[test]
fn a_captured_stream_is_read_from_lines_from_events_and_from_frames() {
    let lines = EVENTS.join("\n");
    let events = EVENTS.iter().map(|event| format!("data: {event}\n\n"));
    let events = events.collect::<String>();
    let frames = FrameWriter::default().push(events.as_bytes());
    let here = folder(&[("lines.jsonl", &lines), ("events.sse", &events)]);
    std::fs::write(here.path().join("frames.bin"), frames).unwrap();
    for file in ["lines.jsonl", "events.sse", "frames.bin"] {
        let (code, out, err) = told(here.path(), &["show", file]);
        assert_eq!(code, 0, "{file}: {out}{err}");
        assert!(
            out.contains("I look.") && out.contains("ls(a)"),
            "{file}: {out}"
        );
    }
}
