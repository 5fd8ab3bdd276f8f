//! Faults of clients: they leave, they are slow, they send too much.

use super::client::{CHAT, Client, LONG, MODELS, addressed};
use super::fake::{Fake, STREAM, chunk, ok};
use super::place::{LOCAL, Proxy};
use retake_core::exchange::ExchangeEnding;
use retake_live::proxy::{CertificateTrust, Listen, Patience};
use std::io::Write;
use std::net::Shutdown;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

/// Streams an event every 100 milliseconds until nobody takes it.
fn ticking() -> Fake {
    Fake::start(|_, stream| {
        let _ = stream.write_all(STREAM.as_bytes());
        while stream.write_all(&chunk(b"data: tick\n\n")).is_ok() {
            std::thread::sleep(Duration::from_millis(100));
        }
        false
    })
}

#[test]
fn b01_the_upstream_is_left_when_the_client_leaves_a_stream() {
    let upstream = ticking();
    let proxy = Proxy::to(&upstream.url());
    for (count, request) in [CHAT, MODELS].iter().enumerate() {
        let mut client = Client::connect(proxy.address);
        client.send(addressed(proxy.address, request).as_bytes());
        client.until_comes("data: tick");
        drop(client);
        let took = upstream.until_gone(count + 1);
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
    assert_eq!(proxy.until_passed(1)[0].ending, ExchangeEnding::ClientLeft);
}

#[test]
fn b07_two_hundred_exchanges_at_a_time_each_get_their_answer() {
    let upstream = Fake::start(|arrived, stream| {
        std::thread::sleep(Duration::from_millis(300));
        let asked = arrived.header("x-number").unwrap().to_owned();
        stream.write_all(&ok(&asked)).is_ok()
    });
    let proxy = Proxy::to(&upstream.url());
    let mut clients = Vec::new();
    for number in 0..200 {
        let mut client = Client::connect(proxy.address);
        let line = format!("\r\nx-number: {number}\r\n\r\n");
        let request = MODELS.replace("\r\n\r\n", &line);
        client.send(addressed(proxy.address, &request).as_bytes());
        clients.push(client);
    }
    for (number, client) in clients.iter_mut().enumerate() {
        let got = client.receive(LONG);
        assert_eq!((got.status, got.text()), (Some(200), number.to_string()));
    }
}

#[test]
fn b08_a_client_that_reads_slowly_slows_the_upstream_down() {
    let sent = Arc::new(AtomicU64::new(0));
    let counted = sent.clone();
    let upstream = Fake::start(move |_, stream| {
        let _ = stream.write_all(b"HTTP/1.1 200 OK\r\n\r\n");
        while stream.write_all(&[b'x'; 64 * 1024]).is_ok() {
            counted.fetch_add(64 * 1024, Ordering::SeqCst);
        }
        false
    });
    let proxy = Proxy::to(&upstream.url());
    let mut client = Client::connect(proxy.address);
    client.send(addressed(proxy.address, MODELS).as_bytes());
    upstream.until_asked(1);
    let settled = loop {
        let before = sent.load(Ordering::SeqCst);
        std::thread::sleep(Duration::from_millis(700));
        if before > 0 && before == sent.load(Ordering::SeqCst) {
            break before;
        }
    };
    // What the sockets of two connections hold, and no more; a proxy that buffers would never settle.
    assert!(settled < 64 << 20, "{settled}");
    drop(client);
    upstream.until_gone(1);
}

fn impatient(upstream: &Fake) -> Proxy {
    let patience = Patience {
        head: Duration::from_millis(500),
        body: Duration::from_millis(500),
    };
    let listen = Listen::new(LOCAL, false).unwrap().patient(patience);
    Proxy::at(listen, &upstream.url(), &CertificateTrust::System)
}

#[test]
fn b09_heads_and_bodies_that_do_not_come_to_an_end_are_not_waited_for() {
    let upstream = Fake::answering(ok("{}"));
    let proxy = impatient(&upstream);
    for piece in [
        "GET /v1/models HTTP/1.1\r\nHost: ",
        "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 9\r\n\r\n{",
        "POST /v1/files HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nContent-Length: 9\r\n\r\n",
    ] {
        let mut client = Client::connect(proxy.address);
        client.send(addressed(proxy.address, piece).as_bytes());
        assert!(client.is_closed_within(LONG), "{piece}");
    }
    assert_eq!(upstream.requests().len(), 0);
    let mut client = Client::connect(proxy.address);
    let since = Instant::now();
    while since.elapsed() < LONG && client.send(b"x") {
        std::thread::sleep(Duration::from_millis(50));
    }
    assert!(since.elapsed() < LONG, "a drip is no head");
}

#[test]
fn b09_a_connection_that_is_kept_is_not_a_slow_head() {
    let upstream = Fake::answering(ok("{}"));
    let proxy = impatient(&upstream);
    let mut client = Client::connect(proxy.address);
    for _ in 0..2 {
        client.send(addressed(proxy.address, CHAT).as_bytes());
        assert_eq!(client.receive(LONG).status, Some(200));
        assert!(!client.is_closed_within(Duration::from_millis(1200)));
    }
}

#[test]
fn b10_a_body_without_an_end_is_refused_at_the_bound() {
    let upstream = Fake::answering(ok("{}"));
    let proxy = Proxy::to(&upstream.url());
    let head =
        "POST /v1/responses HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nTransfer-Encoding: chunked\r\n\r\n";
    let mut client = Client::connect(proxy.address);
    client.send(addressed(proxy.address, head).as_bytes());
    let piece = chunk(&vec![b' '; 1 << 20]);
    let mut sent = 0;
    while sent < 200 && client.send(&piece) {
        sent += 1;
    }
    assert!(sent < 200);
    assert_eq!(client.receive(LONG).status, Some(413));
    assert_eq!(upstream.requests().len(), 0);
}

#[test]
fn b11_a_client_that_has_only_closed_its_sending_side_still_gets_its_answer() {
    let upstream = Fake::start(|_, stream| {
        std::thread::sleep(Duration::from_millis(1500));
        stream.write_all(&ok("{}")).is_ok()
    });
    let proxy = Proxy::to(&upstream.url());
    for request in [CHAT, MODELS] {
        let mut client = Client::connect(proxy.address);
        client.send(addressed(proxy.address, request).as_bytes());
        client.stream.shutdown(Shutdown::Write).unwrap();
        let got = client.receive(LONG);
        assert_eq!((got.status, got.text().as_str()), (Some(200), "{}"));
    }
}

#[test]
fn a_connection_is_used_for_many_requests_and_so_is_the_one_to_the_upstream() {
    let upstream = Fake::answering(ok("{}"));
    let proxy = Proxy::to(&upstream.url());
    let mut client = Client::connect(proxy.address);
    for _ in 0..20 {
        client.send(addressed(proxy.address, CHAT).as_bytes());
        assert_eq!(client.receive(LONG).status, Some(200));
    }
    assert_eq!((upstream.requests().len(), upstream.connections()), (20, 1));
}
