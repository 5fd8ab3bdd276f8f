//! The wording lab in a real pseudo-terminal: from a finding to the table, from the table to a sample and back, and what the winner
//! becomes.

use std::path::Path;
use std::time::Duration;
use tempfile::TempDir;
use termlens::{Key, Terminal};

const RETAKE: &str = env!("CARGO_BIN_EXE_retake");

/// The debugger on a bundled session, with its own files in a folder.
fn open(folder: &TempDir, size: (u16, u16), session: &str) -> Terminal {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    Terminal::builder()
        .size(size.0, size.1)
        .env_clear()
        .env("LANG", "C.UTF-8")
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", folder.path().to_str().unwrap())
        .timeout(Duration::from_secs(60))
        .current_dir(root)
        .arg(root.join("sessions").join(session).to_str().unwrap())
        .spawn(RETAKE)
        .unwrap()
}

#[track_caller]
fn sees(terminal: &mut Terminal, text: &str) {
    if terminal.wait_until(|screen| screen.contains(text)).is_err() {
        panic!("{text:?} is not on\n{}", terminal.screen());
    }
}

fn press(terminal: &mut Terminal, keys: &str) {
    for letter in keys.chars() {
        terminal.send(Key::Char(letter));
    }
}

/// Asks for the bundled script as the model, and so many samples.
fn begin(terminal: &mut Terminal, samples: &str) {
    press(terminal, "]W");
    sees(terminal, "7 wordings, 0 models");
    // Nothing can begin without a model: it is asked for.
    terminal.send(Key::Enter);
    sees(terminal, "model");
    press(terminal, "sessions/lab/stock.script.toml");
    terminal.send(Key::Enter);
    sees(terminal, "7 wordings, 1 model: 140 requests at most");
    press(terminal, "jje");
    take_samples(terminal, samples);
}

fn take_samples(terminal: &mut Terminal, samples: &str) {
    for _ in 0..2 {
        terminal.send(Key::Backspace);
    }
    press(terminal, samples);
    terminal.send(Key::Enter);
}

#[test]
fn seven_wordings_are_compared_and_a_sample_is_opened() {
    let folder = TempDir::new().unwrap();
    let mut terminal = open(&folder, (120, 36), "unknown-tool-recovered.jsonl");
    sees(&mut terminal, "2 warnings");
    begin(&mut terminal, "12");
    sees(&mut terminal, "1 model: 84 requests at most");
    terminal.send(Key::Enter);
    sees(&mut terminal, "84 requests");
    sees(&mut terminal, "finished");
    sees(&mut terminal, "[scripted] the model is a script");
    sees(
        &mut terminal,
        "corrected means: a sound call of stock_lookup",
    );

    press(&mut terminal, "j");
    terminal.send(Key::Enter);
    sees(&mut terminal, "nearest-and-list: 12 samples");
    sees(&mut terminal, "calls stock_lookup");
    terminal.send(Key::Enter);
    sees(&mut terminal, "take ");
    sees(&mut terminal, "○ stock_lookup(BR-2210)  pending-call");
    press(&mut terminal, "q");
    sees(&mut terminal, "nearest-and-list: 12 samples");
    press(&mut terminal, "q");
    sees(&mut terminal, "vs baseline");
    press(&mut terminal, "y");
    sees(&mut terminal, "what nearest-and-list becomes");
    sees(&mut terminal, "[on.unknown-tool]");
    terminal.send(Key::Esc);
    // A key right behind it would be read as one with Alt.
    let is_left = terminal.wait_until(|screen| !screen.contains("what nearest-and-list becomes"));
    assert!(is_left.is_ok(), "{}", terminal.screen());
    press(&mut terminal, "q");
    sees(&mut terminal, "▌ ▲ lookup_stock(");
    press(&mut terminal, "Q");
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn an_experiment_on_a_small_screen_is_left_and_goes_on_where_it_was() {
    let folder = TempDir::new().unwrap();
    let mut terminal = open(&folder, (80, 24), "unknown-tool-recovered.jsonl");
    sees(&mut terminal, "▲ 2");
    begin(&mut terminal, "2");
    sees(&mut terminal, "14 requests at most");
    terminal.send(Key::Enter);
    sees(&mut terminal, "finished");
    press(&mut terminal, "+");
    sees(&mut terminal, "84 requests");
    sees(&mut terminal, "finished");
    press(&mut terminal, "q");
    sees(&mut terminal, "unknown-tool");
    // The model is the one of the last time.
    press(&mut terminal, "W");
    sees(&mut terminal, "7 wordings, 1 model: 140 requests");
    press(&mut terminal, "jjjjjjjjje");
    take_samples(&mut terminal, "12");
    sees(&mut terminal, "84 requests at most");
    terminal.send(Key::Enter);
    // All of them are there already.
    sees(&mut terminal, "finished");
    sees(&mut terminal, "84 requests");
    press(&mut terminal, "Q");
    assert!(terminal.wait_exit().unwrap().success());
}

#[test]
fn a_wording_of_the_table_is_injected_and_the_library_says_how_often_it_helped() {
    let folder = TempDir::new().unwrap();
    let mut terminal = open(&folder, (120, 36), "unknown-tool-recovered.jsonl");
    sees(&mut terminal, "2 warnings");
    begin(&mut terminal, "2");
    sees(&mut terminal, "14 requests at most");
    terminal.send(Key::Enter);
    sees(&mut terminal, "finished");
    press(&mut terminal, "ji");
    sees(&mut terminal, "inject error: lookup_stock");
    sees(&mut terminal, "▸ nearest-and-list          100 % of 2");
    sees(&mut terminal, "There is no tool named \"lookup_stock\".");
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "~ item 5  output");
    terminal.send(Key::Esc);
    sees(&mut terminal, "the model reads");
    terminal.send(Key::Esc);
    sees(&mut terminal, "▌ ▲ lookup_stock(");

    // What was typed is there the next time, also in another process.
    press(&mut terminal, "W");
    sees(&mut terminal, "7 wordings, 1 model");
    press(&mut terminal, "a");
    sees(&mut terminal, "your own wording");
    terminal.send(Key::Ctrl('s'));
    sees(&mut terminal, "8 wordings, 1 model");
    press(&mut terminal, "Q");
    assert!(terminal.wait_exit().unwrap().success());
    let mut terminal = open(&folder, (120, 36), "unknown-tool-recovered.jsonl");
    sees(&mut terminal, "2 warnings");
    press(&mut terminal, "]W");
    sees(&mut terminal, "8 wordings, 1 model");
    sees(&mut terminal, "own-1");
    press(&mut terminal, "Q");
    assert!(terminal.wait_exit().unwrap().success());
}
