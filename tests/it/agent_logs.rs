//! Logs of agents that spell a history in their own way: check finds what is planted in them, and nothing else.

use retake_core::session::Kind;
use retake_live::{ReadOptions, Recording, check_recording, read_path};
use rusqlite::Connection;
use serde_json::json;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

fn rules(recording: &Recording) -> BTreeSet<&'static str> {
    let findings = check_recording(recording, None).unwrap();
    let rules = findings.iter().flatten().map(|finding| finding.rule.id);
    rules.collect()
}

/// A format, a log with a sound pair and planted defects, and the rules that find these.
const LOGS: &[(&str, &str, &[&str])] = &[
    (
        "pi",
        r#"{"type":"session","version":1,"id":"s","timestamp":"2026-01-01T00:00:00.000Z","cwd":"/p"}
{"type":"message","message":{"role":"user","content":"Count the boats."}}
{"type":"message","message":{"role":"assistant","api":"a","provider":"p","model":"m","content":[{"type":"toolCall","id":"c1","name":"ls","arguments":{}},{"type":"toolCall","id":"c2","name":"ls","arguments":"{\"path\": "},{"type":"toolCall","id":"c3","name":"ls","arguments":{}}],"stopReason":"toolUse"}}
{"type":"message","message":{"role":"toolResult","toolCallId":"c1","toolName":"ls","content":[{"type":"text","text":"a"}]}}
{"type":"message","message":{"role":"toolResult","toolCallId":"c2","toolName":"ls","content":[{"type":"text","text":"b"}]}}
{"type":"message","message":{"role":"toolResult","toolCallId":"c9","toolName":"ls","content":[{"type":"text","text":"c"}]}}
{"type":"message","message":{"role":"user","content":"Go on."}}
"#,
        &["malformed-arguments", "orphan-call", "orphan-output"],
    ),
    (
        "atif",
        r#"{"schema_version":"ATIF-v1.7","session_id":"s","agent":{"name":"a","tool_definitions":[{"type":"function","function":{"name":"ls","parameters":{"type":"object","properties":{"path":{"type":"string"}},"required":["path"]}}}]},"steps":[
{"step_id":1,"source":"user","message":"Count."},
{"step_id":2,"source":"agent","message":"","tool_calls":[{"tool_call_id":"c1","function_name":"ls","arguments":{"path":"."}},{"tool_call_id":"c2","function_name":"lss","arguments":{}},{"tool_call_id":"c3","function_name":"ls","arguments":{}}],"observation":{"results":[{"source_call_id":"c1","content":"a"},{"source_call_id":"c3","content":"b"},{"source_call_id":"c9","content":"c"}]}},
{"step_id":3,"source":"user","message":"Go on."}]}"#,
        &[
            "invalid-arguments",
            "orphan-call",
            "orphan-output",
            "unknown-tool",
        ],
    ),
    (
        "gemini-cli",
        r#"{"sessionId":"s","projectHash":"h","startTime":"2026-01-01T00:00:00.000Z","lastUpdated":"2026-01-01T00:00:00.000Z"}
{"id":"m1","timestamp":"2026-01-01T00:00:00.000Z","type":"user","content":"Count."}
{"id":"m2","timestamp":"2026-01-01T00:00:02.000Z","type":"gemini","content":"","model":"gemini-2.5-pro","tokens":{"input":9,"output":1,"cached":0,"thoughts":1,"tool":0,"total":11},"thoughts":[{"subject":"Look","description":"Boats."}],"toolCalls":[{"id":"c1","name":"ls","args":{},"status":"success","result":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a"}}}]},{"id":"c2","name":"ls","args":{},"status":"executing"}]}
{"id":"m3","timestamp":"2026-01-01T00:00:03.000Z","type":"user","content":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a"}}}]}
{"id":"m4","timestamp":"2026-01-01T00:00:04.000Z","type":"user","content":"Go on."}
"#,
        &["duplicate-output", "orphan-call"],
    ),
    (
        "qwen-code",
        r#"{"uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-01-01T00:00:00.000Z","type":"user","cwd":"/p","message":{"role":"user","parts":[{"text":"Count."}]}}
{"uuid":"2","parentUuid":"1","sessionId":"s","timestamp":"2026-01-01T00:00:01.000Z","type":"assistant","model":"qwen3","message":{"role":"model","parts":[{"functionCall":{"id":"c1","name":"ls","args":{}}},{"functionCall":{"id":"c2","name":"ls","args":{}}}]}}
{"uuid":"3","parentUuid":"2","sessionId":"s","timestamp":"2026-01-01T00:00:02.000Z","type":"tool_result","message":{"role":"user","parts":[{"functionResponse":{"id":"c1","name":"ls","response":{"output":"a"}}}]}}
{"uuid":"4","parentUuid":"3","sessionId":"s","timestamp":"2026-01-01T00:00:03.000Z","type":"user","message":{"role":"user","parts":[{"text":"Go on."}]}}
"#,
        &["orphan-call"],
    ),
    (
        "claude-stream",
        r#"{"type":"system","subtype":"init","session_id":"s","tools":["Read","Bash"],"model":"claude-sonnet-4-5","cwd":"/p"}
{"type":"assistant","message":{"id":"m1","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_1","name":"Read","input":{}}],"stop_reason":"tool_use"},"parent_tool_use_id":null,"session_id":"s","uuid":"1"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"2"}
{"type":"assistant","message":{"id":"m2","role":"assistant","model":"claude-sonnet-4-5","content":[{"type":"tool_use","id":"toolu_2","name":"Grab","input":{}}],"stop_reason":"tool_use"},"parent_tool_use_id":null,"session_id":"s","uuid":"3"}
{"type":"user","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"a"}]},"parent_tool_use_id":null,"session_id":"s","uuid":"4"}
{"type":"user","message":{"role":"user","content":"Go on."},"parent_tool_use_id":null,"session_id":"s","uuid":"5"}
{"type":"result","subtype":"success","is_error":false,"num_turns":2,"result":"ok","session_id":"s"}
"#,
        &["orphan-call", "orphan-output", "unknown-tool"],
    ),
    (
        "codex-exec",
        r#"{"type":"thread.started","thread_id":"t"}
{"type":"turn.started"}
{"type":"item.completed","item":{"id":"i1","type":"command_execution","command":"ls","aggregated_output":"a","exit_code":0,"status":"completed"}}
{"type":"item.started","item":{"id":"i2","type":"command_execution","command":"ls","aggregated_output":"","status":"in_progress"}}
{"type":"item.completed","item":{"id":"i3","type":"agent_message","text":"Done."}}
{"type":"turn.completed","usage":{"input_tokens":10,"cached_input_tokens":4,"output_tokens":7}}
"#,
        &["orphan-call"],
    ),
    (
        "opencode",
        r#"{"info":{"id":"ses_1"},"messages":[{"info":{"id":"msg_1","sessionID":"ses_1","role":"user","time":{"created":1760000000000}},"parts":[{"type":"text","text":"Count."}]},
{"info":{"id":"msg_2","sessionID":"ses_1","role":"assistant","modelID":"m","time":{"created":1760000001000}},"parts":[{"type":"tool","callID":"c1","tool":"bash","state":{"status":"completed","input":{},"output":"a"}},{"type":"tool","callID":"c2","tool":"bash","state":{"status":"pending","input":{},"raw":"{\"command\":"}}]},
{"info":{"id":"msg_3","sessionID":"ses_1","role":"user","time":{"created":1760000002000}},"parts":[{"type":"text","text":"Go on."}]}]}"#,
        &["malformed-arguments", "orphan-call"],
    ),
    (
        "copilot-cli",
        r#"{"type":"session.start","data":{"sessionId":"s"},"id":"1","timestamp":"2026-01-01T00:00:00.000Z","parentId":null}
{"type":"user.message","data":{"content":"Count."},"id":"2","timestamp":"2026-01-01T00:00:00.000Z","parentId":"1"}
{"type":"assistant.message","data":{"content":"","toolRequests":[{"toolCallId":"c1","name":"view","arguments":{}},{"toolCallId":"c2","name":"view","arguments":"{\"path\":"}]},"id":"3","timestamp":"2026-01-01T00:00:01.000Z","parentId":"2"}
{"type":"tool.execution_complete","data":{"toolCallId":"c1","success":true,"result":{"content":"a"}},"id":"4","timestamp":"2026-01-01T00:00:02.000Z","parentId":"3"}
{"type":"tool.execution_complete","data":{"toolCallId":"c9","success":true,"result":{"content":"a"}},"id":"5","timestamp":"2026-01-01T00:00:02.000Z","parentId":"4"}
{"type":"user.message","data":{"content":"Go on."},"id":"6","timestamp":"2026-01-01T00:00:03.000Z","parentId":"5"}
"#,
        &["malformed-arguments", "orphan-call", "orphan-output"],
    ),
    (
        "goose",
        r#"{"description":"Boats","working_dir":"/p"}
{"role":"user","created":1760000000,"content":[{"type":"text","text":"Count."}]}
{"role":"assistant","created":1760000001,"content":[{"type":"toolRequest","id":"c1","toolCall":{"status":"success","value":{"name":"shell","arguments":{}}}},{"type":"toolRequest","id":"c2","toolCall":{"status":"success","value":{"name":"shell","arguments":{}}}}]}
{"role":"user","created":1760000002,"content":[{"type":"toolResponse","id":"c1","toolResult":{"status":"success","value":[{"type":"text","text":"a"}]}},{"type":"toolResponse","id":"c9","toolResult":{"status":"success","value":[]}}]}
{"role":"user","created":1760000003,"content":[{"type":"text","text":"Go on."}]}
"#,
        &["orphan-call", "orphan-output"],
    ),
    (
        "openhands",
        r#"[{"kind":"SystemPromptEvent","id":"0","timestamp":"2026-01-01T00:00:00","source":"agent","system_prompt":{"type":"text","text":"Be kind."},"tools":[{"type":"function","function":{"name":"terminal","parameters":{"type":"object"}}}]},
{"kind":"ActionEvent","id":"1","timestamp":"2026-01-01T00:00:01","source":"agent","thought":[],"tool_name":"terminal","tool_call_id":"c1","tool_call":{"arguments":"{}"},"llm_response_id":"r1"},
{"kind":"ObservationEvent","id":"2","timestamp":"2026-01-01T00:00:02","source":"environment","tool_name":"terminal","tool_call_id":"c1","observation":{"content":[{"type":"text","text":"a"}]}},
{"kind":"ActionEvent","id":"3","timestamp":"2026-01-01T00:00:03","source":"agent","thought":[],"tool_name":"terminl","tool_call_id":"c2","tool_call":{"arguments":"{\"a\":"},"llm_response_id":"r2"},
{"kind":"MessageEvent","id":"4","timestamp":"2026-01-01T00:00:04","source":"user","llm_message":{"role":"user","content":[{"type":"text","text":"Go on."}]}}]"#,
        &["malformed-arguments", "orphan-call", "unknown-tool"],
    ),
    (
        "swe-agent",
        r#"{"environment":"main","trajectory":[],"history":[{"role":"user","content":"Count.","agent":"main","message_type":"observation"},
{"role":"assistant","content":"I look.","agent":"main","message_type":"action","tool_calls":[{"id":"c1","type":"function","function":{"name":"open","arguments":"{}"}}]},
{"role":"tool","content":"a","agent":"main","message_type":"observation","tool_call_ids":["c1"]},
{"role":"assistant","content":"I look.","agent":"main","message_type":"action","tool_calls":[{"id":"c2","type":"function","function":{"name":"open","arguments":"{\"a\":"}}]},
{"role":"user","content":"Go on.","agent":"main","message_type":"observation"}]}"#,
        &["malformed-arguments", "orphan-call"],
    ),
    (
        "cline",
        r#"[{"role":"user","content":[{"type":"text","text":"<task>\nCount.\n</task>"},{"type":"text","text":"<environment_details>\n</environment_details>"}]},
{"role":"assistant","content":[{"type":"text","text":"I look."},{"type":"tool_use","id":"toolu_1","name":"read_file","input":{"path":"a"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"a"}]},
{"role":"assistant","content":[{"type":"tool_use","id":"toolu_2","name":"read_file","input":{"path":"b"}}]},
{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_9","content":"b"}]},
{"role":"user","content":[{"type":"text","text":"Go on."}]}]"#,
        &["orphan-call", "orphan-output"],
    ),
    (
        "cline-xml",
        r#"[{"role":"user","content":[{"type":"text","text":"<task>\nCount.\n</task>"},{"type":"text","text":"<environment_details>\n</environment_details>"}],"ts":1760000000000},
{"role":"assistant","content":[{"type":"text","text":"I look.\n\n<read_file>\n<path>a</path>\n</read_file>"}],"ts":1760000001000},
{"role":"user","content":[{"type":"text","text":"[read_file for 'a'] Result:"},{"type":"text","text":"The tool execution failed with the following error:\nno such file"},{"type":"text","text":"<environment_details>\n</environment_details>"}],"ts":1760000002000},
{"role":"assistant","content":[{"type":"text","text":"<list_files>\n<path>.</path>\n</list_files>"}],"ts":1760000003000},
{"role":"user","content":[{"type":"text","text":"[list_files for '.'] Result:\na\nb"}],"ts":1760000004000}]"#,
        &["tool-error"],
    ),
    (
        "mini-swe-agent",
        r#"{"info":{"mini_version":"2.2.8","model_stats":{"api_calls":2},"config":{"model":{"model_name":"gpt-5-mini"}}},"messages":[{"role":"system","content":"Run commands."},{"role":"user","content":"Count."},
{"role":"assistant","content":null,"tool_calls":[{"id":"c1","type":"function","function":{"name":"bash","arguments":"{}"}}]},
{"role":"tool","tool_call_id":"c1","content":"a"},
{"role":"assistant","content":null,"tool_calls":[{"id":"c2","type":"function","function":{"name":"bash","arguments":"{\"command\":"}}]},
{"role":"user","content":"Go on."}],"trajectory_format":"mini-swe-agent-1.1"}"#,
        &["malformed-arguments", "orphan-call"],
    ),
    (
        "bfcl",
        r#"{"id": "multi_turn_base_1", "result": [[[{"pwd": "{}"}, {"cat": "{\"file_name\": \"log.txt\"}"}], [{"cat": "{\"file_name\": \"tide.txt\"}"}], "Two boats."], [[{"cat": "{\"file_name\": "}]], ["Nothing."]], "input_token_count": [[20, 20, 20], [20], [20]], "output_token_count": [[5, 5, 5], [5], [5]], "latency": [[0.5, 0.5, 0.5], [0.5], [0.5]], "inference_log": [[{"role": "state_info", "class_name": "GorillaFileSystem", "content": {"long_context": false, "root": "<Directory: boats, Parent: None, Contents: {'log.txt': <<File: log.txt, Content: two boats>>}>"}}], {"begin_of_turn_query": [{"role": "user", "content": "Show the log."}], "step_0": [{"role": "inference_input", "content": {"message": "[{'role': 'user', 'content': 'Show the log.'}]", "tools": [{"type": "function", "function": {"name": "ls", "description": "List.", "parameters": {"type": "object", "properties": {"a": {"type": "boolean"}}, "required": []}}}, {"type": "function", "function": {"name": "cat", "description": "Show.", "parameters": {"type": "object", "properties": {"file_name": {"type": "string"}}, "required": ["file_name"]}}}]}}, {"role": "assistant", "content": [{"pwd": "{}"}, {"cat": "{\"file_name\": \"log.txt\"}"}]}, {"role": "handler_log", "content": "Successfully decoded model response.", "model_response_decoded": ["pwd()", "cat(file_name='log.txt')"]}, {"role": "tool", "content": "{\"current_working_directory\": \"/boats\"}"}, {"role": "tool", "content": "{\"file_content\": \"two boats\"}"}], "step_1": [{"role": "assistant", "content": [{"cat": "{\"file_name\": \"tide.txt\"}"}]}, {"role": "handler_log", "content": "Successfully decoded model response.", "model_response_decoded": ["cat(file_name='tide.txt')"]}, {"role": "tool", "content": "{\"error\": \"cat: 'tide.txt': No such file or directory\"}"}], "step_2": [{"role": "assistant", "content": "Two boats."}, {"role": "handler_log", "content": "Error decoding the model response. Proceed to next turn.", "error": "'str' object has no attribute 'items'"}]}, {"begin_of_turn_query": [{"role": "user", "content": "Go on."}], "step_0": [{"role": "assistant", "content": [{"cat": "{\"file_name\": "}]}, {"role": "handler_log", "content": "Error decoding the model response. Proceed to next turn.", "error": "Expecting value: line 1 column 15 (char 14)"}]}, {"begin_of_turn_query": [{"role": "user", "content": "And then?"}], "step_0": [{"role": "assistant", "content": "Nothing."}, {"role": "handler_log", "content": "Error decoding the model response. Proceed to next turn.", "error": "'str' object has no attribute 'items'"}]}]}
{"id": "multi_turn_base_2", "result": [["[ls(), cat(file_name='log.txt')]", "Two boats."], ["Nothing is left."]], "input_token_count": [[20, 20], [20]], "output_token_count": [[5, 5], [5]], "latency": [[0.5, 0.5], [0.5]], "inference_log": [{"begin_of_turn_query": [{"role": "system", "content": "Call in Python."}, {"role": "user", "content": "Show the log."}], "step_0": [{"role": "assistant", "content": "[ls(), cat(file_name='log.txt')]"}, {"role": "handler_log", "content": "Successfully decoded model response.", "model_response_decoded": ["ls()", "cat(file_name='log.txt')"]}, {"role": "tool", "content": "{\"current_directory_content\": [\"log.txt\"]}"}, {"role": "tool", "content": "{\"file_content\": \"two boats\"}"}], "step_1": [{"role": "assistant", "content": "Two boats."}, {"role": "handler_log", "content": "Error decoding the model response. Proceed to next turn.", "error": "invalid syntax. Perhaps you forgot a comma? (<unknown>, line 1)"}]}, {"begin_of_turn_query": [{"role": "user", "content": "Go on."}], "step_0": [{"role": "assistant", "content": "Nothing is left."}, {"role": "handler_log", "content": "Error decoding the model response. Proceed to next turn.", "error": "invalid syntax (<unknown>, line 1)"}]}]}
"#,
        &[
            "malformed-arguments",
            "orphan-call",
            "tool-error",
            "unknown-tool",
        ],
    ),
    (
        "fast-agent",
        r#"{"messages":[{"role":"user","content":[{"type":"text","text":"Which ferry leaves next?"}],"is_template":false,"timestamp":"2026-03-02T09:00:00Z"},
{"role":"assistant","content":[{"type":"text","text":"I look it up."}],"tool_calls":{"call_1":{"method":"tools/call","params":{"name":"ferry_times","arguments":{"port":"Cork"}}},"call_2":{"method":"tools/call","params":{"name":"tide_table","arguments":{"port":"Cork"}}}},"channels":{"reasoning":[{"type":"text","text":"Times first."}],"fast-agent-usage":[{"type":"text","text":"{\"turn\": {\"provider\": \"openai\", \"model\": \"gpt-5-mini\", \"input_tokens\": 120, \"output_tokens\": 18, \"cache_usage\": {\"cache_read_tokens\": 64}}}"}]},"stop_reason":"toolUse","is_template":false,"timestamp":"2026-03-02T09:00:00Z"},
{"role":"user","content":[],"tool_results":{"call_1":{"content":[{"type":"text","text":"09:40, pier 2"}],"isError":false,"resultType":"complete"},"call_9":{"content":[{"type":"text","text":"no such port"}],"isError":true,"resultType":"complete"}},"is_template":false,"timestamp":"2026-03-02T09:00:00Z"},
{"role":"user","content":[{"type":"text","text":"Go on."}],"is_template":false,"timestamp":"2026-03-02T09:00:00Z"},
{"role":"assistant","content":[{"type":"text","text":"At 09:40 from pier 2."}],"stop_reason":"endTurn","is_template":false,"timestamp":"2026-03-02T09:00:00Z"}]}"#,
        &["orphan-call", "orphan-output", "tool-error"],
    ),
];

#[test]
fn what_is_planted_in_a_log_is_found_and_nothing_else() {
    let folder = tempfile::tempdir().unwrap();
    for (format, text, expected) in LOGS {
        let path = folder.path().join(format);
        std::fs::write(&path, text).unwrap();
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        assert_eq!(recording.format.id, *format);
        assert_eq!(recording.problems, [], "{format}");
        let found = rules(&recording);
        assert_eq!(found, expected.iter().copied().collect(), "{format}");
    }
}

#[test]
fn a_line_that_is_cut_costs_itself() {
    let folder = tempfile::tempdir().unwrap();
    for (format, text, _) in LOGS {
        if text.starts_with('[') || text.contains("\"steps\"") || text.contains("\"messages\"") {
            continue;
        }
        if text.contains("\"history\"") {
            continue;
        }
        let path = folder.path().join(format);
        std::fs::write(&path, &text[..text.len() - 20]).unwrap();
        let recording = read_path(&path, &ReadOptions::default()).unwrap();
        assert_eq!(recording.problems.len(), 1, "{format}");
        assert!(!recording.sessions[0].items.is_empty(), "{format}");
    }
}

#[test]
fn logs_that_hold_messages_of_a_provider_are_fixed_in_place() {
    let folder = tempfile::tempdir().unwrap();
    let run = |arguments: &[&str]| {
        let mut retake = assert_cmd::Command::new(env!("CARGO_BIN_EXE_retake"));
        let output = retake
            .current_dir(&folder)
            .args(arguments)
            .output()
            .unwrap();
        let words = [output.stdout, output.stderr].concat();
        (output.status.code(), String::from_utf8(words).unwrap())
    };
    for (format, text, rules) in LOGS {
        std::fs::write(folder.path().join("run"), text).unwrap();
        let name = format!("{format}.fixed");
        let (code, words) = run(&["fix", "run", "-o", &name]);
        let written = [
            "qwen-code",
            "claude-stream",
            "swe-agent",
            "cline",
            "mini-swe-agent",
            "pi",
            "gemini-cli",
            "opencode",
            "copilot-cli",
            "goose",
        ];
        if !written.contains(format) {
            assert_eq!(code, Some(2), "{format}: {words}");
            assert!(
                words.contains("retake convert run --to"),
                "{format}: {words}"
            );
            continue;
        }
        let fixed = std::fs::read_to_string(folder.path().join(&name)).unwrap();
        let kept = text.lines().filter(|line| fixed.contains(line));
        assert!(
            kept.count() + rules.len() >= text.lines().count(),
            "{format}: {fixed}"
        );
        let read = read_path(&folder.path().join(&name), &ReadOptions::default()).unwrap();
        assert_eq!(read.format.id, *format);
        let (_, words) = run(&["check", &name]);
        assert!(!words.contains("orphan-call"), "{format}: {words}");
    }
}

/// A database of this schema in write-ahead mode, whose owner goes on writing.
fn database(path: &Path, statements: &str) -> Connection {
    let owner = Connection::open(path).unwrap();
    owner.pragma_update(None, "journal_mode", "WAL").unwrap();
    owner.execute_batch(statements).unwrap();
    // By then its schema is no longer in the log alone.
    let checkpoint = "PRAGMA wal_checkpoint(TRUNCATE)";
    owner.query_row(checkpoint, [], |_| Ok(())).unwrap();
    owner
}

fn check_database(path: &Path, owner: &Connection, format: &str, calls: usize, expected: &[&str]) {
    owner.execute_batch("BEGIN IMMEDIATE").unwrap();
    let recording = read_path(path, &ReadOptions::default()).unwrap();
    assert_eq!(recording.format.id, format);
    assert_eq!(recording.problems, [], "{format}");
    let found = recording.sessions.iter().map(|one| one.count(Kind::Call));
    assert_eq!(found.sum::<usize>(), calls, "{format}");
    let expected: BTreeSet<&str> = expected.iter().copied().collect();
    assert_eq!(rules(&recording), expected, "{format}");
}

#[test]
fn the_databases_of_agents_are_read_while_their_owners_write() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("openclaw.sqlite");
    let owner = database(
        &path,
        "CREATE TABLE transcript_events (session_id TEXT, seq INTEGER, event_json TEXT)",
    );
    for (seq, event) in LOGS[0].1.lines().enumerate() {
        let insert = "INSERT INTO transcript_events VALUES ('s1', ?1, ?2)";
        owner.execute(insert, (seq as i64, event)).unwrap();
    }
    check_database(&path, &owner, "openclaw-sqlite", 3, LOGS[0].2);

    let path = folder.path().join("opencode.db");
    let owner = database(
        &path,
        "CREATE TABLE `session` (`id` text, `parent_id` text, `title` text, `revert` text, `time_created` integer);
         CREATE TABLE `message` (`id` text, `session_id` text, `time_created` integer, `data` text);
         CREATE TABLE `part` (`id` text, `message_id` text, `session_id` text, `data` text);
         INSERT INTO session VALUES ('ses_1', NULL, 'Boats', NULL, 1);",
    );
    let export: serde_json::Value = serde_json::from_str(LOGS[6].1).unwrap();
    for (number, message) in export["messages"].as_array().unwrap().iter().enumerate() {
        let (info, id) = (&message["info"], message["info"]["id"].as_str().unwrap());
        let insert = "INSERT INTO message VALUES (?1, 'ses_1', ?2, ?3)";
        owner
            .execute(insert, (id, number as i64, info.to_string()))
            .unwrap();
        for (place, part) in message["parts"].as_array().unwrap().iter().enumerate() {
            let insert = "INSERT INTO part VALUES (?1, ?2, 'ses_1', ?3)";
            owner
                .execute(insert, (format!("prt_{place}"), id, part.to_string()))
                .unwrap();
        }
    }
    check_database(&path, &owner, "opencode-sqlite", 2, LOGS[6].2);

    let path = folder.path().join("goose.db");
    let owner = database(
        &path,
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, name TEXT, session_type TEXT, created_at TIMESTAMP);
         CREATE TABLE messages (id INTEGER PRIMARY KEY AUTOINCREMENT, session_id TEXT, role TEXT, content_json TEXT,
             created_timestamp INTEGER, timestamp TIMESTAMP DEFAULT CURRENT_TIMESTAMP, metadata_json TEXT);
         INSERT INTO sessions VALUES ('s1', 'Boats', 'user', 1);",
    );
    for line in LOGS[8].1.lines().skip(1) {
        let message: serde_json::Value = serde_json::from_str(line).unwrap();
        let insert = "INSERT INTO messages (session_id, role, content_json, created_timestamp) VALUES ('s1', ?1, ?2, ?3)";
        let (role, content) = (message["role"].as_str(), message["content"].to_string());
        owner
            .execute(insert, (role, content, message["created"].as_i64()))
            .unwrap();
    }
    check_database(&path, &owner, "goose-sqlite", 2, LOGS[8].2);

    let path = folder.path().join("state.db");
    let owner = database(
        &path,
        "CREATE TABLE sessions (id TEXT PRIMARY KEY, model TEXT, started_at REAL, title TEXT);
         CREATE TABLE messages (id INTEGER PRIMARY KEY, session_id TEXT, role TEXT, content TEXT, tool_call_id TEXT,
             tool_calls TEXT, timestamp REAL, finish_reason TEXT);
         INSERT INTO sessions VALUES ('s1', 'm', 1.0, NULL);",
    );
    let calls = json!([
        {"id": "c1", "type": "function", "function": {"name": "terminal", "arguments": "{}"}},
        {"id": "c2", "type": "function", "function": {"name": "terminal", "arguments": "{\"a\":"}},
    ]);
    let rows = [
        ("user", Some("Count."), None, None),
        ("assistant", None, None, Some(calls.to_string())),
        ("tool", Some("a"), Some("c1"), None),
        ("tool", Some("a"), Some("c9"), None),
        ("user", Some("Go on."), None, None),
    ];
    for (number, (role, content, id, calls)) in rows.into_iter().enumerate() {
        let insert = "INSERT INTO messages (session_id, role, content, tool_call_id, tool_calls, timestamp) VALUES ('s1', ?1, ?2, ?3, ?4, ?5)";
        owner
            .execute(insert, (role, content, id, calls, number as f64))
            .unwrap();
    }
    let expected = ["malformed-arguments", "orphan-call", "orphan-output"];
    check_database(&path, &owner, "hermes-sqlite", 2, &expected);
}

/// A session of opencode in the tree of files of older versions; gives the file of the session.
fn write_tree(root: &Path) -> PathBuf {
    let write = |path: &str, value: serde_json::Value| {
        let path = root.join(path);
        std::fs::create_dir_all(path.parent().unwrap()).unwrap();
        std::fs::write(path, value.to_string()).unwrap();
    };
    let (user, reply, last) = ("msg_1", "msg_2", "msg_3");
    write(
        "session/p/ses_1.json",
        json!({"id": "ses_1", "title": "Boats", "projectID": "p"}),
    );
    for (id, role, created) in [
        (user, "user", 1),
        (reply, "assistant", 2),
        (last, "user", 3),
    ] {
        let info =
            json!({"id": id, "sessionID": "ses_1", "role": role, "time": {"created": created}});
        write(&format!("message/ses_1/{id}.json"), info);
    }
    let part = |message: &str, number: u8, part: serde_json::Value| {
        write(&format!("part/{message}/prt_{number}.json"), part);
    };
    part(user, 1, json!({"type": "text", "text": "Count."}));
    let state = json!({"status": "completed", "input": {}, "output": "a"});
    part(
        reply,
        2,
        json!({"type": "tool", "callID": "c1", "tool": "bash", "state": state}),
    );
    let state = json!({"status": "running", "input": {}});
    part(
        reply,
        3,
        json!({"type": "tool", "callID": "c2", "tool": "bash", "state": state}),
    );
    part(last, 4, json!({"type": "text", "text": "Go on."}));
    root.join("session/p/ses_1.json")
}

#[test]
fn a_session_in_a_tree_of_files_is_read_as_one() {
    let folder = tempfile::tempdir().unwrap();
    let session = write_tree(&folder.path().join("storage"));
    let recording = read_path(&session, &ReadOptions::default()).unwrap();
    assert_eq!(
        (recording.format.id, &recording.problems[..]),
        ("opencode", &[][..])
    );
    let found = &recording.sessions[0];
    assert_eq!((found.count(Kind::User), found.count(Kind::Call)), (2, 2));
    assert_eq!(rules(&recording), BTreeSet::from(["orphan-call"]));
    // A file that is broken costs itself, and is named.
    let part = folder.path().join("storage/part/msg_1/prt_1.json");
    std::fs::write(part, "{").unwrap();
    let recording = read_path(&session, &ReadOptions::default()).unwrap();
    let problem = recording.problems[0].kind.to_string();
    assert!(problem.contains("prt_1.json"), "{problem}");
    assert_eq!(recording.sessions[0].count(Kind::Call), 2);
}

/// The formats that `tests/readers/count.py` reads, beside the tree.
const COUNTED: [&str; 5] = ["bfcl", "cline", "cline-xml", "fast-agent", "mini-swe-agent"];

#[test]
fn an_independent_reader_of_tasks_and_trees_counts_the_same() {
    let folder = tempfile::tempdir().unwrap();
    let mut files = vec![write_tree(&folder.path().join("storage"))];
    for (format, text, _) in LOGS {
        if COUNTED.contains(format) {
            let path = folder.path().join(format).join("run.json");
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            files.push(path);
        }
    }
    let mut reader = std::process::Command::new("python3");
    let Ok(output) = reader.arg("tests/readers/count.py").args(&files).output() else {
        return eprintln!("skipped: python3 is absent");
    };
    let counted: serde_json::Value = serde_json::from_slice(&output.stdout).unwrap();
    for file in &files {
        let recording = read_path(file, &ReadOptions::default()).unwrap();
        let count = |kind| {
            let counts = recording.sessions.iter().map(|session| session.count(kind));
            counts.sum::<usize>()
        };
        let found = [Kind::User, Kind::Call, Kind::Output].map(count);
        let name = file.to_str().unwrap();
        assert_eq!(json!(found), counted[name], "{name}");
    }
}
