//! Clients that leave, come back, come in crowds, or leave at the very moment of a decision.

use super::speech::{Agent, BAD, GOOD, THEN, body, http, turn, ways};
use super::stage::{PATIENCE, Stage, addresses, upstream};
use crate::proxy_wire::client::Client;
use crate::proxy_wire::fake::{Fake, STREAM, chunk};
use retake_core::exchange::{ExchangeEnding, ExchangeId, ExchangePhase};
use retake_core::session::Dialect;
use retake_live::proxy::{ProxyCommand, ProxyNews};
use std::io::Write;
use std::time::{Duration, Instant};

const INJECT: &str = "[on.unknown-tool]\ndo = \"inject\"\n";

fn is_gone(phase: &ExchangePhase) -> bool {
    matches!(phase, ExchangePhase::Held(holding) if holding.is_gone)
}

#[test]
fn b01_a_client_that_leaves_a_stream_takes_the_upstream_with_it() {
    for policy in [INJECT, ""] {
        let upstream = Fake::start(|_, stream| {
            let _ = stream.write_all(STREAM.as_bytes());
            // It speaks until nobody hears it.
            while stream.write_all(&chunk(b": more\n\n")).is_ok() {
                std::thread::sleep(Duration::from_millis(20));
            }
            false
        });
        let stage = Stage::by(upstream, policy);
        let mut client = stage.send(&Agent::new((Dialect::Chat, true)), "");
        client.until_comes(": more");
        drop(client);
        stage.upstream.until_gone(1);
        assert_eq!(stage.ending(1), ExchangeEnding::ClientLeft);
    }
}

#[test]
fn a_client_that_leaves_before_there_is_a_reply_takes_the_upstream_with_it() {
    for policy in [INJECT, ""] {
        let stage = Stage::by(Fake::silent(), policy);
        let client = stage.send(&Agent::new((Dialect::Chat, false)), "");
        let since = Instant::now();
        while stage.upstream.requests().is_empty() {
            assert!(since.elapsed() < PATIENCE, "never asked");
            std::thread::sleep(Duration::from_millis(5));
        }
        drop(client);
        assert_eq!(stage.ending(1), ExchangeEnding::ClientLeft);
    }
}

#[test]
fn b02_a_client_that_leaves_what_is_held_is_told_as_gone_and_nothing_is_sent_for_it() {
    for (dialect, streams) in ways() {
        let stage = Stage::attended(upstream(vec![http(
            dialect,
            streams,
            &turn("1", "I look.", &[BAD]),
        )]));
        let client = stage.send(&Agent::new((dialect, streams)), "");
        stage.held(1);
        drop(client);
        let since = Instant::now();
        stage.until(1, "gone", |seen| is_gone(&seen.phase));
        // Within one second, on a machine that has nothing else to do.
        assert!(
            since.elapsed() < Duration::from_secs(4),
            "{dialect:?} {streams}: {:?}",
            since.elapsed()
        );
        stage.command(&ProxyCommand::Release(ExchangeId(1)));
        assert_eq!(
            stage.ending(1),
            ExchangeEnding::ClientLeft,
            "{dialect:?} {streams}"
        );
        assert_eq!(stage.upstream.requests().len(), 1);
    }
}

#[test]
fn b05_three_requests_of_one_client_are_one_question_and_the_last_one_is_answered() {
    for (dialect, streams) in ways() {
        let answer = turn("1", "Let me look.", &[BAD]);
        let stage = Stage::attended(upstream(vec![http(dialect, streams, &answer)]));
        let mut agent = Agent::new((dialect, streams));
        let mut first = stage.send(&agent, "X-Stainless-Retry-Count: 0\r\n");
        stage.held(1);
        if streams {
            first.until_comes("Let me");
        }
        drop(first);
        let mut second = stage.send(&agent, "X-Stainless-Retry-Count: 1\r\n");
        stage.until(1, "joined once", |seen| seen.retries == 1);
        if streams {
            second.until_comes("Let me");
        }
        // This time the client before is still there.
        let mut third = stage.send(&agent, "X-Stainless-Retry-Count: 2\r\n");
        stage.until(1, "joined twice", |seen| seen.retries == 2);
        assert!(second.is_closed_within(PATIENCE), "{dialect:?} {streams}");
        stage.command(&ProxyCommand::Release(ExchangeId(1)));
        let got = third.receive(PATIENCE);
        if !streams {
            // It may have heard that it is waited for.
            assert_eq!(
                got.text().trim_start().as_bytes(),
                body(dialect, streams, &answer),
                "{dialect:?}"
            );
        }
        assert_eq!(agent.reads(&got).len(), 1);
        assert_eq!(stage.upstream.requests().len(), 1);
        assert_eq!(
            stage.ending(1),
            ExchangeEnding::Released {
                by: "operator".to_owned()
            }
        );
        assert!(stage.seen(2).is_none());
    }
}

#[test]
fn b05_the_same_question_of_another_agent_is_no_retry() {
    let stage = Stage::attended(upstream(vec![http(
        Dialect::Chat,
        false,
        &turn("1", "", &[BAD]),
    )]));
    let agent = Agent::new((Dialect::Chat, false));
    let mut clients = [stage.send(&agent, ""), stage.send(&agent, "")];
    stage.held(1);
    stage.held(2);
    stage.command(&ProxyCommand::ReleaseAll);
    for client in &mut clients {
        assert_eq!(client.receive(PATIENCE).status, Some(200));
    }
    assert_eq!(stage.upstream.requests().len(), 2);
}

#[test]
fn b05_a_retry_of_another_key_or_for_another_upstream_is_a_question_of_its_own() {
    for (dialect, streams) in ways() {
        let answer = http(dialect, streams, &turn("1", "", &[BAD]));
        let stage = Stage::new(upstream(vec![answer]), |options| {
            options.has_operator = true;
            options.upstreams.push(options.upstreams[0].clone());
        });
        let other = addresses(&stage.news)[1];
        let mut agent = Agent::new((dialect, streams));
        let key = |key: &str, retry: u32| {
            format!("Authorization: Bearer {key}\r\nX-Stainless-Retry-Count: {retry}\r\n")
        };
        let mut clients = vec![stage.send(&agent, &key("one-key-0123456789", 0))];
        stage.held(1);
        clients.push(stage.send(&agent, &key("other-key-0123456789", 1)));
        stage.held(2);
        let mut there = Client::connect(other);
        let spelled = stage.spelled(&agent, &key("one-key-0123456789", 1));
        let spelled = spelled.replace(&stage.address.to_string(), &other.to_string());
        there.send(spelled.as_bytes());
        clients.push(there);
        stage.held(3);
        // Who has tried as often before is another one of the same kind.
        clients.push(stage.send(&agent, &key("other-key-0123456789", 1)));
        stage.held(4);
        stage.command(&ProxyCommand::ReleaseAll);
        for (client, id) in clients.iter_mut().zip(1..) {
            assert_eq!(agent.reads(&client.receive(PATIENCE)).len(), 1);
            assert_eq!(stage.over(id).retries, 0, "{dialect:?} {streams}");
        }
        assert_eq!(stage.upstream.requests().len(), 4);
    }
}

#[test]
fn b06_nobody_waits_for_what_is_held_of_another() {
    let bad = http(Dialect::Anthropic, true, &turn("1", "I look.", &[BAD]));
    let good = http(Dialect::Anthropic, true, &turn("2", "I look.", &[GOOD]));
    let stage = Stage::attended(upstream(vec![bad, good]));
    let mut agent = Agent::new((Dialect::Anthropic, true));
    let mut client = stage.send(&agent, "");
    stage.held(1);
    for id in 2..22 {
        let got = stage.ask(&agent);
        assert!(got.is_whole && got.text().contains(GOOD.0));
        assert_eq!(stage.ending(id), ExchangeEnding::Passed);
    }
    assert!(matches!(
        stage.seen(1).unwrap().phase,
        ExchangePhase::Held(_)
    ));
    stage.command(&ProxyCommand::Release(ExchangeId(1)));
    assert_eq!(
        agent.reads(&client.receive(PATIENCE)),
        [(BAD.0.to_owned(), "serch".to_owned())]
    );
}

#[test]
fn b07_two_hundred_exchanges_at_once_are_each_mended() {
    let upstream = Fake::start(|arrived, stream| {
        let is_again = String::from_utf8_lossy(&arrived.body).contains(BAD.0);
        let answer = if is_again {
            turn("2", "", &[THEN])
        } else {
            turn("1", "I look.", &[BAD])
        };
        stream
            .write_all(&http(Dialect::Chat, true, &answer))
            .is_ok()
    });
    let stage = Stage::by(upstream, INJECT);
    let agent = Agent::new((Dialect::Chat, true));
    let mut clients: Vec<Client> = (0..200).map(|_| stage.send(&agent, "")).collect();
    for client in &mut clients {
        let got = client.receive(PATIENCE);
        assert_eq!(
            agent.clone().reads(&got),
            [(THEN.0.to_owned(), "search".to_owned())]
        );
    }
    for id in 1..=200 {
        assert_eq!(stage.ending(id), ExchangeEnding::Mended);
    }
    assert_eq!(stage.upstream.requests().len(), 400);
}

#[test]
fn b13_whoever_acts_at_the_moment_the_client_leaves_there_is_one_end() {
    let stage = Stage::attended(upstream(vec![http(
        Dialect::Chat,
        true,
        &turn("1", "", &[BAD]),
    )]));
    let agent = Agent::new((Dialect::Chat, true));
    for id in 1..=60 {
        let client = stage.send(&agent, "");
        stage.held(id);
        let command = match id % 3 {
            0 => ProxyCommand::Release(ExchangeId(id)),
            1 => ProxyCommand::Cut(ExchangeId(id)),
            _ => ProxyCommand::ReleaseAll,
        };
        if id % 2 == 0 {
            drop(client);
            stage.command(&command);
        } else {
            stage.command(&command);
            drop(client);
        }
        stage.over(id);
    }
    let news = stage.news.lock().unwrap();
    for id in 1..=60 {
        let ends = news.iter().filter(|one| matches!(one, ProxyNews::Exchange(seen) if seen.id == ExchangeId(id) && matches!(seen.phase, ExchangePhase::Ended(_))));
        assert_eq!(ends.count(), 1, "{id}");
    }
}
