//! Recoveries in a real pseudo-terminal: the whole way from a finding to a saved take, and what a killed process leaves behind.

use assert_cmd::Command;
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use termlens::{Key, Signal, Terminal};

const RETAKE: &str = env!("CARGO_BIN_EXE_retake");

/// A folder of one's own with a copy of a bundled session.
fn desk(name: &str) -> TempDir {
    let folder = TempDir::new().unwrap();
    let bundled = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions");
    fs::copy(bundled.join(name), folder.path().join(name)).unwrap();
    folder
}

fn open(folder: &TempDir, name: &str) -> Terminal {
    open_with((120, 30), folder, name)
}

/// On a screen with room for the names of takes.
fn open_wide(folder: &TempDir, name: &str) -> Terminal {
    open_with((160, 30), folder, name)
}

fn open_with((columns, rows): (u16, u16), folder: &TempDir, name: &str) -> Terminal {
    Terminal::builder()
        .size(columns, rows)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("HOME", folder.path().to_str().unwrap())
        .timeout(Duration::from_secs(20))
        .current_dir(folder.path())
        .arg(name)
        .spawn(RETAKE)
        .unwrap()
}

#[track_caller]
fn sees(terminal: &mut Terminal, text: &str) {
    if terminal.wait_until(|screen| screen.contains(text)).is_err() {
        panic!("{text:?} is not on\n{}", terminal.screen());
    }
}

fn types(terminal: &mut Terminal, text: &str) {
    for letter in text.chars() {
        terminal.send(Key::Char(letter));
    }
}

/// What `retake check` says of a file: its exit code, and its findings as JSON lines.
fn check(path: &Path) -> (Option<i32>, String) {
    let mut command = Command::new(RETAKE);
    let output = command
        .env_remove("XDG_STATE_HOME")
        .env("HOME", path.parent().unwrap())
        .args(["check", "--format", "json"])
        .arg(path)
        .output()
        .unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let findings = text
        .lines()
        .filter(|line| line.contains(r#""type":"finding""#));
    (
        output.status.code(),
        findings.collect::<Vec<_>>().join("\n"),
    )
}

#[test]
fn a_lost_output_is_answered_with_an_error_of_ones_own_and_the_take_outlives_the_debugger() {
    let name = "orphan-at-compaction.jsonl";
    let folder = desk(name);
    let recorded = fs::read(folder.path().join(name)).unwrap();
    // The compaction took the call out of what the agent sends.
    assert_eq!(check(&folder.path().join(name)).0, Some(0));
    let mut terminal = open(&folder, name);
    sees(&mut terminal, "1 warning");
    terminal.send(Key::Char('g'));
    sees(&mut terminal, "▌            Neap tides");
    terminal.send(Key::Char(']'));
    sees(
        &mut terminal,
        "▌          ▲ Bash(python -m pytest -q)  orphan-call",
    );

    terminal.send(Key::Char('i'));
    sees(&mut terminal, "the model reads");
    types(&mut terminal, "Nobody knows. ");
    sees(&mut terminal, "Nobody knows. ");
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "+ new item  output");
    sees(&mut terminal, "Nobody knows. ");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 1: inject error");
    sees(&mut terminal, "1 answered");
    terminal.send(Key::Char('u'));
    sees(&mut terminal, "recording, 1 take");
    sees(&mut terminal, "1 warning");
    terminal.send(Key::Ctrl('r'));
    sees(&mut terminal, "take 1 of 1");
    sees(&mut terminal, "1 answered");

    terminal.send(Key::Char('w'));
    sees(&mut terminal, "(*) as recorded (claude-code)");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 1 is saved as");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());
    let kept = "1 take is kept with orphan-at-compaction.jsonl: reopen with `retake";
    sees(&mut terminal, kept);
    let saved = folder.path().join("orphan-at-compaction.take-1.jsonl");
    assert!(
        fs::read_to_string(&saved)
            .unwrap()
            .contains("Nobody knows. ")
    );
    let (code, findings) = check(&saved);
    assert_eq!(code, Some(0), "{findings}");
    assert!(
        !findings.contains("orphan-call") && !findings.contains(r#""severity":"error""#),
        "{findings}"
    );
    assert!(!findings.contains(r#""line":null"#), "{findings}");

    let mut terminal = open(&folder, name);
    sees(
        &mut terminal,
        "take 1 (inject error) as you left it: u returns to the recording",
    );
    sees(&mut terminal, "take 1 of 1");
    terminal.send(Key::Char('T'));
    sees(&mut terminal, "inject error");
    sees(&mut terminal, "Nobody knows. ");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 1 of 1");
    sees(&mut terminal, "1 answered");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());
    assert_eq!(fs::read(folder.path().join(name)).unwrap(), recorded);
}

#[test]
fn one_argument_of_a_chat_call_is_corrected_in_its_object() {
    let folder = TempDir::new().unwrap();
    let arguments = r#""{\"from\": \"JFK\",  \"to\": \"LHR\"}""#;
    let call = format!(
        r#"{{"id": "a", "type": "function", "function": {{"name": "find", "arguments": {arguments}}}}}"#
    );
    let request = format!(
        r#"{{"model": "m", "messages": [{{"role": "user", "content": "hi"}}, {{"role": "assistant", "content": null, "tool_calls": [{call}]}}]}}"#
    );
    fs::write(folder.path().join("flight.json"), &request).unwrap();
    let mut terminal = open(&folder, "flight.json");
    sees(&mut terminal, "orphan-call");
    terminal.send(Key::Char(']'));
    terminal.send(Key::Char('e'));
    sees(&mut terminal, "to    LHR");
    terminal.send(Key::Down);
    terminal.send(Key::Enter);
    terminal.send(Key::End);
    types(&mut terminal, " City");
    sees(&mut terminal, "LHR City");
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "^s accept all");
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, r#"+       "to": "LHR City""#);
    sees(&mut terminal, r#"-       "to": "LHR""#);
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 1: edit");
    sees(&mut terminal, "take 1 of 1");
    sees(&mut terminal, "▌ ● find(from: JFK, to: LHR City)");
    terminal.send(Key::Char('3'));
    sees(&mut terminal, r#""to": "LHR City""#);
}

#[test]
fn a_saved_take_is_judged_as_on_the_screen_whatever_the_words_of_its_error_are() {
    let name = "broken-json.json";
    let folder = desk(name);
    let mut terminal = open(&folder, name);
    sees(&mut terminal, "2 warnings");
    terminal.send(Key::Char(']'));
    sees(&mut terminal, "▌ ▲ monthly_payment(");
    terminal.send(Key::Char('i'));
    sees(&mut terminal, "the model reads");
    terminal.send(Key::Ctrl('x'));
    types(&mut terminal, "Think again.");
    sees(&mut terminal, "Think again.");
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "enter accept");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 1: inject error");
    sees(&mut terminal, "1 answered");
    terminal.send(Key::Char('w'));
    sees(&mut terminal, "(*) as recorded (openai-chat)");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 1 is saved as");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());

    let saved = folder.path().join("broken-json.take-1.json");
    let (code, findings) = check(&saved);
    assert_eq!(code, Some(0), "{findings}");
    assert!(findings.contains("malformed-arguments"), "{findings}");
    let mut terminal = open(&folder, "broken-json.take-1.json");
    sees(&mut terminal, "1 answered");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());
    // What somebody else wrote into it is no decision of the take.
    let text = fs::read_to_string(&saved).unwrap();
    fs::write(&saved, text.replace("Think again.", "Think anew.")).unwrap();
    assert_eq!(check(&saved).0, Some(1));
}

#[test]
fn what_was_acknowledged_outlives_a_killed_process() {
    let name = "broken-json.json";
    let folder = desk(name);
    let recorded = fs::read(folder.path().join(name)).unwrap();
    let mut terminal = open(&folder, name);
    sees(&mut terminal, "2 warnings");
    terminal.send(Key::Char(']'));
    sees(&mut terminal, "▌ ▲ monthly_payment(");
    for take in 1..=3 {
        terminal.send(Key::Char('x'));
        sees(&mut terminal, "is removed");
        terminal.send(Key::Enter);
        sees(&mut terminal, &format!("take {take}: drop pair"));
        sees(&mut terminal, "✓ no findings");
        terminal.send(Key::Char('u'));
        sees(&mut terminal, "undone: back in the recording");
        sees(&mut terminal, "2 warnings");
    }
    terminal.send(Key::Char('m'));
    sees(&mut terminal, "◆");
    // In the middle: the wording is being edited, and nothing of that was acknowledged.
    terminal.send(Key::Char('i'));
    sees(&mut terminal, "the model reads");
    types(&mut terminal, "half a w");
    sees(&mut terminal, "half a w");
    terminal.signal(Signal::Kill).unwrap();
    assert!(!terminal.wait_exit().unwrap().success());
    assert_eq!(fs::read(folder.path().join(name)).unwrap(), recorded);

    let mut terminal = open(&folder, name);
    sees(
        &mut terminal,
        "3 takes: ^r opens take 3 (drop pair), the latest",
    );
    sees(&mut terminal, "◆");
    assert!(!terminal.screen().contains("NOT RECORDING"));
    terminal.send(Key::Ctrl('r'));
    sees(&mut terminal, "take 3 of 3");
    sees(&mut terminal, "✓ no findings");
    terminal.send(Key::Char('u'));
    sees(&mut terminal, "2 warnings");
    terminal.send(Key::Char('x'));
    sees(&mut terminal, "is removed");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 4: drop pair");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn a_take_has_a_name_in_the_header_and_says_after_a_restart_why_it_is_there() {
    let name = "broken-json.json";
    let folder = desk(name);
    let mut terminal = open_wide(&folder, name);
    sees(&mut terminal, "2 warnings");
    terminal.send(Key::Char('g'));
    sees(&mut terminal, "▌   Compare loans.");
    terminal.send(Key::Char(']'));
    sees(&mut terminal, "▌ ▲ monthly_payment(");
    terminal.send(Key::Char('x'));
    sees(&mut terminal, "enter accept");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 1 of 1");
    terminal.send(Key::Char('T'));
    sees(&mut terminal, "rename");
    terminal.send(Key::Char('r'));
    types(&mut terminal, "without the call");
    terminal.send(Key::Enter);
    terminal.send(Key::Esc);
    sees(&mut terminal, "take 1 of 1  without the call");
    terminal.send(Key::Char('Q'));
    terminal.wait_exit().unwrap();

    let mut terminal = open_wide(&folder, name);
    sees(
        &mut terminal,
        "\"without the call\" as you left it: u returns",
    );
    terminal.send(Key::Char('Q'));
    terminal.wait_exit().unwrap();
}
