//! How a proxy is left while something is held, and what is there after it was killed.

use super::{BROKEN, Came, Desk, SOUND, WIDE, spawn};
use retake_core::session::Dialect;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use tempfile::TempDir;
use termlens::{Key, Signal};

#[test]
fn leaving_asks_while_something_is_held_and_ends_it() {
    let mut desk = Desk::new(WIDE, &[]);
    let client = desk.ask(Dialect::Chat, true, BROKEN);
    desk.sees("1 held");
    for key in ['q', 'Q'] {
        desk.press(key);
        desk.sees("1 held exchange would end with the proxy");
        desk.press('n');
        desk.lacks("would end with the proxy");
    }
    assert!(client.waits());
    desk.press('q');
    desk.sees("would end with the proxy");
    desk.press('y');
    assert!(desk.terminal.wait_exit().unwrap().success());
    assert!(matches!(client.came(), Came::Cut | Came::Reply(..)));
}

#[test]
fn q_ends_no_proxy_at_once_that_agents_have_used() {
    let mut desk = Desk::new(WIDE, &[]);
    let client = desk.ask(Dialect::Chat, true, BROKEN);
    desk.sees("1 held");
    desk.enter();
    desk.sees("paused: unknown-tool serch_flights");
    desk.press('s');
    desk.sees("take the suggestion");
    desk.enter();
    // The list comes back by itself, below a finger that goes to `q`.
    desk.sees("exchange 1: fixed");
    desk.press('q');
    desk.sees("Quit?");
    desk.press('n');
    desk.lacks("Quit?");
    assert!(client.body().contains("search_flights"));
    let again = desk.ask(Dialect::Chat, true, SOUND).body();
    assert!(again.contains("search_flights"));
    desk.quit();
}

#[test]
fn a_proxy_that_nobody_has_used_is_left_by_one_key() {
    let mut desk = Desk::new(WIDE, &[]);
    desk.sees("no exchange yet");
    desk.press('q');
    assert!(desk.terminal.wait_exit().unwrap().success());
}

#[test]
fn a_panic_of_the_screen_gives_held_clients_what_came() {
    for is_open in [false, true] {
        let folder = TempDir::new().unwrap();
        let mut desk = Desk::start(folder, WIDE, &[], &[("RETAKE_PANIC", "screen")]);
        let whole = desk.ask(Dialect::Chat, false, BROKEN);
        desk.sees("1 held");
        let stream = desk.ask(Dialect::Responses, true, BROKEN);
        desk.sees("2 held");
        if is_open {
            desk.enter();
            desk.sees("paused: unknown-tool serch_flights");
        }
        desk.terminal.send(Key::F(12));
        assert_eq!(desk.terminal.wait_exit().unwrap().code(), 101);
        assert!(!desk.terminal.screen().alternate_screen());
        for client in [whole, stream] {
            let body = client.body();
            assert!(body.contains("serch_flights"), "{body}");
        }
        let holds = desk.folder.path().join("retake/proxy");
        let journals = fs::read_dir(holds)
            .unwrap()
            .map(|entry| entry.unwrap().path());
        let mut journals = journals.filter(|path| path.extension().is_some_and(|it| it == "jsonl"));
        let journal = fs::read_to_string(journals.next().unwrap()).unwrap();
        assert!(journal.contains("released"), "{journal}");
    }
}

#[test]
fn what_was_held_when_the_proxy_was_killed_is_told_at_the_next_start_and_opens() {
    let mut desk = Desk::new(WIDE, &[]);
    let client = desk.ask(Dialect::Responses, true, BROKEN);
    desk.sees("1 held");
    desk.enter();
    desk.sees("paused: unknown-tool serch_flights");
    desk.terminal.signal(Signal::Kill).unwrap();
    desk.terminal.wait_exit().unwrap();
    assert_eq!(client.came(), Came::Cut);

    let Desk { folder, .. } = desk;
    // An upstream that would notice a request.
    let listener = TcpListener::bind(("127.0.0.1", 0)).unwrap();
    let address = listener.local_addr().unwrap();
    listener.set_nonblocking(true).unwrap();
    let mut desk = Desk::before(address, None, folder, WIDE, &[], &[]);
    desk.sees("exchange 1 was held when retake was ended");
    desk.sees("no exchange yet");
    desk.press('L');
    desk.sees("nothing of it is sent again");
    desk.press('q');
    desk.lacks("nothing of it is sent again");
    let asked = listener.accept().map(|(_, client)| client);
    assert_eq!(asked.unwrap_err().kind(), ErrorKind::WouldBlock);

    let holds = desk.folder.path().join("retake/proxy");
    let holds = fs::read_dir(holds)
        .unwrap()
        .map(|entry| entry.unwrap().path());
    let holds = holds.filter(|path| path.extension().is_some_and(|end| end == "holds"));
    let mut holds = holds.flat_map(|folder| fs::read_dir(folder).unwrap());
    let journal = holds.next().unwrap().unwrap().path();
    let mut debugger = spawn(&desk.folder, WIDE, &[journal.to_str().unwrap()], &[]);
    let is_open = debugger.wait_until(|screen| screen.contains("serch_flights"));
    assert!(is_open.is_ok(), "{}", debugger.screen());
    desk.press('q');
    assert!(desk.terminal.wait_exit().unwrap().success());
}
