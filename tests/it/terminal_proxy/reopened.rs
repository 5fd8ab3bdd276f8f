//! What passed through a proxy, read while it runs and once its recording is opened again.

use super::{BROKEN, Desk, spawn};
use retake_core::session::Dialect;
use std::net::TcpStream;
use termlens::Key;

const OTHER: &str = "Another flight, please.";

/// A proxy of whose two exchanges one was fixed and one released.
fn decided() -> Desk {
    let mut desk = Desk::new((110, 30), &["--journal", "p.jsonl"]);
    let first = desk.ask(Dialect::Chat, true, BROKEN);
    desk.sees("1 held");
    desk.enter();
    desk.sees("paused: unknown-tool serch_flights");
    desk.press('i');
    desk.sees("the model reads");
    desk.terminal.send(Key::Ctrl('s'));
    desk.sees("next: a request to the model");
    desk.enter();
    desk.sees("✓ fixed");
    assert!(first.body().contains("search_flights"));
    let second = desk.ask(Dialect::Chat, true, OTHER);
    desk.sees("1 held");
    desk.press('}');
    desk.press('a');
    desk.sees("○ released");
    assert!(second.body().contains("serch_flights"));
    desk
}

#[test]
fn the_list_shows_totals_and_timeline_of_what_is_recorded_so_far() {
    let mut desk = decided();
    desk.press('U');
    desk.sees("Usage of 2 conversations");
    desk.sees("elapsed: model");
    desk.terminal.send(Key::Esc);
    desk.sees("Exchanges 2");
    desk.press('Z');
    desk.sees("Timeline");
    desk.sees("held for a decision");
    desk.terminal.send(Key::Esc);
    desk.lacks("Timeline");
    desk.sees("Exchanges 2");
    // An agent would lose its model: from here, too, that is asked.
    let idle = TcpStream::connect(("127.0.0.1", desk.port)).unwrap();
    desk.press('Z');
    desk.sees("Timeline");
    desk.press('Q');
    desk.sees("1 client is connected");
    drop(idle);
    desk.press('n');
    desk.sees("Exchanges 2");
    desk.quit();
}

#[test]
fn where_nothing_is_recorded_yet_the_list_says_so() {
    let mut desk = Desk::new((80, 24), &[]);
    desk.press('U');
    desk.sees("no exchange yet");
    desk.press('q');
    assert!(desk.terminal.wait_exit().unwrap().success());
}

#[test]
fn a_recording_that_is_opened_again_has_the_log_the_states_and_both_sides() {
    let Desk {
        mut terminal,
        folder,
        port,
        _model: model,
    } = decided();
    terminal.send(Key::Char('q'));
    terminal.send(Key::Char('y'));
    assert!(terminal.wait_exit().unwrap().success());
    let mut desk = Desk {
        terminal: spawn(&folder, (110, 30), &["p.jsonl"], &[]),
        port,
        folder,
        _model: model,
    };
    desk.sees("conversation 1");
    desk.press('L');
    desk.sees("exchange 1 is held: unknown-tool");
    desk.sees("exchange 1: the operator: inject-error for unknown-tool");
    desk.sees("exchange 1: fixed: the agent got the corrected reply");
    desk.sees("exchange 2: released unchanged by operator");
    desk.press('L');
    desk.press('5');
    desk.sees(" fixed  ");
    desk.sees(" released  ");
    desk.press('g');
    desk.enter();
    desk.lacks("Sessions");
    desk.sees("○ search_flights(");
    desk.press('v');
    desk.sees("what the provider got and answered");
    desk.sees("serch_flights(");
    desk.press('v');
    desk.sees("what the agent sent and got");
    desk.sees("search_flights(");
    desk.press('Q');
    assert!(desk.terminal.wait_exit().unwrap().success());
}
