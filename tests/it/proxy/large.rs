//! Replies of many megabytes: memory is bounded, and others do not wait.

use super::binary::Running;
use super::speech::{Agent, BAD, http, turn};
use super::stage::Stage;
use crate::proxy_wire::fake::Fake;
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangePhase, ExchangeSummary};
use retake_core::session::Dialect;
use retake_live::proxy::{ProxyCommand, ProxyNews};
use serde_json::json;
use std::io::Write;
use std::time::Duration;

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";
/// Longer than a debug build takes for all that is asked here on a busy machine.
const LONG: Duration = Duration::from_secs(400);

/// At its peak a hold takes so many times the memory of its reply, and so many replies are still kept when it is over.
const PEAK: usize = 16;
const KEPT: usize = 4;
/// What the program, its threads and its buffers take beside that, in megabytes.
const BESIDE: usize = 64;

/// A reply that calls a tool that there is not, with so many megabytes of arguments.
fn large(megabytes: usize) -> Vec<u8> {
    let arguments = format!(r#"{{"city":"{}"}}"#, "x".repeat(megabytes << 20));
    let call = ("call_bad_0123456789", "serch", arguments.as_str());
    http(Dialect::Chat, false, &turn("1", "", &[call]))
}

fn mended() -> Vec<u8> {
    http(Dialect::Chat, false, &turn("2", "Here you are.", &[]))
}

/// The sizes of large replies are those that users meet under RETAKE_LONG, and smaller ones otherwise.
fn megabytes(long: usize, short: usize) -> usize {
    match std::env::var_os("RETAKE_LONG").is_some() {
        true => long,
        false => short,
    }
}

/// Kilobytes, or another number, that Linux tells of a process under this name.
#[cfg(target_os = "linux")]
fn status(running: &Running, name: &str) -> usize {
    let path = format!("/proc/{}/status", running.child.id());
    let status = std::fs::read_to_string(path).unwrap();
    let line = status.lines().find(|line| line.starts_with(name)).unwrap();
    line.split_whitespace().nth(1).unwrap().parse().unwrap()
}

/// Seconds of the processors that a process has used, in hundredths.
#[cfg(target_os = "linux")]
fn used(running: &Running) -> u64 {
    let path = format!("/proc/{}/stat", running.child.id());
    let stat = std::fs::read_to_string(path).unwrap();
    let (_, behind) = stat.rsplit_once(')').unwrap();
    let numbers = behind.split_whitespace().skip(11).take(2);
    numbers.map(|number| number.parse::<u64>().unwrap()).sum()
}

/// An upstream that answers what is asked for the first time with this, and is content with what comes then. Small agents it gives an answer.
fn mending(bad: Vec<u8>) -> Fake {
    Fake::start(move |request, stream| {
        let has = |what: &[u8]| memchr::memmem::find(&request.body, what).is_some();
        let is_sound = has(b"call_bad") || has(b"small");
        let reply = if is_sound { &mended() } else { &bad };
        stream.write_all(reply).is_ok()
    })
}

/// The program with a policy that injects errors.
fn injecting(upstream: &Fake, folder: &std::path::Path) -> Running {
    std::fs::write(folder.join("policy.toml"), INJECT).unwrap();
    let policy = ["--policy", "policy.toml"];
    Running::start_by(&[], &[], folder, upstream, &policy)
}

#[cfg(target_os = "linux")]
#[test]
fn a_large_call_is_mended_in_bounded_memory_which_is_given_back() {
    let size = megabytes(10, 3);
    let upstream = mending(large(size));
    let folder = tempfile::tempdir().unwrap();
    let running = injecting(&upstream, folder.path());
    let before = status(&running, "VmRSS:");
    for number in 0..3 {
        let mut agent = Agent::new((Dialect::Chat, false));
        agent.members = json!({"user": format!("user {number}")});
        let got = running.ask(&agent).receive(LONG);
        assert_eq!(got.status, Some(200));
        assert!(got.text().contains("Here you are."), "{}", got.body.len());
        assert!(!got.text().contains("xxxx"));
    }
    let peak = status(&running, "VmHWM:").saturating_sub(before);
    let most = (PEAK * size + BESIDE) * 1024;
    assert!(peak < most, "{peak} kB above {before} kB, and not {most}");
    // What is free is given back a moment later, while others are served.
    let mut small = Agent::new((Dialect::Chat, false));
    small.members = json!({"user": "small"});
    let since = std::time::Instant::now();
    let most = before + (KEPT * size + BESIDE) * 1024;
    loop {
        let got = running.ask(&small).receive(LONG);
        assert!(got.text().contains("Here you are."));
        let after = status(&running, "VmRSS:");
        if after < most {
            break;
        }
        let is_late = since.elapsed() > Duration::from_secs(60);
        assert!(!is_late, "{after} kB after {before} kB, and not {most}");
        std::thread::sleep(Duration::from_millis(100));
    }
    let (code, lines) = running.ended();
    assert_eq!(code, Some(143), "{lines:?}");
}

/// Milliseconds of the processors, in tens, that a reply with so many bad calls of one tool takes.
#[cfg(target_os = "linux")]
fn time_of(count: usize) -> u64 {
    let ids: Vec<_> = (0..count)
        .map(|number| format!("call_bad_{number:05}"))
        .collect();
    let calls: Vec<_> = ids.iter().map(|id| (id.as_str(), BAD.1, BAD.2)).collect();
    let upstream = mending(http(Dialect::Chat, false, &turn("1", "", &calls)));
    let folder = tempfile::tempdir().unwrap();
    let running = injecting(&upstream, folder.path());
    let before = used(&running);
    let got = running
        .ask(&Agent::new((Dialect::Chat, false)))
        .receive(LONG);
    assert!(got.text().contains("Here you are."), "{}", got.body.len());
    let took = used(&running) - before;
    // Each call has an answer of its own.
    let requests = upstream.requests();
    let asked: serde_json::Value = serde_json::from_slice(&requests[1].body).unwrap();
    let outputs = asked["messages"].as_array().unwrap().iter();
    let outputs = outputs.filter(|message| message["role"] == "tool");
    assert_eq!(outputs.count(), count);
    let (code, lines) = running.ended();
    assert_eq!(code, Some(143));
    let decided = lines.iter().filter(|line| {
        let line: serde_json::Value = serde_json::from_str(line).unwrap();
        line["type"] == "decision" && line["action"] == "inject-error"
    });
    assert_eq!(decided.count(), count, "each decision is told");
    took
}

#[cfg(target_os = "linux")]
#[test]
fn the_time_for_bad_calls_of_one_reply_goes_with_their_number() {
    let few = time_of(500);
    let many = time_of(2000);
    // Four times as many; sixteen times as long where each is compared with each.
    assert!(many < 9 * few, "{few} for 500 calls, {many} for 2,000");
}

/// Milliseconds of the processors, in tens, that a request with so many calls without an output takes.
#[cfg(target_os = "linux")]
fn time_of_orphans(count: usize) -> u64 {
    let upstream = Fake::start(|_, stream| stream.write_all(&mended()).is_ok());
    let folder = tempfile::tempdir().unwrap();
    let policy = "[on.orphan-call]\ndo = \"inject\"\n";
    std::fs::write(folder.path().join("policy.toml"), policy).unwrap();
    let named = ["--policy", "policy.toml"];
    let running = Running::start_by(&[], &[], folder.path(), &upstream, &named);
    let mut agent = Agent::new((Dialect::Chat, false));
    let calls = (0..count).map(|number| {
        json!({"id": format!("call_{number:05}"), "type": "function",
            "function": {"name": "search", "arguments": r#"{"city":"Oslo"}"#}})
    });
    let calls: Vec<_> = calls.collect();
    let said = json!({"role": "assistant", "content": null, "tool_calls": calls});
    agent.history.push(said);
    agent.says("Go on.");
    let before = used(&running);
    let got = running.ask(&agent).receive(LONG);
    assert!(got.text().contains("Here you are."), "{}", got.text());
    let took = used(&running) - before;
    let requests = upstream.requests();
    let asked: serde_json::Value = serde_json::from_slice(&requests[0].body).unwrap();
    let messages = asked["messages"].as_array().unwrap().iter();
    let outputs = messages.filter(|message| message["role"] == "tool");
    assert_eq!(outputs.count(), count);
    let (code, lines) = running.ended();
    assert_eq!(code, Some(143), "{lines:?}");
    took
}

#[cfg(target_os = "linux")]
#[test]
fn the_time_for_orphans_of_one_request_goes_with_their_number() {
    let is_long = std::env::var_os("RETAKE_LONG").is_some();
    let count = if is_long { 5_000 } else { 500 };
    let (few, many) = (time_of_orphans(count), time_of_orphans(4 * count));
    // Four times as many; sixteen times as long where each is compared with each.
    assert!(
        many < 9 * few.max(1),
        "{few} for {count}, {many} for four times as many"
    );
}

/// Exchanges whose holds have begun: each has a journal.
fn begun(stage: &Stage) -> Vec<u32> {
    let news = stage.news.lock().unwrap();
    let begun = news.iter().filter_map(|one| match one {
        ProxyNews::Journal { id, .. } => Some(id.0),
        _ => None,
    });
    begun.collect()
}

#[test]
fn large_holds_wait_for_their_turn_and_what_is_too_much_passes_as_it_came() {
    let is_long = std::env::var_os("RETAKE_LONG").is_some();
    // Two of them are more than may be held at once; six are more than may wait as well.
    let (size, count) = if is_long { (15, 6) } else { (13, 2) };
    let reply = large(size);
    let stage = Stage::attended(Fake::start(move |_, stream| {
        stream.write_all(&reply).is_ok()
    }));
    let mut clients = Vec::new();
    for number in 1..=count {
        let mut agent = Agent::new((Dialect::Chat, false));
        agent.members = json!({"user": format!("user {number}")});
        clients.push(stage.send(&agent, ""));
        let is_there = |seen: &ExchangeSummary| {
            matches!(seen.phase, ExchangePhase::Held(_) | ExchangePhase::Ended(_))
        };
        stage.until_within(LONG, number, "held", is_there);
    }
    if is_long {
        let said = "it cannot be held: too much is held: 64 MiB more wait";
        let by = said.to_owned();
        assert_eq!(stage.ending(6), ExchangeEnding::Released { by });
        assert!(
            stage
                .notices()
                .contains(&format!("exchange 6 was released: {said}"))
        );
        let got = clients.pop().unwrap().receive(LONG);
        assert!(got.is_whole && got.body.len() > size << 20);
    }
    for (number, client) in (1..).zip(&mut clients) {
        stage.until_within(LONG, number, "begun", |_| begun(&stage).contains(&number));
        let all = begun(&stage);
        assert_eq!(all, (1..=number).collect::<Vec<_>>(), "one after the other");
        stage.command(&ProxyCommand::Release(ExchangeId(number)));
        let got = client.receive(LONG);
        assert!(got.is_whole && got.body.len() > size << 20, "{number}");
    }
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
            matches!(seen.phase, ExchangePhase::Held(_) | ExchangePhase::Ended(_))
        });
    }
    let small = stage.ask(&Agent::new((Dialect::Chat, false)));
    assert!(small.text().contains("Here you are."));
    let is_over = |id: &u32| matches!(stage.seen(*id).unwrap().phase, ExchangePhase::Ended(_));
    let over = (1..=6).filter(is_over).count();
    assert!(over < 4, "{over} large exchanges went before a small one");
    for client in &mut clients {
        let got = client.receive(LONG);
        assert!(got.text().contains("Here you are."), "{}", got.body.len());
    }
}
