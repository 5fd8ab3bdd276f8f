//! Faults of upstreams and of listeners, by their numbers in the list of faults.

use super::client::{CHAT, Client, MODELS, addressed, ask};
use super::fake::{Fake, STREAM, chunk, ok, reply};
use super::place::{Keeping, LOCAL, Proxy};
use retake_core::exchange::ExchangeEnding;
use retake_live::proxy::{
    CertificateTrust, Listen, ServeError, UpstreamBase, UpstreamOrigin, serve,
};
use serde_json::Value;
use std::io::Write;
use std::net::TcpListener;
use std::sync::Arc;
use std::time::Duration;

const MESSAGES: &str = "POST /v1/messages HTTP/1.1\r\nHost: 127.0.0.1:PORT\r\nx-api-key: hunter2\r\n\
    Content-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

#[test]
fn a01_an_upstream_that_is_not_there_is_told_in_the_dialect_of_the_client() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    for (url, why) in [
        (
            format!("http://{closed}/secret"),
            "the connection is refused",
        ),
        (
            "http://nowhere.invalid/secret".to_owned(),
            "the name of the host cannot be resolved",
        ),
    ] {
        let proxy = Proxy::to(&url);
        for (request, kind) in [(CHAT, "/error/type"), (MESSAGES, "/type")] {
            let got = ask(proxy.address, request);
            assert_eq!(
                (got.status, got.header("x-should-retry")),
                (Some(502), Some("false"))
            );
            let error: Value = serde_json::from_slice(&got.body).unwrap();
            assert!(error.pointer(kind).is_some(), "{error}");
            let text = error["error"]["message"].as_str().unwrap();
            assert_eq!(text, format!("retake: no reply from the upstream: {why}"));
        }
        assert_eq!(ask(proxy.address, MODELS).status, Some(502));
        let passed = proxy.until_passed(1);
        assert!(
            matches!(passed[0].ending, ExchangeEnding::NoReply { .. }),
            "{passed:?}"
        );
    }
}

#[test]
fn a03_an_upstream_that_throws_the_connection_away_is_asked_once() {
    let upstream = Fake::start(|_, stream| {
        // Bytes that nobody has read turn the close into a reset.
        let _ = stream.shutdown(std::net::Shutdown::Read);
        false
    });
    let proxy = Proxy::to(&upstream.url());
    for request in [CHAT, MODELS] {
        let got = ask(proxy.address, request);
        assert_eq!(got.status, Some(502));
        assert!(
            got.text().contains("may have reached the model"),
            "{}",
            got.text()
        );
    }
    assert_eq!(upstream.requests().len(), 2);
}

#[test]
fn a04_a_kept_connection_that_was_closed_is_replaced_before_a_byte_is_written() {
    let upstream = Fake::start(|_, stream| {
        let _ = stream.write_all(&ok("{}"));
        false
    });
    let proxy = Proxy::to(&upstream.url());
    for _ in 0..3 {
        assert_eq!(ask(proxy.address, CHAT).status, Some(200));
        std::thread::sleep(Duration::from_millis(50));
    }
    assert_eq!((upstream.requests().len(), upstream.connections()), (3, 3));
}

#[test]
fn a04_a_kept_connection_that_closes_over_a_request_is_not_asked_again() {
    let upstream = Fake::start(|arrived, stream| {
        arrived.header("x-last").is_none() && stream.write_all(&ok("{}")).is_ok()
    });
    let proxy = Proxy::to(&upstream.url());
    assert_eq!(ask(proxy.address, CHAT).status, Some(200));
    let last = CHAT.replace("Content-Type", "X-Last: 1\r\nContent-Type");
    let got = ask(proxy.address, &last);
    assert_eq!(got.status, Some(502));
    assert!(
        got.text().contains("may have reached the model"),
        "{}",
        got.text()
    );
    assert_eq!(got.header("x-should-retry"), None, "{}", got.head);
    let connections = upstream.requests();
    let connections = connections.iter().map(|arrived| arrived.connection);
    assert_eq!(connections.collect::<Vec<_>>(), [0, 0]);
}

#[test]
fn a_kept_connection_that_closes_over_a_request_that_may_be_repeated_is_replaced_once() {
    for (request, is_kept) in [
        (MODELS.to_owned(), true),
        (
            CHAT.replace("Content-Type", "Idempotency-Key: k\r\nContent-Type"),
            true,
        ),
        (MODELS.to_owned(), false),
    ] {
        // Each connection serves one request, and is closed over the second.
        let upstream = Fake::start(move |arrived, stream| {
            let is_first = arrived.header("x-first").is_some();
            (is_first || (is_kept && arrived.connection == 1))
                && stream.write_all(&ok("{}")).is_ok()
        });
        let proxy = Proxy::to(&upstream.url());
        let first = MODELS.replace("Host", "X-First: 1\r\nHost");
        assert_eq!(ask(proxy.address, &first).status, Some(200));
        let got = ask(proxy.address, &request);
        assert_eq!(
            got.status,
            Some(if is_kept { 200 } else { 502 }),
            "{request}"
        );
        let connections = upstream.requests();
        let connections = connections.iter().map(|arrived| arrived.connection);
        assert_eq!(connections.collect::<Vec<_>>(), [0, 0, 1], "{request}");
    }
}

#[test]
fn a_switch_of_protocols_that_nobody_asked_for_is_no_reply() {
    let upstream = Fake::answering(
        "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n",
    );
    let proxy = Proxy::to(&upstream.url());
    for request in [CHAT, MODELS] {
        let got = ask(proxy.address, request);
        assert_eq!(got.status, Some(502), "{}", got.text());
        assert!(
            got.text().contains("another protocol unasked"),
            "{}",
            got.text()
        );
    }
}

#[test]
fn a05_u017_an_upstream_that_says_nothing_is_waited_for_until_the_client_leaves() {
    for request in [CHAT, MODELS] {
        let upstream = Fake::silent();
        let proxy = Proxy::to(&upstream.url());
        let mut client = Client::connect(proxy.address);
        client.send(addressed(proxy.address, request).as_bytes());
        upstream.until_asked(1);
        assert!(!client.is_closed_within(Duration::from_millis(800)));
        drop(client);
        let took = upstream.until_gone(1);
        assert!(took < Duration::from_secs(5), "{took:?}");
    }
}

#[test]
fn a06_a22_what_has_come_is_passed_at_once() {
    let begun = [STREAM.as_bytes(), &chunk(b"data: 1\n\n")].concat();
    let upstream = Fake::speaking_then_silent(begun);
    let proxy = Proxy::to(&upstream.url());
    for request in [CHAT, MODELS] {
        let mut client = Client::connect(proxy.address);
        client.send(addressed(proxy.address, request).as_bytes());
        client.until_comes("data: 1\n\n");
    }
}

#[test]
fn a07_a08_a09_a_stream_that_breaks_off_is_never_ended_in_good_order() {
    for piece in [&b"data: 1\n\n"[..], b"data: {\"bro", b"data: \xf0\x9f"] {
        for request in [CHAT, MODELS] {
            let begun = [STREAM.as_bytes(), &chunk(b"data: 0\n\n"), &chunk(piece)].concat();
            let upstream = Fake::closing(begun);
            let proxy = Proxy::to(&upstream.url());
            let got = ask(proxy.address, request);
            assert_eq!(got.body, [b"data: 0\n\n", piece].concat());
            assert!(got.is_closed && !got.is_whole, "{got:?}");
            if request == MODELS {
                assert_eq!(proxy.until_passed(1)[0].ending, ExchangeEnding::Truncated);
            }
        }
    }
}

#[test]
fn a14_a15_a16_refusals_of_the_upstream_pass_untouched_and_once() {
    for (status, lines) in [
        (
            "429 Too Many Requests",
            "retry-after: 7\r\nretry-after-ms: 7000\r\n",
        ),
        (
            "429 Too Many Requests",
            "retry-after: Wed, 21 Oct 2026 07:28:00 GMT\r\n",
        ),
        ("429 Too Many Requests", "retry-after: 1000000000\r\n"),
        ("500 Internal Server Error", "x-should-retry: true\r\n"),
        ("502 Bad Gateway", ""),
        ("503 Service Unavailable", "retry-after: 1\r\n"),
        ("504 Gateway Timeout", ""),
        ("529 Overloaded", ""),
        ("401 Unauthorized", "www-authenticate: Bearer\r\n"),
        ("403 Forbidden", ""),
        ("400 Bad Request", ""),
    ] {
        let upstream = Fake::answering(reply(status, lines, "{\"error\":{\"message\":\"no\"}}"));
        let proxy = Proxy::to(&upstream.url());
        for request in [CHAT, MODELS] {
            let got = ask(proxy.address, request);
            assert_eq!(got.status, status[..3].parse().ok());
            assert_eq!(got.text(), "{\"error\":{\"message\":\"no\"}}");
            let mut came = got.head.split("\r\n").skip(1).collect::<Vec<_>>();
            came.sort_unstable();
            let length = "content-length: 26";
            let mut sent = lines.split("\r\n").chain([length]);
            assert!(
                sent.all(|line| line.is_empty() || came.contains(&line)),
                "{came:?}"
            );
            assert!(came.len() <= 3, "nothing is added: {came:?}");
        }
        assert_eq!(upstream.requests().len(), 2);
    }
}

#[test]
fn a18_html_where_a_stream_was_asked_for_passes() {
    let page = "<html>Please sign in</html>";
    let upstream = Fake::answering(reply("200 OK", "content-type: text/html\r\n", page));
    let proxy = Proxy::to(&upstream.url());
    let got = ask(proxy.address, CHAT);
    assert_eq!(
        (got.header("content-type"), got.text().as_str()),
        (Some("text/html"), page)
    );
}

#[test]
fn b12_unknown_paths_and_odd_bodies_arrive_byte_for_byte_with_their_lines_in_order() {
    let upstream = Fake::answering(ok("[]"));
    let proxy = Proxy::to(&format!("{}/base/v1", upstream.url()));
    let body = "\u{feff}{\"a\":\u{1}\u{7f}é}";
    let request = format!(
        "PUT /v1/what/ever%2F?x=%0d&y HTTP/1.1\r\nHost: localhost:PORT\r\nX-B: 1\r\nx-a: ä\r\nX-B: 2\r\n\
         Accept-Encoding: dcb, br\r\nUser-Agent: it/1\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
    let got = ask(proxy.address, &request);
    assert_eq!((got.status, got.text().as_str()), (Some(200), "[]"));
    let arrived = upstream.requests().pop().unwrap();
    assert_eq!(arrived.line, "PUT /base/v1/what/ever%2F?x=%0d&y HTTP/1.1");
    assert_eq!(arrived.body, body.as_bytes());
    assert_eq!(arrived.all("x-b"), ["1", "2"]);
    assert_eq!(arrived.all("x-a"), ["ä"]);
    assert_eq!(arrived.all("accept-encoding"), ["dcb, br"]);
    let passed = proxy.until_passed(1);
    let told = (
        &*passed[0].agent,
        &*passed[0].path,
        passed[0].status,
        passed[0].received,
    );
    assert_eq!(told, ("it/1", "/v1/what/ever%2F", Some(200), 2));
    assert_eq!(
        (passed[0].sent, &passed[0].ending),
        (body.len() as u64, &ExchangeEnding::Passed)
    );
}

#[test]
fn c08_without_its_token_nobody_passes_an_address_that_others_reach() {
    let upstream = Fake::answering(ok("{}"));
    let any = "0.0.0.0:0".parse().unwrap();
    let listen = Listen::new(any, true).unwrap();
    let proxy = Proxy::at(listen, &upstream.url(), &CertificateTrust::System);
    let token = proxy.token.clone().unwrap();
    let local = (LOCAL.ip(), proxy.address.port()).into();
    let wrong = CHAT.replace("/v1", "/t/0123/v1");
    let mut texts = Vec::new();
    for request in [
        CHAT.to_owned(),
        wrong,
        CHAT.replace("\r\n\r\n", "\r\nx-retake-token: 1\r\n\r\n"),
    ] {
        let got = ask(local, &request);
        assert_eq!(got.status, Some(401));
        texts.push(got.text());
    }
    texts.dedup();
    assert_eq!(texts.len(), 1, "the text is always the same");
    assert_eq!(upstream.requests().len(), 0);
    let line = format!("\r\nx-retake-token: {token}\r\n\r\n");
    for request in [
        CHAT.replace("\r\n\r\n", &line),
        CHAT.replace("/v1", &format!("/t/{token}/v1")),
    ] {
        assert_eq!(ask(local, &request).status, Some(200));
    }
    for arrived in upstream.requests() {
        assert!(!format!("{arrived:?}").contains(&token));
    }
}

#[tokio::test]
async fn c09_a_listener_that_is_its_own_upstream_does_not_serve() {
    let listen = Listen::new(LOCAL, false).unwrap();
    let url = format!("http://localhost:{}/v1", listen.address().port());
    let upstream = UpstreamOrigin::new(
        UpstreamBase::parse(&url).unwrap(),
        &CertificateTrust::System,
    )
    .unwrap();
    let upstream = Arc::new(upstream);
    let watch = Keeping::new(&upstream);
    let served = serve(listen, upstream, watch, Default::default()).await;
    assert!(matches!(served, Err(ServeError::Itself(_))), "{served:?}");
}

#[test]
fn c09_a_request_that_comes_back_is_refused() {
    let upstream = Fake::answering(ok("{}"));
    let far = Proxy::to(&upstream.url());
    let near = Proxy::to(&format!("http://{}", far.address));
    let got = ask(near.address, CHAT);
    assert_eq!(got.status, Some(508));
    assert_eq!(upstream.requests().len(), 0);
}
