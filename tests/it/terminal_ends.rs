//! Ends that nobody asks for by a key, in a real pseudo-terminal: a panic, a signal, a terminal that is not read.

use portable_pty::{CommandBuilder, PtySize, native_pty_system};
use std::fs;
use std::io::Write as _;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};
use tempfile::TempDir;
use termlens::{Key, MouseMode, Signal, Terminal};

const RETAKE: &str = env!("CARGO_BIN_EXE_retake");

fn sessions() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions")
}

/// The program below a shell that tells how it ended. What it says on stderr is in `stderr`.
fn below_a_shell(folder: &TempDir, panics: &str, command: &str) -> Terminal {
    let script = format!(
        "stty -g > before; '{RETAKE}' {command} 2> stderr; echo code=$?; stty -g > after; echo READY; read line"
    );
    Terminal::builder()
        .size(110, 30)
        .env("LANG", "C.UTF-8")
        .env("RETAKE_PANIC", panics)
        .env("RUST_BACKTRACE", "0")
        .env("XDG_STATE_HOME", folder.path())
        .timeout(Duration::from_secs(40))
        .current_dir(folder.path())
        .args(["-c", &script])
        .spawn("sh")
        .unwrap()
}

#[track_caller]
fn sees(terminal: &mut Terminal, text: &str) {
    if terminal.wait_until(|screen| screen.contains(text)).is_err() {
        panic!("{text:?} is not on\n{}", terminal.screen());
    }
}

/// The terminal is as it was, the code is that of a panic, and its message is there.
#[track_caller]
fn assert_panicked(mut terminal: Terminal, folder: &TempDir, message: &str) {
    sees(&mut terminal, "READY");
    sees(&mut terminal, "code=101");
    let screen = terminal.screen();
    assert!(!screen.alternate_screen(), "the alternate screen was left");
    assert!(!screen.bracketed_paste(), "pastes are plain again");
    assert_eq!(screen.mouse_mode(), MouseMode::None, "the mouse is free");
    assert!(screen.cursor().2, "the cursor is shown");
    let read = |name: &str| fs::read_to_string(folder.path().join(name)).unwrap();
    assert_eq!(read("before"), read("after"), "raw mode is off");
    let told = read("stderr");
    assert!(told.contains("panicked at src/"), "{told}");
    assert_eq!(told.matches(message).count(), 1, "{told}");
    terminal.send(Key::Enter);
}

#[test]
fn a_panic_gives_the_terminal_back_and_tells_its_message() {
    for (panics, message) in [
        ("screen", "asked for on the screen"),
        ("worker", "asked for on another thread"),
    ] {
        let folder = TempDir::new().unwrap();
        let path = sessions().join("broken-json.json");
        let mut terminal = below_a_shell(&folder, panics, &format!("'{}'", path.display()));
        sees(&mut terminal, "2 warnings");
        terminal.send(Key::F(12));
        assert_panicked(terminal, &folder, message);
    }
}

#[test]
fn a_panic_in_a_run_leaves_a_journal_that_opens() {
    let folder = TempDir::new().unwrap();
    let agent = sessions().join("agents/flights.toml");
    let command = format!("run '{}' --journal run.jsonl", agent.display());
    let mut terminal = below_a_shell(&folder, "screen", &command);
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    terminal.send(Key::F(12));
    assert_panicked(terminal, &folder, "asked for on the screen");
    let mut terminal = below_a_shell(&folder, "", "run.jsonl");
    sees(&mut terminal, "take 1 of 1");
    sees(&mut terminal, "serch_flights");
    sees(&mut terminal, "[scripted]");
    terminal.send(Key::Char('c'));
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    terminal.send(Key::Char('Q'));
    sees(&mut terminal, "code=0");
}

#[test]
fn a_terminal_that_is_not_read_keeps_nobody_from_ending_the_program() {
    let folder = TempDir::new().unwrap();
    let pair = native_pty_system().openpty(PtySize {
        rows: 50,
        cols: 200,
        ..PtySize::default()
    });
    let pair = pair.unwrap();
    let mut command = CommandBuilder::new(RETAKE);
    command.arg(sessions().join("broken-json.json"));
    command.env_clear();
    command.env("LANG", "C.UTF-8");
    command.env("TERM", "xterm-256color");
    command.env("XDG_STATE_HOME", folder.path());
    let mut child = pair.slave.spawn_command(command).unwrap();
    let mut keys = pair.master.take_writer().unwrap();
    std::thread::sleep(Duration::from_millis(500));
    // Each draws the whole screen: more than any terminal takes without a reader.
    for _ in 0..150 {
        keys.write_all(b"\x0c").unwrap();
        std::thread::sleep(Duration::from_millis(10));
    }
    let pid = i32::try_from(child.process_id().unwrap()).unwrap();
    let pid = rustix::process::Pid::from_raw(pid).unwrap();
    rustix::process::kill_process(pid, rustix::process::Signal::TERM).unwrap();
    let deadline = Instant::now() + Duration::from_secs(30);
    let status = loop {
        if let Some(status) = child.try_wait().unwrap() {
            break status;
        }
        if Instant::now() > deadline {
            child.kill().unwrap();
            panic!("it goes on writing");
        }
        std::thread::sleep(Duration::from_millis(20));
    };
    assert_eq!(status.exit_code(), 143);
}

#[test]
fn interrupts_from_outside_give_the_terminal_back() {
    for (signal, code) in [(Signal::Int, 130), (Signal::Quit, 131)] {
        let mut terminal = Terminal::builder()
            .size(110, 30)
            .env_clear()
            .env("LANG", "C.UTF-8")
            .timeout(Duration::from_secs(40))
            .arg(sessions().join("broken-json.json"))
            .spawn(RETAKE)
            .unwrap();
        sees(&mut terminal, "2 warnings");
        terminal.signal(signal).unwrap();
        assert_eq!(terminal.wait_exit().unwrap().code(), code);
        let screen = terminal.screen();
        assert!(!screen.alternate_screen() && screen.cursor().2);
    }
}
