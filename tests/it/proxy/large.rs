//! Replies of many megabytes: memory is bounded, and others do not wait.

use super::binary::Running;
use super::speech::{Agent, BAD, http, turn};
use super::stage::{Stage, upstream};
use crate::proxy_wire::fake::Fake;
use retake::exchange::Phase;
use retake::session::Dialect;
use serde_json::json;
use std::io::Write;
use std::time::Duration;

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";
/// Longer than a debug build takes for all that is asked here on a busy machine.
const LONG: Duration = Duration::from_secs(400);

/// A reply that calls a tool that there is not, with so many megabytes of arguments.
fn large(megabytes: usize) -> Vec<u8> {
    let arguments = format!(r#"{{"city":"{}"}}"#, "x".repeat(megabytes << 20));
    let call = ("call_bad_0123456789", "serch", arguments.as_str());
    http(Dialect::Chat, false, &turn("1", "", &[call]))
}

fn mended() -> Vec<u8> {
    http(Dialect::Chat, false, &turn("2", "Here you are.", &[]))
}

#[test]
fn a_large_call_is_mended_in_bounded_memory() {
    let megabytes = match std::env::var_os("RETAKE_LONG").is_some() {
        true => 10,
        false => 3,
    };
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("policy.toml"), INJECT).unwrap();
    let upstream = upstream(vec![large(megabytes), mended()]);
    // Beside what threads and the program itself reserve: forty times the reply.
    let limit = 150_000 + megabytes * 40 * 1024;
    let limit = format!("ulimit -v {limit}; exec \"$@\"");
    let shell = ["sh", "-c", &limit, "sh"];
    let policy = ["--policy", "policy.toml"];
    // An arena of the allocator reserves 64 MiB, whatever is in it.
    let one_arena = [("MALLOC_ARENA_MAX", "1".to_owned())];
    let running = Running::start_by(&shell, &one_arena, folder.path(), &upstream, &policy);
    let got = running
        .ask(&Agent::new((Dialect::Chat, false)))
        .receive(LONG);
    assert_eq!(got.status, Some(200));
    assert!(got.text().contains("Here you are."), "{}", got.body.len());
    assert!(!got.text().contains("xxxx"));
    let (code, lines) = running.ended();
    assert_eq!(code, Some(143), "{lines:?}");
}

#[test]
fn a_small_exchange_does_not_wait_for_large_ones() {
    let replies = Fake::start(|request, stream| {
        let body = String::from_utf8_lossy(&request.body);
        let is_second = body.contains("call_bad");
        let reply = match (is_second, body.contains("large")) {
            (true, _) => mended(),
            (false, true) => large(1),
            (false, false) => http(Dialect::Chat, false, &turn("1", "", &[BAD])),
        };
        stream.write_all(&reply).is_ok()
    });
    let stage = Stage::by(replies, INJECT);
    let mut agent = Agent::new((Dialect::Chat, false));
    agent.members = json!({"user": "large"});
    let mut clients: Vec<_> = (0..6).map(|_| stage.send(&agent, "")).collect();
    for id in 1..=6 {
        stage.until(id, "held", |seen| {
            matches!(seen.phase, Phase::Held(_) | Phase::Ended(_))
        });
    }
    let small = stage.ask(&Agent::new((Dialect::Chat, false)));
    assert!(small.text().contains("Here you are."));
    let is_over = |id: &u32| matches!(stage.seen(*id).unwrap().phase, Phase::Ended(_));
    let over = (1..=6).filter(is_over).count();
    assert!(over < 4, "{over} large exchanges went before a small one");
    for client in &mut clients {
        let got = client.receive(LONG);
        assert!(got.text().contains("Here you are."), "{}", got.body.len());
    }
}
