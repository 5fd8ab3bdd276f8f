//! The program itself: `retake proxy --headless`.

use super::speech::{Agent, BAD, DIALECTS, THEN, body, http, turn};
use super::stage::{PATIENCE, upstream};
use crate::proxy_wire::client::Client;
use crate::proxy_wire::fake::{Fake, ok};
use retake::session::Dialect;
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";
const KEY: &str = "a-key-of-no-known-shape-93b1";

/// The program as it runs.
struct Running {
    child: Child,
    lines: Box<dyn Iterator<Item = String>>,
    address: SocketAddr,
}

impl Running {
    fn start(folder: &Path, upstream: &Fake, more: &[&str]) -> Self {
        Self::start_in(&[], folder, upstream, more)
    }

    fn start_in(
        environment: &[(&str, String)],
        folder: &Path,
        upstream: &Fake,
        more: &[&str],
    ) -> Self {
        let mut child = Command::new(env!("CARGO_BIN_EXE_retake"))
            .current_dir(folder)
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("HOME", folder)
            .envs(environment.iter().cloned())
            .args([
                "proxy",
                "--headless",
                "--upstream",
                &upstream.url(),
                "--listen",
                "127.0.0.1:0",
            ])
            .args(["--journal", "proxy.jsonl"])
            .args(more)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .unwrap();
        let lines = BufReader::new(child.stdout.take().unwrap()).lines();
        let mut lines = Box::new(lines.map(Result::unwrap));
        let first: Value = serde_json::from_str(&lines.next().unwrap()).unwrap();
        assert_eq!(first["type"], "listening");
        let address = first["address"]
            .as_str()
            .unwrap()
            .trim_start_matches("http://");
        Self {
            child,
            lines,
            address: address.parse().unwrap(),
        }
    }

    fn ask(&self, agent: &Agent) -> Client {
        let (path, body) = (super::speech::path(agent.dialect), agent.request());
        let mut client = Client::connect(self.address);
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {KEY}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        client.send(request.as_bytes());
        client
    }

    /// Ends it as a service manager does; gives its exit code and the lines that were not read.
    fn ended(mut self) -> (Option<i32>, Vec<String>) {
        let id = self.child.id().to_string();
        assert!(
            Command::new("kill")
                .args(["-TERM", &id])
                .status()
                .unwrap()
                .success()
        );
        let lines = self.lines.collect();
        (self.child.wait().unwrap().code(), lines)
    }
}

fn kinds(lines: &[String]) -> Vec<String> {
    let lines = lines
        .iter()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines
        .map(|line| line["type"].as_str().unwrap().to_owned())
        .collect()
}

#[test]
fn a_policy_mends_without_a_screen_and_every_line_tells_what_happened() {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.toml"), INJECT).unwrap();
    let words = format!("I know {KEY}.");
    let replies = [turn("1", &words, &[BAD]), turn("2", &words, &[THEN])];
    let replies = replies
        .iter()
        .map(|reply| http(Dialect::Chat, true, reply))
        .collect();
    let upstream = upstream(replies);
    let mut proxy = Running::start(folder.path(), &upstream, &["--policy", "policy.toml"]);
    let mut agent = Agent::new((Dialect::Chat, true));
    let got = proxy.ask(&agent).receive(PATIENCE);
    assert_eq!(agent.reads(&got), [(THEN.0.to_owned(), THEN.1.to_owned())]);
    let mut lines = Vec::new();
    for line in proxy.lines.by_ref() {
        let is_end = line.contains("\"type\":\"exchange\"");
        lines.push(line);
        if is_end {
            break;
        }
    }
    let (code, rest) = proxy.ended();
    lines.extend(rest);
    assert_eq!(code, Some(143));
    let kinds = kinds(&lines);
    for kind in ["held", "decision", "exchange", "end"] {
        assert!(kinds.iter().any(|one| one == kind), "no {kind}: {lines:#?}");
    }
    let text = lines.concat();
    assert!(
        !text.contains(KEY) && text.contains("\"how\":\"mended\""),
        "{text}"
    );
    assert_eq!(upstream.requests().len(), 2);
    let checked = Command::new(env!("CARGO_BIN_EXE_retake"))
        .arg("check")
        .arg(folder.path().join("proxy.jsonl"))
        .output()
        .unwrap();
    assert_eq!(checked.status.code(), Some(1));
    assert!(
        String::from_utf8(checked.stdout)
            .unwrap()
            .contains("unknown-tool")
    );
}

#[test]
fn c10_no_proxy_is_taken_from_the_environment_for_what_the_agent_asks_nor_for_what_is_asked_again()
{
    let evil = Fake::answering(ok("{}"));
    let names = ["http_proxy", "https_proxy", "all_proxy"];
    let names = names
        .iter()
        .flat_map(|name| [(*name).to_owned(), name.to_uppercase()]);
    let names: Vec<String> = names.collect();
    let environment: Vec<(&str, String)> = names
        .iter()
        .map(|name| (name.as_str(), evil.url()))
        .chain([("NO_PROXY", String::new()), ("no_proxy", String::new())])
        .collect();
    for dialect in DIALECTS {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.toml"), INJECT).unwrap();
        let replies = [
            turn("1", "I look.", &[BAD]),
            turn("2", "Once more.", &[THEN]),
        ];
        let replies = replies.iter().map(|reply| http(dialect, true, reply));
        let upstream = upstream(replies.collect());
        let options = ["--policy", "policy.toml"];
        let proxy = Running::start_in(&environment, folder.path(), &upstream, &options);
        let mut agent = Agent::new((dialect, true));
        let got = proxy.ask(&agent).receive(PATIENCE);
        assert_eq!(agent.reads(&got), [(THEN.0.to_owned(), THEN.1.to_owned())]);
        proxy.ended();
        assert_eq!(upstream.requests().len(), 2);
    }
    assert_eq!(evil.connections(), 0);
}

#[test]
fn without_a_policy_it_only_watches() {
    let folder = tempfile::tempdir().unwrap();
    let answer = turn("1", "Let me look.", &[BAD]);
    let upstream = upstream(vec![http(Dialect::Anthropic, false, &answer)]);
    let proxy = Running::start(folder.path(), &upstream, &[]);
    let got = proxy
        .ask(&Agent::new((Dialect::Anthropic, false)))
        .receive(PATIENCE);
    assert_eq!(got.body, body(Dialect::Anthropic, false, &answer));
    let (_, lines) = proxy.ended();
    let text = lines.concat();
    assert!(
        text.contains("unknown-tool") && text.contains("\"how\":\"passed\""),
        "{text}"
    );
}
