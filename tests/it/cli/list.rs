//! `list`: what the picker shows, for scripts.

use super::{CLEAN, STORY, retake};
use serde_json::Value;
use std::fs::File;
use std::path::Path;
use std::time::{Duration, SystemTime};
use tempfile::TempDir;

/// A folder with a broken recording that is older than a clean one, and a file that is none.
fn folder() -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let now = SystemTime::now();
    for (name, text, age) in [
        ("old.json", STORY, 7200),
        ("new.json", CLEAN, 60),
        ("notes.json", "{\"a\": 1}", 0),
    ] {
        let path = folder.path().join(name);
        std::fs::write(&path, text).unwrap();
        let file = File::options().write(true).open(&path).unwrap();
        file.set_modified(now - Duration::from_secs(age)).unwrap();
    }
    folder
}

/// The names of the recordings that a list prints as JSON.
fn names(arguments: &[&str], folder: &Path) -> Vec<String> {
    let output = retake()
        .args(["list", "--format", "json"])
        .args(arguments)
        .arg(folder)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let names = text.lines().map(|line| {
        let row: Value = serde_json::from_str(line).unwrap();
        let path = Path::new(row["path"].as_str().unwrap());
        path.file_name().unwrap().to_string_lossy().into_owned()
    });
    names.collect()
}

#[test]
fn recordings_are_listed_the_newest_first() {
    let folder = folder();
    assert_eq!(names(&[], folder.path()), ["new.json", "old.json"]);
    assert_eq!(names(&["--limit", "1"], folder.path()), ["new.json"]);
}

#[test]
fn without_a_path_the_recordings_of_the_current_folder_are_listed_too() {
    let (folder, home) = (folder(), tempfile::tempdir().unwrap());
    let output = retake()
        .args(["list", "--format", "json"])
        .current_dir(folder.path())
        .env("HOME", home.path())
        .env_remove("XDG_STATE_HOME")
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(
        text.contains("new.json") && text.contains("old.json"),
        "{text}"
    );
    assert!(!text.contains("notes.json"), "{text}");
}

#[test]
fn the_date_that_is_printed_is_the_one_of_the_order() {
    let folder = tempfile::tempdir().unwrap();
    let log = |month: u32| {
        format!(
            r#"{{"type":"user","uuid":"1","parentUuid":null,"sessionId":"s","timestamp":"2026-0{month}-01T00:00:00Z","message":{{"role":"user","content":"hi"}}}}"#
        )
    };
    // Copied in another order than they were recorded in.
    let now = std::time::SystemTime::now();
    for (age, (name, month)) in [("march", 3), ("may", 5), ("april", 4)].iter().enumerate() {
        let path = folder.path().join(format!("{name}.jsonl"));
        std::fs::write(&path, log(*month)).unwrap();
        let file = std::fs::File::options().write(true).open(&path).unwrap();
        let minutes = std::time::Duration::from_secs(60 * age as u64);
        file.set_modified(now - minutes).unwrap();
    }
    let sorted = ["may.jsonl", "april.jsonl", "march.jsonl"];
    assert_eq!(names(&[], folder.path()), sorted);
    assert_eq!(names(&["--limit", "2"], folder.path()), sorted[..2]);
}

#[test]
fn filters_are_those_of_the_picker() {
    let folder = folder();
    assert_eq!(
        names(&["--filter", "rule:unknown"], folder.path()),
        ["old.json"]
    );
    assert_eq!(
        names(&["--filter", "since:1h"], folder.path()),
        ["new.json"]
    );
    assert_eq!(
        names(&["--filter", "before:1h"], folder.path()),
        ["old.json"]
    );
    assert_eq!(names(&["--filter", "lisbon"], folder.path()), ["old.json"]);
    let wrong = retake()
        .args(["list", "--filter", "turns:many"])
        .arg(folder.path())
        .assert();
    wrong.code(2);
}

#[test]
fn a_file_that_two_paths_name_is_listed_once() {
    let folder = folder();
    let file = folder.path().join("old.json");
    let output = retake().arg("list").arg(&file).arg(folder.path()).output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    assert_eq!(text.matches("old.json").count(), 1, "{text}");
}

#[test]
fn what_was_not_listed_is_counted_and_nothing_is_an_error() {
    let folder = folder();
    let some = retake()
        .args(["list", "-l", "1"])
        .arg(folder.path())
        .output();
    let some = some.unwrap();
    assert_eq!(some.status.code(), Some(0));
    let none = tempfile::tempdir().unwrap();
    let none = retake().arg("list").arg(none.path()).output().unwrap();
    assert_eq!(none.status.code(), Some(2));
    let said = String::from_utf8(none.stderr).unwrap();
    assert!(said.contains("no recording found"), "{said}");
}

#[test]
fn text_names_agent_turns_and_findings() {
    let folder = folder();
    let output = retake()
        .arg("list")
        .arg(folder.path().join("old.json"))
        .output();
    let text = String::from_utf8(output.unwrap().stdout).unwrap();
    for words in [
        "old.json\n  openai-chat, ",
        "gpt-4o",
        "turns",
        "1 warning",
        "\n  A flight to Lisbon, please.\n",
    ] {
        assert!(text.contains(words), "{words:?} in {text}");
    }
}

#[test]
fn a_name_that_is_not_there_and_a_file_that_is_no_recording_are_named_for_what_they_are() {
    let folder = folder();
    let run = |arguments: &[&str]| {
        let output = retake().args(arguments).current_dir(folder.path()).output();
        String::from_utf8(output.unwrap().stderr).unwrap()
    };
    let said = run(&["list", "nope"]);
    assert!(
        said.contains("nope: no such file or folder") && !said.contains("os error"),
        "{said}"
    );
    let said = run(&["notes.json"]);
    assert!(
        said.contains("notes.json: format") && !said.contains("terminal"),
        "{said}"
    );
    let said = run(&["new.json"]);
    assert!(said.contains("the debugger needs a terminal"), "{said}");
}

#[test]
fn what_is_counted_in_part_is_marked() {
    let line = |uuid: &str, role: &str, content: Value| {
        let usage = serde_json::json!({"input_tokens": 9000, "output_tokens": 1});
        serde_json::json!({"type": role, "uuid": uuid, "sessionId": "s", "timestamp": "2026-03-02T14:02:11Z",
            "parentUuid": if uuid == "1" { Value::Null } else { "1".into() },
            "message": {"id": uuid, "role": role, "model": "claude-sonnet-4-5", "content": content, "usage": usage}})
        .to_string()
    };
    let long = serde_json::json!([{"type": "text", "text": "a long answer ".repeat(90)}]);
    let lines = [line("1", "user", "go".into()), line("2", "assistant", long)];
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("a.jsonl"), lines.join("\n")).unwrap();
    let output = retake().arg("list").arg(folder.path()).output().unwrap();
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("≥9.0k tokens, ≥$0."), "{said}");
}

#[test]
fn the_help_says_once_which_recordings_are_listed_and_the_readme_says_the_same() {
    let help = |arguments: &[&str]| {
        let output = retake().args(arguments).output().unwrap();
        let words = String::from_utf8(output.stdout).unwrap();
        words.split_whitespace().collect::<Vec<_>>().join(" ")
    };
    let places = "of the current folder, of agents and of retake";
    let own = help(&["list", "--help"]);
    assert_eq!(own.matches("current folder").count(), 1, "{own}");
    assert!(own.contains(places) && !own.contains("by default"), "{own}");
    assert!(help(&["--help"]).contains(places));
    assert!(include_str!("../../../README.md").contains(places));
}
