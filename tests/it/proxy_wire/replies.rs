//! Raw replies of `hostile/http_hostile.json`, and what the client gets of them. U017 and U018 are played beside (`faults`, `tls`).

use super::client::{CHAT, Client, Got, LONG, MODELS, addressed, ask};
use super::fake::Fake;
use super::hostile::{cases, gigabyte_of_zeros, raw};
use super::place::Proxy;
use serde_json::Value;
use std::io::Write;

fn case(id: &str) -> Value {
    cases("upstream")
        .into_iter()
        .find(|case| case["id"] == id)
        .unwrap()
}

/// The client's view of an upstream that answers with a case and closes.
fn got(id: &str, body: &[u8]) -> (Got, Fake) {
    let upstream = Fake::closing(raw(&case(id), 0, body));
    let proxy = Proxy::to(&upstream.url());
    (ask(proxy.address, CHAT), upstream)
}

#[track_caller]
fn assert_bad_gateway(got: &Got) {
    assert_eq!(got.status, Some(502), "{got:?}");
    assert_eq!(got.header("x-should-retry"), Some("false"));
    let error: Value = serde_json::from_slice(&got.body).unwrap();
    let text = error["error"]["message"].as_str().unwrap();
    assert!(
        text.starts_with("retake: no reply from the upstream: "),
        "{text}"
    );
    assert!(!text.contains("://") && !text.contains('\u{1b}'), "{text}");
}

#[test]
fn u001_bytes_behind_the_length_are_dropped_with_their_connection() {
    let upstream = Fake::answering(raw(&case("U001"), 0, b""));
    let proxy = Proxy::to(&upstream.url());
    let mut client = Client::connect(proxy.address);
    for _ in 0..2 {
        client.send(addressed(proxy.address, CHAT).as_bytes());
        let got = client.receive(LONG);
        assert_eq!((got.status, got.text().as_str()), (Some(200), "{}"));
    }
    assert_eq!(upstream.connections(), 2);
}

#[test]
fn u002_a_body_that_is_cut_is_cut_for_the_client_too() {
    let (got, _upstream) = got("U002", b"");
    assert_eq!((got.status, got.text().as_str()), (Some(200), "{\"a\":"));
    assert!(got.is_closed && !got.is_whole, "{got:?}");
}

#[test]
fn u003_two_framings_become_one() {
    let (got, _upstream) = got("U003", b"");
    let framings = ["content-length", "transfer-encoding"];
    let framings = framings.iter().filter(|name| got.header(name).is_some());
    assert_eq!(
        (got.status, got.text().as_str(), framings.count()),
        (Some(200), "{}", 1)
    );
}

#[test]
fn u004_u005_u006_u019_u020_what_is_not_http_is_a_bad_gateway() {
    for id in ["U004", "U005", "U006", "U019", "U020"] {
        let (got, upstream) = got(id, b"");
        assert_bad_gateway(&got);
        assert_eq!(upstream.requests().len(), 1, "{id} is not asked again");
    }
}

#[test]
fn u007_interim_replies_are_skipped() {
    let (got, _upstream) = got("U007", b"");
    assert_eq!((got.status, got.text().as_str()), (Some(200), "{}"));
}

#[test]
fn a24_u008_u009_redirects_are_passed_and_not_followed() {
    for (id, status, location) in [("U008", 302, "http://evil.example/"), ("U009", 307, "/v2")] {
        let (got, upstream) = got(id, b"");
        assert_eq!(
            (got.status, got.header("location")),
            (Some(status), Some(location))
        );
        assert_eq!(upstream.requests().len(), 1);
    }
}

#[test]
fn a19_a20_u010_to_u013_packed_bodies_pass_as_they_are() {
    let brotli = [0x0b, 0x02, 0x80, b'h', b'e', b'l', b'l', b'o', 0x03];
    for (id, body) in [
        ("U010", gigabyte_of_zeros()[..4096].to_vec()),
        ("U011", gigabyte_of_zeros()),
        ("U012", brotli.to_vec()),
        ("U013", Vec::new()),
    ] {
        let (got, _upstream) = got(id, &body);
        let body = if body.is_empty() {
            b"{}".to_vec()
        } else {
            body
        };
        assert_eq!(got.status, Some(200), "{id}");
        assert!(
            got.body == body && got.is_whole,
            "{id}: {} bytes",
            got.body.len()
        );
        let coding = if id == "U012" { "br" } else { "gzip" };
        assert_eq!(got.header("content-encoding"), Some(coding));
    }
}

#[test]
fn a21_u014_a_stream_without_an_end_is_ended_by_the_client() {
    let head = raw(&case("U014"), 0, b"");
    let upstream = Fake::start(move |_, stream| {
        let _ = stream.write_all(&head);
        let _ = stream.write_all(b"data: ");
        while stream.write_all(&[b'x'; 16 * 1024]).is_ok() {}
        false
    });
    let proxy = Proxy::to(&upstream.url());
    let mut client = Client::connect(proxy.address);
    client.send(addressed(proxy.address, MODELS).as_bytes());
    client.until_comes(&"x".repeat(4_000));
    drop(client);
    upstream.until_gone(1);
    assert_eq!(
        proxy.until_passed(1)[0].ending,
        retake_core::exchange::ExchangeEnding::ClientLeft
    );
}

#[test]
fn u015_u016_long_replies_flow() {
    for (id, megabytes) in [("U015", 100), ("U016", 200)] {
        let head = raw(&case(id), 0, b"");
        let upstream = Fake::start(move |_, stream| {
            let _ = stream.write_all(&head);
            let piece = vec![b'x'; 1 << 20];
            for _ in 0..megabytes {
                let _ = stream.write_all(&piece);
            }
            false
        });
        let proxy = Proxy::to(&upstream.url());
        let got = ask(proxy.address, MODELS);
        assert_eq!(
            (got.status, got.body.len()),
            (Some(200), megabytes << 20),
            "{id}"
        );
        assert!(got.is_whole);
        assert_eq!(proxy.until_passed(1)[0].received, (megabytes as u64) << 20);
    }
}
