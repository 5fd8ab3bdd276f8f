//! How many keys it takes to read a long log in a real pseudo-terminal.

use serde_json::{Value, json};
use std::fs;
use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use termlens::{Key, Terminal};

const RETAKE: &str = env!("CARGO_BIN_EXE_retake");

/// A log of Claude Code: a request, a `Write`, a `Bash` and a `Task` with its side chain, then many short turns.
#[derive(Default)]
struct Log {
    lines: Vec<String>,
    parent: Option<String>,
}

impl Log {
    fn push(&mut self, role: &str, is_side: bool, message: Value) {
        let uuid = format!("u{}", self.lines.len());
        let minute = self.lines.len() / 60;
        let line = json!({
            "type": role, "uuid": uuid, "parentUuid": self.parent, "sessionId": "s",
            "isSidechain": is_side, "cwd": "/home/me/shop", "version": "2.0.1", "message": message,
            "timestamp": format!("2026-03-02T{:02}:{:02}:{:02}.000Z", minute / 60, minute % 60, self.lines.len() % 60),
        });
        self.lines.push(line.to_string());
        self.parent = Some(uuid);
    }

    fn user(&mut self, content: Value) {
        self.push("user", false, json!({"role": "user", "content": content}));
    }

    fn reply(&mut self, is_side: bool, block: Value, written: u64) {
        let usage = json!({
            "input_tokens": 10, "cache_read_input_tokens": 20_000, "cache_creation_input_tokens": written,
            "output_tokens": 50,
        });
        let message = json!({
            "id": format!("m{}", self.lines.len()), "role": "assistant", "model": "claude-sonnet-4-5",
            "content": [block], "usage": usage,
        });
        self.push("assistant", is_side, message);
    }

    fn call(&mut self, name: &str, input: Value, result: &str, written: u64) {
        let id = format!("toolu_{}", self.lines.len());
        self.reply(
            false,
            json!({"type": "tool_use", "id": id, "name": name, "input": input}),
            written,
        );
        self.user(json!([{"type": "tool_result", "tool_use_id": id, "content": result}]));
    }
}

fn long_log(path: &Path) {
    let numbered = |word: &str| {
        let lines = (1..=30).map(|number| format!("{word} {number}"));
        lines.collect::<Vec<_>>().join("\n")
    };
    let mut log = Log::default();
    log.user("Write the shop.".into());
    let written = json!({"file_path": "/home/me/shop/a.txt", "content": numbered("written line")});
    log.call("Write", written, "File created", 100);
    log.call(
        "Bash",
        json!({"command": "make"}),
        &numbered("printed line"),
        90_000,
    );
    let prompt = "Find every caller of pay.";
    let task = json!({"description": "find callers", "prompt": prompt, "subagent_type": "general"});
    log.call("Task", task, "There are two.", 100);
    let after = log.parent.take();
    log.push("user", true, json!({"role": "user", "content": prompt}));
    let text = |words: &str| json!({"type": "text", "text": words});
    log.reply(true, text("I grep for pay."), 100);
    log.parent = after;
    while log.lines.len() < 5_000 {
        log.user(format!("Question {}", log.lines.len()).into());
        log.reply(false, text("Answer."), 100);
    }
    fs::write(path, log.lines.join("\n") + "\n").unwrap();
}

fn open(folder: &TempDir, arguments: &[&str]) -> Terminal {
    Terminal::builder()
        .size(120, 40)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("HOME", folder.path().to_str().unwrap())
        .timeout(Duration::from_secs(40))
        .current_dir(folder.path())
        .args(arguments)
        .spawn(RETAKE)
        .unwrap()
}

#[track_caller]
fn sees(terminal: &mut Terminal, text: &str) {
    if terminal.wait_until(|screen| screen.contains(text)).is_err() {
        panic!("{text:?} is not on\n{}", terminal.screen());
    }
}

#[track_caller]
fn press(terminal: &mut Terminal, keys: &str, seen: &str) {
    assert!(!terminal.screen().contains(seen), "{}", terminal.screen());
    for letter in keys.chars() {
        terminal.send(match letter {
            '\n' => Key::Enter,
            letter => Key::Char(letter),
        });
    }
    sees(terminal, seen);
}

#[test]
fn what_one_wants_to_know_of_a_long_log_takes_few_keys() {
    let folder = TempDir::new().unwrap();
    long_log(&folder.path().join("long.jsonl"));
    let mut terminal = open(&folder, &["long.jsonl"]);
    sees(&mut terminal, "✓ no findings");
    sees(&mut terminal, "you  turn 1");
    // What a call wrote: to its turn, unfold.
    press(&mut terminal, "J ", "written line 30");
    // A result.
    press(&mut terminal, " J ", "printed line 30");
    press(&mut terminal, " ", "… 27 more lines");
    // Which turn took the most.
    press(&mut terminal, "U", "most expensive turns");
    // The page is there in full.
    sees(&mut terminal, "slowest turns");
    let screen = terminal.screen().to_string();
    let heading = screen
        .lines()
        .position(|line| line.contains("most expensive turns"));
    let first = screen.lines().nth(heading.unwrap() + 1).unwrap();
    assert!(first.contains("turn 3 "), "{screen}");
    press(&mut terminal, "q", "… 27 more lines");
    // Into a sub-agent, from its call, and back.
    press(&mut terminal, "J", "▌          ✓ Task(");
    press(&mut terminal, "\n", "I grep for pay.");
    press(&mut terminal, "q", "Task(find callers)");
    // A filter is still there after a visit.
    press(&mut terminal, "ftool:Task\n", "filter tool:Task: ");
    press(&mut terminal, "\n", "I grep for pay.");
    assert!(
        !terminal.screen().contains("filter tool"),
        "{}",
        terminal.screen()
    );
    press(&mut terminal, "q", "filter tool:Task: ");
    terminal.send(Key::Esc);
    press(&mut terminal, ":4504\n", "turn 4504");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn a_finding_is_one_key_from_the_result_of_its_call_and_the_columns_are_an_option() {
    let folder = TempDir::new().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/broken-json.json");
    let path = path.to_str().unwrap();
    let mut terminal = open(&folder, &[path]);
    sees(&mut terminal, "2 warnings");
    press(&mut terminal, "]", "▌ ▲ monthly_payment(");
    press(&mut terminal, "%", "▌   │ An error occurred");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());

    let mut terminal = open(&folder, &["--view", "columns", path]);
    sees(&mut terminal, "┌ Turns ──");
    sees(&mut terminal, "2 warnings");
    press(&mut terminal, "]", "Item 5  call");
    press(&mut terminal, "|", "▌ ▲ monthly_payment(");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn a_sub_agent_with_a_log_of_its_own_opens_from_its_call_and_q_comes_back() {
    let folder = TempDir::new().unwrap();
    let prompt = "Find every caller of pay.";
    let mut main = Log::default();
    main.user("Write the shop.".into());
    let task = json!({"description": "find callers", "prompt": prompt, "subagent_type": "general"});
    main.call("Task", task, "There are two.", 100);
    fs::write(folder.path().join("s.jsonl"), main.lines.join("\n") + "\n").unwrap();
    let mut side = Log::default();
    side.push("user", true, json!({"role": "user", "content": prompt}));
    side.reply(
        true,
        json!({"type": "text", "text": "I grep for pay."}),
        100,
    );
    let stray = json!([{"type": "tool_result", "tool_use_id": "zz", "content": "x"}]);
    side.push("user", true, json!({"role": "user", "content": stray}));
    let below = folder.path().join("s/subagents");
    fs::create_dir_all(&below).unwrap();
    fs::write(below.join("agent-1.jsonl"), side.lines.join("\n") + "\n").unwrap();

    let mut terminal = open(&folder, &["s.jsonl"]);
    sees(&mut terminal, "sub-agent, 2 turns");
    sees(&mut terminal, "20.2k tok");
    press(&mut terminal, "J", "▌          ✓ Task(");
    press(&mut terminal, "\n", "I grep for pay.");
    // At its start, not at what is wrong in it.
    sees(&mut terminal, "1 error");
    sees(&mut terminal, "] finding");
    let screen = terminal.screen().to_string();
    let rows: Vec<_> = screen.lines().filter(|row| row.contains('▌')).collect();
    assert!(
        matches!(rows[..], [row] if row.contains(prompt)),
        "{screen}"
    );
    press(&mut terminal, "q", "Task(find callers)");
    press(&mut terminal, "U", "1 sub-agent, 20.2k tok");
    terminal.send(Key::Esc);
    // What is wrong in it is counted here, and led to.
    sees(&mut terminal, "1 error in sub-agents");
    press(&mut terminal, "]", "orphan-output");
    terminal.send(Key::Esc);
    sees(&mut terminal, "Task(find callers)");
    press(&mut terminal, "5", "2  sub-agent 1  Find every caller");
    press(&mut terminal, "j\n", "orphan-output");
    terminal.send(Key::Esc);
    sees(&mut terminal, "Sessions 2");
    terminal.send(Key::Char('Q'));
    assert!(terminal.wait_exit().unwrap().success());
}
