//! How a proxy is left while something is held, and what is there after it was killed.

use super::{BROKEN, Came, Desk, WIDE, spawn};
use retake::session::Dialect;
use std::fs;
use std::io::ErrorKind;
use std::net::TcpListener;
use termlens::Signal;

#[test]
fn leaving_asks_while_something_is_held_and_ends_it() {
    let mut desk = Desk::new(WIDE, &[]);
    let client = desk.ask(Dialect::Chat, true, BROKEN);
    desk.sees("1 held");
    for key in ['q', 'Q'] {
        desk.press(key);
        desk.sees("1 exchange is held and would end with the proxy");
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
    let mut desk = Desk::before(address, None, folder, WIDE, &[]);
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
    let mut debugger = spawn(&desk.folder, WIDE, &[journal.to_str().unwrap()]);
    let is_open = debugger.wait_until(|screen| screen.contains("serch_flights"));
    assert!(is_open.is_ok(), "{}", debugger.screen());
    desk.quit();
}
