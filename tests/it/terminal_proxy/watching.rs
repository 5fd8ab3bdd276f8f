//! What is seen of a client that leaves, of a screen that shrinks, of an agent that the proxy has started.

use super::{BROKEN, Came, Desk, WIDE};
use retake_core::session::Dialect;
use termlens::Key;

#[test]
fn a_client_that_leaves_is_seen_to_be_gone_and_there_is_nothing_to_decide() {
    let mut desk = Desk::new(WIDE, &[]);
    let client = desk.ask(Dialect::Responses, true, BROKEN);
    desk.sees("1 held");
    desk.enter();
    desk.sees("i inject");
    client.leave();
    desk.sees("the client has left");
    desk.lacks("i inject");
    desk.sees("w save as");
    desk.sees("q close");
    desk.press('q');
    desk.sees("Exchanges 1");
    desk.sees("client left");
    desk.lacks("1 held");
}

#[test]
fn a_small_screen_and_a_resize_keep_what_is_held_in_sight() {
    let mut desk = Desk::new((80, 24), &[]);
    let client = desk.ask(Dialect::Chat, true, BROKEN);
    desk.sees("● held");
    desk.sees("enter open  a release");
    desk.sees("unknown-tool: serch_flights is not offered; nearest: search_flights (typo)");
    desk.enter();
    desk.sees("● unknown-tool ser");
    desk.sees("unknown-tool  serch_flights is not offered; nearest: search_flights");
    desk.terminal.resize(40, 12).unwrap();
    desk.terminal.send(Key::Ctrl('l'));
    desk.sees("unknown-tool  serch_flights is not");
    desk.terminal.resize(120, 40).unwrap();
    desk.terminal.send(Key::Ctrl('l'));
    desk.sees("i inject  A release");
    assert!(client.waits());
    // What is typed ahead is for the list.
    desk.press('q');
    desk.press('L');
    desk.sees("exchange 1 is held: unknown-tool");
    desk.press('q');
    desk.sees("● held");
    desk.press('a');
    assert!(matches!(client.came(), Came::Reply(..)));
    desk.sees("released");
    desk.quit();
}

#[test]
fn what_the_agent_says_that_the_proxy_has_started_is_shown_below_the_list() {
    let says = "echo at $OPENAI_BASE_URL; sleep 600";
    let mut desk = Desk::new(WIDE, &["--", "sh", "-c", says]);
    desk.sees("is running; o shows its output");
    desk.press('o');
    let at = format!("at http://127.0.0.1:{}/v1", desk.port);
    desk.sees(&at);
    desk.press('q');
    desk.lacks(&at);
    desk.press('q');
    desk.sees("is running and would be");
    desk.press('y');
    assert!(desk.terminal.wait_exit().unwrap().success());
}
