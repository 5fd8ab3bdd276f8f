//! Where a proxy stands, and what of it stands in files: upstreams, secrets, the journal.

use super::speech::{Agent, BAD, THEN, http, turn, ways};
use super::stage::{PATIENCE, Stage, addresses, keeping, options, upstream};
use crate::proxy_wire::client::Client;
use retake_core::exchange::ExchangeEnding;
use retake_core::session::Dialect;
use retake_live::proxy::{Proxy, Upstream};
use std::path::{Path, PathBuf};

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";

#[test]
fn each_upstream_has_a_listener_of_its_own() {
    let first = upstream(vec![http(Dialect::Chat, false, &turn("1", "One.", &[]))]);
    let second = upstream(vec![http(Dialect::Chat, false, &turn("2", "Two.", &[]))]);
    let folder = tempfile::tempdir().unwrap();
    let (report, news) = keeping();
    let urls = [first.url(), format!("other={}", second.url())];
    let proxy = Proxy::start(options(&urls, folder.path().join("proxy.jsonl")), report).unwrap();
    let addresses = addresses(&news);
    assert_eq!(addresses.len(), 2);
    let stage = Stage {
        folder,
        upstream: first,
        address: addresses[1],
        news,
        proxy: Some(proxy),
    };
    let agent = Agent::new((Dialect::Chat, false));
    assert!(stage.ask(&agent).text().contains("Two."));
    assert!(stage.upstream.requests().is_empty());
    let mut client = Client::connect(addresses[0]);
    let request = stage
        .spelled(&agent, "")
        .replace(&addresses[1].to_string(), &addresses[0].to_string());
    client.send(request.as_bytes());
    assert!(client.receive(PATIENCE).text().contains("One."));
    assert_eq!([stage.over(1).upstream, stage.over(2).upstream], [1, 0]);
    assert_eq!(second.requests().len(), 1);
}

#[test]
fn a_proxy_is_not_its_own_upstream() {
    let free = std::net::TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap();
    let folder = tempfile::tempdir().unwrap();
    let (report, _) = keeping();
    let mut options = options(
        &[format!("http://{free}")],
        folder.path().join("proxy.jsonl"),
    );
    options.ports.first = free;
    options.ports.are_fixed = true;
    let refused = Proxy::start(options, report).err().unwrap().to_string();
    assert!(refused.contains(&free.to_string()), "{refused}");
    assert!(Upstream::parse("http://user:word@host").is_err());
}

/// All files below a folder.
fn files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        match path.is_dir() {
            true => files.extend(self::files(&path)),
            false => files.push(path),
        }
    }
    files
}

#[test]
fn the_key_of_a_client_is_on_the_wire_and_nowhere_else() {
    const KEY: &str = "a-key-of-no-known-shape-93b1";
    for (dialect, streams) in ways() {
        // The model repeats it in its words and in a call.
        let arguments = format!(r#"{{"city":"{KEY}"}}"#);
        let bad = (BAD.0, BAD.1, arguments.as_str());
        let words = format!("I know {KEY}.");
        let replies = [turn("1", &words, &[bad]), turn("2", &words, &[THEN])];
        let replies = replies
            .iter()
            .map(|reply| http(dialect, streams, reply))
            .collect();
        let mut stage = Stage::by(upstream(replies), INJECT);
        let agent = Agent::new((dialect, streams));
        let line = match dialect {
            Dialect::Anthropic => format!("X-Api-Key: {KEY}\r\n"),
            _ => format!("Authorization: Bearer {KEY}\r\n"),
        };
        let got = stage.send(&agent, &line).receive(PATIENCE);
        assert!(got.text().replace(['\n'], "").contains("I know") || streams);
        assert_eq!(stage.ending(1), ExchangeEnding::Mended);
        let requests = stage.upstream.requests();
        assert_eq!(requests.len(), 2);
        assert!(
            String::from_utf8_lossy(&requests[1].body).contains(KEY),
            "the model's own words are its own"
        );
        let news = format!("{:?}", stage.news.lock().unwrap());
        assert!(!news.contains(KEY), "{dialect:?} {streams}: {news}");
        drop(stage.proxy.take());
        let files = files(stage.folder.path());
        assert!(files.len() >= 2, "{files:?}");
        for file in files {
            let text = std::fs::read(&file).unwrap();
            assert!(
                !String::from_utf8_lossy(&text).contains(KEY),
                "{}",
                file.display()
            );
        }
    }
}
