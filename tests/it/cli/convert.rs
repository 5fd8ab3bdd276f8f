//! `convert`: data on stdout or in a file, losses on stderr, and no file overwritten that nobody named.

use super::{CLEAN, STORY, folder, told};
use serde_json::Value;
use std::fs;
use std::path::Path;

const ODD: &str = r#"[
  {"role": "user", "content": "hi"},
  {"role": "assistant", "content": null, "tool_calls": [
    {"id": "a", "function": {"name": "one.a", "arguments": "{\"x\": 1,"}},
    {"id": "b", "function": {"name": "one.b", "arguments": "so"}},
    {"id": "c", "function": {"name": "one.c", "arguments": "{}"}},
    {"id": "d", "function": {"name": "one.\u001b[31m", "arguments": "{}"}}]},
  {"role": "tool", "tool_call_id": "a", "content": "1"},
  {"role": "tool", "tool_call_id": "b", "content": "2"},
  {"role": "tool", "tool_call_id": "c", "content": "3"},
  {"role": "tool", "tool_call_id": "d", "content": "4"}
]"#;

#[test]
fn the_data_goes_to_stdout_and_the_losses_to_stderr() {
    let here = folder(&[("odd.json", ODD)]);
    let convert = |more: &[&str]| {
        let arguments = [&["convert", "odd.json", "--to", "anthropic"], more].concat();
        let (code, out, err) = told(here.path(), &arguments);
        assert_eq!(code, 0, "{err}");
        let value: Value = serde_json::from_str(&out).unwrap();
        assert_eq!(value["messages"].as_array().unwrap().len(), 3);
        assert!(!err.contains('\u{1b}'), "{err:?}");
        err
    };
    let few = convert(&[]);
    assert!(
        few.starts_with("9 items to anthropic: 6 differences\n"),
        "{few}"
    );
    let renamed = "  item 2 and 3 more: tool \"one.a\" is written as one_a\n";
    assert!(
        few.contains(renamed) && few.ends_with("  --losses lists each\n"),
        "{few}"
    );
    assert_eq!(convert(&["--losses"]).lines().count(), 7);
    let lines = convert(&["--format", "json"]);
    let lines: Vec<Value> = lines
        .lines()
        .map(|line| serde_json::from_str(line).unwrap())
        .collect();
    assert_eq!(lines.len(), 7);
    assert_eq!(lines[0]["type"], "loss");
    assert_eq!(lines[0]["item"], 2);
    let renamed = lines.iter().find(|line| line["kind"] == "renamed").unwrap();
    assert_eq!(
        (&renamed["from"], &renamed["to"]),
        (&"one.a".into(), &"one_a".into())
    );
    assert_eq!(lines[6]["type"], "conversion");
    assert_eq!(lines[6]["losses"], 6);
}

#[test]
fn a_session_goes_into_the_store_of_an_agent() {
    let here = folder(&[("odd.json", ODD)]);
    let convert = |to: &str, more: &[&str]| {
        let arguments = [&["convert", "odd.json", "--to", to], more].concat();
        told(here.path(), &arguments)
    };
    let (code, _, err) = convert("claude-code", &["-o", "new.jsonl"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("  resume it with: claude --resume new.jsonl\n"),
        "{err}"
    );
    let written = std::fs::read_to_string(here.path().join("new.jsonl")).unwrap();
    assert_eq!(written.lines().count(), 6);
    let (code, out, err) = convert("pi", &[]);
    assert_eq!((code, out.lines().count()), (0, 7), "{err}");
    assert!(!err.contains("resume it with"), "{err}");
    let (code, _, err) = convert("pi", &["--format", "json", "-o", "pi.jsonl"]);
    assert_eq!(code, 0, "{err}");
    let last: Value = serde_json::from_str(err.lines().last().unwrap()).unwrap();
    assert!(
        last["resume"]
            .as_str()
            .unwrap()
            .starts_with("pi --session "),
        "{err}"
    );
    let (code, _, err) = convert("codex", &["-o", "codex.jsonl"]);
    assert_eq!(code, 0, "{err}");
    assert!(
        err.contains("&& cp codex.jsonl ") && err.contains("&& codex resume "),
        "{err}"
    );
    let (code, _, err) = convert("opencode", &["--install"]);
    assert_eq!(code, 2, "{err}");
    assert!(err.contains("opencode import FILE"), "{err}");
    assert_eq!(convert("chat", &["--install"]).0, 2);
}

#[test]
fn a_session_is_written_for_the_folder_that_is_named() {
    let here = folder(&[("odd.json", ODD)]);
    let project = here.path().join("project");
    fs::create_dir(&project).unwrap();
    let arguments = ["convert", "odd.json", "--to", "pi", "-o", "pi.jsonl"];
    let convert = |folder| {
        let more = ["--force", "--cwd", folder];
        told(here.path(), &[&arguments[..], &more].concat())
    };
    let (code, _, err) = convert("project");
    assert_eq!(code, 0, "{err}");
    let project = project.canonicalize().unwrap();
    let written = fs::read_to_string(here.path().join("pi.jsonl")).unwrap();
    let head: Value = serde_json::from_str(written.lines().next().unwrap()).unwrap();
    assert_eq!(head["cwd"], project.to_str().unwrap());
    let command = format!("cd {} && pi --session /", project.display());
    assert!(err.contains(&command), "{err}");
    assert!(
        err.contains("times are made up: they count from the conversion on"),
        "{err}"
    );
    let (code, _, err) = convert("nowhere");
    assert!(code == 2 && err.contains("nowhere: No such"), "{err}");
    let history = ["convert", "odd.json", "--to", "chat", "--cwd", "."];
    assert_eq!(told(here.path(), &history).0, 2);
}

#[test]
fn a_request_has_the_model_and_the_tools_that_are_known() {
    let here = folder(&[("story.json", STORY), ("clean.json", CLEAN)]);
    let convert = |arguments: &[&str]| {
        let (code, out, err) = told(here.path(), &[&["convert"], arguments].concat());
        assert_eq!(code, 0, "{err}");
        (serde_json::from_str::<Value>(&out).unwrap(), err)
    };
    let (request, _) = convert(&["story.json", "--to", "responses", "--request"]);
    assert_eq!(request["model"], "gpt-4o");
    assert_eq!(request["tools"][0]["name"], "search_flights");
    assert_eq!(request["input"].as_array().unwrap().len(), 4);
    let (request, err) = convert(&["clean.json", "--to", "chat", "--request"]);
    assert_eq!(request["messages"].as_array().unwrap().len(), 2);
    assert!(
        request.get("tools").is_none() && err.contains("they are not known"),
        "{err}"
    );
    let (request, _) = convert(&[
        "clean.json",
        "--to",
        "chat",
        "--request",
        "--tools",
        "story.json",
    ]);
    assert_eq!(request["tools"][0]["function"]["name"], "search_flights");
}

#[test]
fn an_output_file_is_new_or_replaced_on_demand_and_never_the_recording() {
    let here = folder(&[("story.json", STORY), ("there.json", "mine")]);
    std::os::unix::fs::symlink("story.json", here.path().join("link.json")).unwrap();
    let convert = |more: &[&str]| {
        let arguments = [&["convert", "story.json", "--to", "anthropic", "-o"], more].concat();
        told(here.path(), &arguments)
    };
    let read = |name: &str| std::fs::read_to_string(here.path().join(name)).unwrap();
    assert_eq!(convert(&["new.json"]).0, 0);
    assert!(read("new.json").starts_with("{\"messages\":["));
    let (code, out, err) = convert(&["there.json"]);
    assert_eq!((code, out.as_str()), (2, ""));
    assert!(
        err.contains("already exists") && err.contains("--force"),
        "{err}"
    );
    assert_eq!(read("there.json"), "mine");
    assert_eq!(convert(&["there.json", "--force"]).0, 0);
    assert_eq!(read("there.json"), read("new.json"));
    for name in ["story.json", "link.json"] {
        let (code, _, err) = convert(&[name, "--force"]);
        assert_eq!(code, 2);
        assert!(err.contains("never overwritten"), "{err}");
    }
    assert_eq!(read("story.json"), STORY);
}

#[test]
fn of_many_sessions_one_is_converted() {
    let line = |task: &str, word: &str| {
        format!(
            r#"{{"task_id": "{task}", "traj": [{{"role": "user", "content": "{word}"}}, {{"role": "assistant", "content": "yes"}}]}}"#
        )
    };
    let here = folder(&[(
        "many.jsonl",
        &[line("seven", "one"), line("nine", "two")].join("\n"),
    )]);
    let convert = |more: &[&str]| {
        told(
            here.path(),
            &[&["convert", "many.jsonl", "--to", "chat"], more].concat(),
        )
    };
    let (_, out, err) = convert(&[]);
    assert!(
        out.contains("one") && err.contains("session 1 of 2"),
        "{out}{err}"
    );
    for wanted in ["2", "task nine"] {
        let (_, out, err) = convert(&["--session", wanted]);
        assert!(out.contains("two") && !err.contains("of 2"), "{out}{err}");
    }
    let (code, _, err) = convert(&["--session", "3"]);
    assert!(code == 2 && err.contains("task nine"), "{err}");
}

#[test]
fn a_session_is_written_of_what_was_said_and_with_a_warning_where_a_provider_refuses_it() {
    let sessions = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    let whole = fs::read_to_string(sessions.join("broken-json.json")).unwrap();
    let here = folder(&[("cut.json", &whole[..130])]);
    let (code, _, err) = told(
        here.path(),
        &["convert", "cut.json", "--to", "codex", "-o", "x.jsonl"],
    );
    assert_eq!(code, 2, "{err}");
    assert!(
        err.contains("no message, call or result of it could be read"),
        "{err}"
    );
    assert!(!here.path().join("x.jsonl").exists());

    let broken = concat!(
        env!("CARGO_MANIFEST_DIR"),
        "/sessions/orphan-at-compaction.jsonl"
    );
    let trimmed = concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/trimmed-history.json");
    for (path, is_refused) in [(broken, false), (trimmed, true)] {
        let (code, _, err) = told(
            here.path(),
            &["convert", path, "--to", "pi", "-o", "y.jsonl", "--force"],
        );
        assert_eq!(code, 0, "{err}");
        assert_eq!(
            err.contains("in it that providers refuse"),
            is_refused,
            "{path}: {err}"
        );
        assert!(err.contains("left out: token counts"), "{err}");
        let folder = here.path().canonicalize().unwrap();
        let folder = format!("it resumes in the current folder, {}", folder.display());
        assert!(err.contains(&folder), "{err}");
    }
}

#[test]
fn a_history_is_written_with_a_warning_that_says_what_its_target_refuses_and_what_fixes_it() {
    let here = folder(&[]);
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/trimmed-history.json");
    for to in ["chat", "responses", "anthropic"] {
        let (code, _, err) = told(here.path(), &["convert", path, "--to", to]);
        assert_eq!(code, 0, "{err}");
        let refused = format!("1 error in it that the target, {to}, refuses: orphan-output");
        assert!(err.contains(&refused), "{err}");
        // What is advised helps.
        let fix = err.split('`').nth(1).unwrap().replace("FILE", "f.json");
        let fix: Vec<&str> = fix.split(' ').skip(1).chain(["--force"]).collect();
        let (_, _, err) = told(here.path(), &fix);
        let (code, _, then) = told(here.path(), &["convert", "f.json", "--to", to]);
        assert!(code == 0 && !then.contains("refuses"), "{err}{then}");
        let json = ["convert", path, "--to", to, "--format", "json"];
        let (_, _, err) = told(here.path(), &json);
        let line: Value = serde_json::from_str(err.lines().next().unwrap()).unwrap();
        assert_eq!(line["type"], "refused", "{err}");
        assert_eq!(line["rules"], serde_json::json!(["orphan-output"]), "{err}");
    }
    // What a provider takes is converted without a word about it, whatever else is wrong with it; nor is anything said
    // of what converting settles.
    for session in [
        "unknown-tool.json",
        "misplaced-results.json",
        "broken-json.json",
    ] {
        let path = format!("{}/sessions/{session}", env!("CARGO_MANIFEST_DIR"));
        let (code, _, err) = told(here.path(), &["convert", &path, "--to", "anthropic"]);
        assert!(code == 0 && !err.contains("refuses"), "{session}: {err}");
    }
}

#[test]
fn a_target_may_be_named_as_its_format_is() {
    let here = tempfile::tempdir().unwrap();
    let path = concat!(env!("CARGO_MANIFEST_DIR"), "/sessions/unknown-tool.json");
    let (_, by_word, _) = told(here.path(), &["convert", path, "--to", "chat"]);
    let (code, by_format, err) = told(here.path(), &["convert", path, "--to", "openai-chat"]);
    assert_eq!((code, by_format), (0, by_word), "{err}");
}
