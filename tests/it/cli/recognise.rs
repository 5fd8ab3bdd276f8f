//! What a file is taken for: never for a format of which nothing in it can be read.

use super::{CLEAN, folder, told};
use std::time::Duration;

/// Message lists and bodies that look like those of a provider but are not, with a word of what they are.
const OTHERS: &[(&str, &str)] = &[
    (
        r#"[{"role":"user","content":[{"holo":"hi"}]},{"role":"assistant","content":[{"holo":"hello"}]}]"#,
        "looks like openai-chat, but 2 of its 2 parts",
    ),
    (
        r#"[{"role":"user","content":"hi"},{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"bash","arguments":{"cmd":"ls"}}]}]"#,
        "looks like openai-chat, but 1 of its 2 parts are of types that it does not have (a call without \"function\")",
    ),
    (
        r#"[{"type":"message","role":"user","content":"hi"},{"type":"holo","id":"1"},{"type":"holo","id":"2"}]"#,
        "looks like openai-responses",
    ),
    (
        r#"{"object":"response","status":"completed","output":[]}"#,
        "no message, call or output of it could be read",
    ),
    (
        r#"{"answer_generation":{"valid_data":true,"function":[],"train_messages":[[{"role":"user","content":"hi"}]]}}"#,
        "looks like toolbench, but no message",
    ),
    (
        r#"{"win":false,"tree":{"size":6}}"#,
        "looks like toolbench, but no message",
    ),
];

/// Lists and bodies that look like those of a provider, with the format that they are.
const ALIKE: &[(&str, &str)] = &[
    (
        r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"tool-call","toolCallId":"c1","toolName":"ls","input":{}}]},{"role":"tool","content":[{"type":"tool-result","toolCallId":"c1","toolName":"ls","output":{"type":"text","value":"x"}}]}]"#,
        "ai-sdk",
    ),
    (
        r#"{"messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"","toolInvocations":[{"state":"result","toolCallId":"c1","toolName":"ls","args":{},"result":"x"}]}]}"#,
        "ai-sdk",
    ),
    (
        r#"[{"type":"human","content":"hi"},{"type":"ai","content":"","tool_calls":[{"name":"ls","args":{},"id":"c1","type":"tool_call"}]},{"type":"tool","content":"x","tool_call_id":"c1"}]"#,
        "langchain",
    ),
    (
        r#"{"messages":[{"lc":1,"type":"constructor","id":["langchain","schema","messages","HumanMessage"],"kwargs":{"content":"hi"}}]}"#,
        "langchain",
    ),
    (
        r#"{"id":"1","task_id":"4","messages":[{"role":"assistant","content":"Hi!","tool_calls":null},{"role":"assistant","content":null,"tool_calls":[{"id":"a","name":"find","arguments":{"id":"4"},"requestor":"assistant"}]},{"role":"tool","id":"a","content":"x","requestor":"assistant"}]}"#,
        "tau-bench",
    ),
    (
        r#"[{"role":"user","content":"hi"},{"role":"assistant","content":"","tool_calls":[{"id":"a","function":"bash","arguments":{"cmd":"ls"},"type":"function"}]},{"role":"tool","content":"x","tool_call_id":"a","function":"bash"}]"#,
        "inspect",
    ),
    (
        r#"[{"id":"m1","message_type":"user_message","content":"hi"},{"id":"m2","message_type":"tool_call_message","tool_call":{"name":"f","arguments":"{}","tool_call_id":"c"}},{"id":"m3","message_type":"tool_return_message","tool_call_id":"c","tool_return":"x"}]"#,
        "letta",
    ),
    (
        r#"{"id":1,"epoch":1,"input":"hi","target":"x","messages":[{"role":"user","content":"hi"}]}"#,
        "inspect",
    ),
    (
        r#"[{"id":"m1","role":"user","parts":[{"type":"text","text":"hi"}]}]"#,
        "ai-sdk",
    ),
];

#[test]
fn a_file_of_which_nothing_is_read_is_of_no_known_format() {
    for (text, what) in OTHERS {
        let here = folder(&[("run.json", text)]);
        for command in ["check", "show", "fix"] {
            let (code, out, err) = told(here.path(), &[command, "run.json"]);
            assert_eq!((code, out.as_str()), (2, ""), "{command} {text}: {err}");
            assert!(err.contains(what), "{text}: {err}");
            assert!(err.contains("format not known"), "{text}: {err}");
        }
    }
}

#[test]
fn messages_that_look_like_those_of_a_provider_are_read_in_their_own_format() {
    for (text, format) in ALIKE {
        let here = folder(&[("run.json", text)]);
        let (code, out, err) = told(here.path(), &["show", "run.json"]);
        assert_eq!(code, 0, "{text}: {err}");
        let head = format!("run.json  {format}, ");
        assert!(out.starts_with(&head), "{text}: {out}");
    }
}

#[test]
fn among_recordings_it_is_not_passed_over_in_silence() {
    let (alike, _) = OTHERS[0];
    let here = folder(&[("alike.json", alike), ("clean.json", CLEAN)]);
    let (code, _, err) = told(here.path(), &["check", "."]);
    assert_eq!(code, 3, "{err}");
    assert!(err.contains("looks like openai-chat"), "{err}");
}

#[test]
fn whoever_names_the_format_reads_it_and_is_told_what_is_unknown() {
    let (alike, _) = OTHERS[0];
    let here = folder(&[("run.json", alike)]);
    let (code, out, _) = told(here.path(), &["check", "--as", "openai-chat", "run.json"]);
    assert_eq!(code, 3, "{out}");
    assert!(
        out.contains("a part without type, 2 times: not known"),
        "{out}"
    );
}

#[test]
fn what_a_known_format_could_not_read_is_counted_and_told() {
    let parts = r#"[{"role":"user","content":[{"type":"text","text":"hi"},{"type":"hologram","data":"x"},{"type":"hologram","data":"y"}]},
        {"role":"assistant","content":"hello"}]"#;
    let item = r#"[{"role":"user","content":"hi"},{"type":"reasoning","summary":[]},{"type":"holo","id":"h_1"},{"type":"item_reference","id":"msg_1"}]"#;
    let block = r#"[{"role":"user","content":"hi"},{"role":"assistant","content":[{"type":"thinking","thinking":"hm","signature":"abc"},{"type":"holo"}]}]"#;
    let line = "{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":}\n";
    let cases = [
        (parts, r#"type \"hologram\", 2 times"#),
        (item, r#"type \"holo\": not known"#),
        (block, r#"type \"holo\": not known"#),
        (line, "not JSON"),
    ];
    for (text, what) in cases {
        let here = folder(&[("run.jsonl", text)]);
        let (code, out, err) = told(here.path(), &["check", "--format", "json", "run.jsonl"]);
        assert_eq!(code, 3, "{text}: {out}{err}");
        let problems = out
            .lines()
            .filter(|line| line.contains(r#""type":"problem""#));
        let problems = problems.collect::<Vec<_>>();
        assert!(
            problems.len() == 1 && problems[0].contains(what),
            "{text}: {problems:?}"
        );
    }
}

#[test]
fn a_claude_code_log_is_known_however_many_lines_stand_before_its_first_entry() {
    let summary = r#"{"type":"summary","summary":"Booked a table","leafUuid":"00000000-0000-4000-8000-000000000001"}"#;
    let snapshot = r#"{"type":"file-history-snapshot","messageId":"m","snapshot":{"trackedFileBackups":{}},"isSnapshotUpdate":false}"#;
    let entry = r#"{"type":"user","uuid":"a1","parentUuid":null,"sessionId":"s1","isSidechain":false,"message":{"role":"user","content":"do it"}}"#;
    for before in [summary, snapshot] {
        let text = format!("{}{entry}\n", format!("{before}\n").repeat(300));
        let here = folder(&[("run.jsonl", &text)]);
        let (code, out, err) = told(here.path(), &["check", "--format", "json", "run.jsonl"]);
        assert_eq!(code, 0, "{err}");
        assert!(
            out.contains(r#""format":"claude-code""#) && out.contains(r#""items":1"#),
            "{out}"
        );
    }
}

/// Definitions beside a recording, and those that are named, are read as every file is: no device, no pipe, no end without a limit.
#[test]
fn definitions_that_are_no_files_are_left_alone() {
    let here = folder(&[("run.json", CLEAN)]);
    let path = here.path();
    let limited = |arguments: &[&str]| {
        // A reader that takes all it gets would end on the limit; one that waits for a writer, on the clock.
        let script = format!(
            "ulimit -v 4000000; exec {} {}",
            env!("CARGO_BIN_EXE_retake"),
            arguments.join(" ")
        );
        let output = assert_cmd::Command::new("sh")
            .args(["-c", &script])
            .current_dir(path)
            .timeout(Duration::from_secs(120))
            .output()
            .unwrap();
        (
            output.status.code(),
            String::from_utf8_lossy(&output.stderr).into_owned(),
        )
    };
    let beside = path.join("run.tools.json");
    std::os::unix::fs::symlink("/dev/zero", &beside).unwrap();
    assert_eq!(limited(&["check", "run.json"]).0, Some(3));
    assert_eq!(limited(&["show", "run.json"]).0, Some(0));
    std::fs::remove_file(&beside).unwrap();
    assert!(
        std::process::Command::new("mkfifo")
            .arg(&beside)
            .status()
            .unwrap()
            .success()
    );
    assert_eq!(limited(&["check", "run.json"]).0, Some(3));
    assert_eq!(limited(&["show", "run.json"]).0, Some(0));
    for option in ["--tools", "--output-schema"] {
        for (file, what) in [
            ("/dev/zero", "a device"),
            ("run.tools.json", "a named pipe"),
        ] {
            let (code, err) = limited(&["check", "run.json", option, file]);
            assert!(
                code == Some(2) && err.contains(what),
                "{option} {file}: {err}"
            );
        }
    }
}

#[test]
fn a_file_of_tools_beside_a_recording_that_cannot_be_used_is_a_problem_in_every_format() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path();
    let body = r#"{"model":"m","messages":[{"role":"user","content":"hi"},{"role":"assistant","content":"yes"}]}"#;
    std::fs::write(path.join("run.json"), body).unwrap();
    let beside = path.join("run.tools.json");
    let spoil: [(&str, &dyn Fn()); 4] = [
        ("a named pipe", &|| {
            let made = std::process::Command::new("mkfifo").arg(&beside).status();
            assert!(made.unwrap().success());
        }),
        ("a device", &|| {
            std::os::unix::fs::symlink("/dev/zero", &beside).unwrap();
        }),
        ("not JSON", &|| {
            std::fs::write(&beside, "[{").unwrap();
        }),
        ("16384 KB", &|| {
            let file = std::fs::File::create(&beside).unwrap();
            file.set_len(17 << 20).unwrap();
        }),
    ];
    let check = |format: &str| {
        let output = assert_cmd::Command::cargo_bin("retake")
            .unwrap()
            .args(["check", "run.json", "--format", format])
            .current_dir(path)
            .timeout(Duration::from_secs(120))
            .output()
            .unwrap();
        let told = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
        (
            output.status.code(),
            told(output.stdout),
            told(output.stderr),
        )
    };
    for (why, spoil) in spoil {
        spoil();
        for format in ["text", "json", "github", "junit", "sarif"] {
            let (code, out, err) = check(format);
            let what = format!("{why} {format}: {out}{err}");
            assert_eq!(code, Some(3), "{what}");
            assert!(
                out.contains("run.tools.json is not used") && out.contains(why),
                "{what}"
            );
            assert!(!err.contains("run.tools.json"), "told once: {what}");
        }
        std::fs::remove_file(&beside).unwrap();
    }
    assert_eq!(check("text").0, Some(0));
}

/// A rollout that was forked begins with a copy of its parent's lines, the parent's own first line among them.
const FORKED: &[&str] = &[
    r#"{"timestamp":"2026-01-02T00:00:00Z","type":"session_meta","payload":{"id":"child","forked_from_id":"parent","cwd":"/x","cli_version":"1"}}"#,
    r#"{"timestamp":"2026-01-02T00:00:00Z","type":"session_meta","payload":{"id":"parent","cwd":"/x","cli_version":"1"}}"#,
    r#"{"timestamp":"2026-01-02T00:00:00Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"hi"}]}}"#,
    r#"{"timestamp":"2026-01-02T00:00:00Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{}","call_id":"c1"}}"#,
    r#"{"timestamp":"2026-01-02T00:00:00Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c1","output":"ok"}}"#,
    r#"{"timestamp":"2026-01-02T00:00:01Z","type":"response_item","payload":{"type":"message","role":"user","content":[{"type":"input_text","text":"and?"}]}}"#,
    r#"{"timestamp":"2026-01-02T00:00:01Z","type":"response_item","payload":{"type":"function_call","name":"exec_command","arguments":"{\"a\":1}","call_id":"c2"}}"#,
    r#"{"timestamp":"2026-01-02T00:00:01Z","type":"response_item","payload":{"type":"function_call_output","call_id":"c2","output":"ok"}}"#,
];

/// One message in two lines, with the tokens that were spent by then.
const GROWING: &[&str] = &[
    r#"{"type":"user","uuid":"u1","parentUuid":null,"sessionId":"s","message":{"role":"user","content":"hi"}}"#,
    r#"{"type":"assistant","uuid":"a1","parentUuid":"u1","sessionId":"s","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"let me"}],"usage":{"input_tokens":10,"output_tokens":1}}}"#,
    r#"{"type":"assistant","uuid":"a2","parentUuid":"a1","sessionId":"s","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[{"type":"tool_use","id":"t1","name":"Bash","input":{"command":"ls"}}],"usage":{"input_tokens":10,"output_tokens":25}}}"#,
    r#"{"type":"user","uuid":"u2","parentUuid":"a2","sessionId":"s","message":{"role":"user","content":[{"type":"tool_result","tool_use_id":"t1","content":"x"}]}}"#,
    r#"{"type":"assistant","uuid":"a3","parentUuid":"u2","sessionId":"s","message":{"id":"msg_2","type":"message","role":"assistant","model":"m","content":[{"type":"text","text":"done"}],"usage":{"input_tokens":30,"output_tokens":3}}}"#,
];

#[test]
fn a_forked_rollout_and_a_message_in_several_lines_hold_nothing_twice() {
    for (lines, items, calls) in [(FORKED, 6, 2), (GROWING, 5, 1)] {
        let here = folder(&[("run.jsonl", &lines.join("\n"))]);
        let (code, out, err) = told(here.path(), &["check", "run.jsonl", "--format", "json"]);
        assert_eq!((code, err.as_str()), (0, ""), "{out}");
        let [line] = out.lines().collect::<Vec<_>>()[..] else {
            panic!("one session and no finding: {out}");
        };
        let session: serde_json::Value = serde_json::from_str(line).unwrap();
        assert_eq!(
            (&session["items"], &session["calls"]),
            (&items.into(), &calls.into()),
            "{out}"
        );
    }
}
