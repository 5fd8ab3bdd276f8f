//! A window that changes its size all the time, as under a tiling window manager or a multiplexer, while keys, a growing file and the
//! stream of a live run make the screen draw: nothing may panic.

use std::fs::{self, OpenOptions};
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use termlens::{Key, Terminal};

const RETAKE: &str = env!("CARGO_BIN_EXE_retake");
const SIZES: &[(u16, u16)] = &[
    (140, 50),
    (100, 24),
    (80, 24),
    (20, 5),
    (120, 10),
    (200, 60),
    (40, 10),
    (41, 11),
    (99, 24),
];

/// How many times the size changes.
fn rounds() -> usize {
    match std::env::var_os("RETAKE_LONG").is_some() {
        true => 1000,
        false => 40,
    }
}

fn start(folder: &TempDir, arguments: &[&str]) -> Terminal {
    let home = folder.path().to_str().unwrap();
    let terminal = Terminal::builder()
        .size(140, 50)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("HOME", home)
        .env("XDG_STATE_HOME", home)
        .timeout(Duration::from_secs(60))
        .current_dir(folder.path())
        .args(arguments);
    terminal.spawn(RETAKE).unwrap()
}

#[track_caller]
fn sees(terminal: &mut Terminal, text: &str) {
    if terminal.wait_until(|screen| screen.contains(text)).is_err() {
        panic!("{text:?} is not on\n{}", terminal.screen());
    }
}

/// Changes the size in all rounds, with `between` after each, and sees that the program is still there.
#[track_caller]
fn storm(mut terminal: Terminal, text: &str, mut between: impl FnMut(&mut Terminal, usize)) {
    for round in 0..rounds() {
        let (columns, rows) = SIZES[round * 7 % SIZES.len()];
        terminal.resize(columns, rows).unwrap();
        between(&mut terminal, round);
        let pause = [0, 1, 4, 16][round % 4];
        std::thread::sleep(Duration::from_millis(pause));
    }
    for _ in 0..4 {
        terminal.send(Key::Esc);
    }
    terminal.resize(140, 50).unwrap();
    terminal.send(Key::Ctrl('l'));
    sees(&mut terminal, text);
    terminal.send(Key::Char('Q'));
    let asked = terminal.wait_until_for(|screen| screen.contains("y yes"), Duration::from_secs(1));
    if asked.is_ok() {
        terminal.send(Key::Char('y'));
    }
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn keys_and_what_lies_over_the_panes() {
    let folder = TempDir::new().unwrap();
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/broken-json.json");
    let mut terminal = start(&folder, &[path.to_str().unwrap()]);
    sees(&mut terminal, "2 warnings");
    let keys = [
        "j", "]", "?", "\u{1b}", "4", "j", "1", "i", "\u{1b}", "H", "L", "\u{1b}", "=", "G", "f",
        "\u{1b}", "g", ":", "\u{1b}", "\r", "\u{1b}", "3", "G", "t", "1",
    ];
    storm(terminal, "broken-json.json", |terminal, round| {
        terminal.send_str(keys[round % keys.len()]);
    });
}

#[test]
fn a_file_that_grows_while_it_is_followed() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("grows.jsonl");
    let line = |number: usize| {
        format!("{{\"role\":\"user\",\"content\":\"line {number} of a log that goes on\"}}\n")
    };
    fs::write(&path, (0..20).map(line).collect::<String>()).unwrap();
    let mut terminal = start(&folder, &["grows.jsonl"]);
    sees(&mut terminal, "line 9 ");
    terminal.send(Key::Char('F'));
    sees(&mut terminal, "follow");
    sees(&mut terminal, "line 19");
    let mut file = OpenOptions::new().append(true).open(&path).unwrap();
    storm(terminal, "grows.jsonl", |_, round| {
        file.write_all(line(round + 20).as_bytes()).unwrap();
    });
}

fn slow_agent(folder: &TempDir) -> PathBuf {
    let agent = "name = \"slow\"\ninput = \"Tell me a long story.\"\nmax_turns = 4\n\
                 [model]\ndialect = \"responses\"\nscript = \"slow.script.toml\"\n";
    let text = "and then ".repeat(20_000);
    let script = format!("[[rule]]\nchunk = 9\nchunk_ms = 2\ntext = \"Once upon a time {text}\"\n");
    fs::write(folder.path().join("slow.script.toml"), script).unwrap();
    let path = folder.path().join("slow.toml");
    fs::write(&path, agent).unwrap();
    path
}

#[test]
fn a_reply_that_streams() {
    let folder = TempDir::new().unwrap();
    let agent = slow_agent(&folder);
    let agent = agent.to_str().unwrap();
    let mut terminal = start(&folder, &["run", agent, "--journal", "run.jsonl"]);
    sees(&mut terminal, "and then");
    let keys = ["j", "k", "3", "G", "1", "L", "\u{1b}"];
    storm(terminal, "slow", |terminal, round| {
        if round % 3 == 0 {
            terminal.send_str(keys[round % keys.len()]);
        }
    });
}
