//! Every raw request of `hostile/http_hostile.json`: the status that it gets, and how many requests reach the upstream.

use super::client::{Client, Got, LONG};
use super::fake::{Fake, ok};
use super::place::Proxy;
use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use flate2::Compression;
use flate2::write::GzEncoder;
use serde_json::Value;
use std::io::Write;
use std::time::Duration;

pub(super) fn cases(side: &str) -> Vec<Value> {
    let text = include_str!("../hostile/http_hostile.json");
    let file: Value = serde_json::from_str(text).unwrap();
    let cases = file["cases"].as_array().unwrap().clone();
    let cases = cases.into_iter().filter(|case| case["side"] == side);
    cases.collect()
}

/// The bytes of a case; `PORT` and `LEN` are filled in.
pub(super) fn raw(case: &Value, port: u16, body: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    if let Some(text) = case["raw_b64"].as_str() {
        bytes = BASE64_STANDARD.decode(text).unwrap();
    }
    for run in case["raw_latin1_rle"].as_array().into_iter().flatten() {
        let text = run[0].as_str().unwrap();
        let text = text.chars().map(|char| u8::try_from(char).unwrap());
        let text = text.collect::<Vec<_>>();
        for _ in 0..run[1].as_u64().unwrap() {
            bytes.extend_from_slice(&text);
        }
    }
    let bytes = replace(&bytes, b"PORT", port.to_string().as_bytes());
    let mut bytes = replace(&bytes, b"LEN", body.len().to_string().as_bytes());
    bytes.extend_from_slice(body);
    bytes
}

fn replace(bytes: &[u8], what: &[u8], with: &[u8]) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        if bytes[at..].starts_with(what) {
            replaced.extend_from_slice(with);
            at += what.len();
        } else {
            replaced.push(bytes[at]);
            at += 1;
        }
    }
    replaced
}

/// 1 GiB of zeros, packed.
pub(super) fn gigabyte_of_zeros() -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::fast());
    encoder.write_all(&vec![0; 4 << 20]).unwrap();
    encoder.finish().unwrap().repeat(256)
}

fn is_expected(case: &Value, got: &Got) -> bool {
    let expected = case["expect_status"].as_array().unwrap();
    match got.status {
        Some(status) => expected.contains(&Value::from(status)),
        None => got.is_closed && expected.contains(&Value::from("close")),
    }
}

#[test]
fn c01_to_c06_every_hostile_request_gets_its_answer_and_no_more_than_its_requests_reach_the_upstream()
 {
    let upstream = Fake::answering(ok("{}"));
    let proxy = Proxy::to(&upstream.url());
    let cases = cases("client");
    assert_eq!(cases.len(), 98);
    let mut wrong = Vec::new();
    for case in &cases {
        let before = upstream.requests().len();
        let body = match case["gen"].as_str() {
            Some("gzip_zeros_1GiB") => gigabyte_of_zeros(),
            Some(other) => panic!("{other} is not known"),
            None => Vec::new(),
        };
        let mut client = Client::connect(proxy.address);
        client.send(&raw(case, proxy.address.port(), &body));
        let got = match case["expect_status"][0].as_u64() {
            Some(100) => client.receive_any(LONG),
            _ => client.receive(LONG),
        };
        let mut complain =
            |why: String| wrong.push(format!("{} {}: {why}", case["id"], case["name"]));
        if !is_expected(case, &got) {
            complain(format!("{got:?}"));
        }
        let is_pipelined = case["upstream_requests"] == 2;
        if is_pipelined && client.receive(LONG).status != Some(200) {
            complain("the second request got no answer".to_owned());
        }
        if case["must_close"] == true && !client.is_closed_within(LONG) {
            complain("the connection stays".to_owned());
        }
        if got.head.to_ascii_lowercase().contains("access-control-") {
            complain("there are CORS lines".to_owned());
        }
        if got.status.is_some_and(|status| status >= 400) && !got.body.is_empty() {
            let error: Value = serde_json::from_slice(&got.body).unwrap();
            let text = error["error"]["message"].as_str().unwrap();
            if got.header("x-should-retry") != Some("false")
                || text.contains("://")
                || text.len() > 500
            {
                complain(format!("no error of ours: {got:?}"));
            }
        }
        // What should not reach the upstream might still be on its way.
        std::thread::sleep(Duration::from_millis(10));
        let arrived = upstream.requests().split_off(before);
        let most = case["max_requests"]
            .as_u64()
            .unwrap_or(if is_pipelined { 2 } else { 1 });
        let count = arrived.len() as u64;
        if count > most
            || case["upstream_requests"]
                .as_u64()
                .is_some_and(|wanted| wanted != count)
        {
            complain(format!("{count} requests reached the upstream"));
        }
        for request in &arrived {
            if request.all("host") != [upstream.address.to_string()] {
                complain(format!("another host was asked: {request:?}"));
            }
            if case["no_header"]
                .as_str()
                .is_some_and(|name| request.header(name).is_some())
            {
                complain(format!("a line went on: {request:?}"));
            }
            if !body.is_empty() && request.body != body {
                complain("the body is another".to_owned());
            }
        }
    }
    assert!(wrong.is_empty(), "\n{}", wrong.join("\n"));
    assert_eq!(*proxy.told.tls.lock().unwrap(), 1, "P083 spoke TLS");
    let turned = proxy.told.turned.lock().unwrap();
    assert!(
        turned.iter().any(|turned| turned.path == "/v1/realtime"),
        "P030 is told"
    );
}

#[test]
fn c06_credentials_cannot_be_stripped_and_bodies_arrive_as_they_were_sent() {
    let upstream = Fake::answering(ok("{}"));
    let proxy = Proxy::to(&upstream.url());
    for case in cases("client") {
        let id = case["id"].as_str().unwrap();
        if !matches!(id, "P086" | "P096" | "P097" | "P098") {
            continue;
        }
        let raw = raw(&case, proxy.address.port(), b"");
        let mut client = Client::connect(proxy.address);
        client.send(&raw);
        assert_eq!(client.receive(LONG).status, Some(200), "{id}");
        let arrived = upstream.requests().pop().unwrap();
        assert!(
            raw.ends_with(&arrived.body) && !arrived.body.is_empty(),
            "{id}"
        );
        assert_eq!(arrived.all("via"), ["1.1 retake"]);
        if id == "P086" {
            assert_eq!(arrived.header("x-api-key"), Some("k"));
        }
    }
}
