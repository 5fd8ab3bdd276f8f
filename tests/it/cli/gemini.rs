//! Gemini from outside: what `check` says of its requests, what `fix` changes, what captured streams hold, what
//! goes over into the other dialects and back.

use super::{folder, rules, told};
use serde_json::Value;

const TOOLS: &str = r#""tools": [{"functionDeclarations": [{"name": "ls", "parameters": {"type": "OBJECT", "properties": {"path": {"type": "STRING"}}}}]}]"#;

/// A request with a turn of the model, and what the content of the user behind it holds.
fn request(model: &str, user: &str) -> String {
    format!(
        r#"{{ "contents": [
  {{"role": "user", "parts": [{{"text": "hi"}}]}},
  {{"role": "model", "parts": [{model}]}},
  {{"role": "user", "parts": [{user}]}},
  {{"role": "model", "parts": [{{"text": "so"}}]}},
  {{"role": "user", "parts": [{{"text": "go on"}}]}}
 ],
 {TOOLS} }}"#
    )
}

const CALL: &str =
    r#"{"functionCall": {"name": "ls", "args": {"path": "a"}}, "thoughtSignature": "c2ln"}"#;
const SNAKE: &str = r#"{"function_call": {"id": "2", "name": "ls", "args": {"path": "b"}}}"#;
const ANSWER: &str = r#"{"functionResponse": {"name": "ls", "response": {"output": "x"}}}"#;

#[test]
fn a_request_is_recognised_and_judged_by_its_pairs_names_and_places() {
    let two = format!("{CALL}, {SNAKE}");
    let both = format!(
        r#"{ANSWER}, {{"function_response": {{"id": "2", "name": "ls", "response": {{"error": "no"}}}}}}"#
    );
    let twice = format!("{ANSWER}, {ANSWER}");
    for (model, user, wanted) in [
        (CALL, ANSWER, vec![]),
        (&two, &both, vec![]),
        // One of the two has an id, the other none.
        (&two, &twice, vec![]),
        // As many outputs as calls.
        (&two, ANSWER, vec!["orphan-call"]),
        (CALL, &twice, vec!["orphan-output"]),
        (
            &CALL.replace("\"ls\"", "\"lss\""),
            &ANSWER.replace("\"ls\"", "\"lss\""),
            vec!["unknown-tool"],
        ),
        (
            &CALL.replace(r#""a"}"#, "7}"),
            ANSWER,
            vec!["invalid-arguments"],
        ),
        (
            CALL,
            &ANSWER.replace(r#"{"output": "x"}"#, r#""x""#),
            vec!["malformed-message"],
        ),
    ] {
        assert_eq!(rules(&request(model, user)), wanted, "{model} {user}");
    }
    let opens = format!(
        r#"{{"contents": [{{"role": "model", "parts": [{CALL}]}}, {{"parts": [{ANSWER}]}}], {TOOLS}}}"#
    );
    assert_eq!(rules(&opens), ["misplaced-output"]);
}

#[test]
fn a_fix_changes_what_it_is_about_and_no_other_byte() {
    let two = format!("{CALL}, {SNAKE}");
    let text = request(&two, ANSWER);
    let here = folder(&[("request.json", &text)]);
    let (_, _, err) = told(here.path(), &["fix", "request.json", "--in-place"]);
    let fixed = std::fs::read_to_string(here.path().join("request.json")).unwrap();
    let answer = fixed.strip_prefix(&text[..text.find(ANSWER).unwrap() + ANSWER.len()]);
    let answer = answer.unwrap_or_else(|| panic!("{fixed}{err}"));
    assert!(
        answer
            .trim_start_matches([',', ' ', '\n'])
            .starts_with(r#"{"functionResponse":{"id":"2","name":"ls","response":{"error":"#),
        "{answer}"
    );
    let rest = &text[text.find(ANSWER).unwrap() + ANSWER.len()..];
    assert!(fixed.ends_with(rest), "{fixed}");
    assert_eq!(rules(&fixed), Vec::<String>::new());
}

#[test]
fn a_whole_reply_and_a_stream_say_the_same() {
    let chunk = |parts: &str, end: &str| {
        format!(
            "data: {{\"candidates\":[{{\"content\":{{\"parts\":[{parts}],\"role\":\"model\"}}{end}}}],\"responseId\":\"r\",\"modelVersion\":\"gemini-3\"}}\r\n\r\n"
        )
    };
    let stream = [
        chunk(r#"{"text":"hm","thought":true}"#, ""),
        chunk(r#"{"text":"Let me "}"#, ""),
        chunk(r#"{"text":"look."}"#, ""),
        chunk(CALL, r#","finishReason":"STOP""#),
    ]
    .concat();
    let whole = format!(
        r#"{{"candidates":[{{"content":{{"parts":[{{"text":"hm","thought":true}},{{"text":"Let me look."}},{CALL}],"role":"model"}},"finishReason":"STOP"}}],"usageMetadata":{{"promptTokenCount":3}},"modelVersion":"gemini-3"}}"#
    );
    let list = stream.replace("data: ", "").replace("\r\n\r\n", ",\n");
    let list = format!("[{}]", list.trim_end_matches(",\n"));
    let here = folder(&[("s.sse", &stream), ("w.json", &whole), ("l.json", &list)]);
    let shown = ["s.sse", "w.json", "l.json"].map(|name| {
        let (code, out, err) = told(here.path(), &["show", name]);
        assert_eq!(code, 0, "{name}: {err}");
        // The first line names the file and its format.
        out.lines().skip(1).collect::<Vec<_>>().join("\n")
    });
    assert!(
        shown[0].contains("Let me look.") && shown[0].contains(" ls("),
        "{}",
        shown[0]
    );
    assert_eq!(shown[0], shown[2]);
    for line in ["hm", "Let me look.", " ls("] {
        assert!(shown[1].contains(line), "{}", shown[1]);
    }
}

#[test]
fn ids_come_and_go_with_a_conversion_and_signatures_stay_at_home() {
    let text = request(CALL, ANSWER);
    let here = folder(&[("request.json", &text)]);
    let convert = |name: &str, to: &str| {
        let (code, out, err) = told(here.path(), &["convert", name, "--to", to, "--request"]);
        assert_eq!(code, 0, "{out}{err}");
        (out, err)
    };
    for to in ["responses", "chat", "anthropic"] {
        let (there, losses) = convert("request.json", to);
        assert!(there.matches("call_2").count() == 2, "{there}");
        assert!(
            !there.contains("c2ln") && losses.contains("signature"),
            "{there}{losses}"
        );
        assert!(!there.contains("OBJECT"), "{there}");
        std::fs::write(here.path().join("there.json"), &there).unwrap();
        let (back, losses) = convert("there.json", "gemini");
        assert!(losses.contains("call id left out"), "{losses}");
        let back: Value = serde_json::from_str(&back).unwrap();
        let call = &back["contents"][1]["parts"][0]["functionCall"];
        assert_eq!(
            *call,
            serde_json::json!({"name": "ls", "args": {"path": "a"}})
        );
        let answer = &back["contents"][2]["parts"][0]["functionResponse"];
        assert_eq!(answer["response"]["output"], "x");
    }
    let (same, _) = convert("request.json", "gemini");
    assert!(same.contains(CALL) && same.contains(ANSWER), "{same}");
}

#[test]
fn an_agent_is_run_natively_whole_and_streamed_and_a_policy_answers_for_its_bad_call() {
    let agent = include_str!("../../../sessions/agents/flights.toml");
    let agent = agent.replace("\"responses\"", "\"gemini\"");
    let whole = agent.replace("[model]", "[model]\nstream = false");
    let here = folder(&[
        ("streamed.toml", &agent),
        ("whole.toml", &whole),
        (
            "flights.script.toml",
            include_str!("../../../sessions/agents/flights.script.toml"),
        ),
        ("policy.toml", "[on.unknown-tool]\ndo = \"inject\"\n"),
    ]);
    for name in ["streamed", "whole"] {
        let (file, journal) = (format!("{name}.toml"), format!("{name}.jsonl"));
        let arguments = [
            "run",
            &file,
            "--headless",
            "--trust",
            "--policy",
            "policy.toml",
            "--journal",
            &journal,
        ];
        let (code, out, err) = told(here.path(), &arguments);
        assert_eq!(code, 0, "{out}{err}");
        let end: Value = serde_json::from_str(out.lines().last().unwrap()).unwrap();
        assert_eq!(
            (&end["how"], &end["turns"]),
            (&"final".into(), &3.into()),
            "{end}"
        );
        assert!(end["output_tokens"].as_u64() > Some(0), "{end}");
        let (_, shown, _) = told(here.path(), &["show", &journal]);
        assert!(shown.contains("gemini-contents"), "{shown}");
    }
}
