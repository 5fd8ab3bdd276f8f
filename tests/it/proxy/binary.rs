//! The program itself: `retake proxy --headless`.

use super::speech::{Agent, BAD, DIALECTS, THEN, body, events, http, stream_head, turn};
use super::stage::{PATIENCE, upstream};
use crate::proxy_wire::client::Client;
use crate::proxy_wire::fake::{Fake, chunk, ok};
use retake_core::session::Dialect;
use serde_json::Value;
use std::io::{BufRead, BufReader, Write};
use std::net::SocketAddr;
use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Duration;
use tungstenite::protocol::{Message, Role, WebSocket};

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";
const KEY: &str = "a-key-of-no-known-shape-93b1";

/// The program as it runs.
pub(super) struct Running {
    pub(super) child: Child,
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
        Self::start_by(&[], environment, folder, upstream, more)
    }

    /// `before` stands before the program's name in the command.
    pub(super) fn start_by(
        before: &[&str],
        environment: &[(&str, String)],
        folder: &Path,
        upstream: &Fake,
        more: &[&str],
    ) -> Self {
        Self::start_before(&upstream.url(), before, environment, folder, more)
    }

    fn start_before(
        upstream: &str,
        before: &[&str],
        environment: &[(&str, String)],
        folder: &Path,
        more: &[&str],
    ) -> Self {
        let mut argv = before.iter().copied().chain([env!("CARGO_BIN_EXE_retake")]);
        let mut child = Command::new(argv.next().unwrap())
            .args(argv)
            .current_dir(folder)
            .env("XDG_STATE_HOME", folder.join("state"))
            .env("HOME", folder)
            .envs(environment.iter().cloned())
            .args([
                "proxy",
                "--headless",
                "--upstream",
                upstream,
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

    pub(super) fn ask(&self, agent: &Agent) -> Client {
        self.ask_with(KEY, agent)
    }

    fn ask_with(&self, key: &str, agent: &Agent) -> Client {
        let (path, body) = (
            super::speech::path((agent.dialect, agent.streams)),
            agent.request(),
        );
        let mut client = Client::connect(self.address);
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nAuthorization: Bearer {key}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            self.address,
            body.len()
        );
        client.send(request.as_bytes());
        client
    }

    /// Ends it as a service manager does; gives its exit code and the lines that were not read.
    pub(super) fn ended(mut self) -> (Option<i32>, Vec<String>) {
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

/// A request at which nothing is judged.
fn models(address: SocketAddr) -> String {
    format!("GET /v1/models HTTP/1.1\r\nHost: {address}\r\n\r\n")
}

#[test]
fn more_clients_than_there_is_room_for_are_all_served_though_they_keep_their_connections() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Fake::answering(ok("{}"));
    let mut running = Running::start(folder.path(), &upstream, &[]);
    let mut kept = Vec::new();
    for number in 0..300 {
        let mut client = Client::connect(running.address);
        client.send(models(running.address).as_bytes());
        assert_eq!(client.receive(PATIENCE).status, Some(200), "{number}");
        kept.push(client);
    }
    // Those that have waited longest made room; the others are still there.
    assert!(kept[0].is_closed_within(PATIENCE));
    let last = kept.last_mut().unwrap();
    last.send(models(running.address).as_bytes());
    assert_eq!(last.receive(PATIENCE).status, Some(200));
    let silent = (0..300).map(|_| Client::connect(running.address));
    let silent: Vec<Client> = silent.collect();
    let mut client = Client::connect(running.address);
    client.send(models(running.address).as_bytes());
    assert_eq!(client.receive(PATIENCE).status, Some(200));
    drop(silent);
    running.child.kill().unwrap();
    running.child.wait().unwrap();
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
    // What the agent got is what is judged; what the model said is told as mended.
    let out = String::from_utf8(checked.stdout).unwrap();
    assert_eq!(checked.status.code(), Some(0), "{out}");
    let mut findings = out.lines().filter(|line| line.contains("unknown-tool:"));
    assert!(
        findings
            .next()
            .is_some_and(|line| line.ends_with(" (fixed in transit)")),
        "{out}"
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

#[test]
fn a_stream_without_its_end_mark_is_noted_also_by_who_only_watches() {
    for dialect in [Dialect::Chat, Dialect::Anthropic] {
        let folder = tempfile::tempdir().unwrap();
        let mut sent = events(dialect, &turn("1", "Hello.", &[]));
        let count = sent.len();
        sent.retain(|event| {
            let event = String::from_utf8_lossy(event);
            !event.contains("[DONE]") && !event.contains("message_stop")
        });
        assert!(sent.len() < count);
        let mut reply = stream_head(dialect).into_bytes();
        reply.extend(sent.iter().flat_map(|event| chunk(event)));
        reply.extend(b"0\r\n\r\n");
        let upstream = upstream(vec![reply]);
        let proxy = Running::start(folder.path(), &upstream, &[]);
        proxy.ask(&Agent::new((dialect, true))).receive(PATIENCE);
        let (_, lines) = proxy.ended();
        let text = lines.concat();
        let words = "the stream ended without its end mark; the reply is complete";
        let sent = String::from_utf8_lossy(&sent.concat()).into_owned();
        assert!(text.contains(words), "{text}\n{sent}");
    }
}

#[test]
fn a_key_that_is_a_word_of_the_history_is_left_in_what_is_judged_and_sent() {
    for dialect in DIALECTS {
        for key in ["function", "message", "content", BAD.1, THEN.1] {
            let folder = tempfile::tempdir().unwrap();
            std::fs::write(folder.path().join("policy.toml"), INJECT).unwrap();
            let replies = [
                turn("1", "I look.", &[BAD]),
                turn("2", "Once more.", &[THEN]),
            ];
            let replies = replies.iter().map(|reply| http(dialect, true, reply));
            let upstream = upstream(replies.collect());
            let proxy = Running::start(folder.path(), &upstream, &["--policy", "policy.toml"]);
            let mut agent = Agent::new((dialect, true));
            let got = proxy.ask_with(key, &agent).receive(PATIENCE);
            assert_eq!(
                agent.reads(&got),
                [(THEN.0.to_owned(), THEN.1.to_owned())],
                "{key}"
            );
            let asked = upstream.requests();
            let last = String::from_utf8_lossy(&asked[1].body);
            assert!(
                last.contains(BAD.1) && !last.contains("[redacted"),
                "{key}: {last}"
            );
            proxy.ended();
        }
    }
}

/// Put together, so that no scanner takes it for a key.
fn service_key() -> String {
    format!("sk-proj-{}", "Ab3dE6gH".repeat(5))
}

#[test]
fn a_key_in_a_path_or_in_the_place_of_a_model_is_neither_told_nor_written() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = Fake::answering(ok("{}"));
    let proxy = Running::start(folder.path(), &upstream, &[]);
    let key = service_key();
    let asks = serde_json::json!({"model": key, "messages": [{"role": "user", "content": "hi"}]});
    let body = asks.to_string();
    for path in [
        "/v1/chat/completions".to_owned(),
        format!("/accounts/{key}/v1/chat/completions"),
        format!("/elsewhere/{key}"),
        format!("/elsewhere/{KEY}/v1/chat/completions"),
    ] {
        let mut client = Client::connect(proxy.address);
        let request = format!(
            "POST {path} HTTP/1.1\r\nHost: {}\r\nX-Portkey-Api-Key: {KEY}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
            proxy.address,
            body.len()
        );
        client.send(request.as_bytes());
        client.receive(PATIENCE);
    }
    let asked = upstream.requests();
    assert!(asked.iter().any(|one| one.line.contains(&key)));
    let (_, lines) = proxy.ended();
    let told = lines.concat();
    let written = std::fs::read_to_string(folder.path().join("proxy.jsonl")).unwrap();
    assert_eq!(told.matches("\"type\":\"exchange\"").count(), 4, "{told}");
    for text in [&told, &written] {
        assert!(!text.contains(&key) && !text.contains(KEY), "{text}");
        assert!(
            text.contains("/accounts/[redacted openai key]/v1"),
            "{text}"
        );
    }
}

/// Agrees to a WebSocket and says these texts to whoever speaks first.
fn saying(texts: Vec<String>) -> Fake {
    Fake::start(move |_, stream| {
        let head = "HTTP/1.1 101 Switching Protocols\r\nupgrade: websocket\r\nconnection: Upgrade\r\nsec-websocket-accept: x\r\n\r\n";
        stream.write_all(head.as_bytes()).unwrap();
        let mut socket = WebSocket::from_raw_socket(stream, Role::Server, None);
        if socket.read().is_ok() {
            for text in &texts {
                socket.send(Message::text(text.clone())).unwrap();
            }
        }
        false
    })
}

#[test]
fn what_a_websocket_says_piece_by_piece_shows_no_secret_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let (key, password) = (service_key(), "hunter2-Zq7vK2mPx9");
    let said = format!("the key is {key}, mine is {KEY}, password: {password} and so on");
    let letters: Vec<char> = said.chars().collect();
    let delta = |(number, piece): (usize, &[char])| {
        let piece: String = piece.iter().collect();
        serde_json::json!({"type": "response.output_text.delta", "item_id": "i", "content_index": 0,
            "sequence_number": number, "delta": piece})
        .to_string()
    };
    let mut texts: Vec<String> = letters.chunks(5).enumerate().map(delta).collect();
    let pieces = texts.len();
    texts.push(
        serde_json::json!({"type": "response.output_text.done", "item_id": "i", "text": said})
            .to_string(),
    );
    let upstream = saying(texts);
    let proxy = Running::start(folder.path(), &upstream, &[]);
    let mut client = Client::connect(proxy.address);
    let open = format!(
        "GET /v1/responses HTTP/1.1\r\nHost: {}\r\nUpgrade: websocket\r\nConnection: Upgrade\r\nAuthorization: Bearer {KEY}\r\n\
        Sec-WebSocket-Key: AAAAAAAAAAAAAAAAAAAAAA==\r\nSec-WebSocket-Version: 13\r\n\r\n",
        proxy.address
    );
    client.send(open.as_bytes());
    assert_eq!(client.receive_any(PATIENCE).status, Some(101));
    let patience = Some(Duration::from_secs(30));
    client.stream.set_read_timeout(patience).unwrap();
    let mut socket = WebSocket::from_raw_socket(&mut client.stream, Role::Client, None);
    socket
        .send(Message::text("{\"type\":\"response.create\"}"))
        .unwrap();
    // It passes as it is.
    let mut got = String::new();
    for _ in 0..pieces {
        let message: Value =
            serde_json::from_str(socket.read().unwrap().to_text().unwrap()).unwrap();
        got.push_str(message["delta"].as_str().unwrap());
    }
    assert_eq!(got, said);
    socket.read().unwrap();
    proxy.ended();
    let written = std::fs::read_to_string(folder.path().join("proxy.jsonl")).unwrap();
    let deltas = written.lines().filter_map(|line| {
        let line: Value = serde_json::from_str(line).unwrap();
        Some(line["entry"]["message"]["delta"].as_str()?.to_owned())
    });
    let deltas: Vec<String> = deltas.collect();
    assert_eq!(deltas.len(), pieces);
    // The pieces one behind the other, with nothing in place of what was taken out.
    let joined = deltas.concat();
    let mut parts = joined.split("[redacted ");
    let first = parts.next().unwrap().to_owned();
    let joined = parts.fold(first, |all, part| all + part.split_once(']').unwrap().1);
    for text in [&written, &joined] {
        assert!(!text.contains("Ab3dE6gH") && !text.contains(KEY), "{text}");
        assert!(
            !text.contains("no-known-shape") && !text.contains("hunter2"),
            "{text}"
        );
    }
    assert!(
        joined.starts_with("the key is ") && joined.ends_with("and so on"),
        "{joined}"
    );
}

#[test]
fn what_an_agent_writes_to_a_file_is_for_the_operator_alone_and_no_link_is_followed() {
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let run = |output: &str| {
        let output = Command::new(env!("CARGO_BIN_EXE_retake"))
            .current_dir(folder.path())
            .env("XDG_STATE_HOME", folder.path().join("state"))
            .env("HOME", folder.path())
            .args([
                "proxy",
                "--headless",
                "--upstream",
                "http://127.0.0.1:9",
                "--listen",
                "127.0.0.1:0",
            ])
            .args(["--output", output, "--", "sh", "-c", "echo said"])
            .stdin(Stdio::null())
            .output()
            .unwrap();
        output.status.code()
    };
    std::fs::write(at("open"), "before, and longer").unwrap();
    std::fs::set_permissions(at("open"), PermissionsExt::from_mode(0o644)).unwrap();
    for name in ["new", "open"] {
        assert_eq!(run(name), Some(0));
        assert_eq!(std::fs::read_to_string(at(name)).unwrap(), "said\n");
        let mode = std::fs::metadata(at(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    std::fs::write(at("target"), "mine").unwrap();
    std::os::unix::fs::symlink(at("target"), at("link")).unwrap();
    assert_eq!(run("link"), Some(2));
    assert_eq!(std::fs::read_to_string(at("target")).unwrap(), "mine");
}

#[test]
fn a_turn_has_one_number_in_the_lines_in_the_hold_and_in_the_journal() {
    let again = ("call_again_0123456789", "serch", r#"{"city":"Bergen"}"#);
    for dialect in DIALECTS {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("policy.toml"), INJECT).unwrap();
        // A turn that the agent does not see, one that it sees, and another one that it does not see.
        let replies = [
            turn("1", "", &[BAD]),
            turn("2", "", &[THEN]),
            turn("3", "", &[again]),
            turn("4", "It is warm.", &[]),
        ];
        let replies = replies.iter().map(|reply| http(dialect, false, reply));
        let upstream = upstream(replies.collect());
        let proxy = Running::start(folder.path(), &upstream, &["--policy", "policy.toml"]);
        let mut agent = Agent::new((dialect, false));
        agent.reads(&proxy.ask(&agent).receive(PATIENCE));
        agent.answers(THEN.0, "9 degrees");
        agent.reads(&proxy.ask(&agent).receive(PATIENCE));
        let (_, lines) = proxy.ended();
        let found = |lines: &[String]| {
            let lines = lines.iter().map(|line| serde_json::from_str(line).unwrap());
            let mut lines = lines.filter(|line: &Value| {
                line["rule"] == "unknown-tool" && line["call_id"] == again.0
            });
            lines.next_back().unwrap()
        };
        let live = found(&lines);
        let hold = live["path"].as_str().unwrap();
        let turns = [hold, "proxy.jsonl"].map(|path| {
            let checked = Command::new(env!("CARGO_BIN_EXE_retake"))
                .current_dir(folder.path())
                .args(["check", "--format", "json", path])
                .output()
                .unwrap();
            let said = String::from_utf8(checked.stdout).unwrap();
            found(&said.lines().map(str::to_owned).collect::<Vec<_>>())["turn"].clone()
        });
        assert_eq!(
            turns,
            [live["turn"].clone(), live["turn"].clone()],
            "{dialect:?}"
        );
    }
}

#[test]
fn a_finding_that_passes_stands_in_the_journal() {
    let folder = tempfile::tempdir().unwrap();
    let replies = vec![http(Dialect::Chat, false, &turn("1", "", &[BAD]))];
    let upstream = upstream(replies);
    let proxy = Running::start(folder.path(), &upstream, &[]);
    let mut agent = Agent::new((Dialect::Chat, false));
    agent.reads(&proxy.ask(&agent).receive(PATIENCE));
    let (_, lines) = proxy.ended();
    let found = lines.iter().find(|line| line.contains("\"finding\""));
    let found: Value = serde_json::from_str(found.unwrap()).unwrap();
    assert!(
        found["path"].as_str().unwrap().ends_with("proxy.jsonl"),
        "{found}"
    );
}

#[test]
fn a_key_of_another_provider_is_refused_before_anything_is_sent() {
    let folder = tempfile::tempdir().unwrap();
    let upstream = "https://api.anthropic.com";
    let running = Running::start_before(upstream, &[], &[], folder.path(), &[]);
    // Put together here, so that no text in the source looks like a key.
    let key = format!("sk-proj-{}", "q7Zt".repeat(12));
    for dialect in DIALECTS {
        let mut client = running.ask_with(&key, &Agent::new((dialect, false)));
        let reply = client.receive(PATIENCE);
        assert_eq!(reply.status, Some(403), "{dialect:?}");
    }
    let (_, lines) = running.ended();
    assert!(!lines.join("\n").contains(&key));
    let journal = std::fs::read_to_string(folder.path().join("proxy.jsonl")).unwrap_or_default();
    assert!(!journal.contains(&key));
}
