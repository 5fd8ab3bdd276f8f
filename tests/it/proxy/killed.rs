//! A proxy is killed while exchanges are held: the next one says so, and sends nothing of them again.

use super::speech::{Agent, BAD, http, turn};
use super::stage::{PATIENCE, Stage, keeping, options, upstream};
use crate::proxy_wire::client::Client;
use retake::runtime::proxy::{News, Proxy};
use retake::session::Dialect;
use std::io::{BufRead, BufReader};
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Command, Stdio};
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
                News::Listening { address, .. } => eprintln!("at {address}"),
                News::Exchange(seen) => eprintln!("exchange {}: {:?}", seen.id, seen.phase),
                _ => {}
            }
        }
        told = news.len();
        std::thread::sleep(std::time::Duration::from_millis(10));
    }
}

fn checked(journal: &Path) -> (Option<i32>, String) {
    let mut retake = Command::new(env!("CARGO_BIN_EXE_retake"));
    let output = retake.arg("check").arg(journal).output().unwrap();
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
    let mut child = Command::new(std::env::current_exe().unwrap())
        .args([
            "--ignored",
            "--exact",
            "--nocapture",
            "proxy::killed::the_child",
        ])
        .env(CHILD, format!("{} {}", fake.url(), journal.display()))
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
    let address: SocketAddr = address.parse().unwrap();
    let body = Agent::new((Dialect::Chat, false)).request();
    let request = format!(
        "POST /v1/chat/completions HTTP/1.1\r\nHost: {address}\r\nContent-Type: application/json\r\nContent-Length: {}\r\n\r\n{body}",
        body.len()
    );
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
    let told = stage.notices();
    for id in 1..=3 {
        let words = format!("exchange {id} was held");
        assert!(
            told.iter()
                .any(|one| one.starts_with(&words) && one.contains("nothing of it is sent again")),
            "{told:?}"
        );
    }
    assert_eq!(stage.upstream.requests().len(), 3);
    let (code, said) = checked(&journal);
    assert!(
        code == Some(1) && said.contains("unknown-tool"),
        "{code:?}: {said}"
    );
}

#[test]
fn a_journal_opens_like_any_recording_with_what_was_found() {
    let policy = "[on.unknown-tool]\ndo = \"inject\"\n";
    let replies = [turn("1", "", &[BAD]), turn("2", "It is warm.", &[])];
    let replies = replies
        .iter()
        .map(|reply| http(Dialect::Anthropic, true, reply))
        .collect();
    let mut stage = Stage::by(upstream(replies), policy);
    stage.turn(&mut Agent::new((Dialect::Anthropic, true)));
    stage.over(1);
    drop(stage.proxy.take());
    let (code, said) = checked(&stage.folder.path().join("proxy.jsonl"));
    assert!(
        code == Some(1) && said.contains("unknown-tool"),
        "{code:?}: {said}"
    );
}
