//! WebSockets: they pass as they are, and their messages are read along.

use super::client::{Client, LONG, addressed, ask};
use super::fake::{Fake, reply};
use super::place::Proxy;
use retake_live::proxy::{Observer, SocketDirection};
use std::io::Write;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};
use tungstenite::protocol::{Message, Role, WebSocket};

/// Keeps texts with an arrow for their direction.
pub(super) struct Texts(pub(super) Arc<Mutex<Vec<String>>>);

impl Texts {
    fn keep(&self, direction: SocketDirection, text: &str) {
        let arrow = match direction {
            SocketDirection::ToUpstream => ">",
            SocketDirection::ToClient => "<",
        };
        self.0.lock().unwrap().push(format!("{arrow} {text}"));
    }
}

impl Observer for Texts {
    fn text(&mut self, direction: SocketDirection, text: &str) {
        self.keep(direction, text);
    }

    fn unreadable(&mut self, direction: SocketDirection) {
        self.keep(direction, "(unreadable)");
    }

    fn over(&mut self) {
        self.0.lock().unwrap().push("over".to_owned());
    }
}

pub(crate) const OPEN: &str = "GET /v1/responses HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nUpgrade: websocket\r\n\
    Connection: Upgrade\r\nAuthorization: Bearer k\r\nSec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\n\
    Sec-WebSocket-Version: 13\r\nSec-WebSocket-Extensions: permessage-deflate\r\n\r\n";

/// Agrees to a WebSocket and answers each text with two.
pub(crate) fn speaking() -> Fake {
    Fake::start(|_, stream| {
        let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\n\
            sec-websocket-accept: x\r\nsec-websocket-extensions: permessage-deflate\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        while let Ok(message) = socket.read() {
            if let Message::Text(text) = message {
                for answer in [format!("{text}!"), "done".to_owned()] {
                    socket.send(Message::text(answer)).unwrap();
                }
            }
        }
        false
    })
}

#[test]
fn a_websocket_of_responses_passes_and_its_messages_are_read_along() {
    let upstream = speaking();
    let proxy = Proxy::to(&upstream.url());
    let mut client = Client::connect(proxy.address);
    client.send(addressed(proxy.address, OPEN).as_bytes());
    let got = client.receive_any(LONG);
    assert_eq!(got.status, Some(101), "{got:?}");
    assert_eq!(got.header("sec-websocket-accept"), Some("x"));
    assert_eq!(got.header("sec-websocket-extensions"), None);
    let arrived = upstream.requests().pop().unwrap();
    assert_eq!(arrived.header("authorization"), Some("Bearer k"));
    assert_eq!(arrived.header("upgrade"), Some("websocket"));
    assert_eq!(arrived.header("sec-websocket-extensions"), None);

    let patience = Some(Duration::from_secs(30));
    client.stream.set_read_timeout(patience).unwrap();
    let mut socket = WebSocket::from_raw_socket(&mut client.stream, Role::Client, None);
    let long = "x".repeat(300_000);
    for text in ["{\"type\":\"response.create\"}", &long] {
        socket.send(Message::text(text)).unwrap();
        assert_eq!(
            socket.read().unwrap().into_text().unwrap().as_str(),
            format!("{text}!")
        );
        assert_eq!(socket.read().unwrap().into_text().unwrap().as_str(), "done");
    }
    socket.close(None).unwrap();
    drop(client);
    upstream.until_gone(1);
    let since = Instant::now();
    while proxy.told.texts.lock().unwrap().last().map(String::as_str) != Some("over") {
        assert!(since.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
    }
    let texts = proxy.told.texts.lock().unwrap().clone();
    let wanted = [
        "> {\"type\":\"response.create\"}".to_owned(),
        "< {\"type\":\"response.create\"}!".to_owned(),
        "< done".to_owned(),
        format!("> {long}"),
        format!("< {long}!"),
        "< done".to_owned(),
        "over".to_owned(),
    ];
    assert!(texts == wanted, "{} texts", texts.len());
}

#[test]
fn what_is_no_websocket_frame_passes_and_is_told_to_be_unreadable() {
    let upstream = speaking();
    let proxy = Proxy::to(&upstream.url());
    let mut client = Client::connect(proxy.address);
    client.send(addressed(proxy.address, OPEN).as_bytes());
    assert_eq!(client.receive_any(LONG).status, Some(101));
    client.send(&[0xff; 32]);
    drop(client);
    upstream.until_gone(1);
    let since = Instant::now();
    while proxy.told.texts.lock().unwrap().first().map(String::as_str) != Some("> (unreadable)") {
        assert!(since.elapsed() < LONG);
        std::thread::sleep(Duration::from_millis(5));
    }
}

#[test]
fn an_upstream_that_wants_no_websocket_says_so_itself() {
    let upstream = Fake::answering(reply("426 Upgrade Required", "x-why: no\r\n", "{}"));
    let proxy = Proxy::to(&upstream.url());
    let got = ask(proxy.address, OPEN);
    assert_eq!(
        (got.status, got.header("x-why"), got.text().as_str()),
        (Some(426), Some("no"), "{}")
    );
}

#[test]
fn c03_other_upgrades_are_refused_and_h2c_is_ignored() {
    let upstream = Fake::answering(reply("200 OK", "", "{}"));
    let proxy = Proxy::to(&upstream.url());
    for (from, to) in [
        ("/v1/responses", "/v1/chat/completions"),
        ("websocket", "irc"),
    ] {
        assert_eq!(
            ask(proxy.address, &OPEN.replace(from, to)).status,
            Some(501)
        );
    }
    assert_eq!(upstream.requests().len(), 0);
    let h2c = OPEN.replace("websocket\r", "h2c\r");
    assert_eq!(ask(proxy.address, &h2c).status, Some(200));
    assert_eq!(upstream.requests()[0].header("upgrade"), None);
}
