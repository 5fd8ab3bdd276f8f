//! Strings that this reader understands and JSON does not allow: never clean, spelled anew on writing, never raw on a terminal.

use super::{folder, told};
use serde_json::Value;
use std::fs;

/// A message of the user with this inside of its string.
fn with(inside: &[u8]) -> Vec<u8> {
    let (before, behind) = (
        br#"[{"role":"user","content":""#,
        br#""},{"role":"assistant","content":"yes"}]"#,
    );
    [&before[..], inside, &behind[..]].concat()
}

const BAD: [(&[u8], &str, &str); 5] = [
    (
        b"a\x1b[31mred",
        "a\u{1b}[31mred",
        "a control character that is not escaped",
    ),
    (
        b"a\ttab",
        "a\ttab",
        "a control character that is not escaped",
    ),
    (br"\x41", r"\x41", "an escape that JSON does not know"),
    (br"\u12", r"\u12", "an escape that JSON does not know"),
    (b"a\xff", "a\u{fffd}", "bytes that are no UTF-8"),
];

#[test]
fn what_no_parser_takes_is_not_clean_and_is_spelled_anew() {
    for (inside, text, what) in BAD {
        let here = tempfile::tempdir().unwrap();
        let path = here.path();
        fs::write(path.join("run.json"), with(inside)).unwrap();
        let (code, out, _) = told(path, &["check", "run.json"]);
        assert!(code == 3 && out.contains(what), "{text:?}: {out}");
        let fixed = told(path, &["fix", "run.json", "-o", "fixed.json"]);
        assert!(
            fixed.0 == 0 && fixed.2.contains("1 string spelled"),
            "{}",
            fixed.2
        );
        let converted = told(
            path,
            &["convert", "--to", "chat", "run.json", "-o", "chat.json"],
        );
        assert_eq!(converted.0, 3, "{}", converted.2);
        for name in ["fixed.json", "chat.json"] {
            let value: Value = serde_json::from_slice(&fs::read(path.join(name)).unwrap()).unwrap();
            assert_eq!(value[0]["content"], text, "{name}");
            assert_eq!(told(path, &["check", name]).0, 0, "{name}");
        }
    }
}

/// In tools, which are no record, and in lines; a string that is fine stays as it is.
#[test]
fn such_strings_are_found_wherever_they_stand() {
    let tools = br#"{"model":"m","messages":[{"role":"user","content":"h\u0021"}],"tools":[{"type":"function","function":{"name":"f","description":"\q","parameters":{"type":"object"}}}]}"#;
    let lines =
        b"{\"role\":\"user\",\"content\":\"hi\"}\n{\"role\":\"assistant\",\"content\":\"a\x01\"}\n";
    for (name, text) in [("run.json", &tools[..]), ("run.jsonl", &lines[..])] {
        let here = tempfile::tempdir().unwrap();
        let path = here.path();
        fs::write(path.join(name), text).unwrap();
        assert_eq!(told(path, &["check", name]).0, 3, "{name}");
        let (code, fixed, err) = told(path, &["fix", name]);
        assert_eq!(code, 0, "{name}: {err}");
        for line in fixed.lines() {
            serde_json::from_str::<Value>(line).unwrap();
        }
        let is_kept = fixed.contains(r#""h\u0021""#) || name.ends_with('l');
        assert!(is_kept && !fixed.contains('\u{1}'), "{fixed}");
        assert_eq!(told(path, &["fix", name, "--in-place"]).0, 0);
        assert_eq!(fs::read_to_string(path.join(name)).unwrap(), fixed);
    }
}

#[test]
fn no_raw_escape_reaches_a_terminal() {
    // Inside of a string, and in a line that is no JSON at all and stays as it is; C1 and a turned direction are JSON.
    let text = b"{\"role\":\"user\",\"content\":\"a\x1b]0;owned\x07b\xc2\x9bc\xe2\x80\xaed\"}\nno json \x1b[2Jx\n{\"role\":\"assistant\",\"content\":\"yes\"}\n";
    let here = tempfile::tempdir().unwrap();
    fs::write(here.path().join("run.jsonl"), text).unwrap();
    for arguments in [
        &["fix", "run.jsonl"][..],
        &["convert", "--to", "chat", "run.jsonl"],
    ] {
        let mut terminal = termlens::Terminal::builder()
            .size(200, 40)
            .current_dir(here.path())
            .args(arguments)
            .env("NO_COLOR", "1")
            .spawn(env!("CARGO_BIN_EXE_retake"))
            .unwrap();
        terminal.wait_exit().unwrap();
        let screen = terminal.screen();
        let text = screen.text();
        assert!(
            text.contains(r"a\u001b]0;owned\u0007b\u009bc\u202ed"),
            "{text}"
        );
        assert_eq!(screen.title(), "", "{text}");
        let is_copied = arguments[0] == "fix";
        assert_eq!(text.contains(r"no json \u001b[2Jx"), is_copied, "{text}");
    }
}

#[test]
fn what_convert_writes_is_recognised_and_converted_to_itself() {
    let mut files = 0;
    for entry in fs::read_dir("sessions").unwrap() {
        let path = entry.unwrap().path();
        let Some(name) = path
            .file_name()
            .map(|name| name.to_string_lossy().into_owned())
        else {
            continue;
        };
        let is_recording = [".json", ".jsonl", ".sse", ".db"]
            .iter()
            .any(|end| name.ends_with(end));
        if !is_recording || name.ends_with(".tools.json") || name == "truth.json" {
            continue;
        }
        files += 1;
        let bytes = fs::read(&path).unwrap();
        stays(&name, &bytes);
    }
    assert!(files > 15);
    // Items that are no messages, and a system prompt that is a list.
    let odd = br#"{"system":[{"type":"text","text":"be kind"}],"max_tokens":9,"messages":[{"role":"user","content":[{"type":"text","text":"hi"}]},{"a":1},{"role":"assistant","content":[{"type":"tool_use","id":"toolu_1","name":"f","input":{}}]},{"role":"user","content":[{"type":"tool_result","tool_use_id":"toolu_1","content":"ok"}]}]}"#;
    stays("odd.json", odd);
    let odd = br#"[{"role":"user","content":"hi"},{"a":1},7,{"role":"assistant","content":"yes"}]"#;
    stays("list.json", odd);
}

fn stays(name: &str, bytes: &[u8]) {
    let here = folder(&[]);
    let path = here.path();
    fs::write(path.join(name), bytes).unwrap();
    let is_partly_read = told(path, &["check", name]).0 == 3;
    for to in ["chat", "responses", "anthropic"] {
        let (code, once, err) = told(path, &["convert", "--to", to, name]);
        assert_eq!(
            code,
            if is_partly_read { 3 } else { 0 },
            "{name} to {to}: {err}"
        );
        fs::write(path.join("once.json"), &once).unwrap();
        let (code, out, err) = told(path, &["check", "--format", "json", "once.json"]);
        assert!(code != 2, "{name} to {to}: {err}{once}");
        assert!(
            out.contains(&format!(r#""target":"{to}""#)) || is_plain(&once),
            "{name} to {to}: {out}"
        );
        let (code, twice, err) = told(path, &["convert", "--to", to, "once.json"]);
        assert_eq!(code, 0, "{name} to {to}: {err}");
        if is_plain(&once) {
            // Read as Chat, the plainest dialect, such messages get the types that others have.
            fs::write(path.join("once.json"), &twice).unwrap();
            let thrice = told(path, &["convert", "--to", to, "once.json"]).1;
            assert_eq!(thrice, twice, "{name} to {to}");
        } else {
            assert_eq!(twice, once, "{name} to {to}: {err}");
        }
    }
}

/// Messages without a call look alike in every dialect.
fn is_plain(text: &str) -> bool {
    !["tool", "function", "reasoning", "thinking"]
        .iter()
        .any(|word| text.contains(word))
}
