//! Live runs in a real pseudo-terminal: the demo from its first pause to the comparison of two takes, and what is left of a run
//! whose process is killed, hung up or asked to end.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;
use tempfile::TempDir;
use termlens::{Key, Signal, Terminal};

const RETAKE: &str = env!("CARGO_BIN_EXE_retake");

fn bundled(agent: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("sessions/agents");
    folder.join(agent)
}

/// The debugger with its files in a folder of their own.
fn start(folder: &TempDir, size: (u16, u16), arguments: &[&str]) -> Terminal {
    let home = folder.path().to_str().unwrap();
    let terminal = Terminal::builder()
        .size(size.0, size.1)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", home)
        .timeout(Duration::from_secs(40))
        .current_dir(folder.path());
    let named = arguments.iter();
    let terminal = named.fold(terminal, |terminal, argument| terminal.arg(*argument));
    terminal.spawn(RETAKE).unwrap()
}

/// Begins a run of an agent; its journal is `run.jsonl`.
fn run(folder: &TempDir, size: (u16, u16), agent: &Path) -> Terminal {
    let agent = agent.to_str().unwrap();
    start(folder, size, &["run", agent, "--journal", "run.jsonl"])
}

#[track_caller]
fn sees(terminal: &mut Terminal, text: &str) {
    if terminal.wait_until(|screen| screen.contains(text)).is_err() {
        panic!("{text:?} is not on\n{}", terminal.screen());
    }
}

#[track_caller]
fn lacks(terminal: &Terminal, text: &str) {
    let screen = terminal.screen();
    assert!(!screen.contains(text), "{text:?} is on\n{screen}");
}

fn press(terminal: &mut Terminal, letter: char) {
    terminal.send(Key::Char(letter));
}

#[track_caller]
fn quit(mut terminal: Terminal) {
    press(&mut terminal, 'Q');
    assert!(terminal.wait_exit().unwrap().success());
}

/// An agent whose model answers so slowly that it can be watched, and how much of its answer there is.
fn slow_agent(folder: &TempDir) -> PathBuf {
    let agent = r#"
name = "slow"
input = "Tell me a long story."
max_turns = 4
[model]
dialect = "responses"
script = "slow.script.toml"
"#;
    let text = "and then ".repeat(400);
    let script =
        format!("[[rule]]\nchunk = 9\nchunk_ms = 100\ntext = \"Once upon a time {text}\"\n");
    fs::write(folder.path().join("slow.script.toml"), script).unwrap();
    let path = folder.path().join("slow.toml");
    fs::write(&path, agent).unwrap();
    path
}

#[test]
fn two_wordings_of_an_error_make_two_takes_of_which_one_ends_well() {
    let folder = TempDir::new().unwrap();
    let mut terminal = run(&folder, (100, 30), &bundled("flights.toml"));
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    sees(&mut terminal, "1 error");
    lacks(&terminal, "pending-call");
    press(&mut terminal, 'Z');
    sees(&mut terminal, "model, turn 3  290 tokens in");
    press(&mut terminal, 'Z');

    press(&mut terminal, 'i');
    sees(&mut terminal, "the model reads");
    sees(&mut terminal, "The nearest on offer:");
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "next: a request to the model");
    terminal.send(Key::Enter);
    sees(&mut terminal, "finished");
    sees(&mut terminal, "take 2 of 2");
    sees(&mut terminal, "TP 204");

    press(&mut terminal, 'u');
    sees(&mut terminal, "take 1 of 2");
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    press(&mut terminal, 'i');
    sees(&mut terminal, "the model reads");
    terminal.send(Key::Tab);
    press(&mut terminal, 'j');
    sees(&mut terminal, "the fact only");
    terminal.send(Key::Enter);
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "next: a request to the model");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 3 of 3");
    sees(&mut terminal, "That did not work.");
    sees(&mut terminal, "paused: unknown-tool serch_flights");

    press(&mut terminal, 'T');
    sees(&mut terminal, "first request");
    sees(&mut terminal, "take 2  inject error");
    sees(&mut terminal, "take 3  inject error");
    for key in ['k', 'm', 'j', 'd'] {
        press(&mut terminal, key);
    }
    sees(&mut terminal, "take 2 / take 3");
    terminal.send(Key::Esc);
    sees(&mut terminal, "first request");
    terminal.send(Key::Esc);
    sees(&mut terminal, "● serch_flights(");
    quit(terminal);
}

#[test]
fn a_run_whose_only_call_was_dropped_asks_the_model_again_and_does_not_end_on_what_is_left_of_its_reply()
 {
    let folder = TempDir::new().unwrap();
    let mut terminal = run(&folder, (100, 30), &bundled("flights.toml"));
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    press(&mut terminal, 'x');
    sees(&mut terminal, "the run pauses here: c sends the request");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take 2: drop pair");
    sees(&mut terminal, "c continue");
    lacks(&terminal, "finished");
    press(&mut terminal, 'c');
    sees(&mut terminal, "I am sorry, I cannot search for flights");
    sees(&mut terminal, "finished");
    quit(terminal);
}

#[test]
fn a_run_that_is_killed_at_a_pause_is_opened_again_and_goes_on() {
    let folder = TempDir::new().unwrap();
    let mut terminal = run(&folder, (100, 30), &bundled("flights.toml"));
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    terminal.signal(Signal::Kill).unwrap();
    assert!(!terminal.wait_exit().unwrap().success());

    let mut terminal = start(&folder, (100, 30), &["run.jsonl"]);
    sees(&mut terminal, "1 error");
    sees(&mut terminal, "take 1 of 1");
    sees(&mut terminal, "[scripted]");
    sees(&mut terminal, "interrupted");
    sees(&mut terminal, "c continue");
    press(&mut terminal, 'c');
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    lacks(&terminal, "interrupted");
    press(&mut terminal, 's');
    sees(&mut terminal, "enter accept");
    terminal.send(Key::Enter);
    sees(&mut terminal, "finished");
    sees(&mut terminal, "TP 204");
    quit(terminal);
    let mut terminal = start(&folder, (100, 30), &["run.jsonl"]);
    sees(&mut terminal, "take 2 of 2");
    lacks(&terminal, "interrupted");
    quit(terminal);
}

#[test]
fn a_run_that_goes_on_after_it_was_killed_keeps_its_breakpoints() {
    let folder = TempDir::new().unwrap();
    let agent = bundled("flights.toml");
    let agent = agent.to_str().unwrap();
    let places = ["--break", "tool search_flights", "--break", "once turn 9"];
    let arguments = [&["run", agent, "--journal", "run.jsonl"][..], &places].concat();
    let mut terminal = start(&folder, (100, 30), &arguments);
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    terminal.signal(Signal::Kill).unwrap();
    assert!(!terminal.wait_exit().unwrap().success());

    let mut terminal = start(&folder, (100, 30), &["run.jsonl"]);
    sees(&mut terminal, "interrupted");
    press(&mut terminal, 'B');
    sees(&mut terminal, "[x]  1       tool search_flights");
    sees(&mut terminal, "[x]  2 once  turn 9");
    terminal.send(Key::Esc);
    press(&mut terminal, 'c');
    sees(&mut terminal, "paused: unknown-tool serch_flights");
    press(&mut terminal, 's');
    sees(&mut terminal, "enter accept");
    terminal.send(Key::Enter);
    sees(&mut terminal, "paused: breakpoint 1, tool search_flights");
    terminal.signal(Signal::Kill).unwrap();
}

/// An agent whose tool does this, and leaves a file once it has started.
fn refunding_agent(folder: &TempDir, does: &str) -> PathBuf {
    let agent = r#"
name = "refunds"
input = "Refund order 7."
[model]
dialect = "responses"
script = "refunds.script.toml"
[[tools]]
name = "refund"
description = "pays back"
approval = "never"
command = ["sh", "-c", "DOES"]
parameters = { type = "object", properties = { order = { type = "integer" } }, required = ["order"] }
"#;
    let script = "[[rule]]\nturn = 1\ncalls = [{ name = \"refund\", arguments = { order = 7 } }]\n\
        [[rule]]\ntext = \"Done.\"\n";
    fs::write(folder.path().join("refunds.script.toml"), script).unwrap();
    let path = folder.path().join("refunds.toml");
    fs::write(&path, agent.replace("DOES", does)).unwrap();
    path
}

const SLOW: &str = "touch started; sleep 300";
/// It does not end when it is asked to: it is killed.
const STUBBORN: &str = "trap '' TERM; touch started; sleep 300";

/// The refund has started, and the end of the terminal's process is next.
fn while_it_refunds(folder: &TempDir, does: &str) -> Terminal {
    let agent = refunding_agent(folder, does);
    let agent = agent.to_str().unwrap();
    let arguments = ["run", agent, "--trust", "--journal", "run.jsonl"];
    let mut terminal = start(folder, (120, 30), &arguments);
    sees(&mut terminal, "refund");
    let deadline = std::time::Instant::now() + Duration::from_secs(40);
    while !folder.path().join("started").exists() {
        assert!(std::time::Instant::now() < deadline, "the tool starts");
        std::thread::sleep(Duration::from_millis(20));
    }
    terminal
}

fn told(folder: &TempDir, arguments: &[&str]) -> String {
    let mut command = std::process::Command::new(RETAKE);
    let command = command.args(arguments).current_dir(folder.path());
    let output = command.env("HOME", folder.path()).output().unwrap();
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn of_a_tool_that_ran_when_retake_was_killed_everything_says_so_at_once() {
    let folder = TempDir::new().unwrap();
    let mut terminal = while_it_refunds(&folder, SLOW);
    terminal.signal(Signal::Kill).unwrap();
    terminal.wait_exit().unwrap();

    let found = told(&folder, &["check", "run.jsonl"]);
    assert!(found.contains("refund had started"), "{found}");
    assert!(found.contains("it may have run"), "{found}");
    assert!(found.contains("cause: run broke off"), "{found}");
    assert!(found.contains("supply-output"), "{found}");
    assert!(!found.contains("wait (safe)"), "{found}");

    let mut terminal = start(&folder, (120, 30), &["run.jsonl"]);
    sees(&mut terminal, "1 warning");
    sees(&mut terminal, "refund had started when the recording ended");
    press(&mut terminal, '!');
    sees(&mut terminal, "it may have run");
    lacks(&terminal, "Nothing is broken");
    terminal.send(Key::Esc);
    press(&mut terminal, 'c');
    sees(&mut terminal, "may have run");
    quit(terminal);
}

#[test]
fn a_run_that_is_asked_to_end_closes_its_calls_and_says_where_it_is() {
    let ends = [
        (Signal::Term, SLOW),
        (Signal::Hup, SLOW),
        (Signal::Term, STUBBORN),
    ];
    for (signal, tool) in ends {
        let folder = TempDir::new().unwrap();
        let mut terminal = while_it_refunds(&folder, tool);
        terminal.signal(signal).unwrap();
        terminal.wait_exit().unwrap();
        if signal == Signal::Term {
            sees(&mut terminal, "the run is in run.jsonl: reopen with");
        }
        let history = told(&folder, &["show", "run.jsonl"]);
        assert!(history.contains("It may have done its work"), "{history}");
    }
}

#[test]
fn a_finished_run_goes_on_with_the_next_message() {
    let folder = TempDir::new().unwrap();
    let mut terminal = run(&folder, (100, 30), &bundled("final.toml"));
    sees(&mut terminal, "c next message");
    press(&mut terminal, 'c');
    sees(&mut terminal, "the next message");
    for letter in "and back?".chars() {
        press(&mut terminal, letter);
    }
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "reply 2");
    sees(&mut terminal, "and back?");
    quit(terminal);
}

#[test]
fn a_reply_is_seen_as_it_comes_and_a_resize_does_not_disturb_it() {
    let folder = TempDir::new().unwrap();
    let agent = slow_agent(&folder);
    let mut terminal = run(&folder, (80, 24), &agent);
    sees(&mut terminal, "streaming the reply");
    sees(&mut terminal, "and then");
    // The emulator may take its new size after the program has: what was drawn in between is drawn anew.
    terminal.resize(120, 40).unwrap();
    terminal.send(Key::Ctrl('l'));
    sees(&mut terminal, "Once upon a time");
    press(&mut terminal, '|');
    sees(&mut terminal, "Reply, streaming");
    sees(&mut terminal, "Once upon a time");
    press(&mut terminal, '|');
    terminal.resize(80, 24).unwrap();
    terminal.send(Key::Ctrl('l'));
    sees(&mut terminal, "streaming the reply");
    press(&mut terminal, 'X');
    sees(&mut terminal, "Abort the run?");
    press(&mut terminal, 'y');
    sees(&mut terminal, "ended: aborted");
    lacks(&terminal, "streaming the reply");
    quit(terminal);
}

#[test]
fn a_hang_up_or_a_request_to_end_in_the_middle_of_a_reply_leaves_a_journal_that_opens() {
    for signal in [Signal::Hup, Signal::Term] {
        let folder = TempDir::new().unwrap();
        let agent = slow_agent(&folder);
        let mut terminal = run(&folder, (80, 24), &agent);
        sees(&mut terminal, "streaming the reply");
        terminal.signal(signal).unwrap();
        terminal.wait_exit().unwrap();
        let mut terminal = start(&folder, (80, 24), &["run.jsonl"]);
        sees(&mut terminal, "Tell me a long story.");
        sees(&mut terminal, "take 1");
        quit(terminal);
    }
}

#[test]
fn on_a_small_screen_the_pause_and_the_keys_that_settle_it_are_seen() {
    let folder = TempDir::new().unwrap();
    let mut terminal = run(&folder, (80, 24), &bundled("flights.toml"));
    sees(
        &mut terminal,
        "paused: unknown-tool serch_flights  [scripted]",
    );
    sees(&mut terminal, "s suggestion  i inject  A release");
    sees(&mut terminal, "▌ ● serch_flights(");
    press(&mut terminal, '3');
    sees(&mut terminal, "Item 5  call");
    sees(&mut terminal, "nearest: search_flights");
    quit(terminal);
}

/// An agent that may ask its model once, and whose model goes on calling.
fn limited_agent(folder: &TempDir) -> PathBuf {
    let agent = r#"
name = "limited"
input = "What is my balance?"
max_turns = 1
[model]
dialect = "chat"
script = "limited.script.toml"
[[tools]]
name = "look"
canned = "42 EUR"
"#;
    let script = "[[rule]]\ncalls = [{ name = \"look\", arguments = { id = 7 } }]\n";
    fs::write(folder.path().join("limited.script.toml"), script).unwrap();
    let path = folder.path().join("limited.toml");
    fs::write(&path, agent).unwrap();
    path
}

#[test]
fn at_the_turn_limit_the_operator_s_fallback_is_the_result() {
    let folder = TempDir::new().unwrap();
    let mut terminal = run(&folder, (150, 30), &limited_agent(&folder));
    sees(&mut terminal, "paused: all 1 replies are used");
    press(&mut terminal, 'a');
    sees(&mut terminal, "include in the history that the model sees");
    for letter in "no answer".chars() {
        press(&mut terminal, letter);
    }
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "\"content\": \"no answer\"");
    terminal.send(Key::Enter);
    sees(&mut terminal, "ended: fallback");
    sees(&mut terminal, "no answer");
    quit(terminal);
}

#[test]
fn who_leaves_a_run_reads_where_it_is_and_finds_it_there_under_its_agent_s_name() {
    let folder = TempDir::new().unwrap();
    let agent = limited_agent(&folder);
    let mut terminal = run(&folder, (150, 30), &agent);
    sees(&mut terminal, "paused: all 1 replies are used");
    press(&mut terminal, 'Q');
    sees(
        &mut terminal,
        "the run is in run.jsonl: reopen with `retake run.jsonl`; c continues a run that has not ended",
    );
    assert!(terminal.wait_exit().unwrap().success());

    let mut terminal = start(&folder, (150, 30), &["run.jsonl"]);
    sees(&mut terminal, "take 1 of 1");
    sees(&mut terminal, "limited");
    lacks(&terminal, "run.jsonl");
    press(&mut terminal, 'L');
    sees(&mut terminal, "agent limited, model scripted");
    lacks(&terminal, "    0.000");
    quit(terminal);
}
