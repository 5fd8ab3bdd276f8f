//! A judge that fails: what cannot be judged passes, as it would have without retake.

use crate::proxy::{Ports, Proxy, ProxyNews, ProxyOptions, Upstream};
use retake_core::engine::Policy;
use retake_core::exchange::{ExchangeEnding, ExchangePhase, ExchangeSummary};
use std::io::{Read, Write};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::mpsc::channel;
use std::sync::{Arc, Mutex};
use std::time::Duration;

/// A call of a tool that was not offered, which the policy below would mend.
const REPLY: &str = r#"{"id":"1","object":"chat.completion","model":"m","choices":[{"index":0,"finish_reason":"tool_calls","message":{"role":"assistant","content":null,"tool_calls":[{"id":"call_1","type":"function","function":{"name":"serch","arguments":"{}"}}]}}]}"#;

fn request(words: &str) -> String {
    format!(
        r#"{{"model":"m","messages":[{{"role":"user","content":"{words}"}}],"tools":[{{"type":"function","function":{{"name":"search"}}}}]}}"#
    )
}

/// Sends a whole message and reads the one that answers it.
fn ask(address: SocketAddr, body: &str) -> String {
    let mut stream = TcpStream::connect(address).unwrap();
    stream
        .set_read_timeout(Some(Duration::from_secs(60)))
        .unwrap();
    let length = body.len();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nConnection: close\r\nContent-Type: application/json\r\nContent-Length: {length}\r\n\r\n{body}"
    );
    stream.write_all(request.as_bytes()).unwrap();
    let mut reply = String::new();
    stream.read_to_string(&mut reply).unwrap();
    reply
}

/// Answers every request with the same reply.
fn upstream() -> SocketAddr {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            let mut stream = stream.unwrap();
            let mut bytes = Vec::new();
            let mut piece = [0; 4096];
            while !bytes.ends_with(b"}]}") && !bytes.ends_with(b"}}]}") {
                let count = stream.read(&mut piece).unwrap();
                bytes.extend_from_slice(&piece[..count]);
            }
            let length = REPLY.len();
            let head = format!(
                "HTTP/1.1 200 OK\r\ncontent-type: application/json\r\nconnection: close\r\ncontent-length: {length}\r\n\r\n"
            );
            stream.write_all(head.as_bytes()).unwrap();
            stream.write_all(REPLY.as_bytes()).unwrap();
        }
    });
    address
}

#[test]
fn what_the_judge_fails_over_passes_and_the_next_exchange_is_judged_again() {
    let folder = tempfile::tempdir().unwrap();
    let options = ProxyOptions {
        upstreams: vec![Upstream::parse(&format!("http://{}", upstream())).unwrap()],
        ports: Ports {
            first: SocketAddr::from(([127, 0, 0, 1], 0)),
            are_fixed: false,
        },
        allow_remote: false,
        host_names: Vec::new(),
        insecure: Vec::new(),
        policy: Policy::parse("[on.unknown-tool]\ndo = \"release\"\n").unwrap(),
        breakpoints: Vec::new(),
        has_operator: false,
        journal: Some(folder.path().join("proxy.jsonl")),
        intercepts: true,
        holds_requests: true,
        max_asks: 1,
    };
    let (sender, news) = channel();
    let sender = Mutex::new(sender);
    let report = Arc::new(move |one: ProxyNews| {
        let _over = sender.lock().unwrap().send(one);
    });
    let proxy = Proxy::start(options, report).unwrap();
    let address = news.iter().find_map(|one| match one {
        ProxyNews::Listening { address, .. } => Some(address),
        _ => None,
    });
    let over = || -> Arc<ExchangeSummary> {
        let over = news.iter().find_map(|one| match one {
            ProxyNews::Exchange(seen) if matches!(seen.phase, ExchangePhase::Ended(_)) => {
                Some(seen)
            }
            _ => None,
        });
        over.unwrap()
    };
    for at in ["look", "request", "reply"] {
        let reply = ask(
            address.unwrap(),
            &request(&format!("the judge fails at the {at}")),
        );
        assert!(reply.starts_with("HTTP/1.1 200"), "{at}: {reply}");
        assert!(reply.ends_with(REPLY), "{at}: {reply}");
        let is_judged = at == "request";
        match &over().phase {
            ExchangePhase::Ended(ExchangeEnding::Passed) if !is_judged => {}
            ExchangePhase::Ended(ExchangeEnding::Released { .. }) if is_judged => {}
            phase => panic!("{at}: {phase:?}"),
        }
    }
    ask(address.unwrap(), &request("hello"));
    assert!(matches!(
        over().phase,
        ExchangePhase::Ended(ExchangeEnding::Released { .. })
    ));
    drop(proxy);
}
