//! A proxy is killed while exchanges are held: the next one says so, and sends nothing of them again.

use super::speech::{Agent, BAD, events, http, turn};
use super::stage::{PATIENCE, Stage, keeping, options, upstream};
use crate::proxy_wire::client::Client;
use crate::proxy_wire::fake::{Fake, STREAM, chunk};
use retake_core::session::Dialect;
use retake_live::proxy::{Proxy, ProxyNews};
use serde_json::Value;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

const CHILD: &str = "RETAKE_PROXY_TEST";

/// Not a test of its own: a proxy with an operator who does nothing, until it is killed.
#[test]
#[ignore = "runs in a child process of the test below"]
fn the_child() {
    let Ok(told) = std::env::var(CHILD) else {
        return;
    };
    let (url, journal) = told.split_once(' ').unwrap();
    let (report, news) = keeping();
    let mut options = options(&[url.to_owned()], journal.into());
    options.has_operator = true;
    let _proxy = Proxy::start(options, report).unwrap();
    let mut told = 0;
    loop {
        let news = news.lock().unwrap().clone();
        for one in &news[told..] {
            match one {
                ProxyNews::Listening { address, .. } => eprintln!("at {address}"),
                ProxyNews::Exchange(seen) => eprintln!("exchange {}: {:?}", seen.id, seen.phase),
                _ => {}
            }
        }
        told = news.len();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

/// Starts it, and gives its process, its lines and its address.
fn child(
    upstream: &Fake,
    journal: &Path,
) -> (Child, impl Iterator<Item = String> + use<>, SocketAddr) {
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "proxy::killed::the_child",
        ])
        .env(CHILD, format!("{} {}", upstream.url(), journal.display()))
        .stdout(Stdio::null())
        .stderr(Stdio::piped())
        .spawn()
        .unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap())
        .lines()
        .map(Result::unwrap);
    let address = lines
        .find_map(|line| line.strip_prefix("at ").map(str::to_owned))
        .unwrap();
    (child, lines, address.parse().unwrap())
}

fn spelled(agent: &Agent, address: SocketAddr) -> String {
    let body = agent.request();
    format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    )
}

fn checked(journal: &Path) -> (Option<i32>, String) {
    said_by("check", journal)
}

fn shown(journal: &Path) -> (Option<i32>, String) {
    said_by("show", journal)
}

fn said_by(command: &str, journal: &Path) -> (Option<i32>, String) {
    let mut retake = Command::new(env!("CARGO_BIN_EXE_retake"));
    let output = retake.arg(command).arg(journal).output().unwrap();
    (
        output.status.code(),
        String::from_utf8(output.stdout).unwrap(),
    )
}

#[test]
fn three_held_exchanges_are_told_as_interrupted_and_nothing_is_sent_again() {
    let fake = upstream(vec![http(Dialect::Chat, false, &turn("1", "", &[BAD]))]);
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("first.jsonl");
    let (mut child, mut lines, address) = child(&fake, &journal);
    let request = spelled(&Agent::new((Dialect::Chat, false)), address);
    let mut clients = Vec::new();
    for id in 1..=3 {
        let mut client = Client::connect(address);
        client.send(request.as_bytes());
        clients.push(client);
        lines
            .find(|line| line.starts_with(&format!("exchange {id}: Held")))
            .unwrap();
    }
    // The hold of the last one is written down before anybody is asked; its own journal may be on its way.
    let since = Instant::now();
    while std::fs::read_to_string(&journal)
        .unwrap_or_default()
        .matches("\"type\":\"held\"")
        .count()
        < 3
    {
        assert!(since.elapsed() < PATIENCE, "never written down");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    for client in &mut clients {
        assert!(client.is_closed_within(PATIENCE));
    }
    assert_eq!(fake.requests().len(), 3);
    let next = folder.path().join("second.jsonl");
    let stage = Stage::new(fake, |options| options.journal = Some(next));
    for id in 1..=3 {
        let words = format!("exchange {id} was held");
        let is_told =
            |one: &String| one.starts_with(&words) && one.contains("nothing of it is sent again");
        let since = Instant::now();
        while !stage.notices().iter().any(is_told) {
            assert!(since.elapsed() < PATIENCE, "{:?}", stage.notices());
            std::thread::sleep(std::time::Duration::from_millis(10));
        }
    }
    assert_eq!(stage.upstream.requests().len(), 3);
    let (code, said) = checked(&journal);
    assert!(
        code == Some(1) && said.contains("unknown-tool"),
        "{code:?}: {said}"
    );
}

#[test]
fn requests_whose_streams_were_under_way_are_in_the_journal_of_a_proxy_that_was_killed() {
    let event = events(Dialect::Chat, &turn("1", "Let me look around.", &[])).remove(0);
    let begun = [STREAM.as_bytes(), &chunk(&event)].concat();
    let fake = Fake::speaking_then_silent(begun);
    let folder = tempfile::tempdir().unwrap();
    let journal = folder.path().join("first.jsonl");
    let (mut child, _lines, address) = child(&fake, &journal);
    let clients = (0..10).map(|number| {
        let mut agent = Agent::new((Dialect::Chat, true));
        agent.history[0]["content"] = serde_json::json!(format!("question {number} of ten"));
        let mut client = Client::connect(address);
        client.send(spelled(&agent, address).as_bytes());
        client.until_comes("data: ");
        client
    });
    let clients: Vec<Client> = clients.collect();
    let since = Instant::now();
    let text = || std::fs::read_to_string(&journal).unwrap_or_default();
    while text().matches("\"type\":\"began\"").count() < 10 {
        assert!(since.elapsed() < PATIENCE, "never written down");
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
    child.kill().unwrap();
    child.wait().unwrap();
    drop(clients);
    let (_, said) = shown(&journal);
    for number in 0..10 {
        assert!(
            said.contains(&format!("question {number} of ten")),
            "{said}"
        );
    }
    assert_eq!(
        said.matches("no end of it is recorded").count(),
        10,
        "{said}"
    );
    let (code, said) = checked(&journal);
    assert_eq!(code, Some(0), "{said}");
}

#[test]
fn an_exchange_is_recorded_before_it_is_judged_and_what_was_found_follows() {
    let replies = vec![http(Dialect::Chat, true, &turn("1", "", &[BAD]))];
    let mut stage = Stage::new(upstream(replies), |_| {});
    stage.turn(&mut Agent::new((Dialect::Chat, true)));
    assert_eq!(stage.over(1).found[0].rule, "unknown-tool");
    drop(stage.proxy.take());
    let text = std::fs::read_to_string(stage.folder.path().join("proxy.jsonl")).unwrap();
    let lines = text.lines().skip(1);
    let entries = lines.map(|line| serde_json::from_str::<Value>(line).unwrap()["entry"].clone());
    let entries = entries.filter(|entry| entry["type"] != "began");
    let entries: Vec<Value> = entries.collect();
    let kinds: Vec<&str> = entries
        .iter()
        .map(|entry| entry["type"].as_str().unwrap())
        .collect();
    assert_eq!(kinds, ["exchange", "judged", "closed"], "{text}");
    assert_eq!(entries[0]["found"], Value::Null);
    assert_eq!(entries[1]["id"], 1);
    assert_eq!(entries[1]["found"][0]["rule"], "unknown-tool");
    assert_eq!(entries[1]["found"][0]["tool"], "serch");
}

#[test]
fn a_journal_opens_like_any_recording_and_what_the_client_got_is_judged() {
    let mends = "[on.unknown-tool]\ndo = \"inject\"\n";
    let releases = "[on.unknown-tool]\ndo = \"release\"\n";
    let raises = "[on.unknown-tool]\ndo = \"raise\"\n";
    // What was refused on its way was mended no more than what passed as it was.
    for (policy, is_mended) in [(mends, true), (releases, false), (raises, false)] {
        let replies = [turn("1", "", &[BAD]), turn("2", "It is warm.", &[])];
        let replies = replies
            .iter()
            .map(|reply| http(Dialect::Anthropic, true, reply))
            .collect();
        let mut stage = Stage::by(upstream(replies), policy);
        stage.ask(&Agent::new((Dialect::Anthropic, true)));
        stage.over(1);
        drop(stage.proxy.take());
        let (code, said) = checked(&stage.folder.path().join("proxy.jsonl"));
        let told = (code, said.contains(" (fixed in transit)"));
        assert_eq!(
            told,
            (Some(i32::from(!is_mended)), is_mended),
            "{policy}{said}"
        );
        assert!(said.contains("unknown-tool"), "{policy}{said}");
    }
}
